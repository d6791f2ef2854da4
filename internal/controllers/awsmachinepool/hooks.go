package awsmachinepool

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

// hookLook is when a pool's hooks were last checked, or when this process first saw the pool.
type hookLook struct {
	at time.Time
	// now has them checked in the next pass.
	now bool
}

// wantedHooks are the hooks that the pool's group shall have: those of the spec, and Slipway's own.
func (r *Reconciler) wantedHooks(p *pass) []autoscalinggroup.Hook {
	return autoscalinggroup.SortHooks(append(autoscalinggroup.HooksOf(p.pool.Spec.LifecycleHooks), drainHooks(p)...))
}

// ensureHooks puts hooks that changed at once, and otherwise checks once in a while whether they still are as they were put. It returns when that is due
// next, 0 for never.
func (r *Reconciler) ensureHooks(ctx context.Context, p *pass, desired autoscalinggroup.Desired) (time.Duration, *reconciling.Outcome) {
	if len(desired.Hooks)+len(common.AppliedOf(p.pool).Hooks) == 0 {
		p.cloud.HookPace.Leave(p.key())
		return 0, nil
	}
	interval := p.cloud.HookPace.Join(p.key())
	if wait := r.untilHooks(p, desired, interval); hooksApplied(p, desired.Hooks) && wait > 0 {
		return wait, nil
	}
	if p.hooksMade {
		r.confirmHooks(p, desired.Hooks)
	} else if stop := r.checkHooks(ctx, p, desired.Hooks); stop != nil {
		return 0, stop
	}
	return r.untilHooks(p, desired, interval), nil
}

// hooksApplied reports whether the group was given exactly these hooks last.
func hooksApplied(p *pass, hooks []autoscalinggroup.Hook) bool {
	return len(hooks) > 0 && common.AppliedOf(p.pool).HooksDigest == autoscalinggroup.HooksDigest(hooks)
}

// checkHooks reads the hooks of the group and puts those that are missing or differ.
func (r *Reconciler) checkHooks(ctx context.Context, p *pass, hooks []autoscalinggroup.Hook) *reconciling.Outcome {
	done, err := p.cloud.Groups.EnsureHooks(ctx, p.group.Name, hooks, common.AppliedOf(p.pool).Hooks)
	switch {
	case len(done) > 0 && hooksApplied(p, hooks):
		r.reportOutside(ctx, p, done)
	case len(done) > 0:
		r.Report.Done(ctx, p.pool, "ASGHooksChanged", "Changed Auto Scaling group %s: %s", p.group.Name, strings.Join(done, "; "))
	}
	if err != nil {
		stop := outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err).AndGoOn()
		return &stop
	}
	r.confirmHooks(p, hooks)
	return nil
}

// hooksBeforeRefresh checks the hooks once before instances are replaced: without its drain hook a group ends instances whose nodes are not empty.
func (r *Reconciler) hooksBeforeRefresh(ctx context.Context, p *pass) *reconciling.Outcome {
	hooks := r.wantedHooks(p)
	if p.hooksChecked || len(hooks) == 0 {
		return nil
	}
	return r.checkHooks(ctx, p, hooks)
}

// untilHooks is how long it is until hooks that the user did not change are checked: not at all before instances are replaced or taken away, whose nodes
// the drain hook is there for. There is no call for the hooks of many groups, so at rest it takes longer the more pools there are.
func (r *Reconciler) untilHooks(p *pass, desired autoscalinggroup.Desired, interval time.Duration) time.Duration {
	now := r.Clock.Now()
	last := r.hookLooks.GetOrPut(p.key(), hookLook{at: now})
	rolls := p.wanted != nil && !p.settling && !p.wanted.Launches(*p.group)
	if !p.hooksChecked && (last.now || rolls || desired.Shrinks(*p.group)) {
		return 0
	}
	return common.NextTurn(last.at, interval, p.key()).Sub(now)
}

// confirmHooks has it recorded that the group has exactly these.
func (r *Reconciler) confirmHooks(p *pass, hooks []autoscalinggroup.Hook) {
	digest := ""
	if len(hooks) > 0 {
		digest = autoscalinggroup.HooksDigest(hooks)
	}
	p.confirm(func(pool *infrav1.AWSMachinePool) {
		applied := common.AppliedOf(pool)
		applied.Hooks, applied.HooksDigest = autoscalinggroup.HookNames(hooks), digest
		applied.Record(pool)
	})
	p.hooksChecked = true
	r.hookLooks.Put(p.key(), hookLook{at: r.Clock.Now()})
}

// announce records what the group is about to be given, beside what it was given before.
func (r *Reconciler) announce(ctx context.Context, p *pass) error {
	if err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) { r.announced(p, pool) }); err != nil {
		return fmt.Errorf("recording what the group is given: %w", err)
	}
	return nil
}

// announced is the record of what the group is about to be given.
func (r *Reconciler) announced(p *pass, pool *infrav1.AWSMachinePool) {
	common.AnnounceTags(pool, p.askedTags())
	applied, hooks := common.AppliedOf(pool), r.wantedHooks(p)
	applied.Hooks = common.Union(applied.Hooks, autoscalinggroup.HookNames(hooks))
	if len(hooks) == 0 || applied.HooksDigest != autoscalinggroup.HooksDigest(hooks) {
		applied.HooksDigest = ""
	}
	applied.TargetGroups = common.Union(applied.TargetGroups, pool.Spec.TargetGroupARNs)
	applied.TrafficSources = common.Union(applied.TrafficSources, autoscalinggroup.Identifiers(autoscalinggroup.TrafficSourcesOf(pool.Spec.TrafficSources)))
	applied.Processes = common.Union(applied.Processes, autoscalinggroup.SuspendedOf(pool.Spec.SuspendProcesses))
	applied.Record(pool)
}

// confirmGroup has it recorded that the group has exactly what it is to have, hooks apart.
func confirmGroup(p *pass, desired autoscalinggroup.Desired) {
	asked := p.askedTags()
	p.confirm(func(pool *infrav1.AWSMachinePool) {
		common.ConfirmTags(pool, asked)
		applied := common.AppliedOf(pool)
		applied.TargetGroups, applied.Processes = desired.TargetGroupARNs, desired.Suspended
		applied.TrafficSources = autoscalinggroup.Identifiers(desired.TrafficSources)
		settings, launches := desired.Digests()
		applied.Settings = settings
		if launches != "" {
			applied.Launches = launches
		}
		applied.Record(pool)
	})
}

// confirm has something recorded of what was done in AWS, with the next write to the pool. A pass that ends before does it again.
func (p *pass) confirm(record func(*infrav1.AWSMachinePool)) {
	p.confirmed = append(p.confirmed, record)
}
