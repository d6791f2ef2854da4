package inspection

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/userdata"
)

// OnDemand is the market of a version without market options.
const OnDemand = "on-demand"

// ParameterPrefix begins an image id that is a Systems Manager parameter (AWS:
// using-systems-manager-parameters).
const ParameterPrefix = "resolve:ssm:"

// bottlerocketData is the device that has Bottlerocket's containers, in addition to the root device
// (Bottlerocket: "Default Volumes").
const bottlerocketData = "/dev/xvdb"

// Facts holds what is known about the things that a version names.
type Facts struct {
	// Image that the version leads to; nil if it names none, or one that is not available.
	Image *discovery.Image
	// RootDeviceName is the root device of an image that the consumer chooses.
	RootDeviceName string
	// InstanceType that the version names; nil if it names none, or one that is not available.
	InstanceType *discovery.InstanceType
	// Subnets that the version's network interfaces are in.
	Subnets []discovery.Subnet
	// NotFound are things that the version names and that are not available: it cannot be launched
	// from.
	NotFound []Lack
}

// Lack is a thing that is not there, or that is and should not be.
type Lack struct {
	// Member of the launch template data, by EC2's name, such as ImageId.
	Member string
	// Message says what is wrong, and what to do.
	Message string
}

// Resolved holds what a version resolves to.
type Resolved struct {
	// ImageID is the image, and ImageParameter the Systems Manager parameter that leads to it now,
	// if one does.
	ImageID, ImageParameter string
	// Architecture of the image as EC2 writes it: x86_64 or arm64. Without an image it is the
	// architecture of the instance type.
	Architecture string
	// OperatingSystem of the image as kubernetes.io/os has it: linux or windows. Without an image
	// it is empty.
	OperatingSystem string
	// RootDeviceName is the image's root device.
	RootDeviceName string
	// InstanceType and Requirements are alternatives. Requirements are the attributes that choose
	// types, as text.
	InstanceType, Requirements string
	// Market is OnDemand, spot, capacity-block or interruptible-capacity-reservation.
	Market string
	// SecurityGroups are ids, or names where the version gives those.
	SecurityGroups []string
	// SubnetIDs are the subnets that the version fixes, and Zones the availability zones that it
	// can be launched in; empty if the consumer chooses.
	SubnetIDs, Zones []string
	// InstanceProfile is a name or an ARN.
	InstanceProfile string
	// EphemeralStorageGiB is the size of the volume that pods' ephemeral storage is on. 0: it is not known.
	EphemeralStorageGiB int64
	// UserDataBytes is the size of the user data before base64.
	UserDataBytes int
	// JoinsByToken says that the user data has a bootstrap token of kubeadm, which expires a day
	// after it was created, unless it was created with another lifetime.
	JoinsByToken bool
	// Gaps are what the version lacks for its consumers.
	Gaps []Gap
}

// Inspect says what a version comes to.
func Inspect(contents launchtemplate.Contents, facts Facts) Resolved {
	resolved := Resolved{
		ImageID: contents.ImageID, RootDeviceName: facts.RootDeviceName,
		InstanceType: contents.InstanceType, Requirements: contents.Requirements, Market: cmp.Or(contents.Market, OnDemand),
		SecurityGroups: slices.Concat(contents.SecurityGroupIDs, contents.SecurityGroupNames), SubnetIDs: contents.SubnetIDs,
		InstanceProfile: contents.InstanceProfile, UserDataBytes: len(contents.UserData), JoinsByToken: joinsByToken(contents.UserData),
	}
	if parameter, is := strings.CutPrefix(contents.ImageID, ParameterPrefix); is {
		resolved.ImageID, resolved.ImageParameter = "", parameter
	}
	if facts.InstanceType != nil {
		resolved.Architecture = facts.InstanceType.Architecture()
	}
	if image := facts.Image; image != nil {
		resolved.ImageID, resolved.Architecture, resolved.OperatingSystem, resolved.RootDeviceName = image.ID, image.Architecture, "linux", image.RootDeviceName
		if image.Windows {
			resolved.OperatingSystem = "windows"
		}
	}
	for _, subnet := range facts.Subnets {
		resolved.Zones = append(resolved.Zones, subnet.Zone)
	}
	if contents.AvailabilityZone != "" {
		resolved.Zones = append(resolved.Zones, contents.AvailabilityZone)
	}
	slices.Sort(resolved.Zones)
	resolved.Zones = slices.Compact(resolved.Zones)
	resolved.EphemeralStorageGiB = ephemeralStorage(contents.Volumes, facts.Image, resolved.RootDeviceName)
	resolved.Gaps = gaps(&contents, &facts)
	return resolved
}

// ephemeralStorage returns the size of the volume that has containers and their logs: the root
// device, except for Bottlerocket, which has a volume for them.
func ephemeralStorage(volumes []launchtemplate.Volume, image *discovery.Image, device string) int64 {
	size := int32(0)
	if image != nil {
		if family, known := userdata.FamilyOfImage(image.Name); known && family == userdata.FamilyBottlerocket {
			device = bottlerocketData
		}
		size = image.VolumeSizesGiB[device]
	}
	for _, volume := range volumes {
		switch {
		case volume.DeviceName != device:
		case volume.SizeGiB == 0 && volume.SnapshotID != "":
			return 0 // as large as the snapshot
		default:
			size = cmp.Or(volume.SizeGiB, size)
		}
	}
	return int64(size)
}

// bootstrapToken as kubeadm and kube-apiserver write it (Kubernetes: "Authenticating with Bootstrap Tokens").
var bootstrapToken = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)

// joinsByToken finds a token in plain user data. It does not search compressed data.
func joinsByToken(userData []byte) bool {
	return bytes.Contains(userData, []byte("kubeadm")) && bootstrapToken.Match(userData)
}
