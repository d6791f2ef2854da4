package report

import (
	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Converged defines how the Converged condition of a pool, of either kind, follows from the others:
// obstacles to launching nodes come before missing capacity, and missing capacity comes before
// replacements.
var Converged = reconciling.Overview{
	Target: infrav1.ConvergedCondition,
	Of: []string{
		infrav1.ReadyCondition,
		infrav1.CapacityAvailableCondition,
		infrav1.NodegroupHealthyCondition,
		infrav1.RolloutApprovedCondition,
		infrav1.NodesDrainedCondition,
		infrav1.RolledOutCondition,
	},
	Reason: infrav1.ConvergedReason,
}
