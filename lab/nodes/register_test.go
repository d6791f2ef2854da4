package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestRemoveNotReady holds that a taint which a controller adds to a new Node stays when the taint of
// admission is removed from an older copy.
func TestRemoveNotReady(t *testing.T) {
	t.Parallel()
	notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	starting := corev1.Taint{Key: "example.com/starting", Effect: corev1.TaintEffectNoSchedule}
	stored := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{notReady}}}
	c := fake.NewClientBuilder().WithObjects(stored).Build()
	read := &corev1.Node{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), read); err != nil {
		t.Fatal(err)
	}
	changed := read.DeepCopy()
	changed.Spec.Taints = append(changed.Spec.Taints, starting)
	if err := c.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if err := (&Nodes{client: c}).removeNotReady(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]corev1.Taint{starting}, read.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}
