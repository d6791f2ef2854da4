package managedmachinepool

import (
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// EKS's defaults where the pool names nothing (AWS: API_CreateNodegroup, instanceTypes and diskSize).
const (
	defaultInstanceType   = "t3.medium"
	defaultDiskGiB        = 20
	defaultWindowsDiskGiB = 50
)

// describeNode shows in status what a node is, so that cluster-autoscaler can scale from zero. Status
// keeps what is known while the launch config is not ready.
func describeNode(in input, plan *reconcile.Plan) bool {
	config, shape := launchable(in), in.Seen.Shape
	switch {
	case in.Object.Spec.Templated() && (config == nil || config.WhatIsLaunched() == nil):
	case shape.Err != nil:
		plan.Fail(shape.Err)
	case !shape.Known:
		plan.Need(needShape)
	default:
		in.Object.Status.Capacity, in.Object.Status.NodeInfo = shape.Capacity, shape.NodeInfo
	}
	return true
}

// nodeShape returns what a node of the pool is. Of several types the first counts, as for the group
// that EKS creates.
func nodeShape(in input) pool.NodeShape {
	spec := &in.Object.Spec
	shape := pool.NodeShape{InstanceType: defaultInstanceType}
	resolved := &infrav1.ResolvedLaunchConfig{}
	if config := launchable(in); config != nil {
		resolved = config.WhatIsLaunched()
		shape.Architecture, shape.OperatingSystem, shape.EphemeralStorageGiB = resolved.ImageArchitecture, resolved.OperatingSystem, resolved.EphemeralStorageGiB
	}
	if types := instanceTypes(spec); len(types) > 0 {
		shape.InstanceType = types[0]
	} else if resolved.InstanceType != "" {
		shape.InstanceType = resolved.InstanceType
	}
	own := ownImage(in)
	if strings.HasPrefix(string(ptr.Deref(spec.AMIType, "")), "WINDOWS") && !own {
		shape.OperatingSystem = "windows"
	}
	if shape.EphemeralStorageGiB == 0 && !own {
		shape.EphemeralStorageGiB = int64(ptr.Deref(spec.DiskSize, defaultDiskGiB))
		if shape.OperatingSystem == "windows" && spec.DiskSize == nil {
			shape.EphemeralStorageGiB = defaultWindowsDiskGiB
		}
	}
	return shape
}
