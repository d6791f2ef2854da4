package clusteridentity

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/watches"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=awsclustercontrolleridentities;awsclusterroleidentities;awsclusterstaticidentities,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// Secrets are read by name, and never watched or listed.
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Register adds the controller to a manager. Identities are the kinds of identities that are installed.
func (r *Reconciler) Register(manager ctrl.Manager, settings watches.Settings, identities []client.Object) error {
	controller := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		WatchesMetadata(namespaceMetadata(), as(namespaceKind), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(watches.Indexing(manager.GetFieldIndexer(), Indexes())).
		WatchesRawSource(r.Watches).
		WithOptions(settings.Options())
	for _, identity := range identities {
		controller = controller.Watches(identity, as(kindOf(identity)), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}))
	}
	if err := controller.Complete(r); err != nil {
		return fmt.Errorf("registering controller %s: %w", Name, err)
	}
	return nil
}

func kindOf(identity client.Object) string {
	switch identity.(type) {
	case *capav1.AWSClusterControllerIdentity:
		return string(aws.IdentityController)
	case *capav1.AWSClusterRoleIdentity:
		return string(aws.IdentityRole)
	}
	return string(aws.IdentityStatic)
}

// as returns a handler that puts the kind of an object into the namespace of its requests.
func as(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: kind, Name: object.GetName()}}}
	})
}
