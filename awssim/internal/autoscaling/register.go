package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Register adds the actions of the service to a registry.
func Register(reg *sim.Registry) {
	add(reg, "CreateAutoScalingGroup", (*service).createAutoScalingGroup)
	add(reg, "UpdateAutoScalingGroup", (*service).updateAutoScalingGroup)
	add(reg, "DeleteAutoScalingGroup", (*service).deleteAutoScalingGroup)
	add(reg, "DescribeAutoScalingGroups", (*service).describeAutoScalingGroups)
	add(reg, "DescribeAutoScalingInstances", (*service).describeAutoScalingInstances)
	add(reg, "DescribeScalingActivities", (*service).describeScalingActivities)
	add(reg, "SetDesiredCapacity", (*service).setDesiredCapacity)
	add(reg, "DescribeAccountLimits", (*service).describeAccountLimits)

	add(reg, "CreateOrUpdateTags", (*service).createOrUpdateTags)
	add(reg, "DeleteTags", (*service).deleteTags)
	add(reg, "DescribeTags", (*service).describeTags)

	add(reg, "TerminateInstanceInAutoScalingGroup", (*service).terminateInstance)
	add(reg, "SetInstanceProtection", (*service).setInstanceProtection)
	add(reg, "SetInstanceHealth", (*service).setInstanceHealth)
	add(reg, "EnterStandby", (*service).enterStandby)
	add(reg, "ExitStandby", (*service).exitStandby)
	add(reg, "AttachInstances", (*service).attachInstances)
	add(reg, "DetachInstances", (*service).detachInstances)

	add(reg, "PutLifecycleHook", (*service).putLifecycleHook)
	add(reg, "DeleteLifecycleHook", (*service).deleteLifecycleHook)
	add(reg, "DescribeLifecycleHooks", (*service).describeLifecycleHooks)
	add(reg, "CompleteLifecycleAction", (*service).completeLifecycleAction)
	add(reg, "RecordLifecycleActionHeartbeat", (*service).recordLifecycleActionHeartbeat)

	add(reg, "SuspendProcesses", (*service).suspendProcesses)
	add(reg, "ResumeProcesses", (*service).resumeProcesses)

	add(reg, "StartInstanceRefresh", (*service).startInstanceRefresh)
	add(reg, "CancelInstanceRefresh", (*service).cancelInstanceRefresh)
	add(reg, "RollbackInstanceRefresh", (*service).rollbackInstanceRefresh)
	add(reg, "DescribeInstanceRefreshes", (*service).describeInstanceRefreshes)

	add(reg, "PutWarmPool", (*service).putWarmPool)
	add(reg, "DeleteWarmPool", (*service).deleteWarmPool)
	add(reg, "DescribeWarmPool", (*service).describeWarmPool)

	add(reg, "AttachLoadBalancers", (*service).attachLoadBalancers)
	add(reg, "DetachLoadBalancers", (*service).detachLoadBalancers)
	add(reg, "DescribeLoadBalancers", (*service).describeLoadBalancers)
	add(reg, "AttachLoadBalancerTargetGroups", (*service).attachTargetGroups)
	add(reg, "DetachLoadBalancerTargetGroups", (*service).detachTargetGroups)
	add(reg, "DescribeLoadBalancerTargetGroups", (*service).describeTargetGroups)
	add(reg, "AttachTrafficSources", (*service).attachTrafficSources)
	add(reg, "DetachTrafficSources", (*service).detachTrafficSources)
	add(reg, "DescribeTrafficSources", (*service).describeTrafficSources)

	registerScaling(reg)
	add(reg, "DescribeScalingProcessTypes", (*service).describeScalingProcessTypes)
	add(reg, "DescribeTerminationPolicyTypes", (*service).describeTerminationPolicyTypes)
	add(reg, "DescribeLifecycleHookTypes", (*service).describeLifecycleHookTypes)

	add(reg, "CreateLaunchConfiguration", (*service).createLaunchConfiguration)
	add(reg, "DescribeLaunchConfigurations", (*service).describeLaunchConfigurations)
	add(reg, "DeleteLaunchConfiguration", (*service).deleteLaunchConfiguration)

	reg.State(serviceName, dump)
	registerAuthorization(reg)
}

// registerScaling adds the actions about what scales a group, and who is told of it.
func registerScaling(reg *sim.Registry) {
	add(reg, "PutScalingPolicy", (*service).putScalingPolicy)
	add(reg, "DescribePolicies", (*service).describePolicies)
	add(reg, "ExecutePolicy", (*service).executePolicy)
	add(reg, "DeletePolicy", (*service).deletePolicy)
	add(reg, "DescribeAdjustmentTypes", (*service).describeAdjustmentTypes)

	add(reg, "PutScheduledUpdateGroupAction", (*service).putScheduledUpdateGroupAction)
	add(reg, "BatchPutScheduledUpdateGroupAction", (*service).batchPutScheduledUpdateGroupAction)
	add(reg, "DescribeScheduledActions", (*service).describeScheduledActions)
	add(reg, "DeleteScheduledAction", (*service).deleteScheduledAction)
	add(reg, "BatchDeleteScheduledAction", (*service).batchDeleteScheduledAction)

	add(reg, "PutNotificationConfiguration", (*service).putNotificationConfiguration)
	add(reg, "DescribeNotificationConfigurations", (*service).describeNotificationConfigurations)
	add(reg, "DeleteNotificationConfiguration", (*service).deleteNotificationConfiguration)
	add(reg, "DescribeAutoScalingNotificationTypes", (*service).describeAutoScalingNotificationTypes)

	add(reg, "EnableMetricsCollection", (*service).enableMetricsCollection)
	add(reg, "DisableMetricsCollection", (*service).disableMetricsCollection)
	add(reg, "DescribeMetricCollectionTypes", (*service).describeMetricCollectionTypes)
}

const serviceName = "autoscaling"

func add[I, O any](reg *sim.Registry, action string, h func(*service, *sim.Call, *I) (*O, error)) {
	sim.Handle(reg, serviceName, action, func(c *sim.Call, in *I) (*O, error) { return h(regional(c.Region), c, in) })
}

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
		s.configurations.All(),
	}
	for _, v := range s.views.All() {
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
	for _, r := range s.refreshes.All() {
		state.Refreshes[*r.AutoScalingGroupName] = append(state.Refreshes[*r.AutoScalingGroupName], *r)
	}
	for _, a := range s.activities.All() {
		state.Activities[*a.AutoScalingGroupName]++
	}
	return state
}

func (s *service) describeTerminationPolicyTypes(*sim.Call,
	*autoscaling.DescribeTerminationPolicyTypesInput) (*autoscaling.DescribeTerminationPolicyTypesOutput, error) {
	return &autoscaling.DescribeTerminationPolicyTypesOutput{TerminationPolicyTypes: terminationPolicies}, nil
}

func (s *service) describeLifecycleHookTypes(*sim.Call,
	*autoscaling.DescribeLifecycleHookTypesInput) (*autoscaling.DescribeLifecycleHookTypesOutput, error) {
	return &autoscaling.DescribeLifecycleHookTypesOutput{LifecycleHookTypes: []string{transitionLaunch, transitionTerminate}}, nil
}
