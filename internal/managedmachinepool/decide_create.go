package managedmachinepool

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// createIfPossible creates the node group: in addition to one that is being replaced, or in place of
// one that was deleted outside Slipway.
func createIfPossible(in input, plan *reconcile.Plan) bool {
	wanted := desiredNodegroup(in)
	if refusedNew(in, wanted) {
		return true
	}
	if wanted.SubnetIDs = newSubnets(in); len(wanted.SubnetIDs) == 0 {
		if err := in.Seen.Subnets.Err; err != nil {
			pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.SubnetsNotFoundReason, err)
			return false
		}
		if !in.Seen.Subnets.Read {
			plan.Need(needSubnets)
			return true
		}
	}
	if fresh, known := freshGroup(in, plan); !fresh {
		return known
	}
	switch strays := in.Seen.Strays; {
	case strays.Err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, strays.Err)
		return false
	case !strays.Read:
		plan.Need(needStrays)
		return true
	case len(strays.Groups) > 0:
		in.Object.Status.Nodegroup = &infrav1.NodegroupStatus{Name: strays.Groups[0].Name}
		plan.LookAgain(lookAgain) // the node group has another name than the spec and status lead to
		return false
	}
	if !in.Seen.Sizes.Current(plan) {
		return false
	}
	if wanted.Capacity == nil {
		wanted.Capacity = ptr.To(firstCapacity(in))
	}
	return create(in, plan, wanted)
}

// firstCapacity returns the size that an external autoscaler goes on from: the one that it chose for
// the node group that is being replaced, or the one that the MachinePool asks for.
func firstCapacity(in input) int32 {
	if in.Seen.Retiring != nil {
		return in.Seen.Retiring.Sizes.Desired
	}
	return ptr.Deref(in.Seen.MachinePool.Spec.Replicas, 1)
}

// newSubnets returns the subnets of a new node group, none while they are not known.
func newSubnets(in input) []string {
	if len(in.Object.Spec.SubnetIDs) > 0 {
		return sorted(in.Object.Spec.SubnetIDs)
	}
	return in.Seen.Subnets.IDs
}

// create records the name, and creates the node group then.
func create(in input, plan *reconcile.Plan, wanted nodegroup.Desired) bool {
	if reconcile.LastFailure[recordName](in.Done) != nil {
		return false
	}
	wanted.RoleARN = ptr.Deref(in.Object.Status.NodeRole, infrav1.NodeRoleStatus{}).ARN
	if wanted.Template != nil {
		wanted.Template = &nodegroup.Template{ID: wanted.Template.ID, Version: wanted.Template.Version, Config: wanted.Template.Config}
	}
	action, reason := createNodegroup{Desired: wanted, Name: in.Seen.FreeName}, "the pool has no node group"
	if status := in.Object.Status.Nodegroup; status != nil && status.Name == in.Seen.FreeName {
		action.LostARN = status.ARN
		if meta.IsStatusConditionTrue(in.Object.Status.Conditions, infrav1.NodegroupReadyCondition) {
			reason = fmt.Sprintf("node group %s was deleted outside Slipway", status.Name)
			action.Lost = reason + "; Slipway recreates it"
			reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.NodegroupNotFoundReason, action.Lost)
		}
	}
	switch tried, err := reconcile.Attempted[createNodegroup](in.Done); {
	case aws.IsInUse(err) && strings.Contains(err.Error(), "already exists"):
		plan.LookAgain(lookAgain) // a node group of this name was created just now and cannot be seen yet
		return false
	case tried:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
		return false
	}
	annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) { ownership.AnnounceTags(pool, askedTags(in)) })
	if ownership.RecordedNodegroup(in.Object) != in.Seen.FreeName {
		plan.Do(recordName{Name: in.Seen.FreeName}, "it is about to be created")
		return true
	}
	plan.Do(action, "%s", reason)
	return true
}

// refusedNew shows what of a new node group EKS would refuse, before it is asked.
func refusedNew(in input, wanted nodegroup.Desired) bool {
	if replicas, bounds := wanted.Capacity, wanted.Bounds; replicas != nil && (*replicas < *bounds.Min || *replicas > *bounds.Max) {
		reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.ReplicasOutOfBoundsReason,
			fmt.Sprintf("%d replicas are requested, but the bounds are %d and %d. Change one of them", *replicas, *bounds.Min, *bounds.Max))
		return true
	}
	refused := nodegroup.RefusedVersion(wanted.KubernetesVersion, wanted.ClusterVersion, "")
	if refused == "" || wanted.OwnImage {
		return false
	}
	reason := infrav1.InvalidSpecReason
	if nodegroup.AheadOf(wanted.KubernetesVersion, wanted.ClusterVersion) {
		reason = infrav1.WaitingForControlPlaneReason
	}
	reconciling.False(in.Object, infrav1.NodegroupReadyCondition, reason, refused)
	return true
}

// showCreating shows that EKS creates the node group, and records what it was created for if that
// was in this pass. Attempts that failed for the same are counted on.
func showCreating(in input, plan *reconcile.Plan) {
	reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.NodegroupCreatingReason, fmt.Sprintf("EKS is creating node group %s", in.Seen.Group.Name))
	if !reconcile.Succeeded[createNodegroup](in.Done) {
		return
	}
	plan.LookAgain(lookBusy)
	attempts, wanted := int32(0), in.Object.Status.WantedConfig
	if before := in.Object.Status.Update; before != nil && before.Type == creation && before.StartedFor == wanted {
		attempts = before.Attempts
	}
	in.Object.Status.Update = &infrav1.NodegroupUpdateStatus{
		Type: creation, Status: nodegroup.UpdateInProgress, StartedFor: wanted, StartTime: ptr.To(metav1.NewTime(in.Now)), Attempts: attempts,
	}
}
