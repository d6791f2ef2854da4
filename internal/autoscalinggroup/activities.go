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

	"github.com/slipway-project/slipway/internal/aws/errorcode"
)

// Shortage classifies why launches fail.
type Shortage string

// The shortages.
const (
	// NoCapacity: AWS currently lacks capacity for the instances.
	NoCapacity Shortage = "NoCapacity"
	// NoQuota: the quota of the account is used up.
	NoQuota Shortage = "NoQuota"
	// NoLaunch: EC2 refuses the launch for some other reason.
	NoLaunch Shortage = "NoLaunch"
)

// FailedLaunch is a launch that a group tried and EC2 refused.
type FailedLaunch struct {
	Shortage Shortage
	// Message is AWS's.
	Message string
	// At is when the launch was tried.
	At time.Time
}

// activitiesSeen bounds how many activities are searched for a failed launch: the newest.
const activitiesSeen = 20

// LatestFailedLaunch returns the newest launch that failed, nil if none did so shortly before the
// newest launch of all. Shortly is measured between the times that AWS gives the launches: a
// failure that launches have succeeded after for long is over.
func (g *Groups) LatestFailedLaunch(ctx context.Context, group string, shortly time.Duration) (*FailedLaunch, error) {
	output, err := g.api.DescribeScalingActivities(ctx, &autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: &group, MaxRecords: awssdk.Int32(activitiesSeen),
	})
	if err != nil {
		return nil, fmt.Errorf("describing the scaling activities of Auto Scaling group %q: %w", group, err)
	}
	failed := latestFailure(output.Activities, shortly)
	if failed == nil {
		return nil, nil
	}
	message := awssdk.ToString(failed.StatusMessage)
	return &FailedLaunch{Shortage: shortageOf(message), Message: message, At: awssdk.ToTime(failed.StartTime)}, nil
}

// latestFailure returns the newest failed launch of a list, nil if it is not one of the launches
// shortly before the newest. AWS lists activities that are under way before the others.
func latestFailure(activities []asgtypes.Activity, shortly time.Duration) *asgtypes.Activity {
	var newest, failed *asgtypes.Activity
	later := func(activity, than *asgtypes.Activity) bool {
		return than == nil || awssdk.ToTime(activity.StartTime).After(awssdk.ToTime(than.StartTime))
	}
	for i := range activities {
		activity := &activities[i]
		if !strings.HasPrefix(awssdk.ToString(activity.Description), "Launching") {
			continue
		}
		if later(activity, newest) {
			newest = activity
		}
		if activity.StatusCode == asgtypes.ScalingActivityStatusCodeFailed && later(activity, failed) {
			failed = activity
		}
	}
	if failed == nil || awssdk.ToTime(newest.StartTime).Sub(awssdk.ToTime(failed.StartTime)) > shortly {
		return nil
	}
	return failed
}

// AWS puts the purchase option and EC2's error code before EC2's message for a group with a mixed
// instances policy, as EKS node groups have: "Could not launch Spot Instances.
// UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration. ...". For
// any other group it gives EC2's message alone (AWS: ts-as-capacity, ts-as-instancelaunchfailure).
var (
	withCode   = regexp.MustCompile(`^Could not launch (?:On-Demand|Spot) Instances\. ([A-Za-z]+(?:\.[A-Za-z]+)*) - `)
	noQuota    = regexp.MustCompile(`(?i)quota|limit exceeded|LimitExceeded|vcpu (capacity|limit)|Max spot instance count exceeded|more .*than your current`)
	noCapacity = regexp.MustCompile(`(?i)\b(not have (sufficient|enough)|no|insufficient)\b.*\bcapacity\b|unable to fulfill capacity|UnfulfillableCapacity|capacity-not-available|Insufficient\w*Capacity`)
)

// shortageOf classifies a failed launch by EC2's code where there is one: the words of any error
// may mention capacity, as those about a Capacity Reservation that does not exist do.
func shortageOf(message string) Shortage {
	if parts := withCode.FindStringSubmatch(message); parts != nil {
		switch code := parts[1]; {
		case errorcode.IsQuota(code):
			return NoQuota
		case errorcode.IsInstanceCapacity(code):
			return NoCapacity
		}
		return NoLaunch
	}
	switch {
	case noQuota.MatchString(message):
		return NoQuota
	case noCapacity.MatchString(message):
		return NoCapacity
	}
	return NoLaunch
}
