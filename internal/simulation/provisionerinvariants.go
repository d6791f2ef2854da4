package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// The invariants of schedules about Provisioners. The first ones hold at each moment, and the others
// once faults have stopped and the process has come to rest.
const (
	WithinLimits    = "the instances of a Provisioner are together within limits that its spec had when the last of them was decided"
	LaunchedOnce    = "a launch starts an instance for a ProvisionedNode that was written before, and one at most"
	EvictedInBudget = "no eviction leaves more pods missing than a PodDisruptionBudget allows, and only cordoned nodes are drained"
	DeletedInTime   = "a pod is deleted rather than evicted only if the drain of its node has a deadline"
	NodeDrained     = "an instance is terminated only once its Node has no pods, or at the deadline of its drain"
	NoneLeft        = "once faults stop, every instance has a ProvisionedNode, and every ProvisionedNode an instance and a Node"
	PodsPlaced      = "once faults stop, every pod that a Provisioner could launch a node for has a node"
)

// provisionerObserver holds what happens to the cluster and to AWS against the invariants.
type provisionerObserver struct {
	world   *World
	cluster *nodeCluster
	facts   *provisioningFacts
	aws     awssim.Region
	// templates are the launch templates of another owner.
	templates []string
}

// launchedOnce checks an instance that begins.
func (o *provisionerObserver) launchedOnce(id string, one *jitInstance) {
	known, written := 0, int32(0)
	for _, node := range o.facts.nodes {
		if node.launch == one.launch {
			known++
			written = node.launched
		}
	}
	started := int32(0)
	for _, other := range o.facts.instances {
		if other.launch == one.launch {
			started++
		}
	}
	switch {
	case known == 0:
		o.world.verdict.violate(LaunchedOnce, "instance %s was launched as %q, for which there is no ProvisionedNode", id, one.launch)
	case started > written:
		o.world.verdict.violate(LaunchedOnce, "launch %q is of %d nodes, and %d instances were started for it", one.launch, written, started)
	}
}

// withinLimits checks the instances of a Provisioner after one was launched. The ProvisionedNode
// that was written last counts: the pass that wrote it saw all the others, and limits that its cache
// showed.
func (o *provisionerObserver) withinLimits(provisioner string) {
	var last *recordedNode
	var total bounds
	for _, id := range o.facts.running() {
		one := o.facts.instances[id]
		if one.provisioner != provisioner || one.stray {
			continue
		}
		total = total.add(one.machine)
		for _, node := range o.facts.nodes {
			if node.launch == one.launch && (last == nil || node.order > last.order) {
				last = node
			}
		}
	}
	if last == nil || slices.ContainsFunc(last.allowed, total.within) {
		return
	}
	o.world.verdict.violate(WithinLimits, "the instances of Provisioner %s have %s, and its limits are %s", provisioner, total, last.allowed)
}

// evictedByProcess checks an eviction that the API server carries out now.
func (o *provisionerObserver) evictedByProcess(ctx context.Context, pod *corev1.Pod) {
	view, err := o.cluster.look(ctx)
	if err != nil {
		o.world.verdict.violate(NoPanic, "looking at the cluster: %w", err)
		return
	}
	if node := view.node(pod.Spec.NodeName); node != nil && !node.Spec.Unschedulable {
		o.world.verdict.violate(EvictedInBudget, "pod %s is evicted from Node %s, which is not cordoned", pod.Name, node.Name)
	}
	held, err := o.cluster.budgetAgainst(ctx, pod)
	if err == nil && held != "" {
		o.world.verdict.violate(EvictedInBudget, "pod %s is evicted, against PodDisruptionBudget %s", pod.Name, held)
	}
}

// deletedByProcess checks the deletion of a pod by a process.
func (o *provisionerObserver) deletedByProcess(ctx context.Context, pod *corev1.Pod) {
	view, err := o.cluster.look(ctx)
	if err != nil {
		o.world.verdict.violate(NoPanic, "looking at the cluster: %w", err)
		return
	}
	node := view.node(pod.Spec.NodeName)
	if node == nil {
		return
	}
	deadline, err := o.deadlineOf(ctx, clusterstate.InstanceOf(node.Spec.ProviderID))
	switch {
	case err != nil:
		o.world.verdict.violate(NoPanic, "reading the deadline of a drain: %w", err)
	case deadline.IsZero():
		o.world.verdict.violate(DeletedInTime, "pod %s of Node %s is deleted, and the drain of the Node has no deadline", pod.Name, node.Name)
	}
}

// deadlineOf returns the deadline of the drain of an instance's node; zero for none.
func (o *provisionerObserver) deadlineOf(ctx context.Context, id string) (time.Time, error) {
	var nodes provisioningv1.ProvisionedNodeList
	var deadline time.Time
	sooner := func(at time.Time) {
		if deadline.IsZero() || at.Before(deadline) {
			deadline = at
		}
	}
	if err := o.world.user.List(ctx, &nodes); err != nil {
		return deadline, err
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if node.Status.InstanceID != id || node.DeletionTimestamp == nil {
			continue
		}
		if at, err := time.Parse(time.RFC3339, node.Annotations[provisioningv1.TerminationDeadlineAnnotation]); err == nil {
			sooner(at)
		}
		// The period may have been changed since: the shortest one that is edited counts, from the
		// deletion on.
		if o.facts.bounded[node.Spec.Provisioner] {
			sooner(node.DeletionTimestamp.Time)
		}
	}
	return deadline, nil
}

// drainedFirst checks the Node of an instance that terminates.
func (o *provisionerObserver) drainedFirst(id string, one *jitInstance) {
	if one.excused {
		return
	}
	ctx := o.cluster.ctx
	view, err := o.cluster.look(ctx)
	if err != nil {
		o.world.verdict.violate(NoPanic, "looking at the cluster: %w", err)
		return
	}
	var left []string
	for i := range view.nodes {
		if node := &view.nodes[i]; clusterstate.InstanceOf(node.Spec.ProviderID) == id && nodeReady(node) {
			for _, pod := range view.on(node.Name) {
				left = append(left, pod.Name)
			}
		}
	}
	if len(left) == 0 {
		return
	}
	deadline, err := o.deadlineOf(ctx, id)
	if err != nil {
		o.world.verdict.violate(NoPanic, "reading the deadline of a drain: %w", err)
		return
	}
	if deadline.IsZero() || o.world.clock.Now().Before(deadline) {
		o.world.verdict.violate(NodeDrained, "instance %s is terminated with the pods %s on its Node, and the deadline of the drain is %s", id, strings.Join(left, ", "), deadline)
	}
}

// unsettled says what is not as it must be once faults have stopped.
func (o *provisionerObserver) unsettled(ctx context.Context) error {
	var provisioners provisioningv1.ProvisionerList
	var nodes provisioningv1.ProvisionedNodeList
	view, err := o.cluster.look(ctx)
	if err := errors.Join(err, o.world.user.List(ctx, &provisioners), o.world.user.List(ctx, &nodes)); err != nil {
		return err
	}
	for i := range provisioners.Items {
		one := &provisioners.Items[i]
		if one.DeletionTimestamp != nil || one.Status.ObservedGeneration != one.Generation {
			return fmt.Errorf("the Provisioner %s is still being deleted, or its status is of generation %d and not of %d", one.Name, one.Status.ObservedGeneration, one.Generation)
		}
	}
	if err := o.unowned(view, nodes.Items); err != nil {
		return &ViolationError{Invariant: NoneLeft, Cause: err}
	}
	if templates := len(o.ownTemplates()); len(provisioners.Items) == 0 && templates > 0 {
		return &ViolationError{Invariant: NoneLeft, Cause: fmt.Errorf("there is no Provisioner, and %d default launch templates are left", templates)}
	}
	return o.waiting(ctx, view)
}

// unowned returns what lacks its counterpart: instances, ProvisionedNodes, and Nodes.
func (o *provisionerObserver) unowned(view *clusterView, nodes []provisioningv1.ProvisionedNode) error {
	owned, joined := map[string]string{}, map[string]bool{}
	for i := range view.nodes {
		node := &view.nodes[i]
		if node.DeletionTimestamp != nil || node.Spec.Unschedulable || !nodeReady(node) {
			return fmt.Errorf("Node %s is still being deleted, or is cordoned, or is not ready", node.Name)
		}
		joined[clusterstate.InstanceOf(node.Spec.ProviderID)] = true
	}
	for i := range nodes {
		node := &nodes[i]
		id := node.Status.InstanceID
		if other, twice := owned[id]; twice {
			return fmt.Errorf("ProvisionedNodes %s and %s have instance %q", node.Name, other, id)
		}
		owned[id] = node.Name
		if node.DeletionTimestamp != nil || o.facts.ended(id) || !joined[id] {
			return fmt.Errorf("ProvisionedNode %s is still being deleted, or its instance %q has ended or has no Node", node.Name, id)
		}
	}
	for _, id := range o.facts.running() {
		if owned[id] == "" {
			return fmt.Errorf("no ProvisionedNode has instance %s, which runs", id)
		}
	}
	return nil
}

// waiting returns which pod waits that has a place.
func (o *provisionerObserver) waiting(ctx context.Context, view *clusterView) error {
	for i := range view.pods {
		pod := &view.pods[i]
		if pod.DeletionTimestamp != nil || pod.Spec.NodeName != "" && !podReady(pod) {
			return fmt.Errorf("pod %s is still starting, or being deleted", pod.Name)
		}
		if pod.Spec.NodeName != "" {
			continue
		}
		places, err := o.placeable(ctx, pod)
		if err != nil {
			return err
		}
		if places {
			return &ViolationError{Invariant: PodsPlaced, Cause: fmt.Errorf("pod %s has no node", pod.Name)}
		}
	}
	return nil
}

// placeable reports whether a Provisioner could launch a node for a pod: one of its instance types,
// in one of its zones, has the labels that the pod asks for, has only taints that the pod tolerates,
// has room for the pod, and is within the limits.
func (o *provisionerObserver) placeable(ctx context.Context, pod *corev1.Pod) (bool, error) {
	var provisioners provisioningv1.ProvisionerList
	if err := o.world.user.List(ctx, &provisioners); err != nil {
		return false, err
	}
	for i := range provisioners.Items {
		one := &provisioners.Items[i]
		if one.DeletionTimestamp != nil {
			continue
		}
		used := bounds{}
		for _, id := range o.facts.running() {
			if o.facts.instances[id].provisioner == one.Name {
				used = used.add(o.facts.instances[id].machine)
			}
		}
		for _, node := range nodesOf(one) {
			if used.add(node.machine).within(boundsOf(one.Spec.Limits)) && suits(pod, &node.Node) && hasRoom(pod, &node.Node, nil) {
				return true, nil
			}
		}
	}
	return false, nil
}

// possibleNode is a Node that a Provisioner can launch.
type possibleNode struct {
	corev1.Node
	machine machine
}

// nodesOf returns the Nodes that a Provisioner can launch.
func nodesOf(one *provisioningv1.Provisioner) []possibleNode {
	capacity := []string{provisioningv1.CapacityTypeOnDemand, provisioningv1.CapacityTypeSpot}
	for _, requirement := range one.Spec.Requirements {
		capacity = requirement.Values
	}
	within := one.Spec.Zones
	if len(within) == 0 {
		within = zones
	}
	var all []possibleNode
	for _, machine := range machines {
		if !slices.Contains(one.Spec.InstanceTypes, machine.name) {
			continue
		}
		for _, zone := range within {
			for _, market := range capacity {
				node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
					corev1.LabelInstanceTypeStable: machine.name, corev1.LabelTopologyZone: zone, corev1.LabelArchStable: "amd64",
					provisioningv1.LabelCapacityType: market, provisioningv1.LabelProvisionerName: one.Name,
				}}}
				for key, value := range one.Spec.Labels {
					node.Labels[key] = value
				}
				for _, taint := range one.Spec.Taints {
					node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: corev1.TaintEffect(taint.Effect)})
				}
				node.Status.Allocatable = machine.free
				all = append(all, possibleNode{node, machine})
			}
		}
	}
	return all
}

// describeForeign describes the resources of another owner.
func (o *provisionerObserver) describeForeign() string {
	var described strings.Builder
	for _, one := range o.aws.Instances() {
		var tags []string
		for _, tag := range one.Tags {
			tags = append(tags, *tag.Key+"="+*tag.Value)
		}
		if slices.Sort(tags); slices.Contains(tags, "owner=another team") {
			fmt.Fprintf(&described, "%s %s %s\n", *one.InstanceId, one.State.Name, strings.Join(tags, " "))
		}
	}
	for _, id := range o.templates {
		for _, version := range o.aws.LaunchTemplateVersions(id) {
			fmt.Fprintf(&described, "%s %d %t\n", id, *version.VersionNumber, ptr.Deref(version.DefaultVersion, false))
		}
	}
	return described.String()
}

// foreignUnchanged checks the resources of another owner.
func (o *provisionerObserver) foreignUnchanged() {
	if now := o.describeForeign(); now != o.facts.foreign {
		o.world.verdict.violate(ForeignUnchanged, "a resource that Slipway does not own was changed\nfrom %s\nto %s", o.facts.foreign, now)
	}
}

// nameOf returns the key of an object without a namespace.
func nameOf(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
