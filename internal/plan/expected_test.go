package plan

import (
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/refreshhistory"
)

func TestExpected(t *testing.T) {
	half := asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(50)}
	waiting := asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(50), CheckpointPercentages: []int32{50, 100}, CheckpointDelay: awssdk.Int32(1200), BakeTime: awssdk.Int32(600)}
	for name, tc := range map[string]struct {
		reason      string
		earlier     []refreshhistory.Refresh
		preferences asgtypes.RefreshPreferences
		want        *Expected
	}{
		"None": {reason: "Without an earlier roll-out nothing is expected.", preferences: half},
		"Same": {
			reason:  "The same pace takes the same time.",
			earlier: []refreshhistory.Refresh{{Took: 8 * time.Minute, Replaced: 10, Preferences: half}, {Took: 10 * time.Minute, Replaced: 10, Preferences: half}}, preferences: half,
			want: &Expected{Rollouts: 2, AtLeast: minutes(8), AtMost: minutes(10)},
		},
		"Slower": {
			reason:  "Five times the batches take five times as long.",
			earlier: []refreshhistory.Refresh{{Took: 8 * time.Minute, Replaced: 10, Preferences: half}}, preferences: asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(90)},
			want: &Expected{Rollouts: 1, AtLeast: minutes(40), AtMost: minutes(40)},
		},
		"Waits": {
			reason:  "The time at checkpoints and the bake time do not depend on nodes.",
			earlier: []refreshhistory.Refresh{{Took: 38 * time.Minute, Replaced: 10, Preferences: waiting}}, preferences: half,
			want: &Expected{Rollouts: 1, AtLeast: minutes(8), AtMost: minutes(8)},
		},
		"Waiting": {
			reason:  "A roll-out with checkpoints waits at them.",
			earlier: []refreshhistory.Refresh{{Took: 8 * time.Minute, Replaced: 10, Preferences: half}}, preferences: waiting,
			want: &Expected{Rollouts: 1, AtLeast: minutes(38), AtMost: minutes(38)},
		},
		"Warmup": {
			reason:  "A roll-out is never expected to be faster than it can be.",
			earlier: []refreshhistory.Refresh{{Took: 8 * time.Minute, Replaced: 10, Preferences: half}},
			preferences: asgtypes.RefreshPreferences{
				MinHealthyPercentage: awssdk.Int32(50), InstanceWarmup: awssdk.Int32(600),
			},
			want: &Expected{Rollouts: 1, AtLeast: minutes(20), AtMost: minutes(20)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			group := &asgtypes.AutoScalingGroup{DesiredCapacity: awssdk.Int32(10), Instances: make([]asgtypes.Instance, 10), DefaultInstanceWarmup: awssdk.Int32(60)}
			p := pacingOf(group, 10)
			p.prefer(&tc.preferences)
			if diff := gocmp.Diff(tc.want, expectedOf(p.rollout(), &tc.preferences, group, tc.earlier)); diff != "" {
				t.Errorf("%s expectedOf: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPlanAfterRollout holds that the time of a roll-out is expected from the ones that AWS lists, and that
// it then takes about as long.
func TestPlanAfterRollout(t *testing.T) {
	r := newRig(t)
	r.running()
	took := r.rollOut("m5.xlarge")
	edited := r.stored()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.2xlarge"
	r.sim.ClearCalls()
	made := r.plan(edited)
	expected := made.Pools[0].Rollout.Expected
	if expected == nil || expected.Rollouts != 1 || expected.AtLeast != expected.AtMost {
		t.Fatalf("expected: got %+v, want the time of one earlier roll-out", expected)
	}
	if text := r.printed(made); !strings.Contains(text, "by 1 earlier roll-out of this pool.") {
		t.Errorf("Print(plan): got\n%s\nwant the earlier roll-out", text)
	}
	again := r.rollOut("m5.2xlarge")
	for _, measured := range []time.Duration{took, again} {
		if difference := (time.Duration(expected.AtMost) - measured).Abs(); difference > 2*time.Minute { // settle looks every two minutes
			t.Errorf("expected: got %s, and it took %s", expected.AtMost, measured)
		}
	}
}

// rollOut has the instances of the pool replaced by another type, and returns how long that takes.
func (r *rig) rollOut(instanceType string) time.Duration {
	r.Helper()
	edited := r.stored()
	edited.Spec.AWSLaunchTemplate.InstanceType = instanceType
	edited.Spec.RefreshPreferences.MinHealthyPercentage = ptr.To[int64](90)
	r.do(r.cluster.Update(r.Context(), edited))
	began := r.clock.Now()
	for range 20 {
		r.settle()
		stored := r.stored()
		if rolledOut := meta.FindStatusCondition(stored.Status.Conditions, infrav1.RolledOutCondition); rolledOut != nil && rolledOut.Status == "True" && rolledOut.ObservedGeneration == stored.Generation {
			return r.clock.Since(began)
		}
	}
	r.Fatalf("the pool does not roll out: %v", r.stored().Status.Conditions)
	return 0
}
