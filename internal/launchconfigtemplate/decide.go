package launchconfigtemplate

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// input holds the facts that a decision about an AWSLaunchConfigTemplate is based on.
type input = reconcile.Input[*infrav1.AWSLaunchConfigTemplate, Observed]

// Observed holds the facts that a pass knows in addition to the template itself.
type Observed struct {
	// Configs are the launch configs with the template's labels.
	Configs []infrav1.AWSLaunchConfig
}

// Decide writes into status which launch configs were created from the template, in the order of
// their names. There is nothing else to do.
func Decide(in input) reconcile.Plan {
	status := infrav1.AWSLaunchConfigTemplateStatus{ObservedGeneration: in.Object.Generation}
	key := in.Object.Namespace + "/" + in.Object.Name
	for i := range in.Seen.Configs {
		config := &in.Seen.Configs[i]
		if config.Annotations[infrav1.LaunchConfigTemplateAnnotation] != key {
			continue
		}
		user := infrav1.LaunchConfigTemplateUser{
			Namespace: config.Namespace, Name: config.Name, ClusterName: config.Spec.ClusterName, UpToDate: upToDate(in.Object, config),
		}
		status.LaunchConfigs++
		if user.UpToDate {
			status.UpToDateLaunchConfigs++
		}
		status.UsedBy = append(status.UsedBy, user)
	}
	slices.SortFunc(status.UsedBy, func(a, b infrav1.LaunchConfigTemplateUser) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	status.UsedBy = status.UsedBy[:min(len(status.UsedBy), infrav1.MaxLaunchConfigTemplateUsers)]
	in.Object.Status = status
	return reconcile.Plan{}
}

// upToDate reports whether a launch config follows the template as it is now, and is ready.
func upToDate(template *infrav1.AWSLaunchConfigTemplate, config *infrav1.AWSLaunchConfig) bool {
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	return config.Annotations[infrav1.LaunchConfigTemplateGenerationAnnotation] == strconv.FormatInt(template.Generation, 10) &&
		ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == config.Generation
}
