package provisionerstatus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
	"github.com/slipway-project/slipway/internal/reconcile"
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
func replaceDrifted(in input, plan *reconcile.Plan) bool {
	if failed[unmarkDrifted](in, plan, "replacing nodes that have drifted") || failed[markDrifted](in, plan, "replacing nodes that have drifted") {
		return false
	}
	found, known := findDrifted(in, plan)
	if !known {
		return false
	}
	replaceable, kept, known := withoutKept(in, plan, found)
	if !known {
		return false
	}
	if former := markedBefore(in.Seen.Nodes, replaceable); len(former) > 0 {
		plan.Do(unmarkDrifted{former}, "they have not drifted, or must not be replaced")
		return false
	}
	if in.Object.Spec.Drift == nil {
		reconciling.Remove(in.Object, provisioningv1.NodesCurrentCondition)
		return counted(in, plan, 0)
	}
	marked, held, done := markNext(in, plan, replaceable)
	if !done || !counted(in, plan, len(found)-marked) {
		return false
	}
	if len(found) == 0 {
		reconciling.True(in.Object, provisioningv1.NodesCurrentCondition, provisioningv1.ReadyReason, "")
		return true
	}
	message := fmt.Sprintf("%d of %d nodes have drifted from their current configuration, and %d are being "+
		"replaced. The oldest, %s: %s",
		len(found), len(in.Seen.Nodes), marked, found[0].node.Name, found[0].why)
	if kept != "" {
		message += fmt.Sprintf("; %d are not replaced: %s", len(found)-len(replaceable), kept)
	}
	reconciling.False(in.Object, provisioningv1.NodesCurrentCondition, provisioningv1.DriftedReason, message)
	lookAgainForDisruptions(plan, held, kept != "", in.Now)
	return true
}

// markNext has the nodes marked whose turn it is. It returns how many are marked, and what the
// disruption budgets hold back; false if something has to be done or observed first.
func markNext(in input, plan *reconcile.Plan, replaceable []drifted) (marked int, held disruption.Choice, done bool) {
	nodes, listed := in.Seen.Nodes, in.Seen.Marking
	if listed.Err != nil {
		plan.Fail(listed.Err)
		return 0, held, false
	}
	if listed.Read {
		nodes, replaceable = listed.Items, amongst(listed.Items, replaceable)
	}
	marked, next, held := chooseDrifted(&in.Object.Spec, nodes, replaceable, in.Now)
	switch {
	case len(next) == 0:
		return marked, held, true
	case !listed.Read:
		plan.Need(needMarking) // the cache may not show what was marked last
	default:
		for _, mark := range marksOf(next) {
			plan.Do(mark, "%s", mark.Why)
		}
	}
	return marked, held, false
}

// marksOf returns the actions that mark nodes, one for each reason.
func marksOf(next []drifted) []markDrifted {
	var marks []markDrifted
	for _, one := range next {
		at := slices.IndexFunc(marks, func(mark markDrifted) bool { return mark.Why == one.why })
		if at < 0 {
			at, marks = len(marks), append(marks, markDrifted{Why: one.why})
		}
		marks[at].Nodes = append(marks[at].Nodes, one.node.Name)
	}
	return marks
}

// counted reports whether the metrics show how many drifted nodes wait for their replacement, and has
// them show it if they do not.
func counted(in input, plan *reconcile.Plan, waiting int) bool {
	if shown := in.Seen.CountedDrifted; shown != nil && *shown == waiting {
		return true
	}
	plan.Do(countDrifted{waiting}, "the metrics show another number")
	return false
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
// replaced, and returns what keeps the first of them; false if that has to be observed first.
func withoutKept(in input, plan *reconcile.Plan, found []drifted) (replaceable []drifted, kept string, known bool) {
	if len(found) == 0 {
		return nil, "", true
	}
	members := in.Seen.Members
	if !members.Read {
		plan.Need(needMembers)
		return nil, "", false
	}
	if members.Err != nil {
		plan.Fail(members.Err)
		return nil, "", false
	}
	for _, one := range found {
		member := members.Nodes[one.node.Status.NodeName]
		keeper := disruption.KeptBy(&in.Object.Spec, one.node, member.Node, member.Pods, members.Budgets)
		if !keeper.Keeps() {
			replaceable = append(replaceable, one)
		} else if kept == "" {
			kept = keeper.By
		}
	}
	return replaceable, kept, true
}

// findDrifted returns the nodes that are not what they would be launched as now, the oldest first.
// Without spec.drift it returns none. It returns false if something has to be done or observed first.
func findDrifted(in input, plan *reconcile.Plan) (found []drifted, known bool) {
	if in.Object.Spec.Drift == nil || len(in.Seen.Nodes) == 0 {
		return nil, true
	}
	if !in.Seen.Types.Read {
		plan.Need(needTypes)
		return nil, false
	}
	if err := in.Seen.Types.Err; err != nil {
		pool.TryAgain(plan, err)
		return nil, false
	}
	layer := layerOf(in)
	for i := range in.Seen.Nodes {
		node := &in.Seen.Nodes[i]
		why, known := driftOf(in, plan, &layer, node)
		if !known {
			return nil, false
		}
		if why != "" && node.DeletionTimestamp == nil {
			found = append(found, drifted{node, why})
		}
	}
	slices.SortFunc(found, func(a, b drifted) int {
		return cmp.Or(a.node.CreationTimestamp.Compare(b.node.CreationTimestamp.Time), cmp.Compare(a.node.Name, b.node.Name))
	})
	return found, true
}

// driftOf returns why the Provisioner would not launch the node as it is now, "" if it would, or if
// AWS does not say. It returns false if something has to be done first.
func driftOf(in input, plan *reconcile.Plan, layer *constraints.Provisioner, node *provisioningv1.ProvisionedNode) (why string, known bool) {
	if why := beyond(in, layer, node); why != "" {
		return why, true
	}
	now, known := current(in, plan, layer, node)
	if now == nil {
		return "", known
	}
	return differs(node, *now), true
}

// beyond returns which limit of the spec the node is beyond. It returns "" if there is none, or if
// the instance type is not known: the node was launched within the limits that the spec had then.
func beyond(in input, layer *constraints.Provisioner, node *provisioningv1.ProvisionedNode) string {
	labels := maps.Clone(in.Seen.Types.Labels[node.Status.InstanceType])
	if labels == nil || node.Status.Zone == "" {
		return ""
	}
	labels[corev1.LabelTopologyZone], labels[corev1.LabelInstanceTypeStable] = node.Status.Zone, node.Status.InstanceType
	labels[corev1.LabelArchStable], labels[provisioningv1.LabelCapacityType] = node.Spec.Architecture.Label(), node.Spec.CapacityType
	return layer.Forbids(labels)
}

// launchable holds what an instance is launched from.
type launchable struct {
	id, image string
	version   int64
}

// current returns what the node would be launched from now, nil if from nothing, or if AWS does not
// say. It returns false if something has to be done first.
func current(in input, plan *reconcile.Plan, layer *constraints.Provisioner, node *provisioningv1.ProvisionedNode) (now *launchable, known bool) {
	reference, asked := askedFor(node)
	if !asked {
		reference = layer.Template
	}
	if !reference.IsDefault() {
		template, read := templateOf(in, layer, reference)
		switch {
		case !read || template.Problem != "":
			return nil, true
		case asked || template.Architecture == node.Spec.Architecture.Label():
			return &launchable{id: template.ID, image: template.ImageID, version: template.Version}, true
		case layer.IgnoreIncompatible:
			return nil, true // it would not be launched at all
		}
	}
	variant := variants.OfNode(node)
	if template, ensured := in.Seen.Defaults[variant]; ensured {
		return &launchable{id: template.ID, image: template.ImageID, version: template.Version}, true
	}
	if err := failureOf(in, ensureDefault{variant}); err != nil {
		pool.TryAgain(plan, err)
		return nil, false
	}
	plan.Do(ensureDefault{variant}, "ProvisionedNode %s would be launched from it now", node.Name)
	return nil, false
}

// templateOf returns a launch template that the spec or pods name; false if it was
// not read.
func templateOf(in input, layer *constraints.Provisioner, reference constraints.Reference) (templates.Known, bool) {
	if reference == layer.Template {
		return namedOf(in), true
	}
	for i := range in.Seen.OfPods.List {
		if in.Seen.OfPods.List[i].Reference == reference {
			return in.Seen.OfPods.List[i].known(), true
		}
	}
	return templates.Known{}, false
}

// differs describes how a node differs from one that would be launched now, "" if it does not.
func differs(node *provisioningv1.ProvisionedNode, now launchable) string {
	was := node.Spec.LaunchTemplate
	switch {
	case was.ID != now.id:
		return fmt.Sprintf("it was launched from launch template %s, but would now be launched from %s", was.ID, now.id)
	case was.Version != now.version:
		return fmt.Sprintf("it was launched from version %d of launch template %s, but would now be launched "+
			"from version %d", was.Version, was.ID, now.version)
	case node.Status.ImageID != "" && now.image != "" && node.Status.ImageID != now.image:
		return fmt.Sprintf("it was launched with image %s, but would now be launched with %s", node.Status.ImageID, now.image)
	}
	return ""
}

// markedBefore returns the nodes that have the mark, and are as they should be, or must stay as they
// are.
func markedBefore(nodes []provisioningv1.ProvisionedNode, replaceable []drifted) []string {
	var former []string
	for i := range nodes {
		node := &nodes[i]
		still := slices.ContainsFunc(replaceable, func(one drifted) bool { return one.node == node })
		if disruption.MarkedDrifted(node) && !still && node.DeletionTimestamp == nil {
			former = append(former, node.Name)
		}
	}
	return former
}
