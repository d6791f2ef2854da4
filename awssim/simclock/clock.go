// Package simclock owns simulated time. One Clock drives a whole simulated AWS and, in tests, the
// controllers that talk to it, so that hours of simulated waiting take moments of real time and
// happen in the same order every time.
package simclock

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// longestWait bounds how long the clock trusts one real timer. A very small rate would otherwise
// overflow the duration; waking early is harmless because the timer is set again.
const longestWait = time.Hour

// Clock is simulated time. Rate 1 is real time, 1000 is a thousand times faster, 0 stands still
// until Step. Time never goes backward. All methods may be called from any goroutine, except that
// a function given to AfterFunc must not call Step or Close: both wait for it to return.
type Clock struct {
	// firing is held while waiters fire, so that they fire one after another and in time order,
	// whether Step or the real timer drives them. It is always taken before mu.
	firing sync.Mutex

	mu     sync.Mutex
	base   time.Time // simulated time at anchor
	anchor time.Time // real time at which the simulated time was base
	rate   float64
	// bound is how much real time after anchor the clock runs on by itself, if it is bounded.
	bounded bool
	bound   time.Duration
	waiters waiterHeap
	seq     uint64
	timer   *time.Timer
	closed  bool
}

var _ clock.WithTicker = (*Clock)(nil)

// New returns a clock that shows start and then runs at the given rate. A negative rate counts as 0.
func New(start time.Time, rate float64) *Clock {
	c := &Clock{base: start, anchor: time.Now(), rate: max(rate, 0)}
	return c
}

// NewReal returns a clock that shows real time and runs with it.
func NewReal() *Clock { return New(time.Now(), 1) }

// Now returns the simulated time. While Step is firing waiters of a clock that stands still, it
// is the time of the waiter being fired.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time { return c.at(time.Now()) }

// at returns the simulated time at a real one.
func (c *Clock) at(moment time.Time) time.Time {
	return c.base.Add(time.Duration(float64(c.ran(moment)) * c.rate))
}

// ran returns for how much real time the clock has run at a moment, since anchor.
func (c *Clock) ran(moment time.Time) time.Duration {
	if c.rate == 0 {
		return 0
	}
	ran := moment.Sub(c.anchor)
	if c.bounded {
		return min(ran, c.bound)
	}
	return ran
}

// rebase moves the anchor to this moment. The caller holds mu.
func (c *Clock) rebase() {
	moment := time.Now()
	c.base, c.bound, c.anchor = c.at(moment), c.bound-c.ran(moment), moment
}

// Since returns the simulated time that has passed since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Rate returns the present rate.
func (c *Clock) Rate() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rate
}

// SetRate changes how fast time passes from now on. A negative rate counts as 0.
func (c *Clock) SetRate(rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rebase()
	c.rate = max(rate, 0)
	c.arm()
}

// RunFor has the clock run by itself for so much real time from now on, and then stand still until
// RunFor is called again. A caller that calls it as often as the machine keeps up prevents
// simulated time from running away from a busy machine. A clock for which it is never called runs
// forever. Step is not bounded.
func (c *Clock) RunFor(bound time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rebase()
	c.bounded, c.bound = true, max(bound, 0)
	c.arm()
}

// Step moves time on by d and fires every waiter on the way in time order, each at its own time,
// including waiters that are added meanwhile. It returns when the last of them has returned. A
// clock with a rate above 0 jumps by d and then fires what has become due. A negative d counts as
// 0.
func (c *Clock) Step(d time.Duration) {
	c.firing.Lock()
	defer c.firing.Unlock()

	c.mu.Lock()
	defer c.mu.Unlock()
	d = max(d, 0)
	if c.rate > 0 {
		c.base = c.base.Add(d)
		c.fireUntil(c.now())
	} else {
		target := c.base.Add(d)
		c.fireUntil(target)
		if c.base.Before(target) {
			c.base = target
		}
	}
	c.arm()
}

// fireDue runs when the real timer fires.
func (c *Clock) fireDue() {
	c.firing.Lock()
	defer c.firing.Unlock()

	c.mu.Lock()
	defer c.mu.Unlock()
	c.fireUntil(c.now())
	c.arm()
}

// fireUntil fires what is due at or before target. Both locks are held on entry and on return;
// mu is released while a waiter runs.
func (c *Clock) fireUntil(target time.Time) {
	for !c.closed && len(c.waiters) > 0 && !c.waiters[0].due.After(target) {
		w := heap.Pop(&c.waiters).(*waiter)
		if c.rate == 0 && c.base.Before(w.due) {
			c.base = w.due
		}
		if w.period > 0 {
			c.push(w, w.due.Add(w.period))
		}
		c.mu.Unlock()
		w.fire(w.firedAt())
		c.mu.Lock()
	}
}

// arm sets the real timer for the earliest waiter. The caller holds mu.
func (c *Clock) arm() {
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.closed || len(c.waiters) == 0 {
		return
	}
	left := c.waiters[0].due.Sub(c.now())
	var wait time.Duration
	switch {
	case left <= 0:
	case c.rate == 0:
		return
	default:
		wait = longestWait
		if scaled := float64(left) / c.rate; scaled < float64(longestWait) {
			wait = time.Duration(scaled) + 1
		}
		if c.bounded && wait > c.bound-c.ran(time.Now()) {
			return // RunFor arms it again
		}
	}
	c.timer = time.AfterFunc(wait, c.fireDue)
}

// AfterFunc runs f once, d from now: within Step if the clock stands still, else on a goroutine of
// the clock's. Functions run one at a time. stop reports whether it kept f from running.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	w := &waiter{fire: func(time.Time) { f() }}
	c.add(w, d)
	return func() bool { return c.remove(w) }
}

// Next returns when the earliest waiter is due, so that a test can step right to it; false if there
// is none.
func (c *Clock) Next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiters) == 0 {
		return time.Time{}, false
	}
	return c.waiters[0].due, true
}

// Close stops the clock: no further waiter fires and, when it returns, none is running. Now keeps
// working. Closing twice is allowed.
func (c *Clock) Close() {
	c.mu.Lock()
	c.closed = true
	c.waiters = nil
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()

	c.firing.Lock()
	defer c.firing.Unlock()
}

func (c *Clock) add(w *waiter, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.push(w, c.now().Add(max(d, 0)))
	c.arm()
}

func (c *Clock) push(w *waiter, due time.Time) {
	c.seq++
	w.due, w.seq = due, c.seq
	heap.Push(&c.waiters, w)
}

func (c *Clock) remove(w *waiter) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.index < 0 || w.index >= len(c.waiters) || c.waiters[w.index] != w {
		return false
	}
	heap.Remove(&c.waiters, w.index)
	return true
}
