package cli

import (
	"os"
	"runtime/debug"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/plan"
)

// plannedAtOnce bounds how many pools are planned at the same time. Each waits for AWS most of the time.
const plannedAtOnce = 8

// forMany has a planner plan several pools at the same time, within the rate at which AWS answers the
// account.
func forMany(planner *plan.Planner) {
	planner.AtOnce, planner.Limits = plannedAtOnce, aws.DefaultLimits()
	if os.Getenv("GOGC") == "" {
		// A plan leaves much garbage, and keeps little. With Go's default, a third of its time goes into
		// collecting it.
		debug.SetGCPercent(400)
	}
}
