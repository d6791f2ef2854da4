package catalog

import (
	"strings"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
)

// The price of each part of an instance on demand, in US dollars per hour: a fit through the
// families c, m, and r of the fifth to the seventh generation in us-east-1. Prices only order the
// offerings: on demand, EC2 takes the one that is cheapest by its own prices.
const (
	perVCPU = 0.0355
	perGiB  = 0.00335
	perGPU  = 0.9

	// perBurstableGiB is the price of burstable instances per GiB, because they are sold by their
	// memory: t3 from nano to 2xlarge in us-east-1.
	perBurstableGiB = 0.0104

	// perNeuron is the approximate price of an accelerator of AWS's: a fit through inf2 and trn1.
	perNeuron = 0.6

	// armShare is the price of instances with AWS's own processors, as a share of the price of
	// others; localDisks is the share for local disks.
	armShare   = 0.8
	localDisks = 1.15

	// spotShare is the share of the On-Demand price that Spot costs where AWS reports no price.
	spotShare = 0.4
)

// estimate returns the approximate price of an instance on demand.
func estimate(t *discovery.InstanceType) float64 {
	gibibytes := float64(t.MemoryMiB) / 1024
	price := perVCPU*float64(t.VCPUs) + perGiB*gibibytes
	if t.Burstable {
		price = perBurstableGiB * gibibytes
	}
	if strings.HasPrefix(t.Architecture(), "arm") {
		price *= armShare
	}
	if t.InstanceStorageGB > 0 {
		price *= localDisks
	}
	for _, device := range t.NeuronDevices {
		price += perNeuron * float64(device.Count)
	}
	return price + perGPU*float64(t.GPUs)
}

// Prices returns a function from offerings to what an instance costs in US dollars an hour, about;
// 0 for a type that is not known.
func Prices(facts Facts) func(instanceType, zone, capacityType string) float64 {
	byName := make(map[string]*discovery.InstanceType, len(facts.Types))
	for i := range facts.Types {
		byName[facts.Types[i].Name] = &facts.Types[i]
	}
	return func(instanceType, zone, capacityType string) float64 {
		t := byName[instanceType]
		if t == nil {
			return 0
		}
		if capacityType != provisioningv1.CapacityTypeSpot {
			return estimate(t)
		}
		if known, is := facts.Spot[discovery.Pool{InstanceType: instanceType, Zone: zone}]; is {
			return known
		}
		return estimate(t) * spotShare
	}
}
