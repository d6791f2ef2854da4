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
		events func(w *World)
		want   string
	}{
		{"nothing can be drained any longer when it joins", func(w *World) { w.released("i-1"); w.join("i-1") }, ""},
		{"the process could have seen the node", func(w *World) { w.join("i-1"); w.released("i-1") }, DrainedFirst},
		{"the hook of another instance was completed", func(w *World) { w.released("i-2"); w.join("i-1") }, DrainedFirst},
		{"the instance shut down before its node joined", func(w *World) { w.facts.instances["i-1"].ended = true; w.join("i-1") }, ""},
	} {
		clk := simclock.New(begin, 0)
		w := &World{clock: clk, trace: newTrace(clk, nil), facts: newFacts(clk), workload: newWorkloadCluster(clk, 3, 1, 10*time.Minute)}
		w.facts.instances["i-1"], w.facts.instances["i-2"] = &instance{}, &instance{}
		row.events(w)
		w.undrained("i-1", w.facts.instances["i-1"])
		var found *ViolationError
		if errors.As(w.violation, &found); (found == nil) != (row.want == "") || found != nil && found.Invariant != row.want {
			t.Errorf("%s: %v, want %q", row.reason, w.violation, row.want)
		}
		clk.Close()
	}
}
