package awsmachinepool

import (
	"context"
	"slices"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// warmLookEvery is how often a warm pool is looked at that has more instances than it is to have.
const warmLookEvery = 30 * time.Second

// warmLook is a look at a warm pool.
type warmLook struct {
	at time.Time
	// size is how many instances the warm pool had.
	size int32
}

// letWarmGo ends the hold of the drain hook on instances that leave a warm pool: AWS asks the hooks of the group for them too (AWS:
// warm-pool-instance-lifecycle), and there is nothing to drain. AWS lists them by a call for each group, which is made when the size of the warm pool
// is another, and while it is too large.
func (r *Reconciler) letWarmGo(ctx context.Context, p *pass) reconciling.Outcome {
	if !keepsWarm(p) {
		r.warmLooks.Forget(p.key())
		return reconciling.Continue()
	}
	now, shrinking := r.Clock.Now(), p.group.WarmSurplus() > 0
	if seen, known := r.warmLooks.Get(p.key()); known && seen.size == p.group.WarmPoolSize {
		wait := warmLookEvery - now.Sub(seen.at)
		switch {
		case !shrinking:
			return reconciling.Continue()
		case wait > 0:
			return reconciling.ContinueAndComeBack(wait, "the warm pool shrinks")
		}
	}
	instances, err := p.cloud.Groups.WarmInstances(ctx, p.group.Name)
	if err != nil {
		return outcome.Of(p.pool, infrav1.NodesDrainedCondition, infrav1.DrainingReason, err).AndGoOn()
	}
	leaving := slices.DeleteFunc(instances, func(instance autoscalinggroup.Instance) bool { return !instance.Leaving() })
	for _, instance := range leaving {
		if !instance.Held() {
			shrinking = true
			continue
		}
		if err := p.cloud.Groups.LetGo(ctx, p.group.Name, instance.ID); err != nil {
			return outcome.Of(p.pool, infrav1.NodesDrainedCondition, infrav1.DrainingReason, err).AndGoOn()
		}
	}
	r.warmLooks.Put(p.key(), warmLook{at: now, size: p.group.WarmPoolSize})
	if shrinking {
		return reconciling.ContinueAndComeBack(warmLookEvery, "the warm pool shrinks")
	}
	return reconciling.Continue()
}

// keepsWarm is true for a group with warm instances that the drain hook may hold.
func keepsWarm(p *pass) bool {
	return p.group != nil && !p.group.Deleting && !p.adopting && p.group.WarmPoolSize > 0 && len(drainHooks(p)) > 0
}
