package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/bootstrap"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
)

const (
	// controllerWorkers is the number of objects that each controller works on at once.
	controllerWorkers = 5
	// discoveryInterval is the time in which the garbage collector learns of a new CRD (30 s in
	// kube-controller-manager; tests do not have that long).
	discoveryInterval = time.Second
	// namespaceResync is kube-controller-manager's default.
	namespaceResync = 5 * time.Minute
	// daemonBackoff bounds how long the failing pod of a DaemonSet waits; kube-controller-manager's
	// default.
	daemonBackoff = 15 * time.Minute
)

// controllers are the controllers of kube-controller-manager that every API server needs for its
// own objects to come and go: without the garbage collector no object with an owner ever goes,
// without the namespace controller no namespace does, without the service account controller no Pod
// can be created, and without the token cleaner bootstrap tokens outlive their expiry. Where there
// is a scheduler, DaemonSets have their pods too: every node has less room by them.
type controllers struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// startControllers runs them until stop, whatever becomes of the context that bounded the start.
func startControllers(ctx context.Context, config *rest.Config, daemonSets bool) (*controllers, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a metadata client: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &controllers{cancel: cancel}
	if err := c.start(ctx, clients, metadataClient); err != nil {
		cancel()
		return nil, err
	}
	if daemonSets {
		if err := c.startDaemonSets(ctx, clients); err != nil {
			cancel()
			return nil, err
		}
	}
	return c, nil
}

func (c *controllers) start(ctx context.Context, clients kubernetes.Interface, metadataClient metadata.Interface) error {
	shared := informers.NewSharedInformerFactory(clients, 0)
	accounts, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx),
		shared.Core().V1().ServiceAccounts(), shared.Core().V1().Namespaces(), clients,
		serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return fmt.Errorf("making the service account controller: %w", err)
	}
	namespaces := namespace.NewNamespaceController(ctx, clients, metadataClient,
		clients.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	tokens, err := bootstrap.NewTokenCleaner(clients, shared.Core().V1().Secrets(), bootstrap.DefaultTokenCleanerOptions())
	if err != nil {
		return fmt.Errorf("making the token cleaner: %w", err)
	}
	collect, err := newGarbageCollector(ctx, clients, metadataClient, shared)
	if err != nil {
		return err
	}
	shared.Start(ctx.Done())
	c.run(func() { accounts.Run(ctx, controllerWorkers) })
	c.run(func() { namespaces.Run(ctx, controllerWorkers) })
	c.run(func() { tokens.Run(ctx) })
	c.run(func() { collect(ctx) })
	return nil
}

// startDaemonSets runs the controller that creates the pods of DaemonSets, one per Node that suits.
func (c *controllers) startDaemonSets(ctx context.Context, clients kubernetes.Interface) error {
	shared := informers.NewSharedInformerFactory(clients, 0)
	sets, err := daemon.NewDaemonSetsController(ctx, shared.Apps().V1().DaemonSets(), shared.Apps().V1().ControllerRevisions(), shared.Core().V1().Pods(),
		shared.Core().V1().Nodes(), clients, flowcontrol.NewBackOff(time.Second, daemonBackoff))
	if err != nil {
		return fmt.Errorf("making the controller of DaemonSets: %w", err)
	}
	shared.Start(ctx.Done())
	c.run(func() { sets.Run(ctx, controllerWorkers) })
	return nil
}

// newGarbageCollector returns the function that runs it.
func newGarbageCollector(ctx context.Context, clients kubernetes.Interface, metadataClient metadata.Interface, shared informers.SharedInformerFactory) (func(context.Context), error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(clients.Discovery()))
	started := make(chan struct{})
	close(started) // informers that are added later are started by the collector itself
	ignored := map[schema.GroupResource]struct{}{}
	for resource := range garbagecollector.DefaultIgnoredResources() {
		ignored[resource] = struct{}{}
	}
	factory := informerfactory.NewInformerFactory(shared, metadatainformer.NewSharedInformerFactory(metadataClient, 0))
	collector, err := garbagecollector.NewGarbageCollector(ctx, clients, metadataClient, mapper, ignored, factory, started)
	if err != nil {
		return nil, fmt.Errorf("making the garbage collector: %w", err)
	}
	return func(ctx context.Context) {
		var wg sync.WaitGroup
		wg.Go(func() { collector.Run(ctx, controllerWorkers, discoveryInterval) })
		wg.Go(func() { collector.Sync(ctx, clients.Discovery(), discoveryInterval) })
		wg.Wait()
	}, nil
}

func (c *controllers) run(f func()) { c.wg.Go(f) }

// stop stops the controllers and waits for them.
func (c *controllers) stop(deadline time.Time) error {
	c.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.wg.Wait()
	}()
	return waitUntil(deadline, done, "the controllers")
}
