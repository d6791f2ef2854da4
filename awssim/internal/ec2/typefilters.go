package ec2

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// typeFilters holds the filters of DescribeInstanceTypes (SDK, DescribeInstanceTypesInput.Filters).
var typeFilters = filterTable[types.InstanceTypeInfo]{
	"auto-recovery-supported":          func(i types.InstanceTypeInfo) []string { return boolean(i.AutoRecoverySupported) },
	"bare-metal":                       func(i types.InstanceTypeInfo) []string { return boolean(i.BareMetal) },
	"burstable-performance-supported":  func(i types.InstanceTypeInfo) []string { return boolean(i.BurstablePerformanceSupported) },
	"current-generation":               func(i types.InstanceTypeInfo) []string { return boolean(i.CurrentGeneration) },
	"dedicated-hosts-supported":        func(i types.InstanceTypeInfo) []string { return boolean(i.DedicatedHostsSupported) },
	"ebs-info.attachment-limit-type":   func(i types.InstanceTypeInfo) []string { return enum(i.EbsInfo.AttachmentLimitType) },
	"ebs-info.maximum-ebs-attachments": func(i types.InstanceTypeInfo) []string { return number(i.EbsInfo.MaximumEbsAttachments) },
	"ebs-info.ebs-optimized-info.baseline-bandwidth-in-mbps": func(i types.InstanceTypeInfo) []string {
		return number(val(i.EbsInfo.EbsOptimizedInfo).BaselineBandwidthInMbps)
	},
	"ebs-info.ebs-optimized-info.baseline-iops": func(i types.InstanceTypeInfo) []string { return number(val(i.EbsInfo.EbsOptimizedInfo).BaselineIops) },
	"ebs-info.ebs-optimized-info.baseline-throughput-in-mbps": func(i types.InstanceTypeInfo) []string {
		return fraction(val(i.EbsInfo.EbsOptimizedInfo).BaselineThroughputInMBps)
	},
	"ebs-info.ebs-optimized-info.maximum-bandwidth-in-mbps": func(i types.InstanceTypeInfo) []string {
		return number(val(i.EbsInfo.EbsOptimizedInfo).MaximumBandwidthInMbps)
	},
	"ebs-info.ebs-optimized-info.maximum-iops": func(i types.InstanceTypeInfo) []string { return number(val(i.EbsInfo.EbsOptimizedInfo).MaximumIops) },
	"ebs-info.ebs-optimized-info.maximum-throughput-in-mbps": func(i types.InstanceTypeInfo) []string {
		return fraction(val(i.EbsInfo.EbsOptimizedInfo).MaximumThroughputInMBps)
	},
	"ebs-info.ebs-optimized-support": func(i types.InstanceTypeInfo) []string { return enum(i.EbsInfo.EbsOptimizedSupport) },
	"ebs-info.encryption-support":    func(i types.InstanceTypeInfo) []string { return enum(i.EbsInfo.EncryptionSupport) },
	"ebs-info.nvme-support":          func(i types.InstanceTypeInfo) []string { return enum(i.EbsInfo.NvmeSupport) },
	"free-tier-eligible":             func(i types.InstanceTypeInfo) []string { return boolean(i.FreeTierEligible) },
	"hibernation-supported":          func(i types.InstanceTypeInfo) []string { return boolean(i.HibernationSupported) },
	"hypervisor":                     func(i types.InstanceTypeInfo) []string { return enum(i.Hypervisor) },
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
	"nitro-tpm-support":                  func(i types.InstanceTypeInfo) []string { return enum(i.NitroTpmSupport) },
	"nitro-tpm-info.supported-versions":  func(i types.InstanceTypeInfo) []string { return val(i.NitroTpmInfo).SupportedVersions },
	"reboot-migration-support":           func(i types.InstanceTypeInfo) []string { return enum(i.RebootMigrationSupport) },
	"processor-info.sustained-clock-speed-in-ghz": func(i types.InstanceTypeInfo) []string {
		return fraction(i.ProcessorInfo.SustainedClockSpeedInGhz)
	},
	"processor-info.supported-features": func(i types.InstanceTypeInfo) []string {
		return collect(i.ProcessorInfo.SupportedFeatures, enum[types.SupportedAdditionalProcessorFeature])
	},
	"instance-storage-info.disk.count": func(i types.InstanceTypeInfo) []string {
		return collect(val(i.InstanceStorageInfo).Disks, func(d types.DiskInfo) []string { return number(d.Count) })
	},
	"instance-storage-info.disk.size-in-gb": func(i types.InstanceTypeInfo) []string {
		return collect(val(i.InstanceStorageInfo).Disks, func(d types.DiskInfo) []string { return number(d.SizeInGB) })
	},
	"instance-storage-info.disk.type": func(i types.InstanceTypeInfo) []string {
		return collect(val(i.InstanceStorageInfo).Disks, func(d types.DiskInfo) []string { return enum(d.Type) })
	},
	"instance-storage-info.encryption-support": func(i types.InstanceTypeInfo) []string { return enum(val(i.InstanceStorageInfo).EncryptionSupport) },
	"network-info.bandwidth-weightings": func(i types.InstanceTypeInfo) []string {
		return collect(i.NetworkInfo.BandwidthWeightings, enum[types.BandwidthWeightingType])
	},
	"network-info.efa-info.maximum-efa-interfaces": func(i types.InstanceTypeInfo) []string {
		return number(val(i.NetworkInfo.EfaInfo).MaximumEfaInterfaces)
	},
	"network-info.flexible-ena-queues-support": func(i types.InstanceTypeInfo) []string { return enum(i.NetworkInfo.FlexibleEnaQueuesSupport) },
	"network-info.ipv6-addresses-per-interface": func(i types.InstanceTypeInfo) []string {
		return number(i.NetworkInfo.Ipv6AddressesPerInterface)
	},
	"vcpu-info.valid-cores": func(i types.InstanceTypeInfo) []string { return collect(i.VCpuInfo.ValidCores, whole) },
	// SDK, DescribeInstanceTypesInput.Filters: the values are lists, such as "1" or "1,2".
	"vcpu-info.valid-threads-per-core": func(i types.InstanceTypeInfo) []string {
		if len(i.VCpuInfo.ValidThreadsPerCore) == 0 {
			return nil
		}
		return []string{strings.Join(collect(i.VCpuInfo.ValidThreadsPerCore, whole), ",")}
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

func fraction(f *float64) []string {
	if f == nil {
		return nil
	}
	return []string{strconv.FormatFloat(*f, 'f', -1, 64)}
}

func whole(n int32) []string { return number(&n) }
