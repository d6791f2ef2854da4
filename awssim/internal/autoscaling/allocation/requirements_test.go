package allocation

import (
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim/world"
)

// instanceType returns a type of the current generation whose Spot price is 40 % of its price.
func instanceType(name string, vcpus int32, price float64, change ...func(*world.InstanceType)) world.InstanceType {
	t := world.InstanceType{
		Name: name, VCPUs: vcpus, MemoryMiB: 4096 * int64(vcpus), OnDemandUSD: price, CurrentGeneration: true, Architectures: []string{"x86_64"},
	}
	for _, f := range change {
		f(&t)
	}
	return t
}

func TestMatching(t *testing.T) {
	t.Parallel()
	arm := func(t *world.InstanceType) { t.Architectures = []string{"arm64"} }
	old := func(t *world.InstanceType) { t.CurrentGeneration = false }
	percent := func(n int32) *int32 { return &n }
	all := []world.InstanceType{
		instanceType("r5.large", 2, 1.25), instanceType("c5.large", 2, 1), instanceType("m5.large", 2, 1.15), instanceType("x2.large", 2, 0.5),
		instanceType("m6g.large", 2, 0.95, arm),
	}
	tests := []struct {
		reason       string
		types        []world.InstanceType
		unit         string
		requirements ec2types.InstanceRequirementsRequest
		architecture ec2types.ArchitectureValues
		// want has a + for types that are dear as On-Demand Instances, and a * for those dear as Spot Instances
		want []string
	}{
		{reason: "cheapest first, and dear from 20 % above the cheapest C, M or R type", types: all, architecture: "x86_64",
			want: []string{"x2.large", "c5.large", "m5.large", "r5.large+"}},
		{reason: "without an architecture, types of each", types: all, want: []string{"x2.large", "m6g.large", "c5.large", "m5.large+", "r5.large+"}},
		{reason: "a threshold of one's own", types: all, architecture: "x86_64", want: []string{"x2.large", "c5.large", "m5.large+", "r5.large+"},
			requirements: ec2types.InstanceRequirementsRequest{OnDemandMaxPricePercentageOverLowestPrice: percent(10)}},
		{reason: "Spot above the cheapest Spot price", types: all, architecture: "x86_64", want: []string{"x2.large", "c5.large", "m5.large*", "r5.large+*"},
			requirements: ec2types.InstanceRequirementsRequest{SpotMaxPricePercentageOverLowestPrice: percent(10)}},
		{reason: "Spot as a share of the cheapest On-Demand price", types: all, architecture: "x86_64", want: []string{"x2.large", "c5.large", "m5.large", "r5.large+*"},
			requirements: ec2types.InstanceRequirementsRequest{MaxSpotPriceAsPercentageOfOptimalOnDemandPrice: percent(48)}},
		{reason: "attributes exclude types", types: all, want: []string{"c5.large"},
			requirements: ec2types.InstanceRequirementsRequest{AllowedInstanceTypes: []string{"c5.*"}}},
		{reason: "without a C, M or R type, the cheapest of the current generation", want: []string{"x1.large", "x2.large", "z2.large+"},
			types: []world.InstanceType{instanceType("x1.large", 2, 0.5, old), instanceType("x2.large", 2, 1), instanceType("z2.large", 2, 1.3)}},
		{reason: "without any of the current generation, the cheapest", want: []string{"x1.large", "z1.large+"},
			types: []world.InstanceType{instanceType("x1.large", 2, 1, old), instanceType("z1.large", 2, 1.3, old)}},
		{reason: "a Mac is no M type", want: []string{"mac2.metal", "c5.large"},
			types: []world.InstanceType{instanceType("c5.large", 2, 3), instanceType("mac2.metal", 2, 1)}},
		{reason: "in vCPUs, prices are those of a vCPU", unit: CapacityTypeVCPU, want: []string{"c5.large+", "m5.2xlarge"},
			types: []world.InstanceType{instanceType("c5.large", 2, 1), instanceType("m5.2xlarge", 8, 3)}},
		{reason: "in units, prices are those of an instance", unit: CapacityTypeUnits, want: []string{"c5.large", "m5.2xlarge+"},
			types: []world.InstanceType{instanceType("c5.large", 2, 1), instanceType("m5.2xlarge", 8, 3)}},
		{reason: "nothing matches", types: all, architecture: "i386"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range Matching(tt.types, tt.unit, &tt.requirements, 3, tt.architecture) {
				name := c.InstanceType
				if c.DearOnDemand {
					name += "+"
				}
				if c.DearSpot {
					name += "*"
				}
				got = append(got, name)
				if c.Override != 3 || c.Units != 1 {
					t.Errorf("%s is of override %d and counts %d, want 3 and 1", c.InstanceType, c.Override, c.Units)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("choices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnitsOf(t *testing.T) {
	t.Parallel()
	large := instanceType("m5.large", 2, 1)
	tests := []struct {
		reason string
		weight string
		kind   *world.InstanceType
		unit   string
		want   int
	}{
		{"a weight wins", "7", &large, CapacityTypeVCPU, 7},
		{"one in a group that counts instances", "", &large, CapacityTypeUnits, 1},
		{"vCPUs", "", &large, CapacityTypeVCPU, 2},
		{"memory", "", &large, CapacityTypeMemory, 8192},
		{"one for a type that the world does not have", "", nil, CapacityTypeVCPU, 1},
	}
	for _, tt := range tests {
		if got := UnitsOf(tt.weight, tt.kind, tt.unit); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.reason, got, tt.want)
		}
	}
}
