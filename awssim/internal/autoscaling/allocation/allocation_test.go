package allocation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnDemandTarget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason                     string
		total, base, percent, want int
	}{
		{"all of it", 10, 0, 100, 10},
		{"none of it", 10, 0, 0, 0},
		{"the base alone", 10, 3, 0, 3},
		{"no more than there is", 2, 3, 0, 2},
		{"the base, and half of the rest", 10, 2, 50, 6},
		{"half of an odd rest is rounded up", 5, 2, 50, 4},
	}
	for _, tt := range tests {
		if got := OnDemandTarget(tt.total, tt.base, tt.percent); got != tt.want {
			t.Errorf("%s: %d units with base %d and %d%%: %d On-Demand, want %d", tt.reason, tt.total, tt.base, tt.percent, got, tt.want)
		}
	}
}

// large costs twice as much as small and weighs four times as much, so that it is cheaper per unit.
var (
	small = Choice{InstanceType: "small", Units: 1, OnDemand: 1, Spot: 0.5}
	large = Choice{InstanceType: "large", Units: 4, OnDemand: 2, Spot: 1}
	other = Choice{InstanceType: "other", Units: 1, OnDemand: 3, Spot: 0.4}
)

func TestOrder(t *testing.T) {
	t.Parallel()
	onDemand := func(strategy string) func([]Choice) []Choice {
		return func(all []Choice) []Choice { return OrderOnDemand(strategy, all) }
	}
	spot := func(strategy string, pools int) func([]Choice) []Choice {
		return func(all []Choice) []Choice { return OrderSpot(strategy, pools, all) }
	}
	running := func(c Choice, n int) Choice {
		c.Running = n
		return c
	}
	tests := []struct {
		reason  string
		order   func([]Choice) []Choice
		choices []Choice
		want    []string
	}{
		{"prioritized keeps the order of the overrides", onDemand(StrategyPrioritized), []Choice{other, small, large}, []string{"other", "small", "large"}},
		{"lowest-price compares prices per unit", onDemand(StrategyLowestPrice), []Choice{other, small, large}, []string{"large", "small", "other"}},
		{"equal prices keep the order of the overrides", onDemand(StrategyLowestPrice),
			[]Choice{{InstanceType: "b", Units: 1, OnDemand: 1}, {InstanceType: "a", Units: 1, OnDemand: 1}}, []string{"b", "a"}},
		{"a choice without units counts as one unit", onDemand(StrategyLowestPrice),
			[]Choice{small, {InstanceType: "unsized", OnDemand: 0.9}}, []string{"unsized", "small"}},
		{"Spot goes by the Spot price", spot(StrategyPriceCapacityOptimized, 0), []Choice{small, other, large}, []string{"large", "other", "small"}},
		{"capacity-optimized goes by price, because no capacity is known", spot(StrategyCapacityOptimized, 0), []Choice{small, other}, []string{"other", "small"}},
		{"capacity-optimized-prioritized keeps the order of the overrides", spot(StrategyCapacityOptimizedPrioritized, 0),
			[]Choice{small, other, large}, []string{"small", "other", "large"}},
		{"lowest-price spreads over its pools", spot(StrategyLowestPrice, 2), []Choice{small, other, running(large, 1)}, []string{"other", "large", "small"}},
		{"and over no other", spot(StrategyLowestPrice, 2), []Choice{small, running(other, 1), running(large, 1)}, []string{"large", "other", "small"}},
		{"one pool if none is asked for", spot(StrategyLowestPrice, 0), []Choice{other, running(large, 5)}, []string{"large", "other"}},
		{"more pools than choices are all of them", spot(StrategyLowestPrice, 20), []Choice{running(small, 2), running(other, 1)}, []string{"other", "small"}},
		{"nothing stays nothing", spot(StrategyLowestPrice, 2), nil, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, names(tt.order(tt.choices))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestAffordable(t *testing.T) {
	t.Parallel()
	all := []Choice{small, {InstanceType: "dear", DearOnDemand: true}, {InstanceType: "dear as Spot", DearSpot: true}}
	tests := []struct {
		reason string
		spot   bool
		want   []string
	}{
		{"a threshold for On-Demand does not touch Spot", true, []string{"small", "dear"}},
		{"nor the other way round", false, []string{"small", "dear as Spot"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, names(Affordable(all, tt.spot))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestOrderPlaces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		places []Place
		want   []string
	}{
		{"the emptiest zone, and its emptiest subnet", []Place{{"a", "a1", 2, 2}, {"a", "a2", 1, 1}, {"b", "b1", 2, 2}, {"b", "b2", 0, 0}}, []string{"b2", "b1", "a2", "a1"}},
		{"equal ones keep their order", []Place{{"b", "b1", 1, 1}, {"a", "a1", 1, 1}}, []string{"b1", "a1"}},
		{"what is about to be replaced counts last", []Place{{"a", "a1", 1, 1}, {"b", "b1", 3, 0}, {"c", "c1", 2, 0}}, []string{"c1", "b1", "a1"}},
	}
	for _, tt := range tests {
		var got []string
		for _, p := range OrderPlaces(tt.places) {
			got = append(got, p.Subnet)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// names returns the instance types of choices.
func names(choices []Choice) []string {
	var all []string
	for _, c := range choices {
		all = append(all, c.InstanceType)
	}
	return all
}
