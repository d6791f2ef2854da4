package plan

import (
	"cmp"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	gocmp "github.com/google/go-cmp/cmp"
)

func TestPace(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		desired     int
		replaced    int
		preferences asgtypes.RefreshPreferences
		drain       time.Duration
		inPlace     bool
		weights     []int
		want        Rollout
	}{
		"Defaults": {
			reason:  "AWS keeps 90 % of the instances in service.",
			desired: 20, want: Rollout{Replaced: 20, AtOnce: 2, Batches: 10, AtLeast: minutes(10), AtMost: minutes(60)},
		},
		"NoRoom": {
			reason:  "Where 10 % are less than one instance, AWS replaces one at a time.",
			desired: 3, want: Rollout{Replaced: 3, AtOnce: 1, Batches: 3, AtLeast: minutes(3), AtMost: minutes(18)},
		},
		"LaunchFirst": {
			reason:  "A maximum above 100 % has instances launched before others are terminated.",
			desired: 10, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(100), MaxHealthyPercentage: awssdk.Int32(150)},
			want: Rollout{Replaced: 10, AtOnce: 5, Batches: 2, AtLeast: minutes(2), AtMost: minutes(12)},
		},
		"AllAtOnce": {
			reason:  "Without a minimum, all instances are replaced at once.",
			desired: 10, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(0)},
			want: Rollout{Replaced: 10, AtOnce: 10, Batches: 1, AtLeast: minutes(1), AtMost: minutes(6)},
		},
		"InPlace": {
			reason:  "A refresh that replaces root volumes launches no instance.",
			desired: 10, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(50), MaxHealthyPercentage: awssdk.Int32(150)}, inPlace: true,
			want: Rollout{Replaced: 10, AtOnce: 5, Batches: 2, AtLeast: minutes(2), AtMost: minutes(12)},
		},
		"Drain": {
			reason:  "A drain may take as long as its timeout for each batch.",
			desired: 2, drain: 15 * time.Minute, want: Rollout{Replaced: 2, AtOnce: 1, Batches: 2, AtLeast: minutes(2), AtMost: minutes(42)},
		},
		"Waits": {
			reason:  "A checkpoint ends a batch. It and the bake time are waited for in any case. At 100 % nothing is left to wait with.",
			desired: 2, preferences: asgtypes.RefreshPreferences{
				MinHealthyPercentage: awssdk.Int32(0), CheckpointPercentages: []int32{50, 100}, CheckpointDelay: awssdk.Int32(600), BakeTime: awssdk.Int32(300),
			},
			want: Rollout{
				Replaced: 2, AtOnce: 2, Batches: 2, Checkpoints: []Checkpoint{{Percentage: 50, Replaced: 1, Delay: minutes(10)}},
				AtLeast: minutes(17), AtMost: minutes(27),
			},
		},
		"Checkpoints": {
			reason:  "AWS replaces fewer instances at a time to stop at a checkpoint, for an hour by default.",
			desired: 10, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(60), CheckpointPercentages: []int32{20, 50, 100}},
			want: Rollout{
				Replaced: 10, AtOnce: 4, Batches: 4,
				Checkpoints: []Checkpoint{{Percentage: 20, Replaced: 2, Delay: minutes(60)}, {Percentage: 50, Replaced: 5, Delay: minutes(60)}},
				AtLeast:     minutes(124), AtMost: minutes(144),
			},
		},
		"Matching": {
			reason:  "Instances that match count as new, so that a checkpoint may be behind from the beginning.",
			desired: 10, replaced: 4, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(80), CheckpointPercentages: []int32{50, 80, 100}},
			want: Rollout{
				Replaced: 4, AtOnce: 2, Batches: 2, Checkpoints: []Checkpoint{{Percentage: 80, Replaced: 2, Delay: minutes(60)}},
				AtLeast: minutes(62), AtMost: minutes(72),
			},
		},
		"LastCheckpoint": {
			reason:  "A refresh ends at its last checkpoint, and does not wait there.",
			desired: 10, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(0), CheckpointPercentages: []int32{30}},
			want: Rollout{Replaced: 10, AtOnce: 10, Batches: 1, Left: 7, AtLeast: minutes(1), AtMost: minutes(6)},
		},
		"Weights": {
			reason:  "Percentages are of units of capacity. A unit of room is no room for an instance of more, which AWS replaces alone.",
			desired: 20, replaced: 5, weights: []int{1, 4},
			want: Rollout{Replaced: 5, AtOnce: 2, Batches: 3, AtLeast: minutes(3), AtMost: minutes(30)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pacing{
				desired: tc.desired, replaced: cmp.Or(tc.replaced, tc.desired), instances: tc.desired, smallest: 1, largest: 1,
				minHealthy: defaultMinHealthy, maxHealthy: defaultMaxHealthy, inPlace: tc.inPlace, warmup: time.Minute, drain: tc.drain,
			}
			if tc.weights != nil {
				p.smallest, p.largest = tc.weights[0], tc.weights[1]
			}
			tc.want.Order = orderOfRefresh
			p.prefer(&tc.preferences)
			if diff := gocmp.Diff(tc.want, *p.rollout()); diff != "" {
				t.Errorf("%s rollout: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func minutes(count int) Duration { return Duration(time.Duration(count) * time.Minute) }

func TestManagedPace(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		config  *ekstypes.NodegroupUpdateConfig
		nodes   int
		created bool
		want    Rollout
	}{
		"Default": {reason: "EKS updates one node at a time.", nodes: 3, want: Rollout{Replaced: 3, AtOnce: 1, Batches: 3, Order: orderOfUpdate}},
		"Number": {
			reason: "A number is taken as it is.", nodes: 10, config: &ekstypes.NodegroupUpdateConfig{MaxUnavailable: awssdk.Int32(4)},
			want: Rollout{Replaced: 10, AtOnce: 4, Batches: 3, Order: orderOfUpdate},
		},
		"Percentage": {
			reason: "A percentage is of the desired size, and rounded down.", nodes: 10, config: &ekstypes.NodegroupUpdateConfig{MaxUnavailablePercentage: awssdk.Int32(39)},
			want: Rollout{Replaced: 10, AtOnce: 3, Batches: 4, Order: orderOfUpdate},
		},
		"Most": {
			reason: "EKS updates at most 100 nodes at a time.", nodes: 450, config: &ekstypes.NodegroupUpdateConfig{MaxUnavailablePercentage: awssdk.Int32(100)},
			want: Rollout{Replaced: 450, AtOnce: 100, Batches: 5, Order: orderOfUpdate},
		},
		"Replacement": {
			reason: "The old node group is deleted as a whole.", nodes: 3, created: true,
			want: Rollout{Replaced: 3, AtOnce: 3, Batches: 1, Order: orderOfReplacement},
		},
	} {
		t.Run(name, func(t *testing.T) {
			group := &ekstypes.Nodegroup{UpdateConfig: tc.config, ScalingConfig: &ekstypes.NodegroupScalingConfig{DesiredSize: awssdk.Int32(int32(tc.nodes))}}
			if diff := gocmp.Diff(tc.want, *managedPace(group, tc.nodes, tc.created)); diff != "" {
				t.Errorf("%s managedPace: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
