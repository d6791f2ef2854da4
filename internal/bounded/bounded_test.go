package bounded_test

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/bounded"
)

var start = time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)

// TestFloodEvictsItself holds that whatever one owner puts, the values of another stay that has fewer.
func TestFloodEvictsItself(t *testing.T) {
	t.Parallel()
	const limit = 20
	rapid.Check(t, func(t *rapid.T) {
		var evicted []string
		kept := bounded.NewMap(clocktesting.NewFakePassiveClock(start), limit, time.Hour, func(key string, _ int) { evicted = append(evicted, key) })
		quiet := rapid.IntRange(1, limit/2-1).Draw(t, "values of the quiet owner")
		for i := range quiet {
			kept.Put("quiet", fmt.Sprint("quiet", i), i)
		}
		flood := rapid.IntRange(0, 200).Draw(t, "values of the flood")
		for i := range flood {
			kept.Put("flood", fmt.Sprint("flood", i), i)
		}
		for i := range quiet {
			if value, known, _ := kept.Get(fmt.Sprint("quiet", i)); !known || value != i {
				t.Fatalf("value %d of the quiet owner is gone", i)
			}
		}
		if want := min(limit, quiet+flood); kept.Len() != want || len(evicted) != quiet+flood-want {
			t.Fatalf("%d values are kept, want %d; %d were evicted", kept.Len(), want, len(evicted))
		}
		if _, known, _ := kept.Get(fmt.Sprint("flood", flood-1)); flood > 0 && !known {
			t.Fatal("the newest value is gone")
		}
	})
}

// TestMap follows one map through the life of its values.
func TestMap(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakePassiveClock(start)
	evicted := map[string]int{}
	kept := bounded.NewMap(clk, 2, time.Minute, func(key string, value int) { evicted[key] = value })
	check := func(reason, key string, value int, known, fresh bool) {
		t.Helper()
		if v, k, f := kept.Get(key); v != value || k != known || f != fresh {
			t.Errorf("%s: %s is %d, known %t, fresh %t", reason, key, v, k, f)
		}
	}
	kept.Put("one", "a", 1)
	kept.Put("one", "b", 2)
	check("it was put", "a", 1, true, true)
	kept.Put("one", "c", 3)
	check("it was used least recently", "b", 0, false, false)
	check("it was used since", "a", 1, true, true)
	clk.SetTime(start.Add(time.Minute))
	check("its time is over", "a", 1, true, false)
	kept.Put("two", "d", 4)
	check("what is over makes room first", "a", 0, false, false)
	check("what is over makes room first", "c", 0, false, false)
	kept.Put("two", "d", 5)
	if evicted["d"] != 4 || evicted["b"] != 2 {
		t.Errorf("evicted were %v", evicted)
	}
	kept.Delete("d")
	kept.Delete("nothing")
	kept.Put("one", "e", 6)
	kept.Clear()
	if kept.Len() != 0 || evicted["d"] != 5 || evicted["e"] != 6 {
		t.Errorf("%d are left; evicted were %v", kept.Len(), evicted)
	}
}

// TestValuesWithoutTime holds that values whose map has no time for them stay until their place is needed.
func TestValuesWithoutTime(t *testing.T) {
	t.Parallel()
	kept := bounded.NewMap[string, int](nil, 2, 0, nil)
	for i, key := range []string{"a", "b", "c"} {
		kept.Put("", key, i)
		kept.Expire()
	}
	if _, known, _ := kept.Get("a"); known {
		t.Error("the value that was used least recently stays beyond the limit")
	}
	for _, key := range []string{"b", "c"} {
		if _, known, fresh := kept.Get(key); !known || !fresh {
			t.Errorf("%s: known %t, fresh %t", key, known, fresh)
		}
	}
}
