package awsmanagedmachinepool

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// creation is the type of the update that making a node group is in status; EKS has none for it.
const creation = "Create"

// creationKey is what a node group is made for.
func creationKey(p *pass) string { return p.pool.Status.WantedConfig }

// attemptOf is what an update in status says of the change that it was begun for.
func attemptOf(record *infrav1.NodegroupUpdateStatus) nodegroup.Attempt {
	attempt := nodegroup.Attempt{
		For: record.StartedFor, Attempts: int(record.Attempts),
		Failed: record.Status == nodegroup.UpdateFailed || record.Status == nodegroup.UpdateCancelled,
	}
	if record.EndTime != nil {
		attempt.Ended = record.EndTime.Time
	}
	return attempt
}

// followUpdate learns what became of the update that status says is under way, and of one that it
// does not know of: somebody else's, or one whose answer was lost. It never waits: the pool is
// woken when its Auto Scaling group moves, and comes back in any case.
func (r *Reconciler) followUpdate(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil || !p.fresh {
		return reconciling.Continue()
	}
	record := p.pool.Status.Update
	running := record != nil && record.Status == nodegroup.UpdateInProgress && record.Type != creation
	switch updating := p.group.Status == nodegroup.StatusUpdating; {
	case running && !updating:
		return r.concludeUpdate(ctx, p)
	case !running && updating:
		return r.findUpdate(ctx, p)
	}
	if record != nil && record.Type == creation && record.Status == nodegroup.UpdateInProgress && p.group.Works() {
		done := *record
		done.Status, done.EndTime = nodegroup.UpdateSuccessful, ptr.To(metav1.NewTime(r.Clock.Now()))
		p.pool.Status.Update = &done
		r.Report.Done(ctx, p.pool, "NodegroupActive", "Node group %s is active", p.group.Name)
	}
	return reconciling.Continue()
}

// findUpdate looks for the update that runs.
func (r *Reconciler) findUpdate(ctx context.Context, p *pass) reconciling.Outcome {
	update, err := p.cloud.Nodegroups.Running(ctx, *p.group)
	if err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err).AndGoOn()
	}
	if update == nil {
		return reconciling.Continue() // it has ended a moment ago
	}
	p.pool.Status.Update = &infrav1.NodegroupUpdateStatus{
		ID: update.ID, Type: update.Type, Status: update.Status, StartTime: ptr.To(metav1.NewTime(update.Created)),
	}
	return reconciling.Continue()
}

// concludeUpdate asks how the update ended, and says so.
func (r *Reconciler) concludeUpdate(ctx context.Context, p *pass) reconciling.Outcome {
	record := *p.pool.Status.Update
	update, err := p.cloud.Nodegroups.Update(ctx, *p.group, record.ID)
	if err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err).AndGoOn()
	}
	if update != nil && update.Status == nodegroup.UpdateInProgress {
		return reconciling.ContinueAndComeBack(lookAgain, "the update is about to end")
	}
	if update == nil {
		p.pool.Status.Update = nil // nobody knows any more; what is to be done follows from the node group
		return reconciling.Continue()
	}
	record.Status, record.Reason, record.EndTime = update.Status, common.Shortened(update.Reason), ptr.To(metav1.NewTime(r.Clock.Now()))
	if update.Status == nodegroup.UpdateSuccessful {
		record.Attempts = 0
		r.Report.Done(ctx, p.pool, succeeded(record.Type), "Updated node group %s (update %s): %s", p.group.Name, record.ID, record.Cause)
	} else {
		record.Attempts++
		r.Report.Warn(ctx, p.pool, "NodegroupUpdateFailed", "Update %s of node group %s ended as %s, and EKS went back: %s",
			record.ID, p.group.Name, update.Status, record.Reason)
	}
	p.pool.Status.Update = &record
	r.remember(p, record.Type, attemptOf(&record))
	return reconciling.Continue()
}

// remember keeps how an attempt of a type ended, beside those of other types.
func (r *Reconciler) remember(p *pass, kind string, attempt nodegroup.Attempt) {
	remembered, _ := r.failures.Get(p.key())
	attempts := maps.Clone(remembered)
	if attempts == nil {
		attempts = nodegroup.Attempts{}
	}
	attempts[kind] = attempt
	r.failures.Put(p.key(), attempts)
}

func succeeded(kind string) string {
	if kind == nodegroup.VersionUpdate {
		return "NodegroupUpdated"
	}
	return "NodegroupConfigUpdated"
}

// never are the reasons for what no update of the node group can bring its nodes.
var never = map[nodegroup.Obstacle]string{
	nodegroup.TemplateGone: infrav1.TemplateLostReason, nodegroup.Fixed: infrav1.ImmutableFieldReason, nodegroup.Downgrade: infrav1.ImmutableFieldReason,
}

// reportRollout says whether all nodes run what is wanted, or what is in the way.
func (r *Reconciler) reportRollout(_ context.Context, p *pass) reconciling.Outcome {
	record := p.pool.Status.Update
	set := func(status func(reconciling.Conditioned, string, string, string), reason, format string, values ...any) reconciling.Outcome {
		status(p.pool, infrav1.RolledOutCondition, reason, common.Shortened(fmt.Sprintf(format, values...)))
		return reconciling.Continue()
	}
	switch {
	case p.retiring != nil:
		return reconciling.Continue() // said where it is replaced
	case p.group == nil || p.group.Status == nodegroup.StatusCreating:
		return set(reconciling.Unknown, infrav1.WaitingForNodegroupReason, "there is no node group yet")
	case rollingOut(p):
		return set(reconciling.False, infrav1.RollingOutReason, "%s", withProgress(p, record.Cause))
	case len(p.step.Due) == 0 && never[p.step.Obstacle] != "":
		return set(reconciling.False, never[p.step.Obstacle], "%s", p.step.Message)
	case p.step.Obstacle == nodegroup.BlockInUse:
		return set(reconciling.False, infrav1.CapacityBlockInUseReason, "%s; %s", due(p), p.step.Message)
	case p.wantedUnknown():
		return r.reportUnknown(p)
	case len(p.step.Due) == 0:
		return set(reconciling.True, infrav1.RolledOutReason, "")
	case p.group.Busy():
		return set(reconciling.False, infrav1.WaitingForUpdateReason, "%s; EKS does one update at a time, and one is under way", due(p))
	case p.desired.Held:
		return set(reconciling.False, infrav1.SettlingReason, "%s; the spec changed a moment ago", due(p))
	case p.step.After > 0 && record != nil:
		return set(reconciling.False, infrav1.NodegroupUpdateFailedReason, "%s; EKS gave up, and it is tried again: %s", due(p), record.Reason)
	}
	return set(reconciling.False, infrav1.WaitingForUpdateReason, "%s", due(p))
}

// reportUnknown says that it is not known whether nodes run what is wanted, unless the launch
// config is about to say it.
func (r *Reconciler) reportUnknown(p *pass) reconciling.Outcome {
	before := meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.RolledOutCondition)
	if before == nil || meta.IsStatusConditionFalse(p.pool.Status.Conditions, infrav1.LaunchTemplateReadyCondition) ||
		meta.IsStatusConditionFalse(p.pool.Status.Conditions, infrav1.BootstrapDataReadyCondition) || before.Reason == infrav1.RollingOutReason {
		reconciling.Unknown(p.pool, infrav1.RolledOutCondition, infrav1.WaitingForLaunchConfigReason,
			"the launch template is not ready, so that it is not known yet what nodes should run; they stay as they are")
	}
	return reconciling.Continue()
}
