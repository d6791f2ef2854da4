package rehearsal

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/plan"
)

func httpClient(sim *awssim.Simulator) *http.Client { return &http.Client{Transport: sim} }

// rollout returns the condition RolledOut of a pool. It is empty if the pool has none for its
// current spec.
func rollout(pool plan.State) metav1.Condition {
	found := meta.FindStatusCondition(pool.Conditions, infrav1.RolledOutCondition)
	if found == nil || found.ObservedGeneration < pool.Generation {
		return metav1.Condition{}
	}
	return *found
}

// rolledOut reports whether all instances of a pool run its spec.
func rolledOut(pool plan.State) bool {
	return rollout(pool).Status == metav1.ConditionTrue
}

// goesOn are the reasons of RolledOut for which a roll-out goes on by itself.
var goesOn = []string{
	infrav1.RollingOutReason, infrav1.SettlingReason, infrav1.SupersededReason, infrav1.WaitingForASGReason, infrav1.WaitingForRefreshReason,
	infrav1.WaitingForNodegroupReason, infrav1.WaitingForUpdateReason, infrav1.ReplacingNodegroupReason,
}

// outcome returns how the simulation ends, empty if it goes on.
func (r *run) outcome(pool plan.State) Outcome {
	condition, quiet := rollout(pool), r.clock.Since(r.changed)
	ended := r.outcomeOfFailed(condition, quiet)
	if condition.Status == metav1.ConditionTrue {
		ended = r.outcomeOfRolledOut(pool, condition, quiet)
	}
	switch {
	case ended != "":
		return ended
	case quiet >= stalled && !slices.Contains(goesOn, condition.Reason):
		return Stopped
	case r.clock.Since(r.edited) >= r.options.Limit:
		return Unfinished
	}
	return ""
}

// outcomeOfRolledOut returns how the simulation of a pool ends whose instances all run what they should.
func (r *run) outcomeOfRolledOut(pool plan.State, condition metav1.Condition, quiet time.Duration) Outcome {
	switch {
	case quiet >= rest && meta.IsStatusConditionFalse(pool.Conditions, infrav1.RolloutApprovedCondition):
		return Stopped // they run what was approved, and the edit waits for a user
	case quiet >= rest && r.nodes.up() == pool.Instances:
		return RolledOut
	case len(r.sick) > 0 && r.clock.Since(condition.LastTransitionTime.Time) >= failing:
		return Degraded
	}
	return ""
}

// outcomeOfFailed returns how the simulation of a pool ends whose roll-out has failed, empty for any other.
func (r *run) outcomeOfFailed(condition metav1.Condition, quiet time.Duration) Outcome {
	switch {
	case condition.Reason == infrav1.RefreshFailedReason:
		return Stopped
	case condition.Reason == infrav1.NodegroupUpdateFailedReason && quiet >= rest: // EKS has gone back
		return Stopped
	case condition.Reason == infrav1.RolledBackReason && quiet >= stalled:
		return RolledBack
	}
	return ""
}

// unreported are the conditions that only repeat others, or what the events of nodes show.
var unreported = []string{infrav1.ConvergedCondition, infrav1.NodesDrainedCondition, infrav1.PausedCondition}

// showConditions notes the conditions that have another reason or status than before.
func (r *run) showConditions(pool plan.State) {
	if r.edited.IsZero() {
		return
	}
	for _, condition := range pool.Conditions {
		if slices.Contains(unreported, condition.Type) {
			continue
		}
		before := r.shown[condition.Type]
		if before.Status == condition.Status && before.Reason == condition.Reason {
			continue
		}
		r.shown[condition.Type] = condition
		r.happens("Condition", fmt.Sprintf("%s is %s: %s", condition.Type, condition.Status, condition.Reason), condition.Message)
	}
}

// conclude completes the report.
func (r *run) conclude(pool plan.State) {
	r.report.Conditions = []Condition{}
	for _, condition := range pool.Conditions {
		if condition.Type == infrav1.RolledOutCondition || condition.Status == metav1.ConditionFalse && !slices.Contains(unreported, condition.Type) {
			r.report.Conditions = append(r.report.Conditions, Condition{Type: condition.Type, Status: string(condition.Status), Reason: condition.Reason, Message: condition.Message})
		}
	}
	for _, template := range r.aws.LaunchTemplates() {
		if ofEKS(template.Tags) {
			continue
		}
		for _, version := range r.aws.LaunchTemplateVersions(*template.LaunchTemplateId) {
			if !version.CreateTime.Before(r.edited) {
				r.report.Versions++
			}
		}
	}
}

// problem describes what a pool lacks, by its first condition that is False.
func problem(pool plan.State) string {
	for _, condition := range pool.Conditions {
		if condition.Status == metav1.ConditionFalse && !slices.Contains(unreported, condition.Type) {
			return fmt.Sprintf("%s is False, %s: %s", condition.Type, condition.Reason, condition.Message)
		}
	}
	return "it has no instances in service"
}
