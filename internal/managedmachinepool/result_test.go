package managedmachinepool

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// broken is a fault of AWS's own.
var broken = awssim.Fault{Code: "ServerException", Status: 500, Message: "an error of the server"}

// TestUpdateIsNotRepeatedBlindly has an update fail while EKS does not describe updates. It holds that the same
// update, which replaces nodes, is not started again before its failure is known, that the pool says what it waits
// for, and that the attempts count from that failure on. An update to something else does not wait.
func TestUpdateIsNotRepeatedBlindly(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		fault  awssim.Fault
		// ready is the reason of EKSNodegroupReady meanwhile.
		ready     string
		forgetful bool
	}{
		{"it may not be described", denied, infrav1.AccessDeniedReason, false},
		{"it may not be described, and the manager is restarted before each pass", denied, infrav1.AccessDeniedReason, true},
		{"EKS fails", broken, infrav1.ReadyReason, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.forgetful = row.forgetful
			template := w.threeNodes(oldType, newType, "c5.large")
			id := w.struck("DescribeUpdate", row.fault, 0)
			w.joins(false)
			w.configured("pool", template, 2)
			w.passes("pool", "the update has finished", func() bool {
				return w.made("UpdateNodegroupVersion") == 1 && w.nodegroup("team_pool").Status == "ACTIVE"
			})
			w.minutes(2)
			w.expectUpdates(1)
			if got := w.condition("pool", infrav1.RolledOutCondition); got.Reason != infrav1.WaitingForUpdateReason || !strings.Contains(got.Message, "EKS has not reported its result yet") {
				t.Errorf("RolledOut is %+v", got)
			}
			if got := w.condition("pool", infrav1.NodegroupReadyCondition); got.Reason != row.ready {
				t.Errorf("EKSNodegroupReady is %+v", got)
			}

			w.sim.RemoveFault(id)
			w.passes("pool", "the failure is known", func() bool { return w.pool("pool").Status.Update.Status == "Failed" })
			w.minutes(2)
			w.expectUpdates(1)
			update, rolledOut := w.pool("pool").Status.Update, w.condition("pool", infrav1.RolledOutCondition)
			if update.Attempts != 1 || rolledOut.Reason != infrav1.NodegroupUpdateFailedReason || !strings.Contains(rolledOut.Message, "NodeCreationFailure") {
				t.Errorf("after %d attempts, RolledOut is %+v", update.Attempts, rolledOut)
			}
			if got := w.condition("pool", infrav1.NodegroupReadyCondition); got.Reason != infrav1.ReadyReason {
				t.Errorf("EKSNodegroupReady is %+v", got)
			}

			w.struck("DescribeUpdate", row.fault, 0)
			w.configured("pool", template, 3)
			w.minutes(17) // this update fails, too
			w.expectUpdates(2)
			w.joins(true)
			w.configured("pool", template, 2)
			w.passes("pool", "another edit is rolled out", func() bool {
				return ptr.Deref(w.nodegroup("team_pool").LaunchTemplate.Version, "") == "2"
			})
			w.expectUpdates(3)
		})
	}
}

// minutes makes passes for some minutes.
func (w *world) minutes(count int) {
	w.Helper()
	for end := w.clock.Now().Add(time.Duration(count) * time.Minute); w.clock.Now().Before(end); {
		w.reconcile("pool")
	}
}

// joins sets whether new nodes join.
func (w *world) joins(join bool) {
	behavior := w.sim.Behavior()
	behavior.Nodes = []awssim.NodeRule{{NeverReady: !join}}
	w.sim.SetBehavior(behavior)
}

// expectUpdates expects how many updates EKS has started that replace nodes.
func (w *world) expectUpdates(want int) {
	w.Helper()
	if made := w.made("UpdateNodegroupVersion"); made != want {
		w.Errorf("%d updates were started, want %d", made, want)
	}
}
