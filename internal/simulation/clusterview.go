package simulation

import (
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	resourcehelper "k8s.io/component-helpers/resource"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeCluster is the cluster whose pods need nodes: its API server, and stand-ins for the components
// that nodes and pods meet.
type nodeCluster struct {
	world *World
	ctx   context.Context //nolint:containedctx // the life of the cluster
	facts *provisioningFacts
	// joinAfter is the time that a kubelet takes to register its Node, and mute is the probability
	// that one never does, or stops, while there are faults.
	joinAfter time.Duration
	mute      float64
	// silent are the instances whose kubelet does nothing.
	silent map[string]bool
	// pods counts the pods that were created.
	pods int
	// view is the cluster as it was last read.
	view *clusterView
}

// clusterView is the cluster as the API server has it at a version.
type clusterView struct {
	version uint64
	// events counts what had happened in AWS.
	events int

	pods    []corev1.Pod
	nodes   []corev1.Node
	sets    []appsv1.ReplicaSet
	budgets []policyv1.PodDisruptionBudget
	// possible are the moves that this view allows.
	possible []move
}

// look returns the cluster as it is. It is read again only if something has changed.
func (c *nodeCluster) look(ctx context.Context) (*clusterView, error) {
	if c.view != nil && c.view.version == c.world.server.Version() && c.view.events == c.facts.events {
		return c.view, nil
	}
	var pods corev1.PodList
	var nodes corev1.NodeList
	var sets appsv1.ReplicaSetList
	var budgets policyv1.PodDisruptionBudgetList
	view := &clusterView{version: c.world.server.Version(), events: c.facts.events}
	if err := errors.Join(c.world.user.List(ctx, &pods), c.world.user.List(ctx, &nodes), c.world.user.List(ctx, &sets), c.world.user.List(ctx, &budgets)); err != nil {
		return nil, err
	}
	view.pods, view.nodes, view.sets, view.budgets = pods.Items, nodes.Items, sets.Items, budgets.Items
	view.possible = c.possible(view)
	c.view = view
	return view, nil
}

// node returns a Node, nil if there is none.
func (v *clusterView) node(name string) *corev1.Node {
	if at := slices.IndexFunc(v.nodes, func(node corev1.Node) bool { return node.Name == name }); at >= 0 {
		return &v.nodes[at]
	}
	return nil
}

// on returns the pods of a Node that use it.
func (v *clusterView) on(name string) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range v.pods {
		if v.pods[i].Spec.NodeName == name {
			pods = append(pods, &v.pods[i])
		}
	}
	return pods
}

// covered returns the pods that a PodDisruptionBudget is for.
func (v *clusterView) covered(budget *policyv1.PodDisruptionBudget) []*corev1.Pod {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return nil
	}
	var pods []*corev1.Pod
	for i := range v.pods {
		if v.pods[i].Namespace == budget.Namespace && selector.Matches(labels.Set(v.pods[i].Labels)) {
			pods = append(pods, &v.pods[i])
		}
	}
	return pods
}

// replicas returns how many pods the owners of pods ask for.
func (v *clusterView) replicas(pods []*corev1.Pod) int {
	total := 0
	for i := range v.sets {
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return metav1.IsControlledBy(pod, &v.sets[i]) }) {
			total += int(*v.sets[i].Spec.Replicas)
		}
	}
	return total
}

// allowance holds what a PodDisruptionBudget allows at a given time.
type allowance struct{ expected, healthy, wanted int }

// allows returns what a PodDisruptionBudget allows (Kubernetes: "How Disruption Budgets Work").
func (v *clusterView) allows(budget *policyv1.PodDisruptionBudget) allowance {
	pods := v.covered(budget)
	now := allowance{expected: v.replicas(pods)}
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && podReady(pod) {
			now.healthy++
		}
	}
	now.wanted = max(now.expected-budget.Spec.MaxUnavailable.IntValue(), 0)
	return now
}

// disruptions returns how many pods may be evicted.
func (a allowance) disruptions() int { return max(a.healthy-a.wanted, 0) }

// fits reports whether the kube-scheduler would put a pod on a Node: the Node is ready and not
// cordoned, its labels are what the pod asks for, the pod tolerates its taints, and it has room.
func (v *clusterView) fits(pod *corev1.Pod, node *corev1.Node) bool {
	if node.Spec.Unschedulable || !nodeReady(node) {
		return false
	}
	return suits(pod, node) && hasRoom(pod, node, v.on(node.Name))
}

// suits reports whether the labels of a Node are what a pod asks for, and the pod tolerates its taints.
func suits(pod *corev1.Pod, node *corev1.Node) bool {
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !matches {
		return false
	}
	_, untolerated := corehelpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, func(taint *corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
	}, false)
	return !untolerated
}

// hasRoom reports whether a Node has room for a pod in addition to others.
func hasRoom(pod *corev1.Pod, node *corev1.Node, others []*corev1.Pod) bool {
	for name, has := range node.Status.Allocatable {
		free := has.DeepCopy()
		for _, one := range append(slices.Clone(others), pod) {
			if name == corev1.ResourcePods {
				free.Sub(resource.MustParse("1"))
				continue
			}
			requests := resourcehelper.PodRequests(one, resourcehelper.PodResourcesOptions{})
			free.Sub(requests[name])
		}
		if free.Sign() < 0 {
			return false
		}
	}
	return true
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// resources returns amounts of CPU and memory, and room for as many pods as a node of EKS has.
func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse("29"),
	}
}

// quantity returns a quantity, nil for none.
func quantity(text string) *resource.Quantity {
	if text == "" {
		return nil
	}
	amount := resource.MustParse(text)
	return &amount
}

// update changes an object as the API server has it.
func (c *nodeCluster) update(ctx context.Context, object client.Object, change func()) error {
	if err := c.world.user.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	change()
	return c.world.user.Update(ctx, object)
}

// updateStatus changes the status of an object as the API server has it.
func (c *nodeCluster) updateStatus(ctx context.Context, object client.Object, change func()) error {
	if err := c.world.user.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	change()
	return c.world.user.Status().Update(ctx, object)
}
