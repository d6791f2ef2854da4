// Package catalog decides what pods get of an instance type, what it costs, and where it is sold:
// it turns EC2's description of types into the input of package packing. It is a function of
// values, except for Shortages, which remembers for a while what AWS had none of.
//
// Every estimate of the resources for pods is on the low side: where a Node has more, some of it
// stays unused, and where it had less, a pod would not fit. On-demand prices are estimates from
// size, architecture and devices. They order offerings for packing, while EC2 decides by its own
// prices what is bought.
package catalog

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Facts holds what is known about a region.
type Facts struct {
	// Region is its name, which nodes carry as a label.
	Region string
	// Types that EC2 has.
	Types []discovery.InstanceType
	// Zones in which a type is offered, by its name.
	Zones map[string][]string
	// Spot are prices; a pool without one is taken for some share of the price on demand.
	Spot map[discovery.Pool]float64
	// Named are types that some provisioner names. A type that is only used when it is named is
	// used for all provisioners then.
	Named []string
}

// Build returns the catalog in the zones given. Offerings that are short are marked as unavailable.
func Build(facts Facts, zones []string, short func(Offering) bool) []packing.InstanceType {
	var types []packing.InstanceType
	for i := range facts.Types {
		t := &facts.Types[i]
		if !suits(t, slices.Contains(facts.Named, t.Name)) {
			continue
		}
		entry := packing.InstanceType{
			Name: t.Name, Architecture: architectures[t.Architecture()],
			Labels: Labels(facts.Region, t), EFAInterfaces: int64(t.EFAInterfaces),
			Capacity: Capacity(t), Overhead: overhead(t),
		}
		for _, zone := range facts.Zones[t.Name] {
			if slices.Contains(zones, zone) {
				entry.Offerings = append(entry.Offerings, offerings(t, zone, facts.Spot, short)...)
			}
		}
		if len(entry.Offerings) > 0 {
			types = append(types, entry)
		}
	}
	return types
}

// NotOffered returns the types that AWS offers in none of the zones, and does offer in others, by
// what says whether a node may be one.
func NotOffered(facts Facts, zones []string) []packing.InstanceType {
	var types []packing.InstanceType
	for i := range facts.Types {
		t := &facts.Types[i]
		there := slices.ContainsFunc(facts.Zones[t.Name], func(zone string) bool { return slices.Contains(zones, zone) })
		if !there && suits(t, slices.Contains(facts.Named, t.Name)) {
			types = append(types, packing.InstanceType{
				Name: t.Name, Architecture: architectures[t.Architecture()], Labels: Labels(facts.Region, t), EFAInterfaces: int64(t.EFAInterfaces),
			})
		}
	}
	return types
}

// architectures maps EC2's names to Kubernetes's.
var architectures = map[string]string{
	string(provisioningv1.ArchitectureX86): string(provisioningv1.ArchitectureAMD64), string(provisioningv1.ArchitectureARM64): string(provisioningv1.ArchitectureARM64),
}

// suits reports whether nodes may have a type. Bare metal takes many minutes to start, so it must
// be named; the images need an EBS root and one of the two architectures.
func suits(t *discovery.InstanceType, named bool) bool {
	return t.EBSRoot && architectures[t.Architecture()] != "" && (named || !t.BareMetal)
}

// Offering names an offering of EC2's.
type Offering = constraints.Offering

func offerings(t *discovery.InstanceType, zone string, spot map[discovery.Pool]float64, short func(Offering) bool) []packing.Offering {
	price := estimate(t)
	var found []packing.Offering
	for _, class := range t.UsageClasses {
		offering := packing.Offering{Zone: zone, CapacityType: class, Price: price}
		switch class {
		case provisioningv1.CapacityTypeOnDemand:
		case provisioningv1.CapacityTypeSpot:
			offering.Price = price * spotShare
			if known, ok := spot[discovery.Pool{InstanceType: t.Name, Zone: zone}]; ok {
				offering.Price = known
			}
		default:
			continue // capacity blocks are bought beforehand
		}
		offering.Unavailable = short(Offering{InstanceType: t.Name, Zone: zone, CapacityType: class})
		found = append(found, offering)
	}
	return found
}

const (
	// maxPods is the most pods of a node. EKS recommends 110 for instances of up to 30 vCPUs and
	// 250 above; the kubelet's own bound is 110. The lower one is right everywhere: a pod that is
	// counted in too much would find no place, one too few costs a part of a large node.
	maxPods = 110

	// hypervisorShare of an instance's memory is not the guest's: what EC2 lists is before firmware
	// and hypervisor (as Karpenter assumes, 7.5 %).
	hypervisorShare = 0.075

	// rootVolume is the size of the root volume of the images that default launch templates have
	// (AWS: eks-optimized AMIs, 20 GiB).
	rootVolume = 20 << 30
)

// addressedPods returns how many pods can have an address of the instance's network interfaces
// (AWS: amazon-vpc-cni-k8s, "eni-max-pods"). The network plugin uses the default network card only,
// so a p5.48xlarge has addresses for 100 pods although it has 64 interfaces.
func addressedPods(t *discovery.InstanceType) int64 {
	if t.CardNetworkInterfaces == 0 || t.IPv4AddressesPerInterface == 0 {
		return maxPods
	}
	return min(int64(t.CardNetworkInterfaces)*int64(t.IPv4AddressesPerInterface-1)+2, maxPods)
}

// Capacity returns what an instance of the type has by itself, as its Node reports it once its
// device plugins run, with the number of pods. It is the only source: resources that a launch
// template or a device plugin adds beyond it are declared in spec.extraResources of Provisioners.
// It does not count Elastic Fabric Adapters, because the launch template decides how many an
// instance has.
func Capacity(t *discovery.InstanceType) corev1.ResourceList {
	memory := float64(t.MemoryMiB<<20) * (1 - hypervisorShare)
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(t.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(memory), resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(addressedPods(t), resource.DecimalSI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(rootVolume, resource.BinarySI),
	}
	for name, count := range devices(t) {
		list[name] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	if t.EBSAttachments > 0 {
		list[packing.AttachableVolumes(packing.EBSDriver)] = *resource.NewQuantity(attachableVolumes(t), resource.DecimalSI)
	}
	return list
}

// earlyInterfaces is the number of network interfaces that an instance has when the EBS driver
// counts them, as it starts: the first, and the interfaces that the network plugin adds at once. It
// is an inference: the plugin keeps one to spare. The driver does not count later ones either.
const earlyInterfaces = 3

// attachableVolumes returns how many volumes the driver of EBS attaches in addition to the root
// device (kubernetes-sigs/aws-ebs-csi-driver, getVolumesLimit). Where network interfaces share the
// attachments, they take theirs. The attachments of the first interface, of local disks, and of
// GPUs are not among the attachments that EC2 reports: of 28, an m5.large has 27, an m5d.large 26,
// and a g5.xlarge 25.
func attachableVolumes(t *discovery.InstanceType) int64 {
	volumes := int64(t.EBSAttachments) - 1
	if t.EBSAttachmentsShared {
		volumes -= int64(max(min(t.MaxNetworkInterfaces, earlyInterfaces)-1, 0))
	}
	return max(volumes, 0)
}

// gpuResources are the resources that device plugins register for the GPUs of a manufacturer.
var gpuResources = map[string]corev1.ResourceName{"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}

// Resources that the device plugin of AWS Neuron registers: devices, under their present and their
// former name, and the cores of all devices.
const (
	neuron       corev1.ResourceName = "aws.amazon.com/neuron"
	neuronDevice corev1.ResourceName = "aws.amazon.com/neurondevice"
	neuronCore   corev1.ResourceName = "aws.amazon.com/neuroncore"
)

// neuronCores are the cores of a device (AWS Neuron: "Neuron Hardware"), where EC2 does not say.
var neuronCores = map[string]int32{"Inferentia": 4, "Inferentia2": 2, "Trainium": 2, "Trainium2": 8}

// devices returns the extended resources of an instance type.
func devices(t *discovery.InstanceType) map[corev1.ResourceName]int64 {
	counts := map[corev1.ResourceName]int64{}
	for _, gpu := range t.GPUDevices {
		if name, known := gpuResources[gpu.Manufacturer]; known && gpu.Count > 0 {
			counts[name] += int64(gpu.Count)
		}
	}
	for _, device := range t.NeuronDevices {
		counts[neuron] += int64(device.Count)
		counts[neuronDevice] += int64(device.Count)
		if cores := cmp.Or(device.Cores, neuronCores[device.Name]); cores > 0 {
			counts[neuronCore] += int64(device.Count) * int64(cores)
		}
	}
	return counts
}

// overhead returns what the kubelet reserves (AWS: awslabs/amazon-eks-ami, nodeadm's kubelet
// defaults): of CPU 6 % of the first core, 1 % of the second, 0.5 % of the next two, and 0.25 % of
// the others; of memory 255 MiB and 11 MiB per pod, and 100 MiB below which it evicts; of storage 1
// GiB, and a tenth below which it evicts.
func overhead(t *discovery.InstanceType) corev1.ResourceList {
	cores := int64(t.VCPUs)
	micros := 60_000*min(cores, 1) + 10_000*min(max(cores-1, 0), 1) + 5_000*min(max(cores-2, 0), 2) + 2_500*max(cores-4, 0)
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity((micros+999)/1000, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity((255+11*addressedPods(t)+100)<<20, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(1<<30+rootVolume/10, resource.BinarySI),
	}
}

// Allocatable returns what pods get of an instance.
func Allocatable(t *discovery.InstanceType) corev1.ResourceList {
	list, less := Capacity(t), overhead(t)
	for name, quantity := range list {
		quantity.Sub(less[name])
		list[name] = quantity
	}
	return list
}
