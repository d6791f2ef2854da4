package awsmachinepool

import (
	"testing"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
)

// TestEndOfRefreshIsToldOnce holds that people hear once of the end of a refresh, though a pass that could not write status, or acted on an
// older one, sees it again.
func TestEndOfRefreshIsToldOnce(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{Report: common.Reporter{Recorder: recorder}, Clock: clock.RealClock{}}
	see := func(id, before, now string) {
		pool := &infrav1.AWSMachinePool{Status: infrav1.AWSMachinePoolStatus{Rollout: &infrav1.RolloutStatus{RefreshID: id, Status: before}}}
		pool.Namespace, pool.Name = "team", "pool"
		r.reportRefresh(t.Context(), &pass{pool: pool, config: &infrav1.AWSLaunchConfig{}}, []autoscalinggroup.Refresh{{ID: id, Status: now}})
	}
	for _, row := range []struct {
		reason          string
		id, before, now string
		events          int
	}{
		{"it goes on", "one", "Pending", "InProgress", 0},
		{"it ends", "one", "InProgress", "Successful", 1},
		{"its end is seen again from an older status", "one", "InProgress", "Successful", 0},
		{"its end is in status", "one", "Successful", "Successful", 0},
		{"another one fails", "two", "InProgress", "Failed", 1},
		{"which is seen again", "two", "Pending", "Failed", 0},
	} {
		see(row.id, row.before, row.now)
		if got := len(recorder.Events); got != row.events {
			t.Errorf("%s: %d events, want %d", row.reason, got, row.events)
		}
		for range len(recorder.Events) {
			<-recorder.Events
		}
	}
}
