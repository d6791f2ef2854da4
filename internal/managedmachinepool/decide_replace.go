package managedmachinepool

import (
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A node group whose launch template was deleted outside Slipway cannot be given another (AWS:
// API_UpdateNodegroupVersion). Where spec.templateLossPolicy asks for it, it is replaced in this
// order, and a crash between any two loses nothing:
//
//  1. record the names of both node groups, the new one first (replace)
//  2. create the new one from the template that the launch config created again (createIfPossible)
//  3. when its nodes are in service, delete the old one, whose nodes EKS drains (replace)
//  4. when that is gone, forget its name (replace)
//
// If the template of the new one is deleted before step 3, the new one is deleted, like one that EKS
// could not create (clearAway), and step 2 follows again. The record stays as it is. The instances of
// both are the pool's until step 4. A replacement that has begun is completed whatever the policy
// becomes: no update could bring the old node group what is wanted, and the pool would keep both.

// replace does what is next of that.
func replace(in input, plan *reconcile.Plan) bool {
	group, retiring, wanted := in.Seen.Group, in.Seen.Retiring, in.Seen.Successor
	switch {
	case retiring != nil && ending(retiring):
		retire(in, plan)
	case retiring != nil && replaceable(in):
		showReplacing(in, plan, fmt.Sprintf("%s. Slipway recreates it, and node group %s keeps its nodes until then", successorLoss(in), retiring.Name))
	case retiring != nil && tookOver(in):
		retire(in, plan)
	case retiring != nil:
		showReplacing(in, plan, fmt.Sprintf("node group %s replaces %s, whose launch template was deleted", wanted, retiring.Name))
	case in.Seen.Predecessor != "" && in.Seen.Fresh:
		plan.Tell(reconcile.Eventf(infrav1.NodegroupReplacedEvent, "Node group %s replaced node group %s", wanted, in.Seen.Predecessor))
		recordNames(in, plan, wanted)
	case in.Seen.Predecessor == "" && replaceable(in):
		successor := successorName(in, launchable(in).Status.LaunchTemplateID)
		if successor == group.Name {
			return true // the group of this very template: it was described before it was seen
		}
		if !in.Seen.LaunchConfig.Current(plan) {
			return true // an earlier one names a template that the node group had before
		}
		plan.Tell(reconcile.Warningf(infrav1.NodegroupReplacingEvent, "The launch template of node group %s was "+
			"deleted. Node group %s replaces it", group.Name, successor))
		recordNames(in, plan, successor+","+group.Name)
		plan.LookAgain(lookAgain)
	}
	return true
}

// ending reports whether the deletion of a node group has begun, after which EKS may not finish it.
func ending(group *nodegroup.Nodegroup) bool {
	return group.Status == nodegroup.StatusDeleting || group.Status == nodegroup.StatusDeleteFailed
}

// replaceable reports whether the launch template of the node group was deleted, and the user wants it
// replaced, or it replaces another one.
func replaceable(in input) bool {
	return in.Seen.Group != nil && nextStep(in).Hardest().Obstacle == nodegroup.TemplateGone &&
		(in.Seen.Retiring != nil || in.Object.Spec.TemplateLossPolicy == infrav1.TemplateLossReplace)
}

// successorLost reports whether the new node group must be deleted because its launch template was
// deleted before it took over. EKS deletes no node group while it changes it.
func successorLost(in input) bool {
	retiring := in.Seen.Retiring
	return retiring != nil && !ending(retiring) && replaceable(in) && in.Seen.Group.Works() && !busy(in)
}

// successorLoss describes that to a user.
func successorLoss(in input) string {
	return fmt.Sprintf("the launch template of node group %s was deleted before the node group replaced %s", in.Seen.Group.Name, in.Seen.Retiring.Name)
}

// tookOver reports whether the new node group has all the nodes that it should have.
func tookOver(in input) bool {
	return in.Seen.Group != nil && statusNow(in) == nodegroup.StatusActive && in.Seen.Members != nil && !inMotion(in.Seen.Members, false) && in.Seen.Fresh
}

// showReplacing shows how far the replacement is. After a failed deletion, the failure says when to
// retry.
func showReplacing(in input, plan *reconcile.Plan, message string) {
	reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.ReplacingNodegroupReason, message)
	if _, err := deletionOf(in, in.Seen.Successor); err == nil {
		plan.LookAgain(lookBusy)
	}
}

// retire deletes the old node group. Once that has begun, it goes on whatever becomes of the new one.
func retire(in input, plan *reconcile.Plan) {
	retiring := in.Seen.Retiring
	replaced := fmt.Sprintf("node group %s replaced node group %s", in.Seen.Successor, retiring.Name)
	event := reconcile.Eventf(infrav1.NodegroupRetiringEvent, "Deleting node group %s, which %s replaced", retiring.Name, in.Seen.Successor)
	progress, err := deletion(in, plan, deleteNodegroup{Group: retiring.Name, Event: event}, retiring, replaced)
	switch {
	case err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupDeleteFailedReason, err)
	case progress != "":
		showReplacing(in, plan, fmt.Sprintf("%s: %s", replaced, progress))
	}
}

// recordNames records which node groups the pool has from now on.
func recordNames(in input, plan *reconcile.Plan, names string) {
	annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) {
		reconciling.SetAnnotation(pool, ownership.NodegroupsAnnotation, names)
	})
}
