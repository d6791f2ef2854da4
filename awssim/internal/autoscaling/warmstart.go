package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
)

// fromWarmPool takes an instance out of the warm pool for a scale-out: a warm start. Replacements
// of a refresh are launched anew, for what rests in the pool is not updated.
func (l *launcher) fromWarmPool(g *group, reason string) *member {
	if g.warm == nil || g.refresh != nil {
		return nil
	}
	for _, p := range l.planner.places(g) {
		for _, m := range g.members {
			if !resting(m) || m.zone != p.Zone || p.Subnet != "" && m.subnet != p.Subnet {
				continue
			}
			if !l.warmStart(g, m) {
				continue
			}
			before := g.capacity()
			m.state, m.actions, m.outcome = types.LifecycleStatePending, nil, ""
			l.groups.wake(g, reaction) // it may be running already, so that EC2 sends no event
			m.run = l.activities.begin(g, m, "Launching a new EC2 instance from warm pool: "+m.id, l.launchCause(g, before, before+m.units, reason))
			return m
		}
	}
	return nil
}

// warmStart starts an instance that rests in the warm pool. One that EC2 cannot start is a failed
// launch and is terminated (UG ec2-auto-scaling-warm-pools, "Limitations").
func (l *launcher) warmStart(g *group, m *member) bool {
	switch l.compute.state(m.id) {
	case ec2types.InstanceStateNameRunning:
		return m.state == types.LifecycleStateWarmedRunning
	case ec2types.InstanceStateNameStopped:
	default:
		return false // it is still stopping: a cold start is faster
	}
	if err := ec2.StartInstances(l.region, m.id); err != nil {
		l.launchFailed(g, &allocation.Place{Zone: m.zone, Subnet: m.subnet}, err)
		l.lifecycle.startTermination(g, m, causeOutOfService(l.kernel.Now(), "a failed start from the warm pool"))
		return false
	}
	return true
}
