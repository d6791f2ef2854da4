package world

// catalogueColumns says what each column of instancetypes.tsv sets, for cells that are not empty.
// hack/instancetypes describes how they are written.
var catalogueColumns = map[string]column{
	"InstanceType":                   func(t *InstanceType, c *cell) { t.Name = c.text },
	"CurrentGeneration?":             func(t *InstanceType, c *cell) { t.CurrentGeneration = c.flag() },
	"FreeTierEligible?":              func(t *InstanceType, c *cell) { t.FreeTierEligible = c.flag() },
	"BareMetal?":                     func(t *InstanceType, c *cell) { t.BareMetal = c.flag() },
	"BurstablePerformanceSupported?": func(t *InstanceType, c *cell) { t.Burstable = c.flag() },
	"DedicatedHostsSupported?":       func(t *InstanceType, c *cell) { t.DedicatedHosts = c.flag() },
	"AutoRecoverySupported?":         func(t *InstanceType, c *cell) { t.AutoRecovery = c.flag() },
	"HibernationSupported?":          func(t *InstanceType, c *cell) { t.Hibernation = c.flag() },
	"NitroEnclavesSupport?":          func(t *InstanceType, c *cell) { t.NitroEnclaves = c.flag() },
	"NitroTpmSupport?":               func(t *InstanceType, c *cell) { t.NitroTPM = c.flag() },
	"PhcSupport?":                    func(t *InstanceType, c *cell) { t.PHC = c.flag() },
	"RebootMigrationSupport?":        func(t *InstanceType, c *cell) { t.RebootMigration = c.flag() },

	"Hypervisor":                             func(t *InstanceType, c *cell) { t.Hypervisor = c.text },
	"ProcessorInfo.Manufacturer":             func(t *InstanceType, c *cell) { t.Processor = c.text },
	"ProcessorInfo.SustainedClockSpeedInGhz": func(t *InstanceType, c *cell) { t.ClockSpeedGHz = c.fractionIn(c.text) },
	"ProcessorInfo.SupportedArchitectures[]": func(t *InstanceType, c *cell) { t.Architectures = c.list() },
	"ProcessorInfo.SupportedFeatures[]":      func(t *InstanceType, c *cell) { t.ProcessorFeatures = c.list() },
	"VCpuInfo.DefaultVCpus":                  func(t *InstanceType, c *cell) { t.VCPUs = c.number() },
	"VCpuInfo.DefaultThreadsPerCore":         func(t *InstanceType, c *cell) { t.ThreadsPerCore = c.number() },
	"VCpuInfo.ValidCores[]":                  func(t *InstanceType, c *cell) { t.ValidCores = c.numbers() },
	"MemoryInfo.SizeInMiB":                   func(t *InstanceType, c *cell) { t.MemoryMiB = int64(c.number()) },

	"SupportedBootModes[]":                     func(t *InstanceType, c *cell) { t.BootModes = c.list() },
	"SupportedRootDeviceTypes[]":               func(t *InstanceType, c *cell) { t.RootDeviceTypes = c.list() },
	"SupportedUsageClasses[]":                  func(t *InstanceType, c *cell) { t.UsageClasses = c.list() },
	"SupportedVirtualizationTypes[]":           func(t *InstanceType, c *cell) { t.VirtualizationTypes = c.list() },
	"PlacementGroupInfo.SupportedStrategies[]": func(t *InstanceType, c *cell) { t.PlacementGroupStrategies = c.list() },

	"EbsInfo.EbsOptimizedSupport":   func(t *InstanceType, c *cell) { t.EBSOptimized = c.text },
	"EbsInfo.NvmeSupport":           func(t *InstanceType, c *cell) { t.NVMe = c.text },
	"EbsInfo.AttachmentLimitType":   func(t *InstanceType, c *cell) { t.EBS.AttachmentLimit = c.text },
	"EbsInfo.MaximumEbsAttachments": func(t *InstanceType, c *cell) { t.EBS.MaxAttachments = c.number() },
	"EbsInfo.MaximumEbsCards":       func(t *InstanceType, c *cell) { t.EBS.Cards = c.number() },
	"EbsInfo.EbsOptimizedInfo:BaselineBandwidthInMbps/BaselineIops/BaselineThroughputInMBps/MaximumBandwidthInMbps/MaximumIops/MaximumThroughputInMBps": func(
		t *InstanceType, c *cell,
	) {
		for _, m := range c.structures(6) {
			t.EBS.Baseline = EBSRate{Mbps: c.numberIn(m[0]), IOPS: c.numberIn(m[1]), MBps: c.fractionIn(m[2])}
			t.EBS.Maximum = EBSRate{Mbps: c.numberIn(m[3]), IOPS: c.numberIn(m[4]), MBps: c.fractionIn(m[5])}
		}
	},

	"InstanceStorageInfo.Disks[]:Count/SizeInGB/Type": func(t *InstanceType, c *cell) {
		for i, m := range c.structures(3) {
			disk := t.disk(i)
			disk.Count, disk.SizeGB, disk.Type = c.numberIn(m[0]), c.numberIn(m[1]), m[2]
		}
	},
	// Types with disks have disks of one kind.
	"InstanceStorageInfo.NvmeSupport": func(t *InstanceType, c *cell) {
		t.disk(0).NVMe = c.text == "required"
	},
	"InstanceStorageInfo.EncryptionSupport": func(t *InstanceType, c *cell) {
		t.disk(0).Encrypt = c.text == "required"
	},

	"NetworkInfo.NetworkPerformance":        func(t *InstanceType, c *cell) { t.NetworkPerformance = c.text },
	"NetworkInfo.Ipv4AddressesPerInterface": func(t *InstanceType, c *cell) { t.IPv4PerENI = c.number() },
	"NetworkInfo.Ipv6AddressesPerInterface": func(t *InstanceType, c *cell) { t.IPv6PerENI = c.number() },
	"NetworkInfo.Ipv4AddressesPerSecondaryInterface": func(t *InstanceType, c *cell) {
		n := c.number()
		t.IPv4PerSecondaryENI = &n
	},
	"NetworkInfo.EnaSupport":                    func(t *InstanceType, c *cell) { t.ENASupport = c.text },
	"NetworkInfo.EnaSrdSupported?":              func(t *InstanceType, c *cell) { t.ENAExpress = c.flag() },
	"NetworkInfo.FlexibleEnaQueuesSupport?":     func(t *InstanceType, c *cell) { t.FlexibleENAQueues = c.flag() },
	"NetworkInfo.EncryptionInTransitSupported?": func(t *InstanceType, c *cell) { t.EncryptionInTransit = c.flag() },
	"NetworkInfo.EfaInfo.MaximumEfaInterfaces":  func(t *InstanceType, c *cell) { t.MaxEFAInterfaces = c.number() },
	"NetworkInfo.ConnectionTrackingConfiguration.DefaultTcpEstablishedTimeout": func(t *InstanceType, c *cell) {
		t.TCPEstablishedTimeoutSeconds = c.number()
	},
	"NetworkInfo.BandwidthWeightings[]": func(t *InstanceType, c *cell) { t.BandwidthWeightings = c.list() },
	"NetworkInfo.NetworkCards[]:MaximumNetworkInterfaces/AdditionalFlexibleNetworkInterfaces/BaselineBandwidthInGbps/PeakBandwidthInGbps/" +
		"DefaultEnaQueueCountPerInterface/MaximumEnaQueueCount/MaximumEnaQueueCountPerInterface/NetworkPerformance": func(t *InstanceType, c *cell) {
		for _, m := range c.structures(8) {
			t.NetworkCards = append(t.NetworkCards, NetworkCard{
				MaxENIs: c.numberIn(m[0]), FlexibleENIs: c.numberIn(m[1]), BaselineGbps: c.fractionIn(m[2]), PeakGbps: c.fractionIn(m[3]),
				QueuesPerENI: c.numberIn(m[4]), MaxQueues: c.numberIn(m[5]), MaxQueuesPerENI: c.numberIn(m[6]), Performance: m[7],
			})
		}
	},

	"GpuInfo.Gpus[]:Name/Manufacturer/Count/LogicalGpuCount/GpuPartitionSize/MemoryInfo.SizeInMiB/Workloads": func(t *InstanceType, c *cell) {
		for _, m := range c.structures(7) {
			t.GPUs = append(t.GPUs, GPU{
				Name: m[0], Manufacturer: m[1], Count: c.numberIn(m[2]), LogicalCount: c.numberIn(m[3]), PartitionSize: c.fractionIn(m[4]),
				MemoryMiB: c.numberIn(m[5]), Workloads: split(m[6], ","),
			})
		}
	},
	"NeuronInfo.NeuronDevices[]:Name/Count/MemoryInfo.SizeInMiB/CoreInfo.Count/CoreInfo.Version": func(t *InstanceType, c *cell) {
		for _, m := range c.structures(5) {
			t.NeuronDevices = append(t.NeuronDevices, NeuronDevice{
				Name: m[0], Count: c.numberIn(m[1]), MemoryMiB: c.numberIn(m[2]), Cores: c.numberIn(m[3]), CoreVersion: c.numberIn(m[4]),
			})
		}
	},
	"InferenceAcceleratorInfo.Accelerators[]:Name/Manufacturer/Count/MemoryInfo.SizeInMiB": func(t *InstanceType, c *cell) {
		t.InferenceAccelerators = c.accelerators()
	},
	"FpgaInfo.Fpgas[]:Name/Manufacturer/Count/MemoryInfo.SizeInMiB": func(t *InstanceType, c *cell) { t.FPGAs = c.accelerators() },
	"MediaAcceleratorInfo.Accelerators[]:Name/Manufacturer/Count/MemoryInfo.SizeInMiB": func(t *InstanceType, c *cell) {
		t.MediaAccelerators = c.accelerators()
	},
}

// disk returns the disk of that index, which it adds.
func (t *InstanceType) disk(i int) *Disk {
	for len(t.InstanceStorage) <= i {
		t.InstanceStorage = append(t.InstanceStorage, Disk{})
	}
	return &t.InstanceStorage[i]
}

func (c *cell) accelerators() []Accelerator {
	var all []Accelerator
	for _, m := range c.structures(4) {
		all = append(all, Accelerator{Name: m[0], Manufacturer: m[1], Count: c.numberIn(m[2]), MemoryMiB: c.numberIn(m[3])})
	}
	return all
}
