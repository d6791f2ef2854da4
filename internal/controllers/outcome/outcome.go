// Package outcome turns failures of AWS into the outcome of a step, for the controllers that are
// lists of steps.
package outcome

import (
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Of ends the pass because of an error, as pool.ShowFailure shows it.
func Of(object reconciling.Conditioned, condition, reason string, err error) reconciling.Outcome {
	var plan reconcile.Plan
	pool.ShowFailure(object, &plan, condition, reason, err)
	return OfPlan(plan, err.Error())
}

// Again ends the pass because of an error that no condition tells of, until what was asked of AWS
// may be asked again.
func Again(err error) reconciling.Outcome {
	var plan reconcile.Plan
	pool.TryAgain(&plan, err)
	return OfPlan(plan, err.Error())
}

// OfPlan ends the pass, and comes back when the plan says.
func OfPlan(plan reconcile.Plan, why string) reconciling.Outcome {
	switch {
	case plan.Err != nil:
		return reconciling.Fail(plan.Err)
	case plan.Again > 0:
		return reconciling.ComeBack(plan.Again, why)
	}
	return reconciling.Stop(why)
}
