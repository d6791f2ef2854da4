package nodes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

const (
	// podsPerNode is the kubelet's default.
	podsPerNode = 110
	// guestShare is the share of an instance's memory that its operating system sees. The rest is
	// the firmware's and the kernel's. It is an inference from Nodes that users show: 5 to 6 % less
	// on small types. Karpenter assumes 7.5 %, which is more than on any type.
	guestShare = 0.94
	// evictionMemory is the free memory below which the kubelet evicts by default, and
	// evictionStorage the share of the disk.
	evictionMemory  = 100 << 20
	evictionStorage = 0.1
)

// resources returns the capacity of the instance's Node, and what of it pods can have.
func (n *Nodes) resources(m machine, instance awssim.Instance, data userData) (capacity, allocatable corev1.ResourceList) {
	kind := n.cloud.World().InstanceType(string(instance.InstanceType))
	if kind == nil {
		return nil, nil
	}
	pods := data.maxPods
	if pods == 0 {
		pods = podsPerNode
		if data.eks {
			pods = addresses(kind)
		}
	}
	memory, disk := int64(float64(kind.MemoryMiB<<20)*guestShare), n.rootVolume(m, instance)
	kept := reserved{memory: evictionMemory, disk: int64(float64(disk) * evictionStorage)}
	if data.eks {
		kept = kept.add(reservedByEKS(kind))
	}
	return resources(int64(kind.VCPUs)*1000, memory, disk, pods),
		resources(int64(kind.VCPUs)*1000-kept.milliCPU, memory-kept.memory, max(disk-kept.disk, 0), pods)
}

func resources(milliCPU, memory, disk, pods int64) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(pods, resource.DecimalSI),
	}
	if disk > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(disk, resource.BinarySI)
	}
	return list
}

// addresses returns how many pods can have an address of the network interfaces of the instance's
// default network card, in addition to two on the host's network (awslabs/amazon-eks-ami, nodeadm:
// CalcMaxPods; its eni-max-pods.txt has 100 for p5.48xlarge, whose card has 2 interfaces).
func addresses(kind *world.InstanceType) int64 {
	return int64(kind.Cards()[0].MaxENIs)*int64(kind.IPv4PerENI-1) + 2
}

// reserved holds what pods cannot have, in bytes and thousandths of a CPU.
type reserved struct{ milliCPU, memory, disk int64 }

func (r reserved) add(other reserved) reserved {
	return reserved{r.milliCPU + other.milliCPU, r.memory + other.memory, r.disk + other.disk}
}

// reservedByEKS returns kubeReserved as EKS's bootstrap sets it: of the CPU 6 % of the first core,
// 1 % of the second, 0.5 % of the next two, and 0.25 % of the others; of memory 255 MiB and 11 MiB
// for every pod that could have an address, whatever maxPods says; and 1 GiB of disk
// (awslabs/amazon-eks-ami, nodeadm: withDefaultReservedResources).
func reservedByEKS(kind *world.InstanceType) reserved {
	cores := int64(kind.VCPUs)
	hundredths := 6000*min(cores, 1) + 1000*min(max(cores-1, 0), 1) + 500*min(max(cores-2, 0), 2) + 250*max(cores-4, 0)
	return reserved{milliCPU: hundredths / 100, memory: (255 + 11*addresses(kind)) << 20, disk: 1 << 30}
}

// rootVolume returns the size of the disk that the node's storage is on; 0 if it is not known.
func (n *Nodes) rootVolume(m machine, instance awssim.Instance) int64 {
	for _, device := range instance.BlockDeviceMappings {
		if device.DeviceName == nil || instance.RootDeviceName == nil || *device.DeviceName != *instance.RootDeviceName || device.Ebs == nil {
			continue
		}
		if volume, ok := n.cloud.Region(m.account, m.region).Volume(*device.Ebs.VolumeId); ok && volume.Size != nil {
			return int64(*volume.Size) << 30
		}
	}
	return 0
}
