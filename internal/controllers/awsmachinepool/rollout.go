package awsmachinepool

import (
	"context"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// refreshPoll is how often a refresh under way is looked at: refreshes have no batched describe.
const refreshPoll = 15 * time.Second

// rollOut replaces instances that run another config than the wanted one. Whether that is due is decided from the instances alone, so a refresh
// that was never started, was cancelled or failed is due until no such instance is left.
func (r *Reconciler) rollOut(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil {
		return reconciling.Continue()
	}
	if p.config == nil {
		reconciling.Unknown(p.pool, infrav1.RolledOutCondition, infrav1.WaitingForLaunchConfigReason, "the wanted version is not known yet")
		return reconciling.Continue()
	}
	if !pointed(p) {
		// A refresh would replace nothing: the group still launches what it launched before.
		reconciling.Unknown(p.pool, infrav1.RolledOutCondition, infrav1.WaitingForASGReason, "the group is not at the wanted version yet")
		return reconciling.Continue()
	}
	decision := r.rollout(p, nil).Decide()
	if decision.Verdict == autoscalinggroup.RolledOut && !refreshing(p.pool) {
		settled(p)
		return reconciling.Continue()
	}
	latest, err := p.cloud.Groups.LatestRefresh(ctx, p.group.Name)
	if err != nil {
		return outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err).AndGoOn()
	}
	return r.act(ctx, p, latest)
}

// pointed is true once the group launches from the wanted version.
func pointed(p *pass) bool {
	return p.group.LaunchTemplateID == p.config.Status.LaunchTemplateID && p.group.Version == strconv.FormatInt(p.config.Status.Version, 10)
}

// rollout gathers what the decision is made from.
func (r *Reconciler) rollout(p *pass, latest *autoscalinggroup.Refresh) autoscalinggroup.Rollout {
	return autoscalinggroup.Rollout{
		TemplateID: p.config.Status.LaunchTemplateID, Current: p.config.Status.CurrentVersions, Accepted: p.config.Status.AcceptedVersions,
		Instances: p.group.Instances, Latest: latest, Now: r.Clock.Now(),
		Disabled: p.pool.Spec.RefreshPreferences != nil && p.pool.Spec.RefreshPreferences.Disable,
	}
}

// refreshing is true if a refresh was under way when the pool was last looked at.
func refreshing(pool *infrav1.AWSMachinePool) bool {
	rollout := pool.Status.Rollout
	return rollout != nil && (&autoscalinggroup.Refresh{Status: rollout.Status}).Active()
}

// act does what the decision says, and shows it.
func (r *Reconciler) act(ctx context.Context, p *pass, latest *autoscalinggroup.Refresh) reconciling.Outcome {
	decision := r.rollout(p, latest).Decide()
	r.reportRefresh(ctx, p, latest)
	switch decision.Verdict {
	case autoscalinggroup.RolledOut:
		settled(p)
		return reconciling.Continue()
	case autoscalinggroup.Disabled:
		reconciling.False(p.pool, infrav1.RolledOutCondition, infrav1.RefreshDisabledReason,
			decision.Reason+", and refreshPreferences.disable leaves it to you to replace them")
		return reconciling.Continue()
	case autoscalinggroup.Later:
		reconciling.False(p.pool, infrav1.RolledOutCondition, endedReason(latest),
			fmt.Sprintf("%s; instance refresh %s ended as %s: %s. The next one starts by itself", decision.Reason, latest.ID, latest.Status, latest.Reason))
		return reconciling.ContinueAndComeBack(decision.Wait, "the next refresh")
	case autoscalinggroup.Start:
		return r.startRefresh(ctx, p, latest)
	case autoscalinggroup.Rolling:
	}
	p.moving = true
	message := fmt.Sprintf("instance refresh %s is %s", latest.ID, latest.Status)
	if decision.Reason != "" {
		message += "; " + decision.Reason
	}
	reconciling.False(p.pool, infrav1.RolledOutCondition, infrav1.RollingOutReason, message)
	return reconciling.ContinueAndComeBack(refreshPoll, "the refresh goes on")
}

// startRefresh starts one if it is still due by what AWS says now: what a sweep saw may be old, and a refresh can not be undone.
func (r *Reconciler) startRefresh(ctx context.Context, p *pass, latest *autoscalinggroup.Refresh) reconciling.Outcome {
	if err := r.see(ctx, p, true); err != nil {
		return outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.WaitingForASGReason, err).AndGoOn()
	}
	if p.group == nil || !pointed(p) {
		return reconciling.ComeBack(lookAgain, "the group changed a moment ago")
	}
	decision := r.rollout(p, latest).Decide()
	if decision.Verdict != autoscalinggroup.Start {
		return reconciling.ContinueAndComeBack(lookAgain, "the instances changed a moment ago")
	}
	id, err := p.cloud.Groups.StartRefresh(ctx, p.group.Name, p.pool.Spec.RefreshPreferences)
	if err != nil {
		return outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err).AndGoOn()
	}
	p.moving = true
	if id == "" {
		reconciling.False(p.pool, infrav1.RolledOutCondition, infrav1.WaitingForRefreshReason, decision.Reason+"; an earlier refresh is under way")
		return reconciling.ContinueAndComeBack(refreshPoll, "an earlier refresh is under way")
	}
	r.Report.Done(ctx, p.pool, "InstanceRefreshStarted", "Started instance refresh %s: %s", id, decision.Reason)
	p.pool.Status.Rollout = &infrav1.RolloutStatus{RefreshID: id, Status: "Pending", Reason: decision.Reason, StartTime: ptr.To(metav1.NewTime(r.Clock.Now()))}
	reconciling.False(p.pool, infrav1.RolledOutCondition, infrav1.RollingOutReason, decision.Reason)
	return reconciling.ContinueAndComeBack(refreshPoll, "the refresh goes on")
}

// reportRefresh shows the newest refresh in status, and its end as an event.
func (r *Reconciler) reportRefresh(ctx context.Context, p *pass, latest *autoscalinggroup.Refresh) {
	if latest == nil {
		return
	}
	before := p.pool.Status.Rollout
	status := &infrav1.RolloutStatus{
		RefreshID: latest.ID, Status: latest.Status, PercentageComplete: ptr.To(latest.Percentage),
		StartTime: ptr.To(metav1.NewTime(latest.Started)),
	}
	if before != nil && before.RefreshID == latest.ID {
		status.Reason = before.Reason
	}
	p.pool.Status.Rollout = status
	if latest.Active() || before == nil || before.RefreshID != latest.ID || before.Status == latest.Status {
		return
	}
	if latest.Succeeded() {
		r.Report.Done(ctx, p.pool, "InstanceRefreshSucceeded", "Instance refresh %s replaced all instances", latest.ID)
		return
	}
	r.Report.Warn(ctx, p.pool, "InstanceRefreshEnded", "Instance refresh %s ended as %s: %s",
		latest.ID, latest.Status, latest.Reason)
}

func endedReason(latest *autoscalinggroup.Refresh) string {
	if latest.Status == "Failed" || latest.Status == "RollbackFailed" {
		return infrav1.RefreshFailedReason
	}
	return infrav1.RefreshCancelledReason
}

func settled(p *pass) {
	reconciling.True(p.pool, infrav1.RolledOutCondition, infrav1.RolledOutReason, "")
}
