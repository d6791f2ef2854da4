package nodes

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Pods does to the pods of a cluster what kubelets do, and the controller that collects the pods of
// Nodes that are gone: a pod that was bound runs, and one that was deleted is gone. It has no
// containers.
type Pods struct {
	clients kubernetes.Interface
	pods    corelisters.PodLister
	nodes   corelisters.NodeLister
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]
	cancel  func()
	wg      sync.WaitGroup
}

// byNode is the index of pods by the Node that they are bound to.
const byNode = "byNode"

// StartPods runs the pods of the cluster that config reaches, until Stop. The context bounds the start only.
func StartPods(ctx context.Context, config *rest.Config) (*Pods, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for pods: %w", err)
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](50*time.Millisecond, 2*time.Second)
	p := &Pods{
		clients: clients, pods: factory.Core().V1().Pods().Lister(), nodes: factory.Core().V1().Nodes().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(limiter),
	}
	if err := p.watch(factory); err != nil {
		return nil, err
	}
	bound := ctx
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	factory.Start(ctx.Done())
	p.cancel = func() {
		p.queue.ShutDown()
		stop()
		factory.Shutdown()
	}
	for kind, synced := range factory.WaitForCacheSync(bound.Done()) {
		if !synced {
			p.cancel()
			return nil, fmt.Errorf("watching %s: %w", kind, context.Cause(bound))
		}
	}
	for range workers {
		p.wg.Go(func() {
			for p.next(ctx) {
			}
		})
	}
	return p, nil
}

func (p *Pods) watch(factory informers.SharedInformerFactory) error {
	pods, nodes := factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer()
	if err := pods.AddIndexers(cache.Indexers{byNode: func(object any) ([]string, error) { return []string{object.(*corev1.Pod).Spec.NodeName}, nil }}); err != nil {
		return fmt.Errorf("indexing pods by their Nodes: %w", err)
	}
	add := func(object any) {
		pod := object.(*corev1.Pod)
		p.queue.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }}); err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	gone := func(object any) {
		if tombstone, is := object.(cache.DeletedFinalStateUnknown); is {
			object = tombstone.Obj
		}
		bound, err := pods.GetIndexer().ByIndex(byNode, object.(*corev1.Node).Name)
		if err != nil {
			panic("nodes: there is no such index: " + err.Error())
		}
		for _, pod := range bound {
			add(pod)
		}
	}
	if _, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: gone}); err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	return nil
}

// Stop leaves the pods as they are.
func (p *Pods) Stop() {
	p.cancel()
	p.wg.Wait()
}

func (p *Pods) next(ctx context.Context) bool {
	key, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	defer p.queue.Done(key)
	if err := p.sync(ctx, key); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "Keeping a simulated pod", "pod", key.String())
		p.queue.AddRateLimited(key)
		return true
	}
	p.queue.Forget(key)
	return true
}

// sync does what is due for a pod.
func (p *Pods) sync(ctx context.Context, key types.NamespacedName) error {
	pod, err := p.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) || err == nil && pod.Spec.NodeName == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading pod %q: %w", key, err)
	}
	switch _, err := p.nodes.Get(pod.Spec.NodeName); {
	case pod.DeletionTimestamp != nil:
		return p.end(ctx, pod)
	case apierrors.IsNotFound(err):
		return p.orphan(ctx, pod)
	case err != nil:
		return fmt.Errorf("reading Node %q: %w", pod.Spec.NodeName, err)
	case pod.Status.Phase == corev1.PodPending:
		return p.run(ctx, pod)
	}
	return nil
}

// orphan deletes the pod of a Node that is gone. The watches of Nodes and of pods are not in step,
// so it asks the API server for the Node.
func (p *Pods) orphan(ctx context.Context, pod *corev1.Pod) error {
	_, err := p.clients.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return p.end(ctx, pod)
	case err != nil:
		return fmt.Errorf("reading Node %q: %w", pod.Spec.NodeName, err)
	}
	return p.run(ctx, pod)
}

// end deletes a pod for good.
func (p *Pods) end(ctx context.Context, pod *corev1.Pod) error {
	options := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
	if err := p.clients.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("ending pod %q: %w", pod.Name, err)
	}
	return nil
}

// run says that a pod runs and is ready.
func (p *Pods) run(ctx context.Context, pod *corev1.Pod) error {
	if pod.Status.Phase != corev1.PodPending {
		return nil
	}
	now := metav1.Now()
	pod = pod.DeepCopy()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	if _, err := p.clients.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("running pod %q: %w", pod.Name, err)
	}
	return nil // a conflict: it was changed, which the watch reports
}
