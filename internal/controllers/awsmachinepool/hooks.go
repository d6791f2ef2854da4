package awsmachinepool

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// hookCheck is how often a pool's hooks are looked at while nobody changes them: there is no call for the hooks of many groups.
const hookCheck = time.Hour

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
		return 0, nil
	}
	now := r.Clock.Now()
	if wait := r.hookChecks.GetOrPut(p.key(), firstHookCheck(p.key(), now)).Sub(now); applied.HooksDigest == digest && digest != "" && wait > 0 {
		return wait, nil
	}
	if p.hooksMade {
		return hookCheck, r.confirmHooks(ctx, p, desired, digest)
	}
	done, err := p.cloud.Groups.EnsureHooks(ctx, p.group.Name, desired.Hooks, applied.Hooks)
	if len(done) > 0 {
		r.Report.Done(ctx, p.pool, "ASGHooksChanged", "Changed Auto Scaling group %s: %s", p.group.Name, strings.Join(done, "; "))
	}
	if err != nil {
		stop := outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err).AndGoOn()
		return 0, &stop
	}
	return hookCheck, r.confirmHooks(ctx, p, desired, digest)
}

// confirmHooks records that the group has exactly these, and looks again in a while.
func (r *Reconciler) confirmHooks(ctx context.Context, p *pass, desired autoscalinggroup.Desired, digest string) *reconciling.Outcome {
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) {
		applied := common.AppliedOf(pool)
		applied.Hooks, applied.HooksDigest = autoscalinggroup.HookNames(desired.Hooks), digest
		applied.Record(pool)
	})
	if err != nil {
		stop := reconciling.Fail(fmt.Errorf("recording the hooks: %w", err))
		return &stop
	}
	r.hookChecks.Put(p.key(), r.Clock.Now().Add(hookCheck))
	return nil
}

// announce records what the group is about to be given, beside what it was given before.
func (r *Reconciler) announce(ctx context.Context, p *pass, desired autoscalinggroup.Desired) error {
	asked := p.facts.AskedTags(p.pool.Spec.AdditionalTags)
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) {
		common.AnnounceTags(pool, asked)
		applied := common.AppliedOf(pool)
		names := autoscalinggroup.HookNames(desired.Hooks)
		applied.Hooks = common.Union(applied.Hooks, names)
		if len(names) == 0 || applied.HooksDigest != autoscalinggroup.HooksDigest(desired.Hooks) {
			applied.HooksDigest = ""
		}
		applied.TargetGroups = common.Union(applied.TargetGroups, desired.TargetGroupARNs)
		applied.Processes = common.Union(applied.Processes, desired.Suspended)
		applied.Record(pool)
	})
	if err != nil {
		return fmt.Errorf("recording what the group is given: %w", err)
	}
	return nil
}

// confirm records that the group has exactly what it is to have, hooks apart.
func (r *Reconciler) confirm(ctx context.Context, p *pass, desired autoscalinggroup.Desired) error {
	asked := p.facts.AskedTags(p.pool.Spec.AdditionalTags)
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) {
		common.ConfirmTags(pool, asked)
		applied := common.AppliedOf(pool)
		applied.TargetGroups, applied.Processes = desired.TargetGroupARNs, desired.Suspended
		applied.Record(pool)
	})
	if err != nil {
		return fmt.Errorf("recording what the group was given: %w", err)
	}
	return nil
}

// firstHookCheck is when a process looks at a pool's hooks for the first time: some time within the interval, another for each pool, so that a new
// process does not look at all of them at once.
func firstHookCheck(pool types.NamespacedName, now time.Time) time.Time {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pool.String())) // never fails
	return now.Add(time.Duration(float64(hookCheck) * float64(hash.Sum32()) / (1 << 32)))
}
