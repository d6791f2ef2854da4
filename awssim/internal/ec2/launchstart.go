package ec2

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
)

// start creates the instances; capacity.roomFor must have found room for them.
func (l *launch) start(count int, clientToken, reservation string) ([]Instance, error) {
	if reservation == "" {
		reservation = l.state.kernel.NewID("r-", 17)
	}
	started := make([]Instance, 0, count)
	for index := range count {
		i, err := l.makeInstance(index, reservation, clientToken)
		if err != nil {
			return nil, err
		}
		l.state.instances.store(i)
		l.state.instances.afterPending(i)
		started = append(started, i.public())
	}
	return started, nil
}

func (l *launch) makeInstance(index int, reservation, clientToken string) (instance, error) {
	s, now := l.state, l.state.kernel.Now()
	id := s.kernel.NewID("i-", 17)
	api := types.Instance{
		InstanceId: ptr(id), ImageId: l.image.ImageId, InstanceType: l.in.InstanceType, AmiLaunchIndex: count32(index),
		LaunchTime: ptr(now.Truncate(time.Second)), State: instanceState(types.InstanceStateNamePending), Architecture: l.image.Architecture,
		RootDeviceName: l.image.RootDeviceName, RootDeviceType: l.image.RootDeviceType, VirtualizationType: l.image.VirtualizationType,
		Platform: l.image.Platform, PlatformDetails: l.image.PlatformDetails, UsageOperation: l.image.UsageOperation, UsageOperationUpdateTime: ptr(now),
		// EC2 says xen for Nitro too (SDK, Instance.Hypervisor)
		BootMode: l.image.BootMode, EnaSupport: l.image.EnaSupport, Hypervisor: types.HypervisorTypeXen,
		KeyName: optional(val(l.in.KeyName)), KernelId: l.in.KernelId, RamdiskId: l.in.RamdiskId, IamInstanceProfile: l.profile,
		ClientToken: ptr(clientToken), EbsOptimized: ptr(val(l.in.EbsOptimized)), SourceDestCheck: ptr(true), StateTransitionReason: ptr(""),
		Monitoring: &types.Monitoring{State: types.MonitoringStateDisabled},
	}
	if val(val(l.in.Monitoring).Enabled) {
		api.Monitoring.State = types.MonitoringStatePending
	}
	if l.spot() {
		api.InstanceLifecycle = types.InstanceLifecycleTypeSpot
		api.SpotInstanceRequestId = ptr(s.kernel.NewID("sir-", 8))
	}
	if reservation, named := l.reserved(); named {
		api.CapacityReservationId = ptr(reservation.ID)
		if reservation.Block {
			api.InstanceLifecycle = types.InstanceLifecycleTypeCapacityBlock
		}
	}
	l.setOptions(&api)
	if err := l.addInterfaces(&api); err != nil {
		return instance{}, err
	}
	l.addVolumes(&api)
	api.Tags = mergeTags(mergeTags(l.tags(types.ResourceTypeInstance), templateTags(l.source)), l.systemTags)
	return instance{
		api: api, owner: l.state.region.Account.ID, reservation: reservation, userData: l.userData, encodedData: val(l.in.UserData), hasPublic: api.PublicIpAddress != nil,
		keepAlive: val(l.in.DisableApiTermination), keepRunning: val(l.in.DisableApiStop), shutdown: l.in.InstanceInitiatedShutdownBehavior,
	}, nil
}

// templateTags returns what EC2 itself puts on an instance from a launch template (User Guide,
// "Launch EC2 instances using a launch template").
func templateTags(source *LaunchTemplateVersion) []types.Tag {
	if source == nil {
		return nil
	}
	return tagList(map[string]string{
		"aws:ec2launchtemplate:id": source.ID, "aws:ec2launchtemplate:version": strconv.FormatInt(source.Number, 10),
	})
}

// setOptions fills in the options with EC2's defaults for what was not asked for.
func (l *launch) setOptions(api *types.Instance) {
	api.Placement = &types.Placement{Tenancy: types.TenancyDefault}
	if l.in.Placement != nil {
		shape.Overlay(api.Placement, *l.in.Placement)
	}
	api.Placement.AvailabilityZone, api.Placement.AvailabilityZoneId = l.subnet.AvailabilityZone, l.subnet.AvailabilityZoneId
	api.CpuOptions = &types.CpuOptions{CoreCount: optional(l.kind.Cores), ThreadsPerCore: optional(l.kind.ThreadsPerCore)}
	if l.in.CpuOptions != nil {
		shape.Overlay(api.CpuOptions, shape.Convert[types.CpuOptions](*l.in.CpuOptions))
	}
	api.EnclaveOptions = &types.EnclaveOptions{Enabled: ptr(val(val(l.in.EnclaveOptions).Enabled))}
	api.HibernationOptions = &types.HibernationOptions{Configured: ptr(val(val(l.in.HibernationOptions).Configured))}
	api.MaintenanceOptions = &types.InstanceMaintenanceOptions{AutoRecovery: types.InstanceAutoRecoveryStateDefault}
	if l.in.MaintenanceOptions != nil && l.in.MaintenanceOptions.AutoRecovery != "" {
		api.MaintenanceOptions.AutoRecovery = l.in.MaintenanceOptions.AutoRecovery
	}
	api.CapacityReservationSpecification = &types.CapacityReservationSpecificationResponse{CapacityReservationPreference: types.CapacityReservationPreferenceOpen}
	if l.in.CapacityReservationSpecification != nil {
		shape.Overlay(api.CapacityReservationSpecification, shape.Convert[types.CapacityReservationSpecificationResponse](*l.in.CapacityReservationSpecification))
	}
	api.NetworkPerformanceOptions = &types.InstanceNetworkPerformanceOptions{BandwidthWeighting: types.InstanceBandwidthWeightingDefault}
	if l.in.NetworkPerformanceOptions != nil && l.in.NetworkPerformanceOptions.BandwidthWeighting != "" {
		api.NetworkPerformanceOptions.BandwidthWeighting = l.in.NetworkPerformanceOptions.BandwidthWeighting
	}
	api.Licenses = shape.Convert[[]types.LicenseConfiguration](l.in.LicenseSpecifications)
	api.Operator = operatorOf(val(val(l.in.Operator).Principal))
	api.PrivateDnsNameOptions = &types.PrivateDnsNameOptionsResponse{
		HostnameType: types.HostnameTypeIpName, EnableResourceNameDnsARecord: ptr(false), EnableResourceNameDnsAAAARecord: ptr(false),
	}
	if l.subnet.PrivateDnsNameOptionsOnLaunch != nil {
		shape.Overlay(api.PrivateDnsNameOptions, shape.Convert[types.PrivateDnsNameOptionsResponse](*l.subnet.PrivateDnsNameOptionsOnLaunch))
	}
	if l.in.PrivateDnsNameOptions != nil {
		shape.Overlay(api.PrivateDnsNameOptions, shape.Convert[types.PrivateDnsNameOptionsResponse](*l.in.PrivateDnsNameOptions))
	}
	l.setMetadataOptions(api)
}

// setMetadataOptions: IMDSv2 is required by default, with a hop limit of 2, where the image says so
// (User Guide, "Configure the Instance Metadata Service options", order of precedence).
func (l *launch) setMetadataOptions(api *types.Instance) {
	api.MetadataOptions = &types.InstanceMetadataOptionsResponse{
		HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpTokens: types.HttpTokensStateOptional, HttpPutResponseHopLimit: ptr(int32(1)),
		HttpProtocolIpv6: types.InstanceMetadataProtocolStateDisabled, InstanceMetadataTags: types.InstanceMetadataTagsStateDisabled,
		State: types.InstanceMetadataOptionsStatePending,
	}
	if l.image.ImdsSupport == types.ImdsSupportValuesV20 {
		api.MetadataOptions.HttpTokens, api.MetadataOptions.HttpPutResponseHopLimit = types.HttpTokensStateRequired, ptr(int32(2))
	}
	if l.in.MetadataOptions != nil {
		shape.Overlay(api.MetadataOptions, shape.Convert[types.InstanceMetadataOptionsResponse](*l.in.MetadataOptions))
	}
}

func (l *launch) addInterfaces(api *types.Instance) error {
	s := l.state
	for _, plan := range l.interfaces {
		network, err := s.interfaces.forLaunch(plan, val(api.LaunchTime), val(api.InstanceId), api.PrivateDnsNameOptions.HostnameType)
		if err != nil {
			return err
		}
		api.NetworkInterfaces = append(api.NetworkInterfaces, network)
	}
	primary := api.NetworkInterfaces[0]
	api.SubnetId, api.VpcId = primary.SubnetId, primary.VpcId
	api.PrivateIpAddress, api.PrivateDnsName = primary.PrivateIpAddress, primary.PrivateDnsName
	*api = instance{api: *api}.showing(api.NetworkInterfaces).api
	return nil
}

func (l *launch) addVolumes(api *types.Instance) {
	s, now := l.state, val(api.LaunchTime)
	for _, plan := range l.volumes {
		id := s.kernel.NewID("vol-", 17)
		s.volumes.Put(id, types.Volume{
			VolumeId: ptr(id), VolumeType: plan.ebs.VolumeType, Size: plan.ebs.VolumeSize, Iops: volumeIOPS(plan.ebs), Throughput: plan.ebs.Throughput,
			Encrypted: plan.ebs.Encrypted, KmsKeyId: plan.ebs.KmsKeyId, SnapshotId: ptr(val(plan.ebs.SnapshotId)), CreateTime: ptr(now),
			AvailabilityZone: l.subnet.AvailabilityZone, AvailabilityZoneId: l.subnet.AvailabilityZoneId, State: types.VolumeStateInUse,
			MultiAttachEnabled: ptr(false), VolumeInitializationRate: plan.ebs.VolumeInitializationRate, Operator: operatorOf(""),
			Attachments: []types.VolumeAttachment{{
				VolumeId: ptr(id), InstanceId: api.InstanceId, Device: ptr(plan.device), AttachTime: ptr(now), EbsCardIndex: plan.ebs.EbsCardIndex,
				DeleteOnTermination: plan.ebs.DeleteOnTermination, State: types.VolumeAttachmentStateAttached,
			}},
			Tags: l.tags(types.ResourceTypeVolume),
		})
		api.BlockDeviceMappings = append(api.BlockDeviceMappings, types.InstanceBlockDeviceMapping{
			DeviceName: ptr(plan.device),
			Ebs: &types.EbsInstanceBlockDevice{
				VolumeId: ptr(id), AttachTime: ptr(now), DeleteOnTermination: plan.ebs.DeleteOnTermination, Status: types.AttachmentStatusAttached,
				EbsCardIndex: plan.ebs.EbsCardIndex,
			},
		})
	}
}
