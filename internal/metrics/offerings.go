package metrics

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

var (
	shortDesc = prometheus.NewDesc("slipway_offerings_short",
		"Number of instance types for which AWS recently had no capacity, and which Slipway avoids for minutes, "+
			"by zone and capacity type.", []string{"zone", "capacity_type"}, nil)
	offeringPriceDesc = prometheus.NewDesc("slipway_offering_price_dollars_per_hour",
		"Estimated price of the offerings that nodes use or that recently had no capacity, in US dollars per hour.", []string{"instance_type", "zone", "capacity_type"}, nil)
	offeringAvailableDesc = prometheus.NewDesc("slipway_offering_available",
		"0 for offerings for which AWS recently had no capacity, and which Slipway avoids for minutes; 1 for "+
			"other offerings that nodes use.", []string{"instance_type", "zone", "capacity_type"}, nil)
	typeCoresDesc = prometheus.NewDesc("slipway_instance_type_cpu_cores",
		"vCPUs of the instance types that nodes use.", []string{"instance_type"}, nil)
	typeMemoryDesc = prometheus.NewDesc("slipway_instance_type_memory_bytes",
		"Memory of the instance types that nodes use.", []string{"instance_type"}, nil)
)

// mostOfferings bounds how many offerings are exposed. A region has thousands.
const mostOfferings = 500

// Offering is an instance type in a zone as it is bought.
type Offering struct{ InstanceType, Zone, CapacityType string }

// compare orders offerings by their names.
func (o Offering) compare(other Offering) int {
	return cmp.Or(cmp.Compare(o.InstanceType, other.InstanceType), cmp.Compare(o.Zone, other.Zone), cmp.Compare(o.CapacityType, other.CapacityType))
}

// describeOfferings describes the offerings that have nodes, and the offerings that are short. If
// there are too many, the offerings with the most nodes come first.
func describeOfferings(nodes []provisioningv1.ProvisionedNode, short []Offering, price func(instanceType, zone, capacityType string) float64, gauge func(*prometheus.Desc, float64, ...string)) {
	counts, lacking, shortages := map[Offering]int{}, map[Offering]bool{}, map[[2]string]int{}
	types := map[string]*provisioningv1.ProvisionedResources{}
	for i := range nodes {
		if status := &nodes[i].Status; status.InstanceType != "" {
			counts[Offering{status.InstanceType, status.Zone, nodes[i].Spec.CapacityType}]++
			types[status.InstanceType] = status.Resources
		}
	}
	for _, one := range short {
		lacking[one] = true
		counts[one] += 0
		shortages[[2]string{one.Zone, one.CapacityType}]++
	}
	for labels, count := range shortages {
		gauge(shortDesc, float64(count), labels[:]...)
	}
	sorted := slices.SortedFunc(maps.Keys(counts), func(a, b Offering) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), a.compare(b)) })
	exposed := map[string]bool{}
	for _, one := range sorted[:min(len(sorted), mostOfferings)] {
		exposed[one.InstanceType] = true
		available := 1.0
		if lacking[one] {
			available = 0
		}
		gauge(offeringAvailableDesc, available, one.InstanceType, one.Zone, one.CapacityType)
		if price != nil {
			if dollars := price(one.InstanceType, one.Zone, one.CapacityType); dollars > 0 {
				gauge(offeringPriceDesc, dollars, one.InstanceType, one.Zone, one.CapacityType)
			}
		}
	}
	for name, resources := range types {
		if exposed[name] && resources != nil {
			gauge(typeCoresDesc, resources.CPU.AsApproximateFloat64(), name)
			gauge(typeMemoryDesc, resources.Memory.AsApproximateFloat64(), name)
		}
	}
}
