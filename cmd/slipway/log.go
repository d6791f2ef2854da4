package main

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"

	"github.com/slipway-project/slipway/internal/manager"
)

// newLog writes JSON lines with time, level, message and whatever else belongs to them, up to a
// level of detail.
func newLog(to io.Writer, verbosity int) logr.Logger {
	lines := slog.NewJSONHandler(to, &slog.HandlerOptions{Level: slog.Level(-verbosity), ReplaceAttr: wellKnownLevel})
	return logr.FromSlogHandler(manager.QuietHandler(lines))
}

// wellKnownLevel turns logr's levels, which slog would print as INFO-1, into one that every log store knows.
func wellKnownLevel(groups []string, attribute slog.Attr) slog.Attr {
	if level, isLevel := attribute.Value.Any().(slog.Level); isLevel && len(groups) == 0 && level < slog.LevelInfo {
		attribute.Value = slog.StringValue(slog.LevelDebug.String())
	}
	return attribute
}
