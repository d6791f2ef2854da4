package autoscalinggroup

import (
	"errors"
	"fmt"
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
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
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

// TestCreatedAndUpdatedGroupsAreAsDesired holds that a created or updated group is as desired, and
// needs no update: for all that can be desired, from all that may have been there. And an updated
// group equals a created one: nothing of its former state is left.
func TestCreatedAndUpdatedGroupsAreAsDesired(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	count := 0
	rapid.Check(t, func(t *rapid.T) {
		count++
		name := fmt.Sprintf("pool-%d", count)
		first, second := r.here(anyDesired.Draw(t, "first")), r.here(anyDesired.Draw(t, "second"))
		r.make(t, first, name)
		afresh := second
		// deletion protection and the role stay where the second names none
		afresh.Settings = second.Settings.beside(first.Settings)
		r.make(t, afresh, name+"-afresh")
		group := r.see(name)
		if err := r.bring(second, first, &group); err != nil {
			t.Fatal(err)
		}
		updated := r.see(name)
		r.isAsDesired(t, "the updated group", second, updated)
		if updated.Mixed != (second.MixedInstancesPolicy != nil) {
			t.Fatalf("mixed %t", updated.Mixed)
		}
		// AWS adds what cannot be desired, and instances take their time.
		comparable := cmp.Options{
			ignoreSerde, cmpopts.IgnoreFields(Group{}, "Instances"), cmpopts.EquateEmpty(), cmp.Transformer("overrides", overrideText),
			cmp.FilterPath(func(path cmp.Path) bool { return path.Last().String() == ".SpotMaxPrice" }, cmp.Transformer("none", awssdk.ToString)),
		}
		if difference := cmp.Diff(updated, group, comparable); difference != "" {
			t.Errorf("what AWS has (-) is not what was shown on the group (+):\n%s", difference)
		}
		r.sameInAWS(t, name, name+"-afresh", second.Capacity != nil)
		for _, each := range []string{name, name + "-afresh"} {
			if err := r.groups.Unprotect(r.Context(), Group{Name: each}, Unprotected); err != nil {
				t.Fatal(err)
			}
			if err := r.groups.StopRetaining(r.Context(), each); err != nil {
				t.Fatal(err)
			}
			if err := r.groups.Delete(r.Context(), Group{Name: each}); err != nil {
				t.Fatal(err)
			}
		}
		r.settle()
	})
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

func TestCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	group := r.create(r.here(plain()))
	if !group.OwnedBy("default/pool") || group.OwnedBy("other/pool") || group.ARN == "" || group.Created.IsZero() || group.Deleting {
		t.Errorf("group %+v", group)
	}
	out, err := r.asg.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range out.AutoScalingGroups[0].Tags {
		if *tag.PropagateAtLaunch {
			t.Errorf("tag %s propagates, and would win over the template's", *tag.Key)
		}
	}
	if err := r.groups.Create(t.Context(), r.here(plain()), "pool"); !aws.IsAlreadyExists(err) || !strings.Contains(err.Error(), `creating Auto Scaling group "pool"`) {
		t.Errorf("making it once more: %v", err)
	}
	r.settle()
	instances := r.see("pool").Instances
	if len(instances) != 3 || !slices.IsSortedFunc(instances, func(a, b Instance) int { return strings.Compare(a.ID, b.ID) }) {
		t.Fatalf("instances %+v", instances)
	}
	for _, instance := range instances {
		if !instance.InService() || instance.Version != 1 || instance.LaunchTemplateID != r.template || instance.HealthStatus != "Healthy" || instance.InstanceType != "m5.large" ||
			!strings.HasPrefix(instance.AvailabilityZone, "us-east-1") {
			t.Errorf("instance %+v", instance)
		}
	}
}

// TestCapacityOfOthers holds that a group whose size is not managed begins at its smallest size,
// and stays where an autoscaler puts it.
func TestCapacityOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	desired.Capacity = nil
	if group := r.create(desired); group.Capacity != desired.MinSize {
		t.Errorf("capacity %d", group.Capacity)
	}
	if _, err := r.asg.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: awssdk.String("pool"), DesiredCapacity: awssdk.Int32(4)}); err != nil {
		t.Fatal(err)
	}
	desired.Version = 2
	if err := r.groups.Update(t.Context(), desired, r.see("pool")); err != nil {
		t.Fatal(err)
	}
	if group := r.see("pool"); group.Capacity != 4 || group.Version != "2" {
		t.Errorf("capacity %d, version %s", group.Capacity, group.Version)
	}
}

// TestUpdateLeavesCapacityThatItDidNotChange holds that a scaling that happens between the
// description and the update is not undone by an update of something else.
func TestUpdateLeavesCapacityThatItDidNotChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	seen := r.create(desired)
	if _, err := r.asg.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: awssdk.String("pool"), DesiredCapacity: awssdk.Int32(4)}); err != nil {
		t.Fatal(err)
	}
	desired.Version = 2
	if err := r.groups.Update(t.Context(), desired, seen); err != nil {
		t.Fatal(err)
	}
	if group := r.see("pool"); group.Capacity != 4 {
		t.Errorf("capacity %d", group.Capacity)
	}
}

func TestEnsureTags(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	desired.Tags["old"] = "x"
	r.create(desired)
	if _, err := r.asg.CreateOrUpdateTags(t.Context(), &autoscaling.CreateOrUpdateTagsInput{Tags: groupTags(map[string]string{"foreign": "y", "team": "red"}, "pool")}); err != nil {
		t.Fatal(err)
	}
	delete(desired.Tags, "old")
	desired.RetiredTags = []string{"old", "never-there"}
	for _, want := range [][]string{{"old", "team"}, nil} {
		if changed, err := r.groups.EnsureTags(t.Context(), desired, r.see("pool")); !slices.Equal(changed, want) || err != nil {
			t.Errorf("changed %q, want %q; error %v", changed, want, err)
		}
	}
	want := map[string]string{infrav1.TagMachinePool: "default/pool", "team": "blue", "foreign": "y"}
	if difference := cmp.Diff(want, r.see("pool").Tags); difference != "" {
		t.Errorf("tags (-want +got):\n%s", difference)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	group := r.create(r.here(plain()))
	r.settle()
	if err := r.groups.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	if !r.see("pool").Deleting {
		t.Error("the group does not say that it is being deleted")
	}
	r.settle()
	if found, err := r.groups.Describe(t.Context(), []string{"pool"}); err != nil || len(found) != 0 {
		t.Errorf("found %v, error %v", found, err)
	}
	if err := r.groups.Delete(t.Context(), group); !aws.IsNotFound(err) || !strings.Contains(err.Error(), `deleting Auto Scaling group "pool"`) {
		t.Errorf("deleting it once more: %v", err)
	}
}

func TestVersionsInUse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	desired.Tags[infrav1.TagLaunchConfig] = "default/pool"
	r.create(desired)
	r.settle()
	desired.Version = 2
	if err := r.groups.Update(t.Context(), desired, r.see("pool")); err != nil {
		t.Fatal(err)
	}
	other := r.here(mixed())
	other.Version, other.Capacity, other.MinSize = 3, ptr.To[int32](0), 0
	if err := r.groups.Create(t.Context(), other, "other"); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reason, config, template string
		want                     map[int64]bool
	}{
		{"what the group is pointed at, and what its instances run", "default/pool", r.template, map[int64]bool{1: true, 2: true}},
		{"another template", "default/pool", "lt-0", map[int64]bool{}},
		{"another config", "default/other", r.template, map[int64]bool{}},
	} {
		used, err := r.groups.VersionsInUse(t.Context(), row.config, row.template)
		if err != nil {
			t.Fatal(err)
		}
		if difference := cmp.Diff(row.want, used); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
	used := map[int64]bool{}
	addVersions(used, Group{
		LaunchTemplateID: "lt-1", Version: "$Latest",
		Overrides: []asgtypes.LaunchTemplateOverrides{
			{LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: awssdk.String("lt-1"), Version: awssdk.String("5")}},
			{LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: awssdk.String("lt-2"), Version: awssdk.String("6")}},
			{InstanceType: awssdk.String("m5.large")},
		},
		Instances: []Instance{{LaunchTemplateID: "lt-1", Version: 7}, {LaunchTemplateID: "lt-1"}, {LaunchTemplateID: "lt-2", Version: 8}},
	}, "lt-1")
	if difference := cmp.Diff(map[int64]bool{5: true, 7: true}, used); difference != "" {
		t.Errorf("versions of overrides and instances (-want +got):\n%s", difference)
	}
}

func TestDescribeGroups(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	desired.Capacity, desired.MinSize = ptr.To[int32](0), 0
	var names []string
	for i := range DescribeBatch {
		names = append(names, fmt.Sprintf("pool-%d", i))
		if err := r.groups.Create(t.Context(), desired, names[i]); err != nil {
			t.Fatal(err)
		}
	}
	r.sim.ClearCalls()
	if found, err := r.groups.Describe(t.Context(), names); err != nil || len(found) != DescribeBatch || len(r.sim.Calls()) != 1 {
		t.Errorf("%d groups in %d calls, error %v", len(found), len(r.sim.Calls()), err)
	}
	if found, err := r.groups.Describe(t.Context(), nil); err != nil || len(found) != 0 {
		t.Errorf("asked for no group, found %d, error %v", len(found), err)
	}
}

func TestNamesTaken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		names  []string
		says   string
	}{
		{"one name", []string{"pool"}, `Auto Scaling group "pool" exists, but this object does not own it. Slipway does not ` +
			"change it or create another one. Rename this object, or delete the group"},
		{"two names", []string{"pool", "pool-1a2b3c4d"}, "Auto Scaling groups pool and pool-1a2b3c4d exist, but this object " +
			"does not own them. Slipway does not change them or create another one. Rename this object, or delete one of the groups"},
	} {
		var taken *NamesTakenError
		_, _, err := Choose("a/pool", row.names, map[string]Group{"pool": {}, "pool-1a2b3c4d": {}})
		if !errors.As(err, &taken) || aws.FateOf(err).Kind != aws.WaitForUser || err.Error() != row.says {
			t.Errorf("%s: error %v", row.reason, err)
		}
	}
}
