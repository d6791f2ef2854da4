package scheduler

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// The actions that write to Kubernetes and AWS.
type (
	// createNodes creates the ProvisionedNodes of a launch. Another controller launches the instances,
	// once all objects are there.
	createNodes struct{ Launch launcher.Launch }
	// nominate writes status.nominatedNodeName of pods.
	nominate struct{ Nominations []nominationOf }
	// tellPods writes events on pods.
	tellPods struct{ Events []reconcile.Event }
	// ensureDefault reads a default launch template, and creates it or a version of it if there is none
	// for the spec.
	ensureDefault struct {
		Provisioner *provisioningv1.Provisioner
		Variant     string
	}
	// recordOfferings writes to the status of a Provisioner which offerings are rejected for pods.
	recordOfferings struct {
		Provisioner *provisioningv1.Provisioner
		Rejected    []provisioningv1.RejectedOfferings
	}
)

// The actions that other controllers of this process see.
type (
	// setPromises replaces the places of all pods.
	setPromises struct{ Places map[types.UID]string }
	// addPlaces promises pods places on nodes that exist.
	addPlaces struct{ Places map[types.UID]string }
	// askTemplates reports which launch templates pods name.
	askTemplates struct{ Templates named }
	// wake has a Provisioner reconciled.
	wake struct{ Provisioner string }
)

// The actions that change only metrics.
type (
	// showPending shows how many pods wait, by why.
	showPending struct{ Counts map[string]int }
	// showBatchWait shows how long the first pod of a batch waited for others.
	showBatchWait struct{ Waited time.Duration }
	// showBatch shows how many pods were served together.
	showBatch struct{ Pods int }
)

func (c createNodes) String() string {
	return fmt.Sprintf("create %d ProvisionedNodes of launch %s", len(c.Launch.Nodes), c.Launch.Name)
}
func (n nominate) String() string {
	return fmt.Sprintf("nominate Nodes for %d pods", len(n.Nominations))
}
func (t tellPods) String() string { return fmt.Sprintf("write events on %d pods", len(t.Events)) }
func (e ensureDefault) String() string {
	return fmt.Sprintf("ensure default launch template %s of Provisioner %s", e.Variant, e.Provisioner.Name)
}
func (r recordOfferings) String() string {
	return fmt.Sprintf("record %d reasons for rejected offerings in Provisioner %s", len(r.Rejected), r.Provisioner.Name)
}
func (s setPromises) String() string { return fmt.Sprintf("keep the places of %d pods", len(s.Places)) }
func (a addPlaces) String() string   { return fmt.Sprintf("keep places for %d pods", len(a.Places)) }
func (askTemplates) String() string  { return "report the launch templates that pods name" }
func (w wake) String() string        { return "reconcile Provisioner " + w.Provisioner }
func (showPending) String() string   { return "show how many pods wait" }
func (showBatchWait) String() string { return "show how long a batch of pods waited" }
func (s showBatch) String() string   { return fmt.Sprintf("show a batch of %d pods", s.Pods) }
