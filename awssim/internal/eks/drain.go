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

// cordon marks a node as unschedulable.
func (ns *nodes) cordon(instance string) {
	if !ns.cordoned[instance] {
		ns.cordoned[instance] = true
		ns.notify(instance, EventCordoned)
	}
}

// uncordon lets a node accept pods again.
func (ns *nodes) uncordon(instance string) {
	if ns.cordoned[instance] {
		delete(ns.cordoned, instance)
		delete(ns.evicting, instance)
		ns.notify(instance, EventUncordoned)
	}
}

// drain cordons a node and begins to evict its pods, unless that was done before. It reports
// whether the node has no pods left: as SetNode set it, or when the drain time of the node's rule
// has passed. The group is reconciled again at that time.
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
