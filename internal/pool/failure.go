package pool

import (
	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// ShowFailure says in a condition what an error of AWS means, and in the plan when to try again. An
// error that only a person or AWS can resolve is written into the condition, under a reason that
// says whose turn it is. An error that may soon pass leaves an existing condition alone, so that it
// does not flap.
func ShowFailure(object reconciling.Conditioned, plan *reconcile.Plan, condition, reason string, err error) {
	fate := aws.FateOf(err)
	if fate.Kind != aws.RetrySoon {
		reconciling.False(object, condition, reasonFor(err, reason), aws.UserMessage(err))
		plan.LookAgain(fate.After)
		return
	}
	if meta.FindStatusCondition(object.GetConditions(), condition) == nil {
		reconciling.Unknown(object, condition, infrav1.AWSUnavailableReason, "AWS has not answered yet. Slipway "+
			"retries the call")
	}
	TryAgain(plan, err)
}

// TryAgain has the object reconciled again when AWS may be asked again, with the delays of the work
// queue if that is not known.
func TryAgain(plan *reconcile.Plan, err error) {
	if fate := aws.FateOf(err); fate.After > 0 {
		plan.LookAgain(fate.After)
		plan.Held = plan.Held || aws.IsHeldBack(err)
		return
	}
	plan.Fail(err)
}

// reasonFor returns the most helpful reason: who must act counts more than what was being done.
func reasonFor(err error, reason string) string {
	switch {
	case aws.IsAccessDenied(err):
		return infrav1.AccessDeniedReason
	case aws.IsQuotaExceeded(err):
		return infrav1.QuotaExceededReason
	}
	return reason
}
