package managedmachinepool

import (
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// failing has the updates that an action begins fail after a minute with a code. It returns what mends that.
func (w *world) failing(action, code string) func() {
	w.Helper()
	id := w.struck(action, awssim.Fault{Place: awssim.InUpdate, Code: code, Message: "Words of EKS.", Delay: time.Minute}, 0)
	return func() { w.sim.RemoveFault(id) }
}

// without has EC2 have no instances of the type that is rolled out.
func (w *world) without(instanceType string) func() {
	behavior := w.sim.Behavior()
	behavior.Capacity = []awssim.CapacityRule{{InstanceType: instanceType}}
	w.sim.SetBehavior(behavior)
	return func() {
		behavior.Capacity = nil
		w.sim.SetBehavior(behavior)
	}
}

// TestAdviceOnFailedUpdates has EKS give up updates of the version for reasons that it documents. It holds that
// RolledOut has EKS's words and what helps, that the node group keeps its version and the pool its nodes meanwhile,
// that EKS is not asked again before the delay is over, and that the nodes are replaced soon after it.
func TestAdviceOnFailedUpdates(t *testing.T) {
	t.Parallel()
	fails := func(code string) func(*world) func() {
		return func(w *world) func() { return w.failing("UpdateNodegroupVersion", code) }
	}
	for _, row := range []struct {
		code, says string
		harm       func(*world) func()
	}{
		{"AsgInstanceLaunchFailures", "check the launch template and the scaling activities", fails("AsgInstanceLaunchFailures")},
		{"NodeCreationFailure", "check the scaling activities", func(w *world) func() { return w.without(newType) }},
		{"InsufficientFreeAddresses", "free IP addresses in the subnets", fails("InsufficientFreeAddresses")},
		{"IpNotAvailable", "free IP addresses in the subnets", fails("IpNotAvailable")},
		{"Ec2SubnetInvalidConfiguration", "have the public subnets assign public IP addresses", fails("Ec2SubnetInvalidConfiguration")},
		{"SubnetNotFound", "create a new pool and migrate to it", fails("SubnetNotFound")},
		{"SecurityGroupNotFound", "create the security group again", fails("SecurityGroupNotFound")},
		{"IamNodeRoleNotFound", "create the role again with the same name", fails("IamNodeRoleNotFound")},
		{"InstanceLimitExceeded", "request a higher quota", fails("InstanceLimitExceeded")},
		{"ClusterUnreachable", "EKS cannot reach the API server", fails("ClusterUnreachable")},
		{"PodEvictionFailure", "PodDisruptionBudgets", fails("PodEvictionFailure")},
		{"AccessDenied", "Words of EKS", fails("AccessDenied")},
		{"Unknown", "Words of EKS", fails("Unknown")},
	} {
		t.Run(row.code, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			template := w.threeNodes(oldType, newType)
			mend := row.harm(w)
			w.configured("pool", template, 2)
			w.passes("pool", "the failure is shown", func() bool {
				return w.condition("pool", infrav1.RolledOutCondition).Reason == infrav1.NodegroupUpdateFailedReason
			})
			rolledOut := w.condition("pool", infrav1.RolledOutCondition)
			for _, part := range []string{"; EKS gave up: " + row.code + ": ", row.says, "Slipway retries the update after 5m, or at once with `slipway rollout retry`"} {
				if !strings.Contains(rolledOut.Message, part) {
					t.Errorf("RolledOut does not say %q: %s", part, rolledOut.Message)
				}
			}
			w.minutes(4)
			w.expectUpdates(1)
			status := w.pool("pool").Status
			if group := w.nodegroup("team_pool"); *group.LaunchTemplate.Version != "1" || *group.ScalingConfig.DesiredSize != 3 || status.Replicas != 3 {
				t.Errorf("the node group is on version %s with %d nodes, and the pool has %d", *group.LaunchTemplate.Version, *group.ScalingConfig.DesiredSize, status.Replicas)
			}
			mend()
			w.passes("pool", "nodes run the other version", func() bool {
				return w.condition("pool", infrav1.RolledOutCondition).Status == "True" && ptr.Deref(w.pool("pool").Status.UpToDateReplicas, 0) == 3
			})
			w.expectUpdates(2)
			w.passes("pool", "all is well", func() bool {
				return w.condition("pool", infrav1.ReadyCondition).Status == "True" && w.pool("pool").Status.FailedUpdates == nil
			})
		})
	}
}

// TestSubnetWithoutFreeAddresses holds that a pool whose subnet has no addresses for the nodes that EKS adds first says
// so, and that a way to replace nodes which adds none is tried at once.
func TestSubnetWithoutFreeAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, err := w.ec2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{
		VpcId: awssdk.String("vpc-0a10000000000000a"), AvailabilityZone: awssdk.String("us-east-1a"), CidrBlock: awssdk.String("10.0.250.0/28"),
	})
	w.must(err)
	template := w.template(oldType, newType)
	w.create("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.InstanceType, pool.Spec.AWSLaunchTemplate = nil, &infrav1.AWSLaunchTemplate{InstanceType: oldType}
		pool.Spec.SubnetIDs = []string{*out.Subnet.SubnetId}
	})
	w.setReplicas("pool", 11)
	w.reconcile("pool")
	w.reconcile("pool")
	w.configured("pool", template, 1)
	w.passes("pool", "the subnet is full", func() bool {
		return w.pool("pool").Status.Replicas == 11 && w.nodegroup("team_pool").Status == "ACTIVE"
	})
	w.configured("pool", template, 2)
	w.passes("pool", "the failure is shown", func() bool {
		rolledOut := w.condition("pool", infrav1.RolledOutCondition)
		return rolledOut.Reason == infrav1.NodegroupUpdateFailedReason && strings.Contains(rolledOut.Message, "InsufficientFreeAddresses: ") &&
			strings.Contains(rolledOut.Message, "set updateConfig.updateStrategy to Minimal")
	})
	w.edit("pool", func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](3), UpdateStrategy: infrav1.NodegroupUpdateStrategyMinimal}
	})
	w.minutes(1)
	w.expectUpdates(2)
	w.passes("pool", "nodes run the other version", func() bool { return w.condition("pool", infrav1.RolledOutCondition).Status == "True" })
}

// TestAdviceOnFailedConfigUpdates holds that a pool shows why EKS gave up a change of the size, keeps no replacement of
// nodes back, and changes the size soon after the delay once EKS does it.
func TestAdviceOnFailedConfigUpdates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := w.threeNodes(oldType, newType)
	mend := w.failing("UpdateNodegroupConfig", "IamNodeRoleNotFound")
	w.setReplicas("pool", 4)
	w.passes("pool", "the failure is shown", func() bool {
		ready := w.condition("pool", infrav1.NodegroupReadyCondition)
		return ready.Reason == infrav1.NodegroupReconcileFailedReason && strings.Contains(ready.Message,
			"EKS did not change the sizes of node group team_pool: IamNodeRoleNotFound: Words of EKS (create the role again with the same name)")
	})
	w.configured("pool", template, 2)
	w.passes("pool", "nodes run the other version", func() bool { return w.condition("pool", infrav1.RolledOutCondition).Status == "True" })
	mend()
	w.passes("pool", "all is well", func() bool {
		return *w.nodegroup("team_pool").ScalingConfig.DesiredSize == 4 && w.condition("pool", infrav1.ReadyCondition).Status == "True"
	})
}
