// Package report reports on objects to users: by events and log lines, by warnings about conditions
// that need a human, and by the Converged condition.
package report

import (
	"context"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/terminal"
)

// longestNote limits the length of the note of an event, in characters (Kubernetes:
// events.k8s.io/v1, Event.note, 1 kB). A rune may take four bytes, none here takes more than three.
const longestNote = 1024 / 3

// Reporter reports changes to users, as an event on the object and as a log line with the same
// reason. It is only called when something changed.
type Reporter struct {
	Recorder events.EventRecorder
	// Progress counts; nil for not.
	Progress *metrics.Progress
}

// Done reports a milestone.
func (r Reporter) Done(ctx context.Context, object client.Object, reason, format string, values ...any) {
	r.report(ctx, object, corev1.EventTypeNormal, reason, fmt.Sprintf(format, values...))
}

// Warn reports a problem that a user should know about.
func (r Reporter) Warn(ctx context.Context, object client.Object, reason, format string, values ...any) {
	r.report(ctx, object, corev1.EventTypeWarning, reason, fmt.Sprintf(format, values...))
}

func (r Reporter) report(ctx context.Context, object client.Object, eventType, reason, note string) {
	note = terminal.Printable(note)
	r.Progress.Milestone(object, reason, note)
	log.FromContext(ctx).Info(note, "reason", reason, "type", eventType)
	note = terminal.Cut(note, longestNote)
	r.Recorder.Eventf(object, nil, eventType, reason, actionOf(reason, note), "%s", note)
}

// actionOf is the action of an event: another for other words. The recorder takes events of one
// reason and action on one object for one event, and for six minutes drops the words of all but the
// first (client-go: tools/events, getKey).
func actionOf(reason, note string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(note)) // never fails
	return fmt.Sprintf("%s-%08x", reason, hash.Sum32())
}
