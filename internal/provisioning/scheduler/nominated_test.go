package scheduler_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slipway-project/slipway/internal/provisioningtest"
)

// TestStaleNomination holds that a pod which the scheduler nominated a Node for gets a node of its
// own once that Node is gone, though the nomination stays, and none before.
func TestStaleNomination(t *testing.T) {
	t.Parallel()
	w := provisioningtest.New(t, provisioningtest.Options{})
	w.Provision("default")
	host := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host"}}
	host.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.Create(host)
	w.Pod("one", func(pod *corev1.Pod) { pod.Status.NominatedNodeName = "host" })
	w.Advance(2 * time.Minute)
	if got := len(w.Provisioned()); got != 0 {
		t.Fatalf("%d nodes are launched for a pod that the scheduler makes room for", got)
	}
	result, err := w.Provisioning.Reconcile(t.Context(), ctrl.Request{})
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > time.Minute {
		t.Errorf("the next pass comes after %v: %v", result.RequeueAfter, err)
	}
	w.Delete(host)
	w.Advance(time.Minute)
	if got := len(w.Instances()); got != 1 {
		t.Errorf("%d instances run for a pod whose nominated Node is gone; events are %q", got, w.Events())
	}
}
