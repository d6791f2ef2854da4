package managedmachinepool

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// nextStep returns the next step towards what is wanted, the zero step while there is no node group,
// or it is not the pool's yet.
func nextStep(in input) nodegroup.Step {
	step := wantedStep(in, desiredNodegroup(in))
	if leavesSizes(in, step) {
		return wantedStep(in, desiredNodegroup(in).LeavingSizes())
	}
	return step
}

// wantedStep returns the next step towards a desired node group.
func wantedStep(in input, desired nodegroup.Desired) nodegroup.Step {
	group := in.Seen.Group
	if group == nil || in.Seen.Adopting || !templateAdopted(in) {
		return nodegroup.Step{}
	}
	if desired.Template != nil {
		desired.Template.Why = func(version int64) string { return in.Seen.Differences[version] }
	}
	return nodegroup.Next(desired, *group, attemptsOf(in), in.Now)
}

// needsDifferences reports whether what differs between versions must be read before the next step
// is known with its reasons.
func needsDifferences(in input) bool {
	desired, missing := desiredNodegroup(in), false
	if desired.Template == nil {
		return false
	}
	desired.Template.Why = func(version int64) string {
		_, read := in.Seen.Differences[version]
		missing = missing || !read
		return ""
	}
	nodegroup.Next(desired, *in.Seen.Group, attemptsOf(in), in.Now)
	return missing
}

// blockEmptied is the time by which EKS scales a node group to 0 before its Capacity Block expires,
// so that pods leave before EC2 takes the instances away (AWS: EKS user guide,
// capacity-blocks-mng).
const blockEmptied = 40 * time.Minute

// blockID returns the ID of the Capacity Block that nodes run in. It is empty for a block of a
// resource group, whose blocks expire one after another, and while the ID is not known.
func blockID(in input) string {
	config := launchable(in)
	if config == nil {
		return ""
	}
	return ptr.Deref(config.Spec.CapacityReservationID, "")
}

// grows reports whether a step would add nodes to a node group of a Capacity Block.
func grows(in input, step nodegroup.Step) bool {
	return in.Seen.Group != nil && in.Seen.Group.OfCapacityBlock() && step.Grows(*in.Seen.Group)
}

// needsBlock reports whether Slipway must find out when the Capacity Block expires. It asks EC2
// only before it would add nodes.
func needsBlock(in input) bool {
	return grows(in, wantedStep(in, desiredNodegroup(in))) && blockID(in) != "" && !in.Seen.Block.Read
}

// leavesSizes leaves a node group empty that EKS has emptied for the end of its Capacity Block, and
// lets one grow only while it is known which block that is: the launch template may be about to
// name another.
func leavesSizes(in input, step nodegroup.Step) bool {
	return grows(in, step) && (launchable(in) == nil || blockEnds(in))
}

// blockEnds reports whether EKS empties the node group for the end of its Capacity Block.
func blockEnds(in input) bool {
	end := in.Seen.Block.End
	return !end.IsZero() && !in.Now.Before(end.Add(-blockEmptied))
}

// showBlock shows that the node group does not grow because its Capacity Block is about to expire.
func showBlock(in input) {
	if !blockEnds(in) || !grows(in, wantedStep(in, desiredNodegroup(in))) {
		return
	}
	reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.CapacityBlockEndedReason, fmt.Sprintf(
		"Capacity Block %s ends at %s. EKS terminates the nodes of the node group before that. Extend the "+
			"block, or name another one in the launch template",
		blockID(in), in.Seen.Block.End.UTC().Format(time.RFC3339)))
}
