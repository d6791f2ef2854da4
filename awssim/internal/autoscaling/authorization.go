package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// The role that Auto Scaling makes itself, when the first group of an account is made (UG
// autoscaling-service-linked-role).
const (
	linkedRole    = "AWSServiceRoleForAutoScaling"
	linkedService = "autoscaling.amazonaws.com"
)

// permissions returns what permissions calls need.
type permissions struct {
	region               *sim.Region
	groups               *groups
	compute              compute
	configurations       configurations
	configurationActions *configurationActions
}

// askPolicy: the group of a policy is what is asked about; a policy may be named by its ARN alone.
func (p *permissions) askPolicy(c *sim.Call, group, policy *string) []sim.Question {
	if g, _, err := p.groups.findPolicy(group, policy); err == nil {
		group = &g.name
	}
	return p.askGroup(c, group)
}

// onGroup is the permission for an action on a group. The ARN of one that does not exist has no id,
// and it has no tags.
func (p *permissions) onGroup(c *sim.Call, name *string) iampolicy.Request {
	arn, tags := "arn:aws:autoscaling:"+p.region.Name+":"+p.region.Account.ID+":autoScalingGroup:*:autoScalingGroupName/"+val(name), map[string]string{}
	if g := p.groups.byName[val(name)]; g != nil {
		arn = g.arn
		for _, tag := range g.tags {
			tags[val(tag.Key)] = val(tag.Value)
		}
	}
	return iampolicy.Request{Action: serviceName + ":" + c.Action, Resource: arn, Context: sim.Tagged(iampolicy.Context{}, tags, serviceName)}
}

func (p *permissions) askGroup(c *sim.Call, name *string) []sim.Question {
	return []sim.Question{{Request: p.onGroup(c, name)}}
}

// askTags asks for each group that tags are of.
func (p *permissions) askTags(c *sim.Call, tags []types.Tag) []sim.Question {
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
		request := p.onGroup(c, &name)
		sim.Tagging(request.Context, byGroup[name])
		asked = append(asked, sim.Question{Request: request})
	}
	return asked
}

func (p *permissions) askCreate(c *sim.Call, in *autoscaling.CreateAutoScalingGroupInput) []sim.Question {
	request, tags := p.onGroup(c, in.AutoScalingGroupName), map[string]string{}
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
		asked = append(asked, p.askConfiguration(c, &autoscaling.CreateLaunchConfigurationInput{
			LaunchConfigurationName: in.AutoScalingGroupName, InstanceId: in.InstanceId,
		})...)
	}
	for _, hook := range in.LifecycleHookSpecificationList {
		asked = append(asked, passed(hook.RoleARN)...)
	}
	// UG required-permissions-for-service-linked-role, "Pass a service-linked role": who names one
	// must be allowed to pass it.
	asked = append(asked, passed(in.ServiceLinkedRoleARN)...)
	return append(asked, p.askLaunches(in.LaunchTemplate, in.MixedInstancesPolicy, p.subnetsOf(in.VPCZoneIdentifier))...)
}

func (p *permissions) askUpdate(c *sim.Call, in *autoscaling.UpdateAutoScalingGroupInput) []sim.Question {
	asked := p.askGroup(c, in.AutoScalingGroupName)
	configured(asked[0].Context, in.LaunchConfigurationName)
	g := p.groups.byName[val(in.AutoScalingGroupName)]
	if g == nil {
		return asked
	}
	places := p.subnetsOf(in.VPCZoneIdentifier)
	if in.VPCZoneIdentifier == nil {
		places = g.subnets
	}
	asked = append(asked, passed(in.ServiceLinkedRoleARN)...)
	return append(asked, p.askLaunches(in.LaunchTemplate, g.completed(in.MixedInstancesPolicy), places)...)
}

func (p *permissions) askRefresh(c *sim.Call, in *autoscaling.StartInstanceRefreshInput) []sim.Question {
	asked := p.askGroup(c, in.AutoScalingGroupName)
	g := p.groups.byName[val(in.AutoScalingGroupName)]
	if g == nil || in.DesiredConfiguration == nil {
		return asked
	}
	return append(asked, p.askLaunches(in.DesiredConfiguration.LaunchTemplate, g.completed(in.DesiredConfiguration.MixedInstancesPolicy), g.subnets)...)
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

func (p *permissions) subnetsOf(list *string) []subnetPlace {
	places, err := p.compute.subnetPlaces(val(list))
	if err != nil {
		return nil // the answer is that there is no such subnet
	}
	return places
}

// askLaunches: whoever points a group at a launch template needs what launching from it takes,
// though Auto Scaling's own role launches (UG ec2-auto-scaling-launch-template-permissions). The
// words of the refusal are those that users report.
func (p *permissions) askLaunches(template *types.LaunchTemplateSpecification, mixed *types.MixedInstancesPolicy, places []subnetPlace) []sim.Question {
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
		for _, request := range ec2.LaunchPermissions(p.region, launch) {
			asked = append(asked, sim.Question{Request: request, Refusal: refusal})
		}
	}
	return asked
}

// passed is the permission to hand over the role by which a hook notifies.
func passed(arn *string) []sim.Question {
	if val(arn) == "" {
		return nil
	}
	return []sim.Question{{Request: iam.Role{ARN: *arn}.Passed(linkedService)}}
}
