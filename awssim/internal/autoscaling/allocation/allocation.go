// Package allocation decides what a group launches next, and where: the places of a group and the
// instance types of its policy in the order in which launches try them.
package allocation

import (
	"cmp"
	"slices"

	"github.com/slipway-project/slipway/awssim/internal/list"
)

// Allocation strategies (SDK InstancesDistribution).
const (
	StrategyPrioritized                  = "prioritized"
	StrategyLowestPrice                  = "lowest-price"
	StrategyCapacityOptimized            = "capacity-optimized"
	StrategyCapacityOptimizedPrioritized = "capacity-optimized-prioritized"
	StrategyPriceCapacityOptimized       = "price-capacity-optimized"
)

// DefaultSpotPools is SpotInstancePools where none is given (SDK
// InstancesDistribution.SpotInstancePools).
const DefaultSpotPools = 2

// Choice holds one instance type that a launch may use: an override, or one of the types that an
// override's requirements match.
type Choice struct {
	Override     int // index in the policy, -1 without a policy
	InstanceType string
	Units        int
	OnDemand     float64 // price per hour and instance
	Spot         float64
	// DearOnDemand and DearSpot say that price protection excludes the type for a purchase option.
	DearOnDemand, DearSpot bool
	Running                int // instances of this type that the group runs as Spot, for spreading over pools
}

// Affordable returns the choices that price protection allows for a purchase option.
func Affordable(choices []Choice, spot bool) []Choice {
	return list.Filter(choices, func(c Choice) bool {
		if spot {
			return !c.DearSpot
		}
		return !c.DearOnDemand
	})
}

func (c Choice) perUnit(price float64) float64 { return price / float64(max(c.Units, 1)) }

// OnDemandTarget returns how many of total units should be On-Demand: the base, and the percentage
// of the units above it, rounded up in favor of On-Demand (SDK InstancesDistribution; rounding: UG
// mixed-instances-groups-instances-distribution).
func OnDemandTarget(total, base, percent int) int {
	return min(total, base+(max(0, total-base)*percent+99)/100)
}

// OrderOnDemand returns the choices in the order in which On-Demand launches try them.
func OrderOnDemand(strategy string, choices []Choice) []Choice {
	ordered := slices.Clone(choices)
	if strategy == StrategyLowestPrice {
		slices.SortStableFunc(ordered, func(a, b Choice) int {
			return cmp.Compare(a.perUnit(a.OnDemand), b.perUnit(b.OnDemand))
		})
	}
	return ordered
}

// OrderSpot returns the choices in the order in which Spot launches try them. For the strategies
// that depend on capacity, the simulation only knows whether a pool has some or none, which a
// failed launch finds out: price-capacity-optimized and capacity-optimized are the order of price,
// capacity-optimized-prioritized is the order of the overrides.
func OrderSpot(strategy string, pools int, choices []Choice) []Choice {
	ordered := slices.Clone(choices)
	if strategy == StrategyCapacityOptimizedPrioritized {
		return ordered
	}
	slices.SortStableFunc(ordered, func(a, b Choice) int { return cmp.Compare(a.perUnit(a.Spot), b.perUnit(b.Spot)) })
	if strategy == StrategyLowestPrice || strategy == "" {
		n := min(max(pools, 1), len(ordered))
		slices.SortStableFunc(ordered[:n], func(a, b Choice) int { return cmp.Compare(a.Running, b.Running) })
	}
	return ordered
}
