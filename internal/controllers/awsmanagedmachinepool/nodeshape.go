package awsmanagedmachinepool

import (
	"context"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// What EKS takes where nobody says (AWS: API_CreateNodegroup, instanceTypes and diskSize).
const (
	defaultInstanceType   = "t3.medium"
	defaultDiskGiB        = 20
	defaultWindowsDiskGiB = 50
)

// describeNode says in status what a node is, so that cluster-autoscaler can scale from zero. Of
// several types the first counts, as for the group that EKS makes. What is known stays while the
// launch config is not ready.
func (r *Reconciler) describeNode(ctx context.Context, p *pass) reconciling.Outcome {
	if p.pool.Spec.Templated() && (p.config == nil || p.config.WhatIsLaunched() == nil) {
		return reconciling.Continue()
	}
	var err error
	if p.pool.Status.Capacity, p.pool.Status.NodeInfo, err = nodeShape(p).Describe(ctx, p.cloud.Discovery); err != nil {
		return reconciling.Fail(err).AndGoOn()
	}
	return reconciling.Continue()
}

func nodeShape(p *pass) common.NodeShape {
	spec := &p.pool.Spec
	shape := common.NodeShape{InstanceType: defaultInstanceType}
	resolved := &infrav1.ResolvedLaunchConfig{}
	if p.config != nil {
		resolved = p.config.WhatIsLaunched()
		shape.Architecture, shape.OperatingSystem, shape.EphemeralStorageGiB = resolved.ImageArchitecture, resolved.OperatingSystem, resolved.EphemeralStorageGiB
	}
	if types := instanceTypes(spec); len(types) > 0 {
		shape.InstanceType = types[0]
	} else if resolved.InstanceType != "" {
		shape.InstanceType = resolved.InstanceType
	}
	if windows := strings.HasPrefix(string(ptr.Deref(spec.AMIType, "")), "WINDOWS"); windows && !ownImage(p) {
		shape.OperatingSystem = "windows"
	}
	if shape.EphemeralStorageGiB == 0 && !ownImage(p) {
		shape.EphemeralStorageGiB = int64(ptr.Deref(spec.DiskSize, defaultDiskGiB))
		if shape.OperatingSystem == "windows" && spec.DiskSize == nil {
			shape.EphemeralStorageGiB = defaultWindowsDiskGiB
		}
	}
	return shape
}
