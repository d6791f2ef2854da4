package awslaunchconfig

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// interfaces are the subnets and security groups that the network interfaces of the spec name, in its order. It returns an outcome if one is not found.
func interfaces(ctx context.Context, p *pass) ([]launchtemplate.Interface, *reconciling.Outcome) {
	stop := func(o reconciling.Outcome) ([]launchtemplate.Interface, *reconciling.Outcome) { return nil, &o }
	var found []launchtemplate.Interface
	for i := range p.config.Spec.NetworkInterfaces {
		spec := &p.config.Spec.NetworkInterfaces[i]
		groups, err := p.cloud.Discovery.SecurityGroupIDs(ctx, p.facts.VPCID, spec.Groups)
		if err != nil {
			return stop(outcome.Of(p.config, infrav1.ResolvedCondition, reasonOr(err, infrav1.SecurityGroupNotFoundReason), err))
		}
		resolved := launchtemplate.Interface{GroupIDs: groups}
		if spec.Subnet != nil {
			subnets, err := p.cloud.Discovery.SubnetIDs(ctx, discovery.SubnetQuery{VPCID: p.facts.VPCID, Refs: []infrav1.AWSResourceReference{*spec.Subnet}})
			if err != nil {
				return stop(outcome.Of(p.config, infrav1.ResolvedCondition, reasonOr(err, infrav1.SubnetsNotFoundReason), err))
			}
			if len(subnets) != 1 {
				message := fmt.Sprintf("networkInterfaces[%d].subnet matches %d subnets, and an interface is in one: give its id, or narrower filters", i, len(subnets))
				reconciling.False(p.config, infrav1.ResolvedCondition, infrav1.InvalidSpecReason, message)
				return stop(reconciling.Stop(message))
			}
			resolved.SubnetID = subnets[0].ID
		}
		found = append(found, resolved)
	}
	return found, nil
}

// deviceContradiction says what blockDeviceMappings ask of the image's root device, or of another device, that can not be.
func deviceContradiction(spec *infrav1.AWSLaunchConfigSpec, image discovery.Image) (reason, message string) {
	for _, mapping := range spec.BlockDeviceMappings {
		if mapping.DeviceName == image.RootDeviceName {
			if reason, message := rootContradiction(mapping.EBS, spec.RootVolume != nil, image); reason != "" {
				return reason, message
			}
		} else if ebs := mapping.EBS; ebs != nil && ebs.VolumeSize == nil && ebs.SnapshotID == "" {
			return infrav1.InvalidSpecReason, fmt.Sprintf("the volume of %s in blockDeviceMappings has no size: give volumeSize or snapshotId", mapping.DeviceName)
		}
	}
	return "", ""
}

// rootContradiction says what a mapping of the image's root device asks for that can not be. Twice is true if rootVolume sets it up too.
func rootContradiction(ebs *infrav1.EBSBlockDevice, twice bool, image discovery.Image) (reason, message string) {
	device := image.RootDeviceName
	switch {
	case twice:
		return infrav1.InvalidSpecReason, fmt.Sprintf("blockDeviceMappings names %s, which is the root device of image %s, and rootVolume sets it up too: remove one of the two", device, image.ID)
	case ebs == nil:
		return infrav1.InvalidSpecReason, fmt.Sprintf("instances boot from %s, the root device of image %s: in blockDeviceMappings give it ebs, or leave it out", device, image.ID)
	case ebs.VolumeType == infrav1.VolumeTypeST1 || ebs.VolumeType == infrav1.VolumeTypeSC1:
		return infrav1.InvalidSpecReason, fmt.Sprintf("instances can not boot from %s volumes, and %s is the root device of image %s: choose gp3, gp2, io1, io2 or standard", ebs.VolumeType, device, image.ID)
	case ebs.VolumeSize != nil && *ebs.VolumeSize < image.RootSnapshotSizeGiB:
		return infrav1.RootVolumeTooSmallReason, fmt.Sprintf("the volume of %s in blockDeviceMappings has %d GiB, and image %s needs at least %d GiB", device, *ebs.VolumeSize, image.ID, image.RootSnapshotSizeGiB)
	}
	return "", ""
}

// tokensRequired is true for a config that is to have session tokens where its spec says nothing of IMDS: one that a person wrote, or an AWSLaunchConfigTemplate, whose launch template was
// begun since that is so. The launch template remembers it in a tag. Where it was lost, or the tag was removed, what status says that the wanted version was
// made of tells.
func tokensRequired(p *pass) bool {
	if metav1.GetControllerOf(p.config) != nil && p.config.Annotations[clusterv1.TemplateClonedFromNameAnnotation] == "" {
		return false // awsLaunchTemplate of a pool is as CAPA has it
	}
	switch template := p.seen.Template; {
	case template != nil && template.Tags[infrav1.TagTokens] != "":
		return true
	case template == nil && p.lost == "":
		return true
	}
	if p.config.Spec.InstanceMetadataOptions != nil || p.config.Spec.MetadataOptions != nil {
		return false
	}
	resolved := p.resolved
	resolved.TokensRequired = true
	with, err := launchtemplate.NewInput(&p.config.Spec, resolved)
	return err == nil && with.Fingerprints.Config == p.config.Status.ConfigFingerprint
}
