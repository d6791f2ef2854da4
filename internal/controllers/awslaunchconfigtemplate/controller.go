// Package awslaunchconfigtemplate shows on every AWSLaunchConfigTemplate who uses it, and how many
// of them are what it says now. The AWSLaunchConfigs are made by the controllers of the pools that
// refer to the template, which know the cluster that each is for.
package awslaunchconfigtemplate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/pool"
)

// Name is the controller's, in logs and metrics.
const Name = "awslaunchconfigtemplate"

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigtemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigtemplates/status,verbs=patch

// Reconciler reconciles AWSLaunchConfigTemplates.
type Reconciler struct{ Client client.Client }

// Register adds the controller to a manager.
func (r *Reconciler) Register(manager ctrl.Manager, settings common.Settings) error {
	err := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		For(&infrav1.AWSLaunchConfigTemplate{}, builder.WithPredicates(settings.Watched())).
		Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(templateOf)).
		WithOptions(settings.Options()).
		Complete(settings.Reconciler("AWSLaunchConfigTemplate", r.Client, &infrav1.AWSLaunchConfigTemplate{}, r))
	if err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// templateOf is the template that a launch config was made from. One that turned to another
// template is told of by its own old self, which an update has too.
func templateOf(_ context.Context, config client.Object) []reconcile.Request {
	namespace, name, found := strings.Cut(config.GetAnnotations()[infrav1.LaunchConfigTemplateAnnotation], "/")
	if !found {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// Reconcile counts the users of a template.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.AWSLaunchConfigTemplate{}
	if err := r.Client.Get(ctx, request.NamespacedName, template); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	configs := &infrav1.AWSLaunchConfigList{}
	if err := r.Client.List(ctx, configs, client.MatchingLabels(pool.TemplateLabels(request.NamespacedName)), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the launch configs of the template: %w", err)
	}
	before := template.DeepCopy()
	template.Status = statusOf(template, configs.Items)
	if equality.Semantic.DeepEqual(before.Status, template.Status) {
		return ctrl.Result{}, nil
	}
	if err := r.Client.Status().Patch(ctx, template, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{}, nil
}

// statusOf says which of the launch configs were made from the template, in the order of their names.
func statusOf(template *infrav1.AWSLaunchConfigTemplate, configs []infrav1.AWSLaunchConfig) infrav1.AWSLaunchConfigTemplateStatus {
	status := infrav1.AWSLaunchConfigTemplateStatus{ObservedGeneration: template.Generation}
	key := client.ObjectKeyFromObject(template).String()
	for i := range configs {
		config := &configs[i]
		if config.Annotations[infrav1.LaunchConfigTemplateAnnotation] != key {
			continue
		}
		user := infrav1.LaunchConfigTemplateUser{
			Namespace: config.Namespace, Name: config.Name, ClusterName: config.Spec.ClusterName, UpToDate: upToDate(template, config),
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
	return status
}

// upToDate is true for a launch config that follows the template as it is now, and is ready.
func upToDate(template *infrav1.AWSLaunchConfigTemplate, config *infrav1.AWSLaunchConfig) bool {
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	return config.Annotations[infrav1.LaunchConfigTemplateGenerationAnnotation] == strconv.FormatInt(template.Generation, 10) &&
		ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == config.Generation
}
