package drain

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// evictionsPerLook bounds how long one look takes: the next one goes on. The kubelet's default is 110 pods on a node.
const evictionsPerLook = 100

// page is how many objects one list asks for.
const page = 500

// Find returns the names of the Nodes of instances by their provider ids. What has no Node is missing.
func Find(ctx context.Context, api kubernetes.Interface, providerIDs []string) (map[string]string, error) {
	wanted := make(map[string]bool, len(providerIDs))
	for _, id := range providerIDs {
		wanted[id] = true
	}
	found := map[string]string{}
	options := metav1.ListOptions{Limit: page}
	for {
		nodes, err := api.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("listing Nodes: %w", err)
		}
		for i := range nodes.Items {
			if node := &nodes.Items[i]; wanted[node.Spec.ProviderID] {
				found[node.Spec.ProviderID] = node.Name
			}
		}
		if nodes.Continue == "" || len(found) == len(wanted) {
			return found, nil
		}
		options.Continue = nodes.Continue
	}
}

// Look takes one step in emptying the Node of an instance: it cordons it and asks for the eviction of the pods whose turn it is. A Node that is
// gone, or that is another instance's by now, is empty.
func Look(ctx context.Context, api kubernetes.Interface, name, providerID string) (Progress, error) {
	node, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && node.Spec.ProviderID != providerID {
		return Progress{Node: name, Empty: true, Gone: true}, nil
	}
	if err != nil {
		return Progress{}, fmt.Errorf("reading Node %q: %w", name, err)
	}
	if err := cordon(ctx, api, node); err != nil {
		return Progress{}, err
	}
	pods, err := podsOf(ctx, api, name)
	if err != nil {
		return Progress{}, err
	}
	todo := planFor(node, pods)
	progress := Progress{
		Node: name, Empty: todo.empty(),
		Ending: len(todo.ending), Completing: len(todo.completing), Later: len(todo.later),
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

// cordon keeps the scheduler from putting further pods on the node. What the node lifecycle controller follows it up with, a taint, is its own.
func cordon(ctx context.Context, api kubernetes.Interface, node *corev1.Node) error {
	if node.Spec.Unschedulable {
		return nil
	}
	patch := []byte(`{"spec":{"unschedulable":true}}`)
	_, err := api.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cordoning Node %q: %w", node.Name, err)
	}
	return nil
}

func podsOf(ctx context.Context, api kubernetes.Interface, node string) ([]corev1.Pod, error) {
	options := metav1.ListOptions{Limit: page, FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()}
	var pods []corev1.Pod
	for {
		list, err := api.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("listing the pods of Node %q: %w", node, err)
		}
		pods = append(pods, list.Items...)
		if list.Continue == "" {
			return pods, nil
		}
		options.Continue = list.Continue
	}
}

// evict asks for one eviction. The pod's own grace period holds.
func evict(ctx context.Context, api kubernetes.Interface, pod *corev1.Pod) verdict {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	// A pod of the same name that came meanwhile is not this node's.
	eviction.DeleteOptions = &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	err := api.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction)
	var refusal apierrors.APIStatus
	switch {
	case err == nil:
		return verdict{accepted: true}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return verdict{} // it is gone, or is looked at again
	case apierrors.IsTooManyRequests(err):
		return verdict{budget: budgetOf(err, pod.Namespace)}
	case errors.As(err, &refusal):
		return verdict{failure: refusal.Status().Message}
	}
	return verdict{failure: "the API server does not answer"}
}

// verdict is the answer to one eviction.
type verdict struct {
	accepted bool
	// budget is the PodDisruptionBudget that holds the pod.
	budget string
	// failure is why it failed for another reason.
	failure string
}

// budgetPattern finds the name in the API server's words (Kubernetes: registry/core/pod/storage/eviction.go): "The disruption budget web needs 2
// healthy pods and has 2 currently", "The disruption budget web is still being processed by the server.".
var budgetPattern = regexp.MustCompile(`disruption budget (\S+)`)

// budgetOf names the budget that an eviction was refused for: namespace and name, or less if the API server does not say.
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
