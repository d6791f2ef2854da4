package manager

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// details are messages of controller-runtime about how it starts and stops. One program writes
// dozens. "Starting workers" remains, one line for each controller once its caches are filled, and so do the
// messages of servers that listen, of the lease, and of the end.
var details = []string{
	"Starting EventSource", "Starting Controller", "Starting metrics server", "Starting webhook server", "Starting certificate poll+watcher",
	"Registering webhook", "Registering a mutating webhook", "Registering a validating webhook", "Conversion webhook enabled", "Updated current TLS certificate",
	"Shutdown signal received, waiting for all workers to finish", "All workers finished", "shutting down server",
}

// detailsOfStopping are the beginnings of messages that differ in what is stopped.
var detailsOfStopping = []string{"Stopping and waiting for ", "Shutting down metrics server", "Shutting down webhook server"}

// detailLevel is the level of details, as `--v=1` shows it.
const detailLevel = slog.LevelInfo - 1

// QuietHandler returns a handler that passes records on, and lowers the level of details about the start
// and the end of a program.
func QuietHandler(next slog.Handler) slog.Handler { return quietHandler{next} }

type quietHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h quietHandler) Handle(ctx context.Context, record slog.Record) error {
	if isDetail(record) {
		if !h.Enabled(ctx, detailLevel) {
			return nil
		}
		record.Level = detailLevel
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h quietHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attributes)}
}

// WithGroup implements slog.Handler.
func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name)}
}

func isDetail(record slog.Record) bool {
	if record.Level == slog.LevelError {
		return record.Message == "error received after stop sequence was engaged" && givesUpLease(record)
	}
	return record.Level == slog.LevelInfo && (slices.Contains(details, record.Message) ||
		slices.ContainsFunc(detailsOfStopping, func(beginning string) bool { return strings.HasPrefix(record.Message, beginning) }))
}

// givesUpLease reports whether a record has the error that controller-runtime returns when a program that
// stops gives its lease up. A program that loses its lease stops with this error instead.
func givesUpLease(record slog.Record) bool {
	found := false
	record.Attrs(func(attribute slog.Attr) bool {
		err, isError := attribute.Value.Any().(error)
		found = isError && err.Error() == "leader election lost"
		return !found
	})
	return found
}
