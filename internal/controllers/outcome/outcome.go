// Package outcome turns failures of AWS into what a reconcile does about them: the condition that says so, and when to come
// back. It is where the fates of package aws meet the words of package reconciling.
package outcome

import (
	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Of ends the pass because of an error. An error that only a person or AWS can end is written into the condition, under a reason that
// says whose turn it is. One that a moment may end leaves a condition alone that was known before, so that it does not flap.
func Of(object reconciling.Conditioned, condition, reason string, err error) reconciling.Outcome {
	fate := aws.FateOf(err)
	if fate.Kind != aws.RetrySoon {
		reconciling.False(object, condition, reasonFor(err, reason), aws.UserMessage(err))
		return reconciling.ComeBack(fate.After, err.Error())
	}
	if meta.FindStatusCondition(object.GetConditions(), condition) == nil {
		reconciling.Unknown(object, condition, infrav1.AWSUnavailableReason, "AWS did not answer yet; trying again")
	}
	return Again(err)
}

// Again ends the pass because of an error that no condition tells of, until what was asked of AWS may be asked again.
func Again(err error) reconciling.Outcome {
	if fate := aws.FateOf(err); fate.After > 0 {
		return reconciling.ComeBack(fate.After, err.Error())
	}
	return reconciling.Fail(err)
}

// reasonFor is the most telling reason: who must act counts more than what was being done.
func reasonFor(err error, reason string) string {
	switch {
	case aws.IsAccessDenied(err):
		return infrav1.AccessDeniedReason
	case aws.IsQuotaExceeded(err):
		return infrav1.QuotaExceededReason
	}
	return reason
}
