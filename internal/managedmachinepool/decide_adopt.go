package managedmachinepool

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A node group that CAPA created is taken over in the order of an Auto Scaling group (package
// machinepool, decide_adopt.go): recognized, left to an update that is in progress, its template
// taken over by the launch config, then tagged as owned. A crash between any two leaves its nodes alone.

// madeByCAPA reports whether a node group has CAPA's tag of the cluster and none of Slipway's. The
// tag names the EKS cluster, and not the namespace whose pool it is.
func madeByCAPA(in input, group *nodegroup.Nodegroup) bool {
	for key := range group.Tags {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			return false
		}
	}
	return group.Tags[infrav1.KubernetesClusterTagKey(in.Seen.EKSCluster)] == infrav1.TagValueOwned
}

// wasOwned reports whether the pool had the node group already: its owner tag was removed, and it
// is not one that CAPA created and Slipway never adopted.
func wasOwned(pool *infrav1.AWSManagedMachinePool, group *nodegroup.Nodegroup) bool {
	return recorded(pool.Status.Nodegroup, group) &&
		!meta.IsStatusConditionPresentAndEqual(pool.Status.Conditions, infrav1.AdoptedCondition, metav1.ConditionFalse)
}

// mayBeCAPAs reports whether a node group has the name that CAPA gives the pool's, and is one that
// CAPA created and Slipway never adopted.
func mayBeCAPAs(in input, group *nodegroup.Nodegroup) bool {
	return group.Name == ownership.NodegroupName(in.Object) && madeByCAPA(in, group) && !wasOwned(in.Object, group)
}

// adoptableTemplate returns the id of the template that the pool's launch config should take over,
// "" for none.
func adoptableTemplate(in input) string {
	if !in.Seen.Adopting || in.Seen.Group == nil {
		return ""
	}
	return in.Seen.Group.LaunchTemplateID
}

// templateAdopted reports whether the pool's node group is its own, or the launch config has taken
// over the template of one that is still CAPA's.
func templateAdopted(in input) bool {
	template, config := adoptableTemplate(in), launchable(in)
	if template == "" || config == nil {
		return template == ""
	}
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

// adopt tags a node group that CAPA created as the pool's, before anything else of it is changed.
func adopt(in input, plan *reconcile.Plan) bool {
	if fresh, known := freshGroup(in, plan); !fresh {
		return known
	}
	if err := reconcile.LastFailure[adoptNodegroup](in.Done); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
		return true
	}
	group := in.Seen.Group
	plan.Do(adoptNodegroup{Group: group.Name, Tags: map[string]string{infrav1.TagManagedMachinePool: ownerTag(in)}},
		"Cluster API Provider AWS created node group %s, and it is proven to be this pool's", group.Name)
	return true
}

// awaitForeignUpdate waits with an adoption until EKS has finished the update of the node group, unless
// Slipway started it before it released the node group. EKS takes no other update meanwhile (AWS:
// API_UpdateNodegroupVersion, ResourceInUseException), and whether the update succeeds decides which
// version of the template the nodes run.
func awaitForeignUpdate(in input, plan *reconcile.Plan) bool {
	group, record := in.Seen.Group, in.Object.Status.Update
	ours := record != nil && record.Status == nodegroup.UpdateInProgress && record.StartedFor != ""
	if !in.Seen.Adopting || group.Status != nodegroup.StatusUpdating || ours {
		return true
	}
	message := fmt.Sprintf("EKS is updating node group %s, and Slipway did not start the update. EKS may replace nodes, and drains them. "+
		"Slipway takes the node group over when the update has finished. To see its progress, run aws eks list-updates --name %s "+
		"--nodegroup-name %s, and aws eks describe-update", group.Name, in.Seen.EKSCluster, group.Name)
	before := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.NodegroupReadyCondition)
	if before == nil || before.Reason != infrav1.AdoptionDeferredReason {
		plan.Tell(reconcile.Warningf(infrav1.AdoptionDeferredEvent, "%s", message))
	}
	showAdopting(in)
	reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.AdoptionDeferredReason, message)
	reportHealth(in, plan)
	reportInstances(in, plan)
	return false
}

// showAdopting shows that the node group has yet to be taken over.
func showAdopting(in input) {
	reconciling.False(in.Object, infrav1.AdoptedCondition, infrav1.AdoptingReason,
		fmt.Sprintf("Slipway is adopting node group %s from Cluster API Provider AWS", in.Seen.Group.Name))
}

// showAdoption shows on the pool what its launch config says about an adoption.
func showAdoption(in input, config *infrav1.AWSLaunchConfig) {
	condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.AdoptedCondition)
	switch {
	case in.Seen.Adopting:
		showAdopting(in)
	case condition == nil || in.Object.Spec.LaunchConfigRef != nil:
		reconciling.Remove(in.Object, infrav1.AdoptedCondition)
	case condition.Status == metav1.ConditionTrue:
		reconciling.True(in.Object, infrav1.AdoptedCondition, condition.Reason, condition.Message)
	}
}
