package ec2

import (
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var spotPriceFilters = filterTable[types.SpotPrice]{
	"availability-zone":    func(p types.SpotPrice) []string { return text(p.AvailabilityZone) },
	"availability-zone-id": func(p types.SpotPrice) []string { return text(p.AvailabilityZoneId) },
	"instance-type":        func(p types.SpotPrice) []string { return enum(p.InstanceType) },
	"product-description":  func(p types.SpotPrice) []string { return enum(p.ProductDescription) },
	"spot-price":           func(p types.SpotPrice) []string { return text(p.SpotPrice) },
	"timestamp": func(p types.SpotPrice) []string {
		return []string{p.Timestamp.UTC().Format("Mon Jan 02 15:04:05 MST 2006")}
	},
}

// spotPricePages: without MaxResults the answer has a thousand (API reference, DescribeSpotPriceHistory).
var spotPricePages = pageLimits{min: 1, max: 1000, unpaged: 1000}

// describeSpotPriceHistory shows the present price of every offering, of Linux alone, with the time
// since when it holds: the price that was last set before the start of the period is part of the
// answer, so a period that starts now gets the present prices. Former prices are not kept.
func describeSpotPriceHistory(c *sim.Call, in *awsec2.DescribeSpotPriceHistoryInput) (*awsec2.DescribeSpotPriceHistoryOutput, error) {
	if val(in.AvailabilityZone) != "" && val(in.AvailabilityZoneId) != "" {
		return nil, invalidCombination("Either AvailabilityZone or AvailabilityZoneId can be specified, but not both.")
	}
	if in.StartTime != nil && in.EndTime != nil && in.EndTime.Before(*in.StartTime) {
		return nil, invalidValue("EndTime", in.EndTime.UTC(), "It is before the start time.")
	}
	all := slices.DeleteFunc(stateOf(c.Region).catalog.spotPrices(), func(p types.SpotPrice) bool { return !asksFor(in, p) })
	prices := listing[types.SpotPrice]{
		filters: spotPriceFilters, pages: spotPricePages, id: func(p types.SpotPrice) string { return string(p.InstanceType) + "/" + *p.AvailabilityZone },
	}
	found, next, err := prices.read(all, query{nil, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeSpotPriceHistoryOutput{SpotPriceHistory: found, NextToken: next}, nil
}

// asksFor applies the members of the request that select prices in addition to its filters.
func asksFor(in *awsec2.DescribeSpotPriceHistoryInput, p types.SpotPrice) bool {
	is := func(asked, value *string) bool { return val(asked) == "" || *asked == val(value) }
	return is(in.AvailabilityZone, p.AvailabilityZone) && is(in.AvailabilityZoneId, p.AvailabilityZoneId) &&
		(len(in.InstanceTypes) == 0 || slices.Contains(in.InstanceTypes, p.InstanceType)) &&
		(len(in.ProductDescriptions) == 0 || slices.Contains(in.ProductDescriptions, string(p.ProductDescription))) &&
		(in.EndTime == nil || !p.Timestamp.After(*in.EndTime))
}
