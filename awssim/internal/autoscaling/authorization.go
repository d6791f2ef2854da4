package autoscaling

import (
	"slices"
	"strconv"

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
	addConfigurationKey(request.Context, in.LaunchConfigurationName)
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
	addConfigurationKey(asked[0].Context, in.LaunchConfigurationName)
	g := p.groups.byName[val(in.AutoScalingGroupName)]
	if g == nil {
		return asked
	}
	places := p.subnetsOf(in.VPCZoneIdentifier)
	if in.VPCZoneIdentifier == nil {
		places = g.subnets
	}
	asked = append(asked, passed(in.ServiceLinkedRoleARN)...)
	return append(asked, p.askLaunches(in.LaunchTemplate, completed(in.MixedInstancesPolicy, g.config), places)...)
}

func (p *permissions) askRefresh(c *sim.Call, in *autoscaling.StartInstanceRefreshInput) []sim.Question {
	asked := p.askGroup(c, in.AutoScalingGroupName)
	g := p.groups.byName[val(in.AutoScalingGroupName)]
	if g == nil || in.DesiredConfiguration == nil {
		return asked
	}
	return append(asked, p.askLaunches(in.DesiredConfiguration.LaunchTemplate, completed(in.DesiredConfiguration.MixedInstancesPolicy, g.config), g.subnets)...)
}

// completed returns a policy with the template of the group's configuration in the place of one
// that it leaves out. A policy without anything to launch changes no launches.
func completed(policy *types.MixedInstancesPolicy, config configuration) *types.MixedInstancesPolicy {
	if policy == nil || policy.LaunchTemplate == nil || policy.LaunchTemplate.LaunchTemplateSpecification != nil || config.mixed == nil {
		return policy
	}
	return &types.MixedInstancesPolicy{LaunchTemplate: &types.LaunchTemplate{
		LaunchTemplateSpecification: asGiven(config.mixed.LaunchTemplate).LaunchTemplateSpecification, Overrides: policy.LaunchTemplate.Overrides,
	}}
}

func (p *permissions) subnetsOf(list *string) []subnetPlace {
	places, err := p.compute.subnetPlaces(val(list))
	if err != nil {
		return nil // the answer is that there is no such subnet
	}
	return places
}

// askLaunches returns the permissions that a caller needs to point a group at a launch template.
// They are the permissions for a launch from the template, although Auto Scaling launches with its
// own role (UG ec2-auto-scaling-launch-template-permissions). Users report the text of the refusal.
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

// askConfiguration asks for the launch configuration, and for passing the role of its instance
// profile (UG us-iam-role, "Prerequisites").
func (p *permissions) askConfiguration(c *sim.Call, in *autoscaling.CreateLaunchConfigurationInput) []sim.Question {
	if in.InstanceId != nil {
		if derived, err := p.configurationActions.ofInstance(in); err == nil {
			in = derived
		}
	}
	request := p.onConfiguration("CreateLaunchConfiguration", in.LaunchConfigurationName)
	add := func(key, value string) {
		if value != "" {
			request.Context[serviceName+":"+key] = []string{value}
		}
	}
	add("ImageId", val(in.ImageId))
	add("InstanceType", val(in.InstanceType))
	add("SpotPrice", val(in.SpotPrice))
	if o := in.MetadataOptions; o != nil {
		add("MetadataHttpEndpoint", string(o.HttpEndpoint))
		add("MetadataHttpTokens", string(o.HttpTokens))
		if o.HttpPutResponseHopLimit != nil {
			add("MetadataHttpPutResponseHopLimit", strconv.Itoa(int(*o.HttpPutResponseHopLimit)))
		}
	}
	asked := []sim.Question{{Request: request}}
	if profile, ok := iam.FindInstanceProfile(c.Account, val(in.IamInstanceProfile)); ok {
		if role, ok := iam.FindRole(c.Account, profile.Role); ok {
			asked = append(asked, sim.Question{Request: role.Passed("ec2.amazonaws.com")})
		}
	}
	return asked
}

// onConfiguration is the permission for an action on a launch configuration. The ARN of one that
// does not exist has no id.
func (p *permissions) onConfiguration(action string, name *string) iampolicy.Request {
	arn := configurationARN(p.region, "*", val(name))
	if l, exists := p.configurations.table.Get(val(name)); exists {
		arn = *l.LaunchConfigurationARN
	}
	return iampolicy.Request{Action: serviceName + ":" + action, Resource: arn, Context: iampolicy.Context{}}
}

// addConfigurationKey adds the condition key of the launch configuration that a group is created or
// updated with.
func addConfigurationKey(context iampolicy.Context, name *string) {
	if name != nil {
		context[serviceName+":LaunchConfigurationName"] = []string{*name}
	}
}
