package ec2

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/internal/ssm"
	"github.com/slipway-project/slipway/awssim/world"
)

// images holds the images that an account sees in a Region.
type images struct {
	*sim.Table[types.Image]
	region *sim.Region
}

// asked returns the visible images of the ids, or all if there are none, in the order in
// which they were made.
func (im *images) asked(ids []string) ([]types.Image, error) {
	var found []types.Image
	var missing []string
	for _, id := range ids {
		if err := imageID.check(id); err != nil {
			return nil, err
		}
		if image, visible := im.Visible(id); visible {
			found = append(found, image)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return nil, imageNotFound(missing...)
	}
	if len(ids) == 1 {
		return found, nil // most requests ask for one, and there are many images
	}
	wanted := setOf(ids)
	return slices.DeleteFunc(im.VisibleAll(), func(i types.Image) bool { return len(ids) > 0 && !wanted[*i.ImageId] }), nil
}

// ownedBy: owners are account ids, self, or an alias of AWS (SDK, DescribeImagesInput.Owners).
func (im *images) ownedBy(i types.Image, owners []string) bool {
	if len(owners) == 0 {
		return true
	}
	for _, owner := range owners {
		if owner == val(i.OwnerId) || owner == val(i.ImageOwnerAlias) || (owner == "self" && val(i.OwnerId) == im.region.Account.ID) {
			return true
		}
	}
	return false
}

// executableBy: self means a permission given to the account explicitly, all means public (SDK,
// DescribeImagesInput.ExecutableUsers). The simulation has no explicit launch permissions.
func (im *images) executableBy(i types.Image, users []string) bool {
	if len(users) == 0 {
		return true
	}
	return slices.Contains(users, "all") && val(i.Public)
}

var imageName = regexp.MustCompile(`^[a-zA-Z0-9()\[\] ./\-'@_]{3,128}$`)

func (im *images) checkName(name string) error {
	if !imageName.MatchString(name) {
		return sim.Errorf("InvalidAMIName.Malformed", "AMI names must be between 3 and 128 characters long, and may contain letters, numbers, '(', ')', '.', '-', '/' and '_'")
	}
	for _, i := range im.All() {
		if val(i.Name) == name && val(i.OwnerId) == im.region.Account.ID {
			return sim.Errorf("InvalidAMIName.Duplicate", "AMI name %s is already in use by AMI %s", name, *i.ImageId)
		}
	}
	return nil
}

// find returns an image that can be launched. The id may name a parameter.
func (im *images) find(named string) (types.Image, error) {
	id, err := im.resolve(named)
	if err != nil {
		return types.Image{}, err
	}
	if err := imageID.check(id); err != nil {
		return types.Image{}, err
	}
	image, ok := im.Get(id)
	if !ok {
		return image, imageNotFound(id)
	}
	if image.State != types.ImageStateAvailable {
		return image, sim.Errorf("InvalidAMIID.Unavailable", "The image ID '%s' is no longer available", id)
	}
	return image, nil
}

// snapshotSize returns the size of a snapshot, which the simulation knows through the images that
// are made of it.
func (im *images) snapshotSize(id string) (int32, bool) {
	if id == "" {
		return 0, false
	}
	size := func(image *types.Image) *int32 {
		for _, m := range image.BlockDeviceMappings {
			if m.Ebs != nil && val(m.Ebs.SnapshotId) == id && m.Ebs.VolumeSize != nil {
				return m.Ebs.VolumeSize
			}
		}
		return nil
	}
	image, is := im.First(func(image *types.Image) bool { return size(image) != nil })
	if !is {
		return 0, false
	}
	return *size(&image), true
}

func (im *images) resolve(id string) (string, error) {
	parameter, isAlias := strings.CutPrefix(id, imageAlias)
	if !isAlias {
		return id, nil
	}
	value, err := ssm.Value(im.region, parameter)
	if err != nil {
		return "", sim.Errorf("InvalidParameterValue", "The SSM parameter '%s' could not be resolved: %s", parameter, sim.AsError(err).Message)
	}
	if err := imageID.check(value); err != nil {
		return "", sim.Errorf("InvalidParameterValue", "The value of the SSM parameter %s is not a valid AMI ID: %s", parameter, value)
	}
	return value, nil
}

func imageFromWorld(w world.Image) types.Image {
	image := types.Image{
		ImageId: ptr(w.ID), Name: ptr(w.Name), Description: optional(w.Description), OwnerId: ptr(w.OwnerID), ImageOwnerAlias: optional(w.OwnerAlias),
		ImageLocation: ptr(w.OwnerID + "/" + w.Name), Architecture: types.ArchitectureValues(w.Architecture),
		CreationDate: ptr(w.CreationDate.UTC().Format("2006-01-02T15:04:05.000Z")),
		Public:       ptr(!w.Private), State: types.ImageState(w.State), ImageType: types.ImageTypeValuesMachine,
		RootDeviceName: ptr(w.RootDeviceName), RootDeviceType: types.DeviceTypeEbs, VirtualizationType: types.VirtualizationType(w.VirtualizationType),
		Platform: types.PlatformValues(w.Platform), PlatformDetails: optional(w.PlatformDetails), UsageOperation: ptr("RunInstances"),
		EnaSupport: ptr(w.ENASupport), Hypervisor: types.HypervisorTypeXen, SriovNetSupport: ptr("simple"),
		BootMode: types.BootModeValues(w.BootMode), ImdsSupport: types.ImdsSupportValues(w.IMDSSupport), TpmSupport: types.TpmSupportValues(w.TPMSupport),
		Tags: tagList(w.Tags),
	}
	if image.State == "" {
		image.State = types.ImageStateAvailable
	}
	if w.PlatformDetails == "" {
		image.PlatformDetails = ptr("Linux/UNIX")
	}
	for _, d := range w.BlockDevices {
		image.BlockDeviceMappings = append(image.BlockDeviceMappings, types.BlockDeviceMapping{
			DeviceName: ptr(d.DeviceName),
			Ebs: &types.EbsBlockDevice{
				SnapshotId: optional(d.SnapshotID), VolumeSize: ptr(d.SizeGiB), VolumeType: types.VolumeType(d.VolumeType), Iops: optional(d.IOPS),
				Throughput: optional(d.Throughput), DeleteOnTermination: ptr(d.DeleteOnTermination), Encrypted: ptr(d.Encrypted),
			},
		})
	}
	return image
}
