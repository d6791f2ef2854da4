package plan

import (
	"context"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/internal/autoscalinggroup/refreshhistory"
	"github.com/slipway-project/slipway/internal/aws"
)

// Expected is how long a roll-out takes if its batches take as long as in earlier roll-outs.
type Expected struct {
	// Rollouts is how many earlier roll-outs were measured. The fastest of them gives AtLeast, and the
	// slowest AtMost.
	Rollouts int      `json:"rollouts,omitempty"`
	AtLeast  Duration `json:"atLeast,omitzero"`
	AtMost   Duration `json:"atMost,omitzero"`
	// Unknown says why AWS could not be asked for earlier roll-outs.
	Unknown string `json:"unknown,omitempty"`
}

// expect adds how long a refresh takes by the earlier ones of its group. A failure to read them does not fail
// the plan.
func (w *world) expect(ctx context.Context, pool view, planned *Pool) error {
	refresh, group := w.aws.Refresh()
	if refresh == nil || planned.Rollout == nil || refresh.Strategy == asgtypes.RefreshStrategyReplaceRootVolume {
		return nil
	}
	cloud, _, err := w.reach(ctx, pool.Object)
	if err == nil {
		var earlier []refreshhistory.Refresh
		earlier, err = cloud.Refreshes.Rolling(ctx, awssdk.ToString(group.AutoScalingGroupName))
		planned.Rollout.Expected = expectedOf(planned.Rollout, refresh.Preferences, &group, earlier)
	}
	if err != nil {
		planned.Rollout.Expected = &Expected{Unknown: aws.UserMessage(err)}
	}
	return ctx.Err()
}

// expectedOf returns how long a roll-out takes by the batches of earlier ones, nil if there are none. How
// many instances a group had then is not known, so that the batches are counted as if it had as many as now.
func expectedOf(rollout *Rollout, preferences *asgtypes.RefreshPreferences, group *asgtypes.AutoScalingGroup, earlier []refreshhistory.Refresh) *Expected {
	expected := &Expected{}
	now := pacingOf(group, rollout.Replaced)
	if preferences != nil {
		now.prefer(preferences)
	}
	waits := now.waits(rollout.Checkpoints)
	for _, one := range earlier {
		batch, measured := batchOf(one, group)
		if !measured {
			continue
		}
		takes := Duration(time.Duration(rollout.Batches)*batch + waits)
		if expected.Rollouts == 0 {
			expected.AtLeast = takes
		}
		expected.Rollouts++
		expected.AtLeast, expected.AtMost = min(expected.AtLeast, takes), max(expected.AtMost, takes)
	}
	if expected.Rollouts == 0 {
		return nil
	}
	// The edit may have set a longer warmup.
	expected.AtLeast = max(expected.AtLeast, rollout.AtLeast)
	expected.AtMost = max(expected.AtMost, expected.AtLeast)
	return expected
}

// batchOf returns how long a batch of an earlier refresh took, without the time in which it waited.
func batchOf(earlier refreshhistory.Refresh, group *asgtypes.AutoScalingGroup) (time.Duration, bool) {
	then := pacingOf(group, earlier.Replaced)
	then.smallest, then.largest = weights(group.Instances, instanceIDs(group.Instances))
	then.prefer(&earlier.Preferences)
	stages, checkpoints := then.stages()
	count := batches(stages, then.atOnce(then.smallest))
	worked := earlier.Took - then.waits(checkpoints)
	if count == 0 || worked <= 0 {
		return 0, false
	}
	return worked / time.Duration(count), true
}

func instanceIDs(instances []asgtypes.Instance) []string {
	ids := make([]string, 0, len(instances))
	for i := range instances {
		ids = append(ids, awssdk.ToString(instances[i].InstanceId))
	}
	return ids
}
