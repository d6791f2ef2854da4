// Package launchconfigtemplate shows on every AWSLaunchConfigTemplate which AWSLaunchConfigs were
// created from it, and how many of them follow it as it is now. The controllers of the pools that
// refer to the template create the AWSLaunchConfigs: they know the cluster that each is for.
package launchconfigtemplate

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/watches"
)

// Name is the controller's, in logs and metrics.
const Name = "awslaunchconfigtemplate"

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigtemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigtemplates/status,verbs=patch

// Kind observes and decides for AWSLaunchConfigTemplates. It has no actions, since only the status
// is written.
type Kind struct{ Client client.Client }

// memory is empty, because a process remembers nothing about a template.
type memory struct{}

// Observe implements reconcile.Kind.
func (k *Kind) Observe(ctx context.Context, pass reconcile.Pass[*infrav1.AWSLaunchConfigTemplate, Observed, memory], _ ...reconcile.Need) error {
	configs := &infrav1.AWSLaunchConfigList{}
	labels := client.MatchingLabels(pool.TemplateLabels(client.ObjectKeyFromObject(pass.Object)))
	if err := k.Client.List(ctx, configs, labels, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the launch configs of the template: %w", err)
	}
	pass.Seen.Configs = configs.Items
	return nil
}

// Decide implements reconcile.Kind.
func (*Kind) Decide(in input) reconcile.Plan { return Decide(in) }

// Act implements reconcile.Kind.
func (*Kind) Act(_ context.Context, _ reconcile.Pass[*infrav1.AWSLaunchConfigTemplate, Observed, memory], action reconcile.Action) ([]reconcile.Event, error) {
	return nil, fmt.Errorf("%T is no action on an AWSLaunchConfigTemplate", action)
}

// Controller reconciles AWSLaunchConfigTemplates.
type Controller struct {
	*reconcile.Controller[*infrav1.AWSLaunchConfigTemplate, Observed, memory]
	kind *Kind
}

// New returns a controller of a kind.
func New(kind *Kind, clk clock.PassiveClock, report report.Reporter) *Controller {
	return &Controller{kind: kind, Controller: &reconcile.Controller[*infrav1.AWSLaunchConfigTemplate, Observed, memory]{
		Kind: kind, Client: kind.Client, Live: kind.Client, Clock: clk, Report: report, Empty: &infrav1.AWSLaunchConfigTemplate{},
	}}
}

// Register adds the controller to a manager.
func (c *Controller) Register(manager ctrl.Manager, settings watches.Settings) error {
	err := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		For(&infrav1.AWSLaunchConfigTemplate{}, builder.WithPredicates(settings.Watched())).
		Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(templateOf)).
		WithOptions(settings.Options()).
		Complete(settings.Reconciler("AWSLaunchConfigTemplate", c.kind.Client, &infrav1.AWSLaunchConfigTemplate{}, c))
	if err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// templateOf returns the template that a launch config was created from. When a launch config turns
// to another template, the update has its former state too, which wakes the former template.
func templateOf(_ context.Context, config client.Object) []ctrlreconcile.Request {
	namespace, name, found := strings.Cut(config.GetAnnotations()[infrav1.LaunchConfigTemplateAnnotation], "/")
	if !found {
		return nil
	}
	return []ctrlreconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
