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
