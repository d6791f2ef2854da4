package autoscaling_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

type create = autoscaling.CreateAutoScalingGroupInput

func TestGroupsAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	noImage := f.template(func(d *ec2types.RequestLaunchTemplateData) { d.ImageId = nil })
	noType := f.template(func(d *ec2types.RequestLaunchTemplateData) { d.InstanceType = "" })
	badImage := f.template(func(d *ec2types.RequestLaunchTemplateData) { d.ImageId = aws.String("ami-00000000000000000") })
	badProfile := f.template(func(d *ec2types.RequestLaunchTemplateData) {
		d.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("missing")}
	})
	onHost := f.template(func(d *ec2types.RequestLaunchTemplateData) {
		d.Placement = &ec2types.LaunchTemplatePlacementRequest{HostId: aws.String("h-00000000000000000"), Tenancy: ec2types.TenancyHost}
	})
	f.placementGroup("close", ec2types.PlacementStrategyCluster)
	tests := []struct {
		reason string
		change func(*create)
		words  string
	}{
		{"a placement group exists", func(in *create) { in.PlacementGroup = aws.String("nowhere") }, "The Placement Group 'nowhere' is unknown."},
		{"a cluster placement group is in one zone", func(in *create) { in.PlacementGroup = aws.String("close") }, "multiple Availability Zones and a cluster placement group"},
		{"a name has no colon", func(in *create) { in.AutoScalingGroupName = aws.String("a:b") }, "invalid characters"},
		{"a name has at most 255 characters", func(in *create) { in.AutoScalingGroupName = aws.String(strings.Repeat("a", 256)) }, "255"},
		{"there is one source", func(in *create) { in.LaunchTemplate = nil }, "Valid requests must contain either"},
		{"there is only one source", func(in *create) { in.LaunchConfigurationName = aws.String("x") }, "Valid requests must contain either"},
		{"a launch configuration exists", func(in *create) { in.LaunchTemplate, in.LaunchConfigurationName = nil, aws.String("x") }, "Launch configuration name not found - Launch configuration x not found"},
		{"an instance exists", func(in *create) { in.LaunchTemplate, in.InstanceId = nil, aws.String("i-00000000000000000") }, "'i-00000000000000000' does not exist"},
		{"a template is named by id or name", func(in *create) { in.LaunchTemplate.LaunchTemplateName = aws.String("other") }, "either launchTemplateId or LaunchTemplateName"},
		{"a version is a number", func(in *create) { in.LaunchTemplate.Version = aws.String("latest") }, "either '$Default', '$Latest', or a numeric version"},
		{"a version exists", func(in *create) { in.LaunchTemplate.Version = aws.String("2") }, "You must use a valid fully-formed launch template."},
		{"a template exists", func(in *create) { in.LaunchTemplate = spec("lt-00000000000000000", "1") }, "You must use a valid fully-formed launch template."},
		{"there is an image", func(in *create) { in.LaunchTemplate = spec(noImage, "1") }, "ImageId"},
		{"there is an instance type", func(in *create) { in.LaunchTemplate = spec(noType, "1") }, "instance type"},
		{"the image exists", func(in *create) { in.LaunchTemplate = spec(badImage, "1") }, "You must use a valid fully-formed launch template. The image id '[ami-00000000000000000]' does not exist"},
		{"the profile exists", func(in *create) { in.LaunchTemplate = spec(badProfile, "1") }, "Invalid IAM Instance Profile name"},
		{"no single host", func(in *create) { in.LaunchTemplate = spec(onHost, "1") }, "Dedicated Host"},
		{"maximum is not below minimum", func(in *create) { in.MinSize = aws.Int32(21) }, "Max bound, 20, must be greater than or equal to min bound, 21"},
		{"desired is within", func(in *create) { in.DesiredCapacity = aws.Int32(21) }, "Desired capacity:21 must be between the specified min size:0 and max size:20"},
		{"nothing is negative", func(in *create) { in.MinSize = aws.Int32(-1) }, "greater than or equal to 0"},
		{"there is a place to launch", func(in *create) { in.VPCZoneIdentifier = nil }, "At least one Availability Zone or VPC Subnet is required."},
		{"subnets exist", func(in *create) { in.VPCZoneIdentifier = aws.String("subnet-00000000000000000") }, "The subnet ID 'subnet-00000000000000000' does not exist"},
		{"subnets lie in the zones", func(in *create) { in.AvailabilityZones = []string{"us-east-1a"} }, "do not match"},
		{"zones exist", func(in *create) { in.VPCZoneIdentifier, in.AvailabilityZones = nil, []string{"us-east-1z"} }, "Invalid availability zones"},
		{"zones or zone ids", func(in *create) {
			in.AvailabilityZones, in.AvailabilityZoneIds = []string{"us-east-1a"}, []string{"use1-az1"}
		}, "both AvailabilityZones and AvailabilityZoneIds"},
		{"health checks are known", func(in *create) { in.HealthCheckType = aws.String("EC2,PING") }, "Invalid health check type"},
		{"a lifetime is a day at least", func(in *create) { in.MaxInstanceLifetime = aws.Int32(3600) }, "86400"},
		{"termination policies are known", func(in *create) { in.TerminationPolicies = []string{"Nicest"} }, "Invalid termination policy"},
		{"a maintenance policy has both bounds", func(in *create) {
			in.InstanceMaintenancePolicy = &types.InstanceMaintenancePolicy{MinHealthyPercentage: aws.Int32(90)}
		}, "Both MinHealthyPercentage and MaxHealthyPercentage"},
		{"at most 100 points between the bounds", func(in *create) {
			in.InstanceMaintenancePolicy = &types.InstanceMaintenancePolicy{MinHealthyPercentage: aws.Int32(50), MaxHealthyPercentage: aws.Int32(160)}
		}, "difference"},
		{"warmup is not negative", func(in *create) { in.DefaultInstanceWarmup = aws.Int32(-2) }, "Default instance warmup"},
		{"distribution is known", func(in *create) {
			in.AvailabilityZoneDistribution = &types.AvailabilityZoneDistribution{CapacityDistributionStrategy: "random"}
		}, "enum value set"},
		{"reserved capacity first needs a target", func(in *create) {
			in.AvailabilityZoneDistribution = &types.AvailabilityZoneDistribution{CapacityDistributionStrategy: types.CapacityDistributionStrategyReservationsThenBalanced}
		}, "capacity reservation target"},
		{"only attribute-based groups count vCPUs", func(in *create) { in.DesiredCapacityType = aws.String("vcpu") }, "attribute-based"},
		{"a service-linked role exists", func(in *create) {
			in.ServiceLinkedRoleARN = aws.String("arn:aws:iam::123456789012:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling_none")
		}, "ARN specified for Service-Linked Role does not exist"},
		{"traffic sources are of known types", func(in *create) {
			in.TrafficSources = []types.TrafficSourceIdentifier{{Identifier: aws.String("x"), Type: aws.String("dns")}}
		}, "Setting dns as traffic sources is currently not supported"},
		{"a name needs a type", func(in *create) { in.TrafficSources = []types.TrafficSourceIdentifier{{Identifier: aws.String("x")}} }, "is required"},
		{"deletion protection is known", func(in *create) { in.DeletionProtection = "maybe" }, "enum value set"},
		{"tags are not AWS's", func(in *create) { in.Tags = []types.Tag{{Key: aws.String("aws:x")}} }, "reserved"},
		{"at most fifty tags", func(in *create) {
			for i := range 51 {
				in.Tags = append(in.Tags, types.Tag{Key: aws.String(fmt.Sprint("k", i))})
			}
		}, "maximum of 50"},
		{"hooks are checked", func(in *create) {
			in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{{LifecycleHookName: aws.String("a b"), LifecycleTransition: aws.String(launching)}}
		}, "regular expression"},
	}
	for _, tt := range tests {
		t.Log(tt.reason)
		fails(f, f.asg.CreateAutoScalingGroup, newGroup(template, 1, tt.change), "ValidationError", tt.words)
	}
	if n := len(call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{}).AutoScalingGroups); n != 0 {
		t.Errorf("%d groups were made all the same", n)
	}
	fails(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes")}, "ValidationError", "AutoScalingGroup name not found")
	call(f, f.asg.CreateAutoScalingGroup, newGroup(template, 1))
	fails(f, f.asg.CreateAutoScalingGroup, newGroup(template, 1), "AlreadyExists", "already exists")
}

func TestEverySettingIsShown(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.placementGroup("together", ec2types.PlacementStrategySpread)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(template, 0, func(in *create) {
		in.HealthCheckType, in.HealthCheckGracePeriod, in.DefaultCooldown, in.DefaultInstanceWarmup = aws.String("EC2,EBS"), aws.Int32(10), aws.Int32(20), aws.Int32(30)
		in.TerminationPolicies, in.MaxInstanceLifetime, in.CapacityRebalance = []string{"OldestInstance", "Default"}, aws.Int32(86_400), aws.Bool(true)
		in.NewInstancesProtectedFromScaleIn, in.PlacementGroup, in.Context = aws.Bool(true), aws.String("together"), aws.String("reserved")
		in.InstanceMaintenancePolicy = &types.InstanceMaintenancePolicy{MinHealthyPercentage: aws.Int32(90), MaxHealthyPercentage: aws.Int32(120)}
		in.AvailabilityZoneImpairmentPolicy = &types.AvailabilityZoneImpairmentPolicy{ZonalShiftEnabled: aws.Bool(true), ImpairedZoneHealthCheckBehavior: types.ImpairedZoneHealthCheckBehaviorIgnoreUnhealthy}
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationPreference: types.CapacityReservationPreferenceNone}
		in.DeletionProtection = types.DeletionProtectionPreventForceDeletion
		in.TrafficSources = []types.TrafficSourceIdentifier{{Identifier: aws.String("arn:aws:vpc-lattice:us-east-1:1:targetgroup/tg-1"), Type: aws.String("vpc-lattice")}}
	}))
	got := f.group()
	want := types.AutoScalingGroup{
		AutoScalingGroupName: aws.String("nodes"), AutoScalingGroupARN: got.AutoScalingGroupARN, CreatedTime: aws.Time(beginning),
		MinSize: aws.Int32(0), MaxSize: aws.Int32(20), DesiredCapacity: aws.Int32(0), HealthCheckType: aws.String("EC2,EBS"), HealthCheckGracePeriod: aws.Int32(10),
		DefaultCooldown: aws.Int32(20), DefaultInstanceWarmup: aws.Int32(30), TerminationPolicies: []string{"OldestInstance", "Default"},
		MaxInstanceLifetime: aws.Int32(86_400), CapacityRebalance: aws.Bool(true), NewInstancesProtectedFromScaleIn: aws.Bool(true),
		PlacementGroup: aws.String("together"), Context: aws.String("reserved"), DeletionProtection: types.DeletionProtectionPreventForceDeletion,
		InstanceMaintenancePolicy: &types.InstanceMaintenancePolicy{MinHealthyPercentage: aws.Int32(90), MaxHealthyPercentage: aws.Int32(120)},
		AvailabilityZones:         []string{"us-east-1a", "us-east-1b", "us-east-1c"}, AvailabilityZoneIds: []string{"use1-az1", "use1-az2", "use1-az3"},
		AvailabilityZoneDistribution:     &types.AvailabilityZoneDistribution{CapacityDistributionStrategy: types.CapacityDistributionStrategyBalancedBestEffort},
		AvailabilityZoneImpairmentPolicy: &types.AvailabilityZoneImpairmentPolicy{ZonalShiftEnabled: aws.Bool(true), ImpairedZoneHealthCheckBehavior: types.ImpairedZoneHealthCheckBehaviorIgnoreUnhealthy},
		CapacityReservationSpecification: &types.CapacityReservationSpecification{CapacityReservationPreference: types.CapacityReservationPreferenceNone},
		InstanceLifecyclePolicy:          &types.InstanceLifecyclePolicy{RetentionTriggers: &types.RetentionTriggers{TerminateHookAbandon: types.RetentionActionTerminate}},
		LaunchTemplate:                   &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String(template), LaunchTemplateName: got.LaunchTemplate.LaunchTemplateName, Version: aws.String("1")},
		ServiceLinkedRoleARN:             aws.String("arn:aws:iam::123456789012:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"),
		VPCZoneIdentifier:                aws.String(subnets),
		TrafficSources:                   []types.TrafficSourceIdentifier{{Identifier: aws.String("arn:aws:vpc-lattice:us-east-1:1:targetgroup/tg-1"), Type: aws.String("vpc-lattice")}},
	}
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
		t.Errorf("group (-want +got):\n%s", diff)
	}
	fails(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), ForceDelete: aws.Bool(true)},
		"ValidationError", "prevent-force-deletion")
	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), DefaultInstanceWarmup: aws.Int32(-1), MaxInstanceLifetime: aws.Int32(0),
		InstanceMaintenancePolicy: &types.InstanceMaintenancePolicy{MinHealthyPercentage: aws.Int32(-1), MaxHealthyPercentage: aws.Int32(-1)},
		MinSize:                   aws.Int32(2),
	})
	cleared := f.group()
	if cleared.DefaultInstanceWarmup != nil || cleared.InstanceMaintenancePolicy != nil || cleared.MaxInstanceLifetime != nil || *cleared.DesiredCapacity != 2 {
		t.Errorf("after clearing: %+v", cleared)
	}
}

func asJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	for k, v := range out {
		if v == nil || v == "" {
			delete(out, k)
		}
		if list, ok := v.([]any); ok && len(list) == 0 {
			delete(out, k)
		}
	}
	return out
}

func TestGroupsArePaged(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	for i := range 7 {
		call(f, f.asg.CreateAutoScalingGroup, newGroup(template, 0, func(in *create) { in.AutoScalingGroupName = aws.String(fmt.Sprint("group-", i)) }))
	}
	var names []string
	pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(f.asg, &autoscaling.DescribeAutoScalingGroupsInput{MaxRecords: aws.Int32(3)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.AutoScalingGroups {
			names = append(names, *g.AutoScalingGroupName)
		}
	}
	if diff := cmp.Diff([]string{"group-0", "group-1", "group-2", "group-3", "group-4", "group-5", "group-6"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	fails(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{MaxRecords: aws.Int32(101)}, "ValidationError", "maxRecords")
	limits := call(f, f.asg.DescribeAccountLimits, &autoscaling.DescribeAccountLimitsInput{})
	if *limits.NumberOfAutoScalingGroups != 7 || *limits.MaxNumberOfAutoScalingGroups != 500 {
		t.Errorf("limits %+v", limits)
	}
}

func TestReadLag(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) { o.Behavior.ReadLag = 5 * time.Second })
	template := f.template()
	f.step(10 * time.Second)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(template, 1))
	named := &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"nodes"}}
	if n := len(call(f, f.asg.DescribeAutoScalingGroups, named).AutoScalingGroups); n != 0 {
		t.Error("the group is seen at once")
	}
	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), MaxSize: aws.Int32(5)})
	f.step(5 * time.Second)
	if got := *f.group().MaxSize; got != 5 {
		t.Errorf("max size %d", got)
	}
}

// TestReadLagHidesADeletion: everything that describes a group sees it for as long as the lag lasts.
func TestReadLagHidesADeletion(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) { o.Behavior.ReadLag = 5 * time.Second })
	template := f.template()
	f.step(10 * time.Second)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(template, 1, func(in *create) {
		in.Tags = []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}
	}))
	f.step(time.Minute)
	f.refresh()
	f.step(time.Hour)
	call(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), ForceDelete: aws.Bool(true)})
	f.until(2*time.Minute, "the deletion", func() bool {
		state, err := f.sim.Region(awssim.DefaultAccount, "us-east-1").State()
		if err != nil {
			t.Fatal(err)
		}
		return len(asJSON(t, asJSON(t, state)["autoscaling"])["groups"].(map[string]any)) == 0
	})
	seen := func() []int {
		activities, err := f.asg.DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{})
		if err != nil {
			t.Fatal(err)
		}
		groups := call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{}).AutoScalingGroups
		return []int{len(groups), len(call(f, f.asg.DescribeTags, &autoscaling.DescribeTagsInput{}).Tags), min(len(activities.Activities), 1)}
	}
	if diff := cmp.Diff([]int{1, 1, 1}, seen()); diff != "" || f.last().Status != types.InstanceRefreshStatusSuccessful {
		t.Errorf("groups, tags and whether there are activities during the lag (-want +got):\n%s", diff)
	}
	f.step(5 * time.Second)
	if diff := cmp.Diff([]int{0, 0, 0}, seen()); diff != "" {
		t.Errorf("groups, tags and whether there are activities after the lag (-want +got):\n%s", diff)
	}
}

func TestStateIsTheSameForTheSameStory(t *testing.T) {
	t.Parallel()
	story := func() string {
		f := start(t)
		template := f.template()
		f.running(newGroup(template, 2))
		f.hook("drain", terminating)
		f.refresh()
		f.step(30 * time.Second)
		state, err := f.sim.Region("123456789012", "us-east-1").State()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(state["autoscaling"])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := story()
	for _, want := range []string{`"nodes"`, `"drain"`, `"InProgress"`, template1} {
		if !strings.Contains(first, want) {
			t.Errorf("the state lacks %s: %s", want, first)
		}
	}
	if diff := cmp.Diff(first, story()); diff != "" {
		t.Errorf("states differ:\n%s", diff)
	}
}

// template1 is a piece of the state of an instance.
const template1 = `"LifecycleState":"`

func TestOperatorOwnsItsGroup(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0, func(in *create) { in.Operator = &types.Operator{Principal: aws.String("eks.amazonaws.com")} }))
	fails(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), MaxSize: aws.Int32(5)}, "AccessDenied", "eks.amazonaws.com")
}
