package plan

import (
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
)

func TestPace(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		desired     int
		preferences asgtypes.RefreshPreferences
		drain       time.Duration
		inPlace     bool
		want        Rollout
	}{
		"Defaults": {
			reason:  "AWS keeps 90 % of the instances in service.",
			desired: 20, want: Rollout{Replaced: 20, AtOnce: 2, AtLeast: minutes(10), AtMost: minutes(60)},
		},
		"NoRoom": {
			reason:  "Where 10 % are less than one instance, AWS replaces one at a time.",
			desired: 3, want: Rollout{Replaced: 3, AtOnce: 1, AtLeast: minutes(3), AtMost: minutes(18)},
		},
		"LaunchFirst": {
			reason:  "A maximum above 100 % has instances launched before others are terminated.",
			desired: 10, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(100), MaxHealthyPercentage: awssdk.Int32(150)},
			want: Rollout{Replaced: 10, AtOnce: 5, AtLeast: minutes(2), AtMost: minutes(12)},
		},
		"AllAtOnce": {
			reason:  "Without a minimum, all instances are replaced at once.",
			desired: 10, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(0)},
			want: Rollout{Replaced: 10, AtOnce: 10, AtLeast: minutes(1), AtMost: minutes(6)},
		},
		"InPlace": {
			reason:  "A refresh that replaces root volumes launches no instance.",
			desired: 10, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(50), MaxHealthyPercentage: awssdk.Int32(150)}, inPlace: true,
			want: Rollout{Replaced: 10, AtOnce: 5, AtLeast: minutes(2), AtMost: minutes(12)},
		},
		"Drain": {
			reason:  "A drain may take as long as its timeout for each batch.",
			desired: 2, drain: 15 * time.Minute, want: Rollout{Replaced: 2, AtOnce: 1, AtLeast: minutes(2), AtMost: minutes(42)},
		},
		"Waits": {
			reason:  "Checkpoints and the bake time are waited for in any case. At 100 % nothing is left to wait with.",
			desired: 2, preferences: asgtypes.RefreshPreferences{
				MinHealthyPercentage: awssdk.Int32(0), CheckpointPercentages: []int32{50, 100}, CheckpointDelay: awssdk.Int32(600), BakeTime: awssdk.Int32(300),
			},
			want: Rollout{Replaced: 2, AtOnce: 2, AtLeast: minutes(16), AtMost: minutes(21)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pacing{
				desired: tc.desired, replaced: tc.desired, minHealthy: defaultMinHealthy, maxHealthy: defaultMaxHealthy,
				inPlace: tc.inPlace, warmup: time.Minute, drain: tc.drain,
			}
			p.prefer(&tc.preferences)
			if diff := cmp.Diff(tc.want, *p.rollout()); diff != "" {
				t.Errorf("%s rollout: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func minutes(count int) Duration { return Duration(time.Duration(count) * time.Minute) }
