package provisioner

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// TestSchedulerKeepsNominatedNodes holds that a Node is kept for the pod that it was launched for
// while it cannot run there yet, against a pod of the same priority that could, and that the other
// pod gets a node of its own.
func TestSchedulerKeepsNominatedNodes(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "instanceTypes: [m5.large]", "startupTaints: [{key: "+startupTaint+", effect: NoSchedule}]")
	first := w.pod("first", asking("1500m", "1Gi"))
	w.Eventually("a Node registers for the pod", func() error {
		for _, node := range w.Nodes() {
			if slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == startupTaint }) {
				return nil
			}
		}
		return fmt.Errorf("there are %d Nodes", len(w.Nodes()))
	})
	node := w.Nodes()[0]
	if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(first), first); err != nil || first.Status.NominatedNodeName != "" {
		t.Errorf("while its Node has a startup taint, Node %q is nominated: %v", first.Status.NominatedNodeName, err)
	}
	// The condition for the startup taint is met, and Kubernetes itself is not ready.
	w.taint(node.Name, corev1.Taint{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule})
	w.Eventually("the Node is nominated for the pod", func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(first), first); err != nil {
			return err
		}
		if !clusterstate.Nominated(first) || first.Status.NominatedNodeName != node.Name {
			return fmt.Errorf("Node %q is nominated by %v", first.Status.NominatedNodeName, first.ManagedFields)
		}
		return nil
	})
	second := w.pod("second", asking("1500m", "1Gi"), func(pod *corev1.Pod) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeNetworkUnavailable, Operator: corev1.TolerationOpExists}, {Key: startupTaint, Operator: corev1.TolerationOpExists}}
	})
	other := w.bound(second)
	if other == node.Name {
		t.Error("the scheduler gave the Node to another pod")
	}
	w.taint(node.Name)
	if got := w.bound(first); got != node.Name {
		t.Errorf("the pod is on Node %q, want %q, which was launched for it", got, node.Name)
	}
	if first.Status.NominatedNodeName != "" {
		t.Errorf("a pod that is bound has nominated Node %q", first.Status.NominatedNodeName)
	}
	if nodes := w.provisioned(); len(nodes) != 2 || !meta.IsStatusConditionTrue(nodes[0].Status.Conditions, "Registered") {
		t.Errorf("there are %d nodes for two pods", len(nodes))
	}
}

// taint gives a Node these taints, and no others.
func (w *world) taint(name string, taints ...corev1.Taint) {
	w.Helper()
	node := &corev1.Node{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: name}, node); err != nil {
		w.Fatal(err)
	}
	before := node.DeepCopy()
	node.Spec.Taints = taints
	if err := w.Client.Patch(w.Context(), node, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		w.Fatal(err)
	}
}
