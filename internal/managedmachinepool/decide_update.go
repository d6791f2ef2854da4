package managedmachinepool

import (
	"fmt"
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/report"
)

// creation is the type in status of the update that creates a node group; EKS has none for it.
const creation = "Create"

// mostAttempts limits the count of failed attempts.
const mostAttempts = 1000

// updateVisibleAfter is the time after which EKS certainly describes an update that it has started.
const updateVisibleAfter = time.Minute

// followUpdate finds out what became of the update that status says is under way, and of one that
// status does not have: another user's, or one whose answer was lost. It never waits: the pool is
// woken when its Auto Scaling group changes, and is checked again in any case.
func followUpdate(in input, plan *reconcile.Plan) bool {
	noteRefusals(in)
	noteConfigRefusals(in)
	retry(in)
	followUncertain(in, plan)
	group, record := in.Seen.Group, in.Object.Status.Update
	if group == nil {
		return true
	}
	updating, configuring := group.Status == nodegroup.StatusUpdating, recordedRuns(record) && record.Type == nodegroup.ConfigUpdate
	if recordedRuns(record) && (!updating || in.Seen.Fresh) {
		// EKS may be busy with another update, whose record a crash or a conflict lost.
		concludeUpdate(in, plan)
		record = in.Object.Status.Update
	}
	switch {
	case updating && in.Seen.Fresh && !recordedRuns(record):
		findUpdate(in, plan)
		if configuring {
			forgetGroupVersion(in)
		}
	case record != nil && record.Type == creation && record.Status == nodegroup.UpdateInProgress && group.Works():
		record.Status, record.EndTime = nodegroup.UpdateSuccessful, ptr.To(metav1.NewTime(in.Now))
		plan.Tell(reconcile.Eventf(infrav1.NodegroupActiveEvent, "Node group %s is active", group.Name))
	}
	return true
}

// recordedRuns reports whether an update in status is under way, as far as status says.
func recordedRuns(record *infrav1.NodegroupUpdateStatus) bool {
	return record != nil && record.Status == nodegroup.UpdateInProgress && record.Type != creation
}

// awaitsResult reports whether a step repeats the update that status names, whose result EKS has not reported yet.
// An update that is repeated has failed, and how long to wait before that is not known until EKS reports it.
func awaitsResult(in input, step nodegroup.Step) bool {
	record := in.Object.Status.Update
	if !recordedRuns(record) {
		return false
	}
	return step.Version != nil && step.Version.For == record.StartedFor || step.Config != nil && step.Config.For == record.StartedFor
}

// showUnread shows that EKS does not describe an update that has finished, unless that may soon pass.
func showUnread(in input) {
	if err := in.Seen.Update.Err; err != nil { // followUpdate has planned the next attempt
		pool.ShowFailure(in.Object, &reconcile.Plan{}, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
	}
}

// retry acts on a request to retry a failed update: failed updates count as no attempts.
func retry(in input) {
	status := &in.Object.Status
	request, due := pool.Retry(in.Object, status.Retried)
	if !due {
		return
	}
	status.Retried, status.FailedUpdates = request, nil
	if record := status.Update; record != nil && record.Status != nodegroup.UpdateInProgress {
		record.StartedFor, record.Attempts = "", 0
	}
}

// findUpdate finds the update that is under way.
func findUpdate(in input, plan *reconcile.Plan) {
	switch running := in.Seen.Running; {
	case running.Err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, running.Err)
	case !running.Read:
		plan.Need(needRunning)
	case running.Update == nil: // it finished just now
	default:
		recordFound(in, plan, *running.Update)
	}
}

// recordFound records an update that is under way and recorded nowhere. One whose answer was lost is known by what it
// brings.
func recordFound(in input, plan *reconcile.Plan, update nodegroup.Update) {
	step := nextStep(in)
	purpose := step.Purpose(update)
	if purpose != "" && needsDifferences(in) {
		plan.Need(needDifferences)
		return
	}
	record := &infrav1.NodegroupUpdateStatus{
		ID: update.ID, Type: update.Type, Status: update.Status, LaunchTemplateVersion: update.Version, StartTime: ptr.To(metav1.NewTime(update.Created)),
	}
	if purpose != "" {
		record.StartedFor, record.Cause, record.Attempts = purpose, causeOf(step.Due), failuresOf(in, record.Type, purpose)
	}
	in.Object.Status.Update = record
	if record.Type == nodegroup.ConfigUpdate {
		noteAttempt(in, uncertainUpdate, nodegroup.Attempt{}) // EKS did begin it
	}
}

// concludeUpdate reports the result of the update that status names.
func concludeUpdate(in input, plan *reconcile.Plan) {
	update, record := in.Seen.Update.Update, in.Object.Status.Update
	switch {
	case in.Seen.Update.Err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, in.Seen.Update.Err)
		return
	case !in.Seen.Update.Read:
		plan.Need(needUpdate)
		return
	case update == nil && in.Now.Sub(startOf(record)) < updateVisibleAfter:
		plan.LookAgain(lookAgain) // EKS does not describe it yet
		return
	case update == nil:
		in.Object.Status.Update = nil // what to do follows from the node group
		return
	case update.Status == nodegroup.UpdateInProgress:
		if in.Seen.Group.Status != nodegroup.StatusUpdating {
			plan.LookAgain(lookAgain) // it is about to finish
		}
		return
	}
	if fresh, _ := freshGroup(in, plan); !fresh {
		return // the node group was described before the update finished
	}
	record.Status, record.Reason, record.EndTime = update.Status, report.Shortened(update.Reason), ptr.To(metav1.NewTime(in.Now))
	if update.Status == nodegroup.UpdateSuccessful {
		record.Attempts = 0
		plan.Tell(reconcile.Eventf(updatedEvents[record.Type], "Updated node group %s (update %s)%s", in.Seen.Group.Name, record.ID, explained(record.Cause)))
	} else {
		record.Attempts++
		plan.Tell(reconcile.Warningf(infrav1.NodegroupUpdateFailedEvent, "Update %s of node group %s finished "+
			"with status %s%s%s", record.ID, in.Seen.Group.Name, update.Status, rolledBack[record.Type], explained(record.Reason)))
	}
	// the failure of another user's update says nothing about what the pool asks for
	if attempt := attemptOf(record); attempt.For != "" || !attempt.Failed {
		noteAttempt(in, nodegroup.AttemptType(record.Type, record.StartedFor), attempt)
	}
}

// explained returns a reason as the last part of a sentence, nothing if it is not known: EKS need not give one, and no
// cause is recorded of an update that another user started, or whose answer was lost.
func explained(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// startOf returns when an update was started, the zero time if that is not recorded.
func startOf(record *infrav1.NodegroupUpdateStatus) time.Time {
	if record.StartTime == nil {
		return time.Time{}
	}
	return record.StartTime.Time
}

// updatedEvents are the reasons of the events about updates that succeeded, by the type of the update.
var updatedEvents = map[string]string{nodegroup.VersionUpdate: infrav1.NodegroupUpdatedEvent, nodegroup.ConfigUpdate: infrav1.NodegroupConfigUpdatedEvent}

// rolledBack says what EKS did after an update that failed, by the type of the update.
var rolledBack = map[string]string{nodegroup.VersionUpdate: ", and EKS rolled back to the previous version"}

// attemptOf returns what an update in status says about the change that it was started for.
func attemptOf(record *infrav1.NodegroupUpdateStatus) nodegroup.Attempt {
	attempt := nodegroup.Attempt{
		For: record.StartedFor, Attempts: int(record.Attempts), Answer: record.Reason,
		Failed: record.Status == nodegroup.UpdateFailed || record.Status == nodegroup.UpdateCancelled,
	}
	if record.EndTime != nil {
		attempt.Ended = record.EndTime.Time
	}
	return attempt
}

// noteAttempt records the outcome of the last attempt of a type.
func noteAttempt(in input, kind string, attempt nodegroup.Attempt) {
	status := &in.Object.Status
	status.FailedUpdates = slices.DeleteFunc(status.FailedUpdates, func(update infrav1.FailedNodegroupUpdate) bool { return update.Type == kind })
	if attempt.Failed {
		status.FailedUpdates = append(status.FailedUpdates, infrav1.FailedNodegroupUpdate{
			Type: kind, StartedFor: attempt.For, Attempts: attempts32(attempt.Attempts), EndTime: ptr.To(metav1.NewTime(attempt.Ended)), Refusal: report.Shortened(attempt.Answer),
		})
	}
	if len(status.FailedUpdates) == 0 {
		status.FailedUpdates = nil
	}
}

// attempts32 returns a number of attempts as status has it.
func attempts32(attempts int) int32 { return int32(min(attempts, mostAttempts)) } //nolint:gosec // bounded

// noteRefusals records that EKS refused in this pass to take the node group back to the previous
// Kubernetes version. The record counts for as long as an earlier version is wanted.
func noteRefusals(in input) {
	if group := in.Seen.Group; group != nil && !nodegroup.AheadOf(group.KubernetesVersion, in.Seen.MachinePool.Spec.Template.Spec.Version) {
		noteAttempt(in, nodegroup.Rollback, nodegroup.Attempt{})
		return
	}
	for _, done := range in.Done {
		if update, is := done.Action.(updateNodegroup); is && refusedRollback(update, done.Err) {
			noteAttempt(in, nodegroup.Rollback, attemptsOf(in)[nodegroup.Rollback].Refused(update.Version.Rollback, aws.UserMessage(done.Err), in.Now))
		}
	}
}

// noteConfigRefusals records that EKS refused in this pass to start a change of the configuration,
// and that another attempt at the same does not help.
func noteConfigRefusals(in input) {
	for change, err := range refusedConfigs(in) {
		if nodegroup.RefusesConfig(err) {
			kind := nodegroup.AttemptType(nodegroup.ConfigUpdate, change.For)
			noteAttempt(in, kind, attemptsOf(in)[kind].Refused(change.For, aws.UserMessage(err), in.Now))
		}
	}
}

// refusedConfigs returns the changes of the configuration that AWS refused in this pass, and why.
func refusedConfigs(in input) iter.Seq2[*nodegroup.ConfigChange, error] {
	return func(yield func(*nodegroup.ConfigChange, error) bool) {
		for _, done := range in.Done {
			update, is := done.Action.(updateNodegroup)
			if is && refusedConfigUpdate(update, done.Err) && !yield(update.Config, done.Err) {
				return
			}
		}
	}
}

// refusedConfigUpdate reports whether AWS answered to a change of the configuration that a user must act:
// the change was not begun, and nothing else has to wait for it.
func refusedConfigUpdate(update updateNodegroup, err error) bool {
	return update.Config != nil && aws.FateOf(err).Kind == aws.WaitForUser
}

// refusedRollback reports whether an update failed because EKS does not take the node group back.
func refusedRollback(update updateNodegroup, err error) bool {
	return err != nil && update.Version != nil && update.Version.Rollback != "" && nodegroup.RefusesRollback(err)
}

// attemptsOf returns the last updates by type, as far as they matter: the failed ones, the newest,
// and what AWS refused in this pass.
func attemptsOf(in input) nodegroup.Attempts {
	attempts := nodegroup.Attempts{}
	if record := in.Object.Status.Update; record != nil && record.EndTime != nil {
		attempts[nodegroup.AttemptType(record.Type, record.StartedFor)] = attemptOf(record)
	}
	for _, update := range in.Object.Status.FailedUpdates {
		attempt := nodegroup.Attempt{For: update.StartedFor, Failed: true, Attempts: int(update.Attempts), Answer: update.Refusal}
		if update.EndTime != nil {
			attempt.Ended = update.EndTime.Time
		}
		attempts[update.Type] = attempt
	}
	for change, err := range refusedConfigs(in) {
		if nodegroup.RefusesConfig(err) {
			continue // it is recorded
		}
		refused := []*nodegroup.ConfigChange{change}
		if aws.IsAccessDenied(err) {
			refused = append(refused, change.Parts...)
		}
		for _, change := range refused {
			attempts[nodegroup.AttemptType(nodegroup.ConfigUpdate, change.For)] = nodegroup.Attempt{}.Refused(change.For, aws.UserMessage(err), in.Now)
		}
	}
	return attempts
}

// failedUpdate returns why an update of the node group failed in this pass, nil if none did or EKS
// only refused to go back, or a change of the configuration.
func failedUpdate(in input) error {
	for _, done := range in.Done {
		update, is := done.Action.(updateNodegroup)
		if is && done.Err != nil && !refusedRollback(update, done.Err) && !refusedConfigUpdate(update, done.Err) {
			return done.Err
		}
	}
	return nil
}

// startedUpdate returns the update that was started in this pass, nil if none was.
func startedUpdate(in input) *updateNodegroup {
	for _, done := range in.Done {
		if update, is := done.Action.(updateNodegroup); is && done.Err == nil {
			return &update
		}
	}
	return nil
}

// recordUpdate records the update that was started in this pass. Attempts that failed for the same
// change are counted on.
func recordUpdate(in input, update updateNodegroup) {
	kind, purpose := nodegroup.ConfigUpdate, ""
	if update.Config != nil {
		purpose = update.Config.For
	} else {
		kind, purpose = nodegroup.VersionUpdate, update.Version.For
	}
	in.Object.Status.Update = &infrav1.NodegroupUpdateStatus{
		ID: in.Seen.Started.ID, Type: kind, Status: nodegroup.UpdateInProgress, Cause: update.Cause, StartedFor: purpose,
		LaunchTemplateVersion: in.Seen.Started.Version, StartTime: ptr.To(metav1.NewTime(in.Now)), Attempts: failuresOf(in, kind, purpose),
	}
}

// failuresOf returns how many updates for a purpose failed in a row.
func failuresOf(in input, kind, purpose string) int32 {
	if last := attemptsOf(in)[nodegroup.AttemptType(kind, purpose)]; last.For == purpose && last.Failed {
		return attempts32(last.Attempts)
	}
	return 0
}

// updatingMessage describes what EKS is doing, without numbers that change by the second.
func updatingMessage(in input) string {
	if update := in.Object.Status.Update; update != nil && update.Status == nodegroup.UpdateInProgress && update.Cause != "" {
		return fmt.Sprintf("EKS is changing the node group: %s", update.Cause)
	}
	return "EKS is changing the node group"
}
