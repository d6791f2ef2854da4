// Package managedmachinepool runs the nodes of every AWSManagedMachinePool in an EKS managed node
// group: it writes the pool's AWSLaunchConfig, keeps the node role and the node group as the pool
// asks for them, one update at a time, and reports to Cluster API which instances there are. It
// never waits for EKS.
//
// Observe asks Kubernetes and AWS what there is. Decide, in the files decide*.go, is a pure
// function with a concern to a file. The actions are values, in actions.go, and know how they are
// done, in the files act*.go.
package managedmachinepool

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/watches"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmanagedmachinepools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmanagedmachinepools/status,verbs=patch
// A launch config blocks its pool's deletion; an API server that enforces owner references wants
// this right for it.
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmanagedmachinepools/finalizers,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinepools,verbs=get;list;watch;patch

// Name is the controller's, in logs, metrics and as the reporter of events.
const Name = "awsmanagedmachinepool"

// Kind observes, decides and acts for AWSManagedMachinePools.
type Kind struct {
	Client client.Client
	// Live reads past the cache.
	Live     client.Reader
	Clouds   *clouds.Registry
	Clock    clock.PassiveClock
	Settings Settings
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
		return nil, fmt.Errorf("%T is no action on an AWSManagedMachinePool", action)
	}
	return todo.do(ctx, actor{Kind: k, pass: pass})
}

// Controller reconciles AWSManagedMachinePools.
type Controller struct {
	*reconcile.Controller[*infrav1.AWSManagedMachinePool, Observed, Memory]
	kind *Kind
}

// New returns a controller of a kind.
func New(kind *Kind, report report.Reporter) *Controller {
	c := &Controller{kind: kind}
	c.Controller = &reconcile.Controller[*infrav1.AWSManagedMachinePool, Observed, Memory]{
		Kind: kind, Client: kind.Client, Live: kind.Live, Clock: kind.Clock, Report: report,
		Empty: &infrav1.AWSManagedMachinePool{}, Finalizer: infrav1.ManagedMachinePoolFinalizer,
		Paused: c.paused, Summaries: summaries,
		Forget: func(pool types.NamespacedName) {
			kind.Clouds.ForgetManagedGroup(pool)
			report.Progress.Forget(&infrav1.AWSManagedMachinePool{}, pool)
		},
	}
	return c
}

// paused reports whether a pool is paused, by itself or by its Cluster. Its group is then observed
// as one at rest.
func (c *Controller) paused(ctx context.Context, object *infrav1.AWSManagedMachinePool) (bool, error) {
	_, cluster, _, err := pool.Owners(ctx, c.kind.Client, object)
	if err != nil {
		return false, err
	}
	paused := pool.Paused(object, cluster)
	if paused {
		c.kind.Clouds.RestManaged(client.ObjectKeyFromObject(object))
	}
	return paused, nil
}

// ready computes the Ready condition from the other conditions. A roll-out under way does not make
// a pool unready: its nodes work.
var ready = reconciling.Summary{
	Target: infrav1.ReadyCondition,
	Of: []string{
		infrav1.ClusterInfrastructureReadyCondition,
		infrav1.BootstrapDataReadyCondition,
		infrav1.LaunchTemplateReadyCondition,
		infrav1.NodeRoleReadyCondition,
		infrav1.NodegroupReadyCondition,
	},
	Reason: infrav1.ReadyReason,
	Unless: infrav1.AWSReachableCondition,
}

// summaries returns what follows from the other conditions of a pool.
func summaries(object *infrav1.AWSManagedMachinePool) []reconcile.Summarizer {
	paused := meta.IsStatusConditionTrue(object.Status.Conditions, infrav1.PausedCondition)
	if paused || object.DeletionTimestamp != nil || pool.Releasing(object) {
		return []reconcile.Summarizer{report.Converged}
	}
	return []reconcile.Summarizer{ready, report.Converged}
}

// poolOf is the AWSManagedMachinePool that a MachinePool refers to.
var poolOf = watches.PoolOf("AWSManagedMachinePool")

// Register adds the controller to a manager. Networks are the kinds of objects with a cluster's network.
func (c *Controller) Register(manager ctrl.Manager, settings watches.Settings, networks []client.Object) error {
	reader := c.kind.Client
	dependents := settings.PoolsOf(reader, &infrav1.AWSManagedMachinePoolList{})
	changes := builder.WithPredicates(watches.ClusterChanges())
	users := &watches.Users{}
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		For(&infrav1.AWSManagedMachinePool{}, builder.WithPredicates(settings.Watched(), users.Heard())).
		Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(users.OfConfig)).
		Watches(&infrav1.AWSLaunchConfigTemplate{}, handler.EnqueueRequestsFromMapFunc(users.OfTemplate)).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(poolOf), builder.WithPredicates(watches.BesidesStatus())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(watches.ByCluster(watches.Itself, dependents)), changes).
		WatchesRawSource(c.kind.Clouds.ManagedGroupEvents()).
		WithOptions(settings.Options())
	for _, network := range networks {
		controller = controller.Watches(network, handler.EnqueueRequestsFromMapFunc(watches.ByCluster(watches.ClusterOf, dependents)), changes)
	}
	if err := controller.Complete(settings.Reconciler("AWSManagedMachinePool", reader, &infrav1.AWSManagedMachinePool{}, c)); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}
