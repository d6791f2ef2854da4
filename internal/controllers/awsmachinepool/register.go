package awsmachinepool

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepools/status,verbs=patch
// A launch config blocks its pool's deletion; an API server that enforces owner references wants this right for it.
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepools/finalizers,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinepools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigtemplates,verbs=get;list;watch
// A pool that CAPA keeps AWSMachines for is not taken over.
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachines,verbs=list

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepoolmachines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmachinepoolmachines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch;delete

// poolOf is the AWSMachinePool that a MachinePool refers to.
var poolOf = common.PoolOf("AWSMachinePool")

// Register adds the controller to a manager. Networks are the kinds of objects with a cluster's network.
func (r *Reconciler) Register(manager ctrl.Manager, settings common.Settings, networks []client.Object) error {
	dependents := settings.PoolsOf(r.Client, &infrav1.AWSMachinePoolList{})
	changes := builder.WithPredicates(common.ClusterChanges())
	users := common.Users{List: r.referring}
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		For(&infrav1.AWSMachinePool{}, builder.WithPredicates(settings.Watched())).
		Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(users.OfConfig)).
		Watches(&infrav1.AWSLaunchConfigTemplate{}, handler.EnqueueRequestsFromMapFunc(users.OfTemplate)).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(poolOf), builder.WithPredicates(common.BesidesStatus())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(common.ByCluster(common.Itself, dependents)), changes).
		Watches(&infrav1.AWSMachinePoolMachine{}, handler.EnqueueRequestForOwner(manager.GetScheme(), manager.GetRESTMapper(), &infrav1.AWSMachinePool{})).
		WatchesMetadata(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.poolOfMachine), builder.WithPredicates(predicate.NewPredicateFuncs(goes))).
		WatchesRawSource(r.Clouds.GroupEvents()).
		WithOptions(settings.Options())
	for _, network := range networks {
		controller = controller.Watches(network, handler.EnqueueRequestsFromMapFunc(common.ByCluster(common.ClusterOf, dependents)), changes)
	}
	if err := controller.Complete(settings.Reconciler("AWSMachinePool", r.Client, &infrav1.AWSMachinePool{}, r)); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// referring are the pools of a namespace, of all if it is empty.
func (r *Reconciler) referring(ctx context.Context, namespace string) ([]common.Referring, error) {
	pools := &infrav1.AWSMachinePoolList{}
	if err := r.Client.List(ctx, pools, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing pools: %w", err)
	}
	referring := make([]common.Referring, len(pools.Items))
	for i := range pools.Items {
		pool := &pools.Items[i]
		referring[i] = common.Referring{Object: pool, Config: pool.Spec.LaunchConfigRef, Template: pool.Spec.LaunchConfigTemplateRef}
	}
	return referring, nil
}

// goes is true for a Machine that was deleted or is to be, which is all that a pool wants to know of it.
func goes(machine client.Object) bool {
	_, marked := machine.GetAnnotations()[clusterv1.DeleteMachineAnnotation]
	return marked || machine.GetDeletionTimestamp() != nil
}

// poolOfMachine is the pool of the MachinePool that controls a Machine.
func (r *Reconciler) poolOfMachine(ctx context.Context, machine client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(machine)
	if owner == nil || !common.IsMachinePool(*owner) {
		return nil
	}
	machinePool := &clusterv1.MachinePool{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: machine.GetNamespace(), Name: owner.Name}, machinePool); err != nil {
		return nil // without it there is no pool to wake, or the next event does
	}
	return poolOf(ctx, machinePool)
}
