package forecast

import (
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/internal/sdkcopy"
)

var detailWrites = map[string]writer{
	"autoscaling:PutLifecycleHook":    changing(groupsOf, &autoscaling.PutLifecycleHookOutput{}, (*groups).putHook),
	"autoscaling:DeleteLifecycleHook": changing(groupsOf, &autoscaling.DeleteLifecycleHookOutput{}, (*groups).deleteHook),
	"autoscaling:CancelInstanceRefresh": changing(groupsOf, &autoscaling.CancelInstanceRefreshOutput{},
		func(g *groups, input *autoscaling.CancelInstanceRefreshInput) {
			own := g.of(awssdk.ToString(input.AutoScalingGroupName))
			own.canceled, own.before = g.clock.Now(), len(own.started)
		}),
}

var detailReads = map[string]reader{
	"autoscaling:DescribeLifecycleHooks": reading(groupsOf,
		func(g *groups, input *autoscaling.DescribeLifecycleHooksInput) *autoscaling.DescribeLifecycleHooksOutput {
			if own := g.own(input.AutoScalingGroupName); own != nil {
				return &autoscaling.DescribeLifecycleHooksOutput{LifecycleHooks: own.shownHooks(nil)}
			}
			return nil
		},
		func(g *groups, input *autoscaling.DescribeLifecycleHooksInput, output *autoscaling.DescribeLifecycleHooksOutput) {
			output.LifecycleHooks = g.of(awssdk.ToString(input.AutoScalingGroupName)).shownHooks(output.LifecycleHooks)
		}),
	"autoscaling:DescribeInstanceRefreshes": reading(groupsOf,
		func(g *groups, input *autoscaling.DescribeInstanceRefreshesInput) *autoscaling.DescribeInstanceRefreshesOutput {
			if own := g.own(input.AutoScalingGroupName); own != nil {
				return &autoscaling.DescribeInstanceRefreshesOutput{InstanceRefreshes: own.shownRefreshes(g.clock.Now(), nil)}
			}
			return nil
		},
		func(g *groups, input *autoscaling.DescribeInstanceRefreshesInput, output *autoscaling.DescribeInstanceRefreshesOutput) {
			output.InstanceRefreshes = g.of(awssdk.ToString(input.AutoScalingGroupName)).shownRefreshes(g.clock.Now(), output.InstanceRefreshes)
		}),
	"autoscaling:DescribeScalingActivities": reading(groupsOf,
		func(g *groups, input *autoscaling.DescribeScalingActivitiesInput) *autoscaling.DescribeScalingActivitiesOutput {
			if g.own(input.AutoScalingGroupName) != nil {
				return &autoscaling.DescribeScalingActivitiesOutput{}
			}
			return nil
		},
		func(*groups, *autoscaling.DescribeScalingActivitiesInput, *autoscaling.DescribeScalingActivitiesOutput) {
		}),
}

// own returns a group that exists in the forecast only, nil for others.
func (g *groups) own(name *string) *group {
	if known := g.byName[awssdk.ToString(name)]; known != nil && known.created != nil {
		return known
	}
	return nil
}

// hookChange puts a lifecycle hook, or deletes the one of a name.
type hookChange struct {
	put    *asgtypes.LifecycleHook
	delete string
}

// hookOf returns the hook that a request puts.
func hookOf(request any) *asgtypes.LifecycleHook {
	hook := &asgtypes.LifecycleHook{}
	sdkcopy.Members(hook, request)
	return hook
}

func (g *groups) putHook(input *autoscaling.PutLifecycleHookInput) {
	changed := g.of(awssdk.ToString(input.AutoScalingGroupName))
	changed.hooks = append(changed.hooks, hookChange{put: hookOf(input)})
}

func (g *groups) deleteHook(input *autoscaling.DeleteLifecycleHookInput) {
	changed := g.of(awssdk.ToString(input.AutoScalingGroupName))
	changed.hooks = append(changed.hooks, hookChange{delete: awssdk.ToString(input.LifecycleHookName)})
}

// shownHooks returns hooks as the writes leave them. An update of a hook keeps the members that it
// does not set.
func (g *group) shownHooks(described []asgtypes.LifecycleHook) []asgtypes.LifecycleHook {
	shown := slices.Clone(described)
	for _, change := range g.hooks {
		if change.put == nil {
			shown = slices.DeleteFunc(shown, func(hook asgtypes.LifecycleHook) bool { return *hook.LifecycleHookName == change.delete })
			continue
		}
		at := slices.IndexFunc(shown, func(hook asgtypes.LifecycleHook) bool {
			return *hook.LifecycleHookName == *change.put.LifecycleHookName
		})
		if at < 0 {
			shown, at = append(shown, asgtypes.LifecycleHook{}), len(shown)
		}
		sdkcopy.Members(&shown[at], change.put)
	}
	return shown
}

// shownRefreshes returns refreshes as the writes leave them, the newest first. The cancellation of a
// refresh is complete once time has passed.
func (g *group) shownRefreshes(now time.Time, described []asgtypes.InstanceRefresh) []asgtypes.InstanceRefresh {
	shown := slices.Concat(g.started, described)
	if g.canceled.IsZero() {
		return shown
	}
	for i := len(g.started) - g.before; i < len(shown); i++ {
		if !slices.Contains(cancelable, shown[i].Status) {
			continue
		}
		shown[i].Status = asgtypes.InstanceRefreshStatusCancelling
		if now.After(g.canceled) {
			shown[i].Status, shown[i].EndTime = asgtypes.InstanceRefreshStatusCancelled, awssdk.Time(now)
		}
	}
	return shown
}

// cancelable are the statuses of refreshes that a request cancels, and of one that is being canceled.
var cancelable = []asgtypes.InstanceRefreshStatus{
	asgtypes.InstanceRefreshStatusPending, asgtypes.InstanceRefreshStatusInProgress, asgtypes.InstanceRefreshStatusCancelling,
}
