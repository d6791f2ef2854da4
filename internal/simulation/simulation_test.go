package simulation_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/simulation"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

var (
	seedFlag  = flag.Int64("seed", -1, "run the schedule of this seed alone, and show it")
	seedsFlag = flag.Int("seeds", 0, "how many schedules to run; 0 for as many as SIMULATION_SCHEDULES says, or else 600")
	firstFlag = flag.Uint64("first", 1, "the seed of the first schedule")
)

// kinds and provisionerKinds are what the API servers serve that the controllers of pools and of
// Provisioners run against.
var (
	kinds            = sync.OnceValues(func() (*apiserver.Kinds, error) { return servedKinds(manager.NewScheme, "../../config/crd") })
	provisionerKinds = sync.OnceValues(func() (*apiserver.Kinds, error) {
		return servedKinds(manager.NewProvisionerScheme, "../../config/provisioner/crd")
	})
)

// servedKinds returns the kinds of a scheme, with the definitions in a directory.
func servedKinds(newScheme func() (*runtime.Scheme, error), directory string) (*apiserver.Kinds, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	definitions, err := apitest.Load(os.DirFS(directory), "bases")
	if err != nil {
		return nil, err
	}
	return apiserver.NewKinds(scheme, definitions), nil
}

// TestMain has garbage collected rarely: a schedule produces much of it, and needs little memory.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1600)
	m.Run()
}

// run runs the schedule of a seed.
func run(t *testing.T, options simulation.Options) (result simulation.Result) {
	t.Helper()
	read := kinds
	if options.Kind == simulation.Provisioners {
		read = provisionerKinds
	}
	all, err := read()
	if err != nil {
		t.Fatal(err)
	}
	options.Kinds = all
	synctest.Test(t, func(t *testing.T) {
		if result, err = simulation.Run(t.Context(), options); err != nil {
			t.Errorf("seed %d: %v", options.Seed, err)
		}
		// A description that no caller waits for any longer may be spaced from the one before: let
		// it finish.
		time.Sleep(time.Minute)
	})
	return result
}

// schedules returns how many schedules TestSimulation runs. A run of all packages sets the variable:
// it cannot give one of them a flag.
func schedules(t *testing.T) int {
	t.Helper()
	wanted := os.Getenv("SIMULATION_SCHEDULES")
	if *seedsFlag != 0 || wanted == "" {
		return cmp.Or(*seedsFlag, 600)
	}
	count, err := strconv.Atoi(wanted)
	if err != nil {
		t.Fatalf("reading SIMULATION_SCHEDULES: %v", err)
	}
	return count
}

// TestSimulation holds that every invariant holds in every schedule of AWSMachinePools.
func TestSimulation(t *testing.T) { simulate(t, simulation.SelfManaged, schedules(t)) }

// TestManagedPools holds that every invariant holds in every schedule of AWSManagedMachinePools.
// Some of these schedules have an AWSMachinePool as well.
func TestManagedPools(t *testing.T) { simulate(t, simulation.Managed, schedules(t)*2/5) }

// TestProvisioners holds that every invariant holds in every schedule of Provisioners.
func TestProvisioners(t *testing.T) { simulate(t, simulation.Provisioners, schedules(t)*2/5) }

// simulate runs so many schedules of a kind of pools.
func simulate(t *testing.T, kind string, count int) {
	t.Helper()
	if *seedFlag >= 0 {
		result := run(t, simulation.Options{Kind: kind, Seed: uint64(*seedFlag), Trace: os.Stdout})
		if result.Violation != nil {
			t.Errorf("seed %d: %v", *seedFlag, result.Violation)
		}
		t.Logf("%d lines, %s, hash %s", result.Events, result.Passed, result.Hash)
		return
	}
	var next atomic.Int64
	test := t.Name()
	last := int64(count)
	rate := &progress{began: time.Now(), shown: time.Now()}
	t.Run("schedules", func(t *testing.T) {
		for _, worker := range []string{"first", "second"} {
			t.Run(worker, func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1); i <= last && !t.Failed(); i = next.Add(1) {
					seed := *firstFlag + uint64(i) - 1
					result := run(t, simulation.Options{Kind: kind, Seed: seed})
					if result.Violation != nil {
						t.Errorf("seed %d: %v\nReplay it: go test ./internal/simulation -run '%s$' -v -seed %d\nThe fewest events that were found to do it:\n%s",
							seed, result.Violation, test, seed, minimized(t, kind, seed, result.Steps))
					}
					rate.add(t)
				}
			})
		}
	})
	t.Log(rate)
}

// progress counts how many schedules were run, and how fast.
type progress struct {
	began time.Time

	mu    sync.Mutex
	done  int
	shown time.Time
}

// add counts a schedule, and shows the progress every ten seconds.
func (p *progress) add(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done++; time.Since(p.shown) >= 10*time.Second {
		p.shown = time.Now()
		t.Log(p)
	}
}

// String describes the progress.
func (p *progress) String() string {
	return fmt.Sprintf("%d schedules, %.1f per second", p.done, float64(p.done)/time.Since(p.began).Seconds())
}

// minimized returns the trace of a schedule that violates an invariant, without the events that
// this takes none of.
func minimized(t *testing.T, kind string, seed uint64, steps int) string {
	t.Helper()
	skip := simulation.Minimize(steps, 60, func(skip map[int]bool) bool {
		return run(t, simulation.Options{Kind: kind, Seed: seed, Skip: skip}).Violation != nil
	})
	var trace strings.Builder
	run(t, simulation.Options{Kind: kind, Seed: seed, Skip: skip, Trace: &trace})
	return trace.String()
}

// TestMinimize leaves out all steps that are not needed.
func TestMinimize(t *testing.T) {
	t.Parallel()
	tries := 0
	skip := simulation.Minimize(100, 1000, func(skip map[int]bool) bool {
		tries++
		return !skip[17] && !skip[18] && !skip[93]
	})
	if len(skip) != 97 || skip[17] || skip[18] || skip[93] {
		t.Errorf("%d steps are left out after %d tries", len(skip), tries)
	}
}

// TestSameSeedSameTrace holds that the same seed gives the same schedule.
func TestSameSeedSameTrace(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{simulation.SelfManaged, simulation.Managed, simulation.Provisioners} {
		for seed := range uint64(5) {
			options := simulation.Options{Kind: kind, Seed: seed}
			if first, second := run(t, options), run(t, options); first.Hash != second.Hash {
				t.Errorf("seed %d of %s gave two traces", seed, kind)
			}
		}
	}
}
