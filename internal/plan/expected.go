package plan

import (
	"context"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/internal/autoscalinggroup/refreshhistory"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/forecast"
	"github.com/slipway-project/slipway/internal/nodegroup/updatehistory"
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

// expect adds how long a roll-out takes by the earlier ones of the pool. A failure to read them does not fail
// the plan.
func (w *world) expect(ctx context.Context, pool view, planned *Pool) error {
	if planned.Rollout == nil {
		return nil
	}
	if planned.Kind == managed.name {
		return w.expectUpdate(ctx, pool, planned.Rollout)
	}
	refresh, group := w.aws.Refresh()
	if refresh == nil || refresh.Strategy == asgtypes.RefreshStrategyReplaceRootVolume {
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

// expectUpdate adds how long an update of a node group takes by the earlier ones. They say nothing about an
// update at another pace, or about a new node group.
func (w *world) expectUpdate(ctx context.Context, pool view, rollout *Rollout) error {
	group := w.aws.Nodegroup()
	if group == nil || group.Resources == nil || len(group.Resources.AutoScalingGroups) == 0 || rollout.Order != orderOfUpdate || changesPace(w.aws.Calls()) {
		return nil
	}
	cloud, _, err := w.reach(ctx, pool.Object)
	if err == nil {
		var earlier []updatehistory.Update
		earlier, err = cloud.Updates.Replacing(ctx, awssdk.ToString(group.ClusterName), awssdk.ToString(group.NodegroupName), awssdk.ToString(group.Resources.AutoScalingGroups[0].Name))
		rollout.Expected = expectedUpdate(rollout, group, earlier)
	}
	if err != nil {
		rollout.Expected = &Expected{Unknown: aws.UserMessage(err)}
	}
	return ctx.Err()
}

// changesPace reports whether calls change how many nodes of a node group are replaced at a time.
func changesPace(calls []forecast.Call) bool {
	return slices.ContainsFunc(calls, func(call forecast.Call) bool {
		input, is := call.Input.(*eks.UpdateNodegroupConfigInput)
		return is && input.UpdateConfig != nil
	})
}

// expectedUpdate returns how long an update takes by the batches of earlier ones, nil if there are none.
func expectedUpdate(rollout *Rollout, group *ekstypes.Nodegroup, earlier []updatehistory.Update) *Expected {
	var expected *Expected
	for _, one := range earlier {
		then := managedPace(group, one.Replaced, false)
		expected = expected.with(Duration(one.Took / time.Duration(then.Batches) * time.Duration(rollout.Batches)))
	}
	return expected
}

// with returns the expectation by one more roll-out, which took so long. The first one has none before it.
func (e *Expected) with(takes Duration) *Expected {
	if e == nil {
		return &Expected{Rollouts: 1, AtLeast: takes, AtMost: takes}
	}
	e.Rollouts++
	e.AtLeast, e.AtMost = min(e.AtLeast, takes), max(e.AtMost, takes)
	return e
}

// expectedOf returns how long a roll-out takes by the batches of earlier ones, nil if there are none. How
// many instances a group had then is not known, so that the batches are counted as if it had as many as now.
func expectedOf(rollout *Rollout, preferences *asgtypes.RefreshPreferences, group *asgtypes.AutoScalingGroup, earlier []refreshhistory.Refresh) *Expected {
	var expected *Expected
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
		expected = expected.with(Duration(time.Duration(rollout.Batches)*batch + waits))
	}
	if expected == nil {
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
