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

func (s *service) tell(instance, state string) {
	s.kernel.Emit(sim.Event{Account: s.region.Account.ID, Region: s.region.Name, Kind: "node", ID: instance, State: state})
}

func (s *service) cordon(instance string) {
	if !s.cordoned[instance] {
		s.cordoned[instance] = true
		s.tell(instance, EventCordoned)
	}
}

func (s *service) uncordon(instance string) {
	if s.cordoned[instance] {
		delete(s.cordoned, instance)
		delete(s.evicting, instance)
		s.tell(instance, EventUncordoned)
	}
}

// drain cordons a node, if that has not happened, and reports whether it has no pods left: as
// SetNode set it, else when the time of its rule has passed. It has the group reconciled when that
// is so.
func (s *service) drain(g *group, instance string) bool {
	i, ok := ec2.LookupInstance(s.region, instance)
	if !ok {
		return true
	}
	rule, now := s.rule(g, i), s.kernel.Now()
	s.cordon(instance)
	begun, evicting := s.evicting[instance]
	if !evicting {
		begun = now
		s.evicting[instance] = now
		s.tell(instance, EventDraining)
	}
	if said := s.nodes[instance].Drained; said != nil {
		return *said
	}
	if rule.NeverDrained || s.kernel.Behavior().NodesReport {
		return false
	}
	left := begun.Add(rule.DrainTime).Sub(now)
	if left > 0 {
		s.wake(g, max(left, time.Millisecond))
	}
	return left <= 0
}
