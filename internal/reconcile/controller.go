package reconcile

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/internal/aws/cause"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Object is an object of a kind: one with conditions. If its status records the generation that it
// was found for, it implements GenerationRecorder.
type Object interface{ reconciling.Conditioned }

// GenerationRecorder is an object whose status records the generation that it was found for.
type GenerationRecorder interface {
	SetObservedGeneration(generation int64)
}

// Pass is one reconcile of one object.
type Pass[T Object, S, M any] struct {
	// Object is the object as it is stored. Observe leaves it alone; Act may change all but its
	// status by reconciling.Patch. An action that records something in status before AWS is called
	// writes it by reconciling.PatchStatus.
	Object T
	// Seen is what was observed. Observe fills it in, and Act keeps it true.
	Seen *S
	// Memory is what this process remembers of the object, in order to save calls. Decide cannot
	// see it. It is dropped when the object is gone.
	Memory *M
}

// Input holds everything that a decision is based on.
type Input[T Object, S any] struct {
	// Object is a copy of the stored object. Decide writes the status into it, and changes nothing
	// else of it.
	Object T
	Seen   S
	// Done are the actions that were tried in this pass, in order.
	Done []Done
	Now  time.Time
}

// Attempted reports whether an action of a type was tried in this pass, and returns the error of the
// last one.
func Attempted[A Action](done []Done) (tried bool, err error) {
	for _, one := range done {
		if _, is := one.Action.(A); is {
			tried, err = true, one.Err
		}
	}
	return tried, err
}

// Succeeded reports whether the last action of a type that was tried in this pass succeeded.
func Succeeded[A Action](done []Done) bool {
	tried, err := Attempted[A](done)
	return tried && err == nil
}

// LastFailure returns the error of the last action of a type that was tried in this pass, nil if it
// succeeded or none was tried.
func LastFailure[A Action](done []Done) error {
	_, err := Attempted[A](done)
	return err
}

// Failed returns the errors of the actions of a type that were tried in this pass, nil if there are none.
func Failed[A Action](done []Done) error {
	var failures []error
	for _, one := range done {
		if _, is := one.Action.(A); is && one.Err != nil {
			failures = append(failures, one.Err)
		}
	}
	if len(failures) == 1 {
		return failures[0]
	}
	return errors.Join(failures...)
}

// Kind implements the part of a controller that is specific to a kind. T is the type of its
// objects, S the observed state, and M the memory of one object.
type Kind[T Object, S, M any] interface {
	// Observe fills in the current state. It is called once without needs, and with the needs of
	// Decide when there are any. If Decide handles a fact that could not be found out, the failure
	// is part of the observed state; any other error aborts the pass.
	Observe(ctx context.Context, pass Pass[T, S, M], needs ...Need) error
	// Decide returns what to do. It is a pure function.
	Decide(in Input[T, S]) Plan
	// Act does one action, and keeps what was observed true of the world. It returns the events to
	// report, even if it also returns an error.
	Act(ctx context.Context, pass Pass[T, S, M], action Action) ([]Event, error)
}

// Reporter reports to users what was done, and writes the status.
type Reporter interface {
	Done(ctx context.Context, object client.Object, reason, format string, values ...any)
	Warn(ctx context.Context, object client.Object, reason, format string, values ...any)
	PatchStatus(ctx context.Context, c client.Client, object, before reconciling.Conditioned) error
}

// Summarizer computes a condition from others.
type Summarizer interface {
	Summarize(object reconciling.Conditioned)
}

// Controller reconciles the objects of a kind.
type Controller[T Object, S, M any] struct {
	Kind   Kind[T, S, M]
	Client client.Client
	// Live reads past the cache. It confirms that an object is being deleted before anything is
	// deleted for it, and that it exists before anything is created that is deleted with it.
	Live   client.Reader
	Clock  clock.PassiveClock
	Report Reporter
	// Empty is an object of the kind.
	Empty T
	// Finalizer is on an object before anything is done for it; none if empty.
	Finalizer string
	// Paused reports whether the controller must leave an object alone, even if it is being
	// deleted, and shows it in a condition; nil for never.
	Paused func(ctx context.Context, object T) (bool, error)
	// Summaries are computed before the status is written, in order; nil for none.
	Summaries func(object T) []Summarizer
	// Forget drops what others remember of an object that is gone; nil for nothing.
	Forget func(object types.NamespacedName)

	objects objects[M]
}

// mostRounds bounds how often a pass decides. A kind that has not come to an end by then decides in circles.
const mostRounds = 100

// cacheBehind is the time until an object whose deletion is complete is reconciled again, should no
// event of the cache trigger that first.
const cacheBehind = 5 * time.Second

// Reconcile implements reconcile.Reconciler.
func (c *Controller[T, S, M]) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := c.Empty.DeepCopyObject().(T)
	if err := c.Client.Get(ctx, request.NamespacedName, object); err != nil {
		if apierrors.IsNotFound(err) {
			c.objects.drop(request.NamespacedName)
			if c.Forget != nil {
				c.Forget(request.NamespacedName)
			}
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	known, replaced := c.objects.of(object)
	if replaced && c.Forget != nil {
		c.Forget(request.NamespacedName)
	}
	if wait := known.written.unseen(object, c.Clock); wait > 0 {
		// The event of that write brings the next pass, unless etcd was restored from a backup.
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if wait := known.held.wait(object, c.Clock); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	known.held = held{}
	read := object.GetResourceVersion()
	plan, err := c.unlessPaused(ctx, object, known)
	known.written.note(object, read, c.Clock)
	if c.outdates(err, object) {
		known.written.outdated(object, c.Clock)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if plan.Held && plan.Again > 0 {
		known.held = held{version: object.GetResourceVersion(), until: c.Clock.Now().Add(plan.Again)}
	}
	return ctrl.Result{RequeueAfter: plan.Again}, nil
}

// unlessPaused runs a pass over an object that is not paused. It returns the last plan, which is
// empty for one that is.
func (c *Controller[T, S, M]) unlessPaused(ctx context.Context, object T, known *known[M]) (Plan, error) {
	if c.Paused != nil {
		shown := object.DeepCopyObject().(T)
		paused, err := c.Paused(ctx, shown)
		if paused {
			err = c.patchStatus(ctx, shown, object)
			object.SetResourceVersion(shown.GetResourceVersion())
		}
		if paused || err != nil {
			return Plan{}, err
		}
	}
	return c.pass(ctx, Pass[T, S, M]{Object: object, Seen: new(S), Memory: &known.memory})
}

// outdates reports whether err says that the object was changed since it was read. A conflict over
// another object says nothing about this one.
func (c *Controller[T, S, M]) outdates(err error, object T) bool {
	var refusal apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &refusal) || refusal.Status().Details == nil {
		return false
	}
	kind, unknown := c.Client.GroupVersionKindFor(object)
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	details := refusal.Status().Details
	return unknown == nil && details.Name == object.GetName() && details.Kind == resource.Resource && details.Group == resource.Group
}

// pass observes, and then decides and acts until nothing is left to do. It returns the last plan.
func (c *Controller[T, S, M]) pass(ctx context.Context, pass Pass[T, S, M]) (Plan, error) {
	ctx = c.withCause(ctx, pass.Object)
	if err := c.observe(ctx, pass); err != nil {
		return Plan{}, err
	}
	var done []Done
	confirmed := false
	for range mostRounds {
		object, plan, err := c.decide(ctx, pass, done)
		if err != nil {
			return Plan{}, err
		}
		step, err := next(plan, done)
		if err != nil {
			return Plan{}, err
		}
		confirmed, err = c.prepare(ctx, pass.Object, plan, step, confirmed)
		switch {
		case errors.Is(err, errCacheBehind):
			return Plan{Again: cacheBehind}, nil
		case err != nil:
			return Plan{}, err
		}
		if step == nil {
			return plan, c.finish(ctx, pass.Object, object, plan, done)
		}
		err = c.act(ctx, pass, *step)
		if endsPass(ctx, err) {
			return Plan{}, err
		}
		done = append(done, Done{Step: *step, Err: err})
		tellJournal(ctx, pass.Object, done[len(done)-1])
	}
	return Plan{}, fmt.Errorf("deciding: no end after %d actions, the last %s", len(done), done[len(done)-1].Action)
}

// withCause returns a context whose calls to AWS name the object.
func (c *Controller[T, S, M]) withCause(ctx context.Context, object T) context.Context {
	kind, err := c.Client.GroupVersionKindFor(object)
	if err != nil {
		log.FromContext(ctx).Error(err, "Calls to AWS do not name the kind of the object")
	}
	return cause.For(ctx, kind.Kind, object)
}

// prepare puts on the object what must be there before a step, and confirms what the cache shows of the
// object if the step needs that. Confirmed is whether the API server has done so in this pass; prepare
// returns whether it has now. The error is errCacheBehind if the API server shows otherwise.
func (c *Controller[T, S, M]) prepare(ctx context.Context, object T, plan Plan, step *Step, confirmed bool) (bool, error) {
	if object.GetDeletionTimestamp() != nil && !confirmed && (step != nil || plan.changesObject()) {
		if err := c.confirm(ctx, object); err != nil {
			return false, err
		}
		confirmed = true
	}
	read := object.GetResourceVersion()
	if err := c.hold(ctx, object, plan, step != nil || plan.Hold); err != nil {
		return false, err
	}
	if confirmed || object.GetResourceVersion() != read { // a write succeeds only for the object that was read
		return true, nil
	}
	if step != nil && creates(*step) {
		err := c.confirm(ctx, object)
		return err == nil, err
	}
	return false, nil
}

// endsPass reports whether nothing more can be decided after an action failed with err: the object
// that decisions are based on is outdated, or the process is stopping.
func endsPass(ctx context.Context, err error) bool {
	return err != nil && (apierrors.IsConflict(err) || ctx.Err() != nil)
}

// decide has the kind decide, and observe what that needs, until a plan needs nothing more. It
// returns the object with the status that was decided.
func (c *Controller[T, S, M]) decide(ctx context.Context, pass Pass[T, S, M], done []Done) (T, Plan, error) {
	var observed []Need
	for {
		object := pass.Object.DeepCopyObject().(T)
		plan := c.Kind.Decide(Input[T, S]{Object: object, Seen: *pass.Seen, Done: slices.Clone(done), Now: c.Clock.Now()})
		if len(plan.Needs) == 0 {
			return object, plan, nil
		}
		if slices.ContainsFunc(plan.Needs, func(need Need) bool { return slices.Contains(observed, need) }) {
			return object, plan, fmt.Errorf("deciding: %v is needed again after it was observed", plan.Needs)
		}
		observed = append(observed, plan.Needs...)
		if err := c.observe(ctx, pass, plan.Needs...); err != nil {
			return object, plan, err
		}
	}
}

// next returns the first action of a plan, nil if there is none left. Nothing is done after an
// action that failed in this pass, for as long as it is planned.
func next(plan Plan, done []Done) (*Step, error) {
	if len(plan.Actions) == 0 {
		return nil, nil
	}
	step := plan.Actions[0]
	for _, earlier := range done {
		switch {
		case !reflect.DeepEqual(earlier.Action, step.Action):
		case earlier.Err == nil:
			return nil, fmt.Errorf("deciding: %s is planned again after it was done", step.Action)
		default:
			return nil, nil
		}
	}
	return &step, nil
}

// finish completes a pass: it removes the finalizer, or writes the status.
func (c *Controller[T, S, M]) finish(ctx context.Context, stored, object T, plan Plan, done []Done) error {
	if plan.Release {
		c.tell(ctx, stored, plan.Events)
		return reconciling.RemoveFinalizer(ctx, c.Client, stored, c.Finalizer)
	}
	err := plan.Err
	if err == nil && plan.Again == 0 {
		// A failure that no decision was made about is not lost.
		for _, one := range done {
			if one.Err != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", one.Action, one.Err))
			}
		}
	}
	if err == nil && plan.Held && !slices.ContainsFunc(done, func(one Done) bool { return one.Err == nil }) {
		return nil // nothing was found out or done that the pass after the wait will not show
	}
	if plan.Untold && err == nil {
		c.tell(ctx, stored, plan.Events)
		return nil
	}
	if recorder, records := any(object).(GenerationRecorder); records && err == nil {
		recorder.SetObservedGeneration(object.GetGeneration())
	}
	// Annotations may have been written after the decision.
	object.SetResourceVersion(stored.GetResourceVersion())
	object.SetAnnotations(stored.GetAnnotations())
	object.SetFinalizers(stored.GetFinalizers())
	if failed := c.patchStatus(ctx, object, stored); failed != nil {
		return errors.Join(err, failed)
	}
	stored.SetResourceVersion(object.GetResourceVersion())
	// The status is written first: later passes do not repeat events about findings that it shows.
	c.tell(ctx, stored, plan.Events)
	return err
}

func (c *Controller[T, S, M]) patchStatus(ctx context.Context, object, stored T) error {
	if c.Summaries != nil {
		for _, summary := range c.Summaries(object) {
			summary.Summarize(object)
		}
	}
	reconciling.Stamp(object, stored, c.Clock.Now())
	return c.Report.PatchStatus(ctx, c.Client, object, stored)
}

// tell reports events, on the object unless they are about another one.
func (c *Controller[T, S, M]) tell(ctx context.Context, object T, events []Event) {
	for _, event := range events {
		tell := c.Report.Done
		if event.Warning {
			tell = c.Report.Warn
		}
		about := event.About
		if about == nil {
			about = object
		}
		tell(ctx, about, event.Reason, "%s", event.Note)
	}
}

// hold puts the plan's annotations on the object, and the finalizer if it is needed.
func (c *Controller[T, S, M]) hold(ctx context.Context, object T, plan Plan, finalize bool) error {
	finalize = finalize && object.GetDeletionTimestamp() == nil && c.Finalizer != "" && !controllerutil.ContainsFinalizer(object, c.Finalizer)
	if !finalize && annotated(object, plan.Annotations) {
		return nil
	}
	return reconciling.Patch(ctx, c.Client, object, func(object T) {
		if finalize {
			controllerutil.AddFinalizer(object, c.Finalizer)
		}
		for key, value := range plan.Annotations {
			reconciling.SetAnnotation(object, key, value)
		}
	})
}

// annotated reports whether an object has the annotations of a plan, and none that the plan removes.
func annotated(object client.Object, wanted map[string]string) bool {
	present := object.GetAnnotations()
	for key, value := range wanted {
		if found, is := present[key]; found != value || is != (value != "") {
			return false
		}
	}
	return true
}

// creates reports whether a step creates something that is deleted only with the object.
func creates(step Step) bool {
	_, is := step.Action.(interface{ outlives() })
	return is
}

// errCacheBehind says that an object is not as the cache shows it.
var errCacheBehind = errors.New("the cache is behind")

// confirm returns nil if the object, which was read from a cache, still exists, and is being deleted or
// not as the cache shows. Otherwise it returns errCacheBehind. A manager that starts on an old list sees
// objects that are gone: what it creates for one of them would never be deleted. It also sees the
// deletion of an object that another of the same name has taken the place of since, and resources
// outside of Kubernetes are found by that name.
func (c *Controller[T, S, M]) confirm(ctx context.Context, object T) error {
	present := c.Empty.DeepCopyObject().(T)
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(object), present)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("confirming that the cache shows %s as it is: %w", object.GetName(), err)
	}
	if err != nil || present.GetUID() != object.GetUID() || (present.GetDeletionTimestamp() == nil) != (object.GetDeletionTimestamp() == nil) {
		log.FromContext(ctx).Info("The cache is behind: the object has been deleted since, and nothing is created or deleted for it", "uid", object.GetUID())
		return errCacheBehind
	}
	return nil
}

// observe has the kind observe.
func (c *Controller[T, S, M]) observe(ctx context.Context, pass Pass[T, S, M], needs ...Need) error {
	return Observing(ctx, needs, func(ctx context.Context) error { return c.Kind.Observe(ctx, pass, needs...) })
}

// act does one action, and reports its events with the reason for the action.
func (c *Controller[T, S, M]) act(ctx context.Context, pass Pass[T, S, M], step Step) error {
	return Acting(ctx, step, func(ctx context.Context) error {
		told, err := c.Kind.Act(ctx, pass, step.Action)
		c.tell(ctx, pass.Object, withReason(told, step.Reason))
		return err
	})
}

// withReason returns events of an action with the reason for the action. A warning says by itself
// what happened, and what it means.
func withReason(events []Event, reason string) []Event {
	events = slices.Clone(events)
	for i := range events {
		if event := &events[i]; reason != "" && !event.Warning && !event.SaysWhy && !strings.Contains(event.Note, reason) {
			event.Note += ": " + reason
		}
	}
	return events
}
