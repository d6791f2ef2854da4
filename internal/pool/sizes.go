package pool

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/reconcile"
)

// NeedSizesCheck is the observation of whether the cache shows what a pool's size follows from as the
// API server has it.
const NeedSizesCheck reconcile.Need = "whether the cache shows the present size"

// CacheCheck reports whether objects of the cache were compared with the API server's.
type CacheCheck struct {
	// Checked is true if they were compared in this pass, and Behind if the cache shows an earlier one.
	Checked, Behind bool
}

// current reports whether the cache shows the present objects, and asks for need if they were not
// compared.
func (c CacheCheck) current(plan *reconcile.Plan, need reconcile.Need) bool {
	switch {
	case !c.Checked:
		plan.Need(need)
	case c.Behind:
		plan.LookAgain(CacheBehind) // the pool is woken once the cache shows them
	}
	return c.Checked && !c.Behind
}

// Sizes reports whether the objects that determine a pool's size were compared with the API server's.
type Sizes struct{ CacheCheck }

// Check compares objects of the cache, the pool and its MachinePool, with the API server's. The cache
// of a process that has just started may be behind what the process before it acted on.
func (s *Sizes) Check(ctx context.Context, live client.Reader, objects ...client.Object) error {
	for _, object := range objects {
		now := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		err := live.Get(ctx, client.ObjectKeyFromObject(object), now)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading %s past the cache: %w", object.GetName(), err)
		}
		s.Behind = s.Behind || apierrors.IsNotFound(err) || !asks(now, object)
	}
	s.Checked = true
	return nil
}

// asks reports whether two versions of an object ask for the same: its status does not affect a size.
func asks(now, cached client.Object) bool {
	return now.GetUID() == cached.GetUID() && now.GetGeneration() == cached.GetGeneration() && maps.Equal(now.GetAnnotations(), cached.GetAnnotations())
}

// Current reports whether the cache shows the present size, and has that found out if it is not known.
// For an earlier size, a pool would launch nodes only to lose them again, or lose nodes only to launch
// them again.
func (s Sizes) Current(plan *reconcile.Plan) bool { return s.current(plan, NeedSizesCheck) }
