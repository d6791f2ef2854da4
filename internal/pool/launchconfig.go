package pool

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// configLabels returns the config's own labels and two more: its Cluster's, and the pool's for
// one of several managers, which must be the same one for both.
func configLabels(config *infrav1.AWSLaunchConfig, pool client.Object, clusterName string) map[string]string {
	labels := maps.Clone(config.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = clusterName
	delete(labels, clusterv1.WatchLabel)
	if value, labelled := pool.GetLabels()[clusterv1.WatchLabel]; labelled {
		labels[clusterv1.WatchLabel] = value
	}
	return labels
}

// configAnnotations returns the config's own annotations and its pool's, except for
// empty ones.
func configAnnotations(config *infrav1.AWSLaunchConfig, pools map[string]string) map[string]string {
	annotations := map[string]string{}
	maps.Copy(annotations, config.Annotations)
	for key, value := range pools {
		delete(annotations, key)
		if value != "" {
			annotations[key] = value
		}
	}
	return annotations
}

// copiedApprovalAnnotation holds the version whose approval was copied from a pool to its launch
// config: the approval goes when the pool's goes. Another one is the launch config's own.
const copiedApprovalAnnotation = infrav1.TagSlipwayPrefix + "copied-approval"

// setApproval sets annotations to the version that a user approved, on the pool or on its launch
// config itself, and to the name of the user. An approval on the pool of a version that the launch
// config does not have counts for nothing.
func setApproval(annotations map[string]string, pool client.Object, config *infrav1.AWSLaunchConfig) {
	source, copied := config.Annotations, config.Annotations[copiedApprovalAnnotation]
	approved, present := pool.GetAnnotations()[infrav1.ApprovedVersionAnnotation], source[infrav1.ApprovedVersionAnnotation]
	switch {
	case config.HasVersion(approved):
		source, copied = pool.GetAnnotations(), approved
	case copied != present:
		copied = ""
	case approved == "": // the user withdrew it
		source, copied = nil, ""
	}
	annotations[infrav1.ApprovedVersionAnnotation] = source[infrav1.ApprovedVersionAnnotation]
	annotations[infrav1.ApprovedByAnnotation] = source[infrav1.ApprovedByAnnotation]
	annotations[copiedApprovalAnnotation] = copied
}

// VoidApproval reports whether a pool has an approval of a version that the launch template of its own
// launch config has yet to get: of a template that was deleted, and whose numbers start again. It has
// the launch config of the API server compared with the cache before it does.
func (c *LaunchConfig) VoidApproval(pool client.Object, plan *reconcile.Plan) bool {
	number, err := strconv.ParseInt(pool.GetAnnotations()[infrav1.ApprovedVersionAnnotation], 10, 64)
	if err != nil || len(c.Object.Status.Versions) == 0 || c.Object.Status.LaunchTemplateMissingSince != nil {
		return false
	}
	newest := max(c.Object.Status.PendingVersion, c.Object.Status.NewestVersion())
	return number > newest && c.Current(plan)
}

// RemoveApproval has the approval of a version removed from an object.
func RemoveApproval(object client.Object, plan *reconcile.Plan) {
	for _, key := range []string{infrav1.ApprovedVersionAnnotation, infrav1.ApprovedByAnnotation} {
		if object.GetAnnotations()[key] != "" {
			plan.Annotate(key, "")
		}
	}
}

// ShowLaunchConfig shows the state of a launch config on a pool, and reports whether the pool
// can launch from what its status has, as Launchable does.
func ShowLaunchConfig(pool reconciling.Conditioned, config *infrav1.AWSLaunchConfig) bool {
	if held := meta.FindStatusCondition(config.Status.Conditions, infrav1.RolloutApprovedCondition); held == nil {
		reconciling.Remove(pool, infrav1.RolloutApprovedCondition)
	} else if held.ObservedGeneration == config.Generation {
		show := map[metav1.ConditionStatus]func(reconciling.Conditioned, string, string, string){
			metav1.ConditionTrue: reconciling.True, metav1.ConditionFalse: reconciling.False, metav1.ConditionUnknown: reconciling.Unknown,
		}[held.Status]
		show(pool, infrav1.RolloutApprovedCondition, held.Reason, held.Message)
	}
	condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	usable := Launchable(config)
	switch {
	case HasToAct(config):
		reconciling.Unknown(pool, infrav1.LaunchTemplateReadyCondition, infrav1.WaitingForLaunchConfigReason,
			fmt.Sprintf("AWSLaunchConfig %q is still reconciling its latest spec", config.Name))
	case condition.Status != metav1.ConditionTrue:
		message := withoutType(condition.Message, config.Status.Conditions)
		if usable {
			message = fmt.Sprintf("%s; the pool continues to use version %d", message, config.Status.Version)
		}
		reconciling.False(pool, infrav1.LaunchTemplateReadyCondition, condition.Reason, message)
	default:
		reconciling.True(pool, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "")
	}
	return usable
}

// withoutType returns the message of a summary without the type of the condition that it follows from: the
// summary of the pool adds the type of the pool's own condition.
func withoutType(message string, conditions []metav1.Condition) string {
	for i := range conditions {
		if rest, named := strings.CutPrefix(message, conditions[i].Type+": "); named {
			return rest
		}
	}
	return message
}

// Launchable reports whether a pool can launch from what the status of a launch config says: it is
// ready for its current generation, or holds back what EC2 would not launch.
func Launchable(config *infrav1.AWSLaunchConfig) bool {
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	return !HasToAct(config) && (ready.Status == metav1.ConditionTrue || holdsBack(config, ready))
}

// HasToAct reports whether a launch config has not acted on its current spec yet.
func HasToAct(config *infrav1.AWSLaunchConfig) bool {
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	return ready == nil || ready.ObservedGeneration != config.Generation || ready.Reason == reconciling.PendingReason
}

// holdsBack reports whether a launch config is not ready because EC2 would not launch what its
// spec asks for, and which goes on launching what EC2 would.
func holdsBack(config *infrav1.AWSLaunchConfig, ready *metav1.Condition) bool {
	verified := meta.FindStatusCondition(config.Status.Conditions, infrav1.VerifiedCondition)
	return verified != nil && verified.ObservedGeneration == config.Generation && verified.Status == ready.Status && verified.Reason == ready.Reason &&
		config.Status.PendingVersion != 0 && config.Status.VerifiedFingerprint == config.Status.ConfigFingerprint
}

// ForeignTemplate returns why no pool may launch from the launch template that a launch config
// names, "" if pools may: its tags say whose it is.
func ForeignTemplate(config *infrav1.AWSLaunchConfig, template launchtemplate.Template) string {
	wanted := ownership.OwnerNamed(config.Namespace, config.Spec.ClusterName, config.Name)
	switch other := template.OtherOwner(config.Namespace); {
	case config.Spec.Existing != nil && other != "":
		return fmt.Sprintf("launch template %s, which AWSLaunchConfig %s names, is owned by %s according to its "+
			"tags, so no node is launched from it. Name a launch template that no other object owns", template.ID, config.Name, other)
	case config.Spec.Existing == nil && !template.OwnedBy(wanted):
		return fmt.Sprintf("launch template %s, which the status of AWSLaunchConfig %s names, does not have tag "+
			"%s with value %q, so no node is launched from it. Set the tag if the launch template belongs to "+
			"the AWSLaunchConfig",
			template.ID, config.Name, infrav1.TagLaunchConfig, wanted)
	}
	return ""
}
