package nodelifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// withNodes returns a world with some nodes that expire after ten minutes, and a pod on each.
func withNodes(t *testing.T, nodes int, edit func(*provisioningv1.ProvisionerSpec)) *provisioningtest.World {
	t.Helper()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default", func(spec *provisioningv1.ProvisionerSpec) {
		spec.TTLSecondsUntilExpired = ptr.To[int64](600)
		edit(spec)
	})
	for i := range nodes {
		w.Pod(fmt.Sprintf("pod-%d", i))
	}
	w.Launch()
	members, pods := w.Members(), w.Pods()
	for i := range nodes {
		w.Bind(&pods[i], members[i].Name)
	}
	w.Settle()
	return w
}

func within(nodes string, reasons ...provisioningv1.DisruptionReason) func(*provisioningv1.ProvisionerSpec) {
	return func(spec *provisioningv1.ProvisionerSpec) {
		spec.Disruption = &provisioningv1.Disruption{Budgets: []provisioningv1.DisruptionBudget{{Nodes: intstr.FromString(nodes), Reasons: reasons}}}
	}
}

func unbounded(*provisioningv1.ProvisionerSpec) {}

// leaving counts the nodes that end or are being replaced.
func leaving(w *provisioningtest.World) int {
	count := 0
	for _, node := range w.Provisioned() {
		if node.DeletionTimestamp != nil || meta.IsStatusConditionTrue(node.Status.Conditions, provisioningv1.ReplacingCondition) {
			count++
		}
	}
	return count
}

// says returns the reason and the message of the condition Replacing of the first node.
func says(w *provisioningtest.World) string {
	w.Helper()
	condition := meta.FindStatusCondition(w.Provisioned()[0].Status.Conditions, provisioningv1.ReplacingCondition)
	if condition == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", condition.Status, condition.Reason, condition.Message)
}

// TestDoNotDisrupt holds that the annotation on a pod, a Node, or a ProvisionedNode keeps an
// expired node until it is removed.
func TestDoNotDisrupt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, key string
		object      func(w *provisioningtest.World) client.Object
		says        string
	}{
		{"a pod", "karpenter.sh/do-not-disrupt", func(w *provisioningtest.World) client.Object { return &w.Pods()[0] }, "pod default/pod-0 has"},
		{"a pod, by the old name", "karpenter.sh/do-not-evict", func(w *provisioningtest.World) client.Object { return &w.Pods()[0] }, "pod default/pod-0 has"},
		{"a Node", "karpenter.sh/do-not-disrupt", func(w *provisioningtest.World) client.Object { return &w.Members()[0] }, "Node ip-"},
		{"a Node, by the old name", "karpenter.sh/do-not-evict", func(w *provisioningtest.World) client.Object { return &w.Members()[0] }, "Node ip-"},
		{"a ProvisionedNode", "karpenter.sh/do-not-disrupt", func(w *provisioningtest.World) client.Object { return &w.Provisioned()[0] }, "ProvisionedNode default-"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := withNodes(t, 1, unbounded)
			object := row.object(w)
			w.Update(object, func() { object.SetAnnotations(map[string]string{row.key: "true"}) })
			w.Advance(20 * time.Minute)
			if got := says(w); leaving(w) != 0 || !strings.HasPrefix(got, "False DoNotDisrupt: the node has "+
				"reached its maximum age, but "+row.says) || !strings.Contains(got, row.key) {
				t.Fatalf("%d nodes leave; the node says %q", leaving(w), got)
			}
			w.Restart() // what is kept is in no memory
			w.Advance(time.Minute)
			if leaving(w) != 0 {
				t.Fatal("the node leaves after a restart")
			}
			w.Update(object, func() { object.SetAnnotations(nil) })
			w.Advance(2 * time.Minute)
			if leaving(w) != 1 {
				t.Errorf("the node does not leave: %s", says(w))
			}
		})
	}
}

// TestBudgets holds that nodes which expire together are replaced as the budgets let, and that each
// gives its place to the next.
func TestBudgets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		edit    func(*provisioningv1.ProvisionerSpec)
		leaving int
	}{
		{"one in ten by default", unbounded, 1},
		{"a number", within("2"), 2},
		{"a percentage", within("50%"), 2},
		{"none", within("0"), 0},
		{"no budget for the reason", within("0", provisioningv1.DisruptionDrifted), 4},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := withNodes(t, 4, row.edit)
			w.Advance(11 * time.Minute)
			if got := leaving(w); got != row.leaving {
				t.Errorf("%d of 4 nodes leave, want %d; one says %q", got, row.leaving, says(w))
			}
			w.Restart()
			w.Advance(time.Minute)
			if got := leaving(w); got != row.leaving {
				t.Errorf("%d of 4 nodes leave after a restart, want %d", got, row.leaving)
			}
		})
	}
}

// TestBudgetOfEmptyNodes holds that budgets bound the deletion of empty nodes, and that without one
// they are deleted together.
func TestBudgetOfEmptyNodes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		edit   func(*provisioningv1.ProvisionerSpec)
		left   int
	}{
		{"without a budget", unbounded, 0},
		{"none may", within("0", provisioningv1.DisruptionEmpty), 3},
		{"one after the other", within("1"), 0},
	} {
		w := withNodes(t, 3, func(spec *provisioningv1.ProvisionerSpec) {
			spec.TTLSecondsUntilExpired, spec.TTLSeconds = nil, ptr.To[int64](30)
			row.edit(spec)
		})
		for _, pod := range w.Pods() {
			w.Delete(&pod)
		}
		most := 0
		for range 10 {
			w.Advance(30 * time.Second)
			most = max(most, leaving(w))
		}
		if got := len(w.Provisioned()); got != row.left {
			t.Errorf("%s: %d nodes are left, want %d", row.reason, got, row.left)
		}
		if row.reason == "one after the other" && most > 1 {
			t.Errorf("%d nodes ended at a time", most)
		}
	}
}

// TestBudgetWindow holds that a node waits until a window closes, and that a pass comes when it
// does.
func TestBudgetWindow(t *testing.T) {
	t.Parallel()
	w := withNodes(t, 1, func(spec *provisioningv1.ProvisionerSpec) {
		within("0")(spec)
		budget := &spec.Disruption.Budgets[0]
		// the clock starts at midnight
		budget.Schedule, budget.Duration = "@daily", &metav1.Duration{Duration: time.Hour}
	})
	w.Advance(58 * time.Minute)
	if got := says(w); leaving(w) != 0 || got != "False Expired: the node has reached its maximum age; the node "+
		"stays until the disruption budgets of Provisioner default allow its disruption" {
		t.Fatalf("%d nodes leave; the node says %q", leaving(w), got)
	}
	w.Advance(3 * time.Minute)
	if leaving(w) != 1 {
		t.Errorf("the node does not leave: %s", says(w))
	}
}

// TestPodDisruptionBudgetKeeps holds that no replacement is launched for a node while a
// PodDisruptionBudget allows no eviction of one of its pods, that one is when it does again, and
// that one which has begun goes on.
func TestPodDisruptionBudgetKeeps(t *testing.T) {
	t.Parallel()
	asked := func(spec *provisioningv1.ProvisionerSpec) { spec.TTLSecondsUntilExpired = nil }
	for _, row := range []struct {
		reason string
		edit   func(*provisioningv1.ProvisionerSpec)
		says   string
	}{
		{"expired", unbounded, "False PodDisruptionBudget: the node has reached its maximum age, but " +
			"PodDisruptionBudget default/set does not currently allow the eviction of pod pod-0: the node " +
			"stays until the pod can be evicted"},
		{"requested", asked, "False PodDisruptionBudget: its replacement was requested: by hand, but " +
			"PodDisruptionBudget default/set does not currently allow the eviction of pod pod-0: the node " +
			"stays until the pod can be evicted"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := withNodes(t, 1, row.edit)
			budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "set"}}
			budget.Spec.Selector = &metav1.LabelSelector{}
			w.Create(budget)
			node := w.Provisioned()[0]
			if row.reason == "requested" {
				w.Update(&node, func() { node.Annotations = map[string]string{provisioningv1.ReplaceAnnotation: "by hand"} })
			}
			w.Advance(20 * time.Minute)
			if got := says(w); got != row.says || len(w.Provisioned()) != 1 || len(w.Instances()) != 1 {
				t.Fatalf("there are %d nodes; the node says %q", len(w.Provisioned()), got)
			}
			allow := func(pods int32) {
				w.UpdateStatus(budget, func() { budget.Status.DisruptionsAllowed, budget.Status.ObservedGeneration = pods, budget.Generation })
			}
			allow(1)
			w.Advance(2 * time.Minute)
			if leaving(w) != 1 || len(w.Provisioned()) != 2 {
				t.Fatalf("%d nodes leave of %d; the node says %q", leaving(w), len(w.Provisioned()), says(w))
			}
			allow(0)
			w.Advance(time.Minute)
			if leaving(w) != 1 || len(w.Provisioned()) != 2 {
				t.Errorf("%d nodes leave of %d after the replacement began; the node says %q", leaving(w), len(w.Provisioned()), says(w))
			}
		})
	}
}

// TestPodOfALocalVolumeIsNotReplaced holds that a node whose pod is bound to a local disk of it is
// deleted without a replacement for that pod, which no other node can run, and that its other pods
// still get one.
func TestPodOfALocalVolumeIsNotReplaced(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		others   int // pods without a volume
		launched int // nodes in addition to the first
	}{
		{"a node with nothing else ends at once", 0, 0},
		{"another pod of the node is given a place first", 1, 1},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := withNodes(t, 1, unbounded)
			name, first := w.Members()[0].Name, w.Provisioned()[0].Name
			w.Create(localVolume("disk", name))
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
			claim.Spec.VolumeName = "disk"
			w.Create(claim)
			local := w.Pod("local", func(pod *corev1.Pod) {
				pod.Spec.NodeName = name
				pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			})
			w.Bind(local, name)
			if row.others == 0 {
				w.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod-0"}})
			}
			w.Advance(11 * time.Minute)
			launched := 0
			for _, node := range w.Provisioned() {
				if node.Name != first && node.DeletionTimestamp == nil {
					launched++
				}
			}
			if launched != row.launched {
				t.Errorf("%d nodes are launched beside the first, want %d", launched, row.launched)
			}
			if gone := len(w.Provisioned()) == launched; gone != (row.others == 0) {
				t.Errorf("the first node is gone: %v", gone)
			}
		})
	}
}

// localVolume returns a volume that is part of one Node.
func localVolume(name, node string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	return volume
}

// TestTerminationGracePeriod holds that a drain waits for a protected pod until its deadline, and
// finishes then.
func TestTerminationGracePeriod(t *testing.T) {
	t.Parallel()
	protect := func(w *provisioningtest.World) *corev1.Pod {
		pod := &w.Pods()[0]
		w.Update(pod, func() { pod.Annotations = map[string]string{provisioningv1.DoNotDisruptAnnotation: "true"} })
		return pod
	}
	for _, row := range []struct {
		reason string
		period time.Duration
		ends   bool
	}{{"with a period", 30 * time.Minute, true}, {"without one", 0, false}} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := withNodes(t, 1, func(spec *provisioningv1.ProvisionerSpec) {
				if row.period > 0 {
					spec.TerminationGracePeriod = &metav1.Duration{Duration: row.period}
				}
			})
			protect(w)
			node := w.Provisioned()[0]
			w.Delete(&node)
			w.Advance(29 * time.Minute)
			w.Update(&node, func() {}) // reads it
			if len(w.Pods()) != 1 {
				t.Fatal("the pod is gone before the deadline")
			}
			message := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.EndingCondition).Message
			if !strings.HasPrefix(message, "1 pod with an annotation against disruption") || strings.Contains(message, "the instance is terminated at") != row.ends {
				t.Errorf("the node says %q", message)
			}
			w.Restart()
			w.Advance(3 * time.Minute)
			if gone := len(w.Pods()) == 0 && !running(w)[node.Status.InstanceID]; gone != row.ends {
				t.Errorf("%d pods are left, and %d instances run", len(w.Pods()), len(w.Instances()))
			}
		})
	}
}

// TestInterruptionDuringADrain holds that a Spot interruption bounds a drain which has begun
// already, so that a protected pod is deleted with its grace period before EC2 takes the instance.
func TestInterruptionDuringADrain(t *testing.T) {
	t.Parallel()
	w := withNodes(t, 1, unbounded)
	pod, node := w.Pods()[0], w.Provisioned()[0]
	w.Update(&pod, func() { pod.Annotations = map[string]string{provisioningv1.DoNotDisruptAnnotation: "true"} })
	w.Delete(&node)
	w.Advance(10 * time.Minute)
	if len(w.Pods()) != 1 {
		t.Fatal("the drain does not wait for the pod")
	}
	if err := w.Nodes.Heard(t.Context(), "", events.Happened{Interrupted: []string{node.Status.InstanceID}}); err != nil {
		t.Fatal(err)
	}
	w.Advance(100 * time.Second)
	if len(w.Pods()) != 0 {
		t.Errorf("the pod is not deleted before EC2 takes the instance: the node says %+v", w.Provisioned()[0].Status)
	}
}

// TestDisruptionWithGracePeriod holds that with a bounded drain an annotation on a pod delays the
// end of an expired node, and does not keep the node.
func TestDisruptionWithGracePeriod(t *testing.T) {
	t.Parallel()
	w := withNodes(t, 1, func(spec *provisioningv1.ProvisionerSpec) {
		spec.TerminationGracePeriod = &metav1.Duration{Duration: 30 * time.Minute}
	})
	pod := &w.Pods()[0]
	w.Update(pod, func() { pod.Annotations = map[string]string{provisioningv1.DoNotDisruptAnnotation: "true"} })
	w.Advance(11 * time.Minute)
	if leaving(w) != 1 || len(w.Provisioned()) != 2 {
		t.Fatalf("%d nodes leave of %d: %s", leaving(w), len(w.Provisioned()), says(w))
	}
	w.Launch()
	w.Advance(20 * time.Minute)
	if len(w.Pods()) != 1 || len(w.Instances()) != 2 {
		t.Errorf("there are %d pods and %d instances", len(w.Pods()), len(w.Instances()))
	}
	w.Advance(15 * time.Minute)
	if len(w.Pods()) != 0 {
		t.Error("the pod outlives the deadline")
	}
}
