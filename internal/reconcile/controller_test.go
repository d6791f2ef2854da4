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
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

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
