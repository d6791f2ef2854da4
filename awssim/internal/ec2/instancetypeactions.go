package ec2

import (
	"slices"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// SDK, DescribeInstanceTypesInput: 5 to 100 results a page, up to 100 types by name; without
// MaxResults the answer has 100.
var typePages = pageLimits{min: 5, max: 100, unpaged: 100}

const maxNamedTypes = 100

func describeInstanceTypes(c *sim.Call, in *awsec2.DescribeInstanceTypesInput) (*awsec2.DescribeInstanceTypesOutput, error) {
	if len(in.InstanceTypes) > maxNamedTypes {
		return nil, sim.Errorf("InvalidParameterValue", "At most %d instance types may be specified.", maxNamedTypes)
	}
	if len(in.InstanceTypes) > 0 && in.MaxResults != nil {
		return nil, invalidCombination("The parameter InstanceTypes cannot be used with the parameter MaxResults")
	}
	s := stateOf(c.Region)
	var all []types.InstanceTypeInfo
	var found []string
	for _, info := range s.catalog.describedTypes() {
		if (len(in.InstanceTypes) == 0 || slices.Contains(in.InstanceTypes, info.InstanceType)) && (*info.SupportedInRegion || val(in.IncludeUnsupportedInRegion)) {
			all, found = append(all, info), append(found, string(info.InstanceType))
		}
	}
	if unknown := without(in.InstanceTypes, found); len(unknown) > 0 {
		return nil, sim.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", strings.Join(unknown, ", "))
	}
	kinds := listing[types.InstanceTypeInfo]{filters: typeFilters, pages: typePages, id: func(i types.InstanceTypeInfo) string { return string(i.InstanceType) }}
	page, next, err := kinds.read(all, query{nil, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeInstanceTypesOutput{InstanceTypes: page, NextToken: next}, nil
}

// without returns the names that are not among those found.
func without(names []types.InstanceType, found []string) []string {
	var missing []string
	for _, name := range names {
		if !slices.Contains(found, string(name)) {
			missing = append(missing, string(name))
		}
	}
	return missing
}

var offeringFilters = filterTable[types.InstanceTypeOffering]{
	"instance-type": func(o types.InstanceTypeOffering) []string { return enum(o.InstanceType) },
	"location":      func(o types.InstanceTypeOffering) []string { return text(o.Location) },
}

func describeInstanceTypeOfferings(c *sim.Call, in *awsec2.DescribeInstanceTypeOfferingsInput) (*awsec2.DescribeInstanceTypeOfferingsOutput, error) {
	s := stateOf(c.Region)
	kind := in.LocationType
	if kind == "" {
		kind = types.LocationTypeRegion // SDK, DescribeInstanceTypeOfferingsInput.LocationType
	}
	var all []types.InstanceTypeOffering
	add := func(w *world.InstanceType, location string) {
		all = append(all, types.InstanceTypeOffering{InstanceType: types.InstanceType(w.Name), Location: ptr(location), LocationType: kind})
	}
	for _, w := range s.catalog.offeredTypes() {
		switch kind {
		case types.LocationTypeRegion:
			add(w, s.region.Name)
		case types.LocationTypeAvailabilityZone:
			for _, zone := range s.catalog.zonesOffering(w.Name) {
				add(w, zone)
			}
		case types.LocationTypeAvailabilityZoneId:
			for _, zone := range s.catalog.zonesOffering(w.Name) {
				add(w, s.region.World().Zone(zone).ID)
			}
		case types.LocationTypeOutpost: // a world has no Outposts
		default:
			return nil, invalidValue("LocationType", kind, "Valid values: "+joinEnum(kind.Values()))
		}
	}
	offerings := listing[types.InstanceTypeOffering]{
		filters: offeringFilters, pages: commonPages, id: func(o types.InstanceTypeOffering) string { return string(o.InstanceType) + "/" + *o.Location },
	}
	found, next, err := offerings.read(all, query{nil, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeInstanceTypeOfferingsOutput{InstanceTypeOfferings: found, NextToken: next}, nil
}
