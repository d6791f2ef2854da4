package sim

import (
	"sync"
	"time"
)

// Event reports that something in the simulated AWS has changed. Kind is for example "instance",
// State then one of "pending", "running", "booted", "shutting-down", "stopping", "stopped", and
// "terminated".
type Event struct {
	Account string
	Region  string
	Kind    string
	ID      string
	State   string
	Time    time.Time
}

// notifier hands events to subscribers in order and outside the kernel's lock. It has no goroutine
// of its own: the goroutine that leaves the lock delivers the gathered events, and Clock.Step thus
// returns only after the subscribers have seen what happened in it.
type notifier struct {
	delivering sync.Mutex

	mu          sync.Mutex
	pending     []Event
	subscribers []*func(Event)
}

// Emit notifies the subscribers, once the lock is released. Time is set to now if it is zero. Only
// for code under the lock.
func (k *Kernel) Emit(e Event) {
	if e.Time.IsZero() {
		e.Time = k.now
	}
	k.notify.mu.Lock()
	defer k.notify.mu.Unlock()
	k.notify.pending = append(k.notify.pending, e)
}

// OnChange has f called for every later event, in order, until cancel is called. f runs outside the
// kernel's lock and may call AWS, but must not step the clock; the next event waits for it.
func (k *Kernel) OnChange(f func(Event)) (cancel func()) {
	n := &k.notify
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subscribers = append(n.subscribers, &f)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for i, s := range n.subscribers {
			if s == &f {
				n.subscribers = append(n.subscribers[:i:i], n.subscribers[i+1:]...)
				return
			}
		}
	}
}

// deliver empties the queue. If another goroutine is at it, that one delivers these events too.
func (n *notifier) deliver() {
	for n.waiting() {
		if !n.delivering.TryLock() {
			return
		}
		n.drain()
	}
}

func (n *notifier) drain() {
	defer n.delivering.Unlock()
	for e, subscribers := n.next(); subscribers != nil; e, subscribers = n.next() {
		for _, f := range subscribers {
			(*f)(e)
		}
	}
}

func (n *notifier) waiting() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pending) > 0
}

// next takes the first event off the queue; the subscribers are nil if there is none.
func (n *notifier) next() (Event, []*func(Event)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pending) == 0 {
		return Event{}, nil
	}
	e := n.pending[0]
	n.pending = n.pending[1:]
	return e, append([]*func(Event){}, n.subscribers...)
}
