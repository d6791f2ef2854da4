package simclock

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStepFiresEachWaiterAtItsOwnTime(t *testing.T) {
	t.Parallel()
	c := New(start, 0)
	defer c.Close()
	var fired []time.Duration
	note := func() { fired = append(fired, c.Now().Sub(start)) }
	c.AfterFunc(3*time.Second, note)
	c.AfterFunc(time.Second, func() {
		note()
		c.AfterFunc(time.Second, note) // due within the same step
	})
	c.AfterFunc(10*time.Second, note)

	if next, ok := c.Next(); !ok || !next.Equal(start.Add(time.Second)) {
		t.Errorf("Next() = %v, %v, want the waiter after one second", next, ok)
	}
	c.Step(5 * time.Second)
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, fired); diff != "" {
		t.Errorf("fired at (-want +got)\n%s", diff)
	}
	if got := c.Now(); !got.Equal(start.Add(5 * time.Second)) {
		t.Errorf("after the step it is %v, want 5s after the start", got.Sub(start))
	}
}

// TestStepOrderLaw holds that however time is cut into steps, waiters fire in the order of their
// times, and of their creation where times are equal.
func TestStepOrderLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := New(start, 0)
		defer c.Close()
		delays := rapid.SliceOf(rapid.IntRange(1, 50)).Draw(t, "delays")
		type firing struct{ delay, index int }
		var got []firing
		want := make([]firing, len(delays))
		for i, d := range delays {
			want[i] = firing{d, i}
			c.AfterFunc(time.Duration(d)*time.Second, func() {
				if now := c.Now().Sub(start); now != time.Duration(d)*time.Second {
					t.Fatalf("the waiter of %ds fired at %v", d, now)
				}
				got = append(got, firing{d, i})
			})
		}
		slices.SortStableFunc(want, func(a, b firing) int { return a.delay - b.delay })
		for left := 50; left > 0; {
			n := rapid.IntRange(1, left).Draw(t, "step")
			c.Step(time.Duration(n) * time.Second)
			left -= n
		}
		if !slices.Equal(got, want) {
			t.Fatalf("fired %v, want %v", got, want)
		}
	})
}

func TestStopKeepsFromFiring(t *testing.T) {
	t.Parallel()
	c := New(start, 0)
	defer c.Close()
	fired := 0
	stop := c.AfterFunc(time.Second, func() { fired++ })
	if !stop() {
		t.Error("stopping a waiting function reported that it was too late")
	}
	late := c.AfterFunc(time.Second, func() { fired++ })
	c.Step(time.Minute)
	if fired != 1 {
		t.Errorf("fired %d times, want only the function that was not stopped", fired)
	}
	if late() {
		t.Error("stopping a function that has run reported that it was in time")
	}
}

func TestTimer(t *testing.T) {
	t.Parallel()
	c := New(start, 0)
	defer c.Close()
	timer := c.NewTimer(time.Second)
	c.Step(time.Second)
	if got := <-timer.C(); !got.Equal(start.Add(time.Second)) {
		t.Errorf("the timer delivered %v", got)
	}
	if timer.Reset(time.Second) {
		t.Error("Reset of a timer that has fired reported that it was waiting")
	}
	if !timer.Stop() {
		t.Error("Stop of a waiting timer reported that it was not waiting")
	}
	c.Step(time.Minute)
	select {
	case at := <-timer.C():
		t.Errorf("a stopped timer delivered %v", at)
	default:
	}
}

func TestResetDropsAStaleTick(t *testing.T) {
	t.Parallel()
	c := New(start, 0)
	defer c.Close()
	timer := c.NewTimer(time.Second)
	c.Step(time.Second)
	timer.Reset(time.Second)
	c.Step(time.Second)
	if got := <-timer.C(); !got.Equal(start.Add(2 * time.Second)) {
		t.Errorf("the timer delivered %v, want the second time", got.Sub(start))
	}
}

func TestTicker(t *testing.T) {
	t.Parallel()
	c := New(start, 0)
	defer c.Close()
	ticker := c.NewTicker(time.Second)
	for i := 1; i <= 3; i++ {
		c.Step(time.Second)
		if got := <-ticker.C(); !got.Equal(start.Add(time.Duration(i) * time.Second)) {
			t.Errorf("tick %d was at %v", i, got.Sub(start))
		}
	}
	c.Step(10 * time.Second) // no receiver: all ticks but one are dropped
	<-ticker.C()
	select {
	case at := <-ticker.C():
		t.Errorf("a dropped tick was delivered: %v", at.Sub(start))
	default:
	}
	ticker.Stop()
	if _, waiting := c.Next(); waiting {
		t.Error("a stopped ticker still waits")
	}
}

func TestAfterZeroFiresWithoutAStep(t *testing.T) {
	t.Parallel()
	c := New(start, 0)
	defer c.Close()
	<-c.After(0)
	done := make(chan struct{})
	c.AfterFunc(-time.Second, func() { close(done) })
	<-done
}

func TestFastClockRunsByItself(t *testing.T) {
	t.Parallel()
	c := New(start, 100_000)
	defer c.Close()
	began := time.Now()
	c.Sleep(time.Hour) // 36 ms
	if real := time.Since(began); real > 10*time.Second {
		t.Errorf("an hour at rate 100,000 took %v", real)
	}
	if c.Since(start) < time.Hour {
		t.Errorf("after sleeping an hour only %v have passed", c.Since(start))
	}
}

// TestRunFor holds that a bounded clock gets no further than it was allowed to run, at whatever
// rates, and that waiters beyond that fire when it may go on.
func TestRunFor(t *testing.T) {
	t.Parallel()
	c := New(start, 0)
	defer c.Close()
	const bound = 50 * time.Millisecond
	c.RunFor(bound)
	within, beyond := c.After(49*time.Second), c.After(90*time.Second)
	c.SetRate(1000)
	<-within
	for c.Since(start) < 50*time.Second {
		time.Sleep(time.Millisecond)
	}
	c.SetRate(1_000_000)
	if ran := c.Since(start); ran != 50*time.Second {
		t.Errorf("it ran for %v", ran)
	}
	c.SetRate(1000)
	select {
	case <-beyond:
		t.Error("what was due later has fired")
	default:
	}
	c.RunFor(bound)
	<-beyond
	if ran := c.Since(start); ran > 100*time.Second {
		t.Errorf("with twice the time it ran for %v", ran)
	}
	c.Step(time.Hour)
	if ran := c.Since(start); ran < time.Hour {
		t.Errorf("after a step of an hour it had run for %v", ran)
	}
}

func TestSetRate(t *testing.T) {
	t.Parallel()
	c := New(start, 0)
	defer c.Close()
	tick := c.After(time.Hour)
	c.SetRate(1_000_000)
	<-tick
	c.SetRate(0)
	stopped := c.Now()
	if c.Rate() != 0 || !c.Now().Equal(stopped) {
		t.Error("at rate 0 time goes on")
	}
	if stopped.Before(start.Add(time.Hour)) {
		t.Errorf("the waiter fired at %v, before its time", stopped.Sub(start))
	}
}

func TestCloseEndsAllWaiting(t *testing.T) {
	t.Parallel()
	c := New(start, 1_000_000)
	var mu sync.Mutex
	closed := false
	for i := range 100 {
		c.AfterFunc(time.Duration(i)*time.Second, func() {
			mu.Lock()
			defer mu.Unlock()
			if closed {
				t.Error("a function ran after Close had returned")
			}
		})
	}
	c.Close()
	mu.Lock()
	closed = true
	mu.Unlock()
	c.AfterFunc(0, func() { t.Error("a function of a closed clock ran") })
	c.Step(time.Hour)
	c.Close()
}
