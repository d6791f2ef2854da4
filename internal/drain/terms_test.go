package drain

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

// endedAt has the grace period of a terminating pod be over at some time.
func endedAt(at time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: at} }
}

// TestReturned holds that only a pod that came to a cordoned Node because it tolerates the cordon is left
// there.
func TestReturned(t *testing.T) {
	t.Parallel()
	cordoned := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	exists := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	taint := &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: cordoned}}
	for _, row := range []struct {
		reason      string
		taint       *corev1.Taint
		created     time.Time
		tolerations []corev1.Toleration
		want        bool
	}{
		{"it tolerates everything and came later", taint, cordoned.Add(time.Second), exists, true},
		{"it tolerates the cordon and came later", taint, cordoned.Add(time.Second), []corev1.Toleration{{Key: taint.Key, Operator: corev1.TolerationOpExists, Effect: taint.Effect}}, true},
		{"it was there before", taint, cordoned.Add(-time.Second), exists, false},
		{"it tolerates another taint", taint, cordoned.Add(time.Second), []corev1.Toleration{{Key: "other", Operator: corev1.TolerationOpExists}}, false},
		{"it is unknown when the Node was cordoned", &corev1.Taint{Key: taint.Key, Effect: taint.Effect}, cordoned, exists, false},
		{"the Node has no taint yet", nil, cordoned, exists, false},
	} {
		one := pod("a", func(pod *corev1.Pod) {
			pod.CreationTimestamp, pod.Spec.Tolerations = metav1.Time{Time: row.created}, row.tolerations
		})
		if got := returned(one, row.taint); got != row.want {
			t.Errorf("%s: got %t", row.reason, got)
		}
	}
}

// TestOverdue holds that a kubelet which returns has the time to stop pods that were deleted while it was away.
func TestOverdue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		ready time.Duration // ago
		grace int64
		want  bool
	}{{time.Hour, 30, true}, {89 * time.Second, 30, false}, {91 * time.Second, 30, true}, {30 * time.Minute, 3600, false}} {
		ready := node(corev1.ConditionTrue)
		ready.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-row.ready))
		ends := pod("a", endedAt(now.Add(-2*time.Hour)), func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &row.grace })
		if got := (Terms{Now: now}).overdue(ends, ready); got != row.want {
			t.Errorf("ready for %s, with a grace period of %d seconds: %t", row.ready, row.grace, got)
		}
	}
}

// TestTerms holds for one node what becomes of its pods as the deadline of the drain comes.
func TestTerms(t *testing.T) {
	t.Parallel()
	deadline := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	protected := func(pod *corev1.Pod) { pod.Annotations = map[string]string{"protected": "true"} }
	grace := func(seconds int64) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
	}
	for _, row := range []struct {
		reason   string
		node     corev1.ConditionStatus
		pods     []*corev1.Pod
		left     time.Duration // until the deadline; without one if zero
		progress string
		evicted  int
		deleted  map[string]int64 // grace periods in seconds
		empty    bool
		next     time.Duration // before the deadline
	}{
		{reason: "without a deadline a protected pod is waited for", pods: []*corev1.Pod{pod("a", protected), pod("b")}, evicted: 1, progress: "1 pod ending, 1 pod with an annotation against disruption"},
		{reason: "long before the deadline too", pods: []*corev1.Pod{pod("a", protected)}, left: time.Hour, progress: "1 pod with an annotation against disruption", next: 30 * time.Second},
		{reason: "no kubelet keeps it running", node: corev1.ConditionUnknown, pods: []*corev1.Pod{pod("a", protected)}, evicted: 1, progress: "1 pod ending"},
		{reason: "in time for its grace period it is deleted", pods: []*corev1.Pod{pod("a", protected)}, left: 30 * time.Second, deleted: map[string]int64{"a": 30}, progress: "1 pod ending"},
		{reason: "one with a longer grace period earlier", pods: []*corev1.Pod{pod("a", protected, grace(600)), pod("b", protected)}, left: 10 * time.Minute, deleted: map[string]int64{"a": 600},
			progress: "1 pod ending, 1 pod with an annotation against disruption", next: 30 * time.Second},
		{reason: "with what is left of it", pods: []*corev1.Pod{pod("a", grace(600))}, left: 5 * time.Minute, deleted: map[string]int64{"a": 300}, progress: "1 pod ending"},
		{reason: "pods that would complete too", pods: []*corev1.Pod{pod("a", labelled("wait-completed"))}, left: time.Second, deleted: map[string]int64{"a": 1}, progress: "1 pod ending"},
		{reason: "and system pods", pods: []*corev1.Pod{pod("a", systemPod)}, left: 10 * time.Second, deleted: map[string]int64{"a": 10}, progress: "1 pod ending"},
		{reason: "pods that stay are left alone", pods: []*corev1.Pod{pod("a", owned("DaemonSet"))}, left: time.Second, progress: "no pods left", empty: true},
		{reason: "a pod that should have ended long ago is waited for no longer", node: corev1.ConditionTrue, pods: []*corev1.Pod{pod("a", endingPod, endedAt(deadline.Add(-2*time.Hour)))}, left: time.Hour, progress: "no pods left", empty: true},
		{reason: "by a kubelet that may be unable to stop it, it is", node: corev1.ConditionFalse, pods: []*corev1.Pod{pod("a", endingPod, endedAt(deadline.Add(-2*time.Hour)))}, left: time.Hour, progress: "1 pod ending"},
		{reason: "one that has just had its grace period is", node: corev1.ConditionTrue, pods: []*corev1.Pod{pod("a", endingPod, endedAt(deadline.Add(-time.Hour)))}, left: time.Hour, progress: "1 pod ending"},
		{reason: "at the deadline the node counts as empty", pods: []*corev1.Pod{pod("a", protected), pod("b", endingPod)}, left: -1, deleted: map[string]int64{"a": 1}, progress: "2 pods ending", empty: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			api := fake.NewClientset(node(row.node))
			for _, pod := range row.pods {
				if err := api.Tracker().Add(pod); err != nil {
					t.Fatal(err)
				}
			}
			terms := Terms{Now: deadline.Add(-row.left), Protects: func(pod *corev1.Pod) bool { return pod.Annotations["protected"] == "true" }}
			if row.left != 0 {
				terms.Deadline = deadline
			}
			progress, err := LookWith(t.Context(), Clientset(api), nodeName, providerID, terms)
			if err != nil {
				t.Fatal(err)
			}
			if progress.String() != row.progress || progress.Empty != row.empty {
				t.Errorf("progress is %q, empty %t", progress, progress.Empty)
			}
			if row.next != 0 && !progress.Next.Equal(deadline.Add(-row.next)) {
				t.Errorf("the next look is at %s", progress.Next)
			}
			evicted, deleted := 0, map[string]int64{}
			for _, action := range api.Actions() {
				if action.GetSubresource() == "eviction" {
					evicted++
				}
				if deletion, is := action.(clienttesting.DeleteActionImpl); is {
					deleted[deletion.Name] = ptr.Deref(deletion.DeleteOptions.GracePeriodSeconds, -1)
					if (deletion.DeleteOptions.Preconditions == nil) || deletion.DeleteOptions.Preconditions.UID == nil {
						t.Errorf("pod %s is deleted by its name alone", deletion.Name)
					}
				}
			}
			if evicted != row.evicted || len(deleted) != len(row.deleted) {
				t.Errorf("%d evicted, deleted are %v", evicted, deleted)
			}
			for name, seconds := range row.deleted {
				if deleted[name] != seconds {
					t.Errorf("deleted are %v, want %v", deleted, row.deleted)
				}
			}
		})
	}
}
