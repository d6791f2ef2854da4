package autoscalinggroup

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// Shortage is why launches fail.
type Shortage string

// The shortages.
const (
	// NoCapacity: AWS has none of what is wanted at the moment.
	NoCapacity Shortage = "NoCapacity"
	// NoQuota: the account may have no more.
	NoQuota Shortage = "NoQuota"
	// NoLaunch: EC2 refuses the launch for some other reason.
	NoLaunch Shortage = "NoLaunch"
)

// FailedLaunch is a launch that a group tried and EC2 refused.
type FailedLaunch struct {
	Shortage Shortage
	// Message is AWS's.
	Message string
}

// activitiesSeen is how many activities are looked through for a failed launch: the newest.
const activitiesSeen = 20

// LatestFailedLaunch is the newest launch that failed since then, nil if none did.
func (g *Groups) LatestFailedLaunch(ctx context.Context, group string, since time.Time) (*FailedLaunch, error) {
	output, err := g.api.DescribeScalingActivities(ctx, &autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: &group, MaxRecords: awssdk.Int32(activitiesSeen),
	})
	if err != nil {
		return nil, fmt.Errorf("describing the scaling activities of Auto Scaling group %q: %w", group, err)
	}
	var newest *asgtypes.Activity
	for i := range output.Activities {
		activity := &output.Activities[i]
		failed := activity.StatusCode == asgtypes.ScalingActivityStatusCodeFailed && strings.HasPrefix(awssdk.ToString(activity.Description), "Launching")
		if !failed || awssdk.ToTime(activity.StartTime).Before(since) {
			continue
		}
		if newest == nil || awssdk.ToTime(newest.StartTime).Before(*activity.StartTime) {
			newest = activity
		}
	}
	if newest == nil {
		return nil, nil
	}
	message := awssdk.ToString(newest.StatusMessage)
	return &FailedLaunch{Shortage: shortageOf(message), Message: message}, nil
}

// AWS says why a launch failed in words alone (AWS: ts-as-capacity, ts-as-instancelaunchfailure).
var (
	noQuota    = regexp.MustCompile(`(?i)quota|limit exceeded|LimitExceeded|vcpu (capacity|limit)|Max spot instance count exceeded|more .*than your current`)
	noCapacity = regexp.MustCompile(`(?i)(not have|no|in)[ -]?(sufficient|enough)? ?.*capacity|UnfulfillableCapacity|capacity-not-available|Insufficient`)
)

func shortageOf(message string) Shortage {
	switch {
	case noQuota.MatchString(message):
		return NoQuota
	case noCapacity.MatchString(message):
		return NoCapacity
	}
	return NoLaunch
}
