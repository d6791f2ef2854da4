package eks

import (
	"time"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// States of events of kind "node", whose id is the instance's: EKS has marked it as unschedulable,
// evicts its pods, or lets pods in again.
const (
	EventCordoned   = "cordoned"
	EventDraining   = "draining"
	EventUncordoned = "uncordoned"
)

// notify notifies the simulator's subscribers of a new state of a node.
func (ns *nodes) notify(instance, state string) {
	ns.kernel.Emit(sim.Event{Account: ns.region.Account.ID, Region: ns.region.Name, Kind: "node", ID: instance, State: state})
}

func (ns *nodes) cordon(instance string) {
	if !ns.cordoned[instance] {
		ns.cordoned[instance] = true
		ns.notify(instance, EventCordoned)
	}
}

func (ns *nodes) uncordon(instance string) {
	if ns.cordoned[instance] {
		delete(ns.cordoned, instance)
		delete(ns.evicting, instance)
		ns.notify(instance, EventUncordoned)
	}
}

// drain cordons a node, if that has not happened, and reports whether it has no pods left: as
// SetNode set it, else when the time of its rule has passed. It has the group reconciled when that
// is so.
func (ns *nodes) drain(g *group, instance string) bool {
	i, ok := ec2.LookupInstance(ns.region, instance)
	if !ok {
		return true
	}
	rule, now := ns.rule(g, i), ns.kernel.Now()
	ns.cordon(instance)
	begun, evicting := ns.evicting[instance]
	if !evicting {
		begun = now
		ns.evicting[instance] = now
		ns.notify(instance, EventDraining)
	}
	if said := ns.states[instance].Drained; said != nil {
		return *said
	}
	if rule.NeverDrained || ns.kernel.Behavior().NodesReport {
		return false
	}
	left := begun.Add(rule.DrainTime).Sub(now)
	if left > 0 {
		ns.groups.wake(g, max(left, time.Millisecond))
	}
	return left <= 0
}
