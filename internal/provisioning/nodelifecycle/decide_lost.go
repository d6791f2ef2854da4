package nodelifecycle

import (
	"cmp"
	"strings"

	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// instanceGone is the reason for deleting a node whose instance terminated, and not by Slipway.
const instanceGone = "InstanceGone"

// Codes by which EC2 explains the end of an instance (EC2 API Reference, StateReason).
const (
	codeSpotTermination = "Server.SpotInstanceTermination"
	codeNoCapacity      = "Server.InsufficientInstanceCapacity"
	codeUserShutdown    = "Client.UserInitiatedShutdown"
)

// instanceLost deletes a node whose instance terminated, and not by Slipway. The next launch avoids an
// offering that EC2 took back for lack of capacity. An instance that ends before its node has started,
// because EC2 could not launch it or its user data shut it down, counts as a failed start: the next
// one would end in the same way, and EC2 charges for each.
func instanceLost(in input, plan *reconcile.Plan) bool {
	node, found := in.Object, in.Seen.Instance.Found
	if found == nil {
		found = &fleet.Instance{}
	}
	reason := strings.TrimSuffix(cmp.Or(found.StateMessage, found.StateCode), ".")
	told := reconcile.Warningf(instanceGone, "Instance %s of ProvisionedNode %s was terminated: %s.", in.Seen.Instance.ID, node.Name, reason)
	switch found.StateCode {
	case codeSpotTermination, codeNoCapacity:
		if found.StateCode == codeSpotTermination {
			told = reconcile.Warningf(instanceGone, "EC2 interrupted Spot Instance %s (%s, %s) of ProvisionedNode %s.",
				in.Seen.Instance.ID, node.Status.InstanceType, node.Status.Zone, node.Name)
		}
		if tried, _ := reconcile.Attempted[avoidOffering](in.Done); !tried { // it cannot fail
			plan.Do(avoidOffering{offeringOf(node)}, "EC2 took instance %s back", in.Seen.Instance.ID)
			return false
		}
	case "", codeUserShutdown:
		told = reconcile.Warningf(instanceGone, "Instance %s of ProvisionedNode %s was terminated outside Slipway.", in.Seen.Instance.ID, node.Name)
	default:
		why := "its instance was terminated while it started: " + reason
		if node.Status.ReadyTime == nil && !recordStart(in, plan, "", why, why) {
			return false
		}
	}
	return end(in, plan, instanceGone, "its instance is terminated", told)
}
