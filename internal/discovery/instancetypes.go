package discovery

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// InstanceType is what EC2 says about one of its types.
type InstanceType struct {
	// Name such as m6i.large.
	Name string
	// Architectures as EC2 writes them, in its order. Some old types have i386 too.
	Architectures []string
	VCPUs         int32
	MemoryMiB     int64
	// MaxNetworkInterfaces over all network cards, and IPv4AddressesPerInterface on each.
	MaxNetworkInterfaces      int32
	IPv4AddressesPerInterface int32
	// GPUs of all kinds and makers, and NVIDIAGPUs those of NVIDIA.
	GPUs, NVIDIAGPUs int32
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
	// EBSAttachments is how many EBS volumes can be attached, that of the root device included; 0 if EC2 does not say. They may be shared with other devices: network
	// interfaces and local disks.
	EBSAttachments       int32
	EBSAttachmentsShared bool
	// LocalDisks is how many there are.
	LocalDisks int32
	// UsageClasses of on-demand, spot, capacity-block that the type can be had in.
	UsageClasses []string
}

// Architecture is the one that an image for this type should have: the first of x86_64 and arm64 that EC2 names. It is
// empty if there is neither, as on Macs.
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
		const advice = "EC2 has no such type in this region"
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
		t.EFA = awssdk.ToBool(info.NetworkInfo.EfaSupported)
	}
	if info.GpuInfo != nil {
		for i := range info.GpuInfo.Gpus {
			t.GPUs += awssdk.ToInt32(info.GpuInfo.Gpus[i].Count)
			if awssdk.ToString(info.GpuInfo.Gpus[i].Manufacturer) == "NVIDIA" {
				t.NVIDIAGPUs += awssdk.ToInt32(info.GpuInfo.Gpus[i].Count)
			}
		}
	}
	if info.InstanceStorageInfo != nil {
		t.InstanceStorageGB = awssdk.ToInt64(info.InstanceStorageInfo.TotalSizeInGB)
		for i := range info.InstanceStorageInfo.Disks {
			t.LocalDisks += awssdk.ToInt32(info.InstanceStorageInfo.Disks[i].Count)
		}
	}
	if info.EbsInfo != nil {
		t.EBSAttachments = awssdk.ToInt32(info.EbsInfo.MaximumEbsAttachments)
		t.EBSAttachmentsShared = info.EbsInfo.AttachmentLimitType == ec2types.AttachmentLimitTypeShared
	}
	return t
}
