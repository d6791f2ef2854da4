package managedmachinepool

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// never are the reasons for what no update of the node group can bring its nodes.
var never = map[nodegroup.Obstacle]string{
	nodegroup.TemplateGone: infrav1.TemplateLostReason, nodegroup.Fixed: infrav1.ImmutableFieldReason, nodegroup.Downgrade: infrav1.ImmutableFieldReason,
}

// reportRollout shows whether all nodes run what is wanted, or what is in the way.
func reportRollout(in input, _ *reconcile.Plan) bool {
	group, record, step := in.Seen.Group, in.Object.Status.Update, nextStep(in)
	due, hardest := strings.Join(step.Due, "; "), step.Hardest()
	show := func(reason, format string, values ...any) bool {
		reconciling.False(in.Object, infrav1.RolledOutCondition, reason, report.Shortened(fmt.Sprintf(format, values...)))
		return true
	}
	switch {
	case in.Seen.Retiring != nil:
		return true // shown where it is replaced
	case group == nil || group.Status == nodegroup.StatusCreating:
		reconciling.Unknown(in.Object, infrav1.RolledOutCondition, infrav1.WaitingForNodegroupReason, "the node group does not exist yet")
		return true
	case rollingOut(in):
		return show(infrav1.RollingOutReason, "%s", withProgress(in, record.Cause))
	case due == "" && never[hardest.Obstacle] != "":
		return show(never[hardest.Obstacle], "%s", hardest.Message)
	case hardest.Obstacle == nodegroup.BlockInUse:
		return show(infrav1.CapacityBlockInUseReason, "%s; %s", due, hardest.Message)
	case wantedUnknown(in):
		reportUnknown(in)
		return true
	case due == "":
		reconciling.True(in.Object, infrav1.RolledOutCondition, infrav1.RolledOutReason, "")
		return true
	case paused(in):
		return show(infrav1.RolloutPausedReason, "%s; annotation %s pauses roll-outs", due, infrav1.RolloutPausedAnnotation)
	case busy(in):
		return show(infrav1.WaitingForUpdateReason, "%s; EKS performs one update at a time, and an earlier one is in progress", due)
	case held(in, desiredNodegroup(in).Key()):
		return show(infrav1.SettlingReason, "%s; the spec changed recently, and the update waits until it has not changed for a while", due)
	}
	return reportNotStarted(in, step, show)
}

// reportNotStarted shows why no update has begun that is due and that nothing holds back.
func reportNotStarted(in input, step nodegroup.Step, show func(reason, format string, values ...any) bool) bool {
	due := strings.Join(step.Due, "; ")
	switch {
	case awaitsResult(in, step):
		return show(infrav1.WaitingForUpdateReason, "%s; update %s has finished, and EKS has not reported its result yet. Slipway "+
			"does not repeat the update before", due, in.Object.Status.Update.ID)
	case step.Failed.Failed:
		return show(infrav1.NodegroupUpdateFailedReason, "%s; EKS gave up: %s. Slipway retries the update after %s, or at once with `slipway rollout retry`",
			due, strings.TrimSuffix(cmp.Or(step.Failed.Answer, "no reason is given"), "."), duration.HumanDuration(nodegroup.BackOff(step.Failed.Attempts)))
	}
	return show(infrav1.WaitingForUpdateReason, "%s", due)
}

// reportUnknown shows that it is not known whether nodes run what is wanted, unless the launch
// config is about to show it.
func reportUnknown(in input) {
	conditions := in.Object.Status.Conditions
	before := meta.FindStatusCondition(conditions, infrav1.RolledOutCondition)
	if before == nil || meta.IsStatusConditionFalse(conditions, infrav1.LaunchTemplateReadyCondition) ||
		meta.IsStatusConditionFalse(conditions, infrav1.BootstrapDataReadyCondition) || before.Reason == infrav1.RollingOutReason {
		reconciling.Unknown(in.Object, infrav1.RolledOutCondition, infrav1.WaitingForLaunchConfigReason,
			"the launch template is not ready, so the configuration that nodes should run is not known yet. "+
				"Nodes stay as they are")
	}
}

// statusNow returns EKS's status of the node group: an update may have been started since EKS
// described it.
func statusNow(in input) string {
	if in.Seen.Started != nil {
		return nodegroup.StatusUpdating
	}
	return in.Seen.Group.Status
}

// busy reports whether EKS is doing something with the node group.
func busy(in input) bool { return in.Seen.Started != nil || in.Seen.Group.Busy() }

// rollingOut reports whether EKS replaces nodes. At other times a change of labels may have made
// what EKS launches newer than nodes that are as they should be.
func rollingOut(in input) bool {
	record := in.Object.Status.Update
	return statusNow(in) == nodegroup.StatusUpdating && record != nil && record.Type == nodegroup.VersionUpdate
}

// withProgress adds to a cause how many instances have been replaced.
func withProgress(in input, cause string) string {
	cause = cmp.Or(cause, "EKS is updating the node group, and no cause of the update is recorded: another program may have started it")
	members := in.Seen.Members
	if members == nil || !pointed(in) {
		return cause
	}
	current := 0
	for _, instance := range members.Instances {
		if newest(members, instance) {
			current++
		}
	}
	if current == len(members.Instances) {
		return cause // all are replaced
	}
	return fmt.Sprintf("%s; %d of %d instances run it", cause, current, len(members.Instances))
}

// newest reports whether an instance runs what EKS's Auto Scaling group launches now: EKS keeps a
// template of its own, whose versions the instances name.
func newest(group *autoscalinggroup.Group, instance autoscalinggroup.Instance) bool {
	return instance.LaunchTemplateID == group.LaunchTemplateID && strconv.FormatInt(instance.Version, 10) == group.Version
}
