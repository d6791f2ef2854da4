package nodelifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// TestNodeChanges holds which changes of a Node bring a pass for its ProvisionedNode: all that one
// decides from, and no heartbeat.
func TestNodeChanges(t *testing.T) {
	t.Parallel()
	taints := func(keys ...string) func(*corev1.Node) {
		return func(node *corev1.Node) {
			node.Spec.Taints = nil
			for _, key := range keys {
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
			}
		}
	}
	offers := func(name corev1.ResourceName, quantity string) func(*corev1.Node) {
		return func(node *corev1.Node) {
			node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), name: resource.MustParse(quantity)}
		}
	}
	for _, row := range []struct {
		reason        string
		before, after func(*corev1.Node)
		want          bool
	}{
		{"a heartbeat", taints("a"), func(node *corev1.Node) {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse})
		}, false},
		{"a taint less", taints("a", "b"), taints("a"), true},
		{"a taint in place of another", taints("a", "b"), taints("a", "c"), true},
		{"a taint with another effect", taints("a"), func(node *corev1.Node) { node.Spec.Taints[0].Effect = corev1.TaintEffectNoExecute }, true},
		{"a taint with another value", taints("a"), func(node *corev1.Node) { node.Spec.Taints[0].Value = "x" }, true},
		{"taints in another order", taints("a", "b"), taints("b", "a"), false},
		{"when a taint was added", taints("a"), func(node *corev1.Node) { node.Spec.Taints[0].TimeAdded = &metav1.Time{} }, false},
		{"a device", offers("nvidia.com/gpu", "0"), offers("nvidia.com/gpu", "1"), true},
		{"a device in place of another", offers("nvidia.com/gpu", "1"), offers("amd.com/gpu", "1"), true},
		{"one device more", offers("nvidia.com/gpu", "1"), offers("nvidia.com/gpu", "2"), false},
		{"ready", taints(), func(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionTrue }, true},
		{"another instance", taints(), func(node *corev1.Node) { node.Spec.ProviderID = "aws:///a/i-2" }, true},
		{"an annotation that protects it", taints(), func(node *corev1.Node) {
			node.Annotations = map[string]string{provisioningv1.DoNotEvictAnnotation: "true"}
		}, true},
		{"another annotation", taints(), func(node *corev1.Node) { node.Annotations = map[string]string{"example.com/one": "true"} }, false},
		{"its deletion", taints(), func(node *corev1.Node) { node.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			before := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "aws:///a/i-1"}}
			before.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
			row.before(before)
			after := before.DeepCopy()
			row.after(after)
			if got := nodeChanges.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != row.want {
				t.Errorf("a pass comes: %t", got)
			}
		})
	}
}
