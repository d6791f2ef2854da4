package awsmachinepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// groupEnding is when a group that is being deleted is looked at again, should no sweep notice its end.
const groupEnding = 10 * time.Second

// untaggedAgain is when a group that lacks the pool's owner tag is checked again, should no sweep notice the tag.
const untaggedAgain = 2 * time.Minute

// deletion ends a pool: the group with its instances, the launch config with its template, the finalizer last. It reads no bootstrap data, and needs
// neither status nor the cluster objects.
func (r *Reconciler) deletion() []reconciling.Step[*pass] {
	return []reconciling.Step[*pass]{
		{Name: "reaching AWS", Run: r.reachCloudForDeletion},
		{Name: "finding the Auto Scaling group", Run: r.findForDeletion},
		{Name: "seeing Machines", Run: r.seeMachines},
		{Name: "deleting the Auto Scaling group", Run: r.deleteGroup},
		{Name: "removing Machines", Run: r.releaseMachines},
		{Name: "deleting the launch config", Run: r.deleteLaunchConfig},
		{Name: "deleting a launch template without a launch config", Run: r.deleteOrphans},
		{Name: "letting the object go", Run: r.release},
	}
}

// reachCloudForDeletion lets an object go for which nothing was ever made in AWS.
func (r *Reconciler) reachCloudForDeletion(ctx context.Context, p *pass) reconciling.Outcome {
	var outcome reconciling.Outcome
	p.cloud, outcome = common.ReachForDeletion(ctx, r.Clouds, r.Client, p.pool, p.owner, p.pool.Spec.ProviderID)
	if p.cloud == nil && outcome == reconciling.Continue() {
		return r.release(ctx, p)
	}
	if p.cloud == nil {
		r.Clouds.ForgetGroup(p.key()) // the sweeps would go on looking
	}
	return outcome
}

// findForDeletion sees the pool's group anew. Nothing is adopted in order to be deleted: a group that the pool names and that lacks the pool's owner tag
// is left, and keeps the object until a user has decided.
func (r *Reconciler) findForDeletion(ctx context.Context, p *pass) reconciling.Outcome {
	err := r.see(ctx, p, true)
	var untagged *ownerTagMissingError
	switch {
	case errors.As(err, &untagged):
		p.cloud.SeenGroups.InMotion(p.key(), false)
		reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.OwnerTagMissingReason, err.Error())
		return reconciling.ComeBack(untaggedAgain, err.Error())
	case err != nil && !namesTaken(err):
		return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err)
	}
	return reconciling.Continue()
}

// deleteGroup asks for the end of the group and waits for it, without holding a worker.
func (r *Reconciler) deleteGroup(ctx context.Context, p *pass) reconciling.Outcome {
	// Looked at anew a moment ago.
	if p.group == nil {
		return r.confirmGone(p)
	}
	r.unseen.Reset(p.key())
	if !p.group.Deleting {
		for _, wait := range []func(context.Context, *pass) *reconciling.Outcome{r.respectProtection, r.emptyGroup, r.emptyProtected} {
			if waiting := wait(ctx, p); waiting != nil {
				return *waiting
			}
		}
		err := r.stopRetaining(ctx, p)
		if err == nil {
			err = p.cloud.Groups.Delete(ctx, *p.group)
		}
		if err != nil && !aws.IsNotFound(err) {
			return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err)
		}
		r.Report.Done(ctx, p.pool, "ASGDeleting", "Deleting Auto Scaling group %s and its %d instances", p.group.Name, len(p.group.Instances))
	}
	p.cloud.SeenGroups.InMotion(p.key(), true)
	message := fmt.Sprintf("Auto Scaling group %s is being deleted, with %d instances left; its launch template follows", p.group.Name, len(p.group.Instances))
	reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.ASGDeletionInProgressReason, message)
	reconciling.False(p.pool, infrav1.ASGReadyCondition, infrav1.ASGDeletionInProgressReason, message)
	return reconciling.ComeBack(groupEnding, message)
}

// stopRetaining has a group that is deleted with its instances retain none of them, which AWS asks for.
func (r *Reconciler) stopRetaining(ctx context.Context, p *pass) error {
	if p.group.Settings.Abandoned != infrav1.RetentionActionRetain {
		return nil
	}
	return p.cloud.Groups.StopRetaining(ctx, p.group.Name)
}

// settling is how long Auto Scaling is given to take an instance out of a group that shrank, before one that stays, because it is protected, in
// standby, or its group's Terminate process suspended, goes with the group.
const settling = time.Minute

// unwatched is how long nobody may have looked at a group's nodes before they are looked at for settling anew, whatever their time limit says.
const unwatched = 10 * time.Minute

// watch is since when a group's nodes have been looked at again and again, and when they were last.
type watch struct{ since, last time.Time }

// watched is for how long this process has looked at the nodes of the pool's group without losing sight of it. A drain's time goes on while no manager
// runs or AWS can not be reached; what nobody looked at then is given the chance to be drained before the group is ended with all that is in it.
func (r *Reconciler) watched(p *pass) time.Duration {
	now := r.Clock.Now()
	seen, known := r.emptying.Get(p.key())
	if !known || now.Sub(seen.last) > unwatched {
		seen.since = now
	}
	seen.last = now
	r.emptying.Put(p.key(), seen)
	return now.Sub(seen.since)
}

// emptyGroup drains all nodes of a group that is about to be deleted and lets its instances leave by the group's hooks. It returns nil once the group can
// be deleted with all that is left in it: nothing that has to leave is left on the nodes, or the time is up. Deleting alone would not do: AWS
// ends the instances then, and asks no hook (AWS: API_DeleteAutoScalingGroup, ForceDelete).
func (r *Reconciler) emptyGroup(ctx context.Context, p *pass) *reconciling.Outcome {
	if !drainWanted(p) || !drainPossible(p) {
		return nil
	}
	stop := func(o reconciling.Outcome) *reconciling.Outcome { return &o }
	departures, err := r.drain(ctx, p, p.group.Instances)
	if err != nil {
		return stop(reconciling.Fail(err))
	}
	watched, shrunk := r.watched(p), emptied(p)
	waiting := slices.DeleteFunc(slices.Clone(departures), func(d departure) bool {
		settled := shrunk && watched >= settling && !d.Leaving() && !r.Clock.Now().Before(d.since.Add(settling))
		return d.expired && watched >= min(settling, drainTimeout(p)) || d.empty && settled
	})
	if len(waiting) == 0 {
		for _, d := range departures {
			if d.expired && !r.drains.note(p.key(), d.ID).letGo {
				r.reportDeparture(ctx, p, d)
			}
		}
		return nil
	}
	if err := r.sendAway(ctx, p, departures); err != nil {
		return stop(outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.ASGDeleteFailedReason, err))
	}
	p.cloud.SeenGroups.InMotion(p.key(), true)
	r.reportDrain(p, departures)
	message := fmt.Sprintf("Auto Scaling group %s is being emptied: %s", p.group.Name, describe(waiting))
	reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.DrainingReason, message)
	reconciling.False(p.pool, infrav1.ASGReadyCondition, infrav1.ASGDeletionInProgressReason, message)
	return stop(reconciling.ComeBack(min(groupEnding, r.nextLook(p, waiting)), message))
}

// emptied is true once the group was told to have no instances.
func emptied(p *pass) bool {
	return p.group.MinSize == 0 && p.group.MaxSize == 0 && p.group.Capacity == 0
}

// sendAway shrinks the group to nothing, has core drain the nodes that it is responsible for, and lets instances go that are done.
func (r *Reconciler) sendAway(ctx context.Context, p *pass, departures []departure) error {
	if !emptied(p) {
		err := p.cloud.Groups.Empty(ctx, p.group.Name)
		p.cloud.SeenGroups.Invalidate(p.group.Name)
		if err != nil {
			return err
		}
		r.Report.Done(ctx, p.pool, "ASGEmptying", "Emptying Auto Scaling group %s of its %d instances", p.group.Name, len(p.group.Instances))
	}
	for _, twin := range p.twins {
		if err := r.removeMachine(ctx, twin); err != nil {
			return err
		}
	}
	return r.letGo(ctx, p, departures)
}

// confirmGone goes on if the group was seen ending. Any other is looked for a second time: one that was made or changed a moment before may not be visible.
func (r *Reconciler) confirmGone(p *pass) reconciling.Outcome {
	condition := meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.DeletingCondition)
	if condition != nil && condition.Reason == infrav1.ASGDeletionInProgressReason {
		return reconciling.Continue()
	}
	if waited := r.unseen.Elapsed(p.key(), r.Clock.Now()); waited < lookAgain {
		const message = "no Auto Scaling group of this pool exists; AWS is asked once more, since one that was just created may not be visible yet"
		reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.DeletingReason, message)
		return reconciling.ComeBack(lookAgain-waited, message)
	}
	return reconciling.Continue()
}

// deleteLaunchConfig deletes the pool's launch config, whose own finalizer keeps it until its template is gone.
func (r *Reconciler) deleteLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	return common.DeleteLaunchConfig(ctx, r.Live, r.Client, p.pool, infrav1.ASGDeletionInProgressReason)
}

// deleteOrphans deletes the launch template of a pool whose launch config went first, as it may when a namespace is deleted.
func (r *Reconciler) deleteOrphans(ctx context.Context, p *pass) reconciling.Outcome {
	if p.pool.Spec.LaunchConfigRef != nil {
		return reconciling.Continue()
	}
	return common.DeleteOrphanedTemplates(ctx, r.Live, r.Report, p.cloud, p.pool, &infrav1.AWSManagedMachinePool{}, p.clusterName)
}

func (r *Reconciler) release(ctx context.Context, p *pass) reconciling.Outcome {
	if p.cloud != nil {
		p.cloud.SeenGroups.Forget(p.key())
	}
	r.forget(p.key())
	if err := reconciling.RemoveFinalizer(ctx, r.Client, p.pool, infrav1.MachinePoolFinalizer); err != nil {
		return reconciling.Fail(fmt.Errorf("removing the finalizer: %w", err))
	}
	return reconciling.Stop("the group and the launch config are gone")
}
