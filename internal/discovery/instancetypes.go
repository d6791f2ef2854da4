package discovery

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// InstanceType describes an instance type as EC2 reports it.
type InstanceType struct {
	// Name such as m6i.large.
	Name string
	// Architectures as EC2 writes them, in its order. Some old types have i386 too.
	Architectures []string
	VCPUs         int32
	MemoryMiB     int64
	// MaxNetworkInterfaces is how many network interfaces all network cards have together, and
	// CardNetworkInterfaces how many the default card has.
	MaxNetworkInterfaces, CardNetworkInterfaces int32
	// IPv4AddressesPerInterface is how many IPv4 addresses each network interface can have.
	IPv4AddressesPerInterface int32
	// GPUs counts the GPUs of all kinds and makers, and NVIDIAGPUs the GPUs of NVIDIA.
	GPUs, NVIDIAGPUs int32
	// GPUDevices and NeuronDevices are the kinds of GPUs, and of AWS's accelerators for inference
	// and training.
	GPUDevices, NeuronDevices []Device
	// CPUManufacturer such as Intel, AMD, or AWS.
	CPUManufacturer string
	// NetworkMbps and EBSMbps are the sustained bandwidth of all network cards together, and the
	// maximum bandwidth to EBS, in Mbit/s; 0 if EC2 does not say.
	NetworkMbps, EBSMbps int64
	// EncryptionInTransit says that traffic between instances is encrypted.
	EncryptionInTransit bool
	// EFAInterfaces is how many network interfaces may be Elastic Fabric Adapters.
	EFAInterfaces int32
	// LocalNVMe says that local disks are NVMe devices.
	LocalNVMe bool
	// InstanceStorageGB is local disk, in GB, all disks together.
	InstanceStorageGB int64
	// Hypervisor is nitro or xen; empty on bare metal.
	Hypervisor        string
	BareMetal         bool
	Burstable         bool
	CurrentGeneration bool
	// EFA, NitroEnclaves, Hibernation: whether the type supports them.
	EFA, NitroEnclaves, Hibernation bool
	// EBSRoot says that the root device may be an EBS volume.
	EBSRoot bool
	// EBSAttachments is how many EBS volumes can be attached, the root device included; 0 if EC2
	// does not say. They may be shared with network interfaces other than the first. EC2 has
	// already subtracted the first interface, local disks and GPUs.
	EBSAttachments       int32
	EBSAttachmentsShared bool
	// UsageClasses of on-demand, spot, capacity-block that the type can be had in.
	UsageClasses []string
}

// Device is a kind of GPU or accelerator of an instance type.
type Device struct {
	// Name and Manufacturer as EC2 writes them, such as T4 and NVIDIA.
	Name, Manufacturer string
	// Count of such devices, MemoryMiB of each, and Cores of each where EC2 says.
	Count     int32
	MemoryMiB int64
	Cores     int32
}

// Architecture returns the architecture that an image for this type should have: the first of
// x86_64 and arm64 that EC2 lists, or "" if it lists neither, as for Macs.
func (t InstanceType) Architecture() string {
	for _, architecture := range t.Architectures {
		switch architecture {
		case string(ec2types.ArchitectureTypeX8664), string(ec2types.ArchitectureTypeArm64):
			return architecture
		}
	}
	return ""
}

// InstanceType describes a type. If EC2 has no such type in the region the error is a *NotFoundError.
func (d *Discovery) InstanceType(ctx context.Context, name string) (InstanceType, error) {
	return d.instanceTypes.get(ctx, name, func(ctx context.Context) (InstanceType, error) {
		output, err := d.clients.EC2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{
			InstanceTypes: []ec2types.InstanceType{ec2types.InstanceType(name)},
		})
		const advice = "EC2 does not offer the type in this region"
		if err != nil {
			return InstanceType{}, missing(err, "instance type", name, advice)
		}
		if len(output.InstanceTypes) == 0 {
			return InstanceType{}, &NotFoundError{Kind: "instance type", What: name, Advice: advice}
		}
		return toInstanceType(&output.InstanceTypes[0]), nil
	})
}

func toInstanceType(info *ec2types.InstanceTypeInfo) InstanceType {
	t := InstanceType{
		Name:              string(info.InstanceType),
		Hypervisor:        string(info.Hypervisor),
		BareMetal:         awssdk.ToBool(info.BareMetal),
		Burstable:         awssdk.ToBool(info.BurstablePerformanceSupported),
		CurrentGeneration: awssdk.ToBool(info.CurrentGeneration),
		Hibernation:       awssdk.ToBool(info.HibernationSupported),
		NitroEnclaves:     info.NitroEnclavesSupport == ec2types.NitroEnclavesSupportSupported,
		EBSRoot:           slices.Contains(info.SupportedRootDeviceTypes, ec2types.RootDeviceTypeEbs),
	}
	for _, class := range info.SupportedUsageClasses {
		t.UsageClasses = append(t.UsageClasses, string(class))
	}
	if info.ProcessorInfo != nil {
		t.CPUManufacturer = awssdk.ToString(info.ProcessorInfo.Manufacturer)
		for _, architecture := range info.ProcessorInfo.SupportedArchitectures {
			t.Architectures = append(t.Architectures, string(architecture))
		}
	}
	if info.VCpuInfo != nil {
		t.VCPUs = awssdk.ToInt32(info.VCpuInfo.DefaultVCpus)
	}
	if info.MemoryInfo != nil {
		t.MemoryMiB = awssdk.ToInt64(info.MemoryInfo.SizeInMiB)
	}
	if info.NetworkInfo != nil {
		t.MaxNetworkInterfaces = awssdk.ToInt32(info.NetworkInfo.MaximumNetworkInterfaces)
		t.IPv4AddressesPerInterface = awssdk.ToInt32(info.NetworkInfo.Ipv4AddressesPerInterface)
		t.addNetwork(info.NetworkInfo)
	}
	t.addDevices(info)
	if info.InstanceStorageInfo != nil {
		t.LocalNVMe = info.InstanceStorageInfo.NvmeSupport == ec2types.EphemeralNvmeSupportRequired || info.InstanceStorageInfo.NvmeSupport == ec2types.EphemeralNvmeSupportSupported
		t.InstanceStorageGB = awssdk.ToInt64(info.InstanceStorageInfo.TotalSizeInGB)
	}
	if info.EbsInfo != nil {
		t.EBSAttachments = awssdk.ToInt32(info.EbsInfo.MaximumEbsAttachments)
		t.EBSAttachmentsShared = info.EbsInfo.AttachmentLimitType == ec2types.AttachmentLimitTypeShared
		if info.EbsInfo.EbsOptimizedInfo != nil && info.EbsInfo.EbsOptimizedSupport == ec2types.EbsOptimizedSupportDefault {
			t.EBSMbps = int64(awssdk.ToInt32(info.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps))
		}
	}
	return t
}

func (t *InstanceType) addNetwork(info *ec2types.NetworkInfo) {
	t.EFA = awssdk.ToBool(info.EfaSupported)
	if info.EfaInfo != nil {
		t.EFAInterfaces = awssdk.ToInt32(info.EfaInfo.MaximumEfaInterfaces)
	}
	t.EncryptionInTransit = awssdk.ToBool(info.EncryptionInTransitSupported)
	t.CardNetworkInterfaces = t.MaxNetworkInterfaces
	for i := range info.NetworkCards {
		if awssdk.ToInt32(info.NetworkCards[i].NetworkCardIndex) == awssdk.ToInt32(info.DefaultNetworkCardIndex) {
			t.CardNetworkInterfaces = awssdk.ToInt32(info.NetworkCards[i].MaximumNetworkInterfaces)
		}
		t.NetworkMbps += int64(awssdk.ToFloat64(info.NetworkCards[i].BaselineBandwidthInGbps) * 1000)
	}
}

func (t *InstanceType) addDevices(info *ec2types.InstanceTypeInfo) {
	if info.GpuInfo != nil {
		for i := range info.GpuInfo.Gpus {
			gpu := &info.GpuInfo.Gpus[i]
			device := Device{Name: awssdk.ToString(gpu.Name), Manufacturer: awssdk.ToString(gpu.Manufacturer), Count: awssdk.ToInt32(gpu.Count)}
			if gpu.MemoryInfo != nil {
				device.MemoryMiB = int64(awssdk.ToInt32(gpu.MemoryInfo.SizeInMiB))
			}
			t.GPUDevices = append(t.GPUDevices, device)
			t.GPUs += device.Count
			if device.Manufacturer == "NVIDIA" {
				t.NVIDIAGPUs += device.Count
			}
		}
	}
	if info.NeuronInfo == nil {
		return
	}
	for i := range info.NeuronInfo.NeuronDevices {
		neuron := &info.NeuronInfo.NeuronDevices[i]
		device := Device{Name: awssdk.ToString(neuron.Name), Manufacturer: "AWS", Count: awssdk.ToInt32(neuron.Count)}
		if neuron.MemoryInfo != nil {
			device.MemoryMiB = int64(awssdk.ToInt32(neuron.MemoryInfo.SizeInMiB))
		}
		if neuron.CoreInfo != nil {
			device.Cores = awssdk.ToInt32(neuron.CoreInfo.Count)
		}
		t.NeuronDevices = append(t.NeuronDevices, device)
	}
}
