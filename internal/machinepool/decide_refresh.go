package machinepool

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// Annotations of a pool. Unlike status they outlive a move to another management cluster.
const (
	// refreshAnnotation announces a refresh before it is started: what it is for, with which launch
	// template, and after which refresh. It has only the last of these if it turned out that a refresh
	// is under way which another program may have started.
	refreshAnnotation = infrav1.TagSlipwayPrefix + "refresh"
	// shieldAnnotation names the instances that Slipway protects from scale-in while a refresh
	// runs. They were not protected before.
	shieldAnnotation = infrav1.TagSlipwayPrefix + "shielded"
)

// tokenWaitsAtMost is for how long a version with another join token is kept from the group: a
// fraction of the 7.5 minutes for which a kubeadm token is valid after Cluster API has rotated it.
const tokenWaitsAtMost = 4 * time.Minute

// noRefresh stands in an announcement for the id of a refresh, where the group had none before.
const noRefresh = "-"

// showRefresh shows how far the refresh is that is under way, whatever is wrong with what is asked
// for now, and lowers the shield of a refresh that has finished.
func showRefresh(in input, plan *reconcile.Plan) bool {
	group := in.Seen.Group
	if forgetLostRefresh(in, plan); pending(plan) {
		return false
	}
	if group == nil || group.Deleting || !in.Seen.Refreshes.Read && (in.Seen.Adopting || !refreshing(in.Object) && !shielding(in.Object) && !mayRunUnrecorded(in)) {
		return true
	}
	if !readRefreshes(in, plan) {
		return true
	}
	history := in.Seen.Refreshes.List
	showHistory(in, plan)
	if latest(history).Active() {
		pollAgain(in, plan)
		return true
	}
	if !shielding(in.Object) {
		return true
	}
	if err := lowerShield(in, plan, toBeSpared(in)); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err)
	}
	return true
}

// forgetLostRefresh drops what is known about the refreshes of a group that was deleted outside
// Slipway: AWS lists only the refreshes of the present group, so these would never finish.
func forgetLostRefresh(in input, plan *reconcile.Plan) {
	record, group, known := in.Object.Status.Rollout, in.Seen.Group, in.Object.Status.AutoScalingGroup
	present := group != nil && (in.Seen.Adopting || known == nil || known.ARN == group.ARN)
	announced := in.Object.Annotations[refreshAnnotation] != ""
	if present || record == nil && !announced {
		return
	}
	if group == nil && !in.Seen.Fresh {
		plan.Need(needFreshGroup) // the result of a sweep may be old
		return
	}
	if announced {
		annotate(in, plan, func(pool *infrav1.AWSMachinePool) { reconciling.SetAnnotation(pool, refreshAnnotation, "") })
	}
	if record == nil {
		return
	}
	if latest(recorded(in.Object)).Active() {
		reconciling.Unknown(in.Object, infrav1.RolledOutCondition, infrav1.WaitingForASGReason, "the group that was rolled out was deleted outside Slipway")
	}
	in.Object.Status.Rollout = nil
	if record.Retried != "" || record.RolledBackFrom != "" {
		in.Object.Status.Rollout = &infrav1.RolloutStatus{Retried: record.Retried, RolledBackFrom: record.RolledBackFrom}
	}
}

// pauseRefresh cancels the refresh under way that Slipway started, if the user pauses roll-outs. It
// needs nothing of the launch config or the MachinePool, so no problem of theirs keeps nodes from
// being left alone.
func pauseRefresh(in input, plan *reconcile.Plan) bool {
	record, history := in.Object.Status.Rollout, in.Seen.Refreshes.List
	if !pausing(in) || in.Seen.Group == nil || in.Seen.Group.Deleting || record == nil || !in.Seen.Refreshes.Read {
		return true
	}
	if err := reconcile.LastFailure[cancelRefresh](in.Done); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err)
		return true
	}
	newest := latest(history)
	if reconcile.Succeeded[cancelRefresh](in.Done) {
		showNotRolledOut(in, infrav1.RolloutPausedReason, fmt.Sprintf("instance refresh %s is being canceled, because %s", newest.ID, paused))
		plan.LookAgain(lookAgain)
		return true
	}
	rollout := autoscalinggroup.Rollout{History: history, StartedID: record.StartedID, StartedFor: record.StartedFor, Paused: true}
	switch {
	case rollout.Decide().Verdict != autoscalinggroup.Supersede:
	case !in.Seen.Refreshes.Latest || !in.Seen.Fresh:
		plan.Need(needLatest)
	default:
		plan.Do(cancelRefresh{Group: in.Seen.Group.Name, ID: newest.ID, Cause: paused, Paused: true}, "%s", paused)
	}
	return true
}

// mayRunUnrecorded reports whether the user pauses roll-outs, and a refresh was announced that status
// does not show: a process that exited may have started it.
func mayRunUnrecorded(in input) bool {
	announced, known := len(strings.Fields(in.Object.Annotations[refreshAnnotation])) == 3, recorded(in.Object)
	return pausing(in) && announced && (len(known) == 0 || unlisted(in.Object, known))
}

// readRefreshes reports whether the group's refreshes are known.
func readRefreshes(in input, plan *reconcile.Plan) bool {
	switch refreshes := in.Seen.Refreshes; {
	case refreshes.Err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, refreshes.Err)
		return false
	case !refreshes.Read:
		plan.Need(needRefreshes)
		return false
	}
	return true
}

// lowerShield gives up the protection that Slipway set, and no other, except for the instances that
// should be spared. The pool names an instance until AWS has confirmed that it is not protected:
// what a description says may be older than a protection whose answer was lost. It returns why AWS
// refused in this pass.
func lowerShield(in input, plan *reconcile.Plan, spare []string) error {
	surplus := slices.DeleteFunc(shielded(in.Object), func(id string) bool { return slices.Contains(spare, id) })
	if len(surplus) == 0 {
		return nil
	}
	if !in.Seen.Fresh {
		plan.Need(needFreshGroup)
		return nil
	}
	if err := protectionFailure(in, false); err != nil {
		return err
	}
	var protected []string
	for _, instance := range in.Seen.Group.Instances {
		if protectable(instance) && slices.Contains(surplus, instance.ID) && !lowered(in, instance.ID) {
			protected = append(protected, instance.ID)
		}
	}
	if len(protected) > 0 {
		plan.Do(protectInstances{Group: in.Seen.Group.Name, Instances: protected}, "no instance refresh has to skip them "+
			"any longer")
		return nil
	}
	annotate(in, plan, func(pool *infrav1.AWSMachinePool) {
		reconciling.SetAnnotation(pool, shieldAnnotation, strings.Join(stillShielded(in), ","))
	})
	return nil
}

// stillShielded returns the instances that the pool names as protected by Slipway, without
// instances that AWS has confirmed in this pass not to be protected, and instances that have left
// or leave.
func stillShielded(in input) []string {
	return slices.DeleteFunc(shielded(in.Object), func(id string) bool {
		stays := slices.ContainsFunc(in.Seen.Group.Instances, func(instance autoscalinggroup.Instance) bool {
			return instance.ID == id && !instance.Leaving()
		})
		return !stays || lowered(in, id)
	})
}

// toBeSpared returns the instances that a refresh which is due is to spare, whether it can be
// started now or not.
func toBeSpared(in input) []string {
	if launchable(in) == nil || settling(in) {
		return nil
	}
	beginAttempts(in)
	forgetAttempts(in)
	decision := rolloutOf(in, in.Seen.Refreshes.List).Decide()
	if decision.Verdict != autoscalinggroup.Start {
		return nil
	}
	return instanceIDs(decision.Shield)
}

// lowered reports whether AWS confirmed in this pass that an instance is not protected.
func lowered(in input, id string) bool {
	return slices.ContainsFunc(in.Done, func(done reconcile.Done) bool {
		action, is := done.Action.(protectInstances)
		return is && !action.Protect && done.Err == nil && slices.Contains(action.Instances, id)
	})
}

// protectionFailure returns why instances could not be protected, or their protection not be given
// up, in this pass.
func protectionFailure(in input, protect bool) error {
	for _, done := range in.Done {
		if action, is := done.Action.(protectInstances); is && action.Protect == protect && done.Err != nil {
			return done.Err
		}
	}
	return nil
}

// tokenWaits reports whether the group keeps its version, though only the join token of the wanted
// version is another, because AWS has not started the refresh under way. AWS skips instances that
// match what the group launched before the refresh started (AWS: API_RefreshPreferences). An instance
// that was launched from the present version after the shield was decided has no shield, and must
// still match. AWS usually starts a refresh within seconds (AWS: check-status-instance-refresh).
func tokenWaits(in input) bool { return tokenWait(in) > 0 }

// tokenWait returns for how long the group keeps its version at most.
func tokenWait(in input) time.Duration {
	history := recorded(in.Object)
	if in.Seen.Refreshes.Read {
		history = in.Seen.Refreshes.List
	}
	if !latest(history).Pending() && !unlisted(in.Object, history) || !tokenRotated(in) {
		return 0
	}
	config := launchable(in)
	if version := config.Status.FindVersion(config.Status.Version); version != nil {
		return tokenWaitsAtMost - in.Now.Sub(version.Created.Time)
	}
	return 0
}

// unlisted reports whether a refresh was announced after the newest one that is listed. A process that
// crashed may have started it, and AWS may not list it yet.
func unlisted(object *infrav1.AWSMachinePool, history []autoscalinggroup.Refresh) bool {
	newest := noRefresh
	if refresh := latest(history); refresh != nil {
		newest = refresh.ID
	}
	return announcedAfter(object) == newest
}

// announcedAfter returns the id of the refresh after which another one was announced, noRefresh if
// there was none before, and "" if none was announced.
func announcedAfter(object *infrav1.AWSMachinePool) string {
	if announced := strings.Fields(object.Annotations[refreshAnnotation]); len(announced) > 0 {
		return announced[len(announced)-1]
	}
	return ""
}

// disclaimRefresh returns the change that reduces an announcement to the refresh after which it was
// made: another refresh is under way, and it is not known who started it.
func disclaimRefresh(object *infrav1.AWSMachinePool) func(*infrav1.AWSMachinePool) {
	after := announcedAfter(object)
	return func(pool *infrav1.AWSMachinePool) { reconciling.SetAnnotation(pool, refreshAnnotation, after) }
}

// tokenRotated reports whether the group launches the wanted configuration from another version than
// the wanted one.
func tokenRotated(in input) bool {
	return launchable(in) != nil && in.Seen.Group != nil && !pointed(in) && wanted(in).Launches(*in.Seen.Group)
}

// refreshesKnown has refreshes read before a version with another join token reaches the group of a
// pool that is being rolled out. A process that crashed may have started a refresh that status does
// not show.
func refreshesKnown(in input, plan *reconcile.Plan) bool {
	if in.Seen.Refreshes.Read || in.Seen.Refreshes.Err != nil || !tokenRotated(in) || len(sources(in)) == 0 {
		if wait := tokenWait(in); wait > 0 {
			plan.LookAgain(wait)
		}
		return true
	}
	plan.Need(needRefreshes)
	return false
}

// pollAgain has the refresh under way checked when AWS may be asked again.
func pollAgain(in input, plan *reconcile.Plan) { plan.LookAgain(in.Seen.Refreshes.Again.Sub(in.Now)) }

func latest(history []autoscalinggroup.Refresh) *autoscalinggroup.Refresh {
	if len(history) == 0 {
		return nil
	}
	return &history[0]
}

// recorded returns the newest refresh as status has it: enough to decide whether to ask AWS.
func recorded(object *infrav1.AWSMachinePool) []autoscalinggroup.Refresh {
	record := object.Status.Rollout
	if record == nil || record.RefreshID == "" {
		return nil
	}
	return []autoscalinggroup.Refresh{{ID: record.RefreshID, Status: record.Status, Strategy: record.Strategy}}
}

// refreshing reports whether a refresh was under way when the pool was last checked.
func refreshing(object *infrav1.AWSMachinePool) bool { return latest(recorded(object)).Active() }

// rolloutStatus returns the pool's, which is created if there is none.
func rolloutStatus(object *infrav1.AWSMachinePool) *infrav1.RolloutStatus {
	if object.Status.Rollout == nil {
		object.Status.Rollout = &infrav1.RolloutStatus{}
	}
	return object.Status.Rollout
}

// showHistory shows the newest refresh in status, and reports by an event that it has finished,
// once status shows it.
func showHistory(in input, plan *reconcile.Plan) {
	history := in.Seen.Refreshes.List
	newest := latest(history)
	if newest == nil {
		return
	}
	status := rolloutStatus(in.Object)
	adoptRefresh(in.Object, history)
	noteEnd(in, status, newest)
	reportEnd(status, history, plan)
	status.RefreshID, status.Status, status.Reason = newest.ID, newest.Status, report.Shortened(newest.Reason)
	status.Strategy = newest.Strategy
	status.PercentageComplete, status.StartTime = ptr.To(newest.Percentage), ptr.To(metav1.NewTime(newest.Started))
}

// reportEnd reports that the refresh that status shows has finished, if status does not show that
// yet. Another refresh may have been started since.
func reportEnd(status *infrav1.RolloutStatus, history []autoscalinggroup.Refresh, plan *reconcile.Plan) {
	found := slices.IndexFunc(history, func(refresh autoscalinggroup.Refresh) bool { return refresh.ID == status.RefreshID })
	if found < 0 || history[found].Active() || status.Status == history[found].Status {
		return
	}
	refresh := &history[found]
	if refresh.Succeeded() {
		what := "instances"
		if refresh.InPlace() {
			what = "root volumes"
		}
		plan.Tell(reconcile.Eventf(infrav1.InstanceRefreshSucceededEvent, "Instance refresh %s replaced all %s", refresh.ID, what))
		return
	}
	plan.Tell(reconcile.Warningf(infrav1.InstanceRefreshEndedEvent, "Instance refresh %s finished with status %s%s", refresh.ID, refresh.Status, said(refresh)))
}

// noteEnd records when a refresh was first seen to have finished.
func noteEnd(in input, status *infrav1.RolloutStatus, newest *autoscalinggroup.Refresh) {
	known := status.RefreshID == newest.ID && status.EndSeenTime != nil
	switch {
	case newest.Active():
		status.EndSeenTime = nil
	case !known:
		status.EndSeenTime = ptr.To(metav1.NewTime(in.Now))
	}
}

// announcedRefresh returns the annotations that announce a refresh and name which instances it is
// to spare, before anything is done: a crash or a lost status then leaves nothing that no manager
// knows about.
func announcedRefresh(in input, shield []autoscalinggroup.Instance) func(*infrav1.AWSMachinePool) {
	var spared []string
	for _, instance := range shield {
		if !instance.Protected {
			spared = append(spared, instance.ID)
		}
	}
	after, target := noRefresh, wanted(in)
	if newest := latest(in.Seen.Refreshes.List); newest != nil {
		after = newest.ID
	}
	value := strings.Join([]string{target.Key(), target.TemplateID, after}, " ")
	return func(pool *infrav1.AWSMachinePool) {
		reconciling.SetAnnotation(pool, refreshAnnotation, value)
		reconciling.SetAnnotation(pool, shieldAnnotation, strings.Join(spared, ","))
	}
}

// adoptRefresh recognizes a refresh as ours by its announcement, where status does not know it: it
// was lost, or could not be written. It is the one that AWS lists next after the refresh that was
// the newest when ours was announced.
func adoptRefresh(object *infrav1.AWSMachinePool, history []autoscalinggroup.Refresh) {
	announced := strings.Fields(object.Annotations[refreshAnnotation])
	if len(announced) != 3 {
		return
	}
	purpose, template, after := announced[0], announced[1], strings.TrimPrefix(announced[2], noRefresh)
	started, status := autoscalinggroup.NextAfter(history, after), object.Status.Rollout
	if started == nil || status.StartedID == started.ID {
		return
	}
	status.StartedID, status.StartedFor, status.StartedTemplateID = started.ID, purpose, template
}

// shielding reports whether instances are protected by Slipway.
func shielding(object *infrav1.AWSMachinePool) bool {
	return object.Annotations[shieldAnnotation] != ""
}

func shielded(object *infrav1.AWSMachinePool) []string {
	if !shielding(object) {
		return nil
	}
	return strings.Split(object.Annotations[shieldAnnotation], ",")
}

// withoutShield returns the group's instances as their user has them protected.
func withoutShield(in input) []autoscalinggroup.Instance {
	ours := shielded(in.Object)
	instances := slices.Clone(in.Seen.Group.Instances)
	for i := range instances {
		if slices.Contains(ours, instances[i].ID) {
			instances[i].Protected = false
		}
	}
	return instances
}

// protectable reports whether AWS lets the protection of an instance be set (AWS: API_SetInstanceProtection).
func protectable(instance autoscalinggroup.Instance) bool {
	return instance.InService() || instance.LifecycleState == "Standby"
}

// unshieldable returns an instance that should be spared and cannot be yet, "" if there is none.
func unshieldable(shield []autoscalinggroup.Instance) string {
	for _, instance := range shield {
		if !instance.Protected && !protectable(instance) {
			return instance.ID
		}
	}
	return ""
}

// refreshPreferences returns the user's preferences. A refresh that goes back watches no alarms:
// the configuration that it replaces may set them off, and AWS starts no refresh with an alarm that
// is on (AWS: instance-refresh-rollback).
func refreshPreferences(in input) *infrav1.RefreshPreferences {
	preferences := in.Object.Spec.RefreshPreferences.DeepCopy()
	if preferences != nil && rolledBack(launchable(in)) {
		preferences.Alarms = nil
	}
	return preferences
}

// said is AWS's explanation of a refresh's status, as the end of a phrase.
func said(refresh *autoscalinggroup.Refresh) string {
	if reason := strings.TrimSuffix(refresh.Reason, "."); reason != "" {
		return ": " + reason
	}
	return ""
}

// withRefresh adds to a message the refresh that is under way, if there is one.
func withRefresh(in input, message string) string {
	if refresh := latest(recorded(in.Object)); refresh.Active() {
		return fmt.Sprintf("%s; instance refresh %s is %s", message, refresh.ID, refresh.Status)
	}
	return message
}
