package launchtemplate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
)

// Reader contains the EC2 calls that finding templates needs.
type Reader interface {
	ec2.DescribeLaunchTemplatesAPIClient
	ec2.DescribeLaunchTemplateVersionsAPIClient
	ec2.DescribeInstancesAPIClient
}

// Writer contains the EC2 calls that maintaining templates needs.
type Writer interface {
	CreateLaunchTemplate(context.Context, *ec2.CreateLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error)
	CreateLaunchTemplateVersion(context.Context, *ec2.CreateLaunchTemplateVersionInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateVersionOutput, error)
	ModifyLaunchTemplate(context.Context, *ec2.ModifyLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.ModifyLaunchTemplateOutput, error)
	DeleteLaunchTemplate(context.Context, *ec2.DeleteLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error)
	DeleteLaunchTemplateVersions(context.Context, *ec2.DeleteLaunchTemplateVersionsInput, ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateVersionsOutput, error)
	CreateTags(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
	DeleteTags(context.Context, *ec2.DeleteTagsInput, ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error)
}

// Launcher contains the EC2 calls that trying a version needs.
type Launcher interface {
	RunInstances(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
}

// EC2 is all of EC2 that this package calls.
type EC2 interface {
	Reader
	Writer
	Launcher
}

// Templates keeps launch templates in one account and region.
type Templates struct{ ec2 EC2 }

// NewTemplates returns the templates that a client reaches.
func NewTemplates(client EC2) *Templates { return &Templates{ec2: client} }

// DescribeBatch limits how many templates one call describes by name (AWS:
// API_DescribeLaunchTemplates, MaxResults).
const DescribeBatch = 200

// Describe returns the templates of the given names that exist, by name. At most DescribeBatch names.
func (t *Templates) Describe(ctx context.Context, names []string) (map[string]Template, error) {
	if len(names) == 0 {
		return map[string]Template{}, nil
	}
	// A filter, because a list of names fails as a whole when one of them does not exist.
	found, err := t.matching(ctx, "launch-template-name", aws.FilterValues(names...)...)
	if err != nil {
		return nil, fmt.Errorf("describing launch templates %q: %w", names, err)
	}
	return found, nil
}

// List returns all templates that belong to launch configs, by name.
func (t *Templates) List(ctx context.Context) (map[string]Template, error) {
	found, err := t.matching(ctx, "tag-key", infrav1.TagLaunchConfig)
	if err != nil {
		return nil, fmt.Errorf("describing the launch templates of launch configs: %w", err)
	}
	return found, nil
}

// Tagged returns all templates that have a tag with a value, by name.
func (t *Templates) Tagged(ctx context.Context, key, value string) (map[string]Template, error) {
	found, err := t.matching(ctx, "tag:"+key, aws.FilterValues(value)...)
	if err != nil {
		return nil, fmt.Errorf("describing the launch templates with tag %s: %w", key, err)
	}
	return found, nil
}

// One returns the template with an ID, or else with a name, whatever its owner; nil if there is
// none.
func (t *Templates) One(ctx context.Context, id, name string) (*Template, error) {
	input := &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{name}}
	if id != "" {
		input = &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{id}}
	}
	output, err := t.ec2.DescribeLaunchTemplates(ctx, input)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describing launch template %q: %w", cmp.Or(id, name), err)
	}
	if len(output.LaunchTemplates) == 0 {
		return nil, nil
	}
	template := templateOf(&output.LaunchTemplates[0])
	return &template, nil
}

// matching returns the templates that match a filter, by name.
func (t *Templates) matching(ctx context.Context, filter string, values ...string) (map[string]Template, error) {
	pages := ec2.NewDescribeLaunchTemplatesPaginator(t.ec2, &ec2.DescribeLaunchTemplatesInput{
		Filters:    []ec2types.Filter{{Name: &filter, Values: values}},
		MaxResults: awssdk.Int32(DescribeBatch),
	})
	found := map[string]Template{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.LaunchTemplates {
			template := templateOf(&page.LaunchTemplates[i])
			found[template.Name] = template
		}
	}
	return found, nil
}

// Versions returns all versions of a template.
func (t *Templates) Versions(ctx context.Context, id string) ([]Version, error) {
	versions, _, err := t.VersionsWith(ctx, id, 0)
	return versions, err
}

// VersionsWith returns all versions of a template, and the data of one of them by its number, nil
// if EC2 returned no such version. EC2 returns the data of all versions, although most of it is
// never needed.
func (t *Templates) VersionsWith(ctx context.Context, id string, number int64) (versions []Version, data *Data, err error) {
	pages := ec2.NewDescribeLaunchTemplateVersionsPaginator(t.ec2, &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: &id, MaxResults: awssdk.Int32(DescribeBatch),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if isNotFound(err) {
			// The template can be seen before its versions can, because reads in EC2 lag behind
			// writes, or it is gone. Ensure looks no further.
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("describing the versions of launch template %q: %w", id, err)
		}
		for i := range page.LaunchTemplateVersions {
			version, err := versionOf(&page.LaunchTemplateVersions[i])
			if err != nil {
				return nil, nil, fmt.Errorf("reading launch template %q: %w", id, err)
			}
			versions = append(versions, version)
			if contents := page.LaunchTemplateVersions[i].LaunchTemplateData; version.Number == number && contents != nil {
				data = &Data{template: id, version: version, data: contents}
			}
		}
	}
	return versions, data, nil
}

// VersionsUnseenError says that a template can be seen, and none of its versions. A template always
// has one, so reads lag behind writes, or the template was deleted just before: the next read shows
// it.
type VersionsUnseenError struct{ TemplateID string }

// Error implements error.
func (e *VersionsUnseenError) Error() string {
	return fmt.Sprintf("the versions of launch template %q are not visible yet", e.TemplateID)
}

// NamesTakenError reports that templates which the owner does not have the tag of have all the
// names that a new one may have.
type NamesTakenError struct {
	Names []string
	Owner string
}

// Error implements error.
func (e *NamesTakenError) Error() string {
	return fmt.Sprintf("launch template %s exists without tag %s of value %q, so Slipway does not own it. No "+
		"launch template is created, and no node is launched. Choose another name, or delete the existing "+
		"launch template", strings.Join(e.Names, " and "), infrav1.TagLaunchConfig, e.Owner)
}

// WaitsForUser reports that only a user can free a name.
func (*NamesTakenError) WaitsForUser() bool { return true }

// deletionBatch limits how many versions one call deletes (AWS: API_DeleteLaunchTemplateVersions).
const deletionBatch = 200

// Prune deletes versions of the owner's template, and returns the observation afterwards and what
// EC2 refused to delete, by number.
func (t *Templates) Prune(ctx context.Context, owner string, seen Observation, numbers []int64) (Observation, map[int64]string, error) {
	if err := ownedBy(owner, *seen.Template); err != nil {
		return Observation{}, nil, err
	}
	refused := map[int64]string{}
	for batch := range slices.Chunk(numbers, deletionBatch) {
		versions := make([]string, len(batch))
		for i, number := range batch {
			versions[i] = strconv.FormatInt(number, 10)
		}
		output, err := t.ec2.DeleteLaunchTemplateVersions(ctx, &ec2.DeleteLaunchTemplateVersionsInput{
			LaunchTemplateId: &seen.Template.ID, Versions: versions,
		})
		if err != nil {
			return Observation{}, nil, fmt.Errorf("deleting versions %q of launch template %q: %w", versions, seen.Template.ID, err)
		}
		for _, failure := range output.UnsuccessfullyDeletedLaunchTemplateVersions {
			number := awssdk.ToInt64(failure.VersionNumber)
			switch reason := failure.ResponseError; {
			case reason == nil:
				refused[number] = "EC2 reports no reason"
			case reason.Code != ec2types.LaunchTemplateErrorCodeLaunchTemplateVersionDoesNotExist:
				refused[number] = awssdk.ToString(reason.Message)
			}
		}
	}
	gone := slices.DeleteFunc(slices.Clone(numbers), func(number int64) bool { _, kept := refused[number]; return kept })
	return seen.without(gone), refused, nil
}

// Delete deletes the owner's template with all its versions. One that is gone already is no error.
func (t *Templates) Delete(ctx context.Context, owner string, template Template) error {
	if err := ownedBy(owner, template); err != nil {
		return err
	}
	_, err := t.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &template.ID})
	if err != nil && !isNotFound(err) {
		return fmt.Errorf("deleting launch template %q: %w", template.ID, err)
	}
	return nil
}

// VersionsRunning returns the versions of a template that instances run which have not terminated,
// whatever launched them.
func (t *Templates) VersionsRunning(ctx context.Context, id string) (map[int64]bool, error) {
	// EC2 tags every instance with the template and version that it was launched from (AWS:
	// launch-template-restrictions, system tags).
	pages := ec2.NewDescribeInstancesPaginator(t.ec2, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("tag:aws:ec2launchtemplate:id"), Values: []string{id}},
		{Name: awssdk.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"}},
	}})
	running := map[int64]bool{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing the instances of launch template %q: %w", id, err)
		}
		for _, reservation := range page.Reservations {
			for i := range reservation.Instances {
				version := tagMap(reservation.Instances[i].Tags)["aws:ec2launchtemplate:version"]
				if number, err := strconv.ParseInt(version, 10, 64); err == nil {
					running[number] = true
				}
			}
		}
	}
	return running, nil
}

// isNotFound reports whether EC2 does not know a template, by ID or by name.
// "InvalidLaunchTemplateName.NotFoundException" is the only code of EC2 that ends in Exception
// (AWS: errors-overview, launch templates).
func isNotFound(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && (api.ErrorCode() == "InvalidLaunchTemplateId.NotFound" ||
		api.ErrorCode() == "InvalidLaunchTemplateName.NotFoundException")
}
