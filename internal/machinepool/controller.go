// Package machinepool runs the nodes of every AWSMachinePool in an Auto Scaling group: it writes
// the pool's AWSLaunchConfig, keeps the group as the pool asks for it, points it at the config's
// version, rolls instances that run another config, and reports to Cluster API which instances
// there are.
//
// Observe asks Kubernetes and AWS what there is. Decide, in the files decide*.go, is a pure
// function with a concern to a file. The actions are values, in actions.go, and know how they are
// done, in the files act*.go.
//
// A pool whose spec protects its group from deletion waits with its own deletion before it drains
// anything. With spec.machinePoolMachines, this package also creates and removes an
// AWSMachinePoolMachine for each instance. A controller of their own would be a second writer of
// the group.
package machinepool

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/watches"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepools/status,verbs=patch
// A launch config blocks its pool's deletion; an API server that enforces owner references wants
// this right for it.
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepools/finalizers,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinepools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigtemplates,verbs=get;list;watch
// A pool that CAPA keeps AWSMachines for is not taken over.
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachines,verbs=list

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepoolmachines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepoolmachines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch;delete

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "awsmachinepool"

// Kind observes, decides and acts for AWSMachinePools.
type Kind struct {
	Client client.Client
	// Live reads past the cache.
	Live   client.Reader
	Clouds *clouds.Registry
	// Workloads reaches the clusters whose nodes are drained.
	Workloads Workloads
	Clock     clock.PassiveClock
	Settings  Settings

	// evicted counts evictions by their outcome.
	evicted func(outcome string)
}

// Observe implements reconcile.Kind.
func (k *Kind) Observe(ctx context.Context, pass pass, needs ...reconcile.Need) error {
	o := observer{Kind: k, pass: pass}
	if len(needs) == 0 {
		return o.observe(ctx)
	}
	for _, need := range needs {
		if err := o.observeNeed(ctx, need); err != nil {
			return err
		}
	}
	return nil
}

// Decide implements reconcile.Kind.
func (*Kind) Decide(in input) reconcile.Plan { return Decide(in) }

// Act implements reconcile.Kind.
func (k *Kind) Act(ctx context.Context, pass pass, action reconcile.Action) ([]reconcile.Event, error) {
	todo, is := action.(doer)
	if !is {
		return nil, fmt.Errorf("%T is no action on an AWSMachinePool", action)
	}
	return todo.do(ctx, actor{Kind: k, pass: pass})
}

// Controller reconciles AWSMachinePools.
type Controller struct {
	*reconcile.Controller[*infrav1.AWSMachinePool, Observed, Memory]
	kind *Kind
}

// New returns a controller of a kind.
func New(kind *Kind, report report.Reporter) *Controller {
	c := &Controller{kind: kind}
	kind.evicted = report.Progress.Evicted
	c.Controller = &reconcile.Controller[*infrav1.AWSMachinePool, Observed, Memory]{
		Kind: kind, Client: kind.Client, Live: kind.Live, Clock: kind.Clock, Report: report,
		Empty: &infrav1.AWSMachinePool{}, Finalizer: infrav1.MachinePoolFinalizer,
		Paused: c.paused, Summaries: summaries,
		Forget: func(pool types.NamespacedName) {
			kind.Clouds.ForgetGroup(pool)
			report.Progress.Forget(&infrav1.AWSMachinePool{}, pool)
		},
	}
	return c
}

// paused reports whether a pool is paused, by itself or by its Cluster. Its group is then observed
// as one at rest.
func (c *Controller) paused(ctx context.Context, object *infrav1.AWSMachinePool) (bool, error) {
	_, cluster, _, err := pool.Owners(ctx, c.kind.Client, object)
	if err != nil {
		return false, err
	}
	paused := pool.Paused(object, cluster)
	if paused {
		c.kind.Clouds.Rest(client.ObjectKeyFromObject(object))
	}
	return paused, nil
}

// ready derives the Ready condition from the other conditions. A roll-out under way does not make a
// pool unready: its nodes work.
var ready = reconciling.Summary{
	Target: infrav1.ReadyCondition,
	Of: []string{
		infrav1.ClusterInfrastructureReadyCondition,
		infrav1.BootstrapDataReadyCondition,
		infrav1.LaunchTemplateReadyCondition,
		infrav1.ASGReadyCondition,
	},
	Reason: infrav1.ReadyReason,
	Unless: infrav1.AWSReachableCondition,
}

// summaries returns the summarizers that derive conditions from the other conditions of a pool.
func summaries(object *infrav1.AWSMachinePool) []reconcile.Summarizer {
	if isPaused(object) || object.DeletionTimestamp != nil || pool.Releasing(object) {
		return []reconcile.Summarizer{report.Converged}
	}
	return []reconcile.Summarizer{ready, report.Converged}
}

// poolOf is the AWSMachinePool that a MachinePool refers to.
var poolOf = watches.PoolOf("AWSMachinePool")

// Register adds the controller to a manager. Networks are the kinds of objects with a cluster's network.
func (c *Controller) Register(manager ctrl.Manager, settings watches.Settings, networks []client.Object) error {
	reader := c.kind.Client
	dependents := settings.PoolsOf(reader, &infrav1.AWSMachinePoolList{})
	changes := builder.WithPredicates(watches.ClusterChanges())
	users := &watches.Users{}
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		For(&infrav1.AWSMachinePool{}, builder.WithPredicates(settings.Watched(), users.Heard())).
		Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(users.OfConfig)).
		Watches(&infrav1.AWSLaunchConfigTemplate{}, handler.EnqueueRequestsFromMapFunc(users.OfTemplate)).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(poolOf), builder.WithPredicates(watches.BesidesStatus())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(watches.ByCluster(watches.Itself, dependents)), changes).
		Watches(&infrav1.AWSMachinePoolMachine{}, handler.EnqueueRequestForOwner(manager.GetScheme(), manager.GetRESTMapper(), &infrav1.AWSMachinePool{})).
		WatchesMetadata(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(c.poolOfMachine), builder.WithPredicates(predicate.NewPredicateFuncs(goes))).
		WatchesRawSource(c.kind.Clouds.GroupEvents()).
		WithOptions(settings.Options())
	for _, network := range networks {
		controller = controller.Watches(network, handler.EnqueueRequestsFromMapFunc(watches.ByCluster(watches.ClusterOf, dependents)), changes)
	}
	if err := controller.Complete(settings.Reconciler("AWSMachinePool", reader, &infrav1.AWSMachinePool{}, c)); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// goes reports whether a Machine was deleted or is marked for deletion, which is all that a pool
// has to know about it.
func goes(machine client.Object) bool {
	_, marked := machine.GetAnnotations()[clusterv1.DeleteMachineAnnotation]
	return marked || machine.GetDeletionTimestamp() != nil
}

// poolOfMachine returns the pool of the MachinePool that controls a Machine.
func (c *Controller) poolOfMachine(ctx context.Context, machine client.Object) []ctrlreconcile.Request {
	owner := metav1.GetControllerOf(machine)
	if owner == nil || !pool.IsMachinePool(*owner) {
		return nil
	}
	machinePool := &clusterv1.MachinePool{}
	if err := c.kind.Client.Get(ctx, client.ObjectKey{Namespace: machine.GetNamespace(), Name: owner.Name}, machinePool); err != nil {
		return nil // without it there is no pool to wake, or the next event does
	}
	return poolOf(ctx, machinePool)
}

// isPaused reports whether a pool's Paused condition is True.
func isPaused(pool *infrav1.AWSMachinePool) bool {
	return meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.PausedCondition)
}
