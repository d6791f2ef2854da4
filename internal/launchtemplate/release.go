package launchtemplate

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// CAPAForm contains what CAPA expects in a version in addition to the configuration of a node.
type CAPAForm struct {
	// Secret is namespace and name of the bootstrap data, "" for none.
	Secret string
	// InstanceType is the pool's, which may leave it to overrides.
	InstanceType string
	// UserData is in the place of the request's, if there is any: CAPA puts bootstrap data into a
	// managed pool's template as it is.
	UserData []byte
}

// ForCAPA returns the input for the same node in the form that CAPA would write. CAPA compares the
// newest version with the spec field by field, after applying the defaults of its CRD to the spec,
// and relies on two tags of the instances (CAPA: launchtemplate.go, SDKToLaunchTemplate and
// LaunchTemplateNeedsUpdate). A version in this form gives CAPA no reason to replace an instance.
// It has no description from Slipway.
func (i Input) ForCAPA(form CAPAForm) (Input, error) {
	data := *i.sent // CAPA does not compare volumes
	data.InstanceType = ec2types.InstanceType(form.InstanceType)
	if options := data.MetadataOptions; options != nil {
		explicit := *options
		orElse(&explicit.HttpEndpoint, ec2types.LaunchTemplateInstanceMetadataEndpointStateEnabled)
		orElse(&explicit.HttpTokens, ec2types.LaunchTemplateHttpTokensStateOptional)
		orElse(&explicit.InstanceMetadataTags, ec2types.LaunchTemplateInstanceMetadataTagsStateDisabled)
		if explicit.HttpPutResponseHopLimit == nil {
			explicit.HttpPutResponseHopLimit = awssdk.Int32(1)
		}
		data.MetadataOptions = &explicit
	}
	if form.UserData != nil {
		data.UserData = awssdk.String(base64.StdEncoding.EncodeToString(form.UserData))
	}
	plain, err := plainUserData(awssdk.ToString(data.UserData))
	if err != nil {
		return Input{}, err
	}
	if form.Secret != "" {
		digest := sha256.Sum256(plain)
		marks := map[string]string{infrav1.TagBootstrapDataSecret: form.Secret, infrav1.TagBootstrapDataHash: hex.EncodeToString(digest[:])}
		data.TagSpecifications = withInstanceTags(data.TagSpecifications, marks)
	}
	fingerprints, err := fingerprintsOf(&data, awssdk.ToString(data.UserData))
	if err != nil {
		return Input{}, err
	}
	text, err := canonical(&data)
	if err != nil {
		return Input{}, err
	}
	return Input{Fingerprints: fingerprints, data: &data, sent: &data, text: text}, nil
}

func orElse[T ~string](value *T, fallback T) {
	if *value == "" {
		*value = fallback
	}
}

func withInstanceTags(specifications []ec2types.LaunchTemplateTagSpecificationRequest, tags map[string]string) []ec2types.LaunchTemplateTagSpecificationRequest {
	all := slices.Clone(specifications)
	for i := range all {
		if all[i].ResourceType != ec2types.ResourceTypeInstance {
			continue
		}
		merged := tagMap(all[i].Tags)
		maps.Copy(merged, tags)
		all[i].Tags = tagList(merged)
		return all
	}
	return append(all, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: ec2types.ResourceTypeInstance, Tags: tagList(tags)})
}

// Released returns the number of the newest version, and whether it is in CAPA's form already.
func (o Observation) Released(input Input) (int64, bool, error) {
	newest := newestFirst(o.Versions)
	if len(newest) == 0 {
		return 0, false, &VersionsUnseenError{TemplateID: o.Template.ID}
	}
	last, wanted := newest[0], input.Fingerprints
	return last.Number, last.Foreign && last.Fingerprints.Config == wanted.Config && last.Fingerprints.Bootstrap == wanted.Bootstrap, nil
}

// Release creates a version in CAPA's form, unless the newest is one, and returns its number and
// the observation afterwards. The default version stays.
func (t *Templates) Release(ctx context.Context, owner string, input Input, seen Observation) (int64, Observation, error) {
	if err := ownedBy(owner, *seen.Template); err != nil {
		return 0, Observation{}, err
	}
	if number, released, err := seen.Released(input); released || err != nil {
		return number, seen, err
	}
	fingerprints := input.Fingerprints
	output, err := t.ec2.CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &seen.Template.ID, LaunchTemplateData: input.sent,
		ClientToken: awssdk.String(hash(64, "release", owner, seen.Template.ID, strconv.FormatInt(seen.newestSeen(), 10), input.text)),
	})
	if err != nil {
		return 0, Observation{}, fmt.Errorf("creating a version of launch template %q for CAPA: %w", seen.Template.ID, err)
	}
	version := Version{
		Number: awssdk.ToInt64(output.LaunchTemplateVersion.VersionNumber), Fingerprints: fingerprints, Foreign: true, MadeByCAPA: true,
		ImageID: awssdk.ToString(input.data.ImageId), Market: requestedMarket(input.data), Created: awssdk.ToTime(output.LaunchTemplateVersion.CreateTime),
	}
	return version.Number, seen.with(*seen.Template, version), nil
}

// Disown removes Slipway's own tags from the owner's template.
func (t *Templates) Disown(ctx context.Context, owner string, template Template) error {
	if err := ownedBy(owner, template); err != nil {
		return err
	}
	own := map[string]string{}
	for _, key := range []string{infrav1.TagLaunchConfig, infrav1.TagAccepted} {
		if value, there := template.Tags[key]; there {
			own[key] = value
		}
	}
	if len(own) == 0 {
		return nil
	}
	if _, err := t.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{template.ID}, Tags: tagList(own)}); err != nil {
		return fmt.Errorf("removing the ownership tags of launch template %q: %w", template.ID, err)
	}
	return nil
}
