package reconciling

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// cacheBehind is when an object whose deletion is over is reconciled again, should no event of the
// cache bring that about first.
const cacheBehind = 5 * time.Second

// RunDeletion runs the steps that delete what an object stands for, unless the object, which was
// read from a cache, is gone. A manager that starts on an old list sees the deletion of an object
// that another of the same name has taken the place of since, and resources outside of Kubernetes
// are found by that name. So the object is read once more, live, past the cache, and nothing runs
// unless it is this very object and is being deleted.
func RunDeletion[T any](ctx context.Context, live client.Reader, object client.Object, subject T, steps []Step[T]) (ctrl.Result, error) {
	present := object.DeepCopyObject().(client.Object)
	err := live.Get(ctx, client.ObjectKeyFromObject(object), present)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("confirming that %s is being deleted: %w", object.GetName(), err)
	}
	if apierrors.IsNotFound(err) || present.GetUID() != object.GetUID() || present.GetDeletionTimestamp() == nil {
		log.FromContext(ctx).Info("The cache is behind: the object whose deletion it shows is gone, and nothing is deleted for it", "uid", object.GetUID())
		return ctrl.Result{RequeueAfter: cacheBehind}, nil
	}
	return Run(ctx, subject, steps)
}
