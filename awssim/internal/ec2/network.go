package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func describeAvailabilityZones(c *sim.Call, in *awsec2.DescribeAvailabilityZonesInput) (*awsec2.DescribeAvailabilityZonesOutput, error) {
	s := stateOf(c.Region)
	byName, byID := setOf(in.ZoneNames), setOf(in.ZoneIds)
	some := len(byName)+len(byID) > 0
	var all []types.AvailabilityZone
	for _, z := range s.region.World().Zones {
		if some && !byName[z.Name] && !byID[z.ID] {
			continue
		}
		delete(byName, z.Name)
		delete(byID, z.ID)
		all = append(all, types.AvailabilityZone{
			ZoneName: ptr(z.Name), ZoneId: ptr(z.ID), RegionName: ptr(s.region.Name), State: types.AvailabilityZoneStateAvailable, ZoneType: ptr("availability-zone"),
			OptInStatus: types.AvailabilityZoneOptInStatusOptInNotRequired, GroupName: ptr(s.region.Name + "-zg-1"), NetworkBorderGroup: ptr(s.region.Name),
		})
	}
	for _, wanted := range append(in.ZoneNames, in.ZoneIds...) {
		if s.region.World().Zone(wanted) == nil && (byName[wanted] || byID[wanted]) {
			return nil, sim.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", wanted)
		}
	}
	found, err := zoneFilters.apply(in.Filters, all, nil)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	return &awsec2.DescribeAvailabilityZonesOutput{AvailabilityZones: found}, nil
}

var zoneFilters = filterTable[types.AvailabilityZone]{
	"group-name":    func(z types.AvailabilityZone) []string { return text(z.GroupName) },
	"opt-in-status": func(z types.AvailabilityZone) []string { return enum(z.OptInStatus) },
	"region-name":   func(z types.AvailabilityZone) []string { return text(z.RegionName) },
	"state":         func(z types.AvailabilityZone) []string { return enum(z.State) },
	"zone-id":       func(z types.AvailabilityZone) []string { return text(z.ZoneId) },
	"zone-name":     func(z types.AvailabilityZone) []string { return text(z.ZoneName) },
	"zone-type":     func(z types.AvailabilityZone) []string { return text(z.ZoneType) },
}.with(furtherZoneFilters)

var regionFilters = filterTable[types.Region]{
	"endpoint":      func(r types.Region) []string { return text(r.Endpoint) },
	"opt-in-status": func(r types.Region) []string { return text(r.OptInStatus) },
	"region-name":   func(r types.Region) []string { return text(r.RegionName) },
}

func describeRegions(c *sim.Call, in *awsec2.DescribeRegionsInput) (*awsec2.DescribeRegionsOutput, error) {
	var all []types.Region
	for _, name := range c.Kernel.World().RegionNames() {
		all = append(all, types.Region{RegionName: ptr(name), Endpoint: ptr("ec2." + name + ".amazonaws.com"), OptInStatus: ptr("opt-in-not-required")})
	}
	all, err := selectByName(all, in.RegionNames, func(r types.Region) string { return *r.RegionName }, func(name string) error {
		return sim.Errorf("InvalidParameterValue", "Invalid region '%s' provided.", name)
	})
	if err != nil {
		return nil, err
	}
	found, err := regionFilters.apply(in.Filters, all, nil)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	return &awsec2.DescribeRegionsOutput{Regions: found}, nil
}
