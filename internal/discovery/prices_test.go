package discovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws"
)

// TestPrices holds that AWS's prices are returned with their dates, and read once.
func TestPrices(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for range 2 {
		price, err := p.Prices.OnDemand(t.Context(), "m5.large", Linux)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Price{PerHour: 0.096, Currency: "USD", Date: time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)}, price); diff != "" {
			t.Errorf("OnDemand() -want +got:\n%s", diff)
		}
		spot, err := p.Prices.Spot(t.Context(), "m5.large", Linux)
		if err != nil {
			t.Fatal(err)
		}
		want := Price{PerHour: 0.0384, Currency: "USD", Date: p.clock.Now()}
		if diff := cmp.Diff(want, spot[region+"a"]); diff != "" || len(spot) < 2 {
			t.Errorf("Spot() = %v; -want +got in one zone:\n%s", spot, diff)
		}
	}
	if lists, spots := p.asked("GetProducts"), p.asked("DescribeSpotPriceHistory"); lists != 1 || spots != 1 {
		t.Errorf("the list was read %d times, and Spot prices %d times; once each is enough", lists, spots)
	}
	if _, err := p.Prices.OnDemand(t.Context(), "m5.large", Windows); !IsNoPrice(err) || !notFound(err, "m5.large") {
		t.Errorf("a type that the list does not have: %v", err)
	}
	if spot, err := p.Prices.Spot(t.Context(), "m5.large", Windows); err != nil || len(spot) != 0 {
		t.Errorf("a type that is not sold has no Spot price: %v, %v", spot, err)
	}
}

func TestListPrice(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	for name, tc := range map[string]struct {
		reason, product string
		want            Price
		found, fails    bool
	}{
		"China": {
			reason:  "China has its own currency.",
			product: `{"publicationDate":"2026-11-20T01:02:03Z","terms":{"OnDemand":{"A.B":{"priceDimensions":{"A.B.C":{"unit":"Hrs","pricePerUnit":{"CNY":"0.6640000000"}}}}}}}`,
			want:    Price{PerHour: 0.664, Currency: "CNY", Date: date}, found: true,
		},
		"Reserved": {reason: "A product that is only sold in advance has no On-Demand price.", product: `{"publicationDate":"2026-11-20T01:02:03Z","terms":{"Reserved":{"x":{}}}}`},
		"Free":     {reason: "A price of zero stands for a product that is paid for otherwise.", product: `{"terms":{"OnDemand":{"x":{"priceDimensions":{"y":{"unit":"Hrs","pricePerUnit":{"USD":"0.0000000000"}}}}}}}`},
		"Text":     {reason: "A price is a number.", product: `{"terms":{"OnDemand":{"x":{"priceDimensions":{"y":{"unit":"Hrs","pricePerUnit":{"USD":"free"}}}}}}}`, fails: true},
		"NoJSON":   {reason: "A product is a document.", product: `price`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			price, found, err := listPrice(tc.product)
			if found != tc.found || (err != nil) != tc.fails {
				t.Fatalf("%s listPrice() found %t, %v", tc.reason, found, err)
			}
			if diff := cmp.Diff(tc.want, price); diff != "" {
				t.Errorf("%s listPrice() -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPriceIsDenied holds that a missing permission is known as one.
func TestPriceIsDenied(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	if _, err := p.sim.AddFault(awssim.Fault{Service: "pricing", Action: "GetProducts", Code: "AccessDeniedException", Status: 400}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Prices.OnDemand(t.Context(), "m5.large", Linux); !aws.IsAccessDenied(err) {
		t.Errorf("OnDemand() error = %v", err)
	}
}
