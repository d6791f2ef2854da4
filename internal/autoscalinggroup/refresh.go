package autoscalinggroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// refresher has the calls of Auto Scaling that replace instances.
type refresher interface {
	StartInstanceRefresh(context.Context, *autoscaling.StartInstanceRefreshInput, ...func(*autoscaling.Options)) (*autoscaling.StartInstanceRefreshOutput, error)
	CancelInstanceRefresh(context.Context, *autoscaling.CancelInstanceRefreshInput, ...func(*autoscaling.Options)) (*autoscaling.CancelInstanceRefreshOutput, error)
	SetInstanceProtection(context.Context, *autoscaling.SetInstanceProtectionInput, ...func(*autoscaling.Options)) (*autoscaling.SetInstanceProtectionOutput, error)
}

// refreshesRead bounds how many past refreshes are read: after so many failures the wait has long
// reached its longest.
const refreshesRead = 10

// Refreshes returns the newest instance refreshes of the group, newest first.
func (g *Groups) Refreshes(ctx context.Context, group string) ([]Refresh, error) {
	// AWS returns the newest first (AWS: API_DescribeInstanceRefreshes).
	output, err := g.api.DescribeInstanceRefreshes(ctx, &autoscaling.DescribeInstanceRefreshesInput{
		AutoScalingGroupName: &group, MaxRecords: awssdk.Int32(refreshesRead),
	})
	if err != nil {
		return nil, fmt.Errorf("describing the instance refreshes of Auto Scaling group %q: %w", group, err)
	}
	refreshes := make([]Refresh, 0, len(output.InstanceRefreshes))
	for i := range output.InstanceRefreshes {
		seen := &output.InstanceRefreshes[i]
		refreshes = append(refreshes, Refresh{
			ID: awssdk.ToString(seen.InstanceRefreshId), Status: string(seen.Status), Reason: awssdk.ToString(seen.StatusReason),
			Percentage: awssdk.ToInt32(seen.PercentageComplete), Started: awssdk.ToTime(seen.StartTime),
			Strategy: string(seen.Strategy),
		})
	}
	return refreshes, nil
}

// NextAfter returns the refresh that was started next after the one with the given ID, or the first
// of all if the ID is empty. It returns nil if there is none, or if the history, which has only the
// newest refreshes, does not show it.
func NextAfter(history []Refresh, id string) *Refresh {
	next := slices.IndexFunc(history, func(refresh Refresh) bool { return refresh.ID == id }) - 1
	if id == "" && len(history) < refreshesRead {
		next = len(history) - 1
	}
	if next < 0 {
		return nil
	}
	return &history[next]
}

// Replacing says how to replace instances.
type Replacing struct {
	// Preferences are the user's, nil for the defaults.
	Preferences *infrav1.RefreshPreferences
	// SkipMatching leaves instances alone that were launched from the version that the group names.
	SkipMatching bool
	// Shielded leaves instances alone that are protected from scale-in, whatever the preferences say.
	Shielded bool
	// RootVolumes is what the group should launch, if its instances should get new root volumes.
	// Nil for a refresh that replaces instances.
	RootVolumes *Desired
}

// StartRefresh starts replacing instances and returns the refresh's ID. It returns "" without an
// error if one is under way already: the roll-out is decided again when that has finished.
func (g *Groups) StartRefresh(ctx context.Context, group string, replacing Replacing) (string, error) {
	output, err := g.api.StartInstanceRefresh(ctx, refreshInput(group, replacing))
	var underWay *asgtypes.InstanceRefreshInProgressFault
	if errors.As(err, &underWay) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("starting an instance refresh of Auto Scaling group %q: %w", group, err)
	}
	return awssdk.ToString(output.InstanceRefreshId), nil
}

// refreshInput returns the request for a refresh of the group.
func refreshInput(group string, replacing Replacing) *autoscaling.StartInstanceRefreshInput {
	input := &autoscaling.StartInstanceRefreshInput{
		AutoScalingGroupName: &group,
		Strategy:             asgtypes.RefreshStrategyRolling,
		Preferences:          refreshPreferences(replacing),
	}
	if replacing.RootVolumes != nil {
		input.Strategy, input.DesiredConfiguration = asgtypes.RefreshStrategyReplaceRootVolume, &asgtypes.DesiredConfiguration{}
		input.DesiredConfiguration.LaunchTemplate, input.DesiredConfiguration.MixedInstancesPolicy = launchSource(*replacing.RootVolumes)
	}
	return input
}

// CancelRefresh cancels the refresh that is under way. Instances that it has replaced stay
// replaced. It is no error if none is under way.
func (g *Groups) CancelRefresh(ctx context.Context, group string) error {
	_, err := g.api.CancelInstanceRefresh(ctx, &autoscaling.CancelInstanceRefreshInput{AutoScalingGroupName: &group})
	var none *asgtypes.ActiveInstanceRefreshNotFoundFault
	if err != nil && !errors.As(err, &none) {
		return fmt.Errorf("cancelling the instance refresh of Auto Scaling group %q: %w", group, err)
	}
	return nil
}

// protectionBatch is the number of instances that one call protects (AWS:
// API_SetInstanceProtection).
const protectionBatch = 50

// Protect sets or removes the protection from scale-in of instances in service or in standby.
func (g *Groups) Protect(ctx context.Context, group string, instances []string, protect bool) error {
	for batch := range slices.Chunk(instances, protectionBatch) {
		_, err := g.api.SetInstanceProtection(ctx, &autoscaling.SetInstanceProtectionInput{
			AutoScalingGroupName: &group, InstanceIds: batch, ProtectedFromScaleIn: &protect,
		})
		if err != nil {
			return fmt.Errorf("setting the scale-in protection of instances of Auto Scaling group %q: %w", group, err)
		}
	}
	return nil
}

// refreshPreferences send what the user sets, and leave the rest to AWS. No desired configuration
// is sent, so that the group's version can move on during the refresh: a join token lives 15
// minutes, a refresh up to 14 days. AWS's own rollback needs one, so going back is ours. Refreshes
// that replace root volumes need one too, and are for nodes that join without a token.
func refreshPreferences(replacing Replacing) *asgtypes.RefreshPreferences {
	preferences := &asgtypes.RefreshPreferences{SkipMatching: awssdk.Bool(replacing.SkipMatching)}
	if wanted := replacing.Preferences; wanted != nil {
		preferences.InstanceWarmup = narrow(wanted.InstanceWarmup)
		preferences.MinHealthyPercentage = narrow(wanted.MinHealthyPercentage)
		preferences.MaxHealthyPercentage = narrow(wanted.MaxHealthyPercentage)
		preferences.CheckpointPercentages = wanted.CheckpointPercentages
		preferences.CheckpointDelay = wholeSeconds(wanted.CheckpointDelay)
		preferences.BakeTime = wholeSeconds(wanted.BakeTime)
		preferences.ScaleInProtectedInstances = asgtypes.ScaleInProtectedInstances(wanted.ScaleInProtectedInstances)
		preferences.StandbyInstances = asgtypes.StandbyInstances(wanted.StandbyInstances)
		if len(wanted.Alarms) > 0 {
			preferences.AlarmSpecification = &asgtypes.AlarmSpecification{Alarms: wanted.Alarms}
		}
	}
	if replacing.Shielded {
		preferences.ScaleInProtectedInstances = asgtypes.ScaleInProtectedInstancesIgnore
	}
	return preferences
}

// wholeSeconds rounds up: a delay of half a second is not none.
func wholeSeconds(duration *metav1.Duration) *int32 {
	if duration == nil {
		return nil
	}
	return awssdk.Int32(int32((duration.Duration + time.Second - 1) / time.Second)) //nolint:gosec // the schema bounds it
}

func narrow(value *int64) *int32 {
	if value == nil {
		return nil
	}
	return awssdk.Int32(int32(*value)) //nolint:gosec // the schema bounds it
}
