package awsmachinepool

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// observeGroup sees the pool's group, or the name that a new one takes.
func (r *Reconciler) observeGroup(ctx context.Context, p *pass) reconciling.Outcome {
	if err := r.see(ctx, p, false); err != nil {
		return outcome.Of(p.pool, infrav1.ASGReadyCondition, seeReason(err, infrav1.ASGProvisionFailedReason), err)
	}
	if condition := meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.ASGReadyCondition); condition != nil && condition.Reason == infrav1.OwnerTagMissingReason {
		reconciling.Remove(p.pool, infrav1.ASGReadyCondition) // the pass may end before it is set anew
	}
	return reconciling.Continue()
}

// see takes what the sweeps know, or asks AWS if that must be fresh. The group is the pool's by its owner tag alone. One that the pool names by its ARN
// and that lacks the tag is an error, so that no second group is created beside it; CAPA's is adopted, unless the pool is being deleted.
func (r *Reconciler) see(ctx context.Context, p *pass, fresh bool) error {
	found, err := p.cloud.SeenGroups.Get(ctx, p.key(), names(p), fresh)
	if err != nil {
		return err
	}
	p.adopting = false
	p.group, p.freeName, err = autoscalinggroup.Choose(p.ownerTag(), names(p), found)
	if p.group != nil {
		return err
	}
	if made := madeByCAPA(p, found); made != nil && !wasOwned(p.pool, made) && p.pool.DeletionTimestamp == nil {
		if err := r.mayAdopt(ctx, p, made); err != nil {
			return err
		}
		p.group, p.freeName, p.adopting = made, "", true
		return nil
	}
	for _, group := range found {
		if group.ARN != "" && slices.Contains(arns(p.pool), group.ARN) {
			return &ownerTagMissingError{group: group, owner: p.ownerTag(), deleting: p.pool.DeletionTimestamp != nil}
		}
	}
	return err
}

// ensureGroup makes the group as desired.
func (r *Reconciler) ensureGroup(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil && p.config == nil {
		const message = "the group waits for the launch template"
		reconciling.False(p.pool, infrav1.ASGReadyCondition, infrav1.WaitingForLaunchTemplateReason, message)
		return reconciling.Stop(message)
	}
	if p.group != nil && p.group.Deleting {
		message := fmt.Sprintf("Auto Scaling group %s is being deleted by somebody else; it is made again when it is gone", p.group.Name)
		reconciling.False(p.pool, infrav1.ASGReadyCondition, infrav1.ASGDeletionInProgressReason, message)
		p.cloud.SeenGroups.InMotion(p.key(), true)
		return reconciling.ComeBack(lookAgain, message)
	}
	if !p.adopted() {
		const message = "the group waits for its launch template to be taken over"
		reconciling.False(p.pool, infrav1.ASGReadyCondition, infrav1.WaitingForLaunchTemplateReason, message)
		return reconciling.Continue()
	}
	desired, blocked := r.desired(ctx, p)
	if blocked != nil {
		// What runs is still to be reported, whatever is wrong with what is wanted.
		return blocked.AndGoOn()
	}
	if p.group == nil {
		return r.createGroup(ctx, p, desired)
	}
	return r.updateGroup(ctx, p, desired)
}

// desired is the group that the pool asks for. While the launch config is not ready, and while edits settle, the group launches what it launched before: a version and the
// mixed instances policy that goes with it change together.
func (r *Reconciler) desired(ctx context.Context, p *pass) (autoscalinggroup.Desired, *reconciling.Outcome) {
	subnets, err := p.cloud.Discovery.SubnetIDs(ctx, subnetQuery(p))
	if err != nil {
		stop := outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.SubnetsNotFoundReason, err)
		return autoscalinggroup.Desired{}, &stop
	}
	asked, spec := p.askedTags(), &p.pool.Spec
	desired := autoscalinggroup.Desired{
		Owner: p.ownerTag(), Names: names(p),
		MinSize: spec.MinSize, MaxSize: spec.MaxSize,
		MixedInstancesPolicy: spec.MixedInstancesPolicy,
		Settings:             autoscalinggroup.SettingsOf(spec),
		Hooks:                r.wantedHooks(p),
		TargetGroupARNs:      slices.Sorted(slices.Values(spec.TargetGroupARNs)),
		TrafficSources:       autoscalinggroup.TrafficSourcesOf(spec.TrafficSources),
		Suspended:            autoscalinggroup.SuspendedOf(spec.SuspendProcesses),
		WarmPool:             autoscalinggroup.WarmPoolOf(spec.WarmPool),
		Tags:                 p.facts.OwnedTags(p.pool.Name, asked),
		RetiredTags:          common.RetiredTags(p.pool, asked),
	}
	desired.Tags[infrav1.TagMachinePool] = p.ownerTag()
	desired.Tags[infrav1.TagLaunchConfig] = p.configTag()
	for _, subnet := range subnets {
		desired.SubnetIDs = append(desired.SubnetIDs, subnet.ID)
	}
	slices.Sort(desired.SubnetIDs)
	if p.config != nil && !p.settling {
		if stop := r.checkOverrides(ctx, p); stop != nil {
			return autoscalinggroup.Desired{}, stop
		}
		desired.LaunchTemplateID, desired.Version = p.config.Status.LaunchTemplateID, p.config.Status.Version
	}
	if p.config != nil && !p.settling && (r.replacesRoots(p, desired) || holdsConfiguration(p)) {
		desired.LaunchTemplateID, desired.Version = "", 0
	}
	if !common.Autoscaled(p.machinePool) {
		desired.Capacity = ptr.To(ptr.Deref(p.machinePool.Spec.Replicas, 1))
		if *desired.Capacity < desired.MinSize || *desired.Capacity > desired.MaxSize {
			message := fmt.Sprintf("the MachinePool asks for %d replicas, and minSize is %d, maxSize %d: change one of them",
				*desired.Capacity, desired.MinSize, desired.MaxSize)
			reconciling.False(p.pool, infrav1.ASGReadyCondition, infrav1.ReplicasOutOfBoundsReason, message)
			stop := reconciling.Stop(message)
			return autoscalinggroup.Desired{}, &stop
		}
		*desired.Capacity = min(*desired.Capacity+p.staying, desired.MaxSize)
	}
	return desired, nil
}

// askedTags are what people ask for on the group: by the cluster, by the pool, and for an autoscaler that reads tags, by the MachinePool, and by what a node would be.
func (p *pass) askedTags() map[string]string {
	asked := p.facts.AskedTags(p.pool.Spec.AdditionalTags)
	if p.machinePool == nil || !common.Autoscaled(p.machinePool) {
		return asked
	}
	present := map[string]string{}
	if p.group != nil {
		present = p.group.Tags
	}
	for _, tags := range []map[string]string{
		autoscalinggroup.NodeTemplateTags(p.machinePool.Annotations), autoscalinggroup.DerivedTags(p.pool.Status.Capacity, p.pool.Status.NodeInfo, present),
	} {
		for key, value := range tags {
			asked[key] = cmp.Or(asked[key], value)
		}
	}
	return asked
}

// configTag is the value of the tag by which a launch config finds the groups that use its template: of the config that the group launches from, which is the
// one before while another that the pool refers to is not ready, or edits settle.
func (p *pass) configTag() string {
	reference := p.pool.Spec.LaunchConfigRef
	if reference == nil {
		return p.ownerTag() // the pool's own config bears its name
	}
	if present := p.presentConfigTag(); present != "" && (p.config == nil || p.settling) {
		return present
	}
	return common.OwnerNamed(p.pool.Namespace, p.clusterName, reference.Name)
}

func (p *pass) presentConfigTag() string {
	if p.group == nil {
		return ""
	}
	return p.group.Tags[infrav1.TagLaunchConfig]
}

func subnetQuery(p *pass) discovery.SubnetQuery {
	return discovery.SubnetQuery{
		VPCID: p.facts.VPCID, Refs: p.pool.Spec.Subnets, AvailabilityZones: p.pool.Spec.AvailabilityZones,
		FailureDomains: p.machinePool.Spec.FailureDomains,
		Type:           ptr.Deref(p.pool.Spec.AvailabilityZoneSubnetType, ""),
		ClusterSubnets: p.facts.Subnets,
	}
}

func (r *Reconciler) createGroup(ctx context.Context, p *pass, desired autoscalinggroup.Desired) reconciling.Outcome {
	if slices.ContainsFunc(arns(p.pool), func(arn string) bool { return arn != "" }) {
		// The pool had a group. What a sweep saw may be old, and a second group would double the nodes.
		if err := r.see(ctx, p, true); err != nil {
			return outcome.Of(p.pool, infrav1.ASGReadyCondition, seeReason(err, infrav1.ASGProvisionFailedReason), err)
		}
		if p.group != nil {
			return reconciling.ComeBack(lookAgain, "the group can be seen again")
		}
	}
	if lost := p.pool.Status.AutoScalingGroup; lost != nil {
		message := fmt.Sprintf("Auto Scaling group %s was deleted outside Slipway; it is made again", lost.Name)
		r.Report.Warn(ctx, p.pool, "ASGLost", "%s", message)
		reconciling.False(p.pool, infrav1.ASGReadyCondition, infrav1.ASGNotFoundReason, message)
		p.pool.Status.AutoScalingGroup = nil // so that it is told once, however often making another is tried
	}
	if err := r.announce(ctx, p); err != nil {
		return reconciling.Fail(err)
	}
	err := p.cloud.Groups.Create(ctx, desired, p.freeName)
	p.cloud.SeenGroups.Invalidate(p.freeName)
	if aws.IsAlreadyExists(err) {
		return reconciling.ComeBack(lookAgain, "a group of this name was made a moment ago and can not be seen yet")
	}
	if err != nil {
		return outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.ASGProvisionFailedReason, err)
	}
	r.Report.Done(ctx, p.pool, "ASGCreated", "Created Auto Scaling group %s at version %d of launch template %s",
		p.freeName, desired.Version, desired.LaunchTemplateID)
	p.cloud.SeenGroups.InMotion(p.key(), true)
	p.hooksMade = len(autoscalinggroup.HooksWithGroup(desired.Hooks)) == len(desired.Hooks)
	if err := r.see(ctx, p, true); err != nil {
		return outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.ASGProvisionFailedReason, err)
	}
	if p.group == nil {
		return reconciling.ComeBack(lookAgain, "the group was made a moment ago and can not be seen yet")
	}
	return r.updateGroup(ctx, p, desired)
}

// updateGroup makes a group that exists as desired. What keeps instances from coming or going unseen is first: hooks, and suspended processes. What
// the group has in its way, such as a warm pool that its new configuration may not have, goes before that changes.
func (r *Reconciler) updateGroup(ctx context.Context, p *pass, desired autoscalinggroup.Desired) reconciling.Outcome {
	if p.adopting {
		if owned := r.own(ctx, p, desired); owned != reconciling.Continue() {
			return owned
		}
	}
	if err := r.announce(ctx, p); err != nil {
		return reconciling.Fail(err)
	}
	again, stop := r.ensureHooks(ctx, p, desired)
	if stop != nil {
		return *stop
	}
	seen := *p.group
	err := r.makeAsDesired(ctx, p, desired)
	if err != nil {
		// Nobody knows what became of the call that failed.
		p.cloud.SeenGroups.Invalidate(p.group.Name)
		*p.group = seen
		return r.updateFailed(p, err)
	}
	confirmGroup(p, desired)
	reconciling.True(p.pool, infrav1.ASGReadyCondition, infrav1.ReadyReason, "")
	if last, known := r.hookLooks.Get(p.key()); known && again > 0 && last.now {
		// Somebody else changed something of the group.
		if again, stop = r.ensureHooks(ctx, p, desired); stop != nil {
			return *stop
		}
	}
	if again > 0 {
		return reconciling.ContinueAndComeBack(again, "the lifecycle hooks are looked at")
	}
	return reconciling.Continue()
}

// updateFailed shows it. What a warm pool that is on its way out stands in the way of is tried again when that is gone, which wakes the pool.
func (r *Reconciler) updateFailed(p *pass, err error) reconciling.Outcome {
	failed := outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err).AndGoOn()
	p.moving = p.moving || p.group.WarmPoolDeleting
	return failed
}

// makeAsDesired does it in AWS, and shows on the group that was seen what the calls made of it, so that nobody needs to look.
func (r *Reconciler) makeAsDesired(ctx context.Context, p *pass, desired autoscalinggroup.Desired) error {
	applied, groups, before := common.AppliedOf(p.pool), p.cloud.Groups, *p.group
	outside := r.asGiven(p, desired)
	done, err := groups.EnsureProcesses(ctx, desired.Suspended, applied.Processes, p.group)
	if err != nil {
		return err
	}
	deleted, err := groups.DeleteWarmPool(ctx, desired.WarmPool, p.group)
	if err != nil {
		return err
	}
	if deleted {
		done = append(done, "warm pool is deleted")
	}
	if reasons := autoscalinggroup.UpdateReasons(desired, *p.group); len(reasons) > 0 {
		if err := groups.Update(ctx, desired, *p.group); err != nil {
			return err
		}
		autoscalinggroup.Apply(desired, p.group)
		done = append(done, reasons...)
	}
	attached, err := groups.EnsureTargetGroups(ctx, desired.TargetGroupARNs, applied.TargetGroups, p.group)
	if err != nil {
		return err
	}
	done = append(done, attached...)
	sources, err := groups.EnsureTrafficSources(ctx, desired, applied.TrafficSources, p.group)
	if err != nil {
		return err
	}
	done = append(done, sources...)
	put, err := groups.PutWarmPool(ctx, desired.WarmPool, p.group)
	if err != nil {
		return err
	}
	if put {
		done = append(done, "warm pool is set")
	}
	p.moving = p.moving || p.group.WarmPoolDeleting
	r.reportUpdate(ctx, p, done, outside)
	if !reflect.DeepEqual(before, *p.group) {
		// Whether it moves now is decided where instances are reported.
		p.cloud.SeenGroups.Replace(p.group.Name, &before, *p.group)
	}
	tagged, err := groups.EnsureTags(ctx, desired, *p.group)
	if len(tagged) > 0 {
		p.cloud.SeenGroups.Invalidate(p.group.Name)
		r.reportUpdate(ctx, p, []string{"tags " + strings.Join(tagged, ", ")}, outside)
	}
	return err
}
