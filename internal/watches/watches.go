// Package watches runs controllers, and maps the events of other objects to the objects that a
// controller reconciles.
package watches

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// WatchFilterLabel selects objects for one of several managers (Cluster API: --watch-filter).
const WatchFilterLabel = clusterv1.WatchLabel

// A failed pass is tried again after firstRetry, then after twice as long each time, up to lastRetry.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 2 * time.Minute
)

// Settings holds the parameters of a controller.
type Settings struct {
	// Clock times requeues and back-off.
	Clock clock.WithTicker
	// Concurrency is how many objects are reconciled at once.
	Concurrency int
	// WatchFilter is the value of WatchFilterLabel that objects must have; all objects if empty.
	WatchFilter string
	// Traces take a span per pass; none are made if nil.
	Traces trace.TracerProvider
}

// Reconciler returns the reconciler of a kind as a controller runs it: with a span around each
// pass, and without passes for objects that another manager is for. The watches alone cannot
// exclude such objects, since other objects' events wake them too. Empty is an object of the kind.
func (s Settings) Reconciler(kind string, c client.Reader, empty client.Object, reconciler reconcile.Reconciler) reconcile.Reconciler {
	reconciler = quiet{named(kind, reconciler)}
	if s.Traces != nil {
		reconciler = reconciling.Traced(kind, s.Traces, reconciler)
	}
	if s.WatchFilter == "" {
		return reconciler
	}
	return quiet{reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		object := empty.DeepCopyObject().(client.Object)
		err := c.Get(ctx, request.NamespacedName, object)
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("reading the object: %w", err)
		}
		// One that is gone may have left something in memory.
		if err == nil && !s.isFor(object) {
			return reconcile.Result{}, nil
		}
		return reconciler.Reconcile(ctx, request)
	})}
}

// named says on whose behalf AWS is called, so that an object whose calls are held back keeps its place.
func named(kind string, reconciler reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		ctx, finish := aws.WithCaller(ctx, kind+"/"+request.String())
		defer finish()
		return reconciler.Reconcile(ctx, request)
	})
}

// quiet keeps passes that did not fail out of the log: a pass that acted on an object that had been
// changed meanwhile, which is retried, and a pass that was interrupted because the manager stops,
// whose work the next manager's first pass does.
type quiet struct{ reconcile.Reconciler }

// Reconcile implements reconcile.Reconciler.
func (q quiet) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := q.Reconciler.Reconcile(ctx, request)
	switch {
	case err != nil && ctx.Err() != nil:
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: firstRetry}, nil
	}
	return result, err
}

// Options are the controller's, with a work queue that goes by the settings' clock.
func (s Settings) Options() controller.Options {
	unnamed := true // several managers run in one process in tests
	return controller.Options{
		MaxConcurrentReconciles: s.Concurrency,
		SkipNameValidation:      &unnamed,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
				Name: name, Clock: s.Clock,
			})
		},
	}
}

// Watched lets through the objects that this manager is for.
func (s Settings) Watched() predicate.Predicate {
	return predicate.NewPredicateFuncs(s.isFor)
}

func (s Settings) isFor(object client.Object) bool {
	return s.WatchFilter == "" || object.GetLabels()[WatchFilterLabel] == s.WatchFilter
}

// Requests returns a request for each object of a list.
func Requests[T client.Object](objects []T) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(objects))
	for _, object := range objects {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	}
	return requests
}

// PoolOf maps a MachinePool to the pool of a kind of ours that it refers to.
func PoolOf(kind string) handler.MapFunc {
	return func(_ context.Context, object client.Object) []reconcile.Request {
		machinePool, isMachinePool := object.(*clusterv1.MachinePool)
		if !isMachinePool {
			return nil
		}
		reference := machinePool.Spec.Template.Spec.InfrastructureRef
		if reference.Kind != kind || reference.APIGroup != infrav1.GroupVersion.Group {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: machinePool.Namespace, Name: reference.Name}}}
	}
}

// PoolsOf lists the pools of a Cluster, by the label that core Cluster API sets, for ByCluster.
// Empty is a list of their kind.
func (s Settings) PoolsOf(reader client.Reader, empty client.ObjectList) func(context.Context, types.NamespacedName) ([]reconcile.Request, error) {
	return func(ctx context.Context, cluster types.NamespacedName) ([]reconcile.Request, error) {
		labels := client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
		if s.WatchFilter != "" {
			labels[WatchFilterLabel] = s.WatchFilter
		}
		pools, isList := empty.DeepCopyObject().(client.ObjectList)
		if !isList {
			return nil, fmt.Errorf("%T is no list", empty)
		}
		if err := reader.List(ctx, pools, client.InNamespace(cluster.Namespace), labels); err != nil {
			return nil, fmt.Errorf("listing pools: %w", err)
		}
		var requests []reconcile.Request
		err := meta.EachListItem(pools, func(item runtime.Object) error {
			if pool, isObject := item.(client.Object); isObject {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pool)})
			}
			return nil
		})
		return requests, err
	}
}

// ClusterOf returns the Cluster that a cluster infrastructure or control plane object belongs to.
func ClusterOf(object client.Object) (types.NamespacedName, bool) {
	for _, reference := range object.GetOwnerReferences() {
		if reference.Kind == "Cluster" {
			return types.NamespacedName{Namespace: object.GetNamespace(), Name: reference.Name}, true
		}
	}
	name, labelled := object.GetLabels()[clusterv1.ClusterNameLabel]
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: name}, labelled
}

// ByCluster maps an object to what lists of the Cluster's dependents return. A failed list is
// logged: a watch has no other way to say so.
func ByCluster(clusterOf func(client.Object) (types.NamespacedName, bool), dependents func(context.Context, types.NamespacedName) ([]reconcile.Request, error)) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		cluster, belongs := clusterOf(object)
		if !belongs {
			return nil
		}
		requests, err := dependents(ctx, cluster)
		if err != nil {
			log.FromContext(ctx).Error(err, "Listing what depends on a Cluster failed", "cluster", cluster)
		}
		return requests
	}
}

// ClusterChanges lets through changes of a Cluster's objects that its dependents see.
func ClusterChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(update event.UpdateEvent) bool { return cluster.Changed(update.ObjectOld, update.ObjectNew) }}
}

// BesidesStatus lets through changes of an object's spec, labels, and annotations.
func BesidesStatus() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// Itself is ClusterOf for the Cluster.
func Itself(object client.Object) (types.NamespacedName, bool) {
	return client.ObjectKeyFromObject(object), true
}
