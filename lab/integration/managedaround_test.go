package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// managedGroup returns the Auto Scaling group that EKS created for the pool.
func (w *world) managedGroup() asgtypes.AutoScalingGroup {
	w.Helper()
	seen, err := w.seenInEKS(managedName)
	if err != nil {
		w.Fatal(err)
	}
	return seen.asg
}

// TestManagedHooks holds that a lifecycle hook of the spec holds instances on their way out, that
// an edit of it takes its place, that it holds none once it is taken away, and that the hooks of
// others stay.
func TestManagedHooks(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged()
	group := w.managedGroup().AutoScalingGroupName
	w.must(w.asg().PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: group, LifecycleHookName: aws.String("theirs"), LifecycleTransition: aws.String("autoscaling:EC2_INSTANCE_LAUNCHING"),
		DefaultResult: aws.String("CONTINUE"), HeartbeatTimeout: aws.Int32(30),
	}))
	hooks := func(heartbeats map[string]int32) func() error {
		return func() error {
			seen, err := w.seenInEKS(managedName)
			if err != nil {
				return err
			}
			got := map[string]int32{}
			for name, hook := range seen.hooks {
				got[name] = *hook.HeartbeatTimeout
			}
			if fmt.Sprint(got) != fmt.Sprint(heartbeats) {
				return fmt.Errorf("hooks are %v", got)
			}
			return nil
		}
	}
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.AWSLifecycleHooks = []infrav1.AWSLifecycleHook{{
			Name: "ours", LifecycleTransition: infrav1.LifecycleTransitionInstanceTerminating, HeartbeatTimeout: after(time.Hour),
			DefaultResult: ptr.To(infrav1.LifecycleHookDefaultResultContinue),
		}}
	})
	w.Eventually("the hook is there", hooks(map[string]int32{"ours": 3600, "theirs": 30}))
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.AWSLifecycleHooks[0].HeartbeatTimeout = after(2 * time.Hour)
	})
	w.Eventually("the hook is changed", hooks(map[string]int32{"ours": 7200, "theirs": 30}))
	w.rest()
	w.clock.SetRate(unhurried)
	w.scaleManaged(1)
	var held string
	w.Eventually("an instance is held", func() error {
		for _, instance := range w.managedGroup().Instances {
			if instance.LifecycleState == asgtypes.LifecycleStateTerminatingWait {
				held = *instance.InstanceId
				return nil
			}
		}
		return fmt.Errorf("instances are %+v", w.managedGroup().Instances)
	})
	w.must(w.asg().CompleteLifecycleAction(t.Context(), &autoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: group, LifecycleHookName: aws.String("ours"), InstanceId: &held, LifecycleActionResult: aws.String("CONTINUE"),
	}))
	w.clock.SetRate(rate)
	w.Eventually("one node is left", func() error { return w.managedSettled(1) })
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLifecycleHooks = nil })
	w.Eventually("the hook is gone, and theirs is not", hooks(map[string]int32{"theirs": 30}))
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 0})
}

// TestManagedWarmPool holds that a warm pool of the spec has instances ready, that a node comes
// from it, that an edit changes it, and that it goes with its instances when it is removed, all
// without replacing a node.
func TestManagedWarmPool(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged()
	warm := func(count int) func() error {
		return func() error {
			out, err := w.asg().DescribeWarmPool(w.Context(), &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: w.managedGroup().AutoScalingGroupName})
			if err != nil {
				return err
			}
			for _, instance := range out.Instances {
				// One that is still stopping is not used: Auto Scaling launches another.
				if instance.LifecycleState != asgtypes.LifecycleStateWarmedStopped || !w.stopped(*instance.InstanceId) {
					return fmt.Errorf("warm instances are %+v", out.Instances)
				}
			}
			if len(out.Instances) != count {
				return fmt.Errorf("there are %d warm instances", len(out.Instances))
			}
			return nil
		}
	}
	nodes := w.running()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.WarmPool = &infrav1.WarmPool{MinSize: 2, MaxGroupPreparedCapacity: ptr.To[int32](4), State: "Stopped"}
	})
	w.Eventually("two instances are warm", warm(2))
	out, err := w.asg().DescribeWarmPool(t.Context(), &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: w.managedGroup().AutoScalingGroupName})
	if err != nil {
		t.Fatal(err)
	}
	prepared := []string{*out.Instances[0].InstanceId, *out.Instances[1].InstanceId}
	w.scaleManaged(3)
	w.Eventually("there is a third node", func() error { return w.managedSettled(3) })
	came := slices.DeleteFunc(w.running(), func(id string) bool { return slices.Contains(nodes, id) || !slices.Contains(prepared, id) })
	if len(came) != 1 {
		t.Errorf("of the warm instances %q, %q became nodes", prepared, came)
	}
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.WarmPool = &infrav1.WarmPool{MinSize: 3, MaxGroupPreparedCapacity: ptr.To[int32](6), State: "Stopped"}
	})
	w.Eventually("three instances are warm", warm(3))
	nodes = w.running()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.WarmPool = nil })
	w.Eventually("the warm pool is gone, with what was in it", func() error {
		if config := w.managedGroup().WarmPoolConfiguration; config != nil {
			return fmt.Errorf("it is %+v", config)
		}
		return equals(w.running(), nodes)
	})
	w.Eventually("the pool is settled", func() error { return w.managedSettled(3) })
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 0})
}

// TestManagedRepair holds EKS's node repair settings when they are set, changed, and removed: each
// by one update that replaces no node.
func TestManagedRepair(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged()
	nodes := w.running()
	for _, row := range []struct {
		reason  string
		repair  *infrav1.NodeRepairConfig
		enabled bool
		// parallel and threshold are in percent.
		parallel, threshold int32
	}{
		{reason: "it is set", repair: &infrav1.NodeRepairConfig{Enabled: ptr.To(true), MaxParallelNodesRepairedPercentage: ptr.To[int32](30)}, enabled: true, parallel: 30},
		{reason: "it is changed", repair: &infrav1.NodeRepairConfig{Enabled: ptr.To(true), MaxUnhealthyNodeThresholdPercentage: ptr.To[int32](40)}, enabled: true, threshold: 40},
		{reason: "it is taken away"},
	} {
		w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.NodeRepairConfig = row.repair })
		w.Eventually(row.reason, func() error {
			got := w.nodegroup().NodeRepairConfig
			if got == nil || aws.ToBool(got.Enabled) != row.enabled || aws.ToInt32(got.MaxParallelNodesRepairedPercentage) != row.parallel ||
				aws.ToInt32(got.MaxUnhealthyNodeThresholdPercentage) != row.threshold {
				return fmt.Errorf("EKS has %+v", got)
			}
			return w.managedSettled(2)
		})
	}
	w.rest()
	w.expectCounts(map[string]int{"UpdateNodegroupConfig": 3, "UpdateNodegroupVersion": 0})
	if err := equals(w.running(), nodes); err != nil {
		t.Errorf("the nodes: %v", err)
	}
}
