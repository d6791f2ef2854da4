package controlplane

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// schedulerServer is a running kube-scheduler with its default profile: the one that a cluster has
// unless it is configured otherwise.
type schedulerServer struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// startScheduler runs a kube-scheduler until stop and returns once it has seen what is there. It
// does what the command does between reading its configuration and serving, but for leader
// election: there is no second one.
func startScheduler(ctx context.Context, config *rest.Config) (*schedulerServer, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a dynamic client: %w", err)
	}
	bound := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &schedulerServer{cancel: cancel, done: make(chan struct{})}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
	informers := scheduler.NewInformerFactory(clients, 0)
	dynamicInformers := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, metav1.NamespaceAll, nil)
	instance, err := scheduler.New(ctx, clients, informers, dynamicInformers, profile.NewRecorderFactory(broadcaster), scheduler.WithKubeConfig(config))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("making the scheduler: %w", err)
	}
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("recording the scheduler's events: %w", err)
	}
	informers.Start(ctx.Done())
	dynamicInformers.Start(ctx.Done())
	informers.WaitForCacheSync(bound.Done())
	dynamicInformers.WaitForCacheSync(bound.Done())
	if err := instance.WaitForHandlersSync(bound); err != nil {
		cancel()
		return nil, fmt.Errorf("waiting for what the scheduler watches: %w", err)
	}
	go func() {
		defer close(s.done)
		instance.Run(ctx)
		broadcaster.Shutdown()
		informers.Shutdown()
		dynamicInformers.Shutdown()
	}()
	return s, nil
}

func (s *schedulerServer) stop(deadline time.Time) error {
	s.cancel()
	return waitUntil(deadline, s.done, "the scheduler")
}
