package capa

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Decision says what CAPA would do with a pool that it finds. Empty lists mean nothing.
type Decision struct {
	// Refresh are the reasons to create a version and replace every instance.
	Refresh []string
	// Version are the reasons only to create a version.
	Version []string
	// Group are the reasons to update the group, which replaces nothing.
	Group []string
}

// Decide reads the newest version of the template with the pool's name, the group, and the pool's
// marks, as CAPA does.
func (p Provider) Decide(ctx context.Context) (Decision, error) {
	var decision Decision
	o, err := p.read(ctx)
	if err != nil {
		return decision, err
	}
	if decision.Refresh, decision.Version, err = p.decideTemplate(ctx, o); err != nil {
		return decision, err
	}
	group, err := p.existing(ctx)
	if err != nil {
		return decision, err
	}
	if awssdk.ToInt32(group.MinSize) != o.pool.Spec.MinSize || awssdk.ToInt32(group.MaxSize) != o.pool.Spec.MaxSize ||
		awssdk.ToInt32(group.DesiredCapacity) != ptr.Deref(o.machinePool.Spec.Replicas, 1) {
		decision.Group = append(decision.Group, "sizes")
	}
	return decision, nil
}

// decideTemplate reads the newest version of the template. It returns the reasons to replace every
// instance, and the reasons only to create a version.
func (p Provider) decideTemplate(ctx context.Context, o objects) (refresh, version []string, err error) {
	found, err := ec2.NewFromConfig(p.AWS).DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateName: &o.name, Versions: []string{latest},
	})
	if err != nil {
		return nil, nil, err
	}
	data := found.LaunchTemplateVersions[0].LaunchTemplateData
	refresh = o.needsUpdate(data)
	if awssdk.ToString(data.ImageId) != p.image(o) {
		refresh = append(refresh, "image")
	}
	retagged, err := o.retagged()
	if err != nil {
		return nil, nil, err
	}
	if retagged {
		refresh = append(refresh, "tags")
	}
	switch key := instanceTag(data, tagSecret); {
	case key == "":
		version = append(version, "no secret tag")
	case key != o.secretKey():
		refresh = append(refresh, "another bootstrap data Secret")
	}
	plain, err := base64.StdEncoding.DecodeString(awssdk.ToString(data.UserData))
	if err != nil {
		return nil, nil, err
	}
	if hash(plain) != hash(o.secret.Data["value"]) {
		version = append(version, "user data")
	}
	return refresh, version, nil
}

// retagged reports whether the tags asked for differ from the tags that the pool lists as applied.
func (o objects) retagged() (bool, error) {
	applied := map[string]string{}
	if text := o.annotations[lastAppliedTags]; text != "" {
		if err := json.Unmarshal([]byte(text), &applied); err != nil {
			return false, err
		}
	}
	return !maps.Equal(applied, o.asked), nil
}

// needsUpdate returns the fields of the spec that differ from the fields read back from a version.
func (o objects) needsUpdate(data *ec2types.ResponseLaunchTemplateData) []string {
	spec := o.spec
	var reasons []string
	differs := func(name string, wanted, seen any) {
		if !cmp.Equal(wanted, seen) {
			reasons = append(reasons, fmt.Sprintf("%s is %v, but the spec has %v", name, seen, wanted))
		}
	}
	profile := ""
	if data.IamInstanceProfile != nil {
		profile = awssdk.ToString(data.IamInstanceProfile.Name)
		if _, name, isARN := strings.Cut(awssdk.ToString(data.IamInstanceProfile.Arn), "instance-profile/"); isARN {
			profile = name
		}
	}
	differs("instance profile", spec.IamInstanceProfile, profile)
	differs("instance type", spec.InstanceType, string(data.InstanceType))
	differs("metadata options", metadata(spec.InstanceMetadataOptions), readMetadata(data.MetadataOptions))
	var enclave *infrav1.EnclaveOptions
	if data.EnclaveOptions != nil && awssdk.ToBool(data.EnclaveOptions.Enabled) {
		enclave = &infrav1.EnclaveOptions{Enabled: ptr.To(true)}
	}
	differs("enclave options", spec.EnclaveOptions, enclave)
	var spot *infrav1.SpotMarketOptions
	if options := data.InstanceMarketOptions; options != nil && options.MarketType == ec2types.MarketTypeSpot {
		spot = &infrav1.SpotMarketOptions{}
		if options.SpotOptions != nil {
			spot.MaxPrice = options.SpotOptions.MaxPrice
		}
	}
	differs("spot options", spec.SpotMarketOptions, spot)
	differs("key pair", ptr.Deref(spec.SSHKeyName, ""), awssdk.ToString(data.KeyName))
	wanted, seen := o.securityGroups(), slices.Clone(data.SecurityGroupIds)
	slices.Sort(wanted)
	slices.Sort(seen)
	differs("security groups", wanted, seen)
	return reasons
}

func readMetadata(seen *ec2types.LaunchTemplateInstanceMetadataOptions) *infrav1.InstanceMetadataOptions {
	if seen == nil {
		return nil
	}
	read := infrav1.InstanceMetadataOptions{
		HTTPPutResponseHopLimit: int64(awssdk.ToInt32(seen.HttpPutResponseHopLimit)),
		HTTPTokens:              infrav1.HTTPTokensState(seen.HttpTokens),
		HTTPEndpoint:            "enabled", HTTPProtocolIPv6: "disabled", InstanceMetadataTags: "disabled",
	}
	if seen.HttpEndpoint == "disabled" {
		read.HTTPEndpoint = "disabled"
	}
	if seen.HttpProtocolIpv6 == "enabled" {
		read.HTTPProtocolIPv6 = "enabled"
	}
	if seen.InstanceMetadataTags == "enabled" {
		read.InstanceMetadataTags = "enabled"
	}
	return &read
}

func instanceTag(data *ec2types.ResponseLaunchTemplateData, key string) string {
	for _, specification := range data.TagSpecifications {
		for _, tag := range specification.Tags {
			if specification.ResourceType == "instance" && awssdk.ToString(tag.Key) == key {
				return awssdk.ToString(tag.Value)
			}
		}
	}
	return ""
}
