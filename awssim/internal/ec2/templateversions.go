package ec2

import (
	"slices"
	"strconv"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// The aliases of versions; their case matters (SDK, DescribeLaunchTemplateVersionsInput.Versions).
const (
	aliasLatest  = "$Latest"
	aliasDefault = "$Default"
)

const codeVersionNotFound = "InvalidLaunchTemplateId.VersionNotFound"

func versionKey(number int64) string { return strconv.FormatInt(number, 10) }

// number resolves a version selector to a number, which need not exist.
func (t template) number(selector string) (int64, error) {
	switch selector {
	case aliasLatest:
		return t.latestVersion, nil
	case aliasDefault:
		return t.defaultVersion, nil
	}
	return parseVersion(selector)
}

func parseVersion(selector string) (int64, error) {
	number, err := strconv.ParseInt(selector, 10, 64)
	if err != nil || number < 1 {
		return 0, sim.Errorf("InvalidParameterValue", "Invalid launch template version: '%s'. The version must be a positive number, $Latest or $Default.", selector)
	}
	return number, nil
}

// version is the version that a selector stands for, as writes see it.
func (t template) version(selector string) (templateVersion, error) {
	return t.read(selector, t.versions.Get)
}

func (t template) read(selector string, get func(string) (templateVersion, bool)) (templateVersion, error) {
	number, err := t.number(selector)
	if err != nil {
		return templateVersion{}, err
	}
	v, ok := get(versionKey(number))
	if !ok {
		return templateVersion{}, sim.Errorf(codeVersionNotFound,
			"Could not find the specified version %d for the launch template with ID %s.", number, t.id)
	}
	return v, nil
}

// newVersionData returns the data of a new version: the request's data, on top of the source
// version's if one is named. Snapshots of the source's block device mappings are not inherited
// (SDK, CreateLaunchTemplateVersionInput.SourceVersion).
func (t template) newVersionData(in *awsec2.CreateLaunchTemplateVersionInput) (types.RequestLaunchTemplateData, error) {
	var none types.RequestLaunchTemplateData
	if err := checkTemplateData(in.LaunchTemplateData); err != nil {
		return none, err
	}
	if err := checkDescription(in.VersionDescription); err != nil {
		return none, err
	}
	if val(in.SourceVersion) == "" {
		return shape.Clone(*in.LaunchTemplateData), nil
	}
	source, err := t.version(*in.SourceVersion)
	if err != nil {
		return none, err
	}
	data := shape.Clone(source.data)
	for i := range data.BlockDeviceMappings {
		if ebs := data.BlockDeviceMappings[i].Ebs; ebs != nil {
			ebs.SnapshotId = nil
		}
	}
	// A type and requirements exclude each other, so a version that specifies one does not inherit
	// the other (inference).
	if in.LaunchTemplateData.InstanceType != "" {
		data.InstanceRequirements = nil
	}
	if in.LaunchTemplateData.InstanceRequirements != nil {
		data.InstanceType = ""
	}
	shape.Overlay(&data, *in.LaunchTemplateData)
	return data, nil
}

// describeVersion is the version as EC2 answers it.
func (t template) describeVersion(v templateVersion) types.LaunchTemplateVersion {
	return types.LaunchTemplateVersion{
		LaunchTemplateId: ptr(t.id), LaunchTemplateName: ptr(t.name), VersionNumber: ptr(v.number), VersionDescription: optional(v.description),
		CreateTime: ptr(v.createTime), CreatedBy: ptr(v.createdBy), DefaultVersion: ptr(v.number == t.defaultVersion),
		LaunchTemplateData: ptr(describeData(v.data)), Operator: operatorOf(t.operator),
	}
}

// describeData is the data as EC2 answers it: what was given, plus the marks that only answers
// carry. Metadata options of a template say "pending", because they take effect at launch.
func describeData(data types.RequestLaunchTemplateData) types.ResponseLaunchTemplateData {
	response := shape.Convert[types.ResponseLaunchTemplateData](data)
	if response.MetadataOptions != nil {
		response.MetadataOptions.State = types.LaunchTemplateInstanceMetadataOptionsStatePending
	}
	if response.Operator != nil {
		response.Operator.Managed = ptr(true)
	}
	return response
}

// versionOf is a version together with the template it belongs to.
type versionOf struct {
	template template
	version  templateVersion
}

func (v versionOf) key() string { return v.template.id + "/" + versionKey(v.version.number) }

func (v versionOf) metadata() types.LaunchTemplateInstanceMetadataOptionsRequest {
	return val(v.version.data.MetadataOptions)
}

// selectVersions returns the versions that a request is about, newest first: the versions of one
// template, by number, alias or range, or the latest and default ones of all templates.
func (ts *templates) selectVersions(in *awsec2.DescribeLaunchTemplateVersionsInput) ([]versionOf, error) {
	ranged := val(in.MinVersion) != "" || val(in.MaxVersion) != ""
	if ranged && len(in.Versions) > 0 {
		return nil, invalidCombination("You cannot specify both a list of versions and a range of versions.")
	}
	if val(in.LaunchTemplateId) == "" && val(in.LaunchTemplateName) == "" {
		return ts.aliasedVersions(in.Versions, ranged)
	}
	t, err := ts.visible(in.LaunchTemplateId, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	if len(in.Versions) > 0 {
		return t.chosenVersions(in.Versions)
	}
	lowest, highest, err := t.versionRange(in.MinVersion, in.MaxVersion)
	if err != nil {
		return nil, err
	}
	var found []versionOf
	for _, v := range t.versions.VisibleAll() {
		if v.number >= lowest && v.number <= highest {
			found = append(found, versionOf{t, v})
		}
	}
	return newestFirst(found), nil
}

// versionRange reads MinVersion and MaxVersion; each may be missing. The SDK says "after which" of
// the one and "up to which" of the other; that both bounds are part of the range is an inference
// from the other bounds of EC2's API, as is that the aliases may be bounds and that a range without
// versions is empty rather than an error. A MinVersion of 0 is no bound: Cluster API Provider AWS
// sends it with every pruning of versions (v2.13.0, pkg/cloud/services/ec2/launchtemplate.go,
// PruneLaunchTemplateVersions).
func (t template) versionRange(minVersion, maxVersion *string) (lowest, highest int64, err error) {
	lowest, highest = 1, t.lastNumber
	if val(minVersion) != "" && *minVersion != "0" {
		if lowest, err = t.number(*minVersion); err != nil {
			return 0, 0, err
		}
	}
	if val(maxVersion) != "" {
		if highest, err = t.number(*maxVersion); err != nil {
			return 0, 0, err
		}
	}
	return lowest, highest, nil
}

// describeHint is EC2's answer to a request for versions that names no template.
const describeHint = "To describe the launch template data for all your launch templates, for ‘--versions’ specify ‘$Latest’, ‘$Default’, or both, and omit " +
	"‘--launch-template-id’, ‘--launch-template-name’, and version numbers. To describe the launch template data for a specific launch template, specify " +
	"‘--launch-template-id’ or ‘--launch-template-name’, and for ‘--versions’ specify one or more of the following values: ‘$Latest’, ‘$Default’, or one or " +
	"more version numbers."

func (t template) chosenVersions(selectors []string) ([]versionOf, error) {
	chosen := map[int64]bool{}
	var found []versionOf
	for _, selector := range selectors {
		v, err := t.read(selector, t.versions.Visible)
		if err != nil {
			return nil, err
		}
		if !chosen[v.number] {
			chosen[v.number] = true
			found = append(found, versionOf{t, v})
		}
	}
	return newestFirst(found), nil
}

func newestFirst(versions []versionOf) []versionOf {
	slices.SortFunc(versions, func(a, b versionOf) int { return int(b.version.number - a.version.number) })
	return versions
}

// aliasedVersions returns the latest or default version, or both, of every template of the account
// (SDK, DescribeLaunchTemplateVersionsInput.Versions: without an id or name only the aliases are
// valid). The message of both errors is AWS's (moto, ec2/models/launch_templates.py,
// describe_launch_template_versions: verified on AWS).
func (ts *templates) aliasedVersions(selectors []string, ranged bool) ([]versionOf, error) {
	if ranged || len(selectors) == 0 {
		return nil, sim.Errorf("MissingParameter", "%s", describeHint)
	}
	for _, selector := range selectors {
		if selector != aliasLatest && selector != aliasDefault {
			return nil, sim.Errorf("InvalidParameterValue", "%s", describeHint)
		}
	}
	var found []versionOf
	for _, t := range ts.VisibleAll() {
		versions, err := t.chosenVersions(selectors)
		if err != nil {
			return nil, err
		}
		found = append(found, versions...)
	}
	return found, nil
}

// refuseDelete says why a version cannot be deleted, or nil. The default version stays until
// another one is the default (User Guide, "Delete a launch template or a launch template version");
// that AWS calls this unexpectedError is an inference, since no other value of
// LaunchTemplateErrorCode fits.
func (t template) refuseDelete(number int64) *types.ResponseError {
	if number == t.defaultVersion {
		return &types.ResponseError{
			Code:    types.LaunchTemplateErrorCodeUnexpectedError,
			Message: ptr("The default version of a launch template cannot be deleted. Set another version as the default version first."),
		}
	}
	if _, ok := t.versions.Get(versionKey(number)); !ok {
		return &types.ResponseError{
			Code:    types.LaunchTemplateErrorCodeLaunchTemplateVersionDoesNotExist,
			Message: ptr("Could not find the specified version " + versionKey(number) + " for the launch template with ID " + t.id + "."),
		}
	}
	return nil
}

// highestVersion is the LatestVersionNumber, and what $Latest stands for, once versions were
// deleted. AWS does not say what becomes of the number when the newest version is deleted; that it
// falls back to the highest that is left is an inference from its description as the "version
// number of the latest version of the launch template" (SDK, LaunchTemplate.LatestVersionNumber).
func (t template) highestVersion() int64 {
	var highest int64
	for _, v := range t.versions.All() {
		highest = max(highest, v.number)
	}
	return highest
}

// LaunchTemplates returns all launch templates as they are now, in the order of their creation.
func LaunchTemplates(r *sim.Region) []types.LaunchTemplate {
	var all []types.LaunchTemplate
	for _, t := range stateOf(r).templates.All() {
		all = append(all, t.describe())
	}
	return all
}

// LaunchTemplateVersions returns the versions of a launch template as they are now, the newest
// first; none if there is no such template.
func LaunchTemplateVersions(r *sim.Region, id string) []types.LaunchTemplateVersion {
	t, exists := stateOf(r).templates.Get(id)
	if !exists {
		return nil
	}
	var found []versionOf
	for _, v := range t.versions.All() {
		found = append(found, versionOf{t, v})
	}
	var all []types.LaunchTemplateVersion
	for _, f := range newestFirst(found) {
		all = append(all, f.template.describeVersion(f.version))
	}
	return all
}
