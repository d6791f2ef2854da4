package scale

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws/observe"
)

var pools = flag.Int("pools", 300, "how many pools to test with")

const (
	// mostReadsAtStart bounds how many reads of AWS a manager that starts next to them may send.
	mostReadsAtStart = 30
	// asleep is the real time without activity after which everything counts as at rest.
	asleep = 3 * time.Second
)

// mostReads returns how many reads of AWS an hour of pools at rest may cost: groups in hundreds
// every four minutes, templates in two hundreds every eight, and ten more. Of a thousand pools that
// is 200.
func mostReads(pools int) int {
	const inHour, groups, templates, more = 60, 100, 200, 10
	return inHour/4*((pools+groups-1)/groups) + (inHour/8+1)*((pools+templates-1)/templates) + more
}

// TestManyPools holds what many pools cost: nothing is written in an hour of rest and little is
// read, and the same for a manager that starts next to them; when all are edited at once, they get
// what AWS's request limits allow.
func TestManyPools(t *testing.T) {
	const rate = 5
	many := *pools
	w := newWorld(t, rate, awssim.Behavior{})
	w.startManager(unheld)
	began := time.Now()
	if err := w.Create(t.Context(), 0, many); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pools were applied after %v", many, time.Since(began).Round(time.Second))
	w.await(many, "all pools are ready")
	t.Logf("%d pools were ready after %v, with %v", many, time.Since(began).Round(time.Second), w.calls())
	t.Logf("the manager wrote %v", w.requestsByKind())
	w.rest(asleep)

	w.clock.SetRate(0)
	t.Run("quiet hour", func(*testing.T) { w.quietHour(t) })
	t.Run("cold start", func(*testing.T) { w.coldStart(t) })
	t.Run("all edited", func(*testing.T) { w.editedAtOnce(t) })
}

// quietHour lets an hour pass, sweep by sweep.
func (w *world) quietHour(t *testing.T) {
	t.Helper()
	many := *pools
	w.forget()
	// A sweep begins at a beat: one that is due a moment after the last one begins at the next.
	interval := observe.DefaultIntervals.Rest + observe.DefaultIntervals.Motion
	for sweep := range int(time.Hour/interval) + 1 {
		w.clock.Step(interval)
		w.Eventually("all groups are looked at", func() error {
			if looked := w.calls()["DescribeAutoScalingGroups"]; looked < (sweep+1)*max(1, many/100) {
				return fmt.Errorf("%d calls in %d sweeps", looked, sweep+1)
			}
			return nil
		})
	}
	w.rest(asleep)
	if reads := w.reads("at rest"); reads > mostReads(many) {
		t.Errorf("an hour of %d pools at rest cost %d reads, want at most %d: %v", many, reads, mostReads(many), w.calls())
	}
	if written := w.written(); len(written) > 0 {
		t.Errorf("at rest the manager wrote %d times to the API server, first %s", len(written), written[0])
	}
	t.Logf("an hour of %d pools at rest: %v", many, w.calls())
}

// coldStart starts another manager, which holds back what is beyond AWS's rates.
func (w *world) coldStart(t *testing.T) {
	t.Helper()
	many := *pools
	w.stopManager()
	w.forget()
	began := time.Now()
	w.startManager(nil)
	w.Eventually("the new manager has looked", func() error {
		if len(w.calls()) < 2 {
			return fmt.Errorf("it has made calls %v", w.calls())
		}
		return nil
	})
	w.rest(asleep)
	t.Logf("a manager that started beside %d pools was at rest within %v: %v", many, (time.Since(began) - asleep).Round(100*time.Millisecond), w.calls())
	if reads := w.reads("at the start"); reads > mostReadsAtStart {
		t.Errorf("starting beside %d pools cost %d reads, want at most %d: %v", many, reads, mostReadsAtStart, w.calls())
	}
	if written := w.written(); len(written) > 0 {
		t.Errorf("a manager that started beside pools at rest wrote %d times to the API server, first %s", len(written), written[0])
	}
}
