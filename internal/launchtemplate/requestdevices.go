package launchtemplate

import (
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/optional"
)

func blockDevices(spec *infrav1.AWSLaunchConfigSpec, rootDeviceName string) []ec2types.LaunchTemplateBlockDeviceMappingRequest {
	var mappings []ec2types.LaunchTemplateBlockDeviceMappingRequest
	if spec.RootVolume != nil {
		// The image decides what its root device is called; another name would add a volume and
		// leave the root as it is.
		mappings = append(mappings, blockDevice(spec.RootVolume, rootDeviceName))
	}
	for i := range spec.NonRootVolumes {
		mappings = append(mappings, blockDevice(&spec.NonRootVolumes[i], spec.NonRootVolumes[i].DeviceName))
	}
	for i := range spec.BlockDeviceMappings {
		mappings = append(mappings, blockDeviceMapping(&spec.BlockDeviceMappings[i]))
	}
	// In one order, whatever the spec's: a client token admits no other request than the one that
	// it was first used for.
	slices.SortStableFunc(mappings, func(a, b ec2types.LaunchTemplateBlockDeviceMappingRequest) int {
		return strings.Compare(*a.DeviceName, *b.DeviceName)
	})
	return mappings
}

func blockDevice(volume *infrav1.Volume, deviceName string) ec2types.LaunchTemplateBlockDeviceMappingRequest {
	device := &ec2types.LaunchTemplateEbsBlockDeviceRequest{
		DeleteOnTermination: awssdk.Bool(true),
		VolumeSize:          int32Or(volume.Size),
		VolumeType:          ec2types.VolumeType(volume.Type),
		Iops:                int32Or(volume.IOPS),
		Encrypted:           volume.Encrypted,
		KmsKeyId:            optional.Text(volume.EncryptionKey),
	}
	if volume.Throughput != nil {
		device.Throughput = int32Or(*volume.Throughput)
	}
	if volume.EncryptionKey != "" {
		device.Encrypted = awssdk.Bool(true)
	}
	return ec2types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: &deviceName, Ebs: device}
}

func blockDeviceMapping(mapping *infrav1.BlockDeviceMapping) ec2types.LaunchTemplateBlockDeviceMappingRequest {
	request := ec2types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: &mapping.DeviceName, VirtualName: optional.Text(mapping.VirtualName)}
	if awssdk.ToBool(mapping.NoDevice) {
		// AWS: API_LaunchTemplateBlockDeviceMappingRequest, NoDevice: "specify an empty string"
		request.NoDevice = awssdk.String("")
	}
	if ebs := mapping.EBS; ebs != nil {
		request.Ebs = &ec2types.LaunchTemplateEbsBlockDeviceRequest{
			// A volume that is not deleted is paid for long after its instance is gone: keeping it
			// must be requested.
			DeleteOnTermination: awssdk.Bool(ebs.DeleteOnTermination == nil || *ebs.DeleteOnTermination),
			EbsCardIndex:        ebs.EBSCardIndex,
			Encrypted:           ebs.Encrypted,
			Iops:                ebs.IOPS,
			KmsKeyId:            optional.Text(ebs.KMSKeyID),
			SnapshotId:          optional.Text(ebs.SnapshotID),
			Throughput:          ebs.Throughput,
			VolumeSize:          ebs.VolumeSize,
			VolumeType:          ec2types.VolumeType(ebs.VolumeType),

			VolumeInitializationRate: ebs.VolumeInitializationRate,
		}
	}
	return request
}
