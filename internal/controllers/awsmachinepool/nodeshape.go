package awsmachinepool

import (
	"context"

	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// describeNode says in status what a node is, so that cluster-autoscaler can scale from zero. Of overrides the first counts, as for cluster-autoscaler's aws provider.
// What is known stays while the launch config is not ready.
func (r *Reconciler) describeNode(ctx context.Context, p *pass) reconciling.Outcome {
	if p.config == nil || p.config.WhatIsLaunched() == nil {
		return reconciling.Continue()
	}
	resolved := p.config.WhatIsLaunched()
	shape := common.NodeShape{
		InstanceType: resolved.InstanceType, Architecture: resolved.ImageArchitecture, OperatingSystem: resolved.OperatingSystem,
		EphemeralStorageGiB: resolved.EphemeralStorageGiB,
	}
	if policy := p.pool.Spec.MixedInstancesPolicy; policy != nil && len(policy.Overrides) > 0 && (policy.Overrides[0].InstanceType != "" || policy.Overrides[0].InstanceRequirements != nil) {
		shape.InstanceType = policy.Overrides[0].InstanceType
	}
	var err error
	if p.pool.Status.Capacity, p.pool.Status.NodeInfo, err = shape.Describe(ctx, p.cloud.Discovery); err != nil {
		return reconciling.Fail(err).AndGoOn()
	}
	return reconciling.Continue()
}
