package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/aws"
)

// Price is the price of an instance per hour.
type Price struct {
	PerHour  float64
	Currency string
	// Date is when AWS published the list with an On-Demand price, and when a Spot price was read.
	Date time.Time
}

// OperatingSystem is an operating system as price lists distinguish them. Licenses of further software
// in an image cost extra.
type OperatingSystem string

// The operating systems.
const (
	Linux   OperatingSystem = "Linux"
	Windows OperatingSystem = "Windows"
)

// Prices knows what AWS asks for instances in one region.
type Prices struct {
	clients  *aws.Clients
	clock    clock.PassiveClock
	onDemand *cache[Price]
	spot     *cache[map[string]Price]
}

func newPrices(clients *aws.Clients, clk clock.PassiveClock) *Prices {
	return &Prices{clients: clients, clock: clk, onDemand: newCache[Price](clk, listPriceTTL), spot: newCache[map[string]Price](clk, spotPriceTTL)}
}

// OnDemand returns the list price of an instance type in the region, on shared hardware. It needs
// the permission pricing:GetProducts. If the price list does not have the type the error is a
// *NotFoundError.
func (p *Prices) OnDemand(ctx context.Context, instanceType string, system OperatingSystem) (Price, error) {
	return p.onDemand.get(ctx, instanceType+"/"+string(system), func(ctx context.Context) (Price, error) {
		input := &pricing.GetProductsInput{ServiceCode: awssdk.String("AmazonEC2"), FormatVersion: awssdk.String("aws_v1")}
		for _, filter := range [][2]string{
			{"regionCode", p.clients.Region}, {"instanceType", instanceType}, {"operatingSystem", string(system)}, {"tenancy", "Shared"},
			{"preInstalledSw", "NA"}, {"capacitystatus", "Used"}, {"licenseModel", "No License required"},
		} {
			input.Filters = append(input.Filters, pricingtypes.Filter{Type: pricingtypes.FilterTypeTermMatch, Field: awssdk.String(filter[0]), Value: awssdk.String(filter[1])})
		}
		output, err := p.clients.Pricing.GetProducts(ctx, input)
		if err != nil {
			return Price{}, fmt.Errorf("reading the price list: %w", err)
		}
		for _, text := range output.PriceList {
			price, found, err := listPrice(text)
			if err != nil {
				return Price{}, fmt.Errorf("reading the price list for %s: %w", instanceType, err)
			}
			if found {
				return price, nil
			}
		}
		return Price{}, &NotFoundError{Kind: "price of instance type", What: instanceType, Advice: "AWS's price list does not have it in this region"}
	})
}

// listPrice returns the hourly On-Demand price in a product of the price list (AWS Billing user guide,
// "Reading the service price list file"). There is none in a product that is sold otherwise.
func listPrice(text string) (price Price, found bool, err error) {
	var product struct {
		PublicationDate time.Time `json:"publicationDate"`
		Terms           struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					Unit         string            `json:"unit"`
					PricePerUnit map[string]string `json:"pricePerUnit"`
				} `json:"priceDimensions"`
			} `json:"OnDemand"`
		} `json:"terms"`
	}
	if err := json.Unmarshal([]byte(text), &product); err != nil {
		return Price{}, false, fmt.Errorf("decoding a product: %w", err)
	}
	for _, term := range product.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			for currency, amount := range dimension.PricePerUnit {
				perHour, err := strconv.ParseFloat(amount, 64)
				if err != nil {
					return Price{}, false, fmt.Errorf("reading a price: %w", err)
				}
				if dimension.Unit == "Hrs" && perHour > 0 {
					return Price{PerHour: perHour, Currency: currency, Date: product.PublicationDate}, true, nil
				}
			}
		}
	}
	return Price{}, false, nil
}

// Spot returns the current Spot prices of an instance type by zone. A zone that does not sell it
// has none.
func (p *Prices) Spot(ctx context.Context, instanceType string, system OperatingSystem) (map[string]Price, error) {
	description := ec2types.RIProductDescriptionLinuxUnix
	if system == Windows {
		description = ec2types.RIProductDescriptionWindows
	}
	return p.spot.get(ctx, instanceType+"/"+string(system), func(ctx context.Context) (map[string]Price, error) {
		now := p.clock.Now()
		pages := ec2.NewDescribeSpotPriceHistoryPaginator(p.clients.EC2, &ec2.DescribeSpotPriceHistoryInput{
			InstanceTypes: []ec2types.InstanceType{ec2types.InstanceType(instanceType)}, ProductDescriptions: []string{string(description)}, StartTime: &now, MaxResults: awssdk.Int32(1000),
		})
		prices := map[string]Price{}
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describing Spot prices: %w", err)
			}
			for i := range page.SpotPriceHistory {
				entry := &page.SpotPriceHistory[i]
				perHour, err := strconv.ParseFloat(awssdk.ToString(entry.SpotPrice), 64)
				if err != nil {
					return nil, fmt.Errorf("reading the Spot price of %s: %w", instanceType, err)
				}
				// A period that begins now has one entry for each zone: the price that is valid now.
				prices[awssdk.ToString(entry.AvailabilityZone)] = Price{PerHour: perHour, Currency: "USD", Date: now}
			}
		}
		return prices, nil
	})
}

// IsNoPrice reports whether an error says that the price list does not have an instance type.
func IsNoPrice(err error) bool {
	var missing *NotFoundError
	return errors.As(err, &missing)
}
