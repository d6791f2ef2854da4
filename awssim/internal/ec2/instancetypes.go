package ec2

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// catalog knows the instance types of the world, where a Region has them, and their Spot prices.
type catalog struct {
	region *sim.Region
	kernel *sim.Kernel
	infos  []types.InstanceTypeInfo // as DescribeInstanceTypes shows them; nil until they are asked for
}

// describedTypes returns every instance type of the world as EC2 describes it. A world's types do
// not change, so they are described once.
func (ca *catalog) describedTypes() []types.InstanceTypeInfo {
	known := ca.kernel.World().InstanceTypes
	for i := len(ca.infos); i < len(known); i++ {
		info := typeInfo(&known[i])
		info.SupportedInRegion = ptr(len(ca.zonesOffering(known[i].Name)) > 0)
		ca.infos = append(ca.infos, info)
	}
	return ca.infos
}

// offeredTypes returns the instance types that at least one zone of the Region has.
func (ca *catalog) offeredTypes() []*world.InstanceType {
	var offered []*world.InstanceType
	all := ca.kernel.World().InstanceTypes
	for i := range all {
		if len(ca.zonesOffering(all[i].Name)) > 0 {
			offered = append(offered, &all[i])
		}
	}
	return offered
}

// zonesOffering lists the zones of the Region that have the type.
func (ca *catalog) zonesOffering(instanceType string) []string {
	var zones []string
	for _, z := range ca.region.World().Zones {
		if ca.region.World().Offers(instanceType, z.Name) {
			zones = append(zones, z.Name)
		}
	}
	return zones
}

// spotPrice returns what a type costs now as a Spot Instance in a zone, in US dollars per hour.
func (ca *catalog) spotPrice(kind *world.InstanceType, zone string) float64 {
	return ca.kernel.Behavior().SpotPrice(kind.Name, zone, kind.SpotPrice())
}

func (ca *catalog) spotPrices() []types.SpotPrice {
	since := ca.kernel.BehaviorSince()
	var all []types.SpotPrice
	for _, kind := range ca.kernel.World().InstanceTypes {
		if !slices.Contains(kind.UsageClasses, "spot") {
			continue
		}
		for _, zone := range ca.zonesOffering(kind.Name) {
			all = append(all, types.SpotPrice{
				InstanceType: types.InstanceType(kind.Name), AvailabilityZone: ptr(zone), AvailabilityZoneId: ptr(ca.region.World().Zone(zone).ID),
				ProductDescription: types.RIProductDescriptionLinuxUnix, Timestamp: ptr(since), SpotPrice: ptr(strconv.FormatFloat(ca.spotPrice(&kind, zone), 'f', 6, 64)),
			})
		}
	}
	return all
}
