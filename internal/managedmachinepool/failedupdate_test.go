package managedmachinepool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/nodegroup"
)

// TestDeniedConfigKeepsNoRolloutBack has AWS answer every change of the configuration that only a user can mend it. It
// holds that nodes are replaced all the same, that a condition says what AWS said, that a pass does not repeat what AWS
// denied, and that the change is made soon after AWS allows it.
func TestDeniedConfigKeepsNoRolloutBack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, shown string
		fault         awssim.Fault
		// calls counts the calls of a pass: sizes and settings are requested one by one if AWS may change one of them.
		calls int
	}{
		{"access is denied", infrav1.AccessDeniedReason, denied, 1},
		{"the request does not fit the state of the cluster", infrav1.NodegroupReconcileFailedReason, awssim.Fault{Code: "InvalidRequestException", Status: 400, Message: "not now"}, 3},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			template := w.threeNodes(oldType, newType)
			id := w.struck("UpdateNodegroupConfig", row.fault, 0)
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"team": "a"} })
			w.setReplicas("pool", 4)
			w.configured("pool", template, 2)
			w.passes("pool", "nodes run the other version", func() bool {
				group := w.nodegroup("team_pool")
				return group.Status == "ACTIVE" && ptr.Deref(group.LaunchTemplate.Version, "") == "2"
			})
			w.passes("pool", "the answer is shown", func() bool {
				ready := w.condition("pool", infrav1.NodegroupReadyCondition)
				return ready.Reason == row.shown && strings.Contains(ready.Message, row.fault.Message)
			})
			before := w.answeredWith("UpdateNodegroupConfig", row.fault.Code)
			w.reconcile("pool")
			if calls := w.answeredWith("UpdateNodegroupConfig", row.fault.Code) - before; calls != row.calls {
				t.Errorf("a pass called AWS %d times, want %d", calls, row.calls)
			}
			w.expectUpdates(1)
			w.sim.RemoveFault(id)
			w.minutes(5)
			if group := w.nodegroup("team_pool"); group.Labels["team"] != "a" || *group.ScalingConfig.DesiredSize != 4 {
				t.Errorf("the node group has labels %v and the size %d", group.Labels, *group.ScalingConfig.DesiredSize)
			}
			if ready := w.condition("pool", infrav1.ReadyCondition); ready.Status != "True" {
				t.Errorf("the pool is not ready: %+v", ready)
			}
		})
	}
}

// answeredWith counts the calls of an action that AWS answered with an error code.
func (w *world) answeredWith(action, code string) int {
	count := 0
	for _, call := range w.sim.Calls() {
		if call.Action == action && call.Code == code {
			count++
		}
	}
	return count
}

// TestFailureOfAnUpdateWhoseAnswerWasLost has EKS start an update, its answer be lost, and the update fail. It holds that
// the update counts as an attempt: it is retried after a delay that grows, and an edit of the spec is rolled out at once.
func TestFailureOfAnUpdateWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := w.threeNodes(oldType, newType, "c5.large")
	w.drains(false)
	w.struck("UpdateNodegroupVersion", lost, 1)
	w.configured("pool", template, 2)
	w.passes("pool", "the update is found", func() bool { return w.updates(nodegroup.VersionUpdate) })
	if cause := w.pool("pool").Status.Update.Cause; cause != "instance type t3.large → m5.large" {
		t.Errorf("the cause is %q", cause)
	}
	w.passes("pool", "the update has failed", func() bool { return w.pool("pool").Status.Update.Status == "Failed" })
	w.minutes(4)
	if done := w.done("UpdateNodegroupVersion"); done != 1 {
		t.Errorf("EKS started %d updates", done)
	}
	rolledOut := w.condition("pool", infrav1.RolledOutCondition)
	if rolledOut.Reason != infrav1.NodegroupUpdateFailedReason || !strings.Contains(rolledOut.Message, "PodEvictionFailure") {
		t.Errorf("RolledOut is %+v", rolledOut)
	}
	w.configured("pool", template, 3)
	w.minutes(1)
	if done := w.done("UpdateNodegroupVersion"); done != 2 {
		t.Errorf("after an edit of the spec, EKS has started %d updates", done)
	}
}

// TestFailureIsShownAcrossOtherUpdates has an update fail that replaces nodes, and then another size be wanted. It holds
// that RolledOut keeps saying why the update failed, and what helps.
func TestFailureIsShownAcrossOtherUpdates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := w.threeNodes(oldType, newType)
	w.drains(false)
	w.configured("pool", template, 2)
	w.passes("pool", "the update has failed", func() bool {
		return w.condition("pool", infrav1.RolledOutCondition).Reason == infrav1.NodegroupUpdateFailedReason
	})
	w.setReplicas("pool", 4)
	w.passes("pool", "the size is changed", func() bool {
		return w.pool("pool").Status.Update.Type == "ConfigUpdate" && w.pool("pool").Status.Update.Status == "Successful"
	})
	w.reconcile("pool")
	rolledOut := w.condition("pool", infrav1.RolledOutCondition)
	if rolledOut.Reason != infrav1.NodegroupUpdateFailedReason || !strings.Contains(rolledOut.Message, "PodEvictionFailure: Reached max retries while trying to evict pods from nodes in "+
		"node group team_pool (pods could not be evicted: check their PodDisruptionBudgets, or set updateConfig.force)") {
		t.Errorf("RolledOut is %+v", rolledOut)
	}
}

// TestRetriesOfAFailedUpdate has updates fail whose nodes cannot be drained, or do not join. It holds that RolledOut says
// what helps and when the update is retried, that the delay doubles, and that another way to replace nodes is tried at once.
func TestRetriesOfAFailedUpdate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, says string
		broken       func(w *world)
	}{
		{"pods stay", "check their PodDisruptionBudgets, or set updateConfig.force", func(w *world) { w.drains(false) }},
		{"nodes do not join", "check the scaling activities of the Auto Scaling group", func(w *world) { w.joins(false) }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			template := w.threeNodes(oldType, newType)
			row.broken(w)
			w.configured("pool", template, 2)
			failed := func(attempts int32) func() bool {
				return func() bool {
					update := w.pool("pool").Status.Update
					return update != nil && update.Status == "Failed" && update.Attempts == attempts
				}
			}
			for attempt := range int32(3) {
				w.passes("pool", "the update has failed again", failed(attempt+1))
				again := w.pool("pool").Status.Update.EndTime.Add(5 * time.Minute << attempt)
				rolledOut := w.condition("pool", infrav1.RolledOutCondition)
				if rolledOut.Reason != infrav1.NodegroupUpdateFailedReason || !strings.Contains(rolledOut.Message, row.says) ||
					!strings.Contains(rolledOut.Message, fmt.Sprintf("Slipway retries the update after %dm, or at once", 5<<attempt)) {
					t.Errorf("RolledOut is %+v", rolledOut)
				}
				for w.clock.Now().Before(again) {
					w.reconcile("pool")
				}
				w.expectUpdates(int(attempt) + 1)
				w.minutes(1)
				w.expectUpdates(int(attempt) + 2)
			}
			w.passes("pool", "the update has failed again", failed(4))
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) {
				pool.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](1), UpdateStrategy: infrav1.NodegroupUpdateStrategyMinimal}
			})
			w.minutes(1)
			w.expectUpdates(5)
		})
	}
}

// TestUncertainConfigKeepsNoRolloutBack has every change of the configuration fail inside AWS, so that it is not known
// whether it was made. It holds that nodes are replaced all the same once EKS has shown for long enough that it was not,
// that the pool then says so, and that the change is made once AWS works again. Restarts change none of it.
func TestUncertainConfigKeepsNoRolloutBack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		fault     awssim.Fault
		forgetful bool
	}{
		{"AWS answers with an error of its own", awssim.Fault{Code: "ServerException", Status: 500, Message: "an error of the server"}, false},
		{"AWS closes the connection", awssim.Fault{Drop: true}, false},
		{"the manager restarts before each pass", awssim.Fault{Code: "ServerException", Status: 500, Message: "an error of the server"}, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			template := w.threeNodes(oldType, newType)
			w.forgetful = row.forgetful
			id := w.struck("UpdateNodegroupConfig", row.fault, 0)
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"team": "a"} })
			w.setReplicas("pool", 4)
			w.configured("pool", template, 2)
			w.minutes(4)
			w.expectUpdates(0) // AWS may soon work again
			w.passes("pool", "nodes are being replaced", func() bool { return w.made("UpdateNodegroupVersion") == 1 })
			w.passes("pool", "the failure is shown", func() bool {
				ready := w.condition("pool", infrav1.NodegroupReadyCondition)
				return ready.Status == "False" && strings.Contains(ready.Message, row.fault.Message)
			})
			w.passes("pool", "nodes run the other version", func() bool {
				group := w.nodegroup("team_pool")
				return group.Status == "ACTIVE" && ptr.Deref(group.LaunchTemplate.Version, "") == "2"
			})
			w.sim.RemoveFault(id)
			w.passes("pool", "all is well", func() bool {
				group, pool := w.nodegroup("team_pool"), w.pool("pool")
				return group.Labels["team"] == "a" && *group.ScalingConfig.DesiredSize == 4 && pool.Status.FailedUpdates == nil &&
					w.condition("pool", infrav1.ReadyCondition).Status == "True"
			})
			w.expectUpdates(1)
		})
	}
}
