package observe

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/awssim/simclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	rest   = 4 * time.Minute
	motion = 5 * time.Second
)

// rig is a sweep over a world of things, on a clock that stands still until it is stepped.
type rig struct {
	*testing.T
	sweep *Sweep[string]
	clock watchedClock

	mu    sync.Mutex
	world map[string]string
	calls [][]string
	woken []string
	// during is called in the midst of a description, after the world was read.
	during func()
	fail   func(names []string) error
}

func newRig(t *testing.T, batch int) *rig {
	t.Helper()
	// Room for one: the sweep waits for its tick while the test is at something else.
	r := &rig{T: t, world: map[string]string{}, clock: watchedClock{
		simclock.New(time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), 0), make(chan struct{}, 1),
	}}
	t.Cleanup(r.clock.Close)
	r.sweep = NewSweep(r.clock, Source[string]{Describe: r.describe, Batch: batch}, Intervals{Rest: rest, Motion: motion}, func(object types.NamespacedName) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.woken = append(r.woken, object.Name)
	})
	return r
}

func (r *rig) describe(_ context.Context, names []string) (map[string]string, error) {
	r.mu.Lock()
	r.calls = append(r.calls, slices.Clone(names))
	found := maps.Clone(r.world)
	maps.DeleteFunc(found, func(name, _ string) bool { return !slices.Contains(names, name) })
	during, fail := r.during, r.fail
	r.mu.Unlock()
	if fail != nil {
		if err := fail(names); err != nil {
			return nil, err
		}
	}
	if during != nil {
		during()
	}
	return found, nil
}

// run runs the sweep until the test finishes. The function steps the clock by one tick of motion,
// and returns when the sweep has dealt with it.
func (r *rig) run() (tick func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.sweep.Run(ctx) }()
	r.Cleanup(func() { cancel(); <-done })
	<-r.clock.waits
	return func() { r.clock.Step(motion); <-r.clock.waits }
}

// watchedClock is a clock whose ticker reports when a caller begins to wait for a tick.
type watchedClock struct {
	*simclock.Clock
	waits chan struct{}
}

type watchedTicker struct {
	clock.Ticker
	waits chan struct{}
}

func (c watchedClock) NewTicker(d time.Duration) clock.Ticker {
	return watchedTicker{c.Clock.NewTicker(d), c.waits}
}

func (t watchedTicker) C() <-chan time.Time {
	t.waits <- struct{}{}
	return t.Ticker.C()
}

func object(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func (r *rig) get(who string, fresh bool, names ...string) map[string]string {
	r.Helper()
	found, err := r.sweep.Get(r.Context(), object(who), names, fresh)
	if err != nil {
		r.Fatal(err)
	}
	return found
}

func (r *rig) set(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value == "" {
		delete(r.world, name)
		return
	}
	r.world[name] = value
}

// expect checks what was called and who was woken since it was last called.
func (r *rig) expect(reason string, calls [][]string, woken ...string) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.woken)
	if difference := cmp.Diff(calls, r.calls); difference != "" {
		r.Errorf("%s: calls (-want +got):\n%s", reason, difference)
	}
	if !slices.Equal(woken, r.woken) {
		r.Errorf("%s: woken %q, want %q", reason, r.woken, woken)
	}
	r.calls, r.woken = nil, nil
}

// replace records a write of a name that existed.
func (r *rig) replace(name, before, value string) { r.sweep.Replace(name, &before, value) }

func (r *rig) knows(reason, name, want string) {
	r.Helper()
	r.sweep.mu.Lock()
	defer r.sweep.mu.Unlock()
	got := "unwatched"
	if sighting := r.sweep.sightings[name]; sighting != nil {
		got = map[bool]string{false: "unknown", true: sighting.value}[sighting.known]
	}
	if got != want {
		r.Errorf("%s: %q is known of %q, want %q", reason, got, name, want)
	}
}
