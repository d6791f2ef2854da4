package charts_test

import (
	"log/slog"
	"os"
	"testing"
)

// TestMain keeps quiet about the symbolic links of the charts, which Helm follows and reports.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	os.Exit(m.Run())
}
