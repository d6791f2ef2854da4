package nodelifecycle

import (
	"fmt"
	"time"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// The actions on instances.
type (
	// launchInstances has EC2 launch the instances of a launch, for all of its nodes. The first of
	// its nodes sends the call. The call is identified by its name: after a crash it is repeated,
	// and answered with the same instances.
	launchInstances struct{ Launch string }
	// avoidOffering keeps launches from an offering for a while, because EC2 took an instance of it back.
	avoidOffering struct{ Offering catalog.Offering }
	// terminateInstance terminates an instance whose tags prove that it was launched for the node.
	terminateInstance struct{ Instance fleet.Instance }
)

// The actions on Nodes and their pods.
type (
	// registerMember gives the Node its finalizer. With Dress it also gives it labels and taints, and
	// removes the taint that kept pods from it until then, in the same write.
	registerMember struct {
		Node  string
		Dress bool
		// Labels that follow from the instance type.
		Labels map[string]string
		// Starts adds the startup taints.
		Starts bool
	}
	// drainMember takes one step in emptying the Node of an instance.
	drainMember struct {
		Node, ProviderID string
		// Deadline is when the node counts as empty, whatever is left on it; zero for never.
		Deadline time.Time
	}
	// releaseMember deletes the Node of an instance that has terminated, if it was registered for the
	// ProvisionedNode, and removes the finalizer from it.
	releaseMember struct{ Node string }
)

// The actions on ProvisionedNodes and Provisioners.
type (
	// recordStarts records in the Provisioner's status which launch templates nodes did not start
	// from.
	recordStarts struct {
		Provisioner  string
		FailedStarts []provisioningv1.FailedStart
	}
	// deleteNode deletes the ProvisionedNode. The deletion drains the Node and terminates the
	// instance first.
	deleteNode struct {
		// Reason is the one that slipway_node_disruptions_total has.
		Reason string
		// Told lists the events that are reported before the deletion.
		Told []reconcile.Event
	}
	// replaceFailed deletes a failed ProvisionedNode as deleteNode does, unless too many failed nodes
	// of its zone are being replaced by then.
	replaceFailed struct {
		deleteNode
		Zone string
		// CheckStatus has EC2 confirm that the instance fails a status check: its last answer may be
		// as old as an outage of AWS.
		CheckStatus bool
	}
	// releaseNode removes the finalizer of a ProvisionedNode whose instance has terminated.
	releaseNode struct{}
)

func (l launchInstances) String() string   { return "launch the instances of launch " + l.Launch }
func (t terminateInstance) String() string { return "terminate instance " + t.Instance.ID }
func (v avoidOffering) String() string {
	return fmt.Sprintf("avoid %s %s in %s", v.Offering.CapacityType, v.Offering.InstanceType, v.Offering.Zone)
}
func (r registerMember) String() string { return "register Node " + r.Node }
func (d drainMember) String() string    { return "drain Node " + d.Node }
func (r releaseMember) String() string  { return "release Node " + r.Node }
func (deleteNode) String() string       { return "delete the ProvisionedNode" }
func (r replaceFailed) String() string  { return "replace the failed node in zone " + r.Zone }
func (releaseNode) String() string      { return "remove the finalizer" }
func (r recordStarts) String() string {
	return fmt.Sprintf("record %d failed starts in Provisioner %s", len(r.FailedStarts), r.Provisioner)
}
