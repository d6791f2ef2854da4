package pool

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
)

func TestDescribeNode(t *testing.T) {
	t.Parallel()
	graviton := discovery.InstanceType{VCPUs: 2, MemoryMiB: 8192, Architectures: []string{"arm64"}}
	gpu := discovery.InstanceType{VCPUs: 8, MemoryMiB: 61440, GPUs: 1, NVIDIAGPUs: 1, Architectures: []string{"x86_64"}}
	for _, row := range []struct {
		reason   string
		shape    NodeShape
		of       discovery.InstanceType
		capacity map[string]string
		info     infrav1.NodeInfo
	}{
		{"what is not set follows from the instance type, and the system is linux", NodeShape{}, graviton,
			map[string]string{"cpu": "2", "memory": "8Gi"}, infrav1.NodeInfo{Architecture: "arm64", OperatingSystem: "linux"}},
		{"the image says architecture and system, the root volume the ephemeral storage",
			NodeShape{Architecture: "x86_64", OperatingSystem: "windows", EphemeralStorageGiB: 50}, gpu,
			map[string]string{"cpu": "8", "memory": "60Gi", "ephemeral-storage": "50Gi", "nvidia.com/gpu": "1"},
			infrav1.NodeInfo{Architecture: "amd64", OperatingSystem: "windows"}},
	} {
		capacity, info := row.shape.describe(row.of)
		got := map[string]string{}
		for name, quantity := range capacity {
			got[string(name)] = quantity.String()
		}
		if diff := cmp.Diff(row.capacity, got); diff != "" {
			t.Errorf("%s: capacity (-want +got):\n%s", row.reason, diff)
		}
		if diff := cmp.Diff(&row.info, info); diff != "" {
			t.Errorf("%s: node info (-want +got):\n%s", row.reason, diff)
		}
	}
}
