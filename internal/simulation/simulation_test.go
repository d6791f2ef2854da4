package simulation_test

import (
	"flag"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/simulation"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

var (
	seedFlag  = flag.Int64("seed", -1, "run the schedule of this seed alone, and show it")
	seedsFlag = flag.Int("seeds", 40, "how many schedules to run")
	firstFlag = flag.Uint64("first", 1, "the seed of the first schedule")
)

var kinds = sync.OnceValues(func() (*apiserver.Kinds, error) {
	scheme, err := manager.NewScheme()
	if err != nil {
		return nil, err
	}
	definitions, err := apitest.Load(os.DirFS("../../config/crd"), "bases")
	if err != nil {
		return nil, err
	}
	return apiserver.NewKinds(scheme, definitions)
})

// TestMain has garbage collected rarely: a schedule makes much of it, and needs little memory.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}

// run runs the schedule of a seed.
func run(t *testing.T, options simulation.Options) (result simulation.Result) {
	t.Helper()
	all, err := kinds()
	if err != nil {
		t.Fatal(err)
	}
	options.Kinds = all
	synctest.Test(t, func(t *testing.T) {
		if result, err = simulation.Run(t.Context(), options); err != nil {
			t.Errorf("seed %d: %v", options.Seed, err)
		}
		// A description that nobody waits for any longer may be spaced from the one before: let it end.
		time.Sleep(time.Minute)
	})
	return result
}

// Every invariant holds in every schedule.
func TestSimulation(t *testing.T) {
	if *seedFlag >= 0 {
		result := run(t, simulation.Options{Seed: uint64(*seedFlag), Trace: os.Stdout})
		if result.Violation != nil {
			t.Errorf("seed %d: %v", *seedFlag, result.Violation)
		}
		t.Logf("%d lines, %s, hash %s", result.Events, result.Passed, result.Hash)
		return
	}
	var next, done atomic.Int64
	began := time.Now()
	t.Run("schedules", func(t *testing.T) {
		for _, worker := range []string{"first", "second"} {
			t.Run(worker, func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1); i <= int64(*seedsFlag) && !t.Failed(); i = next.Add(1) {
					seed := *firstFlag + uint64(i) - 1
					result := run(t, simulation.Options{Seed: seed})
					if result.Violation != nil {
						t.Errorf("seed %d: %v\nReplay it: go test ./internal/simulation -run TestSimulation -v -seed %d", seed, result.Violation, seed)
					}
					if n := done.Add(1); n%1000 == 0 {
						t.Logf("%d schedules, %.1f per second", n, float64(n)/time.Since(began).Seconds())
					}
				}
			})
		}
	})
	t.Logf("%d schedules, %.1f per second", done.Load(), float64(done.Load())/time.Since(began).Seconds())
}

// The same seed gives the same schedule.
func TestSameSeedSameTrace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		first, second := run(t, simulation.Options{Seed: seed}), run(t, simulation.Options{Seed: seed})
		if first.Hash != second.Hash {
			t.Errorf("seed %d gave two traces", seed)
		}
	}
}
