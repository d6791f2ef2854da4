package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Heard acts on the events that AWS sends about instances. State that must outlive this process is
// written before it returns; AWS repeats events that were not handled.
func (r *Reconciler) Heard(ctx context.Context, _ string, happened events.Happened) error {
	r.Instances.Hear(ctx, happened.Instances)
	var failures []error
	each := func(ids []string, act func(context.Context, *provisioningv1.ProvisionedNode) error) {
		for _, id := range ids {
			failures = append(failures, r.ofInstance(ctx, id, act))
		}
	}
	each(happened.Ended, r.ended)
	each(happened.Interrupted, r.interrupted)
	each(happened.AtRisk, r.atRisk)
	return errors.Join(failures...)
}

// ofInstance does something with the node of an instance. Other instances are none of ours.
func (r *Reconciler) ofInstance(ctx context.Context, id string, act func(context.Context, *provisioningv1.ProvisionedNode) error) error {
	var found provisioningv1.ProvisionedNodeList
	if err := r.Client.List(ctx, &found, client.MatchingFields{byInstance: id}); err != nil {
		return fmt.Errorf("finding the ProvisionedNode of instance %q: %w", id, err)
	}
	for i := range found.Items {
		if err := act(ctx, &found.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// ended remembers that the instance has terminated, or is about to: descriptions may say otherwise
// for a while.
func (r *Reconciler) ended(_ context.Context, node *provisioningv1.ProvisionedNode) error {
	r.Report.Progress.Interrupted("ended")
	key := client.ObjectKeyFromObject(node)
	r.over.Put(key, true)
	r.Wake(key)
	return nil
}

// interrupted deletes a node that EC2 takes back: its pods move while the instance is there, and
// new ones are bought elsewhere.
func (r *Reconciler) interrupted(ctx context.Context, node *provisioningv1.ProvisionedNode) error {
	r.Shortages.Mark(offeringOf(node))
	if node.DeletionTimestamp != nil {
		return r.limitDrain(ctx, node, reclaimTime)
	}
	p := &pass{node: node}
	var err error
	if p.provisioner, err = r.provisionerOf(ctx, node); err != nil {
		return err
	}
	r.tell(ctx, p, "SpotInterruption", "EC2 takes Spot Instance %s (%s, %s) of ProvisionedNode %s back within two minutes: its pods are moved.",
		node.Status.InstanceID, node.Status.InstanceType, node.Status.Zone, node.Name)
	r.Report.Progress.Interrupted("spot_interruption")
	if err := r.limitDrain(ctx, node, reclaimTime); err != nil {
		return err
	}
	return r.delete(ctx, node, "Interrupted")
}

// reclaimTime is the time between the notice and the moment when EC2 takes a Spot Instance back.
const reclaimTime = 2 * time.Minute

// limitDrain has the instance of a node terminated after a time at the latest, so that every pod is
// evicted or deleted with its own grace period while the instance is there. A deadline that comes
// sooner stays.
func (r *Reconciler) limitDrain(ctx context.Context, node *provisioningv1.ProvisionedNode, after time.Duration) error {
	deadline := r.Clock.Now().Add(after).UTC()
	if sooner, err := time.Parse(time.RFC3339, node.Annotations[provisioningv1.TerminationDeadlineAnnotation]); err == nil && !sooner.After(deadline) {
		return nil
	}
	return reconciling.Annotate(ctx, r.Client, node, provisioningv1.TerminationDeadlineAnnotation, deadline.Format(time.RFC3339))
}

// atRisk has new nodes be of another kind. The node stays: most such instances are not taken back
// for long, and moving its pods each time would cost more than it saves.
func (r *Reconciler) atRisk(ctx context.Context, node *provisioningv1.ProvisionedNode) error {
	r.Report.Progress.Interrupted("rebalance_recommendation")
	r.Shortages.Mark(offeringOf(node))
	provisioner, err := r.provisionerOf(ctx, node)
	if err != nil {
		return err
	}
	r.tell(ctx, &pass{provisioner: provisioner}, "RebalanceRecommended", "EC2 says that it may take Spot Instance %s (%s, %s) of ProvisionedNode %s back: no more such are launched for now.",
		node.Status.InstanceID, node.Status.InstanceType, node.Status.Zone, node.Name)
	return nil
}

// offeringOf returns the offering that the node's instance was bought as.
func offeringOf(node *provisioningv1.ProvisionedNode) catalog.Offering {
	return catalog.Offering{InstanceType: node.Status.InstanceType, Zone: node.Status.Zone, CapacityType: node.Spec.CapacityType}
}
