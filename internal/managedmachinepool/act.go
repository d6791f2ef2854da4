package managedmachinepool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/nodegroup"
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

// nodegroups returns what keeps node groups in the account and region of the pool.
func (a actor) nodegroups() *nodegroup.Nodegroups { return a.Memory.cloud.Nodegroups }

// groups returns what keeps Auto Scaling groups there.
func (a actor) groups() *autoscalinggroup.Groups { return a.Memory.cloud.Groups }

// forget has EKS describe the node groups in the next pass, because a call changed them, or might
// have.
func (a actor) forget() { a.Memory.nodegroups = Nodegroups{} }

// named returns the node group of a name, which is the pool's, the one that it replaces, or one of
// the strays.
func (a actor) named(name string) (*nodegroup.Nodegroup, error) {
	for _, group := range append([]*nodegroup.Nodegroup{a.Seen.Group, a.Seen.Retiring}, a.Seen.Strays.Groups...) {
		if group != nil && group.Name == name {
			return group, nil
		}
	}
	return nil, fmt.Errorf("node group %q is not one of the pool's", name)
}

// changeTags shows on the node group which tags a call set and removed. The node group that was seen
// may be remembered, and is left as it is.
func (a actor) changeTags(tags map[string]string, retired []string) {
	group := *a.Seen.Group
	group.Tags = withTags(group.Tags, tags, retired)
	a.Seen.Group = &group
}

// withTags returns tags as they are after some were set and the keys of others removed.
func withTags(present, set map[string]string, removed []string) map[string]string {
	tags := maps.Clone(present)
	if tags == nil {
		tags = map[string]string{}
	}
	for _, key := range removed {
		delete(tags, key)
	}
	maps.Copy(tags, set)
	return tags
}

func eventsOf(all ...reconcile.Event) []reconcile.Event { return all }

func (r recordName) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	before := a.Object.DeepCopy()
	a.Object.Status.Nodegroup = &infrav1.NodegroupStatus{Name: r.Name}
	if err := reconciling.PatchStatus(ctx, a.Client, a.Object, before); err != nil {
		a.Object.Status = before.Status
		return nil, err
	}
	return nil, nil
}

func (c createNodegroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	var told []reconcile.Event
	if c.Lost != "" {
		told = append(told, reconcile.Warningf(infrav1.NodegroupLostEvent, "%s", c.Lost))
	}
	created, err := a.nodegroups().Create(ctx, c.Desired, c.Name, c.LostARN)
	if err != nil {
		a.forget()
		return told, err
	}
	a.Seen.Group, a.Seen.FreeName = created, ""
	a.observer().keep()
	source := ""
	if created.LaunchTemplateID != "" {
		source = fmt.Sprintf(" from version %d of launch template %s", created.Version, created.LaunchTemplateID)
	}
	return append(told, reconcile.Eventf(infrav1.NodegroupCreatedEvent, "Creating node group %s in EKS cluster %s%s", created.Name, c.Desired.Cluster, source)), nil
}

func (g adoptNodegroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if _, err := a.nodegroups().EnsureTags(ctx, nodegroup.Desired{Tags: g.Tags}, *a.Seen.Group); err != nil {
		return nil, err
	}
	a.changeTags(g.Tags, nil)
	a.Seen.Adopting = false
	a.observer().keep()
	return eventsOf(reconcile.Eventf(infrav1.NodegroupAdoptedEvent, "Adopted node group %s, which Cluster API "+
		"Provider AWS created", g.Group)), nil
}

func (u updateNodegroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	var started nodegroup.Update
	var err error
	reason := infrav1.NodegroupUpdateStartedEvent
	if u.Config != nil {
		reason = infrav1.NodegroupConfigUpdateStartedEvent
		started, err = a.nodegroups().UpdateConfig(ctx, *u.Config, *a.Seen.Group)
	} else {
		started, err = a.nodegroups().UpdateVersion(ctx, *u.Version, *a.Seen.Group)
	}
	a.forget() // whatever became of the call, the node group is not what it was
	if err != nil {
		return nil, err
	}
	a.Seen.Started = &started
	return eventsOf(reconcile.Eventf(reason, "Updating node group %s (update %s): %s", u.Group, started.ID, u.Cause)), nil
}

func (t tagNodegroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	a.forget()
	if _, err := a.nodegroups().EnsureTags(ctx, nodegroup.Desired{Tags: t.Tags, RetiredTags: t.Retired}, *a.Seen.Group); err != nil {
		return nil, err
	}
	a.changeTags(t.Tags, t.Retired)
	return nil, nil
}

func (t tagGroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	_, err := a.groups().EnsureInheritedTags(ctx, t.Tags, t.Retired, *a.Seen.Members)
	a.Memory.cloud.SeenManagedGroups.Invalidate(t.Group)
	if err != nil {
		a.forget()
		return nil, err
	}
	members := *a.Seen.Members
	members.Tags = withTags(members.Tags, t.Tags, t.Retired)
	a.Seen.Members = &members
	return nil, nil
}

func (c changeHooks) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	done, err := a.groups().Hooks.Apply(ctx, c.Group, c.Changes)
	var told []reconcile.Event
	if len(done) > 0 {
		told = eventsOf(reconcile.Eventf(infrav1.ASGHooksChangedEvent, "Changed Auto Scaling group %s: %s", c.Group, strings.Join(done, "; ")))
	}
	if err != nil {
		a.Memory.hooksDue = a.Clock.Now()
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

func (d deleteNodegroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	group, err := a.named(d.Group)
	if err != nil {
		return nil, err
	}
	if err := a.nodegroups().Delete(ctx, *group); err != nil {
		return nil, err
	}
	a.forget()
	return eventsOf(d.Event), nil
}

func (d disownNodegroup) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	a.forget()
	if err := a.nodegroups().Disown(ctx, *a.Seen.Group); err != nil {
		return nil, err
	}
	a.Memory.cloud.SeenManagedGroups.Forget(a.key()) // the pool no longer watches the group
	return eventsOf(reconcile.Eventf(infrav1.NodegroupReleasedEvent, "Released node group %s to Cluster API Provider AWS", d.Group)), nil
}

func (w watchInstances) do(_ context.Context, a actor) ([]reconcile.Event, error) {
	a.Memory.cloud.SeenManagedGroups.InMotion(a.key(), w.Closely)
	a.Seen.InMotion = w.Closely
	return nil, nil
}

func (r recordInstances) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	return nil, reconciling.Patch(ctx, a.Client, a.Object, func(object *infrav1.AWSManagedMachinePool) {
		object.Spec.ProviderIDList = r.ProviderIDs
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
