package machinepool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/adoption"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// pass is one reconcile of one pool.
type pass = reconcile.Pass[*infrav1.AWSMachinePool, Observed, Memory]

// Memory holds what a process remembers about a pool, in order to save calls. It changes no
// decision: a process that starts anew decides the same, once it has asked AWS.
type Memory struct {
	// cloud is where the pool's group is.
	cloud *clouds.Cloud
	// created is the launch config that was created last, until the cache shows it.
	created pool.CreatedConfig
	// refreshes are as AWS listed them at a time, while one is under way, for the group with an ARN.
	refreshes   []autoscalinggroup.Refresh
	refreshesAt time.Time
	refreshesOf string
	// refusedUntil is until when AWS is not asked again to start a refresh, because it refused to
	// while another one was under way, which it may not list yet.
	refusedUntil time.Time
	// hooksAt is when the group's hooks were described last, or when this process first saw the group.
	hooksAt time.Time
	// warm are the instances of the warm pool that stay, as AWS described them at warmAt. They are
	// good while the situation is warmFor.
	warm    []autoscalinggroup.Instance
	warmAt  time.Time
	warmFor string
	// failedLaunch is good until failedUntil. failedOf are the instances that the group had then.
	failedLaunch *autoscalinggroup.FailedLaunch
	failedUntil  time.Time
	failedOf     []string
	// workingUntil is until when nodes with the configuration working are not checked again, because one
	// of them was Ready.
	working      string
	workingUntil time.Time
	// nodes are by instance ID.
	nodes map[string]nodeMemory
}

// nodeMemory holds what is remembered about the node of an instance on its way out.
type nodeMemory struct {
	// claimants are the Nodes that name the instance: usually its own alone.
	claimants drain.Claimants
	// looked is when it was last drained; among many the one that waited longest is first.
	looked time.Time
	hold   Hold
}

// changeNode changes what is remembered of the node of an instance.
func (m *Memory) changeNode(instance string, change func(*nodeMemory)) {
	if m.nodes == nil {
		m.nodes = map[string]nodeMemory{}
	}
	remembered := m.nodes[instance]
	change(&remembered)
	m.nodes[instance] = remembered
}

// observer observes for one pass.
type observer struct {
	*Kind
	pass
}

// input returns the input of a decision at this point. Observing uses it only to save calls.
func (o observer) input() input {
	return input{Object: o.Object, Seen: *o.Seen, Now: o.Clock.Now()}
}

func (o observer) key() client.ObjectKey { return client.ObjectKeyFromObject(o.Object) }

// observe observes what every decision needs.
func (o observer) observe(ctx context.Context) (err error) {
	seen := o.Seen
	seen.Settings = o.Settings
	if seen.MachinePool, seen.Cluster, seen.ClusterName, err = pool.Owners(ctx, o.Client, o.Object); err != nil {
		return err
	}
	if reached, err := o.reach(ctx); !reached {
		return err
	}
	deleting, releasing := o.Object.DeletionTimestamp != nil, pool.Releasing(o.Object)
	if err := o.see(ctx, deleting || releasing); err != nil {
		return err
	}
	if releasing && !deleting {
		if groupReason(seen.GroupErr, "") != "" {
			seen.Group, seen.Adopting, seen.GroupErr = nil, false, nil
		}
		o.Memory.cloud.SeenGroups.Forget(o.key()) // nothing needs to be noticed
		return o.readConfig(ctx)
	}
	seen.InMotion = o.Memory.cloud.SeenGroups.Moves(o.key())
	o.forgetLostPoll()
	if seen.GroupErr != nil {
		return nil
	}
	if err := o.listMachines(ctx); err != nil {
		return err
	}
	o.rememberNodes()
	if deleting {
		return nil
	}
	return o.observeKept(ctx)
}

// reach finds the AWS that the pool's group is in, and reports whether it can be called.
func (o observer) reach(ctx context.Context) (reached bool, err error) {
	seen, registry := o.Seen, pool.Registry{Registry: o.Clouds, Reader: o.Client, Services: clouds.GroupServices}
	o.Memory.cloud = nil
	switch {
	case o.Object.DeletionTimestamp != nil:
		o.Memory.cloud, seen.Access, err = registry.ReachForDeletion(ctx, o.Object, seen.Cluster, o.Object.Spec.ProviderID)
	case seen.MachinePool == nil:
		return false, nil
	default:
		o.Memory.cloud, seen.Access, err = registry.Reach(ctx, o.Object, seen.Cluster, seen.ClusterName)
	}
	if err == nil && o.Memory.cloud == nil {
		o.Clouds.ForgetGroup(o.key()) // the sweeps would go on
	}
	return err == nil && o.Memory.cloud != nil, err
}

// observeKept observes what decisions about a pool need that is neither deleted nor released.
func (o observer) observeKept(ctx context.Context) error {
	o.planHooks()
	if group := o.Seen.Group; group != nil && group.Units() >= group.Capacity && (!refreshing(o.Object) || !slices.Equal(o.Memory.failedOf, group.InstanceIDs())) {
		o.Memory.failedUntil = time.Time{}
	}
	if err := o.readConfig(ctx); err != nil {
		return err
	}
	return o.expect(ctx)
}

// expect observes what decisions about a pool usually need, which usually costs no call.
func (o observer) expect(ctx context.Context) error {
	config := launchable(o.input())
	if config == nil && o.Seen.Group == nil {
		return nil
	}
	if err := o.observeNeed(ctx, needSubnets); err != nil {
		return err
	}
	if config != nil && config.WhatIsLaunched() != nil {
		return o.observeNeed(ctx, needShape)
	}
	return nil
}

// observeNeed observes what a decision asked for.
func (o observer) observeNeed(ctx context.Context, need reconcile.Need) error {
	switch need {
	case needFreshGroup:
		return o.see(ctx, true)
	case needLatest:
		o.poll(ctx)
		return o.see(ctx, true)
	case needRefreshes:
		o.readRefreshes(ctx)
	case needHooks:
		o.describeHooks(ctx)
	case needWarmPool, needWarmPoolNow:
		o.describeWarmPool(ctx, need == needWarmPoolNow)
	case needSubnets:
		o.findSubnets(ctx)
	case needOverrides:
		o.lookUpOverrides(ctx)
	case needShape:
		shape := &o.Seen.Shape
		shape.Capacity, shape.NodeInfo, shape.Err = nodeShape(o.input()).Describe(ctx, o.Memory.cloud.Discovery)
		shape.Known = shape.Err == nil
	case pool.NeedTemplate:
		o.Seen.LaunchConfig.ReadTemplate(ctx, o.Memory.cloud)
	case needDifferences:
		o.compareVersions(ctx)
	case needFailedLaunch:
		o.findFailedLaunch(ctx)
	case needReadiness:
		o.readReadiness(ctx)
	default:
		return o.observeLive(ctx, need)
	}
	return nil
}

// observeLive observes what a decision asked for that is read past the cache.
func (o observer) observeLive(ctx context.Context, need reconcile.Need) error {
	switch need {
	case pool.NeedSizesCheck:
		return o.Seen.Sizes.Check(ctx, o.Live, o.Object, o.Seen.MachinePool)
	case pool.NeedConfigCheck:
		return o.Seen.LaunchConfig.Check(ctx, o.Live)
	case needConfig:
		return o.Seen.Leftovers.ReadConfig(ctx, o.Live, o.Object)
	case needTemplates:
		return o.Seen.Leftovers.FindTemplates(ctx, o.Live, o.Memory.cloud, o.Object, &infrav1.AWSManagedMachinePool{}, ownerTag(o.input()))
	}
	return nil
}

// see takes what the sweeps know, or asks AWS if that must be fresh. The group is the pool's by its
// owner tag alone. One that the pool names by its ARN and that lacks the tag is an error, so that
// no second group is created next to it; CAPA's is adopted, unless the pool is being deleted.
func (o observer) see(ctx context.Context, fresh bool) error {
	seen, owner := o.Seen, ownerTag(o.input())
	candidates := GroupNames(o.Object, seen.ClusterName)
	found, err := o.Memory.cloud.SeenGroups.Get(ctx, o.key(), candidates, fresh)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fresh && !seen.Fresh {
		seen.Earlier = seen.Group
	}
	seen.Group, seen.FreeName, seen.Candidate, seen.Adopting, seen.GroupErr = nil, "", nil, false, err
	if err != nil {
		return nil
	}
	seen.Fresh = seen.Fresh || fresh
	seen.Group, seen.FreeName, seen.GroupErr = autoscalinggroup.Choose(owner, candidates, found)
	if seen.Group != nil {
		return nil
	}
	deleting := o.Object.DeletionTimestamp != nil
	if made := createdByCAPA(o.input(), found); made != nil && !wasOwned(o.Object, made) && !deleting {
		if seen.GroupErr = o.observeCandidate(ctx, made); seen.GroupErr == nil {
			seen.GroupErr = mayAdopt(o.input())
		}
		if seen.GroupErr == nil {
			seen.Group, seen.FreeName, seen.Adopting = made, "", true
		}
		return ctx.Err()
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if group := found[name]; group.ARN != "" && slices.Contains(arns(o.Object), group.ARN) {
			seen.GroupErr = &ownerTagMissingError{group: group, owner: owner, deleting: deleting}
			return nil
		}
	}
	return nil
}

// observeCandidate observes what says whether a group that CAPA created may be adopted.
func (o observer) observeCandidate(ctx context.Context, group *autoscalinggroup.Group) error {
	candidate := &Candidate{Group: group}
	o.Seen.Candidate = candidate
	if !namesGroup(o.Object, group) {
		return nil // which says enough
	}
	adoption := adoption.Adoption{
		Live: o.Live, Registry: o.Clouds, Cloud: o.Memory.cloud, Facts: o.Seen.Access.Facts,
		Pool: o.Object, Kind: "AWSMachinePool", Resource: "Auto Scaling group " + group.Name, Instances: group.InstanceIDs(),
	}
	if candidate.ProofErr = adoption.Prove(ctx); candidate.ProofErr != nil {
		return nil
	}
	pools := &infrav1.AWSMachinePoolList{}
	if err := o.Live.List(ctx, pools, client.InNamespace(o.Object.Namespace)); err != nil {
		return fmt.Errorf("listing pools: %w", err)
	}
	for i := range pools.Items {
		if other := client.ObjectKeyFromObject(&pools.Items[i]); other != o.key() && pools.Items[i].Spec.ProviderID == group.ARN {
			candidate.OtherPool = other.String()
		}
	}
	machines := &capav1.AWSMachineList{}
	err := o.Live.List(ctx, machines, client.InNamespace(o.Object.Namespace))
	if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("listing the AWSMachines of the pool: %w", err)
	}
	for i := range machines.Items {
		for _, reference := range machines.Items[i].OwnerReferences {
			if reference.Kind == "AWSMachinePool" && reference.Name == o.Object.Name {
				candidate.AWSMachine = machines.Items[i].Name
			}
		}
	}
	return nil
}

// listMachines finds the objects that represent the pool's instances. It reads the cache, and no
// more than metadata of Machines.
func (o observer) listMachines(ctx context.Context) error {
	seen := o.Seen
	list := &infrav1.AWSMachinePoolMachineList{}
	// The cache would copy the objects of all pools of the cluster.
	if err := o.Client.List(ctx, list, client.InNamespace(o.Object.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: seen.ClusterName}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing AWSMachinePoolMachines: %w", err)
	}
	seen.Machines = map[string]Machine{}
	for i := range list.Items {
		if !ownedBy(&list.Items[i], o.Object) {
			continue
		}
		infra := list.Items[i].DeepCopy()
		if _, known := seen.Machines[infra.Spec.InstanceID]; known && infra.Name != machineName(o.Object.Name, infra.Spec.InstanceID) {
			continue // a user created another object for the instance
		}
		machine, err := o.readMachine(ctx, infra)
		if err != nil {
			return err
		}
		seen.Machines[infra.Spec.InstanceID] = Machine{Infra: infra, Machine: machine}
	}
	if seen.Group == nil || seen.MachinePool == nil || o.Object.DeletionTimestamp != nil || machinesWanted(o.input()) {
		return nil
	}
	machines := &metav1.PartialObjectMetadataList{}
	machines.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("MachineList"))
	// By label, not by our objects: core may have created one for an object that is gone.
	err := o.Client.List(ctx, machines, client.InNamespace(o.Object.Namespace), client.MatchingLabels{
		clusterv1.ClusterNameLabel: seen.ClusterName, clusterv1.MachinePoolNameLabel: labelValue(seen.MachinePool.Name),
	})
	if err != nil {
		return fmt.Errorf("listing Machines: %w", err)
	}
	for i := range machines.Items {
		if metav1.IsControlledBy(&machines.Items[i], seen.MachinePool) {
			seen.Unwanted = append(seen.Unwanted, machines.Items[i])
		}
	}
	return nil
}

// readMachine reads the Machine of the object of an instance, nil if there is none.
func (o observer) readMachine(ctx context.Context, infra *infrav1.AWSMachinePoolMachine) (*metav1.PartialObjectMetadata, error) {
	machine := newMachine()
	err := o.Client.Get(ctx, client.ObjectKeyFromObject(infra), machine)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Machine %q: %w", infra.Name, err)
	}
	if err != nil || !machineOf(machine, o.Object) {
		return nil, nil
	}
	return machine, nil
}

func newMachine() *metav1.PartialObjectMetadata {
	machine := &metav1.PartialObjectMetadata{}
	machine.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
	return machine
}

// machineOf reports whether a Machine is one of a MachinePool that owns the pool. The name of an
// AWSMachinePoolMachine proves nothing: a user may give one the name of any Machine, and Slipway
// deletes Machines that the user may not delete. It goes by names, as ownedBy does.
func machineOf(machine *metav1.PartialObjectMetadata, object *infrav1.AWSMachinePool) bool {
	controller := metav1.GetControllerOf(machine)
	return controller != nil && pool.IsMachinePool(*controller) && slices.ContainsFunc(object.OwnerReferences, func(reference metav1.OwnerReference) bool {
		return pool.IsMachinePool(reference) && reference.Name == controller.Name
	})
}

// ownedBy goes by name: UIDs change when a cluster is moved.
func ownedBy(infra *infrav1.AWSMachinePoolMachine, pool *infrav1.AWSMachinePool) bool {
	return slices.ContainsFunc(infra.OwnerReferences, func(reference metav1.OwnerReference) bool {
		return reference.Kind == "AWSMachinePool" && reference.Name == pool.Name && strings.HasPrefix(reference.APIVersion, infrav1.GroupVersion.Group+"/")
	})
}

// rememberNodes shows what is remembered of instances on their way out, and forgets what no longer
// is so: of instances that are gone, and that a hold was completed on one which is held no longer.
// It may have come back from a warm pool.
func (o observer) rememberNodes() {
	members := map[string]autoscalinggroup.Instance{}
	if o.Seen.Group != nil {
		for _, instance := range o.Seen.Group.Instances {
			members[instance.ID] = instance
		}
	}
	o.Seen.Holds, o.Seen.Nodes = map[string]Hold{}, map[string]Node{}
	for id, remembered := range o.Memory.nodes {
		instance, member := members[id]
		if !member && remembered.hold.Unanswered == nil {
			delete(o.Memory.nodes, id)
			continue
		}
		if !instance.Held() {
			remembered.hold.Completed = false
			remembered.hold.Terminated = remembered.hold.Terminated && instance.Retained()
			o.Memory.nodes[id] = remembered
		}
		o.Seen.Holds[id] = remembered.hold
	}
}

// planHooks finds out when the group's hooks have their turn.
func (o observer) planHooks() {
	if o.Seen.Group == nil || !hasHooks(o.input()) {
		o.Memory.cloud.HookPace.Leave(o.key())
		return
	}
	if o.Memory.hooksAt.IsZero() {
		o.Memory.hooksAt = o.Clock.Now()
	}
	o.Seen.HooksDue = reconciling.NextTurn(o.Memory.hooksAt, o.Memory.cloud.HookPace.Join(o.key()), o.key())
}

// readConfig reads the launch config of the pool, and the template that it is created from.
func (o observer) readConfig(ctx context.Context) (err error) {
	spec := &o.Object.Spec
	o.Seen.LaunchConfig, err = o.Memory.created.Read(ctx, o.Client, o.Object, spec.LaunchConfigRef, spec.LaunchConfigTemplateRef, o.Clock.Now())
	return err
}

func (o observer) describeHooks(ctx context.Context) {
	list, err := o.Memory.cloud.Groups.Hooks.List(ctx, o.Seen.Group.Name)
	o.Seen.Hooks = Hooks{Read: err == nil, List: list, Err: err}
	if err == nil {
		o.Memory.hooksAt = o.Clock.Now()
		o.planHooks()
	}
}

// describeWarmPool shows the instances of the group's warm pool. AWS lists them by a call for each
// group, which is made when the situation is another one, and while instances leave.
func (o observer) describeWarmPool(ctx context.Context, now bool) {
	in, memory := o.input(), o.Memory
	situation, recent := warmSituation(in), in.Now.Sub(memory.warmAt) < warmLookEvery
	if !now && !memory.warmAt.IsZero() && memory.warmFor == situation && (recent || !warmLeaves(in)) {
		o.Seen.Warm = WarmPool{Read: true, Instances: memory.warm, At: memory.warmAt}
		return
	}
	var warm WarmPool
	warm.Instances, warm.Err = memory.cloud.Groups.WarmInstances(ctx, in.Seen.Group.Name)
	warm.Read, warm.Latest, warm.At = warm.Err == nil, warm.Err == nil, in.Now
	for _, instance := range warm.Instances {
		if instance.Leaving() {
			warm.Leaving = append(warm.Leaving, instance)
		}
	}
	warm.Instances = slices.DeleteFunc(warm.Instances, autoscalinggroup.Instance.Leaving)
	o.Seen.Warm = warm
	if warm.Read {
		memory.warm, memory.warmAt, memory.warmFor = warm.Instances, warm.At, situation
	}
}

func (o observer) compareVersions(ctx context.Context) {
	in := o.input()
	o.Seen.Differences = map[int64]string{}
	for _, version := range versionsToCompare(in) {
		o.Seen.Differences[version] = pool.Differences(ctx, o.Memory.cloud.Discovery, wanted(in).TemplateID, version, wanted(in).Version)
	}
}
