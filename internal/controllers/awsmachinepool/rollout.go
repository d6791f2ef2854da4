package awsmachinepool

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// rollOut replaces instances that run something other than what is wanted. Whether that is due is decided from the instances alone, so a refresh
// that was never started, was cancelled or failed is due until no such instance is left.
func (r *Reconciler) rollOut(ctx context.Context, p *pass) reconciling.Outcome {
	switch {
	case p.group == nil:
		return reconciling.Continue()
	case p.config == nil:
		reconciling.Unknown(p.pool, infrav1.RolledOutCondition, infrav1.WaitingForLaunchConfigReason, withRefresh(p,
			"What the instances should run is not known until LaunchTemplateReady is True. Running instances are kept"))
		return reconciling.Continue()
	case p.settling:
		reconciling.False(p.pool, infrav1.RolledOutCondition, infrav1.SettlingReason,
			because(p.cause, withRefresh(p, fmt.Sprintf("the roll-out begins when the spec has not changed for %v", r.SettleWindow))))
		return reconciling.Continue()
	case !pointed(p) && !p.inPlace && !holdsConfiguration(p):
		// A refresh would replace nothing: the group still launches what it launched before.
		reconciling.Unknown(p.pool, infrav1.RolledOutCondition, infrav1.WaitingForASGReason, "the group is not at the wanted version yet")
		return reconciling.Continue()
	}
	decision := r.rollout(p, recorded(p.pool)).Decide()
	if decision.Verdict == autoscalinggroup.RolledOut && !shielding(p.pool) {
		rolledOut(p)
		return reconciling.Continue()
	}
	if decision.Verdict == autoscalinggroup.Disabled && !shielding(p.pool) && unchanged(p) {
		leftToUser(p, decision)
		return reconciling.Continue()
	}
	history, err := r.history(ctx, p)
	if err != nil {
		return outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err).AndGoOn()
	}
	r.reportRefresh(ctx, p, history)
	return r.act(ctx, p, history)
}

// withRefresh adds to a message the refresh that is under way, if there is one.
func withRefresh(p *pass, message string) string {
	if refresh := latest(recorded(p.pool)); refresh.Active() {
		return fmt.Sprintf("%s; instance refresh %s is %s", message, refresh.ID, refresh.Status)
	}
	return message
}

// leftToUser says that a roll-out waits for its user.
func leftToUser(p *pass, decision autoscalinggroup.Decision) {
	notRolledOut(p, infrav1.RefreshDisabledReason, decision.Reason+", and refreshPreferences.disable leaves it to you to replace them")
}

// unchanged is true while the instances are those that status shows, and no refresh was under way when it was written: then nobody has begun to
// replace any since, and AWS need not be asked for a refresh that is not ours to start.
func unchanged(p *pass) bool {
	shown := meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.RolledOutCondition)
	return shown != nil && shown.Reason == infrav1.RefreshDisabledReason && !refreshing(p.pool) &&
		slices.Equal(p.pool.Status.Instances, instanceStatuses(p.group))
}

// pointed is true once the group launches from the wanted version.
func pointed(p *pass) bool {
	return p.wanted.Launches(*p.group) && p.group.Version == strconv.FormatInt(p.wanted.Version, 10)
}

// rollout gathers what the decision is made from.
func (r *Reconciler) rollout(p *pass, history []autoscalinggroup.Refresh) autoscalinggroup.Rollout {
	rollout := autoscalinggroup.Rollout{
		Wanted: *p.wanted, Instances: withoutShield(p), History: history, Configs: configs(p.config),
		Preferences: p.pool.Spec.RefreshPreferences, Now: r.Clock.Now(), InPlace: p.inPlace,
	}
	rollout.EndSeen = rollout.Now
	if record := p.pool.Status.Rollout; record != nil {
		rollout.StartedID, rollout.StartedFor, rollout.StartedTemplate = record.StartedID, record.StartedFor, record.StartedTemplateID
		rollout.After = record.AttemptsAfter
		if record.EndSeenTime != nil {
			rollout.EndSeen = record.EndSeenTime.Time
		}
	}
	rollout.CanGoBack = p.config.Spec.Rollback == nil && p.config.Spec.PinnedVersion == nil && goodVersion(p) != nil
	return rollout
}

// configs are the fingerprints of versions by number.
func configs(config *infrav1.AWSLaunchConfig) map[int64]string {
	fingerprints := make(map[int64]string, len(config.Status.Versions))
	for _, version := range config.Status.Versions {
		fingerprints[version.Number] = version.ConfigFingerprint
	}
	return fingerprints
}

// beginAttempts has attempts counted anew when another configuration, or the same one from another launch template, came to be wanted: from the newest
// refresh that there is then. It is known by its id. AWS's clock and the manager's may differ, and the API cuts both to whole seconds.
func beginAttempts(p *pass, history []autoscalinggroup.Refresh) {
	status, key := rolloutStatus(p.pool), p.wanted.Key()+"@"+p.wanted.TemplateID
	if status.AttemptsFor == key {
		return
	}
	status.AttemptsFor, status.AttemptsAfter = key, ""
	if newest := latest(history); newest != nil {
		status.AttemptsAfter = newest.ID
	}
}

// act does what the decision says, and shows it.
func (r *Reconciler) act(ctx context.Context, p *pass, history []autoscalinggroup.Refresh) reconciling.Outcome {
	beginAttempts(p, history)
	decision := r.rollout(p, history).Decide()
	status := p.pool.Status.Rollout
	status.Attempts = int32(decision.Attempts) //nolint:gosec // at most as many as are read
	if rolledBack(p.config) {
		status.RolledBackFrom = p.config.Status.RolledBackFrom
	}
	if len(decision.Outdated) > 0 && (decision.Verdict != autoscalinggroup.Rolling || cause(p) == "") {
		setCause(ctx, p)
	}
	newest := latest(history)
	switch decision.Verdict {
	case autoscalinggroup.RolledOut:
		rolledOut(p)
		return reconciling.Continue()
	case autoscalinggroup.Disabled:
		leftToUser(p, decision)
		return reconciling.Continue()
	case autoscalinggroup.Left:
		notRolledOut(p, infrav1.InstancesLeftReason, decision.Reason)
		return reconciling.Continue()
	case autoscalinggroup.Later:
		notRolledOut(p, endedReason(newest), fmt.Sprintf("%s; instance refresh %s ended as %s%s. The next one starts by itself, or with an edit",
			decision.Reason, newest.ID, newest.Status, said(newest)))
		return reconciling.ContinueAndComeBack(decision.Wait, "the next refresh")
	case autoscalinggroup.GoBack:
		return r.goBack(ctx, p, newest)
	case autoscalinggroup.Supersede:
		return r.supersede(ctx, p)
	case autoscalinggroup.Start:
		return r.startRefresh(ctx, p, history)
	case autoscalinggroup.Rolling:
	}
	return r.goOn(p, newest, decision)
}

// goOn shows a refresh that is under way. One that was started for something else and has brought none of it goes on for what is wanted now.
func (r *Reconciler) goOn(p *pass, newest *autoscalinggroup.Refresh, decision autoscalinggroup.Decision) reconciling.Outcome {
	p.moving = true
	status := p.pool.Status.Rollout
	if status.StartedID == newest.ID && status.StartedFor != "" && newest.Status != "Cancelling" {
		status.StartedFor, status.StartedTemplateID = p.wanted.Key(), p.wanted.TemplateID
	}
	message := fmt.Sprintf("instance refresh %s is %s", newest.ID, newest.Status)
	if decision.Reason != "" {
		message += "; " + decision.Reason
	}
	notRolledOut(p, infrav1.RollingOutReason, message)
	return r.pollAgain(p)
}

// supersede cancels our refresh, if it is still the one under way by what AWS says now: a cancellation names the group alone.
func (r *Reconciler) supersede(ctx context.Context, p *pass) reconciling.Outcome {
	history, err := r.lookClosely(ctx, p)
	if err != nil {
		return outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err).AndGoOn()
	}
	if p.group == nil || !pointed(p) && !p.inPlace && !latest(history).InPlace() || r.rollout(p, history).Decide().Verdict != autoscalinggroup.Supersede {
		return reconciling.ContinueAndComeBack(lookAgain, "the roll-out changed a moment ago")
	}
	newest := latest(history)
	if err := p.cloud.Groups.CancelRefresh(ctx, p.group.Name); err != nil {
		return outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err).AndGoOn()
	}
	r.forgetPoll(p)
	p.moving = true
	r.Report.Done(ctx, p.pool, "InstanceRefreshSuperseded", "%s",
		because(cause(p), fmt.Sprintf("Cancelling instance refresh %s, because a newer configuration is wanted", newest.ID)))
	notRolledOut(p, infrav1.SupersededReason, fmt.Sprintf("instance refresh %s is being cancelled, because a newer configuration is wanted", newest.ID))
	return reconciling.ContinueAndComeBack(lookAgain, "the cancelled refresh ends")
}

// startRefresh starts one if it is still due by what AWS says now: what a sweep saw may be old, and a refresh can not be undone.
func (r *Reconciler) startRefresh(ctx context.Context, p *pass, history []autoscalinggroup.Refresh) reconciling.Outcome {
	if err := r.see(ctx, p, true); err != nil {
		return outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.WaitingForASGReason, err).AndGoOn()
	}
	if p.group == nil || !pointed(p) && (!p.inPlace || !r.replacesRoots(p, p.launches)) {
		return reconciling.ComeBack(lookAgain, "the group changed a moment ago")
	}
	rollout := r.rollout(p, history)
	decision := rollout.Decide()
	if decision.Verdict != autoscalinggroup.Start {
		return reconciling.ContinueAndComeBack(lookAgain, "the instances changed a moment ago")
	}
	if coming := unshieldable(decision.Shield); coming != "" {
		p.moving = true
		notRolledOut(p, infrav1.WaitingForRefreshReason, fmt.Sprintf("%s; instance %s runs what is wanted, and must be in service before a refresh can spare it", decision.Reason, coming))
		return reconciling.ContinueAndComeBack(lookAgain, "an instance comes into service")
	}
	if stop := r.hooksBeforeRefresh(ctx, p); stop != nil {
		return *stop
	}
	if err := r.announceRefresh(ctx, p, history, decision.Shield); err != nil {
		return reconciling.Fail(err)
	}
	id, err := r.shieldAndStart(ctx, p, rollout, decision)
	if err != nil {
		return refusedRefresh(p, err)
	}
	p.moving = true
	if id == "" {
		// The announcement must not be taken for that of somebody else's refresh.
		if err := r.withdraw(ctx, p); err != nil {
			return reconciling.Fail(err)
		}
		notRolledOut(p, infrav1.WaitingForRefreshReason, decision.Reason+"; an earlier refresh is under way")
		return r.pollAgain(p)
	}
	r.Report.Done(ctx, p.pool, "InstanceRefreshStarted", "Started instance refresh %s%s: %s", id, replaced(p), withCause(p, decision.Reason))
	status := rolloutStatus(p.pool)
	status.RefreshID, status.StartedID, status.StartedFor, status.StartedTemplateID = id, id, p.wanted.Key(), p.wanted.TemplateID
	status.Strategy = infrav1.RefreshStrategyRolling
	if p.inPlace {
		status.Strategy = infrav1.RefreshStrategyReplaceRootVolume
	}
	status.Status, status.Reason, status.PercentageComplete, status.StartTime = "Pending", "", nil, ptr.To(metav1.NewTime(r.Clock.Now()))
	status.EndSeenTime = nil
	notRolledOut(p, infrav1.RollingOutReason, decision.Reason)
	return r.pollAgain(p)
}

// replaced says what a refresh replaces, where the pool prefers root volumes.
func replaced(p *pass) string {
	switch {
	case p.inPlace:
		return ", which replaces root volumes"
	case p.notInPlace != "":
		return ", which replaces instances because " + p.notInPlace
	}
	return ""
}

// refusedRefresh shows that AWS takes no such refresh. What it refuses are preferences that do not go together, with each other or with the group, and
// alarms that are not OK.
func refusedRefresh(p *pass, err error) reconciling.Outcome {
	end := outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err).AndGoOn()
	condition := meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.RolledOutCondition)
	if condition != nil && condition.Reason == infrav1.RefreshStartFailedReason {
		notRolledOut(p, condition.Reason, strings.TrimSuffix(condition.Message, ".")+": change spec.refreshPreferences, or what it names in AWS")
	}
	return end
}

// goBack asks the launch config, which alone makes versions, for the last good config in place of the one that failed. It is written into the
// config's spec, so that it outlives a crash and a move.
func (r *Reconciler) goBack(ctx context.Context, p *pass, failed *autoscalinggroup.Refresh) reconciling.Outcome {
	good := goodVersion(p)
	reason := fmt.Sprintf("instance refresh %s ended as %s%s", failed.ID, failed.Status, said(failed))
	if why := cause(p); why != "" {
		reason += " (" + why + ")"
	}
	err := reconciling.Patch(ctx, r.Client, p.config, func(config *infrav1.AWSLaunchConfig) {
		config.Spec.Rollback = &infrav1.Rollback{From: p.wanted.Config, Version: *good, Reason: common.Shortened(reason)}
	})
	if err != nil {
		return reconciling.Fail(fmt.Errorf("going back to version %d: %w", *good, err))
	}
	r.Report.Warn(ctx, p.pool, "RolledBack", "Going back to the configuration of version %d: %s", *good, reason)
	notRolledOut(p, infrav1.RolledBackReason, wentBack(p.config))
	return reconciling.Continue()
}

// wentBack says what failed and what to do.
func wentBack(config *infrav1.AWSLaunchConfig) string {
	return fmt.Sprintf("the pool went back to the configuration before, because %s: edit the spec, or set refreshPreferences.rollback to false to try it again",
		config.Spec.Rollback.Reason)
}

// rolledBack is true while the pool runs an earlier config in place of the one that its spec asks for.
func rolledBack(config *infrav1.AWSLaunchConfig) bool {
	from := config.Status.RolledBackFrom
	return from != "" && from != config.Status.ConfigFingerprint && config.Spec.Rollback != nil
}

// notRolledOut says why not all instances run what is wanted. In a rollback that is not the reason that counts.
func notRolledOut(p *pass, reason, message string) {
	message = withCause(p, message)
	if rolledBack(p.config) {
		reason, message = infrav1.RolledBackReason, wentBack(p.config)+"; "+message
	}
	reconciling.False(p.pool, infrav1.RolledOutCondition, reason, message)
}

// rolledOut says that all instances run what is wanted, and remembers it as what a rollback may go back to.
func rolledOut(p *pass) {
	record := p.pool.Status.Rollout
	failed := false
	if record != nil {
		record.Attempts, record.RolledBackFrom = 0, ""
		failed = (&autoscalinggroup.Refresh{Status: record.Status}).Failed() && record.StartedFor == p.wanted.Key()
	}
	if !failed && inService(p.group) {
		p.pool.Status.LastGood = &infrav1.GoodConfiguration{ConfigFingerprint: p.wanted.Config, Version: p.wanted.Version}
	}
	if rolledBack(p.config) {
		rolloutStatus(p.pool).RolledBackFrom = p.config.Status.RolledBackFrom
		reconciling.False(p.pool, infrav1.RolledOutCondition, infrav1.RolledBackReason, wentBack(p.config))
		return
	}
	reconciling.True(p.pool, infrav1.RolledOutCondition, infrav1.RolledOutReason, "")
}

// inService is true for a group with an instance that works.
func inService(group *autoscalinggroup.Group) bool {
	for _, instance := range group.Instances {
		if instance.InService() {
			return true
		}
	}
	return false
}

// goodVersion is the number of a version with the last good config, nil if there is none or it is the wanted one. Where status was lost, what
// the instances of before all run is taken for it.
func goodVersion(p *pass) *int64 {
	fingerprints := configs(p.config)
	if good := p.pool.Status.LastGood; good != nil {
		if good.ConfigFingerprint != p.wanted.Config && fingerprints[good.Version] == good.ConfigFingerprint {
			return &good.Version
		}
		return nil
	}
	var found *int64
	for _, instance := range p.group.Instances {
		config := fingerprints[instance.Version]
		if instance.Leaving() || config == p.wanted.Config {
			continue
		}
		if instance.LaunchTemplateID != p.wanted.TemplateID || config == "" || found != nil && fingerprints[*found] != config {
			return nil
		}
		found = &instance.Version
	}
	return found
}

func endedReason(newest *autoscalinggroup.Refresh) string {
	switch {
	case newest.Failed():
		return infrav1.RefreshFailedReason
	case newest.Succeeded():
		return infrav1.WaitingForRefreshReason
	}
	return infrav1.RefreshCancelledReason
}

// said is AWS's explanation of a refresh's status, as the end of a phrase.
func said(refresh *autoscalinggroup.Refresh) string {
	if reason := strings.TrimSuffix(refresh.Reason, "."); reason != "" {
		return ": " + reason
	}
	return ""
}
