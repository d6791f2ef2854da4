package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

const (
	firstBlock  = "cr-0123456789abcdef0"
	secondBlock = "cr-0123456789abcdef1"
	month       = 30 * 24 * time.Hour
)

// buyBlock has a Capacity Block of two instances, from and until so long after now. Setting one
// anew moves it, which holds still what depends on the hour.
func (w *world) buyBlock(id, zone string, from, until time.Duration) {
	w.Helper()
	now := w.clock.Now()
	block := awssim.CapacityReservation{ID: id, InstanceType: "p5.48xlarge", Zone: zone, Count: 2, Block: true, Start: now.Add(from), End: now.Add(until)}
	if err := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).SetCapacityReservation(block); err != nil {
		w.Fatal(err)
	}
}

// inBlock is nil once the pool has settled on two instances, both in the Capacity Block.
func (w *world) inBlock(id string) error {
	for _, instanceID := range w.running() {
		instance, _ := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instance(instanceID)
		if aws.ToString(instance.CapacityReservationId) != id {
			return fmt.Errorf("instance %s runs in %s", instanceID, aws.ToString(instance.CapacityReservationId))
		}
	}
	return w.managedSettled(2)
}

// editBlockTemplate changes the launch template of the pool.
func (w *world) editBlockTemplate(edit func(*infrav1.AWSLaunchTemplate)) {
	w.Helper()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { edit(pool.Spec.AWSLaunchTemplate) })
}

// TestManagedCapacityBlock walks a managed pool through the life of a Capacity Block: refused in
// another zone, created before the block begins, filled when it does, not updated while it has
// nodes, left alone when EKS empties it before the block expires, and moved to the next block.
func TestManagedCapacityBlock(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.buyBlock(firstBlock, "us-east-1b", month, 2*month)
	w.applyManaged("amiType: AL2023_x86_64_STANDARD", "amiType: AL2023_x86_64_NVIDIA\n  capacityType: capacityBlock", "minSize: 1", "minSize: 0",
		`instanceType: "t3.large"`, "instanceType: p5.48xlarge\n    marketType: CapacityBlock\n    capacityReservationId: "+firstBlock)
	refused := w.awaitManaged(infrav1.NodegroupReadyCondition, metav1.ConditionFalse, infrav1.NodegroupReconcileFailedReason)
	if !strings.Contains(refused.Message, "requires subnets only in the Availability Zone of the capacity reservation") {
		t.Errorf("the message is %q", refused.Message)
	}
	w.buyBlock(firstBlock, "us-east-1a", month, 2*month)
	unhealthy := w.awaitManaged(infrav1.NodegroupHealthyCondition, metav1.ConditionFalse, infrav1.DegradedReason)
	if !strings.Contains(unhealthy.Message, "is not active yet") {
		t.Errorf("the message is %q", unhealthy.Message)
	}
	if running := w.running(); len(running) != 0 {
		t.Errorf("before the block begins, %q run", running)
	}
	w.holdCheapWait()
	w.buyBlock(firstBlock, "us-east-1a", 0, 2*month)
	w.Eventually("the pool has its nodes in the block", func() error { return w.inBlock(firstBlock) })
	w.rest()
	w.Cloud.AWS.ClearCalls()

	w.updateInBlock()
	w.leaveBlock()
	w.deleteManaged()
}

// holdCheapWait holds what an hour costs in which launches fail: a sweep every four minutes, and
// what no other pool shares.
func (w *world) holdCheapWait() {
	w.Helper()
	w.rest()
	counts := w.countsDuring(time.Hour)
	if got := counts["DescribeAutoScalingGroups"]; got > 16 {
		w.Errorf("the Auto Scaling group was looked at %d times within the hour", got)
	}
	if got := counts["DescribeNodegroup"]; got > 2 {
		w.Errorf("the node group was looked at %d times within the hour", got)
	}
}

// updateInBlock holds that an edit waits, and says for what, until the pool has no nodes.
func (w *world) updateInBlock() {
	w.Helper()
	before := w.running()
	w.editBlockTemplate(func(template *infrav1.AWSLaunchTemplate) { template.RootVolume.Size = 40 })
	condition := w.awaitManaged(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.CapacityBlockInUseReason)
	if !strings.Contains(condition.Message, "size in GiB 30 → 40") || !strings.Contains(condition.Message, "set spec.replicas of the MachinePool to 0") {
		w.Errorf("the message is %q", condition.Message)
	}
	w.rest()
	if err := equals(w.running(), before); err != nil {
		w.Errorf("the nodes: %v", err)
	}
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 0})
	w.scaleManaged(0)
	w.Eventually("the empty node group is updated", func() error {
		if got := aws.ToString(w.nodegroup().LaunchTemplate.Version); got != "2" {
			return fmt.Errorf("it is at version %s", got)
		}
		return w.managedSettled(0)
	})
	w.scaleManaged(2)
	w.Eventually("the pool has nodes again", func() error { return w.inBlock(firstBlock) })
	w.rest()
	w.Cloud.AWS.ClearCalls()
}

func (w *world) scaleManaged(replicas int32) {
	w.Helper()
	w.editManagedMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = &replicas })
}

// leaveBlock holds that a node group that EKS has emptied is not filled, and that the pool goes on
// in the next block.
func (w *world) leaveBlock() {
	w.Helper()
	w.buyBlock(firstBlock, "us-east-1a", -time.Hour, 39*time.Minute)
	condition := w.awaitManaged(infrav1.NodegroupReadyCondition, metav1.ConditionFalse, infrav1.CapacityBlockEndedReason)
	if !strings.Contains(condition.Message, "name another one in the launch template") {
		w.Errorf("the message is %q", condition.Message)
	}
	w.Eventually("the nodes are gone", func() error { return equals(w.running(), nil) })
	w.rest()
	if writes := w.writes(); len(writes) != 0 {
		w.Errorf("at the end of the block the manager wrote %q", writes)
	}
	w.buyBlock(secondBlock, "us-east-1a", 0, month)
	w.editBlockTemplate(func(template *infrav1.AWSLaunchTemplate) { template.CapacityReservationID = ptr.To(secondBlock) })
	w.Eventually("the pool has its nodes in the next block", func() error { return w.inBlock(secondBlock) })
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 1, "UpdateNodegroupConfig": 1})
}
