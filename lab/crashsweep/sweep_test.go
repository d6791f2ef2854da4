package crashsweep

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
)

func TestMain(m *testing.M) { labtest.MainWith(m, lab.Options{}) }

// sliced is how many slices the sweep has: a run of the tests does one of them, chosen by the commit; SWEEP=all does all.
const sliced = 12

// TestCrashSweep runs every scenario once without a crash, and then once for every point at which its manager can die.
func TestCrashSweep(t *testing.T) {
	for _, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
			t.Parallel()
			clean := runClean(t, scenario)
			if len(clean.calls) == 0 {
				t.Fatal("the scenario makes no call: there is nothing to sweep")
			}
			// One call more than a clean run made: a run may take another turn, and the last call must be followed by one.
			for call := 1; call <= len(clean.calls); call++ {
				for _, place := range places {
					point := Point{Call: call, Place: place}
					if !chosen(scenario.name, point) {
						continue
					}
					t.Run(strings.ReplaceAll(point.String(), " ", "_"), func(t *testing.T) {
						t.Parallel()
						runCrash(t, scenario, point, clean)
					})
				}
			}
		})
	}
}

// outcome is what a run leaves behind.
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
	h := newHarness(t)
	crasher := h.startManager()
	scenario.prepare(h)
	h.rest()
	h.env.Cloud.AWS.ClearCalls()
	crasher.Arm(Point{})
	scenario.act(h)
	h.env.Eventually("scenario "+scenario.name+" is done", func() error { return scenario.done(h) })
	// What follows is looking at a world at rest.
	calls := crasher.Calls()
	h.await(scenario)
	t.Logf("the scenario makes %d calls:\n%s", len(calls), strings.Join(calls, "\n"))
	return outcome{world: h.world(), writes: h.writes(), calls: calls}
}

// runCrash kills the manager at the point and demands the world of the clean run, with at most one writing call more.
func runCrash(t *testing.T, scenario scenario, point Point, clean outcome) {
	t.Helper()
	h := newHarness(t)
	crasher := h.startManager()
	scenario.prepare(h)
	h.rest()
	h.env.Cloud.AWS.ClearCalls()
	crasher.Arm(point)
	scenario.act(h)
	if err := h.awaitCrash(crasher); err != nil {
		// Reconciles are woken by several watches, so a run can need a call less than the clean one did.
		t.Logf("%v; it made %d calls, the clean run %d", err, len(crasher.Calls()), len(clean.calls))
	}
	h.startManager()
	h.await(scenario)
	if diff := cmp.Diff(clean.world, h.world()); diff != "" {
		t.Errorf("the world differs from that of a run without a crash (-want +got):\n%s", diff)
	}
	if writes := h.writes(); len(writes) > len(clean.writes)+1 {
		t.Errorf("there were %d calls that change AWS, %q; a run without a crash has %d, %q", len(writes), writes, len(clean.writes), clean.writes)
	}
}

var errNoCrash = errors.New("the manager came to rest before the point")

// chosen says whether a point belongs to the slice that this run does.
func chosen(scenario string, point Point) bool {
	if os.Getenv("SWEEP") == "all" {
		return true
	}
	digest := sha256.Sum256([]byte(fmt.Sprint(commit(), scenario, point)))
	return digest[0]%sliced == 0
}

// commit is empty where there is no repository: then the same slice is done each time.
func commit() string {
	output, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	return string(output)
}

// For the world to count as at rest nothing must have happened for settleTime, simulated, and for quietTime, real.
const (
	settleTime = 3 * time.Minute
	quietTime  = 700 * time.Millisecond
)
