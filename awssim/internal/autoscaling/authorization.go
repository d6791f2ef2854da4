package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls need (AWS: Service Authorization Reference,
// list_amazonec2autoscaling).

// The role that Auto Scaling makes itself, when the first group of an account is made (UG
// autoscaling-service-linked-role).
const (
	linkedRole    = "AWSServiceRoleForAutoScaling"
	linkedService = "autoscaling.amazonaws.com"
)

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(serviceName, func(message string) *sim.Error { return sim.Errorf("AccessDenied", "%s", message).WithStatus(403) })
	for _, action := range reg.Actions(serviceName) {
		if strings.HasPrefix(action, "Describe") {
			sim.AuthorizeUnscoped(reg, serviceName, action)
		}
	}
	registerScalingAuthorization(reg)
	registerConfigurationAuthorization(reg)
	ask(reg, "CreateAutoScalingGroup", askCreate)
	ask(reg, "UpdateAutoScalingGroup", askUpdate)
	ask(reg, "StartInstanceRefresh", askRefresh)
	ask(reg, "PutLifecycleHook", func(s *service, c *sim.Call, in *autoscaling.PutLifecycleHookInput) []sim.Question {
		return append(s.askGroup(c, in.AutoScalingGroupName), s.passed(in.RoleARN)...)
	})
	ask(reg, "CreateOrUpdateTags", func(s *service, c *sim.Call, in *autoscaling.CreateOrUpdateTagsInput) []sim.Question {
		return s.askTags(c, in.Tags)
	})
	ask(reg, "DeleteTags", func(s *service, c *sim.Call, in *autoscaling.DeleteTagsInput) []sim.Question {
		return s.askTags(c, in.Tags)
	})
	ask(reg, "TerminateInstanceInAutoScalingGroup", func(s *service, c *sim.Call, in *autoscaling.TerminateInstanceInAutoScalingGroupInput) []sim.Question {
		if in.InstanceId == nil {
			return s.askGroup(c, in.AutoScalingGroupName)
		}
		if g := s.member[*in.InstanceId]; g != nil {
			return s.askGroup(c, &g.name)
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
	ask(reg, "ExecutePolicy", func(s *service, c *sim.Call, in *autoscaling.ExecutePolicyInput) []sim.Question {
		return s.askPolicy(c, in.AutoScalingGroupName, in.PolicyName)
	})
	ask(reg, "DeletePolicy", func(s *service, c *sim.Call, in *autoscaling.DeletePolicyInput) []sim.Question {
		return s.askPolicy(c, in.AutoScalingGroupName, in.PolicyName)
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

// askPolicy: the group of a policy is what is asked about; a policy may be named by its ARN alone.
func (s *service) askPolicy(c *sim.Call, group, policy *string) []sim.Question {
	if g, _, err := s.findPolicy(group, policy); err == nil {
		group = &g.name
	}
	return s.askGroup(c, group)
}

func ask[I any](reg *sim.Registry, action string, questions func(*service, *sim.Call, *I) []sim.Question) {
	sim.Authorize(reg, serviceName, action, func(c *sim.Call, in *I) []sim.Question { return questions(regional(c.Region), c, in) })
}

func askOfGroup[I any](reg *sim.Registry, action string, name func(*I) *string) {
	ask(reg, action, func(s *service, c *sim.Call, in *I) []sim.Question { return s.askGroup(c, name(in)) })
}

// onGroup is the permission for an action on a group. The ARN of one that does not exist has no id,
// and it has no tags.
func (s *service) onGroup(c *sim.Call, name *string) iampolicy.Request {
	arn, tags := "arn:aws:autoscaling:"+s.region.Name+":"+s.region.Account.ID+":autoScalingGroup:*:autoScalingGroupName/"+val(name), map[string]string{}
	if g := s.groups[val(name)]; g != nil {
		arn = g.arn
		for _, tag := range g.tags {
			tags[val(tag.Key)] = val(tag.Value)
		}
	}
	return iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: arn, Context: sim.Tagged(iampolicy.Context{}, tags, serviceName)}
}

func (s *service) askGroup(c *sim.Call, name *string) []sim.Question {
	return []sim.Question{{Request: s.onGroup(c, name)}}
}

// askTags asks for each group that tags are of.
func (s *service) askTags(c *sim.Call, tags []types.Tag) []sim.Question {
	byGroup, names := map[string]map[string]string{}, []string{}
	for _, tag := range tags {
		name := val(tag.ResourceId)
		if byGroup[name] == nil {
			byGroup[name] = map[string]string{}
			names = append(names, name)
		}
		byGroup[name][val(tag.Key)] = val(tag.Value)
	}
	var asked []sim.Question
	for _, name := range names {
		request := s.onGroup(c, &name)
		sim.Tagging(request.Context, byGroup[name])
		asked = append(asked, sim.Question{Request: request})
	}
	return asked
}

func askCreate(s *service, c *sim.Call, in *autoscaling.CreateAutoScalingGroupInput) []sim.Question {
	request, tags := s.onGroup(c, in.AutoScalingGroupName), map[string]string{}
	for _, tag := range in.Tags {
		tags[val(tag.Key)] = val(tag.Value)
	}
	// a group of that name has no part in it: there must be none
	request.Context = sim.Tagging(iampolicy.Context{}, tags)
	configured(request.Context, in.LaunchConfigurationName)
	asked := []sim.Question{{Request: request}}
	asked = append(asked, iam.ServiceLinkedRole(c.Account, linkedRole, linkedService)...)
	// a launch configuration of the instance is created with the group: that it takes its own
	// permission is an inference
	if in.InstanceId != nil {
		asked = append(asked, askConfiguration(s, c, &autoscaling.CreateLaunchConfigurationInput{
			LaunchConfigurationName: in.AutoScalingGroupName, InstanceId: in.InstanceId,
		})...)
	}
	for _, hook := range in.LifecycleHookSpecificationList {
		asked = append(asked, s.passed(hook.RoleARN)...)
	}
	// UG required-permissions-for-service-linked-role, "Pass a service-linked role": who names one
	// must be allowed to pass it.
	asked = append(asked, s.passed(in.ServiceLinkedRoleARN)...)
	return append(asked, s.askLaunches(in.LaunchTemplate, in.MixedInstancesPolicy, s.subnetsOf(in.VPCZoneIdentifier))...)
}

func askUpdate(s *service, c *sim.Call, in *autoscaling.UpdateAutoScalingGroupInput) []sim.Question {
	asked := s.askGroup(c, in.AutoScalingGroupName)
	configured(asked[0].Context, in.LaunchConfigurationName)
	g := s.groups[val(in.AutoScalingGroupName)]
	if g == nil {
		return asked
	}
	places := s.subnetsOf(in.VPCZoneIdentifier)
	if in.VPCZoneIdentifier == nil {
		places = g.subnets
	}
	asked = append(asked, s.passed(in.ServiceLinkedRoleARN)...)
	return append(asked, s.askLaunches(in.LaunchTemplate, g.completed(in.MixedInstancesPolicy), places)...)
}

func askRefresh(s *service, c *sim.Call, in *autoscaling.StartInstanceRefreshInput) []sim.Question {
	asked := s.askGroup(c, in.AutoScalingGroupName)
	g := s.groups[val(in.AutoScalingGroupName)]
	if g == nil || in.DesiredConfiguration == nil {
		return asked
	}
	return append(asked, s.askLaunches(in.DesiredConfiguration.LaunchTemplate, g.completed(in.DesiredConfiguration.MixedInstancesPolicy), g.subnets)...)
}

// completed has the group's template in the place of one that a policy leaves out. A policy without
// anything to launch changes no launches.
func (g *group) completed(policy *types.MixedInstancesPolicy) *types.MixedInstancesPolicy {
	if policy == nil || policy.LaunchTemplate == nil || policy.LaunchTemplate.LaunchTemplateSpecification != nil || g.config.mixed == nil {
		return policy
	}
	return &types.MixedInstancesPolicy{LaunchTemplate: &types.LaunchTemplate{
		LaunchTemplateSpecification: asGiven(g.config.mixed.LaunchTemplate).LaunchTemplateSpecification, Overrides: policy.LaunchTemplate.Overrides,
	}}
}

func (s *service) subnetsOf(list *string) []subnetPlace {
	places, err := s.subnetPlaces(val(list))
	if err != nil {
		return nil // the answer is that there is no such subnet
	}
	return places
}

// askLaunches: whoever points a group at a launch template needs what launching from it takes,
// though Auto Scaling's own role launches (UG ec2-auto-scaling-launch-template-permissions). The
// words of the refusal are those that users report.
func (s *service) askLaunches(template *types.LaunchTemplateSpecification, mixed *types.MixedInstancesPolicy, places []subnetPlace) []sim.Question {
	var launches []ec2.LaunchRequest
	add := func(spec *types.LaunchTemplateSpecification, override types.LaunchTemplateOverrides) {
		if spec == nil {
			return
		}
		named := ec2.LaunchTemplateSpec{ID: val(spec.LaunchTemplateId), Name: val(spec.LaunchTemplateName), Version: val(spec.Version)}
		for _, place := range append(slices.Clone(places), subnetPlace{})[:max(len(places), 1)] {
			launches = append(launches, ec2.LaunchRequest{
				Template: named, SubnetID: place.id, ImageID: val(override.ImageId), InstanceType: val(override.InstanceType),
			})
		}
	}
	add(template, types.LaunchTemplateOverrides{})
	if mixed != nil && mixed.LaunchTemplate != nil {
		add(mixed.LaunchTemplate.LaunchTemplateSpecification, types.LaunchTemplateOverrides{})
		for _, override := range mixed.LaunchTemplate.Overrides {
			if override.LaunchTemplateSpecification != nil {
				add(override.LaunchTemplateSpecification, override)
			}
		}
	}
	var asked []sim.Question
	for _, launch := range launches {
		refusal := sim.Errorf("AccessDenied", "You are not authorized to use launch template: %s", launch.Template.ID+launch.Template.Name).WithStatus(403)
		for _, request := range ec2.LaunchPermissions(s.region, launch) {
			asked = append(asked, sim.Question{Request: request, Refusal: refusal})
		}
	}
	return asked
}

// passed is the permission to hand over the role by which a hook notifies.
func (s *service) passed(arn *string) []sim.Question {
	if val(arn) == "" {
		return nil
	}
	return []sim.Question{{Request: iam.Role{ARN: *arn}.Passed(linkedService)}}
}
