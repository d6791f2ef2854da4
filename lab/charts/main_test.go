package charts_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/slipway-project/slipway/lab/labtest"
)

// TestMain keeps quiet about the symbolic links of the charts, which Helm follows and tells of.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	labtest.Main(m)
}
