package scheduler

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/report"
)

// podEvents writes the events that a teller decides on, and counts them as a pass does.
type podEvents struct{ budget *launcher.Budget }

func newPodEvents(_ report.Reporter, clk clock.PassiveClock) podEvents {
	return podEvents{launcher.NewBudget(clk, mostEvents)}
}

// write writes the events that are due on pods, and returns when to go on if some are left for
// another pass.
func (e podEvents) write(already *told, pods []packing.Unplaced, write func(packing.Unplaced)) time.Duration {
	events := teller{e.budget.Allowance()}
	due, again := events.next(already, pods)
	for i := range due {
		write(due[i])
	}
	e.budget.Spend(len(due))
	return again
}
