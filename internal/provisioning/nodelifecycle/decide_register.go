package nodelifecycle

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// ensureRegistered gives the Node its labels, taints, and finalizer. Deleting a Node deletes its
// ProvisionedNode: the finalizer keeps it until it is drained and its instance has terminated.
func ensureRegistered(in input, plan *reconcile.Plan) bool {
	node, member := in.Object, in.Seen.Member
	if member == nil {
		return awaitMember(in, plan)
	}
	node.Status.AwaySince = nil
	if member.DeletionTimestamp != nil {
		return end(in, plan, "NodeDeleted", "its Node was deleted", reconcile.Warningf("NodeDeleted",
			"Node %s was deleted. Slipway evicts its pods and terminates instance %s.", member.Name, node.Status.InstanceID))
	}
	tried, err := reconcile.Attempted[registerMember](in.Done)
	if err != nil {
		plan.Fail(fmt.Errorf("labeling Node %q: %w", member.Name, err))
		return false
	}
	if !tried && !planRegistration(in, plan) {
		return false
	}
	reconciling.True(node, provisioningv1.RegisteredCondition, provisioningv1.RegisteredCondition, "")
	return true
}

// planRegistration plans what the Node lacks, and reports whether it lacks nothing.
func planRegistration(in input, plan *reconcile.Plan) bool {
	member := in.Seen.Member
	held := controllerutil.ContainsFinalizer(member, provisioningv1.NodeFinalizer)
	unregistered := slices.ContainsFunc(member.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == clusterstate.UnregisteredTaint })
	dress := unregistered || !clusterstate.IsTrue(in.Object, provisioningv1.RegisteredCondition)
	if held && !dress {
		return true
	}
	register := registerMember{Node: member.Name}
	if dress {
		// A Node that pods came to without these labels would keep them, and lack the labels for good.
		if !known(in.Seen.Labels, plan, needLabels) {
			return false
		}
		if err := in.Seen.Labels.Err; err != nil {
			return tryAgain(plan, err)
		}
		// The finalizer is written together with the startup taints: a Node that has it got them
		// before, and they may have been removed since.
		register.Dress, register.Labels, register.Starts = true, in.Seen.Labels.Value, !held && in.Object.Status.ReadyTime == nil
		plan.Do(register, "Node %s has joined the cluster", member.Name)
		return false
	}
	plan.Do(register, "Node %s lacks the finalizer", member.Name)
	return false
}

// awaitMember waits for the Node: for the first time, or because it was deleted past its finalizer.
// In that case it may be back when its kubelet starts again, and no pod is promised to it
// meanwhile. If it stays away, the instance is terminated.
func awaitMember(in input, plan *reconcile.Plan) bool {
	status, timeout := &in.Object.Status, in.Seen.Settings.RegistrationTimeout
	if status.NodeName == "" {
		reconciling.False(in.Object, provisioningv1.RegisteredCondition, provisioningv1.RegisteringReason, "the instance has not joined the cluster yet")
		return true
	}
	if !known(in.Seen.LiveMember, plan, needLiveMember) {
		return false
	}
	if live := in.Seen.LiveMember.Value; live != nil && clusterstate.InstanceOf(live.Spec.ProviderID) == status.InstanceID {
		plan.LookAgain(lookAtReplacement) // the cache does not show the Node
		return false
	}
	if status.AwaySince == nil {
		status.AwaySince = timeOf(in.Now)
	}
	left := status.AwaySince.Add(timeout).Sub(in.Now)
	if left <= 0 {
		return replaceNode(in, plan, failure{failedAway, fmt.Sprintf("Node %s is gone and did not come back within %s", status.NodeName, duration.HumanDuration(timeout))})
	}
	reconciling.False(in.Object, provisioningv1.RegisteredCondition, provisioningv1.NodeGoneReason,
		fmt.Sprintf("Node %s does not exist. No pods are scheduled to it. Slipway terminates instance %s unless "+
			"the Node returns within %s", status.NodeName, status.InstanceID, duration.HumanDuration(timeout)))
	plan.LookAgain(left)
	return false
}
