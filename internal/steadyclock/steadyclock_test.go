package steadyclock_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/steadyclock"
)

// machine is a machine whose clock can be set.
type machine struct {
	*clocktesting.FakeClock
	elapsed time.Duration
}

func newMachine() *machine {
	return &machine{FakeClock: clocktesting.NewFakeClock(time.Date(2026, time.November, 28, 12, 0, 0, 0, time.UTC))}
}

func (m *machine) pass(d time.Duration) {
	m.elapsed += d
	m.Step(d)
}

func (m *machine) set(by time.Duration) { m.SetTime(m.Now().Add(by)) }

// TestJumps holds that a clock that is set is followed, and not at once.
func TestJumps(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		by     time.Duration
		// after is the time since the clock was set, and shows the time that the steady clock shows for it.
		after, shows time.Duration
	}{
		{"it is not set", 0, time.Minute, time.Minute},
		{"a day ahead, at once", 24 * time.Hour, 0, 0},
		{"a day ahead", 24 * time.Hour, time.Minute, 2 * time.Minute},
		{"a day ahead, after more than a day", 24 * time.Hour, 30 * time.Hour, 54 * time.Hour},
		{"an hour back, at once", -time.Hour, 0, 0},
		{"an hour back", -time.Hour, time.Minute, 30 * time.Second},
		{"an hour back, after some hours", -time.Hour, 3 * time.Hour, 2 * time.Hour},
	} {
		m := newMachine()
		steady := steadyclock.New(m, func() time.Duration { return m.elapsed })
		start := steady.Now()
		m.set(row.by)
		m.pass(row.after)
		if got := steady.Since(start); got != row.shows {
			t.Errorf("%s: it went on by %s, want %s", row.reason, got, row.shows)
		}
	}
}

// TestSpeedLaw holds that the clock runs at half to double the speed of real time, whatever the
// machine's clock does, and shows the machine's time once that has been left alone for long enough.
func TestSpeedLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine()
		steady := steadyclock.New(m, func() time.Duration { return m.elapsed })
		before := steady.Now()
		for range rapid.IntRange(1, 20).Draw(rt, "readings") {
			m.set(time.Duration(rapid.Int64Range(-int64(48*time.Hour), int64(48*time.Hour)).Draw(rt, "set")))
			passed := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(rt, "passed"))
			m.pass(passed)
			if ran := steady.Since(before); ran < passed/2 || ran > 2*passed {
				rt.Fatalf("it went on by %s in %s", ran, passed)
			}
			before = steady.Now()
		}
		m.pass(20 * 48 * 2 * time.Hour)
		if now := steady.Now(); !now.Equal(m.Now()) {
			rt.Fatalf("it shows %s at %s", now, m.Now())
		}
	})
}

// TestReal holds that the clock of a process shows the machine's time, and never goes back.
func TestReal(t *testing.T) {
	t.Parallel()
	steady := steadyclock.Real()
	before := steady.Now()
	for range 1000 {
		now := steady.Now()
		if now.Before(before) {
			t.Fatalf("it shows %s after %s", now, before)
		}
		before = now
	}
	if off := time.Since(before); off < -time.Second || off > time.Second {
		t.Errorf("it is off by %s", off)
	}
}
