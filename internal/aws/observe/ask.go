package observe

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/aws"
)

// askedAtOnce limits how many describe calls for waiting callers run at the same time. Names that
// are requested meanwhile share the next call, so more waiting callers mean fewer calls per caller.
// With two, one slow answer does not block every caller.
const askedAtOnce = 2

// question is one description that is waited for.
type question[V any] struct {
	// names are what is asked, with who asks.
	names map[string]map[types.NamespacedName]bool
	// ctx has the values of the first caller, and is never done: the others must not suffer if that
	// one gives up. The HTTP client's time-out bounds it.
	ctx context.Context //nolint:containedctx // it is a call's that is made for many

	answered chan struct{}
	// found and err are valid once it is answered.
	found map[string]V
	err   error
}

// ask describes names, and returns which exist.
func (s *Sweep[V]) ask(ctx context.Context, object types.NamespacedName, names []string) (map[string]V, error) {
	asked := s.join(ctx, object, names)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-asked.answered:
	}
	if asked.err != nil {
		return nil, asked.err
	}
	found := map[string]V{}
	for _, name := range names {
		if value, exists := asked.found[name]; exists {
			found[name] = value
		}
	}
	return found, nil
}

// join adds names to the newest question that is not asked yet and has room for them, or to a new one.
func (s *Sweep[V]) join(ctx context.Context, object types.NamespacedName, names []string) *question[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var joined *question[V]
	if last := len(s.questions) - 1; last >= 0 && len(s.questions[last].names)+len(names) <= s.source.Batch {
		joined = s.questions[last]
	} else {
		joined = &question[V]{names: map[string]map[types.NamespacedName]bool{}, ctx: aws.WithCallers(context.WithoutCancel(ctx)), answered: make(chan struct{})}
		s.questions = append(s.questions, joined)
		s.resume(joined, names)
	}
	for _, name := range names {
		if joined.names[name] == nil {
			joined.names[name] = map[types.NamespacedName]bool{}
		}
		joined.names[name][object] = true
		delete(s.heldBack, name)
	}
	if s.asking < askedAtOnce {
		s.asking++
		go s.answer()
	}
	return joined
}

// answer asks question after question until none waits.
func (s *Sweep[V]) answer() {
	for {
		if wait := s.turn(); wait > 0 {
			<-s.real.After(wait)
		}
		asked := s.next()
		if asked == nil {
			return
		}
		names := slices.Sorted(maps.Keys(asked.names))
		epochs := s.epochsOf(names)
		asked.found, asked.err = s.source.Describe(asked.ctx, names)
		switch {
		case asked.err == nil:
			for _, object := range s.record(names, asked.found, epochs, asked.names) {
				s.wake(object)
			}
		case aws.IsHeldBack(asked.err):
			s.holdBack(asked.names)
		}
		close(asked.answered)
	}
}

// resume adds names that were held back to a question, besides the names that it is made for, as far
// as it has room. Else a thousand callers would return for them a few at a time, each few with a
// request. The sweep is locked.
func (s *Sweep[V]) resume(question *question[V], besides []string) {
	for _, name := range slices.Sorted(maps.Keys(s.heldBack)) {
		if len(question.names)+len(besides) >= s.source.Batch {
			return
		}
		if !slices.Contains(besides, name) {
			question.names[name] = s.heldBack[name]
			delete(s.heldBack, name)
		}
	}
}

// holdBack keeps the names of a question that the request budget did not allow, and who asked, for the
// next question. Names that no object watches any more are left out.
func (s *Sweep[V]) holdBack(names map[string]map[types.NamespacedName]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, askers := range names {
		if s.sightings[name] == nil {
			continue
		}
		if s.heldBack[name] == nil {
			s.heldBack[name] = map[types.NamespacedName]bool{}
		}
		maps.Copy(s.heldBack[name], askers)
	}
}

// turn takes the next moment at which something may be asked, and returns how long it is until then.
func (s *Sweep[V]) turn() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.real.Now()
	at := s.lastAsked.Add(s.intervals.Spacing)
	if at.Before(now) || len(s.questions) == 0 {
		at = now
	}
	s.lastAsked = at
	return at.Sub(now)
}

func (s *Sweep[V]) next() *question[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.questions) == 0 {
		s.asking--
		return nil
	}
	asked := s.questions[0]
	s.questions = s.questions[1:]
	return asked
}

// start is the list of everything that a sweep starts with.
type start[V any] struct {
	// listing is not nil while the list is being asked for.
	listing *listing
	done    bool
	// listed are the things of the list that have not been asked for yet. They are good until the
	// first sweep.
	listed map[string]V
}

type listing struct {
	done chan struct{}
	// err is valid once it is done.
	err error
}

// take returns what was listed of the names, and forgets it: from now on they are watched.
func (s *start[V]) take(names []string) map[string]V {
	taken := map[string]V{}
	for _, name := range names {
		if value, listed := s.listed[name]; listed {
			taken[name] = value
			delete(s.listed, name)
		}
	}
	return taken
}

// expire forgets the list, which is as old as what a sweep describes again.
func (s *start[V]) expire() { s.listed = nil }

// listOnce waits until everything has been listed. A list that failed is asked for again by who comes next.
func (s *Sweep[V]) listOnce(ctx context.Context) error {
	s.mu.Lock()
	if s.source.List == nil || s.start.done {
		s.mu.Unlock()
		return nil
	}
	if s.start.listing == nil {
		s.start.listing = &listing{done: make(chan struct{})}
		go s.list(aws.WithCallers(context.WithoutCancel(ctx)), s.start.listing)
	}
	under := s.start.listing
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-under.done:
		return under.err
	}
}

func (s *Sweep[V]) list(ctx context.Context, under *listing) {
	found, err := s.source.List(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	under.err = err
	s.start.listing, s.start.done, s.start.listed = nil, err == nil, found
	close(under.done)
}
