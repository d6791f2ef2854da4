package awssim_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/slipway-project/slipway/awssim"
)

// TestPriceList holds that a price list can be filtered as AWS's can, and has the prices of the world.
func TestPriceList(t *testing.T) {
	t.Parallel()
	c := pricing.NewFromConfig(serve(t, awssim.Options{}).config(key))
	filter := func(kind types.FilterType, field, value string) types.Filter {
		return types.Filter{Type: kind, Field: &field, Value: &value}
	}
	large := filter(types.FilterTypeTermMatch, "instanceType", "m5.large")
	for name, tc := range map[string]struct {
		reason  string
		service string
		filters []types.Filter
		want    string
		code    string
	}{
		"Type":         {reason: "A type has a price.", filters: []types.Filter{large}, want: "m5.large us-east-1 0.0960000000"},
		"Region":       {reason: "The list has all regions.", filters: []types.Filter{large, filter(types.FilterTypeEquals, "regionCode", "eu-west-1")}, want: "m5.large eu-west-1 0.0960000000"},
		"Any":          {reason: "A filter may name several.", filters: []types.Filter{filter(types.FilterTypeAnyOf, "instanceType", "m5.large,m5.xlarge")}, want: "m5.large us-east-1 0.0960000000, m5.xlarge us-east-1 0.1920000000"},
		"Contains":     {reason: "Or a part.", filters: []types.Filter{filter(types.FilterTypeContains, "usagetype", ":m5.larg")}, want: "m5.large us-east-1 0.0960000000"},
		"None":         {reason: "Or exclude.", filters: []types.Filter{large, filter(types.FilterTypeNoneOf, "tenancy", "Dedicated,Shared")}},
		"System":       {reason: "The world has prices of Linux.", filters: []types.Filter{large, filter(types.FilterTypeTermMatch, "operatingSystem", "Windows")}},
		"OtherService": {reason: "Other services have no products here.", service: "AmazonS3"},
		"NoType":       {reason: "A filter has a type.", filters: []types.Filter{filter("LIKE", "instanceType", "m5.large")}, code: "InvalidParameterException"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := tc.service
			if service == "" {
				service = "AmazonEC2"
			}
			out, err := c.GetProducts(t.Context(), &pricing.GetProductsInput{ServiceCode: &service, Filters: tc.filters})
			if code(err) != tc.code {
				t.Fatalf("%s got %v, want %q", tc.reason, err, tc.code)
			}
			if err != nil {
				return
			}
			var found []string
			for _, text := range out.PriceList {
				found = append(found, productOf(t, text))
			}
			if got := strings.Join(found, ", "); got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	pages := 0
	for pager := pricing.NewGetProductsPaginator(c, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(10)}); pager.HasMorePages(); pages++ {
		if _, err := pager.NextPage(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if pages < 2 {
		t.Errorf("the products fit into %d page of ten", pages)
	}
}

// productOf returns the type, the region, and the price of a product.
func productOf(t *testing.T, text string) string {
	t.Helper()
	var product struct {
		Product struct {
			Attributes struct{ InstanceType, RegionCode string }
		}
		Terms struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct{ PricePerUnit struct{ USD string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &product); err != nil {
		t.Fatal(err)
	}
	result := product.Product.Attributes.InstanceType + " " + product.Product.Attributes.RegionCode
	for _, term := range product.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			result += " " + dimension.PricePerUnit.USD
		}
	}
	return result
}
