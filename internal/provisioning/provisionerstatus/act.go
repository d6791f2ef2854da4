package provisionerstatus

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// doer is an action that can be done. It keeps what was observed true of the world.
type doer interface {
	do(ctx context.Context, a actor) ([]reconcile.Event, error)
}

// actor acts in one pass.
type actor struct {
	*Kind
	pass
}

// lists returns the lists of nodes that were read, the newest first.
func (a actor) lists() [][]provisioningv1.ProvisionedNode {
	return [][]provisioningv1.ProvisionedNode{a.Seen.Marking.Items, a.Seen.Allowing.Items, a.Seen.Nodes}
}

// node returns a node as the newest list has it, and all that the lists have of it.
func (a actor) node(name string) (newest *provisioningv1.ProvisionedNode, all []*provisioningv1.ProvisionedNode, err error) {
	for _, nodes := range a.lists() {
		for i := range nodes {
			if nodes[i].Name == name {
				all = append(all, &nodes[i])
			}
		}
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("ProvisionedNode %q is not one of the Provisioner's", name)
	}
	return all[0], all, nil
}

// annotate sets an annotation of a node, or removes it if the value is empty.
func (a actor) annotate(ctx context.Context, name, key, value string) error {
	newest, all, err := a.node(name)
	if err != nil {
		return err
	}
	if err := reconciling.Annotate(ctx, a.Client, newest, key, value); err != nil {
		return err
	}
	for _, node := range all[1:] {
		reconciling.SetAnnotation(node, key, value)
	}
	return nil
}

func (d allowDisruptions) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	for _, node := range d.Nodes {
		if err := a.annotate(ctx, node.Node, provisioningv1.DisruptionAllowedAnnotation, node.Reason); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (r revokeDisruptions) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	for _, name := range r.Nodes {
		if err := a.annotate(ctx, name, provisioningv1.DisruptionAllowedAnnotation, ""); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (m markDrifted) do(ctx context.Context, a actor) (told []reconcile.Event, err error) {
	for _, name := range m.Nodes {
		node, _, err := a.node(name)
		if err != nil {
			return told, err
		}
		if err := a.annotate(ctx, name, provisioningv1.ReplaceAnnotation, provisioningv1.DriftedReason+": "+m.Why); err != nil {
			return told, err
		}
		told = append(told, reconcile.Eventf("NodeDrifted", "Replacing ProvisionedNode %s (Node %s): %s.", name, node.Status.NodeName, m.Why).WithoutReason())
	}
	return told, nil
}

func (u unmarkDrifted) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	for _, name := range u.Nodes {
		if err := a.annotate(ctx, name, provisioningv1.ReplaceAnnotation, ""); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (d deleteNodes) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	for _, name := range d.Nodes {
		node, all, err := a.node(name)
		if err != nil {
			return nil, err
		}
		if err := a.Client.Delete(ctx, node); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("deleting ProvisionedNode %q: %w", name, err)
		}
		for _, node := range all {
			now := metav1.NewTime(a.Clock.Now())
			node.DeletionTimestamp = &now
		}
	}
	return nil, nil
}

func (e ensureDefault) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	template, err := a.Defaults.Ensure(ctx, a.Object, e.Variant)
	if err != nil {
		return nil, err
	}
	a.see(e.Variant, DefaultTemplate{Template: template, PruneDue: a.Defaults.PruneDue(a.Object, e.Variant)})
	return nil, nil
}

func (p pruneDefault) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	refused, err := a.Defaults.Prune(ctx, a.Object, p.Variant, a.usedVersions)
	if err != nil {
		return nil, err
	}
	template := a.Seen.Defaults[p.Variant]
	template.PruneDue, template.Unpruned = false, refused
	a.see(p.Variant, template)
	return nil, nil
}

// see shows what an action left of a default launch template.
func (a actor) see(variant string, template DefaultTemplate) {
	all := map[string]DefaultTemplate{}
	maps.Copy(all, a.Seen.Defaults)
	all[variant] = template
	a.Seen.Defaults = all
}

// usedVersions returns the versions of a launch template that any ProvisionedNode names, according
// to the API server: a node that was written just now may be launched immediately.
func (a actor) usedVersions(ctx context.Context, id string) (map[int64]bool, error) {
	var nodes provisioningv1.ProvisionedNodeList
	if err := a.Live.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	used := map[int64]bool{}
	for i := range nodes.Items {
		if template := nodes.Items[i].Spec.LaunchTemplate; template.ID == id {
			used[template.Version] = true
		}
	}
	return used, nil
}

func (deleteDefaults) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	shown, err := a.Defaults.Delete(ctx, a.Object)
	a.Seen.TemplateUnshown = !shown
	return nil, err
}

func (c countDrifted) do(_ context.Context, a actor) ([]reconcile.Event, error) {
	a.Progress.NodesDrifted(a.Object.Name, c.Nodes)
	a.Memory.countedDrifted, a.Seen.CountedDrifted = &c.Nodes, &c.Nodes
	return nil, nil
}
