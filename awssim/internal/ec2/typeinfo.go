package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/world"
)

// typeInfo returns an instance type as EC2 describes it.
func typeInfo(w *world.InstanceType) types.InstanceTypeInfo {
	info := types.InstanceTypeInfo{
		InstanceType: types.InstanceType(w.Name), CurrentGeneration: ptr(w.CurrentGeneration), FreeTierEligible: ptr(w.FreeTierEligible),
		BareMetal: ptr(w.BareMetal), BurstablePerformanceSupported: ptr(w.Burstable), HibernationSupported: ptr(w.Hibernation),
		Hypervisor: types.InstanceTypeHypervisor(w.Hypervisor), InstanceStorageSupported: ptr(len(w.InstanceStorage) > 0), SupportedInRegion: ptr(true),
		DedicatedHostsSupported: ptr(w.DedicatedHosts), AutoRecoverySupported: ptr(w.AutoRecovery),
		NitroEnclavesSupport: types.NitroEnclavesSupport(supported(w.NitroEnclaves)), NitroTpmSupport: types.NitroTpmSupport(supported(w.NitroTPM)),
		PhcSupport: types.PhcSupport(supported(w.PHC)), RebootMigrationSupport: types.RebootMigrationSupport(supported(w.RebootMigration)),
		SupportedRootDeviceTypes:     namesOr(w.RootDeviceTypes, types.RootDeviceTypeEbs),
		SupportedVirtualizationTypes: namesOr(w.VirtualizationTypes, types.VirtualizationTypeHvm),
		SupportedUsageClasses:        names[types.UsageClassType](w.UsageClasses), SupportedBootModes: names[types.BootModeType](w.BootModes),
		VCpuInfo:   vcpuInfo(w),
		MemoryInfo: &types.MemoryInfo{SizeInMiB: ptr(w.MemoryMiB)},
		ProcessorInfo: &types.ProcessorInfo{
			SupportedArchitectures: names[types.ArchitectureType](w.Architectures), Manufacturer: optional(w.Processor),
			SupportedFeatures:        names[types.SupportedAdditionalProcessorFeature](w.ProcessorFeatures),
			SustainedClockSpeedInGhz: optional(w.ClockSpeedGHz),
		},
		EbsInfo: ebsInfo(w), NetworkInfo: networkInfo(w),
		PlacementGroupInfo:  &types.PlacementGroupInfo{SupportedStrategies: names[types.PlacementGroupStrategy](w.PlacementGroupStrategies)},
		InstanceStorageInfo: storageInfo(w.InstanceStorage), GpuInfo: gpuInfo(w.GPUs), NeuronInfo: neuronInfo(w.NeuronDevices),
		InferenceAcceleratorInfo: inferenceInfo(w.InferenceAccelerators), FpgaInfo: fpgaInfo(w.FPGAs), MediaAcceleratorInfo: mediaInfo(w.MediaAccelerators),
	}
	if w.NitroTPM {
		info.NitroTpmInfo = &types.NitroTpmInfo{SupportedVersions: []string{"2.0"}}
	}
	return info
}

// names returns text as values of an enumeration; nil if there is none.
func names[T ~string](list []string) []T {
	var all []T
	for _, name := range list {
		all = append(all, T(name))
	}
	return all
}

func namesOr[T ~string](list []string, otherwise T) []T {
	if len(list) == 0 {
		return []T{otherwise}
	}
	return names[T](list)
}

func supported(yes bool) string {
	if yes {
		return "supported"
	}
	return "unsupported"
}

func vcpuInfo(w *world.InstanceType) *types.VCpuInfo {
	info := &types.VCpuInfo{DefaultVCpus: ptr(w.VCPUs), DefaultCores: optional(w.Cores), DefaultThreadsPerCore: optional(w.ThreadsPerCore), ValidCores: w.ValidCores}
	if len(w.ValidCores) > 0 {
		for threads := int32(1); threads <= w.ThreadsPerCore; threads++ {
			info.ValidThreadsPerCore = append(info.ValidThreadsPerCore, threads)
		}
	}
	return info
}

func ebsInfo(w *world.InstanceType) *types.EbsInfo {
	info := &types.EbsInfo{
		EbsOptimizedSupport: types.EbsOptimizedSupport(w.EBSOptimized), EncryptionSupport: types.EbsEncryptionSupportSupported,
		NvmeSupport: types.EbsNvmeSupport(w.NVMe), AttachmentLimitType: types.AttachmentLimitType(w.EBS.AttachmentLimit),
		MaximumEbsAttachments: optional(w.EBS.MaxAttachments), MaximumEbsCards: optional(w.EBS.Cards),
	}
	least, most := w.EBS.Baseline, w.EBS.Maximum
	if most.Mbps > 0 {
		info.EbsOptimizedInfo = &types.EbsOptimizedInfo{
			BaselineBandwidthInMbps: ptr(least.Mbps), BaselineIops: ptr(least.IOPS), BaselineThroughputInMBps: ptr(least.MBps),
			MaximumBandwidthInMbps: ptr(most.Mbps), MaximumIops: ptr(most.IOPS), MaximumThroughputInMBps: ptr(most.MBps),
		}
	}
	for card := range w.EBS.Cards {
		n := w.EBS.Cards
		info.EbsCards = append(info.EbsCards, types.EbsCardInfo{
			EbsCardIndex: ptr(card), BaselineBandwidthInMbps: ptr(least.Mbps / n), BaselineIops: ptr(least.IOPS / n),
			BaselineThroughputInMBps: ptr(least.MBps / float64(n)), MaximumBandwidthInMbps: ptr(most.Mbps / n), MaximumIops: ptr(most.IOPS / n),
			MaximumThroughputInMBps: ptr(most.MBps / float64(n)),
		})
	}
	return info
}

// trackedSeconds is the time in seconds for which a TCP connection is tracked, unless the type
// overrides it. AWS answered 432000 or, for newer types, 350; the times of UDP are the same for
// all.
const trackedSeconds = 432000

func networkInfo(w *world.InstanceType) *types.NetworkInfo {
	cards := w.Cards()
	tracked := w.TCPEstablishedTimeoutSeconds
	if tracked == 0 {
		tracked = trackedSeconds
	}
	info := &types.NetworkInfo{
		MaximumNetworkInterfaces: ptr(w.MaxENIs), Ipv4AddressesPerInterface: ptr(w.IPv4PerENI), Ipv6AddressesPerInterface: ptr(w.IPv6PerENI),
		Ipv6Supported: ptr(w.IPv6PerENI > 0), Ipv4AddressesPerSecondaryInterface: w.IPv4PerSecondaryENI, SecondaryNetworkSupported: ptr(false),
		NetworkPerformance: ptr(w.NetworkPerformance), MaximumNetworkCards: ptr(int32(len(cards))), DefaultNetworkCardIndex: ptr(int32(0)), //nolint:gosec // a few
		EfaSupported: ptr(w.MaxEFAInterfaces > 0), EnaSupport: types.EnaSupport(w.ENASupport), EnaSrdSupported: ptr(w.ENAExpress),
		FlexibleEnaQueuesSupport: types.FlexibleEnaQueuesSupport(supported(w.FlexibleENAQueues)), EncryptionInTransitSupported: ptr(w.EncryptionInTransit),
		BandwidthWeightings: names[types.BandwidthWeightingType](w.BandwidthWeightings),
		ConnectionTrackingConfiguration: &types.DefaultConnectionTrackingConfiguration{
			DefaultTcpEstablishedTimeout: ptr(tracked), DefaultUdpStreamTimeout: ptr(int32(180)), DefaultUdpTimeout: ptr(int32(30)),
		},
	}
	if w.MaxEFAInterfaces > 0 {
		info.EfaInfo = &types.EfaInfo{MaximumEfaInterfaces: ptr(w.MaxEFAInterfaces)}
	}
	for i, card := range cards {
		described := types.NetworkCardInfo{
			NetworkCardIndex: ptr(int32(i)), NetworkPerformance: ptr(card.Performance), MaximumNetworkInterfaces: ptr(card.MaxENIs),
			BaselineBandwidthInGbps: optional(card.BaselineGbps), PeakBandwidthInGbps: optional(card.PeakGbps),
			DefaultEnaQueueCountPerInterface: optional(card.QueuesPerENI), MaximumEnaQueueCount: optional(card.MaxQueues),
			MaximumEnaQueueCountPerInterface: optional(card.MaxQueuesPerENI),
		}
		if w.FlexibleENAQueues {
			described.AdditionalFlexibleNetworkInterfaces = ptr(card.FlexibleENIs)
		}
		info.NetworkCards = append(info.NetworkCards, described)
	}
	return info
}

func gpuInfo(gpus []world.GPU) *types.GpuInfo {
	if len(gpus) == 0 {
		return nil
	}
	info := &types.GpuInfo{TotalGpuMemoryInMiB: ptr(int32(0))}
	for _, g := range gpus {
		if g.LogicalCount == 0 {
			g.LogicalCount = g.Count
		}
		if g.PartitionSize == 0 {
			g.PartitionSize = 1
		}
		info.Gpus = append(info.Gpus, types.GpuDeviceInfo{
			Name: ptr(g.Name), Manufacturer: ptr(g.Manufacturer), Count: ptr(g.Count), MemoryInfo: &types.GpuDeviceMemoryInfo{SizeInMiB: ptr(g.MemoryMiB)},
			LogicalGpuCount: ptr(g.LogicalCount), GpuPartitionSize: ptr(g.PartitionSize), Workloads: g.Workloads,
		})
		*info.TotalGpuMemoryInMiB += g.LogicalCount * g.MemoryMiB
	}
	return info
}

func neuronInfo(devices []world.NeuronDevice) *types.NeuronInfo {
	if len(devices) == 0 {
		return nil
	}
	info := &types.NeuronInfo{TotalNeuronDeviceMemoryInMiB: ptr(int32(0))}
	for _, d := range devices {
		info.NeuronDevices = append(info.NeuronDevices, types.NeuronDeviceInfo{
			Name: ptr(d.Name), Count: ptr(d.Count), MemoryInfo: &types.NeuronDeviceMemoryInfo{SizeInMiB: ptr(d.MemoryMiB)},
			CoreInfo: &types.NeuronDeviceCoreInfo{Count: ptr(d.Cores), Version: ptr(d.CoreVersion)},
		})
		*info.TotalNeuronDeviceMemoryInMiB += d.Count * d.MemoryMiB
	}
	return info
}

func inferenceInfo(accelerators []world.Accelerator) *types.InferenceAcceleratorInfo {
	if len(accelerators) == 0 {
		return nil
	}
	info := &types.InferenceAcceleratorInfo{TotalInferenceMemoryInMiB: ptr(totalMiB(accelerators))}
	for _, a := range accelerators {
		info.Accelerators = append(info.Accelerators, types.InferenceDeviceInfo{
			Name: ptr(a.Name), Manufacturer: ptr(a.Manufacturer), Count: ptr(a.Count), MemoryInfo: &types.InferenceDeviceMemoryInfo{SizeInMiB: ptr(a.MemoryMiB)},
		})
	}
	return info
}

func fpgaInfo(fpgas []world.Accelerator) *types.FpgaInfo {
	if len(fpgas) == 0 {
		return nil
	}
	info := &types.FpgaInfo{TotalFpgaMemoryInMiB: ptr(totalMiB(fpgas))}
	for _, a := range fpgas {
		info.Fpgas = append(info.Fpgas, types.FpgaDeviceInfo{
			Name: ptr(a.Name), Manufacturer: ptr(a.Manufacturer), Count: ptr(a.Count), MemoryInfo: &types.FpgaDeviceMemoryInfo{SizeInMiB: ptr(a.MemoryMiB)},
		})
	}
	return info
}

func mediaInfo(accelerators []world.Accelerator) *types.MediaAcceleratorInfo {
	if len(accelerators) == 0 {
		return nil
	}
	info := &types.MediaAcceleratorInfo{TotalMediaMemoryInMiB: ptr(totalMiB(accelerators))}
	for _, a := range accelerators {
		info.Accelerators = append(info.Accelerators, types.MediaDeviceInfo{
			Name: ptr(a.Name), Manufacturer: ptr(a.Manufacturer), Count: ptr(a.Count), MemoryInfo: &types.MediaDeviceMemoryInfo{SizeInMiB: ptr(a.MemoryMiB)},
		})
	}
	return info
}

func totalMiB(accelerators []world.Accelerator) int32 {
	var total int32
	for _, a := range accelerators {
		total += a.Count * a.MemoryMiB
	}
	return total
}

func storageInfo(disks []world.Disk) *types.InstanceStorageInfo {
	if len(disks) == 0 {
		return nil
	}
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
