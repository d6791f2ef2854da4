package launchtemplate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/optional"
)

// metadataOptions returns the metadata options in EC2's form, or those in CAPA's form. If the spec
// has neither, it only requires session tokens, if they should be required.
func metadataOptions(spec *infrav1.AWSLaunchConfigSpec, tokensRequired bool) *ec2types.LaunchTemplateInstanceMetadataOptionsRequest {
	if options := spec.MetadataOptions; options != nil {
		return &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpEndpoint:            ec2types.LaunchTemplateInstanceMetadataEndpointState(options.HTTPEndpoint),
			HttpProtocolIpv6:        ec2types.LaunchTemplateInstanceMetadataProtocolIpv6(options.HTTPProtocolIPv6),
			HttpPutResponseHopLimit: options.HTTPPutResponseHopLimit,
			HttpTokens:              ec2types.LaunchTemplateHttpTokensState(cmp.Or(options.HTTPTokens, infrav1.HTTPTokensRequired)),
			InstanceMetadataTags:    ec2types.LaunchTemplateInstanceMetadataTagsState(options.InstanceMetadataTags),
		}
	}
	options := spec.InstanceMetadataOptions
	if options == nil && tokensRequired {
		return &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: ec2types.LaunchTemplateHttpTokensStateRequired}
	}
	if options == nil {
		return nil
	}
	return &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint:            ec2types.LaunchTemplateInstanceMetadataEndpointState(options.HTTPEndpoint),
		HttpProtocolIpv6:        ec2types.LaunchTemplateInstanceMetadataProtocolIpv6(options.HTTPProtocolIPv6),
		HttpPutResponseHopLimit: int32Or(options.HTTPPutResponseHopLimit),
		HttpTokens:              ec2types.LaunchTemplateHttpTokensState(options.HTTPTokens),
		InstanceMetadataTags:    ec2types.LaunchTemplateInstanceMetadataTagsState(options.InstanceMetadataTags),
	}
}

// marketOptions returns nil for On-Demand Instances, which a template without market options
// launches, unless the spec has market options in EC2's form.
func marketOptions(spec *infrav1.AWSLaunchConfigSpec) *ec2types.LaunchTemplateInstanceMarketOptionsRequest {
	if options := spec.InstanceMarketOptions; options != nil {
		return &ec2types.LaunchTemplateInstanceMarketOptionsRequest{
			MarketType: ec2types.MarketType(options.MarketType), SpotOptions: spotOptions(options.SpotOptions),
		}
	}
	switch {
	case spec.MarketType == infrav1.MarketTypeCapacityBlock:
		return &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeCapacityBlock}
	case spec.MarketType == infrav1.MarketTypeSpot || spec.SpotMarketOptions != nil:
		options := &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot}
		if spec.SpotMarketOptions != nil && awssdk.ToString(spec.SpotMarketOptions.MaxPrice) != "" {
			options.SpotOptions = &ec2types.LaunchTemplateSpotMarketOptionsRequest{MaxPrice: spec.SpotMarketOptions.MaxPrice}
		}
		return options
	}
	return nil
}

func spotOptions(options *infrav1.SpotOptions) *ec2types.LaunchTemplateSpotMarketOptionsRequest {
	if options == nil {
		return nil
	}
	request := &ec2types.LaunchTemplateSpotMarketOptionsRequest{
		InstanceInterruptionBehavior: ec2types.InstanceInterruptionBehavior(options.InstanceInterruptionBehavior),
		MaxPrice:                     optional.Text(options.MaxPrice),
		SpotInstanceType:             ec2types.SpotInstanceType(options.SpotInstanceType),
	}
	if options.ValidUntil != nil {
		request.ValidUntil = awssdk.Time(options.ValidUntil.UTC())
	}
	return request
}

func capacityReservation(spec *infrav1.AWSLaunchConfigSpec) *ec2types.LaunchTemplateCapacityReservationSpecificationRequest {
	preference := map[infrav1.CapacityReservationPreference]ec2types.CapacityReservationPreference{
		infrav1.CapacityReservationPreferenceNone: ec2types.CapacityReservationPreferenceNone,
		infrav1.CapacityReservationPreferenceOnly: ec2types.CapacityReservationPreferenceCapacityReservationsOnly,
		infrav1.CapacityReservationPreferenceOpen: ec2types.CapacityReservationPreferenceOpen,
	}[spec.CapacityReservationPreference]
	id := optional.Text(awssdk.ToString(spec.CapacityReservationID))
	group := optional.Text(spec.CapacityReservationResourceGroupARN)
	if preference == "" && id == nil && group == nil {
		return nil
	}
	specification := &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{CapacityReservationPreference: preference}
	if id != nil || group != nil {
		specification.CapacityReservationTarget = &ec2types.CapacityReservationTarget{
			CapacityReservationId: id, CapacityReservationResourceGroupArn: group,
		}
	}
	return specification
}

func privateDNSName(options *infrav1.PrivateDNSName) *ec2types.LaunchTemplatePrivateDnsNameOptionsRequest {
	if options == nil {
		return nil
	}
	request := &ec2types.LaunchTemplatePrivateDnsNameOptionsRequest{
		EnableResourceNameDnsAAAARecord: options.EnableResourceNameDNSAAAARecord,
		EnableResourceNameDnsARecord:    options.EnableResourceNameDNSARecord,
	}
	if options.HostnameType != nil {
		request.HostnameType = ec2types.HostnameType(*options.HostnameType)
	}
	return request
}

// setOptions sets what is a switch or a structure of few members.
func setOptions(data *ec2types.RequestLaunchTemplateData, spec *infrav1.LaunchConfigData) {
	data.DisableApiStop, data.DisableApiTermination, data.EbsOptimized = spec.DisableAPIStop, spec.DisableAPITermination, spec.EBSOptimized
	data.InstanceInitiatedShutdownBehavior = ec2types.ShutdownBehavior(spec.InstanceInitiatedShutdownBehavior)
	data.KernelId, data.RamDiskId = optional.Text(spec.KernelID), optional.Text(spec.RAMDiskID)
	if options := spec.CPUOptions; options != nil {
		data.CpuOptions = &ec2types.LaunchTemplateCpuOptionsRequest{
			AmdSevSnp: ec2types.AmdSevSnpSpecification(options.AMDSEVSNP), CoreCount: options.CoreCount, ThreadsPerCore: options.ThreadsPerCore,
			NestedVirtualization: ec2types.NestedVirtualizationSpecification(options.NestedVirtualization),
		}
	}
	if credits := spec.CreditSpecification; credits != nil {
		data.CreditSpecification = &ec2types.CreditSpecificationRequest{CpuCredits: &credits.CPUCredits}
	}
	if hibernation := spec.HibernationOptions; hibernation != nil {
		data.HibernationOptions = &ec2types.LaunchTemplateHibernationOptionsRequest{Configured: &hibernation.Configured}
	}
	if maintenance := spec.MaintenanceOptions; maintenance != nil {
		data.MaintenanceOptions = &ec2types.LaunchTemplateInstanceMaintenanceOptionsRequest{
			AutoRecovery: ec2types.LaunchTemplateAutoRecoveryState(maintenance.AutoRecovery),
		}
	}
	if monitoring := spec.Monitoring; monitoring != nil {
		data.Monitoring = &ec2types.LaunchTemplatesMonitoringRequest{Enabled: &monitoring.Enabled}
	}
	if performance := spec.NetworkPerformanceOptions; performance != nil {
		data.NetworkPerformanceOptions = &ec2types.LaunchTemplateNetworkPerformanceOptionsRequest{
			BandwidthWeighting: ec2types.InstanceBandwidthWeighting(performance.BandwidthWeighting),
		}
	}
}

func licenses(specifications []infrav1.LicenseSpecification) []ec2types.LaunchTemplateLicenseConfigurationRequest {
	var requests []ec2types.LaunchTemplateLicenseConfigurationRequest
	for i := range specifications {
		requests = append(requests, ec2types.LaunchTemplateLicenseConfigurationRequest{LicenseConfigurationArn: &specifications[i].LicenseConfigurationARN})
	}
	slices.SortFunc(requests, func(a, b ec2types.LaunchTemplateLicenseConfigurationRequest) int {
		return strings.Compare(*a.LicenseConfigurationArn, *b.LicenseConfigurationArn)
	})
	return requests
}

func placement(spec *infrav1.Placement) *ec2types.LaunchTemplatePlacementRequest {
	if spec == nil {
		return nil
	}
	return &ec2types.LaunchTemplatePlacementRequest{
		Affinity:         optional.Text(spec.Affinity),
		AvailabilityZone: optional.Text(spec.AvailabilityZone), AvailabilityZoneId: optional.Text(spec.AvailabilityZoneID),
		GroupId: optional.Text(spec.GroupID), GroupName: optional.Text(spec.GroupName),
		HostId: optional.Text(spec.HostID), HostResourceGroupArn: optional.Text(spec.HostResourceGroupARN),
		PartitionNumber: spec.PartitionNumber, Tenancy: ec2types.Tenancy(spec.Tenancy),
	}
}

// tagSpecifications tags instances and volumes in any case, and other resources where the spec
// names them: a launch fails on tags of a Spot request that it does not create (AWS:
// API_LaunchTemplateTagSpecificationRequest).
func tagSpecifications(tags map[string]string, own []infrav1.TagSpecification) []ec2types.LaunchTemplateTagSpecificationRequest {
	byType := map[ec2types.ResourceType]map[string]string{ec2types.ResourceTypeInstance: tags, ec2types.ResourceTypeVolume: tags}
	for _, specification := range own {
		together := map[string]string{}
		maps.Copy(together, tags)
		maps.Copy(together, specification.Tags)
		byType[ec2types.ResourceType(specification.ResourceType)] = together
	}
	var requests []ec2types.LaunchTemplateTagSpecificationRequest
	for _, resource := range slices.Sorted(maps.Keys(byType)) {
		if len(byType[resource]) > 0 {
			requests = append(requests, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: resource, Tags: tagList(byType[resource])})
		}
	}
	return requests
}
