package managedmachinepool

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// wholeSecond is by how much a time in status may be earlier than it was: status has whole seconds.
const wholeSecond = time.Second

// untaggedAgain is the time until Slipway checks a node group again that lacks the pool's owner
// tag.
const untaggedAgain = 2 * time.Minute

// decideDeletion deletes what belongs to a pool: the node group with its nodes, which EKS drains,
// the launch config with its template, the node role. The finalizer goes last. It reads no bootstrap
// data, and needs neither status nor the cluster objects.
func decideDeletion(in input, plan *reconcile.Plan) {
	reconciling.False(in.Object, infrav1.ReadyCondition, infrav1.DeletingReason, "")
	if in.Seen.Access.NothingMade {
		plan.Release = true
		return
	}
	if !in.Seen.Access.ShowForDeletion(in.Object, plan) {
		return
	}
	for _, concern := range []func(input, *reconcile.Plan) bool{
		knowNodegroups, deleteNodegroups, deleteConfig, deleteTemplates, deleteRoles,
	} {
		if goOn := concern(in, plan); !goOn || pending(plan) {
			return
		}
	}
	plan.Release = plan.Err == nil
}

// knowNodegroups shows why it is not known which node groups the pool has. Node groups of other
// owners that have its names are none of its own.
func knowNodegroups(in input, plan *reconcile.Plan) bool {
	err := in.Seen.GroupErr
	var untagged *ownerTagMissingError
	switch {
	case errors.As(err, &untagged) && untagged.owner() == "":
		reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.OwnerTagMissingReason, untagged.Error()+", or delete the node group in EKS")
		plan.LookAgain(aws.FateOf(err).After)
		return false
	case err != nil && groupReason(err, "") == "":
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.NodegroupDeleteFailedReason, err)
		return false
	case in.Seen.Group != nil && in.Seen.Adopting:
		// Nothing is adopted in order to be deleted: a user of the namespace can write everything
		// that says the node group is this pool's.
		group, owner := in.Seen.Group, ownerTag(in)
		reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.OwnerTagMissingReason, fmt.Sprintf(
			"node group %s, which Cluster API Provider AWS created, does not have tag %s with value %s, so "+
				"Slipway does not delete it. If it belongs to this pool, set the tag (aws eks tag-resource "+
				"--resource-arn %s --tags %s=%s), and the deletion continues. To keep it, or if it does not "+
				"belong to this pool, remove finalizer %s from this object", group.Name, infrav1.TagManagedMachinePool, owner, group.ARN, infrav1.TagManagedMachinePool, owner, infrav1.ManagedMachinePoolFinalizer))
		plan.LookAgain(untaggedAgain)
		return false
	}
	return true
}

// deleteNodegroups has the node groups deleted, and waits for that, without holding a worker.
func deleteNodegroups(in input, plan *reconcile.Plan) bool {
	if in.Seen.Group == nil && in.Seen.Retiring == nil && in.Seen.EKSCluster != "" {
		if goOn := findStrays(in, plan); !goOn || pending(plan) {
			return goOn
		}
	}
	noteFailedDeletion(in)
	var messages []string
	for _, group := range nodegroupsOf(in) {
		event := reconcile.Eventf(infrav1.NodegroupDeletingEvent, "Deleting node group %s and its nodes", group.Name)
		progress, err := deletion(in, plan, deleteNodegroup{Group: group.Name, Event: event}, group, in.Object.Name+" is being deleted")
		switch {
		case err != nil:
			pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.NodegroupDeleteFailedReason, err)
			return false
		case progress == "":
			return true
		}
		messages = append(messages, progress)
	}
	if len(messages) == 0 {
		return in.Seen.EKSCluster == "" || confirmGone(in, plan)
	}
	message := strings.Join(messages, "; ")
	reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.NodegroupDeletingReason, message)
	reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.NodegroupDeletingReason, message)
	plan.LookAgain(lookBusy)
	return false
}

// deletion has a node group deleted that works or could not be deleted a while ago, and returns how far the
// deletion is, empty if it is about to be requested. EKS deletes no node group while it updates it. That is
// no failure: the deletion is requested again until the update is over.
func deletion(in input, plan *reconcile.Plan, action deleteNodegroup, group *nodegroup.Nodegroup, why string) (progress string, err error) {
	tried, err := deletionOf(in, group.Name)
	if err != nil && !inUse(err) {
		return "", err
	}
	failing := group.Status == nodegroup.StatusDeleteFailed
	if !tried && group.Status != nodegroup.StatusDeleting && (!failing || untilDeletedAgain(in) <= 0) {
		plan.Do(action, "%s", why)
		return "", nil
	}
	return deletionText(group, inUse(err)), nil
}

// deletionText describes to a user how far the deletion of a node group is, which EKS may be updating.
func deletionText(group *nodegroup.Nodegroup, updating bool) string {
	switch {
	case updating:
		return fmt.Sprintf("EKS deletes node group %s after the update that is in progress. Slipway tries again until then", group.Name)
	case group.Status == nodegroup.StatusDeleteFailed:
		return fmt.Sprintf("EKS could not delete node group %s: %s", group.Name, issuesText(group.Issues))
	}
	return fmt.Sprintf("node group %s is being deleted", group.Name)
}

// findStrays has the pool's node groups found that no name leads to, and records the role of one
// that is about to be deleted, so that the role is found when the node group no longer names it.
func findStrays(in input, plan *reconcile.Plan) bool {
	switch strays := in.Seen.Strays; {
	case strays.Err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.NodegroupDeleteFailedReason, strays.Err)
		return false
	case !strays.Read:
		plan.Need(needStrays)
	case len(strays.Groups) > 0 && in.Object.Status.NodeRole == nil && strays.Groups[0].RoleARN != "":
		role := strays.Groups[0].RoleARN
		in.Object.Status.NodeRole = &infrav1.NodeRoleStatus{Name: noderole.NameOf(role), ARN: role}
	}
	return true
}

// confirmGone goes on if the node group was seen being deleted. One that was never seen is looked
// for a second time, because one that was created just before the deletion may not be visible yet,
// whether or not EKS was asked to delete it.
func confirmGone(in input, plan *reconcile.Plan) bool {
	if in.Object.Status.Deletion == nil {
		in.Object.Status.Deletion = &infrav1.NodegroupDeletionStatus{}
	}
	status := in.Object.Status.Deletion
	if status.UnseenSince == nil {
		status.UnseenSince = ptr.To(pool.RoundedUp(in.Now))
	}
	condition := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.DeletingCondition)
	if condition != nil && condition.Reason == infrav1.NodegroupDeletingReason && !in.Now.Before(condition.LastTransitionTime.Add(lookAgain+wholeSecond)) {
		return true // the time counts once a call that fails has taken this reason away
	}
	wait := status.UnseenSince.Add(lookAgain).Sub(in.Now)
	if wait <= 0 {
		return true
	}
	reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.DeletingReason,
		"EKS does not list the node group of this pool. Slipway checks again, because a new node group may not "+
			"be visible yet")
	plan.LookAgain(wait)
	return false
}

// deleteConfig deletes the pool's launch config, whose own finalizer keeps it until its template is gone.
func deleteConfig(in input, plan *reconcile.Plan) bool {
	if !in.Seen.Leftovers.ConfigRead {
		plan.Need(needConfig)
		return true
	}
	config := in.Seen.Leftovers.Config
	if config == nil {
		return true
	}
	if tried, _ := reconcile.Attempted[deleteLaunchConfig](in.Done); config.DeletionTimestamp.IsZero() && !tried {
		plan.Do(deleteLaunchConfig{Name: config.Name}, "%s is being deleted, and its node group is gone", in.Object.Name)
		return true
	}
	in.Seen.Leftovers.ShowDeletion(in.Object, infrav1.NodegroupDeletingReason)
	return false
}

// deleteTemplates deletes the launch template of a pool whose launch config went first, as it may
// when a namespace is deleted. A template that another object of the name has is that object's.
func deleteTemplates(in input, plan *reconcile.Plan) bool {
	if in.Object.Spec.LaunchConfigRef != nil {
		return true
	}
	leftovers := in.Seen.Leftovers
	switch err := cmp.Or(reconcile.LastFailure[deleteTemplate](in.Done), leftovers.TemplatesErr); {
	case err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
		return false
	case !leftovers.TemplatesRead:
		plan.Need(needTemplates)
	case len(leftovers.Templates) > 0:
		template := leftovers.Templates[0]
		reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.DeletingReason, fmt.Sprintf("launch template %s (%s) is being deleted", template.Name, template.ID))
		plan.Do(deleteTemplate{Owner: ownerTag(in), Template: template}, "the launch config of launch template %s is gone", template.Name)
	}
	return true
}

// deleteRoles deletes the roles that were created for the pool, when no node group has them any
// longer.
func deleteRoles(in input, plan *reconcile.Plan) bool {
	if !in.Seen.Leftovers.RolesRead {
		plan.Need(needRoles)
		return true
	}
	for _, seen := range in.Seen.Leftovers.Roles {
		switch {
		case seen.Err != nil:
			pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.NodeRoleDeleteFailedReason, seen.Err)
			return false
		case seen.Role == nil:
		case !ownsRole(in, seen.Role):
			reportLeftRole(in, plan, seen.Role)
		case seen.Users.Heir == nil && seen.Users.Foreign:
			plan.Tell(reconcile.Warningf(infrav1.NodeRoleLeftEvent, "A pool in another namespace also uses IAM "+
				"role %s, and Slipway does not transfer ownership across namespaces. The role is kept. "+
				"Delete it in IAM when no nodes use it", seen.Name))
		default:
			return endRole(in, plan, seen)
		}
	}
	return true
}

// reportLeftRole warns about a role that was created for the pool and stays, because it no longer
// has the pool's owner tag.
func reportLeftRole(in input, plan *reconcile.Plan, role *noderole.Role) {
	if createdFor(in.Object.Status.NodeRole, role) {
		plan.Tell(reconcile.Warningf(infrav1.NodeRoleLeftEvent, "IAM role %s, which this pool created, does not "+
			"have tag %s with value %s, so Slipway does not delete it. Delete it in IAM",
			role.Name, infrav1.TagManagedMachinePool, ownerTag(in)))
	}
}

// endRole deletes a role of the pool, or leaves it to another pool whose nodes have it: several
// pools may name one role, and the first pool created it. A pool of the same namespace becomes its
// owner. A pool of another namespace never does, and the deletion does not wait for it.
func endRole(in input, plan *reconcile.Plan, seen Role) bool {
	if err := cmp.Or(reconcile.LastFailure[deleteRole](in.Done), reconcile.LastFailure[handOverRole](in.Done)); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.NodeRoleDeleteFailedReason, err)
		return false
	}
	heir := seen.Users.Heir
	if heir == nil {
		plan.Do(deleteRole{Name: seen.Name}, "%s is being deleted, and its node group is gone", in.Object.Name)
		return true
	}
	name := heir.Namespace + "/" + heir.Name
	if !heir.DeletionTimestamp.IsZero() {
		message := fmt.Sprintf("nodes of AWSManagedMachinePool %s, which is also being deleted, use IAM role %s", name, seen.Name)
		reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.NodegroupDeletingReason, message)
		plan.LookAgain(lookBusy)
		return false
	}
	owner := ownership.Owner(heir, cmp.Or(heir.Annotations[ownership.ClusterAnnotation], heir.Labels[clusterv1.ClusterNameLabel]))
	plan.Do(handOverRole{Name: seen.Name, Owner: owner, Heir: name}, "%s is being deleted", in.Object.Name)
	return true
}
