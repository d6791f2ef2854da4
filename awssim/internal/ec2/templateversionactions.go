package ec2

import (
	"strconv"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

const maxVersionsPerDelete = 200 // SDK, DeleteLaunchTemplateVersionsInput.Versions

func createLaunchTemplateVersion(c *sim.Call, in *awsec2.CreateLaunchTemplateVersionInput) (*awsec2.CreateLaunchTemplateVersionOutput, error) {
	s := stateOf(c.Region)
	request := shape.Clone(*in)
	request.DryRun = nil
	previous, err := replay[awsec2.CreateLaunchTemplateVersionOutput](s.tokens, c.Action, in.ClientToken, maxTemplateToken, request)
	if err != nil || previous != nil && s.templates.answersFor(previous.LaunchTemplateVersion.LaunchTemplateId, *previous.LaunchTemplateVersion.VersionNumber) {
		return previous, err
	}
	t, err := s.templates.find(in.LaunchTemplateId, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	data, err := t.newVersionData(in)
	if err != nil {
		return nil, err
	}
	if quota := s.kernel.World().Quota(world.QuotaLaunchTemplateVersions, defaultVersionQuota); t.count >= quota {
		return nil, sim.Errorf("MaxTemplateVersionLimitExceeded", "You have reached the maximum number of versions (%d) for the launch template %s.", quota, t.id)
	}
	v := templateVersion{description: val(in.VersionDescription), createTime: c.Now.Truncate(time.Second), createdBy: c.Principal, data: data}
	shown := data
	if val(in.ResolveAlias) {
		if shown, err = resolveAlias(s, data); err != nil {
			return nil, err
		}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	t = s.templates.addVersion(t, v)
	s.templates.Put(t.id, t)
	v.number = t.latestVersion
	v.data = shown
	out := &awsec2.CreateLaunchTemplateVersionOutput{LaunchTemplateVersion: ptr(t.describeVersion(v)), Warning: validationWarning(s, data)}
	remember(s.tokens, c.Action, in.ClientToken, request, out)
	return out, nil
}

// resolveAlias replaces an image given as a Systems Manager parameter with the image that the
// parameter names now.
func resolveAlias(s *state, data types.RequestLaunchTemplateData) (types.RequestLaunchTemplateData, error) {
	image, err := s.images.resolve(val(data.ImageId))
	if err != nil {
		return data, err
	}
	data.ImageId = optional(image)
	return data, nil
}

var versionFilters = filterTable[versionOf]{
	"create-time":        func(v versionOf) []string { return instant(&v.version.createTime) },
	"ebs-optimized":      func(v versionOf) []string { return boolean(v.version.data.EbsOptimized) },
	"http-endpoint":      func(v versionOf) []string { return enum(v.metadata().HttpEndpoint) },
	"http-protocol-ipv4": func(v versionOf) []string { return enum(v.metadata().HttpEndpoint) },
	"http-tokens":        func(v versionOf) []string { return enum(v.metadata().HttpTokens) },
	"host-resource-group-arn": func(v versionOf) []string {
		return text(val(v.version.data.Placement).HostResourceGroupArn)
	},
	"iam-instance-profile": func(v versionOf) []string { return text(val(v.version.data.IamInstanceProfile).Arn) },
	"image-id":             func(v versionOf) []string { return text(v.version.data.ImageId) },
	"instance-type":        func(v versionOf) []string { return enum(v.version.data.InstanceType) },
	"is-default-version": func(v versionOf) []string {
		return []string{strconv.FormatBool(v.version.number == v.template.defaultVersion)}
	},
	"kernel-id": func(v versionOf) []string { return text(v.version.data.KernelId) },
	"license-configuration-arn": func(v versionOf) []string {
		var arns []string
		for _, l := range v.version.data.LicenseSpecifications {
			arns = append(arns, val(l.LicenseConfigurationArn))
		}
		return arns
	},
	"network-card-index": func(v versionOf) []string {
		var cards []string
		for _, n := range v.version.data.NetworkInterfaces {
			cards = append(cards, strconv.Itoa(int(val(n.NetworkCardIndex))))
		}
		return cards
	},
	"ram-disk-id": func(v versionOf) []string { return text(v.version.data.RamDiskId) },
}

func describeLaunchTemplateVersions(c *sim.Call, in *awsec2.DescribeLaunchTemplateVersionsInput) (*awsec2.DescribeLaunchTemplateVersionsOutput, error) {
	s := stateOf(c.Region)
	found, err := s.templates.selectVersions(in)
	if err != nil {
		return nil, err
	}
	found, err = versionFilters.apply(in.Filters, found, nil)
	if err != nil {
		return nil, err
	}
	found, next, err := page(found, in.MaxResults, in.NextToken, templatePages, versionOf.key)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	out := &awsec2.DescribeLaunchTemplateVersionsOutput{NextToken: next}
	for _, f := range found {
		if val(in.ResolveAlias) {
			if f.version.data, err = resolveAlias(s, f.version.data); err != nil {
				return nil, err
			}
		}
		out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, f.template.describeVersion(f.version))
	}
	return out, nil
}

// deleteLaunchTemplateVersions deletes what can be deleted and lists the rest with its reason, as
// the action's output does. A template that does not exist is such a reason too (inference: the
// SDK's LaunchTemplateErrorCode has values for it).
func deleteLaunchTemplateVersions(c *sim.Call, in *awsec2.DeleteLaunchTemplateVersionsInput) (*awsec2.DeleteLaunchTemplateVersionsOutput, error) {
	s := stateOf(c.Region)
	numbers, err := checkDeleteVersions(in)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	out := &awsec2.DeleteLaunchTemplateVersionsOutput{}
	t, err := s.templates.find(in.LaunchTemplateId, in.LaunchTemplateName)
	if err != nil {
		code := types.LaunchTemplateErrorCodeLaunchTemplateIdDoesNotExist
		if val(in.LaunchTemplateId) == "" {
			code = types.LaunchTemplateErrorCodeLaunchTemplateNameDoesNotExist
		}
		for _, number := range numbers {
			out.UnsuccessfullyDeletedLaunchTemplateVersions = append(out.UnsuccessfullyDeletedLaunchTemplateVersions,
				types.DeleteLaunchTemplateVersionsResponseErrorItem{
					LaunchTemplateId: in.LaunchTemplateId, LaunchTemplateName: in.LaunchTemplateName, VersionNumber: ptr(number),
					ResponseError: &types.ResponseError{Code: code, Message: ptr(sim.AsError(err).Message)},
				})
		}
		return out, nil
	}
	for _, number := range numbers {
		if refusal := t.refuseDelete(number); refusal != nil {
			out.UnsuccessfullyDeletedLaunchTemplateVersions = append(out.UnsuccessfullyDeletedLaunchTemplateVersions,
				types.DeleteLaunchTemplateVersionsResponseErrorItem{
					LaunchTemplateId: ptr(t.id), LaunchTemplateName: ptr(t.name), VersionNumber: ptr(number), ResponseError: refusal,
				})
			continue
		}
		t.versions.Delete(versionKey(number))
		t.count--
		out.SuccessfullyDeletedLaunchTemplateVersions = append(out.SuccessfullyDeletedLaunchTemplateVersions,
			types.DeleteLaunchTemplateVersionsResponseSuccessItem{LaunchTemplateId: ptr(t.id), LaunchTemplateName: ptr(t.name), VersionNumber: ptr(number)})
	}
	t.latestVersion = t.highestVersion()
	s.templates.Put(t.id, t)
	return out, nil
}

func checkDeleteVersions(in *awsec2.DeleteLaunchTemplateVersionsInput) ([]int64, error) {
	if err := checkTemplateReference(in.LaunchTemplateId, in.LaunchTemplateName); err != nil {
		return nil, err
	}
	if len(in.Versions) == 0 {
		return nil, missingParameter("LaunchTemplateVersion")
	}
	if len(in.Versions) > maxVersionsPerDelete {
		return nil, sim.Errorf("InvalidParameterValue", "You can specify up to %d launch template version numbers.", maxVersionsPerDelete)
	}
	numbers := make([]int64, 0, len(in.Versions))
	for _, selector := range in.Versions {
		number, err := parseVersion(selector)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}
