package catalog

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
)

// Labels returns the labels of an instance type's nodes that the region and the type decide, under
// the names that Karpenter gives them. Memory is in MiB, bandwidths are in Mbit/s, local disks in
// GB. A label is missing where the type has no such thing, or EC2 does not say.
func Labels(region string, t *discovery.InstanceType) map[string]string {
	labels := map[string]string{corev1.LabelTopologyRegion: region}
	text := func(name, value string) {
		if value != "" {
			labels[provisioningv1.InstanceLabelPrefix+name] = value
		}
	}
	number := func(name string, value int64) {
		if value > 0 {
			text(name, strconv.FormatInt(value, 10))
		}
	}
	family, size, _ := strings.Cut(t.Name, ".")
	category, generation := kindOf(family)
	text("family", family)
	text("size", size)
	text("category", category)
	text("generation", generation)
	number("cpu", int64(t.VCPUs))
	text("cpu-manufacturer", value(t.CPUManufacturer))
	number("memory", t.MemoryMiB)
	number("ebs-bandwidth", t.EBSMbps)
	number("network-bandwidth", t.NetworkMbps)
	text("hypervisor", t.Hypervisor)
	text("encryption-in-transit-supported", strconv.FormatBool(t.EncryptionInTransit))
	if t.LocalNVMe {
		number("local-nvme", t.InstanceStorageGB)
	}
	// A type with several kinds of devices has no label that would be true of all.
	if len(t.GPUDevices) == 1 {
		gpu := &t.GPUDevices[0]
		text("gpu-name", value(gpu.Name))
		text("gpu-manufacturer", value(gpu.Manufacturer))
		number("gpu-count", int64(gpu.Count))
		number("gpu-memory", gpu.MemoryMiB)
	}
	if len(t.NeuronDevices) == 1 {
		accelerator := &t.NeuronDevices[0]
		text("accelerator-name", value(accelerator.Name))
		text("accelerator-manufacturer", value(accelerator.Manufacturer))
		number("accelerator-count", int64(accelerator.Count))
	}
	return labels
}

// kindOf returns the category and the generation of a family: c and 7 of c7gn, u and 1 of u-12tb1,
// hpc and 6 of hpc6a.
func kindOf(family string) (category, generation string) {
	end := strings.IndexFunc(family, func(r rune) bool { return r < 'a' || r > 'z' })
	if end <= 0 {
		return "", ""
	}
	category, rest := family[:end], family[end:]
	if size, after, high := strings.Cut(rest, "tb"); high && strings.HasPrefix(size, "-") {
		rest = after // u-12tb1: the number before tb is its memory
	}
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(rest)
	}
	if digits == 0 {
		return "", ""
	}
	return category, rest[:digits]
}

// value returns a name of EC2's as Karpenter writes it in labels: in lower case, with hyphens for spaces.
func value(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, " ", "-"))
}
