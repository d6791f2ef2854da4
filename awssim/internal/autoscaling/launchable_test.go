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

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

func (f *fixture) placementGroup(name string, strategy ec2types.PlacementStrategy) {
	f.t.Helper()
	call(f, f.ec2.CreatePlacementGroup, &ec2.CreatePlacementGroupInput{GroupName: aws.String(name), Strategy: strategy})
}

// requiring makes a launch template that chooses Intel types by their vCPUs.
func (f *fixture) requiring(vcpus int32, change ...func(*ec2types.InstanceRequirementsRequest)) string {
	f.t.Helper()
	return f.template(func(d *ec2types.RequestLaunchTemplateData) {
		d.InstanceType = ""
		d.InstanceRequirements = &ec2types.InstanceRequirementsRequest{
			VCpuCount: &ec2types.VCpuCountRangeRequest{Min: aws.Int32(vcpus), Max: aws.Int32(vcpus)}, MemoryMiB: &ec2types.MemoryMiBRequest{Min: aws.Int32(1)},
			CpuManufacturers: []ec2types.CpuManufacturer{ec2types.CpuManufacturerIntel},
		}
		for _, c := range change {
			c(d.InstanceRequirements)
		}
	})
}

func TestPlacementGroupReachesInstances(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.placementGroup("close", ec2types.PlacementStrategyCluster)
	in := newGroup(f.template(func(d *ec2types.RequestLaunchTemplateData) { d.InstanceType = ec2types.InstanceTypeC5Large }), 1, func(in *create) {
		in.VPCZoneIdentifier, in.PlacementGroup = aws.String(subnetA), aws.String("close")
	})
	i := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: ids(f.running(in))}).Reservations[0].Instances[0]
	if got := aws.ToString(i.Placement.GroupName); got != "close" {
		t.Errorf("the instance is in the placement group %q", got)
	}
	fails(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), VPCZoneIdentifier: aws.String(subnets),
	}, "ValidationError", "cluster placement group")
}

// TestSecurityGroupsByName: a launch in a subnet takes ids of security groups alone, and with
// network interfaces the groups are part of those.
func TestSecurityGroupsByName(t *testing.T) {
	t.Parallel()
	f := start(t)
	named := f.template(func(d *ec2types.RequestLaunchTemplateData) { d.SecurityGroups = []string{"default"} })
	fails(f, f.asg.CreateAutoScalingGroup, newGroup(named, 1), "ValidationError",
		"You must use a valid fully-formed launch template. The parameter groupName cannot be used with the parameter subnet")
	for _, change := range []func(*ec2types.RequestLaunchTemplateData){
		func(d *ec2types.RequestLaunchTemplateData) { d.SecurityGroups = []string{"default"} },
		func(d *ec2types.RequestLaunchTemplateData) { d.SecurityGroupIds = []string{"sg-0c1000000000000ab"} },
	} {
		both := f.template(change, func(d *ec2types.RequestLaunchTemplateData) {
			d.NetworkInterfaces = []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0)}}
		})
		fails(f, f.asg.CreateAutoScalingGroup, newGroup(both, 1), "InvalidQueryParameter",
			"Invalid launch template: When a network interface is provided, the security groups must be a part of it.")
	}
}

func TestTypeNeedNotBeOfferedInEveryZone(t *testing.T) {
	t.Parallel()
	lacking := func(zones ...string) func(*awssim.Options) {
		return func(o *awssim.Options) {
			w := *world.Default()
			w.Regions = slices.Clone(w.Regions)
			w.Regions[0].NotOffered = append(slices.Clone(w.Regions[0].NotOffered), world.Absence{InstanceType: "t3.large", Zones: zones})
			o.World = &w
		}
	}
	f := start(t, lacking("us-east-1a"))
	f.running(newGroup(f.template(), 3))
	for _, i := range f.group().Instances {
		if *i.AvailabilityZone == "us-east-1a" {
			t.Errorf("%s runs where its type is not offered", *i.InstanceId)
		}
	}
	f = start(t, lacking("us-east-1a", "us-east-1b", "us-east-1c"))
	fails(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 1), "ValidationError", "not supported")
}

func TestTemplateRequirementsMakeAGroupAttributeBased(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.requiring(4)
	f.running(newGroup("", 1, mixed(template, nil)))
	call(f, f.ec2.CreateLaunchTemplateVersion, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: aws.String(template), SourceVersion: aws.String("1"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{EbsOptimized: aws.Bool(true)},
	})
	for _, change := range []func(*autoscaling.StartInstanceRefreshInput){
		prefer(func(p *types.RefreshPreferences) { p.SkipMatching = aws.Bool(true) }), desired(template, "2"),
	} {
		in := &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes"), Preferences: &types.RefreshPreferences{}}
		change(in)
		fails(f, f.asg.StartInstanceRefresh, in, "ValidationError", "attribute-based")
	}
	if got := *f.group().MixedInstancesPolicy.InstancesDistribution.OnDemandAllocationStrategy; got != "lowest-price" {
		t.Errorf("the default strategy is %s", got)
	}
	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), DesiredCapacityType: aws.String("vcpu"), DesiredCapacity: aws.Int32(4),
	})
}

// TestTemplateRequirementsAreNotIgnored holds that attributes of a launch template choose among the
// types of the world, m5.xlarge being the cheapest of four vCPUs of Intel that has disks of no kind
// and is not burstable.
func TestTemplateRequirementsAreNotIgnored(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*ec2types.InstanceRequirementsRequest)
		has    func(*world.InstanceType) bool
	}{
		{"encryption between instances", func(r *ec2types.InstanceRequirementsRequest) { r.RequireEncryptionInTransit = aws.Bool(true) },
			func(i *world.InstanceType) bool { return i.EncryptionInTransit }},
		{"a baseline of the network", func(r *ec2types.InstanceRequirementsRequest) {
			r.NetworkBandwidthGbps = &ec2types.NetworkBandwidthGbpsRequest{Min: aws.Float64(1.5)}
		}, func(i *world.InstanceType) bool { return i.NetworkCards[0].BaselineGbps >= 1.5 }},
		{"a baseline of volumes", func(r *ec2types.InstanceRequirementsRequest) {
			r.BaselineEbsBandwidthMbps = &ec2types.BaselineEbsBandwidthMbpsRequest{Min: aws.Int32(1250)}
		}, func(i *world.InstanceType) bool { return i.EBS.Baseline.Mbps >= 1250 }},
		{"a baseline of CPUs", baseline("c6i"), func(i *world.InstanceType) bool { return i.Name[1] >= '6' }},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			f.running(newGroup("", 1, mixed(f.requiring(4), nil)))
			if kind := f.sim.World().InstanceType(*f.group().Instances[0].InstanceType); row.has(kind) {
				t.Fatalf("%s would be chosen without the attribute", kind.Name)
			}
			f = start(t)
			f.running(newGroup("", 1, mixed(f.requiring(4, row.change), nil)))
			if kind := f.sim.World().InstanceType(*f.group().Instances[0].InstanceType); !row.has(kind) {
				t.Errorf("chose %+v", kind)
			}
		})
	}
	f := start(t)
	// one that AWS does not support, and two that are none
	for _, family := range []string{"p5", "m6i.large", "nonsense"} {
		fails(f, f.asg.CreateAutoScalingGroup, newGroup("", 1, mixed(f.requiring(4, baseline(family)), nil)), "ValidationError", "No instance types match")
	}
}

// baseline asks for types whose CPUs perform at least as well as the CPUs of a family.
func baseline(family string) func(*ec2types.InstanceRequirementsRequest) {
	return func(r *ec2types.InstanceRequirementsRequest) {
		r.BaselinePerformanceFactors = &ec2types.BaselinePerformanceFactorsRequest{Cpu: &ec2types.CpuPerformanceFactorRequest{
			References: []ec2types.PerformanceFactorReferenceRequest{{InstanceFamily: &family}},
		}}
	}
}

func TestSpotPriceProtection(t *testing.T) {
	t.Parallel()
	allSpot := &types.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: aws.Int32(0)}
	group := func(f *fixture, vcpus int32, change func(*ec2types.InstanceRequirementsRequest)) {
		call(f, f.asg.CreateAutoScalingGroup, newGroup("", 1, mixed(f.requiring(vcpus, change), allSpot)))
		f.step(time.Minute)
	}
	// The cheapest types have no capacity, so that only the dearer ones are left, which the
	// threshold excludes or not.
	short := func(o *awssim.Options) {
		for _, kind := range world.Default().InstanceTypes {
			if kind.VCPUs == 8 && kind.Processor == "Intel" && kind.OnDemandUSD < 0.5 {
				o.Behavior.Capacity = append(o.Behavior.Capacity, awssim.CapacityRule{InstanceType: kind.Name})
			}
		}
	}
	tests := []struct {
		reason   string
		change   func(*ec2types.InstanceRequirementsRequest)
		launched bool
	}{
		{"by default a wide range", func(*ec2types.InstanceRequirementsRequest) {}, true},
		{"nothing above the lowest Spot price", func(r *ec2types.InstanceRequirementsRequest) { r.SpotMaxPricePercentageOverLowestPrice = aws.Int32(0) }, false},
		{"twice the lowest Spot price and more", func(r *ec2types.InstanceRequirementsRequest) {
			r.SpotMaxPricePercentageOverLowestPrice = aws.Int32(999_999)
		}, true},
		{"a tenth of the On-Demand price", func(r *ec2types.InstanceRequirementsRequest) {
			r.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice = aws.Int32(10)
		}, false},
		{"the On-Demand threshold is not for Spot", func(r *ec2types.InstanceRequirementsRequest) {
			r.OnDemandMaxPricePercentageOverLowestPrice = aws.Int32(0)
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t, short)
			group(f, 8, tt.change)
			if got := len(f.group().Instances) > 0; got != tt.launched {
				t.Errorf("launched: %t; %v", got, aws.ToString(f.activities()[0].StatusMessage))
			}
		})
	}
}

func TestSpotMaximumPriceBelowThePriceFailsLaunches(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup("", 1, mixed(f.template(), &types.InstancesDistribution{
		OnDemandPercentageAboveBaseCapacity: aws.Int32(0), SpotMaxPrice: aws.String("0.001"),
	}, of("m5.large")...)))
	f.step(time.Minute)
	if got := aws.ToString(f.activities()[0].StatusMessage); !strings.Contains(got, "Spot request price of 0.001 is lower than the minimum required") {
		t.Errorf("the launch failed with %q", got)
	}
}

func TestRefreshDeploysOnlyWhatTheGroupAllows(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	call(f, f.ec2.CreateLaunchTemplateVersion, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: aws.String(template), SourceVersion: aws.String("1"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			InstanceMarketOptions: &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot},
		},
	})
	f.running(newGroup(template, 1))
	call(f, f.asg.PutWarmPool, &autoscaling.PutWarmPoolInput{AutoScalingGroupName: aws.String("nodes")})
	in := &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes"), Preferences: &types.RefreshPreferences{}}
	desired(template, "2")(in)
	fails(f, f.asg.StartInstanceRefresh, in, "ValidationError", "warm pool")
}

func TestAutoRollbackNeedsAnImageIDToGoBackTo(t *testing.T) {
	t.Parallel()
	f := start(t)
	parameters := f.template(func(d *ec2types.RequestLaunchTemplateData) {
		d.ImageId = aws.String("resolve:ssm:/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/x86_64/standard/recommended/image_id")
	})
	f.running(newGroup(parameters, 1))
	in := &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: aws.String("nodes"), Preferences: &types.RefreshPreferences{}}
	desired(f.template(), "1")(in)
	call(f, f.asg.StartInstanceRefresh, in)
	call(f, f.asg.CancelInstanceRefresh, &autoscaling.CancelInstanceRefreshInput{
		AutoScalingGroupName: aws.String("nodes"), WaitForTransitioningInstances: aws.Bool(false),
	})
	in.Preferences.AutoRollback = aws.Bool(true)
	fails(f, f.asg.StartInstanceRefresh, in, "ValidationError", "Systems Manager parameter")
}
