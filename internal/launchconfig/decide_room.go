package launchconfig

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"

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
	if in.Seen.Template.Template == nil || !aws.IsQuotaExceeded(err) {
		return
	}
	config, seen := in.Object, in.Seen.Template
	done, failed := pruned(in)
	wait := max(recentlyWanted(in), waitToAsk(in))
	keep := int(ptr.Deref(config.Spec.VersionsToKeep, infrav1.DefaultVersionsToKeep))
	switch prunable := launchtemplate.PrunePlan(seen.Versions, keep, config.Status.Version, nil); {
	case failed != nil || len(in.Seen.Refused) > 0:
		return
	case done != nil:
		plan.Tell(prunedEvent(in, *done))
		plan.LookAgain(createAgain)
		return
	case len(prunable) == 0:
	case in.Seen.Use == nil && wait > 0:
		plan.LookAgain(wait)
		return
	case in.Seen.Use == nil:
		plan.Need(needUse)
		return
	case in.Seen.Use.Err != nil:
		return
	default:
		if unused := launchtemplate.PrunePlan(seen.Versions, keep, config.Status.Version, versionsInUse(in)); len(unused) > 0 {
			plan.Do(prune{TemplateID: seen.Template.ID, Numbers: unused}, "EC2 allows no more versions of the launch template, and nothing uses these")
			return
		}
	}
	reconciling.False(config, infrav1.LaunchTemplateReadyCondition, infrav1.QuotaExceededReason, fmt.Sprintf("%s. All of its versions are in use "+
		"or among the newest configurations that versionsToKeep (%d) keeps. Nodes keep the version that they run, and the edit has no effect. Lower "+
		"versionsToKeep, or delete versions that you do not need", strings.TrimSuffix(aws.UserMessage(err), "."), keep))
	plan.LookAgain(pruneAgain)
}
