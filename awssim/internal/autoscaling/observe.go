package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file is what services that run a group of their own, as EKS does, see of it.

// Group is a group as it is now. What its pointers lead to must not be changed.
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
	s := regional(r)
	g := s.groups[name]
	if g == nil {
		return Group{}, false
	}
	found := Group{AutoScalingGroup: g.describe(s), Refreshing: g.refresh != nil, Failure: g.failure, FailureMessage: g.failureMessage}
	for _, m := range g.members {
		if m.warmed() {
			found.Warm = append(found.Warm, m.describe(s))
		} else {
			found.Instances = append(found.Instances, m.describe(s))
		}
	}
	return found, true
}

// OnGroupChange makes f hear of every group that has changed, or may have, by name. f runs under
// the kernel's lock and stays until the Region is reset.
func OnGroupChange(r *sim.Region, f func(name string)) {
	s := regional(r)
	s.watchers = append(s.watchers, f)
}

func (s *service) tellWatchers(g *group) {
	for _, f := range s.watchers {
		f(g.name)
	}
}
