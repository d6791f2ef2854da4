package catalog

import (
	"strings"

	"github.com/slipway-project/slipway/internal/discovery"
)

// What a part of an instance costs on demand, in US dollars an hour: a fit through the families c, m and r of the fifth to the seventh generation in us-east-1. Prices only
// order the offerings: on demand EC2 takes the one that is cheapest by its own prices.
const (
	perVCPU = 0.0355
	perGiB  = 0.00335
	perGPU  = 0.9

	// armShare, burstableShare: such instances cost less; localDisks: these more.
	armShare       = 0.8
	burstableShare = 0.5
	localDisks     = 1.15

	// spotShare is what Spot costs of the price on demand where AWS tells no price.
	spotShare = 0.4
)

// estimate is about what an instance costs on demand.
func estimate(t *discovery.InstanceType) float64 {
	price := perVCPU*float64(t.VCPUs) + perGiB*float64(t.MemoryMiB)/1024
	if strings.HasPrefix(t.Architecture(), "arm") {
		price *= armShare
	}
	if t.Burstable {
		price *= burstableShare
	}
	if t.InstanceStorageGB > 0 {
		price *= localDisks
	}
	return price + perGPU*float64(t.GPUs)
}
