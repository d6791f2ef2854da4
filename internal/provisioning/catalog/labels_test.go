package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
)

// TestLabels checks the labels of instance types, under the names and in the units that Karpenter
// has for them.
func TestLabels(t *testing.T) {
	t.Parallel()
	const prefix = "karpenter.k8s.aws/instance-"
	for _, row := range []struct {
		reason string
		of     discovery.InstanceType
		want   map[string]string
	}{
		{"a plain type", m5(func(t *discovery.InstanceType) {
			t.Hypervisor, t.CPUManufacturer, t.NetworkMbps, t.EBSMbps = "nitro", "Intel", 750, 4750
		}), map[string]string{
			"family": "m5", "size": "large", "category": "m", "generation": "5", "cpu": "2", "cpu-manufacturer": "intel", "memory": "8192", "hypervisor": "nitro",
			"network-bandwidth": "750", "ebs-bandwidth": "4750", "encryption-in-transit-supported": "false",
		}},
		{"local disks and a GPU", discovery.InstanceType{
			Name: "g4dn.xlarge", VCPUs: 4, MemoryMiB: 16384, InstanceStorageGB: 125, LocalNVMe: true, EncryptionInTransit: true,
			GPUDevices: []discovery.Device{{Name: "T4", Manufacturer: "NVIDIA", Count: 1, MemoryMiB: 16384}},
		}, map[string]string{
			"family": "g4dn", "size": "xlarge", "category": "g", "generation": "4", "cpu": "4", "memory": "16384", "local-nvme": "125", "encryption-in-transit-supported": "true",
			"gpu-name": "t4", "gpu-manufacturer": "nvidia", "gpu-count": "1", "gpu-memory": "16384",
		}},
		{"accelerators; its name has the memory before the generation; bare metal has no hypervisor", discovery.InstanceType{
			Name: "u-12tb1.metal", NeuronDevices: []discovery.Device{{Name: "Inferentia 2", Manufacturer: "AWS", Count: 2}},
		}, map[string]string{
			"family": "u-12tb1", "size": "metal", "category": "u", "generation": "1", "encryption-in-transit-supported": "false",
			"accelerator-name": "inferentia-2", "accelerator-manufacturer": "aws", "accelerator-count": "2",
		}},
		{"old disks are not NVMe; two kinds of GPUs have no one name", discovery.InstanceType{
			Name: "hpc6a.48xlarge", InstanceStorageGB: 80, GPUDevices: []discovery.Device{{Name: "a", Count: 1}, {Name: "b", Count: 1}},
		}, map[string]string{"family": "hpc6a", "size": "48xlarge", "category": "hpc", "generation": "6", "encryption-in-transit-supported": "false"}},
		{"a name without a number", discovery.InstanceType{Name: "mac.metal"}, map[string]string{"family": "mac", "size": "metal", "encryption-in-transit-supported": "false"}},
	} {
		got := map[string]string{}
		for key, value := range catalog.Labels("r", &row.of) {
			if key != corev1.LabelTopologyRegion {
				got[strings.TrimPrefix(key, prefix)] = value
			}
		}
		if difference := cmp.Diff(row.want, got); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
}

// TestDevices checks which extended resources an instance type has by itself.
func TestDevices(t *testing.T) {
	t.Parallel()
	gpus := func(manufacturer string) func(*discovery.InstanceType) {
		return func(t *discovery.InstanceType) {
			t.GPUs, t.GPUDevices = 4, []discovery.Device{{Name: "x", Manufacturer: manufacturer, Count: 4}}
		}
	}
	neuron := func(name string, cores int32) func(*discovery.InstanceType) {
		return func(t *discovery.InstanceType) {
			t.NeuronDevices = []discovery.Device{{Name: name, Manufacturer: "AWS", Count: 6, Cores: cores}}
		}
	}
	for _, row := range []struct {
		reason string
		edit   func(*discovery.InstanceType)
		want   map[string]int64
	}{
		{"none", func(*discovery.InstanceType) {}, map[string]int64{}},
		{"of NVIDIA", gpus("NVIDIA"), map[string]int64{"nvidia.com/gpu": 4}},
		{"of AMD", gpus("AMD"), map[string]int64{"amd.com/gpu": 4}},
		{"of Habana", gpus("Habana"), map[string]int64{"habana.ai/gaudi": 4}},
		{"of another manufacturer", gpus("Xilinx"), map[string]int64{}},
		{"of AWS, as EC2 says", neuron("Trainium3", 16), map[string]int64{"aws.amazon.com/neuron": 6, "aws.amazon.com/neurondevice": 6, "aws.amazon.com/neuroncore": 96}},
		{"of AWS, where EC2 does not say how many cores", neuron("Inferentia2", 0), map[string]int64{
			"aws.amazon.com/neuron": 6, "aws.amazon.com/neurondevice": 6, "aws.amazon.com/neuroncore": 12,
		}},
		{"adapters are the launch template's", func(t *discovery.InstanceType) { t.EFA, t.EFAInterfaces = true, 4 }, map[string]int64{}},
	} {
		of := m5(row.edit)
		got := map[string]int64{}
		for name, quantity := range catalog.Capacity(&of) {
			if strings.Contains(string(name), "/") {
				got[string(name)] = quantity.Value()
			}
		}
		if difference := cmp.Diff(row.want, got); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
}
