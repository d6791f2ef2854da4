package machinepool

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// loseGroup deletes the group as another client.
func (r *rollouts) loseGroup() {
	r.Helper()
	_, err := r.asg.DeleteAutoScalingGroup(r.Context(), &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: ptr.To("pool"), ForceDelete: ptr.To(true)})
	r.must(err)
}

// unready has the launch config not be ready.
func (r *rollouts) unready() {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{}
	r.must(r.Get(r.Context(), client.ObjectKey{Namespace: "team", Name: "config"}, config))
	config.Status.Conditions[0].Status, config.Status.Conditions[0].Reason = metav1.ConditionFalse, infrav1.ImageNotFoundReason
	r.must(r.Status().Update(r.Context(), config))
}

// TestGroupLostDuringRefresh holds that status does not show the refresh of a group that was deleted
// outside Slipway, and that a refresh which another client starts for the new group is not taken for
// the one that was announced for the old one.
func TestGroupLostDuringRefresh(t *testing.T) {
	t.Parallel()
	for reason, forgetful := range map[string]bool{"one process": false, "a process that crashes after each pass": true} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRollouts(t, nil)
			r.forgetful = forgetful
			r.want("m5.large", "")
			r.settled(1)
			r.want("m6i.large", "")
			r.until("the refresh is in progress", func() bool { return r.refreshStatus() == "InProgress" })
			lost := *r.group().AutoScalingGroupARN
			r.loseGroup()
			r.until("a group was created", func() bool { return ptr.Deref(r.group().AutoScalingGroupARN, lost) != lost })
			if rollout := r.pool().Status.Rollout; rollout != nil && (rollout.RefreshID != "" || rollout.Status != "" || rollout.StartedID != "" || rollout.PercentageComplete != nil) {
				t.Errorf("the pool of the new group shows %+v", rollout)
			}
			r.settled(2)
			for range 3 {
				r.reconcile(10 * time.Minute)
			}
			r.sim.ClearCalls()
			r.reconcile(0)
			for _, call := range r.sim.Calls() {
				if call.Action == "DescribeInstanceRefreshes" {
					t.Error("a pool at rest asks for instance refreshes")
				}
			}
			foreign, err := r.asg.StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: ptr.To("pool")})
			r.must(err)
			r.want("c5.large", "")
			r.until("status shows the refresh", func() bool {
				rollout := r.pool().Status.Rollout
				return rollout != nil && rollout.RefreshID == *foreign.InstanceRefreshId
			})
			if started := r.pool().Status.Rollout.StartedID; started == *foreign.InstanceRefreshId {
				t.Error("the refresh of another client is taken for Slipway's")
			}
		})
	}
}

// TestGroupLostWithoutConfiguration holds that status does not show the refresh of a group that is gone
// and cannot be created again yet.
func TestGroupLostWithoutConfiguration(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	r.want("m5.large", "")
	r.settled(1)
	r.want("m6i.large", "")
	r.until("the refresh is in progress", func() bool { return r.refreshStatus() == "InProgress" })
	r.unready()
	r.loseGroup()
	r.until("the pool waits", func() bool {
		return r.group().AutoScalingGroupARN == nil && r.condition(infrav1.ASGReadyCondition).Reason == infrav1.WaitingForLaunchTemplateReason
	})
	if status := r.refreshStatus(); status != "" {
		t.Errorf("the refresh of no group is %s", status)
	}
	if shown := r.condition(infrav1.RolledOutCondition); shown.Status == metav1.ConditionTrue {
		t.Errorf("RolledOut is %+v", shown)
	}
}

// TestLostGroupKeepsItsSize holds that a group that was deleted outside Slipway is created again with the
// size that an external autoscaler gave it last.
func TestLostGroupKeepsItsSize(t *testing.T) {
	t.Parallel()
	for reason, row := range map[string]struct{ size, maxSize, want int32 }{
		"the size is within the bounds":       {size: 3, maxSize: 4, want: 3},
		"the pool was made smaller meanwhile": {size: 4, maxSize: 2, want: 2},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r, machinePool := newAutoscaled(t), &clusterv1.MachinePool{}
			_, err := r.asg.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: ptr.To("pool"), DesiredCapacity: &row.size})
			r.must(err)
			r.until("the MachinePool follows", func() bool {
				r.must(r.Get(t.Context(), r.key, machinePool))
				return *machinePool.Spec.Replicas == row.size
			})
			lost := *r.group().AutoScalingGroupARN
			r.loseGroup()
			pool := r.pool()
			pool.Spec.MaxSize, pool.Generation = row.maxSize, pool.Generation+1
			r.must(r.Update(t.Context(), pool))
			r.until("a group was created", func() bool { return ptr.Deref(r.group().AutoScalingGroupARN, lost) != lost })
			if size := *r.group().DesiredCapacity; size != row.want {
				t.Errorf("the group was created with %d instances, want %d", size, row.want)
			}
		})
	}
}
