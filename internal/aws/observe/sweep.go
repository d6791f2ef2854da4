// Package observe sees AWS on behalf of many objects at once: it describes what they depend on in batches, rarely at rest and
// often in motion, and wakes an object only when something of its own changed. So the cost of idle objects does not grow
// with their number of reconciles. It knows nothing of AWS's types: what to describe and how to compare is given to it.
package observe

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Intervals are how often things are looked at.
type Intervals struct {
	// Rest is for objects with nothing going on.
	Rest time.Duration
	// Motion is for objects that wait for something in AWS to move.
	Motion time.Duration
}

// DefaultIntervals cost 15 calls an hour and batch at rest.
var DefaultIntervals = Intervals{Rest: 4 * time.Minute, Motion: 5 * time.Second}

// Describe looks things up by name, at most a batch of them, and returns those that exist.
type Describe[V any] func(ctx context.Context, names []string) (map[string]V, error)

// Sweep observes things of one type in one account and region. It is safe for concurrent use.
type Sweep[V any] struct {
	describe  Describe[V]
	batch     int
	clock     clock.WithTicker
	intervals Intervals
	wake      func(types.NamespacedName)

	mu       sync.Mutex
	watchers map[types.NamespacedName]*watcher
	// sightings are those of the names that somebody watches, and of no others.
	sightings map[string]*sighting[V]
	// epoch is the newest that was given away.
	epoch uint64
}

type watcher struct {
	names  []string
	motion bool
}

// sighting is what is known of a name. That a thing does not exist is known too.
type sighting[V any] struct {
	known, exists bool
	value         V
	// epoch is another after each write, and never one that any sighting had before, so that an answer from before a write, or from before the
	// name was watched, is not taken for one after it.
	epoch uint64
}

// NewSweep returns a sweep that calls wake, which must not block, for every watcher of a name whose thing changed, came or went.
func NewSweep[V any](clk clock.WithTicker, batch int, intervals Intervals, describe Describe[V], wake func(types.NamespacedName)) *Sweep[V] {
	return &Sweep[V]{
		describe: describe, batch: batch, clock: clk, intervals: intervals, wake: wake,
		watchers: map[types.NamespacedName]*watcher{}, sightings: map[string]*sighting[V]{},
	}
}

// Get returns which of the names exist, and watches them from now on for the object, in place of those that it watched before. What is known
// already is good enough unless fresh is asked for, as it must be before something is done that can not be undone. Other objects are woken
// if a thing is not as they know it; this one is told.
func (s *Sweep[V]) Get(ctx context.Context, object types.NamespacedName, names []string, fresh bool) (map[string]V, error) {
	s.watch(object, names)
	if found, known := s.known(names); known && !fresh {
		return found, nil
	}
	epochs := s.epochsOf(names)
	found, err := s.describe(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, other := range s.record(names, found, epochs) {
		if other != object {
			s.wake(other)
		}
	}
	return found, nil
}

// InMotion says whether the object waits for something to move in what it watches.
func (s *Sweep[V]) InMotion(object types.NamespacedName, motion bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if watcher := s.watchers[object]; watcher != nil {
		watcher.motion = motion
	}
}

// Invalidate forgets what was seen of a name, because it was just changed by a call. Its watchers are woken when it is seen again.
func (s *Sweep[V]) Invalidate(name string) {
	s.write(name, func(sighting *sighting[V]) {
		var none V
		sighting.known, sighting.exists, sighting.value = false, false, none
	})
}

// Put records what a name is after a call that changed it, so that nobody needs to look. It wakes nobody.
func (s *Sweep[V]) Put(name string, value V) {
	s.write(name, func(sighting *sighting[V]) { sighting.known, sighting.exists, sighting.value = true, true, value })
}

// write changes what is known of a name, if anybody watches it.
func (s *Sweep[V]) write(name string, change func(*sighting[V])) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sighting := s.sightings[name]; sighting != nil {
		s.epoch++
		sighting.epoch = s.epoch
		change(sighting)
	}
}

// Forget ends an object's watch.
func (s *Sweep[V]) Forget(object types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, object)
	s.drop()
}

// drop forgets names that nobody watches. The sweep is locked.
func (s *Sweep[V]) drop() {
	watched := s.watched(func(*watcher) bool { return true })
	maps.DeleteFunc(s.sightings, func(name string, _ *sighting[V]) bool { return !watched[name] })
}

// Run sweeps until the context ends.
func (s *Sweep[V]) Run(ctx context.Context) {
	ticker := s.clock.NewTicker(s.intervals.Motion)
	defer ticker.Stop()
	lastFull := s.clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		full := !s.clock.Now().Before(lastFull.Add(s.intervals.Rest))
		if full {
			lastFull = s.clock.Now()
		}
		s.sweep(ctx, full)
	}
}

func (s *Sweep[V]) sweep(ctx context.Context, full bool) {
	s.mu.Lock()
	watched := s.watched(func(w *watcher) bool { return full || w.motion })
	s.mu.Unlock()
	for names := range slices.Chunk(slices.Sorted(maps.Keys(watched)), s.batch) {
		epochs := s.epochsOf(names)
		found, err := s.describe(ctx, names)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			log.FromContext(ctx).Error(err, "Sweeping failed, the next sweep tries again", "names", len(names))
			continue
		}
		for _, object := range s.record(names, found, epochs) {
			s.wake(object)
		}
	}
}

func (s *Sweep[V]) watch(object types.NamespacedName, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	present := s.watchers[object]
	switch {
	case present == nil:
		s.watchers[object] = &watcher{names: slices.Clone(names)}
	case !slices.Equal(present.names, names):
		present.names = slices.Clone(names)
		s.drop()
	}
	for _, name := range names {
		if s.sightings[name] == nil {
			s.epoch++
			s.sightings[name] = &sighting[V]{epoch: s.epoch}
		}
	}
}

// watched are the names that chosen watchers are interested in. The sweep is locked.
func (s *Sweep[V]) watched(chosen func(*watcher) bool) map[string]bool {
	names := map[string]bool{}
	for _, watcher := range s.watchers {
		if !chosen(watcher) {
			continue
		}
		for _, name := range watcher.names {
			names[name] = true
		}
	}
	return names
}

// known returns which of the names exist, if that is known of all of them.
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

// record keeps what was seen, and returns the objects that watch something which is not as it was known to be. A name of which nothing was known
// counts too: after a write, what is seen first may be all that its watchers wait for.
func (s *Sweep[V]) record(names []string, found map[string]V, epochs map[string]uint64) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := map[string]bool{}
	for _, name := range names {
		sighting := s.sightings[name]
		if sighting == nil || sighting.epoch != epochs[name] {
			continue
		}
		value, exists := found[name]
		changed[name] = !sighting.known || sighting.exists != exists || !reflect.DeepEqual(sighting.value, value)
		sighting.known, sighting.exists, sighting.value = true, exists, value
	}
	var objects []types.NamespacedName
	for object, watcher := range s.watchers {
		if slices.ContainsFunc(watcher.names, func(name string) bool { return changed[name] }) {
			objects = append(objects, object)
		}
	}
	return objects
}
