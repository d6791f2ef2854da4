package pool

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
)

// NodeShape contains what a pool's specs define about its nodes.
type NodeShape struct {
	// InstanceType of the nodes. If there are several, the one that cluster-autoscaler uses. Empty
	// if unknown.
	InstanceType string
	// Architecture is EC2's name of the architecture. It is empty if the instance type determines
	// it. OperatingSystem is the value of kubernetes.io/os. It is empty for linux.
	Architecture, OperatingSystem string
	// EphemeralStorageGiB is 0 if unknown.
	EphemeralStorageGiB int64
}

// nvidiaGPU is the resource of NVIDIA's device plugin.
const nvidiaGPU corev1.ResourceName = "nvidia.com/gpu"

// Describe returns the capacity and the system of a node for cluster-autoscaler's clusterapi
// provider, which reads status.capacity and status.nodeInfo of the object that a MachinePool refers
// to (cluster-autoscaler: cloudprovider/clusterapi, "Scale from zero support"). The capacity is the
// capacity of the instance type, as CAPA reports it for machine templates, because the share of the
// kernel and the kubelet is unknown. Both results are nil if the instance type is unknown or does
// not exist.
func (s NodeShape) Describe(ctx context.Context, d *discovery.Discovery) (infrav1.NodeCapacity, *infrav1.NodeInfo, error) {
	if s.InstanceType == "" {
		return nil, nil, nil
	}
	instanceType, err := d.InstanceType(ctx, s.InstanceType)
	var missing *discovery.NotFoundError
	if errors.As(err, &missing) {
		return nil, nil, nil // the launch config's condition says so, or the group's
	}
	if err != nil {
		return nil, nil, fmt.Errorf("finding out what a node has: %w", err)
	}
	capacity, info := s.describe(instanceType)
	return capacity, info, nil
}

func (s NodeShape) describe(t discovery.InstanceType) (infrav1.NodeCapacity, *infrav1.NodeInfo) {
	capacity := infrav1.NodeCapacity{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(t.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(t.MemoryMiB<<20, resource.BinarySI),
	}
	if s.EphemeralStorageGiB > 0 {
		capacity[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(s.EphemeralStorageGiB<<30, resource.BinarySI)
	}
	if t.NVIDIAGPUs > 0 {
		capacity[nvidiaGPU] = *resource.NewQuantity(int64(t.NVIDIAGPUs), resource.DecimalSI)
	}
	info := &infrav1.NodeInfo{Architecture: s.Architecture, OperatingSystem: s.OperatingSystem}
	if info.Architecture == "" {
		info.Architecture = t.Architecture()
	}
	if info.Architecture == "x86_64" {
		info.Architecture = "amd64"
	}
	if info.OperatingSystem == "" {
		info.OperatingSystem = "linux"
	}
	return capacity, info
}
