package simulation_test

import (
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-project/slipway/internal/simulation"
)

// comparePlans runs the schedule of a seed in which edits are planned.
func comparePlans(t *testing.T, options simulation.Options) (result simulation.Result) {
	t.Helper()
	all, err := kinds()
	if err != nil {
		t.Fatal(err)
	}
	options.Kinds = all
	synctest.Test(t, func(t *testing.T) {
		if result, err = simulation.ComparePlans(t.Context(), options); err != nil {
			t.Errorf("seed %d: %v", options.Seed, err)
		}
		time.Sleep(time.Minute) // as in run
	})
	return result
}

// TestPlansComeTrue holds that what happens after an edit of an AWSMachinePool is what the plan of the
// edit says.
func TestPlansComeTrue(t *testing.T) { plansComeTrue(t, simulation.SelfManaged, schedules(t)/2) }

// TestPlansOfManagedPoolsComeTrue holds the same for AWSManagedMachinePools.
func TestPlansOfManagedPoolsComeTrue(t *testing.T) {
	plansComeTrue(t, simulation.Managed, schedules(t)/6)
}

func plansComeTrue(t *testing.T, kind string, count int) {
	t.Helper()
	test := t.Name()
	if *seedFlag >= 0 {
		if result := comparePlans(t, simulation.Options{Kind: kind, Seed: uint64(*seedFlag), Trace: os.Stdout}); result.Violation != nil {
			t.Errorf("seed %d: %v", *seedFlag, result.Violation)
		}
		return
	}
	var next atomic.Int64
	last := int64(count)
	for _, worker := range []string{"first", "second"} {
		t.Run(worker, func(t *testing.T) {
			t.Parallel()
			for i := next.Add(1); i <= last && !t.Failed(); i = next.Add(1) {
				seed := *firstFlag + uint64(i) - 1
				if result := comparePlans(t, simulation.Options{Kind: kind, Seed: seed}); result.Violation != nil {
					t.Errorf("seed %d: %v\nReplay it: go test ./internal/simulation -run '%s$' -v -seed %d", seed, result.Violation, test, seed)
				}
			}
		})
	}
}
