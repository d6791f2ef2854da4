package autoscaling

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/scalein"
	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// describeActions serves the Describe actions on groups, their instances and activities.
type describeActions struct {
	groups     *groups
	activities *activityLog
}

func (api *describeActions) describeAutoScalingGroups(_ *sim.Call,
	in *autoscaling.DescribeAutoScalingGroupsInput) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	size := valOr(in.MaxRecords, 50)
	if len(in.AutoScalingGroupNames) > max(50, int(min(size, maxDescribeGroups))) {
		// SDK DescribeAutoScalingGroupsInput
		return nil, invalid("You can specify a maximum of %d group names.", max(50, size))
	}
	if err := validGroupFilters(in.Filters); err != nil {
		return nil, err
	}
	found := list.Filter(api.groups.views.VisibleAll(), func(v *groupView) bool {
		return (len(in.AutoScalingGroupNames) == 0 || slices.Contains(in.AutoScalingGroupNames, *v.group.AutoScalingGroupName)) &&
			matchesFilters(v.group.Tags, in.Filters)
	})
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, maxDescribeGroups, func(v *groupView) string { return *v.group.AutoScalingGroupName })
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeAutoScalingGroupsOutput{AutoScalingGroups: []types.AutoScalingGroup{}, NextToken: next}
	for _, v := range page {
		g := v.group
		if !valOr(in.IncludeInstances, true) {
			g.Instances = []types.Instance{}
		}
		out.AutoScalingGroups = append(out.AutoScalingGroups, g)
	}
	return out, nil
}

// validGroupFilters: groups can be filtered by their tags (API DescribeAutoScalingGroups, Filter).
func validGroupFilters(filters []types.Filter) error {
	for _, f := range filters {
		if n := val(f.Name); n != "tag-key" && n != "tag-value" && !strings.HasPrefix(n, "tag:") {
			return invalid("Filter type %s is not correct. Allowed Filter types are: tag-key tag-value tag:<key>", n)
		}
	}
	return nil
}

func matchesFilters(tags []types.TagDescription, filters []types.Filter) bool {
	for _, f := range filters {
		name := val(f.Name)
		key, byKey := strings.CutPrefix(name, "tag:")
		matches := slices.ContainsFunc(tags, func(t types.TagDescription) bool {
			switch {
			case byKey:
				return val(t.Key) == key && slices.Contains(f.Values, val(t.Value))
			case name == "tag-key":
				return slices.Contains(f.Values, val(t.Key))
			default:
				return slices.Contains(f.Values, val(t.Value))
			}
		})
		if !matches {
			return false
		}
	}
	return true
}

func (api *describeActions) describeAutoScalingInstances(_ *sim.Call,
	in *autoscaling.DescribeAutoScalingInstancesInput) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	if len(in.InstanceIds) > 50 {
		return nil, invalid("You can specify a maximum of 50 instance IDs.")
	}
	var found []types.AutoScalingInstanceDetails
	for _, v := range api.groups.views.VisibleAll() {
		for _, i := range slices.Concat(v.group.Instances, v.warm) {
			if len(in.InstanceIds) > 0 && !slices.Contains(in.InstanceIds, *i.InstanceId) {
				continue
			}
			health := "HEALTHY" // this action writes it in capitals (API AutoScalingInstanceDetails)
			if *i.HealthStatus != "Healthy" {
				health = "UNHEALTHY"
			}
			found = append(found, types.AutoScalingInstanceDetails{
				AutoScalingGroupName: v.group.AutoScalingGroupName, InstanceId: i.InstanceId, AvailabilityZone: i.AvailabilityZone,
				AvailabilityZoneId: i.AvailabilityZoneId, InstanceType: i.InstanceType, LifecycleState: ptr(string(i.LifecycleState)),
				HealthStatus: ptr(health), ProtectedFromScaleIn: i.ProtectedFromScaleIn, LaunchTemplate: i.LaunchTemplate,
				LaunchConfigurationName: i.LaunchConfigurationName, WeightedCapacity: i.WeightedCapacity, ImageId: i.ImageId,
			})
		}
	}
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, 50, func(i types.AutoScalingInstanceDetails) string { return *i.InstanceId })
	if err != nil {
		return nil, err
	}
	return &autoscaling.DescribeAutoScalingInstancesOutput{AutoScalingInstances: page, NextToken: next}, nil
}

func (api *describeActions) describeScalingActivities(c *sim.Call,
	in *autoscaling.DescribeScalingActivitiesInput) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	keep, err := activityFilter(in)
	if err != nil {
		return nil, err
	}
	if in.AutoScalingGroupName != nil && !val(in.IncludeDeletedGroups) {
		if _, err := api.groups.visible(in.AutoScalingGroupName); err != nil {
			return nil, err
		}
	}
	var found []types.Activity
	for _, a := range api.activities.table.VisibleAll() {
		v, there := api.groups.views.Visible(*a.AutoScalingGroupName)
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

// activityFilter returns a function that reports whether a request selects an activity.
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

func describeTerminationPolicyTypes(*sim.Call,
	*autoscaling.DescribeTerminationPolicyTypesInput) (*autoscaling.DescribeTerminationPolicyTypesOutput, error) {
	return &autoscaling.DescribeTerminationPolicyTypesOutput{TerminationPolicyTypes: scalein.Policies}, nil
}
