package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// dump returns what the service holds in a Region, as it is now.
func dump(r *sim.Region) any {
	s := regional(r)
	state := struct {
		Groups     map[string]types.AutoScalingGroup  `json:"groups"`
		WarmPools  map[string][]types.Instance        `json:"warmPools"`
		Hooks      map[string][]types.LifecycleHook   `json:"lifecycleHooks"`
		Refreshes  map[string][]types.InstanceRefresh `json:"instanceRefreshes"`
		Activities map[string]int                     `json:"activities"`
		Alarms     map[string]AlarmState              `json:"alarms,omitempty"`

		Policies      map[string][]types.ScalingPolicy              `json:"scalingPolicies,omitempty"`
		Scheduled     map[string][]types.ScheduledUpdateGroupAction `json:"scheduledActions,omitempty"`
		Notifications map[string][]types.NotificationConfiguration  `json:"notifications,omitempty"`

		LaunchConfigurations []*types.LaunchConfiguration `json:"launchConfigurations,omitempty"`
	}{
		map[string]types.AutoScalingGroup{}, map[string][]types.Instance{}, map[string][]types.LifecycleHook{},
		map[string][]types.InstanceRefresh{}, map[string]int{}, Alarms(r),
		map[string][]types.ScalingPolicy{}, map[string][]types.ScheduledUpdateGroupAction{}, map[string][]types.NotificationConfiguration{},
		s.configurations.table.All(),
	}
	for _, v := range s.groups.views.All() {
		name := *v.group.AutoScalingGroupName
		state.Groups[name] = v.group
		if v.warm != nil {
			state.WarmPools[name] = v.warm
		}
		if v.hooks != nil {
			state.Hooks[name] = v.hooks
		}
		if v.scaling != nil {
			state.Policies[name] = v.scaling
		}
		if v.scheduled != nil {
			state.Scheduled[name] = v.scheduled
		}
		if v.notifications != nil {
			state.Notifications[name] = v.notifications
		}
	}
	for _, r := range s.groups.refreshes.All() {
		state.Refreshes[*r.AutoScalingGroupName] = append(state.Refreshes[*r.AutoScalingGroupName], *r)
	}
	for _, a := range s.activities.table.All() {
		state.Activities[*a.AutoScalingGroupName]++
	}
	return state
}
