package crashsweep

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
)

func TestMain(m *testing.M) { labtest.MainWith(m, lab.Options{}) }

// slice is about how many points a run of the tests does, spread over the scenarios: 48 and a clean
// run of each scenario take a minute on two quiet cores.
const slice = 48

// TestCrashSweep runs every scenario once without a crash, and then once for every point at which
// its manager can die.
func TestCrashSweep(t *testing.T) {
	all := slices.Concat(scenarios, drainScenarios, rolloutScenarios, storageScenarios, machineScenarios, managedScenarios, sharingScenarios)
	for _, scenario := range all {
		t.Run(scenario.name, func(t *testing.T) {
			t.Parallel()
			// A test of its own: what it started stops with it, rather than with the last of a
			// thousand points.
			var clean outcome
			if !t.Run("clean", func(t *testing.T) { clean = runClean(t, scenario) }) {
				return
			}
			if len(clean.calls) == 0 {
				t.Fatal("the scenario makes no call: there is nothing to sweep")
			}
			for _, point := range Points(scenario.name, clean.calls, slice/len(all)) {
				t.Run(strings.NewReplacer(" ", "_", "/", ".").Replace(point.String()), func(t *testing.T) {
					t.Parallel()
					runCrash(t, scenario, point, clean)
				})
			}
		})
	}
}

// outcome holds what a run leaves behind.
type outcome struct {
	// world is everything that exists in the end.
	world World
	// writes are the calls that change AWS, in order.
	writes []string
	// calls are the points at which the manager could have died.
	calls []string
}

func runClean(t *testing.T, scenario scenario) outcome {
	t.Helper()
	h := newHarness(t, scenario)
	crasher := h.startManager()
	scenario.prepare(h)
	h.rest()
	h.env.Cloud.AWS.ClearCalls()
	crasher.Arm(Point{})
	h.act(scenario)
	h.env.Eventually("scenario "+scenario.name+" is done", func() error { return scenario.done(h) })
	// From here on the calls only read a world at rest.
	calls := crasher.Calls()
	if slices.Contains(calls, unnamed) {
		t.Error("a call to AWS has no name: those of different kinds would be counted as one")
	}
	h.await(scenario)
	t.Logf("the scenario makes %d calls:\n%s", len(calls), strings.Join(calls, "\n"))
	return outcome{world: h.world(), writes: h.writes(), calls: calls}
}

// runCrash kills the manager at the point and demands the world of the clean run, with at most one
// writing call more.
func runCrash(t *testing.T, scenario scenario, point Point, clean outcome) {
	t.Helper()
	h := newHarness(t, scenario)
	crasher := h.startManager()
	scenario.prepare(h)
	h.rest()
	h.env.Cloud.AWS.ClearCalls()
	crasher.Arm(point)
	h.act(scenario)
	if err := h.awaitCrash(scenario, crasher); err != nil {
		// Reconciles are woken by several watches, so a run can need a call less than the clean one did.
		t.Logf("%v; it made %d calls, the clean run %d", err, len(crasher.Calls()), len(clean.calls))
	}
	h.startManager()
	h.await(scenario)
	if diff := gocmp.Diff(clean.world, h.world()); diff != "" {
		t.Errorf("the world differs from that of a run without a crash (-want +got):\n%s", diff)
	}
	if writes := h.writes(); len(writes) > len(clean.writes)+1+scenario.repeats {
		t.Errorf("there were %d calls that change AWS, %q; a run without a crash has %d, %q", len(writes), writes, len(clean.writes), clean.writes)
	}
}

var errNoCrash = errors.New("the manager came to rest before the point")

// For the world to count as at rest nothing must have happened for settleTime, simulated, and for
// quietTime, real.
const (
	settleTime = 3 * time.Minute
	quietTime  = 700 * time.Millisecond
)
