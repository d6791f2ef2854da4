package managedmachinepool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// ensureNodegroup creates the node group, or starts the one update that is next.
func ensureNodegroup(in input, plan *reconcile.Plan) bool {
	group := in.Seen.Group
	switch {
	case group == nil && wantedUnknown(in):
		reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.WaitingForLaunchTemplateReason, "the node group waits for the launch template")
		return true
	case group == nil:
		return createIfPossible(in, plan)
	case !templateAdopted(in):
		reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.WaitingForLaunchTemplateReason, "the node group waits until its launch "+
			"template has been adopted")
		return true
	case in.Seen.Adopting:
		return adopt(in, plan)
	case needsDifferences(in):
		plan.Need(needDifferences)
		return true
	}
	if update := startedUpdate(in); update != nil {
		recordUpdate(in, *update)
		reconciling.True(in.Object, infrav1.NodegroupReadyCondition, infrav1.NodegroupUpdatingReason, updatingMessage(in))
		plan.LookAgain(lookAgain)
		return true
	}
	if successorLost(in) {
		clearAway(in, plan)
		return true
	}
	switch group.Status {
	case nodegroup.StatusCreating:
		showCreating(in, plan)
	case nodegroup.StatusUpdating:
		reconciling.True(in.Object, infrav1.NodegroupReadyCondition, infrav1.NodegroupUpdatingReason, updatingMessage(in))
	case nodegroup.StatusDeleting:
		reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.NodegroupDeletingReason,
			fmt.Sprintf("node group %s is being deleted. Slipway recreates it once the deletion completes", group.Name))
	case nodegroup.StatusCreateFailed, nodegroup.StatusDeleteFailed:
		clearAway(in, plan)
	default:
		updateIfDue(in, plan)
		showRefusals(in)
	}
	return true
}

// freshGroup reports whether EKS described the node groups in this pass, and has that done if it did
// not: another user may have changed what is about to be changed, or taken it over. Known is false
// if it failed, which is shown.
func freshGroup(in input, plan *reconcile.Plan) (fresh, known bool) {
	switch {
	case in.Seen.Fresh:
		return true, true
	case in.Seen.FreshErr != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, groupReason(in.Seen.FreshErr, infrav1.NodegroupReconcileFailedReason), in.Seen.FreshErr)
		return false, false
	}
	plan.Need(needFresh)
	return false, true
}

// updateIfDue starts the one update that is next, if one is.
func updateIfDue(in input, plan *reconcile.Plan) {
	reconciling.True(in.Object, infrav1.NodegroupReadyCondition, infrav1.ReadyReason, "")
	step := nextStep(in)
	if step.Config != nil || step.Version != nil {
		if fresh, _ := freshGroup(in, plan); !fresh {
			return
		}
	}
	if step.Version != nil && launchable(in) != nil && !in.Seen.LaunchConfig.Current(plan) {
		return
	}
	if step.Resizes() && !in.Seen.Sizes.Current(plan) {
		return
	}
	if needsBlock(in) {
		if err := in.Seen.Block.Err; err != nil {
			err = fmt.Errorf("finding out when the Capacity Block ends: %w", err)
			pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
			return
		}
		plan.Need(needBlock)
		return
	}
	showBlock(in)
	showObstacle(in, step)
	showUnread(in)
	startUpdate(in, plan, step)
}

// startUpdate starts an update, unless one failed to start in this pass, or it would repeat one whose result is
// not known. A change of the configuration that AWS refused keeps no other update back.
func startUpdate(in input, plan *reconcile.Plan, step nodegroup.Step) {
	update := updateNodegroup{Group: in.Seen.Group.Name, Config: step.Config, Version: step.Version}
	showUnrecorded(in, plan)
	switch err := failedUpdate(in); {
	case err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
	case awaitsResult(in, step): // followUpdate has EKS asked again
	case step.Config != nil:
		update.Version, update.Cause = nil, causeOf(step.Config.Reasons)
		plan.Do(update, "%s", update.Cause)
	case step.Version != nil:
		update.Cause = causeOf(step.Version.Reasons)
		plan.Do(update, "%s", update.Cause)
	case step.After > 0:
		plan.LookAgain(step.After) // an update that failed, or that EKS refused, is tried again
	}
}

// showUnrecorded shows what AWS refused in this pass to change of the configuration, unless it is recorded, which
// showRefusals shows.
func showUnrecorded(in input, plan *reconcile.Plan) {
	for _, err := range refusedConfigs(in) {
		if !nodegroup.RefusesConfig(err) {
			pool.ShowFailure(in.Object, plan, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, err)
			return
		}
	}
}

func causeOf(reasons []string) string { return report.Shortened(strings.Join(reasons, "; ")) }

// obstacleReasons are the reasons for what of the spec an update of the node group cannot bring.
var obstacleReasons = map[nodegroup.Obstacle]string{
	nodegroup.TemplateGone: infrav1.TemplateLostReason, nodegroup.Downgrade: infrav1.ImmutableFieldReason,
	nodegroup.Fixed:            infrav1.ImmutableFieldReason,
	nodegroup.SizesOutOfBounds: infrav1.ReplicasOutOfBoundsReason, nodegroup.AheadOfControlPlane: infrav1.WaitingForControlPlaneReason,
}

// showObstacle shows what of the spec an update of the node group cannot bring, the hardest first.
func showObstacle(in input, step nodegroup.Step) {
	reason, messages := "", []string(nil)
	for _, obstacle := range step.Obstacles {
		found, shown := obstacleReasons[obstacle.Obstacle]
		if !shown {
			continue
		}
		message := obstacle.Message
		if obstacle.Obstacle == nodegroup.TemplateGone && in.Object.Spec.TemplateLossPolicy != infrav1.TemplateLossReplace {
			message += ": set spec.templateLossPolicy to Replace to replace the node group, or create a new pool " +
				"and migrate to it"
		}
		reason, messages = cmp.Or(reason, found), append(messages, message)
	}
	if reason != "" {
		reconciling.False(in.Object, infrav1.NodegroupReadyCondition, reason, report.Shortened(strings.Join(messages, ". ")))
	}
}

// showRefusals shows what EKS refused or failed to change of the configuration for as long as it is wanted,
// and forgets what is no longer wanted. An obstacle, and an error of this pass, count more.
func showRefusals(in input) {
	step := nextStep(in)
	for kind := range nodegroup.ConfigRefusals {
		if !slices.ContainsFunc(step.Refusals, func(refusal nodegroup.Refusal) bool { return refusal.Type == kind }) {
			noteAttempt(in, kind, nodegroup.Attempt{})
		}
	}
	forgetUncertain(in, step)
	if len(step.Refusals) == 0 || !meta.IsStatusConditionTrue(in.Object.Status.Conditions, infrav1.NodegroupReadyCondition) {
		return
	}
	refusal, help := step.Refusals[0], "Correct the spec of the pool; Slipway also retries"
	if attemptsOf(in)[uncertainUpdate].Failed {
		help = "AWS fails to process the request: check the AWS Health Dashboard. Slipway retries"
	}
	reconciling.False(in.Object, infrav1.NodegroupReadyCondition, infrav1.NodegroupReconcileFailedReason, report.Shortened(fmt.Sprintf(
		"EKS did not change %s of node group %s: %s. Slipway goes on with the other changes. %s after a delay that doubles with each attempt",
		nodegroup.ConfigRefusals[refusal.Type], in.Seen.Group.Name, strings.TrimSuffix(cmp.Or(refusal.Message, "no reason is given"), "."), help)))
}
