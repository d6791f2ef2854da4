// Package launchconfig keeps the EC2 launch template of every AWSLaunchConfig: it is the one place
// from which the heart, package launchtemplate, is driven.
//
// Files observe.go, lookups.go and proof.go observe the current state. The files named decide, one
// per concern, decide how to change it, in functions from values to values. File actions.go lists the
// actions, and act.go executes them.
package launchconfig

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "awslaunchconfig"

// The kinds of pools.
const (
	kindSelfManaged = "AWSMachinePool"
	kindManaged     = "AWSManagedMachinePool"
)

// Options configures the controller.
type Options struct {
	Client client.Client
	// Live reads past the cache: bootstrap data, because the cache holds no Secrets, and the pool
	// that a template is adopted for.
	Live client.Reader
	// Watches wakes a config whose bootstrap data changed.
	Watches SecretWatcher
	Clouds  *clouds.Registry
	Report  report.Reporter
	Clock   clock.PassiveClock
}

// SecretWatcher wakes objects when the Secret that they name changes.
type SecretWatcher interface {
	Watch(object, secret types.NamespacedName)
	// Read says which resource version of its Secret the object knows, for which it need not be woken.
	Read(object types.NamespacedName, version string)
	Forget(object types.NamespacedName)
}

// kind is AWSLaunchConfig as the frame of controllers knows it.
type kind struct{ *Options }

// Decide implements reconcile.Kind.
func (k *kind) Decide(in Input) reconcile.Plan { return Decide(in) }

// Reconciler reconciles AWSLaunchConfigs.
type Reconciler struct {
	options *Options
	frame   reconcile.Controller[*infrav1.AWSLaunchConfig, Observed, memory]
}

// New returns a reconciler.
func New(options Options) *Reconciler {
	r := &Reconciler{options: &options}
	r.frame = reconcile.Controller[*infrav1.AWSLaunchConfig, Observed, memory]{
		Kind: &kind{&options}, Client: options.Client, Live: options.Live, Clock: options.Clock, Report: options.Report,
		Empty: &infrav1.AWSLaunchConfig{}, Finalizer: infrav1.LaunchConfigFinalizer,
		Paused: r.paused, Summaries: summaries, Forget: r.forget,
	}
	return r
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return r.frame.Reconcile(ctx, request)
}

// paused reports whether a config is paused by itself, by its Cluster or by its pool, and shows it.
func (r *Reconciler) paused(ctx context.Context, config *infrav1.AWSLaunchConfig) (bool, error) {
	cluster, err := pool.GetCluster(ctx, r.options.Client, config.Namespace, config.Spec.ClusterName)
	if err != nil {
		return false, err
	}
	if pool.Paused(config, cluster) {
		return true, nil
	}
	if metav1.GetControllerOf(config) == nil {
		return false, nil // no pool pauses a launch config that pools share
	}
	usages, err := usagesOf(ctx, r.options.Client, config)
	return err == nil && pausedWithPool(config, usages), err
}

// forget drops what others remember of a config that is gone.
func (r *Reconciler) forget(config types.NamespacedName) {
	r.options.Clouds.ForgetTemplate(config)
	r.options.Report.Progress.Forget(&infrav1.AWSLaunchConfig{}, config)
	r.options.Watches.Forget(config)
}

// ready computes the Ready condition from the other conditions.
var ready = reconciling.Summary{
	Target: infrav1.ReadyCondition,
	Of: []string{
		infrav1.ClusterInfrastructureReadyCondition,
		infrav1.BootstrapDataReadyCondition,
		infrav1.ResolvedCondition,
		infrav1.LaunchTemplateReadyCondition,
	},
	Reason: infrav1.ReadyReason,
	Unless: infrav1.AWSReachableCondition,
}

// summaries returns how to compute the Ready condition from the others, including Verified if
// spec.verify is set. It returns nil for a config that is paused or being deleted, whose Ready
// condition does not follow from the others.
func summaries(config *infrav1.AWSLaunchConfig) []reconcile.Summarizer {
	if config.DeletionTimestamp != nil || meta.IsStatusConditionTrue(config.Status.Conditions, infrav1.PausedCondition) {
		return nil
	}
	all := ready
	if config.Spec.Existing != nil {
		all.Of = []string{infrav1.ClusterInfrastructureReadyCondition, infrav1.LaunchTemplateReadyCondition, infrav1.ResolvedCondition}
	}
	if config.Spec.Verify != "" {
		all.Of = append(slices.Clone(ready.Of), infrav1.VerifiedCondition)
	}
	return []reconcile.Summarizer{all}
}

// isReadyFor reports whether the launch template was found ready for a generation of the spec.
func isReadyFor(config *infrav1.AWSLaunchConfig, generation int64) bool {
	shown := meta.FindStatusCondition(config.Status.Conditions, infrav1.LaunchTemplateReadyCondition)
	return shown != nil && shown.Status == metav1.ConditionTrue && shown.ObservedGeneration == generation
}
