package crashsweep

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// unhurried is the clock's rate while nodes are drained: half an hour, after which AWS releases an
// instance without heartbeats, is a minute, and the minute after which a group with empty nodes is
// deleted though it was not emptied is longer than any reconcile.
const unhurried = 30

var drainScenarios = []scenario{
	{
		name:    "scale-in with a node to drain",
		prepare: havePods,
		act: func(h *harness) {
			h.edit(func(_ *infrav1.AWSMachinePool, machinePool *clusterv1.MachinePool) {
				machinePool.Spec.Replicas = ptr.To[int32](1)
			})
		},
		done: func(h *harness) error {
			if pods := h.pods(); len(pods) != 1 {
				return fmt.Errorf("pods are %q", pods)
			}
			return h.ready(1)
		},
		rate: unhurried,
	},
	{
		name:    "delete with nodes to drain",
		prepare: havePods,
		act:     deletePool,
		done:    gone,
		rate:    unhurried,
	},
}

// havePods has a pool with a pod on each node, which may take a day to leave.
func havePods(h *harness) {
	havePool(h)
	h.edit(func(pool *infrav1.AWSMachinePool, _ *clusterv1.MachinePool) {
		pool.Spec.NodeDrain = &infrav1.NodeDrain{Timeout: &metav1.Duration{Duration: 24 * time.Hour}}
	})
	h.env.Eventually("the service account of pods is there", func() error {
		return h.env.WorkloadClient.Get(h.env.Context(), client.ObjectKey{Namespace: h.env.Namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
	for i, node := range h.env.Nodes() {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: h.env.Namespace, Name: fmt.Sprintf("web-%d", i)},
			Spec: corev1.PodSpec{
				NodeName: node.Name, Containers: []corev1.Container{{Name: "main", Image: "none"}},
				// No kubelet confirms its termination, so it needs no grace period.
				TerminationGracePeriodSeconds: ptr.To[int64](0), AutomountServiceAccountToken: ptr.To(false),
			},
		}
		if err := h.env.WorkloadClient.Create(h.env.Context(), pod); err != nil {
			h.Fatal(err)
		}
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}
		if err := h.env.WorkloadClient.Status().Update(h.env.Context(), pod); err != nil {
			h.Fatal(err)
		}
	}
	h.env.Eventually("the pool is ready", func() error { return h.ready(2) })
}

// pods returns the names of the remaining pods. Only a controller that drains a node removes pods,
// because there are neither kubelets nor a garbage collector.
func (h *harness) pods() []string {
	h.Helper()
	list := &corev1.PodList{}
	if err := h.env.WorkloadClient.List(h.env.Context(), list, client.InNamespace(h.env.Namespace)); err != nil {
		h.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}
