package clusterapi

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/reconcilers/kubeadmconfig"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterclass"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinepool"
	topologycluster "sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster"
	"sigs.k8s.io/cluster-api/core/setup"
	"sigs.k8s.io/cluster-api/util/index"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

const (
	// name is the manager's name in metrics and user agents.
	name = "slipway-laboratory-cluster-api"
	// workers is the number of objects that each controller works on at once.
	workers = 10
	// These are the defaults of Cluster API's own command (core/main.go).
	remoteConnectionGracePeriod = 50 * time.Second
	remoteConditionsGracePeriod = 5 * time.Minute
	syncPeriod                  = 10 * time.Minute
	// Many small clusters share one workload API server here.
	clusterCacheQPS, clusterCacheBurst = 100, 200
)

// cacheOptions caches what core and the bootstrap provider cache between them: only the Secrets of
// clusters, and only the data of kubeconfigs and certificates. Cluster API's own informers, which
// add metrics to this, can be created only once per process.
func cacheOptions() cache.Options {
	ofClusters, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	utilruntime.Must(err)
	period := syncPeriod
	return cache.Options{
		SyncPeriod: &period,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {
				Label:     labels.NewSelector().Add(*ofClusters),
				Transform: dropOtherSecretData,
			},
		},
	}
}

func dropOtherSecretData(object any) (any, error) {
	if held, ok := object.(*corev1.Secret); ok {
		held.SetManagedFields(nil)
		if !secret.HasPurposeSuffix(held.Name) && !strings.HasSuffix(held.Name, "-"+string(secret.Kubeconfig)) {
			held.Data = nil
		}
	}
	return object, nil
}

// clientOptions reads KubeadmConfigs past the cache. The bootstrap provider creates another join
// token when its cache does not know yet the one that it has just created, which would occasionally
// disturb tests that count.
func clientOptions() client.Options {
	options := setup.ManagerClientOptions()
	options.Cache.DisableFor = append(options.Cache.DisableFor, &bootstrapv1.KubeadmConfig{})
	return options
}

// addReconcilers adds the controllers and returns the cluster cache that they share.
func addReconcilers(ctx context.Context, manager ctrl.Manager, opts Options) (clustercache.ClusterCache, error) {
	if err := index.AddDefaultIndexes(ctx, manager); err != nil {
		return nil, fmt.Errorf("adding the indexes: %w", err)
	}
	secrets, err := setup.CreateSecretCachingClient(manager)
	if err != nil {
		return nil, fmt.Errorf("making the client for secrets: %w", err)
	}
	options := controller.Options{MaxConcurrentReconciles: workers}
	clusters, err := clustercache.SetupWithManager(ctx, manager, clustercache.Options{
		SecretClient: secrets,
		Cache:        setup.ClusterCacheCacheOptions(),
		Client:       setup.ClusterCacheClientOptions(name, clusterCacheQPS, clusterCacheBurst),
	}, options)
	if err != nil {
		return nil, fmt.Errorf("adding the cluster cache: %w", err)
	}
	ttl := opts.BootstrapTokenTTL
	if ttl == 0 {
		ttl = kubeadmconfig.DefaultTokenTTL
	}
	reader, writer := manager.GetAPIReader(), manager.GetClient()
	type reconciler interface {
		SetupWithManager(ctx context.Context, manager ctrl.Manager, options controller.Options) error
	}
	reconcilers := map[string]reconciler{
		"Cluster": &cluster.Reconciler{
			Client: writer, APIReader: reader, ClusterCache: clusters, RemoteConnectionGracePeriod: remoteConnectionGracePeriod,
		},
		"Machine": &machine.Reconciler{
			Client: writer, APIReader: reader, ClusterCache: clusters, RemoteConditionsGracePeriod: remoteConditionsGracePeriod,
		},
		"MachinePool": &machinepool.Reconciler{Client: writer, APIReader: reader, ClusterCache: clusters},
		"KubeadmConfig": &kubeadmconfig.Reconciler{
			Client: writer, SecretCachingClient: secrets, APIReader: reader, ClusterCache: clusters, TokenTTL: ttl,
		},
	}
	if !opts.WithoutClusterTopology {
		reconcilers["ClusterClass"] = &clusterclass.Reconciler{Client: writer}
		reconcilers["Cluster topology"] = &topologycluster.Reconciler{Client: writer, APIReader: reader, ClusterCache: clusters}
	}
	for name, reconciler := range reconcilers {
		if opts.WithoutPools && (name == "MachinePool" || name == "KubeadmConfig") {
			continue
		}
		if err := reconciler.SetupWithManager(ctx, manager, options); err != nil {
			return nil, fmt.Errorf("adding the %s controller: %w", name, err)
		}
	}
	return clusters, nil
}
