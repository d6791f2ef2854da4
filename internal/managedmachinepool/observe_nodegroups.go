package managedmachinepool

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/adoption"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/ownership"
)

const (
	// lookBusy is the interval at which Slipway describes a node group while EKS is changing it,
	// and the minimum time between two descriptions that only its Auto Scaling group gave reason
	// for. There is no call for many node groups.
	lookBusy = 15 * time.Second
	// lookRest is the interval otherwise, less up to lookSpread: a different time for each pool.
	lookRest   = 100 * time.Minute
	lookSpread = 20 * time.Minute
)

// see shows the pool's node groups as they are known, or asks EKS if that is old, if EKS is doing
// something with them, or if the Auto Scaling group has changed. Nothing is decided from an old
// description but that there is nothing to do.
func (o observer) see(ctx context.Context) error {
	o.Seen.Nodegroups = o.Memory.nodegroups
	if o.Seen.GroupErr = o.seeMembers(ctx, false); o.Seen.GroupErr != nil {
		return ctx.Err()
	}
	if o.Seen.LookDue = o.lookDue(); o.Seen.LookDue > 0 {
		return nil
	}
	o.Seen.GroupErr = o.look(ctx)
	return ctx.Err()
}

// seeFresh asks EKS, unless that was done in this pass.
func (o observer) seeFresh(ctx context.Context) error {
	o.Seen.FreshErr = o.look(ctx)
	if o.Seen.Differences != nil && o.Seen.Group != nil && launchable(o.input()) != nil {
		o.compareVersions(ctx) // the node group may have another version already
	}
	return ctx.Err()
}

// seeForDeletion shows what is left of a pool that is being deleted. While something is, EKS is
// asked in every pass.
func (o observer) seeForDeletion(ctx context.Context) error {
	if o.Seen.EKSCluster == "" {
		return nil
	}
	o.Seen.Nodegroups = o.Memory.nodegroups
	if o.Seen.At.IsZero() || o.Clock.Since(o.Seen.At) >= lookAgain {
		if o.Seen.GroupErr = o.look(ctx); o.Seen.GroupErr != nil {
			o.Seen.Nodegroups = Nodegroups{}
		}
	}
	if o.Seen.Group != nil || o.Seen.Retiring != nil {
		o.Memory.nodegroups = Nodegroups{}
	}
	return ctx.Err()
}

// seeForRelease shows the node group of a pool that is released, as EKS describes it now. One that
// is not the pool's has been released, or never was taken over.
func (o observer) seeForRelease(ctx context.Context) error {
	if o.Seen.GroupErr = o.look(ctx); o.Seen.GroupErr != nil {
		o.Seen.Nodegroups = Nodegroups{}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !isOurs(o.input()) {
		o.Memory.cloud.SeenManagedGroups.Forget(o.key()) // the pool no longer watches the group
	}
	return o.readConfig(ctx)
}

// lookDue returns for how long the last description of the node groups stays valid.
func (o observer) lookDue() time.Duration {
	seen := o.Seen
	if seen.At.IsZero() || !slices.Equal(seen.Asked, ownership.NodegroupNames(o.Object, seen.ClusterName)) {
		return 0
	}
	every := lookRest - spread(o.key(), lookSpread)
	busy := seen.Group != nil && seen.Group.Busy() || seen.Predecessor != "" || unexplained(o.input())
	if busy || !reflect.DeepEqual(seen.Members, o.Memory.moved) {
		every = lookBusy
	}
	return max(0, seen.At.Add(every).Sub(o.Clock.Now()))
}

// spread returns a time within an interval, another for each object.
func spread(object types.NamespacedName, within time.Duration) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(object.String())) // never fails
	return time.Duration(float64(within) * float64(hash.Sum32()) / (1 << 32))
}

// look asks EKS about every name that a node group of the pool may have.
func (o observer) look(ctx context.Context) error {
	found := Nodegroups{At: o.Clock.Now(), Asked: ownership.NodegroupNames(o.Object, o.Seen.ClusterName)}
	if err := (chooser{pool: o, found: &found}).choose(ctx); err != nil {
		return err
	}
	o.Seen.Nodegroups, o.Seen.Fresh = found, true
	if err := o.seeMembers(ctx, o.updateEnded() || o.updateMissed()); err != nil {
		return err
	}
	o.keep()
	o.Seen.LookDue = o.lookDue()
	return nil
}

// keep remembers what the pass knows about the node groups.
func (o observer) keep() { o.Memory.nodegroups, o.Memory.moved = o.Seen.Nodegroups, o.Seen.Members }

// updateEnded reports whether EKS has finished the update that status names. EKS enlarges the Auto
// Scaling group while it replaces nodes (AWS: EKS user guide, managed-node-update-behavior). A size
// that was seen before the end must not be taken for one that an autoscaler chose.
func (o observer) updateEnded() bool {
	group, record := o.Seen.Group, o.Object.Status.Update
	return group != nil && group.Status != nodegroup.StatusUpdating && record != nil && record.Status == nodegroup.UpdateInProgress && record.Type != creation
}

// updateMissed reports whether EKS has updated the node group without status naming the update: its record was lost, or
// another user started it. The node group runs another version than status has, or it does not, because EKS rolled
// back, but its Auto Scaling group launched another version when it was described last.
func (o observer) updateMissed() bool {
	group, status := o.Seen.Group, &o.Object.Status
	known := status.Nodegroup
	if group == nil || group.Status == nodegroup.StatusUpdating || known == nil || known.ARN != group.ARN {
		return false
	}
	return ptr.Deref(status.LaunchTemplateVersion, "") != versionText(group) ||
		known.ReleaseVersion != group.ReleaseVersion || known.KubernetesVersion != group.KubernetesVersion ||
		o.Seen.Members != nil && known.GroupVersion != o.Seen.Members.Version
}

// seeMembers shows the Auto Scaling groups of the node groups that are known, by the sweeps, or as
// they are now.
func (o observer) seeMembers(ctx context.Context, fresh bool) error {
	seen, sweep := o.Seen, o.Memory.cloud.SeenManagedGroups
	var names []string
	for _, group := range []*nodegroup.Nodegroup{seen.Group, seen.Retiring} {
		if group != nil && group.AutoScalingGroup != "" {
			names = append(names, group.AutoScalingGroup)
		}
	}
	seen.Members, seen.Leaving = nil, nil
	if len(names) == 0 {
		sweep.Forget(o.key())
		seen.InMotion = false
		return nil
	}
	found, err := sweep.Get(ctx, o.key(), names, fresh)
	if err != nil {
		return err
	}
	seen.Members, seen.Leaving = membersOf(found, seen.Group), membersOf(found, seen.Retiring)
	seen.InMotion = sweep.Moves(o.key())
	return nil
}

func membersOf(found map[string]autoscalinggroup.Group, group *nodegroup.Nodegroup) *autoscalinggroup.Group {
	if group == nil {
		return nil
	}
	members, exists := found[group.AutoScalingGroup]
	if !exists {
		return nil
	}
	return &members
}

// findStrays finds the pool's node groups that no recorded and no derived name leads to: the name
// was taken out of the spec, and status was lost. EKS is not asked about names that are known to
// belong to other pools.
func (o observer) findStrays(ctx context.Context) error {
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := o.Client.List(ctx, pools, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the pools whose node groups are known: %w", err)
	}
	known := map[string]bool{}
	for _, name := range ownership.NodegroupNames(o.Object, o.Seen.ClusterName) {
		known[name] = true
	}
	for i := range pools.Items {
		known[infrav1.DefaultNodegroupName(pools.Items[i].Namespace, pools.Items[i].Name)] = true
	}
	groups, err := o.Memory.cloud.Nodegroups.OwnedBy(ctx, o.Seen.EKSCluster, ownerTag(o.input()), func(name string) bool { return known[name] })
	o.Seen.Strays = Strays{Read: err == nil, Groups: groups, Err: err}
	return ctx.Err()
}

// chooser picks the pool's node group, and the one that it replaces, out of the node groups that have
// one of the pool's names, or the name for a new one. A node group is the pool's by its owner tag alone:
// a user of the namespace can write every name that is recorded.
type chooser struct {
	pool  observer
	found *Nodegroups
}

func (c chooser) choose(ctx context.Context) error {
	if wanted, leaving, replaced := ownership.ReplacedNodegroups(c.pool.Object); replaced {
		c.found.Successor, c.found.Predecessor = wanted, leaving
		var taken *namesTakenError
		if err := c.chooseFrom(ctx, []string{wanted}); !errors.As(err, &taken) {
			return err
		}
		// a user wrote the record: a replacement begins with a name that no node group has
		c.found.Successor, c.found.Predecessor = "", ""
	}
	return c.chooseFrom(ctx, append([]string{ownership.RecordedNodegroup(c.pool.Object)},
		ownership.Names(ownership.NodegroupName(c.pool.Object), c.pool.Seen.ClusterName, c.pool.Object, 1, longestNodegroupName)...))
}

// describe returns a node group of a name, nil if there is none.
func (c chooser) describe(ctx context.Context, name string) (*nodegroup.Nodegroup, error) {
	return c.pool.Memory.cloud.Nodegroups.Describe(ctx, c.pool.Seen.EKSCluster, name)
}

// chooseFrom does what choose does, where a new node group may have one of the creatable names.
func (c chooser) chooseFrom(ctx context.Context, creatable []string) error {
	in, found := c.pool.input(), c.found
	var adoptable *nodegroup.Nodegroup
	var untagged error
	for _, name := range found.Asked {
		if name == found.Predecessor && name != found.Successor {
			continue
		}
		group, err := c.describe(ctx, name)
		if err != nil {
			return err
		}
		switch {
		case group == nil:
			c.offer(name, creatable)
		case group.OwnedBy(ownerTag(in)):
			found.Group, found.FreeName = group, ""
			return c.seeRetiring(ctx)
		case found.Successor == "" && mayBeCAPAs(in, group):
			adoptable = group
		case recorded(c.pool.Object.Status.Nodegroup, group):
			untagged = &ownerTagMissingError{group: group, wanted: ownerTag(in)}
		}
	}
	switch {
	case adoptable != nil:
		found.Group, found.Adopting, found.FreeName = adoptable, true, ""
		return c.mayAdopt(ctx, adoptable)
	case untagged != nil:
		return untagged
	case found.FreeName == "":
		return &namesTakenError{names: slices.DeleteFunc(creatable, func(name string) bool { return name == "" })}
	}
	return c.seeRetiring(ctx)
}

// offer takes a name that no node group has for a new one, if it may have that name and none was
// offered before.
func (c chooser) offer(name string, creatable []string) {
	if c.found.FreeName == "" && slices.Contains(creatable, name) {
		c.found.FreeName = name
	}
}

// seeRetiring shows the node group that is being replaced, if it is the pool's.
func (c chooser) seeRetiring(ctx context.Context) error {
	if c.found.Predecessor == "" || c.found.Predecessor == c.found.Successor {
		return nil
	}
	group, err := c.describe(ctx, c.found.Predecessor)
	owner := ownerTag(c.pool.input())
	switch {
	case err != nil:
		return err
	case group == nil:
	case group.OwnedBy(owner):
		c.found.Retiring = group
	case recorded(c.pool.Object.Status.Retiring, group):
		return &ownerTagMissingError{group: group, wanted: owner}
	}
	return nil
}

// mayAdopt returns an error unless it is proven that a node group which CAPA created is this
// pool's. One of a pool that is being deleted is not adopted, and needs no proof.
func (c chooser) mayAdopt(ctx context.Context, group *nodegroup.Nodegroup) error {
	if c.pool.Object.DeletionTimestamp != nil {
		return nil
	}
	adoption := adoption.Adoption{
		Live: c.pool.Live, Registry: c.pool.Clouds, Cloud: c.pool.Memory.cloud, Facts: c.pool.Seen.Access.Facts,
		Pool: c.pool.Object, Kind: "AWSManagedMachinePool", Resource: "node group " + group.Name,
	}
	if group.AutoScalingGroup != "" {
		found, err := c.pool.Memory.cloud.Groups.Describe(ctx, []string{group.AutoScalingGroup})
		if err != nil {
			return err
		}
		adoption.Instances = found[group.AutoScalingGroup].InstanceIDs()
	}
	return adoption.Prove(ctx)
}
