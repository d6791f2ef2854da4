package ec2

import (
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func imageTags(i types.Image) []types.Tag { return i.Tags }

var imageFilters = filterTable[types.Image]{
	"architecture": func(i types.Image) []string { return enum(i.Architecture) },
	"block-device-mapping.device-name": func(i types.Image) []string {
		return collect(i.BlockDeviceMappings, func(m types.BlockDeviceMapping) []string { return text(m.DeviceName) })
	},
	"block-device-mapping.snapshot-id": func(i types.Image) []string {
		return collect(i.BlockDeviceMappings, func(m types.BlockDeviceMapping) []string { return text(val(m.Ebs).SnapshotId) })
	},
	"block-device-mapping.volume-size": func(i types.Image) []string {
		return collect(i.BlockDeviceMappings, func(m types.BlockDeviceMapping) []string { return number(val(m.Ebs).VolumeSize) })
	},
	"block-device-mapping.volume-type": func(i types.Image) []string {
		return collect(i.BlockDeviceMappings, func(m types.BlockDeviceMapping) []string { return enum(val(m.Ebs).VolumeType) })
	},
	"block-device-mapping.encrypted": func(i types.Image) []string {
		return collect(i.BlockDeviceMappings, func(m types.BlockDeviceMapping) []string { return boolean(val(m.Ebs).Encrypted) })
	},
	"boot-mode":           func(i types.Image) []string { return enum(i.BootMode) },
	"creation-date":       func(i types.Image) []string { return text(i.CreationDate) },
	"description":         func(i types.Image) []string { return text(i.Description) },
	"ena-support":         func(i types.Image) []string { return boolean(i.EnaSupport) },
	"hypervisor":          func(i types.Image) []string { return enum(i.Hypervisor) },
	"image-id":            func(i types.Image) []string { return text(i.ImageId) },
	"image-type":          func(i types.Image) []string { return enum(i.ImageType) },
	"is-public":           func(i types.Image) []string { return boolean(i.Public) },
	"manifest-location":   func(i types.Image) []string { return text(i.ImageLocation) },
	"name":                func(i types.Image) []string { return text(i.Name) },
	"owner-alias":         func(i types.Image) []string { return text(i.ImageOwnerAlias) },
	"owner-id":            func(i types.Image) []string { return text(i.OwnerId) },
	"platform":            func(i types.Image) []string { return enum(i.Platform) },
	"root-device-name":    func(i types.Image) []string { return text(i.RootDeviceName) },
	"root-device-type":    func(i types.Image) []string { return enum(i.RootDeviceType) },
	"source-image-id":     func(i types.Image) []string { return text(i.SourceImageId) },
	"sriov-net-support":   func(i types.Image) []string { return text(i.SriovNetSupport) },
	"state":               func(i types.Image) []string { return enum(i.State) },
	"virtualization-type": func(i types.Image) []string { return enum(i.VirtualizationType) },
	"block-device-mapping.delete-on-termination": func(i types.Image) []string {
		return collect(i.BlockDeviceMappings, func(m types.BlockDeviceMapping) []string { return boolean(val(m.Ebs).DeleteOnTermination) })
	},
	"free-tier-eligible":        func(i types.Image) []string { return boolean(i.FreeTierEligible) },
	"image-allowed":             func(i types.Image) []string { return boolean(i.ImageAllowed) },
	"kernel-id":                 func(i types.Image) []string { return text(i.KernelId) },
	"product-code":              func(i types.Image) []string { return productCodes(i.ProductCodes) },
	"product-code.type":         func(i types.Image) []string { return productCodeTypes(i.ProductCodes) },
	"public-ssm-parameter-name": func(i types.Image) []string { return text(i.PublicSsmParameterName) },
	"ramdisk-id":                func(i types.Image) []string { return text(i.RamdiskId) },
	"source-image-region":       func(i types.Image) []string { return text(i.SourceImageRegion) },
	"source-instance-id":        func(i types.Image) []string { return text(i.SourceInstanceId) },
	"state-reason-code":         func(i types.Image) []string { return text(val(i.StateReason).Code) },
	"state-reason-message":      func(i types.Image) []string { return text(val(i.StateReason).Message) },
}.lacking("image-watermark.source-image-creation-time", "image-watermark.source-image-id", "image-watermark.source-image-region",
	"image-watermark.watermark-creation-time", "image-watermark.watermark-key", "scan-result.critical-fix-available-since",
	"scan-result.finding-scan-date", "scan-result.high-fix-available-since", "scan-result.highest-finding-severity-label",
	"scan-result.informational-fix-available-since", "scan-result.low-fix-available-since", "scan-result.medium-fix-available-since")

func productCodes(codes []types.ProductCode) []string {
	return collect(codes, func(c types.ProductCode) []string { return text(c.ProductCodeId) })
}

func productCodeTypes(codes []types.ProductCode) []string {
	return collect(codes, func(c types.ProductCode) []string { return enum(c.ProductCodeType) })
}

var imageListing = listing[types.Image]{
	kind: imageID, id: func(i types.Image) string { return *i.ImageId }, filters: imageFilters, tags: imageTags,
	// API reference, DescribeImages, MaxResults; the lowest value is an inference.
	pages: pageLimits{min: 1, max: 1000},
}

// describeImages shows the images that the account may launch. No image of a world is deprecated or
// disabled, so IncludeDeprecated and IncludeDisabled change nothing.
func describeImages(c *sim.Call, in *awsec2.DescribeImagesInput) (*awsec2.DescribeImagesOutput, error) {
	s := stateOf(c.Region)
	candidates, err := s.images.asked(in.ImageIds)
	if err != nil {
		return nil, err
	}
	candidates = slices.DeleteFunc(candidates, func(i types.Image) bool {
		return !s.images.ownedBy(i, in.Owners) || !s.images.executableBy(i, in.ExecutableUsers)
	})
	found, next, err := imageListing.read(candidates, query{nil, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeImagesOutput{Images: found, NextToken: next}, nil
}

// registerImage publishes an image of the account. It does not check that the snapshots exist,
// because the simulation only knows the snapshots of images.
func registerImage(c *sim.Call, in *awsec2.RegisterImageInput) (*awsec2.RegisterImageOutput, error) {
	s := stateOf(c.Region)
	if val(in.Name) == "" {
		return nil, missingParameter("name")
	}
	if err := s.images.checkName(*in.Name); err != nil {
		return nil, err
	}
	if val(in.RootDeviceName) == "" {
		return nil, missingParameter("rootDeviceName")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeImage, types.ResourceTypeImage, types.ResourceTypeSnapshot)
	if err != nil {
		return nil, err
	}
	image := types.Image{
		ImageId: ptr(""), Name: in.Name, Description: in.Description, OwnerId: ptr(c.Account.ID), ImageLocation: ptr(c.Account.ID + "/" + *in.Name),
		Architecture: in.Architecture, CreationDate: ptr(c.Now.UTC().Format("2006-01-02T15:04:05.000Z")), Public: ptr(false),
		State: types.ImageStateAvailable, ImageType: types.ImageTypeValuesMachine, RootDeviceName: in.RootDeviceName, RootDeviceType: types.DeviceTypeEbs,
		VirtualizationType: types.VirtualizationType(val(in.VirtualizationType)), PlatformDetails: ptr("Linux/UNIX"), UsageOperation: ptr("RunInstances"),
		EnaSupport: ptr(val(in.EnaSupport)), Hypervisor: types.HypervisorTypeXen, SriovNetSupport: in.SriovNetSupport, BootMode: in.BootMode,
		ImdsSupport: in.ImdsSupport, TpmSupport: in.TpmSupport, KernelId: in.KernelId, RamdiskId: in.RamdiskId, Tags: tags,
	}
	if image.Architecture == "" {
		// SDK, RegisterImageInput.Architecture: the default for EBS-backed images
		image.Architecture = types.ArchitectureValuesI386
	}
	if image.VirtualizationType == "" {
		// SDK, RegisterImageInput.VirtualizationType
		image.VirtualizationType = types.VirtualizationTypeParavirtual
	}
	if err := checkEnums(image, "RegisterImage"); err != nil {
		return nil, err
	}
	image.BlockDeviceMappings, err = imageDevices(in.BlockDeviceMappings, *in.RootDeviceName)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	image.ImageId = ptr(c.Kernel.NewID("ami-", 17))
	s.images.Put(*image.ImageId, image)
	return &awsec2.RegisterImageOutput{ImageId: image.ImageId}, nil
}

func imageDevices(mappings []types.BlockDeviceMapping, root string) ([]types.BlockDeviceMapping, error) {
	mappings = shape.Clone(mappings)
	hasRoot := false
	for i := range mappings {
		m := &mappings[i]
		if err := checkMapping(*m); err != nil {
			return nil, err
		}
		if m.Ebs == nil {
			continue
		}
		if val(m.DeviceName) == root {
			hasRoot = true
			if val(m.Ebs.SnapshotId) == "" {
				return nil, sim.Errorf("InvalidBlockDeviceMapping", "The root device '%s' requires a snapshot", root)
			}
		}
		if m.Ebs.VolumeSize == nil {
			m.Ebs.VolumeSize = ptr(int32(8))
		}
		complete := completeVolume(*m.Ebs)
		m.Ebs = &complete
	}
	if !hasRoot {
		return nil, sim.Errorf("InvalidBlockDeviceMapping", "The block device mappings have no volume for the root device '%s'", root)
	}
	return mappings, nil
}

// copyImage copies an image that the account can see, from any Region of the world.
func copyImage(c *sim.Call, in *awsec2.CopyImageInput) (*awsec2.CopyImageOutput, error) {
	s := stateOf(c.Region)
	request := shape.Clone(*in)
	request.DryRun = nil
	if previous, err := replay[awsec2.CopyImageOutput](s.tokens, c.Action, in.ClientToken, maxInstanceToken, request); previous != nil || err != nil {
		return previous, err
	}
	region, err := c.Account.Region(val(in.SourceRegion))
	if err != nil {
		return nil, sim.Errorf("InvalidRegion", "The region '%s' is not valid.", val(in.SourceRegion))
	}
	source, ok := stateOf(region).images.Get(val(in.SourceImageId))
	if !ok {
		return nil, imageNotFound(val(in.SourceImageId))
	}
	if err := s.images.checkName(val(in.Name)); err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeImage, types.ResourceTypeImage, types.ResourceTypeSnapshot)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	image := shape.Clone(source)
	if val(in.CopyImageTags) {
		tags = mergeTags(source.Tags, tags)
	}
	image.ImageId, image.Name, image.Description, image.Tags = ptr(c.Kernel.NewID("ami-", 17)), in.Name, in.Description, tags
	image.OwnerId, image.ImageOwnerAlias, image.Public, image.DeprecationTime = ptr(c.Account.ID), nil, ptr(false), nil
	image.ImageLocation, image.CreationDate = ptr(c.Account.ID+"/"+*in.Name), ptr(c.Now.UTC().Format("2006-01-02T15:04:05.000Z"))
	image.SourceImageId, image.SourceImageRegion = source.ImageId, ptr(region.Name)
	for i := range image.BlockDeviceMappings {
		if ebs := image.BlockDeviceMappings[i].Ebs; ebs != nil {
			ebs.SnapshotId = ptr(c.Kernel.NewID("snap-", 17))
			ebs.Encrypted = ptr(val(ebs.Encrypted) || val(in.Encrypted))
		}
	}
	s.images.Put(*image.ImageId, image)
	out := &awsec2.CopyImageOutput{ImageId: image.ImageId}
	remember(s.tokens, c.Action, in.ClientToken, request, out)
	return out, nil
}

// deregisterImage removes an image of the account. Instances and templates that use it stay as they are.
func deregisterImage(c *sim.Call, in *awsec2.DeregisterImageInput) (*awsec2.DeregisterImageOutput, error) {
	s := stateOf(c.Region)
	if err := imageID.check(val(in.ImageId)); err != nil {
		return nil, err
	}
	image, ok := s.images.Get(*in.ImageId)
	if !ok {
		return nil, sim.Errorf("InvalidAMIID.Unavailable", "The image ID '%s' is no longer available", *in.ImageId)
	}
	if val(image.OwnerId) != c.Account.ID {
		return nil, &sim.Error{Code: "AuthFailure", Message: "Not authorized for image:" + *in.ImageId, Status: 403}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.images.Delete(*in.ImageId)
	return &awsec2.DeregisterImageOutput{Return: ptr(true)}, nil
}
