package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const privateSubnetB = "subnet-0b2000000000000ab"

// groupIs waits for the group to be as wanted.
func (w *world) groupIs(reason string, minSize, maxSize, desired int32, subnets ...string) {
	w.Helper()
	w.Eventually(reason, func() error {
		group := w.group()
		if *group.MinSize != minSize || *group.MaxSize != maxSize || *group.DesiredCapacity != desired {
			return fmt.Errorf("the group has %d of %d to %d", *group.DesiredCapacity, *group.MinSize, *group.MaxSize)
		}
		got := strings.Split(aws.ToString(group.VPCZoneIdentifier), ",")
		slices.Sort(got)
		return equals(got, subnets)
	})
}

// TestSizesAndSubnets holds that a change of the group alone creates no version and no refresh.
func TestSizesAndSubnets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.groupIs("it starts so", 1, 10, 2, privateSubnetA)
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.MinSize, pool.Spec.MaxSize = 2, 4 })
	w.groupIs("bounds follow", 2, 4, 2, privateSubnetA)
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = ptr.To[int32](3) })
	w.groupIs("replicas are the desired capacity", 2, 4, 3, privateSubnetA)
	w.Eventually("a third node joins", func() error { return w.settled(3) })

	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = ptr.To[int32](5) })
	condition := w.awaitCondition(infrav1.ASGReadyCondition, "False", infrav1.ReplicasOutOfBoundsReason)
	if !strings.Contains(condition.Message, "is 5") || !strings.Contains(condition.Message, "4") {
		t.Errorf("the message is %q", condition.Message)
	}
	w.groupIs("nothing changes while replicas are out of bounds", 2, 4, 3, privateSubnetA)
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 5 })
	w.groupIs("it goes on when they are in", 2, 5, 5, privateSubnetA)
	w.awaitCondition(infrav1.ASGReadyCondition, "True", infrav1.ReadyReason)

	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.Subnets, pool.Spec.AvailabilityZones = nil, []string{"us-east-1a", "us-east-1b"}
		pool.Spec.AvailabilityZoneSubnetType = ptr.To(infrav1.AZSubnetTypePrivate)
	})
	w.groupIs("zones are the cluster's subnets in them", 2, 5, 5, privateSubnetA, privateSubnetB)
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = ptr.To[int32](2) })
	w.Eventually("three instances go", func() error { return w.settled(2) })
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "StartInstanceRefresh": 0})
	w.awaitEvents("ASGUpdated")
}

// TestMixedInstancesPolicy adds, changes and removes the policy.
func TestMixedInstancesPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{
			InstancesDistribution: &infrav1.InstancesDistribution{
				OnDemandBaseCapacity: ptr.To[int64](1), OnDemandPercentageAboveBaseCapacity: ptr.To[int64](0),
				SpotAllocationStrategy: infrav1.SpotAllocationStrategyPriceCapacityOptimized,
			},
			Overrides: []infrav1.Overrides{{InstanceType: "t3.large"}, {InstanceType: "m6i.large"}},
		}
	})
	w.Eventually("the group has the policy", func() error {
		policy := w.group().MixedInstancesPolicy
		if policy == nil || len(policy.LaunchTemplate.Overrides) != 2 || *policy.InstancesDistribution.OnDemandBaseCapacity != 1 ||
			*policy.InstancesDistribution.OnDemandPercentageAboveBaseCapacity != 0 || *policy.InstancesDistribution.SpotAllocationStrategy != "price-capacity-optimized" {
			return fmt.Errorf("it has %+v", policy)
		}
		if version := *policy.LaunchTemplate.LaunchTemplateSpecification.Version; version != "1" {
			return fmt.Errorf("it is at version %s", version)
		}
		return w.settled(2)
	})
	w.editPool(func(pool *infrav1.AWSMachinePool) {
		pool.Spec.MixedInstancesPolicy.InstancesDistribution.OnDemandBaseCapacity = ptr.To[int64](0)
		pool.Spec.MixedInstancesPolicy.Overrides = []infrav1.Overrides{{InstanceType: "m5.large"}, {InstanceType: "t3.large"}}
	})
	w.Eventually("the policy follows", func() error {
		policy := w.group().MixedInstancesPolicy
		if *policy.InstancesDistribution.OnDemandBaseCapacity != 0 || *policy.LaunchTemplate.Overrides[0].InstanceType != "m5.large" {
			return fmt.Errorf("it has %+v", policy)
		}
		return w.settled(2)
	})
	w.rest()
	before := w.count("UpdateAutoScalingGroup")
	w.touch()
	w.pass(10 * time.Minute)
	w.expectCounts(map[string]int{"UpdateAutoScalingGroup": before})
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.MixedInstancesPolicy = nil })
	w.Eventually("the policy goes", func() error {
		if group := w.group(); group.MixedInstancesPolicy != nil || group.LaunchTemplate == nil {
			return fmt.Errorf("it has %+v", group.MixedInstancesPolicy)
		}
		return w.settled(2)
	})
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "StartInstanceRefresh": 0})
	if !slices.Equal(w.running(), instances) {
		t.Errorf("instances are %q, were %q", w.running(), instances)
	}
}

// TestNodeTemplateTags holds that cluster-autoscaler's aws provider finds on the group what the
// MachinePool says about future nodes, and no longer when that is removed. No node is replaced for
// it, and foreign tags stay.
func TestNodeTemplateTags(t *testing.T) {
	t.Parallel()
	const prefix = "k8s.io/cluster-autoscaler/node-template/"
	w := newWorld(t)
	w.havePool()
	instances := w.running()
	if _, err := w.asg().CreateOrUpdateTags(w.Context(), &autoscaling.CreateOrUpdateTagsInput{Tags: []asgtypes.Tag{{
		ResourceId: aws.String(poolName), ResourceType: aws.String("auto-scaling-group"), PropagateAtLaunch: aws.Bool(false),
		Key: aws.String(prefix + "label/theirs"), Value: aws.String("stays"),
	}}}); err != nil {
		t.Fatal(err)
	}
	annotate := func(annotations map[string]string) {
		w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Annotations = annotations })
	}
	tagged := func(reason string, want ...string) {
		t.Helper()
		w.Eventually(reason, func() error {
			var got []string
			for _, tag := range w.group().Tags {
				if name, found := strings.CutPrefix(*tag.Key, prefix); found {
					got = append(got, name+"="+*tag.Value)
				}
			}
			slices.Sort(got)
			return equals(got, want)
		})
	}
	annotate(map[string]string{
		clusterv1.ReplicasManagedByAnnotation:                      "external-autoscaler",
		"capacity.cluster-autoscaler.kubernetes.io/labels":         "team=web",
		"capacity.cluster-autoscaler.kubernetes.io/taints":         "dedicated=web:NoSchedule",
		"capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk": "100Gi",
	})
	tagged("the group has the tags", "label/team=web", "label/theirs=stays", "resources/ephemeral-storage=100Gi", "taint/dedicated=web:NoSchedule")
	annotate(map[string]string{clusterv1.ReplicasManagedByAnnotation: "external-autoscaler", "capacity.cluster-autoscaler.kubernetes.io/labels": "team=api"})
	tagged("what is not said any more goes, and what is left to say follows from the launch config", "label/team=api", "label/theirs=stays", "resources/ephemeral-storage=8Gi")
	w.rest()
	w.Cloud.AWS.ClearCalls()
	w.stopManager()
	w.wipeStatus()
	w.startManager()
	w.Eventually("the pool is settled without its status", func() error { return w.settled(2) })
	w.rest()
	w.expectCounts(map[string]int{"CreateOrUpdateTags": 0, "DeleteTags": 0})
	annotate(nil)
	tagged("without the autoscaler there are none", "label/theirs=stays")
	w.rest()
	if err := equals(w.running(), instances); err != nil {
		t.Errorf("instances: %v", err)
	}
}

// TestExternalAutoscaler holds that a size that is set in AWS is taken over and never pushed back.
func TestExternalAutoscaler(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) {
		machinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "external-autoscaler"}
	})
	w.touch()
	if _, err := w.asg().SetDesiredCapacity(w.Context(), &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: aws.String(poolName), DesiredCapacity: aws.Int32(4),
	}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the MachinePool asks for four", func() error {
		if replicas := ptr.Deref(w.machinePool().Spec.Replicas, 0); replicas != 4 {
			return fmt.Errorf("it asks for %d", replicas)
		}
		return w.settled(4)
	})
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = ptr.To[int32](2) })
	w.Eventually("a size in the spec gives way", func() error {
		if replicas := ptr.Deref(w.machinePool().Spec.Replicas, 0); replicas != 4 {
			return fmt.Errorf("it asks for %d", replicas)
		}
		return w.settled(4)
	})
	w.rest()
	// The group gets tags for what cluster-autoscaler does not know about its nodes, and its size
	// stays.
	if err := equals(w.writes(), []string{"CreateOrUpdateTags"}); err != nil {
		t.Errorf("the manager's writes: %v", err)
	}

	// CAPA refuses bounds that exclude the present size, even if it does not manage the size
	// (5746). AWS moves the size into them.
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.MinSize, pool.Spec.MaxSize = 5, 9 })
	w.groupIs("a min size above the size lifts it", 5, 9, 5, privateSubnetA)
	w.replicasAre(5)
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.MinSize, pool.Spec.MaxSize = 1, 3 })
	w.groupIs("a max size below the size lowers it", 1, 3, 3, privateSubnetA)
	w.replicasAre(3)

	w.editMachinePool(func(machinePool *clusterv1.MachinePool) {
		delete(machinePool.Annotations, clusterv1.ReplicasManagedByAnnotation)
	})
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = ptr.To[int32](2) })
	w.groupIs("without the autoscaler the MachinePool decides again", 1, 3, 2, privateSubnetA)
	w.Eventually("two nodes are left", func() error { return w.settled(2) })
	if _, err := w.asg().SetDesiredCapacity(w.Context(), &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: aws.String(poolName), DesiredCapacity: aws.Int32(3),
	}); err != nil {
		t.Fatal(err)
	}
	w.groupIs("a size that is set outside Slipway is undone", 1, 3, 2, privateSubnetA)
}

// replicasAre waits until the MachinePool asks for so many.
func (w *world) replicasAre(want int32) {
	w.Helper()
	w.Eventually(fmt.Sprintf("the MachinePool asks for %d", want), func() error {
		if replicas := ptr.Deref(w.machinePool().Spec.Replicas, 0); replicas != want {
			return fmt.Errorf("it asks for %d", replicas)
		}
		return nil
	})
}

// TestHooksComeBack holds that a deleted hook is there again within about an hour, that checking
// costs no more than one call an hour, and that a hook which leaves the spec goes at once.
func TestHooksComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool("  minSize: 1\n", "  minSize: 1\n  nodeDrain: {disable: true}\n  lifecycleHooks: [{name: ours, lifecycleTransition: \"autoscaling:EC2_INSTANCE_TERMINATING\", heartbeatTimeout: 30s}]\n")
	if hooks := w.seen(poolName).hooks; len(hooks) != 1 {
		t.Fatalf("hooks are %v", hooks)
	}
	w.pass(3 * time.Hour)
	if looks := w.count("DescribeLifecycleHooks"); looks < 1 || looks > 4 {
		t.Errorf("in three hours the hooks were looked at %d times", looks)
	}
	w.Cloud.AWS.ClearCalls()
	if _, err := w.asg().DeleteLifecycleHook(w.Context(), &autoscaling.DeleteLifecycleHookInput{
		AutoScalingGroupName: aws.String(poolName), LifecycleHookName: aws.String("ours"),
	}); err != nil {
		t.Fatal(err)
	}
	w.Eventually("it is back", func() error {
		if hooks := w.seen(poolName).hooks; len(hooks) != 1 {
			return fmt.Errorf("hooks are %v", hooks)
		}
		return nil
	})
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.LifecycleHooks = nil })
	w.Eventually("it goes", func() error {
		if hooks := w.seen(poolName).hooks; len(hooks) != 0 {
			return fmt.Errorf("hooks are %v", hooks)
		}
		return nil
	})
	w.expectCounts(map[string]int{"PutLifecycleHook": 1, "DeleteLifecycleHook": 1})
}
