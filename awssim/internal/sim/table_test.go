package sim

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
)

// TestTableLaw holds that a table agrees with a map in order of insertion; reads that lag agree
// with it once the lag has passed.
func TestTableLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lag := time.Duration(rapid.IntRange(0, 5).Draw(t, "lag")) * time.Second
		clock := simclock.New(start, 0)
		defer clock.Close()
		k, err := New(clock, &world.World{}, NewRegistry(), Settings{Behavior: Behavior{ReadLag: lag}})
		if err != nil {
			t.Fatal(err)
		}
		table := NewTable[int](k)
		type entry struct {
			key   string
			value int
		}
		var model []entry
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
			i := slices.IndexFunc(model, func(e entry) bool { return e.key == key })
			k.Locked(func() {
				switch {
				case rapid.Bool().Draw(t, "delete"):
					table.Delete(key)
					if i >= 0 {
						model = slices.Delete(slices.Clone(model), i, i+1)
					}
				default:
					table.Put(key, step)
					model = slices.Clone(model)
					if i >= 0 {
						model[i].value = step
					} else {
						model = append(model, entry{key, step})
					}
				}
			})
			clock.Step(time.Duration(rapid.IntRange(0, 2).Draw(t, "wait")) * time.Second)
			k.Locked(func() {
				check := func(what string, want []entry, all []int, get func(string) (int, bool)) {
					var values []int
					for _, e := range want {
						values = append(values, e.value)
						if got, ok := get(e.key); !ok || got != e.value {
							t.Fatalf("%s: %s is %d, %v, want %d", what, e.key, got, ok, e.value)
						}
					}
					if !slices.Equal(all, values) {
						t.Fatalf("%s: all are %v, want %v", what, all, values)
					}
				}
				check("now", model, table.All(), table.Get)
				matches := func(value *int) bool { return len(model) > 1 && *value >= model[1].value }
				matching := slices.DeleteFunc(table.All(), func(value int) bool { return !matches(&value) })
				if got, is := table.First(matches); is != (len(matching) > 0) || is && got != matching[0] {
					t.Fatalf("the first that matches is %d, %t, want the first of %v", got, is, matching)
				}
				if lag == 0 {
					check("without lag", model, table.VisibleAll(), table.Visible)
				}
			})
		}
		clock.Step(lag)
		k.Locked(func() {
			if got, want := table.VisibleAll(), table.All(); !slices.Equal(got, want) {
				t.Fatalf("once the lag has passed reads see %v, want %v", got, want)
			}
		})
	})
}

func TestReadLag(t *testing.T) {
	t.Parallel()
	k, clock := newKernel(t, Settings{Behavior: Behavior{ReadLag: 3 * time.Second}})
	region := func() *Region {
		r, err := k.Account("1").Region("here")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	at := func(reason string, visible []string, all []string) {
		t.Helper()
		k.Locked(func() {
			books := shelfOf(region()).books
			if got := books.VisibleAll(); !slices.Equal(got, visible) {
				t.Errorf("%s: reads see %v, want %v", reason, got, visible)
			}
			if got := books.All(); !slices.Equal(got, all) {
				t.Errorf("%s: there are %v, want %v", reason, got, all)
			}
		})
	}
	at("what the world brings is visible at once", []string{"from the world"}, []string{"from the world"})
	k.Locked(func() { shelfOf(region()).books.Put("second", "v1") })
	at("a new value is not visible yet", []string{"from the world"}, []string{"from the world", "v1"})
	clock.Step(2 * time.Second)
	k.Locked(func() { shelfOf(region()).books.Put("second", "v2") })
	clock.Step(time.Second)
	at("reads see the value of three seconds ago", []string{"from the world", "v1"}, []string{"from the world", "v2"})
	k.Locked(func() { shelfOf(region()).books.Delete("first") })
	clock.Step(2 * time.Second)
	at("a deleted value is still visible", []string{"from the world", "v2"}, []string{"v2"})
	clock.Step(time.Second)
	at("in the end reads see everything", []string{"v2"}, []string{"v2"})
}
