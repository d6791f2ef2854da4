package autoscalinggroup

import (
	"slices"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
)

// plain is a group with a launch template alone, mixed one with a mixed instances policy.
func plain() Desired {
	return Desired{
		Owner: "default/pool", Names: []string{"pool", "pool-1a2b3c4d"}, MinSize: 1, MaxSize: 5, Capacity: ptr.To[int32](3),
		LaunchTemplateID: "lt-1", Version: 7, SubnetIDs: []string{"subnet-a", "subnet-b"},
		Tags:     map[string]string{infrav1.TagMachinePool: "default/pool", "team": "blue"},
		Settings: SettingsOf(&infrav1.AWSMachinePoolSpec{}),
	}
}

func mixed() Desired {
	desired := plain()
	desired.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{
		Overrides: []infrav1.Overrides{{InstanceType: "m5.large"}, {InstanceType: "m5.xlarge"}},
		InstancesDistribution: &infrav1.InstancesDistribution{
			OnDemandAllocationStrategy: "lowest-price", SpotAllocationStrategy: "capacity-optimized",
			OnDemandBaseCapacity: ptr.To[int64](1), OnDemandPercentageAboveBaseCapacity: ptr.To[int64](50),
		},
	}
	return desired
}

// groupAs is a group that is as desired.
func groupAs(desired Desired) Group {
	group := Group{Name: "pool"}
	Apply(desired, &group)
	return group
}

func TestUpdateReasons(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		from   Desired
		change func(*Desired, *Group)
		want   []string
	}{
		{"as desired", plain(), func(*Desired, *Group) {}, nil},
		{"as desired, mixed", mixed(), func(*Desired, *Group) {}, nil},
		{"min size", plain(), func(d *Desired, _ *Group) { d.MinSize = 2 }, []string{"min size 1 → 2"}},
		{"max size", plain(), func(d *Desired, _ *Group) { d.MaxSize = 9 }, []string{"max size 5 → 9"}},
		{"capacity", plain(), func(d *Desired, _ *Group) { d.Capacity = ptr.To[int32](0) }, []string{"desired capacity 3 → 0"}},
		{"another client scales the group", plain(), func(d *Desired, g *Group) { d.Capacity, g.Capacity = nil, 5 }, nil},
		{"a placement group whose name is none", plain(), func(d *Desired, _ *Group) { d.Settings.PlacementGroup = "none" }, []string{`placement group none → "none"`}},
		{"version", plain(), func(d *Desired, _ *Group) { d.Version = 8 }, []string{"launch template version 7 → 8"}},
		{"an adopted group follows its template", plain(), func(_ *Desired, g *Group) { g.Version = "$Latest" }, []string{"launch template version $Latest → 7"}},
		{"template", plain(), func(d *Desired, _ *Group) { d.LaunchTemplateID = "lt-2" }, []string{"launch template lt-1 → lt-2"}},
		{"a group without a template", plain(), func(_ *Desired, g *Group) { g.LaunchTemplateID, g.Version = "", "" }, []string{"launch template none → lt-1"}},
		{"subnets", plain(), func(d *Desired, _ *Group) { d.SubnetIDs = []string{"subnet-c"} }, []string{"subnets [subnet-a subnet-b] → [subnet-c]"}},
		{"a policy comes", mixed(), func(_ *Desired, g *Group) { g.Mixed, g.Overrides, g.InstancesDistribution = false, nil, nil },
			[]string{"mixed instances policy none → set", "instance type overrides [] → [m5.large, m5.xlarge]"}},
		{"a policy goes", mixed(), func(d *Desired, _ *Group) { d.MixedInstancesPolicy = nil },
			[]string{"mixed instances policy set → none", "instance type overrides [m5.large, m5.xlarge] → []"}},
		{"an empty policy comes", plain(), func(d *Desired, _ *Group) { d.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{} },
			[]string{"mixed instances policy none → set"}},
		{"the order of types is a priority", mixed(), func(d *Desired, _ *Group) { slices.Reverse(d.MixedInstancesPolicy.Overrides) },
			[]string{"instance type overrides [m5.large, m5.xlarge] → [m5.xlarge, m5.large]"}},
		{"another client set a weight", mixed(), func(_ *Desired, g *Group) { g.Overrides[0].WeightedCapacity = awssdk.String("2") },
			[]string{"instance type overrides [m5.large weight=2, m5.xlarge] → [m5.large, m5.xlarge]"}},
		{"another client set an image", mixed(), func(_ *Desired, g *Group) { g.Overrides[1].ImageId = awssdk.String("ami-1") },
			[]string{"instance type overrides [m5.large, m5.xlarge image=ami-1] → [m5.large, m5.xlarge]"}},
		{"another client set requirements", mixed(), func(_ *Desired, g *Group) {
			g.Overrides = []asgtypes.LaunchTemplateOverrides{{InstanceRequirements: &asgtypes.InstanceRequirements{}}}
		}, []string{"instance type overrides [{}] → [m5.large, m5.xlarge]"}},
		{"on-demand strategy", mixed(), func(d *Desired, _ *Group) {
			d.MixedInstancesPolicy.InstancesDistribution.OnDemandAllocationStrategy = "prioritized"
		}, []string{"on-demand allocation strategy lowest-price → prioritized"}},
		{"spot strategy", mixed(), func(d *Desired, _ *Group) {
			d.MixedInstancesPolicy.InstancesDistribution.SpotAllocationStrategy = "price-capacity-optimized"
		}, []string{"spot allocation strategy capacity-optimized → price-capacity-optimized"}},
		{"base and percentage are said together", mixed(), func(d *Desired, _ *Group) {
			d.MixedInstancesPolicy.InstancesDistribution.OnDemandBaseCapacity = ptr.To[int64](0)
			d.MixedInstancesPolicy.InstancesDistribution.OnDemandPercentageAboveBaseCapacity = ptr.To[int64](0)
		}, []string{"on-demand base capacity 1 → 0, on-demand percentage above base 50 → 0"}},
		{"a distribution that is taken away is AWS's default again", mixed(), func(d *Desired, _ *Group) { d.MixedInstancesPolicy.InstancesDistribution = nil },
			[]string{"on-demand allocation strategy lowest-price → prioritized, spot allocation strategy capacity-optimized → lowest-price, on-demand base capacity 1 → 0, on-demand percentage above base 50 → 100, spot instance pools unset → 2"}},
		{"AWS does not say a percentage", mixed(), func(_ *Desired, g *Group) { g.InstancesDistribution.OnDemandPercentageAboveBaseCapacity = nil },
			[]string{"on-demand percentage above base unset → 50"}},
		{"another client set a price limit", mixed(), func(_ *Desired, g *Group) { g.InstancesDistribution.SpotMaxPrice = awssdk.String("1") },
			[]string{"spot max price 1 → none"}},
		{"all reasons are said", plain(), func(d *Desired, _ *Group) { d.MinSize, d.MaxSize, d.Version = 0, 1, 8 },
			[]string{"min size 1 → 0", "max size 5 → 1", "launch template version 7 → 8"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			desired, group := row.from, groupAs(row.from)
			row.change(&desired, &group)
			if difference := cmp.Diff(row.want, updateReasons(desired, group)); difference != "" {
				t.Errorf("reasons (-want +got):\n%s", difference)
			}
			Apply(desired, &group)
			if left := updateReasons(desired, group); len(left) > 0 {
				t.Errorf("after the update: %q", left)
			}
		})
	}
}

var anyDesired = rapid.Custom(func(t *rapid.T) Desired {
	desired := plain()
	desired.MinSize = rapid.Int32Range(0, 4).Draw(t, "min")
	desired.MaxSize = rapid.Int32Range(max(desired.MinSize, 1), 6).Draw(t, "max")
	desired.Capacity = nil
	if rapid.Bool().Draw(t, "sized") {
		desired.Capacity = ptr.To(rapid.Int32Range(desired.MinSize, desired.MaxSize).Draw(t, "capacity"))
	}
	desired.Version = rapid.Int64Range(1, 3).Draw(t, "version")
	subnets := []string{subnetA, subnetB, subnetC}
	desired.SubnetIDs = rapid.SliceOfNDistinct(rapid.SampledFrom(subnets), 1, 3, rapid.ID[string]).Draw(t, "subnets")
	slices.Sort(desired.SubnetIDs)
	desired.MixedInstancesPolicy = anyPolicy.Draw(t, "policy")
	desired.Settings = SettingsOf(anySpec.Draw(t, "spec"))
	// not every type can be close to others
	if len(desired.SubnetIDs) == 1 && !attributeBased(desired.MixedInstancesPolicy) {
		desired.Settings.PlacementGroup = rapid.SampledFrom([]string{"", placementGroup}).Draw(t, "placement group")
	}
	desired.Hooks = lifecyclehook.Of(anyHooks.Draw(t, "hooks"))
	desired.TargetGroupARNs = sorted(rapid.SliceOfNDistinct(rapid.SampledFrom(targetGroups), 0, 2, rapid.ID[string]).Draw(t, "target groups"))
	desired.TrafficSources = rapid.SampledFrom([][]TrafficSource{nil, trafficSources[:1], trafficSources}).Draw(t, "traffic sources")
	if attributeBased(desired.MixedInstancesPolicy) {
		desired.Settings.CapacityType = rapid.SampledFrom([]string{"", "vcpu", "memory-mib"}).Draw(t, "capacity type")
	}
	if len(desired.Settings.ReservationGroupARNs) > 0 && desired.MixedInstancesPolicy != nil && desired.MixedInstancesPolicy.InstancesDistribution != nil {
		desired.MixedInstancesPolicy.InstancesDistribution.DistributionSegments = rapid.SampledFrom([][]infrav1.DistributionSegment{
			nil, {{TargetCapacityTypes: []string{"capacity-block", "on-demand"}}}, {{TargetCapacityTypes: []string{"on-demand", "capacity-block"}}},
		}).Draw(t, "segments")
	}
	if len(desired.Settings.ReservationIDs)+len(desired.Settings.ReservationGroupARNs) > 0 && rapid.Bool().Draw(t, "reserved first") {
		desired.Settings.Distribution = "reservations-then-balanced"
	}
	desired.Suspended = SuspendedOf(anySuspension.Draw(t, "suspended"))
	if desired.MixedInstancesPolicy == nil {
		desired.WarmPool = WarmPoolOf(anyWarmPool.Draw(t, "warm pool"))
	}
	return desired
})

func TestNoReasonsAfterApply(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, desired := anyDesired.Draw(t, "before"), anyDesired.Draw(t, "desired")
		group := groupAs(before)
		Apply(desired, &group)
		if left := updateReasons(desired, group); len(left) > 0 {
			t.Errorf("left to update: %q", left)
		}
	})
}

func TestChoose(t *testing.T) {
	t.Parallel()
	names := []string{"pool", "pool-1a2b3c4d"}
	group := func(name, owner string) Group {
		return Group{Name: name, Tags: map[string]string{infrav1.TagMachinePool: owner}}
	}
	for _, row := range []struct {
		reason     string
		found      []Group
		want, free string
		taken      bool
	}{
		{"nothing there", nil, "", "pool", false},
		{"ours", []Group{group("pool", "a/pool")}, "pool", "", false},
		{"ours under the second name, whatever the first is", []Group{group("pool-1a2b3c4d", "a/pool")}, "pool-1a2b3c4d", "", false},
		{"ours under the second name, the first taken", []Group{group("pool", "b/pool"), group("pool-1a2b3c4d", "a/pool")}, "pool-1a2b3c4d", "", false},
		{"the first name taken", []Group{group("pool", "b/pool")}, "", "pool-1a2b3c4d", false},
		{"both taken", []Group{group("pool", "b/pool"), group("pool-1a2b3c4d", "")}, "", "", true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			found := map[string]Group{}
			for _, one := range row.found {
				found[one.Name] = one
			}
			chosen, free, err := Choose("a/pool", names, found)
			name := ""
			if chosen != nil {
				name = chosen.Name
			}
			if name != row.want || free != row.free || (err != nil) != row.taken {
				t.Errorf("chose %q, free %q, error %v", name, free, err)
			}
		})
	}
}

func TestInstanceStates(t *testing.T) {
	t.Parallel()
	leaving := map[asgtypes.LifecycleState]bool{
		"Terminating": true, "Terminating:Wait": true, "Terminating:Proceed": true, "Terminating:Retained": true, "Terminated": true, "Detaching": true, "Detached": true,
		"Warmed:Terminating": true, "Warmed:Terminating:Wait": true, "Warmed:Terminating:Proceed": true, "Warmed:Terminating:Retained": true, "Warmed:Terminated": true,
	}
	for _, state := range asgtypes.LifecycleState("").Values() {
		instance := Instance{ID: "i-1", AvailabilityZone: "us-east-1a", LifecycleState: string(state)}
		if instance.Leaving() != leaving[state] || instance.InService() != (state == "InService") {
			t.Errorf("%s: leaving %t, in service %t", state, instance.Leaving(), instance.InService())
		}
		if id := instance.ProviderID(); id != "aws:///us-east-1a/i-1" {
			t.Errorf("provider id %q", id)
		}
	}
}

// TestUpdateSendsWhatDiffers holds that an update has the launch template and the subnets only
// where they differ: AWS validates the template whenever it is sent, and whenever subnets are.
func TestUpdateSendsWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason                    string
		from                      Desired
		change                    func(*Desired)
		template, policy, subnets bool
	}{
		{"a size", plain(), func(d *Desired) { d.Capacity = ptr.To[int32](4) }, false, false, false},
		{"a size, mixed", mixed(), func(d *Desired) { d.MaxSize = 9 }, false, false, false},
		{"a setting", plain(), func(d *Desired) { d.Settings.Cooldown = 60 }, false, false, false},
		{"a version", plain(), func(d *Desired) { d.Version = 8 }, true, false, false},
		{"a version, mixed", mixed(), func(d *Desired) { d.Version = 8 }, false, true, false},
		{"subnets", plain(), func(d *Desired) { d.SubnetIDs = []string{"subnet-a"} }, false, false, true},
		{"what is launched is not known", plain(), func(d *Desired) { d.LaunchTemplateID, d.MaxSize = "", 9 }, false, false, false},
	} {
		desired := row.from
		row.change(&desired)
		input := updateInput(desired, groupAs(row.from))
		if got := input.LaunchTemplate != nil; got != row.template {
			t.Errorf("%s: launch template sent: %t", row.reason, got)
		}
		if got := input.MixedInstancesPolicy != nil; got != row.policy {
			t.Errorf("%s: mixed instances policy sent: %t", row.reason, got)
		}
		if got := input.VPCZoneIdentifier != nil; got != row.subnets {
			t.Errorf("%s: subnets sent: %t", row.reason, got)
		}
	}
}

// TestInstanceTypes holds which types are listed, and in what order.
func TestInstanceTypes(t *testing.T) {
	t.Parallel()
	instance := func(kind, state string) Instance { return Instance{InstanceType: kind, LifecycleState: state} }
	instances := []Instance{
		instance("t3.large", "InService"), instance("m6i.large", "InService"), instance("m6i.large", "Pending"), instance("c5.large", "Terminating:Wait"),
	}
	if got := InstanceTypes(instances); got != "m6i.large, t3.large" {
		t.Errorf("types are %q", got)
	}
	if got := InstanceTypes(nil); got != "" {
		t.Errorf("types of no instance are %q", got)
	}
}
