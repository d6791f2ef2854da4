package autoscalinggroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

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
	for _, want := range [][]string{{"never-there", "old", "team"}, nil} {
		if changed, err := r.groups.EnsureTags(t.Context(), desired, r.see("pool")); !slices.Equal(changed, want) || err != nil {
			t.Errorf("changed %q, want %q; error %v", changed, want, err)
		}
		desired.RetiredTags = nil
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
