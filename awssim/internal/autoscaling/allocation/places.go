package allocation

import (
	"cmp"
	"slices"
)

// Place stands for a subnet, or a whole zone for a group without subnets, with what the group runs
// there.
type Place struct {
	Zone   string
	Subnet string
	Count  int // instances of the group in the subnet
	Stay   int // the instances that an active refresh does not replace
}

// OrderPlaces returns the places in the order in which a launch should try them: the zone with the
// fewest instances first, and in it the subnet with the fewest (UG auto-scaling-benefits, "Balance
// capacity across Availability Zones"). Equal ones keep the group's order. Instances that a refresh
// is about to replace count only where the rest is equal, so that the group is balanced when the
// refresh is done.
func OrderPlaces(places []Place) []Place {
	stay, all := map[string]int{}, map[string]int{}
	for _, p := range places {
		stay[p.Zone] += p.Stay
		all[p.Zone] += p.Count
	}
	ordered := slices.Clone(places)
	slices.SortStableFunc(ordered, func(a, b Place) int {
		return cmp.Or(cmp.Compare(stay[a.Zone], stay[b.Zone]), cmp.Compare(all[a.Zone], all[b.Zone]),
			cmp.Compare(a.Stay, b.Stay), cmp.Compare(a.Count, b.Count))
	})
	return ordered
}
