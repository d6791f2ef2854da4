package managedmachinepool

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// decideRelease leaves a pool such that CAPA runs it without replacing a node, and then leaves it
// alone. The finalizer stays: CAPA's is the same.
//
// CAPA finds a node group by the name in the spec, a template by the pool's name, and compares the
// template's newest version with the spec. It gives the node group the version in the pool's status
// if the node group has another one, which replaces all nodes: the status goes on naming the node
// group's.
func decideRelease(in input, plan *reconcile.Plan) {
	if !reached(in, plan) {
		return
	}
	if err := in.Seen.GroupErr; err != nil && groupReason(err, "") == "" {
		pool.ShowFailure(in.Object, plan, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
		return
	}
	for _, concern := range []func(input, *reconcile.Plan) bool{awaitRest, releaseTemplate, releaseNodegroup, releaseConfig} {
		if goOn := concern(in, plan); !goOn || pending(plan) {
			return
		}
	}
	recordNames(in, plan, "")
	reconciling.Remove(in.Object, infrav1.AdoptedCondition)
	// so that the node group is not taken for one whose owner tag was removed
	in.Object.Status.Nodegroup = nil
	reconciling.True(in.Object, infrav1.ReleasedCondition, infrav1.ReleasedReason, fmt.Sprintf(
		"Slipway no longer acts on this pool, and Cluster API Provider AWS can manage it. Remove annotation %s to have Slipway adopt it again", infrav1.ReleaseAnnotation))
}

// isOurs reports whether the node group still is Slipway's. One that is not has been released, or
// never was taken over.
func isOurs(in input) bool { return in.Seen.Group != nil && !in.Seen.Adopting }

// refuseRelease shows why a pool is not released, or not yet, and waits for that to change.
func refuseRelease(in input, reason, message string) bool {
	reconciling.False(in.Object, infrav1.ReleasedCondition, reason, message)
	return false
}

// awaitRest waits until EKS does nothing with the node group.
func awaitRest(in input, plan *reconcile.Plan) bool {
	if !isOurs(in) || !in.Seen.Group.Busy() && in.Seen.Retiring == nil {
		return true
	}
	plan.LookAgain(lookBusy)
	return refuseRelease(in, infrav1.ReleasingReason, fmt.Sprintf("EKS is updating node group %s. Slipway "+
		"releases it when the update is complete", in.Seen.Group.Name))
}

// releaseTemplate has the launch config leave a version that CAPA finds in order.
func releaseTemplate(in input, plan *reconcile.Plan) bool {
	if !isOurs(in) {
		return true
	}
	object, group, config := in.Object, in.Seen.Group, in.Seen.LaunchConfig.Object
	problem := foreignToCAPA(object)
	switch name := infrav1.DefaultNodegroupName(object.Namespace, object.Name); {
	case group.Name != object.Spec.EKSNodegroupName && group.Name != name:
		return refuseRelease(in, infrav1.NameTakenReason, fmt.Sprintf(
			"Cluster API Provider AWS would look for node group %s, but this one is named %s. Set "+
				"spec.eksNodegroupName to the name of the node group", name, group.Name))
	case !object.Spec.Templated():
		return true
	case problem != "":
		return refuseRelease(in, infrav1.InvalidSpecReason, problem)
	case config == nil:
		createConfig(in, plan) // it was taken away, and is needed again
		return false
	case reconcile.Succeeded[createLaunchConfig](in.Done):
		return refuseRelease(in, infrav1.ReleasingReason, "the launch config was recreated")
	case !metav1.IsControlledBy(config, object):
		showForeignConfig(in, plan)
		return false
	}
	return releaseVersion(in, plan, config)
}

// releaseVersion has a launch config of the pool's own leave a version that CAPA finds in order.
func releaseVersion(in input, plan *reconcile.Plan, config *infrav1.AWSLaunchConfig) bool {
	group, wanted := in.Seen.Group, templateName(in.Object, in.Seen.Access.Facts.ControlPlane)
	if config.Spec.LaunchTemplateName != wanted || group.LaunchTemplateName != wanted {
		return refuseRelease(in, infrav1.NameTakenReason, fmt.Sprintf(
			"Cluster API Provider AWS would look for launch template %s, but this one is named %s", wanted, group.LaunchTemplateName))
	}
	if !pool.ShowLaunchConfig(in.Object, config) {
		return refuseRelease(in, infrav1.ReleasingReason, "the launch config is not ready")
	}
	if template := templateIn(config); !template.Accepts(group.LaunchTemplateID, group.Version) {
		return refuseRelease(in, infrav1.ReleasingReason, fmt.Sprintf(
			"the desired launch template version is %d, but the node group uses version %d. Remove annotation "+
				"%s until the roll-out is complete",
			template.Version, group.Version, infrav1.ReleaseAnnotation))
	}
	if config.Annotations[infrav1.ReleaseAnnotation] != "true" {
		if tried, _ := reconcile.Attempted[markReleased](in.Done); !tried {
			plan.Do(markReleased{Config: config.Name}, "the pool is being released to Cluster API Provider AWS")
		}
		return false
	}
	condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReleasedCondition)
	if condition == nil || condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != config.Generation {
		return refuseRelease(in, infrav1.ReleasingReason, "Slipway is converting the launch template to the "+
			"format that Cluster API Provider AWS expects")
	}
	return true
}

// foreignToCAPA returns why CAPA cannot run the pool, empty if it can.
func foreignToCAPA(object *infrav1.AWSManagedMachinePool) string {
	switch {
	case object.Spec.AWSLaunchTemplate == nil:
		return "Cluster API Provider AWS does not support spec.launchConfigRef or spec.launchConfigTemplateRef. " +
			"Create a new pool with awsLaunchTemplate, and migrate to it"
	case !object.Spec.OwnImage():
		return "Cluster API Provider AWS does not support a node group whose launch template has no image, and " +
			"EKS cannot change that. Create a new pool with awsLaunchTemplate.ami or without " +
			"awsLaunchTemplate, and migrate to it"
	}
	return ""
}

// releaseNodegroup takes the ownership away, and has status name what CAPA decides by.
func releaseNodegroup(in input, plan *reconcile.Plan) bool {
	if !isOurs(in) {
		return true
	}
	status, group := &in.Object.Status, in.Seen.Group
	status.LaunchTemplateID, status.LaunchTemplateVersion = group.LaunchTemplateID, nil
	if group.LaunchTemplateID != "" {
		status.LaunchTemplateVersion = ptr.To(strconv.FormatInt(group.Version, 10))
	}
	switch tried, err := reconcile.Attempted[disownNodegroup](in.Done); {
	case err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
		return false
	case !tried:
		plan.Do(disownNodegroup{Group: group.Name}, "the pool is being released to Cluster API Provider AWS, "+
			"and its launch template is in the expected format")
	}
	return true
}

// releaseConfig deletes the launch config, whose template stays.
func releaseConfig(in input, plan *reconcile.Plan) bool {
	if !in.Seen.Leftovers.ConfigRead {
		plan.Need(needConfig)
		return true
	}
	config := in.Seen.Leftovers.Config
	switch {
	case config == nil:
		return true
	case config.Annotations[infrav1.ReleaseAnnotation] != "true":
		plan.Fail(fmt.Errorf("AWSLaunchConfig %q has not been released", config.Name))
		return false
	}
	if tried, _ := reconcile.Attempted[deleteLaunchConfig](in.Done); !tried && config.DeletionTimestamp.IsZero() {
		plan.Do(deleteLaunchConfig{Name: config.Name}, "the pool has been released to Cluster API Provider AWS")
		return true
	}
	return refuseRelease(in, infrav1.ReleasingReason, "the launch config is being deleted")
}
