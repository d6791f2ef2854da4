package provisioning

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/provisioning/state"
)

// Register adds the controller to a manager.
func (r *Reconciler) Register(manager ctrl.Manager, settings common.Settings) error {
	options := settings.Options()
	options.MaxConcurrentReconciles = 1 // two passes at a time would launch twice
	wake := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{request} })
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		Watches(&corev1.Pod{}, wake, builder.WithPredicates(waitingChanges)).
		Watches(&provisioningv1.Provisioner{}, wake, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&provisioningv1.ProvisionedNode{}, wake, builder.WithPredicates(placesChange)).
		WithOptions(options)
	if err := controller.Complete(r); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

// waitingChanges lets through pods that the scheduler has just found no node for, and those that wait no more: the nodes that were kept for them are free.
var waitingChanges = predicate.Funcs{
	CreateFunc: func(created event.CreateEvent) bool { return waits(created.Object) },
	UpdateFunc: func(update event.UpdateEvent) bool { return waits(update.ObjectNew) != waits(update.ObjectOld) },
	DeleteFunc: func(deleted event.DeleteEvent) bool { return waits(deleted.Object) },
}

func waits(object client.Object) bool {
	pod, isPod := object.(*corev1.Pod)
	return isPod && state.Waits(pod)
}

// placesChange lets through nodes that come, of which the cache was waited for, and nodes that leave or whose Node is gone: their pods need another.
var placesChange = predicate.Funcs{
	UpdateFunc: func(update event.UpdateEvent) bool {
		before, isNode := update.ObjectOld.(*provisioningv1.ProvisionedNode)
		after, isNodeToo := update.ObjectNew.(*provisioningv1.ProvisionedNode)
		return isNode && isNodeToo && ((before.Status.AwaySince == nil) != (after.Status.AwaySince == nil) || state.Leaves(before) != state.Leaves(after) || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil))
	},
}
