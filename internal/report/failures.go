package report

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws/errorcode"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// PatchStatus writes the status of an object as reconciling.PatchStatus does. Once it is written,
// it warns about every condition that says since this pass that a human has to act, by an event and
// a log line. The conditions in the status remember across restarts what was warned about.
func (r Reporter) PatchStatus(ctx context.Context, c client.Client, object, before reconciling.Conditioned) error {
	if err := reconciling.PatchStatus(ctx, c, object, before); err != nil {
		return err
	}
	for _, failure := range r.newFailures(object, before) {
		r.Warn(ctx, object, failure.Reason, "%s", failure.Message)
	}
	return nil
}

// newFailures returns the conditions to warn about.
func (r Reporter) newFailures(object, before reconciling.Conditioned) []metav1.Condition {
	var found []metav1.Condition
	for _, condition := range object.GetConditions() {
		if !needsHuman(condition) {
			if condition.Status == metav1.ConditionTrue {
				r.Progress.Recovered(object, condition.Type)
			}
			continue
		}
		earlier, warned := r.Progress.Failed(object, condition)
		known := meta.FindStatusCondition(before.GetConditions(), condition.Type)
		repeated := known != nil && needsHuman(*known) && !isNews(condition, *known) || warned && !isNews(condition, earlier)
		if !repeated && !shownByPool(object, condition) {
			found = append(found, condition)
		}
	}
	return found
}

// shownByPool reports whether the pool that controls an AWSLaunchConfig copies a condition, and
// warns about it.
func shownByPool(object reconciling.Conditioned, condition metav1.Condition) bool {
	config, is := object.(*infrav1.AWSLaunchConfig)
	if !is || metav1.GetControllerOf(config) == nil {
		return false
	}
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	return ready != nil && ready.Status == condition.Status && ready.Reason == condition.Reason
}

// notFailures lists conditions that are no failures while they are False, that follow from others,
// or that have events of their own.
var notFailures = []string{
	infrav1.ReadyCondition, infrav1.ConvergedCondition, infrav1.PausedCondition, infrav1.DeprecatedFieldsCondition, infrav1.CapacityAvailableCondition, infrav1.RolloutApprovedCondition,
	infrav1.AWSReachableCondition, provisioningv1.NodesCurrentCondition, provisioningv1.SpellingsCurrentCondition,
}

// passing lists reasons that pass without intervention, and reasons that have an event of their
// own: what was lost or changed outside Slipway, and updates and refreshes that failed.
var passing = []string{
	infrav1.PendingReason, infrav1.AWSUnavailableReason, infrav1.ASGDeletionInProgressReason, infrav1.InsufficientCapacityReason, infrav1.SupersededReason,
	infrav1.RollingOutReason, infrav1.InstancesLeftReason, infrav1.RefreshDisabledReason, infrav1.RolloutPausedReason, infrav1.ReplacingNodegroupReason, infrav1.CapacityBlockInUseReason, infrav1.AdoptedWithDifferencesReason,
	infrav1.ASGNotFoundReason, infrav1.NodegroupNotFoundReason, infrav1.LaunchTemplateNotFoundReason, infrav1.LaunchTemplateDataInvalidReason,
	infrav1.DegradedReason, infrav1.NodegroupUpdateFailedReason, infrav1.NodesNotReadyReason, infrav1.RefreshFailedReason, infrav1.RefreshCancelledReason, infrav1.RolledBackReason,
}

// needsHuman reports whether a condition describes a state that persists until a user acts. A
// condition with an unknown reason counts as such.
func needsHuman(condition metav1.Condition) bool {
	failing := metav1.ConditionFalse
	if condition.Type == infrav1.DeletingCondition {
		failing = metav1.ConditionTrue
	}
	if condition.Status != failing || slices.Contains(notFailures, condition.Type) || slices.Contains(passing, condition.Reason) {
		return false
	}
	// Waiting, Creating, Settling, and the like.
	if strings.HasPrefix(condition.Reason, "WaitingFor") || strings.HasSuffix(condition.Reason, "ing") && !strings.HasSuffix(condition.Reason, "Missing") {
		return false
	}
	return !slices.ContainsFunc(codesIn(condition.Message), errorcode.IsTemporary)
}

// isNews reports whether a failure is another one than an earlier one. Text that AWS or a count
// changes from one pass to the next is no news: the reason and the codes in the message are
// compared, and the whole message only where the spec was edited in between.
func isNews(now, earlier metav1.Condition) bool {
	return now.Reason != earlier.Reason || !slices.Equal(codesIn(now.Message), codesIn(earlier.Message)) ||
		now.ObservedGeneration != earlier.ObservedGeneration && now.Message != earlier.Message
}

// errorCode matches what may be an error code of AWS before a colon: "CreateLaunchTemplateVersion:
// InvalidAMIID.NotFound: The image ...".
var errorCode = regexp.MustCompile(`\b([A-Z][A-Za-z]+(?:\.[A-Z][A-Za-z]+)*):`)

// codesIn returns the codes and names of actions in a message, sorted.
func codesIn(message string) []string {
	var codes []string
	for _, match := range errorCode.FindAllStringSubmatch(message, -1) {
		codes = append(codes, match[1])
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}
