package nodelifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// lookAtEnd is the interval at which a terminating instance is described again, should the sweeps
// not wake its object first.
const lookAtEnd = 30 * time.Second

// ensureDrained empties the Node. PodDisruptionBudgets and the annotation
// karpenter.sh/do-not-disrupt hold until the deadline of the drain, or for as long as they do.
func ensureDrained(in input, plan *reconcile.Plan) bool {
	status, member, instance := &in.Object.Status, in.Seen.Member, in.Seen.Instance.Found
	if member == nil || instance == nil || instance.Ends() {
		return true
	}
	if status.DrainTime == nil {
		status.DrainTime = timeOf(in.Now)
	}
	limitFailedDrain(in, plan)
	deadline := deadlineOf(in, plan)
	switch tried, err := reconcile.Attempted[drainMember](in.Done); {
	case !tried:
		plan.Do(drainMember{member.Name, member.Spec.ProviderID, deadline}, "ProvisionedNode %s is being deleted", in.Object.Name)
		return false
	case err != nil:
		plan.Fail(err)
		return false
	case in.Seen.Drain.Empty:
		return true
	}
	message := in.Seen.Drain.String()
	if !deadline.IsZero() {
		message += fmt.Sprintf("; the instance is terminated at %s in any case", deadline.UTC().Format(time.RFC3339))
	}
	reconciling.True(in.Object, provisioningv1.EndingCondition, provisioningv1.DrainingReason, message)
	plan.LookAgain(drain.NextLook(in.Now.Sub(status.DrainTime.Time)))
	if next := in.Seen.Drain.Next; !next.IsZero() {
		plan.LookAgain(next.Sub(in.Now))
	}
	return false
}

// limitFailedDrain bounds the drain of a node that has failed for longer than it may: one that is
// being replaced for that, and one that failed while it was drained. The deadline is not written
// before the node is deleted, because a node that recovered after a crash would keep it.
func limitFailedDrain(in input, plan *reconcile.Plan) {
	if in.Object.Status.TerminateTime != nil {
		return // its kubelet stops with its instance
	}
	if failed, left := failing(in); failed.reason != "" && left <= 0 {
		limitDrain(in, plan, drainLimit(in.Seen.Provisioner))
	}
}

// limitDrain has the instance of a node terminated after a time at the latest, so that every pod is
// evicted or deleted with its own grace period while the instance is there. A deadline that comes
// sooner stays.
func limitDrain(in input, plan *reconcile.Plan, after time.Duration) {
	deadline := in.Now.Add(after).UTC()
	if sooner, err := time.Parse(time.RFC3339, in.Object.Annotations[provisioningv1.TerminationDeadlineAnnotation]); err == nil && !sooner.After(deadline) {
		return
	}
	plan.Annotations = map[string]string{provisioningv1.TerminationDeadlineAnnotation: deadline.Format(time.RFC3339)}
}

// deadlineOf returns when the instance of a node that is being deleted is terminated, whatever is
// left on it; zero for never. That is its terminationGracePeriod after the drain began, or what an
// annotation says, which the plan may write, if that is sooner.
func deadlineOf(in input, plan *reconcile.Plan) time.Time {
	var deadline time.Time
	provisioner, status := in.Seen.Provisioner, &in.Object.Status
	if provisioner != nil && provisioner.Spec.TerminationGracePeriod != nil && status.DrainTime != nil {
		deadline = status.DrainTime.Add(provisioner.Spec.TerminationGracePeriod.Duration)
	}
	annotation := in.Object.Annotations[provisioningv1.TerminationDeadlineAnnotation]
	if planned, is := plan.Annotations[provisioningv1.TerminationDeadlineAnnotation]; is {
		annotation = planned
	}
	annotated, err := time.Parse(time.RFC3339, annotation)
	if err == nil && (deadline.IsZero() || annotated.Before(deadline)) {
		return annotated
	}
	return deadline
}

// ensureTerminated terminates the instance, and waits until EC2 reports that it has terminated.
func ensureTerminated(in input, plan *reconcile.Plan) bool {
	status, seen := &in.Object.Status, in.Seen.Instance
	switch {
	case status.InstanceID == "":
		return terminateUnrecorded(in, plan)
	case seen.Foreign != nil, seen.Found == nil && longLaunched(in), seen.Found != nil && seen.Found.Ends():
		return true
	case seen.Found == nil: // EC2 does not show it yet
		plan.LookAgain(lookAtLaunch)
		return false
	}
	switch tried, err := reconcile.Attempted[terminateInstance](in.Done); {
	case !tried:
		plan.Do(terminateInstance{*seen.Found}, "ProvisionedNode %s is being deleted", in.Object.Name)
		return false
	case err != nil:
		return tryAgain(plan, err)
	}
	if status.TerminateTime == nil {
		status.TerminateTime = timeOf(in.Now)
	}
	reconciling.True(in.Object, provisioningv1.EndingCondition, provisioningv1.TerminatingReason, "the instance is being terminated")
	plan.LookAgain(lookAtEnd)
	return false
}

// terminateUnrecorded terminates what a launch may have launched for a node that does not know its
// instance. While other nodes of the launch wait for their instances, the call is still to be
// answered, and the collector terminates what it launched too many of.
func terminateUnrecorded(in input, plan *reconcile.Plan) bool {
	if !known(in.Seen.Siblings, plan, needSiblings) {
		return false
	}
	siblings, answered, mine := in.Seen.Siblings.Value, in.Seen.Answer != nil, ""
	if answered {
		mine = in.Seen.Answer.instances[in.Object.Name].ID
	}
	switch failed := cmp.Or(in.Seen.OfLaunch.Err, reconcile.LastFailure[terminateInstance](in.Done)); {
	case answered && mine == "", !answered && awaited(siblings, in.Object.Name):
		return true
	case !known(in.Seen.OfLaunch, plan, needOfLaunch):
		return false
	case failed != nil:
		return tryAgain(plan, failed)
	}
	isMine := func(instance fleet.Instance) bool { return instance.ID == mine }
	if !slices.ContainsFunc(in.Seen.OfLaunch.Value, isMine) && mayAppear(in) {
		plan.LookAgain(lookAtLaunch) // EC2 does not show it yet
		return false
	}
	unrecorded := slices.DeleteFunc(slices.Clone(in.Seen.OfLaunch.Value), func(instance fleet.Instance) bool {
		return instance.Ends() || recorded(siblings, instance) || answered && !isMine(instance)
	})
	for _, instance := range unrecorded {
		plan.Do(terminateInstance{instance}, "ProvisionedNode %s is being deleted, and no other node of its launch has the instance", in.Object.Name)
	}
	return len(unrecorded) == 0
}

// awaited reports whether a node of a launch other than the named one still waits for its instance.
func awaited(nodes []provisioningv1.ProvisionedNode, except string) bool {
	return slices.ContainsFunc(nodes, func(node provisioningv1.ProvisionedNode) bool {
		return node.Name != except && node.Status.InstanceID == "" && node.DeletionTimestamp == nil
	})
}

// mayAppear reports whether EC2 may not show yet what it launched for the node. A process that has the
// answer knows when it was launched. Another one has not sent the call since the node is being
// deleted, and an earlier process may have sent it until then: status shows neither, because it is
// written after the call, and not at all if the node was deleted meanwhile.
func mayAppear(in input) bool {
	if in.Seen.Answer != nil {
		return in.Now.Sub(in.Seen.Answer.at) < launchTimeout
	}
	return !ofOtherCluster(in) && len(in.Seen.OfLaunch.Value) == 0 && in.Now.Sub(in.Object.DeletionTimestamp.Time) < visibility
}

// recorded reports whether an instance is a node's.
func recorded(nodes []provisioningv1.ProvisionedNode, instance fleet.Instance) bool {
	return slices.ContainsFunc(nodes, func(node provisioningv1.ProvisionedNode) bool { return node.Status.InstanceID == instance.ID })
}

// release removes the Node of an instance that has terminated, and lets the object go.
func release(in input, plan *reconcile.Plan) bool {
	if member := in.Seen.Member; member != nil {
		switch tried, err := reconcile.Attempted[releaseMember](in.Done); {
		case !tried:
			plan.Do(releaseMember{member.Name}, "instance %s is terminated", in.Object.Status.InstanceID)
			return false
		case err != nil:
			plan.Fail(err)
			return false
		}
	}
	if left := heldPlace(in); left > 0 {
		plan.LookAgain(left) // it counts among the failed nodes of its zone
		return false
	}
	switch tried, err := reconcile.Attempted[releaseNode](in.Done); {
	case !tried:
		plan.Do(releaseNode{}, "ProvisionedNode %s has no resources left", in.Object.Name)
	case err != nil:
		plan.Fail(err)
	default:
		plan.Untold = true
	}
	return false
}
