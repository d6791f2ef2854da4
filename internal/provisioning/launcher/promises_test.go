package launcher_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// TestPromisesAreKept holds that promises are what was added and set, whatever order that
// happens in, and that a node is promised exactly as long as some pod has a place on it: a node
// that loses its last promise can be removed, and one that keeps a promise must not be.
func TestPromisesAreKept(t *testing.T) {
	t.Parallel()
	pods, nodes := rapid.SampledFrom([]types.UID{"a", "b", "c", "d"}), rapid.SampledFrom([]string{"one", "two", "three"})
	rapid.Check(t, func(t *rapid.T) {
		var promises launcher.Promises
		want := map[types.UID]string{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				places := rapid.MapOf(pods, nodes).Draw(t, "places")
				promises.Add(places)
				maps.Copy(want, places)
			},
			"set": func(t *rapid.T) {
				places := rapid.MapOf(pods, nodes).Draw(t, "places")
				promises.Set(places)
				want = maps.Clone(places)
				clear(places) // the caller's alone
			},
			"take what is returned": func(*rapid.T) {
				all := promises.All()
				clear(all) // the caller's alone
			},
			"": func(t *rapid.T) {
				all := promises.All()
				if len(want)+len(all) > 0 && !maps.Equal(want, all) {
					t.Fatalf("promises (-want +got):\n%s", cmp.Diff(want, all))
				}
				for _, node := range []string{"one", "two", "three", ""} {
					promised := false
					for pod, place := range want {
						promised = promised || place == node
						if promises.Of(pod) != place {
							t.Fatalf("pod %s has a place on %s, want %s", pod, promises.Of(pod), place)
						}
					}
					if promises.Has(node) != promised {
						t.Fatalf("node %q is promised: %t", node, !promised)
					}
				}
			},
		})
	})
}

// TestBudgetAfterARestart holds that nodes that an earlier process launched count by their age, in
// whatever order they are listed, so that a process that restarts in a loop launches no more than
// one that does not.
func TestBudgetAfterARestart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		reason string
		ages   []time.Duration
		left   int
		next   time.Duration
	}{
		{"none", nil, 5, 0},
		{"all within the minute, in no order", []time.Duration{10 * time.Second, 50 * time.Second, 30 * time.Second}, 2, 10 * time.Second},
		{"one is older", []time.Duration{10 * time.Second, time.Hour}, 4, 50 * time.Second},
		{"one is exactly a minute old", []time.Duration{time.Minute, 0}, 4, time.Minute},
		{"more than the limit, which was higher before", []time.Duration{1, 2, 3, 4, 5, 6, 7}, 0, time.Minute - 7},
		{"one from the future, by another machine's clock", []time.Duration{-time.Hour}, 4, time.Minute},
	} {
		clock := clocktesting.NewFakePassiveClock(now)
		budget := launcher.NewBudget(clock, 5)
		given := append([]time.Duration(nil), row.ages...)
		budget.Recover(row.ages)
		if left, next := budget.Left(), budget.Next(); left != row.left || next != row.next || budget.PerMinute() != 5 {
			t.Errorf("%s: %d are left, more in %s, of %d", row.reason, left, next, budget.PerMinute())
		}
		if diff := cmp.Diff(given, row.ages); diff != "" {
			t.Errorf("%s: the caller's ages changed (-before +after):\n%s", row.reason, diff)
		}
		clock.SetTime(now.Add(time.Minute))
		if left := budget.Left(); left != 5 {
			t.Errorf("%s: a minute later %d are left", row.reason, left)
		}
	}
}

// TestAllowance holds that a decision which takes nodes from what a budget allows comes to what the
// budget allows once they are launched.
func TestAllowance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
		budget := launcher.NewBudget(clock, 5)
		for range rapid.IntRange(1, 20).Draw(t, "launches") {
			allowed, nodes := budget.Allowance(), rapid.IntRange(0, 6).Draw(t, "nodes")
			if nodes > 0 {
				budget.Spend(nodes)
			}
			allowed.Take(nodes)
			if diff := cmp.Diff(budget.Allowance(), allowed); diff != "" {
				t.Fatalf("after %d nodes are taken (-want +got):\n%s", nodes, diff)
			}
			clock.SetTime(clock.Now().Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second))
		}
	})
}

// TestWindowEnds holds that pods that keep arriving wait no longer than the window may be open,
// however their number changes, and that no pod waits for an idle window.
func TestWindowEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		longest := time.Duration(rapid.IntRange(0, 3000).Draw(t, "longest")) * time.Millisecond
		window, now := launcher.NewWindow(longest), time.Unix(1000, 0)
		window.Launched(now, make([]packing.Pod, 1))
		opened := time.Time{}
		for range rapid.IntRange(1, 30).Draw(t, "passes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "later")) * time.Millisecond)
			wait := window.Wait(now, rapid.IntRange(0, 5).Draw(t, "pods"))
			if opened.IsZero() {
				opened = now
			}
			if wait < 0 || wait > longest {
				t.Fatalf("pods wait for %s", wait)
			}
			if ends := now.Add(wait); window.Waited(now) > 0 && ends.Sub(opened) > longest && wait > 0 {
				t.Fatalf("pods that came at %s wait until %s", opened, ends)
			}
			if rapid.IntRange(0, 5).Draw(t, "idle") == 0 {
				window.Idle()
				if waited := window.Waited(now); waited != 0 {
					t.Fatalf("an idle window was open for %s", waited)
				}
				opened = time.Time{}
			}
		}
	})
}

// TestRefusalsSayWhen holds what is reported about a version that EC2 refuses as a whole, when it
// is tried again, and that an accepted version counts as accepted only as long as nothing of it is
// refused.
func TestRefusalsSayWhen(t *testing.T) {
	t.Parallel()
	w := newTrials(t)
	refusals := w.Nodes.Refusals
	if _, some := refusals.Next(); some || refusals.Accepted(w.template, 2) || refusals.Why(w.template, 2) != "" {
		t.Error("something is known of a version that was never tried")
	}
	if _, known := refusals.Verdict(nil); known {
		t.Error("there is a verdict on no samples")
	}
	refusals.Check(t.Context(), w.of("t3.large"))
	next, some := refusals.Next()
	if !some || next <= 0 || next > launcher.RetryInterval {
		t.Errorf("what is refused is tried again in %s, %t", next, some)
	}
	if refusals.Accepted(w.template, 2) {
		t.Error("a version counts as accepted of which EC2 refuses the only type that was tried")
	}
	verdict, known := refusals.Verdict(w.of("t3.large"))
	if !known || !strings.Contains(verdict.Message, "version 2 of launch template "+w.template) {
		t.Errorf("the verdict is %+v", verdict)
	}
	if _, known := refusals.Verdict(w.of("t3.large", "m5.xlarge")); known {
		t.Error("there is a verdict, although one of the samples was not tried")
	}
	if market := launcher.Market(fleet.Request{Spot: true}); market != "spot" {
		t.Errorf("the market of a Spot request is %s", market)
	}
}
