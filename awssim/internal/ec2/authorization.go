package ec2

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/internal/ssm"
)

// This file says what permissions calls need (AWS: Service Authorization Reference,
// list_amazonec2). A template, or another resource, that does not exist asks for none: EC2 then
// answers that there is no such resource, because it needs its tags to decide (inference from what
// users report).

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(service, func(message string) *sim.Error {
		// AWS: EC2 API reference, errors-overview. The encoded message differs in every answer.
		return sim.Errorf("UnauthorizedOperation", "You are not authorized to perform this operation. %s. Encoded authorization failure message: simulated", message).WithStatus(403)
	})
	for _, action := range reg.Actions(service) {
		// "Describe" actions have no resources (EC2 user guide, iam-policies-for-amazon-ec2,
		// "Supported resource-level permissions").
		if strings.HasPrefix(action, "Describe") {
			sim.AuthorizeUnscoped(reg, service, action)
		}
	}
	registerNetworkAuthorization(reg)
	sim.AuthorizeUnscoped(reg, service, "GetInstanceTypesFromInstanceRequirements")
	sim.Authorize(reg, service, "CreateLaunchTemplate", askCreateTemplate)
	sim.Authorize(reg, service, "CreateLaunchTemplateVersion", func(c *sim.Call, in *awsec2.CreateLaunchTemplateVersionInput) []sim.Question {
		return askTemplate(c, in.LaunchTemplateId, in.LaunchTemplateName)
	})
	sim.Authorize(reg, service, "ModifyLaunchTemplate", func(c *sim.Call, in *awsec2.ModifyLaunchTemplateInput) []sim.Question {
		return askTemplate(c, in.LaunchTemplateId, in.LaunchTemplateName)
	})
	sim.Authorize(reg, service, "DeleteLaunchTemplate", func(c *sim.Call, in *awsec2.DeleteLaunchTemplateInput) []sim.Question {
		return askTemplate(c, in.LaunchTemplateId, in.LaunchTemplateName)
	})
	sim.Authorize(reg, service, "DeleteLaunchTemplateVersions", func(c *sim.Call, in *awsec2.DeleteLaunchTemplateVersionsInput) []sim.Question {
		return askTemplate(c, in.LaunchTemplateId, in.LaunchTemplateName)
	})
	sim.Authorize(reg, service, "CreateTags", func(c *sim.Call, in *awsec2.CreateTagsInput) []sim.Question {
		return askTagged(c, in.Resources, func(context iampolicy.Context) { sim.Tagging(context, tagMap(in.Tags)) })
	})
	sim.Authorize(reg, service, "DeleteTags", func(c *sim.Call, in *awsec2.DeleteTagsInput) []sim.Question {
		return askTagged(c, in.Resources, func(context iampolicy.Context) { sim.Tagging(context, tagMap(in.Tags)) })
	})
	sim.Authorize(reg, service, "CreateFleet", askCreateFleet)
	sim.Authorize(reg, service, "TerminateInstances", askTerminate)
	sim.Authorize(reg, service, "CreateReplaceRootVolumeTask", askReplaceRoot)
	sim.Authorize(reg, service, "RunInstances", func(c *sim.Call, in *awsec2.RunInstancesInput) []sim.Question {
		l := &launch{state: stateOf(c.Region), in: *in}
		if spec := in.LaunchTemplate; spec != nil {
			version, err := ResolveLaunchTemplate(c.Region, LaunchTemplateSpec{ID: val(spec.LaunchTemplateId), Name: val(spec.LaunchTemplateName), Version: val(spec.Version)})
			if err != nil {
				return nil
			}
			l.source, l.in = version, mergeLaunch(version.Data, *in)
		}
		context := iampolicy.Context{}
		if l.source != nil {
			context["ec2:LaunchTemplate"] = []string{resourceARN(l.state.region, "launch-template/"+l.source.ID)}
		}
		return questions(launchPermissions(l, context))
	})
}

// fleetResources lists the resource types, in addition to the fleet, on which ec2:CreateFleet is
// authorized (AWS: Service Authorization Reference, list_amazonec2, CreateFleet). Karpenter's
// controller policy grants it on these too: existing resources without conditions, launch templates
// by aws:ResourceTag, and what is launched by aws:RequestTag
// (karpenter.sh/docs/reference/cloudformation, AllowScopedEC2InstanceAccessActions and the
// statements after it).
var fleetResources = []string{
	"image", "instance", "key-pair", "launch-template", "network-interface", "placement-group", "security-group", "snapshot", "subnet", "volume",
}

// askCreateFleet returns what a fleet needs: ec2:CreateFleet on the fleet and on everything that it
// launches with, and what its creator would need to launch the instances (EC2 user guide,
// work-with-ec2-fleets, "Prerequisites"). Karpenter's controller policy also grants ec2:CreateTags
// by CreateFleet for the tags of the fleet (AllowScopedResourceCreationTagging).
func askCreateFleet(c *sim.Call, in *awsec2.CreateFleetInput) []sim.Question {
	s := stateOf(c.Region)
	templates, err := fleetTemplates(s, in)
	if err != nil {
		return nil
	}
	pools, err := fleetPools(s, in, templates)
	if err != nil {
		return nil
	}
	arn := resourceARN(s.region, "fleet/*")
	var tags []types.Tag
	for _, specification := range in.TagSpecifications {
		if specification.ResourceType == types.ResourceTypeFleet {
			tags = specification.Tags
		}
	}
	asked := []iampolicy.Request{{Action: "ec2:CreateFleet", Resource: arn, Context: sim.Tagging(iampolicy.Context{}, tagMap(tags))}}
	var launches []iampolicy.Request
	if len(tags) > 0 {
		launches = append(launches, iampolicy.Request{
			Action: "ec2:CreateTags", Resource: arn, Context: sim.Tagging(iampolicy.Context{"ec2:CreateAction": {"CreateFleet"}}, tagMap(tags)),
		})
	}
	for _, p := range pools {
		launched := p.in
		launched.TagSpecifications = mergeTagSpecifications(launched.TagSpecifications, in.TagSpecifications)
		launches = append(launches, launchPermissions(&launch{state: s, in: launched, source: p.template}, iampolicy.Context{})...)
	}
	for _, request := range launches {
		if request.Action == "ec2:RunInstances" && slices.Contains(fleetResources, resourceType(request.Resource)) {
			request.Action = "ec2:CreateFleet"
			asked = append(asked, request)
		}
	}
	return questions(distinct(append(asked, launches...)))
}

// resourceType returns the type of resource that an ARN of EC2 names.
func resourceType(arn string) string {
	kind, _, _ := strings.Cut(arn[strings.LastIndex(arn, ":")+1:], "/")
	return kind
}

// distinct removes duplicate requests: the pools of a fleet share most of the resources that they
// launch with.
func distinct(requests []iampolicy.Request) []iampolicy.Request {
	seen := map[string]bool{}
	return slices.DeleteFunc(requests, func(request iampolicy.Request) bool {
		key := fmt.Sprint(request) // prints maps in the order of their keys
		known := seen[key]
		seen[key] = true
		return known
	})
}

// askTerminate asks for each instance (EC2 user guide, iam-policies-for-amazon-ec2, "Supported
// resource-level permissions").
func askTerminate(c *sim.Call, in *awsec2.TerminateInstancesInput) []sim.Question {
	s := stateOf(c.Region)
	var asked []iampolicy.Request
	for _, id := range in.InstanceIds {
		t, tags, err := findTaggable(s, id)
		if err != nil {
			continue
		}
		asked = append(asked, iampolicy.Request{
			Action: "ec2:TerminateInstances", Resource: resourceARN(s.region, string(t.resource)+"/"+id), Context: sim.Tagged(iampolicy.Context{}, tagMap(tags), service),
		})
	}
	return questions(asked)
}

// askReplaceRoot asks for the instance, the task, the new volume and the image, and for the tags of
// the task (AWS: Service Authorization Reference, list_amazonec2, CreateReplaceRootVolumeTask, with
// the dependent action ec2:CreateTags).
func askReplaceRoot(c *sim.Call, in *awsec2.CreateReplaceRootVolumeTaskInput) []sim.Question {
	s := stateOf(c.Region)
	i, known := s.instances.Get(val(in.InstanceId))
	if !known {
		return nil
	}
	tags := map[string]string{}
	for _, specification := range in.TagSpecifications {
		if specification.ResourceType == types.ResourceTypeReplaceRootVolumeTask {
			tags = tagMap(specification.Tags)
		}
	}
	const action = "ec2:CreateReplaceRootVolumeTask"
	arn := resourceARN(s.region, "replace-root-volume-task/*")
	asked := []iampolicy.Request{
		{Action: action, Resource: resourceARN(s.region, "instance/"+i.id()), Context: sim.Tagged(iampolicy.Context{}, tagMap(i.api.Tags), service)},
		{Action: action, Resource: arn, Context: sim.Tagging(iampolicy.Context{}, tags)},
		{Action: action, Resource: resourceARN(s.region, "volume/"+cmp.Or(val(in.VolumeId), "*")), Context: iampolicy.Context{}},
	}
	if image, known := s.images.Get(val(in.ImageId)); known {
		asked = append(asked, iampolicy.Request{
			Action: action, Resource: fmt.Sprintf("arn:%s:ec2:%s::image/%s", partition(s.region.Name), s.region.Name, *image.ImageId), Context: sim.Tagged(iampolicy.Context{}, tagMap(image.Tags), service),
		})
	}
	if len(tags) > 0 {
		asked = append(asked, iampolicy.Request{
			Action: "ec2:CreateTags", Resource: arn, Context: sim.Tagging(iampolicy.Context{"ec2:CreateAction": {"CreateReplaceRootVolumeTask"}}, tags),
		})
	}
	return questions(asked)
}

func questions(requests []iampolicy.Request) []sim.Question {
	all := make([]sim.Question, len(requests))
	for i, request := range requests {
		all[i].Request = request
	}
	return all
}

// askCreateTemplate: tags that come with a resource need a permission of their own, which can be
// bound to its creation (EC2 user guide, supported-iam-actions-tagging;
// permissions-for-launch-templates).
func askCreateTemplate(c *sim.Call, in *awsec2.CreateLaunchTemplateInput) []sim.Question {
	arn := resourceARN(stateOf(c.Region).region, "launch-template/*")
	tags := map[string]string{}
	for _, specification := range in.TagSpecifications {
		if specification.ResourceType == types.ResourceTypeLaunchTemplate {
			tags = tagMap(specification.Tags)
		}
	}
	asked := []iampolicy.Request{{Action: "ec2:CreateLaunchTemplate", Resource: arn, Context: sim.Tagging(iampolicy.Context{}, tags)}}
	if len(tags) > 0 {
		asked = append(asked, iampolicy.Request{
			Action: "ec2:CreateTags", Resource: arn, Context: sim.Tagging(iampolicy.Context{"ec2:CreateAction": {"CreateLaunchTemplate"}}, tags),
		})
	}
	return questions(asked)
}

func askTemplate(c *sim.Call, id, name *string) []sim.Question {
	s := stateOf(c.Region)
	t, err := s.templates.find(id, name)
	if err != nil {
		return nil
	}
	return questions([]iampolicy.Request{onTemplate(s, "ec2:"+c.Action, t)})
}

func onTemplate(s *state, action string, t template) iampolicy.Request {
	return iampolicy.Request{Action: action, Resource: resourceARN(s.region, "launch-template/"+t.id), Context: sim.Tagged(iampolicy.Context{}, tagMap(t.tags), service)}
}

func askTagged(c *sim.Call, ids []string, tagging func(iampolicy.Context)) []sim.Question {
	s := stateOf(c.Region)
	var asked []iampolicy.Request
	for _, id := range ids {
		t, tags, err := findTaggable(s, id)
		if err != nil {
			continue
		}
		context := sim.Tagged(iampolicy.Context{}, tagMap(tags), service)
		tagging(context)
		asked = append(asked, iampolicy.Request{Action: "ec2:" + c.Action, Resource: resourceARN(s.region, string(t.resource)+"/"+id), Context: context})
	}
	return questions(asked)
}

// LaunchPermissions returns the permissions that a caller needs when another service launches
// instances on its behalf: that service asks EC2 for a dry run as the caller. They are the
// permissions of RunInstances, except that the keys ec2:LaunchTemplate and
// ec2:IsLaunchTemplateResource are absent (seen by users of Auto Scaling). A launch that is
// impossible because its template or version does not exist needs none.
func LaunchPermissions(r *sim.Region, request LaunchRequest) []iampolicy.Request {
	version, err := ResolveLaunchTemplate(r, request.Template)
	if err != nil {
		return nil
	}
	in := mergeLaunch(version.Data, awsec2.RunInstancesInput{ImageId: optional(request.ImageID), InstanceType: types.InstanceType(request.InstanceType)})
	overrideSubnet(&in, request)
	l := &launch{state: stateOf(r), in: in, source: version, extraTags: request.Tags}
	return launchPermissions(l, iampolicy.Context{})
}

// launchPermissions returns the permissions of RunInstances on each resource that a launch has a
// part in, of ec2:CreateTags on each kind that it tags, and of passing the role of its instance
// profile (EC2 user guide, "Resource-level permissions for RunInstances" and
// permissions-for-launch-templates).
func launchPermissions(l *launch, shared iampolicy.Context) []iampolicy.Request {
	var asked []iampolicy.Request
	run := func(arn string, context iampolicy.Context) {
		for key, values := range shared {
			context[key] = values
		}
		asked = append(asked, iampolicy.Request{Action: "ec2:RunInstances", Resource: arn, Context: context})
	}
	if l.source != nil {
		if t, err := l.state.templates.find(&l.source.ID, nil); err == nil {
			run(resourceARN(l.state.region, "launch-template/"+t.id), sim.Tagged(iampolicy.Context{}, tagMap(t.tags), service))
		}
	}
	for _, arn := range usedResources(l) {
		run(arn, sim.Tagged(iampolicy.Context{}, tagsOf(l.state, arn), service))
	}
	made := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface}
	for _, kind := range made {
		context := iampolicy.Context{}
		if kind == types.ResourceTypeInstance {
			// Service Authorization Reference, list_amazonec2, resource type instance:
			// ec2:InstanceType, ec2:InstanceMarketType.
			context["ec2:InstanceType"], context["ec2:InstanceMarketType"] = []string{string(l.in.InstanceType)}, []string{marketOnDemand}
			if l.spot() {
				context["ec2:InstanceMarketType"] = []string{marketSpot}
			}
		}
		run(resourceARN(l.state.region, string(kind)+"/*"), sim.Tagging(context, tagMap(l.tags(kind))))
	}
	for _, kind := range append(made, types.ResourceTypeSpotInstancesRequest) {
		if tags := tagMap(l.tags(kind)); len(tags) > 0 {
			asked = append(asked, iampolicy.Request{
				Action: "ec2:CreateTags", Resource: resourceARN(l.state.region, string(kind)+"/*"), Context: sim.Tagging(iampolicy.Context{"ec2:CreateAction": {"RunInstances"}}, tags),
			})
		}
	}
	return append(asked, handedOver(l)...)
}

// usedResources returns the resources that are there before the launch. Images and snapshots belong
// to no account in their ARNs.
func usedResources(l *launch) []string {
	s, in := l.state, l.in
	public := func(resource string) string {
		return strings.Replace(resourceARN(s.region, resource), ":"+s.region.Account.ID+":", "::", 1)
	}
	var arns []string
	if id, err := s.images.resolve(val(in.ImageId)); err == nil && id != "" {
		arns = append(arns, public("image/"+id))
	}
	subnets, groups := []string{val(in.SubnetId)}, slices.Clone(in.SecurityGroupIds)
	for _, nic := range in.NetworkInterfaces {
		subnets, groups = append(subnets, val(nic.SubnetId)), append(groups, nic.Groups...)
	}
	for _, device := range in.BlockDeviceMappings {
		if device.Ebs != nil && val(device.Ebs.SnapshotId) != "" {
			arns = append(arns, public("snapshot/"+*device.Ebs.SnapshotId))
		}
	}
	named := map[string][]string{"subnet": subnets, "security-group": groups, "key-pair": {val(in.KeyName)}}
	if in.Placement != nil {
		named["placement-group"] = []string{val(in.Placement.GroupName)}
	}
	for _, kind := range []string{"subnet", "security-group", "key-pair", "placement-group"} {
		for _, id := range named[kind] {
			if id != "" {
				arns = append(arns, resourceARN(s.region, kind+"/"+id))
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(arns)))
}

// tagsOf returns the tags of an existing resource. ARNs of key pairs and placement groups have
// names in place of ids.
func tagsOf(s *state, arn string) map[string]string {
	kind, id, _ := strings.Cut(arn[strings.LastIndex(arn, ":")+1:], "/")
	switch kind {
	case "key-pair":
		for _, pair := range s.keyPairs.All() {
			if val(pair.KeyName) == id {
				return tagMap(pair.Tags)
			}
		}
	case "placement-group":
		for _, group := range s.placements.All() {
			if val(group.GroupName) == id {
				return tagMap(group.Tags)
			}
		}
	default:
		if _, tags, err := findTaggable(s, id); err == nil {
			return tagMap(tags)
		}
	}
	return nil
}

// handedOver returns the permissions for the resources that a launch passes to EC2: a role, and a
// parameter that holds the image (IAM user guide, id_roles_use_passrole; EC2 user guide, "Use a
// Systems Manager parameter instead of an AMI ID").
func handedOver(l *launch) []iampolicy.Request {
	var asked []iampolicy.Request
	if profile := l.in.IamInstanceProfile; profile != nil {
		name := val(profile.Arn)
		if name == "" {
			name = val(profile.Name)
		}
		if found, ok := iam.FindInstanceProfile(l.state.region.Account, name); ok && found.Role != "" {
			if role, ok := iam.FindRole(l.state.region.Account, found.Role); ok {
				asked = append(asked, role.Passed("ec2.amazonaws.com"))
			}
		}
	}
	if parameter, isAlias := strings.CutPrefix(val(l.in.ImageId), imageAlias); isAlias {
		asked = append(asked, ssm.Permission(l.state.region, "ssm:GetParameters", parameter))
	}
	return asked
}

func tagMap(tags []types.Tag) map[string]string {
	all := make(map[string]string, len(tags))
	for _, tag := range tags {
		all[val(tag.Key)] = val(tag.Value)
	}
	return all
}
