package machinepool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/nodetemplate"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// ensureGroup makes the group as desired.
func ensureGroup(in input, plan *reconcile.Plan) bool {
	group := in.Seen.Group
	switch {
	case group == nil && launchable(in) == nil:
		reconciling.False(in.Object, infrav1.ASGReadyCondition, infrav1.WaitingForLaunchTemplateReason, "the group waits for the launch template")
		return false
	case group != nil && group.Deleting:
		reconciling.False(in.Object, infrav1.ASGReadyCondition, infrav1.ASGDeletionInProgressReason,
			fmt.Sprintf("Auto Scaling group %s is being deleted by another user or program. Slipway recreates it once the deletion completes", group.Name))
		watchGroup(in, plan, true)
		plan.LookAgain(lookAgain)
		return false
	case !templateAdopted(in):
		reconciling.False(in.Object, infrav1.ASGReadyCondition, infrav1.WaitingForLaunchTemplateReason, "the group waits until its launch "+
			"template has been adopted")
		return true
	}
	if blocked(in, plan) || !refreshesKnown(in, plan) {
		return true // what runs is still reported, whatever is wrong with what is wanted
	}
	if group == nil {
		return createGroupIfGone(in, plan)
	}
	return updateGroupIfDue(in, plan)
}

// groupCanBeChanged reports whether nothing keeps the group from being made as desired, as ensureGroup finds.
func groupCanBeChanged(in input) bool {
	return in.Seen.Group != nil && !in.Seen.Group.Deleting && templateAdopted(in) && obstacleOf(in) == nil
}

// obstacle describes what keeps the group from its desired state.
type obstacle struct {
	// need is an observation that is missing; empty if none is.
	need reconcile.Need
	// err is an error of AWS, for the reason.
	err    error
	reason string
	// message is for an obstacle that is no error of AWS.
	message string
}

// blocked shows what keeps the group from being made as desired, and reports whether anything does.
func blocked(in input, plan *reconcile.Plan) bool {
	switch found := obstacleOf(in); {
	case found == nil:
		return false
	case found.need != "":
		plan.Need(found.need)
	case found.err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.ASGReadyCondition, found.reason, found.err)
	default:
		reconciling.False(in.Object, infrav1.ASGReadyCondition, found.reason, found.message)
	}
	return true
}

// obstacleOf returns what keeps the group from being made as desired, nil if nothing does.
func obstacleOf(in input) *obstacle {
	subnets, spec := in.Seen.Subnets, in.Object.Spec
	switch {
	case subnets.Err != nil:
		return &obstacle{err: subnets.Err, reason: infrav1.SubnetsNotFoundReason}
	case !subnets.Read:
		return &obstacle{need: needSubnets}
	}
	if launchable(in) != nil && !settling(in) {
		if found := overrideObstacle(in); found != nil {
			return found
		}
	}
	if asked := replicas(in); !pool.Autoscaled(in.Seen.MachinePool) && (asked < spec.MinSize || asked > spec.MaxSize) {
		return &obstacle{reason: infrav1.ReplicasOutOfBoundsReason, message: fmt.Sprintf(
			"spec.replicas of the MachinePool is %d, but minSize is %d and maxSize is %d. Change one of them", asked, spec.MinSize, spec.MaxSize)}
	}
	return nil
}

// replicas returns the number of instances that the MachinePool asks for.
func replicas(in input) int32 { return ptr.Deref(in.Seen.MachinePool.Spec.Replicas, 1) }

// overrideObstacle returns what is wrong with an override that Auto Scaling would take, or refuse
// with a message that does not help, and that no launch could come of: images, types and templates
// that do not exist, types that cannot run their image, and templates with an instance profile that
// the cluster's identity may not use.
func overrideObstacle(in input) *obstacle {
	if in.Object.Spec.MixedInstancesPolicy == nil || launchable(in).WhatIsLaunched() == nil {
		return nil
	}
	if !in.Seen.OverridesRead {
		return &obstacle{need: needOverrides}
	}
	for i, override := range in.Seen.Overrides {
		var mismatch *mismatchError
		err := override.err()
		switch {
		case errors.As(err, &mismatch):
			return &obstacle{reason: infrav1.ArchitectureMismatchReason, message: mismatch.Error()}
		case err != nil:
			return &obstacle{err: fmt.Errorf("mixedInstancesPolicy.overrides[%d]: %w", i, err), reason: override.Reason}
		}
	}
	return nil
}

// err returns what is wrong with an override.
func (o Override) err() error {
	if o.Err == nil && o.Architecture != "" && o.InstanceType != "" && !slices.Contains(o.Architectures, o.Architecture) {
		return &mismatchError{override: o}
	}
	return o.Err
}

// mismatchError reports that an instance type cannot run the image that it would be launched with.
type mismatchError struct{ override Override }

// Error implements error.
func (e *mismatchError) Error() string {
	return fmt.Sprintf("image %s is built for %s, but instance type %s of an override is %s. The group stays as "+
		"it is, and running nodes are kept. Set imageID of the override to an image of its architecture, or "+
		"use instance types of one architecture",
		e.override.ImageID, e.override.Architecture, e.override.InstanceType, strings.Join(e.override.Architectures, ", "))
}

// desiredGroup returns the group that the pool asks for. While the launch config is not ready, and
// while edits settle, the group launches what it launched before: a version and the mixed instances
// policy that goes with it change together. So it does while a refresh brings what is wanted by new
// root volumes.
func desiredGroup(in input) autoscalinggroup.Desired {
	desired := launchedGroup(in)
	if desired.LaunchTemplateID != "" && (rootVolumesOf(in).inPlace || holdsConfiguration(in)) {
		desired.LaunchTemplateID, desired.Version = "", 0
	}
	return desired
}

// launchedGroup is desiredGroup before it is decided how what is wanted reaches the instances.
func launchedGroup(in input) autoscalinggroup.Desired {
	asked, spec := askedTags(in), &in.Object.Spec
	desired := autoscalinggroup.Desired{
		Owner: ownerTag(in), Names: GroupNames(in.Object, in.Seen.ClusterName),
		MinSize: spec.MinSize, MaxSize: spec.MaxSize,
		MixedInstancesPolicy: spec.MixedInstancesPolicy,
		SubnetIDs:            in.Seen.Subnets.IDs,
		Settings:             autoscalinggroup.SettingsOf(spec),
		Hooks:                wantedHooks(in),
		TargetGroupARNs:      slices.Sorted(slices.Values(spec.TargetGroupARNs)),
		TrafficSources:       autoscalinggroup.TrafficSourcesOf(spec.TrafficSources),
		Suspended:            autoscalinggroup.SuspendedOf(spec.SuspendProcesses),
		WarmPool:             autoscalinggroup.WarmPoolOf(spec.WarmPool),
		Tags:                 in.Seen.Access.Facts.OwnedTags(in.Object.Name, asked),
	}
	if !reconcile.Succeeded[tagGroup](in.Done) && !reconcile.Succeeded[createGroup](in.Done) {
		desired.RetiredTags = ownership.RetiredTags(in.Object, asked)
	}
	desired.Tags[infrav1.TagMachinePool] = ownerTag(in)
	desired.Tags[infrav1.TagLaunchConfig] = configTag(in)
	if config := launchable(in); config != nil && !settling(in) {
		desired.LaunchTemplateID, desired.Version = config.Status.LaunchTemplateID, config.Status.Version
	}
	if !pool.Autoscaled(in.Seen.MachinePool) {
		desired.Capacity = ptr.To(min(replicas(in)+staying(in), spec.MaxSize))
	}
	return desired
}

// askedTags returns what users ask for on the group: by the cluster, by the pool, and for an
// autoscaler that reads tags, by the MachinePool, and by what a node would be.
func askedTags(in input) map[string]string {
	asked := in.Seen.Access.Facts.AskedTags(in.Object.Spec.AdditionalTags)
	if in.Seen.MachinePool == nil || !pool.Autoscaled(in.Seen.MachinePool) {
		return asked
	}
	present := map[string]string{}
	if in.Seen.Group != nil {
		present = in.Seen.Group.Tags
	}
	for _, tags := range []map[string]string{
		nodetemplate.Tags(in.Seen.MachinePool.Annotations), nodetemplate.DerivedTags(in.Object.Status.Capacity, in.Object.Status.NodeInfo, present),
	} {
		for key, value := range tags {
			asked[key] = cmp.Or(asked[key], value)
		}
	}
	return asked
}

// configTag returns the value of the tag by which a launch config finds the groups that use its
// template: of the config that the group launches from, which is the one before while another that
// the pool refers to is not ready, or edits settle.
func configTag(in input) string {
	reference := in.Object.Spec.LaunchConfigRef
	if reference == nil {
		return ownerTag(in) // the pool's own config has its name
	}
	if group := in.Seen.Group; group != nil && group.Tags[infrav1.TagLaunchConfig] != "" && (launchable(in) == nil || settling(in)) {
		return group.Tags[infrav1.TagLaunchConfig]
	}
	return ownership.OwnerNamed(in.Object.Namespace, in.Seen.ClusterName, reference.Name)
}

// subnetQuery asks for the subnets that instances are launched into.
func subnetQuery(in input) discovery.SubnetQuery {
	spec := &in.Object.Spec
	return discovery.SubnetQuery{
		VPCID: in.Seen.Access.Facts.VPCID, Refs: spec.Subnets, AvailabilityZones: spec.AvailabilityZones,
		FailureDomains: in.Seen.MachinePool.Spec.FailureDomains,
		Type:           ptr.Deref(spec.AvailabilityZoneSubnetType, ""),
		ClusterSubnets: in.Seen.Access.Facts.Subnets,
	}
}

// createGroupIfGone creates the group.
func createGroupIfGone(in input, plan *reconcile.Plan) bool {
	if slices.ContainsFunc(arns(in.Object), func(arn string) bool { return arn != "" }) && !in.Seen.Fresh {
		// The pool had a group. The result of a sweep may be old, and a second group would double
		// the nodes.
		plan.Need(needFreshGroup)
		return true
	}
	if !in.Seen.Sizes.Current(plan) {
		return false
	}
	create := createGroup{Desired: desiredGroup(in), Name: in.Seen.FreeName}
	reason := "the pool has no Auto Scaling group"
	if lost := in.Object.Status.AutoScalingGroup; lost != nil {
		create.Lost = fmt.Sprintf("Auto Scaling group %s was deleted outside Slipway; Slipway recreates it", lost.Name)
		reason = fmt.Sprintf("Auto Scaling group %s was deleted outside Slipway", lost.Name)
		if create.Desired.Capacity == nil { // an external autoscaler decides it, and the MachinePool followed the lost group
			create.Desired.Capacity = ptr.To(min(max(replicas(in), in.Object.Spec.MinSize), in.Object.Spec.MaxSize))
		}
		reconciling.False(in.Object, infrav1.ASGReadyCondition, infrav1.ASGNotFoundReason, create.Lost)
		// so that it is reported once, however often creating another is tried
		in.Object.Status.AutoScalingGroup = nil
	}
	tried, err := reconcile.Attempted[createGroup](in.Done)
	switch {
	case !tried:
		announce(in, plan)
		plan.Do(create, "%s", reason)
		return true
	case aws.IsAlreadyExists(err):
		plan.LookAgain(lookAgain) // a group of this name was created just now and cannot be seen yet
	case err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.ASGReadyCondition, infrav1.ASGProvisionFailedReason, err)
	default:
		plan.LookAgain(lookAgain) // it was created just now and cannot be seen yet
	}
	return false
}

// updateGroupIfDue brings an existing group to its desired state. Hooks and suspended processes are
// first, because they keep instances from coming or going unseen.
func updateGroupIfDue(in input, plan *reconcile.Plan) bool {
	if in.Seen.Adopting {
		if goOn := adopt(in, plan); !goOn || in.Seen.Adopting {
			return goOn
		}
	}
	announce(in, plan)
	if !ensureHooks(in, plan) || pending(plan) {
		return true
	}
	desired := desiredGroup(in)
	if same, goOn := updateIfDifferent(in, plan, desired); !same {
		return goOn
	}
	if err := reconcile.LastFailure[tagGroup](in.Done); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err)
		return true
	}
	if keys := autoscalinggroup.TagChanges(desired, *in.Seen.Group); len(keys) > 0 && !reconcile.Succeeded[tagGroup](in.Done) {
		plan.Do(tagGroup{Desired: desired, Keys: keys, Outside: asGiven(in, desired)}, "the tags %s of the group differ from "+
			"the spec", strings.Join(keys, ", "))
		return true
	}
	if reconcile.LastFailure[terminateInstances](in.Done) == nil { // which the condition says
		reconciling.True(in.Object, infrav1.ASGReadyCondition, infrav1.ReadyReason, "")
	}
	return true
}

// updateIfDifferent updates the group if it is not as desired. Same is true if it is, but for its tags,
// and otherwise goOn says whether more is decided about the pool.
func updateIfDifferent(in input, plan *reconcile.Plan, desired autoscalinggroup.Desired) (same, goOn bool) {
	group := *in.Seen.Group
	given := givenTo(in)
	changes := autoscalinggroup.Changes(desired, given, group)
	tried, err := reconcile.Attempted[updateGroup](in.Done)
	switch {
	case err != nil:
		// A change that waits for the deletion of a warm pool is tried again when the warm pool is
		// gone, which wakes the pool.
		pool.ShowFailure(in.Object, plan, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err)
		return false, true
	case len(changes) > 0 && (tried || changedSince(in, desired, given)):
		plan.LookAgain(lookAgain) // AWS shows the group as it was, or it changed just now
		return false, false
	case len(changes) > 0 && desired.Resizes(group) && !in.Seen.Sizes.Current(plan):
		return false, false
	case len(changes) > 0:
		plan.Do(updateGroup{Desired: desired, Changes: changes, Outside: asGiven(in, desired), NotInPlace: rootVolumesOf(in).notInPlace}, "%s", strings.Join(autoscalinggroup.Effects(changes), "; "))
		return false, true
	}
	return true, true
}

// changedSince reports whether the group was as desired when the pass began, and is not as AWS
// describes it now.
func changedSince(in input, desired autoscalinggroup.Desired, given autoscalinggroup.Given) bool {
	return in.Seen.Earlier != nil && len(autoscalinggroup.Changes(desired, given, *in.Seen.Earlier)) == 0
}

// givenTo returns what the pool gave its group earlier. After an update in this pass, the group has
// nothing of the pool's but what is desired.
func givenTo(in input) autoscalinggroup.Given {
	if reconcile.Succeeded[updateGroup](in.Done) || reconcile.Succeeded[createGroup](in.Done) {
		return autoscalinggroup.Given{}
	}
	applied := ownership.AppliedOf(in.Object)
	return autoscalinggroup.Given{Processes: applied.Processes, TargetGroups: applied.TargetGroups, TrafficSources: applied.TrafficSources}
}

// isAsDesired reports whether AWS confirmed in this pass, or earlier, that the group has all that
// the pool asks for, hooks apart.
func isAsDesired(in input) bool {
	if !groupCanBeChanged(in) || in.Seen.Adopting || reconcile.LastFailure[updateGroup](in.Done) != nil || reconcile.LastFailure[tagGroup](in.Done) != nil || reconcile.LastFailure[changeHooks](in.Done) != nil || in.Seen.Hooks.Err != nil {
		return false
	}
	desired := desiredGroup(in)
	return len(autoscalinggroup.Changes(desired, givenTo(in), *in.Seen.Group)) == 0 && len(autoscalinggroup.TagChanges(desired, *in.Seen.Group)) == 0
}

// announce records what the group is about to be given, together with what it was given before.
func announce(in input, plan *reconcile.Plan) {
	annotate(in, plan, func(pool *infrav1.AWSMachinePool) { announceGiven(in, pool) })
}

// announceGiven records on a pool what its group is about to be given.
func announceGiven(in input, pool *infrav1.AWSMachinePool) {
	ownership.AnnounceTags(pool, askedTags(in))
	applied, hooks := ownership.AppliedOf(pool), wantedHooks(in)
	applied.Hooks = ownership.Union(applied.Hooks, lifecyclehook.Names(hooks))
	if len(hooks) == 0 || applied.HooksDigest != lifecyclehook.Digest(hooks) {
		applied.HooksDigest = ""
	}
	applied.TargetGroups = ownership.Union(applied.TargetGroups, pool.Spec.TargetGroupARNs)
	applied.TrafficSources = ownership.Union(applied.TrafficSources, autoscalinggroup.Identifiers(autoscalinggroup.TrafficSourcesOf(pool.Spec.TrafficSources)))
	applied.Processes = ownership.Union(applied.Processes, autoscalinggroup.SuspendedOf(pool.Spec.SuspendProcesses))
	applied.Record(pool)
}

// confirmGiven records on a pool what AWS confirmed that its group has: exactly what it should
// have, and the hooks if they were checked in this pass.
func confirmGiven(in input, pool *infrav1.AWSMachinePool) {
	applied, desired := ownership.AppliedOf(pool), desiredGroup(in)
	if hooksConfirmed(in) {
		applied.Hooks, applied.HooksDigest = lifecyclehook.Names(desired.Hooks), ""
		if len(desired.Hooks) > 0 {
			applied.HooksDigest = lifecyclehook.Digest(desired.Hooks)
		}
	}
	if isAsDesired(in) {
		ownership.ConfirmTags(pool, askedTags(in))
		applied.TargetGroups, applied.Processes = desired.TargetGroupARNs, desired.Suspended
		applied.TrafficSources = autoscalinggroup.Identifiers(desired.TrafficSources)
		settings, launches := desired.Digests()
		launches = cmp.Or(launches, applied.Launches)
		if applied.Settings != settings || applied.Launches != launches {
			applied.Settings, applied.Launches, applied.Changed = settings, launches, ptr.To(metav1.NewTime(in.Now))
		}
	}
	applied.Record(pool)
}

// visibleAfter is the time for which the observed state may be older than a change of ours.
const visibleAfter = time.Minute

// asGiven reports whether the pool asks for what its group was given last: if the group is another
// now, it was changed outside Slipway.
func asGiven(in input, desired autoscalinggroup.Desired) bool {
	applied := ownership.AppliedOf(in.Object)
	if applied.Changed != nil && in.Now.Sub(applied.Changed.Time) < visibleAfter {
		return false
	}
	settings, launches := desired.Digests()
	return applied.Settings == settings && (launches == "" || applied.Launches == launches)
}
