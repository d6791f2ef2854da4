package autoscaling

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls need (AWS: Service Authorization Reference,
// list_amazonec2autoscaling).

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(serviceName, func(message string) *sim.Error { return sim.Errorf("AccessDenied", "%s", message).WithStatus(403) })
	for _, action := range reg.Actions(serviceName) {
		if strings.HasPrefix(action, "Describe") {
			sim.AuthorizeUnscoped(reg, serviceName, action)
		}
	}
	registerScalingAuthorization(reg)
	registerConfigurationAuthorization(reg)
	ask(reg, "CreateAutoScalingGroup", (*permissions).askCreate)
	ask(reg, "UpdateAutoScalingGroup", (*permissions).askUpdate)
	ask(reg, "StartInstanceRefresh", (*permissions).askRefresh)
	ask(reg, "PutLifecycleHook", func(p *permissions, c *sim.Call, in *autoscaling.PutLifecycleHookInput) []sim.Question {
		return append(p.askGroup(c, in.AutoScalingGroupName), passed(in.RoleARN)...)
	})
	ask(reg, "CreateOrUpdateTags", func(p *permissions, c *sim.Call, in *autoscaling.CreateOrUpdateTagsInput) []sim.Question {
		return p.askTags(c, in.Tags)
	})
	ask(reg, "DeleteTags", func(p *permissions, c *sim.Call, in *autoscaling.DeleteTagsInput) []sim.Question {
		return p.askTags(c, in.Tags)
	})
	ask(reg, "TerminateInstanceInAutoScalingGroup", func(p *permissions, c *sim.Call, in *autoscaling.TerminateInstanceInAutoScalingGroupInput) []sim.Question {
		if in.InstanceId == nil {
			return p.askGroup(c, in.AutoScalingGroupName)
		}
		if g := p.groups.ofInstance[*in.InstanceId]; g != nil {
			return p.askGroup(c, &g.name)
		}
		return nil // of no group: the answer is that it is in none
	})
	askOfGroup(reg, "DeleteAutoScalingGroup", func(in *autoscaling.DeleteAutoScalingGroupInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "SetDesiredCapacity", func(in *autoscaling.SetDesiredCapacityInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "SetInstanceProtection", func(in *autoscaling.SetInstanceProtectionInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "DeleteLifecycleHook", func(in *autoscaling.DeleteLifecycleHookInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "CompleteLifecycleAction", func(in *autoscaling.CompleteLifecycleActionInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "RecordLifecycleActionHeartbeat", func(in *autoscaling.RecordLifecycleActionHeartbeatInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "SuspendProcesses", func(in *autoscaling.SuspendProcessesInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "ResumeProcesses", func(in *autoscaling.ResumeProcessesInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "CancelInstanceRefresh", func(in *autoscaling.CancelInstanceRefreshInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "RollbackInstanceRefresh", func(in *autoscaling.RollbackInstanceRefreshInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "PutWarmPool", func(in *autoscaling.PutWarmPoolInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "DeleteWarmPool", func(in *autoscaling.DeleteWarmPoolInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "AttachLoadBalancerTargetGroups", func(in *autoscaling.AttachLoadBalancerTargetGroupsInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "AttachTrafficSources", func(in *autoscaling.AttachTrafficSourcesInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "DetachTrafficSources", func(in *autoscaling.DetachTrafficSourcesInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "DetachLoadBalancerTargetGroups", func(in *autoscaling.DetachLoadBalancerTargetGroupsInput) *string { return in.AutoScalingGroupName })
}

func registerScalingAuthorization(reg *sim.Registry) {
	askOfGroup(reg, "PutScalingPolicy", func(in *autoscaling.PutScalingPolicyInput) *string { return in.AutoScalingGroupName })
	ask(reg, "ExecutePolicy", func(p *permissions, c *sim.Call, in *autoscaling.ExecutePolicyInput) []sim.Question {
		return p.askPolicy(c, in.AutoScalingGroupName, in.PolicyName)
	})
	ask(reg, "DeletePolicy", func(p *permissions, c *sim.Call, in *autoscaling.DeletePolicyInput) []sim.Question {
		return p.askPolicy(c, in.AutoScalingGroupName, in.PolicyName)
	})
	askOfGroup(reg, "PutScheduledUpdateGroupAction", func(in *autoscaling.PutScheduledUpdateGroupActionInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "BatchPutScheduledUpdateGroupAction", func(in *autoscaling.BatchPutScheduledUpdateGroupActionInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "DeleteScheduledAction", func(in *autoscaling.DeleteScheduledActionInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "BatchDeleteScheduledAction", func(in *autoscaling.BatchDeleteScheduledActionInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "PutNotificationConfiguration", func(in *autoscaling.PutNotificationConfigurationInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "DeleteNotificationConfiguration", func(in *autoscaling.DeleteNotificationConfigurationInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "EnableMetricsCollection", func(in *autoscaling.EnableMetricsCollectionInput) *string { return in.AutoScalingGroupName })
	askOfGroup(reg, "DisableMetricsCollection", func(in *autoscaling.DisableMetricsCollectionInput) *string { return in.AutoScalingGroupName })
}

func registerConfigurationAuthorization(reg *sim.Registry) {
	ask(reg, "CreateLaunchConfiguration", (*permissions).askConfiguration)
	ask(reg, "DeleteLaunchConfiguration", func(p *permissions, _ *sim.Call, in *autoscaling.DeleteLaunchConfigurationInput) []sim.Question {
		return []sim.Question{{Request: p.onConfiguration("DeleteLaunchConfiguration", in.LaunchConfigurationName)}}
	})
}

func ask[I any](reg *sim.Registry, action string, questions func(*permissions, *sim.Call, *I) []sim.Question) {
	sim.Authorize(reg, serviceName, action, func(c *sim.Call, in *I) []sim.Question { return questions(regional(c.Region).permissions, c, in) })
}

func askOfGroup[I any](reg *sim.Registry, action string, name func(*I) *string) {
	ask(reg, action, func(p *permissions, c *sim.Call, in *I) []sim.Question { return p.askGroup(c, name(in)) })
}
