package autoscalinggroup

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// stateOf describes what a lifecycle state means for a pool.
func stateOf(instance Instance) string {
	var meanings []string
	for meaning, is := range map[string]bool{
		"leaving": instance.Leaving(), "in service": instance.InService(), "warm": instance.Warmed(), "held": instance.Held(),
		"retained": instance.Retained(), "replaces its root": instance.ReplacesRoot(),
	} {
		if is {
			meanings = append(meanings, meaning)
		}
	}
	slices.Sort(meanings)
	return strings.Join(meanings, ", ")
}

// TestLifecycleStates holds what each lifecycle state of AWS means, and that one that AWS may add
// later means nothing: such an instance is neither replaced nor let go.
func TestLifecycleStates(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"Pending": "", "Pending:Wait": "", "Pending:Proceed": "", "Quarantined": "", "EnteringStandby": "", "Standby": "",
		"InService":   "in service",
		"Terminating": "leaving", "Terminating:Wait": "held, leaving", "Terminating:Proceed": "leaving", "Terminating:Retained": "leaving, retained", "Terminated": "leaving",
		"Detaching": "leaving", "Detached": "leaving",
		"Warmed:Pending": "warm", "Warmed:Pending:Wait": "warm", "Warmed:Pending:Proceed": "warm", "Warmed:Pending:Retained": "retained, warm",
		"Warmed:Running": "warm", "Warmed:Stopped": "warm", "Warmed:Hibernated": "warm",
		"Warmed:Terminating": "leaving, warm", "Warmed:Terminating:Wait": "held, leaving, warm", "Warmed:Terminating:Proceed": "leaving, warm", "Warmed:Terminated": "leaving, warm",
		"ReplacingRootVolume": "replaces its root", "ReplacingRootVolume:Wait": "held, replaces its root", "ReplacingRootVolume:Proceed": "replaces its root",
		"RootVolumeReplaced": "replaces its root",
		"":                   "", "SomethingNew": "", "inservice": "", "in service": "",
	} {
		if got := stateOf(Instance{LifecycleState: state}); got != want {
			t.Errorf("%s is %q, want %q", state, got, want)
		}
		if ended := (Instance{LifecycleState: state, HealthStatus: "Healthy"}).Ended(); !ended.Leaving() || ended.InService() || ended.HealthStatus != "Unhealthy" {
			t.Errorf("%s, once EC2 has terminated the instance, is %q", state, stateOf(ended))
		}
	}
}

func TestShrinks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		capacity *int32
		maximum  int32
		shrinks  bool
	}{
		{"the capacity that it has", ptr.To[int32](3), 5, false},
		{"a larger one", ptr.To[int32](4), 5, false},
		{"a smaller one", ptr.To[int32](2), 5, true},
		{"none", ptr.To[int32](0), 5, true},
		{"that of an autoscaler, within bounds", nil, 3, false},
		{"that of an autoscaler, beyond the bounds", nil, 2, true},
	} {
		desired := Desired{Capacity: row.capacity, MaxSize: row.maximum}
		if shrinks := desired.Shrinks(Group{Capacity: 3}); shrinks != row.shrinks {
			t.Errorf("%s: shrinks is %t", row.reason, shrinks)
		}
	}
}

// TestGroupsAreListedByTag holds that the sweeps list the groups of pools and the groups of EKS,
// and no others.
func TestGroupsAreListedByTag(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, tags := range map[string]map[string]string{
		"pool": {infrav1.TagMachinePool: "team/blue/pool"}, "eks-nodes": {tagNodegroup: "nodes"}, "theirs": {"team": infrav1.TagMachinePool}, "untagged": nil,
	} {
		desired := r.here(plain())
		desired.Tags = tags
		if err := r.groups.Create(t.Context(), desired, name); err != nil {
			t.Fatal(err)
		}
	}
	for want, list := range map[string]func() (map[string]Group, error){
		"pool": func() (map[string]Group, error) { return r.groups.List(t.Context()) }, "eks-nodes": func() (map[string]Group, error) { return r.groups.ListManaged(t.Context()) },
	} {
		found, err := list()
		if names := slices.Collect(maps.Keys(found)); err != nil || !slices.Equal(names, []string{want}) || found[want].Name != want {
			t.Errorf("listed %q, want %s; error %v", names, want, err)
		}
	}
	r.sim.ClearCalls()
	if found, err := r.groups.Describe(t.Context(), nil); err != nil || len(found) > 0 || len(r.sim.Calls()) > 0 {
		t.Errorf("no names, and %d groups are described by %d calls, error %v", len(found), len(r.sim.Calls()), err)
	}
}

// TestReleasedGroupKeepsItsConfiguration holds that a group that is given back launches the newest
// version of its template, with its overrides, keeps the tags of others, and is not written again.
func TestReleasedGroupKeepsItsConfiguration(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		change func(*Desired)
	}{
		{"a plain group", func(*Desired) {}},
		{"one with overrides", func(desired *Desired) {
			desired.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{{InstanceType: "m5.large"}, {InstanceType: "m6i.large"}}}
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			desired := r.here(plain())
			row.change(&desired)
			desired.Tags = map[string]string{infrav1.TagMachinePool: "team/blue/pool", infrav1.TagLaunchConfig: "team/blue/pool", "team": "blue"}
			before := r.create(desired)
			for range 2 {
				if err := r.groups.FollowLatest(t.Context(), r.see("pool")); err != nil {
					t.Fatal(err)
				}
				if err := r.groups.Disown(t.Context(), r.see("pool")); err != nil {
					t.Fatal(err)
				}
			}
			after := r.see("pool")
			if after.Version != "$Latest" || after.LaunchTemplateID != before.LaunchTemplateID || after.Mixed != before.Mixed || len(after.Overrides) != len(before.Overrides) {
				t.Errorf("it launches version %s of %s with %d overrides", after.Version, after.LaunchTemplateID, len(after.Overrides))
			}
			if difference := cmp.Diff(map[string]string{"team": "blue"}, after.Tags); difference != "" {
				t.Errorf("tags (-want +got):\n%s", difference)
			}
			writes := 0
			for _, call := range r.sim.Calls() {
				if call.Action == "UpdateAutoScalingGroup" || call.Action == "DeleteTags" {
					writes++
				}
			}
			if writes != 2 {
				t.Errorf("%d writes, want one of the version and one of the tags", writes)
			}
		})
	}
}

// TestTerminatedInstance holds that the group replaces an instance that is terminated, or shrinks
// by it, and that one of no group is an error that names it.
func TestTerminatedInstance(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		shrink bool
		left   int
	}{{"it is replaced", false, 3}, {"the group shrinks", true, 2}} {
		r := newRig(t)
		r.create(r.here(plain()))
		r.settle()
		gone := r.see("pool").Instances[0].ID
		if err := r.groups.Terminate(t.Context(), "pool", gone, row.shrink); err != nil {
			t.Fatal(err)
		}
		r.settle()
		group := r.see("pool")
		if len(group.Instances) != row.left || int(group.Capacity) != row.left || slices.Contains(group.InstanceIDs(), gone) {
			t.Errorf("%s: %d instances of %d: %q", row.reason, len(group.Instances), group.Capacity, group.InstanceIDs())
		}
		if err := r.groups.Terminate(t.Context(), "pool", "i-0123456789abcdef0", row.shrink); err == nil || !strings.Contains(err.Error(), "i-0123456789abcdef0") {
			t.Errorf("%s: terminating an instance of no group: %v", row.reason, err)
		}
	}
}

// TestRetainedInstances holds that an instance whose termination is abandoned stays if the group
// retains such instances, counts for none of its size, and goes when it is terminated.
func TestRetainedInstances(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(r.here(plain()))
	r.settle()
	if _, err := r.asg.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: awssdk.String("pool"), LifecycleHookName: awssdk.String(DrainHook), DefaultResult: awssdk.String("ABANDON"),
		LifecycleTransition: awssdk.String("autoscaling:EC2_INSTANCE_TERMINATING"), HeartbeatTimeout: awssdk.Int32(int32(DrainHeartbeat / time.Second)),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.asg.UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: awssdk.String("pool"), InstanceLifecyclePolicy: lifecyclePolicy(infrav1.RetentionActionRetain),
	}); err != nil {
		t.Fatal(err)
	}
	instance := r.see("pool").Instances[0].ID
	if err := r.groups.Abandon(t.Context(), "pool", instance); err != nil {
		t.Errorf("abandoning what is not held: %v", err)
	}
	if err := r.groups.Terminate(t.Context(), "pool", instance, false); err != nil {
		t.Fatal(err)
	}
	r.sim.Clock().Step(10 * time.Second)
	for range 2 {
		if err := r.groups.Abandon(t.Context(), "pool", instance); err != nil {
			t.Fatal(err)
		}
	}
	r.settle()
	group := r.see("pool")
	retained := slices.DeleteFunc(slices.Clone(group.Instances), func(one Instance) bool { return !one.Retained() })
	if len(retained) != 1 || retained[0].ID != instance || len(group.Instances) != 4 || group.Units() != 3 {
		t.Errorf("retained are %+v, of %d instances with %d units", retained, len(group.Instances), group.Units())
	}
	if err := r.groups.StopRetaining(t.Context(), "pool"); err != nil {
		t.Fatal(err)
	}
	if kept := r.see("pool").Settings.Abandoned; kept != infrav1.RetentionActionTerminate {
		t.Errorf("the group's policy is %q", kept)
	}
}

// TestProtectionIsLowered holds that a group is protected no more than the level says afterwards.
func TestProtectionIsLowered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(r.here(plain()))
	for _, level := range []string{string(asgtypes.DeletionProtectionPreventAllDeletion), OnlyEmpty, Unprotected} {
		if err := r.groups.Unprotect(t.Context(), r.see("pool"), level); err != nil {
			t.Fatal(err)
		}
		if got := r.see("pool").Settings.DeletionProtection; got != level {
			t.Errorf("the protection is %q, want %q", got, level)
		}
	}
	if err := r.groups.Unprotect(t.Context(), Group{Name: "absent"}, Unprotected); err == nil || !strings.Contains(err.Error(), `"absent"`) {
		t.Errorf("a group that does not exist: %v", err)
	}
}
