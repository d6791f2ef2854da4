package simclock

import (
	"container/heap"
	"time"

	"k8s.io/utils/clock"
)

// waiter is one timer, ticker or delayed function.
type waiter struct {
	due    time.Time
	seq    uint64 // breaks ties: who asked first fires first
	period time.Duration
	fire   func(time.Time)
	index  int // place in the heap, -1 when not in it
}

// firedAt returns the time handed to the receiver: the time of the tick itself, not of the next one
// that a ticker has already been given.
func (w *waiter) firedAt() time.Time { return w.due.Add(-w.period) }

type waiterHeap []*waiter

var _ heap.Interface = (*waiterHeap)(nil)

func (h waiterHeap) Len() int { return len(h) }

func (h waiterHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].seq < h[j].seq
	}
	return h[i].due.Before(h[j].due)
}

func (h waiterHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *waiterHeap) Push(x any) {
	w := x.(*waiter)
	w.index = len(*h)
	*h = append(*h, w)
}

func (h *waiterHeap) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.index = -1
	return w
}

// timer serves clock.Timer and clock.Ticker. Like the ones of package time, it drops a tick while
// the last one has not been received.
type timer struct {
	clock *Clock
	w     *waiter
	c     chan time.Time
}

func (c *Clock) newTimer(period time.Duration) *timer {
	t := &timer{clock: c, c: make(chan time.Time, 1)}
	t.w = &waiter{index: -1, period: period, fire: func(at time.Time) {
		select {
		case t.c <- at:
		default:
		}
	}}
	return t
}

// NewTimer returns a timer that fires once, d from now.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	t := c.newTimer(0)
	c.add(t.w, d)
	return t
}

// NewTicker returns a ticker of period d. It panics if d is not positive, as time.NewTicker does.
func (c *Clock) NewTicker(d time.Duration) clock.Ticker {
	if d <= 0 {
		panic("simclock: non-positive interval for NewTicker")
	}
	t := c.newTimer(d)
	c.add(t.w, d)
	return ticker{t}
}

// After returns a channel that gets the time once d has passed.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// Tick does the same as NewTicker, without a way to stop it.
func (c *Clock) Tick(d time.Duration) <-chan time.Time { return c.NewTicker(d).C() }

// Sleep waits until d has passed. On a clock that stands still that takes a Step.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// C returns the channel on which the time is delivered.
func (t *timer) C() <-chan time.Time { return t.c }

// Stop keeps the timer from firing and reports whether it did.
func (t *timer) Stop() bool { return t.clock.remove(t.w) }

// Reset has the timer fire d from now instead, and reports whether it was still waiting.
func (t *timer) Reset(d time.Duration) bool {
	waiting := t.clock.remove(t.w)
	select { // as package time does since Go 1.23, a stale tick is not delivered
	case <-t.c:
	default:
	}
	t.clock.add(t.w, d)
	return waiting
}

type ticker struct{ t *timer }

func (t ticker) C() <-chan time.Time { return t.t.C() }
func (t ticker) Stop()               { t.t.Stop() }
