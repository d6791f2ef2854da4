package machinepool

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
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
	// template, and after which refresh.
	refreshAnnotation = infrav1.TagSlipwayPrefix + "refresh"
	// shieldAnnotation names the instances that Slipway protects from scale-in while a refresh
	// runs. They were not protected before.
	shieldAnnotation = infrav1.TagSlipwayPrefix + "shielded"
)

// noRefresh stands in an announcement for the id of a refresh, where the group had none before.
const noRefresh = "-"

// showRefresh shows how far the refresh is that is under way, whatever is wrong with what is asked
// for now, and removes the shield of one that has ended.
func showRefresh(in input, plan *reconcile.Plan) bool {
	group := in.Seen.Group
	if group == nil || group.Deleting || !in.Seen.Refreshes.Read && (in.Seen.Adopting || !refreshing(in.Object) && !shielding(in.Object)) {
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
	if shielding(in.Object) && !raisedShield(in) {
		removeShield(in, plan)
	}
	return true
}

// raisedShield reports whether instances were protected in this pass, for a refresh that is about
// to be started.
func raisedShield(in input) bool {
	return slices.ContainsFunc(in.Done, func(done reconcile.Done) bool {
		action, is := done.Action.(protectInstances)
		return is && action.Protect
	})
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

// removeShield gives up the protection that Slipway set, and no other. Status may be old, so the
// group is described first.
func removeShield(in input, plan *reconcile.Plan) {
	if !in.Seen.Fresh {
		plan.Need(needFreshGroup)
		return
	}
	if err := protectionFailure(in, false); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err)
		return
	}
	var protected []string
	for _, instance := range in.Seen.Group.Instances {
		if instance.Protected && protectable(instance) && slices.Contains(shielded(in.Object), instance.ID) {
			protected = append(protected, instance.ID)
		}
	}
	if len(protected) > 0 {
		plan.Do(protectInstances{Group: in.Seen.Group.Name, Instances: protected}, "the instance refresh that was to spare them has ended")
		return
	}
	if shown := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.RolledOutCondition); shown != nil && shown.Reason == infrav1.RefreshStartFailedReason {
		return // the refresh is tried again: announcing it anew each time would wake the pool each time
	}
	annotate(in, plan, func(pool *infrav1.AWSMachinePool) { reconciling.SetAnnotation(pool, shieldAnnotation, "") })
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

// pollAgain has the refresh under way checked when AWS may be asked again.
func pollAgain(in input, plan *reconcile.Plan) { plan.LookAgain(in.Seen.Refreshes.Again.Sub(in.Now)) }

func latest(history []autoscalinggroup.Refresh) *autoscalinggroup.Refresh {
	if len(history) == 0 {
		return nil
	}
	return &history[0]
}

// recorded returns the newest refresh as status has it: enough to tell whether AWS has to be asked.
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

// showHistory shows the newest refresh in status, and reports its end by an event, once status shows it.
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

// reportEnd reports the end of the refresh that status shows, if status does not show that it has
// ended. Another one may have been started since.
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

// noteEnd records when a refresh was first seen to have ended.
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

// unshieldable returns an instance that is to be spared and cannot be yet, "" if there is none.
func unshieldable(shield []autoscalinggroup.Instance) string {
	for _, instance := range shield {
		if !instance.Protected && !protectable(instance) {
			return instance.ID
		}
	}
	return ""
}

// refreshPreferences returns the user's preferences. A refresh that goes back watches no alarms:
// they may go off because of what it is to replace, and AWS starts none while one does (AWS:
// instance-refresh-rollback).
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
