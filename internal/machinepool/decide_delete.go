package machinepool

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// groupEnding is the delay before a group that is being deleted is checked again, should no
	// sweep notice that it is gone.
	groupEnding = 10 * time.Second
	// untaggedAgain is the delay before a group that lacks the pool's owner tag is checked again,
	// should no sweep notice the tag.
	untaggedAgain = 2 * time.Minute
	// settledAfter is the time that Auto Scaling has to take an instance out of a group that
	// shrank. An instance that then stays, because it is protected, in standby, or its group's
	// Terminate process is suspended, goes with the group.
	settledAfter = time.Minute
	// unwatched limits the time for which the nodes of a group may go unchecked. If it is exceeded,
	// they are checked for settledAfter anew, whatever their time limit says.
	unwatched = 10 * time.Minute
	// watchNoted is the interval at which it is recorded that nodes are checked.
	watchNoted = 5 * time.Minute
)

// decideDeletion deletes what belongs to a pool: the group with its instances, the launch config
// with its template. The finalizer goes last. It reads no bootstrap data, and needs neither status
// nor the cluster objects.
func decideDeletion(in input, plan *reconcile.Plan) {
	reconciling.False(in.Object, infrav1.ReadyCondition, infrav1.DeletingReason, "")
	if in.Seen.Access.NothingMade {
		plan.Release = true
		return
	}
	if !in.Seen.Access.ShowForDeletion(in.Object, plan) {
		return
	}
	var untagged *ownerTagMissingError
	switch err := in.Seen.GroupErr; {
	case errors.As(err, &untagged):
		// Nothing is adopted in order to be deleted: a group that the pool names and that lacks the
		// pool's owner tag is left, and keeps the object until a user has decided.
		reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.OwnerTagMissingReason, err.Error())
		plan.LookAgain(untaggedAgain)
		if in.Seen.InMotion {
			plan.Do(watchInstances{Group: untagged.group.Name}, "its tags show another owner")
		}
		return
	case err != nil && !namesTaken(err):
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err)
		return
	}
	for _, concern := range []func(input, *reconcile.Plan) bool{deleteGroupFirst, removeMachinesOfPool, deleteConfig, deleteTemplates} {
		if goOn := concern(in, plan); !goOn || pending(plan) {
			return
		}
	}
	plan.Release = plan.Err == nil
}

// deletionStatus returns the pool's, which is created if there is none.
func deletionStatus(object *infrav1.AWSMachinePool) *infrav1.AWSMachinePoolDeletionStatus {
	if object.Status.Deletion == nil {
		object.Status.Deletion = &infrav1.AWSMachinePoolDeletionStatus{}
	}
	return object.Status.Deletion
}

// deleteGroupFirst has the group deleted, and waits until it is gone, without holding a worker.
func deleteGroupFirst(in input, plan *reconcile.Plan) bool {
	group := in.Seen.Group
	if group == nil {
		return confirmGone(in, plan)
	}
	if status := in.Object.Status.Deletion; status != nil {
		status.GroupUnseenSince = nil
	}
	if !group.Deleting && !reconcile.Succeeded[deleteGroup](in.Done) {
		for _, wait := range []func(input, *reconcile.Plan) bool{respectProtection, emptyGroup, emptyProtected} {
			if goOn := wait(in, plan); !goOn || pending(plan) {
				return goOn
			}
		}
		if err := cmp.Or(reconcile.LastFailure[stopRetaining](in.Done), reconcile.LastFailure[deleteGroup](in.Done)); err != nil && !aws.IsNotFound(err) {
			pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err)
			return false
		}
		if group.Settings.Abandoned == infrav1.RetentionActionRetain && !reconcile.Succeeded[stopRetaining](in.Done) {
			plan.Do(stopRetaining{Group: group.Name}, "AWS cannot delete a group and its instances while the "+
				"group retains instances")
			return true
		}
		if tried, _ := reconcile.Attempted[deleteGroup](in.Done); !tried {
			plan.Do(deleteGroup{Group: group.Name, Instances: len(group.Instances)}, "%s is being deleted", in.Object.Name)
			return true
		}
	}
	watchGroup(in, plan, true)
	template := "Its launch template is deleted afterwards"
	if reference := in.Object.Spec.LaunchConfigRef; reference != nil {
		template = fmt.Sprintf("AWSLaunchConfig %s and its launch template stay", reference.Name)
	}
	message := fmt.Sprintf("Auto Scaling group %s is being deleted, with %s left. %s", group.Name, counted(len(group.Instances)), template)
	reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.ASGDeletionInProgressReason, message)
	reconciling.False(in.Object, infrav1.ASGReadyCondition, infrav1.ASGDeletionInProgressReason, message)
	plan.LookAgain(groupEnding)
	return false
}

// confirmGone goes on if the group was seen being deleted. Any other is looked for a second time:
// one that was created or changed just before may not be visible.
func confirmGone(in input, plan *reconcile.Plan) bool {
	condition := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.DeletingCondition)
	status := deletionStatus(in.Object)
	if status.GroupUnseenSince == nil {
		status.GroupUnseenSince = ptr.To(pool.RoundedUp(in.Now))
	}
	if condition != nil && condition.Reason == infrav1.ASGDeletionInProgressReason {
		return true // the time counts once a call that fails has taken this reason away
	}
	wait := status.GroupUnseenSince.Add(lookAgain).Sub(in.Now)
	if wait <= 0 {
		return true
	}
	reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.DeletingReason,
		"no Auto Scaling group of this pool is visible. Slipway checks again, because a new group may not be "+
			"visible yet")
	plan.LookAgain(wait)
	return false
}

// protection returns the level of deletion protection that holds: the spec's, or the group's where
// the spec names none.
func protection(in input) infrav1.DeletionProtection {
	return cmp.Or(in.Object.Spec.DeletionProtection, infrav1.DeletionProtection(in.Seen.Group.Settings.DeletionProtection))
}

// respectProtection keeps a pool that is deleted, with its nodes, for as long as its group is
// protected from that. Else it gives the group the level of the spec, which may have been lowered
// after the pool was deleted.
func respectProtection(in input, plan *reconcile.Plan) bool {
	group, level := in.Seen.Group, protection(in)
	if level == infrav1.DeletionProtectionPreventAllDeletion {
		reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.ASGDeletionProtectedReason, fmt.Sprintf(
			"Auto Scaling group %s has deletion protection %s, so Slipway does not delete it. The group, with "+
				"%s, and the pool remain. Set spec.deletionProtection to none to delete them", group.Name, level, counted(len(group.Instances))))
		return false
	}
	if err := reconcile.LastFailure[lowerProtection](in.Done); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err)
		return false
	}
	if group.Settings.DeletionProtection != string(level) {
		plan.Do(lowerProtection{Group: group.Name, Level: string(level)}, "deletion protection %s → %s", group.Settings.DeletionProtection, level)
	}
	return true
}

// emptyProtected scales a group to zero that may be deleted only once it is empty. Its instances
// leave by the hooks of the group.
func emptyProtected(in input, plan *reconcile.Plan) bool {
	group := in.Seen.Group
	if protection(in) != infrav1.DeletionProtectionPreventForceDeletion || len(group.Instances) == 0 && group.WarmPool == nil && !group.WarmPoolDeleting {
		return true
	}
	if err := cmp.Or(reconcile.LastFailure[emptyOut](in.Done), reconcile.LastFailure[deleteWarmPool](in.Done)); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err)
		return false
	}
	if !emptied(in) {
		planEmptying(in, plan)
		return true
	}
	if group.WarmPool != nil && !group.WarmPoolDeleting {
		plan.Do(deleteWarmPool{Group: group.Name}, "deletion protection %s prevents the deletion of a group "+
			"that has a warm pool", protection(in))
		return true
	}
	watchGroup(in, plan, true)
	reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.ASGDeletionProtectedReason, fmt.Sprintf(
		"Auto Scaling group %s has deletion protection %s, so Slipway deletes it when it is empty: it has %s "+
			"left. Instances that are in standby, protected from scale in, or retained remain "+
			"until you release them. Set spec.deletionProtection to none to terminate all of them",
		group.Name, protection(in), counted(len(group.Instances))))
	plan.LookAgain(groupEnding)
	return false
}

// emptied reports whether the group was asked to have no instances.
func emptied(in input) bool {
	return in.Seen.Group.MinSize == 0 && in.Seen.Group.MaxSize == 0 && in.Seen.Group.Capacity == 0
}

func planEmptying(in input, plan *reconcile.Plan) {
	plan.Do(emptyOut{Group: in.Seen.Group.Name, Instances: len(in.Seen.Group.Instances)}, "%s is being deleted, and its instances "+
		"are drained by the lifecycle hooks of their group", in.Object.Name)
}

// emptyGroup drains all nodes of a group that is about to be deleted and lets its instances leave
// by the group's hooks. It goes on once the group can be deleted with all that is left in it:
// nothing that has to leave is left on the nodes, or the time is up. Deleting alone would not do:
// AWS terminates the instances then, and asks no hook (AWS: API_DeleteAutoScalingGroup,
// ForceDelete).
func emptyGroup(in input, plan *reconcile.Plan) bool {
	if !drainWanted(in) || !drainPossible(in) {
		return true
	}
	departures := departuresOf(in, in.Seen.Group.Instances)
	if drainAndRecord(in, plan, departures); pending(plan) || reconcile.LastFailure[recordDrain](in.Done) != nil {
		return false
	}
	waiting := waitedFor(in, departures, noteWatch(in))
	if len(waiting) == 0 {
		reportExpired(in, plan, departures)
		return true
	}
	if err := emptyingFailure(in); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err)
		return false
	}
	if !emptied(in) {
		planEmptying(in, plan)
		return true
	}
	if deleteAllMachines(in, plan); pending(plan) {
		return true
	}
	if release(in, plan, departures); pending(plan) {
		return true
	}
	watchGroup(in, plan, true)
	showDrain(in, plan, departures)
	showEmptying(in, plan, waiting)
	return false
}

// emptyingFailure returns why the group could not be emptied further in this pass.
func emptyingFailure(in input) error {
	return cmp.Or(reconcile.LastFailure[emptyOut](in.Done), reconcile.LastFailure[deleteMachines](in.Done), releaseFailure(in))
}

// showEmptying shows which instances keep the group from being deleted.
func showEmptying(in input, plan *reconcile.Plan, waiting []departure) {
	message := fmt.Sprintf("Auto Scaling group %s is being scaled to zero: %s", in.Seen.Group.Name, describe(waiting))
	reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.DrainingReason, message)
	reconciling.False(in.Object, infrav1.ASGReadyCondition, infrav1.ASGDeletionInProgressReason, message)
	plan.LookAgain(min(groupEnding, nextLook(in, waiting)))
}

// waitedFor returns the instances that keep the group from being deleted. Their nodes have been
// checked for some time.
func waitedFor(in input, departures []departure, checked time.Duration) []departure {
	return slices.DeleteFunc(slices.Clone(departures), func(d departure) bool {
		settled := emptied(in) && checked >= settledAfter && !d.Leaving() && !in.Now.Before(d.since.Add(settledAfter))
		return d.expired && checked >= min(settledAfter, drainTimeout(in)) || d.empty && settled
	})
}

// noteWatch records that the nodes of the pool's group are checked, and returns for how long they
// have been without a long gap. A drain's time goes on while no manager runs or AWS cannot be
// reached; a node that was not checked then is given the chance to be drained before the group is
// deleted with all that is in it.
func noteWatch(in input) time.Duration {
	status, now := deletionStatus(in.Object), metav1.NewTime(in.Now)
	if status.NodesCheckedLast == nil || in.Now.Sub(status.NodesCheckedLast.Time) > unwatched+watchNoted {
		status.NodesCheckedSince, status.NodesCheckedLast = &now, &now
	}
	if in.Now.Sub(status.NodesCheckedLast.Time) >= watchNoted {
		status.NodesCheckedLast = &now
	}
	return in.Now.Sub(status.NodesCheckedSince.Time)
}

// reportExpired reports the nodes that are not empty and whose instances go with the group, because
// their time is up.
func reportExpired(in input, plan *reconcile.Plan, departures []departure) {
	if tried, _ := reconcile.Attempted[deleteGroup](in.Done); tried {
		return
	}
	var notes []note
	for _, d := range departures {
		if event := departureEvent(in, d); d.expired && !in.Seen.Holds[d.ID].Completed && event != nil {
			notes = append(notes, note{Instance: d.ID, Event: event})
		}
	}
	if tried, _ := reconcile.Attempted[reportDepartures](in.Done); len(notes) > 0 && !tried {
		plan.Do(reportDepartures{Departures: notes}, "the drain timeout has passed")
	}
}

// deleteAllMachines has core drain the nodes that it is responsible for.
func deleteAllMachines(in input, plan *reconcile.Plan) {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(in.Seen.Machines)) {
		if machine := in.Seen.Machines[id].Machine; machine != nil && machine.DeletionTimestamp.IsZero() {
			ids = append(ids, id)
		}
	}
	if tried, _ := reconcile.Attempted[deleteMachines](in.Done); len(ids) > 0 && !tried {
		plan.Do(deleteMachines{Instances: ids}, "%s is being deleted", in.Object.Name)
	}
}

// removeMachinesOfPool releases the objects of a deleted pool's instances, which are gone with the group.
func removeMachinesOfPool(in input, plan *reconcile.Plan) bool {
	if len(in.Seen.Machines) == 0 {
		return true
	}
	if tried, err := reconcile.Attempted[dropInstances](in.Done); tried {
		return err == nil
	}
	plan.Do(dropInstances{Instances: slices.Sorted(maps.Keys(in.Seen.Machines))}, "their instances are gone with the group")
	return true
}

// deleteConfig deletes the pool's launch config, whose own finalizer keeps it until its template is gone.
func deleteConfig(in input, plan *reconcile.Plan) bool {
	if !in.Seen.Leftovers.ConfigRead {
		plan.Need(needConfig)
		return true
	}
	config := in.Seen.Leftovers.Config
	if config == nil {
		return true
	}
	if tried, _ := reconcile.Attempted[deleteLaunchConfig](in.Done); config.DeletionTimestamp.IsZero() && !tried {
		plan.Do(deleteLaunchConfig{Name: config.Name}, "%s is being deleted, and its group is gone", in.Object.Name)
		return true
	}
	in.Seen.Leftovers.ShowDeletion(in.Object, infrav1.ASGDeletionInProgressReason)
	return false
}

// deleteTemplates deletes the launch template of a pool whose launch config went first, as it may
// when a namespace is deleted. A template that another object of the name has is that object's.
func deleteTemplates(in input, plan *reconcile.Plan) bool {
	if in.Object.Spec.LaunchConfigRef != nil {
		return true
	}
	leftovers := in.Seen.Leftovers
	err := leftovers.TemplatesErr
	if failure := reconcile.LastFailure[deleteTemplate](in.Done); failure != nil {
		err = failure
	}
	switch {
	case err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
		return false
	case !leftovers.TemplatesRead:
		plan.Need(needTemplates)
	case len(leftovers.Templates) > 0:
		template := leftovers.Templates[0]
		reconciling.True(in.Object, infrav1.DeletingCondition, infrav1.DeletingReason, fmt.Sprintf("launch template %s (%s) is being deleted", template.Name, template.ID))
		plan.Do(deleteTemplate{Owner: ownerTag(in), Template: template}, "the launch config of launch template %s is gone", template.Name)
	}
	return true
}
