package eks

import (
	"time"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// EventDraining is the state of the event of kind "node" which tells that EKS has cordoned the node of an instance and evicts its pods.
const EventDraining = "draining"

// drain cordons a node, if that has not happened, and reports whether it has no pods left: as was said of it, else when the time of its rule has
// passed. It has the group reconciled when that is so.
func (s *service) drain(g *group, instance string) bool {
	i, ok := ec2.LookupInstance(s.region, instance)
	if !ok {
		return true
	}
	rule, now := s.rule(g, i), s.kernel.Now()
	begun, cordoned := s.cordoned[instance]
	if !cordoned {
		begun = now
		s.cordoned[instance] = now
		s.kernel.Emit(sim.Event{Account: s.region.Account.ID, Region: s.region.Name, Kind: "node", ID: instance, State: EventDraining})
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
