package nodelifecycle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconcile"
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

// failureOf returns what is wrong with a node that had been initialized.
func failureOf(in input) failure {
	instance, member := in.Seen.Instance.Found, in.Seen.Member
	switch {
	case in.Object.Status.ReadyTime == nil:
		return failure{}
	case instance != nil && instance.Stopped():
		return failure{failedStopped, fmt.Sprintf("instance %s is stopped", instance.ID)}
	case member != nil && !clusterstate.Ready(member):
		return failure{failedKubelet, kubeletNotReady}
	case instance != nil && in.Seen.Impaired:
		return failure{failedStatusChecks, fmt.Sprintf("instance %s fails an EC2 status check", instance.ID)}
	}
	return failure{}
}

// repair replaces a node that had been initialized and has failed for long enough: its kubelet is
// not ready, its instance is stopped, or the instance fails an EC2 status check.
func repair(in input, plan *reconcile.Plan) bool {
	failed, left := failing(in)
	switch {
	case failed.reason == "":
		return true
	case left > 0:
		plan.LookAgain(left) // it is replaced unless it recovers by then
		return true
	}
	since := in.Object.Status.FailedSince.UTC().Format(time.RFC3339)
	failed.why = fmt.Sprintf("Node %s has failed since %s: %s", in.Object.Status.NodeName, since, failed.why)
	return replaceNode(in, plan, failed)
}

// failing returns what is wrong with a node that had been initialized, and how long it may recover
// before it counts as failed for good. It records in status since when.
func failing(in input) (failure, time.Duration) {
	failed, status := failureOf(in), &in.Object.Status
	if failed.reason == "" {
		status.FailedSince = nil
		return failure{}, 0
	}
	if status.FailedSince == nil {
		status.FailedSince = timeOf(in.Now)
	}
	return failed, max(status.FailedSince.Add(repairAfter).Sub(in.Now), 0)
}

// replaceNode deletes a failed node. Where many nodes fail together, the cause may be none of
// theirs: if a fifth of its zone's nodes are being deleted for that reason, the node waits.
func replaceNode(in input, plan *reconcile.Plan, failed failure) bool {
	node := in.Object
	if !known(in.Seen.Nodes, plan, needNodes) {
		return false
	}
	if !mayRepair(in.Seen.Nodes.Value, node.Status.Zone) {
		reconciling.False(node, provisioningv1.NodeReadyCondition, failed.reason,
			fmt.Sprintf("%s; it is not replaced yet, because a fifth of the nodes in zone %s are being replaced for failures", failed.why, node.Status.Zone))
		plan.LookAgain(lookAtRepairs)
		return false
	}
	switch tried, err := reconcile.Attempted[replaceFailed](in.Done); {
	case !tried:
		told := reconcile.Warningf("NodeFailed", "Replacing ProvisionedNode %s: %s. Slipway evicts its pods and "+
			"terminates instance %s within %s.",
			node.Name, failed.why, node.Status.InstanceID, duration.HumanDuration(drainLimit(in.Seen.Provisioner)))
		deletion := deleteNode{Reason: failed.reason, Told: aboutProvisioner(in, []reconcile.Event{told})}
		plan.Do(replaceFailed{deletion, node.Status.Zone, failed.reason == failedStatusChecks}, "%s", failed.why)
	case err != nil:
		return tryAgain(plan, err)
	case in.Seen.Recovered:
		node.Status.FailedSince = nil
		plan.LookAgain(lookAtRepairs)
	default:
		plan.Untold = true
	}
	return false
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

// mayRepair reports whether a further failed node of a zone may be deleted: failed nodes that are
// being deleted, and nodes that are not initialized yet, are together fewer than a fifth of the
// zone's nodes, or there are none of them. Nodes that are deleted for another reason do not count
// as the zone's any longer. So the replacements of the nodes that failed first must start before
// more are deleted: where no node can start, only a fifth is lost. A node that was never initialized
// and whose Node is gone does not start any longer. It would otherwise keep itself from being
// replaced.
func mayRepair(nodes []provisioningv1.ProvisionedNode, zone string) bool {
	inZone, moving := 0, 0
	for i := range nodes {
		status, ending := &nodes[i].Status, nodes[i].DeletionTimestamp != nil
		if status.Zone != zone || status.InstanceID == "" || ending && !failedBefore(status) {
			continue
		}
		inZone++
		if ending || status.ReadyTime == nil && status.AwaySince == nil {
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
func heldPlace(in input) time.Duration {
	status := &in.Object.Status
	if !failedBefore(status) || status.TerminateTime == nil {
		return 0
	}
	return max(status.TerminateTime.Add(repairHold).Sub(in.Now), 0)
}
