package ec2_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim/world"
)

// refused returns what a fleet did not launch as "InsufficientInstanceCapacity m5.large".
func refused(out *ec2.CreateFleetOutput) []string {
	list := []string{}
	for _, e := range out.Errors {
		list = append(list, *e.ErrorCode+" "+string(e.LaunchTemplateAndOverrides.Overrides.InstanceType))
	}
	return list
}

// TestSpotNeedsARole holds that a fleet of Spot Instances is refused for each of its pools in an
// account without the role that they need, if its creator may not create it, and has it created
// otherwise.
func TestSpotNeedsARole(t *testing.T) {
	t.Parallel()
	r := newRig(t, withWorld(func(w *world.World) {
		w.Roles = slices.DeleteFunc(slices.Clone(w.Roles), func(role world.Role) bool { return role.Name == "AWSServiceRoleForEC2Spot" })
	}))
	template := r.fleetTemplate()
	spot := func(token string) *ec2.CreateFleetOutput {
		in := onSpot(request(template, 1, r.in("m5.large", "a"), r.in("c5.large", "b")), types.SpotAllocationStrategyPriceCapacityOptimized)
		in.ClientToken = aws.String(token)
		return r.fleet(in)
	}
	policy := func(documents ...string) {
		if err := r.sim.SetPolicies("AKIATEST123456789012", documents...); err != nil {
			t.Fatal(err)
		}
	}
	policy(`{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"iam:CreateServiceLinkedRole","Resource":"*"}]}`)
	out := spot("one")
	const code = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
	if diff := cmp.Diff([]string{code + " m5.large", code + " c5.large"}, refused(out)); diff != "" || len(out.Instances) > 0 {
		t.Errorf("launched are %v, refused: %s", launched(out), diff)
	}
	policy()
	if out := spot("two"); len(out.Instances) != 1 {
		t.Errorf("launched are %v, refused %v", launched(out), refused(out))
	}
	policy(`{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"iam:CreateServiceLinkedRole","Resource":"*"}]}`)
	if out := spot("three"); len(out.Instances) != 1 {
		t.Errorf("with the role, launched are %v, refused %v", launched(out), refused(out))
	}
}

func TestCreateFleetRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	template := r.fleetTemplate()
	spotTemplate := r.template("spot", &types.RequestLaunchTemplateData{InstanceMarketOptions: &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}})
	sized := r.template("sized", &types.RequestLaunchTemplateData{InstanceRequirements: &types.InstanceRequirementsRequest{
		VCpuCount: &types.VCpuCountRangeRequest{Min: aws.Int32(2)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1024)},
	}})
	public := func() types.FleetLaunchTemplateOverridesRequest {
		out, err := r.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("tag:Name", "public-us-east-1a")}})
		if err != nil || len(out.Subnets) != 1 {
			t.Fatal(out, err)
		}
		return types.FleetLaunchTemplateOverridesRequest{InstanceType: "m5.large", SubnetId: out.Subnets[0].SubnetId}
	}()
	spec := func(change func(*types.FleetLaunchTemplateSpecificationRequest)) func(*ec2.CreateFleetInput) {
		return func(in *ec2.CreateFleetInput) { change(in.LaunchTemplateConfigs[0].LaunchTemplateSpecification) }
	}
	override := func(change func(*types.FleetLaunchTemplateOverridesRequest)) func(*ec2.CreateFleetInput) {
		return func(in *ec2.CreateFleetInput) { change(&in.LaunchTemplateConfigs[0].Overrides[0]) }
	}
	target := func(change func(*types.TargetCapacitySpecificationRequest)) func(*ec2.CreateFleetInput) {
		return func(in *ec2.CreateFleetInput) { change(in.TargetCapacitySpecification) }
	}
	onDemand := func(o types.OnDemandOptionsRequest) func(*ec2.CreateFleetInput) {
		return func(in *ec2.CreateFleetInput) { in.OnDemandOptions = &o }
	}
	spot := func(o types.SpotOptionsRequest) func(*ec2.CreateFleetInput) {
		return func(in *ec2.CreateFleetInput) { onSpot(in, "").SpotOptions = &o }
	}
	tags := func(specs ...types.TagSpecification) func(*ec2.CreateFleetInput) {
		return func(in *ec2.CreateFleetInput) { in.TagSpecifications = specs }
	}
	rows := []struct {
		reason string
		change func(*ec2.CreateFleetInput)
		code   string
		says   string
	}{
		{"a type of fleet that goes on", func(in *ec2.CreateFleetInput) { in.Type = types.FleetTypeMaintain }, "InvalidParameterValue", "instant only"},
		{"no type means maintain", func(in *ec2.CreateFleetInput) { in.Type = "" }, "InvalidParameterValue", "instant only"},
		{"an unknown strategy", spot(types.SpotOptionsRequest{AllocationStrategy: "lowestPrice"}), "InvalidParameterValue", "lowestPrice"},
		{"a policy of maintained fleets", func(in *ec2.CreateFleetInput) {
			in.ExcessCapacityTerminationPolicy = types.FleetExcessCapacityTerminationPolicyTermination
		}, "InvalidFleetConfig", "ExcessCapacityTerminationPolicy"},
		{"health checks", func(in *ec2.CreateFleetInput) { in.ReplaceUnhealthyInstances = aws.Bool(true) }, "InvalidFleetConfig", "ReplaceUnhealthyInstances"},
		{"an end", func(in *ec2.CreateFleetInput) { in.ValidUntil = aws.Time(start.Add(time.Hour)) }, "InvalidFleetConfig", "ValidUntil"},
		{"rebalancing", spot(types.SpotOptionsRequest{MaintenanceStrategies: &types.FleetSpotMaintenanceStrategiesRequest{
			CapacityRebalance: &types.FleetSpotCapacityRebalanceRequest{ReplacementStrategy: types.FleetReplacementStrategyLaunch},
		}}), "InvalidFleetConfig", "MaintenanceStrategies"},
		{"no capacity at all", target(func(s *types.TargetCapacitySpecificationRequest) { s.TotalTargetCapacity = aws.Int32(0) }), "InvalidParameterValue", "at least 1"},
		{"too much", target(func(s *types.TargetCapacitySpecificationRequest) { s.TotalTargetCapacity = aws.Int32(10001) }), "InvalidParameterValue", "10000"},
		{"parts that exceed the whole", target(func(s *types.TargetCapacitySpecificationRequest) { s.SpotTargetCapacity = aws.Int32(2) }), "InvalidFleetConfig", "exceed"},
		{"no market for the rest", target(func(s *types.TargetCapacitySpecificationRequest) { s.DefaultTargetCapacityType = "" }), "MissingParameter", "DefaultTargetCapacityType"},
		{"vCPUs as the unit of named types", target(func(s *types.TargetCapacitySpecificationRequest) {
			s.TargetCapacityUnitType = types.TargetCapacityUnitTypeVcpu
		}), "InvalidFleetConfig", "attribute-based"},
		{"capacity blocks", target(func(s *types.TargetCapacitySpecificationRequest) {
			s.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeCapacityBlock
		}), "Unsupported", "capacity reservations"},
		{"a minimum without a single zone or type", onDemand(types.OnDemandOptionsRequest{MinTargetCapacity: aws.Int32(1)}), "InvalidFleetConfig", "SingleAvailabilityZone or SingleInstanceType"},
		{"a minimum above the target", onDemand(types.OnDemandOptionsRequest{MinTargetCapacity: aws.Int32(2), SingleInstanceType: aws.Bool(true)}), "InvalidFleetConfig", "exceed the target"},
		{"too high a minimum", onDemand(types.OnDemandOptionsRequest{MinTargetCapacity: aws.Int32(1001), SingleInstanceType: aws.Bool(true)}), "InvalidParameterValue", "1000"},
		{"a budget that is no price", onDemand(types.OnDemandOptionsRequest{MaxTotalPrice: aws.String("much")}), "InvalidParameterValue", "price"},
		{"a number of pools for another strategy", spot(types.SpotOptionsRequest{
			AllocationStrategy: types.SpotAllocationStrategyDiversified, InstancePoolsToUseCount: aws.Int32(2),
		}), "InvalidFleetConfig", "only available with the lowestPrice"},
		{"no pools", spot(types.SpotOptionsRequest{InstancePoolsToUseCount: aws.Int32(0)}), "InvalidParameterValue", "positive"},
		{"hibernation", spot(types.SpotOptionsRequest{InstanceInterruptionBehavior: types.SpotInstanceInterruptionBehaviorHibernate}), "InvalidFleetConfig", "hibernate"},
		{"too many configs", func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs = slices.Repeat(in.LaunchTemplateConfigs, 51)
		}, "InvalidParameterValue", "less than or equal to 50"},
		{"no template", func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification = nil
		}, "MissingParameter", "LaunchTemplateSpecification"},
		{"no version", spec(func(s *types.FleetLaunchTemplateSpecificationRequest) { s.Version = nil }), "MissingParameter", "Version"},
		{"a version that is not there", spec(func(s *types.FleetLaunchTemplateSpecificationRequest) { s.Version = aws.String("7") }), "InvalidLaunchTemplateId.VersionNotFound", "7"},
		{"a template that is not there", spec(func(s *types.FleetLaunchTemplateSpecificationRequest) {
			s.LaunchTemplateId = aws.String("lt-00000000000000000")
		}), "InvalidLaunchTemplateId.NotFound", "lt-00000000000000000"},
		{"a name that is not there", spec(func(s *types.FleetLaunchTemplateSpecificationRequest) {
			s.LaunchTemplateId, s.LaunchTemplateName = nil, aws.String("missing")
		}), "InvalidLaunchTemplateName.NotFoundException", "missing"},
		{"a name beside the id", spec(func(s *types.FleetLaunchTemplateSpecificationRequest) { s.LaunchTemplateName = aws.String("nodes") }), "InvalidParameterCombination", "not both"},
		{"user data that is not base64", spec(func(s *types.FleetLaunchTemplateSpecificationRequest) {
			s.LaunchTemplateSpecificationUserData = aws.String("#!")
		}), "InvalidParameterValue", "BASE64"},
		{"too much user data", spec(func(s *types.FleetLaunchTemplateSpecificationRequest) {
			s.LaunchTemplateSpecificationUserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16385)))
		}), "InvalidParameterValue", "16384"},
		{"a template for Spot in a fleet On-Demand", spec(func(s *types.FleetLaunchTemplateSpecificationRequest) { s.LaunchTemplateId = aws.String(spotTemplate) }), "InvalidFleetConfig", "market type spot"},
		{"requirements in the template", func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateId = aws.String(sized)
			in.LaunchTemplateConfigs[0].Overrides = nil
		}, "Unsupported", "attribute-based"},
		{"requirements in the override", override(func(o *types.FleetLaunchTemplateOverridesRequest) {
			o.InstanceType, o.InstanceRequirements = "", &types.InstanceRequirementsRequest{VCpuCount: &types.VCpuCountRangeRequest{Min: aws.Int32(1)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1)}}
		}), "Unsupported", "attribute-based"},
		{"requirements beside a type", override(func(o *types.FleetLaunchTemplateOverridesRequest) {
			o.InstanceRequirements = &types.InstanceRequirementsRequest{VCpuCount: &types.VCpuCountRangeRequest{Min: aws.Int32(1)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(1)}}
		}), "InvalidParameterCombination", "not both"},
		{"a Mac", override(func(o *types.FleetLaunchTemplateOverridesRequest) { o.InstanceType = types.InstanceTypeMac1Metal }), "Unsupported", "mac1.metal"},
		{"a zone by name and by id", override(func(o *types.FleetLaunchTemplateOverridesRequest) { o.AvailabilityZoneId = aws.String("use1-az1") }), "InvalidParameterCombination", "not both"},
		{"several subnets in one override", override(func(o *types.FleetLaunchTemplateOverridesRequest) {
			o.SubnetId = aws.String(*o.SubnetId + "," + *public.SubnetId)
		}), "InvalidFleetConfig", "only one subnet"},
		{"a negative priority", override(func(o *types.FleetLaunchTemplateOverridesRequest) { o.Priority = aws.Float64(-1) }), "InvalidParameterValue", "start at 0"},
		{"no weight", override(func(o *types.FleetLaunchTemplateOverridesRequest) { o.WeightedCapacity = aws.Float64(0) }), "InvalidParameterValue", "greater than 0"},
		{"a maximum price of nothing", override(func(o *types.FleetLaunchTemplateOverridesRequest) { o.MaxPrice = aws.String("0.0001") }), "InvalidParameterValue", "0.001"},
		{"one pool twice", func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides = append(in.LaunchTemplateConfigs[0].Overrides, r.in("m5.large", "a"))
		}, "InvalidFleetConfig", "duplicate instance pools"},
		{"two subnets of one zone", func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides = append(in.LaunchTemplateConfigs[0].Overrides, public)
		}, "InvalidFleetConfig", "duplicate instance pools"},
		{"tags of what a fleet does not make", tags(types.TagSpecification{ResourceType: types.ResourceTypeSubnet, Tags: []types.Tag{tag("a", "b")}}), "InvalidParameterValue", "taggable"},
		{"a reserved tag", tags(types.TagSpecification{ResourceType: types.ResourceTypeFleet, Tags: []types.Tag{tag("aws:a", "b")}}), "InvalidParameterValue", "reserved"},
		{"a token that is too long", func(in *ec2.CreateFleetInput) { in.ClientToken = aws.String(strings.Repeat("x", 65)) }, "InvalidClientToken", "64"},
		{"nothing but a trial", func(in *ec2.CreateFleetInput) { in.DryRun = aws.Bool(true) }, "DryRunOperation", "would have succeeded"},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			in := request(template, 1, r.in("m5.large", "a"))
			row.change(in)
			_, err := r.ec2.CreateFleet(t.Context(), in)
			wantError(t, err, row.code, row.says)
		})
	}
	if left := r.sim.Region("123456789012", region).Instances(); len(left) > 0 {
		t.Errorf("%d instances were launched by what was refused", len(left))
	}
}

func TestCreateFleetErrorsOfPools(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	broken := r.template("broken", &types.RequestLaunchTemplateData{
		ImageId: r.image(types.ArchitectureValuesX8664).ImageId, SecurityGroupIds: []string{"sg-00000000000000000"},
	})
	spotTags := r.template("spot-tags", &types.RequestLaunchTemplateData{
		ImageId: r.image(types.ArchitectureValuesX8664).ImageId,
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{
			ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: []types.Tag{tag("a", "b")},
		}},
	})
	imageless := r.template("imageless", typed("m5.large"))
	rows := []struct {
		reason, template string
		change           func(*types.FleetLaunchTemplateOverridesRequest)
		code, says       string
	}{
		{"a group that is not there", broken, nil, "InvalidGroup.NotFound", "sg-00000000000000000"},
		{"tags of Spot requests that there are none of", spotTags, nil, "InvalidParameterValue", "Spot instances requests"},
		{"no image anywhere", imageless, nil, "MissingParameter", "ImageId"},
		{"a subnet that is not there", imageless, func(o *types.FleetLaunchTemplateOverridesRequest) {
			o.ImageId, o.SubnetId = r.image(types.ArchitectureValuesX8664).ImageId, aws.String("subnet-00000000000000000")
		}, "InvalidSubnetID.NotFound", "does not exist"},
		{"a zone that is not the subnet's", imageless, func(o *types.FleetLaunchTemplateOverridesRequest) {
			o.ImageId, o.AvailabilityZone = r.image(types.ArchitectureValuesX8664).ImageId, aws.String("us-east-1b")
		}, "InvalidParameterValue", "does not match"},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			in := request(row.template, 1, r.in("m5.large", "a"))
			if row.change != nil {
				row.change(&in.LaunchTemplateConfigs[0].Overrides[0])
			}
			out := r.fleet(in)
			if len(out.Instances) > 0 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != row.code || !strings.Contains(*out.Errors[0].ErrorMessage, row.says) {
				t.Errorf("launched %v, errors %v", launched(out), out.Errors)
			}
			if e := out.Errors[0]; e.Lifecycle != types.InstanceLifecycleOnDemand || *e.LaunchTemplateAndOverrides.LaunchTemplateSpecification.LaunchTemplateId != row.template {
				t.Errorf("the error is of %s with template %s", e.Lifecycle, *e.LaunchTemplateAndOverrides.LaunchTemplateSpecification.LaunchTemplateId)
			}
		})
	}
}
