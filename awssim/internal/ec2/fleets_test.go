package ec2_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

// fleetTemplate makes the launch template of the fleets in these tests.
func (r *rig) fleetTemplate() string {
	r.Helper()
	return r.template("nodes", &types.RequestLaunchTemplateData{
		ImageId: r.image(types.ArchitectureValuesX8664).ImageId, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#!template"))),
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{tag("from", "template"), tag("team", "a")}}},
	})
}

// in is an override that launches a type in the private subnet of a zone.
func (r *rig) in(instanceType types.InstanceType, zone string) types.FleetLaunchTemplateOverridesRequest {
	r.Helper()
	return types.FleetLaunchTemplateOverridesRequest{
		InstanceType: instanceType, SubnetId: r.subnet("us-east-1" + zone).SubnetId, AvailabilityZone: aws.String("us-east-1" + zone),
	}
}

// request asks for On-Demand Instances of the template's version 1.
func request(template string, total int32, overrides ...types.FleetLaunchTemplateOverridesRequest) *ec2.CreateFleetInput {
	return &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateId: aws.String(template), Version: aws.String("1")},
			Overrides:                   overrides,
		}},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(total), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
	}
}

// onSpot makes a request one for Spot Instances by a strategy.
func onSpot(in *ec2.CreateFleetInput, strategy types.SpotAllocationStrategy) *ec2.CreateFleetInput {
	in.TargetCapacitySpecification.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeSpot
	in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: strategy}
	return in
}

func (r *rig) fleet(in *ec2.CreateFleetInput) *ec2.CreateFleetOutput {
	r.Helper()
	out, err := r.ec2.CreateFleet(r.Context(), in)
	if err != nil {
		r.Fatalf("creating a fleet: %v", err)
	}
	return out
}

// launched returns what a fleet launched as "2 m5.large in us-east-1a", in the order of the answer.
func launched(out *ec2.CreateFleetOutput) []string {
	list := []string{}
	for _, i := range out.Instances {
		list = append(list, fmt.Sprintf("%d %s in %s", len(i.InstanceIds), i.InstanceType, *i.AvailabilityZone))
	}
	return list
}

// refused returns what a fleet did not launch as "InsufficientInstanceCapacity m5.large".
func refused(out *ec2.CreateFleetOutput) []string {
	list := []string{}
	for _, e := range out.Errors {
		list = append(list, *e.ErrorCode+" "+string(e.LaunchTemplateAndOverrides.Overrides.InstanceType))
	}
	return list
}

func TestCreateFleetLaunches(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	template := r.fleetTemplate()
	in := request(template, 2, r.in("m5.large", "a"))
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification = &types.FleetLaunchTemplateSpecificationRequest{
		LaunchTemplateName: aws.String("nodes"), Version: aws.String("$Latest"),
		LaunchTemplateSpecificationUserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#!fleet"))),
	}
	override := &in.LaunchTemplateConfigs[0].Overrides[0]
	override.ImageId, override.KeyName = aws.String("resolve:ssm:/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"), aws.String("default")
	override.IamInstanceProfile = &types.FleetIamInstanceProfileSpecificationRequest{Name: aws.String(nodeProfile)}
	override.MetadataOptions = &types.FleetInstanceMetadataOptionsRequest{HttpTokens: types.FleetHttpTokensStateRequired}
	override.BlockDeviceMappings = []types.FleetBlockDeviceMappingRequest{{
		DeviceName: aws.String("/dev/xvda"), Ebs: &types.FleetEbsBlockDeviceRequest{VolumeSize: aws.Int32(77), VolumeType: types.VolumeTypeGp3},
	}}
	in.TagSpecifications = []types.TagSpecification{
		{ResourceType: types.ResourceTypeFleet, Tags: []types.Tag{tag("kind", "fleet")}},
		{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{tag("team", "b"), tag("kind", "instance")}},
		{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{tag("kind", "volume")}},
	}
	out := r.fleet(in)
	if diff := cmp.Diff([]string{"2 m5.large in us-east-1a"}, launched(out)); diff != "" || len(out.Errors) > 0 {
		t.Fatalf("launched: %s\nerrors: %v", diff, refused(out))
	}
	if got := out.Instances[0].LaunchTemplateAndOverrides.LaunchTemplateSpecification; *got.LaunchTemplateId != template || *got.Version != "1" {
		t.Errorf("the answer names the template %v, want its id and the number of the version", got)
	}
	for _, id := range out.Instances[0].InstanceIds {
		i := r.instance(id)
		want := []types.Tag{
			tag("aws:ec2:fleet-id", *out.FleetId), tag("aws:ec2launchtemplate:id", template), tag("aws:ec2launchtemplate:version", "1"),
			tag("from", "template"), tag("kind", "instance"), tag("team", "b"),
		}
		if diff := cmp.Diff(want, i.Tags, cmpopts.IgnoreUnexported(types.Tag{})); diff != "" {
			t.Errorf("tags of %s:\n%s", id, diff)
		}
		whole, _ := r.sim.Region("123456789012", region).Instance(id)
		if whole.UserData != "#!fleet" || *i.KeyName != "default" || !strings.HasSuffix(*i.IamInstanceProfile.Arn, nodeProfile) || i.MetadataOptions.HttpTokens != types.HttpTokensStateRequired {
			t.Errorf("an override is missing: user data %q, key pair %q, profile %q, tokens %q", whole.UserData, *i.KeyName, *i.IamInstanceProfile.Arn, i.MetadataOptions.HttpTokens)
		}
		volumes, err := r.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{Filters: []types.Filter{filter("attachment.instance-id", id)}})
		if err != nil || *volumes.Volumes[0].Size != 77 || *volumes.Volumes[0].Tags[0].Value != "volume" {
			t.Errorf("the volume of %s: %v, %v", id, volumes, err)
		}
	}
	tags, err := r.ec2.DescribeTags(t.Context(), &ec2.DescribeTagsInput{Filters: []types.Filter{filter("resource-id", *out.FleetId)}})
	if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Value != "fleet" {
		t.Errorf("tags of the fleet: %v, %v", tags, err)
	}
}

func TestCreateFleetAllocates(t *testing.T) {
	t.Parallel()
	capacity := func(rules ...awssim.CapacityRule) awssim.Behavior { return awssim.Behavior{Capacity: rules} }
	none := func(kind string) awssim.CapacityRule { return awssim.CapacityRule{InstanceType: kind} }
	prioritized := func(o types.FleetLaunchTemplateOverridesRequest, priority float64) types.FleetLaunchTemplateOverridesRequest {
		o.Priority = aws.Float64(priority)
		return o
	}
	weighted := func(o types.FleetLaunchTemplateOverridesRequest, weight float64) types.FleetLaunchTemplateOverridesRequest {
		o.WeightedCapacity = aws.Float64(weight)
		return o
	}
	rows := []struct {
		reason   string
		behavior awssim.Behavior
		request  func(r *rig, template string) *ec2.CreateFleetInput
		launched []string
		refused  []string
	}{
		{"the cheapest type comes first", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			return request(template, 2, r.in("m5.large", "a"), r.in("c5.large", "a"))
		}, []string{"2 c5.large in us-east-1a"}, nil},
		{"the highest priority comes first", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			in := request(template, 1, r.in("c5.large", "a"), prioritized(r.in("r5.large", "a"), 2), prioritized(r.in("m5.large", "a"), 1.5))
			in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyPrioritized}
			return in
		}, []string{"1 m5.large in us-east-1a"}, nil},
		{"what lacks capacity is told, and the next takes over", capacity(awssim.CapacityRule{InstanceType: "c5.large", Zone: "us-east-1a", Available: 1}), func(r *rig, template string) *ec2.CreateFleetInput {
			return request(template, 3, r.in("m5.large", "a"), r.in("c5.large", "a"))
		}, []string{"1 c5.large in us-east-1a", "2 m5.large in us-east-1a"}, []string{"InsufficientInstanceCapacity c5.large"}},
		{"a fleet may be fulfilled in part", capacity(awssim.CapacityRule{Available: 2}), func(r *rig, template string) *ec2.CreateFleetInput {
			return request(template, 5, r.in("m5.large", "a"), r.in("c5.large", "b"))
		}, []string{"2 c5.large in us-east-1b"}, []string{"InsufficientInstanceCapacity c5.large", "InsufficientInstanceCapacity m5.large"}},
		{"capacity has a market", capacity(awssim.CapacityRule{Market: "on-demand"}), func(r *rig, template string) *ec2.CreateFleetInput {
			in := request(template, 2, r.in("m5.large", "a"))
			in.TargetCapacitySpecification.SpotTargetCapacity = aws.Int32(1)
			return in
		}, []string{"1 m5.large in us-east-1a"}, []string{"InsufficientInstanceCapacity m5.large"}},
		{"a type that one zone or every zone lacks leaves the others", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			return request(template, 1, r.in("m5.2xlarge", "a"), r.in("m5.gigantic", "a"), r.in("m5.large", "a"))
		}, []string{"1 m5.large in us-east-1a"}, []string{"InvalidFleetConfiguration m5.2xlarge", "InvalidFleetConfiguration m5.gigantic"}},
		{"the wrong architecture is told of the pool", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			return request(template, 1, r.in("m6g.large", "a"), r.in("m5.large", "a"))
		}, []string{"1 m5.large in us-east-1a"}, []string{"InvalidParameterValue m6g.large"}},
		{"a weight makes few of large ones, priced per unit", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			return request(template, 5, weighted(r.in("m5.large", "a"), 1), weighted(r.in("m5.xlarge", "a"), 3))
		}, []string{"2 m5.xlarge in us-east-1a"}, nil},
		{"where one is enough, prices are per instance", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			return request(template, 1, weighted(r.in("m5.large", "a"), 2), weighted(r.in("m5.xlarge", "a"), 8))
		}, []string{"1 m5.large in us-east-1a"}, nil},
		{"Spot by price asks for the cheapest", capacity(none("c5.large")), func(r *rig, template string) *ec2.CreateFleetInput {
			return onSpot(request(template, 2, r.in("m5.large", "a"), r.in("c5.large", "a")), "")
		}, []string{"2 m5.large in us-east-1a"}, []string{"InsufficientInstanceCapacity c5.large"}},
		{"or for several of the cheapest alike", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			in := onSpot(request(template, 5, r.in("r5.large", "a"), r.in("m5.large", "a"), r.in("c5.large", "a")), types.SpotAllocationStrategyLowestPrice)
			in.SpotOptions.InstancePoolsToUseCount = aws.Int32(2)
			return in
		}, []string{"3 c5.large in us-east-1a", "2 m5.large in us-east-1a"}, nil},
		{"diversified takes some of each", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			return onSpot(request(template, 4, r.in("r5.large", "a"), r.in("m5.large", "b"), r.in("m5.large", "a")), types.SpotAllocationStrategyDiversified)
		}, []string{"2 r5.large in us-east-1a", "1 m5.large in us-east-1b", "1 m5.large in us-east-1a"}, nil},
		{"price and capacity leave out what has no room, without a word", capacity(none("c5.large"), awssim.CapacityRule{InstanceType: "m5.large", Available: 1}), func(r *rig, template string) *ec2.CreateFleetInput {
			return onSpot(request(template, 2, r.in("c5.large", "a"), r.in("m5.large", "a"), r.in("r5.large", "a")), types.SpotAllocationStrategyPriceCapacityOptimized)
		}, []string{"2 r5.large in us-east-1a"}, nil},
		{"but say that it can not be fulfilled", capacity(none("c5.large"), awssim.CapacityRule{InstanceType: "m5.large", Available: 1}), func(r *rig, template string) *ec2.CreateFleetInput {
			return onSpot(request(template, 2, r.in("c5.large", "a"), r.in("m5.large", "a")), types.SpotAllocationStrategyPriceCapacityOptimized)
		}, []string{"1 m5.large in us-east-1a"}, []string{"InsufficientInstanceCapacity m5.large", "UnfulfillableCapacity c5.large"}},
		{"capacity before priority", capacity(awssim.CapacityRule{InstanceType: "c5.large", Available: 1}), func(r *rig, template string) *ec2.CreateFleetInput {
			return onSpot(request(template, 2, prioritized(r.in("c5.large", "a"), 0), r.in("r5.large", "a"), prioritized(r.in("m5.large", "a"), 3)), types.SpotAllocationStrategyCapacityOptimizedPrioritized)
		}, []string{"2 m5.large in us-east-1a"}, nil},
		{"capacity before the order", capacity(awssim.CapacityRule{InstanceType: "c5.large", Available: 1}), func(r *rig, template string) *ec2.CreateFleetInput {
			return onSpot(request(template, 2, r.in("c5.large", "a"), r.in("r5.large", "a"), r.in("m5.large", "a")), types.SpotAllocationStrategyCapacityOptimized)
		}, []string{"2 r5.large in us-east-1a"}, nil},
		{"a maximum price below the present one", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			in := onSpot(request(template, 1, r.in("m5.large", "a")), types.SpotAllocationStrategyPriceCapacityOptimized)
			in.LaunchTemplateConfigs[0].Overrides[0].MaxPrice = aws.String("0.002")
			return in
		}, nil, []string{"SpotMaxPriceTooLow m5.large"}},
		{"a budget ends the launch without an error", awssim.Behavior{}, func(r *rig, template string) *ec2.CreateFleetInput {
			in := request(template, 5, r.in("m5.large", "a"))
			in.OnDemandOptions = &types.OnDemandOptionsRequest{MaxTotalPrice: aws.String("0.2")}
			return in
		}, []string{"2 m5.large in us-east-1a"}, nil},
		{"one zone for all, the one with room", capacity(awssim.CapacityRule{Zone: "us-east-1a", Available: 2}), func(r *rig, template string) *ec2.CreateFleetInput {
			in := request(template, 3, r.in("c5.large", "a"), r.in("m5.large", "a"), r.in("r5.large", "b"))
			in.OnDemandOptions = &types.OnDemandOptionsRequest{SingleAvailabilityZone: aws.Bool(true), MinTargetCapacity: aws.Int32(3)}
			return in
		}, []string{"3 r5.large in us-east-1b"}, []string{"InsufficientInstanceCapacity c5.large", "InsufficientInstanceCapacity m5.large"}},
		{"one type for all, as much as there is", capacity(awssim.CapacityRule{InstanceType: "c5.large", Available: 1}, awssim.CapacityRule{InstanceType: "m5.large", Available: 2}), func(r *rig, template string) *ec2.CreateFleetInput {
			in := onSpot(request(template, 3, r.in("c5.large", "a"), r.in("m5.large", "a"), r.in("m5.large", "b")), types.SpotAllocationStrategyLowestPrice)
			in.SpotOptions.SingleInstanceType = aws.Bool(true)
			return in
		}, []string{"2 m5.large in us-east-1a"}, []string{"InsufficientInstanceCapacity c5.large", "InsufficientInstanceCapacity m5.large", "InsufficientInstanceCapacity m5.large"}},
		{"less than the minimum is nothing", capacity(awssim.CapacityRule{Zone: "us-east-1a", Available: 2}), func(r *rig, template string) *ec2.CreateFleetInput {
			in := request(template, 3, r.in("c5.large", "a"), r.in("m5.large", "a"))
			in.OnDemandOptions = &types.OnDemandOptionsRequest{SingleAvailabilityZone: aws.Bool(true), MinTargetCapacity: aws.Int32(3)}
			return in
		}, nil, []string{"InsufficientInstanceCapacity c5.large", "InsufficientInstanceCapacity m5.large"}},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withBehavior(row.behavior), withWorld(func(w *world.World) {
				w.Regions[0].NotOffered = []world.Absence{{InstanceType: "m5.2xlarge", Zones: []string{"us-east-1a"}}}
			}))
			out := r.fleet(row.request(r, r.fleetTemplate()))
			if diff := cmp.Diff(row.launched, launched(out), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("launched:\n%s", diff)
			}
			if diff := cmp.Diff(row.refused, refused(out), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("errors:\n%s", diff)
			}
			ids := 0
			for _, i := range out.Instances {
				ids += len(i.InstanceIds)
			}
			if running := len(r.sim.Region("123456789012", region).Instances()); running != ids {
				t.Errorf("%d instances are there, and the fleet told of %d", running, ids)
			}
		})
	}
}

func TestCreateFleetKeepsToQuotas(t *testing.T) {
	t.Parallel()
	r := newRig(t, withWorld(func(w *world.World) {
		w.Quotas = map[string]int{world.QuotaOnDemandVCPUs: 6, world.QuotaSpotVCPUs: 2}
	}))
	template := r.fleetTemplate()
	out := r.fleet(request(template, 2, r.in("m5.large", "a"), r.in("m5.xlarge", "a")))
	if diff := cmp.Diff([]string{"2 m5.large in us-east-1a"}, launched(out)); diff != "" {
		t.Errorf("within the quota: %s", diff)
	}
	out = r.fleet(request(template, 2, r.in("m5.large", "a"), r.in("m5.xlarge", "a")))
	if diff := cmp.Diff([]string{"1 m5.large in us-east-1a"}, launched(out)); diff != "" {
		t.Errorf("up to the quota: %s", diff)
	}
	if diff := cmp.Diff([]string{"VcpuLimitExceeded m5.large", "VcpuLimitExceeded m5.xlarge"}, refused(out)); diff != "" {
		t.Errorf("beyond the quota: %s", diff)
	}
	out = r.fleet(onSpot(request(template, 2, r.in("m5.large", "a")), types.SpotAllocationStrategyPriceCapacityOptimized))
	if diff := cmp.Diff([]string{"MaxSpotInstanceCountExceeded m5.large"}, refused(out)); diff != "" || len(out.Instances) != 1 {
		t.Errorf("Spot beyond its quota: %s, launched %v", diff, launched(out))
	}
}

// TestQuotasOfFamilies holds that families share a quota of vCPUs by groups: instances of other
// groups are launched where one is used up.
func TestQuotasOfFamilies(t *testing.T) {
	t.Parallel()
	r := newRig(t, withWorld(func(w *world.World) {
		w.Quotas = map[string]int{world.QuotaOfGroup(world.QuotaOnDemandVCPUs, "c6i.large"): 2, world.QuotaOfGroup(world.QuotaOnDemandVCPUs, "g5.xlarge"): 4}
	}))
	template := r.fleetTemplate()
	out := r.fleet(request(template, 3, r.in("m5.large", "a"), r.in("c5.large", "b"), r.in("g4dn.xlarge", "a"), r.in("g5.xlarge", "b")))
	if diff := cmp.Diff([]string{"1 c5.large in us-east-1b", "1 g4dn.xlarge in us-east-1a"}, launched(out)); diff != "" {
		t.Errorf("launched: %s", diff)
	}
	if diff := cmp.Diff([]string{"VcpuLimitExceeded c5.large", "VcpuLimitExceeded m5.large", "VcpuLimitExceeded g4dn.xlarge", "VcpuLimitExceeded g5.xlarge"}, refused(out)); diff != "" {
		t.Errorf("refused: %s", diff)
	}
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

func TestCreateFleetTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m5.large", Available: 1}}}))
	template := r.fleetTemplate()
	ask := func(token string, total int32) (*ec2.CreateFleetOutput, error) {
		in := request(template, total, r.in("m5.large", "a"))
		in.ClientToken = aws.String(token)
		return r.ec2.CreateFleet(t.Context(), in)
	}
	first, err := ask("one", 2)
	if err != nil || len(first.Instances) != 1 || len(first.Errors) != 1 {
		t.Fatalf("the first: %v, %v", first, err)
	}
	again, err := ask("one", 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again, cmpopts.IgnoreUnexported(ec2.CreateFleetOutput{}, types.CreateFleetInstance{}, types.CreateFleetError{}, types.LaunchTemplateAndOverridesResponse{},
		types.FleetLaunchTemplateSpecification{}, types.FleetLaunchTemplateOverrides{}), cmpopts.IgnoreFields(ec2.CreateFleetOutput{}, "ResultMetadata")); diff != "" {
		t.Errorf("the same token has another answer:\n%s", diff)
	}
	_, err = ask("one", 1)
	wantError(t, err, "IdempotentParameterMismatch", "inconsistent")
	if left := r.sim.Region("123456789012", region).Instances(); len(left) != 1 {
		t.Errorf("%d instances are there, want 1", len(left))
	}
	other, err := ask("two", 2)
	if err != nil || *other.FleetId == *first.FleetId || len(other.Instances) > 0 {
		t.Errorf("another token: %v, %v", other, err)
	}
}

func TestFleetsAreDescribedAndDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m5.large", Available: 1}}}))
	template := r.fleetTemplate()
	made := r.fleet(request(template, 2, r.in("m5.large", "a")))
	describe := func(ids ...string) (*ec2.DescribeFleetsOutput, error) {
		return r.ec2.DescribeFleets(t.Context(), &ec2.DescribeFleetsInput{FleetIds: ids})
	}
	if all, err := describe(); err != nil || len(all.Fleets) > 0 {
		t.Errorf("an instant fleet is shown without being asked for: %v, %v", all, err)
	}
	found, err := describe(*made.FleetId)
	if err != nil || len(found.Fleets) != 1 {
		t.Fatalf("the fleet by its id: %v, %v", found, err)
	}
	f := found.Fleets[0]
	if f.FleetState != types.FleetStateCodeActive || f.ActivityStatus != types.FleetActivityStatusFulfilled || *f.FulfilledOnDemandCapacity != 1 ||
		!slices.Equal(f.Instances[0].InstanceIds, made.Instances[0].InstanceIds) || *f.Errors[0].ErrorCode != "InsufficientInstanceCapacity" || *f.LaunchTemplateConfigs[0].LaunchTemplateSpecification.Version != "1" {
		t.Errorf("the fleet is described as %+v", f)
	}
	_, err = describe("fleet-7")
	wantError(t, err, "InvalidFleetId.Malformed", "fleet-7")
	_, err = describe("fleet-00000000-0000-0000-0000-000000000000")
	wantError(t, err, "InvalidFleetId.NotFound", "does not exist")
	_, err = r.ec2.DescribeFleetInstances(t.Context(), &ec2.DescribeFleetInstancesInput{FleetId: made.FleetId})
	wantError(t, err, "UnsupportedOperation", "instant")

	remove := func(terminate bool, ids ...string) []string {
		t.Helper()
		out, err := r.ec2.DeleteFleets(t.Context(), &ec2.DeleteFleetsInput{FleetIds: ids, TerminateInstances: aws.Bool(terminate)})
		if err != nil {
			t.Fatal(err)
		}
		said := []string{}
		for _, item := range out.UnsuccessfulFleetDeletions {
			said = append(said, string(item.Error.Code))
		}
		for _, item := range out.SuccessfulFleetDeletions {
			said = append(said, string(item.PreviousFleetState)+" "+string(item.CurrentFleetState))
		}
		return said
	}
	for _, row := range []struct {
		reason    string
		terminate bool
		id        string
		want      string
	}{
		{"an instant fleet takes its instances with it", false, *made.FleetId, "NoTerminateInstancesNotSupported"},
		{"no such fleet", true, "fleet-00000000-0000-0000-0000-000000000000", "fleetIdDoesNotExist"},
		{"no id of a fleet", true, "lt-0", "fleetIdMalformed"},
		{"the fleet", true, *made.FleetId, "active deleted_terminating"},
		{"the fleet again", true, *made.FleetId, "fleetNotInDeletableState"},
	} {
		if got := remove(row.terminate, row.id); !slices.Equal(got, []string{row.want}) {
			t.Errorf("%s: %v, want %s", row.reason, got, row.want)
		}
	}
	if got := remove(true, slices.Repeat([]string{*made.FleetId}, 26)...); len(got) != 26 || got[0] != "ExceededInstantFleetNumForDeletion" {
		t.Errorf("deleting 26 fleets: %v", got)
	}
	if i := r.instance(made.Instances[0].InstanceIds[0]); i.State.Name != types.InstanceStateNameTerminated {
		t.Errorf("the instance of the deleted fleet is %s", i.State.Name)
	}
	r.clock.Step(2 * time.Hour)
	_, err = describe(*made.FleetId)
	wantError(t, err, "InvalidFleetId.NotFound", *made.FleetId)
}

func TestFleetInstancesAppearLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{ReadLag: time.Second}))
	template := r.fleetTemplate()
	r.clock.Step(2 * time.Second)
	out := r.fleet(request(template, 1, r.in("m5.large", "a")))
	ids := out.Instances[0].InstanceIds
	_, err := r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: ids})
	wantError(t, err, "InvalidInstanceID.NotFound", ids[0])
	r.clock.Step(time.Second)
	if i := r.instance(ids[0]); i.InstanceType != types.InstanceTypeM5Large {
		t.Errorf("the instance is a %s", i.InstanceType)
	}
}
