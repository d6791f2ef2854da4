package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// TestNothingIsCreatedForObjectsThatAreGone holds that what is deleted only with an object is created
// only for one that exists, whatever a stale cache shows, and that the API server is asked for nothing
// that it has confirmed in the pass already.
func TestNothingIsCreatedForObjectsThatAreGone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// change changes the object on the API server, after the cache has seen it.
		change func(r *rig, stored object) error
		// unheld has the cache show the object without its finalizer.
		unheld      bool
		made, reads int
	}{
		{reason: "the object exists", made: 1, reads: 1},
		{reason: "the write of the finalizer shows that the object exists", unheld: true, made: 1},
		{reason: "the object is gone", reads: 1, change: func(r *rig, stored object) error {
			return errors.Join(r.client.Delete(r.Context(), stored), reconciling.RemoveFinalizer(r.Context(), r.client, r.stored(), finalizer))
		}},
		{reason: "the object is being deleted", reads: 1, change: func(r *rig, stored object) error { return r.client.Delete(r.Context(), stored) }},
		{reason: "another object has taken its place", reads: 1, change: func(r *rig, stored object) error {
			err := errors.Join(r.client.Delete(r.Context(), stored), reconciling.RemoveFinalizer(r.Context(), r.client, r.stored(), finalizer))
			successor := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "second", Finalizers: []string{finalizer}}}
			return errors.Join(err, r.client.Create(r.Context(), successor))
		}},
	} {
		r := newRig(t, func(in reconcile.Input[object, facts]) (plan reconcile.Plan) {
			if len(in.Seen.Made) == 0 {
				plan.Do(creation{do: do{Name: "create"}}, "because of a test")
			}
			return plan
		})
		if !row.unheld {
			if err := reconciling.Patch(t.Context(), r.client, r.stored(), func(o object) { o.Finalizers = []string{finalizer} }); err != nil {
				t.Fatal(err)
			}
		}
		cached := r.stored()
		if row.change != nil {
			if err := row.change(r, r.stored()); err != nil {
				t.Fatal(err)
			}
		}
		live := &counted{Client: r.client}
		r.controller.Client, r.controller.Live = stale{Client: r.client, object: cached}, live
		result, err := r.reconcile()
		if err != nil || len(r.kind.acted) != row.made || live.reads != row.reads {
			t.Errorf("%s: %d are created after %d reads, want %d after %d: %v", row.reason, len(r.kind.acted), live.reads, row.made, row.reads, err)
		}
		if again := result.RequeueAfter > 0; again != (row.made == 0) {
			t.Errorf("%s: reconciled again after %v", row.reason, result.RequeueAfter)
		}
	}
}

// counted counts reads.
type counted struct {
	client.Client
	reads int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	c.reads++
	return c.Client.Get(ctx, key, into, options...)
}

// stale reads objects as they were.
type stale struct {
	client.Client
	object object
}

func (s stale) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.object.DeepCopyInto(into.(object))
	return nil
}

// TestOwnWritesAreAwaited begins no pass with an object as it was before our last write, and
// remembers an object for as long as it exists.
func TestOwnWritesAreAwaited(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(reconcile.Input[object, facts]) reconcile.Plan { return reconcile.Plan{} })
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 23, 10, 0, 0, 0, time.UTC))
	r.controller.Clock = clock
	before := r.stored()
	pass := func() {
		t.Helper()
		if _, err := r.reconcile(); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
	pass()
	r.controller.Client = stale{Client: r.client, object: before}
	if result, err := r.reconcile(); err != nil || result.RequeueAfter != 5*time.Second {
		t.Errorf("an old object is reconciled again after %s, want 5s, should no event come: %v", result.RequeueAfter, err)
	}
	if want := []int{1}; !cmp.Equal(want, r.kind.passes) {
		t.Errorf("a pass began with an old object: %v", r.kind.passes)
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	pass()
	r.controller.Client = r.client
	pass()
	if want := []int{1, 2, 3}; !cmp.Equal(want, r.kind.passes) {
		t.Errorf("passes %v, want %v", r.kind.passes, want)
	}
	if err := r.client.Delete(t.Context(), r.stored()); err != nil {
		t.Fatal(err)
	}
	pass()
	if err := r.client.Create(t.Context(), &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	pass()
	if last := r.kind.passes[len(r.kind.passes)-1]; last != 1 {
		t.Errorf("an object that is gone is remembered: %d passes", last)
	}
}

// TestConflictsAwaitTheCache begins no pass with an object that a conflict has shown to be
// outdated, which would cause another conflict, and waits for nothing after a conflict over another
// object.
func TestConflictsAwaitTheCache(t *testing.T) {
	t.Parallel()
	conflict := func(resource, name string) error {
		return apierrors.NewConflict(infrav1.GroupVersion.WithResource(resource).GroupResource(), name, errors.New("the object has been modified"))
	}
	for _, row := range []struct {
		reason string
		// conflict is what an action fails with; without one, the pass writes the status.
		conflict error
		passes   int
	}{
		{reason: "the object was edited after the cache's last event", passes: 1},
		{reason: "an action found that the object was edited", conflict: conflict("awslaunchconfigs", "web"), passes: 1},
		{reason: "an action found that an object of another kind was edited", conflict: conflict("awsmachinepools", "web"), passes: 2},
		{reason: "an action found that another object of the kind was edited", conflict: conflict("awslaunchconfigs", "api"), passes: 2},
	} {
		r := newRig(t, func(in reconcile.Input[object, facts]) reconcile.Plan {
			in.Object.Status.Version++
			if row.conflict != nil {
				return planned(do{Name: "fail", Err: row.conflict})
			}
			return reconcile.Plan{}
		})
		r.controller.Finalizer = ""
		cached, edited := r.stored(), r.stored()
		edited.Labels = map[string]string{"edited": "by a user"}
		if err := r.client.Update(t.Context(), edited); err != nil {
			t.Fatal(err)
		}
		r.controller.Client = stale{Client: r.client, object: cached}
		for pass := range 2 {
			if _, err := r.reconcile(); apierrors.IsConflict(err) != (pass < row.passes) {
				t.Errorf("%s: pass %d ends with %v", row.reason, pass+1, err)
			}
		}
		if got := len(r.kind.passes); got != row.passes {
			t.Errorf("%s: %d passes while the cache has the old object, want %d", row.reason, got, row.passes)
		}
		r.controller.Client = r.client
		if _, err := r.reconcile(); err != nil && row.conflict == nil {
			t.Errorf("%s: the pass over the new object ends with %v", row.reason, err)
		}
		if got := len(r.kind.passes); got != row.passes+1 {
			t.Errorf("%s: the object that the cache has learned of waits", row.reason)
		}
	}
}

// TestAnotherObjectOfTheName remembers nothing of an object whose name another one has taken, though
// the queue brought no pass in between in which it was gone.
func TestAnotherObjectOfTheName(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(reconcile.Input[object, facts]) reconcile.Plan { return reconcile.Plan{} })
	for _, uid := range []types.UID{"first", "first", "second", "second"} {
		if stored := r.stored(); stored.UID != uid {
			if err := r.client.Delete(t.Context(), stored); err != nil {
				t.Fatal(err)
			}
			if err := r.client.Create(t.Context(), &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: uid}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{1, 2, 1, 2}; !cmp.Equal(want, r.kind.passes) {
		t.Errorf("passes by object %v, want %v", r.kind.passes, want)
	}
	if want := []string{"default/web"}; !cmp.Equal(want, r.forgotten) {
		t.Errorf("others were told to forget %v, want %v", r.forgotten, want)
	}
}
