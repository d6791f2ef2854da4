package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
)

func TestGet(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.set("a", "1")
	if found := r.get("one", false, "a", "b"); !maps.Equal(found, map[string]string{"a": "1"}) {
		t.Errorf("found %v", found)
	}
	r.expect("what is not known is asked", [][]string{{"a", "b"}})
	r.set("a", "2")
	if found := r.get("one", false, "a", "b"); found["a"] != "1" {
		t.Errorf("found %v", found)
	}
	r.expect("what is known is not asked, absence included", nil)
	if found := r.get("one", true, "a", "b"); found["a"] != "2" {
		t.Errorf("found %v", found)
	}
	r.expect("what must be fresh is asked, and who asks is not woken", [][]string{{"a", "b"}})
	if found := r.get("two", false, "b"); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	r.expect("what others asked is known", nil)
}

func TestFreshGetWakesOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.set("a", "1")
	r.get("one", false, "a")
	r.get("two", false, "a")
	r.get("three", false, "b")
	r.set("a", "")
	r.expect("", [][]string{{"a"}, {"b"}})
	r.get("one", true, "a")
	r.expect("two waits for the name, and no sweep would tell it any more", [][]string{{"a"}}, "two")
}

func TestFailedGet(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	broken := errors.New("broken")
	r.fail = func([]string) error { return broken }
	if _, err := r.sweep.Get(t.Context(), object("one"), []string{"a"}, false); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	r.knows("after a failure", "a", "unknown")
	r.fail = nil
	r.set("a", "1")
	if found := r.get("one", false, "a"); found["a"] != "1" {
		t.Errorf("found %v", found)
	}
}

func TestCadence(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.set("a", "1")
	r.set("b", "1")
	r.get("one", false, "a")
	r.get("two", false, "b")
	r.expect("", [][]string{{"a"}, {"b"}})
	tick := r.run()
	start := r.clock.Now()
	for r.clock.Now().Sub(start) < rest-motion {
		tick()
	}
	r.expect("nothing is asked at rest", nil)
	tick()
	r.expect("but once in a while all at once, and no object is woken without a change", [][]string{{"a", "b"}})
	r.sweep.InMotion(object("two"), true)
	tick()
	tick()
	r.expect("what moves is asked at each tick, alone", [][]string{{"b"}, {"b"}})
	r.set("b", "2")
	tick()
	r.expect("its watcher is woken when it changed", [][]string{{"b"}}, "two")
	tick()
	r.expect("once", [][]string{{"b"}})
	r.sweep.InMotion(object("two"), false)
	r.sweep.InMotion(object("unknown"), true)
	tick()
	r.expect("what rests again is left alone", nil)
}

func TestWakeOnChange(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.set("a", "1")
	r.get("one", false, "a", "a-hash")
	r.get("two", false, "a")
	r.get("three", false, "b", "b-hash")
	tick := r.run()
	for _, who := range []string{"one", "two", "three"} {
		r.sweep.InMotion(object(who), true)
	}
	r.expect("what is known of a name is known to all", [][]string{{"a", "a-hash"}, {"b", "b-hash"}})
	for _, step := range []struct {
		reason, name, value string
		asked, woken        []string
	}{
		{"nothing changed; and who has its thing is not interested in its other names", "a", "1", []string{"a", "b", "b-hash"}, nil},
		{"it changed, and both watch it", "a", "2", []string{"a", "b", "b-hash"}, []string{"one", "two"}},
		{"it went", "a", "", []string{"a", "b", "b-hash"}, []string{"one", "two"}},
		{"it came, by another name", "a-hash", "3", []string{"a", "a-hash", "b", "b-hash"}, []string{"one"}},
		{"and is asked for by that, and by the other for the one who knows only that", "a-hash", "3", []string{"a", "a-hash", "b", "b-hash"}, nil},
		{"it came", "b", "1", []string{"a", "a-hash", "b", "b-hash"}, []string{"three"}},
		{"no object watches it", "c", "1", []string{"a", "a-hash", "b"}, nil},
	} {
		r.set(step.name, step.value)
		tick()
		r.expect(step.reason, [][]string{step.asked}, step.woken...)
	}
}

// TestInvalidate holds that the state is unknown after a write, and that watchers are woken for the
// first state that is seen: it may be the last change for a long time.
func TestInvalidate(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.set("a", "1")
	r.get("one", false, "a")
	r.sweep.InMotion(object("one"), true)
	tick := r.run()
	r.set("a", "2")
	r.sweep.Invalidate("a")
	r.expect("", [][]string{{"a"}})
	tick()
	r.expect("the watcher is woken by what is seen first", [][]string{{"a"}}, "one")
	tick()
	r.expect("once", [][]string{{"a"}})
	r.sweep.Invalidate("a")
	if found := r.get("one", false, "a"); found["a"] != "2" {
		t.Errorf("found %v", found)
	}
	r.expect("what was invalidated is asked again", [][]string{{"a"}})
	tick()
	r.expect("and who asked knows", [][]string{{"a"}})
	r.set("a", "")
	r.sweep.Invalidate("a")
	r.expect("", nil)
	tick()
	r.expect("that it is gone is news too", [][]string{{"a"}}, "one")
	r.sweep.Invalidate("unwatched")
	r.knows("a name that no object watches", "unwatched", "unwatched")
}

func TestReplace(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.get("one", false, "a")
	r.set("a", "1")
	r.sweep.Replace("a", nil, "1")
	r.expect("", [][]string{{"a"}})
	if found := r.get("one", false, "a"); found["a"] != "1" {
		t.Errorf("found %v", found)
	}
	r.expect("what was put is known", nil)
	tick := r.run()
	r.sweep.InMotion(object("one"), true)
	tick()
	r.expect("and what AWS says of it is no news", [][]string{{"a"}})
	r.sweep.Replace("unwatched", nil, "1")
	r.knows("a name that no object watches", "unwatched", "unwatched")
}

// TestAnswersFromBefore holds that an answer that was under way during a write counts as older than
// the write.
func TestAnswersFromBefore(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		write  func(*rig)
		known  string
	}{
		{"the name was written", func(r *rig) { r.replace("a", "old", "new") }, "new"},
		{"the name was written twice", func(r *rig) { r.replace("a", "old", "newer"); r.replace("a", "newer", "new") }, "new"},
		{"the name was invalidated", func(r *rig) { r.sweep.Invalidate("a") }, "unknown"},
		{"no object watches it any longer", func(r *rig) { r.sweep.Forget(object("one")) }, "unwatched"},
		{"it was forgotten and watched anew", func(r *rig) {
			r.sweep.Forget(object("one"))
			r.sweep.watch(object("two"), []string{"a"})
		}, "unknown"},
		{"another name was written", func(r *rig) { r.sweep.Replace("b", nil, "new") }, "old"},
		{"it was written, forgotten and watched anew", func(r *rig) {
			r.replace("a", "old", "gone")
			r.sweep.Forget(object("one"))
			r.sweep.watch(object("two"), []string{"a"})
		}, "unknown"},
		{"it was forgotten, watched anew and written", func(r *rig) {
			r.sweep.Forget(object("one"))
			r.sweep.watch(object("two"), []string{"a"})
			r.replace("a", "old", "new")
		}, "unknown"},
	} {
		for name, ask := range map[string]func(*rig){
			"a get":   func(r *rig) { r.get("one", true, "b", "a") },
			"a sweep": func(r *rig) { r.sweep.sweep(r.Context(), true) },
		} {
			t.Run(row.reason+", during "+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 10)
				r.set("a", "old")
				r.get("one", false, "b", "a")
				r.during = func() { row.write(r) }
				ask(r)
				r.knows(row.reason, "a", row.known)
			})
		}
	}
}

// TestSeenBeforeReplace holds that the result of a write does not replace what a sweep saw after
// the writer decided to write.
func TestSeenBeforeReplace(t *testing.T) {
	t.Parallel()
	before := "before"
	for _, row := range []struct {
		reason      string
		before      *string
		seen, known string
	}{
		{"the sweep saw nothing new", &before, "before", "written"},
		{"the sweep saw the write", &before, "written", "written"},
		{"the sweep saw a change by another", &before, "foreign", "unknown"},
		{"the sweep saw it deleted", &before, "", "unknown"},
		{"it did not exist", nil, "", "written"},
		{"another made it", nil, "foreign", "unknown"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 10)
			if row.before != nil {
				r.set("a", *row.before)
			}
			r.get("one", false, "a")
			r.mu.Lock()
			if delete(r.world, "a"); row.seen != "" {
				r.world["a"] = row.seen
			}
			r.mu.Unlock()
			r.sweep.sweep(t.Context(), true)
			r.sweep.Replace("a", row.before, "written")
			r.knows(row.reason, "a", row.known)
		})
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.get("one", false, "a", "shared")
	r.get("two", false, "shared")
	r.sweep.Forget(object("one"))
	r.sweep.Forget(object("unknown"))
	r.knows("no object watches it", "a", "unwatched")
	r.knows("an object watches it", "shared", "")
	r.expect("", [][]string{{"a", "shared"}})
	r.set("shared", "1")
	r.sweep.sweep(t.Context(), true)
	r.expect("who is forgotten is not woken", [][]string{{"shared"}}, "two")
	r.get("two", false, "other")
	r.knows("two watches another name now", "shared", "unwatched")
	r.sweep.Forget(object("two"))
	r.expect("", [][]string{{"other"}})
	r.sweep.sweep(t.Context(), true)
	r.expect("nothing is left to ask", nil)
}

func TestBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	for i := range 7 {
		r.get(fmt.Sprint("object", i), false, fmt.Sprint("name", i))
		r.get(fmt.Sprint("twin", i), false, fmt.Sprint("name", i))
	}
	r.calls = nil
	r.sweep.sweep(t.Context(), true)
	r.expect("each name once, as many in a call as fit", [][]string{{"name0", "name1", "name2"}, {"name3", "name4", "name5"}, {"name6"}})
}

func TestFailedSweep(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	for _, name := range []string{"a", "b", "c"} {
		r.get("watcher-"+name, false, name)
		r.set(name, "1")
	}
	r.calls = nil
	r.fail = func(names []string) error {
		if names[0] == "b" {
			return errors.New("throttled")
		}
		return nil
	}
	r.sweep.sweep(t.Context(), true)
	r.expect("a batch that fails does not keep the others from being seen", [][]string{{"a"}, {"b"}, {"c"}}, "watcher-a", "watcher-c")
	r.knows("what was not seen is as it was known", "b", "")
	r.fail = nil
	r.sweep.sweep(t.Context(), true)
	r.expect("the next sweep sees it", [][]string{{"a"}, {"b"}, {"c"}}, "watcher-b")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r.fail = func([]string) error { return ended.Err() }
	r.sweep.sweep(ended, true)
	r.expect("after the end nothing more is asked", [][]string{{"a"}})
}

// TestConcurrentUse does everything at once, for the race detector; in the end the sweep knows the
// actual state.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	tick := r.run()
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			who, name := object(fmt.Sprint(i)), fmt.Sprint(i%2)
			for round := range 50 {
				r.set(name, fmt.Sprint(round))
				r.sweep.Invalidate(name)
				if _, err := r.sweep.Get(t.Context(), who, []string{name, "shared"}, round%3 == 0); err != nil {
					t.Error(err)
				}
				r.sweep.InMotion(who, round%2 == 0)
				r.replace(name, fmt.Sprint(round), fmt.Sprint(round+1))
				if round%10 == 9 {
					r.sweep.Forget(who)
				}
			}
			if _, err := r.sweep.Get(t.Context(), who, []string{name, "shared"}, false); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		tick()
	}
	workers.Wait()
	r.sweep.sweep(t.Context(), true)
	for _, name := range []string{"0", "1"} {
		r.knows("in the end", name, r.world[name])
	}
	r.knows("in the end", "shared", "")
}
