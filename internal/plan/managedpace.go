package plan

import (
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

const (
	// mostUnavailable is the most nodes of a node group that EKS updates at a time, and
	// evictionLimit how long it waits for the pods of a node to leave (AWS:
	// managed-node-update-behavior).
	mostUnavailable = 100
	evictionLimit   = 15 * time.Minute

	// orderOfUpdate and orderOfReplacement say who chooses the order in which EKS replaces nodes (AWS:
	// managed-node-update-behavior).
	orderOfUpdate      = "EKS chooses the nodes at random"
	orderOfReplacement = "EKS deletes the old node group when all nodes of the new one are in service"
)

// managedPace returns how many nodes of a node group EKS replaces at a time (AWS:
// API_NodegroupUpdateConfig): one by default. A percentage is rounded down. A node group that another
// one replaces is deleted as a whole.
func managedPace(group *ekstypes.Nodegroup, replaced int, created bool) *Rollout {
	if created {
		return &Rollout{Replaced: replaced, AtOnce: replaced, Batches: 1, Order: orderOfReplacement}
	}
	atOnce := 1
	if group != nil && group.UpdateConfig != nil {
		if number := group.UpdateConfig.MaxUnavailable; number != nil {
			atOnce = int(*number)
		}
		if percentage := group.UpdateConfig.MaxUnavailablePercentage; percentage != nil && group.ScalingConfig != nil {
			atOnce = int(awssdk.ToInt32(group.ScalingConfig.DesiredSize)) * int(*percentage) / 100
		}
	}
	atOnce = min(max(atOnce, 1), mostUnavailable, replaced)
	return &Rollout{Replaced: replaced, AtOnce: atOnce, Batches: batches([]int{replaced}, atOnce), Order: orderOfUpdate}
}

// managedDrains returns how long EKS waits for the pods of a node of an update. Of the deletion of a node
// group, AWS documents no limit.
func managedDrains(pool *infrav1.AWSManagedMachinePool, rollout *Rollout) *Drains {
	switch update := pool.Spec.UpdateConfig; {
	case rollout.Order == orderOfReplacement:
		return &Drains{}
	case update != nil && update.Force:
		return &Drains{Limit: Duration(evictionLimit), After: "EKS terminates the node, because updateConfig.force is true"}
	}
	return &Drains{Limit: Duration(evictionLimit), After: "the update fails, and EKS goes back"}
}
