package managedmachinepool

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// endAgain is the time until Slipway retries deleting a node group that EKS could not delete.
const endAgain = 2 * time.Minute

// clearAway deletes a node group that EKS could not create, or not delete, or whose launch template was
// deleted while it replaces another one, so that it can be created again: it cannot be updated, and
// what is wanted now may be good. One that could not be created for what is still wanted is left alone
// for a while, so that a person can see it.
func clearAway(in input, plan *reconcile.Plan) {
	group := in.Seen.Group
	reason, message := infrav1.NodegroupDeleteFailedReason, fmt.Sprintf("EKS could not delete node group %s", group.Name)
	wait := untilDeletedAgain(in)
	switch {
	case successorLost(in):
		reason, message, wait = infrav1.TemplateLostReason, successorLoss(in), 0
	case group.Status == nodegroup.StatusCreateFailed:
		reason, message = infrav1.NodegroupCreateFailedReason, fmt.Sprintf("EKS could not create node group %s", group.Name)
		wait = recreateAfter(in)
	}
	if issues := issuesText(group.Issues); issues != "" && reason != infrav1.TemplateLostReason {
		message += ": " + issues
	}
	reconciling.False(in.Object, infrav1.NodegroupReadyCondition, reason, message)
	tried, err := deletionOf(in, group.Name)
	switch {
	case err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, reason, err)
	case tried:
		plan.LookAgain(lookAgain)
	case wait > 0:
		plan.LookAgain(wait)
	case in.Seen.FreshErr != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, reason, in.Seen.FreshErr)
	case !in.Seen.Fresh:
		plan.Need(needFresh)
	case successorLost(in) && !in.Seen.LaunchConfig.Current(plan): // an earlier one names another template
	default:
		plan.Do(deleteNodegroup{
			Group: group.Name, Event: reconcile.Eventf(infrav1.NodegroupDeletingEvent, "Deleting node group %s to recreate it: "+
				"%s", group.Name, message),
		}, "%s", message)
	}
}

// noteFailedDeletion records since when a node group is one that EKS could not delete. Time counts
// by the manager's clock, and anew after another attempt.
func noteFailedDeletion(in input) {
	failing := slices.ContainsFunc(nodegroupsOf(in), func(group *nodegroup.Nodegroup) bool {
		return group.Status == nodegroup.StatusDeleteFailed && !wasDeleted(in, group.Name)
	})
	status := ptr.Deref(in.Object.Status.Deletion, infrav1.NodegroupDeletionStatus{})
	if len(nodegroupsOf(in)) > 0 {
		status.UnseenSince = nil
	}
	switch {
	case !failing:
		status.FailedSince = nil
	case status.FailedSince == nil:
		status.FailedSince = ptr.To(pool.RoundedUp(in.Now))
	}
	in.Object.Status.Deletion = nil
	if status != (infrav1.NodegroupDeletionStatus{}) {
		in.Object.Status.Deletion = &status
	}
}

// nodegroupsOf returns the node groups that are known to be the pool's.
func nodegroupsOf(in input) []*nodegroup.Nodegroup {
	var groups []*nodegroup.Nodegroup
	for _, group := range append([]*nodegroup.Nodegroup{in.Seen.Group, in.Seen.Retiring}, in.Seen.Strays.Groups...) {
		if group != nil && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	return groups
}

// deletionOf reports whether the deletion of a node group was tried in this pass, and why it failed.
func deletionOf(in input, group string) (tried bool, err error) {
	for _, done := range in.Done {
		if deletion, is := done.Action.(deleteNodegroup); is && deletion.Group == group {
			tried, err = true, done.Err
		}
	}
	return tried, err
}

// inUse reports whether EKS does not delete a node group because it is changing it (AWS: API_DeleteNodegroup,
// ResourceInUseException).
func inUse(err error) bool { return aws.Code(err) == "ResourceInUseException" }

// wasDeleted reports whether EKS was asked in this pass to delete a node group.
func wasDeleted(in input, group string) bool {
	tried, err := deletionOf(in, group)
	return tried && err == nil
}

// untilDeletedAgain returns for how long node groups that EKS could not delete are left alone, from
// when they were first seen to be so.
func untilDeletedAgain(in input) time.Duration {
	status := in.Object.Status.Deletion
	if status == nil || status.FailedSince == nil {
		return 0
	}
	return status.FailedSince.Add(endAgain).Sub(in.Now)
}

// recreateAfter returns for how long a node group that EKS could not create is left alone: not at
// all once something else is wanted, else longer with each attempt. It records the attempt.
func recreateAfter(in input) time.Duration {
	record, wanted := in.Object.Status.Update, in.Object.Status.WantedConfig
	if record == nil || record.Type != creation {
		// Status was lost: what it was created for is not known.
		record = &infrav1.NodegroupUpdateStatus{
			Type: creation, Status: nodegroup.UpdateFailed, StartedFor: wanted, StartTime: ptr.To(metav1.NewTime(in.Seen.Group.Created)),
		}
	}
	if record.EndTime == nil {
		record.Status, record.EndTime, record.Attempts = nodegroup.UpdateFailed, ptr.To(metav1.NewTime(in.Now)), record.Attempts+1
		record.Reason = report.Shortened(issuesText(in.Seen.Group.Issues))
		in.Object.Status.Update = record
	}
	if record.StartedFor != wanted {
		return 0
	}
	return record.EndTime.Add(nodegroup.BackOff(int(record.Attempts))).Sub(in.Now)
}
