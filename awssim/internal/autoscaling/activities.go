package autoscaling

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// keptFor is how long activities and refreshes are remembered: six weeks (API DescribeScalingActivities).
const keptFor = 6 * 7 * 24 * time.Hour

// stamp writes a time as causes of activities do.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// begin records the start of an activity. Recorded activities are replaced, never changed.
func (s *service) begin(g *group, m *member, description, cause string) *types.Activity {
	now := s.kernel.Now()
	a := &types.Activity{
		ActivityId: ptr(s.kernel.NewUUID()), AutoScalingGroupName: ptr(g.name), AutoScalingGroupARN: ptr(g.arn),
		Description: ptr(description), Cause: ptr(cause), StartTime: ptr(now), StatusCode: types.ScalingActivityStatusCodeInProgress,
		Progress: ptr(int32(0)), Details: ptr(details(m)),
	}
	s.activityIDs = append(s.activityIDs, *a.ActivityId)
	s.forgetOld(now)
	s.activities.Put(*a.ActivityId, a)
	return a
}

// details is the JSON text that an activity carries.
func details(m *member) string {
	d := struct {
		Subnet string `json:"Subnet ID,omitempty"`
		Zone   string `json:"Availability Zone,omitempty"`
	}{}
	if m != nil {
		d.Subnet, d.Zone = m.subnet, m.zone
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic("autoscaling: two strings can not be written as JSON: " + err.Error())
	}
	return string(text)
}

// note replaces what an activity says about its progress.
func (s *service) note(a *types.Activity, status types.ScalingActivityStatusCode, progress int32, message string) *types.Activity {
	if a == nil {
		return nil
	}
	n := *a
	n.StatusCode, n.Progress = status, ptr(progress)
	if message != "" {
		n.StatusMessage = ptr(message)
		n.Description = ptr(*a.Description + ".  Status Reason: " + message)
	}
	if progress == 100 {
		n.EndTime = ptr(s.kernel.Now())
		s.publishActivity(&n)
	}
	s.activities.Put(*n.ActivityId, &n)
	return &n
}

// finish ends the activity of a member.
func (s *service) finish(m *member, status types.ScalingActivityStatusCode, message string) {
	s.note(m.run, status, 100, message)
	m.run = nil
}

func (s *service) forgetOld(now time.Time) {
	for len(s.activityIDs) > 0 {
		a, ok := s.activities.Get(s.activityIDs[0])
		if ok && (a.EndTime == nil || now.Sub(*a.EndTime) < keptFor) {
			return
		}
		s.activities.Delete(s.activityIDs[0])
		s.activityIDs = s.activityIDs[1:]
	}
}

func (s *service) describeScalingActivities(c *sim.Call,
	in *autoscaling.DescribeScalingActivitiesInput) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	keep, err := activityFilter(in)
	if err != nil {
		return nil, err
	}
	if in.AutoScalingGroupName != nil && !val(in.IncludeDeletedGroups) {
		if _, err := s.visible(in.AutoScalingGroupName); err != nil {
			return nil, err
		}
	}
	var found []types.Activity
	for _, a := range s.activities.VisibleAll() {
		v, there := s.views.Visible(*a.AutoScalingGroupName)
		deleted := !there || *v.group.AutoScalingGroupARN != *a.AutoScalingGroupARN
		if deleted && !val(in.IncludeDeletedGroups) || c.Now.Sub(*a.StartTime) > keptFor || !keep(a) {
			continue
		}
		shown := *a
		if deleted {
			shown.AutoScalingGroupState = ptr("Deleted")
		}
		found = append(found, shown)
	}
	// Those in progress come first, then the latest (API DescribeScalingActivities).
	slices.Reverse(found)
	slices.SortStableFunc(found, func(a, b types.Activity) int {
		switch {
		case (a.EndTime == nil) == (b.EndTime == nil):
			return b.StartTime.Compare(*a.StartTime)
		case a.EndTime == nil:
			return -1
		}
		return 1
	})
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 100, 100, func(a types.Activity) string { return *a.ActivityId })
	if err != nil {
		return nil, err
	}
	return &autoscaling.DescribeScalingActivitiesOutput{Activities: page, NextToken: next}, nil
}

// activityFilter returns what tells whether an activity was asked for.
func activityFilter(in *autoscaling.DescribeScalingActivitiesInput) (func(*types.Activity) bool, error) {
	if len(in.ActivityIds) > 50 {
		return nil, invalid("You can specify a maximum of 50 activity IDs.")
	}
	var from, to time.Time
	var statuses []string
	for _, f := range in.Filters {
		var err error
		switch name := val(f.Name); name {
		case "StartTimeLowerBound":
			from, err = timeOf(f)
		case "StartTimeUpperBound":
			to, err = timeOf(f)
		case "Status":
			if in.AutoScalingGroupName == nil {
				return nil, invalid("The Status filter can only be used in combination with AutoScalingGroupName.")
			}
			statuses = f.Values
		default:
			return nil, invalid("Filter type %s is not correct. Allowed Filter types are: StartTimeLowerBound StartTimeUpperBound Status", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return func(a *types.Activity) bool {
		return (in.AutoScalingGroupName == nil || *in.AutoScalingGroupName == *a.AutoScalingGroupName) &&
			anyOf(in.ActivityIds, *a.ActivityId) && anyOf(statuses, string(a.StatusCode)) &&
			!a.StartTime.Before(from) && (to.IsZero() || !a.StartTime.After(to))
	}, nil
}

// anyOf reports whether v was asked for: nothing in particular means anything.
func anyOf(asked []string, v string) bool { return len(asked) == 0 || slices.Contains(asked, v) }

func timeOf(f types.Filter) (time.Time, error) {
	if len(f.Values) != 1 {
		return time.Time{}, invalid("The filter %s takes one value.", val(f.Name))
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, f.Values[0]); err == nil {
			return t, nil
		}
	}
	return time.Time{}, invalid("%s is not a valid ISO 8601 timestamp.", f.Values[0])
}

// Sentences of causes (UG as-verify-scaling-activity, CHAP_Troubleshooting, replace-unhealthy-instance).

func causeCapacity(now time.Time, from, to int) string {
	if to > from {
		return fmt.Sprintf("At %s an instance was started in response to a difference between desired and actual capacity, increasing the capacity from %d to %d.",
			stamp(now), from, to)
	}
	return fmt.Sprintf("At %s an instance was taken out of service in response to a difference between desired and actual capacity, shrinking the capacity from %d to %d.",
		stamp(now), from, to)
}

func causeSelected(now time.Time, id string) string {
	return fmt.Sprintf("At %s instance %s was selected for termination.", stamp(now), id)
}

func causeOutOfService(now time.Time, why string) string {
	return fmt.Sprintf("At %s an instance was taken out of service in response to %s.", stamp(now), why)
}

func causeLaunched(now time.Time, why string) string {
	return fmt.Sprintf("At %s an instance was launched in response to %s.", stamp(now), why)
}

// join puts sentences of a cause together as AWS does, with two spaces.
func join(sentences ...string) string {
	text := ""
	for _, s := range sentences {
		if s == "" {
			continue
		}
		if text != "" {
			text += "  "
		}
		text += s
	}
	return text
}
