package provisioner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/provisioning/state"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// drifted is a node that is not what it would be launched as now.
type drifted struct {
	node *provisioningv1.ProvisionedNode
	why  string
}

// replaceDrifted has nodes replaced that are not what they would be launched as now, the oldest first, and no more at a time than the budget lets. A mark on a node says so; whoever keeps
// the node does the rest. Without a budget, or when a node is as it should be again, the mark goes.
func (r *Reconciler) replaceDrifted(ctx context.Context, p *pass) reconciling.Outcome {
	found, err := r.findDrifted(ctx, p)
	if err != nil {
		return outcome.Again(err)
	}
	if err := r.unmark(ctx, p, found); err != nil {
		return reconciling.Fail(err)
	}
	drift := p.provisioner.Spec.Drift
	if drift == nil {
		reconciling.Remove(p.provisioner, provisioningv1.NodesCurrentCondition)
		return reconciling.Continue()
	}
	marked, next := choose(p.nodes, found, budget(drift.MaxReplacing, len(p.nodes)))
	for _, one := range next {
		if err := r.mark(ctx, one.node, provisioningv1.DriftedReason+": "+one.why); err != nil {
			return reconciling.Fail(err)
		}
		r.Report.Done(ctx, p.provisioner, "NodeDrifted", "Replacing ProvisionedNode %s (Node %s): %s.", one.node.Name, one.node.Status.NodeName, one.why)
	}
	if len(found) == 0 {
		reconciling.True(p.provisioner, provisioningv1.NodesCurrentCondition, provisioningv1.ReadyReason, "")
		return reconciling.Continue()
	}
	message := fmt.Sprintf("%d of %d nodes are not as they would be launched now, %d are being replaced; the oldest, %s: %s",
		len(found), len(p.nodes), marked+len(next), found[0].node.Name, found[0].why)
	reconciling.False(p.provisioner, provisioningv1.NodesCurrentCondition, provisioningv1.DriftedReason, message)
	return reconciling.Continue()
}

// budget is how many of so many nodes are replaced at a time, at least one.
func budget(most intstr.IntOrString, nodes int) int {
	scaled, err := intstr.GetScaledValueFromIntOrPercent(&most, nodes, true)
	if err != nil {
		return 1 // the API server lets none through that does not parse
	}
	return max(scaled, 1)
}

// choose says how many nodes are on their way out by a mark already, and which are next, within a budget.
func choose(nodes []provisioningv1.ProvisionedNode, found []drifted, budget int) (marked int, next []drifted) {
	for i := range nodes {
		if isMarked(&nodes[i]) {
			marked++
		}
	}
	for _, one := range found {
		// A node that has not taken pods yet has none to move, and nobody to end it for.
		if marked+len(next) < budget && !state.Leaves(one.node) && !isMarked(one.node) && one.node.Status.ReadyTime != nil {
			next = append(next, one)
		}
	}
	return marked, next
}

// findDrifted are the nodes that are not what they would be launched as now, the oldest first. None are looked for without a budget.
func (r *Reconciler) findDrifted(ctx context.Context, p *pass) ([]drifted, error) {
	if p.provisioner.Spec.Drift == nil {
		return nil, nil
	}
	var found []drifted
	for i := range p.nodes {
		node := &p.nodes[i]
		now, known, err := r.current(ctx, p, node)
		if err != nil {
			return nil, err
		}
		if why := differs(node, now); known && why != "" && node.DeletionTimestamp == nil {
			found = append(found, drifted{node, why})
		}
	}
	slices.SortFunc(found, func(a, b drifted) int {
		if order := a.node.CreationTimestamp.Compare(b.node.CreationTimestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(a.node.Name, b.node.Name)
	})
	return found, nil
}

// launchable is what an instance is launched from.
type launchable struct {
	id, image string
	version   int64
}

// current is what the node would be launched from now; false if nobody knows.
func (r *Reconciler) current(ctx context.Context, p *pass, node *provisioningv1.ProvisionedNode) (launchable, bool, error) {
	architecture := node.Spec.Architecture.Label()
	reference, asked := askedFor(node)
	if !asked {
		reference = p.layer.Template
	}
	if !reference.IsDefault() {
		known, read := p.known[reference]
		if !read || known.Problem != "" {
			return launchable{}, false, nil
		}
		if asked || known.Architecture == architecture {
			return launchable{id: known.ID, image: known.ImageID, version: known.Version}, true, nil
		}
		if p.layer.IgnoreIncompatible {
			return launchable{}, false, nil // it would not be launched at all
		}
	}
	made, is := p.made[architecture]
	if !is {
		var err error
		if made, err = r.Defaults.Ensure(ctx, p.provisioner, architecture); err != nil {
			return launchable{}, false, err
		}
	}
	return launchable{id: made.ID, image: made.ImageID, version: made.Version}, true, nil
}

// differs says what of a node is not as it would be launched now, "" if nothing is.
func differs(node *provisioningv1.ProvisionedNode, now launchable) string {
	was := node.Spec.LaunchTemplate
	switch {
	case was.ID != now.id:
		return fmt.Sprintf("it was launched from launch template %s, and would be from %s now", was.ID, now.id)
	case was.Version != now.version:
		return fmt.Sprintf("it was launched from version %d of launch template %s, and would be from version %d now", was.Version, was.ID, now.version)
	case node.Status.ImageID != "" && now.image != "" && node.Status.ImageID != now.image:
		return fmt.Sprintf("it was launched with image %s, and would be with %s now", node.Status.ImageID, now.image)
	}
	return ""
}

// unmark takes the mark from nodes that are as they should be.
func (r *Reconciler) unmark(ctx context.Context, p *pass, found []drifted) error {
	for i := range p.nodes {
		node := &p.nodes[i]
		still := slices.ContainsFunc(found, func(one drifted) bool { return one.node == node })
		if !isMarked(node) || still || node.DeletionTimestamp != nil {
			continue
		}
		if err := r.mark(ctx, node, ""); err != nil {
			return err
		}
	}
	return nil
}

func isMarked(node *provisioningv1.ProvisionedNode) bool {
	return strings.HasPrefix(node.Annotations[provisioningv1.ReplaceAnnotation], provisioningv1.DriftedReason)
}

// mark sets the annotation, or removes it if the value is empty. A conflict with another writer does not matter: nobody else's is this value.
func (r *Reconciler) mark(ctx context.Context, node *provisioningv1.ProvisionedNode, value string) error {
	marked := node.DeepCopy() // what is in the node is the cache's
	if marked.Annotations == nil {
		marked.Annotations = map[string]string{}
	}
	marked.Annotations[provisioningv1.ReplaceAnnotation] = value
	if value == "" {
		delete(marked.Annotations, provisioningv1.ReplaceAnnotation)
	}
	if err := r.Client.Patch(ctx, marked, client.MergeFrom(node)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("marking ProvisionedNode %q: %w", node.Name, err)
	}
	*node = *marked
	return nil
}
