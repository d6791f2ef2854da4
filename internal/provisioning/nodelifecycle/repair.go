package nodelifecycle

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// repairAfter is the time for which a node that had been initialized may fail before it is
	// replaced: a reboot takes less, and so does EC2's automatic recovery, which moves an instance
	// whose host fails to another one.
	repairAfter = 10 * time.Minute
	// repairDrain bounds how long the drain of a failed node takes. Karpenter gives it no time at
	// all. Pods of a node that is not ready may still run, and may shut down in order.
	repairDrain = 5 * time.Minute
	// repairedShare is the part of a zone's nodes that are replaced at once because they failed:
	// one of so many.
	repairedShare = 5
	// repairHold is the time for which a deleted node counts as being replaced: the passes that
	// launch another one for its pods come within seconds.
	repairHold = time.Minute
	// lookAtRepairs is the interval at which a node that waits for others to be replaced is checked
	// again.
	lookAtRepairs = 30 * time.Second
)

// The reasons for which a node that had been initialized is replaced, as
// slipway_node_disruptions_total has them.
const (
	failedKubelet      = provisioningv1.NotReadyReason
	failedStopped      = "InstanceStopped"
	failedStatusChecks = "StatusChecksFailed"
	failedAway         = provisioningv1.NodeGoneReason
)

// failure describes what is wrong with a node that had been initialized.
type failure struct {
	// reason is empty if nothing is wrong.
	reason string
	// why is a sentence without its full stop.
	why string
}

// failureOf returns what is wrong with a node that had been initialized. impaired reports whether
// its instance fails an EC2 status check.
func failureOf(p *pass, impaired bool) failure {
	switch {
	case p.node.Status.ReadyTime == nil:
		return failure{}
	case p.instance != nil && p.instance.Stopped():
		return failure{failedStopped, fmt.Sprintf("instance %s is stopped", p.instance.ID)}
	case p.member != nil && !clusterstate.Ready(p.member):
		return failure{failedKubelet, kubeletNotReady}
	case p.instance != nil && impaired:
		return failure{failedStatusChecks, fmt.Sprintf("instance %s fails an EC2 status check", p.instance.ID)}
	}
	return failure{}
}

// repair replaces a node that had been initialized and has failed for long enough: its kubelet is
// not ready, its instance is stopped, or the instance fails an EC2 status check. Where many nodes
// fail together, the cause may be none of theirs: no more than a fifth of a zone's nodes are
// replaced at once.
func (r *Reconciler) repair(ctx context.Context, p *pass) reconciling.Outcome {
	failed, left := r.failing(p)
	switch {
	case failed.reason == "":
		return reconciling.Continue()
	case left > 0:
		return reconciling.ContinueAndComeBack(left, "the node is replaced unless it recovers by then")
	}
	since := p.node.Status.FailedSince.UTC().Format(time.RFC3339)
	failed.why = fmt.Sprintf("Node %s has failed since %s: %s", p.node.Status.NodeName, since, failed.why)
	return r.replaceFailed(ctx, p, failed)
}

// failing returns what is wrong with a node that had been initialized, and how long it may recover
// before it counts as failed for good. It records in status since when.
func (r *Reconciler) failing(p *pass) (failure, time.Duration) {
	failed := failureOf(p, r.Checks.fails(p.node))
	if failed.reason == "" {
		p.node.Status.FailedSince = nil
		return failure{}, 0
	}
	if p.node.Status.FailedSince == nil {
		p.node.Status.FailedSince = &metav1.Time{Time: r.Clock.Now()}
	}
	return failed, max(p.node.Status.FailedSince.Add(repairAfter).Sub(r.Clock.Now()), 0)
}

// replaceFailed deletes a failed node if no more than a fifth of its zone's nodes are being deleted
// for that reason at a time; else it comes back. It decides on one node after the other, from the
// state of the API server at that time, so that two of them never take the same place.
func (r *Reconciler) replaceFailed(ctx context.Context, p *pass, failed failure) reconciling.Outcome {
	r.repairs.Lock()
	defer r.repairs.Unlock()
	// the cache saves a call while there is no place
	for _, reader := range []client.Reader{r.Client, r.Live} {
		var nodes provisioningv1.ProvisionedNodeList
		if err := reader.List(ctx, &nodes); err != nil {
			return reconciling.Fail(fmt.Errorf("listing ProvisionedNodes: %w", err))
		}
		if !mayRepair(nodes.Items, p.node.Status.Zone) {
			message := fmt.Sprintf("%s; it is not replaced yet, because a fifth of the nodes in zone %s are being replaced for failures", failed.why, p.node.Status.Zone)
			reconciling.False(p.node, provisioningv1.NodeReadyCondition, failed.reason, message)
			return reconciling.ComeBack(lookAtRepairs, "failed nodes of its zone are replaced first")
		}
	}
	if failed.reason == failedStatusChecks {
		still, err := r.Checks.stillFails(ctx, p.node.Status.InstanceID)
		if err != nil {
			return pool.RetryOutcome(err)
		}
		if !still {
			p.node.Status.FailedSince = nil
			return reconciling.ComeBack(lookAtRepairs, "the status checks of its instance pass again")
		}
	}
	r.tell(ctx, p, "NodeFailed", "ProvisionedNode %s is replaced: %s. Its pods are evicted, and instance %s is terminated within %s.",
		p.node.Name, failed.why, p.node.Status.InstanceID, duration.HumanDuration(drainLimit(p.provisioner)))
	return r.end(ctx, p, failed.reason, failed.why)
}

// drainLimit returns how long the drain of a failed node of a Provisioner takes at most. A pod that
// cannot be evicted would else keep its node, and with it all that fail later in the zone, from
// being replaced.
func drainLimit(provisioner *provisioningv1.Provisioner) time.Duration {
	if provisioner != nil && provisioner.Spec.TerminationGracePeriod != nil {
		return min(provisioner.Spec.TerminationGracePeriod.Duration, repairDrain)
	}
	return repairDrain
}

// limitFailedDrain bounds the drain of a node that has failed for longer than it may: one that is
// being replaced for that, and one that failed while it was drained. The deadline is not written
// before the node is deleted, because a node that recovered after a crash would keep it.
func (r *Reconciler) limitFailedDrain(ctx context.Context, p *pass) error {
	if p.node.Status.TerminateTime != nil {
		return nil // its kubelet stops with its instance
	}
	failed, left := r.failing(p)
	if failed.reason == "" || left > 0 {
		return nil
	}
	return r.limitDrain(ctx, p.node, drainLimit(p.provisioner))
}

// mayRepair reports whether a further failed node of a zone may be deleted: failed nodes that are
// being deleted, and nodes that are not initialized yet, are together fewer than a fifth of the
// zone's nodes, or there are none of them. Nodes that are deleted for another reason do not count
// as the zone's any longer. So the replacements of the nodes that failed first must start before
// more are deleted: where no node can start, only a fifth is lost.
func mayRepair(nodes []provisioningv1.ProvisionedNode, zone string) bool {
	inZone, moving := 0, 0
	for i := range nodes {
		status, ending := &nodes[i].Status, nodes[i].DeletionTimestamp != nil
		if status.Zone != zone || status.InstanceID == "" || ending && !failedBefore(status) {
			continue
		}
		inZone++
		if ending || status.ReadyTime == nil {
			moving++
		}
	}
	return moving < max(inZone/repairedShare, 1)
}

// failedBefore reports whether the node had failed when it was deleted.
func failedBefore(status *provisioningv1.ProvisionedNodeStatus) bool {
	return status.FailedSince != nil || status.AwaySince != nil
}

// heldPlace returns how long the object of a failed node stays after its instance was terminated,
// so that it counts until there is another node for its pods.
func (r *Reconciler) heldPlace(node *provisioningv1.ProvisionedNode) time.Duration {
	if !failedBefore(&node.Status) || node.Status.TerminateTime == nil {
		return 0
	}
	return max(node.Status.TerminateTime.Add(repairHold).Sub(r.Clock.Now()), 0)
}
