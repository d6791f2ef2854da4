// Package steadyclock tells the time without jumps. Slipway compares times that it has recorded with
// the present time in order to decide what is overdue: a node that does not join, a drain, a resource
// that AWS does not show. A machine whose clock is set forward by a day, or back by an hour, would have
// nodes replaced or roll-outs wait though no time has passed. So would a new leader whose machine has
// another clock than the former leader's. Therefore, a process follows the API server's clock, or its machine's
// until the first answer of the API server, and at a bounded speed once it knows either.
package steadyclock

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock is a clock that runs at half to double the speed of real time. While the clock of the machine
// agrees with the API server's, it shows the same time. Timers run by real time.
type Clock struct {
	clock.WithTicker
	elapsed func() time.Duration

	mu   sync.Mutex
	time time.Time
	last time.Duration
	// correction is the difference between the API server's clock and the machine's. observed reports
	// whether the API server has answered yet.
	correction time.Duration
	observed   bool
}

// New returns a clock that follows the clock of the machine. Elapsed returns how much time has passed,
// by a clock that cannot be set.
func New(machine clock.WithTicker, elapsed func() time.Duration) *Clock {
	return &Clock{WithTicker: machine, elapsed: elapsed, time: machine.Now().Round(0), last: elapsed()}
}

// Real returns a clock that follows real time.
func Real() *Clock {
	machine := clock.RealClock{}
	started := machine.Now() // with a monotonic reading, which Since compares
	return New(machine, func() time.Duration { return machine.Since(started) })
}

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	elapsed := c.elapsed()
	passed := max(elapsed-c.last, 0)
	c.last = elapsed
	c.time = c.time.Add(passed)
	// Round drops the monotonic reading, which does not show that the clock was set.
	ahead := c.WithTicker.Now().Round(0).Add(c.correction).Sub(c.time)
	c.time = c.time.Add(min(max(ahead, -passed/2), passed))
	return c.time
}

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
