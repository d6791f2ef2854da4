package nodelifecycle

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/watches"
)

// PodsByNode is the index of the cache that finds the pods of a Node.
const PodsByNode = byNode

// Indexes of the cache.
const (
	// byLaunch finds the ProvisionedNodes of a launch.
	byLaunch = "spec.launch.name"
	// byInstance finds the ProvisionedNode, and the Node, of an instance.
	byInstance = "instance"
	// byNode finds the pods of a Node.
	byNode = "spec.nodeName"
	// byProvisioner finds the ProvisionedNodes of a provisioner.
	byProvisioner = "spec.provisioner"
)

// Register adds the controller to a manager. Woken are the objects whose instance changed.
func (c *Controller) Register(ctx context.Context, manager ctrl.Manager, settings watches.Settings, woken source.Source) error {
	if err := watches.AddIndexes(ctx, manager.GetFieldIndexer(), Indexes()); err != nil {
		return err
	}
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		For(&provisioningv1.ProvisionedNode{}).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(c.ofNode), builder.WithPredicates(nodeChanges)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(c.ofPod), builder.WithPredicates(podChanges)).
		Watches(&provisioningv1.Provisioner{}, handler.EnqueueRequestsFromMapFunc(c.ofProvisioner), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(woken).
		WithOptions(settings.Options())
	if err := controller.Complete(settings.Reconciler("ProvisionedNode", c.Client, &provisioningv1.ProvisionedNode{}, c)); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// Indexes returns the indexes that the controller needs.
func Indexes() []watches.Index {
	var indexes []watches.Index
	for _, one := range []struct {
		object client.Object
		name   string
		of     func(client.Object) string
	}{
		{&provisioningv1.ProvisionedNode{}, byLaunch, func(o client.Object) string { return o.(*provisioningv1.ProvisionedNode).Spec.Launch.Name }},
		{&provisioningv1.ProvisionedNode{}, byInstance, func(o client.Object) string { return o.(*provisioningv1.ProvisionedNode).Status.InstanceID }},
		{&provisioningv1.ProvisionedNode{}, byProvisioner, func(o client.Object) string { return o.(*provisioningv1.ProvisionedNode).Spec.Provisioner }},
		{&corev1.Node{}, byInstance, func(o client.Object) string { return clusterstate.InstanceOf(o.(*corev1.Node).Spec.ProviderID) }},
		{&corev1.Pod{}, byNode, func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName }},
	} {
		indexes = append(indexes, watches.Index{Object: one.object, Name: one.name, Values: func(object client.Object) []string {
			if value := one.of(object); value != "" {
				return []string{value}
			}
			return nil
		}})
	}
	return indexes
}

// ofNode returns the object whose instance the Node runs on.
func (c *Controller) ofNode(ctx context.Context, object client.Object) []reconcile.Request {
	node, isNode := object.(*corev1.Node)
	if !isNode || clusterstate.InstanceOf(node.Spec.ProviderID) == "" {
		return nil
	}
	return c.matching(ctx, client.MatchingFields{byInstance: clusterstate.InstanceOf(node.Spec.ProviderID)})
}

// ofPod returns the object whose Node the pod is on.
func (c *Controller) ofPod(ctx context.Context, object client.Object) []reconcile.Request {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || pod.Spec.NodeName == "" {
		return nil
	}
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, types.NamespacedName{Name: pod.Spec.NodeName}, node); err != nil {
		return nil // a Node that is gone wakes its object itself
	}
	return c.ofNode(ctx, node)
}

func (c *Controller) ofProvisioner(ctx context.Context, object client.Object) []reconcile.Request {
	return c.matching(ctx, client.MatchingFields{byProvisioner: object.GetName()})
}

func (c *Controller) matching(ctx context.Context, fields client.MatchingFields) []reconcile.Request {
	var found provisioningv1.ProvisionedNodeList
	if err := c.Client.List(ctx, &found, fields); err != nil {
		log.FromContext(ctx).Error(err, "Listing ProvisionedNodes failed", "by", fields)
		return nil
	}
	var requests []reconcile.Request
	for i := range found.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&found.Items[i])})
	}
	return requests
}

// nodeChanges lets through what a pass decides from: heartbeats come every few seconds.
var nodeChanges = predicate.Funcs{UpdateFunc: func(update event.UpdateEvent) bool {
	before, isNode := update.ObjectOld.(*corev1.Node)
	after, isNodeToo := update.ObjectNew.(*corev1.Node)
	if !isNode || !isNodeToo {
		return false
	}
	return before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		clusterstate.Ready(before) != clusterstate.Ready(after) ||
		before.Spec.ProviderID != after.Spec.ProviderID ||
		disruption.Protection(before.Annotations) != disruption.Protection(after.Annotations) ||
		!taintsOf(before).Equal(taintsOf(after)) || !offers(before).Equal(offers(after))
}}

// taintsOf returns the taints of a Node, as Kubernetes writes them.
func taintsOf(node *corev1.Node) sets.Set[string] {
	taints := sets.New[string]()
	for i := range node.Spec.Taints {
		taints.Insert(node.Spec.Taints[i].ToString())
	}
	return taints
}

// offers returns the extended resources that a Node offers.
func offers(node *corev1.Node) sets.Set[corev1.ResourceName] {
	names := sets.New[corev1.ResourceName]()
	for name, has := range node.Status.Allocatable {
		if packing.Extended(name) && !has.IsZero() {
			names.Insert(name)
		}
	}
	return names
}

// podChanges lets through pods that come to a Node, finish there, or leave it, and pods that begin
// or cease to keep their node.
var podChanges = predicate.Funcs{UpdateFunc: func(update event.UpdateEvent) bool {
	before, isPod := update.ObjectOld.(*corev1.Pod)
	after, isPodToo := update.ObjectNew.(*corev1.Pod)
	if isPod && isPodToo && disruption.Protection(before.Annotations) != disruption.Protection(after.Annotations) {
		return true
	}
	return isPod && isPodToo && (before.Spec.NodeName != after.Spec.NodeName || before.Status.Phase != after.Status.Phase)
}}
