package autoscaling

import "github.com/slipway-project/slipway/awssim/internal/sim"

// Register adds the actions of the service to a registry.
func Register(reg *sim.Registry) {
	registerGroups(reg)
	registerInstances(reg)
	registerRefreshes(reg)
	registerWarmPools(reg)
	registerAttachments(reg)
	registerScaling(reg)
	registerNotifications(reg)
	registerLaunchConfigurations(reg)
	registerTypes(reg)

	reg.State(serviceName, dump)
	registerAuthorization(reg)
}

// add registers the handler of an action, which is a method of one part of the service.
func add[P, I, O any](reg *sim.Registry, action string, part func(*service) P, handle func(P, *sim.Call, *I) (*O, error)) {
	sim.Handle(reg, serviceName, action, func(c *sim.Call, in *I) (*O, error) { return handle(part(regional(c.Region)), c, in) })
}

func registerGroups(reg *sim.Registry) {
	groups := func(s *service) *groupActions { return s.groupActions }
	add(reg, "CreateAutoScalingGroup", groups, (*groupActions).create)
	add(reg, "UpdateAutoScalingGroup", groups, (*groupActions).update)
	add(reg, "DeleteAutoScalingGroup", groups, (*groupActions).delete)
	add(reg, "SetDesiredCapacity", groups, (*groupActions).setDesiredCapacity)
	add(reg, "DescribeAccountLimits", groups, (*groupActions).describeAccountLimits)

	shown := func(s *service) *describeActions { return s.describeActions }
	add(reg, "DescribeAutoScalingGroups", shown, (*describeActions).describeAutoScalingGroups)
	add(reg, "DescribeAutoScalingInstances", shown, (*describeActions).describeAutoScalingInstances)
	add(reg, "DescribeScalingActivities", shown, (*describeActions).describeScalingActivities)

	tags := func(s *service) *tagActions { return s.tagActions }
	add(reg, "CreateOrUpdateTags", tags, (*tagActions).createOrUpdate)
	add(reg, "DeleteTags", tags, (*tagActions).delete)
	add(reg, "DescribeTags", tags, (*tagActions).describe)
}

func registerInstances(reg *sim.Registry) {
	instances := func(s *service) *instanceActions { return s.instanceActions }
	add(reg, "TerminateInstanceInAutoScalingGroup", instances, (*instanceActions).terminate)
	add(reg, "SetInstanceProtection", instances, (*instanceActions).setProtection)
	add(reg, "SetInstanceHealth", instances, (*instanceActions).setHealth)
	add(reg, "EnterStandby", instances, (*instanceActions).enterStandby)
	add(reg, "ExitStandby", instances, (*instanceActions).exitStandby)
	add(reg, "AttachInstances", instances, (*instanceActions).attach)
	add(reg, "DetachInstances", instances, (*instanceActions).detach)

	hooks := func(s *service) *hookActions { return s.hookActions }
	add(reg, "PutLifecycleHook", hooks, (*hookActions).put)
	add(reg, "DeleteLifecycleHook", hooks, (*hookActions).delete)
	add(reg, "DescribeLifecycleHooks", hooks, (*hookActions).describe)
	add(reg, "CompleteLifecycleAction", hooks, (*hookActions).complete)
	add(reg, "RecordLifecycleActionHeartbeat", hooks, (*hookActions).recordHeartbeat)
}

func registerRefreshes(reg *sim.Registry) {
	refreshes := func(s *service) *refreshActions { return s.refreshActions }
	add(reg, "StartInstanceRefresh", refreshes, (*refreshActions).start)
	add(reg, "CancelInstanceRefresh", refreshes, (*refreshActions).cancel)
	add(reg, "RollbackInstanceRefresh", refreshes, (*refreshActions).rollback)
	add(reg, "DescribeInstanceRefreshes", refreshes, (*refreshActions).describe)
}

func registerWarmPools(reg *sim.Registry) {
	warmPools := func(s *service) *warmPoolActions { return s.warmPoolActions }
	add(reg, "PutWarmPool", warmPools, (*warmPoolActions).put)
	add(reg, "DeleteWarmPool", warmPools, (*warmPoolActions).delete)
	add(reg, "DescribeWarmPool", warmPools, (*warmPoolActions).describe)
}

func registerAttachments(reg *sim.Registry) {
	attachments := func(s *service) *attachmentActions { return s.attachmentActions }
	add(reg, "AttachLoadBalancers", attachments, (*attachmentActions).attachLoadBalancers)
	add(reg, "DetachLoadBalancers", attachments, (*attachmentActions).detachLoadBalancers)
	add(reg, "DescribeLoadBalancers", attachments, (*attachmentActions).describeLoadBalancers)
	add(reg, "AttachLoadBalancerTargetGroups", attachments, (*attachmentActions).attachTargetGroups)
	add(reg, "DetachLoadBalancerTargetGroups", attachments, (*attachmentActions).detachTargetGroups)
	add(reg, "DescribeLoadBalancerTargetGroups", attachments, (*attachmentActions).describeTargetGroups)
	add(reg, "AttachTrafficSources", attachments, (*attachmentActions).attachTrafficSources)
	add(reg, "DetachTrafficSources", attachments, (*attachmentActions).detachTrafficSources)
	add(reg, "DescribeTrafficSources", attachments, (*attachmentActions).describeTrafficSources)
}

// registerScaling adds the actions about what scales a group, and when it does not.
func registerScaling(reg *sim.Registry) {
	policies := func(s *service) *policyActions { return s.policyActions }
	add(reg, "PutScalingPolicy", policies, (*policyActions).put)
	add(reg, "DescribePolicies", policies, (*policyActions).describe)
	add(reg, "ExecutePolicy", policies, (*policyActions).execute)
	add(reg, "DeletePolicy", policies, (*policyActions).delete)

	schedules := func(s *service) *scheduleActions { return s.scheduleActions }
	add(reg, "PutScheduledUpdateGroupAction", schedules, (*scheduleActions).put)
	add(reg, "BatchPutScheduledUpdateGroupAction", schedules, (*scheduleActions).batchPut)
	add(reg, "DescribeScheduledActions", schedules, (*scheduleActions).describe)
	add(reg, "DeleteScheduledAction", schedules, (*scheduleActions).delete)
	add(reg, "BatchDeleteScheduledAction", schedules, (*scheduleActions).batchDelete)

	processes := func(s *service) *processActions { return s.processActions }
	add(reg, "SuspendProcesses", processes, (*processActions).suspend)
	add(reg, "ResumeProcesses", processes, (*processActions).resume)
}

func registerNotifications(reg *sim.Registry) {
	notifications := func(s *service) *notificationActions { return s.notificationActions }
	add(reg, "PutNotificationConfiguration", notifications, (*notificationActions).put)
	add(reg, "DescribeNotificationConfigurations", notifications, (*notificationActions).describe)
	add(reg, "DeleteNotificationConfiguration", notifications, (*notificationActions).delete)
	add(reg, "EnableMetricsCollection", notifications, (*notificationActions).enableMetricsCollection)
	add(reg, "DisableMetricsCollection", notifications, (*notificationActions).disableMetricsCollection)
}

func registerLaunchConfigurations(reg *sim.Registry) {
	configurations := func(s *service) *configurationActions { return s.configurationActions }
	add(reg, "CreateLaunchConfiguration", configurations, (*configurationActions).create)
	add(reg, "DescribeLaunchConfigurations", configurations, (*configurationActions).describe)
	add(reg, "DeleteLaunchConfiguration", configurations, (*configurationActions).delete)
}

// registerTypes adds the actions that list what other actions take. Their answers are always the
// same.
func registerTypes(reg *sim.Registry) {
	sim.Handle(reg, serviceName, "DescribeScalingProcessTypes", describeScalingProcessTypes)
	sim.Handle(reg, serviceName, "DescribeTerminationPolicyTypes", describeTerminationPolicyTypes)
	sim.Handle(reg, serviceName, "DescribeLifecycleHookTypes", describeLifecycleHookTypes)
	sim.Handle(reg, serviceName, "DescribeAdjustmentTypes", describeAdjustmentTypes)
	sim.Handle(reg, serviceName, "DescribeAutoScalingNotificationTypes", describeAutoScalingNotificationTypes)
	sim.Handle(reg, serviceName, "DescribeMetricCollectionTypes", describeMetricCollectionTypes)
}
