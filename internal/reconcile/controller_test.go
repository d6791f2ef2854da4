package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

const finalizer = "example.com/held"

type (
	object = *infrav1.AWSLaunchConfig
	// facts holds what a scripted kind has observed.
	facts struct {
		Needs []reconcile.Need
		// Made are the names of the actions that were done.
		Made []string
	}
	// notes counts the passes that saw an object.
	notes struct{ passes int }
)

// do is an action that fails with an error, which may be nil.
type do struct {
	Name string
	Err  error
	// Whole has its event say why it happened.
	Whole bool
}

func (d do) String() string { return d.Name }

// creation is a do that creates what is deleted with the object.
type creation struct {
	reconcile.Creates
	do
}

// scripted is a kind that decides by a function.
type scripted struct {
	decide func(in reconcile.Input[object, facts]) reconcile.Plan
	// passes is what the memory said in each pass, and acted what was on the object when something was done.
	passes []int
	acted  []string
}

func (s *scripted) Observe(_ context.Context, pass reconcile.Pass[object, facts, notes], needs ...reconcile.Need) error {
	if len(needs) == 0 {
		pass.Memory.passes++
		s.passes = append(s.passes, pass.Memory.passes)
	}
	pass.Seen.Needs = append(pass.Seen.Needs, needs...)
	return nil
}

func (s *scripted) Decide(in reconcile.Input[object, facts]) reconcile.Plan { return s.decide(in) }

func (s *scripted) Act(_ context.Context, pass reconcile.Pass[object, facts, notes], action reconcile.Action) ([]reconcile.Event, error) {
	one, is := action.(do)
	if !is {
		one = action.(creation).do
	}
	s.acted = append(s.acted, one.Name+" "+strings.Join(pass.Object.Finalizers, ",")+" "+pass.Object.Annotations["note"])
	if one.Err == nil {
		pass.Seen.Made = append(pass.Seen.Made, one.Name)
	}
	event := reconcile.Eventf("Tried", "tried to %s", one.Name)
	if one.Whole {
		event = event.WithoutReason()
	}
	return []reconcile.Event{event}, one.Err
}

// rig is a controller of a scripted kind over an API server in memory.
type rig struct {
	*testing.T
	client     client.Client
	events     *events.FakeRecorder
	kind       *scripted
	controller *reconcile.Controller[object, facts, notes]
	// writes are what was patched: the object, or its status.
	writes    []string
	forgotten []string
}

func newRig(t *testing.T, decide func(reconcile.Input[object, facts]) reconcile.Plan) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Generation: 3, UID: "first"}}
	r := &rig{T: t, events: events.NewFakeRecorder(200), kind: &scripted{decide: decide}}
	r.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).WithStatusSubresource(stored).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			r.writes = append(r.writes, "object")
			return c.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			r.writes = append(r.writes, name)
			return c.SubResource(name).Patch(ctx, object, patch, options...)
		},
	}).Build()
	r.controller = &reconcile.Controller[object, facts, notes]{
		Kind: r.kind, Client: r.client, Live: r.client, Report: report.Reporter{Recorder: r.events}, Empty: &infrav1.AWSLaunchConfig{}, Finalizer: finalizer,
		Clock:  clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 23, 10, 0, 0, 0, time.UTC)),
		Forget: func(name types.NamespacedName) { r.forgotten = append(r.forgotten, name.String()) },
		Summaries: func(object) []reconcile.Summarizer {
			return []reconcile.Summarizer{reconciling.Summary{Target: infrav1.ReadyCondition, Of: []string{infrav1.ResolvedCondition}, Reason: infrav1.ReadyReason}}
		},
	}
	return r
}

func (r *rig) reconcile() (ctrl.Result, error) {
	return r.controller.Reconcile(r.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}})
}

func (r *rig) stored() object {
	r.Helper()
	found := &infrav1.AWSLaunchConfig{}
	if err := r.client.Get(r.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, found); err != nil {
		r.Fatal(err)
	}
	return found
}

// planned is a plan of actions.
func planned(actions ...do) (plan reconcile.Plan) {
	for _, action := range actions {
		plan.Do(action, "because of %s", "a test")
	}
	return plan
}

// TestPasses carries plans out, and checks what is done, and what is written.
func TestPasses(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, row := range []struct {
		reason string
		decide func(reconcile.Input[object, facts]) reconcile.Plan
		acted  []string
		writes []string
		again  time.Duration
		err    string
		// observed is the observed generation that is written.
		observed int64
	}{
		{
			reason: "nothing to do, and nothing to say: only that this generation was looked at",
			decide: func(reconcile.Input[object, facts]) reconcile.Plan { return reconcile.Plan{} },
			writes: []string{"status"}, observed: 3,
		},
		{
			reason: "each action is decided from what the one before has changed, and the finalizer comes first",
			decide: func(in reconcile.Input[object, facts]) reconcile.Plan {
				return planned([]do{{Name: "create"}, {Name: "tag"}}[min(len(in.Seen.Made), 2):]...)
			},
			acted: []string{"create " + finalizer + " ", "tag " + finalizer + " "}, writes: []string{"object", "status"}, observed: 3,
		},
		{
			reason: "annotations are written together with the finalizer",
			decide: func(in reconcile.Input[object, facts]) reconcile.Plan {
				plan := planned([]do{{Name: "create"}}[min(len(in.Seen.Made), 1):]...)
				plan.Annotations = map[string]string{"note": "noted"}
				return plan
			},
			acted: []string{"create " + finalizer + " noted"}, writes: []string{"object", "status"}, observed: 3,
		},
		{
			reason: "what is needed is observed, and then decided again",
			decide: func(in reconcile.Input[object, facts]) (plan reconcile.Plan) {
				if len(in.Seen.Needs) == 0 {
					plan.Need("history")
					plan.Do(do{Name: "never"}, "a plan with needs is no plan yet")
				}
				return plan
			},
			writes: []string{"status"}, observed: 3,
		},
		{
			reason: "what is needed twice is a mistake",
			decide: func(reconcile.Input[object, facts]) reconcile.Plan {
				return reconcile.Plan{Needs: []reconcile.Need{"history"}}
			},
			err: "is needed again",
		},
		{
			reason: "an action that is planned again after it was done is a mistake",
			decide: func(reconcile.Input[object, facts]) reconcile.Plan { return planned(do{Name: "create"}) },
			acted:  []string{"create " + finalizer + " "}, writes: []string{"object"}, err: "create is planned again",
		},
		{
			reason: "nothing follows an action that failed, and its error is not lost",
			decide: func(reconcile.Input[object, facts]) reconcile.Plan {
				return planned(do{Name: "create", Err: refused}, do{Name: "tag"})
			},
			acted: []string{"create " + finalizer + " "}, writes: []string{"object", "status"}, err: "create: refused",
		},
		{
			reason: "a decision may go on without an action that failed, and say when to try again",
			decide: func(in reconcile.Input[object, facts]) reconcile.Plan {
				if reconcile.Failed[do](in.Done) == nil {
					return planned(do{Name: "drain", Err: refused})
				}
				plan := planned([]do{{Name: "tag"}}[min(len(in.Seen.Made), 1):]...)
				plan.LookAgain(time.Minute)
				plan.LookAgain(time.Hour)
				return plan
			},
			acted: []string{"drain " + finalizer + " ", "tag " + finalizer + " "}, writes: []string{"object", "status"}, again: time.Minute, observed: 3,
		},
		{
			reason: "a failure leaves the observed generation as it is",
			decide: func(in reconcile.Input[object, facts]) (plan reconcile.Plan) {
				reconciling.False(in.Object, infrav1.ResolvedCondition, "Refused", "refused")
				plan.Fail(refused)
				return plan
			},
			writes: []string{"status"}, err: "refused",
		},
		{
			reason: "a pass may say nothing yet",
			decide: func(in reconcile.Input[object, facts]) (plan reconcile.Plan) {
				reconciling.False(in.Object, infrav1.ResolvedCondition, "Waiting", "")
				plan.Untold = true
				plan.LookAgain(time.Second)
				return plan
			},
			again: time.Second,
		},
		{
			reason: "decisions without an end are a mistake",
			decide: func(in reconcile.Input[object, facts]) reconcile.Plan {
				return planned(do{Name: strings.Repeat("x", len(in.Done)+1)})
			},
			writes: []string{"object"}, err: "no end after 100 actions",
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, row.decide)
			result, err := r.reconcile()
			if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
				t.Errorf("error %v, want %q", err, row.err)
			}
			if row.acted != nil && !cmp.Equal(row.acted, r.kind.acted) {
				t.Errorf("done:\n%s", cmp.Diff(row.acted, r.kind.acted))
			}
			if !cmp.Equal(row.writes, r.writes) || result.RequeueAfter != row.again {
				t.Errorf("writes %q, again after %s; want %q, %s", r.writes, result.RequeueAfter, row.writes, row.again)
			}
			if observed := r.stored().Status.ObservedGeneration; observed != row.observed {
				t.Errorf("observed generation %d, want %d", observed, row.observed)
			}
		})
	}
}

// TestStatusFollowsFromTheLastDecision writes what the last decision said, with the summary, and
// nothing of an earlier one.
func TestStatusFollowsFromTheLastDecision(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(in reconcile.Input[object, facts]) reconcile.Plan {
		if len(in.Seen.Made) == 0 {
			reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, "Missing", "only the first decision says this")
			return planned(do{Name: "create"})
		}
		reconciling.True(in.Object, infrav1.ResolvedCondition, infrav1.ReadyReason, "")
		return reconcile.Plan{}
	})
	if _, err := r.reconcile(); err != nil {
		t.Fatal(err)
	}
	conditions := r.stored().Status.Conditions
	if meta.FindStatusCondition(conditions, infrav1.LaunchTemplateReadyCondition) != nil || !meta.IsStatusConditionTrue(conditions, infrav1.ReadyCondition) {
		t.Errorf("conditions %+v", conditions)
	}
	if event := <-r.events.Events; event != "Normal Tried tried to create: because of a test" {
		t.Errorf("event %q", event)
	}
}

// TestEventsThatSayWhy holds that the reason for an action is not added to an event that says why itself.
func TestEventsThatSayWhy(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(in reconcile.Input[object, facts]) reconcile.Plan {
		if len(in.Seen.Made) == 0 {
			return planned(do{Name: "drain one of two", Whole: true})
		}
		return reconcile.Plan{}
	})
	if _, err := r.reconcile(); err != nil {
		t.Fatal(err)
	}
	if event := <-r.events.Events; event != "Normal Tried tried to drain one of two" {
		t.Errorf("event %q", event)
	}
}

// TestDeletion deletes what an object stands for, unless the object is gone already.
func TestDeletion(t *testing.T) {
	t.Parallel()
	decide := func(in reconcile.Input[object, facts]) (plan reconcile.Plan) {
		switch {
		case in.Object.DeletionTimestamp == nil && len(in.Seen.Made) == 0:
			return planned(do{Name: "create"})
		case in.Object.DeletionTimestamp != nil && len(in.Seen.Made) == 0:
			return planned(do{Name: "delete"})
		}
		plan.Release = in.Object.DeletionTimestamp != nil
		return plan
	}
	t.Run("the object is let go", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, decide)
		_, _ = r.reconcile()
		if err := r.client.Delete(t.Context(), r.stored()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.reconcile(); err != nil {
			t.Fatal(err)
		}
		err := r.client.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, &infrav1.AWSLaunchConfig{})
		if !apierrors.IsNotFound(err) || len(r.kind.acted) != 2 {
			t.Errorf("%v: %v", r.kind.acted, err)
		}
		if _, err := r.reconcile(); err != nil || len(r.forgotten) != 1 {
			t.Errorf("forgotten %v: %v", r.forgotten, err)
		}
	})
	t.Run("another object has taken its place, which the cache does not show", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, decide)
		_, _ = r.reconcile()
		if err := r.client.Delete(t.Context(), r.stored()); err != nil {
			t.Fatal(err)
		}
		successor := newRig(t, decide)
		r.controller.Live = successor.client
		r.writes, r.kind.acted = nil, nil
		result, err := r.reconcile()
		if err != nil || result.RequeueAfter == 0 || len(r.kind.acted) != 0 || len(r.writes) != 0 {
			t.Errorf("%v, writes %v, acted %v: %v", result, r.writes, r.kind.acted, err)
		}
	})
}

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

// TestPausedObjectsAreLeftAlone shows the condition, and does nothing else.
func TestPausedObjectsAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(reconcile.Input[object, facts]) reconcile.Plan { return planned(do{Name: "create"}) })
	r.controller.Paused = func(_ context.Context, config object) (bool, error) {
		reconciling.True(config, infrav1.PausedCondition, infrav1.PausedReason, "the annotation is set")
		return true, nil
	}
	if _, err := r.reconcile(); err != nil || len(r.kind.passes) != 0 {
		t.Errorf("observed %d times: %v", len(r.kind.passes), err)
	}
	if stored := r.stored(); !meta.IsStatusConditionTrue(stored.Status.Conditions, infrav1.PausedCondition) || stored.Status.ObservedGeneration != 0 {
		t.Errorf("status %+v", stored.Status)
	}
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

// TestHoldAndTell puts the finalizer on an object if something exists for it although no action is
// due, and reports findings once the status has them.
func TestHoldAndTell(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(in reconcile.Input[object, facts]) reconcile.Plan {
		plan := planned([]do{{Name: "create"}}[min(len(in.Seen.Made), 1):]...)
		if in.Object.Status.LaunchTemplateID == "" {
			plan.Tell(reconcile.Warningf("Found", "found it after %d actions", len(in.Done)))
		}
		in.Object.Status.LaunchTemplateID = "lt-1"
		return plan
	})
	for range 2 {
		if _, err := r.reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	close(r.events.Events)
	var told []string
	for event := range r.events.Events {
		told = append(told, event)
	}
	want := []string{
		"Normal Tried tried to create: because of a test", "Warning Found found it after 1 actions", "Normal Tried tried to create: because of a test",
	}
	if difference := cmp.Diff(want, told); difference != "" {
		t.Errorf("events (-want +got):\n%s", difference)
	}
	held := newRig(t, func(reconcile.Input[object, facts]) reconcile.Plan { return reconcile.Plan{Hold: true} })
	if _, err := held.reconcile(); err != nil {
		t.Fatal(err)
	}
	if got := held.stored().Finalizers; !cmp.Equal(got, []string{finalizer}) {
		t.Errorf("finalizers %q", got)
	}
}

// TestHeldObjectsWait begins no pass for an object that waits for AWS before its time, unless the
// object is changed.
func TestHeldObjectsWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(reconcile.Input[object, facts]) (plan reconcile.Plan) {
		plan.LookAgain(10 * time.Second)
		plan.Held = true
		return plan
	})
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 23, 10, 0, 0, 0, time.UTC))
	r.controller.Clock = clock
	for _, row := range []struct {
		reason string
		passed time.Duration
		edited bool
		passes int
		again  time.Duration
	}{
		{reason: "AWS is called", passes: 1, again: 10 * time.Second},
		{reason: "something else wakes it", passed: 4 * time.Second, passes: 1, again: 6 * time.Second},
		{reason: "it is edited", edited: true, passes: 2, again: 10 * time.Second},
		{reason: "its time has come", passed: 10 * time.Second, passes: 3, again: 10 * time.Second},
	} {
		clock.SetTime(clock.Now().Add(row.passed))
		if row.edited {
			edited := r.stored()
			edited.Spec.ClusterName = "another"
			if err := r.client.Update(t.Context(), edited); err != nil {
				t.Fatal(err)
			}
		}
		result, err := r.reconcile()
		if err != nil || len(r.kind.passes) != row.passes || result.RequeueAfter != row.again {
			t.Errorf("%s: %d passes, again after %s: %v", row.reason, len(r.kind.passes), result.RequeueAfter, err)
		}
	}
}

// TestHeldObjectsAreNotWritten leaves the status of an object that waits for AWS as it is, unless
// something was done that it must record.
func TestHeldObjectsAreNotWritten(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, row := range []struct {
		reason string
		held   bool
		done   []error
		writes bool
	}{
		{reason: "AWS was not asked to change anything", held: true},
		{reason: "AWS was not allowed to be asked", held: true, done: []error{refused}},
		{reason: "one action succeeded before", held: true, done: []error{nil, refused}, writes: true},
		{reason: "AWS refused for another reason", done: []error{refused}, writes: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(in reconcile.Input[object, facts]) (plan reconcile.Plan) {
				if at := len(in.Done); at < len(row.done) {
					plan.Do(do{Name: fmt.Sprintf("action %d", at), Err: row.done[at]}, "the test asks for it")
				}
				reconciling.False(in.Object, infrav1.ResolvedCondition, "Waiting", "AWS will be asked")
				plan.LookAgain(10 * time.Second)
				plan.Held = row.held
				return plan
			})
			if _, err := r.reconcile(); err != nil {
				t.Fatal(err)
			}
			if written := len(r.stored().Status.Conditions) > 0; written != row.writes {
				t.Errorf("the status was written: %t", written)
			}
		})
	}
}
