package autoscaling

import (
	"cmp"
	"slices"
	"time"
)

// This file decides where instances are launched and which ones leave when a group shrinks. It is pure.

// place is a subnet, or a whole zone for a group without subnets, with what the group runs there.
type place struct {
	zone   string
	subnet string
	count  int // instances of the group in the subnet
	stay   int // those of them that a refresh under way does not replace
}

// orderPlaces returns the places in the order in which a launch should try them: the zone with the
// fewest instances first, and in it the subnet with the fewest (UG auto-scaling-benefits, "Balance
// capacity across Availability Zones"). Equal ones keep the group's order. What a refresh is about
// to replace counts only where the rest is equal, so that the group is balanced when the refresh is
// done.
func orderPlaces(places []place) []place {
	stay, all := map[string]int{}, map[string]int{}
	for _, p := range places {
		stay[p.zone] += p.stay
		all[p.zone] += p.count
	}
	ordered := slices.Clone(places)
	slices.SortStableFunc(ordered, func(a, b place) int {
		return cmp.Or(cmp.Compare(stay[a.zone], stay[b.zone]), cmp.Compare(all[a.zone], all[b.zone]),
			cmp.Compare(a.stay, b.stay), cmp.Compare(a.count, b.count))
	})
	return ordered
}

// Termination policies (SDK CreateAutoScalingGroupInput.TerminationPolicies).
const (
	policyDefault                   = "Default"
	policyAllocationStrategy        = "AllocationStrategy"
	policyClosestToNextInstanceHour = "ClosestToNextInstanceHour"
	policyNewestInstance            = "NewestInstance"
	policyOldestInstance            = "OldestInstance"
	policyOldestLaunchConfiguration = "OldestLaunchConfiguration"
	policyOldestLaunchTemplate      = "OldestLaunchTemplate"
)

var terminationPolicies = []string{
	policyAllocationStrategy, policyClosestToNextInstanceHour, policyDefault, policyNewestInstance, policyOldestInstance,
	policyOldestLaunchConfiguration, policyOldestLaunchTemplate,
}

// candidate is an instance in service, as scale-in sees it.
type candidate struct {
	id              string
	zone            string
	units           int
	spot            bool
	protected       bool
	unhealthy       bool
	launched        time.Time
	currentTemplate bool // launched from the launch template that the group names now
	version         int  // of the launch template
	// when its launch configuration was created; zero if it was launched from a launch template
	configured time.Time
	preference int // how far down the allocation strategy's order its instance type is; 0 is best
}

// scaleIn is one decision which instance leaves.
type scaleIn struct {
	zones    []string // of the group; what runs elsewhere leaves first
	policies []string
	mixed    bool
	// surplusSpot and surplusOnDemand say which purchase options have more capacity than the
	// group's distribution wants.
	surplusSpot, surplusOnDemand bool
	now                          time.Time
}

// choose returns the instance that leaves, or false if every instance is protected. Unhealthy
// instances go first and pass by the policies; then zonal balance takes precedence over every
// policy (UG ec2-auto-scaling-termination-policies).
func (s scaleIn) choose(all []candidate) (candidate, bool) {
	if sick := slices.IndexFunc(all, func(c candidate) bool { return c.unhealthy && !c.protected }); sick >= 0 {
		return all[sick], true
	}
	left := s.inFullestZones(s.ofSurplusOption(all))
	if len(left) == 0 {
		return candidate{}, false
	}
	policies := s.policies
	if len(policies) == 0 {
		policies = []string{policyDefault}
	}
	for _, p := range policies {
		left = s.apply(p, left)
	}
	// AWS leaves the rest to chance; the oldest, then the smallest id, keeps the simulation repeatable.
	return slices.MinFunc(left, func(a, b candidate) int {
		return cmp.Or(a.launched.Compare(b.launched), cmp.Compare(a.id, b.id))
	}), true
}

// ofSurplusOption keeps the purchase option of which there is too much (UG
// ec2-auto-scaling-termination-policies, mixed instances).
func (s scaleIn) ofSurplusOption(all []candidate) []candidate {
	if !s.mixed || s.surplusSpot == s.surplusOnDemand {
		return all
	}
	kept := filter(all, func(c candidate) bool { return c.spot == s.surplusSpot })
	if !slices.ContainsFunc(kept, func(c candidate) bool { return !c.protected }) {
		return all
	}
	return kept
}

// inFullestZones returns the unprotected instances of the zones that have the most instances and at
// least one unprotected; those in zones that are no longer the group's before all others.
func (s scaleIn) inFullestZones(all []candidate) []candidate {
	free := filter(all, func(c candidate) bool { return !c.protected })
	if stray := filter(free, func(c candidate) bool { return !slices.Contains(s.zones, c.zone) }); len(stray) > 0 {
		return stray
	}
	count := map[string]int{}
	for _, c := range all {
		count[c.zone]++
	}
	most := 0
	for _, c := range free {
		most = max(most, count[c.zone])
	}
	return filter(free, func(c candidate) bool { return count[c.zone] == most })
}

// apply narrows the choice to what one policy prefers to lose.
func (s scaleIn) apply(policy string, left []candidate) []candidate {
	switch policy {
	case policyDefault:
		if s.mixed {
			left = s.apply(policyAllocationStrategy, left)
		}
		// What has a launch configuration goes before what has a launch template (UG
		// ec2-auto-scaling-termination-policies).
		if slices.ContainsFunc(left, hasConfiguration) {
			left = s.apply(policyOldestLaunchConfiguration, left)
		} else {
			left = s.apply(policyOldestLaunchTemplate, left)
		}
		return s.apply(policyClosestToNextInstanceHour, left)
	case policyAllocationStrategy:
		worst := slices.MaxFunc(left, byPreference).preference
		return filter(left, func(c candidate) bool { return c.preference == worst })
	case policyOldestLaunchTemplate:
		if other := filter(left, func(c candidate) bool { return !c.currentTemplate }); len(other) > 0 {
			return other
		}
		oldest := slices.MinFunc(left, func(a, b candidate) int { return cmp.Compare(a.version, b.version) }).version
		return filter(left, func(c candidate) bool { return c.version == oldest })
	case policyOldestLaunchConfiguration:
		configured := filter(left, hasConfiguration)
		if len(configured) == 0 {
			return left
		}
		oldest := slices.MinFunc(configured, func(a, b candidate) int { return a.configured.Compare(b.configured) }).configured
		return filter(configured, func(c candidate) bool { return c.configured.Equal(oldest) })
	case policyClosestToNextInstanceHour:
		closest := s.untilHour(slices.MinFunc(left, func(a, b candidate) int { return cmp.Compare(s.untilHour(a), s.untilHour(b)) }))
		return filter(left, func(c candidate) bool { return s.untilHour(c) == closest })
	case policyOldestInstance:
		oldest := slices.MinFunc(left, byLaunch).launched
		return filter(left, func(c candidate) bool { return c.launched.Equal(oldest) })
	case policyNewestInstance:
		newest := slices.MaxFunc(left, byLaunch).launched
		return filter(left, func(c candidate) bool { return c.launched.Equal(newest) })
	}
	// A Lambda function is not called; AWS falls back to the default policy if it does not answer
	// (UG lambda-custom-termination-policy).
	return left
}

func hasConfiguration(c candidate) bool { return !c.configured.IsZero() }

func byPreference(a, b candidate) int { return cmp.Compare(a.preference, b.preference) }
func byLaunch(a, b candidate) int     { return a.launched.Compare(b.launched) }

// untilHour is how long an instance still runs in the hour that it began.
func (s scaleIn) untilHour(c candidate) time.Duration {
	return time.Hour - s.now.Sub(c.launched)%time.Hour
}

func filter[T any](all []T, keep func(T) bool) []T {
	var kept []T
	for _, v := range all {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
