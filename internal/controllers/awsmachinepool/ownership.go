package awsmachinepool

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
)

// ownerTagMissingError reports that the group which the pool names by its ARN exists and does not have the pool's owner tag. What the pool says of
// itself is no proof, since every user of the namespace can write it: only whoever can tag resources in AWS can say whose the group is.
type ownerTagMissingError struct {
	group autoscalinggroup.Group
	owner string
	// deleting is true if the pool is being deleted.
	deleting bool
}

// Error implements error.
func (e *ownerTagMissingError) Error() string {
	tag := fmt.Sprintf("aws autoscaling create-or-update-tags --tags ResourceId=%s,ResourceType=auto-scaling-group,Key=%s,Value=%s,PropagateAtLaunch=false",
		e.group.Name, infrav1.TagMachinePool, e.owner)
	state := fmt.Sprintf("Auto Scaling group %s exists with %d instances and does not have tag %s with value %s", e.group.Name, len(e.group.Instances),
		infrav1.TagMachinePool, e.owner)
	if e.deleting {
		return fmt.Sprintf("%s, so it is not deleted, and neither is launch template %s, which it launches from. If the group is this pool's, set the tag (%s), "+
			"and the deletion continues. To keep the group, or if it is not this pool's, remove finalizer %s from this object",
			state, e.group.LaunchTemplateID, tag, infrav1.MachinePoolFinalizer)
	}
	return fmt.Sprintf("%s, so Slipway neither changes it nor creates another. Its nodes keep running, and edits, scaling and roll-outs wait. "+
		"If the group is this pool's, set the tag (%s). If it is not, clear spec.providerID", state, tag)
}

// WaitsForUser reports that only a user can set the tag.
func (*ownerTagMissingError) WaitsForUser() bool { return true }

// wasOwned reports whether the pool had the group already: its owner tag was removed, and it is not one that CAPA created and Slipway never adopted.
func wasOwned(pool *infrav1.AWSMachinePool, group *autoscalinggroup.Group) bool {
	owned := pool.Status.AutoScalingGroup
	return owned != nil && owned.ARN == group.ARN && !meta.IsStatusConditionPresentAndEqual(pool.Status.Conditions, infrav1.AdoptedCondition, metav1.ConditionFalse)
}
