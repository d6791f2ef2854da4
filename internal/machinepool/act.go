package machinepool

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// doer is an action that can be done. It keeps what was observed true of the world.
type doer interface {
	do(ctx context.Context, a actor) ([]reconcile.Event, error)
}

// actor acts in one pass.
type actor struct {
	*Kind
	pass
}

// observer observes what an action left.
func (a actor) observer() observer { return observer(a) }

// key names the pool.
func (a actor) key() client.ObjectKey { return client.ObjectKeyFromObject(a.Object) }

// group is the pool's.
func (a actor) group() *autoscalinggroup.Group { return a.Seen.Group }

// groups returns the Auto Scaling groups of the pool's account and region.
func (a actor) groups() *autoscalinggroup.Groups { return a.Memory.cloud.Groups }

// invalidate has the group described when it is next asked for, because it was changed by a call,
// or might have been.
func (a actor) invalidate() { a.Memory.cloud.SeenGroups.Invalidate(a.Seen.Group.Name) }

// change shows on the group what a call changed. The group that was seen may be shared, and is left as it is.
func (a actor) change(change func(group *autoscalinggroup.Group)) {
	group := *a.Seen.Group
	change(&group)
	a.Seen.Group = &group
}

func eventsOf(all ...reconcile.Event) []reconcile.Event { return all }

func (c createGroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	var told []reconcile.Event
	if c.Lost != "" {
		told = append(told, reconcile.Warningf(infrav1.ASGLostEvent, "%s", c.Lost))
	}
	sweep := a.Memory.cloud.SeenGroups
	err := a.groups().Create(ctx, c.Desired, c.Name)
	sweep.Invalidate(c.Name)
	if err != nil {
		return told, err
	}
	told = append(told, reconcile.Eventf(infrav1.ASGCreatedEvent, "Created Auto Scaling group %s at version %d of launch template %s", c.Name, c.Desired.Version, c.Desired.LaunchTemplateID))
	a.Memory.hooksAt = a.Clock.Now()
	if err := a.observer().see(ctx, true); err != nil {
		return told, nil //nolint:nilerr // the pass ends, and the group is there
	}
	a.Seen.Earlier = nil
	a.observer().planHooks()
	return told, nil
}

func (u updateGroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	before, group := *a.group(), *a.group()
	for _, change := range u.Changes {
		if err := a.groups().Make(ctx, u.Desired, change, &group); err != nil {
			a.invalidate() // it is not known what became of the call that failed
			return nil, err
		}
	}
	a.Seen.Group = &group
	if !reflect.DeepEqual(before, group) {
		a.Memory.cloud.SeenGroups.Replace(group.Name, &before, group)
	}
	return eventsOf(updated(group.Name, strings.Join(autoscalinggroup.Effects(u.Changes), "; "), u.Outside)), nil
}

// updated reports what of a group was changed, and whether that is what was changed outside Slipway before.
func updated(group, effects string, outside bool) reconcile.Event {
	if outside {
		return changedBack(group, effects)
	}
	return reconcile.Eventf(infrav1.ASGUpdatedEvent, "Updated Auto Scaling group %s: %s", group, effects)
}

func changedBack(group, effects string) reconcile.Event {
	return reconcile.Warningf(infrav1.ASGChangedOutsideEvent, "Auto Scaling group %s was changed outside Slipway: %s. Slipway changed it back", group, effects)
}

func (t tagGroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	changed, err := a.groups().EnsureTags(ctx, t.Desired, *a.group())
	a.invalidate()
	if err != nil {
		return nil, err
	}
	a.change(func(group *autoscalinggroup.Group) {
		group.Tags = maps.Clone(group.Tags)
		for _, key := range t.Desired.RetiredTags {
			delete(group.Tags, key)
		}
		maps.Copy(group.Tags, t.Desired.Tags)
	})
	return eventsOf(updated(a.group().Name, "tags "+strings.Join(changed, ", "), t.Outside)), nil
}

func (c changeHooks) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	done, err := a.groups().Hooks.Apply(ctx, a.group().Name, c.Changes)
	var told []reconcile.Event
	switch {
	case len(done) > 0 && c.Outside:
		told = eventsOf(changedBack(a.group().Name, strings.Join(done, "; ")))
	case len(done) > 0:
		told = eventsOf(reconcile.Eventf(infrav1.ASGHooksChangedEvent, "Changed Auto Scaling group %s: %s", a.group().Name, strings.Join(done, "; ")))
	}
	if err != nil {
		return told, err
	}
	for _, change := range c.Changes {
		a.Seen.Hooks.List = slices.DeleteFunc(slices.Clone(a.Seen.Hooks.List), func(hook lifecyclehook.Hook) bool { return hook.Name == change.Hook.Name })
		if !change.Delete {
			a.Seen.Hooks.List = append(a.Seen.Hooks.List, change.Hook)
		}
	}
	return told, nil
}

func (g adoptGroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if _, err := a.groups().EnsureTags(ctx, autoscalinggroup.Desired{Tags: g.Tags}, *a.group()); err != nil {
		a.invalidate()
		return nil, err
	}
	before := *a.group()
	a.change(func(group *autoscalinggroup.Group) {
		group.Tags = maps.Clone(group.Tags)
		maps.Copy(group.Tags, g.Tags)
	})
	a.Seen.Adopting = false
	a.Memory.cloud.SeenGroups.Replace(g.Group, &before, *a.group())
	return eventsOf(reconcile.Eventf(infrav1.ASGAdoptedEvent, "Adopted Auto Scaling group %s with %s, which Cluster "+
		"API Provider AWS created", g.Group, counted(g.Instances))), nil
}

func (d disownGroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	defer a.invalidate()
	err := a.groups().FollowLatest(ctx, *a.group())
	if err == nil && len(d.RetiredHooks) > 0 { // no controller would answer hooks that are not in the spec
		_, err = a.groups().Hooks.Ensure(ctx, d.Group, d.Hooks, d.RetiredHooks)
	}
	if err == nil {
		err = a.groups().Disown(ctx, *a.group())
	}
	if err != nil {
		return nil, err
	}
	return eventsOf(reconcile.Eventf(infrav1.ASGReleasedEvent, "Released Auto Scaling group %s to Cluster API Provider AWS", d.Group)), nil
}

func (w watchInstances) do(_ context.Context, a actor) ([]reconcile.Event, error) {
	a.Memory.cloud.SeenGroups.InMotion(a.key(), w.Closely)
	a.Seen.InMotion = w.Closely
	return nil, nil
}

func (e emptyOut) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	err := a.groups().Empty(ctx, e.Group)
	a.invalidate()
	if err != nil {
		return nil, err
	}
	a.change(func(group *autoscalinggroup.Group) { group.MinSize, group.MaxSize, group.Capacity = 0, 0, 0 })
	return eventsOf(reconcile.Eventf(infrav1.ASGEmptyingEvent, "Scaling Auto Scaling group %s to zero: "+
		"terminating its %s", e.Group, counted(e.Instances))), nil
}

func (d deleteWarmPool) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	err := a.groups().DeleteWarmPool(ctx, d.Group)
	a.invalidate()
	if err == nil {
		a.change(func(group *autoscalinggroup.Group) { group.WarmPoolDeleting = true })
	}
	return nil, err
}

func (l lowerProtection) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	err := a.groups().Unprotect(ctx, *a.group(), l.Level)
	a.invalidate()
	if err == nil {
		a.change(func(group *autoscalinggroup.Group) { group.Settings.DeletionProtection = l.Level })
	}
	return nil, err
}

func (s stopRetaining) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	err := a.groups().StopRetaining(ctx, s.Group)
	if err == nil {
		a.change(func(group *autoscalinggroup.Group) { group.Settings.Abandoned = infrav1.RetentionActionTerminate })
	}
	return nil, err
}

func (d deleteGroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if err := a.groups().Delete(ctx, *a.group()); err != nil {
		return nil, err
	}
	return eventsOf(reconcile.Eventf(infrav1.ASGDeletingEvent, "Deleting Auto Scaling group %s and its %s", d.Group, counted(d.Instances))), nil
}

func (s startRefresh) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	id, err := a.groups().StartRefresh(ctx, s.Group, s.Replacing)
	if err != nil {
		return nil, err
	}
	now := a.Clock.Now()
	a.Seen.Refreshes.Again = now.Add(a.Memory.cloud.RefreshPace.Join(a.key()))
	if id == "" {
		a.Seen.Refreshes.UnderWay, a.Memory.refusedUntil = true, a.Seen.Refreshes.Again
		return nil, nil
	}
	started := autoscalinggroup.Refresh{ID: id, Status: "Pending", Strategy: infrav1.RefreshStrategyRolling, Started: now}
	if s.Replacing.RootVolumes != nil {
		started.Strategy = infrav1.RefreshStrategyReplaceRootVolume
	}
	a.Seen.Refreshes.List = append([]autoscalinggroup.Refresh{started}, a.Seen.Refreshes.List...)
	// AWS may not list it yet.
	a.Memory.refreshes, a.Memory.refreshesAt, a.Memory.refreshesOf = a.Seen.Refreshes.List, now, a.group().ARN
	return eventsOf(reconcile.Eventf(infrav1.InstanceRefreshStartedEvent, "Started instance refresh %s%s: %s", id, s.What, s.Cause)), nil
}

func (c cancelRefresh) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if err := a.groups().CancelRefresh(ctx, c.Group); err != nil {
		return nil, err
	}
	a.observer().forgetPoll()
	if c.Paused {
		return eventsOf(reconcile.Eventf(infrav1.InstanceRefreshPausedEvent, "Cancelling instance refresh %s, because %s", c.ID, c.Cause)), nil
	}
	if c.Broken {
		return eventsOf(reconcile.Warningf(infrav1.InstanceRefreshStoppedEvent, "Cancelling instance refresh %s: %s", c.ID, c.Cause)), nil
	}
	return eventsOf(reconcile.Eventf(infrav1.InstanceRefreshSupersededEvent, "%s",
		because(c.Cause, fmt.Sprintf("Cancelling instance refresh %s, because a newer configuration is desired", c.ID)))), nil
}

func (p protectInstances) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	a.invalidate()
	if err := a.groups().Protect(ctx, p.Group, p.Instances, p.Protect); err != nil {
		return nil, err
	}
	a.change(func(group *autoscalinggroup.Group) {
		group.Instances = slices.Clone(group.Instances)
		for i := range group.Instances {
			if slices.Contains(p.Instances, group.Instances[i].ID) {
				group.Instances[i].Protected = p.Protect
			}
		}
	})
	return nil, nil
}

func (r recordInstances) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	return nil, reconciling.Patch(ctx, a.Client, a.Object, func(object *infrav1.AWSMachinePool) {
		for key, value := range r.Annotations {
			reconciling.SetAnnotation(object, key, value)
		}
		object.Spec.ProviderID = r.ProviderID
		if !slices.Equal(object.Spec.ProviderIDList, r.ProviderIDs) {
			object.Spec.ProviderIDList = r.ProviderIDs
		}
	})
}

// do writes the size that an external autoscaler gave the group into the MachinePool.
func (f followAutoscaler) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	machinePool := a.Seen.MachinePool.DeepCopy()
	err := reconciling.Patch(ctx, a.Client, machinePool, func(machinePool *clusterv1.MachinePool) {
		machinePool.Spec.Replicas = ptr.To(f.Replicas)
	})
	if err != nil {
		return nil, err
	}
	a.Seen.MachinePool = machinePool
	return eventsOf(reconcile.Eventf(infrav1.ReplicasFollowedEvent, "Set MachinePool replicas to the group's desired capacity: %d → %d", f.Before, f.Replicas)), nil
}
