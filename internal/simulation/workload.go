package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/awssim/simclock"
)

const (
	// podStart is the time that a pod takes until it is ready, and podEnd the time that an evicted
	// one takes to terminate.
	podStart = 5 * time.Second
	podEnd   = 10 * time.Second
)

// workloadCluster is the cluster whose nodes the instances of the pool are. It runs one Deployment
// with a PodDisruptionBudget. Each node has room for all of its pods.
type workloadCluster struct {
	clock *simclock.Clock
	nodes map[string]*corev1.Node
	// pods are the pods of the Deployment, by name. A pod without a node is pending.
	pods map[string]*pod
	// replicas is how many pods the Deployment has, spare how many of them the budget lets be
	// missing, and created how many were created.
	replicas, spare, created int
	// timeout is how long a node of the pool may take to drain; zero if the pool drains none.
	timeout time.Duration
	// breaks says which instances' nodes do not become Ready; nil for none.
	breaks func(id string) bool
}

// pod is a pod and whether it is ready.
type pod struct {
	corev1.Pod
	ready bool
}

func newWorkloadCluster(clock *simclock.Clock, replicas, spare int, timeout time.Duration) *workloadCluster {
	c := &workloadCluster{clock: clock, nodes: map[string]*corev1.Node{}, pods: map[string]*pod{}, replicas: replicas, spare: spare, timeout: timeout}
	c.scale()
	return c
}

// scale creates the pods that the Deployment lacks. One that terminates counts no longer.
func (c *workloadCluster) scale() {
	present := 0
	for _, one := range c.pods {
		if one.DeletionTimestamp == nil {
			present++
		}
	}
	for range c.replicas - present {
		c.created++
		made := &pod{}
		made.Namespace, made.Name = "default", fmt.Sprintf("web-%03d", c.created)
		made.UID, made.Status.Phase = types.UID(made.Name), corev1.PodPending
		c.pods[made.Name] = made
	}
	c.bind()
}

// join adds the node of an instance. It is Ready at once, or does not become Ready.
func (c *workloadCluster) join(id string) {
	ready := corev1.ConditionTrue
	if c.breaks != nil && c.breaks(id) {
		ready = corev1.ConditionFalse
	}
	c.nodes[id] = &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: id},
		Spec:   corev1.NodeSpec{ProviderID: "aws:///" + region + "a/" + id},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
	c.bind()
}

// mend has all nodes be Ready.
func (c *workloadCluster) mend() {
	for _, node := range c.nodes {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	c.bind()
}

// leave removes the node of an instance that has terminated, with its pods. The Deployment replaces
// them.
func (c *workloadCluster) leave(id string) {
	delete(c.nodes, id)
	maps.DeleteFunc(c.pods, func(_ string, one *pod) bool { return one.Spec.NodeName == id })
	c.scale()
}

// bind binds pending pods to schedulable nodes, each to the one with the fewest pods.
func (c *workloadCluster) bind() {
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		if c.pods[name].Spec.NodeName != "" {
			continue
		}
		schedulable := slices.DeleteFunc(slices.Sorted(maps.Keys(c.nodes)), func(id string) bool { return c.nodes[id].Spec.Unschedulable || !isReady(c.nodes[id]) })
		if len(schedulable) == 0 {
			return
		}
		bound := c.pods[name]
		bound.Spec.NodeName = slices.MinFunc(schedulable, func(a, b string) int { return cmp.Compare(len(c.on(a)), len(c.on(b))) })
		c.clock.AfterFunc(podStart, func() { bound.ready, bound.Status.Phase = true, corev1.PodRunning })
	}
}

// on returns the pods of a node.
func (c *workloadCluster) on(id string) []corev1.Pod {
	var pods []corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		if c.pods[name].Spec.NodeName == id {
			pods = append(pods, *c.pods[name].DeepCopy())
		}
	}
	return pods
}

// missing returns how many pods are not ready.
func (c *workloadCluster) missing() int {
	ready := 0
	for _, one := range c.pods {
		if one.ready && one.DeletionTimestamp == nil {
			ready++
		}
	}
	return c.replicas - ready
}

// evict has a pod terminate, unless the budget is against it.
func (c *workloadCluster) evict(name string, uid *types.UID) error {
	one, exists := c.pods[name]
	switch {
	case !exists:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
	case uid != nil && *uid != one.UID:
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, name, fmt.Errorf("the UID is %s", one.UID))
	case one.DeletionTimestamp != nil:
		return nil
	case one.ready && c.missing() >= c.spare:
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	c.terminate(one)
	return nil
}

// terminate has a pod terminate. The Deployment replaces it at once.
func (c *workloadCluster) terminate(one *pod) {
	one.DeletionTimestamp = &metav1.Time{Time: c.clock.Now().Add(podEnd)}
	c.clock.AfterFunc(podEnd, func() { delete(c.pods, one.Name) })
	c.scale()
}

// node returns a node.
func (c *workloadCluster) node(name string) (*corev1.Node, error) {
	node, exists := c.nodes[name]
	if !exists {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
	}
	return node, nil
}

// unsettled returns how the cluster differs from its state at rest.
func (c *workloadCluster) unsettled(running []string) error {
	if len(c.nodes) != len(running) {
		return fmt.Errorf("%d instances run, and the workload cluster has %d nodes", len(running), len(c.nodes))
	}
	for _, id := range running {
		if node := c.nodes[id]; node == nil || node.Spec.Unschedulable {
			return fmt.Errorf("the node of instance %s is missing, or cordoned: %+v", id, node)
		}
	}
	if missing := c.missing(); missing > 0 {
		return fmt.Errorf("%d pods are not ready", missing)
	}
	return nil
}
