package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/drain"
)

// nodes is the workload cluster of a copy. The Node of an instance has the instance's ID as its name,
// and one pod, which takes drainTime to end.
type nodes struct {
	clock     *simclock.Clock
	drainTime time.Duration
	byID      map[string]*node
	// cordoned is called with the name of each Node that is cordoned.
	cordoned func(id string)
}

// node is a Node. Its pod is on it until empty is set, and was evicted if evicting is.
type node struct {
	corev1.Node
	evicting, empty bool
}

var _ drain.API = (*nodes)(nil)

// Client implements machinepool.Workloads.
func (n *nodes) Client(context.Context, types.NamespacedName) (drain.API, error) { return n, nil }

// join adds the Node of an instance.
func (n *nodes) join(id, zone string) {
	n.byID[id] = &node{Node: corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: id},
		Spec:   corev1.NodeSpec{ProviderID: "aws:///" + zone + "/" + id},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}}
}

// leave removes the Node of an instance.
func (n *nodes) leave(id string) { delete(n.byID, id) }

// up returns the number of Nodes that are ready, and are not being drained.
func (n *nodes) up() int {
	up := 0
	for _, one := range n.byID {
		if !one.Spec.Unschedulable {
			up++
		}
	}
	return up
}

// find returns a Node.
func (n *nodes) find(name string) (*node, error) {
	found, exists := n.byID[name]
	if !exists {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
	}
	return found, nil
}

// EachNode implements drain.API.
func (n *nodes) EachNode(_ context.Context, visit func(*corev1.Node) bool) error {
	for _, name := range slices.Sorted(maps.Keys(n.byID)) {
		if !visit(n.byID[name].DeepCopy()) {
			break
		}
	}
	return nil
}

// Node implements drain.API.
func (n *nodes) Node(_ context.Context, name string) (*corev1.Node, error) {
	found, err := n.find(name)
	if err != nil {
		return nil, err
	}
	return found.DeepCopy(), nil
}

// Cordon implements drain.API.
func (n *nodes) Cordon(_ context.Context, name string) error {
	found, err := n.find(name)
	if err != nil {
		return err
	}
	if !found.Spec.Unschedulable {
		n.cordoned(name)
	}
	found.Spec.Unschedulable = true
	found.Annotations = map[string]string{drain.CordonedAnnotation: "true"}
	return nil
}

// Uncordon implements drain.API.
func (n *nodes) Uncordon(_ context.Context, name string, patch []byte) error {
	found, err := n.find(name)
	if err != nil {
		return err
	}
	before, err := json.Marshal(found.Node)
	if err != nil {
		return fmt.Errorf("encoding Node %s: %w", name, err)
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	after, err := operations.Apply(before)
	if err != nil {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, name, nil)
	}
	changed := corev1.Node{}
	if err := json.Unmarshal(after, &changed); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	found.Node, found.evicting, found.empty = changed, false, false
	return nil
}

// Pods implements drain.API.
func (n *nodes) Pods(_ context.Context, name string) ([]corev1.Pod, error) {
	found, exists := n.byID[name]
	if !exists || found.empty {
		return nil, nil
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(name)}}
	pod.Spec.NodeName, pod.Status.Phase = name, corev1.PodRunning
	if found.evicting {
		pod.DeletionTimestamp = &metav1.Time{Time: n.clock.Now()}
	}
	return []corev1.Pod{pod}, nil
}

// Evict implements drain.API.
func (n *nodes) Evict(_ context.Context, eviction *policyv1.Eviction) error {
	found, exists := n.byID[eviction.Name]
	if !exists || found.empty {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, eviction.Name)
	}
	if !found.evicting {
		found.evicting = true
		n.clock.AfterFunc(n.drainTime, func() { found.empty = found.evicting })
	}
	return nil
}
