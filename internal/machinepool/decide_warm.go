package machinepool

import (
	"fmt"
	"slices"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// warmLookEvery is the interval at which a warm pool is checked whose instances leave.
const warmLookEvery = 30 * time.Second

// releaseWarmInstances releases the drain hook's hold on instances that leave a warm pool: AWS asks
// the hooks of the group for them too (AWS: warm-pool-instance-lifecycle), and there is nothing to
// drain.
func releaseWarmInstances(in input, plan *reconcile.Plan) bool {
	if !keepsWarm(in) {
		return true
	}
	err := in.Seen.Warm.Err
	if failure := reconcile.LastFailure[releaseWarm](in.Done); failure != nil {
		err = failure
	}
	switch {
	case err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodesDrainedCondition, infrav1.DrainingReason, err)
		return true
	case !in.Seen.Warm.Read:
		plan.Need(needWarmPool)
		return true
	}
	leaves := warmLeaves(in)
	var held []string
	for _, instance := range in.Seen.Warm.Leaving {
		if instance.Held() {
			held = append(held, instance.ID)
		} else {
			leaves = true
		}
	}
	if len(held) > 0 && !reconcile.Succeeded[releaseWarm](in.Done) {
		plan.Do(releaseWarm{Group: in.Seen.Group.Name, Instances: held}, "%s leave the warm pool, and are no nodes", named(held))
		return true
	}
	if leaves {
		plan.LookAgain(in.Seen.Warm.At.Add(warmLookEvery).Sub(in.Now))
	}
	return true
}

// keepsWarm reports whether the group has warm instances that the drain hook may hold.
func keepsWarm(in input) bool {
	group := in.Seen.Group
	return group != nil && !group.Deleting && !in.Seen.Adopting && group.WarmPoolSize > 0 && len(drainHooks(in)) > 0
}

// warmLeaves reports whether instances leave the warm pool: it has too many, or the refresh under
// way replaces them after the instances in service (AWS: ec2-auto-scaling-warm-pools, "Update the
// instances in a warm pool"). The size of the warm pool does not show that: it counts an instance
// on its way out, and the replacement may be late.
func warmLeaves(in input) bool {
	return in.Seen.Group.WarmSurplus() > 0 || newestRefresh(in).Active()
}

// newestRefresh returns the newest refresh that is known, nil if there is none.
func newestRefresh(in input) *autoscalinggroup.Refresh {
	if in.Seen.Refreshes.Read {
		return latest(in.Seen.Refreshes.List)
	}
	return latest(recorded(in.Object))
}

// warmSituation identifies the situation in which a warm pool was described. While it is the same, the
// warm pool has the same instances, unless some leave.
func warmSituation(in input) string {
	group, refresh := in.Seen.Group, newestRefresh(in)
	if refresh == nil {
		refresh = &autoscalinggroup.Refresh{}
	}
	return fmt.Sprintf("%d warm instances, %d of %d in the group, refresh %s %s", group.WarmPoolSize, len(group.Instances), group.Capacity, refresh.ID, refresh.Status)
}

// warmKnown reports whether the instances of the warm pool are known that a roll-out replaces. If AWS
// does not describe them, those in service are replaced all the same.
func warmKnown(in input, plan *reconcile.Plan) bool {
	group, warm := in.Seen.Group, in.Seen.Warm
	switch {
	case group.WarmPool == nil || group.WarmPoolDeleting || group.WarmPoolSize == 0 || warm.Read:
		return true
	case warm.Err == nil:
		plan.Need(needWarmPool)
		return false
	case len(sources(in)) > 0:
		return true
	}
	pool.ShowFailure(in.Object, plan, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, warm.Err)
	return false
}

// warmInstances returns the instances of the warm pool that stay, as far as they are known.
func warmInstances(in input) []autoscalinggroup.Instance {
	if group := in.Seen.Group; group.WarmPool == nil || group.WarmPoolDeleting {
		return nil
	}
	return in.Seen.Warm.Instances
}

// warmOutdated reports whether a roll-out is due to instances of the warm pool.
func warmOutdated(decision autoscalinggroup.Decision) bool {
	return slices.ContainsFunc(decision.Outdated, autoscalinggroup.Instance.Warmed)
}
