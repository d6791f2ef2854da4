package machinepool

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// TestExplainReplacements holds when a pool with all of its capacity says that its refresh launches nothing.
func TestExplainReplacements(t *testing.T) {
	t.Parallel()
	failed := func(at time.Time) FailedLaunch {
		return FailedLaunch{Read: true, Again: noon.Add(askAfter), Launch: &autoscalinggroup.FailedLaunch{
			Shortage: autoscalinggroup.NoCapacity, Message: "there is none", At: at,
		}}
	}
	started := noon.Add(-time.Hour)
	for _, row := range []struct {
		reason string
		given  edit
		shows  string
		needs  int
		again  time.Duration
	}{
		{reason: "AWS is asked why", needs: 1},
		{reason: "a launch failed since", given: func(in *input) { in.Seen.FailedLaunch = failed(started.Add(time.Minute)) },
			shows: "CapacityAvailable=False/InsufficientCapacity: there is none", again: askAfter},
		{reason: "the one that failed was before the refresh", given: func(in *input) { in.Seen.FailedLaunch = failed(started.Add(-time.Minute)) }, again: askAfter},
		{reason: "no launch failed", given: func(in *input) { in.Seen.FailedLaunch = FailedLaunch{Read: true, Again: noon.Add(askAfter)} }, again: askAfter},
		{reason: "AWS does not say", given: func(in *input) { in.Seen.FailedLaunch.Err = errRefused },
			shows: "CapacityAvailable=False/LaunchFailed", again: 2 * time.Minute},
		{reason: "the refresh has just begun", given: func(in *input) { in.Seen.Refreshes.List[0].Started = noon }, again: shortPatience},
		{reason: "it has finished", given: func(in *input) { in.Seen.Refreshes.List[0].Status = "Successful" }},
		{reason: "it has launched an instance", given: func(in *input) {
			changeGroup(in, func(group *autoscalinggroup.Group) { group.Instances = append(group.Instances, member("i-3", 2)) })
		}},
		{reason: "it terminates an instance first", given: func(in *input) { in.Object.Spec.RefreshPreferences = nil }},
		{reason: "the group launches first", given: func(in *input) {
			in.Object.Spec.RefreshPreferences = nil
			changeGroup(in, func(group *autoscalinggroup.Group) { group.Settings.MaxHealthy = 110 })
		}, needs: 1},
	} {
		in, plan := atRest(t), reconcile.Plan{}
		in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{MaxHealthyPercentage: ptr.To[int64](150)}
		in.Seen.Refreshes = Refreshes{Read: true, List: []autoscalinggroup.Refresh{{ID: "r-1", Status: "InProgress", Started: started}}}
		if row.given != nil {
			row.given(in)
		}
		if shown := explainReplacements(*in, &plan); shown != (row.shows != "" || row.needs > 0) || len(plan.Needs) != row.needs || plan.Again != row.again {
			t.Errorf("%s: shown: %t, needs %v, again after %s", row.reason, shown, plan.Needs, plan.Again)
		}
		if row.shows != "" {
			reconciletest.Shows(t, in.Object, row.shows)
		}
	}
}
