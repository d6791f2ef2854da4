package managedmachinepool

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// pass is one reconcile of one pool.
type pass = reconcile.Pass[*infrav1.AWSManagedMachinePool, Observed, Memory]

// Memory holds what a process remembers of a pool, in order to save calls. A process that starts
// anew reaches the same decisions, once it has asked AWS.
type Memory struct {
	// cloud is where the pool's node group is.
	cloud *clouds.Cloud
	// nodegroups are the pool's, as EKS described them last, and moved the Auto Scaling group as it
	// was then.
	nodegroups Nodegroups
	moved      *autoscalinggroup.Group
	// created is the launch config that was created last, until the cache shows it.
	created pool.CreatedConfig
	// roleDue and hooksDue are when the role and the hooks are next read although nothing asks for it.
	roleDue, hooksDue time.Time
	// deprecated is the message about deprecated fields that was logged last.
	deprecated string
}

// observer observes for one pass.
type observer struct {
	*Kind
	pass
}

// input returns what could be decided from now. Observing goes by it only to save calls.
func (o observer) input() input {
	return input{Object: o.Object, Seen: *o.Seen, Now: o.Clock.Now()}
}

func (o observer) key() client.ObjectKey { return client.ObjectKeyFromObject(o.Object) }

// observe observes what every decision needs.
func (o observer) observe(ctx context.Context) (err error) {
	seen := o.Seen
	seen.Settings, seen.EKSCluster = o.Settings, o.Object.Annotations[ownership.EKSClusterAnnotation]
	if seen.MachinePool, seen.Cluster, seen.ClusterName, err = pool.Owners(ctx, o.Client, o.Object); err != nil {
		return err
	}
	if reached, err := o.reach(ctx); !reached {
		return err
	}
	switch {
	case o.Object.DeletionTimestamp != nil:
		return o.seeForDeletion(ctx)
	case pool.Releasing(o.Object):
		return o.seeForRelease(ctx)
	}
	o.logDeprecated(ctx)
	if err := o.see(ctx); err != nil || seen.GroupErr != nil {
		return err
	}
	o.planChecks()
	return o.readConfig(ctx)
}

// reach finds the AWS that the pool's node group is in, and reports whether it can be called.
func (o observer) reach(ctx context.Context) (reached bool, err error) {
	seen, registry := o.Seen, pool.Registry{Registry: o.Clouds, Reader: o.Client, Services: clouds.ManagedServices}
	o.Memory.cloud = nil
	switch {
	case o.Object.DeletionTimestamp != nil:
		o.findCluster(ctx)
		o.Memory.cloud, seen.Access, err = registry.ReachForDeletion(ctx, o.Object, seen.Cluster, recordedARN(o.Object))
	case seen.MachinePool == nil:
		return false, nil
	default:
		seen.Access, err = registry.LoadFacts(ctx, seen.Cluster, seen.ClusterName)
		if facts := seen.Access.Facts; facts != nil && facts.EKS {
			seen.EKSCluster = facts.KubernetesName
			o.Memory.cloud, seen.Access = registry.ReachFrom(ctx, o.Object, facts, seen.ClusterName)
		}
	}
	if err == nil && o.Memory.cloud == nil {
		o.Clouds.ForgetManagedGroup(o.key()) // the sweeps would go on
	}
	return err == nil && o.Memory.cloud != nil, err
}

// findCluster finds the name of the EKS cluster of a pool that is being deleted. A pool that CAPA
// created, and that was deleted before Slipway saw it, has not recorded it.
func (o observer) findCluster(ctx context.Context) {
	seen := o.Seen
	if seen.EKSCluster == "" && seen.Cluster != nil && controllerutil.ContainsFinalizer(o.Object, infrav1.ManagedMachinePoolFinalizer) {
		if facts, err := cluster.Load(ctx, o.Client, seen.Cluster); err == nil && facts.EKS {
			seen.EKSCluster = facts.KubernetesName
		}
	}
	if seen.EKSCluster == "" {
		seen.EKSCluster = clusterOf(recordedARN(o.Object))
	}
}

// logDeprecated logs which fields of the spec will be removed, once for each pool and process.
func (o observer) logDeprecated(ctx context.Context) {
	message := o.Object.Spec.DeprecationMessage()
	if message != "" && o.Memory.deprecated != message {
		log.FromContext(ctx).Info("The pool uses deprecated fields", "fields", message)
	}
	o.Memory.deprecated = message
}

// planChecks finds out when the role and the hooks have their turn.
func (o observer) planChecks() {
	now := o.Clock.Now()
	if o.Memory.roleDue.IsZero() {
		o.Memory.roleDue = reconciling.NextTurn(now, roleCheck, o.key())
	}
	if o.Memory.hooksDue.IsZero() {
		o.Memory.hooksDue = reconciling.NextTurn(now, hookCheck, o.key())
	}
	o.Seen.RoleDue, o.Seen.HooksDue = o.Memory.roleDue, o.Memory.hooksDue
}

// observeNeed observes what a decision asked for.
func (o observer) observeNeed(ctx context.Context, need reconcile.Need) error {
	seen, cloud := o.Seen, o.Memory.cloud
	switch need {
	case needFresh:
		return o.seeFresh(ctx)
	case needUpdate:
		update, err := cloud.Nodegroups.Update(ctx, *seen.Group, o.Object.Status.Update.ID)
		seen.Update = Update{Read: err == nil, Update: update, Err: err}
	case needRunning:
		update, err := cloud.Nodegroups.Running(ctx, *seen.Group)
		seen.Running = Update{Read: err == nil, Update: update, Err: err}
	case pool.NeedTemplate:
		seen.LaunchConfig.ReadTemplate(ctx, cloud)
	case pool.NeedSizesCheck:
		return seen.Sizes.Check(ctx, o.Live, o.Object, seen.MachinePool)
	case pool.NeedConfigCheck:
		return seen.LaunchConfig.Check(ctx, o.Live)
	case needShape:
		shape := &seen.Shape
		shape.Capacity, shape.NodeInfo, shape.Err = nodeShape(o.input()).Describe(ctx, cloud.Discovery)
		shape.Known = shape.Err == nil
	case needDifferences:
		o.compareVersions(ctx)
	case needSubnets:
		o.findSubnets(ctx)
	case needBlock:
		block, err := cloud.Discovery.CapacityReservation(ctx, blockID(o.input()))
		seen.Block = Block{Read: err == nil, End: block.End, Err: err}
	case needHooks:
		o.describeHooks(ctx)
	default:
		return o.observeMore(ctx, need)
	}
	return nil
}

// observeMore observes what needs the API server as well.
func (o observer) observeMore(ctx context.Context, need reconcile.Need) error {
	switch need {
	case needStrays:
		return o.findStrays(ctx)
	case needRole:
		role, err := o.readRole(ctx, roleName(o.input()))
		o.Seen.Role = role
		if role.Err == nil {
			o.Memory.roleDue = reconciling.NextTurn(o.Clock.Now(), roleCheck, o.key())
		}
		return err
	case needRoles:
		return o.readRoles(ctx)
	case needConfig:
		return o.Seen.Leftovers.ReadConfig(ctx, o.Live, o.Object)
	case needTemplates:
		return o.Seen.Leftovers.FindTemplates(ctx, o.Live, o.Memory.cloud, o.Object, &infrav1.AWSMachinePool{}, ownerTag(o.input()))
	}
	return fmt.Errorf("%q is no observation of an AWSManagedMachinePool", need)
}

// readConfig reads the launch config of the pool, and the template that it is created from.
func (o observer) readConfig(ctx context.Context) (err error) {
	spec := &o.Object.Spec
	if !spec.Templated() {
		return nil
	}
	o.Seen.LaunchConfig, err = o.Memory.created.Read(ctx, o.Client, o.Object, spec.LaunchConfigRef, spec.LaunchConfigTemplateRef, o.Clock.Now())
	return err
}

// compareVersions reads what differs between the version that the node group has and the wanted one.
func (o observer) compareVersions(ctx context.Context) {
	in := o.input()
	o.Seen.Differences = map[int64]string{}
	status := launchable(in).Status
	version := o.Seen.Group.Version
	o.Seen.Differences[version] = pool.Differences(ctx, o.Memory.cloud.Discovery, status.LaunchTemplateID, version, status.Version)
}

// findSubnets finds the subnets of a new node group where the spec names none.
func (o observer) findSubnets(ctx context.Context) {
	found, err := o.Memory.cloud.Discovery.SubnetIDs(ctx, subnetQuery(o.input()))
	if err != nil {
		err = fmt.Errorf("finding the subnets of the node group: %w", err)
	}
	o.Seen.Subnets = Subnets{Read: err == nil, IDs: subnetIDs(found), Err: err}
}

func (o observer) describeHooks(ctx context.Context) {
	list, err := o.Memory.cloud.Groups.Hooks.List(ctx, o.Seen.Members.Name)
	o.Seen.Hooks = Hooks{Read: err == nil, Group: o.Seen.Members.Name, List: list, Err: err}
	if err == nil {
		o.Memory.hooksDue = reconciling.NextTurn(o.Clock.Now(), hookCheck, o.key())
	}
}
