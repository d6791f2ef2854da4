package autoscaling

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
)

// launchData returns the launch template data that launches what a launch configuration does.
func launchData(l *types.LaunchConfiguration) ec2types.RequestLaunchTemplateData {
	data := ec2types.RequestLaunchTemplateData{
		ImageId: l.ImageId, InstanceType: ec2types.InstanceType(val(l.InstanceType)), KeyName: optional(val(l.KeyName)),
		KernelId: optional(val(l.KernelId)), RamDiskId: optional(val(l.RamdiskId)), UserData: optional(val(l.UserData)), EbsOptimized: l.EbsOptimized,
		Monitoring: &ec2types.LaunchTemplatesMonitoringRequest{Enabled: val(l.InstanceMonitoring).Enabled},
	}
	groups := l.SecurityGroups
	if len(groups) > 0 && !isGroupID(groups[0]) {
		data.SecurityGroups, groups = groups, nil
	}
	if l.AssociatePublicIpAddress == nil {
		data.SecurityGroupIds = groups
	} else {
		data.NetworkInterfaces = []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			{DeviceIndex: ptr(int32(0)), AssociatePublicIpAddress: l.AssociatePublicIpAddress, Groups: groups},
		}
	}
	if profile := val(l.IamInstanceProfile); strings.HasPrefix(profile, "arn:") {
		data.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Arn: &profile}
	} else if profile != "" {
		data.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &profile}
	}
	if l.SpotPrice != nil {
		data.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{
			MarketType: ec2types.MarketTypeSpot, SpotOptions: &ec2types.LaunchTemplateSpotMarketOptionsRequest{MaxPrice: l.SpotPrice},
		}
	}
	if l.PlacementTenancy != nil {
		data.Placement = &ec2types.LaunchTemplatePlacementRequest{Tenancy: ec2types.Tenancy(*l.PlacementTenancy)}
	}
	if l.MetadataOptions != nil {
		data.MetadataOptions = ptr(shape.Convert[ec2types.LaunchTemplateInstanceMetadataOptionsRequest](*l.MetadataOptions))
	}
	for _, m := range l.BlockDeviceMappings {
		data.BlockDeviceMappings = append(data.BlockDeviceMappings, blockDevice(m))
	}
	return data
}

// blockDevice differs from EC2's in that NoDevice is a flag, and that a volume is deleted with its
// instance unless the request says otherwise (SDK Ebs.DeleteOnTermination).
func blockDevice(m types.BlockDeviceMapping) ec2types.LaunchTemplateBlockDeviceMappingRequest {
	device := ec2types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: m.DeviceName, VirtualName: m.VirtualName}
	if val(m.NoDevice) {
		device.NoDevice = ptr("")
	}
	if e := m.Ebs; e != nil {
		device.Ebs = &ec2types.LaunchTemplateEbsBlockDeviceRequest{
			DeleteOnTermination: ptr(valOr(e.DeleteOnTermination, true)), Encrypted: e.Encrypted, Iops: e.Iops, SnapshotId: e.SnapshotId,
			Throughput: e.Throughput, VolumeSize: e.VolumeSize, VolumeType: ec2types.VolumeType(val(e.VolumeType)),
		}
	}
	return device
}

func isGroupID(group string) bool { return strings.HasPrefix(group, "sg-") }
