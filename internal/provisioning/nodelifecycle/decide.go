package nodelifecycle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Decide returns what to do for a ProvisionedNode, and writes its status. A concern that returns
// false stops the decision: the concerns after it have to wait.
func Decide(in input) reconcile.Plan {
	var plan reconcile.Plan
	concerns := []func(input, *reconcile.Plan) bool{
		ensureLaunched, checkInstance, nameMember, ensureRecorded, ensureRegistered, awaitInitialized, repair, live,
	}
	if in.Object.DeletionTimestamp != nil {
		reconciling.False(in.Object, provisioningv1.ReadyCondition, provisioningv1.DeletingReason, "")
		concerns = []func(input, *reconcile.Plan) bool{checkInstance, nameMember, ensureDrained, ensureTerminated, release}
	}
	for _, concern := range concerns {
		if goOn := concern(in, &plan); !goOn {
			break
		}
	}
	return plan
}

// The intervals at which a node is reconciled again when nothing that is watched signals a change.
const (
	// lookAtLaunch is for a new instance that EC2 does not show yet.
	lookAtLaunch = 5 * time.Second
	// visibility is the time that EC2 may take to show an instance that it has launched.
	visibility = 2 * time.Minute
)

// checkInstance checks that the instance still exists, and deletes the node if it does not.
func checkInstance(in input, plan *reconcile.Plan) bool {
	status, seen := &in.Object.Status, in.Seen.Instance
	switch {
	case status.InstanceID == "":
		return true
	case seen.ID != status.InstanceID:
		plan.Need(needInstance)
		return false
	case seen.Err != nil:
		return tryAgain(plan, seen.Err)
	case seen.Foreign != nil:
		return refuse(in, plan)
	}
	if status.ImageID == "" {
		status.ImageID = seen.ImageID
	}
	switch {
	case in.Object.DeletionTimestamp != nil:
	case seen.Found == nil && !longLaunched(in):
		// Reads in EC2 lag behind writes. Until the tags are seen, the Node of the instance is not touched.
		plan.LookAgain(lookAtLaunch)
		return false
	case seen.Found == nil || seen.Found.Ends():
		return instanceLost(in, plan)
	}
	return true
}

// refuse leaves an instance alone that was not launched for the node. If the node is being deleted,
// its object goes without it.
func refuse(in input, plan *reconcile.Plan) bool {
	message := fmt.Sprintf("%v. Slipway neither drains nor terminates it, and the ProvisionedNode counts "+
		"against limits until it is deleted. Delete the ProvisionedNode if it should not manage this instance", in.Seen.Instance.Foreign)
	if !shows(in.Object, provisioningv1.LaunchedCondition, provisioningv1.InstanceNotOwnedReason) {
		tell(in, plan, reconcile.Warningf(provisioningv1.InstanceNotOwnedReason, "ProvisionedNode %s: %s.", in.Object.Name, message))
	}
	reconciling.False(in.Object, provisioningv1.LaunchedCondition, provisioningv1.InstanceNotOwnedReason, message)
	return in.Object.DeletionTimestamp != nil
}

// nameMember shows which Node runs on the instance. A Node of another name than before has no labels
// and taints yet.
func nameMember(in input, _ *reconcile.Plan) bool {
	status, member := &in.Object.Status, in.Seen.Member
	if member == nil {
		return true
	}
	if status.NodeName != "" && status.NodeName != member.Name {
		reconciling.False(in.Object, provisioningv1.RegisteredCondition, provisioningv1.RegisteringReason,
			fmt.Sprintf("Node %s has joined the cluster, and takes the place of Node %s", member.Name, status.NodeName))
	}
	status.NodeName = member.Name
	return true
}

// ensureRecorded stops a pass that has learned about the instance and finds its Node there already.
// The instance is recorded first: without it, a node that is deleted is not drained.
func ensureRecorded(in input, plan *reconcile.Plan) bool {
	if in.Seen.Answer == nil || in.Seen.Member == nil {
		return true
	}
	plan.LookAgain(lookAtLaunch) // the event of the status brings the next pass sooner
	return false
}

// sinceLaunch returns the time since the instance was launched, zero if it was not.
func sinceLaunch(in input) time.Duration {
	if in.Object.Status.LaunchTime == nil {
		return 0
	}
	return in.Now.Sub(in.Object.Status.LaunchTime.Time)
}

// longLaunched reports whether EC2 would already show the instance, if it existed.
func longLaunched(in input) bool {
	return in.Object.Status.LaunchTime == nil || sinceLaunch(in) >= visibility
}

// end deletes the object, for a reason that slipway_node_disruptions_total shows. The deletion
// drains the node and terminates the instance first.
func end(in input, plan *reconcile.Plan, reason, why string, told ...reconcile.Event) bool {
	switch tried, err := reconcile.Attempted[deleteNode](in.Done); {
	case !tried:
		plan.Do(deleteNode{Reason: reason, Told: aboutProvisioner(in, told)}, "%s", why)
	case err != nil:
		plan.Fail(err)
	default:
		// The deletion changed the object: the API server would refuse a status that was decided
		// before.
		plan.Untold = true
	}
	return false
}

// tryAgain has the node reconciled again when what AWS refused may be asked again. A change of the
// node's instance, Node or pods still brings a pass sooner.
func tryAgain(plan *reconcile.Plan, err error) bool {
	pool.TryAgain(plan, err)
	plan.Held = false
	return false
}

// tell reports events on the Provisioner, which outlives its nodes. Nothing is reported if it is
// gone.
func tell(in input, plan *reconcile.Plan, events ...reconcile.Event) {
	plan.Events = append(plan.Events, aboutProvisioner(in, events)...)
}

// aboutProvisioner returns events as events about the Provisioner, none if it is gone.
func aboutProvisioner(in input, events []reconcile.Event) []reconcile.Event {
	if in.Seen.Provisioner == nil {
		return nil
	}
	events = slices.Clone(events)
	for i := range events {
		events[i].About = in.Seen.Provisioner
	}
	return events
}

// shows reports whether a condition has a reason.
func shows(node *provisioningv1.ProvisionedNode, condition, reason string) bool {
	shown := meta.FindStatusCondition(node.Status.Conditions, condition)
	return shown != nil && shown.Reason == reason
}

// timeOf returns a time as status has it.
func timeOf(at time.Time) *metav1.Time { return &metav1.Time{Time: at} }

// used reports whether any of the pods of a node needs it.
func used(pods []corev1.Pod, now time.Time) bool {
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return uses(&pod, now) })
}

// uses reports whether a node is needed for a pod: it is not a pod of a daemon set or of the
// kubelet, and it has not finished. A pod that should have terminated long ago has finished:
// something else keeps its object.
func uses(pod *corev1.Pod, now time.Time) bool {
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return false
	}
	controller := metav1.GetControllerOf(pod)
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return !ended && !drain.Overdue(pod, now) && (controller == nil || controller.Kind != "DaemonSet")
}
