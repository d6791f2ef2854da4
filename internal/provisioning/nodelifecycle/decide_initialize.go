package nodelifecycle

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/duration"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// kubeletNotReady explains why a Node takes no pods.
const kubeletNotReady = "its kubelet does not report that it is ready"

// notInitialized is the reason for which a node is terminated that did not start in time.
const notInitialized = "NodeNotInitialized"

// awaitInitialized waits until the Node is ready, has no startup taint, and has the extended
// resources that its pods request. A node that has not come to it in time is replaced. A node that
// was initialized stays so, whatever becomes of it later.
func awaitInitialized(in input, plan *reconcile.Plan) bool {
	node, isReady := in.Object, in.Seen.Member != nil && clusterstate.Ready(in.Seen.Member)
	switch failed := failureOf(in); {
	case !isReady:
		reconciling.False(node, provisioningv1.NodeReadyCondition, provisioningv1.NotReadyReason, kubeletNotReady)
	case failed.reason != "":
		reconciling.False(node, provisioningv1.NodeReadyCondition, failed.reason, failed.why)
	default:
		reconciling.True(node, provisioningv1.NodeReadyCondition, provisioningv1.ReadyReason, "")
	}
	if node.Status.ReadyTime == nil {
		if isReady && !known(in.Seen.Pods, plan, needPods) {
			return false
		}
		if resource, missing := missingOf(in, isReady); missing != "" {
			return awaitStart(in, plan, resource, missing)
		}
		if !startSucceeded(in, plan) {
			return false
		}
	}
	reconciling.True(node, provisioningv1.InitializedCondition, provisioningv1.InitializedCondition, "")
	return true
}

// missingOf returns what the node lacks to be initialized, "" if nothing; and the extended resource,
// if it lacks only those.
func missingOf(in input, isReady bool) (resource, what string) {
	switch {
	case in.Seen.Member == nil:
		return "", "the instance did not register as a Node"
	case !isReady:
		return "", kubeletNotReady
	}
	awaited := clusterstate.Awaits(in.Object, in.Seen.Member, used(in.Seen.Pods.Value, in.Now))
	if len(awaited.Taints)+len(awaited.Undeclared) == 0 && len(awaited.Resources) > 0 {
		resource = awaited.Resources[0]
	}
	return resource, awaited.String()
}

// awaitStart waits until the node has what it lacks, and replaces it if it does not have it in time.
// The failure, as recorded in the Provisioner's status, holds further launches back. It is recorded
// once, because a node that was launched before the last failure counts as part of it, and not at
// all if another node of the kind has started meanwhile.
func awaitStart(in input, plan *reconcile.Plan, resource, missing string) bool {
	timeout := in.Seen.Settings.RegistrationTimeout
	reconciling.False(in.Object, provisioningv1.InitializedCondition, provisioningv1.InitializingReason, missing)
	if left := timeout - sinceLaunch(in); left > 0 {
		plan.LookAgain(left)
		return false
	}
	why := fmt.Sprintf("it was not initialized within %s: %s", duration.HumanDuration(timeout), missing)
	if !recordStart(in, plan, resource, missing, why) {
		return false
	}
	return end(in, plan, notInitialized, why, reconcile.Warningf(notInitialized,
		"Terminating instance %s of ProvisionedNode %s: %s.", in.Object.Status.InstanceID, in.Object.Name, why))
}

// recordStart records a failed start in the Provisioner's status, if there is one. It reports whether
// the decision may go on.
func recordStart(in input, plan *reconcile.Plan, resource, missing, why string) bool {
	if in.Seen.Provisioner == nil {
		return true
	}
	tried, err := reconcile.Attempted[recordStarts](in.Done)
	if err != nil {
		plan.Fail(err)
		return false
	}
	return tried || planRecord(in, plan, resource, missing, why)
}

// planRecord plans to record a failed start, and reports whether there is nothing to record.
func planRecord(in input, plan *reconcile.Plan, resource, missing, why string) bool {
	if !known(in.Seen.OfProvisioner, plan, needOfProvisioner) {
		return false
	}
	provisioner := in.Seen.Provisioner.DeepCopy()
	if !clusterstate.FailStart(provisioner, in.Seen.OfProvisioner.Value, in.Object, resource, missing, in.Now) {
		return true
	}
	plan.Do(recordStarts{provisioner.Name, provisioner.Status.FailedStarts}, "%s", why)
	return false
}

// startSucceeded removes from the Provisioner's status the failures that an initialized node
// disproves. It reports whether there are none left.
func startSucceeded(in input, plan *reconcile.Plan) bool {
	if in.Seen.Provisioner == nil || len(in.Seen.Provisioner.Status.FailedStarts) == 0 {
		return true
	}
	provisioner := in.Seen.Provisioner.DeepCopy()
	if !clusterstate.ClearFailedStarts(provisioner, in.Object) {
		return true
	}
	if err := reconcile.LastFailure[recordStarts](in.Done); err != nil {
		plan.Fail(err)
		return false
	}
	plan.Do(recordStarts{provisioner.Name, provisioner.Status.FailedStarts}, "ProvisionedNode %s has started", in.Object.Name)
	return false
}
