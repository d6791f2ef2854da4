package launchtemplate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
)

// Do does one operation, and returns what EC2 answered and the observation as it is afterwards.
// After an error the observation is no longer known.
func (t *Templates) Do(ctx context.Context, operation Operation, seen Observation) (Answer, Observation, error) {
	return operation.run(ctx, t, seen)
}

func (o CreateTemplate) run(ctx context.Context, t *Templates, seen Observation) (Answer, Observation, error) {
	fingerprints := o.Input.Fingerprints
	output, err := t.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &o.Name,
		LaunchTemplateData: o.Input.sent,
		VersionDescription: awssdk.String(fingerprints.Description()),
		TagSpecifications:  []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: tagList(o.Tags)}},
		ClientToken:        awssdk.String(hash(64, "template", o.Owner, o.UID, o.Name, o.Lost, tagText(o.Tags), fingerprints.Description(), o.Input.text)),
	})
	if err != nil {
		return Answer{}, Observation{}, fmt.Errorf("creating launch template %q: %w", o.Name, err)
	}
	template := templateOf(output.LaunchTemplate)
	template.Tags = o.Tags
	version := Version{
		Number: template.LatestVersion, Fingerprints: fingerprints, Default: true,
		ImageID: awssdk.ToString(o.Input.data.ImageId), Market: requestedMarket(o.Input.data), Created: template.Created,
	}
	return Answer{Version: version, Warning: warningText(output.Warning)}, seen.with(template, version), nil
}

// run creates the version. The client token depends only on the data, so that the same data is one
// version whatever was observed of the template: EC2 repeats its answer after a lost one, while
// reads lag behind, and for a version that an observation lacks.
func (o CreateVersion) run(ctx context.Context, t *Templates, seen Observation) (Answer, Observation, error) {
	if err := ownedBy(o.Owner, *seen.Template); err != nil {
		return Answer{}, Observation{}, err
	}
	fingerprints := o.Input.Fingerprints
	token := hash(64, "version", o.Owner, o.TemplateID, strconv.FormatInt(o.After, 10), fingerprints.Description(), o.Input.text)
	output, err := t.ec2.CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId:   &o.TemplateID,
		LaunchTemplateData: o.Input.sent,
		VersionDescription: awssdk.String(fingerprints.Description()),
		ClientToken:        &token,
	})
	if err != nil {
		return Answer{}, Observation{}, fmt.Errorf("creating a version of launch template %q: %w", o.TemplateID, err)
	}
	version := Version{
		Number: awssdk.ToInt64(output.LaunchTemplateVersion.VersionNumber), Fingerprints: fingerprints,
		ImageID: awssdk.ToString(o.Input.data.ImageId), Market: requestedMarket(o.Input.data), Created: awssdk.ToTime(output.LaunchTemplateVersion.CreateTime),
	}
	answer := Answer{Version: version, Warning: warningText(output.Warning), Repeated: version.Number <= seen.newestSeen()}
	after := seen.with(*seen.Template, version)
	after.Answered = version.Number
	if o.Beside && version.Number <= seen.newestVersion() {
		// EC2 repeated an earlier answer. The observation may lack the version because it was not
		// visible yet, or because it was deleted outside Slipway.
		exists, err := t.versionExists(ctx, o.TemplateID, version.Number)
		if err != nil {
			return answer, Observation{}, err
		}
		if !exists {
			return answer, after.withoutAnswered(), nil
		}
	}
	return answer, after, nil
}

func (o SetDefault) run(ctx context.Context, t *Templates, seen Observation) (Answer, Observation, error) {
	if err := ownedBy(o.Owner, *seen.Template); err != nil {
		return Answer{}, Observation{}, err
	}
	// No client token: setting the same default again is the same, and a token would replay the
	// answer of an earlier move to this version.
	version := strconv.FormatInt(o.Number, 10)
	_, err := t.ec2.ModifyLaunchTemplate(ctx, &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &o.TemplateID, DefaultVersion: &version})
	switch {
	case isVersionNotFound(err) && seen.Answered == o.Number:
		// EC2 took the request for a repeat of an earlier one, and answered with a version that was
		// deleted since.
		return Answer{}, seen.withoutAnswered(), nil
	case err != nil:
		return Answer{}, Observation{}, fmt.Errorf("making version %s the default of launch template %q: %w", version, o.TemplateID, err)
	}
	return Answer{}, seen.withDefault(o.Number), nil
}

func (o SetTags) run(ctx context.Context, t *Templates, seen Observation) (Answer, Observation, error) {
	if err := ownedBy(o.Owner, *seen.Template); err != nil && !o.Adopt {
		return Answer{}, Observation{}, err
	}
	if _, err := t.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{o.TemplateID}, Tags: tagList(o.Tags)}); err != nil {
		return Answer{}, Observation{}, fmt.Errorf("tagging launch template %q: %w", o.TemplateID, err)
	}
	tags := maps.Clone(seen.Template.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	maps.Copy(tags, o.Tags)
	return Answer{}, seen.withTags(tags), nil
}

func (o RemoveTags) run(ctx context.Context, t *Templates, seen Observation) (Answer, Observation, error) {
	if err := ownedBy(o.Owner, *seen.Template); err != nil {
		return Answer{}, Observation{}, err
	}
	keys := make([]ec2types.Tag, 0, len(o.Keys))
	for _, key := range o.Keys {
		keys = append(keys, ec2types.Tag{Key: &key})
	}
	if _, err := t.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{o.TemplateID}, Tags: keys}); err != nil {
		return Answer{}, Observation{}, fmt.Errorf("removing tags of launch template %q: %w", o.TemplateID, err)
	}
	tags := maps.Clone(seen.Template.Tags)
	maps.DeleteFunc(tags, func(key, _ string) bool { return slices.Contains(o.Keys, key) })
	return Answer{}, seen.withTags(tags), nil
}

// versionExists reports whether EC2 describes a version of a template.
func (t *Templates) versionExists(ctx context.Context, id string, number int64) (bool, error) {
	_, err := t.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: &id, Versions: []string{strconv.FormatInt(number, 10)},
	})
	if isVersionNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describing version %d of launch template %q: %w", number, id, err)
	}
	return true, nil
}

// isVersionNotFound reports whether EC2 does not know a version (AWS: errors-overview, launch
// templates).
func isVersionNotFound(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "InvalidLaunchTemplateId.VersionNotFound"
}

// mostOperations bounds the operations of one call. Each deleted version that EC2 answers with
// takes two.
const mostOperations = 50

// Ensure ensures that the template and the wanted version exist and that the version is the
// default, by as few calls as possible: none when nothing differs. It returns the wanted version,
// and the observation afterwards. After an error the observation is no longer known, and the change
// holds what was created before the error.
func (t *Templates) Ensure(ctx context.Context, wanted Wanted, seen Observation) (Version, Observation, Change, error) {
	var change Change
	_, existed := seen.Newest(wanted.Input.Fingerprints)
	for range mostOperations {
		plan, err := wanted.Plan(seen)
		if err != nil {
			return Version{}, Observation{}, change, err
		}
		if len(plan) == 0 {
			version, _ := seen.Newest(wanted.Input.Fingerprints)
			return version, seen.Settled(), change, nil
		}
		answer, after, err := t.Do(ctx, plan[0], seen)
		if err != nil {
			return Version{}, Observation{}, change, err
		}
		change.add(plan[0], answer, existed, after)
		if _, removed := plan[0].(RemoveTags); removed {
			wanted.RetiredTags = nil
		}
		seen = after
	}
	return Version{}, Observation{}, change, fmt.Errorf("making launch template %q as it is wanted: no end after %d operations", seen.Template.ID, mostOperations)
}
