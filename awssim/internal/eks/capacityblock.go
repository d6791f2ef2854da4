package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
)

// This file holds what is special about node groups of a Capacity Block (UG capacity-blocks-mng).

// blockScaleDown is the time before the end of its Capacity Block at which EKS scales a node group
// to 0, by a scheduled action of the Auto Scaling group.
const blockScaleDown = 40 * time.Minute

// checkCapacity refuses a capacity type that does not match the market type of the template, and a
// Capacity Block that the template does not describe completely (UG capacity-blocks-mng).
func (r *requests) checkCapacity(n *settings) error {
	if n.capacityType != types.CapacityTypesCapacityBlock {
		if n.source.asksForBlock() {
			return invalid("Launch template with market type capacity-block requires the capacity type CAPACITY_BLOCK, not %s.", n.capacityType)
		}
		return nil
	}
	switch {
	case n.source == nil:
		return invalid("Capacity type CAPACITY_BLOCK requires a launch template.")
	case !n.source.asksForBlock() || n.source.blockReservation() == "" || n.source.data.InstanceType == "":
		return invalid("Capacity type CAPACITY_BLOCK requires a launch template with market type capacity-block, a capacity reservation ID and an instance type.")
	}
	block, exists := ec2.LookupCapacityReservation(r.region, n.source.blockReservation())
	switch {
	case !exists || !block.Block: // inference: without the block EKS could not know when to scale down
		return invalid("Capacity type CAPACITY_BLOCK requires a Capacity Block: %s is none.", n.source.blockReservation())
	case !r.networks.onlyIn(block.Zone, n.subnets):
		return invalid("Capacity type CAPACITY_BLOCK requires subnets only in the Availability Zone of the capacity reservation: %s.", block.Zone)
	}
	return nil
}

// awaitsNodes reports whether a group that is being created is ACTIVE only when its nodes are: EKS
// does not check whether the nodes of a Capacity Block join, and the block may begin later.
func (n *settings) awaitsNodes() bool { return n.capacityType != types.CapacityTypesCapacityBlock }

// scaleDownBlock scales a group to 0 once, before its Capacity Block expires. In AWS that is a
// scheduled action of the Auto Scaling group, which DescribeScheduledActions does not list here.
func (h *health) scaleDownBlock(g *group) {
	if g.awaitsNodes() {
		return
	}
	block, _ := ec2.LookupCapacityReservation(h.region, g.source.blockReservation())
	if h.kernel.Now().Before(block.End.Add(-blockScaleDown)) || g.emptied == block {
		return
	}
	g.emptied = block
	// The Auto Scaling group may have been deleted by another caller.
	_, _ = call[autoscaling.UpdateAutoScalingGroupOutput](h.region, "autoscaling", "UpdateAutoScalingGroup", &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: ptr(g.made.asg), MinSize: ptr(int32(0)), DesiredCapacity: ptr(int32(0)),
	})
}
