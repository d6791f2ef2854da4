package simulation

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// clusterAPI is the connection by which a process drains nodes. Each call has the fate that the
// schedule has for it. Only what draining uses is there.
type clusterAPI struct {
	kubernetes.Interface
	// cluster is the cluster, and observer sees what is done to its pods.
	cluster  *nodeCluster
	observer *provisionerObserver
	gate     *gate
}

// CoreV1 implements kubernetes.Interface.
func (c clusterAPI) CoreV1() coreclient.CoreV1Interface { return coreAPI{api: c} }

// PolicyV1 implements kubernetes.Interface.
func (c clusterAPI) PolicyV1() policyclient.PolicyV1Interface { return policyAPI{api: c} }

func (c clusterAPI) call(name string, changes bool, do func() error) error {
	return c.gate.call(name, changes, func() error {
		err := do()
		if changes {
			c.gate.world.trace.detail("%s: %s", name, answerOf(nil, err))
		}
		return err
	}, func() error { return apierrors.NewServiceUnavailable("the API server is restarting") })
}

type coreAPI struct {
	coreclient.CoreV1Interface
	api clusterAPI
}

// Nodes implements coreclient.CoreV1Interface.
func (c coreAPI) Nodes() coreclient.NodeInterface { return nodesAPI{api: c.api} }

// Pods implements coreclient.CoreV1Interface.
func (c coreAPI) Pods(namespace string) coreclient.PodInterface {
	return podsAPI{api: c.api, namespace: namespace}
}

type nodesAPI struct {
	coreclient.NodeInterface
	api clusterAPI
}

// Get implements coreclient.NodeInterface.
func (n nodesAPI) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	node := &corev1.Node{}
	err := n.api.call("get Node "+name, false, func() error { return n.api.cluster.world.user.Get(ctx, client.ObjectKey{Name: name}, node) })
	return node, err
}

// Patch implements coreclient.NodeInterface.
func (n nodesAPI) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Node, error) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if n.api.gate.world.flaw.NoCordons {
		return node, nil
	}
	err := n.api.call("patch Node "+name, true, func() error { return n.api.cluster.world.user.Patch(ctx, node, client.RawPatch(kind, data)) })
	return node, err
}

type podsAPI struct {
	coreclient.PodInterface
	api       clusterAPI
	namespace string
}

// List implements coreclient.PodInterface.
func (p podsAPI) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	selector, err := fields.ParseSelector(options.FieldSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	found := &corev1.PodList{}
	err = p.api.call("list pods of "+options.FieldSelector, false, func() error {
		var all corev1.PodList
		if err := p.api.cluster.world.user.List(ctx, &all, client.InNamespace(p.namespace)); err != nil {
			return err
		}
		for i := range all.Items {
			if selector.Matches(fields.Set{"spec.nodeName": all.Items[i].Spec.NodeName}) {
				found.Items = append(found.Items, all.Items[i])
			}
		}
		return nil
	})
	return found, err
}

// Delete implements coreclient.PodInterface.
func (p podsAPI) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return p.api.call("delete pod "+name, true, func() error {
		pod, err := p.api.cluster.podFor(ctx, p.namespace, name, options.Preconditions)
		if err != nil {
			return err
		}
		p.api.observer.deletedByProcess(ctx, pod)
		return client.IgnoreNotFound(p.api.cluster.world.user.Delete(ctx, pod))
	})
}

type policyAPI struct {
	policyclient.PolicyV1Interface
	api clusterAPI
}

// Evictions implements policyclient.PolicyV1Interface.
func (p policyAPI) Evictions(namespace string) policyclient.EvictionInterface {
	return evictionsAPI{api: p.api, namespace: namespace}
}

type evictionsAPI struct {
	policyclient.EvictionInterface
	api       clusterAPI
	namespace string
}

// Evict implements policyclient.EvictionInterface.
func (e evictionsAPI) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return e.api.call("evict pod "+eviction.Name, true, func() error {
		var only *metav1.Preconditions
		if eviction.DeleteOptions != nil {
			only = eviction.DeleteOptions.Preconditions
		}
		cluster, observer := e.api.cluster, e.api.observer
		pod, err := cluster.podFor(ctx, e.namespace, eviction.Name, only)
		if err != nil || pod.DeletionTimestamp != nil {
			return err
		}
		if e.api.gate.world.flaw.Deletes {
			observer.deletedByProcess(ctx, pod)
			return cluster.world.user.Delete(ctx, pod)
		}
		held, err := cluster.budgetAgainst(ctx, pod)
		switch {
		case err != nil:
			return err
		case held != "":
			return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
		}
		observer.evictedByProcess(ctx, pod)
		return client.IgnoreNotFound(cluster.world.user.Delete(ctx, pod))
	})
}

// podFor returns a pod as the API server has it, unless a precondition does not hold.
func (c *nodeCluster) podFor(ctx context.Context, namespace, name string, only *metav1.Preconditions) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := c.world.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
		return nil, err
	}
	if only != nil && only.UID != nil && *only.UID != pod.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, name, fmt.Errorf("the UID is %s", pod.UID))
	}
	return pod, nil
}

// budgetAgainst returns the PodDisruptionBudget that is against the eviction of a pod, empty for none
// (Kubernetes: registry/core/pod/storage, eviction.go).
func (c *nodeCluster) budgetAgainst(ctx context.Context, pod *corev1.Pod) (string, error) {
	view, err := c.look(ctx)
	if err != nil {
		return "", err
	}
	if pod.Status.Phase == corev1.PodPending {
		return "", nil
	}
	for i := range view.budgets {
		budget := &view.budgets[i]
		if !slices.ContainsFunc(view.covered(budget), func(one *corev1.Pod) bool { return one.UID == pod.UID }) {
			continue
		}
		now := view.allows(budget)
		if podReady(pod) && now.disruptions() == 0 || !podReady(pod) && now.healthy < now.wanted {
			return budget.Name, nil
		}
	}
	return "", nil
}
