package awsmanagedmachinepool

import (
	"context"
	"fmt"
	"strings"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// hookCheck is how often the hooks of a pool are looked at while nobody changes them: there is no
// call for the hooks of many groups.
const hookCheck = time.Hour

// ensureTags tags the node group, and EKS's Auto Scaling group with what people asked for, which
// its instances inherit; a launch template's own tags win there. Tags of others stay. EKS does not
// count either as an update.
func (r *Reconciler) ensureTags(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil || p.adopting || !p.group.Works() {
		return reconciling.Continue()
	}
	failed := func(err error) reconciling.Outcome {
		r.sightings.Forget(p.key())
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err).AndGoOn()
	}
	if err := r.announce(ctx, p); err != nil {
		return reconciling.Fail(err)
	}
	changed, err := p.cloud.Nodegroups.EnsureTags(ctx, p.desired, *p.group)
	if err != nil {
		return failed(err)
	}
	if changed {
		r.sightings.Forget(p.key())
	}
	if p.members == nil {
		return reconciling.Continue()
	}
	asked := p.facts.AskedTags(p.pool.Spec.AdditionalTags)
	changed, err = p.cloud.Groups.EnsureInheritedTags(ctx, asked, p.desired.RetiredTags, *p.members)
	if changed || err != nil {
		p.cloud.SeenManagedGroups.Invalidate(p.members.Name)
	}
	if err != nil {
		return failed(err)
	}
	err = reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSManagedMachinePool) { common.ConfirmTags(pool, asked) })
	if err != nil {
		return reconciling.Fail(fmt.Errorf("recording the tags: %w", err))
	}
	return r.ensureHooks(ctx, p)
}

// ensureHooks puts the pool's lifecycle hooks on EKS's Auto Scaling group: those that changed at
// once, and otherwise looks once in a while whether they still are as they were put.
func (r *Reconciler) ensureHooks(ctx context.Context, p *pass) reconciling.Outcome {
	wanted, applied, digest := autoscalinggroup.HooksOf(p.pool.Spec.AWSLifecycleHooks), common.AppliedOf(p.pool), ""
	if len(wanted)+len(applied.Hooks) == 0 {
		return reconciling.Continue()
	}
	if len(wanted) > 0 {
		digest = autoscalinggroup.HooksDigest(wanted) + "/" + p.members.Name
	}
	now := r.Clock.Now()
	next := r.hookChecks.GetOrPut(p.key(), common.NextTurn(now, hookCheck, p.key()))
	if applied.HooksDigest == digest && digest != "" && next.After(now) {
		return reconciling.ContinueAndComeBack(next.Sub(now), "the lifecycle hooks are looked at")
	}
	record := func(hooks []string, digest string) error {
		return reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSManagedMachinePool) {
			applied := common.AppliedOf(pool)
			applied.Hooks, applied.HooksDigest = hooks, digest
			applied.Record(pool)
		})
	}
	names := autoscalinggroup.HookNames(wanted)
	if err := record(common.Union(applied.Hooks, names), ""); err != nil {
		return reconciling.Fail(fmt.Errorf("recording the hooks: %w", err))
	}
	done, err := p.cloud.Groups.EnsureHooks(ctx, p.members.Name, wanted, applied.Hooks)
	if len(done) > 0 {
		r.Report.Done(ctx, p.pool, "ASGHooksChanged", "Changed Auto Scaling group %s: %s", p.members.Name, strings.Join(done, "; "))
	}
	if err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err).AndGoOn()
	}
	if err := record(names, digest); err != nil {
		return reconciling.Fail(fmt.Errorf("recording the hooks: %w", err))
	}
	next = common.NextTurn(now, hookCheck, p.key())
	r.hookChecks.Put(p.key(), next)
	return reconciling.ContinueAndComeBack(next.Sub(now), "the lifecycle hooks are looked at")
}
