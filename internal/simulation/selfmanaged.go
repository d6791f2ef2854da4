package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/watches"
)

// selfManaged is the kind AWSMachinePool, whose nodes Slipway keeps in an Auto Scaling group.
var selfManaged = poolKind{
	name: "AWSMachinePool", controller: machinepool.Name,
	empty: func() client.Object { return &infrav1.AWSMachinePool{} },
	template: func(pool client.Object) *infrav1.AWSLaunchTemplate {
		return pool.(*infrav1.AWSMachinePool).Spec.AWSLaunchTemplate
	},

	createForeign: createForeignGroup, describeForeign: describeForeignGroup,
	create: createSelfManaged, register: registerSelfManaged,
	groups: func(cloud *clouds.Cloud) *observe.Sweep[autoscalinggroup.Group] { return cloud.SeenGroups },
	deeds:  selfManagedDeeds, steeredDeeds: slices.Concat(selfManagedDeeds, steeringDeeds, []deed{cancelRefresh, cancelRefresh, retryRollout, retryRollout}),
	answers: slices.Concat(answers, []deed{perhapsCancelRefresh}),

	changed: func(o *observer, object client.Object) {
		pool := object.(*infrav1.AWSMachinePool)
		o.drainsRecorded(pool)
		o.countsLeaving(pool.Status.Instances, pool.Status.Replicas, pool.Status.ReadyReplicas)
	},
	owns: ownsSelfManaged, ended: endedSelfManaged, afterCall: afterCallSelfManaged, unsettled: unsettledSelfManaged,
	left: func(_ context.Context, _ *World, o *observer) error {
		if groups := len(o.aws.ownedGroups()); groups > 0 {
			return fmt.Errorf("the pool is gone, and %d groups are left", groups)
		}
		return nil
	},
}

// selfManagedDeeds lists what users and operators may do to a pool of this kind.
var selfManagedDeeds = []deed{
	changeInstanceType, changeInstanceType, changeVolume, changeReplicas, rotateToken, rotateToken, label,
	changeAndTakeBack, changeAndTakeBack, terminateInstance, terminateInstance, deleteLaunchConfig, deleteGroup, deletePool,
}

// selfManagedNames are the names of the AWSMachinePool of a schedule.
var selfManagedNames = poolNames{name: "workers", cluster: "prod", secret: "workers-bootstrap"}

// createSelfManaged creates what Cluster API and CAPA would have created, and the pool.
func createSelfManaged(ctx context.Context, w *World, o *observer) error {
	network := &capav1.AWSCluster{ObjectMeta: named(o.cluster)}
	network.Spec.Region = region
	network.Spec.NetworkSpec = capav1.NetworkSpec{
		VPC: capav1.VPCSpec{ID: "vpc-0a10000000000000a"}, Subnets: capav1.Subnets{{ID: subnet, AvailabilityZone: region + "a"}},
	}
	networkStatus := capav1.AWSClusterStatus{Ready: true, Network: capav1.NetworkStatus{SecurityGroups: map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: securityGroup}, capav1.SecurityGroupLB: {ID: "sg-0c1000000000000ac"},
	}}}
	cluster := &clusterv1.Cluster{ObjectMeta: named(o.cluster)}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: o.cluster}
	machinePool := o.machinePool(1+w.chance.Int32N(2), "v1.36.3")
	machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To(o.secret)
	if err := w.createOwners(ctx, o, network, func() { network.Status = networkStatus }, cluster, machinePool); err != nil {
		return err
	}
	pool := &infrav1.AWSMachinePool{ObjectMeta: o.ownedBy(machinePool)}
	pool.Spec.MinSize, pool.Spec.MaxSize = 1, 5
	pool.Spec.NodeDrain = &infrav1.NodeDrain{Disable: o.workload.timeout == 0}
	if o.workload.timeout != 0 {
		pool.Spec.NodeDrain.Timeout = &metav1.Duration{Duration: o.workload.timeout}
	}
	pool.Spec.AdditionalTags = map[string]string{"team": "blue"}
	pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](20), MinHealthyPercentage: ptr.To[int64](50)}
	pool.Spec.VersionsToKeep = pick(w.chance, nil, ptr.To[int32](1), ptr.To[int32](2))
	pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	if err := w.user.Create(ctx, pool); err != nil {
		return fmt.Errorf("creating the pool: %w", err)
	}
	return nil
}

// registerSelfManaged adds the controller of AWSMachinePools to a process.
func registerSelfManaged(p *poolProcess, o *observer, gate *gate, settings watches.Settings) error {
	pools := machinepool.New(&machinepool.Kind{
		Client: p.manager.client, Live: p.manager.live, Clouds: p.registry, Workloads: workloads{cluster: o.workload, observer: o, gate: gate}, Clock: o.clock,
		Settings: machinepool.Settings{SettleWindow: settleWindow},
	}, report.Reporter{Recorder: recorder{gate.world}})
	return pools.Register(p.manager, settings, networks())
}

// ownsSelfManaged reports whether an instance is the pool's: all are, except instances of node
// groups, and instances of the foreign group before the pool exists.
func ownsSelfManaged(o *observer, tags map[string]string) bool {
	foreign := tags[infrav1.TagMachinePool] == "" && tags["aws:autoscaling:groupName"] == o.name && o.facts.foreign == "" && len(o.facts.asked) == 0
	return !foreign && tags[nodegroupTag] == ""
}

// endedSelfManaged checks an instance that terminates.
func endedSelfManaged(o *observer, id string, ended *instance) {
	o.replacedForNothing(id, ended)
	o.undrained(id, ended)
	o.workload.leave(id)
}

// replacedForNothing checks an instance that terminates: the user terminated it, the pool shrinks,
// or the spec has asked for something else since it began. Even then, a refresh must spare an
// instance that ran what the group launches.
func (o *observer) replacedForNothing(id string, ended *instance) {
	if ended.excused || o.facts.deleting {
		return
	}
	spared := o.facts.spared[id]
	if o.facts.otherAsked(ended) && !spared {
		return
	}
	if o.facts.surplus > 0 {
		o.facts.surplus--
		return
	}
	if spared {
		o.violate(NothingInVain, "instance %s was replaced, though it ran what the group launches (%s, %d GB) when the refresh was started", id, ended.instanceType, ended.volumeSize)
		return
	}
	o.violate(NothingInVain, "instance %s was replaced, though nothing else than what it runs (%s, %d GB) was asked for since it was launched", id, ended.instanceType, ended.volumeSize)
}

// afterCallSelfManaged checks the invariants that a call may have broken.
func afterCallSelfManaged(o *observer, action string) {
	switch action {
	case "CreateAutoScalingGroup", "CreateLaunchTemplate", "CreateOrUpdateTags", "CreateTags":
		o.atMost(len(o.aws.ownedGroups()), 1)
		o.versionsInUse()
		rollouts{o}.launchesOnlyApproved()
	case "CreateLaunchTemplateVersion":
		o.twins()
	case "DeleteLaunchTemplate", "DeleteLaunchTemplateVersions":
		o.versionsInUse()
	case "UpdateAutoScalingGroup", "StartInstanceRefresh":
		o.versionsInUse()
		rollouts{o}.launchesOnlyApproved()
		if action == "StartInstanceRefresh" {
			rollouts{o}.rollsOut("an instance refresh")
		}
		o.noteSpared(action == "StartInstanceRefresh")
	}
}

// launchesOnlyApproved checks what the pool's group launches.
func (r rollouts) launchesOnlyApproved() {
	for _, group := range r.observer.aws.ownedGroups() {
		if source := group.LaunchTemplate; source != nil {
			r.onlyApproved(*source.LaunchTemplateId, *source.Version)
		}
	}
}

// noteSpared notes which instances a refresh must spare: the instances that run what the group
// launches when it is started. The refresh replaces them all the same once the group launches
// something else.
func (o *observer) noteSpared(started bool) {
	groups := o.aws.ownedGroups()
	if len(groups) == 0 || groups[0].LaunchTemplate == nil || o.violation != nil {
		return
	}
	source := groups[0].LaunchTemplate
	now, err := o.configurationOfVersion(*source.LaunchTemplateId, *source.Version)
	if err != nil {
		o.violate(NoPanic, "looking up what the group launches: %w", err)
		return
	}
	if now != o.facts.launches {
		o.facts.launches, o.facts.spared = now, nil
	}
	if !started {
		return
	}
	o.facts.spared = map[string]bool{}
	for _, member := range groups[0].Instances {
		one := o.facts.instances[*member.InstanceId]
		if one != nil && one.configuration == o.facts.launches && member.LifecycleState == asgtypes.LifecycleStateInService {
			o.facts.spared[*member.InstanceId] = true
		}
	}
}

// versionsInUse checks that what runs can still be launched: the version of the group, and the
// version of each instance unless the user deleted the pool.
func (o *observer) versionsInUse() {
	used := usedVersions{}
	for _, group := range o.aws.ownedGroups() {
		if group.LaunchTemplate == nil {
			continue
		}
		number, err := strconv.ParseInt(*group.LaunchTemplate.Version, 10, 64)
		if err != nil {
			o.violate(VersionsInUseStay, "the group names version %q of its template instead of a number", *group.LaunchTemplate.Version)
			return
		}
		used.add(*group.LaunchTemplate.LaunchTemplateId, number, "the group")
	}
	for _, id := range o.facts.running() {
		if one := o.facts.instances[id]; !one.excused && !o.facts.deleting {
			used.add(one.template, one.version, "instance "+id)
		}
	}
	o.versionsExist(used)
}

// unsettledSelfManaged returns how a pool differs from its spec.
func unsettledSelfManaged(ctx context.Context, o *observer, object client.Object) error {
	pool, machinePool := object.(*infrav1.AWSMachinePool), &clusterv1.MachinePool{}
	if err := o.user.Get(ctx, client.ObjectKeyFromObject(pool), machinePool); err != nil {
		return err
	}
	if (rollouts{o}).pinLost() {
		return nil
	}
	groups := o.aws.ownedGroups()
	if len(groups) != 1 {
		return fmt.Errorf("there are %d groups", len(groups))
	}
	replicas := int(*machinePool.Spec.Replicas)
	running := o.facts.running()
	if len(running) != replicas || len(groups[0].Instances) != replicas || int(*groups[0].DesiredCapacity) != replicas {
		return fmt.Errorf("%d replicas are asked for, %d desired, %d in the group, and %d run", replicas, *groups[0].DesiredCapacity, len(groups[0].Instances), len(running))
	}
	status := reported{pool.Generation, pool.Status.ObservedGeneration, pool.Status.Conditions, pool.Status.Replicas, pool.Status.UpToDateReplicas, pool.Spec.ProviderIDList}
	if err := errors.Join(status.unsettled(replicas), rollouts{o}.unsettledRefresh(ctx, pool.Status.Rollout)); err != nil {
		return err
	}
	launches, err := o.aws.version(*groups[0].LaunchTemplate.LaunchTemplateId, *groups[0].LaunchTemplate.Version)
	if err != nil {
		return err
	}
	if err := errors.Join(o.facts.oldToken(launches), o.workload.unsettled(running)); err != nil {
		return err
	}
	if (rollouts{o}).held(pool) {
		return rollouts{o}.unsettledHold(ctx, configurationIn(launches.LaunchTemplateData))
	}
	wanted := rollouts{o}.asks(pool)
	if err := cmp.Or(o.facts.otherConfiguration(wanted), status.outdated()); err != nil {
		return err
	}
	versions, err := o.ownVersions()
	if err != nil {
		return err
	}
	return tooManyVersions(pool.Spec.VersionsToKeep, pool.Spec.PinnedVersion, wanted, versions, o.facts.runs)
}
