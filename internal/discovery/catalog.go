package discovery

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// everything is the only key of caches that hold the data of a whole region.
const everything = ""

// InstanceTypes describes all types of the region, by some nine calls twice a day.
func (d *Discovery) InstanceTypes(ctx context.Context) ([]InstanceType, error) {
	return d.allTypes.get(ctx, everything, func(ctx context.Context) ([]InstanceType, error) {
		pages := ec2.NewDescribeInstanceTypesPaginator(d.clients.EC2, &ec2.DescribeInstanceTypesInput{MaxResults: awssdk.Int32(100)})
		var found []InstanceType
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describing all instance types: %w", err)
			}
			for i := range page.InstanceTypes {
				found = append(found, toInstanceType(&page.InstanceTypes[i]))
			}
		}
		return found, nil
	})
}

// TypeOfferings returns the zones of the region that offer each instance type, sorted.
func (d *Discovery) TypeOfferings(ctx context.Context) (map[string][]string, error) {
	return d.typeOfferings.get(ctx, everything, func(ctx context.Context) (map[string][]string, error) {
		pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(d.clients.EC2, &ec2.DescribeInstanceTypeOfferingsInput{
			LocationType: ec2types.LocationTypeAvailabilityZone, MaxResults: awssdk.Int32(1000),
		})
		zones := map[string][]string{}
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describing which instance types are offered where: %w", err)
			}
			for i := range page.InstanceTypeOfferings {
				offering := &page.InstanceTypeOfferings[i]
				zones[string(offering.InstanceType)] = append(zones[string(offering.InstanceType)], awssdk.ToString(offering.Location))
			}
		}
		for name := range zones {
			slices.Sort(zones[name])
		}
		return zones, nil
	})
}

// Pool is an instance type in a zone, as Spot has prices.
type Pool struct{ InstanceType, Zone string }

// SpotPrices returns the current Spot prices of Linux instances, in US dollars per hour.
func (d *Discovery) SpotPrices(ctx context.Context) (map[Pool]float64, error) {
	return d.spotPrices.get(ctx, everything, func(ctx context.Context) (map[Pool]float64, error) {
		now := d.clock.Now()
		pages := ec2.NewDescribeSpotPriceHistoryPaginator(d.clients.EC2, &ec2.DescribeSpotPriceHistoryInput{
			ProductDescriptions: []string{string(ec2types.RIProductDescriptionLinuxUnix)}, StartTime: &now, MaxResults: awssdk.Int32(1000),
		})
		prices := map[Pool]float64{}
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describing Spot prices: %w", err)
			}
			for i := range page.SpotPriceHistory {
				entry := &page.SpotPriceHistory[i]
				price, err := strconv.ParseFloat(awssdk.ToString(entry.SpotPrice), 64)
				if err != nil {
					return nil, fmt.Errorf("reading the Spot price of %s: %w", entry.InstanceType, err)
				}
				prices[Pool{string(entry.InstanceType), awssdk.ToString(entry.AvailabilityZone)}] = price
			}
		}
		return prices, nil
	})
}
