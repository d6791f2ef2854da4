package nodelifecycle

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// settling is the time for which a node that was never used is left alone: the scheduler considers
// a new one within seconds.
const settling = 10 * time.Second

// live deletes or replaces the node when its time has come: when no pod has needed it for long
// enough, when it is too old, when it has drifted, or when a user requests it. Without its
// Provisioner, a node stays.
func live(in input, plan *reconcile.Plan) bool {
	node := in.Object
	if node.Status.ReadyTime == nil && clusterstate.IsTrue(node, provisioningv1.InitializedCondition) {
		node.Status.ReadyTime = timeOf(in.Now)
	}
	if in.Seen.Provisioner == nil {
		return true
	}
	runs := in.Seen.Member != nil && node.Status.ReadyTime != nil
	if runs && !known(in.Seen.Pods, plan, needPods) {
		return false
	}
	empty := runs && !used(in.Seen.Pods.Value, in.Now)
	noteUse(in, empty)
	awaitOverdue(in, plan)
	if left := settling - in.Now.Sub(ptr.Deref(node.Status.ReadyTime, metav1.Time{}).Time); empty && in.Seen.Promised && left > 0 {
		// Its first pods are bound to it within seconds. They would otherwise never run where a node is
		// older than its maximum age once it has started.
		plan.LookAgain(left)
		return true
	}
	verdict := lifeOf(&node.Status, &in.Seen.Provisioner.Spec, in.Now)
	if reason, why := disruptedFor(node, verdict); reason != "" {
		return disrupt(in, plan, reason, why)
	}
	reconciling.Remove(node, provisioningv1.ReplacingCondition)
	switch {
	case in.Seen.Promised && empty:
		// No event of the node itself signals that its pods no longer need it.
		plan.LookAgain(interval(in.Now.Sub(node.Status.ReadyTime.Time), settling))
	case verdict.next > 0:
		plan.LookAgain(verdict.next)
	}
	return true
}

// awaitOverdue has the node reconciled again when a pod that is being deleted no longer counts: no event
// signals that.
func awaitOverdue(in input, plan *reconcile.Plan) {
	for i := range in.Seen.Pods.Value {
		if pod := &in.Seen.Pods.Value[i]; pod.DeletionTimestamp != nil && !drain.Overdue(pod, in.Now) {
			plan.LookAgain(pod.DeletionTimestamp.Add(drain.OverdueAfter + time.Second).Sub(in.Now))
		}
	}
}

// noteUse records since when the node has been empty and no pod is to run on it.
func noteUse(in input, empty bool) {
	status := &in.Object.Status
	switch {
	case !empty, in.Seen.Promised:
		status.EmptySince = nil
	case status.EmptySince == nil:
		status.EmptySince = timeOf(in.Now)
	}
}

// life says whether it is time to delete or to replace a node; else when it may be.
type life struct {
	over, expired bool
	next          time.Duration
	why           string
}

// lifeOf decides from when the node was launched and how long it has been empty.
func lifeOf(status *provisioningv1.ProvisionedNodeStatus, spec *provisioningv1.ProvisionerSpec, now time.Time) life {
	var verdict life
	due := func(since *metav1.Time, seconds *int64, least time.Duration, then life) {
		if since == nil || seconds == nil || verdict.over {
			return
		}
		left := since.Add(max(time.Duration(*seconds)*time.Second, least)).Sub(now)
		switch {
		case left <= 0:
			verdict = then
		case verdict.next == 0 || left < verdict.next:
			verdict.next = left
		}
	}
	due(status.EmptySince, spec.TTLSeconds, settling, life{over: true, why: "the node has no pods"})
	due(status.LaunchTime, spec.TTLSecondsUntilExpired, 0, life{expired: true, why: "the node has reached its maximum age"})
	return verdict
}

// disruptedFor returns the reason for which a node should be disrupted and a text that explains it;
// both are empty if it should not be.
func disruptedFor(node *provisioningv1.ProvisionedNode, verdict life) (reason provisioningv1.DisruptionReason, why string) {
	asked, is := node.Annotations[provisioningv1.ReplaceAnnotation]
	switch {
	case verdict.over:
		return provisioningv1.DisruptionEmpty, verdict.why
	case verdict.expired:
		return provisioningv1.DisruptionExpired, verdict.why
	case disruption.MarkedDrifted(node):
		return provisioningv1.DisruptionDrifted, strings.TrimLeft(strings.TrimPrefix(asked, provisioningv1.DriftedReason), ": ")
	case is:
		return provisioningv1.DisruptionRequested, strings.TrimSuffix("its replacement was requested: "+asked, ": ")
	}
	return "", ""
}
