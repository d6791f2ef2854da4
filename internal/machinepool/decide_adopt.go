package machinepool

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/adoption"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A pool that CAPA created is taken over in this order, and a crash between any two leaves its
// instances alone:
//
//  1. recognize the group, and prove whose it is (observe): nothing is written
//  2. wait until AWS has finished an instance refresh that Slipway did not start
//  3. write the launch config, with the id of the template to take over (ensureLaunchConfig)
//  4. its controller tags the template as owned, together with the record of the versions that
//     count as what the spec asks for now, and creates a version
//  5. tag the group as owned (adopt): from here on it is found like any other
//  6. point it at that version by number (updateGroupIfDue)

// createdByCAPA returns the group of the pool's name that CAPA created for the pool's cluster and
// nothing of Slipway's owns, nil if there is none.
func createdByCAPA(in input, found map[string]autoscalinggroup.Group) *autoscalinggroup.Group {
	group, exists := found[in.Object.Name]
	facts := in.Seen.Access.Facts
	if !exists || facts == nil || group.Tags[infrav1.ClusterTagKey(facts.KubernetesName)] != infrav1.TagValueOwned {
		return nil
	}
	for key := range group.Tags {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			return nil
		}
	}
	return &group
}

// namesGroup reports whether a pool names a group by its ARN, which no other group ever has.
func namesGroup(object *infrav1.AWSMachinePool, group *autoscalinggroup.Group) bool {
	return group.ARN == object.Spec.ProviderID || group.ARN == object.Annotations[infrav1.AdoptAnnotation]
}

// mayAdopt returns an error unless it is proven that the candidate, which CAPA created, is this
// pool's. CAPA goes by the bare name: pools of one name in two namespaces, or in two management
// clusters, share a group there. The pool names the group by its ARN, and the group's instances
// name the namespace, which the users of another namespace cannot change.
func mayAdopt(in input) error {
	candidate, group := in.Seen.Candidate, in.Seen.Candidate.Group
	switch {
	case !namesGroup(in.Object, group):
		return adoption.Refuse(infrav1.NameTakenReason,
			"Cluster API Provider AWS created Auto Scaling group %s for this cluster, but nothing shows that it "+
				"belongs to this pool. If it does, set annotation %s: %q",
			group.Name, infrav1.AdoptAnnotation, group.ARN)
	case candidate.ProofErr != nil:
		return candidate.ProofErr
	case candidate.OtherPool != "":
		return adoption.Refuse(infrav1.NameTakenReason,
			"AWSMachinePool %s refers to Auto Scaling group %s too. Clear spec.providerID of the pool that must "+
				"not own the group", candidate.OtherPool, group.Name)
	case in.Object.Spec.LaunchConfigRef != nil:
		return adoption.Refuse(infrav1.AdoptionBlockedReason,
			"Slipway adopts the launch template of Auto Scaling group %s into a launch config that the pool "+
				"owns, but launchConfigRef of the pool names another one. Create the pool again with "+
				"awsLaunchTemplate or launchConfigTemplateRef", group.Name)
	case group.LaunchTemplateID == "":
		return adoption.Refuse(infrav1.AdoptionBlockedReason, "Auto Scaling group %s does not use a launch template", group.Name)
	case group.Deleting:
		return nil // nothing of it is changed
	case candidate.AWSMachine != "":
		// CAPA's controller of machines would go on to act on them.
		return adoption.Refuse(infrav1.AdoptionBlockedReason,
			"AWSMachine %s represents an instance of Auto Scaling group %s. Slipway does not adopt pools that "+
				"have Machines of Cluster API Provider AWS. See docs/how-to/migration.md",
			candidate.AWSMachine, group.Name)
	}
	return nil
}

// awaitForeignRefresh waits with an adoption until the instance refresh that is in progress in the
// group has finished, unless Slipway started it before it released the group. AWS starts no other
// refresh meanwhile (AWS: API_StartInstanceRefresh, InstanceRefreshInProgress). It refuses to change
// what a group launches if the refresh has a desired configuration. If it has none, the instances
// that are launched after such a change would differ from the ones that were launched before it.
func awaitForeignRefresh(in input, plan *reconcile.Plan) bool {
	group, refreshes := in.Seen.Group, in.Seen.Refreshes
	switch {
	case !in.Seen.Adopting || group.Deleting:
		return true
	case refreshes.Err != nil:
		showAdopting(in)
		pool.ShowFailure(in.Object, plan, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, refreshes.Err)
		return false
	case !refreshes.Read:
		plan.Need(needRefreshes)
		return false
	}
	running := latest(refreshes.List)
	if !running.Active() || in.Object.Status.Rollout.StartedID == running.ID {
		return true
	}
	message := fmt.Sprintf("Instance refresh %s of Auto Scaling group %s is in progress, and Slipway did not start it. AWS replaces nodes, "+
		"and Slipway does not drain them. Slipway takes the group over when the refresh has finished. To stop the refresh, run aws "+
		"autoscaling cancel-instance-refresh --auto-scaling-group-name %s", running.ID, group.Name, group.Name)
	before := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.ASGReadyCondition)
	if before == nil || before.Reason != infrav1.AdoptionDeferredReason {
		plan.Tell(reconcile.Warningf(infrav1.AdoptionDeferredEvent, "%s", message))
	}
	showAdopting(in)
	reconciling.False(in.Object, infrav1.ASGReadyCondition, infrav1.AdoptionDeferredReason, message)
	return false
}

// showAdopting shows that the group has yet to be taken over.
func showAdopting(in input) {
	reconciling.False(in.Object, infrav1.AdoptedCondition, infrav1.AdoptingReason,
		fmt.Sprintf("Slipway is adopting Auto Scaling group %s from Cluster API Provider AWS", in.Seen.Group.Name))
}

// adoptableTemplate returns the id of the template that the pool's launch config should take over,
// "" for none.
func adoptableTemplate(in input) string {
	if !in.Seen.Adopting || in.Seen.Group == nil {
		return ""
	}
	return in.Seen.Group.LaunchTemplateID
}

// templateAdopted is false while the pool's group is still CAPA's, and the launch config has not
// taken its template over yet.
func templateAdopted(in input) bool {
	config := launchable(in)
	if !in.Seen.Adopting || config == nil {
		return !in.Seen.Adopting
	}
	template := in.Seen.Group.LaunchTemplateID
	if template == config.Status.LaunchTemplateID {
		return true
	}
	for _, accepted := range config.Status.AcceptedVersions {
		if accepted.LaunchTemplateID == template {
			return true
		}
	}
	return false
}

// adopt tags a group that CAPA created as the pool's, before anything else of it is changed.
func adopt(in input, plan *reconcile.Plan) bool {
	if !in.Seen.Fresh {
		plan.Need(needFreshGroup) // another owner may have taken the group over meanwhile
		return true
	}
	if err := reconcile.LastFailure[adoptGroup](in.Done); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err)
		return true
	}
	group := in.Seen.Group
	plan.Do(adoptGroup{Group: group.Name, Instances: len(group.Instances), Tags: desiredGroup(in).Tags},
		"Cluster API Provider AWS created Auto Scaling group %s, and it is proven to be this pool's", group.Name)
	return true
}

// showAdoption shows on the pool what its launch config says about an adoption.
func showAdoption(in input, config *infrav1.AWSLaunchConfig) {
	condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.AdoptedCondition)
	switch {
	case in.Seen.Adopting:
		showAdopting(in)
	case condition == nil:
		reconciling.Remove(in.Object, infrav1.AdoptedCondition)
	case condition.Status == metav1.ConditionTrue:
		reconciling.True(in.Object, infrav1.AdoptedCondition, condition.Reason, condition.Message)
	}
}
