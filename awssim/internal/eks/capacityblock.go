package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
)

// This file holds what is special about node groups of a Capacity Block (UG capacity-blocks-mng).

// blockScaleDown is how long before the end of its Capacity Block EKS scales a node group to 0, by a scheduled action of the Auto Scaling group.
const blockScaleDown = 40 * time.Minute

// checkCapacity holds the capacity type and the template together (UG capacity-blocks-mng).
func (s *service) checkCapacity(n *settings) error {
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
	block, exists := ec2.LookupCapacityReservation(s.region, n.source.blockReservation())
	switch {
	case !exists || !block.Block: // inference: without the block EKS could not know when to scale down
		return invalid("Capacity type CAPACITY_BLOCK requires a Capacity Block: %s is none.", n.source.blockReservation())
	case !s.onlyIn(block.Zone, n.subnets):
		return invalid("Capacity type CAPACITY_BLOCK requires subnets only in the Availability Zone of the capacity reservation: %s.", block.Zone)
	}
	return nil
}

// onlyIn reports whether all subnets are in a zone.
func (s *service) onlyIn(zone string, subnets []string) bool {
	for _, id := range subnets {
		if subnet, ok := ec2.LookupSubnet(s.region, id); !ok || val(subnet.AvailabilityZone) != zone {
			return false
		}
	}
	return true
}

// awaitsNodes reports whether a group that is being made is ACTIVE only when its nodes are: EKS does not look whether those of a Capacity Block join, and the
// block may begin later.
func (n *settings) awaitsNodes() bool { return n.capacityType != types.CapacityTypesCapacityBlock }

// scheduleScaleDown has a group scaled to 0 before its Capacity Block ends, unless it is of another block by then, or at the new end if the block
// was extended. The action is not among those that DescribeScheduledActions lists.
func (s *service) scheduleScaleDown(g *group) {
	if g.awaitsNodes() {
		return
	}
	id := g.source.blockReservation()
	block, _ := ec2.LookupCapacityReservation(s.region, id)
	s.kernel.After(max(block.End.Add(-blockScaleDown).Sub(s.kernel.Now()), 0), func() {
		if g.gone || g.source.blockReservation() != id {
			return
		}
		if now, _ := ec2.LookupCapacityReservation(s.region, id); now.End.After(block.End) {
			s.scheduleScaleDown(g)
			return
		}
		// The Auto Scaling group may be gone by somebody else's hand.
		_, _ = call[autoscaling.UpdateAutoScalingGroupOutput](s, "autoscaling", "UpdateAutoScalingGroup", &autoscaling.UpdateAutoScalingGroupInput{
			AutoScalingGroupName: ptr(g.made.asg), MinSize: ptr(int32(0)), DesiredCapacity: ptr(int32(0)),
		})
	})
}
