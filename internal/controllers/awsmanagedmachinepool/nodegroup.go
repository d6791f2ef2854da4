package awsmanagedmachinepool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// endAgain is when a node group that EKS could not delete is deleted again.
const endAgain = 2 * time.Minute

// mostAttempts is how far failed attempts are counted.
const mostAttempts = 1000

// ensureNodegroup makes the node group, or begins the one update that is next.
func (r *Reconciler) ensureNodegroup(ctx context.Context, p *pass) reconciling.Outcome {
	switch {
	case p.group == nil && p.wantedUnknown():
		const message = "the node group waits for the launch template"
		reconciling.False(p.pool, infrav1.NodegroupReadyCondition, infrav1.WaitingForLaunchTemplateReason, message)
		return reconciling.Stop(message).AndGoOn()
	case p.group == nil:
		return r.createNodegroup(ctx, p)
	case !p.adopted():
		const message = "the node group waits for its launch template to be taken over"
		reconciling.False(p.pool, infrav1.NodegroupReadyCondition, infrav1.WaitingForLaunchTemplateReason, message)
		return reconciling.Continue()
	case p.adopting:
		if owned := r.own(ctx, p); owned != reconciling.Continue() {
			return owned
		}
	}
	p.step = r.next(p)
	switch p.group.Status {
	case nodegroup.StatusCreating:
		reconciling.False(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupCreatingReason, fmt.Sprintf("EKS is making node group %s", p.group.Name))
		return reconciling.Continue()
	case nodegroup.StatusUpdating:
		reconciling.True(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupUpdatingReason, updatingMessage(p))
		return reconciling.Continue()
	case nodegroup.StatusDeleting:
		message := fmt.Sprintf("node group %s is being deleted; it is made again when it is gone", p.group.Name)
		reconciling.False(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupDeletingReason, message)
		return reconciling.Continue()
	case nodegroup.StatusCreateFailed, nodegroup.StatusDeleteFailed:
		return r.clearAway(ctx, p)
	}
	return r.updateNodegroup(ctx, p)
}

// updatingMessage says what EKS is doing, without numbers that change by the second.
func updatingMessage(p *pass) string {
	if update := p.pool.Status.Update; update != nil && update.Status == nodegroup.UpdateInProgress && update.Cause != "" {
		return "EKS is changing the node group: " + update.Cause
	}
	return "EKS is changing the node group"
}

// createNodegroup makes it, beside one that is being replaced, or in place of one that somebody deleted.
func (r *Reconciler) createNodegroup(ctx context.Context, p *pass) reconciling.Outcome {
	wanted := p.desired
	if refused := r.refuseNew(p, wanted); refused != reconciling.Continue() {
		return refused
	}
	if wanted.Capacity == nil {
		// An external autoscaler goes on from what it chose, or from what the MachinePool says.
		wanted.Capacity = ptr.To(ptr.Deref(p.machinePool.Spec.Replicas, 1))
		if p.retiring != nil {
			wanted.Capacity = ptr.To(p.retiring.Sizes.Desired)
		}
	}
	var err error
	if wanted.SubnetIDs, err = subnets(ctx, p); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.SubnetsNotFoundReason, err)
	}
	if err := r.ensureFresh(ctx, p); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, reasonFor(err, infrav1.NodegroupReconcileFailedReason), err)
	}
	if p.group != nil {
		return reconciling.ComeBack(lookAgain, "the node group appeared a moment ago")
	}
	if strays, err := r.findStrays(ctx, p); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
	} else if len(strays) > 0 {
		return r.recordName(ctx, p, strays[0].Name, "the pool's node group has another name than the spec and status lead to")
	}
	lost := r.reportLost(ctx, p)
	if recorded := r.recordName(ctx, p, p.freeName, ""); recorded != reconciling.Continue() {
		return recorded
	}
	if err := r.announce(ctx, p); err != nil {
		return reconciling.Fail(err)
	}
	made, err := p.cloud.Nodegroups.Create(ctx, wanted, p.freeName, lost)
	if err != nil {
		r.sightings.Forget(p.key())
		if aws.IsInUse(err) && strings.Contains(err.Error(), "already exists") {
			return reconciling.ComeBack(lookAgain, "a node group of this name was made a moment ago and can not be seen yet")
		}
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
	}
	r.Report.Done(ctx, p.pool, "NodegroupCreated", "Creating node group %s in EKS cluster %s%s", made.Name, p.eksCluster, fromTemplate(made))
	p.group, p.freeName = made, ""
	p.pool.Status.Nodegroup = statusOf(made)
	r.keep(p)
	r.recordCreation(p)
	reconciling.False(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupCreatingReason, fmt.Sprintf("EKS is making node group %s", made.Name))
	return reconciling.ContinueAndComeBack(lookBusy, "EKS is making the node group")
}

// refuseNew says in the condition what of a new node group EKS would refuse, before it is asked.
func (r *Reconciler) refuseNew(p *pass, wanted nodegroup.Desired) reconciling.Outcome {
	if replicas, bounds := wanted.Capacity, wanted.Bounds; replicas != nil && (*replicas < *bounds.Min || *replicas > *bounds.Max) {
		return r.outOfBounds(p, fmt.Sprintf("%d replicas are asked for, and the bounds are %d and %d: change one of them", *replicas, *bounds.Min, *bounds.Max))
	}
	refused := nodegroup.RefusedVersion(wanted.KubernetesVersion, wanted.ClusterVersion, "")
	if refused == "" || wanted.OwnImage {
		return reconciling.Continue()
	}
	reason := infrav1.InvalidSpecReason
	if nodegroup.AheadOf(wanted.KubernetesVersion, wanted.ClusterVersion) {
		reason = infrav1.WaitingForControlPlaneReason
	}
	reconciling.False(p.pool, infrav1.NodegroupReadyCondition, reason, refused)
	return reconciling.Stop(refused).AndGoOn()
}

// recordName writes the name of the node group into status, unless it is there already. It does so
// before EKS is called with the name: whatever becomes of the spec afterwards, the node group is
// found again. The pass ends if why is not empty.
func (r *Reconciler) recordName(ctx context.Context, p *pass, name, why string) reconciling.Outcome {
	if common.RecordedNodegroup(p.pool) != name {
		before := p.pool.DeepCopy()
		p.pool.Status.Nodegroup = &infrav1.NodegroupStatus{Name: name}
		reconciling.Stamp(p.pool, r.Clock.Now())
		if err := reconciling.PatchStatus(ctx, r.Client, p.pool, before); err != nil {
			return reconciling.Fail(fmt.Errorf("recording the name of the node group: %w", err))
		}
	}
	if why != "" {
		r.sightings.Forget(p.key())
		return reconciling.ComeBack(lookAgain, why)
	}
	return reconciling.Continue()
}

// recordCreation notes what the node group is made for. Attempts that failed for the same are counted on.
func (r *Reconciler) recordCreation(p *pass) {
	attempts := int32(0)
	if before := p.pool.Status.Update; before != nil && before.Type == creation && before.StartedFor == creationKey(p) {
		attempts = before.Attempts
	}
	p.pool.Status.Update = &infrav1.NodegroupUpdateStatus{
		Type: creation, Status: nodegroup.UpdateInProgress, StartedFor: creationKey(p), StartTime: ptr.To(metav1.NewTime(r.Clock.Now())), Attempts: attempts,
	}
}

func fromTemplate(made *nodegroup.Nodegroup) string {
	if made.LaunchTemplateID == "" {
		return ""
	}
	return fmt.Sprintf(" from version %d of launch template %s", made.Version, made.LaunchTemplateID)
}

// reportLost says that the node group was deleted by somebody else, if there was one, and returns its ARN.
func (r *Reconciler) reportLost(ctx context.Context, p *pass) string {
	status := p.pool.Status.Nodegroup
	if status == nil || status.Name != p.freeName {
		return ""
	}
	if meta.IsStatusConditionTrue(p.pool.Status.Conditions, infrav1.NodegroupReadyCondition) {
		message := fmt.Sprintf("node group %s was deleted outside Slipway; it is made again", status.Name)
		r.Report.Warn(ctx, p.pool, "NodegroupLost", "%s", message)
		reconciling.False(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupNotFoundReason, message)
	}
	return status.ARN
}

// outOfBounds keeps what there is.
func (r *Reconciler) outOfBounds(p *pass, message string) reconciling.Outcome {
	reconciling.False(p.pool, infrav1.NodegroupReadyCondition, infrav1.ReplicasOutOfBoundsReason, message)
	return reconciling.Stop(message).AndGoOn()
}

// clearAway deletes a node group that EKS could not make, or not delete, so that it can be made
// again: it cannot be updated, and what is wanted now may be good. One that could not be made for
// what is still wanted is left alone for a while, so that a person can see it.
func (r *Reconciler) clearAway(ctx context.Context, p *pass) reconciling.Outcome {
	reason, message := infrav1.NodegroupDeleteFailedReason, fmt.Sprintf("EKS could not delete node group %s", p.group.Name)
	wait := r.untilDeletedAgain(p, p.group)
	if p.group.Status == nodegroup.StatusCreateFailed {
		reason, message = infrav1.NodegroupCreateFailedReason, fmt.Sprintf("EKS could not make node group %s", p.group.Name)
		wait = r.recreateAfter(p)
	}
	if issues := issuesText(p.group.Issues); issues != "" {
		message += ": " + issues
	}
	reconciling.False(p.pool, infrav1.NodegroupReadyCondition, reason, message)
	if wait > 0 {
		return reconciling.ContinueAndComeBack(wait, message)
	}
	if err := r.ensureFresh(ctx, p); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, reason, err).AndGoOn()
	}
	if p.group == nil || p.group.Works() {
		return reconciling.ContinueAndComeBack(lookAgain, "the node group changed a moment ago")
	}
	if err := p.cloud.Nodegroups.Delete(ctx, *p.group); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, reason, err).AndGoOn()
	}
	r.stuck.Reset(p.key())
	r.Report.Done(ctx, p.pool, "NodegroupDeleting", "Deleting node group %s, to make it again: %s", p.group.Name, message)
	r.sightings.Forget(p.key())
	return reconciling.ContinueAndComeBack(lookAgain, "the node group is being deleted")
}

// untilDeletedAgain returns how long node groups that EKS could not delete are left alone, from
// when they were first seen to be so.
func (r *Reconciler) untilDeletedAgain(p *pass, groups ...*nodegroup.Nodegroup) time.Duration {
	if !slices.ContainsFunc(groups, func(group *nodegroup.Nodegroup) bool {
		return group != nil && group.Status == nodegroup.StatusDeleteFailed
	}) {
		r.stuck.Reset(p.key())
		return 0
	}
	return endAgain - r.stuck.Elapsed(p.key(), r.Clock.Now())
}

// recreateAfter is how long a node group that EKS could not make is left alone: not at all once
// something else is wanted, else longer with each attempt.
func (r *Reconciler) recreateAfter(p *pass) time.Duration {
	record, now := p.pool.Status.Update, r.Clock.Now()
	wanted := creationKey(p)
	if record == nil || record.Type != creation {
		// Status was lost: what it was made for is not known.
		record = &infrav1.NodegroupUpdateStatus{Type: creation, Status: nodegroup.UpdateFailed, StartedFor: wanted, StartTime: ptr.To(metav1.NewTime(p.group.Created))}
	}
	if record.EndTime == nil {
		failed := *record
		failed.Status, failed.EndTime, failed.Attempts = nodegroup.UpdateFailed, ptr.To(metav1.NewTime(now)), record.Attempts+1
		failed.Reason = common.Shortened(issuesText(p.group.Issues))
		p.pool.Status.Update, record = &failed, &failed
	}
	if record.StartedFor != wanted {
		return 0
	}
	return record.EndTime.Add(nodegroup.BackOff(int(record.Attempts))).Sub(now)
}

// updateNodegroup begins the one update that is next, if one is.
func (r *Reconciler) updateNodegroup(ctx context.Context, p *pass) reconciling.Outcome {
	reconciling.True(p.pool, infrav1.NodegroupReadyCondition, infrav1.ReadyReason, "")
	p.step = r.next(p)
	if p.step.Config != nil || p.step.Version != nil {
		if err := r.ensureFresh(ctx, p); err != nil {
			return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, reasonFor(err, infrav1.NodegroupReconcileFailedReason), err).AndGoOn()
		}
		if p.group == nil || p.group.Busy() || !p.group.Works() {
			return reconciling.ContinueAndComeBack(lookAgain, "the node group changed a moment ago")
		}
		p.step = r.next(p)
	}
	if err := r.respectBlock(ctx, p); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err).AndGoOn()
	}
	r.reportObstacle(p)
	switch {
	case p.step.Config != nil:
		return r.begin(ctx, p, nodegroup.ConfigUpdate)
	case p.step.Version != nil:
		return r.begin(ctx, p, nodegroup.VersionUpdate)
	case p.step.After > 0:
		return reconciling.ContinueAndComeBack(p.step.After, "an update that failed is tried again")
	}
	return reconciling.Continue()
}

// next is the next step.
func (r *Reconciler) next(p *pass) nodegroup.Step {
	return nodegroup.Next(p.desired, *p.group, r.attempts(p), r.Clock.Now())
}

// attempts are the last updates by type: status knows the newest alone, and all that is known after
// a restart.
func (r *Reconciler) attempts(p *pass) nodegroup.Attempts {
	remembered, _ := r.failures.Get(p.key())
	record := p.pool.Status.Update
	if record == nil || record.EndTime == nil {
		return remembered
	}
	attempts := nodegroup.Attempts{record.Type: attemptOf(record)}
	maps.Copy(attempts, remembered)
	return attempts
}

// reportObstacle says what of the spec an update of the node group cannot bring.
func (r *Reconciler) reportObstacle(p *pass) {
	reasons := map[nodegroup.Obstacle]string{
		nodegroup.TemplateGone: infrav1.TemplateLostReason, nodegroup.Downgrade: infrav1.ImmutableFieldReason,
		nodegroup.Fixed:            infrav1.ImmutableFieldReason,
		nodegroup.SizesOutOfBounds: infrav1.ReplicasOutOfBoundsReason, nodegroup.AheadOfControlPlane: infrav1.WaitingForControlPlaneReason,
	}
	reason, obstructed := reasons[p.step.Obstacle]
	if !obstructed {
		return
	}
	message := p.step.Message
	if p.step.Obstacle == nodegroup.TemplateGone {
		message += ": set spec.templateLossPolicy to Replace to have the node group replaced by another, or make a new pool"
	}
	reconciling.False(p.pool, infrav1.NodegroupReadyCondition, reason, message)
}

// begin begins the update that the step holds.
func (r *Reconciler) begin(ctx context.Context, p *pass, kind string) reconciling.Outcome {
	reasons, purpose := []string(nil), ""
	update, err := nodegroup.Update{}, error(nil)
	if kind == nodegroup.ConfigUpdate {
		reasons, purpose = p.step.Config.Reasons, p.step.Config.For
		update, err = p.cloud.Nodegroups.UpdateConfig(ctx, *p.step.Config, *p.group)
	} else {
		reasons, purpose = p.step.Version.Reasons, p.step.Version.For
		update, err = p.cloud.Nodegroups.UpdateVersion(ctx, *p.step.Version, *p.group)
	}
	// Whatever became of the call, the node group is not what it was.
	r.sightings.Forget(p.key())
	if err != nil && kind == nodegroup.VersionUpdate && p.step.Version.Rollback != "" && nodegroup.RefusesRollback(err) {
		return r.goOnAfterRefusal(ctx, p, err)
	}
	if err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err).AndGoOn()
	}
	cause := common.Shortened(strings.Join(reasons, "; "))
	attempts := int32(0)
	if last := r.attempts(p)[kind]; last.For == purpose && last.Failed {
		attempts = int32(min(last.Attempts, mostAttempts)) //nolint:gosec // bounded
	}
	p.pool.Status.Update = &infrav1.NodegroupUpdateStatus{
		ID: update.ID, Type: kind, Status: nodegroup.UpdateInProgress, Cause: cause, StartedFor: purpose,
		StartTime: ptr.To(metav1.NewTime(r.Clock.Now())), Attempts: attempts,
	}
	event := map[string]string{nodegroup.ConfigUpdate: "NodegroupConfigUpdateStarted", nodegroup.VersionUpdate: "NodegroupUpdateStarted"}[kind]
	r.Report.Done(ctx, p.pool, event, "Updating node group %s (update %s): %s", p.group.Name, update.ID, cause)
	updating := *p.group
	updating.Status = nodegroup.StatusUpdating
	p.group = &updating
	reconciling.True(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupUpdatingReason, updatingMessage(p))
	return reconciling.ContinueAndComeBack(lookAgain, "EKS is changing the node group")
}

// goOnAfterRefusal remembers that EKS does not take the node group back to the previous Kubernetes
// version, and begins what else is to be updated. A restart forgets it, and EKS is asked once more.
func (r *Reconciler) goOnAfterRefusal(ctx context.Context, p *pass, refusal error) reconciling.Outcome {
	back := p.step.Version.Rollback
	r.remember(p, nodegroup.Rollback, r.attempts(p)[nodegroup.Rollback].Refused(back, aws.UserMessage(refusal), r.Clock.Now()))
	p.step = r.next(p)
	r.reportObstacle(p)
	if p.step.Version == nil {
		return reconciling.ContinueAndComeBack(p.step.After, "EKS refused to go back, and is asked again later")
	}
	return r.begin(ctx, p, nodegroup.VersionUpdate)
}

// announce records what the node group and its Auto Scaling group are about to be given, beside
// what they were given before.
func (r *Reconciler) announce(ctx context.Context, p *pass) error {
	asked := p.facts.AskedTags(p.pool.Spec.AdditionalTags)
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSManagedMachinePool) { common.AnnounceTags(pool, asked) })
	if err != nil {
		return fmt.Errorf("recording what the node group is given: %w", err)
	}
	return nil
}
