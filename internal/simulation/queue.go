package simulation

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is a controller's work queue from which the event loop takes requests, in the order that
// the schedule has. Like client-go's, it holds a request once, and of several times at which a
// request is due it keeps the earliest.
type queue struct {
	clock   clock.PassiveClock
	limiter workqueue.TypedRateLimiter[reconcile.Request]

	mu    sync.Mutex
	ready map[reconcile.Request]bool
	due   map[reconcile.Request]time.Time
	ended bool
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = (*queue)(nil)

func newQueue(clk clock.PassiveClock, limiter workqueue.TypedRateLimiter[reconcile.Request]) *queue {
	return &queue{clock: clk, limiter: limiter, ready: map[reconcile.Request]bool{}, due: map[reconcile.Request]time.Time{}}
}

// waiting returns the requests that can be reconciled now, in a stable order.
func (q *queue) waiting() []reconcile.Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	for request, at := range q.due {
		if !at.After(now) {
			delete(q.due, request)
			q.ready[request] = true
		}
	}
	return slices.SortedFunc(maps.Keys(q.ready), func(a, b reconcile.Request) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// next returns when the next request becomes due; false if none will.
func (q *queue) next() (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.due) == 0 {
		return time.Time{}, false
	}
	return slices.MinFunc(slices.Collect(maps.Values(q.due)), time.Time.Compare), true
}

// take removes a request that is about to be reconciled. One that is added meanwhile is reconciled again.
func (q *queue) take(request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.ready, request)
}

// Add implements workqueue.TypedInterface.
func (q *queue) Add(request reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready[request] = true
}

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue) AddAfter(request reconcile.Request, after time.Duration) {
	if after <= 0 {
		q.Add(request)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.clock.Now().Add(after)
	if present, known := q.due[request]; !known || at.Before(present) {
		q.due[request] = at
	}
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *queue) AddRateLimited(request reconcile.Request) {
	// The limiter counts on the real clock, on which a retry waits for a random part of a nanosecond.
	q.AddAfter(request, q.limiter.When(request).Round(time.Millisecond))
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue) Forget(request reconcile.Request) { q.limiter.Forget(request) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *queue) NumRequeues(request reconcile.Request) int { return q.limiter.NumRequeues(request) }

// Len implements workqueue.TypedInterface.
func (q *queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready)
}

// Get implements workqueue.TypedInterface. Only a worker would call it, and there is none.
func (q *queue) Get() (reconcile.Request, bool) { panic("simulation: the event loop takes requests") }

// Done implements workqueue.TypedInterface.
func (q *queue) Done(reconcile.Request) {}

// ShutDown implements workqueue.TypedInterface.
func (q *queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
}

// ShutDownWithDrain implements workqueue.TypedInterface.
func (q *queue) ShutDownWithDrain() { q.ShutDown() }

// ShuttingDown implements workqueue.TypedInterface.
func (q *queue) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended
}
