package awsmanagedmachinepool

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// blockEmptied is how long before the end of its Capacity Block EKS scales a node group to 0, so
// that pods leave before EC2 takes the instances away (AWS: EKS user guide, capacity-blocks-mng).
const blockEmptied = 40 * time.Minute

// respectBlock leaves a node group empty that EKS has emptied for the end of its Capacity Block,
// and lets one grow only while it is known which block that is: the launch template may be about to
// name another. EC2 is asked for the end only before nodes would be added.
func (r *Reconciler) respectBlock(ctx context.Context, p *pass) error {
	if !p.group.OfCapacityBlock() || !p.step.Grows(*p.group) {
		return nil
	}
	if p.config == nil {
		r.leaveSizes(p)
		return nil
	}
	id := ptr.Deref(p.config.Spec.CapacityReservationID, "")
	if id == "" {
		return nil // of a resource group, whose blocks end one after another
	}
	block, err := p.cloud.Discovery.CapacityReservation(ctx, id)
	if err != nil {
		return fmt.Errorf("finding out when the Capacity Block ends: %w", err)
	}
	if block.End.IsZero() || r.Clock.Now().Before(block.End.Add(-blockEmptied)) {
		return nil
	}
	r.leaveSizes(p)
	reconciling.False(p.pool, infrav1.NodegroupReadyCondition, infrav1.CapacityBlockEndedReason, fmt.Sprintf(
		"Capacity Block %s ends at %s, before which EKS empties the node group: extend the block, or name another in the launch template", id, block.End.UTC().Format(time.RFC3339)))
	return nil
}

// leaveSizes takes the sizes out of the next step.
func (r *Reconciler) leaveSizes(p *pass) {
	p.desired = p.desired.LeavingSizes()
	p.step = r.next(p)
}
