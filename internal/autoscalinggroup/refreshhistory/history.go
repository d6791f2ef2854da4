// Package refreshhistory measures the instance refreshes that an Auto Scaling group had: how long each took,
// and how many instances it replaced. AWS keeps both for six weeks.
package refreshhistory

import (
	"context"
	"fmt"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

const (
	// refreshesRead bounds how many refreshes are measured: the newest.
	refreshesRead = 10
	// pageSize is the most activities that AWS returns in one answer (AWS:
	// API_DescribeScalingActivities), and mostPages how many answers are read.
	pageSize  = 100
	mostPages = 5
)

// API has the calls of Auto Scaling that this package sends.
type API interface {
	autoscaling.DescribeInstanceRefreshesAPIClient
	autoscaling.DescribeScalingActivitiesAPIClient
}

// Refresh is a refresh that replaced all that it set out to replace.
type Refresh struct {
	// Took is the time from its start to its end, and Replaced how many instances it replaced.
	Took     time.Duration
	Replaced int
	// Preferences are the preferences of the refresh, with AWS's defaults.
	Preferences asgtypes.RefreshPreferences
}

// Reader reads the history of groups.
type Reader struct{ api API }

// New returns a reader.
func New(api API) *Reader { return &Reader{api} }

// Rolling returns the successful refreshes of a group that replaced instances, newest first. A refresh is
// missing if AWS no longer lists all its activities.
func (r *Reader) Rolling(ctx context.Context, group string) ([]Refresh, error) {
	output, err := r.api.DescribeInstanceRefreshes(ctx, &autoscaling.DescribeInstanceRefreshesInput{
		AutoScalingGroupName: &group, MaxRecords: awssdk.Int32(refreshesRead),
	})
	if err != nil {
		return nil, fmt.Errorf("describing the instance refreshes of Auto Scaling group %q: %w", group, err)
	}
	var ended []asgtypes.InstanceRefresh
	var since time.Time
	for i := range output.InstanceRefreshes {
		if refresh := &output.InstanceRefreshes[i]; measurable(refresh) {
			ended, since = append(ended, *refresh), *refresh.StartTime // the oldest is the last
		}
	}
	if len(ended) == 0 {
		return nil, nil
	}
	activities, known, err := r.Activities(ctx, group, since)
	if err != nil {
		return nil, err
	}
	return measure(ended, activities, known), nil
}

// measurable reports whether a refresh replaced all instances that it set out to replace.
func measurable(refresh *asgtypes.InstanceRefresh) bool {
	return refresh.Status == asgtypes.InstanceRefreshStatusSuccessful && refresh.Strategy != asgtypes.RefreshStrategyReplaceRootVolume &&
		refresh.StartTime != nil && refresh.EndTime != nil && refresh.Preferences != nil
}

// Activities returns the scaling activities of a group since a time, and from when on they are complete.
// AWS returns the newest first, after those under way.
func (r *Reader) Activities(ctx context.Context, group string, since time.Time) ([]asgtypes.Activity, time.Time, error) {
	input := &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: &group, MaxRecords: awssdk.Int32(pageSize)}
	pages := autoscaling.NewDescribeScalingActivitiesPaginator(r.api, input)
	var found []asgtypes.Activity
	known := time.Time{}
	for range mostPages {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, known, fmt.Errorf("describing the scaling activities of Auto Scaling group %q: %w", group, err)
		}
		found = append(found, page.Activities...)
		if !pages.HasMorePages() {
			return found, time.Time{}, nil
		}
		if len(page.Activities) > 0 {
			known = awssdk.ToTime(page.Activities[len(page.Activities)-1].StartTime)
		}
		if known.Before(since) {
			break
		}
	}
	return found, known, nil
}

// measure counts the terminations of each refresh. Activities are complete from known on.
func measure(refreshes []asgtypes.InstanceRefresh, activities []asgtypes.Activity, known time.Time) []Refresh {
	var measured []Refresh
	for _, refresh := range refreshes {
		start, end := *refresh.StartTime, *refresh.EndTime
		if !start.After(known) {
			continue
		}
		one := Refresh{Took: end.Sub(start), Preferences: *refresh.Preferences}
		for i := range activities {
			if at := awssdk.ToTime(activities[i].StartTime); replaces(&activities[i]) && !at.Before(start) && !at.After(end) {
				one.Replaced++
			}
		}
		if one.Replaced > 0 {
			measured = append(measured, one)
		}
	}
	return measured
}

// replaces reports whether an activity is the termination of an instance by a refresh. AWS describes the
// cause in a sentence: "At 2026-01-15T10:00:00Z an instance was taken out of service in response to an instance
// refresh." (AWS: asg-instance-refresh-view-status).
func replaces(activity *asgtypes.Activity) bool {
	return strings.Contains(awssdk.ToString(activity.Cause), "taken out of service in response to an instance refresh") &&
		strings.HasPrefix(awssdk.ToString(activity.Description), "Terminating") && activity.StatusCode == asgtypes.ScalingActivityStatusCodeSuccessful
}
