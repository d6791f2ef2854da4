package forecast

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/sdkcopy"
)

var templateWrites = map[string]writer{
	"ec2:CreateLaunchTemplate":         writing(templatesOf, (*templates).create),
	"ec2:CreateLaunchTemplateVersion":  writing(templatesOf, (*templates).createVersion),
	"ec2:ModifyLaunchTemplate":         writing(templatesOf, (*templates).modify),
	"ec2:DeleteLaunchTemplate":         writing(templatesOf, (*templates).delete),
	"ec2:DeleteLaunchTemplateVersions": writing(templatesOf, (*templates).deleteVersions),
	"ec2:CreateTags":                   changing(templatesOf, &ec2.CreateTagsOutput{}, func(t *templates, input *ec2.CreateTagsInput) { t.tag(input.Resources, input.Tags, false) }),
	"ec2:DeleteTags":                   changing(templatesOf, &ec2.DeleteTagsOutput{}, func(t *templates, input *ec2.DeleteTagsInput) { t.tag(input.Resources, input.Tags, true) }),
	"ec2:RunInstances":                 writing(templatesOf, (*templates).runInstances),
}

var templateReads = map[string]reader{
	"ec2:DescribeLaunchTemplates":        reading(templatesOf, (*templates).own, (*templates).show),
	"ec2:DescribeLaunchTemplateVersions": reading(templatesOf, (*templates).ownVersions, (*templates).showVersions),
}

// templates are the launch templates of a forecast.
type templates struct {
	clock clock.PassiveClock
	byID  map[string]*template
}

func templatesOf(a *AWS) *templates { return &a.templates }

// template holds what a forecast knows about a launch template.
type template struct {
	// created is the template if it exists in the forecast only.
	created *ec2types.LaunchTemplate
	// latest is the newest version's number, and initial the default's, zero if AWS's is the default.
	latest, initial int64
	added           []ec2types.LaunchTemplateVersion
	deleted         []int64
	gone            bool
	tagged          []func([]ec2types.Tag) []ec2types.Tag
}

// of returns the entry of a template by its ID. It adds an empty one if there is none.
func (t *templates) of(id string) *template {
	if t.byID[id] == nil {
		t.byID[id] = &template{}
	}
	return t.byID[id]
}

func (t *templates) create(input *ec2.CreateLaunchTemplateInput) (*ec2.CreateLaunchTemplateOutput, error) {
	name := awssdk.ToString(input.LaunchTemplateName)
	sum := sha256.Sum256([]byte(name))
	id := "lt-" + hex.EncodeToString(sum[:])[:17]
	created := t.of(id)
	created.latest, created.initial = 1, 1
	created.created = &ec2types.LaunchTemplate{
		LaunchTemplateId: &id, LaunchTemplateName: &name, CreateTime: awssdk.Time(t.clock.Now()),
		DefaultVersionNumber: awssdk.Int64(1), LatestVersionNumber: awssdk.Int64(1),
	}
	for _, specification := range input.TagSpecifications {
		created.created.Tags = append(created.created.Tags, specification.Tags...)
	}
	created.added = []ec2types.LaunchTemplateVersion{t.newVersion(id, 1, input.VersionDescription, input.LaunchTemplateData)}
	return &ec2.CreateLaunchTemplateOutput{LaunchTemplate: created.shown(*created.created)}, nil
}

func (t *templates) newVersion(id string, number int64, description *string, data *ec2types.RequestLaunchTemplateData) ec2types.LaunchTemplateVersion {
	version := ec2types.LaunchTemplateVersion{
		LaunchTemplateId: &id, VersionNumber: &number, VersionDescription: description, CreateTime: awssdk.Time(t.clock.Now()),
		LaunchTemplateData: &ec2types.ResponseLaunchTemplateData{},
	}
	if data != nil {
		sdkcopy.Members(version.LaunchTemplateData, data)
	}
	return version
}

// createVersion gives a version the number after the newest, which must have been seen.
func (t *templates) createVersion(input *ec2.CreateLaunchTemplateVersionInput) (*ec2.CreateLaunchTemplateVersionOutput, error) {
	id := awssdk.ToString(input.LaunchTemplateId)
	changed := t.of(id)
	if changed.latest == 0 {
		return nil, fmt.Errorf("creating a version of launch template %q: its newest version has not been read", id)
	}
	changed.latest++
	version := t.newVersion(id, changed.latest, input.VersionDescription, input.LaunchTemplateData)
	changed.added = append(changed.added, version)
	return &ec2.CreateLaunchTemplateVersionOutput{LaunchTemplateVersion: &version}, nil
}

func (t *templates) modify(input *ec2.ModifyLaunchTemplateInput) (*ec2.ModifyLaunchTemplateOutput, error) {
	number, err := strconv.ParseInt(awssdk.ToString(input.DefaultVersion), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("setting the default version of launch template %q: %w", awssdk.ToString(input.LaunchTemplateId), err)
	}
	t.of(awssdk.ToString(input.LaunchTemplateId)).initial = number
	return &ec2.ModifyLaunchTemplateOutput{}, nil
}

func (t *templates) delete(input *ec2.DeleteLaunchTemplateInput) (*ec2.DeleteLaunchTemplateOutput, error) {
	t.of(awssdk.ToString(input.LaunchTemplateId)).gone = true
	return &ec2.DeleteLaunchTemplateOutput{}, nil
}

func (t *templates) deleteVersions(input *ec2.DeleteLaunchTemplateVersionsInput) (*ec2.DeleteLaunchTemplateVersionsOutput, error) {
	changed := t.of(awssdk.ToString(input.LaunchTemplateId))
	for _, text := range input.Versions {
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("deleting version %q: %w", text, err)
		}
		changed.deleted = append(changed.deleted, number)
	}
	return &ec2.DeleteLaunchTemplateVersionsOutput{}, nil
}

func (t *templates) tag(ids []string, tags []ec2types.Tag, remove bool) {
	for _, id := range ids {
		changed := t.of(id)
		changed.tagged = append(changed.tagged, func(present []ec2types.Tag) []ec2types.Tag {
			kept := slices.DeleteFunc(slices.Clone(present), func(tag ec2types.Tag) bool {
				return slices.ContainsFunc(tags, func(other ec2types.Tag) bool { return *other.Key == *tag.Key })
			})
			if remove {
				return kept
			}
			return append(kept, tags...)
		})
	}
}

// runInstances answers a dry run as EC2 answers one that would succeed: a version that does not
// exist yet cannot be tried.
func (t *templates) runInstances(input *ec2.RunInstancesInput) (*ec2.RunInstancesOutput, error) {
	if !awssdk.ToBool(input.DryRun) {
		return nil, &UnknownWriteError{Call: Call{Service: "ec2", Action: "RunInstances", Input: input}}
	}
	return nil, &smithy.GenericAPIError{Code: "DryRunOperation", Message: "Request would have succeeded, but DryRun flag is set."}
}

// shown returns a template as the writes leave it.
func (t *template) shown(described ec2types.LaunchTemplate) *ec2types.LaunchTemplate {
	described.LatestVersionNumber = awssdk.Int64(t.latest)
	if t.initial != 0 {
		described.DefaultVersionNumber = awssdk.Int64(t.initial)
	}
	for _, change := range t.tagged {
		described.Tags = change(described.Tags)
	}
	return &described
}

// own answers a request for a template by ID that exists in the forecast only.
func (t *templates) own(input *ec2.DescribeLaunchTemplatesInput) *ec2.DescribeLaunchTemplatesOutput {
	output := &ec2.DescribeLaunchTemplatesOutput{}
	for _, id := range input.LaunchTemplateIds {
		if own := t.byID[id]; own != nil && own.created != nil && !own.gone {
			output.LaunchTemplates = append(output.LaunchTemplates, *own.shown(*own.created))
		}
	}
	if len(output.LaunchTemplates) == 0 {
		return nil
	}
	return output
}

// show changes a description of templates.
func (t *templates) show(input *ec2.DescribeLaunchTemplatesInput, output *ec2.DescribeLaunchTemplatesOutput) {
	var shown []ec2types.LaunchTemplate
	for _, described := range output.LaunchTemplates {
		known := t.of(awssdk.ToString(described.LaunchTemplateId))
		known.latest = max(known.latest, awssdk.ToInt64(described.LatestVersionNumber))
		if !known.gone {
			shown = append(shown, *known.shown(described))
		}
	}
	for _, own := range t.byID {
		if own.created != nil && !own.gone && output.NextToken == nil {
			if template := own.shown(*own.created); selects(input.Filters, template) {
				shown = append(shown, *template)
			}
		}
	}
	output.LaunchTemplates = shown
}

// selects reports whether the filters by which Slipway finds templates select one.
func selects(filters []ec2types.Filter, template *ec2types.LaunchTemplate) bool {
	for _, filter := range filters {
		name := awssdk.ToString(filter.Name)
		matches := name == "launch-template-name" && slices.Contains(filter.Values, *template.LaunchTemplateName)
		for _, tag := range template.Tags {
			matches = matches || name == "tag-key" && slices.Contains(filter.Values, *tag.Key) ||
				name == "tag:"+*tag.Key && slices.Contains(filter.Values, awssdk.ToString(tag.Value))
		}
		if !matches {
			return false
		}
	}
	return len(filters) > 0
}

// ownVersions answers a request for versions that exist in the forecast only. AWS is asked for others.
func (t *templates) ownVersions(input *ec2.DescribeLaunchTemplateVersionsInput) *ec2.DescribeLaunchTemplateVersionsOutput {
	known := t.byID[awssdk.ToString(input.LaunchTemplateId)]
	if known == nil {
		return nil
	}
	asked := slices.DeleteFunc(slices.Clone(input.Versions), func(version string) bool {
		return slices.ContainsFunc(known.added, func(added ec2types.LaunchTemplateVersion) bool {
			return version == strconv.FormatInt(*added.VersionNumber, 10)
		})
	})
	if known.created != nil || len(input.Versions) > 0 && len(asked) == 0 {
		return &ec2.DescribeLaunchTemplateVersionsOutput{LaunchTemplateVersions: known.versions(nil, input.Versions)}
	}
	input.Versions = asked
	return nil
}

// showVersions changes a description of versions.
func (t *templates) showVersions(input *ec2.DescribeLaunchTemplateVersionsInput, output *ec2.DescribeLaunchTemplateVersionsOutput) {
	known := t.of(awssdk.ToString(input.LaunchTemplateId))
	for _, version := range output.LaunchTemplateVersions {
		known.latest = max(known.latest, awssdk.ToInt64(version.VersionNumber))
	}
	if output.NextToken == nil {
		output.LaunchTemplateVersions = known.versions(output.LaunchTemplateVersions, input.Versions)
	}
}

// versions returns described versions and those added to them, without deleted ones, which have one
// of the numbers that are asked for; none for all.
func (t *template) versions(described []ec2types.LaunchTemplateVersion, asked []string) []ec2types.LaunchTemplateVersion {
	var shown []ec2types.LaunchTemplateVersion
	for _, version := range slices.Concat(described, t.added) {
		number := *version.VersionNumber
		if slices.Contains(t.deleted, number) || len(asked) > 0 && !slices.Contains(asked, strconv.FormatInt(number, 10)) {
			continue
		}
		if t.initial != 0 {
			version.DefaultVersion = awssdk.Bool(number == t.initial)
		}
		shown = append(shown, version)
	}
	return shown
}
