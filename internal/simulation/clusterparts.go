package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// kubeletFinalizer is on pods that have a Node: in place of a grace period, which the API server in
// memory does not have, they stay until their kubelet has stopped them.
const kubeletFinalizer = "simulation.example.com/kubelet"

// possible returns what the other components of the cluster can do: the ReplicaSet controller, the
// kube-scheduler, the disruption controller, and the controllers that notice that an instance terminates.
func (c *nodeCluster) possible(view *clusterView) []move {
	var all []move
	for _, find := range []func(*clusterView) []move{c.replicaSetMoves, c.schedulerMoves, c.budgetMoves, c.nodeMoves, c.collectorMoves} {
		all = append(all, find(view)...)
	}
	return all
}

// replicaSetMoves creates the pods that a ReplicaSet lacks, and deletes what it has too many of.
func (c *nodeCluster) replicaSetMoves(view *clusterView) []move {
	var all []move
	for i := range view.sets {
		set := &view.sets[i]
		var active []*corev1.Pod
		for j := range view.pods {
			if pod := &view.pods[j]; metav1.IsControlledBy(pod, set) && pod.DeletionTimestamp == nil {
				active = append(active, pod)
			}
		}
		switch lacks := int(*set.Spec.Replicas) - len(active); {
		case set.DeletionTimestamp != nil:
		case lacks > 0:
			all = append(all, move{"ReplicaSet " + set.Name + " creates a pod", func(ctx context.Context) error { return c.createPod(ctx, set) }})
		case lacks < 0:
			// pods that are not bound go first
			slices.SortStableFunc(active, func(a, b *corev1.Pod) int { return cmp.Compare(a.Spec.NodeName, b.Spec.NodeName) })
			all = append(all, move{"ReplicaSet " + set.Name + " deletes pod " + active[0].Name, func(ctx context.Context) error {
				return client.IgnoreNotFound(c.world.user.Delete(ctx, active[0].DeepCopy()))
			}})
		}
	}
	return all
}

func (c *nodeCluster) createPod(ctx context.Context, set *appsv1.ReplicaSet) error {
	c.pods++
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = set.Namespace, fmt.Sprintf("%s-%03d", set.Name, c.pods)
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set.Name, UID: set.UID, Controller: ptr.To(true)}}
	if err := c.world.user.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodPending
	return c.world.user.Status().Update(ctx, pod)
}

// schedulerMoves binds pods, and marks pods that no Node suits as unschedulable.
func (c *nodeCluster) schedulerMoves(view *clusterView) []move {
	var all []move
	for i := range view.pods {
		pod := &view.pods[i]
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			continue
		}
		var suitable []*corev1.Node
		for j := range view.nodes {
			if view.fits(pod, &view.nodes[j]) {
				suitable = append(suitable, &view.nodes[j])
			}
		}
		switch {
		case len(suitable) > 0:
			node := slices.MinFunc(suitable, func(a, b *corev1.Node) int { return cmp.Compare(len(view.on(a.Name)), len(view.on(b.Name))) })
			all = append(all, move{fmt.Sprintf("the scheduler binds pod %s to %s", pod.Name, node.Name), func(ctx context.Context) error { return c.bind(ctx, pod, node) }})
		case !clusterstate.Waits(pod):
			all = append(all, move{"the scheduler finds no node for pod " + pod.Name, func(ctx context.Context) error {
				return c.setScheduled(ctx, pod, corev1.ConditionFalse, corev1.PodReasonUnschedulable)
			}})
		}
	}
	return all
}

func (c *nodeCluster) bind(ctx context.Context, pod *corev1.Pod, node *corev1.Node) error {
	bound := pod.DeepCopy()
	err := c.update(ctx, bound, func() {
		bound.Spec.NodeName = node.Name
		controllerutil.AddFinalizer(bound, kubeletFinalizer)
	})
	if err != nil {
		return err
	}
	return c.setScheduled(ctx, bound, corev1.ConditionTrue, "")
}

func (c *nodeCluster) setScheduled(ctx context.Context, pod *corev1.Pod, status corev1.ConditionStatus, reason string) error {
	changed := pod.DeepCopy()
	return c.updateStatus(ctx, changed, func() {
		setCondition(&changed.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: status, Reason: reason})
	})
}

// setCondition sets a condition of a pod.
func setCondition(conditions *[]corev1.PodCondition, wanted corev1.PodCondition) {
	*conditions = append(slices.DeleteFunc(*conditions, func(one corev1.PodCondition) bool { return one.Type == wanted.Type }), wanted)
}

// budgetMoves writes what PodDisruptionBudgets allow into their status.
func (c *nodeCluster) budgetMoves(view *clusterView) []move {
	var all []move
	for i := range view.budgets {
		budget := view.budgets[i].DeepCopy()
		now := view.allows(budget)
		status := policyv1.PodDisruptionBudgetStatus{
			DisruptionsAllowed: int32(now.disruptions()), CurrentHealthy: int32(now.healthy), DesiredHealthy: int32(now.wanted), ExpectedPods: int32(now.expected), //nolint:gosec // a few
		}
		is := budget.Status
		if is.DisruptionsAllowed == status.DisruptionsAllowed && is.CurrentHealthy == status.CurrentHealthy && is.DesiredHealthy == status.DesiredHealthy && is.ExpectedPods == status.ExpectedPods {
			continue
		}
		what := fmt.Sprintf("PodDisruptionBudget %s allows %d disruptions", budget.Name, status.DisruptionsAllowed)
		all = append(all, move{what, func(ctx context.Context) error {
			return c.updateStatus(ctx, budget, func() { budget.Status = status })
		}})
	}
	return all
}

// nodeMoves marks the Nodes of instances that terminate, or whose kubelet stopped, as not ready,
// and deletes the Nodes whose instance is gone.
func (c *nodeCluster) nodeMoves(view *clusterView) []move {
	var all []move
	for i := range view.nodes {
		node := view.nodes[i].DeepCopy()
		id := clusterstate.InstanceOf(node.Spec.ProviderID)
		ended := c.facts.ended(id)
		if nodeReady(node) && (ended || c.silent[id]) {
			all = append(all, move{"the node controller finds Node " + node.Name + " not ready", func(ctx context.Context) error { return c.setReady(ctx, node, corev1.ConditionUnknown) }})
		}
		if ended && node.DeletionTimestamp == nil {
			all = append(all, move{"the cloud controller deletes Node " + node.Name, func(ctx context.Context) error {
				return client.IgnoreNotFound(c.world.user.Delete(ctx, node))
			}})
		}
	}
	return all
}

// notReady is the taint of a Node that is not ready.
var notReady = corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}

// setReady sets whether a Node is ready, and its taint.
func (c *nodeCluster) setReady(ctx context.Context, node *corev1.Node, status corev1.ConditionStatus) error {
	err := c.updateStatus(ctx, node, func() {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(c.world.clock.Now())}}
	})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(c.update(ctx, node, func() {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == notReady.Key })
		if status != corev1.ConditionTrue {
			node.Spec.Taints = append(node.Spec.Taints, notReady)
		}
	}))
}

// collectorMoves removes pods whose Node is gone.
func (c *nodeCluster) collectorMoves(view *clusterView) []move {
	var all []move
	for i := range view.pods {
		pod := view.pods[i].DeepCopy()
		if pod.Spec.NodeName != "" && view.node(pod.Spec.NodeName) == nil {
			all = append(all, move{"the pod garbage collector deletes pod " + pod.Name, func(ctx context.Context) error { return c.removePod(ctx, pod) }})
		}
	}
	return all
}

// removePod removes a pod at once.
func (c *nodeCluster) removePod(ctx context.Context, pod *corev1.Pod) error {
	if err := client.IgnoreNotFound(c.world.user.Delete(ctx, pod)); err != nil {
		return err
	}
	err := c.update(ctx, pod, func() { controllerutil.RemoveFinalizer(pod, kubeletFinalizer) })
	return client.IgnoreNotFound(err)
}

// afterwards runs what a kubelet does after a while, and reports its failure.
func (c *nodeCluster) afterwards(what string, do func(ctx context.Context) error) {
	if err := do(c.ctx); err != nil && !apierrors.IsNotFound(err) {
		c.world.verdict.violate(NoPanic, "%s: %w", what, err)
	}
}
