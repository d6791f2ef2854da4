package autoscaling

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file contains what other services, and the user of the simulation, read and set in a Region.

// Group is a group as it is now. Callers must not change the values that its pointers refer to.
type Group struct {
	types.AutoScalingGroup
	Warm       []types.Instance // in its warm pool
	Refreshing bool             // an instance refresh is active
	// Failure is why the last launch failed, and FailureMessage what its activity says; nil and ""
	// once one has succeeded.
	Failure        *sim.Error
	FailureMessage string
}

// LookupGroup returns the group of that name as it is now, whatever the read lag. Only for code
// under the kernel's lock.
func LookupGroup(r *sim.Region, name string) (Group, bool) {
	gs := regional(r).groups
	g := gs.byName[name]
	if g == nil {
		return Group{}, false
	}
	return gs.now(g), true
}

// Groups returns all groups as they are now, in the order of their creation, like LookupGroup.
func Groups(r *sim.Region) []Group {
	gs := regional(r).groups
	all := make([]Group, len(gs.order))
	for i, g := range gs.order {
		all[i] = gs.now(g)
	}
	return all
}

// now returns a group as it is now.
func (gs *groups) now(g *group) Group {
	found := Group{AutoScalingGroup: gs.describe(g), Refreshing: g.refresh != nil, Failure: g.failure, FailureMessage: g.failureMessage}
	for _, m := range g.members {
		if m.warmed() {
			found.Warm = append(found.Warm, gs.describeInstance(m))
		} else {
			found.Instances = append(found.Instances, gs.describeInstance(m))
		}
	}
	return found
}

// OnGroupChange calls f with the name of every group that has changed, or may have. f runs under
// the kernel's lock and stays until the Region is reset.
func OnGroupChange(r *sim.Region, f func(name string)) {
	gs := regional(r).groups
	gs.watchers = append(gs.watchers, f)
}

// SetAlarm sets the state of an alarm, which must have passed Check. Only under the kernel's lock.
func SetAlarm(r *sim.Region, name string, state AlarmState) {
	s := regional(r)
	s.alarms[name] = state
	for _, g := range s.groups.order {
		if g.refresh != nil {
			s.groups.wake(g, 0)
		}
	}
}

// Alarms returns the alarms that were set, with their states. Only under the kernel's lock.
func Alarms(r *sim.Region) map[string]AlarmState { return maps.Clone(regional(r).alarms) }

// SetCrossZone says whether the load balancer of a target group sends traffic from one zone to
// targets in others. It does, until this says otherwise. Elastic Load Balancing itself is not
// simulated: this is for groups with zonal shift. Only under the kernel's lock.
func SetCrossZone(r *sim.Region, targetGroup string, enabled bool) {
	s := regional(r)
	delete(s.ownZoneOnly, targetGroup)
	if !enabled {
		s.ownZoneOnly[targetGroup] = true
	}
}
