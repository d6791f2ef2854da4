// Package scalein decides which instance leaves when a group shrinks.
package scalein

import (
	"cmp"
	"slices"
	"time"

	"github.com/slipway-project/slipway/awssim/internal/list"
)

// Termination policies (SDK CreateAutoScalingGroupInput.TerminationPolicies).
const (
	PolicyDefault                   = "Default"
	PolicyAllocationStrategy        = "AllocationStrategy"
	PolicyClosestToNextInstanceHour = "ClosestToNextInstanceHour"
	PolicyNewestInstance            = "NewestInstance"
	PolicyOldestInstance            = "OldestInstance"
	PolicyOldestLaunchConfiguration = "OldestLaunchConfiguration"
	PolicyOldestLaunchTemplate      = "OldestLaunchTemplate"
)

// Policies lists the termination policies that a group can name, besides Lambda functions.
var Policies = []string{
	PolicyAllocationStrategy, PolicyClosestToNextInstanceHour, PolicyDefault, PolicyNewestInstance, PolicyOldestInstance,
	PolicyOldestLaunchConfiguration, PolicyOldestLaunchTemplate,
}

// Candidate holds what scale-in sees of an instance in service.
type Candidate struct {
	ID              string
	Zone            string
	Units           int
	Spot            bool
	Protected       bool
	Unhealthy       bool
	Launched        time.Time
	CurrentTemplate bool // launched from the launch template that the group names now
	Version         int  // of the launch template
	// when its launch configuration was created; zero if it was launched from a launch template
	Configured time.Time
	Preference int // how far down the allocation strategy's order its instance type is; 0 is best
}

// Decision holds what of a group decides which instance leaves.
type Decision struct {
	Zones    []string // of the group; what runs elsewhere leaves first
	Policies []string
	Mixed    bool
	// SurplusSpot and SurplusOnDemand say which purchase options have more capacity than the
	// group's distribution wants.
	SurplusSpot, SurplusOnDemand bool
	Now                          time.Time
}

// Choose returns the instance that leaves, or false if every instance is protected. Unhealthy
// instances go first and pass by the policies; then zonal balance takes precedence over every
// policy (UG ec2-auto-scaling-termination-policies).
func (d Decision) Choose(all []Candidate) (Candidate, bool) {
	if sick := slices.IndexFunc(all, func(c Candidate) bool { return c.Unhealthy && !c.Protected }); sick >= 0 {
		return all[sick], true
	}
	left := d.inFullestZones(d.ofSurplusOption(all))
	if len(left) == 0 {
		return Candidate{}, false
	}
	policies := d.Policies
	if len(policies) == 0 {
		policies = []string{PolicyDefault}
	}
	for _, p := range policies {
		left = d.apply(p, left)
	}
	// AWS leaves the rest to chance; the oldest, then the smallest id, keeps the simulation repeatable.
	return slices.MinFunc(left, func(a, b Candidate) int {
		return cmp.Or(a.Launched.Compare(b.Launched), cmp.Compare(a.ID, b.ID))
	}), true
}

// ofSurplusOption keeps the instances of the purchase option that exceeds its share (UG
// ec2-auto-scaling-termination-policies, mixed instances).
func (d Decision) ofSurplusOption(all []Candidate) []Candidate {
	if !d.Mixed || d.SurplusSpot == d.SurplusOnDemand {
		return all
	}
	kept := list.Filter(all, func(c Candidate) bool { return c.Spot == d.SurplusSpot })
	if !slices.ContainsFunc(kept, func(c Candidate) bool { return !c.Protected }) {
		return all
	}
	return kept
}

// inFullestZones returns the unprotected instances of the zones that have the most instances and at
// least one unprotected; those in zones that are no longer the group's before all others.
func (d Decision) inFullestZones(all []Candidate) []Candidate {
	free := list.Filter(all, func(c Candidate) bool { return !c.Protected })
	if stray := list.Filter(free, func(c Candidate) bool { return !slices.Contains(d.Zones, c.Zone) }); len(stray) > 0 {
		return stray
	}
	count := map[string]int{}
	for _, c := range all {
		count[c.Zone]++
	}
	most := 0
	for _, c := range free {
		most = max(most, count[c.Zone])
	}
	return list.Filter(free, func(c Candidate) bool { return count[c.Zone] == most })
}

// apply narrows the choice to what one policy prefers to lose.
func (d Decision) apply(policy string, left []Candidate) []Candidate {
	switch policy {
	case PolicyDefault:
		if d.Mixed {
			left = d.apply(PolicyAllocationStrategy, left)
		}
		// Instances with a launch configuration go before instances with a launch template (UG
		// ec2-auto-scaling-termination-policies).
		if slices.ContainsFunc(left, hasConfiguration) {
			left = d.apply(PolicyOldestLaunchConfiguration, left)
		} else {
			left = d.apply(PolicyOldestLaunchTemplate, left)
		}
		return d.apply(PolicyClosestToNextInstanceHour, left)
	case PolicyAllocationStrategy:
		worst := slices.MaxFunc(left, byPreference).Preference
		return list.Filter(left, func(c Candidate) bool { return c.Preference == worst })
	case PolicyOldestLaunchTemplate:
		if other := list.Filter(left, func(c Candidate) bool { return !c.CurrentTemplate }); len(other) > 0 {
			return other
		}
		oldest := slices.MinFunc(left, func(a, b Candidate) int { return cmp.Compare(a.Version, b.Version) }).Version
		return list.Filter(left, func(c Candidate) bool { return c.Version == oldest })
	case PolicyOldestLaunchConfiguration:
		configured := list.Filter(left, hasConfiguration)
		if len(configured) == 0 {
			return left
		}
		oldest := slices.MinFunc(configured, func(a, b Candidate) int { return a.Configured.Compare(b.Configured) }).Configured
		return list.Filter(configured, func(c Candidate) bool { return c.Configured.Equal(oldest) })
	case PolicyClosestToNextInstanceHour:
		closest := d.untilHour(slices.MinFunc(left, func(a, b Candidate) int { return cmp.Compare(d.untilHour(a), d.untilHour(b)) }))
		return list.Filter(left, func(c Candidate) bool { return d.untilHour(c) == closest })
	case PolicyOldestInstance:
		oldest := slices.MinFunc(left, byLaunch).Launched
		return list.Filter(left, func(c Candidate) bool { return c.Launched.Equal(oldest) })
	case PolicyNewestInstance:
		newest := slices.MaxFunc(left, byLaunch).Launched
		return list.Filter(left, func(c Candidate) bool { return c.Launched.Equal(newest) })
	}
	// A Lambda function is not called; AWS falls back to the default policy if it does not answer
	// (UG lambda-custom-termination-policy).
	return left
}

func hasConfiguration(c Candidate) bool { return !c.Configured.IsZero() }

func byPreference(a, b Candidate) int { return cmp.Compare(a.Preference, b.Preference) }
func byLaunch(a, b Candidate) int     { return a.Launched.Compare(b.Launched) }

// untilHour returns how long an instance still runs in the hour that it began.
func (d Decision) untilHour(c Candidate) time.Duration {
	return time.Hour - d.Now.Sub(c.Launched)%time.Hour
}
