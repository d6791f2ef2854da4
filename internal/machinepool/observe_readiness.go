package machinepool

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// readinessEvery is the interval at which nodes of a roll-out are checked while they work.
const readinessEvery = time.Minute

// readReadiness lists the Nodes of the workload cluster that are Ready. A cluster whose nodes with the
// wanted configuration were found to work is not asked again for a while: that they work ends no
// roll-out.
func (o observer) readReadiness(ctx context.Context) {
	target, memory := wanted(o.input()).Key(), o.Memory
	if memory.working == target && o.Clock.Now().Before(memory.workingUntil) {
		o.Seen.Readiness = Readiness{Read: true}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	ready := map[string]bool{}
	api, err := o.Workloads.Client(ctx, types.NamespacedName{Namespace: o.Object.Namespace, Name: o.Seen.ClusterName})
	if err == nil {
		err = api.EachNode(ctx, func(node *corev1.Node) bool {
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
					ready[node.Spec.ProviderID] = true
				}
			}
			return true
		})
	}
	o.Seen.Readiness = Readiness{Read: err == nil, Ready: ready, Err: err}
	if err == nil && !unready(o.input()) {
		memory.working, memory.workingUntil = target, o.Clock.Now().Add(readinessEvery)
	}
}
