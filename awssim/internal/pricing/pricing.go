// Package pricing owns the simulated Price List Query API: the On-Demand prices of instances with
// Linux on shared hardware. Other products, and other terms than OnDemand, are not simulated.
package pricing

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// service is the name by which calls are signed, and the prefix of actions in policies.
const service = "pricing"

const (
	// amazonEC2 is the only service whose products are simulated.
	amazonEC2 = "AmazonEC2"
	// mostResults is the size of a page, and the default (API reference, GetProducts).
	mostResults = 100
)

// published is when the price list of world/prices.txt was published.
var published = time.Date(2026, time.January, 15, 0, 0, 0, 0, time.UTC)

// Register registers the handlers.
func Register(reg *sim.Registry) {
	sim.Handle(reg, service, "GetProducts", getProducts)
	reg.Refuse(service, func(message string) *sim.Error { return sim.Errorf("AccessDeniedException", "%s", message) })
	// Service Authorization Reference, list_awspricelist: the action has no resource types.
	sim.AuthorizeUnscoped(reg, service, "GetProducts")
}

// getProducts answers each product as a text with a JSON document. The API is in a few regions only
// and knows the products of all of them, so the filter regionCode chooses the region of the answer;
// the world has the same prices everywhere.
func getProducts(c *sim.Call, in *pricing.GetProductsInput) (*pricing.GetProductsOutput, error) {
	if in.FormatVersion != nil && *in.FormatVersion != "aws_v1" {
		return nil, sim.Errorf("InvalidParameterException", "Invalid format version: %s", *in.FormatVersion)
	}
	var found []product
	if *in.ServiceCode == amazonEC2 {
		found = products(c.Kernel.World().InstanceTypes, regionOf(in.Filters, c.Region.Name))
	}
	found = slices.DeleteFunc(found, func(p product) bool {
		return slices.ContainsFunc(in.Filters, func(filter types.Filter) bool { return !p.passes(filter) })
	})
	size := mostResults
	if in.MaxResults != nil {
		size = int(*in.MaxResults)
	}
	page, next, valid := sim.Page(found, in.NextToken, size, func(p product) string { return p.sku() })
	if !valid {
		return nil, sim.Errorf("InvalidNextTokenException", "The pagination token is invalid. Try again without a pagination token.")
	}
	version := "aws_v1"
	out := &pricing.GetProductsOutput{FormatVersion: &version, NextToken: next, PriceList: []string{}}
	for _, one := range page {
		text, err := json.Marshal(one.document())
		if err != nil {
			return nil, fmt.Errorf("encoding a product: %w", err)
		}
		out.PriceList = append(out.PriceList, string(text))
	}
	return out, nil
}

// product is an instance type as it is sold on demand.
type product struct {
	attributes map[string]string
	usd        float64
}

func regionOf(filters []types.Filter, otherwise string) string {
	for _, filter := range filters {
		if *filter.Field == "regionCode" {
			return *filter.Value
		}
	}
	return otherwise
}

// products returns the products of a region. They have the attributes of AWS's price list by which
// users filter.
func products(kinds []world.InstanceType, region string) []product {
	var all []product
	for i := range kinds {
		kind := &kinds[i]
		if !slices.Contains(kind.UsageClasses, "on-demand") {
			continue
		}
		all = append(all, product{usd: kind.OnDemandUSD, attributes: map[string]string{
			"servicecode": amazonEC2, "regionCode": region, "instanceType": kind.Name, "vcpu": strconv.Itoa(int(kind.VCPUs)),
			"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used",
			"licenseModel": "No License required", "marketoption": "OnDemand", "operation": "RunInstances", "usagetype": "BoxUsage:" + kind.Name,
		}})
	}
	return all
}

func (p product) sku() string { return p.attributes["regionCode"] + "/" + p.attributes["instanceType"] }

// passes reports whether the product has what a filter asks for. A product without the attribute has
// no value of it.
func (p product) passes(filter types.Filter) bool {
	value, wanted := p.attributes[*filter.Field], *filter.Value
	switch filter.Type {
	case types.FilterTypeContains:
		return strings.Contains(value, wanted)
	case types.FilterTypeAnyOf:
		return slices.Contains(strings.Split(wanted, ","), value)
	case types.FilterTypeNoneOf:
		return !slices.Contains(strings.Split(wanted, ","), value)
	case types.FilterTypeTermMatch, types.FilterTypeEquals:
	}
	return value == wanted
}

// document returns the product as the price list has it (AWS Billing user guide, "Reading the service
// price list file").
func (p product) document() any {
	type object = map[string]any
	term, sku := "JRTCKXETXF", p.sku()
	return object{
		"serviceCode": amazonEC2, "version": published.Format("20060102150405"), "publicationDate": published.Format(time.RFC3339),
		"product": object{"productFamily": "Compute Instance", "sku": sku, "attributes": p.attributes},
		"terms": object{"OnDemand": object{sku + "." + term: object{
			"sku": sku, "offerTermCode": term, "effectiveDate": "2026-01-01T00:00:00Z", "termAttributes": object{},
			"priceDimensions": object{sku + "." + term + ".6YS6EN2CT7": object{
				"unit": "Hrs", "beginRange": "0", "endRange": "Inf", "appliesTo": []string{},
				"description":  fmt.Sprintf("$%g per On Demand Linux %s Instance Hour", p.usd, p.attributes["instanceType"]),
				"pricePerUnit": object{"USD": strconv.FormatFloat(p.usd, 'f', 10, 64)},
			}},
		}}},
	}
}
