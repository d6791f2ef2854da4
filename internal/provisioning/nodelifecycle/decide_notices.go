package nodelifecycle

import (
	"time"

	"github.com/slipway-project/slipway/internal/reconcile"
)

// reclaimTime is the time between the notice and the moment when EC2 takes a Spot Instance back.
const reclaimTime = 2 * time.Minute

// decideInterruption decides about a node whose Spot Instance EC2 takes back: its pods move while the
// instance is there, and new ones are bought elsewhere.
func decideInterruption(in input) reconcile.Plan {
	var plan reconcile.Plan
	limitDrain(in, &plan, reclaimTime)
	if in.Object.DeletionTimestamp != nil {
		return plan
	}
	status := &in.Object.Status
	tell(in, &plan, reconcile.Warningf("SpotInterruption", "EC2 interrupts Spot Instance %s (%s, %s) of "+
		"ProvisionedNode %s within two minutes. Slipway is moving its pods to other nodes.",
		status.InstanceID, status.InstanceType, status.Zone, in.Object.Name))
	plan.Do(deleteNode{Reason: "Interrupted"}, "EC2 is interrupting instance %s", status.InstanceID)
	return plan
}

// decideRebalance decides about a node whose Spot Instance EC2 may take back. The node stays: most
// such instances are not taken back for long, and moving its pods each time would cost more than it
// saves.
func decideRebalance(in input) reconcile.Plan {
	var plan reconcile.Plan
	status := &in.Object.Status
	tell(in, &plan, reconcile.Warningf("RebalanceRecommended", "EC2 may interrupt Spot Instance %s (%s, %s) of "+
		"ProvisionedNode %s soon. Slipway temporarily launches no more instances of this type in this zone.",
		status.InstanceID, status.InstanceType, status.Zone, in.Object.Name))
	return plan
}
