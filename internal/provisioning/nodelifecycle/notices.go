package nodelifecycle

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/events"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Heard acts on the events that AWS sends about instances. State that must outlive this process is
// written before it returns; AWS repeats events that were not handled.
func (c *Controller) Heard(ctx context.Context, _ string, happened events.Happened) error {
	var failures []error
	each := func(ids []string, act func(context.Context, *provisioningv1.ProvisionedNode) error) {
		for _, id := range ids {
			failures = append(failures, c.ofInstance(ctx, id, act))
		}
	}
	each(happened.Ended, c.ended)
	each(happened.Interrupted, c.interrupted)
	each(happened.AtRisk, c.atRisk)
	c.Instances.Hear(ctx, happened.Instances)
	return errors.Join(failures...)
}

// ofInstance does something with the node of an instance. Other instances are none of ours.
func (c *Controller) ofInstance(ctx context.Context, id string, act func(context.Context, *provisioningv1.ProvisionedNode) error) error {
	var found provisioningv1.ProvisionedNodeList
	if err := c.Client.List(ctx, &found, client.MatchingFields{byInstance: id}); err != nil {
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
func (c *Controller) ended(_ context.Context, node *provisioningv1.ProvisionedNode) error {
	c.Report.Progress.Interrupted("ended")
	key := client.ObjectKeyFromObject(node)
	c.over.Put(key, true)
	c.Wake(key)
	return nil
}

// interrupted acts on the notice that EC2 takes the instance of a node back.
func (c *Controller) interrupted(ctx context.Context, node *provisioningv1.ProvisionedNode) error {
	c.Shortages.Mark(offeringOf(node))
	if node.DeletionTimestamp == nil {
		c.Report.Progress.Interrupted("spot_interruption")
	}
	return c.carryOut(ctx, node, decideInterruption)
}

// atRisk acts on the notice that EC2 may take the instance of a node back.
func (c *Controller) atRisk(ctx context.Context, node *provisioningv1.ProvisionedNode) error {
	c.Report.Progress.Interrupted("rebalance_recommendation")
	c.Shortages.Mark(offeringOf(node))
	return c.carryOut(ctx, node, decideRebalance)
}

// carryOut does what is decided about a notice. The node's annotations are written whatever else was
// changed of it since it was read.
func (c *Controller) carryOut(ctx context.Context, node *provisioningv1.ProvisionedNode, decide func(input) reconcile.Plan) error {
	provisioner, err := c.provisionerOf(ctx, node)
	if err != nil {
		return err
	}
	seen := &Observed{Provisioner: provisioner}
	plan := decide(input{Object: node, Seen: *seen, Now: c.Clock.Now()})
	for _, event := range plan.Events {
		c.Report.Warn(ctx, event.About, event.Reason, "%s", event.Note)
	}
	for key, value := range plan.Annotations {
		if err := reconciling.Annotate(ctx, c.Client, node, key, value); err != nil {
			return err
		}
	}
	for _, step := range plan.Actions {
		if _, err := c.Act(ctx, pass{Object: node, Seen: seen}, step.Action); err != nil {
			return err
		}
	}
	return nil
}

// offeringOf returns the offering that the node's instance was bought as.
func offeringOf(node *provisioningv1.ProvisionedNode) catalog.Offering {
	return catalog.Offering{InstanceType: node.Status.InstanceType, Zone: node.Status.Zone, CapacityType: node.Spec.CapacityType}
}
