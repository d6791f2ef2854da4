package machinepool

import (
	"testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// TestEndOfRefreshIsReportedOnce holds that the end of a refresh is reported by the pass that
// writes it into status, and by no other.
func TestEndOfRefreshIsReportedOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason          string
		id, before, now string
		want            string
	}{
		{"it goes on", "one", "Pending", "InProgress", ""},
		{"it ends", "one", "InProgress", "Successful", "InstanceRefreshSucceeded"},
		{"its end is in status", "one", "Successful", "Successful", ""},
		{"another one fails", "two", "InProgress", "Failed", "InstanceRefreshEnded"},
		{"which is in status", "two", "Failed", "Failed", ""},
		{"the end of one that status does not know", "three", "", "Failed", ""},
	} {
		in := input{Object: &infrav1.AWSMachinePool{Status: infrav1.AWSMachinePoolStatus{Rollout: &infrav1.RolloutStatus{RefreshID: row.id, Status: row.before}}}}
		if row.before == "" {
			in.Object.Status.Rollout = nil
		}
		in.Seen.Refreshes = Refreshes{Read: true, List: []autoscalinggroup.Refresh{{ID: row.id, Status: row.now}}}
		var plan reconcile.Plan
		showHistory(in, &plan)
		got := ""
		for _, event := range plan.Events {
			got += event.Reason
		}
		if got != row.want {
			t.Errorf("%s: events %q, want %q", row.reason, got, row.want)
		}
	}
}
