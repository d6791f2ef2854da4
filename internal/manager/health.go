package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// addHealthChecks serves /healthz, which says that the process answers, and /readyz, which says
// that it does its part: it works if it leads, and waits for its turn if it does not. One that
// waits is ready, so that a Deployment with two replicas becomes available.
func addHealthChecks(manager ctrl.Manager, kinds []client.Object) error {
	work := &readiness{elected: manager.Elected(), cache: manager.GetCache(), kinds: kinds}
	if err := errors.Join(manager.AddHealthzCheck("ping", healthz.Ping), manager.AddReadyzCheck("watches", work.check)); err != nil {
		return fmt.Errorf("adding health checks: %w", err)
	}
	return nil
}

// informers is the part of a cache that a readiness uses.
type informers interface {
	GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// readiness knows whether everything that is watched has been read.
type readiness struct {
	elected <-chan struct{}
	cache   informers
	kinds   []client.Object
}

// check implements healthz.Checker. Each failure is one that ends by itself or that the log
// explains: a kind that may not be listed, or is gone.
func (r *readiness) check(request *http.Request) error {
	select {
	case <-r.elected:
	default:
		return nil
	}
	for _, kind := range r.kinds {
		informer, err := r.cache.GetInformer(request.Context(), kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		if !informer.HasSynced() {
			return fmt.Errorf("%T has not been read yet", kind)
		}
	}
	return nil
}
