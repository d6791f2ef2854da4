package autoscalinggroup

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

func TestSameButImages(t *testing.T) {
	t.Parallel()
	policy := func(image string, change ...func(*infrav1.MixedInstancesPolicy)) *infrav1.MixedInstancesPolicy {
		made := &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{{InstanceType: "m5.large", ImageID: image}, {InstanceType: "c5.large", ImageID: image}}}
		for _, c := range change {
			c(made)
		}
		return made
	}
	seen := func(images ...string) Group {
		group := Group{Mixed: true, LaunchTemplateID: "lt-1", Version: "1", InstancesDistribution: distribution(policy("a"))}
		for i, image := range images {
			override := asgtypes.LaunchTemplateOverrides{InstanceType: awssdk.String([]string{"m5.large", "c5.large", "r5.large"}[i])}
			if image != "" {
				override.ImageId = &image
			}
			group.Overrides = append(group.Overrides, override)
		}
		return group
	}
	tests := []struct {
		reason  string
		version int64
		policy  *infrav1.MixedInstancesPolicy
		group   Group
		want    bool
	}{
		{"another image", 1, policy("b"), seen("a", "a"), true},
		{"the same image, which some instances may lack", 1, policy("a"), seen("a", "a"), true},
		{"another version", 2, policy("b"), seen("a", "a"), false},
		{"no policy", 1, nil, seen("a", "a"), false},
		{"an image where there was none", 1, policy("b"), seen("a", ""), false},
		{"no image where there was one", 1, policy(""), seen("a", "a"), false},
		{"another type", 1, policy("b", func(p *infrav1.MixedInstancesPolicy) { p.Overrides[1].InstanceType = "r5.large" }), seen("a", "a"), false},
		{"one type more", 1, policy("b"), seen("a", "a", "a"), false},
		{"an override with a template of its own", 1, policy("b", func(p *infrav1.MixedInstancesPolicy) {
			p.Overrides[0].LaunchTemplate = &infrav1.LaunchTemplateReference{ID: "lt-2", Version: 1}
		}), seen("a", "a"), false},
		{"another distribution", 1, policy("b", func(p *infrav1.MixedInstancesPolicy) {
			p.InstancesDistribution = &infrav1.InstancesDistribution{SpotAllocationStrategy: infrav1.SpotAllocationStrategyCapacityOptimized}
		}), seen("a", "a"), false},
	}
	for _, tt := range tests {
		desired := Desired{LaunchTemplateID: "lt-1", Version: tt.version, MixedInstancesPolicy: tt.policy}
		if got := desired.SameButImages(tt.group); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.reason, got, tt.want)
		}
		if tt.policy != nil && tt.reason == "another image" && tt.policy.Overrides[0].ImageID != "b" {
			t.Errorf("%s: the policy was changed", tt.reason)
		}
	}
}

func TestFitInPlace(t *testing.T) {
	t.Parallel()
	wanted := Wanted{TemplateID: "lt-1", Version: 4, Versions: []int64{3, 4}, Overrides: []infrav1.Overrides{{InstanceType: "m5.large", ImageID: "b"}}}
	instance := Instance{LaunchTemplateID: "lt-1", Version: 4, InstanceType: "m5.large", ImageID: "a", LifecycleState: "InService"}
	with := func(change func(*Instance)) Instance {
		other := instance
		change(&other)
		return other
	}
	tests := []struct {
		reason string
		other  Instance
		want   bool
	}{
		{"all alike", instance, true},
		{"one that was launched from another version of the same configuration", with(func(i *Instance) { i.Version = 3 }), false},
		{"one of another template", with(func(i *Instance) { i.LaunchTemplateID = "lt-2" }), false},
		{"one of a type that no override names", with(func(i *Instance) { i.InstanceType = "c5.large" }), false},
		{"one that leaves", with(func(i *Instance) { i.Version, i.LifecycleState = 3, "Terminating:Wait" }), true},
	}
	for _, tt := range tests {
		if got := wanted.FitInPlace([]Instance{instance, tt.other}); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.reason, got, tt.want)
		}
	}
}

// TestRootVolumeRefreshIsSuperseded holds that our refresh is cancelled as soon as something else
// is wanted, because it carries what it brings, and no other's.
func TestRootVolumeRefreshIsSuperseded(t *testing.T) {
	t.Parallel()
	wanted := Wanted{TemplateID: "lt-1", Config: "c", Version: 4, Versions: []int64{4}}
	old := Instance{LaunchTemplateID: "lt-1", Version: 4, ImageID: "a", LifecycleState: "InService"}
	tests := []struct {
		reason, strategy, startedFor, startedID string
		want                                    Verdict
	}{
		{"for what is wanted", "ReplaceRootVolume", "c", "r", Rolling},
		{"for something else", "ReplaceRootVolume", "b", "r", Supersede},
		{"one that carries no configuration goes on", "Rolling", "b", "r", Rolling},
		{"another's", "ReplaceRootVolume", "b", "other", Rolling},
	}
	for _, tt := range tests {
		rollout := Rollout{
			Wanted: wanted, Instances: []Instance{old}, History: []Refresh{{ID: "r", Status: "InProgress", Strategy: tt.strategy}}, StartedID: tt.startedID, StartedFor: tt.startedFor,
		}
		if got := rollout.Decide().Verdict; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}
