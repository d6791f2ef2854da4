package scheduler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/watches"
)

// Register adds the controller to a manager.
func (r *Reconciler) Register(manager ctrl.Manager, settings watches.Settings) error {
	options := settings.Options()
	options.MaxConcurrentReconciles = 1 // two passes at a time would launch twice
	wake := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{request} })
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		Watches(&corev1.Pod{}, wake, builder.WithPredicates(waitingChanges)).
		Watches(&corev1.Pod{}, r.Startups.events()).
		Watches(&provisioningv1.Provisioner{}, wake, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, becomesReady))).
		Watches(&provisioningv1.ProvisionedNode{}, wake, builder.WithPredicates(placesChange)).
		Watches(&corev1.PersistentVolumeClaim{}, wake, builder.WithPredicates(claimsBind)).
		WithOptions(options)
	if err := controller.Complete(r); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// becomesReady lets through Provisioners that can launch again, for pods that wait for them.
var becomesReady = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(update event.UpdateEvent) bool {
		before, isOne := update.ObjectOld.(*provisioningv1.Provisioner)
		after, isOneToo := update.ObjectNew.(*provisioningv1.Provisioner)
		ready := func(one *provisioningv1.Provisioner) bool {
			return meta.IsStatusConditionTrue(one.Status.Conditions, provisioningv1.ReadyCondition)
		}
		return isOne && isOneToo && !ready(before) && ready(after)
	},
}

// waitingChanges lets through pods that the scheduler has just found no node for, and pods that no
// longer wait, or that it nominates elsewhere: the nodes that were kept for them are free. It lets
// pods through, too, that lost the nomination which Slipway wrote.
var waitingChanges = predicate.Funcs{
	CreateFunc: func(created event.CreateEvent) bool { return waits(created.Object) },
	UpdateFunc: func(update event.UpdateEvent) bool {
		return waits(update.ObjectNew) != waits(update.ObjectOld) || nominee(update.ObjectNew) != nominee(update.ObjectOld) || unnominated(update)
	},
	DeleteFunc: func(deleted event.DeleteEvent) bool { return waits(deleted.Object) },
}

func waits(object client.Object) bool {
	pod, isPod := object.(*corev1.Pod)
	return isPod && clusterstate.Waits(pod)
}

// nominee returns the Node that the scheduler nominated for a pod that waits, "" for none.
func nominee(object client.Object) string {
	if pod, isPod := object.(*corev1.Pod); isPod && clusterstate.Waits(pod) && !clusterstate.Nominated(pod) {
		return pod.Status.NominatedNodeName
	}
	return ""
}

// unnominated reports whether a pod that waits has lost Slipway's nomination.
func unnominated(update event.UpdateEvent) bool {
	before, isPod := update.ObjectOld.(*corev1.Pod)
	after, isPodToo := update.ObjectNew.(*corev1.Pod)
	return isPod && isPodToo && clusterstate.Nominated(before) && !clusterstate.Nominated(after) && clusterstate.Waits(after)
}

// placesChange lets through new nodes that a pass waits to see in the cache, nodes that register or
// become ready, which pods are nominated to, and nodes that leave or whose Node is gone: their pods
// need another.
var placesChange = predicate.Funcs{
	UpdateFunc: func(update event.UpdateEvent) bool {
		before, isNode := update.ObjectOld.(*provisioningv1.ProvisionedNode)
		after, isNodeToo := update.ObjectNew.(*provisioningv1.ProvisionedNode)
		if isNode && isNodeToo && (turned(before, after, provisioningv1.RegisteredCondition) || turned(before, after, provisioningv1.ReadyCondition)) {
			return true
		}
		return isNode && isNodeToo && ((before.Status.AwaySince == nil) != (after.Status.AwaySince == nil) || clusterstate.Leaves(before) != clusterstate.Leaves(after) || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil))
	},
}

// claimsBind lets through claims that pods may have waited for: new claims, and claims that are
// bound now.
var claimsBind = predicate.Funcs{
	UpdateFunc: func(update event.UpdateEvent) bool {
		before, isClaim := update.ObjectOld.(*corev1.PersistentVolumeClaim)
		after, isClaimToo := update.ObjectNew.(*corev1.PersistentVolumeClaim)
		return isClaim && isClaimToo && before.Spec.VolumeName != after.Spec.VolumeName
	},
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// turned reports whether a condition of a node has become True.
func turned(before, after *provisioningv1.ProvisionedNode, condition string) bool {
	return !clusterstate.IsTrue(before, condition) && clusterstate.IsTrue(after, condition)
}
