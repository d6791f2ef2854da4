package autoscalinggroup

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/aws"
)

// Subnets of the simulated AWS's default world.
const (
	subnetA = "subnet-0b2000000000000aa"
	subnetB = "subnet-0b2000000000000ab"
	subnetC = "subnet-0b2000000000000ac"
)

// linkedRole is a role of the account of these tests, besides the one that Auto Scaling creates.
const linkedRole = "arn:aws:iam::" + awssim.DefaultAccount + ":role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling_keys"

// trafficSources are such as a pool may list, sorted.
var trafficSources = []TrafficSource{
	{Identifier: "arn:aws:vpc-lattice:us-east-1:111122223333:targetgroup/tg-0123456789abcdef0", Type: "vpc-lattice"}, {Identifier: "nodes", Type: "elb"},
}

// ignoreSerde ignores the SDK's marker members.
var ignoreSerde = cmpopts.IgnoreUnexported(asgtypes.RefreshPreferences{}, asgtypes.InstancesDistribution{}, asgtypes.DistributionSegment{}, asgtypes.LaunchTemplateOverrides{})

// rig is a simulated AWS behind the real SDK, with a launch template of three versions, and the groups in it.
type rig struct {
	*testing.T
	sim      *awssim.Simulator
	asg      *autoscaling.Client
	ec2      *ec2.Client
	groups   *Groups
	template string
	image    string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	sim, _, url := awssimtest.Start(t, now, awssim.Options{Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: time.Second, ShuttingDown: time.Second}}})
	config := awssdk.Config{
		Region: "us-east-1", BaseEndpoint: &url, Retryer: func() awssdk.Retryer { return awssdk.NopRetryer{} }, APIOptions: []func(*middleware.Stack) error{aws.SendBodies},
		Credentials: credentials.NewStaticCredentialsProvider("AKIATEST123456789012", "secret", ""),
	}
	api := autoscaling.NewFromConfig(config)
	r := &rig{T: t, sim: sim, asg: api, ec2: ec2.NewFromConfig(config), groups: NewGroups(api)}
	r.makeTemplate(ec2.NewFromConfig(config))
	if _, err := iam.NewFromConfig(config).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: awssdk.String("AWSServiceRoleForAutoScaling_keys"), Path: awssdk.String("/aws-service-role/autoscaling.amazonaws.com/"),
		AssumeRolePolicyDocument: awssdk.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"autoscaling.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := ec2.NewFromConfig(config).CreatePlacementGroup(t.Context(), &ec2.CreatePlacementGroupInput{
		GroupName: awssdk.String(placementGroup), Strategy: ec2types.PlacementStrategyCluster,
	}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) makeTemplate(api *ec2.Client) {
	r.Helper()
	images, err := api.DescribeImages(r.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.36.3-*"}}, {Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) != 1 {
		r.Fatalf("finding an image: %v", err)
	}
	data := &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large", ImageId: images.Images[0].ImageId}
	made, err := api.CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: awssdk.String("pool"), LaunchTemplateData: data})
	if err != nil {
		r.Fatal(err)
	}
	r.template, r.image = *made.LaunchTemplate.LaunchTemplateId, *data.ImageId
	for range 2 {
		if _, err := api.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &r.template, LaunchTemplateData: data}); err != nil {
			r.Fatal(err)
		}
	}
}

// here is a desired group, in this AWS.
func (r *rig) here(desired Desired) Desired {
	desired.LaunchTemplateID = r.template
	if desired.Version > 3 {
		desired.Version = 1
	}
	if strings.HasPrefix(desired.SubnetIDs[0], "subnet-a") {
		desired.SubnetIDs = []string{subnetA, subnetB}
	}
	if policy := desired.MixedInstancesPolicy; policy != nil {
		for i := range policy.Overrides {
			if policy.Overrides[i].ImageID == anImage {
				policy.Overrides[i].ImageID = r.image
			}
		}
	}
	return desired
}

func (r *rig) see(name string) Group {
	r.Helper()
	found, err := r.groups.Describe(r.Context(), []string{name, "absent"})
	if err != nil || len(found) != 1 {
		r.Fatalf("found %d groups, error %v", len(found), err)
	}
	return found[name]
}

// settle lets instances come and go.
func (r *rig) settle() { r.sim.Clock().Step(5 * time.Minute) }

func (r *rig) create(desired Desired) Group {
	r.Helper()
	if err := r.groups.Create(r.Context(), desired, "pool"); err != nil {
		r.Fatal(err)
	}
	return r.see("pool")
}

// make creates a group and applies the changes that creation cannot.
func (r *rig) make(t *rapid.T, desired Desired, name string) {
	if err := r.groups.Create(r.Context(), desired, name); err != nil {
		t.Fatal(err)
	}
	group := r.see(name)
	if changed, err := r.groups.EnsureTags(r.Context(), desired, group); len(changed) > 0 || err != nil {
		t.Fatalf("the new group's tags: changed %q, error %v", changed, err)
	}
	if reasons := updateReasons(desired, group); len(reasons) > 0 && !slices.Contains(desired.Suspended, ProcessLaunch) {
		t.Fatalf("the new group is not as desired: %q", reasons)
	}
	if err := r.bring(desired, Desired{}, &group); err != nil {
		t.Fatal(err)
	}
	r.isAsDesired(t, "the new group", desired, r.see(name))
}

// bring brings a group from an earlier to the desired state.
func (r *rig) bring(desired, before Desired, group *Group) error {
	ctx := r.Context()
	if _, err := r.groups.Hooks.Ensure(ctx, group.Name, desired.Hooks, lifecyclehook.Names(before.Hooks)); err != nil {
		return err
	}
	given := Given{Processes: before.Suspended, TargetGroups: before.TargetGroupARNs, TrafficSources: Identifiers(before.TrafficSources)}
	for changes := Changes(desired, given, *group); len(changes) > 0; changes = Changes(desired, given, *group) {
		if err := r.groups.Make(ctx, desired, changes[0], group); err != nil {
			return err
		}
		given.Processes, given.TargetGroups = without(given.Processes, changes[0].Names), without(given.TargetGroups, changes[0].Names)
		given.TrafficSources = without(given.TrafficSources, Identifiers(changes[0].Sources))
		if changes[0].Operation == EndWarmPool {
			r.settle()
			*group = r.see(group.Name)
		}
	}
	return nil
}

// isAsDesired holds that nothing is left to do.
func (r *rig) isAsDesired(t *rapid.T, what string, desired Desired, group Group) {
	if reasons := updateReasons(desired, group); len(reasons) > 0 {
		t.Fatalf("%s is not as desired: %q", what, reasons)
	}
	r.sim.ClearCalls()
	if err := r.bring(desired, desired, &group); err != nil {
		t.Fatal(err)
	}
	for _, call := range r.sim.Calls() {
		if call.Action != "DescribeLifecycleHooks" {
			t.Fatalf("%s is not as desired: %s was called once more", what, call.Action)
		}
	}
}

// sameInAWS compares AWS's descriptions of two groups, except for what differs between any two
// groups.
func (r *rig) sameInAWS(t *rapid.T, one, other string, sized bool) {
	described := func(name string) (asgtypes.AutoScalingGroup, []asgtypes.LifecycleHook) {
		groups, err := r.asg.DescribeAutoScalingGroups(r.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		hooks, err := r.asg.DescribeLifecycleHooks(r.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: &name})
		if err != nil {
			t.Fatal(err)
		}
		group := groups.AutoScalingGroups[0]
		group.AutoScalingGroupName, group.AutoScalingGroupARN, group.CreatedTime, group.Instances, group.WarmPoolSize = nil, nil, nil, nil, nil
		for i := range group.Tags {
			group.Tags[i].ResourceId = nil
		}
		for i := range group.SuspendedProcesses {
			group.SuspendedProcesses[i].SuspensionReason = nil // it says when
		}
		slices.Sort(group.TargetGroupARNs)
		slices.SortFunc(group.TrafficSources, func(a, b asgtypes.TrafficSourceIdentifier) int { return strings.Compare(*a.Identifier, *b.Identifier) })
		// Settings that are off, or at AWS's default, are equal to settings that are not reported.
		if policy := group.AvailabilityZoneImpairmentPolicy; policy != nil && !*policy.ZonalShiftEnabled {
			group.AvailabilityZoneImpairmentPolicy = nil
		}
		if reservation := group.CapacityReservationSpecification; reservation != nil && reservation.CapacityReservationPreference == "default" {
			group.CapacityReservationSpecification = nil
		}
		group.CapacityRebalance = awssdk.Bool(awssdk.ToBool(group.CapacityRebalance))
		if !sized { // where the group was before counts
			group.DesiredCapacity = nil
		}
		slices.SortFunc(hooks.LifecycleHooks, func(a, b asgtypes.LifecycleHook) int {
			return strings.Compare(*a.LifecycleHookName, *b.LifecycleHookName)
		})
		for i := range hooks.LifecycleHooks {
			hook := &hooks.LifecycleHooks[i]
			if hook.AutoScalingGroupName = nil; hook.NotificationTargetARN == nil {
				hook.RoleARN = nil // left over, and without meaning
			}
		}
		return group, hooks.LifecycleHooks
	}
	oneGroup, oneHooks := described(one)
	otherGroup, otherHooks := described(other)
	options := cmp.Options{cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true })}
	if difference := cmp.Diff(otherGroup, oneGroup, options); difference != "" {
		t.Fatalf("a group that was made so (-) is not as one that was changed (+):\n%s", difference)
	}
	if difference := cmp.Diff(otherHooks, oneHooks, options); difference != "" {
		t.Fatalf("hooks that were made so (-) are not as those that were changed (+):\n%s", difference)
	}
}
