package reconcile

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Plan is the result of Decide, in addition to the status that Decide writes into the object.
type Plan struct {
	// Needs lists observations that cost a call and that the decision requires. If there are any,
	// the frame ignores the rest of the plan, makes these observations, and calls Decide again.
	Needs []Need
	// Annotations are set on the object before anything is done, in one write together with the
	// finalizer. A value that is empty removes the annotation. They record what must be known
	// before AWS is changed, so that a crash leaves no unknown resource.
	Annotations map[string]string
	// Actions are performed in order. After each action, the frame calls Decide again, with what
	// was done and what it changed.
	Actions []Step
	// Hold adds the finalizer to the object even if no action is due, because existing resources
	// must be cleaned up with the object.
	Hold bool
	// Events report to users what was found, once nothing is left to do. Actions report what was
	// done.
	Events []Event
	// Again is the time until the next reconcile. It is zero if a watch triggers the next
	// reconcile.
	Again time.Duration
	// Held is true if nothing can be done before Again, because AWS may not be called sooner. Until
	// then, only a change of the object itself begins another pass, and unless an action succeeded,
	// the stored status is left unchanged: among a thousand objects that wait, writing it twice would
	// cost as much as the pass.
	Held bool
	// Release removes the finalizer of an object whose deletion is complete.
	Release bool
	// Untold leaves the stored status unchanged, because the new status would be outdated by Again.
	Untold bool
	// Err is a failure that the work queue retries with growing delays. The status is written all the same.
	Err error
}

// Do adds an action with its human-readable reason: the change in the spec or in AWS that caused
// it.
func (p *Plan) Do(action Action, reason string, values ...any) {
	p.Actions = append(p.Actions, Step{Action: action, Reason: fmt.Sprintf(reason, values...)})
}

// Annotate has an annotation set on the object, or removed if the value is empty.
func (p *Plan) Annotate(key, value string) {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[key] = value
}

// Need adds an observation.
func (p *Plan) Need(need Need) { p.Needs = append(p.Needs, need) }

// Tell adds an event.
func (p *Plan) Tell(event Event) { p.Events = append(p.Events, event) }

// LookAgain has the object reconciled again after a time, or sooner if something else asks for
// that. A time that has passed means at once.
func (p *Plan) LookAgain(after time.Duration) {
	after = max(after, time.Nanosecond)
	if p.Again == 0 || after < p.Again {
		p.Again = after
	}
}

// Fail adds a failure.
func (p *Plan) Fail(err error) { p.Err = errors.Join(p.Err, err) }

// changesObject reports whether the plan changes more of the object than its status.
func (p Plan) changesObject() bool { return p.Release || len(p.Annotations) > 0 }

// Need names an observation. Each kind has its own.
type Need string

// Action is one change to Kubernetes or AWS, as a value. Its String is a verb phrase, such as
// "create Auto Scaling group web".
type Action interface{ fmt.Stringer }

// Creates is embedded by an action that creates something outside of Kubernetes, which is deleted only
// with the object that it is created for. The controller does it only for an object that still exists.
type Creates struct{}

func (Creates) outlives() {}

// Step is an action and why it is due.
type Step struct {
	Action Action
	Reason string
}

// Done is an action that was tried in this pass.
type Done struct {
	Step
	// Err is why it failed, nil if it did not.
	Err error
}

// Event is reported to users as an event on the object and as a log line.
type Event struct {
	// Reason is one CamelCase word.
	Reason, Note string
	// Warning gives the event the type Warning, for a problem that a user should know about.
	Warning bool
	// SaysWhy is true if the note says why it happened. The reason for the action, which may be about
	// other objects too, is then not added.
	SaysWhy bool
	// About is the object that the event is reported on; nil for the object that is reconciled. An
	// event about an object that will be gone is reported on one that outlives it.
	About client.Object
}

// Eventf returns an event about something that was done.
func Eventf(reason, format string, values ...any) Event {
	return Event{Reason: reason, Note: fmt.Sprintf(format, values...)}
}

// WithoutReason returns the event with its note as it is: one of an action on several objects, whose
// reason is about all of them.
func (e Event) WithoutReason() Event {
	e.SaysWhy = true
	return e
}

// Warningf returns an event about a problem that a user should know about.
func Warningf(reason, format string, values ...any) Event {
	return Event{Reason: reason, Note: fmt.Sprintf(format, values...), Warning: true}
}
