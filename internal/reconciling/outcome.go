// Package reconciling has what every controller needs of conditions, status patches, finalizers and
// traces, and the list of named steps that the choice of nodes is. It knows Kubernetes objects and
// conditions, and nothing of AWS or of any kind.
package reconciling

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Outcome is what a step says about the steps after it. The zero Outcome means: go on.
type Outcome struct {
	stop  bool
	after time.Duration
	why   string
	err   error
}

// Continue goes on with the next step.
func Continue() Outcome { return Outcome{} }

// ContinueAndComeBack goes on with the next step, and asks for another pass no later than after. As
// for ComeBack, a time that has passed already means at once: the steps before may have taken
// longer.
func ContinueAndComeBack(after time.Duration, why string) Outcome {
	return Outcome{after: max(after, time.Nanosecond), why: why}
}

// Stop ends the pass. Something that is watched will wake the object: a Secret, an AWSLaunchConfig,
// an observer.
func Stop(why string) Outcome { return Outcome{stop: true, why: why} }

// ComeBack ends the pass and asks for another one after the given time: nothing that is watched
// would wake the object. A time that has passed already means at once, not never.
func ComeBack(after time.Duration, why string) Outcome {
	return Outcome{stop: true, after: max(after, time.Nanosecond), why: why}
}

// Fail ends the pass with an error, which is retried with the queue's back-off.
func Fail(err error) Outcome { return Outcome{stop: true, err: err} }

// Step is one thing that a reconcile makes true of a subject: an object and the facts learned about
// it in this pass.
type Step[T any] struct {
	// Name is a verb phrase; it names the step in logs, traces and errors.
	Name string
	// Run makes it true, or says why it cannot yet.
	Run func(ctx context.Context, subject T) Outcome
}

// Run runs the steps in order until one ends the pass. It returns the soonest time that any of them
// asked for. After an error the queue's back-off decides alone.
func Run[T any](ctx context.Context, subject T, steps []Step[T]) (ctrl.Result, error) {
	var soonest time.Duration
	for _, step := range steps {
		outcome := runStep(ctx, subject, step)
		if outcome.err != nil {
			traceEnd(ctx, step.Name, outcome.err.Error())
			return ctrl.Result{}, fmt.Errorf("%s: %w", step.Name, outcome.err)
		}
		if outcome.after > 0 && (soonest == 0 || outcome.after < soonest) {
			soonest = outcome.after
		}
		if outcome.stop {
			traceEnd(ctx, step.Name, outcome.why)
			log.FromContext(ctx).V(1).Info("Pass ended early", "step", step.Name, "reason", outcome.why, "after", outcome.after)
			break
		}
	}
	return ctrl.Result{RequeueAfter: soonest}, nil
}
