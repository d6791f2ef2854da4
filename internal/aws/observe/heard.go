package observe

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// heardFor is the time after an event for which a resource is polled as often as one that is
// changing. AWS sends an event before all of its describe calls show the change.
const heardFor = 15 * time.Second

// Listening sets whether events report changes (see Hear), so that resources at rest can be polled
// less often. Earlier changes are not missed: the next full sweep still comes as soon as it would
// have.
func (s *Sweep[V]) Listening(listening bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listening = listening
	s.relaxed = s.relaxed && listening
}

// Hear polls resources at once, and soon again, because an event reported a change of them. Names
// that are not watched cost nothing. It does not wait; watchers are woken if things are not as they
// were.
func (s *Sweep[V]) Hear(ctx context.Context, names []string) {
	s.mu.Lock()
	until := s.clock.Now().Add(heardFor)
	watched := slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(name string) bool { return s.sightings[name] == nil })
	watched = slices.Compact(watched)
	for _, name := range watched {
		s.heard[name] = until
	}
	s.mu.Unlock()
	for names := range slices.Chunk(watched, s.source.Batch) {
		s.batches.join(ctx, types.NamespacedName{}, names)
	}
}

// Find returns the names of those watched things that fit.
func (s *Sweep[V]) Find(fits func(V) bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for name, sighting := range s.sightings {
		if sighting.exists && fits(sighting.value) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// rest returns the time from one full sweep to the next.
func (s *Sweep[V]) rest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relaxed {
		return max(s.intervals.Rest, s.intervals.RestWithEvents)
	}
	return s.intervals.Rest
}

// stillHeard returns the names that an event was received for recently. The caller holds the lock
// of the sweep.
func (s *Sweep[V]) stillHeard() []string {
	now := s.clock.Now()
	maps.DeleteFunc(s.heard, func(name string, until time.Time) bool { return until.Before(now) || s.sightings[name] == nil })
	return slices.Collect(maps.Keys(s.heard))
}
