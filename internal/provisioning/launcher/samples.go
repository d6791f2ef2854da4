package launcher

import (
	"cmp"
	"iter"
	"slices"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
)

// Samples returns launches of one instance by which a version of a launch template is tried, the
// preferred first: of offerings that nodes of the provisioner may be. They differ as much as they
// can, because what EC2 refuses may be about a type or a zone. On-Demand Instances are tried where
// they are allowed. Without places the launch template has the subnet.
func Samples(provisioner *provisioningv1.Provisioner, clusterUID string, from provisioningv1.LaunchTemplateVersion, offers iter.Seq[catalog.Offer], places Places) []fleet.Request {
	var samples []fleet.Request
	for _, offer := range chooseOffers(offers) {
		samples = append(samples, Request(&provisioningv1.ProvisionedNodeSpec{
			Provisioner: provisioner.Name, Cluster: provisioner.Spec.Cluster.Name, CapacityType: offer.CapacityType, LaunchTemplate: from,
			Offerings: []provisioningv1.NodeOffering{{InstanceType: offer.InstanceType, Zone: offer.Zone, SubnetID: places.in(offer.Zone)}},
			Launch:    provisioningv1.NodeLaunch{Name: "dry-run", Nodes: 1, ClusterUID: clusterUID},
		}))
	}
	return samples
}

// mostSamples bounds by how many launches a version is tried.
const mostSamples = 4

// chooseOffers chooses all types if there are few. Else it chooses the smallest ordinary one, the
// largest, one between, and one that is not ordinary. Each is in another zone; one type that is
// alone is in several.
func chooseOffers(offers iter.Seq[catalog.Offer]) []catalog.Offer {
	var usual, others []typeOffers
	for offer := range offers {
		list := &others
		if ordinary(offer.Type) {
			list = &usual
		}
		// the offers of a type follow one another
		if last := len(*list) - 1; last < 0 || (*list)[last].Type != offer.Type {
			*list = append(*list, typeOffers{Type: offer.Type})
		}
		of := &(*list)[len(*list)-1]
		of.offers = append(of.offers, offer.Offering)
	}
	var chosen []catalog.Offer
	for i, of := range pickTypes(bySize(usual), bySize(others)) {
		in := inOneMarket(of.offers)
		offer := catalog.Offer{Offering: in[i%len(in)], Type: of.Type}
		if !slices.ContainsFunc(chosen, func(other catalog.Offer) bool { return other.Offering == offer.Offering }) {
			chosen = append(chosen, offer)
		}
	}
	return chosen
}

// typeOffers are the offers of one instance type.
type typeOffers struct {
	Type   *discovery.InstanceType
	offers []catalog.Offering
}

// pickTypes returns mostSamples types, some of them more than once if there are fewer.
func pickTypes(usual, others []typeOffers) []typeOffers {
	all := slices.Concat(usual, others)
	if len(all) == 0 {
		return nil
	}
	var chosen []typeOffers
	if len(all) > mostSamples && len(usual) > 0 {
		last := len(usual) - 1
		chosen = append(chosen, usual[0], usual[last], usual[last/2])
		all = all[last*3/4:]
		if len(others) > 0 {
			all = others[len(others)/2:]
		}
	}
	for i := 0; len(chosen) < mostSamples; i++ {
		chosen = append(chosen, all[i%len(all)])
	}
	return chosen
}

// bySize sorts instance types, the smallest first.
func bySize(types []typeOffers) []typeOffers {
	slices.SortFunc(types, func(a, b typeOffers) int {
		return cmp.Or(cmp.Compare(a.Type.VCPUs, b.Type.VCPUs), cmp.Compare(a.Type.MemoryMiB, b.Type.MemoryMiB), cmp.Compare(a.Type.Name, b.Type.Name))
	})
	return types
}

// inOneMarket returns the On-Demand offers, or the Spot offers if there are no others.
func inOneMarket(offers []catalog.Offering) []catalog.Offering {
	of := func(market string) []catalog.Offering {
		return slices.DeleteFunc(slices.Clone(offers), func(offer catalog.Offering) bool { return offer.CapacityType != market })
	}
	if onDemand := of(provisioningv1.CapacityTypeOnDemand); len(onDemand) > 0 {
		return onDemand
	}
	return of(provisioningv1.CapacityTypeSpot)
}

// ordinary reports whether a type has nothing that only some nodes are launched for.
func ordinary(t *discovery.InstanceType) bool {
	return t.CurrentGeneration && !t.BareMetal && t.GPUs == 0 && t.VCPUs > 1 && len(t.NeuronDevices) == 0
}
