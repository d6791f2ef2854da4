package autoscaling_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

// mixed turns a new group into one with a mixed instances policy.
func mixed(template string, distribution *types.InstancesDistribution, overrides ...types.LaunchTemplateOverrides) func(*autoscaling.CreateAutoScalingGroupInput) {
	return func(in *autoscaling.CreateAutoScalingGroupInput) {
		in.LaunchTemplate = nil
		in.MixedInstancesPolicy = &types.MixedInstancesPolicy{
			LaunchTemplate:        &types.LaunchTemplate{LaunchTemplateSpecification: spec(template, "1"), Overrides: overrides},
			InstancesDistribution: distribution,
		}
	}
}

func of(instanceTypes ...string) []types.LaunchTemplateOverrides {
	var overrides []types.LaunchTemplateOverrides
	for _, t := range instanceTypes {
		overrides = append(overrides, types.LaunchTemplateOverrides{InstanceType: aws.String(t)})
	}
	return overrides
}

// described counts the group's instances by type and purchase option, such as "m5.large spot".
func (f *fixture) described() map[string]int {
	f.t.Helper()
	count := map[string]int{}
	out := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: ids(f.group())})
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			key := string(i.InstanceType)
			if i.InstanceLifecycle == ec2types.InstanceLifecycleTypeSpot {
				key += " spot"
			}
			count[key]++
		}
	}
	return count
}

func TestMixedInstances(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason       string
		size         int32
		distribution *types.InstancesDistribution
		overrides    []types.LaunchTemplateOverrides
		instances    int
		want         map[string]int
	}{
		{"without a distribution all are On-Demand, of the first type", 3, nil, of("m5.xlarge", "t3.large"), 3, map[string]int{"m5.xlarge": 3}},
		{"lowest price takes the cheapest", 2, &types.InstancesDistribution{OnDemandAllocationStrategy: aws.String("lowest-price")},
			of("m5.xlarge", "t3.large"), 2, map[string]int{"t3.large": 2}},
		{"a base and half of the rest are On-Demand", 6, &types.InstancesDistribution{
			OnDemandBaseCapacity: aws.Int32(2), OnDemandPercentageAboveBaseCapacity: aws.Int32(50), SpotAllocationStrategy: aws.String("capacity-optimized-prioritized"),
		}, of("m5.large", "c5.large"), 6, map[string]int{"m5.large": 4, "m5.large spot": 2}},
		{"lowest price spreads Spot over its pools", 4, &types.InstancesDistribution{
			OnDemandPercentageAboveBaseCapacity: aws.Int32(0), SpotInstancePools: aws.Int32(2),
		}, of("m5.4xlarge", "m5.large", "c5.large"), 4, map[string]int{"m5.large spot": 2, "c5.large spot": 2}},
		{"weights count toward the desired capacity", 8, nil, []types.LaunchTemplateOverrides{
			{InstanceType: aws.String("m5.xlarge"), WeightedCapacity: aws.String("4")}, {InstanceType: aws.String("m5.large"), WeightedCapacity: aws.String("2")},
		}, 2, map[string]int{"m5.xlarge": 2}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), tt.size, mixed(f.template(), tt.distribution, tt.overrides...)))
			f.settled(tt.instances)
			f.step(time.Hour)
			if diff := cmp.Diff(tt.want, f.described()); diff != "" {
				t.Errorf("instances (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverridesBringImageAndTemplate(t *testing.T) {
	t.Parallel()
	f := start(t)
	own := f.template(func(d *ec2types.RequestLaunchTemplateData) {
		d.ImageId = aws.String(f.arm)
		d.InstanceType = "m6g.large"
	})
	call(f, f.asg.CreateAutoScalingGroup, newGroup("", 2, mixed(f.template(), nil,
		types.LaunchTemplateOverrides{InstanceType: aws.String("m6g.xlarge"), ImageId: aws.String(f.arm)},
		types.LaunchTemplateOverrides{InstanceType: aws.String("m6g.large"), LaunchTemplateSpecification: spec(own, "1")},
	)))
	f.settled(2)
	for _, i := range f.group().Instances {
		if *i.InstanceType != "m6g.xlarge" || aws.ToString(i.ImageId) != f.arm {
			t.Errorf("instance %+v", i)
		}
	}
	behavior := f.sim.Behavior()
	behavior.Capacity = []awssim.CapacityRule{{InstanceType: "m6g.xlarge"}}
	f.sim.SetBehavior(behavior)
	f.setDesired(3)
	f.settled(3)
	last := f.group().Instances[2]
	if *last.InstanceType != "m6g.large" || *last.LaunchTemplate.LaunchTemplateId != own || last.ImageId != nil {
		t.Errorf("the override with its own template launched %+v", last)
	}
}

func TestRequirementsChooseTypes(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup("", 2, mixed(f.template(), nil, types.LaunchTemplateOverrides{InstanceRequirements: &types.InstanceRequirements{
		VCpuCount: &types.VCpuCountRequest{Min: aws.Int32(4), Max: aws.Int32(4)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(16384), Max: aws.Int32(16384)},
		CpuManufacturers: []types.CpuManufacturer{types.CpuManufacturerIntel},
	}})))
	f.settled(2)
	for _, i := range f.group().Instances {
		kind := f.sim.World().InstanceType(*i.InstanceType)
		if kind.VCPUs != 4 || kind.MemoryMiB != 16384 || kind.Processor != "Intel" || kind.Burstable {
			t.Errorf("chose %+v", kind)
		}
	}
	fails(f, f.asg.StartInstanceRefresh, &autoscaling.StartInstanceRefreshInput{
		AutoScalingGroupName: aws.String("nodes"), Preferences: &types.RefreshPreferences{SkipMatching: aws.Bool(true)},
	}, "ValidationError", "attribute-based")
	f.refresh()
	f.ends(10*time.Minute, types.InstanceRefreshStatusSuccessful)
}

func TestUpdateOfTheDistributionKeepsTheTemplate(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup("", 1, mixed(template, nil, of("m5.large")...)))
	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), MixedInstancesPolicy: &types.MixedInstancesPolicy{
		InstancesDistribution: &types.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: aws.Int32(50)},
	}})
	got := f.group().MixedInstancesPolicy
	if *got.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateId != template || *got.LaunchTemplate.Overrides[0].InstanceType != "m5.large" {
		t.Errorf("policy %+v", got.LaunchTemplate)
	}
	want := &types.InstancesDistribution{
		OnDemandAllocationStrategy: aws.String("prioritized"), OnDemandBaseCapacity: aws.Int32(0), OnDemandPercentageAboveBaseCapacity: aws.Int32(50),
		SpotAllocationStrategy: aws.String("lowest-price"), SpotInstancePools: aws.Int32(2),
	}
	if diff := cmp.Diff(want, got.InstancesDistribution, cmp.AllowUnexported(types.InstancesDistribution{}), ignoreDocument); diff != "" {
		t.Errorf("distribution with its defaults (-want +got):\n%s", diff)
	}
}

func TestSkipMatchingLooksAtInstanceTypes(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) {
		o.Behavior.Capacity = []awssim.CapacityRule{{InstanceType: "m5.large", Available: 1}}
	})
	template := f.template()
	f.running(newGroup("", 2, mixed(template, nil, of("m5.large", "c5.large")...)))
	f.sim.SetBehavior(awssim.Behavior{InstanceTimes: f.sim.Behavior().InstanceTimes})
	before := ids(f.group())
	f.refresh(func(in *autoscaling.StartInstanceRefreshInput) {
		in.Preferences.SkipMatching = aws.Bool(true)
		in.DesiredConfiguration = &types.DesiredConfiguration{MixedInstancesPolicy: &types.MixedInstancesPolicy{
			LaunchTemplate: &types.LaunchTemplate{LaunchTemplateSpecification: spec(template, "1"), Overrides: of("m5.large")},
		}}
	})
	f.ends(5*time.Minute, types.InstanceRefreshStatusSuccessful)
	f.settled(2)
	kept := 0
	for _, id := range ids(f.group()) {
		if slices.Contains(before, id) {
			kept++
		}
	}
	if diff := cmp.Diff(map[string]int{"m5.large": 2}, f.described()); diff != "" || kept != 1 {
		t.Errorf("kept %d of two (-want +got):\n%s", kept, diff)
	}
}

func TestPoliciesAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	spot := f.template(func(d *ec2types.RequestLaunchTemplateData) {
		d.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot}
	})
	requirements := &types.InstanceRequirements{VCpuCount: &types.VCpuCountRequest{Min: aws.Int32(1)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1)}}
	both := &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String(template), LaunchTemplateName: aws.String("template"), Version: aws.String("1")}
	var twenty []types.LaunchTemplateOverrides
	for i := range 20 {
		own := of(f.sim.World().InstanceTypes[i].Name)[0]
		own.LaunchTemplateSpecification = spec(f.template(), "1")
		twenty = append(twenty, own)
	}
	tests := []struct {
		reason string
		change func(*autoscaling.CreateAutoScalingGroupInput)
		words  string
	}{
		{"a Spot template has no place in a policy", mixed(spot, nil, of("m5.large")...), "Incompatible launch template"},
		{"the template is named by id or name", func(in *create) {
			mixed(template, nil, of("m5.large")...)(in)
			in.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification = both
		}, "either launchTemplateId or LaunchTemplateName"},
		{"so is an override's", mixed(template, nil, types.LaunchTemplateOverrides{InstanceType: aws.String("m5.large"), LaunchTemplateSpecification: both}), "either launchTemplateId or LaunchTemplateName"},
		{"at most twenty templates, the policy's own among them", mixed(template, nil, twenty...), "maximum of 20"},
		{"a type is known", mixed(template, nil, of("m5.gigantic")...), "Invalid value 'm5.gigantic' for InstanceType"},
		{"a type goes with the image", mixed(template, nil, of("m6g.large")...), "You must use a valid fully-formed launch template."},
		{"a type is named once", mixed(template, nil, of("m5.large", "m5.large")...), "Duplicate instance type"},
		{"at most forty types", mixed(template, nil, of(slices.Repeat([]string{"m5.large"}, 41)...)...), "maximum of 40"},
		{"type and requirements exclude each other", mixed(template, nil, types.LaunchTemplateOverrides{InstanceType: aws.String("m5.large"), InstanceRequirements: requirements}), "both InstanceType and InstanceRequirements"},
		{"all are weighted or none", mixed(template, nil, types.LaunchTemplateOverrides{InstanceType: aws.String("m5.large"), WeightedCapacity: aws.String("2")}, of("c5.large")[0]), "weight for all"},
		{"a weight is at most 999", mixed(template, nil, types.LaunchTemplateOverrides{InstanceType: aws.String("m5.large"), WeightedCapacity: aws.String("1000")}), "whole number"},
		{"strategies are known", mixed(template, &types.InstancesDistribution{SpotAllocationStrategy: aws.String("best")}, of("m5.large")...), "SpotAllocationStrategy is not valid. Valid options are: [lowest-price, "},
		{"pools go with lowest price", mixed(template, &types.InstancesDistribution{SpotAllocationStrategy: aws.String("capacity-optimized"), SpotInstancePools: aws.Int32(3)}, of("m5.large")...), "SpotInstancePools"},
		{"prioritized needs types", mixed(template, &types.InstancesDistribution{OnDemandAllocationStrategy: aws.String("prioritized")}, types.LaunchTemplateOverrides{InstanceRequirements: requirements}), "prioritized"},
		{"the percentage is one", mixed(template, &types.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: aws.Int32(101)}, of("m5.large")...), "between 0 and 100"},
		{"attributes have known values", mixed(template, nil, types.LaunchTemplateOverrides{InstanceRequirements: &types.InstanceRequirements{
			VCpuCount: &types.VCpuCountRequest{Min: aws.Int32(1)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1)}, BareMetal: "perhaps",
		}}), "Value 'perhaps' at 'mixedInstancesPolicy.launchTemplate.overrides.1.member.instanceRequirements.bareMetal'"},
		{"instance types are named in letters, digits and wildcards", mixed(template, nil, types.LaunchTemplateOverrides{InstanceRequirements: &types.InstanceRequirements{
			VCpuCount: &types.VCpuCountRequest{Min: aws.Int32(1)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1)}, AllowedInstanceTypes: []string{"m5/large"},
		}}), "regular expression"},
		{"nothing has a millionth of a machine", mixed(template, nil, types.LaunchTemplateOverrides{InstanceRequirements: &types.InstanceRequirements{
			VCpuCount: &types.VCpuCountRequest{Min: aws.Int32(100000)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1)},
		}}), "No instance types match"},
	}
	for _, tt := range tests {
		t.Log(tt.reason)
		fails(f, f.asg.CreateAutoScalingGroup, newGroup(template, 1, tt.change), "ValidationError", tt.words)
	}
}

// TestFailedLaunchesSayThePurchaseOption: of a group with a mixed instances policy an activity has
// the purchase option and EC2's code.
func TestFailedLaunchesSayThePurchaseOption(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason     string
		percentage int32
		types      []string
		want       string
	}{
		{"On-Demand", 100, []string{"m5.large"},
			"Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient m5.large capacity in the Availability Zone you requested"},
		{"Spot", 0, []string{"m5.large"}, "Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration. " +
			"Please adjust your request and try again. Launching EC2 instance failed."},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t, func(o *awssim.Options) {
				o.Behavior.Capacity = []awssim.CapacityRule{{InstanceType: "m5.large"}}
			})
			call(f, f.asg.CreateAutoScalingGroup, newGroup("", 1, mixed(f.template(), &types.InstancesDistribution{
				OnDemandPercentageAboveBaseCapacity: aws.Int32(row.percentage),
			}, of(row.types...)...)))
			f.step(time.Minute)
			got := aws.ToString(f.activities()[0].StatusMessage)
			if !strings.HasPrefix(got, row.want) || !strings.HasSuffix(got, " Launching EC2 instance failed.") {
				t.Errorf("the launch failed with %q, want %q", got, row.want)
			}
		})
	}
}
