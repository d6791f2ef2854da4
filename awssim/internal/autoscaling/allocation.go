package autoscaling

import (
	"cmp"
	"slices"
)

// This file decides, for groups with a mixed instances policy, which purchase option and which
// instance type comes next. It is pure.

// Allocation strategies (SDK InstancesDistribution).
const (
	strategyPrioritized                  = "prioritized"
	strategyLowestPrice                  = "lowest-price"
	strategyCapacityOptimized            = "capacity-optimized"
	strategyCapacityOptimizedPrioritized = "capacity-optimized-prioritized"
	strategyPriceCapacityOptimized       = "price-capacity-optimized"
)

// defaultSpotPools is SpotInstancePools where none is given (SDK InstancesDistribution.SpotInstancePools).
const defaultSpotPools = 2

// choice is one instance type that a launch may use: an override, or one of the types that an
// override's requirements match.
type choice struct {
	override     int // index in the policy, -1 without a policy
	instanceType string
	units        int
	onDemand     float64 // price per hour and instance
	spot         float64
	// dearOnDemand and dearSpot say that price protection excludes the type for a purchase option.
	dearOnDemand, dearSpot bool
	running                int // instances of this type that the group runs as Spot, for spreading over pools
}

// affordable returns the choices that price protection allows for a purchase option.
func affordable(choices []choice, spot bool) []choice {
	return filter(choices, func(c choice) bool {
		if spot {
			return !c.dearSpot
		}
		return !c.dearOnDemand
	})
}

func (c choice) perUnit(price float64) float64 { return price / float64(max(c.units, 1)) }

// onDemandTarget returns how many of total units should be On-Demand: the base, and the percentage
// of what is above it, rounded up in favor of On-Demand (SDK InstancesDistribution; rounding: UG
// mixed-instances-groups-instances-distribution).
func onDemandTarget(total, base, percent int) int {
	return min(total, base+percentUp(max(0, total-base), percent))
}

// orderOnDemand returns the choices in the order in which On-Demand launches try them.
func orderOnDemand(strategy string, choices []choice) []choice {
	ordered := slices.Clone(choices)
	if strategy == strategyLowestPrice {
		slices.SortStableFunc(ordered, func(a, b choice) int {
			return cmp.Compare(a.perUnit(a.onDemand), b.perUnit(b.onDemand))
		})
	}
	return ordered
}

// orderSpot returns the choices in the order in which Spot launches try them. The strategies that
// look at capacity cannot know more here than that a pool has some or none, which a failed launch
// finds out: price-capacity-optimized and capacity-optimized are the order of price,
// capacity-optimized-prioritized is the order of the overrides.
func orderSpot(strategy string, pools int, choices []choice) []choice {
	ordered := slices.Clone(choices)
	if strategy == strategyCapacityOptimizedPrioritized {
		return ordered
	}
	slices.SortStableFunc(ordered, func(a, b choice) int { return cmp.Compare(a.perUnit(a.spot), b.perUnit(b.spot)) })
	if strategy == strategyLowestPrice || strategy == "" {
		n := min(max(pools, 1), len(ordered))
		slices.SortStableFunc(ordered[:n], func(a, b choice) int { return cmp.Compare(a.running, b.running) })
	}
	return ordered
}
