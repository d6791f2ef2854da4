package machinepool

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/awssimtest"
)

// TestRetiredIsRemovedThoughUnseen holds that what a pool gave its group is taken from it when the
// spec no longer asks for it, though AWS does not show yet that the group has it: after the next
// edit, only the pool's record says that it was given.
func TestRetiredIsRemovedThoughUnseen(t *testing.T) {
	t.Parallel()
	const (
		targetGroup = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef"
		source      = "arn:aws:vpc-lattice:us-east-1:123456789012:targetgroup/tg-0123456789abcdef0"
	)
	for _, row := range []struct {
		reason string
		give   func(*infrav1.AWSMachinePoolSpec)
		has    func(r *rollouts, group asgtypes.AutoScalingGroup) bool
	}{
		{reason: "a tag", give: func(spec *infrav1.AWSMachinePoolSpec) { spec.AdditionalTags = infrav1.Tags{"team": "blue"} }, has: func(_ *rollouts, group asgtypes.AutoScalingGroup) bool {
			return slices.ContainsFunc(group.Tags, func(tag asgtypes.TagDescription) bool { return *tag.Key == "team" })
		}},
		{reason: "a suspended process", give: func(spec *infrav1.AWSMachinePoolSpec) {
			spec.SuspendProcesses = &infrav1.SuspendProcessesTypes{Processes: &infrav1.Processes{AZRebalance: new(true)}}
		}, has: func(_ *rollouts, group asgtypes.AutoScalingGroup) bool { return len(group.SuspendedProcesses) > 0 }},
		{reason: "a target group", give: func(spec *infrav1.AWSMachinePoolSpec) { spec.TargetGroupARNs = []string{targetGroup} }, has: func(_ *rollouts, group asgtypes.AutoScalingGroup) bool {
			return len(group.TargetGroupARNs) > 0
		}},
		{reason: "a traffic source", give: func(spec *infrav1.AWSMachinePoolSpec) {
			spec.TrafficSources = []infrav1.TrafficSource{{Identifier: source, Type: "vpc-lattice"}}
		}, has: func(_ *rollouts, group asgtypes.AutoScalingGroup) bool { return len(group.TrafficSources) > 0 }},
		{reason: "a lifecycle hook", give: func(spec *infrav1.AWSMachinePoolSpec) {
			spec.LifecycleHooks = []infrav1.AWSLifecycleHook{{Name: "notice", LifecycleTransition: infrav1.LifecycleTransitionInstanceLaunching}}
		}, has: func(r *rollouts, _ asgtypes.AutoScalingGroup) bool {
			hooks, err := r.asg.DescribeLifecycleHooks(r.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: new("pool")})
			r.must(err)
			return len(hooks.LifecycleHooks) > 0
		}},
	} {
		for _, forgetful := range []bool{false, true} {
			reason := row.reason
			if forgetful {
				reason += ", with a process that remembers nothing"
			}
			t.Run(reason, func(t *testing.T) {
				t.Parallel()
				r := newRollouts(t, nil)
				r.forgetful = forgetful
				r.want("m5.large", "")
				r.settled(1)
				r.clock.Step(time.Minute)
				r.reconcile(0)
				awssimtest.SetReadLag(r.sim, 10*time.Second)
				before := r.pool().Spec
				r.edit(row.give)
				r.reconcile(0)
				awssimtest.SetReadLag(r.sim, 0)
				if !row.has(r, r.group()) {
					t.Fatal("the group was not given it")
				}
				awssimtest.SetReadLag(r.sim, 10*time.Second)
				if row.has(r, r.group()) {
					t.Fatal("AWS shows it at once")
				}
				r.edit(func(spec *infrav1.AWSMachinePoolSpec) { *spec = before })
				r.reconcile(0)
				awssimtest.SetReadLag(r.sim, 0)
				for range 10 {
					r.reconcile(time.Minute)
				}
				if row.has(r, r.group()) {
					t.Error("the group still has it")
				}
				if ready := r.condition(infrav1.ASGReadyCondition); ready.Status != "True" {
					t.Errorf("the pool shows %q", ready.Message)
				}
			})
		}
	}
}

// edit changes the pool's spec.
func (r *rollouts) edit(change func(*infrav1.AWSMachinePoolSpec)) {
	r.Helper()
	pool := r.pool()
	change(&pool.Spec)
	pool.Generation++
	r.must(r.Update(r.Context(), pool))
}
