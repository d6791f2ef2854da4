package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// Invariants of managed pools.
const (
	NoUpdateInVain = "a node group replaces its nodes only for another configuration than it has"
	NameRecorded   = "a node group is created only with a name that its pool has recorded"
	VersionsTrue   = "no instance has another launch template version in status than it was launched from"
)

// leaves is the time after an update within which the last nodes that it replaces terminate.
const leaves = 5 * time.Minute

// ownsManaged reports whether an instance belongs to a node group of the pool.
func ownsManaged(o *observer, tags map[string]string) bool {
	return slices.ContainsFunc(o.aws.ownedNodegroups(), func(group awssim.Nodegroup) bool {
		return *group.NodegroupName == tags[nodegroupTag]
	})
}

// happenedManaged notes when updates replace nodes, and which node groups EKS could not create.
func happenedManaged(o *observer, event awssim.Event) {
	if event.Kind != "nodegroup" {
		return
	}
	facts := &o.facts.managed
	for i := range facts.rolls {
		if facts.rolls[i].group == event.ID && facts.rolls[i].ended.IsZero() {
			facts.rolls[i].ended = o.clock.Now()
		}
	}
	for _, group := range o.aws.ownedNodegroups() {
		if eksCluster+"/"+*group.NodegroupName != event.ID {
			continue
		}
		o.trace.detail("node group %s is %s", *group.NodegroupName, event.State)
		switch ekstypes.NodegroupStatus(event.State) {
		case ekstypes.NodegroupStatusUpdating:
			if update := underWay(group); update != nil && update.Type == ekstypes.UpdateTypeVersionUpdate {
				facts.rolls = append(facts.rolls, roll{group: event.ID, began: o.clock.Now()})
			}
		case ekstypes.NodegroupStatusCreateFailed:
			facts.condemned[*group.NodegroupName] = true
		default: // no node terminates because of another status
		}
	}
	if event.State == "DELETED" {
		maps.DeleteFunc(facts.condemned, func(name string, _ bool) bool { return eksCluster+"/"+name == event.ID })
	}
}

// underWay returns the update of a node group that is under way, nil for none.
func underWay(group awssim.Nodegroup) *ekstypes.Update {
	for i := range group.Updates {
		if group.Updates[i].Status == ekstypes.UpdateStatusInProgress {
			return &group.Updates[i]
		}
	}
	return nil
}

// versionOf returns the version of the launch template that an update leads to, empty for none.
func versionOf(update *ekstypes.Update) string {
	for _, param := range update.Params {
		if param.Type == ekstypes.UpdateParamTypeLaunchTemplateVersion {
			return *param.Value
		}
	}
	return ""
}

// endedManaged checks an instance that terminates: the user terminated it, the pool shrinks, or an
// update replaced it, which is checked when the update begins.
func endedManaged(o *observer, id string, ended *instance) {
	now := o.clock.Now()
	replaced := slices.ContainsFunc(o.facts.managed.rolls, func(one roll) bool {
		return one.group == eksCluster+"/"+ended.group && (one.ended.IsZero() || one.ended.After(ended.launched) && now.Before(one.ended.Add(leaves)))
	})
	switch {
	case ended.excused, o.facts.deleting, replaced, o.facts.managed.condemned[ended.group]:
	case o.facts.surplus > 0:
		o.facts.surplus--
	default:
		o.violate(NothingInVain, "instance %s of node group %s was terminated, although no update replaces it and no user asked for fewer nodes", id, ended.group)
	}
}

// afterCallManaged checks the invariants that a call may have broken.
func afterCallManaged(o *observer, action string) {
	switch action {
	case "CreateNodegroup", "CreateLaunchTemplate", "CreateTags", "TagResource":
		nodegroupsRecorded(o)
		o.atMost(len(o.aws.ownedNodegroups()), 1+len(o.facts.managed.lost))
		nodegroupVersionsInUse(o)
		nodegroupsOnlyApproved(o)
	case "CreateLaunchTemplateVersion":
		o.twins()
	case "DeleteLaunchTemplate", "DeleteLaunchTemplateVersions":
		nodegroupVersionsInUse(o)
	case "UpdateNodegroupVersion":
		nodegroupVersionsInUse(o)
		updatedInVain(o)
		nodegroupsOnlyApproved(o)
		rollouts{o}.rollsOut("an update")
	}
}

// nodegroupsRecorded checks that the pool names each of its node groups. The spec may name another one for as long
// as the pool has recorded none, and EKS may not show a new node group yet: a process that starts then
// would create a second one.
func nodegroupsRecorded(o *observer) {
	for _, group := range o.aws.ownedNodegroups() {
		if name := *group.NodegroupName; !slices.Contains(o.facts.managed.recorded, name) {
			o.violate(NameRecorded, "node group %s was created, and the pool has recorded %q", name, o.facts.managed.recorded)
		}
	}
}

// nodegroupsOnlyApproved checks what node groups launch, and what their updates lead to.
func nodegroupsOnlyApproved(o *observer) {
	for _, group := range o.aws.ownedNodegroups() {
		if group.LaunchTemplate == nil {
			continue
		}
		number := *group.LaunchTemplate.Version
		if update := underWay(group); update != nil && update.Type == ekstypes.UpdateTypeVersionUpdate {
			number = versionOf(update)
		}
		rollouts{o}.onlyApproved(*group.LaunchTemplate.Id, number)
	}
}

// nodegroupVersionsInUse checks that the versions of node groups, and the versions that their
// updates lead to, exist. EKS launches from a copy, but is not well without the original.
func nodegroupVersionsInUse(o *observer) {
	used := usedVersions{}
	add := func(group awssim.Nodegroup, version string) {
		number, err := strconv.ParseInt(version, 10, 64)
		if err != nil {
			o.violate(NoPanic, "node group %s has version %q of its template: %w", *group.NodegroupName, version, err)
			return
		}
		used.add(*group.LaunchTemplate.Id, number, "node group "+*group.NodegroupName)
	}
	for _, group := range o.aws.ownedNodegroups() {
		if group.LaunchTemplate == nil || o.facts.managed.lost[*group.LaunchTemplate.Id] {
			continue
		}
		add(group, *group.LaunchTemplate.Version)
		if update := underWay(group); update != nil && update.Type == ekstypes.UpdateTypeVersionUpdate {
			add(group, versionOf(update))
		}
	}
	o.versionsExist(used)
}

// updatedInVain checks that an update which replaces nodes leads to another configuration than the
// node group has. One whose nodes cannot join may need another join token.
func updatedInVain(o *observer) {
	for _, group := range o.aws.ownedNodegroups() {
		update := underWay(group)
		unable := slices.ContainsFunc(group.Health.Issues, func(issue ekstypes.Issue) bool { return issue.Code == ekstypes.NodegroupIssueCodeNodeCreationFailure })
		if update == nil || update.Type != ekstypes.UpdateTypeVersionUpdate || unable || o.violation != nil {
			continue
		}
		before, err := o.configurationOfVersion(*group.LaunchTemplate.Id, *group.LaunchTemplate.Version)
		after, failure := o.configurationOfVersion(*group.LaunchTemplate.Id, versionOf(update))
		switch {
		case errors.Join(err, failure) != nil:
			o.violate(NoPanic, "looking up what an update leads to: %w", errors.Join(err, failure))
		case !slices.ContainsFunc(o.facts.asked, func(one asked) bool { return one.configuration == after }):
			o.violate(NoUpdateInVain, "node group %s is updated to version %s, although no user asked for %s, %d GB",
				*group.NodegroupName, versionOf(update), after.instanceType, after.volumeSize)
		case before == after:
			o.violate(NoUpdateInVain, "node group %s is updated from version %s to %s, and both have %s, %d GB",
				*group.NodegroupName, *group.LaunchTemplate.Version, versionOf(update), after.instanceType, after.volumeSize)
		}
	}
}

// unsettledManaged returns how a pool differs from its spec.
func unsettledManaged(ctx context.Context, o *observer, object client.Object) error {
	pool, machinePool := managedPool(object), &clusterv1.MachinePool{}
	if err := o.user.Get(ctx, client.ObjectKeyFromObject(pool), machinePool); err != nil {
		return err
	}
	if (rollouts{o}).pinLost() {
		return nil
	}
	groups := o.aws.ownedNodegroups()
	if len(groups) != 1 || groups[0].Status != ekstypes.NodegroupStatusActive {
		return fmt.Errorf("there are %d node groups, and the first one is not ACTIVE, or there is another", len(groups))
	}
	group, replicas := groups[0], int(*machinePool.Spec.Replicas)
	if running := o.facts.running(); len(running) != replicas || int(*group.ScalingConfig.DesiredSize) != replicas {
		return fmt.Errorf("%d replicas are asked for, %d desired, and %d run", replicas, *group.ScalingConfig.DesiredSize, len(running))
	}
	if scaled := o.facts.managed.scaled; scaled != nil && int(*scaled) != replicas {
		return fmt.Errorf("the autoscaler asked for %d instances, and there are %d", *scaled, replicas)
	}
	status := reported{pool.Generation, pool.Status.ObservedGeneration, pool.Status.Conditions, pool.Status.Replicas, pool.Status.UpToDateReplicas, pool.Spec.ProviderIDList}
	if err := status.unsettled(replicas); err != nil {
		return err
	}
	if (rollouts{o}).held(pool) {
		launches, err := o.configurationOfVersion(*group.LaunchTemplate.Id, *group.LaunchTemplate.Version)
		return errors.Join(err, rollouts{o}.unsettledHold(ctx, launches))
	}
	if !meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.RolledOutCondition) {
		return fmt.Errorf("the pool is not rolled out: %+v", meta.FindStatusCondition(pool.Status.Conditions, infrav1.RolledOutCondition))
	}
	return errors.Join(otherSettings(pool, group), o.otherVersion(pool, machinePool, group), status.outdated(), misreported(pool, group))
}

// misreported returns which instance runs another version, as status has it, than the node group, all of whose
// instances run the same.
func misreported(pool *infrav1.AWSManagedMachinePool, group awssim.Nodegroup) error {
	for _, instance := range pool.Status.Instances {
		if instance.LaunchTemplateVersion != *group.LaunchTemplate.Version {
			return fmt.Errorf("status says that instance %s runs version %q, and the node group has version %s",
				instance.InstanceID, instance.LaunchTemplateVersion, *group.LaunchTemplate.Version)
		}
	}
	return nil
}

// versionsAreTrue checks that each instance was launched with the configuration of the launch template version that
// status has of it. A template that was deleted has no versions to compare with.
func versionsAreTrue(o *observer, status *infrav1.AWSManagedMachinePoolStatus) {
	if len(o.facts.managed.lost) > 0 {
		return
	}
	for _, shown := range status.Instances {
		one := o.facts.instances[shown.InstanceID]
		launches, err := o.configurationOfVersion(status.LaunchTemplateID, shown.LaunchTemplateVersion)
		if one != nil && err == nil && launches != one.configuration {
			o.violate(VersionsTrue, "status says that instance %s, which has %s, %d GB, runs version %s, which launches %s, %d GB",
				shown.InstanceID, one.instanceType, one.volumeSize, shown.LaunchTemplateVersion, launches.instanceType, launches.volumeSize)
		}
	}
}

// otherSettings returns how the settings of a node group differ from the spec.
func otherSettings(pool *infrav1.AWSManagedMachinePool, group awssim.Nodegroup) error {
	if !maps.Equal(group.Labels, pool.Spec.Labels) {
		return fmt.Errorf("the node group has labels %v, and the spec asks for %v", group.Labels, pool.Spec.Labels)
	}
	wanted, most := "", int32(1)
	if taints := pool.Spec.Taints; len(taints) > 0 {
		wanted = taints[0].Key + "=" + taints[0].Value
	}
	is := ""
	if len(group.Taints) > 0 {
		is = *group.Taints[0].Key + "=" + *group.Taints[0].Value
	}
	if is != wanted {
		return fmt.Errorf("the node group has taint %q, and the spec asks for %q", is, wanted)
	}
	if update := pool.Spec.UpdateConfig; update != nil {
		most = ptr.Deref(update.MaxUnavailable, 1)
	}
	if is := ptr.Deref(group.UpdateConfig.MaxUnavailable, 0); is != most {
		return fmt.Errorf("the node group may have %d nodes unavailable, and the spec says %d", is, most)
	}
	return nil
}

// otherVersion returns how what a node group launches, and the versions of its template, differ from
// the spec. Another join token replaces no node, so the node group may have an older version with
// another token than the present one.
func (o *observer) otherVersion(pool *infrav1.AWSManagedMachinePool, machinePool *clusterv1.MachinePool, group awssim.Nodegroup) error {
	wanted := rollouts{o}.asks(pool)
	launches, err := o.configurationOfVersion(*group.LaunchTemplate.Id, *group.LaunchTemplate.Version)
	if err != nil {
		return err
	}
	if launches != wanted {
		return fmt.Errorf("the node group launches %+v, and the spec asks for %+v", launches, wanted)
	}
	if err := o.facts.otherConfiguration(wanted); err != nil {
		return err
	}
	versions, err := o.ownVersions()
	if err != nil {
		return err
	}
	for _, version := range versions {
		if *version.DefaultVersion && machinePool.Spec.Template.Spec.Bootstrap.DataSecretName != nil {
			err = o.facts.oldToken(version)
		}
	}
	return errors.Join(err, tooManyVersions(pool.Spec.VersionsToKeep, pool.Spec.PinnedVersion, wanted, versions, func(template string, version int64) bool {
		return *group.LaunchTemplate.Id == template && *group.LaunchTemplate.Version == strconv.FormatInt(version, 10)
	}))
}

// leftManaged returns what is left of a pool that is gone.
func leftManaged(ctx context.Context, w *World, o *observer) error {
	groups := o.aws.ownedNodegroups()
	roles, err := w.ownedRoles(ctx, o.owner())
	if err == nil && len(groups)+len(roles) > 0 {
		err = fmt.Errorf("the pool is gone, and %d node groups and roles %v are left", len(groups), roles)
	}
	return err
}
