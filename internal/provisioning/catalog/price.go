package catalog

import (
	"strings"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
)

// What a part of an instance costs on demand, in US dollars an hour: a fit through the families c,
// m and r of the fifth to the seventh generation in us-east-1. Prices only order the offerings: on
// demand EC2 takes the one that is cheapest by its own prices.
const (
	perVCPU = 0.0355
	perGiB  = 0.00335
	perGPU  = 0.9

	// perBurstableGiB is what burstable instances cost, which are sold by their memory: t3 from
	// nano to 2xlarge in us-east-1.
	perBurstableGiB = 0.0104

	// perNeuron is what an accelerator of AWS's costs, about: a fit through inf2 and trn1.
	perNeuron = 0.6

	// armShare is what instances with processors of AWS's own cost of others, localDisks what those
	// with local disks do.
	armShare   = 0.8
	localDisks = 1.15

	// spotShare is what Spot costs of the price on demand where AWS tells no price.
	spotShare = 0.4
)

// estimate is about what an instance costs on demand.
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
