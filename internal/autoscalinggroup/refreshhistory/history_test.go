package refreshhistory

import (
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// at returns a time in minutes after a beginning.
func at(minutes int) *time.Time {
	return awssdk.Time(time.Date(2026, time.November, 26, 10, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute))
}

// refresh returns a refresh from one minute to another.
func refresh(start, end int) asgtypes.InstanceRefresh {
	return asgtypes.InstanceRefresh{
		StartTime: at(start), EndTime: at(end), Status: asgtypes.InstanceRefreshStatusSuccessful, Strategy: asgtypes.RefreshStrategyRolling,
		Preferences: &asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(90)},
	}
}

// termination returns the termination of an instance by a refresh.
func termination(minute int) asgtypes.Activity {
	return asgtypes.Activity{
		StartTime: at(minute), StatusCode: asgtypes.ScalingActivityStatusCodeSuccessful, Description: awssdk.String("Terminating EC2 instance: i-0a11000000000000a"),
		Cause: awssdk.String("At 2026-11-26T10:00:00Z an instance was taken out of service in response to an instance refresh."),
	}
}

// other returns an activity with another cause.
func other(minute int, cause string) asgtypes.Activity {
	activity := termination(minute)
	activity.Cause = &cause
	return activity
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	preferences := asgtypes.RefreshPreferences{MinHealthyPercentage: awssdk.Int32(90)}
	for name, tc := range map[string]struct {
		reason     string
		refreshes  []asgtypes.InstanceRefresh
		activities []asgtypes.Activity
		known      time.Time
		want       []Refresh
	}{
		"Two": {
			reason:    "A termination belongs to the refresh that was under way.",
			refreshes: []asgtypes.InstanceRefresh{refresh(100, 130), refresh(0, 20)},
			activities: []asgtypes.Activity{
				termination(120), termination(110), termination(105), other(106, "a user health-check"), other(50, "a scale in"), termination(15), termination(5),
			},
			want: []Refresh{{Took: 30 * time.Minute, Replaced: 3, Preferences: preferences}, {Took: 20 * time.Minute, Replaced: 2, Preferences: preferences}},
		},
		"Nothing": {
			reason:    "A refresh that replaced nothing measures nothing.",
			refreshes: []asgtypes.InstanceRefresh{refresh(0, 1)}, activities: []asgtypes.Activity{other(0, "a scale in")},
		},
		"Forgotten": {
			reason:    "A refresh whose activities are not all listed is left out.",
			refreshes: []asgtypes.InstanceRefresh{refresh(100, 130), refresh(0, 20)}, activities: []asgtypes.Activity{termination(120), termination(15)}, known: *at(15),
			want: []Refresh{{Took: 30 * time.Minute, Replaced: 1, Preferences: preferences}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := measure(tc.refreshes, tc.activities, tc.known)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(asgtypes.RefreshPreferences{})); diff != "" {
				t.Errorf("%s measure: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMeasurable(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(*asgtypes.InstanceRefresh)
		want   bool
	}{
		"Successful": {reason: "A refresh that replaced instances is measured.", change: func(*asgtypes.InstanceRefresh) {}, want: true},
		"UnderWay":   {reason: "A refresh has no end while it is under way.", change: func(r *asgtypes.InstanceRefresh) { r.EndTime, r.Status = nil, asgtypes.InstanceRefreshStatusInProgress }},
		"Failed":     {reason: "A refresh that failed replaced some instances only.", change: func(r *asgtypes.InstanceRefresh) { r.Status = asgtypes.InstanceRefreshStatusFailed }},
		"InPlace":    {reason: "A root volume is replaced faster than an instance.", change: func(r *asgtypes.InstanceRefresh) { r.Strategy = asgtypes.RefreshStrategyReplaceRootVolume }},
	} {
		one := refresh(0, 20)
		tc.change(&one)
		if got := measurable(&one); got != tc.want {
			t.Errorf("%s: %s measurable: got %t, want %t", name, tc.reason, got, tc.want)
		}
	}
}
