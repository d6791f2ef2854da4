package adversary

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
)

// sink is the manager's log. controller-runtime gives each reconcile a logger with the namespace of
// the object, in the context of every call to AWS: so the namespace of a call is known without help
// from the product. It keeps errors about reconciles that panicked.
type sink struct {
	*journal
	namespace string
}

// journal holds what all loggers of a manager share.
type journal struct {
	mu     sync.Mutex
	panics []string
}

func newLog() (logr.Logger, *journal) {
	j := &journal{}
	return logr.New(sink{journal: j}), j
}

// namespaceOf returns the namespace of the object whose reconcile a context belongs to, empty for none.
func namespaceOf(ctx context.Context) string {
	logger, err := logr.FromContext(ctx)
	if err != nil {
		return ""
	}
	if s, is := logger.GetSink().(sink); is {
		return s.namespace
	}
	return ""
}

// Init implements logr.LogSink.
func (sink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (sink) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (sink) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (s sink) Error(err error, message string, values ...any) {
	text := fmt.Sprint(message, ": ", err)
	if !strings.Contains(strings.ToLower(text), "panic") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panics = append(s.panics, fmt.Sprint(text, " ", values))
}

// WithValues implements logr.LogSink.
func (s sink) WithValues(values ...any) logr.LogSink {
	for i := 0; i+1 < len(values); i += 2 {
		if namespace, is := values[i+1].(string); is && values[i] == "namespace" {
			s.namespace = namespace
		}
	}
	return s
}

// WithName implements logr.LogSink.
func (s sink) WithName(string) logr.LogSink { return s }

func (j *journal) panicked() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.panics)
}
