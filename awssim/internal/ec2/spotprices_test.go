package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

func TestSpotPrices(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{SpotPrices: []awssim.SpotPriceRule{{InstanceType: "m5.large", Zone: "us-east-1b", USD: 0.02}}}))
	r.clock.Step(time.Hour)
	prices := func(change func(*ec2.DescribeSpotPriceHistoryInput)) map[string]string {
		t.Helper()
		in := &ec2.DescribeSpotPriceHistoryInput{StartTime: aws.Time(r.clock.Now()), ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"}}
		change(in)
		found := map[string]string{}
		for pages := ec2.NewDescribeSpotPriceHistoryPaginator(r.ec2, in); pages.HasMorePages(); {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range out.SpotPriceHistory {
				if !p.Timestamp.Equal(start) {
					t.Errorf("the price of %s holds since %s", p.InstanceType, p.Timestamp)
				}
				found[string(p.InstanceType)+" "+*p.AvailabilityZone] = *p.SpotPrice
			}
		}
		return found
	}
	want := map[string]string{"m5.large us-east-1a": "0.038400", "m5.large us-east-1b": "0.020000", "m5.large us-east-1c": "0.038400"}
	if diff := cmp.Diff(want, prices(func(in *ec2.DescribeSpotPriceHistoryInput) { in.InstanceTypes = []types.InstanceType{"m5.large"} })); diff != "" {
		t.Errorf("prices of a type:\n%s", diff)
	}
	if got := prices(func(in *ec2.DescribeSpotPriceHistoryInput) {
		in.Filters = []types.Filter{filter("spot-price", "0.02*")}
	}); len(got) == 0 || got["m5.large us-east-1b"] == "" {
		t.Errorf("prices by a filter: %v", got)
	}
	all := prices(func(in *ec2.DescribeSpotPriceHistoryInput) { in.MaxResults = aws.Int32(100) })
	if want := 3 * len(r.sim.World().InstanceTypes); len(all) != want {
		t.Errorf("%d prices by pages, want %d", len(all), want)
	}
	if got := prices(func(in *ec2.DescribeSpotPriceHistoryInput) { in.ProductDescriptions = []string{"Windows"} }); len(got) > 0 {
		t.Errorf("prices of Windows: %v", got)
	}
	_, err := r.ec2.DescribeSpotPriceHistory(t.Context(), &ec2.DescribeSpotPriceHistoryInput{AvailabilityZone: aws.String("us-east-1a"), AvailabilityZoneId: aws.String("use1-az1")})
	wantError(t, err, "InvalidParameterCombination", "not both")

	out := r.fleet(onSpot(request(r.fleetTemplate(), 1, r.in("m5.large", "a"), r.in("c5.large", "a"), r.in("m5.large", "b")), types.SpotAllocationStrategyPriceCapacityOptimized))
	if diff := cmp.Diff([]string{"1 m5.large in us-east-1b"}, launched(out)); diff != "" {
		t.Errorf("a fleet by price and capacity: %s", diff)
	}
}
