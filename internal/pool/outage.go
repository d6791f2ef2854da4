package pool

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Outage describes whether services of AWS answer, as it was observed. The zero value records
// neither an outage nor an answer.
type Outage struct {
	// Outage is nil if none is known.
	*aws.Outage
	// Answered is true if a service has answered since this process started.
	Answered bool
}

// ShowOutage shows in the AWSReachable condition that AWS gives no answers, and since when. An
// outage that the status knows to be older began then: this process may have started meanwhile. The
// condition stays until a service has answered. It is written when it begins and when it is over,
// and not in between.
func ShowOutage(object reconciling.Conditioned, outage Outage, region string) {
	known := meta.FindStatusCondition(object.GetConditions(), infrav1.AWSReachableCondition)
	switch {
	case outage.Outage == nil && (outage.Answered || known == nil):
		reconciling.Remove(object, infrav1.AWSReachableCondition)
	case outage.Outage == nil:
		// A process that has just started knows nothing yet.
	case known != nil:
		// Which of several services does not answer may change. It is one outage.
	default:
		since := outage.Since.UTC()
		conditions := slices.Clone(object.GetConditions())
		meta.SetStatusCondition(&conditions, metav1.Condition{
			Type: infrav1.AWSReachableCondition, Status: metav1.ConditionFalse, Reason: infrav1.AWSUnavailableReason,
			Message:            outageMessage(outage.Outage, region),
			ObservedGeneration: object.GetGeneration(), LastTransitionTime: metav1.NewTime(since),
		})
		object.SetConditions(conditions)
	}
}

// outageMessage describes an outage.
func outageMessage(outage *aws.Outage, region string) string {
	since := outage.Since.UTC().Format(time.RFC3339)
	switch {
	case outage.Action == "":
		return fmt.Sprintf("%s in %s has not answered since %s. Running nodes keep running. Slipway makes changes when it answers",
			outage.Service, region, since)
	case outage.Throttled:
		return fmt.Sprintf("%s in %s has throttled every call of %s since %s. Running nodes keep running. Slipway retries, and makes changes when "+
			"AWS accepts the calls. Reduce the calls of other programs in the account, or request a higher request rate from AWS",
			outage.Service, region, outage.Action, since)
	}
	return fmt.Sprintf("%s in %s has failed every call of %s since %s. Running nodes keep running. Slipway retries, and "+
		"makes changes when AWS accepts the calls. Check the AWS Health Dashboard, or ask AWS Support",
		outage.Service, region, outage.Action, since)
}
