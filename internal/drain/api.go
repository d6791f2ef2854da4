package drain

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// API contains the operations on a cluster that draining needs. Package workload implements it for
// clusters whose API server is not trusted; their Nodes and pods have only the fields that Leaves
// and the plan of a drain read.
type API interface {
	// EachNode calls a function with every Node until it returns false.
	EachNode(ctx context.Context, visit func(*corev1.Node) bool) error
	// Node returns a Node. The error is NotFound if there is none.
	Node(ctx context.Context, name string) (*corev1.Node, error)
	// Cordon marks a Node as unschedulable.
	Cordon(ctx context.Context, name string) error
	// Uncordon applies an UncordonPatch to a Node. The error is Invalid if one of its tests fails.
	Uncordon(ctx context.Context, name string, patch []byte) error
	// Pods returns the pods of a Node.
	Pods(ctx context.Context, node string) ([]corev1.Pod, error)
	// Evict requests one eviction.
	Evict(ctx context.Context, eviction *policyv1.Eviction) error
}

// Deleter deletes pods whatever PodDisruptionBudgets ask for. Only a cluster that is trusted has one.
type Deleter interface {
	// Delete requests the deletion of a pod with a grace period in seconds.
	Delete(ctx context.Context, pod *corev1.Pod, gracePeriod int64) error
}

// CordonedAnnotation marks the Nodes that Slipway cordoned, so that it uncordons no others.
const CordonedAnnotation = "slipway.infrastructure.cluster.x-k8s.io/cordoned"

// CordonPatch is the strategic merge patch that cordons a Node. The taint that follows is the node
// lifecycle controller's.
const CordonPatch = `{"metadata":{"annotations":{"` + CordonedAnnotation + `":"true"}},"spec":{"unschedulable":true}}`

// UncordonPatch returns the JSON patch that uncordons the Node of an instance, unless another
// controller or a user cordoned it, or it is another instance's.
func UncordonPatch(providerID string) []byte {
	annotation := "/metadata/annotations/" + strings.ReplaceAll(CordonedAnnotation, "/", "~1")
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/spec/providerID", "value": providerID},
		{"op": "test", "path": annotation, "value": "true"},
		{"op": "remove", "path": annotation},
		{"op": "add", "path": "/spec/unschedulable", "value": false},
	})
	if err != nil {
		panic(err) // strings and a bool: there is nothing that JSON cannot write
	}
	return patch
}

// Page limits how many objects one list request returns.
const Page = 500

// Clientset returns the API of a cluster that is trusted: the management cluster, or the one that
// this process runs in.
func Clientset(api kubernetes.Interface) TrustedAPI { return &clientset{api} }

// TrustedAPI is the API of a cluster whose pods Slipway may also delete.
type TrustedAPI interface {
	API
	Deleter
}

type clientset struct{ kubernetes.Interface }

// EachNode implements API.
func (c *clientset) EachNode(ctx context.Context, visit func(*corev1.Node) bool) error {
	options := metav1.ListOptions{Limit: Page}
	for {
		nodes, err := c.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return err
		}
		for i := range nodes.Items {
			if !visit(&nodes.Items[i]) {
				return nil
			}
		}
		if options.Continue = nodes.Continue; options.Continue == "" {
			return nil
		}
	}
}

// Node implements API.
func (c *clientset) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return c.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// Cordon implements API.
func (c *clientset) Cordon(ctx context.Context, name string) error {
	_, err := c.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(CordonPatch), metav1.PatchOptions{})
	return err
}

// Uncordon implements API.
func (c *clientset) Uncordon(ctx context.Context, name string, patch []byte) error {
	_, err := c.CoreV1().Nodes().Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// Pods implements API.
func (c *clientset) Pods(ctx context.Context, node string) ([]corev1.Pod, error) {
	options := metav1.ListOptions{Limit: Page, FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()}
	var pods []corev1.Pod
	for {
		list, err := c.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return nil, err
		}
		pods = append(pods, list.Items...)
		if options.Continue = list.Continue; options.Continue == "" {
			return pods, nil
		}
	}
}

// Evict implements API.
func (c *clientset) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return c.PolicyV1().Evictions(eviction.Namespace).Evict(ctx, eviction)
}

// Delete implements Deleter.
func (c *clientset) Delete(ctx context.Context, pod *corev1.Pod, gracePeriod int64) error {
	// A pod of the same name that came meanwhile is not this node's.
	return c.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &gracePeriod, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
}
