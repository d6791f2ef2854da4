// Package clusterapi runs the Cluster API controllers inside the calling process against an API
// server: core (Cluster, Machine, MachinePool, with the cluster cache) and the kubeadm bootstrap
// provider, together with all their admission and conversion webhooks and the webhooks of the
// kubeadm control plane provider. It owns one controller-runtime manager for all of them, set up as
// the providers' own commands set up theirs.
//
// Not run are the controllers for MachineSet, MachineDeployment, MachineHealthCheck,
// ClusterResourceSet and KubeadmControlPlane: pools need none of them. Their kinds and webhooks are
// there. The controllers for ClusterClass run where they are asked for.
package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1" //nolint:staticcheck // deprecated versions are served and converted
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1" //nolint:staticcheck // deprecated versions are served and converted
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1" //nolint:staticcheck // deprecated versions are served and converted
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // deprecated versions are served and converted
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1" //nolint:staticcheck // deprecated versions are served and converted
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"   //nolint:staticcheck // deprecated versions are served and converted
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1" //nolint:staticcheck // deprecated versions are served and converted
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/feature"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-project/slipway/lab/controlplane"
	"github.com/slipway-project/slipway/lab/crds"
)

// stopTimeout bounds how long reconciles under way may take to finish.
const stopTimeout = 2 * time.Second

// NewScheme returns a scheme with Cluster API's kinds in all their versions and the Kubernetes
// kinds that go with them.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, storagev1.AddToScheme,
		clusterv1beta1.AddToScheme, clusterv1.AddToScheme,
		bootstrapv1beta1.AddToScheme, bootstrapv1.AddToScheme,
		controlplanev1beta1.AddToScheme, controlplanev1.AddToScheme,
		addonsv1beta1.AddToScheme, addonsv1.AddToScheme,
		runtimev1alpha1.AddToScheme, runtimev1.AddToScheme,
		ipamv1alpha1.AddToScheme, ipamv1beta1.AddToScheme, ipamv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// Options says how to run Cluster API. RESTConfig is required.
type Options struct {
	// RESTConfig reaches the management cluster as an administrator.
	RESTConfig *rest.Config
	// Definitions are installed together with Cluster API's own, at no further cost of time.
	Definitions []*crds.Set
	// BootstrapTokenTTL is how long a kubeadm join token is valid; it is rotated before, after half
	// of it. Real time, not the simulated clock's. Default 15 minutes, the kubeadm bootstrap
	// provider's own default.
	BootstrapTokenTTL time.Duration
	// WithoutPools leaves out the controllers of MachinePools and KubeadmConfigs, and keeps their
	// webhooks: for tests that do the work of these controllers, with more pools than they would
	// manage in the time of a test.
	WithoutPools bool
	// WithoutClusterTopology leaves out the controllers of ClusterClasses and of the Clusters that
	// are created from them.
	WithoutClusterTopology bool
}

// Running is Cluster API at work.
type Running struct {
	cancel       context.CancelFunc
	done         chan struct{}
	err          error // valid once done is closed
	shutDown     func()
	httpClient   *http.Client
	webhooksBase string
}

// Start installs the definitions, runs the controllers and returns when their
// caches are filled and their webhooks answer. The context bounds the start
// only; the controllers run until Stop.
func Start(ctx context.Context, opts Options) (_ *Running, err error) {
	if err := feature.MutableGates.SetFromMap(map[string]bool{
		string(feature.MachinePool):                    true,
		string(feature.KubeadmBootstrapFormatIgnition): true,
		// Spares big management clusters by reconciling an object at most once a second; small ones
		// only wait for it.
		string(feature.ReconcilerRateLimiting): false,
	}); err != nil {
		return nil, fmt.Errorf("setting feature gates: %w", err)
	}
	// never off again: the gates are the process's, and another laboratory in it may want it
	if !opts.WithoutClusterTopology {
		if err := feature.MutableGates.SetFromMap(map[string]bool{string(feature.ClusterTopology): true}); err != nil {
			return nil, fmt.Errorf("setting feature gates: %w", err)
		}
	}
	caBundle, certificate, key, err := controlplane.ServingCertificate("cluster-api-webhooks")
	if err != nil {
		return nil, fmt.Errorf("making the webhooks' certificate: %w", err)
	}
	webhooks, err := newWebhookServer(certificate, key)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, webhooks.close())
		}
	}()
	set, err := crds.ClusterAPI()
	if err != nil {
		return nil, err
	}
	set.ServeWebhooksAt(webhooks.base(), caBundle)
	direct, err := client.New(opts.RESTConfig, client.Options{Scheme: NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	sets := append([]*crds.Set{set}, opts.Definitions...)
	if err := crds.ApplyDefinitions(ctx, direct, sets...); err != nil {
		return nil, err
	}
	server, err := discovery.NewDiscoveryClientForConfig(opts.RESTConfig)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	if err := crds.WaitUntilDiscovered(ctx, server, sets...); err != nil {
		return nil, err
	}
	running, err := startManager(ctx, opts, webhooks)
	if err != nil {
		return nil, err
	}
	if err := set.ApplyWebhooks(ctx, direct); err != nil {
		return nil, errors.Join(err, running.Stop())
	}
	return running, nil
}

// startManager runs the controllers and waits until they and the webhooks are up.
func startManager(ctx context.Context, opts Options, webhooks *webhookServer) (*Running, error) {
	manager, err := ctrl.NewManager(opts.RESTConfig, ctrl.Options{
		Scheme: NewScheme(),
		Controller: config.Controller{
			UsePriorityQueue: ptr.To(feature.Gates.Enabled(feature.PriorityQueue)),
			// Names guard metrics against two managers in one process, which is what a laboratory may be.
			SkipNameValidation: ptr.To(true),
		},
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		Cache:                   cacheOptions(),
		Client:                  clientOptions(),
		WebhookServer:           webhooks,
		GracefulShutdownTimeout: ptr.To(stopTimeout),
	})
	if err != nil {
		return nil, fmt.Errorf("making the Cluster API manager: %w", err)
	}
	managerContext, cancel := context.WithCancel(context.WithoutCancel(ctx))
	clusterCache, err := addReconcilers(managerContext, manager, opts)
	if err == nil {
		err = addWebhooks(manager, clusterCache)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	running := &Running{
		cancel: cancel, done: make(chan struct{}), shutDown: func() {},
		httpClient: manager.GetHTTPClient(), webhooksBase: webhooks.base(),
	}
	// The connections to workload clusters outlive the manager unless they are shut down; the
	// interface lacks the method.
	if stoppable, ok := clusterCache.(interface{ Shutdown() }); ok {
		running.shutDown = stoppable.Shutdown
	}
	go func() {
		defer close(running.done)
		running.err = manager.Start(managerContext)
	}()
	if err := running.waitReady(ctx, manager); err != nil {
		return nil, errors.Join(err, running.Stop())
	}
	return running, nil
}

func (r *Running) waitReady(ctx context.Context, manager ctrl.Manager) error {
	select {
	case <-manager.Elected(): // without leader election: once caches and webhooks have started
	case <-r.done:
		return fmt.Errorf("the Cluster API manager ended: %w", r.err)
	case <-ctx.Done():
		return fmt.Errorf("waiting for the Cluster API manager: %w", context.Cause(ctx))
	}
	if !manager.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("waiting for the caches of the Cluster API manager: %w", context.Cause(ctx))
	}
	return nil
}

// Stop stops the controllers, the webhooks, and the connections to workload clusters. The API
// server cannot accept Cluster API's kinds afterwards.
func (r *Running) Stop() error {
	r.cancel()
	r.shutDown()
	timer := time.NewTimer(2 * stopTimeout)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		return errors.New("the Cluster API manager did not end in time")
	}
	r.httpClient.CloseIdleConnections()
	if r.err != nil {
		return fmt.Errorf("running Cluster API: %w", r.err)
	}
	return nil
}
