package catalog

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Offer is an offering that a node can be, with its type.
type Offer struct {
	Offering
	Type *discovery.InstanceType
}

// Suitable yields the instance types that nodes can have which are asked for, wherever they are
// offered.
func Suitable(facts Facts, ask *constraints.Ask) iter.Seq[*discovery.InstanceType] {
	labeled := ofLabels(ask.Requirements)
	return func(yield func(*discovery.InstanceType) bool) {
		for i := range facts.Types {
			t := &facts.Types[i]
			entry := packing.InstanceType{Name: t.Name, Architecture: architectures[t.Architecture()], EFAInterfaces: int64(t.EFAInterfaces)}
			if !suits(t, slices.Contains(facts.Named, t.Name)) {
				continue
			}
			if labeled {
				entry.Labels = Labels(facts.Region, t)
			}
			if entry.Suits(ask) && !yield(t) {
				return
			}
		}
	}
}

// ofLabels reports whether requirements are of labels that describe the instance type. There are
// hundreds of types, so their labels are built only where they matter.
func ofLabels(r constraints.Requirements) bool {
	for key := range r {
		switch key {
		case corev1.LabelTopologyZone, provisioningv1.LabelCapacityType, corev1.LabelInstanceTypeStable, corev1.LabelArchStable:
		default:
			return true
		}
	}
	return false
}

// Offers yields the offerings by which nodes can be had that are asked for, whether or not AWS has
// any now.
func Offers(facts Facts, ask *constraints.Ask) iter.Seq[Offer] {
	zones, markets := ask.Requirements.Get(corev1.LabelTopologyZone), ask.Requirements.Get(provisioningv1.LabelCapacityType)
	return func(yield func(Offer) bool) {
		for t := range Suitable(facts, ask) {
			for _, zone := range facts.Zones[t.Name] {
				for _, class := range []string{provisioningv1.CapacityTypeOnDemand, provisioningv1.CapacityTypeSpot} {
					offered := zones.Has(zone) && markets.Has(class) && slices.Contains(t.UsageClasses, class)
					if offered && !yield(Offer{Offering{InstanceType: t.Name, Zone: zone, CapacityType: class}, t}) {
						return
					}
				}
			}
		}
	}
}

// quotas are the groups of families that share a quota of vCPUs, by the letters that their families
// begin with (AWS: EC2 user guide, "Amazon EC2 instance type quotas"; Service Quotas names them
// "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances" and so on).
var quotas = map[string]string{
	"a": "standard", "c": "standard", "d": "standard", "h": "standard", "i": "standard", "im": "standard", "is": "standard", "m": "standard", "r": "standard", "t": "standard",
	"z": "standard", "g": "g and vt", "gr": "g and vt", "vt": "g and vt",
}

// quotaOf returns the quota that instances of a type count against. Families that are not known
// have one of their own.
func quotaOf(instanceType string) string {
	family, _, _ := strings.Cut(instanceType, ".")
	category, _ := kindOf(family)
	return cmp.Or(quotas[category], category, family)
}

// Beyond returns the instance types that the account cannot launch while its quota does not allow
// one of the given type: the types that share its quota and have as many vCPUs or more.
func Beyond(types []discovery.InstanceType, instanceType string) []string {
	at := slices.IndexFunc(types, func(t discovery.InstanceType) bool { return t.Name == instanceType })
	if at < 0 {
		return []string{instanceType}
	}
	var names []string
	for i := range types {
		if types[i].VCPUs >= types[at].VCPUs && quotaOf(types[i].Name) == quotaOf(instanceType) {
			names = append(names, types[i].Name)
		}
	}
	return names
}
