package drain

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// evictionsPerLook bounds how long one look takes: the next one goes on. The kubelet's default is
// 110 pods on a node.
const evictionsPerLook = 100

// Find returns the names of the Nodes of instances by their provider ids. An instance without a
// Node is missing. A kubelet writes its own provider ID, so several Nodes may name one instance, and
// any of them may be its own.
func Find(ctx context.Context, api API, providerIDs []string) (map[string][]string, error) {
	wanted := make(map[string]bool, len(providerIDs))
	for _, id := range providerIDs {
		wanted[id] = true
	}
	found := map[string][]string{}
	err := api.EachNode(ctx, func(node *corev1.Node) bool {
		if id := node.Spec.ProviderID; wanted[id] {
			found[id] = append(found[id], node.Name)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("listing Nodes: %w", err)
	}
	return found, nil
}

// Look takes one step in emptying the Node of an instance: it cordons it and asks for the eviction
// of the pods whose turn it is. It is empty once these are gone and the kubelet has unmounted their
// volumes. A Node that is gone, or that now belongs to another instance, is empty.
func Look(ctx context.Context, api API, name, providerID string) (Progress, error) {
	return lookWith(ctx, api, name, providerID, Terms{}, nil)
}

// LookWith does the same as Look under additional terms: it waits for the pods that the terms
// protect, and deletes pods in time for the deadline. After the deadline the node counts as empty.
func LookWith(ctx context.Context, api TrustedAPI, name, providerID string, terms Terms) (Progress, error) {
	return lookWith(ctx, api, name, providerID, terms, api)
}

func lookWith(ctx context.Context, api API, name, providerID string, terms Terms, deleter Deleter) (Progress, error) {
	node, err := api.Node(ctx, name)
	if apierrors.IsNotFound(err) || err == nil && node.Spec.ProviderID != providerID {
		return Progress{Node: name, Empty: true, Gone: true}, nil
	}
	if err != nil {
		return Progress{}, fmt.Errorf("reading Node %q: %w", name, err)
	}
	if err := cordon(ctx, api, node); err != nil {
		return Progress{}, err
	}
	pods, err := api.Pods(ctx, name)
	if err != nil {
		return Progress{}, fmt.Errorf("listing the pods of Node %q: %w", name, err)
	}
	todo := planFor(node, pods, terms)
	progress := Progress{
		Node:   name,
		Ending: len(todo.ending), Completing: len(todo.completing), Later: len(todo.later), Protected: len(todo.protected),
	}
	if todo.empty() {
		progress.Mounted = mounted(node, todo.staying)
	}
	progress.Empty = todo.empty() && progress.Mounted == 0 || terms.over()
	if !terms.Deadline.IsZero() {
		progress.Next = terms.next(slices.Concat(todo.evict, todo.later, todo.completing, todo.protected))
	}
	for _, pod := range todo.remove {
		progress.count(remove(ctx, deleter, pod, terms))
	}
	for i, pod := range todo.evict {
		if i == evictionsPerLook || ctx.Err() != nil {
			progress.Later += len(todo.evict) - i
			break
		}
		progress.count(evict(ctx, api, pod))
	}
	return progress, nil
}

// remove deletes a pod whose time is up.
func remove(ctx context.Context, deleter Deleter, pod *corev1.Pod, terms Terms) verdict {
	return verdictOf(deleter.Delete(ctx, pod, terms.gracePeriod(pod)), pod)
}

// cordon keeps the scheduler from putting further pods on the node.
func cordon(ctx context.Context, api API, node *corev1.Node) error {
	if node.Spec.Unschedulable {
		return nil
	}
	if err := api.Cordon(ctx, node.Name); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cordoning Node %q: %w", node.Name, err)
	}
	return nil
}

// Uncordon uncordons the Node of an instance if Slipway cordoned it. A Node that is gone, that now
// belongs to another instance, or that another controller or a user cordoned, is left as it is.
// Uncordon reports whether it changed the Node.
func Uncordon(ctx context.Context, api API, name, providerID string) (bool, error) {
	err := api.Uncordon(ctx, name, UncordonPatch(providerID))
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("uncordoning Node %q: %w", name, err)
	}
	return true, nil
}

// evict asks for one eviction. The pod's own grace period holds.
func evict(ctx context.Context, api API, pod *corev1.Pod) verdict {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	// A pod of the same name that came meanwhile is not this node's.
	eviction.DeleteOptions = &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	return verdictOf(api.Evict(ctx, eviction), pod)
}

func verdictOf(err error, pod *corev1.Pod) verdict {
	var refusal apierrors.APIStatus
	switch {
	case err == nil:
		return verdict{accepted: true}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return verdict{} // it is gone, or is checked again
	case apierrors.IsTooManyRequests(err):
		return verdict{budget: budgetOf(err, pod.Namespace)}
	case errors.As(err, &refusal):
		return verdict{failure: refusal.Status().Message}
	}
	return verdict{failure: "the API server does not respond"}
}

// verdict is the answer to one eviction.
type verdict struct {
	accepted bool
	// budget is the PodDisruptionBudget that holds the pod.
	budget string
	// failure is why it failed for another reason.
	failure string
}

// budgetPattern finds the name in the API server's words (Kubernetes:
// registry/core/pod/storage/eviction.go): "The disruption budget web needs 2 healthy pods and has 2
// currently", "The disruption budget web is still being processed by the server.".
var budgetPattern = regexp.MustCompile(`disruption budget (\S+)`)

// budgetOf names the budget that an eviction was refused for: namespace and name, or less if the
// API server does not say.
func budgetOf(err error, namespace string) string {
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) && refusal.Status().Details != nil {
		for _, cause := range refusal.Status().Details.Causes {
			if match := budgetPattern.FindStringSubmatch(cause.Message); cause.Type == policyv1.DisruptionBudgetCause && match != nil {
				return namespace + "/" + match[1]
			}
		}
	}
	return "in namespace " + namespace
}
