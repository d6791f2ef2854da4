package machinepool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// rollOut replaces instances that run something other than what is wanted. Whether that is due is
// decided from the instances alone, so a refresh that was never started, was cancelled or failed is
// due until no such instance is left.
func rollOut(in input, plan *reconcile.Plan) bool {
	if in.Seen.Group == nil || triedToPause(in) || waitsToRollOut(in) || reportAttempt(in, plan) || !warmKnown(in, plan) {
		return true
	}
	if !in.Seen.Refreshes.Read && !shielding(in.Object) && !retries(in) {
		decision := rolloutOf(in, recorded(in.Object)).Decide()
		if decision.Verdict == autoscalinggroup.RolledOut {
			showRolledOut(in)
			return true
		}
		if decision.Verdict == autoscalinggroup.Disabled && instancesUnchanged(in) {
			showDisabled(in, plan, decision)
			return true
		}
	}
	if readRefreshes(in, plan) {
		actOnRollout(in, plan)
	}
	return true
}

// waitsToRollOut shows what keeps a roll-out from being decided about, and reports whether anything does.
func waitsToRollOut(in input) bool {
	switch {
	case reconcile.Succeeded[rollBack](in.Done):
		reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.RolledBackReason, because(cause(in), wentBack(in.Seen.LaunchConfig.Object)))
		return true
	case launchable(in) == nil:
		reconciling.Unknown(in.Object, infrav1.RolledOutCondition, infrav1.WaitingForLaunchConfigReason, withRefresh(in,
			"The configuration that instances should run is not known until LaunchTemplateReady is True. "+
				"Running instances are kept"))
		return true
	case settling(in):
		reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.SettlingReason,
			because(causeOf(in), withRefresh(in, fmt.Sprintf("the roll-out starts when the spec has not changed "+
				"for %v", in.Seen.Settings.SettleWindow))))
		return true
	case !pointed(in) && !rootVolumesOf(in).inPlace && !holdsConfiguration(in):
		// A refresh would replace nothing: the group still launches what it launched before.
		reconciling.Unknown(in.Object, infrav1.RolledOutCondition, infrav1.WaitingForASGReason, "the group does not use the desired version yet")
		return true
	}
	return false
}

// reportAttempt shows that a refresh was cancelled in this pass, or could not be cancelled or
// started. It reports whether there is nothing else to decide.
func reportAttempt(in input, plan *reconcile.Plan) bool {
	if err := reconcile.LastFailure[cancelRefresh](in.Done); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err)
		return true
	}
	if reconcile.Succeeded[cancelRefresh](in.Done) {
		newest := latest(in.Seen.Refreshes.List)
		if broken(in) {
			showBroken(in, fmt.Sprintf("instance refresh %s is being canceled", newest.ID))
		} else {
			showNotRolledOut(in, infrav1.SupersededReason, fmt.Sprintf("instance refresh %s is being canceled, "+
				"because a newer configuration is desired", newest.ID))
		}
		plan.LookAgain(lookAgain)
		return true
	}
	for _, err := range []error{reconcile.LastFailure[startRefresh](in.Done), protectionFailure(in, true)} {
		if err != nil {
			showRefusedRefresh(in, plan, err)
			return true
		}
	}
	return false
}

// triedToPause reports whether a refresh was cancelled in this pass for a pause, or could not be:
// pauseRefresh has shown it.
func triedToPause(in input) bool {
	return slices.ContainsFunc(in.Done, func(done reconcile.Done) bool {
		action, is := done.Action.(cancelRefresh)
		return is && action.Paused
	})
}

// instancesUnchanged reports whether the roll-out was disabled or paused already, the instances are the
// same as in status, and no refresh was in progress when status was written. Then no refresh has replaced an instance since, and Slipway
// need not ask AWS for a refresh that it did not start.
func instancesUnchanged(in input) bool {
	shown := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.RolledOutCondition)
	return shown != nil && shown.Reason == disabledReason(in) && !refreshing(in.Object) &&
		equality.Semantic.DeepEqual(in.Object.Status.Instances, instanceStatuses(in))
}

// pointed reports whether the group launches from the wanted version.
func pointed(in input) bool {
	target := wanted(in)
	return target.Launches(*in.Seen.Group) && in.Seen.Group.Version == strconv.FormatInt(target.Version, 10)
}

// rolloutOf gathers what the decision about a roll-out is made from.
func rolloutOf(in input, history []autoscalinggroup.Refresh) autoscalinggroup.Rollout {
	return rolloutWith(in, history, rootVolumesOf(in).inPlace)
}

func rolloutWith(in input, history []autoscalinggroup.Refresh, inPlace bool) autoscalinggroup.Rollout {
	config := launchable(in)
	rollout := autoscalinggroup.Rollout{
		Wanted: wanted(in), Instances: withoutShield(in), Warm: warmInstances(in), History: history, Configs: fingerprints(config),
		Preferences: in.Object.Spec.RefreshPreferences, Now: in.Now, InPlace: inPlace, EndSeen: in.Now,
		Paused: pausing(in), Broken: broken(in),
	}
	if record := in.Object.Status.Rollout; record != nil {
		rollout.StartedID, rollout.StartedFor, rollout.StartedTemplate = record.StartedID, record.StartedFor, record.StartedTemplateID
		rollout.After = record.AttemptsAfter
		if record.EndSeenTime != nil {
			rollout.EndSeen = record.EndSeenTime.Time
		}
	}
	rollout.CanGoBack = config.Spec.Rollback == nil && config.Spec.PinnedVersion == nil && goodVersion(in) != nil
	return rollout
}

// beginAttempts has attempts counted anew when another configuration, or the same one from another
// launch template, came to be wanted: from the newest refresh that there is then. It is known by
// its id. AWS's clock and the manager's may differ, and the API cuts both to whole seconds.
func beginAttempts(in input) {
	target := wanted(in)
	status, key := rolloutStatus(in.Object), target.Key()+"@"+target.TemplateID
	if status.AttemptsFor == key {
		return
	}
	status.AttemptsFor, status.AttemptsAfter = key, ""
	earlier := in.Seen.Refreshes.List
	if newest := latest(earlier); newest != nil && newest.ID == status.StartedID && status.StartedFor == target.Key() && status.StartedTemplateID == target.TemplateID {
		earlier = earlier[1:] // the first attempt, which may have been started in this pass
	}
	if newest := latest(earlier); newest != nil {
		status.AttemptsAfter = newest.ID
	}
}

// actOnRollout does what the decision about the roll-out says, and shows it.
func actOnRollout(in input, plan *reconcile.Plan) {
	if !readinessKnown(in) {
		plan.Need(needReadiness)
		return
	}
	history := in.Seen.Refreshes.List
	beginAttempts(in)
	forgetAttempts(in)
	decision := rolloutOf(in, history).Decide()
	status, newest := in.Object.Status.Rollout, latest(history)
	status.Attempts = int32(decision.Attempts) //nolint:gosec // at most as many as are read
	if config := launchable(in); rolledBack(config) {
		status.RolledBackFrom = config.Status.RolledBackFrom
	}
	if len(decision.Outdated) > 0 && (decision.Verdict != autoscalinggroup.Rolling || cause(in) == "") {
		if needsDifferences(in) {
			plan.Need(needDifferences)
			return
		}
		setCause(in)
	}
	switch decision.Verdict {
	case autoscalinggroup.RolledOut:
		showRolledOut(in)
	case autoscalinggroup.Disabled:
		showDisabled(in, plan, decision)
	case autoscalinggroup.Left:
		showNotRolledOut(in, infrav1.InstancesLeftReason, decision.Reason)
	case autoscalinggroup.Later:
		showNotRolledOut(in, endedReason(newest), fmt.Sprintf("%s; instance refresh %s finished with status "+
			"%s%s. The next one starts automatically, or after an edit",
			decision.Reason, newest.ID, newest.Status, said(newest)))
		plan.LookAgain(decision.Wait)
	case autoscalinggroup.GoBack:
		goBack(in, plan, newest)
	case autoscalinggroup.Supersede:
		supersede(in, plan, newest)
	case autoscalinggroup.Start:
		startIfStillDue(in, plan, decision)
	case autoscalinggroup.Rolling:
		showRolling(in, plan, newest, decision)
	}
}

// showRolling shows a refresh that is under way. One that was started for something else and has
// brought none of it goes on for what is wanted now.
func showRolling(in input, plan *reconcile.Plan, newest *autoscalinggroup.Refresh, decision autoscalinggroup.Decision) {
	status, target := in.Object.Status.Rollout, wanted(in)
	if status.StartedID == newest.ID && status.StartedFor != "" && newest.Status != "Cancelling" {
		status.StartedFor, status.StartedTemplateID = target.Key(), target.TemplateID
	}
	message := fmt.Sprintf("instance refresh %s is %s", newest.ID, newest.Status)
	if decision.Reason != "" {
		message += "; " + decision.Reason
	}
	if reconcile.Succeeded[startRefresh](in.Done) {
		message, status.PercentageComplete = decision.Reason, nil
	}
	if suspended := refreshSuspended(in); suspended != "" {
		message += fmt.Sprintf("; AWS replaces no instance while these processes of the group are suspended: %s. Resume them", suspended)
	}
	if broken(in) {
		showBroken(in, message)
	} else {
		showNotRolledOut(in, infrav1.RollingOutReason, message)
	}
	pollAgain(in, plan)
}

// refreshSuspended returns the suspended processes without which a refresh replaces no instance (Amazon
// EC2 Auto Scaling User Guide, "How suspended processes affect other processes").
func refreshSuspended(in input) string {
	var stops []string
	for _, process := range in.Seen.Group.Suspended {
		if process == autoscalinggroup.ProcessLaunch || process == "Terminate" || process == "InstanceRefresh" {
			stops = append(stops, process)
		}
	}
	return strings.Join(stops, ", ")
}

// supersede cancels our refresh, if it is still the one under way by what AWS says now: a
// cancellation names the group alone.
func supersede(in input, plan *reconcile.Plan, newest *autoscalinggroup.Refresh) {
	if !in.Seen.Refreshes.Latest || !in.Seen.Fresh {
		plan.Need(needLatest)
		return
	}
	if broken(in) {
		why := brokenBecause(in)
		plan.Do(cancelRefresh{Group: in.Seen.Group.Name, ID: newest.ID, Cause: why, Broken: true}, "%s", why)
		return
	}
	if !pointed(in) && !rootVolumesOf(in).inPlace && !newest.InPlace() {
		plan.LookAgain(lookAgain)
		return
	}
	plan.Do(cancelRefresh{Group: in.Seen.Group.Name, ID: newest.ID, Cause: cause(in)}, "%s", because(cause(in), "a newer configuration is desired"))
}

// paused says why a roll-out is paused.
const paused = "annotation " + infrav1.RolloutPausedAnnotation + " pauses roll-outs"

// pausing reports whether the user pauses roll-outs.
func pausing(in input) bool { return infrav1.RolloutPaused(in.Object.Annotations) }

// disabledReason returns the reason of RolledOut while the user wants no refresh.
func disabledReason(in input) string {
	if pausing(in) {
		return infrav1.RolloutPausedReason
	}
	return infrav1.RefreshDisabledReason
}

// startIfStillDue starts a refresh if it is still due by what AWS and the API server say now: what a
// sweep or the cache shows may be old, and a refresh cannot be undone.
func startIfStillDue(in input, plan *reconcile.Plan, decision autoscalinggroup.Decision) {
	switch {
	case !in.Seen.Fresh:
		plan.Need(needFreshGroup)
		return
	case !in.Seen.Warm.Latest && warmOutdated(decision):
		plan.Need(needWarmPoolNow)
		return
	case !in.Seen.LaunchConfig.Current(plan):
		return
	case in.Seen.Refreshes.UnderWay:
		// The announcement must not be matched with a refresh that may have been started elsewhere.
		annotate(in, plan, disclaimRefresh(in.Object))
		showNotRolledOut(in, infrav1.WaitingForRefreshReason, decision.Reason+"; an earlier refresh is in progress")
		pollAgain(in, plan)
		return
	}
	if coming := unshieldable(decision.Shield); coming != "" {
		showNotRolledOut(in, infrav1.WaitingForRefreshReason, fmt.Sprintf("%s; instance %s runs the desired "+
			"configuration, but a refresh can skip it only when it is in service", decision.Reason, coming))
		plan.LookAgain(lookAgain)
		return
	}
	if !hooksChecked(in, plan) {
		return
	}
	annotate(in, plan, announcedRefresh(in, decision.Shield))
	if unprotected := unprotectedOf(in, decision.Shield); len(unprotected) > 0 {
		plan.Do(protectInstances{Group: in.Seen.Group.Name, Instances: unprotected, Protect: true}, "they run the desired configuration, and "+
			"the instance refresh must skip them")
		return
	}
	start := refreshFor(in, decision)
	plan.Do(start, "%s", start.Cause)
}

// refreshFor returns the refresh that brings instances to what is wanted.
func refreshFor(in input, decision autoscalinggroup.Decision) startRefresh {
	roots := rootVolumesOf(in)
	start := startRefresh{
		Group: in.Seen.Group.Name, What: replaced(roots), Cause: because(cause(in), decision.Reason), Outdated: instanceIDs(slices.DeleteFunc(slices.Clone(decision.Outdated), autoscalinggroup.Instance.Warmed)),
		Replacing: autoscalinggroup.Replacing{Preferences: refreshPreferences(in), SkipMatching: rolloutOf(in, in.Seen.Refreshes.List).SkipsMatching(), Shielded: len(decision.Shield) > 0},
	}
	if roots.inPlace {
		start.Replacing.RootVolumes = &roots.launches
	}
	return start
}

// hooksChecked has the hooks checked once before instances are replaced: without its drain hook a
// group terminates instances whose nodes are not empty.
func hooksChecked(in input, plan *reconcile.Plan) bool {
	switch {
	case len(wantedHooks(in)) == 0 || hooksConfirmed(in):
		return true
	case !in.Seen.Hooks.Read && in.Seen.Hooks.Err == nil:
		plan.Need(needHooks)
		return false
	}
	checkHooks(in, plan)
	return false
}

// unprotectedOf returns the instances of a shield that AWS does not protect yet.
func unprotectedOf(in input, shield []autoscalinggroup.Instance) []string {
	spared := instanceIDs(shield)
	var unprotected []string
	for _, instance := range in.Seen.Group.Instances {
		if !instance.Protected && slices.Contains(spared, instance.ID) {
			unprotected = append(unprotected, instance.ID)
		}
	}
	return unprotected
}

// replaced describes what a refresh replaces, where the pool prefers root volumes.
func replaced(roots rootVolumes) string {
	switch {
	case roots.inPlace:
		return ", which replaces root volumes"
	case roots.notInPlace != "":
		return ", which replaces instances because " + roots.notInPlace
	}
	return ""
}

// showRefusedRefresh shows that AWS takes no such refresh. AWS refuses preferences that do not go
// together, with each other or with the group, and alarms that are not OK.
func showRefusedRefresh(in input, plan *reconcile.Plan, err error) {
	pool.ShowFailure(in.Object, plan, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err)
	condition := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.RolledOutCondition)
	if condition != nil && condition.Reason == infrav1.RefreshStartFailedReason {
		showNotRolledOut(in, condition.Reason, strings.TrimSuffix(condition.Message, ".")+": correct spec.refreshPreferences, or "+
			"the AWS resource that it refers to")
	}
}

// goBack asks the launch config, which alone has versions, for the last good config in place of the
// one that failed. It is written into the config's spec, so that it outlives a crash and a move.
func goBack(in input, plan *reconcile.Plan, refresh *autoscalinggroup.Refresh) {
	if tried, _ := reconcile.Attempted[rollBack](in.Done); tried {
		return
	}
	reason := fmt.Sprintf("instance refresh %s finished with status %s%s", refresh.ID, refresh.Status, said(refresh))
	if broken(in) {
		reason = brokenBecause(in)
	}
	if why := cause(in); why != "" {
		reason += " (" + why + ")"
	}
	plan.Do(rollBack{Config: launchable(in).Name, Rollback: rollbackTo(in, *goodVersion(in), reason)}, "%s", reason)
}

// rollbackTo returns what the launch config is asked for, in order to go back to a version.
func rollbackTo(in input, version int64, reason string) infrav1.Rollback {
	return infrav1.Rollback{From: wanted(in).Config, To: fingerprints(launchable(in))[version], Version: version, Reason: report.Shortened(reason)}
}

// wentBack describes what failed and what to do.
func wentBack(config *infrav1.AWSLaunchConfig) string {
	return fmt.Sprintf("the pool was rolled back to the previous configuration, because %s. Edit the spec, or "+
		"set refreshPreferences.rollback to false to retry",
		config.Spec.Rollback.Reason)
}

// rolledBack reports whether the pool runs an earlier config in place of the one that its spec asks for.
func rolledBack(config *infrav1.AWSLaunchConfig) bool {
	from := config.Status.RolledBackFrom
	return from != "" && from != config.Status.ConfigFingerprint && config.Spec.Rollback != nil
}

// showDisabled shows that a roll-out waits for its user.
func showDisabled(in input, plan *reconcile.Plan, decision autoscalinggroup.Decision) {
	if pausing(in) {
		showNotRolledOut(in, infrav1.RolloutPausedReason, decision.Reason+"; "+paused)
		return
	}
	if broken(in) {
		showBroken(in, decision.Reason)
		plan.LookAgain(brokenLook)
		return
	}
	showNotRolledOut(in, infrav1.RefreshDisabledReason, decision.Reason+". refreshPreferences.disable is true, "+
		"so you must replace them yourself")
}

// showNotRolledOut shows why not all instances run what is wanted. In a rollback that is not the
// reason that counts.
func showNotRolledOut(in input, reason, message string) {
	message = because(cause(in), message)
	if config := launchable(in); config != nil && rolledBack(config) {
		reason, message = infrav1.RolledBackReason, wentBack(config)+"; "+message
	}
	reconciling.False(in.Object, infrav1.RolledOutCondition, reason, message)
}

// showRolledOut shows that all instances run what is wanted, and records it as what a rollback may
// go back to.
func showRolledOut(in input) {
	record, target, config := in.Object.Status.Rollout, wanted(in), launchable(in)
	refreshFailed := false
	if record != nil {
		record.Attempts, record.RolledBackFrom = 0, ""
		refreshFailed = (&autoscalinggroup.Refresh{Status: record.Status}).Failed() && record.StartedFor == target.Key()
	}
	if !refreshFailed && slices.ContainsFunc(in.Seen.Group.Instances, autoscalinggroup.Instance.InService) {
		in.Object.Status.LastGood = &infrav1.GoodConfiguration{ConfigFingerprint: target.Config, Version: target.Version}
	}
	if rolledBack(config) {
		rolloutStatus(in.Object).RolledBackFrom = config.Status.RolledBackFrom
		reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.RolledBackReason, wentBack(config))
		return
	}
	reconciling.True(in.Object, infrav1.RolledOutCondition, infrav1.RolledOutReason, "")
}

// goodVersion returns the number of a version with the last good config, nil if there is none or it
// is the wanted one. Where status was lost, what the instances of before all run is taken for it.
func goodVersion(in input) *int64 {
	known, target := fingerprints(launchable(in)), wanted(in)
	if good := in.Object.Status.LastGood; good != nil {
		if good.ConfigFingerprint != target.Config && known[good.Version] == good.ConfigFingerprint {
			return &good.Version
		}
		return nil
	}
	var found *int64
	for _, instance := range in.Seen.Group.Instances {
		config := known[instance.Version]
		if instance.Leaving() || config == target.Config {
			continue
		}
		if instance.LaunchTemplateID != target.TemplateID || config == "" || found != nil && known[*found] != config {
			return nil
		}
		found = ptr.To(instance.Version)
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
