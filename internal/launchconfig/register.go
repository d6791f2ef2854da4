package launchconfig

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/watches"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awslaunchconfigs/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=awsmanagedcontrolplanes,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// Secrets are read by name, and never watched or listed.
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Indexes of the cache: byConfig finds the pools of a launch config, and byCluster the launch configs
// of a Cluster.
const (
	byConfig  = "launchConfig"
	byCluster = "cluster"
)

// Indexes returns the indexes of the cache that the controller needs.
func Indexes() []watches.Index {
	values := func(pool client.Object) []string {
		if name := configOf(pool); name != "" {
			return []string{name}
		}
		return nil
	}
	return []watches.Index{
		{Object: &infrav1.AWSMachinePool{}, Name: byConfig, Values: values}, {Object: &infrav1.AWSManagedMachinePool{}, Name: byConfig, Values: values},
		{Object: &infrav1.AWSLaunchConfig{}, Name: byCluster, Values: clusterNameOf},
	}
}

// Register adds the controller to a manager. Bootstrap wakes configs whose Secret changed; networks
// are the kinds of objects with a cluster's network.
func (r *Reconciler) Register(manager ctrl.Manager, settings watches.Settings, bootstrap source.Source, networks []client.Object) error {
	dependents := func(ctx context.Context, cluster types.NamespacedName) ([]reconcile.Request, error) {
		return r.configsOf(ctx, cluster, settings)
	}
	changes := builder.WithPredicates(watches.ClusterChanges())
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		For(&infrav1.AWSLaunchConfig{}, builder.WithPredicates(settings.Watched())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(watches.ByCluster(watches.Itself, dependents)), changes).
		Watches(&infrav1.AWSMachinePool{}, byUser).
		Watches(&infrav1.AWSManagedMachinePool{}, byUser).
		WatchesRawSource(watches.Indexing(manager.GetFieldIndexer(), Indexes())).
		WatchesRawSource(bootstrap).
		WatchesRawSource(r.options.Clouds.TemplateEvents()).
		WithOptions(settings.Options())
	for _, network := range networks {
		controller = controller.Watches(network, handler.EnqueueRequestsFromMapFunc(watches.ByCluster(watches.ClusterOf, dependents)), changes)
	}
	if err := controller.Complete(settings.Reconciler("AWSLaunchConfig", r.options.Client, &infrav1.AWSLaunchConfig{}, r)); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// clusterNameOf returns the name of the Cluster of a launch config, for an index.
func clusterNameOf(object client.Object) []string {
	if config, is := object.(*infrav1.AWSLaunchConfig); is && config.Spec.ClusterName != "" {
		return []string{config.Spec.ClusterName}
	}
	return nil
}

// configsOf returns requests for the launch configs of a Cluster.
func (r *Reconciler) configsOf(ctx context.Context, cluster types.NamespacedName, settings watches.Settings) ([]reconcile.Request, error) {
	configs := &infrav1.AWSLaunchConfigList{}
	if err := r.options.Client.List(ctx, configs, client.InNamespace(cluster.Namespace), client.MatchingFields{byCluster: cluster.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing launch configs: %w", err)
	}
	var dependent []client.Object
	for i := range configs.Items {
		if config := &configs.Items[i]; settings.WatchFilter == "" || config.Labels[watches.WatchFilterLabel] == settings.WatchFilter {
			dependent = append(dependent, config)
		}
	}
	return watches.Requests(dependent), nil
}
