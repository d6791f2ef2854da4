package launchconfig

import (
	"fmt"
	"strings"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// createAgain is the delay before a version is created that EC2 refused, once there is room for it.
const createAgain = time.Second

// versionRefused shows why EC2 did not create a version. If the template has as many versions as EC2
// allows, it has unused ones deleted: the pruning that follows the creation of a version would never
// be reached. A template that another program has filled is only usable in this way.
func versionRefused(in Input, plan *reconcile.Plan, err error) {
	fail(in, plan, failureReason(in, err), err)
	if in.Seen.Template.Template == nil || !aws.IsQuotaExceeded(err) || makesRoom(in, plan) {
		return
	}
	reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.QuotaExceededReason, fmt.Sprintf("%s. All of its versions are in use "+
		"or among the newest configurations that versionsToKeep (%d) keeps. Nodes keep the version that they run, and the edit has no effect. Lower "+
		"versionsToKeep, or delete versions that you do not need", strings.TrimSuffix(aws.UserMessage(err), "."), versionsToKeep(in.Object)))
	plan.LookAgain(pruneAgain)
}

// makesRoom deletes the versions that nothing uses. It reports false if there are none.
func makesRoom(in Input, plan *reconcile.Plan) bool {
	seen, keep, wanted := in.Seen.Template, versionsToKeep(in.Object), in.Object.Status.Version
	done, failed := pruned(in)
	switch {
	case failed != nil || len(in.Seen.Refused) > 0:
		return true
	case done != nil:
		plan.Tell(prunedEvent(in, *done))
		plan.LookAgain(createAgain)
		return true
	case len(launchtemplate.PrunePlan(seen.Versions, keep, wanted, nil)) == 0:
		return false
	}
	if in.Seen.Use == nil {
		if wait := max(recentlyWanted(in), waitToAsk(in)); wait > 0 {
			plan.LookAgain(wait)
		} else {
			plan.Need(needUse)
		}
		return true
	}
	if in.Seen.Use.Err != nil {
		return true
	}
	unused := launchtemplate.PrunePlan(seen.Versions, keep, wanted, versionsInUse(in))
	if len(unused) > 0 {
		plan.Do(prune{TemplateID: seen.Template.ID, Numbers: unused}, "EC2 allows no more versions of the launch template, and nothing uses these")
	}
	return len(unused) > 0
}
