package observe

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/aws"
)

// askedAtOnce limits how many describe calls for waiting callers run at the same time. Names that
// are requested meanwhile share the next call, so more waiting callers mean fewer calls per caller.
// With two, one slow answer does not block every caller.
const askedAtOnce = 2

// askers maps names to the objects that ask for them.
type askers map[string]map[types.NamespacedName]bool

// add adds an object that asks for a name.
func (a askers) add(name string, object types.NamespacedName) {
	if a[name] == nil {
		a[name] = map[types.NamespacedName]bool{}
	}
	a[name][object] = true
}

// question is one description that is waited for.
type question[V any] struct {
	askers askers
	// ctx has the values of the first caller, and is never done: the others must not suffer if that
	// one gives up. The HTTP client's time-out bounds it.
	ctx context.Context //nolint:containedctx // it is a call's that is made for many

	answered chan struct{}
	// found and err are valid once it is answered.
	found map[string]V
	err   error
}

// batcher makes few descriptions for many callers that wait.
type batcher[V any] struct {
	// describe looks up what callers ask for.
	describe func(context.Context, askers) (map[string]V, error)
	// size is how many names one description takes, and spacing the least time between two.
	size    int
	spacing time.Duration
	// clock has real time, because callers come in real time.
	clock clock.Clock

	mu sync.Mutex
	// questions wait to be asked, the oldest first; asking is how many are being asked, and
	// lastAsked when the last was, or will be.
	questions []*question[V]
	asking    int
	lastAsked time.Time
	// heldBack is what the request budget did not allow to ask.
	heldBack askers
}

// ask describes names for an object, and returns which exist.
func (b *batcher[V]) ask(ctx context.Context, object types.NamespacedName, names []string) (map[string]V, error) {
	asked := b.join(ctx, object, names)
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
func (b *batcher[V]) join(ctx context.Context, object types.NamespacedName, names []string) *question[V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	var joined *question[V]
	if last := len(b.questions) - 1; last >= 0 && len(b.questions[last].askers)+len(names) <= b.size {
		joined = b.questions[last]
	} else {
		joined = &question[V]{askers: askers{}, ctx: aws.WithCallers(context.WithoutCancel(ctx)), answered: make(chan struct{})}
		b.questions = append(b.questions, joined)
		b.resume(joined, names)
	}
	for _, name := range names {
		joined.askers.add(name, object)
		delete(b.heldBack, name)
	}
	if b.asking < askedAtOnce {
		b.asking++
		go b.answer()
	}
	return joined
}

// resume adds names that were held back to a question, besides the names that it is made for, as far
// as it has room. Otherwise a thousand callers would return for them a few at a time, and each few
// would cost a request. The caller holds the lock.
func (b *batcher[V]) resume(question *question[V], besides []string) {
	for _, name := range slices.Sorted(maps.Keys(b.heldBack)) {
		if len(question.askers)+len(besides) >= b.size {
			return
		}
		if !slices.Contains(besides, name) {
			question.askers[name] = b.heldBack[name]
			delete(b.heldBack, name)
		}
	}
}

// holdBack keeps what the request budget did not allow for the next question.
func (b *batcher[V]) holdBack(names askers) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.heldBack == nil {
		b.heldBack = askers{}
	}
	for name, objects := range names {
		for object := range objects {
			b.heldBack.add(name, object)
		}
	}
}

// answer asks question after question until none waits.
func (b *batcher[V]) answer() {
	for {
		if wait := b.turn(); wait > 0 {
			<-b.clock.After(wait)
		}
		asked := b.next()
		if asked == nil {
			return
		}
		asked.found, asked.err = b.describe(asked.ctx, asked.askers)
		if aws.IsHeldBack(asked.err) {
			b.holdBack(asked.askers)
		}
		close(asked.answered)
	}
}

// turn takes the next moment at which something may be asked, and returns how long it is until then.
func (b *batcher[V]) turn() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	at := b.lastAsked.Add(b.spacing)
	if at.Before(now) || len(b.questions) == 0 {
		at = now
	}
	b.lastAsked = at
	return at.Sub(now)
}

// next takes the oldest question, or returns nil if none waits.
func (b *batcher[V]) next() *question[V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.questions) == 0 {
		b.asking--
		return nil
	}
	asked := b.questions[0]
	b.questions = b.questions[1:]
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
	if s.source.List == nil || s.intervals.Unlisted || s.start.done {
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
