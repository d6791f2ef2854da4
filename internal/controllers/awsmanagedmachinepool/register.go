package awsmanagedmachinepool

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmanagedmachinepools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmanagedmachinepools/status,verbs=patch
// A launch config blocks its pool's deletion; an API server that enforces owner references wants
// this right for it.
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsmanagedmachinepools/finalizers,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinepools,verbs=get;list;watch;patch

// poolOf is the AWSManagedMachinePool that a MachinePool refers to.
var poolOf = common.PoolOf("AWSManagedMachinePool")

// Register adds the controller to a manager. Networks are the kinds of objects with a cluster's network.
func (r *Reconciler) Register(manager ctrl.Manager, settings common.Settings, networks []client.Object) error {
	dependents := settings.PoolsOf(r.Client, &infrav1.AWSManagedMachinePoolList{})
	changes := builder.WithPredicates(common.ClusterChanges())
	users := common.Users{List: r.referring}
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		For(&infrav1.AWSManagedMachinePool{}, builder.WithPredicates(settings.Watched())).
		Watches(&infrav1.AWSLaunchConfig{}, handler.EnqueueRequestsFromMapFunc(users.OfConfig)).
		Watches(&infrav1.AWSLaunchConfigTemplate{}, handler.EnqueueRequestsFromMapFunc(users.OfTemplate)).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(poolOf), builder.WithPredicates(common.BesidesStatus())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(common.ByCluster(common.Itself, dependents)), changes).
		WatchesRawSource(r.Clouds.ManagedGroupEvents()).
		WithOptions(settings.Options())
	for _, network := range networks {
		controller = controller.Watches(network, handler.EnqueueRequestsFromMapFunc(common.ByCluster(common.ClusterOf, dependents)), changes)
	}
	if err := controller.Complete(settings.Reconciler("AWSManagedMachinePool", r.Client, &infrav1.AWSManagedMachinePool{}, r)); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// referring are the pools of a namespace, of all if it is empty.
func (r *Reconciler) referring(ctx context.Context, namespace string) ([]common.Referring, error) {
	pools := &infrav1.AWSManagedMachinePoolList{}
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
