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

// hookAge is how old the last look at hooks may be when instances are about to be replaced or taken away, whose nodes the drain hook is there for.
const hookAge = time.Hour

// hookLook is when a pool's hooks were last looked at, or when this process first saw the pool.
type hookLook struct {
	at time.Time
	// share of the time between two looks passes until the next one: all of it after a look, and another part for each pool before the first, so that
	// a new process does not look at the hooks of all of them at once.
	share float64
}

// wantedHooks are the hooks that the pool's group shall have: those of the spec, and Slipway's own.
func (r *Reconciler) wantedHooks(p *pass) []autoscalinggroup.Hook {
	return autoscalinggroup.SortHooks(append(autoscalinggroup.HooksOf(p.pool.Spec.LifecycleHooks), drainHooks(p)...))
}

// ensureHooks puts hooks that changed at once, and otherwise looks once in a while whether they still are as they were put. It returns when that is due
// next, 0 for never.
func (r *Reconciler) ensureHooks(ctx context.Context, p *pass, desired autoscalinggroup.Desired) (time.Duration, *reconciling.Outcome) {
	applied, digest := common.AppliedOf(p.pool), ""
	if len(desired.Hooks) > 0 {
		digest = autoscalinggroup.HooksDigest(desired.Hooks)
	}
	if len(desired.Hooks)+len(applied.Hooks) == 0 {
		p.cloud.HookPace.Leave(p.key())
		return 0, nil
	}
	interval := p.cloud.HookPace.Join(p.key())
	put := applied.HooksDigest == digest && digest != ""
	if wait := r.untilHooks(p, desired, interval); put && wait > 0 {
		return wait, nil
	}
	if p.hooksMade {
		r.confirmHooks(p, desired, digest)
		return interval, nil
	}
	done, err := p.cloud.Groups.EnsureHooks(ctx, p.group.Name, desired.Hooks, applied.Hooks)
	switch {
	case len(done) > 0 && put:
		r.reportOutside(ctx, p, done)
	case len(done) > 0:
		r.Report.Done(ctx, p.pool, "ASGHooksChanged", "Changed Auto Scaling group %s: %s", p.group.Name, strings.Join(done, "; "))
	}
	if err != nil {
		stop := outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err).AndGoOn()
		return 0, &stop
	}
	r.confirmHooks(p, desired, digest)
	return interval, nil
}

// untilHooks is how long it is until hooks that nobody asked to change are looked at. There is no call for the hooks of many groups, so at rest the more
// pools there are the longer it is; but not when a look would be of use at this moment.
func (r *Reconciler) untilHooks(p *pass, desired autoscalinggroup.Desired, interval time.Duration) time.Duration {
	now := r.Clock.Now()
	last := r.hookLooks.GetOrPut(p.key(), hookLook{at: now, share: common.ShareOf(p.key())})
	wait := last.at.Add(time.Duration(float64(interval) * last.share)).Sub(now)
	rolls := p.wanted != nil && !p.settling && !p.wanted.Launches(*p.group)
	shrinks := desired.Capacity != nil && *desired.Capacity < p.group.Capacity
	if rolls || shrinks {
		wait = min(wait, last.at.Add(hookAge).Sub(now))
	}
	return wait
}

// confirmHooks has it recorded that the group has exactly these, and looks again in a while.
func (r *Reconciler) confirmHooks(p *pass, desired autoscalinggroup.Desired, digest string) {
	p.confirm(func(pool *infrav1.AWSMachinePool) {
		applied := common.AppliedOf(pool)
		applied.Hooks, applied.HooksDigest = autoscalinggroup.HookNames(desired.Hooks), digest
		applied.Record(pool)
	})
	r.hookLooks.Put(p.key(), hookLook{at: r.Clock.Now(), share: 1})
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
