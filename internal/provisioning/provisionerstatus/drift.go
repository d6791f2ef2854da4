package provisionerstatus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/provisioning/nodelifecycle"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// drifted is a node that is not what it would be launched as now.
type drifted struct {
	node *provisioningv1.ProvisionedNode
	why  string
}

// replaceDrifted has nodes that are not what they would be launched as now replaced, the oldest
// first, within the bounds of spec.drift and the disruption budgets. A mark on a node requests the
// replacement; the controller of nodes does the rest. Without spec.drift, or when a node no longer
// differs, the mark is removed.
func (r *Reconciler) replaceDrifted(ctx context.Context, p *pass) reconciling.Outcome {
	found, err := r.findDrifted(ctx, p)
	if err != nil {
		return outcome.Again(err)
	}
	replaceable, kept, err := r.withoutKept(ctx, p, found)
	if err != nil {
		return reconciling.Fail(err)
	}
	if err := r.unmark(ctx, p, replaceable); err != nil {
		return reconciling.Fail(err)
	}
	if p.provisioner.Spec.Drift == nil {
		reconciling.Remove(p.provisioner, provisioningv1.NodesCurrentCondition)
		r.Report.Progress.NodesDrifted(p.provisioner.Name, 0)
		return reconciling.Continue()
	}
	marked, next, held := chooseDrifted(&p.provisioner.Spec, p.nodes, replaceable, r.Clock.Now())
	if len(next) > 0 {
		// The cache may not show what was marked last.
		nodes, err := r.nodesNow(ctx, p)
		if err != nil {
			return reconciling.Fail(err)
		}
		marked, next, held = chooseDrifted(&p.provisioner.Spec, nodes, amongst(nodes, replaceable), r.Clock.Now())
	}
	for _, one := range next {
		if err := reconciling.Annotate(ctx, r.Client, one.node, provisioningv1.ReplaceAnnotation, provisioningv1.DriftedReason+": "+one.why); err != nil {
			return reconciling.Fail(err)
		}
		r.Report.Done(ctx, p.provisioner, "NodeDrifted", "Replacing ProvisionedNode %s (Node %s): %s.", one.node.Name, one.node.Status.NodeName, one.why)
	}
	r.Report.Progress.NodesDrifted(p.provisioner.Name, len(found)-marked-len(next))
	if len(found) == 0 {
		reconciling.True(p.provisioner, provisioningv1.NodesCurrentCondition, provisioningv1.ReadyReason, "")
		return reconciling.Continue()
	}
	message := fmt.Sprintf("%d of %d nodes are not as they would be launched now, %d are being replaced; the oldest, %s: %s",
		len(found), len(p.nodes), marked+len(next), found[0].node.Name, found[0].why)
	if kept != "" {
		message += fmt.Sprintf("; %d are kept as they are: %s", len(found)-len(replaceable), kept)
	}
	reconciling.False(p.provisioner, provisioningv1.NodesCurrentCondition, provisioningv1.DriftedReason, message)
	return comeBack(held, kept != "", r.Clock.Now())
}

// comeBack continues, and comes back when nodes may be disrupted that must not be now.
func comeBack(held disruption.Choice, kept bool, now time.Time) reconciling.Outcome {
	wait := time.Duration(0)
	if !held.Changes.IsZero() {
		wait = max(held.Changes.Sub(now), time.Second)
	}
	if kept && (wait == 0 || recheckKept < wait) {
		wait = recheckKept
	}
	if wait == 0 {
		return reconciling.Continue()
	}
	return reconciling.ContinueAndComeBack(wait, "nodes may be disrupted then")
}

// amongst returns the drifted nodes as they are in a list. Nodes that are no longer in it are left
// out.
func amongst(nodes []provisioningv1.ProvisionedNode, found []drifted) []drifted {
	byUID := map[types.UID]*provisioningv1.ProvisionedNode{}
	for i := range nodes {
		byUID[nodes[i].UID] = &nodes[i]
	}
	var there []drifted
	for _, one := range found {
		if node := byUID[one.node.UID]; node != nil {
			there = append(there, drifted{node, one.why})
		}
	}
	return there
}

// budget returns how many of so many nodes are replaced at a time, at least one.
func budget(most intstr.IntOrString, nodes int) int {
	scaled, err := intstr.GetScaledValueFromIntOrPercent(&most, nodes, true)
	if err != nil {
		return 1 // the API server lets none through that does not parse
	}
	return max(scaled, 1)
}

// chooseDrifted returns how many nodes are marked already, which are next within spec.drift and the
// disruption budgets, and what those hold back.
func chooseDrifted(spec *provisioningv1.ProvisionerSpec, nodes []provisioningv1.ProvisionedNode, found []drifted, now time.Time) (marked int, next []drifted, held disruption.Choice) {
	marked, first := choose(nodes, found, budget(spec.Drift.MaxReplacing, len(nodes)))
	var candidates []disruption.Candidate
	for _, one := range first {
		candidates = append(candidates, disruption.Candidate{Node: one.node, Reason: provisioningv1.DisruptionDrifted})
	}
	held = disruption.Choose(spec, nodes, candidates, now)
	return marked, first[:len(held.Now)], held // all are held for one reason: the first are let
}

// choose says how many nodes are on their way out by a mark already, and which are next, within a budget.
func choose(nodes []provisioningv1.ProvisionedNode, found []drifted, budget int) (marked int, next []drifted) {
	for i := range nodes {
		if disruption.MarkedDrifted(&nodes[i]) {
			marked++
		}
	}
	for _, one := range found {
		// A node that has not taken pods yet has no pods to move, and no reason to be replaced.
		if marked+len(next) < budget && !clusterstate.Leaves(one.node) && !disruption.MarkedDrifted(one.node) && one.node.Status.ReadyTime != nil {
			next = append(next, one)
		}
	}
	return marked, next
}

// withoutKept leaves out the nodes that an annotation or a PodDisruptionBudget keeps from being
// replaced, and returns what keeps the first of them.
func (r *Reconciler) withoutKept(ctx context.Context, p *pass, found []drifted) (replaceable []drifted, kept string, err error) {
	if len(found) == 0 {
		return nil, "", nil
	}
	budgets, err := nodelifecycle.PodDisruptionBudgets(ctx, r.Client)
	if err != nil {
		return nil, "", err
	}
	for _, one := range found {
		keeper, err := r.keptBy(ctx, p, one.node, budgets)
		if err != nil {
			return nil, "", err
		}
		if !keeper.Keeps() {
			replaceable = append(replaceable, one)
		} else if kept == "" {
			kept = keeper.By
		}
	}
	return replaceable, kept, nil
}

// keptBy returns what keeps a node from being disrupted.
func (r *Reconciler) keptBy(ctx context.Context, p *pass, node *provisioningv1.ProvisionedNode, budgets []policyv1.PodDisruptionBudget) (disruption.Keeper, error) {
	if node.Status.NodeName == "" {
		return disruption.KeptBy(&p.provisioner.Spec, node, nil, nil, nil), nil
	}
	member := &corev1.Node{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: node.Status.NodeName}, member); client.IgnoreNotFound(err) != nil {
		return disruption.Keeper{}, fmt.Errorf("reading Node %q: %w", node.Status.NodeName, err)
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.MatchingFields{nodelifecycle.PodsByNode: node.Status.NodeName}, client.UnsafeDisableDeepCopy); err != nil {
		return disruption.Keeper{}, fmt.Errorf("listing the pods of Node %q: %w", node.Status.NodeName, err)
	}
	return disruption.KeptBy(&p.provisioner.Spec, node, member, pods.Items, budgets), nil
}

// findDrifted returns the nodes that are not what they would be launched as now, the oldest first.
// Without a budget it returns none.
func (r *Reconciler) findDrifted(ctx context.Context, p *pass) ([]drifted, error) {
	if p.provisioner.Spec.Drift == nil {
		return nil, nil
	}
	var found []drifted
	for i := range p.nodes {
		node := &p.nodes[i]
		why, err := r.driftOf(ctx, p, node)
		if err != nil {
			return nil, err
		}
		if why != "" && node.DeletionTimestamp == nil {
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

// driftOf returns why the provisioner would not launch the node as it is now, "" if it would, or if
// that is not known.
func (r *Reconciler) driftOf(ctx context.Context, p *pass, node *provisioningv1.ProvisionedNode) (string, error) {
	why, err := r.beyond(ctx, p, node)
	if err != nil || why != "" {
		return why, err
	}
	now, known, err := r.current(ctx, p, node)
	if err != nil || !known {
		return "", err
	}
	return differs(node, now), nil
}

// beyond returns which limit of the spec the node is beyond. It returns "" if there is none, or if
// the instance type is not known: the node was launched within the limits that the spec had then.
func (r *Reconciler) beyond(ctx context.Context, p *pass, node *provisioningv1.ProvisionedNode) (string, error) {
	if node.Status.InstanceType == "" || node.Status.Zone == "" {
		return "", nil
	}
	labels, err := r.Region.Labels(ctx, node.Status.InstanceType)
	if err != nil || labels == nil {
		return "", err
	}
	labels = maps.Clone(labels)
	labels[corev1.LabelTopologyZone], labels[corev1.LabelInstanceTypeStable] = node.Status.Zone, node.Status.InstanceType
	labels[corev1.LabelArchStable], labels[provisioningv1.LabelCapacityType] = node.Spec.Architecture.Label(), node.Spec.CapacityType
	return p.layer.Forbids(labels), nil
}

// launchable holds what an instance is launched from.
type launchable struct {
	id, image string
	version   int64
}

// current returns what the node would be launched from now; false if that is not known.
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
	variant := variants.OfNode(node)
	made, is := p.made[variant]
	if !is {
		var err error
		if made, err = r.Defaults.Ensure(ctx, p.provisioner, variant); err != nil {
			return launchable{}, false, err
		}
	}
	return launchable{id: made.ID, image: made.ImageID, version: made.Version}, true, nil
}

// differs describes how a node differs from one that would be launched now, "" if it does not.
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

// unmark takes the mark from nodes that are as they should be, or must stay as they are.
func (r *Reconciler) unmark(ctx context.Context, p *pass, found []drifted) error {
	for i := range p.nodes {
		node := &p.nodes[i]
		still := slices.ContainsFunc(found, func(one drifted) bool { return one.node == node })
		if !disruption.MarkedDrifted(node) || still || node.DeletionTimestamp != nil {
			continue
		}
		if err := reconciling.Annotate(ctx, r.Client, node, provisioningv1.ReplaceAnnotation, ""); err != nil {
			return err
		}
	}
	return nil
}
