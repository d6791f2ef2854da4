// Package observe sees AWS on behalf of many objects at once: it describes what they depend on in
// batches, rarely at rest and often in motion, and wakes an object only when something of its own
// changed. So the cost of idle objects does not grow with their number of reconciles, and starting
// costs as little as a sweep. It does not know AWS's types: the caller provides how to describe and
// compare them.
package observe

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/internal/aws"
)

// Intervals configures how often resources are polled.
type Intervals struct {
	// Rest is for objects with nothing going on.
	Rest time.Duration
	// Motion is for objects that wait for something in AWS to move.
	Motion time.Duration
	// RestWithEvents replaces Rest while events report changes, unless it is shorter than Rest.
	RestWithEvents time.Duration
	// Spacing is the least time between two descriptions for waiting callers, so that many callers
	// that ask one after the other share them too, and a single caller is answered at once. It is
	// real time, whatever the observer's clock is, because callers come in real time; zero for
	// none.
	Spacing time.Duration
	// Unlisted is set where few objects are observed, and not for long: what they need is described,
	// without a list of everything first.
	Unlisted bool
}

// DefaultIntervals cost 15 calls an hour and batch at rest, and 4 with events.
var DefaultIntervals = Intervals{Rest: 4 * time.Minute, Motion: 5 * time.Second, RestWithEvents: 15 * time.Minute, Spacing: 200 * time.Millisecond}

// Source describes how to read the resources of one type.
type Source[V any] struct {
	// Describe looks things up by name, at most a batch of them, and returns the ones that exist.
	Describe func(ctx context.Context, names []string) (map[string]V, error)
	// Batch is how many names one description takes.
	Batch int
	// List returns all things that may be an object's own, by name, in as few calls as they fill.
	// It is called when something is asked for the first time, so that a manager that starts with a
	// thousand objects need not ask for each. Nil for a source that cannot.
	List func(ctx context.Context) (map[string]V, error)
}

// Sweep observes things of one type in one account and region. It is safe for concurrent use.
type Sweep[V any] struct {
	source    Source[V]
	clock     clock.WithTicker
	intervals Intervals
	wake      func(types.NamespacedName)
	// batches makes the descriptions that callers wait for.
	batches batcher[V]

	mu       sync.Mutex
	watchers map[types.NamespacedName]*watcher
	// sightings has an entry for each watched name, and for no others.
	sightings map[string]*sighting[V]
	// epoch is the newest that was given away.
	epoch uint64
	start start[V]
	// heard maps the names that an event was received for to the time until which that matters.
	// While listening, full sweeps are further apart; relaxed is true from the first full sweep
	// since listening began.
	heard              map[string]time.Time
	listening, relaxed bool
	// lastFull is when the last full sweep began, and failed whether AWS did not answer all of it.
	// Only Tick uses them.
	lastFull time.Time
	failed   bool
}

// watcher is an object's interest in one resource, which has one of several names.
type watcher struct {
	names  []string
	motion bool
}

// sighting records what was last seen under a name, including that nothing exists.
type sighting[V any] struct {
	known, exists bool
	value         V
	// epoch is another after each write, and never one that any sighting had before, so that an
	// answer from before a write, or from before the name was watched, is not taken for one after
	// it.
	epoch    uint64
	watchers map[types.NamespacedName]struct{}
}

// NewSweep returns a sweep that calls wake, which must not block, for every watcher of a name whose
// thing changed, came or went.
func NewSweep[V any](clk clock.WithTicker, source Source[V], intervals Intervals, wake func(types.NamespacedName)) *Sweep[V] {
	s := &Sweep[V]{
		source: source, clock: clk, intervals: intervals, wake: wake,
		watchers: map[types.NamespacedName]*watcher{}, sightings: map[string]*sighting[V]{}, heard: map[string]time.Time{}, lastFull: clk.Now(),
	}
	s.batches = batcher[V]{
		describe: func(ctx context.Context, asked askers) (map[string]V, error) {
			return s.see(ctx, slices.Sorted(maps.Keys(asked)), asked)
		},
		size: source.Batch, spacing: intervals.Spacing, clock: clock.RealClock{},
	}
	return s
}

// Get returns which of the possible names of an object's resource exist, and watches them from now
// on for the object, in place of the names that it watched before. It answers from what is known
// already, unless fresh is set, as it must be before an irreversible action. Other objects are
// woken if a resource differs from what they know; this object gets the result. Concurrent callers
// share a description.
func (s *Sweep[V]) Get(ctx context.Context, object types.NamespacedName, names []string, fresh bool) (map[string]V, error) {
	if !fresh {
		if err := s.listOnce(ctx); err != nil {
			return nil, err
		}
	}
	s.watch(object, names)
	if found, known := s.known(names); known && !fresh {
		return found, nil
	}
	return s.batches.ask(ctx, object, names)
}

// Peek returns what is known about a name without asking AWS, and whether a resource of that name
// is known to exist.
func (s *Sweep[V]) Peek(name string) (V, bool) {
	found, _ := s.known([]string{name})
	value, exists := found[name]
	return value, exists
}

// InMotion says whether the object waits for something to move in what it watches.
func (s *Sweep[V]) InMotion(object types.NamespacedName, motion bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if watcher := s.watchers[object]; watcher != nil {
		watcher.motion = motion
	}
}

// Moves reports whether the object waits for something to move, as last set by InMotion.
func (s *Sweep[V]) Moves(object types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	watcher := s.watchers[object]
	return watcher != nil && watcher.motion
}

// Invalidate forgets what was seen of a name, because it was just changed by a call. Its watchers
// are woken when it is seen again.
func (s *Sweep[V]) Invalidate(name string) {
	s.write(name, func(sighting *sighting[V]) {
		var none V
		sighting.known, sighting.exists, sighting.value = false, false, none
	})
}

// Replace records the value of a name after a call that changed it, in place of the value that the
// caller based the call on, nil if it did not exist. It wakes no object. A sweep may have seen the
// name meanwhile. If it saw anything else, the value lacks what another caller changed, so that the
// name is described again when it is next asked for.
func (s *Sweep[V]) Replace(name string, before *V, value V) {
	s.write(name, func(sighting *sighting[V]) {
		asBefore := sighting.exists == (before != nil) && (before == nil || reflect.DeepEqual(sighting.value, *before))
		if sighting.known && (asBefore || sighting.exists && reflect.DeepEqual(sighting.value, value)) {
			sighting.exists, sighting.value = true, value
			return
		}
		var none V
		sighting.known, sighting.exists, sighting.value = false, false, none
	})
}

// write changes what is known about a name, if an object watches it.
func (s *Sweep[V]) write(name string, change func(*sighting[V])) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sighting := s.sightings[name]; sighting != nil {
		s.epoch++
		sighting.epoch = s.epoch
		change(sighting)
	}
}

// Forget removes an object's watch.
func (s *Sweep[V]) Forget(object types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if watcher := s.watchers[object]; watcher != nil {
		s.drop(object, watcher.names)
		delete(s.watchers, object)
	}
}

// Watchers returns the objects that watch a resource, in no particular order.
func (s *Sweep[V]) Watchers() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.watchers))
}

// drop removes an object's interest in names, and forgets names that no other object watches. The
// sweep is locked.
func (s *Sweep[V]) drop(object types.NamespacedName, names []string) {
	for _, name := range names {
		if sighting := s.sightings[name]; sighting != nil {
			delete(sighting.watchers, object)
			if len(sighting.watchers) == 0 {
				delete(s.sightings, name)
			}
		}
	}
}

// Run sweeps until the context is done.
func (s *Sweep[V]) Run(ctx context.Context) {
	ticker := s.clock.NewTicker(s.intervals.Motion)
	defer ticker.Stop()
	s.lastFull, s.failed = s.clock.Now(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		s.Tick(ctx)
	}
}

// Tick sweeps once, as Run does after each interval of motion: over everything if a full sweep is
// due, else over what is in motion. It must not be called while Run runs, nor twice at a time.
func (s *Sweep[V]) Tick(ctx context.Context) {
	full := !s.clock.Now().Before(s.nextFull())
	if full {
		s.lastFull = s.clock.Now()
	}
	if complete := s.sweep(ctx, full); full {
		s.failed = !complete
	}
}

// nextFull returns when the next full sweep is due.
func (s *Sweep[V]) nextFull() time.Time {
	wait := s.rest()
	if s.failed {
		wait = min(wait, afterFailure)
	}
	return s.lastFull.Add(wait)
}

// Due returns the time from which on Tick polls something: now if anything is in motion, else when
// the next full sweep is due. It must not be called while Run runs.
func (s *Sweep[V]) Due() time.Time {
	s.mu.Lock()
	moving := len(s.due(false)) > 0
	s.mu.Unlock()
	if moving {
		return s.clock.Now()
	}
	return s.nextFull()
}

// afterFailure is the time from a failed full sweep to the next attempt. It is short so that an
// outage of AWS, and its recovery, are noticed even when nothing is changing.
const afterFailure = 30 * time.Second

// sweep polls all names or only those in motion. It returns false if AWS did not answer for some of
// them.
func (s *Sweep[V]) sweep(ctx context.Context, full bool) bool {
	complete := true
	s.mu.Lock()
	if full {
		s.start.expire()
		s.relaxed = s.listening
	}
	names := s.due(full)
	s.mu.Unlock()
	for names := range slices.Chunk(names, s.source.Batch) {
		_, err := s.see(ctx, names, nil)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return false
		case aws.IsThrottled(err):
			// Not worth an error: the next sweep comes soon, and a caller that waits for a change
			// also polls for it.
			log.FromContext(ctx).V(1).Info("Sweeping was throttled, the next sweep tries again", "names", len(names), "reason", err.Error())
		default:
			log.FromContext(ctx).Error(err, "Sweeping failed, the next sweep tries again", "names", len(names))
			complete = false
		}
	}
	return complete
}

// see describes names, records what exists, and wakes the objects that watch what has changed. It does
// not wake the objects that asked.
func (s *Sweep[V]) see(ctx context.Context, names []string, asked askers) (map[string]V, error) {
	epochs := s.epochsOf(names)
	found, err := s.source.Describe(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, object := range s.record(names, found, epochs, asked) {
		s.wake(object)
	}
	return found, nil
}

// due returns the names to describe: the names of all watchers, or only names that are changing,
// and names that an event was received for. An object that already has its resource does not need
// the alternative names that the resource might have had; they would eventually be half of all
// names. The caller holds the lock of the sweep.
func (s *Sweep[V]) due(full bool) []string {
	due := map[string]bool{}
	for _, watcher := range s.watchers {
		if !full && !watcher.motion {
			continue
		}
		has := slices.ContainsFunc(watcher.names, func(name string) bool { return s.sightings[name].exists })
		for _, name := range watcher.names {
			if sighting := s.sightings[name]; !has || sighting.exists || !sighting.known {
				due[name] = true
			}
		}
	}
	for _, name := range s.stillHeard() {
		due[name] = true
	}
	return slices.Sorted(maps.Keys(due))
}

func (s *Sweep[V]) watch(object types.NamespacedName, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	present := s.watchers[object]
	switch {
	case present == nil:
		s.watchers[object] = &watcher{names: slices.Clone(names)}
	case slices.Equal(present.names, names):
		return
	default:
		s.drop(object, slices.DeleteFunc(slices.Clone(present.names), func(name string) bool { return slices.Contains(names, name) }))
		present.names = slices.Clone(names)
	}
	listed := s.start.take(names)
	for _, name := range names {
		seen := s.sightings[name]
		if seen == nil {
			s.epoch++
			seen = &sighting[V]{epoch: s.epoch, watchers: map[types.NamespacedName]struct{}{}}
			seen.value, seen.exists = listed[name]
			// A name that was not listed counts as free if the object's thing has another one: a
			// caller that wants to use it finds out.
			seen.known = len(listed) > 0
			s.sightings[name] = seen
		}
		seen.watchers[object] = struct{}{}
	}
}

// known returns which of the names exist, if that is known for all of them.
func (s *Sweep[V]) known(names []string) (map[string]V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]V{}
	for _, name := range names {
		sighting := s.sightings[name]
		if sighting == nil || !sighting.known {
			return nil, false
		}
		if sighting.exists {
			found[name] = sighting.value
		}
	}
	return found, true
}

func (s *Sweep[V]) epochsOf(names []string) map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	epochs := make(map[string]uint64, len(names))
	for _, name := range names {
		if sighting := s.sightings[name]; sighting != nil {
			epochs[name] = sighting.epoch
		}
	}
	return epochs
}

// record keeps what was seen, and returns the objects that watch something that has changed,
// without the objects that asked for it. A name without a known state counts too: after a write,
// its watchers may wait only for the first state that is seen.
func (s *Sweep[V]) record(names []string, found map[string]V, epochs map[string]uint64, asked askers) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	objects := map[types.NamespacedName]bool{}
	for _, name := range names {
		sighting := s.sightings[name]
		if sighting == nil || sighting.epoch != epochs[name] {
			continue
		}
		value, exists := found[name]
		changed := !sighting.known || sighting.exists != exists || !reflect.DeepEqual(sighting.value, value)
		sighting.known, sighting.exists, sighting.value = true, exists, value
		if !changed {
			continue
		}
		for object := range sighting.watchers {
			if !asked[name][object] {
				objects[object] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(objects), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
