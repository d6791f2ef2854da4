package ec2

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// dataRules lists the rules of RunInstances that depend only on the parameters, and on the image
// and the instance type if those are known. A launch stops at the first that fails; a launch
// template's warning lists all.
var dataRules = []func(*launch) error{
	ruleEnums, ruleUserData, ruleArchitecture, ruleInterfacesOrGroups, ruleMarket,
	ruleReservation, ruleCPU, ruleCredits, ruleEnclaveAndHibernation, rulePlacement,
	ruleMetadata, ruleTags, ruleInterfaces, ruleSecondaryInterfaces,
	ruleBlockDevices, ruleTemplateVolumes,
}

func ruleEnums(l *launch) error {
	return checkEnums(l.in, "RunInstances")
}

func ruleUserData(l *launch) error {
	raw, err := decodeUserData(val(l.in.UserData), "InvalidParameterValue")
	if err != nil {
		return err
	}
	l.userData = string(raw)
	return nil
}

// ruleArchitecture: an image runs on types that have its architecture.
func ruleArchitecture(l *launch) error {
	if l.image == nil || l.kind == nil {
		return nil
	}
	if slices.Contains(l.kind.Architectures, string(l.image.Architecture)) {
		return nil
	}
	offered := ""
	if len(l.kind.Architectures) > 0 {
		// i386 comes before x86_64, and AWS names the latter
		offered = l.kind.Architectures[len(l.kind.Architectures)-1]
	}
	return sim.Errorf("InvalidParameterValue",
		"The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. "+
			"Specify an instance type and an AMI that have matching architectures, and try again. "+
			"You can use 'describe-instance-types' or 'describe-images' to discover the architecture of the instance type or AMI.",
		offered, l.image.Architecture)
}

// ruleInterfacesOrGroups: with network interfaces, groups, subnet and addresses belong to them
// (SDK, RequestLaunchTemplateData. SecurityGroupIds; RunInstancesInput.SubnetId).
func ruleInterfacesOrGroups(l *launch) error {
	if len(l.in.NetworkInterfaces) == 0 {
		return nil
	}
	what := ""
	switch {
	case len(l.in.SecurityGroupIds)+len(l.in.SecurityGroups) > 0:
		what = "security groups"
	case val(l.in.SubnetId) != "":
		what = "subnet ID"
	case val(l.in.PrivateIpAddress) != "":
		what = "private IP address"
	default:
		return nil
	}
	return invalidCombination("Network interfaces and an instance-level %s may not be specified on the same request", what)
}

// ruleMarket holds the rules of Spot options (SDK, SpotMarketOptions and InstanceMarketOptionsRequest).
func ruleMarket(l *launch) error {
	market := l.in.InstanceMarketOptions
	if market == nil {
		return nil
	}
	if market.SpotOptions != nil && market.MarketType != types.MarketTypeSpot {
		return invalidCombination("SpotOptions may only be specified with the market type spot.")
	}
	reserved := market.MarketType == types.MarketTypeCapacityBlock || market.MarketType == types.MarketTypeInterruptibleCapacityReservation
	if reserved && val(val(l.in.CapacityReservationSpecification).CapacityReservationTarget) == (types.CapacityReservationTarget{}) {
		return invalidCombination("The market type %s requires a target capacity reservation.", market.MarketType)
	}
	if market.MarketType != types.MarketTypeSpot {
		return nil
	}
	if l.kind != nil && !slices.Contains(l.kind.UsageClasses, "spot") {
		return sim.Errorf("Unsupported", "The instance type %s is not supported for Spot Instances.", l.kind.Name)
	}
	return checkSpotOptions(val(market.SpotOptions))
}

func checkSpotOptions(o types.SpotMarketOptions) error {
	oneTime := o.SpotInstanceType != types.SpotInstanceTypePersistent
	if o.BlockDurationMinutes != nil {
		return sim.Errorf("Unsupported", "Spot Instances with a defined duration are no longer available.")
	}
	if o.ValidUntil != nil && oneTime {
		return invalidCombination("ValidUntil may only be specified for persistent Spot requests.")
	}
	if oneTime && (o.InstanceInterruptionBehavior == types.InstanceInterruptionBehaviorStop || o.InstanceInterruptionBehavior == types.InstanceInterruptionBehaviorHibernate) {
		return invalidCombination("The instance interruption behavior '%s' is only supported for persistent Spot requests.", o.InstanceInterruptionBehavior)
	}
	if val(o.MaxPrice) != "" {
		// SDK, SpotMarketOptions.MaxPrice: below USD 0.001 the request fails with InvalidParameterValue.
		if price, err := strconv.ParseFloat(*o.MaxPrice, 64); err != nil || price < 0.001 {
			return sim.Errorf("InvalidParameterValue", "Invalid value '%s' for SpotPrice. The minimum value is 0.001.", *o.MaxPrice)
		}
	}
	return nil
}

// ruleReservation: a reservation is named by id or by resource group, not for Spot, and not against
// a preference for none.
func ruleReservation(l *launch) error {
	spec := val(l.in.CapacityReservationSpecification)
	target := val(spec.CapacityReservationTarget)
	if target == (types.CapacityReservationTarget{}) {
		return nil
	}
	switch {
	case val(target.CapacityReservationId) != "" && val(target.CapacityReservationResourceGroupArn) != "":
		return invalidCombination("You may specify either CapacityReservationId or CapacityReservationResourceGroupArn, but not both.")
	case l.spot():
		return invalidCombination("A capacity reservation can't be used with Spot Instances.")
	case spec.CapacityReservationPreference == types.CapacityReservationPreferenceNone || spec.CapacityReservationPreference == types.CapacityReservationPreferenceOpen:
		return invalidCombination("CapacityReservationPreference '%s' can't be specified together with a CapacityReservationTarget.", spec.CapacityReservationPreference)
	}
	if _, exists := l.reserved(); val(target.CapacityReservationId) != "" && !exists {
		return reservationID.missing(*target.CapacityReservationId)
	}
	return nil
}

// ruleCPU holds the rules of CPU options (User Guide, "Rules for specifying CPU options for an
// Amazon EC2 instance").
func ruleCPU(l *launch) error {
	o := l.in.CpuOptions
	if o == nil || l.kind == nil {
		return nil
	}
	if (o.CoreCount == nil) != (o.ThreadsPerCore == nil) {
		return sim.Errorf("MissingParameter", "Both CoreCount and ThreadsPerCore must be specified in the CPU options.")
	}
	if o.CoreCount != nil {
		if l.kind.BareMetal {
			return sim.Errorf("Unsupported", "CPU options are not supported for the bare metal instance type %s.", l.kind.Name)
		}
		if *o.ThreadsPerCore < 1 || *o.ThreadsPerCore > max(l.kind.ThreadsPerCore, 1) {
			return invalidValue("ThreadsPerCore", *o.ThreadsPerCore, "It is not supported by the instance type "+l.kind.Name+".")
		}
		if *o.CoreCount < 1 || (l.kind.Cores > 0 && *o.CoreCount > l.kind.Cores) {
			return invalidValue("CoreCount", *o.CoreCount, "It is not supported by the instance type "+l.kind.Name+".")
		}
	}
	family := familyOf(l.kind.Name)
	if o.AmdSevSnp == types.AmdSevSnpSpecificationEnabled && !slices.Contains([]string{"m6a", "r6a", "c6a"}, family) {
		return sim.Errorf("Unsupported", "AMD SEV-SNP is not supported for the instance type %s.", l.kind.Name)
	}
	if o.NestedVirtualization == types.NestedVirtualizationSpecificationEnabled && !slices.Contains([]string{"c8i", "m8i", "r8i", "c8i-flex", "m8i-flex", "r8i-flex"}, family) {
		return sim.Errorf("Unsupported", "Nested virtualization is not supported for the instance type %s.", l.kind.Name)
	}
	return nil
}

func familyOf(instanceType string) string {
	family, _, _ := strings.Cut(instanceType, ".")
	return family
}

// ruleCredits: CPU credits are for burstable types (SDK,
// RequestLaunchTemplateData.CreditSpecification: "valid only for T instances").
func ruleCredits(l *launch) error {
	credits := val(val(l.in.CreditSpecification).CpuCredits)
	if credits == "" {
		return nil
	}
	if credits != "standard" && credits != "unlimited" {
		return sim.Errorf("InvalidCpuCredits", "The specified CpuCredit value '%s' is invalid. Valid values are standard and unlimited.", credits)
	}
	if l.kind != nil && !l.kind.Burstable {
		return sim.Errorf("InstanceCreditSpecification.NotSupported", "The CreditSpecification is not supported for the instance type %s.", l.kind.Name)
	}
	return nil
}

// ruleEnclaveAndHibernation: one excludes the other (SDK,
// RequestLaunchTemplateData.EnclaveOptions), and both need a type that can do it. Hibernation also
// needs an encrypted root volume (User Guide, "Prerequisites for EC2 instance hibernation").
func ruleEnclaveAndHibernation(l *launch) error {
	enclave := val(val(l.in.EnclaveOptions).Enabled)
	hibernation := val(val(l.in.HibernationOptions).Configured)
	if enclave && hibernation {
		return invalidCombination("You can't enable AWS Nitro Enclaves and hibernation on the same instance.")
	}
	if l.kind != nil && enclave && !l.kind.NitroEnclaves {
		return sim.Errorf("Unsupported", "The instance type %s does not support AWS Nitro Enclaves.", l.kind.Name)
	}
	if !hibernation {
		return nil
	}
	if l.kind != nil && !l.kind.Hibernation {
		return sim.Errorf("UnsupportedHibernationConfiguration", "Hibernation is not supported for the instance type %s.", l.kind.Name)
	}
	if l.spot() && val(val(l.in.InstanceMarketOptions).SpotOptions).SpotInstanceType != types.SpotInstanceTypePersistent {
		return sim.Errorf("UnsupportedHibernationConfiguration", "Hibernation requires a persistent Spot request.")
	}
	if l.image != nil && !rootEncrypted(l) {
		return sim.Errorf("UnsupportedHibernationConfiguration", "Hibernation requires an encrypted root volume.")
	}
	return nil
}

// mostHibernatedMemory bounds the memory of an instance that can hibernate, in MiB (User Guide,
// "Prerequisites for EC2 instance hibernation": less than 150 GiB on Linux).
const mostHibernatedMemory = 150 * 1024

// roomToHibernate refuses instances whose memory EC2 could not write to their root volume (User
// Guide, "Prerequisites for EC2 instance hibernation", which demands a root volume "large enough to
// store the RAM contents"). That EC2 refuses the launch for the size is an inference from the error
// code, which is for "parameter values [that] do not meet the prerequisites"; the words are one
// too.
func roomToHibernate(l *launch) error {
	if !val(val(l.in.HibernationOptions).Configured) {
		return nil
	}
	if l.kind.MemoryMiB >= mostHibernatedMemory {
		return sim.Errorf("UnsupportedHibernationConfiguration", "Hibernation is not supported for instances with %d MiB of memory.", l.kind.MemoryMiB)
	}
	for _, v := range l.volumes {
		if v.device == val(l.image.RootDeviceName) && int64(val(v.ebs.VolumeSize))*1024 < l.kind.MemoryMiB {
			return sim.Errorf("UnsupportedHibernationConfiguration", "The root volume of %d GiB is too small to store %d MiB of memory.", val(v.ebs.VolumeSize), l.kind.MemoryMiB)
		}
	}
	return nil
}

func rootEncrypted(l *launch) bool {
	encrypted := false
	for _, mappings := range [][]types.BlockDeviceMapping{l.image.BlockDeviceMappings, l.in.BlockDeviceMappings} {
		for _, m := range mappings {
			if val(m.DeviceName) == val(l.image.RootDeviceName) && m.Ebs != nil && m.Ebs.Encrypted != nil {
				encrypted = *m.Ebs.Encrypted
			}
		}
	}
	return encrypted
}

// rulePlacement holds the exclusions of the placement (SDK, Placement).
func rulePlacement(l *launch) error {
	p := val(l.in.Placement)
	switch {
	case val(p.AvailabilityZone) != "" && val(p.AvailabilityZoneId) != "":
		return invalidCombination("Either AvailabilityZone or AvailabilityZoneId can be specified, but not both.")
	case val(p.GroupName) != "" && val(p.GroupId) != "":
		return invalidCombination("Either the placement group name or the placement group ID can be specified, but not both.")
	case p.PartitionNumber != nil && val(p.GroupName) == "" && val(p.GroupId) == "":
		return invalidCombination("A partition number requires a placement group.")
	case val(p.SpreadDomain) != "":
		return sim.Errorf("InvalidParameterValue", "The spread domain is reserved for future use.")
	}
	return checkHost(p)
}

// checkHost holds the rules of Dedicated Hosts (SDK, Placement).
func checkHost(p types.Placement) error {
	switch {
	case val(p.HostResourceGroupArn) != "" && (val(p.HostId) != "" || (p.Tenancy != "" && p.Tenancy != types.TenancyHost)):
		return invalidCombination("With a host resource group, omit the host and set the tenancy to host or omit it.")
	case (val(p.HostId) != "" || val(p.Affinity) != "") && p.Tenancy != types.TenancyHost:
		return invalidCombination("A Dedicated Host and host affinity require the tenancy host.")
	case val(p.HostId) != "":
		// The simulation has no Dedicated Hosts, so no id can name one.
		return sim.Errorf("InvalidHostID.NotFound", "The Dedicated Host ID '%s' does not exist", *p.HostId)
	}
	return nil
}

// ruleMetadata holds the range of the hop limit (SDK, InstanceMetadataOptionsRequest) and what
// instance tags must look like to be shown there.
func ruleMetadata(l *launch) error {
	o := l.in.MetadataOptions
	if o == nil {
		return nil
	}
	if limit := o.HttpPutResponseHopLimit; limit != nil && (*limit < 1 || *limit > 64) {
		return invalidValue("HttpPutResponseHopLimit", *limit, "Expecting a value between 1 and 64.")
	}
	if o.InstanceMetadataTags == types.InstanceMetadataTagsStateEnabled {
		return checkMetadataTagKeys(l.tags(types.ResourceTypeInstance))
	}
	return nil
}

// ruleTags: the tags of the request are good and, for a launch, tag only what the launch makes
// (SDK, LaunchTemplateTagSpecificationRequest.ResourceType: "if the instance does not include the
// resource type that you specify, the instance launch fails").
func ruleTags(l *launch) error {
	if _, err := tagsFor(l.in.TagSpecifications, types.ResourceTypeInstance, templateTaggable...); err != nil {
		return err
	}
	if !l.stored && !l.spot() && len(l.tags(types.ResourceTypeSpotInstancesRequest)) > 0 {
		// Code and words: https://github.com/aws/karpenter-provider-aws/issues/5850.
		return sim.Errorf("InvalidParameterValue", "You cannot specify tags for Spot instances requests if there are no Spot instances requests being created by the request.")
	}
	return checkTagCount(l.tags(types.ResourceTypeInstance))
}

// checkPlacement checks the placement group, which must exist (error codes, InvalidPlacementGroup.Unknown).
func checkPlacement(l *launch) error {
	p := val(l.in.Placement)
	wanted := val(p.GroupName) + val(p.GroupId)
	if wanted == "" {
		return nil
	}
	for _, group := range l.state.placements.All() {
		if val(group.GroupName) != wanted && val(group.GroupId) != wanted {
			continue
		}
		if p.PartitionNumber != nil && group.Strategy != types.PlacementStrategyPartition {
			return invalidCombination("The partition number is only valid for placement groups with the partition strategy.")
		}
		if number := p.PartitionNumber; number != nil && (*number < 1 || *number > val(group.PartitionCount)) {
			return invalidValue("PartitionNumber", *number, fmt.Sprintf("The placement group has %d partitions.", val(group.PartitionCount)))
		}
		if len(l.kind.PlacementGroupStrategies) > 0 && !containsString(l.kind.PlacementGroupStrategies, string(group.Strategy)) {
			return invalidCombination("The instance type %s is not supported in a placement group with the strategy %s.", l.kind.Name, group.Strategy)
		}
		return nil
	}
	return sim.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", wanted)
}
