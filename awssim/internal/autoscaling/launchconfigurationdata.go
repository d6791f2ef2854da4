package autoscaling

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
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

// checkConfigured refuses what needs a subnet where a group names none (SDK
// CreateLaunchConfigurationInput.AssociatePublicIpAddress and PlacementTenancy). The first message
// is that of ansible/ansible#34794, the second an inference. A group is not refused for launches
// that EC2 would refuse: these fail (UG ts-as-instancelaunchfailure).
func (s *service) checkConfigured(n *settings) error {
	l, err := s.findConfiguration(&n.config.launchConfiguration)
	if err != nil {
		return err
	}
	switch {
	case len(n.subnets) > 0:
	case l.AssociatePublicIpAddress != nil:
		return invalid("AssociatePublicIpAddress field can not be specified without a subnet id")
	case l.PlacementTenancy != nil:
		return invalid("PlacementTenancy field can not be specified without a subnet id")
	}
	return nil
}

// fromInstance returns the request for a group that names an instance as one for a launch
// configuration of that instance, which has the group's name, in the instance's subnet unless the
// request names a place (UG create-asg-from-instance). The launch configuration is new, and nil for
// a group that names no instance.
func (s *service) fromInstance(c *sim.Call, in *autoscaling.CreateAutoScalingGroupInput) (*autoscaling.CreateAutoScalingGroupInput,
	*types.LaunchConfiguration, error) {
	if in.InstanceId == nil {
		return in, nil, nil
	}
	l, err := s.newConfiguration(c, &autoscaling.CreateLaunchConfigurationInput{LaunchConfigurationName: in.AutoScalingGroupName, InstanceId: in.InstanceId})
	if err != nil {
		return nil, nil, err
	}
	configured := *in
	if in.VPCZoneIdentifier == nil && len(in.AvailabilityZones)+len(in.AvailabilityZoneIds) == 0 {
		i, _ := ec2.LookupInstance(s.region, *in.InstanceId)
		configured.VPCZoneIdentifier = i.SubnetId
	}
	configured.LaunchConfigurationName, configured.InstanceId = l.LaunchConfigurationName, nil
	return &configured, l, nil
}
