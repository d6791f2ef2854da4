package launcher

import (
	"cmp"
	"fmt"
	"slices"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// Places holds the subnets that nodes can be launched into, by zone, the best first. A launch has
// one subnet per zone: EC2 does not accept more (AWS: EC2 user guide, quotas of EC2 Fleet).
type Places map[string][]Place

// Place is a subnet.
type Place struct {
	SubnetID string
	// Public is true if instances get public addresses there.
	Public bool
	// Free counts the addresses that are free and that no node under way will take for itself. The
	// demand of pods is not known beforehand.
	Free int
}

// NewPlaces returns the places that subnets are: in each zone private ones before public ones, and
// of these the one with the most free addresses first. Subnets without addresses are left out.
// Nodes under way, whose addresses EC2 did not count when it was asked, count against every subnet
// that they may be in.
func NewPlaces(found []discovery.Subnet, full func(subnetID string) bool, nodes []provisioningv1.ProvisionedNode) Places {
	places := Places{}
	for _, subnet := range found {
		if full(subnet.ID) || subnet.Free == 0 && !subnet.Seen.IsZero() {
			continue
		}
		place := Place{SubnetID: subnet.ID, Public: subnet.Public, Free: subnet.Free}
		for i := range nodes {
			if takesAddress(&nodes[i], &subnet) {
				place.Free--
			}
		}
		places[subnet.Zone] = append(places[subnet.Zone], place)
	}
	for _, some := range places {
		sortPlaces(some)
	}
	return places
}

// Clone returns a copy, from which launches may take addresses.
func (p Places) Clone() Places {
	clone := make(Places, len(p))
	for zone, some := range p {
		clone[zone] = slices.Clone(some)
	}
	return clone
}

// Zones returns the zones with a place, sorted. It is not nil.
func (p Places) Zones() []string {
	zones := make([]string, 0, len(p))
	for zone := range p {
		zones = append(zones, zone)
	}
	slices.Sort(zones)
	return zones
}

// Problem returns why nodes of a provisioner can be in none of the subnets that were found for it,
// or "" if they can be in one.
func (p Places) Problem(found []discovery.Subnet, provisioner *constraints.Provisioner) string {
	allowed, fields := provisioner.AllowedZones()
	if allowed.Empty() {
		return "" // it is the limits that contradict each other
	}
	var zones, full []string
	for _, subnet := range found {
		switch {
		case !allowed.Has(subnet.Zone):
			zones = append(zones, subnet.Zone)
		case len(p[subnet.Zone]) > 0:
			return ""
		default:
			full = append(full, fmt.Sprintf("%s in %s", subnet.ID, subnet.Zone))
		}
	}
	slices.Sort(zones)
	switch there := within(fields); {
	case len(full) > 0:
		return fmt.Sprintf("none of its subnets%s has a free IP address: %s. No node is launched until a subnet "+
			"has one", there, List(full, "and"))
	case len(zones) > 0:
		return fmt.Sprintf("none of its subnets is%s: they are in %s. No node is launched. Add a subnet, or "+
			"allow another zone", there, List(slices.Compact(zones), "and"))
	}
	return "it has no subnets"
}

// within returns the words after the word subnets, or the verb, that say which zones are meant; ""
// for all.
func within(fields string) string {
	if fields == "" {
		return ""
	}
	return " in a zone that " + fields + " allows"
}

func sortPlaces(places []Place) {
	slices.SortFunc(places, func(a, b Place) int {
		switch {
		case a.Public != b.Public && a.Public:
			return 1
		case a.Public != b.Public:
			return -1
		}
		return cmp.Or(cmp.Compare(b.Free, a.Free), cmp.Compare(a.SubnetID, b.SubnetID))
	})
}

// takesAddress reports whether a node may take an address of a subnet that EC2 did not count yet.
func takesAddress(node *provisioningv1.ProvisionedNode, subnet *discovery.Subnet) bool {
	launched := node.Status.LaunchTime
	switch {
	case launched != nil && !launched.After(subnet.Seen):
		return false
	case node.Status.Zone != "" && node.Status.Zone != subnet.Zone:
		return false
	}
	return slices.ContainsFunc(node.Spec.Offerings, func(offering provisioningv1.NodeOffering) bool { return offering.SubnetID == subnet.ID })
}

// in returns the subnet in a zone for the next node: the first that has an address left, or else
// the first, because counts may be wrong and EC2 says so. It is empty if there is none.
func (p Places) in(zone string) string {
	some := p[zone]
	if len(some) == 0 {
		return ""
	}
	if at := slices.IndexFunc(some, func(place Place) bool { return place.Free > 0 }); at >= 0 {
		return some[at].SubnetID
	}
	return some[0].SubnetID
}

// take counts the addresses that a node may take.
func (p Places) take(offerings []provisioningv1.NodeOffering) {
	taken := map[string]bool{}
	for _, offering := range offerings {
		for i := range p[offering.Zone] {
			if place := &p[offering.Zone][i]; place.SubnetID == offering.SubnetID && !taken[place.SubnetID] {
				taken[place.SubnetID] = true
				place.Free--
			}
		}
	}
}
