package ec2

import (
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// getLaunchTemplateData writes down an instance as launch template data (API reference,
// GetLaunchTemplateData).
func getLaunchTemplateData(c *sim.Call, in *awsec2.GetLaunchTemplateDataInput) (*awsec2.GetLaunchTemplateDataOutput, error) {
	s := stateOf(c.Region)
	if val(in.InstanceId) == "" {
		return nil, missingParameter("InstanceId")
	}
	found, err := selectByID(instanceID, s.instances.VisibleAll(), instance.id, []string{*in.InstanceId})
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	data := dataOf(s, found[0])
	return &awsec2.GetLaunchTemplateDataOutput{LaunchTemplateData: &data}, nil
}

func dataOf(s *state, i instance) types.ResponseLaunchTemplateData {
	api := i.api
	data := types.ResponseLaunchTemplateData{
		ImageId: api.ImageId, InstanceType: api.InstanceType, KeyName: api.KeyName, KernelId: api.KernelId, RamDiskId: api.RamdiskId,
		EbsOptimized: api.EbsOptimized, UserData: optional(i.encodedData), DisableApiTermination: ptr(i.keepAlive), DisableApiStop: ptr(i.keepRunning),
		InstanceInitiatedShutdownBehavior: i.shutdown, Monitoring: &types.LaunchTemplatesMonitoring{Enabled: ptr(api.Monitoring.State == types.MonitoringStateEnabled)},
		Placement:                        ptr(shape.Convert[types.LaunchTemplatePlacement](val(api.Placement))),
		CpuOptions:                       ptr(shape.Convert[types.LaunchTemplateCpuOptions](val(api.CpuOptions))),
		EnclaveOptions:                   ptr(shape.Convert[types.LaunchTemplateEnclaveOptions](val(api.EnclaveOptions))),
		HibernationOptions:               ptr(shape.Convert[types.LaunchTemplateHibernationOptions](val(api.HibernationOptions))),
		MaintenanceOptions:               ptr(shape.Convert[types.LaunchTemplateInstanceMaintenanceOptions](val(api.MaintenanceOptions))),
		PrivateDnsNameOptions:            ptr(shape.Convert[types.LaunchTemplatePrivateDnsNameOptions](val(api.PrivateDnsNameOptions))),
		CapacityReservationSpecification: ptr(shape.Convert[types.LaunchTemplateCapacityReservationSpecificationResponse](val(api.CapacityReservationSpecification))),
		MetadataOptions:                  ptr(shape.Convert[types.LaunchTemplateInstanceMetadataOptions](val(api.MetadataOptions))),
	}
	if api.IamInstanceProfile != nil {
		data.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecification{Arn: api.IamInstanceProfile.Arn}
	}
	if api.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
		data.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptions{
			MarketType: types.MarketTypeSpot, SpotOptions: &types.LaunchTemplateSpotMarketOptions{SpotInstanceType: types.SpotInstanceTypeOneTime},
		}
	}
	for _, m := range api.BlockDeviceMappings {
		if v, ok := s.volumes.Get(val(m.Ebs.VolumeId)); ok {
			data.BlockDeviceMappings = append(data.BlockDeviceMappings, mappingOf(m, v))
		}
	}
	for _, n := range api.NetworkInterfaces {
		data.NetworkInterfaces = append(data.NetworkInterfaces, interfaceData(n))
	}
	if tags := userTags(api.Tags); len(tags) > 0 {
		data.TagSpecifications = []types.LaunchTemplateTagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: tags}}
	}
	return data
}

func mappingOf(m types.InstanceBlockDeviceMapping, v types.Volume) types.LaunchTemplateBlockDeviceMapping {
	ebs := &types.LaunchTemplateEbsBlockDevice{
		DeleteOnTermination: m.Ebs.DeleteOnTermination, Encrypted: v.Encrypted, KmsKeyId: v.KmsKeyId, SnapshotId: optional(val(v.SnapshotId)),
		VolumeSize: v.Size, VolumeType: v.VolumeType, Throughput: v.Throughput,
	}
	if volumeTypes[v.VolumeType].maxIOPS > 0 {
		ebs.Iops = v.Iops
	}
	return types.LaunchTemplateBlockDeviceMapping{DeviceName: m.DeviceName, Ebs: ebs}
}

func interfaceData(n types.InstanceNetworkInterface) types.LaunchTemplateInstanceNetworkInterfaceSpecification {
	spec := types.LaunchTemplateInstanceNetworkInterfaceSpecification{
		AssociatePublicIpAddress: ptr(n.Association != nil), DeleteOnTermination: n.Attachment.DeleteOnTermination, Description: n.Description,
		DeviceIndex: n.Attachment.DeviceIndex, NetworkCardIndex: n.Attachment.NetworkCardIndex, InterfaceType: n.InterfaceType, SubnetId: n.SubnetId,
	}
	for _, g := range n.Groups {
		spec.Groups = append(spec.Groups, val(g.GroupId))
	}
	for _, a := range n.PrivateIpAddresses {
		spec.PrivateIpAddresses = append(spec.PrivateIpAddresses, types.PrivateIpAddressSpecification{Primary: a.Primary, PrivateIpAddress: a.PrivateIpAddress})
	}
	return spec
}

// userTags leaves out what AWS itself set.
func userTags(tags []types.Tag) []types.Tag {
	var own []types.Tag
	for _, tag := range tags {
		if !strings.HasPrefix(val(tag.Key), reservedTagPrefix) {
			own = append(own, tag)
		}
	}
	return own
}
