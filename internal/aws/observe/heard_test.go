package observe

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// awaitCalls waits until so many descriptions were sent that the test has not expected yet, and
// their watchers were woken.
func (r *rig) awaitCalls(calls, woken int) {
	r.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		r.mu.Lock()
		done := len(r.calls) >= calls && len(r.woken) >= woken
		r.mu.Unlock()
		if done {
			return
		}
		time.Sleep(time.Millisecond)
	}
	r.Fatalf("there were not %d calls and %d wakes in time", calls, woken)
}

func TestHear(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	for _, name := range []string{"a", "b"} {
		r.set(name, "1")
		r.get("watches "+name, false, name)
	}
	tick := r.run()
	r.expect("both were asked for", [][]string{{"a"}, {"b"}})

	r.set("a", "2")
	r.sweep.Hear(t.Context(), []string{"a", "unwatched", "a"})
	r.awaitCalls(1, 1)
	r.expect("only what is watched is looked at, at once, and its watcher woken", [][]string{{"a"}}, "watches a")

	r.set("a", "3")
	tick()
	r.expect("what was heard of is looked at soon again", [][]string{{"a"}}, "watches a")
	for range 4 {
		tick()
	}
	r.expect("but not for long", [][]string{{"a"}, {"a"}})

	r.sweep.Hear(t.Context(), []string{"unwatched"})
	tick()
	r.expect("a name that no object watches costs nothing", nil)
}

func TestFind(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	for name, value := range map[string]string{"a": "yes", "b": "no", "c": "yes", "gone": ""} {
		r.set(name, value)
		r.get("watcher", false, "a", "b", "c", "gone")
	}
	r.get("watcher", true, "a", "b", "c", "gone")
	if diff := cmp.Diff([]string{"a", "c"}, r.sweep.Find(func(value string) bool { return value == "yes" })); diff != "" {
		t.Error(diff)
	}
}

// TestListening holds that full sweeps are 15 minutes apart while events are heard, after the first
// one, which comes at its usual time, and 4 minutes apart afterwards.
func TestListening(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.sweep.intervals.RestWithEvents = 15 * time.Minute
	r.get("one", false, "a")
	tick := r.run()
	r.expect("it was asked for", [][]string{{"a"}})
	// sweptAt returns the minutes at which a full sweep ran.
	minute := 0
	sweptAt := func(minutes int) []int {
		var at []int
		for range minutes {
			for range int(time.Minute / motion) {
				tick()
			}
			minute++
			r.mu.Lock()
			if len(r.calls) > 0 {
				at = append(at, minute)
			}
			r.calls = nil
			r.mu.Unlock()
		}
		return at
	}
	for _, step := range []struct {
		reason  string
		listen  func()
		minutes int
		want    []int
	}{
		{"without events", func() {}, 9, []int{4, 8}},
		{"the next sweep comes as it would have, those after it later", func() { r.sweep.Listening(true) }, 33, []int{12, 27, 42}},
		{"what was due without events is swept at once when they end", func() { minute += 5; r.pass(5 * time.Minute); r.calls = nil; r.sweep.Listening(false) }, 6, []int{48, 52}},
	} {
		step.listen()
		if got := sweptAt(step.minutes); !slices.Equal(got, step.want) {
			t.Errorf("%s: swept at minutes %v, want %v", step.reason, got, step.want)
		}
	}
}

// pass steps the clock by ticks.
func (r *rig) pass(d time.Duration) {
	for range int(d / motion) {
		r.clock.Step(motion)
		<-r.clock.waits
	}
}
