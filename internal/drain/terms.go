package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Terms holds the terms on which a node is drained. The zero value waits for evictions forever.
type Terms struct {
	// Protects reports whether a pod is left alone until it finishes or the deadline comes; nil for
	// none. On a node whose kubelet is unresponsive, no pod is.
	Protects func(*corev1.Pod) bool
	// Deadline is when the instance is terminated whatever is left; zero for never. Before it pods
	// are deleted, so that each has its own grace period.
	Deadline time.Time
	// Now is the time. Without it, a drain waits for a terminating pod however long that takes.
	Now time.Time
}

// OverdueAfter is the time after its grace period when a drain no longer waits for a pod: its containers
// have been killed, and something else keeps its object, such as a finalizer or a volume
// that cannot be unmounted (Karpenter waits for as long).
const OverdueAfter = time.Minute

// defaultGracePeriod is the grace period of a pod that names none (Kubernetes:
// corev1.DefaultTerminationGracePeriodSeconds).
const defaultGracePeriod = int64(corev1.DefaultTerminationGracePeriodSeconds)

// gracePeriodOf returns how long a pod may take to terminate.
func gracePeriodOf(pod *corev1.Pod) time.Duration {
	return time.Duration(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, defaultGracePeriod)) * time.Second
}

// over reports whether the deadline has come.
func (t Terms) over() bool { return !t.Deadline.IsZero() && !t.Now.Before(t.Deadline) }

// due reports whether a pod must be deleted now to have its grace period before the deadline.
func (t Terms) due(pod *corev1.Pod) bool {
	grace := gracePeriodOf(pod)
	return !t.Deadline.IsZero() && !t.Now.Before(t.Deadline.Add(-grace))
}

// overdue reports whether a pod should have terminated long ago. The kubelet must have been ready for all of
// that time: one that returns begins to stop pods only then, and one that is not ready may be unable to.
func (t Terms) overdue(pod *corev1.Pod, node *corev1.Node) bool {
	if t.Now.IsZero() || !Overdue(pod, t.Now) {
		return false
	}
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue &&
			t.Now.Sub(condition.LastTransitionTime.Time) > gracePeriodOf(pod)+OverdueAfter
	})
}

// Overdue reports whether a pod is being deleted and should have terminated long ago.
func Overdue(pod *corev1.Pod, now time.Time) bool {
	return pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > OverdueAfter
}

// gracePeriod returns how many seconds a pod has: its own grace period, or what is left until the
// deadline, and at least one.
func (t Terms) gracePeriod(pod *corev1.Pod) int64 {
	left := int64(t.Deadline.Sub(t.Now) / time.Second)
	return max(min(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, defaultGracePeriod), left), 1)
}

// next returns when the next pod must be deleted, or the deadline comes; zero without a deadline.
func (t Terms) next(pods []*corev1.Pod) time.Time {
	next := t.Deadline
	for _, pod := range pods {
		grace := gracePeriodOf(pod)
		if due := t.Deadline.Add(-grace); due.After(t.Now) && due.Before(next) {
			next = due
		}
	}
	return next
}
