package managedmachinepool

import (
	"strings"
	"testing"
	"time"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/nodegroup"
)

// TestUpdateWhoseRecordIsLost has the write of status fail after an update was started, so that status still names
// the update before, which has ended. It holds that status names the update that is under way, and says again which
// version each instance runs, during the update if the one before replaced no nodes, and at the end in any case.
func TestUpdateWhoseRecordIsLost(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// before is the type of the update that status names.
		before string
		// edit has the update before begin, and then the one whose record is lost.
		edit func(w *world, template string)
		// version is the version of the launch template that is wanted last.
		version string
	}{
		{"after a change of labels", nodegroup.ConfigUpdate, func(w *world, template string) {
			w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"tier": "web"} })
			w.configured("pool", template, 2)
		}, "2"},
		{"after a roll-out", nodegroup.VersionUpdate, func(w *world, template string) {
			w.configured("pool", template, 2)
			w.passes("pool", "the first roll-out is under way", func() bool { return w.updates(nodegroup.VersionUpdate) })
			w.configured("pool", template, 3)
		}, "3"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			template := w.threeNodes(oldType, newType, "c5.large")
			row.edit(w, template)
			w.passes("pool", "the update before is under way", func() bool { return w.updates(row.before) })

			before := w.pool("pool").Status
			w.passes("pool", "the update is started", func() bool {
				status := w.pool("pool").Status
				if status.Update.ID != before.Update.ID {
					return true
				}
				before = status
				return false
			})
			pool := w.pool("pool")
			lost := pool.Status.Update.ID
			pool.Status = before
			w.must(w.store.Status().Update(w.Context(), pool))
			w.restart()
			w.reconcile("pool")
			if update := w.pool("pool").Status.Update; update.ID != lost {
				t.Errorf("status names update %s of type %s, and %s is under way", update.ID, update.Type, lost)
			}
			if message := w.condition("pool", infrav1.RolledOutCondition).Message; strings.Contains(message, before.Update.Cause) {
				t.Errorf("the nodes are said to be replaced because of %q", message)
			}
			w.passes("pool", "it is rolled out", func() bool {
				if row.before == nodegroup.ConfigUpdate {
					w.expectTrueVersions()
				}
				return w.condition("pool", infrav1.RolledOutCondition).Status == "True" && w.pool("pool").Status.Replicas == 3
			})
			status := w.pool("pool").Status
			if upToDate := ptr.Deref(status.UpToDateReplicas, 0); upToDate != 3 {
				t.Errorf("%d instances are up to date, want 3", upToDate)
			}
			for _, instance := range status.Instances {
				if instance.LaunchTemplateVersion != row.version {
					t.Errorf("instance %s is said to run version %q, want %s", instance.InstanceID, instance.LaunchTemplateVersion, row.version)
				}
			}
		})
	}
}

// TestGroupVersionWhoseRecordIsLost has the write of status fail after EKS changed the labels of nodes, which gives
// the Auto Scaling group another version of EKS's template. It holds that status has that version soon, and not only
// when the node group is described the next time at rest.
func TestGroupVersionWhoseRecordIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := w.threeNodes(oldType)
	before := w.pool("pool").Status.Nodegroup.GroupVersion
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"tier": "web"} })
	w.configured("pool", template, 1)
	w.passes("pool", "the change has ended", func() bool { return w.pool("pool").Status.Nodegroup.GroupVersion != before })
	w.passes("pool", "the pool is at rest", func() bool { return w.condition("pool", infrav1.ReadyCondition).Status == "True" })
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Status.Nodegroup.GroupVersion = before })
	w.passes("pool", "status has the version", func() bool { return w.pool("pool").Status.Nodegroup.GroupVersion != before })
}

// labelsBeforeRollOut has EKS change the labels and the size of a pool with three nodes, whose config wants another
// version.
func (w *world) labelsBeforeRollOut() {
	w.Helper()
	template := w.threeNodes(oldType, newType)
	w.setReplicas("pool", 4)
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"tier": "web"} })
	w.configured("pool", template, 2)
	w.passes("pool", "labels are changed", func() bool { return w.updates(nodegroup.ConfigUpdate) })
}

// TestRollOutRightAfterLabels has EKS replace nodes from the pass on that sees the end of a change of labels and size,
// which gives the Auto Scaling group another version of EKS's template, and an instance of it. It holds that no
// instance is said to run what is rolled out, or counts as up to date, before it is replaced.
func TestRollOutRightAfterLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.labelsBeforeRollOut()
	w.clock.Step(time.Minute)
	w.passes("pool", "nodes are replaced", func() bool { w.expectTrueVersions(); return w.updates(nodegroup.VersionUpdate) })
	if instances := len(w.pool("pool").Status.Instances); instances != 4 {
		t.Errorf("the pass that starts the update sees %d instances, want 4", instances)
	}
	w.passes("pool", "it is rolled out", func() bool {
		w.expectTrueVersions()
		return w.condition("pool", infrav1.RolledOutCondition).Status == "True"
	})
}

// TestRollOutWhoseRecordIsLostRightAfterLabels has the write of status fail in the pass that sees the end of a change of
// labels and size, and starts a roll-out. It holds that the pass after it, which EKS has not begun to replace nodes for
// yet, does not say that the instance of the change runs what is rolled out.
func TestRollOutWhoseRecordIsLostRightAfterLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.labelsBeforeRollOut()
	before := w.pool("pool").Status
	w.clock.Step(time.Minute)
	pass := func() {
		_, err := w.controller.Reconcile(w.Context(), ctrl.Request{NamespacedName: named("pool")})
		w.must(err)
	}
	pass()
	if !w.updates(nodegroup.VersionUpdate) {
		t.Fatalf("status names update %+v, want a roll-out", w.pool("pool").Status.Update)
	}
	pool := w.pool("pool")
	pool.Status = before
	w.must(w.store.Status().Update(w.Context(), pool))

	pass()
	w.expectTrueVersions()
	if !w.updates(nodegroup.VersionUpdate) {
		t.Errorf("status names update %+v, want the roll-out", w.pool("pool").Status.Update)
	}
	w.passes("pool", "it is rolled out", func() bool {
		w.expectTrueVersions()
		return w.condition("pool", infrav1.RolledOutCondition).Status == "True"
	})
}

// TestUpdateMissed has EKS replace nodes while every write of status fails, and has the Auto Scaling group described last
// while it has other nodes in addition. It holds that the pass that sees the end shows which version each instance
// runs, and does not take the additional nodes for a size that an external autoscaler chose.
func TestUpdateMissed(t *testing.T) {
	t.Parallel()
	for reason, drained := range map[string]bool{"an update that succeeds": true, "an update that fails": false} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			template := w.threeNodes(oldType, newType)
			w.autoscaled("pool", true)
			w.drains(drained)
			w.configured("pool", template, 2)
			before := w.pool("pool").Status
			w.passes("pool", "the update is started", func() bool {
				if w.updates(nodegroup.VersionUpdate) {
					return true
				}
				before = w.pool("pool").Status
				return false
			})
			w.clock.Step(30 * time.Second)
			w.reconcile("pool")
			pool := w.pool("pool")
			pool.Status = before
			w.must(w.store.Status().Update(w.Context(), pool))
			for w.nodegroup("team_pool").Status == ekstypes.NodegroupStatusUpdating {
				w.clock.Step(30 * time.Second)
			}
			w.reconcile("pool")
			if running := w.expectTrueVersions(); running[oldType]+running[newType] != 3 {
				t.Errorf("status has the instances %v, want 3", running)
			}
			if replicas := *w.machinePool("pool").Spec.Replicas; replicas != 3 {
				t.Errorf("the MachinePool has %d replicas, want 3", replicas)
			}
		})
	}
}

// updates reports whether status names an update of this type that is under way.
func (w *world) updates(kind string) bool {
	update := w.pool("pool").Status.Update
	return update != nil && update.Type == kind && update.Status == nodegroup.UpdateInProgress
}

// TestUpdateThatEKSDoesNotShowYet has EKS describe an update only some time after it was started, and the user pause
// roll-outs meanwhile, so that it is not requested again. It holds that status names the update at every pass until it
// has failed, and counts the failure.
func TestUpdateThatEKSDoesNotShowYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := w.threeNodes(oldType, newType)
	w.drains(false)
	awssimtest.SetReadLag(w.sim, 8*time.Second)
	w.configured("pool", template, 2)
	w.passes("pool", "the update is started", func() bool { return w.updates(nodegroup.VersionUpdate) })
	started := w.pool("pool").Status.Update.ID
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Annotations[infrav1.RolloutPausedAnnotation] = "true"
	})
	w.passes("pool", "the update has failed", func() bool {
		update := w.pool("pool").Status.Update
		if update == nil || update.ID != started {
			t.Fatalf("status names the update %+v, want %s", update, started)
		}
		w.expectTrueVersions()
		return update.Status == nodegroup.UpdateFailed
	})
	if failed := w.pool("pool").Status.FailedUpdates; len(failed) != 1 || failed[0].Attempts != 1 {
		t.Errorf("the failed updates are %+v, want one attempt", failed)
	}
}
