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

	add(reg, "DescribeScalingProcessTypes", (*service).describeScalingProcessTypes)
	add(reg, "DescribeTerminationPolicyTypes", (*service).describeTerminationPolicyTypes)
	add(reg, "DescribeLifecycleHookTypes", (*service).describeLifecycleHookTypes)
	add(reg, "DescribePolicies", (*service).describePolicies)
	add(reg, "DescribeScheduledActions", (*service).describeScheduledActions)
	add(reg, "DescribeNotificationConfigurations", (*service).describeNotificationConfigurations)
	add(reg, "DescribeLaunchConfigurations", (*service).describeLaunchConfigurations)

	reg.State(serviceName, dump)
	registerAuthorization(reg)
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
	}{
		map[string]types.AutoScalingGroup{}, map[string][]types.Instance{}, map[string][]types.LifecycleHook{},
		map[string][]types.InstanceRefresh{}, map[string]int{}, Alarms(r),
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

// The actions that make policies, scheduled actions, notifications and launch configurations are not there, so there are none to describe.

func (s *service) describePolicies(_ *sim.Call, in *autoscaling.DescribePoliciesInput) (*autoscaling.DescribePoliciesOutput, error) {
	if name := val(in.AutoScalingGroupName); name != "" {
		if _, there := s.views.Visible(name); !there { // seen of AWS; no page has it
			return nil, invalid("Group %s not found", name)
		}
	}
	return &autoscaling.DescribePoliciesOutput{}, nil
}

func (s *service) describeScheduledActions(*sim.Call,
	*autoscaling.DescribeScheduledActionsInput) (*autoscaling.DescribeScheduledActionsOutput, error) {
	return &autoscaling.DescribeScheduledActionsOutput{}, nil
}

func (s *service) describeNotificationConfigurations(*sim.Call,
	*autoscaling.DescribeNotificationConfigurationsInput) (*autoscaling.DescribeNotificationConfigurationsOutput, error) {
	return &autoscaling.DescribeNotificationConfigurationsOutput{NotificationConfigurations: []types.NotificationConfiguration{}}, nil
}

func (s *service) describeLaunchConfigurations(*sim.Call,
	*autoscaling.DescribeLaunchConfigurationsInput) (*autoscaling.DescribeLaunchConfigurationsOutput, error) {
	return &autoscaling.DescribeLaunchConfigurationsOutput{LaunchConfigurations: []types.LaunchConfiguration{}}, nil
}
