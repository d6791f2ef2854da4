package autoscalinggroup

import (
	"context"
	"errors"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// LatestRefresh returns the newest instance refresh of the group, nil if there is none on record.
func (g *Groups) LatestRefresh(ctx context.Context, group string) (*Refresh, error) {
	// AWS returns the newest first (AWS: API_DescribeInstanceRefreshes).
	output, err := g.api.DescribeInstanceRefreshes(ctx, &autoscaling.DescribeInstanceRefreshesInput{
		AutoScalingGroupName: &group, MaxRecords: awssdk.Int32(1),
	})
	if err != nil {
		return nil, fmt.Errorf("describing the instance refreshes of Auto Scaling group %q: %w", group, err)
	}
	if len(output.InstanceRefreshes) == 0 {
		return nil, nil
	}
	newest := output.InstanceRefreshes[0]
	return &Refresh{
		ID: awssdk.ToString(newest.InstanceRefreshId), Status: string(newest.Status), Reason: awssdk.ToString(newest.StatusReason),
		Percentage: awssdk.ToInt32(newest.PercentageComplete), Started: awssdk.ToTime(newest.StartTime), Ended: awssdk.ToTime(newest.EndTime),
	}, nil
}

// StartRefresh starts replacing instances and returns the refresh's id. It returns "" without an error if one is under way
// already: the roll-out is looked at again when that has ended.
func (g *Groups) StartRefresh(ctx context.Context, group string, preferences *infrav1.RefreshPreferences) (string, error) {
	output, err := g.api.StartInstanceRefresh(ctx, &autoscaling.StartInstanceRefreshInput{
		AutoScalingGroupName: &group,
		Strategy:             asgtypes.RefreshStrategyRolling,
		Preferences:          refreshPreferences(preferences),
	})
	var underWay *asgtypes.InstanceRefreshInProgressFault
	if errors.As(err, &underWay) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("starting an instance refresh of Auto Scaling group %q: %w", group, err)
	}
	return awssdk.ToString(output.InstanceRefreshId), nil
}

// refreshPreferences send what the user sets. Skip matching is always on: it spares instances that were launched from the wanted version
// while the roll-out waited (AWS: asg-instance-refresh-skip-matching). No desired configuration is sent, so that the group's version can
// move on during the refresh: a join token lives 15 minutes, a refresh up to 14 days.
func refreshPreferences(wanted *infrav1.RefreshPreferences) *asgtypes.RefreshPreferences {
	preferences := &asgtypes.RefreshPreferences{SkipMatching: awssdk.Bool(true)}
	if wanted == nil {
		return preferences
	}
	preferences.InstanceWarmup = narrow(wanted.InstanceWarmup)
	preferences.MinHealthyPercentage = narrow(wanted.MinHealthyPercentage)
	preferences.MaxHealthyPercentage = narrow(wanted.MaxHealthyPercentage)
	return preferences
}

func narrow(value *int64) *int32 {
	if value == nil {
		return nil
	}
	return awssdk.Int32(int32(*value)) //nolint:gosec // the schema bounds it
}
