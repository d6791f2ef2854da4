package provisionerstatus

import (
	"strings"
	"time"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// recheckKept is the interval at which nodes that an annotation keeps are checked again.
const recheckKept = time.Minute

// decideDisruptions lets nodes be disrupted that ask for it, the oldest first and within the
// disruption budgets: all of them are counted here, one pass at a time.
func decideDisruptions(in input, plan *reconcile.Plan) bool {
	spec := &in.Object.Spec
	if problems := disruption.Problems(spec); len(problems) > 0 {
		reconciling.False(in.Object, provisioningv1.DisruptionBudgetsValidCondition, provisioningv1.InvalidScheduleReason, strings.Join(problems, "; "))
	} else {
		reconciling.Remove(in.Object, provisioningv1.DisruptionBudgetsValidCondition)
	}
	if failed[revokeDisruptions](in, plan, "allowing disruptions") || failed[allowDisruptions](in, plan, "allowing disruptions") {
		return false
	}
	if revoked := disruption.Revoked(in.Seen.Nodes); len(revoked) > 0 {
		var names []string
		for _, node := range revoked {
			names = append(names, node.Name)
		}
		plan.Do(revokeDisruptions{names}, "they no longer request disruption")
		return false
	}
	nodes, listed := in.Seen.Nodes, in.Seen.Allowing
	if listed.Err != nil {
		plan.Fail(listed.Err)
		return false
	}
	if listed.Read {
		nodes = listed.Items
	}
	choice := disruption.Choose(spec, nodes, disruption.Waiting(nodes), in.Now)
	switch {
	case len(choice.Now) == 0:
		lookAgainForDisruptions(plan, choice, false, in.Now)
		return true
	case !listed.Read:
		plan.Need(needAllowing) // the cache may not show what was allowed last
	default:
		var allowed []allowance
		for _, one := range choice.Now {
			allowed = append(allowed, allowance{one.Node.Name, string(one.Reason)})
		}
		plan.Do(allowDisruptions{allowed}, "they request disruption, and the disruption budgets allow it")
	}
	return false
}

// lookAgainForDisruptions has the Provisioner reconciled when nodes may be disrupted that must not
// be now.
func lookAgainForDisruptions(plan *reconcile.Plan, held disruption.Choice, kept bool, now time.Time) {
	if !held.Changes.IsZero() {
		plan.LookAgain(max(held.Changes.Sub(now), time.Second))
	}
	if kept {
		plan.LookAgain(recheckKept)
	}
}
