package ec2

import (
	"slices"
	"strconv"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// typeInfo is an instance type as EC2 describes it.
func typeInfo(w world.InstanceType) types.InstanceTypeInfo {
	info := types.InstanceTypeInfo{
		InstanceType: types.InstanceType(w.Name), CurrentGeneration: ptr(w.CurrentGeneration), FreeTierEligible: ptr(w.FreeTierEligible),
		BareMetal: ptr(w.BareMetal), BurstablePerformanceSupported: ptr(w.Burstable), HibernationSupported: ptr(w.Hibernation),
		Hypervisor: types.InstanceTypeHypervisor(w.Hypervisor), InstanceStorageSupported: ptr(len(w.InstanceStorage) > 0),
		DedicatedHostsSupported: ptr(!w.Burstable), AutoRecoverySupported: ptr(!w.BareMetal && len(w.InstanceStorage) == 0),
		NitroEnclavesSupport:     types.NitroEnclavesSupport(supported(w.NitroEnclaves)),
		SupportedRootDeviceTypes: []types.RootDeviceType{types.RootDeviceTypeEbs}, SupportedVirtualizationTypes: []types.VirtualizationType{types.VirtualizationTypeHvm},
		SupportedUsageClasses: shape.Convert[[]types.UsageClassType](w.UsageClasses), SupportedBootModes: shape.Convert[[]types.BootModeType](w.BootModes),
		VCpuInfo:   &types.VCpuInfo{DefaultVCpus: ptr(w.VCPUs), DefaultCores: optional(w.Cores), DefaultThreadsPerCore: optional(w.ThreadsPerCore)},
		MemoryInfo: &types.MemoryInfo{SizeInMiB: ptr(w.MemoryMiB)},
		ProcessorInfo: &types.ProcessorInfo{
			SupportedArchitectures: shape.Convert[[]types.ArchitectureType](w.Architectures), Manufacturer: optional(w.Processor), SustainedClockSpeedInGhz: optional(w.ClockSpeedGHz),
		},
		EbsInfo:            ebsInfo(w),
		NetworkInfo:        networkInfo(w),
		PlacementGroupInfo: &types.PlacementGroupInfo{SupportedStrategies: shape.Convert[[]types.PlacementGroupStrategy](w.PlacementGroupStrategies)},
	}
	if len(w.GPUs) > 0 {
		info.GpuInfo = gpuInfo(w.GPUs)
	}
	if len(w.Accelerators) > 0 {
		info.NeuronInfo = neuronInfo(w.Accelerators)
	}
	if len(w.InstanceStorage) > 0 {
		info.InstanceStorageInfo = storageInfo(w.InstanceStorage)
	}
	return info
}

// ebsInfo says how many volumes can be attached (AWS: EC2 "Amazon EBS volume limits for Amazon EC2 instances"): instances of the Nitro System have 28 attachments, shared with network
// interfaces and local disks, and since the seventh generation 32 or more for volumes alone. That large types do not have more is an inference. Nothing is said of others.
func ebsInfo(w world.InstanceType) *types.EbsInfo {
	info := &types.EbsInfo{
		EbsOptimizedSupport: types.EbsOptimizedSupport(w.EBSOptimized), EncryptionSupport: types.EbsEncryptionSupportSupported, NvmeSupport: types.EbsNvmeSupport(w.NVMe),
	}
	switch {
	case w.NVMe != string(types.EbsNvmeSupportRequired):
	case generation(w.Name) >= 7:
		info.AttachmentLimitType, info.MaximumEbsAttachments = types.AttachmentLimitTypeDedicated, ptr(int32(32))
	default:
		info.AttachmentLimitType, info.MaximumEbsAttachments = types.AttachmentLimitTypeShared, ptr(int32(28))
	}
	return info
}

// generation is the first number in a type's name: 7 of m7g.large.
func generation(name string) int {
	start := strings.IndexAny(name, "0123456789")
	if start < 0 {
		return 0
	}
	end := start
	for end < len(name) && name[end] >= '0' && name[end] <= '9' {
		end++
	}
	number, err := strconv.Atoi(name[start:end])
	if err != nil {
		return 0
	}
	return number
}

func supported(yes bool) string {
	if yes {
		return "supported"
	}
	return "unsupported"
}

func networkInfo(w world.InstanceType) *types.NetworkInfo {
	cards := max(w.NetworkCards, 1)
	info := &types.NetworkInfo{
		MaximumNetworkInterfaces: ptr(w.MaxENIs), Ipv4AddressesPerInterface: ptr(w.IPv4PerENI), Ipv6AddressesPerInterface: ptr(w.IPv4PerENI), Ipv6Supported: ptr(true),
		NetworkPerformance: ptr(w.NetworkPerformance), MaximumNetworkCards: ptr(cards), DefaultNetworkCardIndex: ptr(int32(0)),
		EfaSupported: ptr(w.EFA), EnaSupport: types.EnaSupport(w.ENASupport), EncryptionInTransitSupported: ptr(w.Hypervisor == "nitro" && !w.Burstable),
	}
	if w.EFA {
		info.EfaInfo = &types.EfaInfo{MaximumEfaInterfaces: ptr(max(w.MaxEFAInterfaces, 1))}
	}
	for card := range cards {
		info.NetworkCards = append(info.NetworkCards, types.NetworkCardInfo{
			NetworkCardIndex: ptr(card), NetworkPerformance: ptr(w.NetworkPerformance), MaximumNetworkInterfaces: ptr(max(w.MaxENIs/cards, 1)),
		})
	}
	return info
}

func gpuInfo(gpus []world.GPU) *types.GpuInfo {
	info := &types.GpuInfo{TotalGpuMemoryInMiB: ptr(int32(0))}
	for _, g := range gpus {
		info.Gpus = append(info.Gpus, types.GpuDeviceInfo{
			Name: ptr(g.Name), Manufacturer: ptr(g.Manufacturer), Count: ptr(g.Count), MemoryInfo: &types.GpuDeviceMemoryInfo{SizeInMiB: ptr(g.MemoryMiB)},
		})
		*info.TotalGpuMemoryInMiB += g.Count * g.MemoryMiB
	}
	return info
}

func neuronInfo(chips []world.GPU) *types.NeuronInfo {
	info := &types.NeuronInfo{TotalNeuronDeviceMemoryInMiB: ptr(int32(0))}
	for _, c := range chips {
		info.NeuronDevices = append(info.NeuronDevices, types.NeuronDeviceInfo{
			Name: ptr(c.Name), Count: ptr(c.Count), MemoryInfo: &types.NeuronDeviceMemoryInfo{SizeInMiB: ptr(c.MemoryMiB)},
		})
		*info.TotalNeuronDeviceMemoryInMiB += c.Count * c.MemoryMiB
	}
	return info
}

func storageInfo(disks []world.Disk) *types.InstanceStorageInfo {
	info := &types.InstanceStorageInfo{
		TotalSizeInGB: ptr(int64(0)), NvmeSupport: types.EphemeralNvmeSupportUnsupported, EncryptionSupport: types.InstanceStorageEncryptionSupportUnsupported,
	}
	for _, d := range disks {
		info.Disks = append(info.Disks, types.DiskInfo{Count: ptr(d.Count), SizeInGB: ptr(int64(d.SizeGB)), Type: types.DiskType(d.Type)})
		*info.TotalSizeInGB += int64(d.Count) * int64(d.SizeGB)
		if d.NVMe {
			info.NvmeSupport = types.EphemeralNvmeSupportRequired
		}
		if d.Encrypt {
			info.EncryptionSupport = types.InstanceStorageEncryptionSupportRequired
		}
	}
	return info
}

var typeFilters = filterTable[types.InstanceTypeInfo]{
	"auto-recovery-supported":         func(i types.InstanceTypeInfo) []string { return boolean(i.AutoRecoverySupported) },
	"bare-metal":                      func(i types.InstanceTypeInfo) []string { return boolean(i.BareMetal) },
	"burstable-performance-supported": func(i types.InstanceTypeInfo) []string { return boolean(i.BurstablePerformanceSupported) },
	"current-generation":              func(i types.InstanceTypeInfo) []string { return boolean(i.CurrentGeneration) },
	"dedicated-hosts-supported":       func(i types.InstanceTypeInfo) []string { return boolean(i.DedicatedHostsSupported) },
	"ebs-info.ebs-optimized-support":  func(i types.InstanceTypeInfo) []string { return enum(i.EbsInfo.EbsOptimizedSupport) },
	"ebs-info.encryption-support":     func(i types.InstanceTypeInfo) []string { return enum(i.EbsInfo.EncryptionSupport) },
	"ebs-info.nvme-support":           func(i types.InstanceTypeInfo) []string { return enum(i.EbsInfo.NvmeSupport) },
	"free-tier-eligible":              func(i types.InstanceTypeInfo) []string { return boolean(i.FreeTierEligible) },
	"hibernation-supported":           func(i types.InstanceTypeInfo) []string { return boolean(i.HibernationSupported) },
	"hypervisor":                      func(i types.InstanceTypeInfo) []string { return enum(i.Hypervisor) },
	"instance-storage-info.total-size-in-gb": func(i types.InstanceTypeInfo) []string {
		return number(val(i.InstanceStorageInfo).TotalSizeInGB)
	},
	"instance-storage-info.nvme-support": func(i types.InstanceTypeInfo) []string { return enum(val(i.InstanceStorageInfo).NvmeSupport) },
	"instance-storage-supported":         func(i types.InstanceTypeInfo) []string { return boolean(i.InstanceStorageSupported) },
	"instance-type":                      func(i types.InstanceTypeInfo) []string { return enum(i.InstanceType) },
	"memory-info.size-in-mib":            func(i types.InstanceTypeInfo) []string { return number(i.MemoryInfo.SizeInMiB) },
	"network-info.efa-supported":         func(i types.InstanceTypeInfo) []string { return boolean(i.NetworkInfo.EfaSupported) },
	"network-info.ena-support":           func(i types.InstanceTypeInfo) []string { return enum(i.NetworkInfo.EnaSupport) },
	"network-info.ipv6-supported":        func(i types.InstanceTypeInfo) []string { return boolean(i.NetworkInfo.Ipv6Supported) },
	"network-info.maximum-network-cards": func(i types.InstanceTypeInfo) []string { return number(i.NetworkInfo.MaximumNetworkCards) },
	"network-info.network-performance":   func(i types.InstanceTypeInfo) []string { return text(i.NetworkInfo.NetworkPerformance) },
	"nitro-enclaves-support":             func(i types.InstanceTypeInfo) []string { return enum(i.NitroEnclavesSupport) },
	"processor-info.sustained-clock-speed-in-ghz": func(i types.InstanceTypeInfo) []string {
		if i.ProcessorInfo.SustainedClockSpeedInGhz == nil {
			return nil
		}
		return []string{strconv.FormatFloat(*i.ProcessorInfo.SustainedClockSpeedInGhz, 'f', -1, 64)}
	},
	"network-info.encryption-in-transit-supported": func(i types.InstanceTypeInfo) []string {
		return boolean(i.NetworkInfo.EncryptionInTransitSupported)
	},
	"network-info.ipv4-addresses-per-interface": func(i types.InstanceTypeInfo) []string {
		return number(i.NetworkInfo.Ipv4AddressesPerInterface)
	},
	"network-info.maximum-network-interfaces": func(i types.InstanceTypeInfo) []string {
		return number(i.NetworkInfo.MaximumNetworkInterfaces)
	},
	"processor-info.supported-architecture": func(i types.InstanceTypeInfo) []string {
		return collect(i.ProcessorInfo.SupportedArchitectures, enum[types.ArchitectureType])
	},
	"supported-boot-mode": func(i types.InstanceTypeInfo) []string {
		return collect(i.SupportedBootModes, enum[types.BootModeType])
	},
	"supported-root-device-type": func(i types.InstanceTypeInfo) []string {
		return collect(i.SupportedRootDeviceTypes, enum[types.RootDeviceType])
	},
	"supported-usage-class": func(i types.InstanceTypeInfo) []string {
		return collect(i.SupportedUsageClasses, enum[types.UsageClassType])
	},
	"supported-virtualization-type": func(i types.InstanceTypeInfo) []string {
		return collect(i.SupportedVirtualizationTypes, enum[types.VirtualizationType])
	},
	"vcpu-info.default-cores": func(i types.InstanceTypeInfo) []string { return number(i.VCpuInfo.DefaultCores) },
	"vcpu-info.default-threads-per-core": func(i types.InstanceTypeInfo) []string {
		return number(i.VCpuInfo.DefaultThreadsPerCore)
	},
	"vcpu-info.default-vcpus": func(i types.InstanceTypeInfo) []string { return number(i.VCpuInfo.DefaultVCpus) },
}

// SDK, DescribeInstanceTypesInput: 5 to 100 results a page, up to 100 types by name; without MaxResults the answer has 100.
var typePages = pageLimits{min: 5, max: 100, unpaged: 100}

const maxNamedTypes = 100

func describeInstanceTypes(c *sim.Call, in *awsec2.DescribeInstanceTypesInput) (*awsec2.DescribeInstanceTypesOutput, error) {
	if len(in.InstanceTypes) > maxNamedTypes {
		return nil, sim.Errorf("InvalidParameterValue", "At most %d instance types may be specified.", maxNamedTypes)
	}
	if len(in.InstanceTypes) > 0 && in.MaxResults != nil {
		return nil, invalidCombination("The parameter InstanceTypes cannot be used with the parameter MaxResults")
	}
	s := stateOf(c.Region)
	if unknown := s.unknownTypes(in.InstanceTypes); len(unknown) > 0 {
		return nil, sim.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", strings.Join(unknown, ", "))
	}
	var all []types.InstanceTypeInfo
	for _, w := range s.offeredTypes() {
		if len(in.InstanceTypes) == 0 || slices.Contains(in.InstanceTypes, types.InstanceType(w.Name)) {
			all = append(all, typeInfo(w))
		}
	}
	kinds := listing[types.InstanceTypeInfo]{filters: typeFilters, pages: typePages, id: func(i types.InstanceTypeInfo) string { return string(i.InstanceType) }}
	found, next, err := kinds.read(all, query{nil, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeInstanceTypesOutput{InstanceTypes: found, NextToken: next}, nil
}

func (s *state) unknownTypes(names []types.InstanceType) []string {
	var unknown []string
	for _, name := range names {
		if s.kernel.World().InstanceType(string(name)) == nil || len(s.zonesOffering(string(name))) == 0 {
			unknown = append(unknown, string(name))
		}
	}
	return unknown
}

// offeredTypes are the instance types that at least one zone of the Region has.
func (s *state) offeredTypes() []world.InstanceType {
	var offered []world.InstanceType
	for _, w := range s.kernel.World().InstanceTypes {
		if len(s.zonesOffering(w.Name)) > 0 {
			offered = append(offered, w)
		}
	}
	return offered
}

var offeringFilters = filterTable[types.InstanceTypeOffering]{
	"instance-type": func(o types.InstanceTypeOffering) []string { return enum(o.InstanceType) },
	"location":      func(o types.InstanceTypeOffering) []string { return text(o.Location) },
}

func describeInstanceTypeOfferings(c *sim.Call, in *awsec2.DescribeInstanceTypeOfferingsInput) (*awsec2.DescribeInstanceTypeOfferingsOutput, error) {
	s := stateOf(c.Region)
	kind := in.LocationType
	if kind == "" {
		kind = types.LocationTypeRegion // SDK, DescribeInstanceTypeOfferingsInput.LocationType
	}
	var all []types.InstanceTypeOffering
	add := func(w world.InstanceType, location string) {
		all = append(all, types.InstanceTypeOffering{InstanceType: types.InstanceType(w.Name), Location: ptr(location), LocationType: kind})
	}
	for _, w := range s.offeredTypes() {
		switch kind {
		case types.LocationTypeRegion:
			add(w, s.region.Name)
		case types.LocationTypeAvailabilityZone:
			for _, zone := range s.zonesOffering(w.Name) {
				add(w, zone)
			}
		case types.LocationTypeAvailabilityZoneId:
			for _, zone := range s.zonesOffering(w.Name) {
				add(w, s.region.World().Zone(zone).ID)
			}
		case types.LocationTypeOutpost: // a world has no Outposts
		default:
			return nil, invalidValue("LocationType", kind, "Valid values: "+joinEnum(kind.Values()))
		}
	}
	offerings := listing[types.InstanceTypeOffering]{
		filters: offeringFilters, pages: commonPages, id: func(o types.InstanceTypeOffering) string { return string(o.InstanceType) + "/" + *o.Location },
	}
	found, next, err := offerings.read(all, query{nil, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeInstanceTypeOfferingsOutput{InstanceTypeOfferings: found, NextToken: next}, nil
}
