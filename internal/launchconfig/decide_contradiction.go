package launchconfig

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// contradiction returns why instance type, image, and volumes cannot be combined: a launch would
// fail.
func contradiction(spec *infrav1.AWSLaunchConfigSpec, instanceType discovery.InstanceType, image discovery.Image) (reason, message string) {
	if reason, message := nodegroupContradiction(spec, instanceType); reason != "" {
		return reason, message
	}
	if instanceType.Name != "" && image.ID != "" && !slices.Contains(instanceType.Architectures, image.Architecture) {
		return infrav1.ArchitectureMismatchReason, fmt.Sprintf("image %s is built for %s, but instance type %s "+
			"is %s. No launch template version is created, and running nodes are kept. Change spec.ami or "+
			"spec.instanceType",
			image.ID, image.Architecture, instanceType.Name, strings.Join(instanceType.Architectures, ", "))
	}
	if root := spec.RootVolume; root != nil && root.DeviceName != "" && image.ID != "" && root.DeviceName != image.RootDeviceName {
		return infrav1.InvalidSpecReason, fmt.Sprintf("rootVolume.deviceName is %s, but the root device of "+
			"image %s is %s. Remove deviceName",
			root.DeviceName, image.ID, image.RootDeviceName)
	}
	for _, volume := range spec.NonRootVolumes {
		if volume.DeviceName == image.RootDeviceName {
			return infrav1.InvalidSpecReason, fmt.Sprintf("nonRootVolumes has device %s, which is the root "+
				"device of image %s. Configure it with rootVolume",
				volume.DeviceName, image.ID)
		}
	}
	if reason, message := deviceContradiction(spec, image); reason != "" {
		return reason, message
	}
	if root := spec.RootVolume; root != nil && root.Size < int64(image.RootSnapshotSizeGiB) {
		return infrav1.RootVolumeTooSmallReason, fmt.Sprintf("rootVolume.size is %d GiB, but image %s needs at "+
			"least %d GiB. No launch template version is created, and running nodes are kept. Increase "+
			"rootVolume.size",
			root.Size, image.ID, image.RootSnapshotSizeGiB)
	}
	return "", ""
}

// deviceContradiction says what blockDeviceMappings ask of the image's root device, or of another
// device, that cannot be.
func deviceContradiction(spec *infrav1.AWSLaunchConfigSpec, image discovery.Image) (reason, message string) {
	for _, mapping := range spec.BlockDeviceMappings {
		if mapping.DeviceName == image.RootDeviceName {
			if reason, message := rootContradiction(mapping.EBS, spec.RootVolume != nil, image); reason != "" {
				return reason, message
			}
		} else if ebs := mapping.EBS; ebs != nil && ebs.VolumeSize == nil && ebs.SnapshotID == "" {
			return infrav1.InvalidSpecReason, fmt.Sprintf("the volume of %s in blockDeviceMappings has no size. "+
				"Set volumeSize or snapshotId", mapping.DeviceName)
		}
	}
	return "", ""
}

// rootContradiction says what a mapping of the image's root device asks for that cannot be. Twice
// is true if rootVolume sets it up too.
func rootContradiction(ebs *infrav1.EBSBlockDevice, twice bool, image discovery.Image) (reason, message string) {
	device := image.RootDeviceName
	switch {
	case twice:
		return infrav1.InvalidSpecReason, fmt.Sprintf("blockDeviceMappings has device %s, which is the root "+
			"device of image %s and is also configured by rootVolume. Remove one of the two", device, image.ID)
	case ebs == nil:
		return infrav1.InvalidSpecReason, fmt.Sprintf("instances boot from %s, the root device of image %s, so "+
			"its entry in blockDeviceMappings must have ebs. Set ebs, or remove the entry", device, image.ID)
	case ebs.VolumeType == infrav1.VolumeTypeST1 || ebs.VolumeType == infrav1.VolumeTypeSC1:
		return infrav1.InvalidSpecReason, fmt.Sprintf("instances cannot boot from %s volumes, and %s is the "+
			"root device of image %s. Use gp3, gp2, io1, io2, or standard", ebs.VolumeType, device, image.ID)
	case ebs.VolumeSize != nil && *ebs.VolumeSize < image.RootSnapshotSizeGiB:
		return infrav1.RootVolumeTooSmallReason, fmt.Sprintf("the volume of %s in blockDeviceMappings has %d "+
			"GiB, but image %s needs at least %d GiB. No launch template version is created, and running "+
			"nodes are kept. Increase volumeSize", device, *ebs.VolumeSize, image.ID, image.RootSnapshotSizeGiB)
	}
	return "", ""
}

// tokensRequired reports whether a config requires session tokens where its spec does not configure
// IMDS. This applies to a config that a user wrote, or that was cloned from an
// AWSLaunchConfigTemplate, if its launch template was created since Slipway requires session tokens
// by default. The launch template records the requirement in a tag. If the tag was removed, the
// requirement follows from the default version, and from the configuration fingerprint in status.
func tokensRequired(config *infrav1.AWSLaunchConfig, seen launchtemplate.Observation, resolved launchtemplate.Resolved) bool {
	if asCAPA(config) {
		return false
	}
	switch template := seen.Template; {
	case template != nil && template.Tags[infrav1.TagTokens] != "":
		return true
	case template == nil && config.Status.LastLostTemplateID == "":
		return true
	case template == nil:
		return !lackedTokens(config, resolved)
	}
	if config.Spec.InstanceMetadataOptions != nil || config.Spec.MetadataOptions != nil {
		return false
	}
	resolved.TokensRequired = true
	with, err := launchtemplate.NewInput(&config.Spec, resolved)
	if err != nil {
		return false
	}
	if made, exists := seen.Version(seen.Template.DefaultVersion); exists && !made.Foreign && made.Fingerprints.Config == with.Fingerprints.Config {
		return true
	}
	return with.Fingerprints.Config == config.Status.ConfigFingerprint
}

// lackedTokens reports whether a launch template that was lost had a version of what the spec asks for
// that did not require session tokens. Status still lists its versions. The launched one may be another,
// because it was pinned, or because the spec's was rolled back or held back. A spec that was edited since
// then gets what a new one gets.
func lackedTokens(config *infrav1.AWSLaunchConfig, resolved launchtemplate.Resolved) bool {
	listed := func(required bool) bool {
		resolved.TokensRequired = required
		input, err := launchtemplate.NewInput(&config.Spec, resolved)
		return err == nil && (input.Fingerprints.Config == config.Status.ConfigFingerprint ||
			slices.ContainsFunc(config.Status.Versions, func(version infrav1.LaunchTemplateVersionStatus) bool {
				return version.ConfigFingerprint == input.Fingerprints.Config
			}))
	}
	return listed(false) && !listed(true)
}
