package report

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

// TestActionOf holds that events that say something else are not taken for one, and that those
// which say the same are.
func TestActionOf(t *testing.T) {
	t.Parallel()
	first, again, other := actionOf("ASGUpdated", "max size 4 → 10"), actionOf("ASGUpdated", "max size 4 → 10"), actionOf("ASGUpdated", "min size 0 → 1")
	if first != again || first == other {
		t.Errorf("actions %q, %q, %q", first, again, other)
	}
}

// TestHostileNotes holds that no terminal interprets the note of an event, and that the API server takes it.
func TestHostileNotes(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(1)
	reporter := Reporter{Recorder: recorder}
	reporter.Warn(t.Context(), &corev1.Node{}, "Refused", "the server responded: %s", "\x1b[2J\u009b31m\r\n\u202e\xff"+strings.Repeat("日", 1<<20))
	note := <-recorder.Events
	if at := strings.IndexFunc(note, func(r rune) bool { return !unicode.IsPrint(r) }); at >= 0 || !utf8.ValidString(note) || len(note) > 1100 {
		t.Errorf("%d bytes, which a terminal interprets from byte %d: %.100q", len(note), at, note)
	}
}
