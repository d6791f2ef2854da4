package autoscaling

import "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

// warmPool keeps initialized instances ready for a group (UG ec2-auto-scaling-warm-pools).
type warmPool struct {
	state       types.WarmPoolState
	min         int
	maxPrepared *int32 // nil: up to the maximum size of the group
	reuse       *types.InstanceReusePolicy
	deleting    bool
}

func (w *warmPool) describe() *types.WarmPoolConfiguration {
	d := &types.WarmPoolConfiguration{
		PoolState: w.state, MinSize: number(w.min), MaxGroupPreparedCapacity: w.maxPrepared, InstanceReusePolicy: w.reuse,
	}
	if w.deleting {
		d.Status = types.WarmPoolStatusPendingDelete
	}
	return d
}

// size returns how many instances the pool should hold: what is left from the desired capacity to
// the prepared one, at least the minimum.
func (w *warmPool) size(most, desired int) int {
	if w.deleting {
		return 0
	}
	return max(w.min, int(valOr(w.maxPrepared, *number(most)))-desired, 0)
}

// restState is the state in which instances wait in the pool.
func (w *warmPool) restState() types.LifecycleState {
	switch w.state {
	case types.WarmPoolStateRunning:
		return types.LifecycleStateWarmedRunning
	case types.WarmPoolStateHibernated:
		return types.LifecycleStateWarmedHibernated
	default:
		return types.LifecycleStateWarmedStopped
	}
}
