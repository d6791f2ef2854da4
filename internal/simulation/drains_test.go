package simulation

import (
	"errors"
	"testing"
	"time"

	"github.com/slipway-project/slipway/awssim/simclock"
)

// TestNodeThatJoinsLate holds that a node which joins after the hook of its instance was completed
// needs no drain, and that every other node with pods does.
func TestNodeThatJoinsLate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		events func(o *observer)
		want   string
	}{
		{"nothing can be drained any longer when it joins", func(o *observer) { o.released("i-1"); o.join("i-1") }, ""},
		{"the process could have seen the node", func(o *observer) { o.join("i-1"); o.released("i-1") }, DrainedFirst},
		{"the hook of another instance was completed", func(o *observer) { o.released("i-2"); o.join("i-1") }, DrainedFirst},
		{"the instance shut down before its node joined", func(o *observer) { o.facts.instances["i-1"].ended = true; o.join("i-1") }, ""},
	} {
		clk := simclock.New(begin, 0)
		o := &observer{verdict: &verdict{clock: clk, trace: newTrace(clk, nil)}, facts: newFacts(clk), workload: newWorkloadCluster(clk, 3, 1, 10*time.Minute)}
		o.facts.instances["i-1"], o.facts.instances["i-2"] = &instance{}, &instance{}
		row.events(o)
		o.undrained("i-1", o.facts.instances["i-1"])
		var found *ViolationError
		if errors.As(o.violation, &found); (found == nil) != (row.want == "") || found != nil && found.Invariant != row.want {
			t.Errorf("%s: %v, want %q", row.reason, o.violation, row.want)
		}
		clk.Close()
	}
}
