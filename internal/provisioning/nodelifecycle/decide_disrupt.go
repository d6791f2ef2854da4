package nodelifecycle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// lookAtReplacement is the interval at which it is checked at first whether the pods of a node have
	// places elsewhere.
	lookAtReplacement = 2 * time.Second
	// recheckKept is the interval at which a node that an annotation or a PodDisruptionBudget keeps
	// is checked again. Changes of pods and Nodes bring a pass sooner.
	recheckKept = time.Minute
)

// interval returns when to look again for something that may never come: at first, as soon as given,
// and later in a fifteenth of the time for which it has not come, but once a minute.
func interval(waited, first time.Duration) time.Duration {
	return min(max(waited/15, first), recheckKept)
}

// disrupt terminates a node that is empty and replaces one that is not, unless an annotation or a
// PodDisruptionBudget keeps it, or a disruption budget holds it back. The condition says so; the
// controller of Provisioners reads from it that the node asks, and allows it by an annotation.
func disrupt(in input, plan *reconcile.Plan, reason provisioningv1.DisruptionReason, why string) bool {
	node, provisioner := in.Object, in.Seen.Provisioner
	if in.Seen.Member != nil && !known(in.Seen.Pods, plan, needPods) || !known(in.Seen.Budgets, plan, needBudgets) {
		return false
	}
	kept := disruption.KeptBy(&provisioner.Spec, node, in.Seen.Member, in.Seen.Pods.Value, in.Seen.Budgets.Value)
	// Nodes that the Provisioner's controller marked as drifted are within the budgets.
	bounded := reason != provisioningv1.DisruptionDrifted && disruption.Bounded(&provisioner.Spec, reason)
	switch {
	case kept.Keeps():
		reconciling.False(node, provisioningv1.ReplacingCondition, kept.Reason, kept.Explain(why))
		plan.LookAgain(recheckKept)
		return false
	case bounded && !disruption.Allows(node, reason):
		reconciling.False(node, provisioningv1.ReplacingCondition, string(reason),
			fmt.Sprintf("%s; the node stays until the disruption budgets of Provisioner %s allow its disruption", why, provisioner.Name))
		plan.LookAgain(recheckKept) // it may become empty meanwhile
		return false
	case reason == provisioningv1.DisruptionEmpty:
		return endDisrupted(in, plan, reason, why)
	}
	return replace(in, plan, reason, why)
}

// replace deletes a node once all of its pods have places on nodes that take them. The condition
// has them packed anew, and keeps further ones away. A node that is too old waits for that no
// longer than a new one may take to come.
func replace(in input, plan *reconcile.Plan, reason provisioningv1.DisruptionReason, why string) bool {
	if in.Seen.Member != nil && !known(in.Seen.Places, plan, needPlaces) {
		return false
	}
	homeless := homelessOf(in)
	waited := time.Duration(0)
	if since := meta.FindStatusCondition(in.Object.Status.Conditions, provisioningv1.ReplacingCondition); since != nil && since.Status == metav1.ConditionTrue {
		waited = in.Now.Sub(since.LastTransitionTime.Time)
	}
	late := reason == provisioningv1.DisruptionExpired && waited > in.Seen.Settings.RegistrationTimeout
	if homeless == 0 || late {
		return endDisrupted(in, plan, reason, why)
	}
	reconciling.True(in.Object, provisioningv1.ReplacingCondition, string(reason), fmt.Sprintf("%s; %d of its pods do not fit on other "+
		"nodes yet", why, homeless))
	// There may never be such places: the Provisioner may be at its limits.
	plan.LookAgain(interval(waited, lookAtReplacement))
	return false
}

// endDisrupted deletes a node whose disruption is due.
func endDisrupted(in input, plan *reconcile.Plan, reason provisioningv1.DisruptionReason, why string) bool {
	return end(in, plan, string(reason), why, reconcile.Eventf("NodeEnded", "Terminating ProvisionedNode %s (Node "+
		"%s): %s.", in.Object.Name, in.Object.Status.NodeName, why))
}

// homelessOf returns how many pods have no place yet on another node that takes them.
func homelessOf(in input) int {
	if in.Seen.Member == nil {
		return 0
	}
	count, places := 0, in.Seen.Places.Value
	for i := range in.Seen.Pods.Value {
		pod := &in.Seen.Pods.Value[i]
		if !places.Volumes.Moves(pod) {
			continue
		}
		if place, has := places.ByPod[pod.UID]; !has || place.Name == in.Object.Name || !takesPods(place) {
			count++
		}
	}
	return count
}

// takesPods reports whether pods can now come to a place.
func takesPods(place Place) bool {
	switch {
	case place.Provisioned != nil:
		return clusterstate.IsTrue(place.Provisioned, provisioningv1.ReadyCondition) && !clusterstate.Leaves(place.Provisioned)
	case place.Member != nil:
		return clusterstate.Ready(place.Member) && !place.Member.Spec.Unschedulable
	}
	return false
}
