package machinepool

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// TestDrainSaysUntilWhen holds that a node whose pods are held is shown with the time at which its
// instance is terminated all the same, which is the same in every pass.
func TestDrainSaysUntilWhen(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, time.November, 22, 10, 0, 0, 700_000_000, time.FixedZone("", 3600))
	held := departure{
		Instance: autoscalinggroup.Instance{ID: "i-1"}, node: "one", state: "1 pod held by PodDisruptionBudget default/web",
		since: since, until: since.Add(15 * time.Minute),
	}
	recorded := held // as a later pass has it, from the annotation
	recorded.since = since.Truncate(time.Second)
	recorded.until = recorded.since.Add(15 * time.Minute)
	const want = "node one (i-1): 1 pod held by PodDisruptionBudget default/web, until 2026-11-22T09:15:00Z at the latest"
	for reason, d := range map[string]departure{"in the first pass": held, "in a later one": recorded} {
		if got := describe([]departure{d}); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
	if got := describe([]departure{held, held}); got != want+"; "+want {
		t.Errorf("two nodes: %q", got)
	}
}

// TestDrainsAreReadable holds that the view of a pool understands how the condition describes drains.
func TestDrainsAreReadable(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC)
	held := drain.Progress{Held: map[string]int{"default/web": 2, "shop/cart": 1}, Ending: 3, Failed: map[string]int{"no; and, so": 1}}
	drains := []departure{
		{Instance: autoscalinggroup.Instance{ID: "i-01"}, node: "one", state: held.String(), until: since.Add(time.Hour)},
		{Instance: autoscalinggroup.Instance{ID: "i-02"}, state: "it has no node", until: since.Add(time.Hour)},
	}
	for range mostShown {
		drains = append(drains, departure{Instance: autoscalinggroup.Instance{ID: "i-03"}, state: "x"})
	}
	pool := &infrav1.AWSMachinePool{}
	setDraining(pool, map[string]time.Time{"i-01": since})
	reconciling.False(pool, infrav1.NodesDrainedCondition, infrav1.DrainingReason, describe(drains))
	got := poolview.Of(poolview.Objects{SelfManaged: pool}, since).Drains
	until := since.Add(time.Hour)
	want := []poolview.Drain{
		{Node: "one", Instance: "i-01", Waits: held.String(), Since: &since, Until: &until, Budgets: []poolview.Budget{{Namespace: "default", Name: "web", Pods: 2}, {Namespace: "shop", Name: "cart", Pods: 1}}},
		{Instance: "i-02", Waits: "it has no node", Until: &until},
	}
	if diff := cmp.Diff(want, got[:2]); diff != "" || len(got) != mostShown {
		t.Errorf("drains of %q: -want +got:\n%s", describe(drains), diff)
	}
}

// TestDrainEventsNameOneNode holds that the event about a node that was drained names no other node, though
// the instances of all are released by one action.
func TestDrainEventsNameOneNode(t *testing.T) {
	t.Parallel()
	in := atRest(t)
	var departures []departure
	for _, id := range []string{"i-1", "i-2"} {
		departures = append(departures, departure{Instance: autoscalinggroup.Instance{ID: id, LifecycleState: "Terminating:Wait"}, node: "node-" + id, empty: true, state: "no pods left"})
	}
	plan := &reconcile.Plan{}
	release(*in, plan, departures)
	complete, is := plan.Actions[0].Action.(completeHooks)
	if !is || len(complete.Departures) != 2 {
		t.Fatalf("the first action is to %s, want both instances to be released", plan.Actions[0].Action)
	}
	for i, other := range []string{"i-2", "i-1"} {
		if event := complete.Departures[i].Event; !event.SaysWhy || strings.Contains(event.Note, other) {
			t.Errorf("the event about %s is %q, and gets the reason for the action (%q) added: %t", complete.Departures[i].Instance, event.Note, plan.Actions[0].Reason, !event.SaysWhy)
		}
	}
}
