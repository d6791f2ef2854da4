package plan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/prices"
)

// TestPriceOfPlan holds that a plan has the change of the price, and that a price that cannot be read
// does not prevent a plan.
func TestPriceOfPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		edit   func(*infrav1.AWSMachinePool)
		denied bool
		want   string
		calls  int
	}{
		"Dearer": {
			reason: "Another instance type has another price.",
			edit:   func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge" },
			want:   dearer, calls: 2,
		},
		"Spot": {
			reason: "Spot Instances have prices of their own, with the time at which they were read.",
			edit: func(pool *infrav1.AWSMachinePool) {
				pool.Spec.AWSLaunchTemplate.SpotMarketOptions = &infrav1.SpotMarketOptions{}
			},
			want: `  Price of instances: 0.2880 → 0.1152 USD (-0.1728) per hour, and 210.24 → 84.10 USD (-126.14) per month,
  by On-Demand list prices of 2026-01-15 and Spot prices of 2026-11-26 10:02 UTC.
`,
			calls: 1,
		},
		"Mixed": {
			reason: "AWS chooses among the types of a policy.",
			edit: func(pool *infrav1.AWSMachinePool) {
				pool.Spec.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{{InstanceType: "m5.large"}, {InstanceType: "m5.xlarge"}}}
			},
			want: `  Price of instances: 0.2880 → 0.2880 to 0.5760 USD (+0.0000 to +0.2880) per hour, and 210.24 → 210.24 to 420.48 USD (+0.0000 to +210.24) per month,
  by On-Demand list prices of 2026-01-15.
`,
			calls: 2,
		},
		"Denied": {
			reason: "A permission that is missing is named.", denied: true,
			edit:  func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge" },
			want:  "  The change of the price is not known: these credentials may not call pricing:GetProducts.\n",
			calls: 2,
		},
		"Same": {
			reason: "An edit that buys the same reads no price.",
			edit:   func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 7 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.running()
			if tc.denied {
				_, err := r.sim.AddFault(awssim.Fault{Service: "pricing", Code: "AccessDeniedException"})
				r.do(err)
			}
			edited := r.stored()
			tc.edit(edited)
			made := r.plan(edited)
			if made.Failed() {
				t.Errorf("%s the plan failed: %s", tc.reason, r.printed(made))
			}
			shown := r.printed(made)
			if tc.want == "" && strings.Contains(shown, "rice") || !strings.Contains(shown, tc.want) {
				t.Errorf("%s got\n%s, want\n%s", tc.reason, shown, tc.want)
			}
			calls := 0
			for _, call := range r.sim.Calls() {
				if call.Action == "GetProducts" {
					calls++
				}
			}
			if calls != tc.calls {
				t.Errorf("%s the price list was read %d times, want %d", tc.reason, calls, tc.calls)
			}
		})
	}
}

func TestChangeOf(t *testing.T) {
	t.Parallel()
	listed, read := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	none := prices.Cost{}
	some := prices.Cost{PerHour: prices.Range{Min: 0.1, Max: 0.30004}, Currency: "USD", OnDemand: listed, Spot: read}
	for name, tc := range map[string]struct {
		reason        string
		before, after prices.Cost
		want          Price
	}{
		"New": {
			reason: "A pool that is created costs nothing before.", before: none, after: some,
			want: Price{
				Currency: "USD", OnDemand: &listed, Spot: &read,
				PerHour:  &AmountChange{After: prices.Range{Min: 0.1, Max: 0.3}},
				PerMonth: &AmountChange{After: prices.Range{Min: 73, Max: 219.0292}},
			},
		},
		"Oldest": {
			reason: "The date is of the oldest price.", before: prices.Cost{PerHour: prices.Range{Min: 1, Max: 1}, Currency: "USD", OnDemand: read}, after: prices.Cost{Currency: "USD", OnDemand: listed},
			want: Price{
				Currency: "USD", OnDemand: &listed, PerHour: &AmountChange{Before: prices.Range{Min: 1, Max: 1}},
				PerMonth: &AmountChange{Before: prices.Range{Min: 730, Max: 730}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(&tc.want, changeOf(tc.before, tc.after)); diff != "" {
				t.Errorf("%s changeOf() -want +got:\n%s", tc.reason, diff)
			}
		})
	}
	text, err := json.Marshal(Price{Currency: "USD", PerHour: ptr.To(AmountChange{After: prices.Range{Min: 1, Max: 2}}), OnDemand: &listed})
	if want := `{"currency":"USD","perHour":{"before":{"min":0,"max":0},"after":{"min":1,"max":2}},"onDemandListed":"2026-01-15T00:00:00Z"}`; err != nil || string(text) != want {
		t.Errorf("as JSON: %s, %v; want %s", text, err, want)
	}
}
