// Package drain empties Kubernetes nodes: it decides which pods of a node leave, in what order, and
// which may stay, and asks for their eviction so that PodDisruptionBudgets are honored. It never
// waits. Each pass over a node cordons it, asks for the evictions that are possible now, and
// reports how far the node is; the caller comes back. It knows neither AWS nor pools.
//
// It does not use k8s.io/kubectl/pkg/drain, which blocks until the pods are gone, evicts them in no
// order, and reads and writes whole Nodes and pods with a client of its own.
package drain

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// The values of Cluster API's label clusterv1.PodDrainLabel on a pod.
const (
	labelSkip          = "skip"
	labelWaitCompleted = "wait-completed"
)

// systemCritical is the priority from which on a pod is part of the system, such as cluster DNS
// (Kubernetes: system-cluster-critical).
const systemCritical = 2_000_000_000

// plan lists what must happen to a node's pods before the instance is terminated.
type plan struct {
	// evict are the pods whose turn it is, in a stable order.
	evict []*corev1.Pod
	// later are critical pods, which the others may need until they are gone.
	later []*corev1.Pod
	// ending are pods on their way out, with their grace period.
	ending []*corev1.Pod
	// completing are pods that asked to be left alone until they are done.
	completing []*corev1.Pod
	// protected are pods that the terms of the drain leave alone until they are done, or until the deadline.
	protected []*corev1.Pod
	// remove are pods that are deleted now, because the deadline comes.
	remove []*corev1.Pod
	// staying are pods that the drain does not wait for.
	staying []*corev1.Pod
}

// empty reports whether there is nothing left to wait for.
func (p plan) empty() bool {
	return len(p.evict)+len(p.later)+len(p.ending)+len(p.completing)+len(p.protected)+len(p.remove) == 0
}

// fate describes how a drain treats a pod.
type fate int

const (
	stays fate = iota
	leaves
	ends
	completes
)

// fateOf follows kubectl drain and Cluster API's drain of Machines, except that it needs no
// confirmation for pods with local storage or without a controller: the instance goes in any case.
func fateOf(pod *corev1.Pod, unreachable bool) fate {
	_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case static, finished(pod), ofDaemonSet(pod):
		return stays
	case pod.DeletionTimestamp != nil && unreachable:
		// No kubelet confirms the end of the pod. Its object goes with the node.
		return stays
	case pod.DeletionTimestamp != nil:
		return ends
	}
	switch strings.ToLower(pod.Labels[clusterv1.PodDrainLabel]) {
	case labelSkip:
		return stays
	case labelWaitCompleted:
		return completes
	}
	return leaves
}

// finished reports whether all containers of a pod have terminated for good.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Leaves reports whether a pod is evicted before its instance is terminated.
func Leaves(pod *corev1.Pod) bool { return fateOf(pod, false) == leaves }

// ofDaemonSet reports whether a pod would return to the node at once, because its controller
// ignores that the node is cordoned.
func ofDaemonSet(pod *corev1.Pod) bool {
	controller := metav1.GetControllerOf(pod)
	return controller != nil && controller.Kind == "DaemonSet" && strings.HasPrefix(controller.APIVersion, "apps/")
}

// planFor sorts the pods of a node.
func planFor(node *corev1.Node, pods []corev1.Pod, terms Terms) plan {
	gone, cordoned := unreachable(node), cordonTaint(node)
	var made plan
	for i := range pods {
		pod := &pods[i]
		fate := fateOf(pod, gone)
		switch {
		case fate == stays, fate == ends && terms.overdue(pod, node):
			made.staying = append(made.staying, pod)
		case fate == ends:
			made.ending = append(made.ending, pod)
		case terms.due(pod):
			made.remove = append(made.remove, pod)
		case fate == completes:
			made.completing = append(made.completing, pod)
		case terms.Protects != nil && !gone && terms.Protects(pod):
			made.protected = append(made.protected, pod)
		case returned(pod, cordoned):
			made.staying = append(made.staying, pod)
		case critical(pod):
			made.later = append(made.later, pod)
		default:
			made.evict = append(made.evict, pod)
		}
	}
	// Critical pods go last: pods that end may still want DNS, and volumes their driver.
	if len(made.evict)+len(made.completing)+len(made.protected)+len(made.remove) == 0 && !slices.ContainsFunc(made.ending, func(pod *corev1.Pod) bool { return !critical(pod) }) {
		made.evict, made.later = made.later, nil
	}
	slices.SortFunc(made.evict, func(a, b *corev1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return made
}

func critical(pod *corev1.Pod) bool {
	return pod.Spec.Priority != nil && *pod.Spec.Priority >= systemCritical
}

// unreachable reports whether a node's kubelet no longer responds (Kubernetes: the node lifecycle
// controller sets Ready to Unknown).
func unreachable(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionUnknown
	})
}

// cordonTaint returns the taint of a Node that is cordoned, nil if it has none yet.
func cordonTaint(node *corev1.Node) *corev1.Taint {
	at := slices.IndexFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeUnschedulable })
	if at < 0 {
		return nil
	}
	return &node.Spec.Taints[at]
}

// returned reports whether a pod came to a Node that was already cordoned, because it tolerates that.
// If it were evicted, its successor could come to the Node too, which has more room than others, and
// the drain would never finish. The node lifecycle controller records when it adds the taint (Kubernetes:
// controller/util/node, SwapNodeControllerTaint).
func returned(pod *corev1.Pod, cordoned *corev1.Taint) bool {
	return cordoned != nil && cordoned.TimeAdded != nil && pod.CreationTimestamp.After(cordoned.TimeAdded.Time) &&
		scheduling.TolerationsTolerateTaint(klog.Background(), pod.Spec.Tolerations, cordoned, false)
}
