package autoscalinggroup

import (
	"fmt"
	"maps"
	"slices"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Refresh is an instance refresh as it was seen.
type Refresh struct {
	ID         string
	Status     string
	Reason     string
	Percentage int32
	Started    time.Time
	Ended      time.Time
}

// terminal are the statuses after which another refresh can start. Baking, Cancelling and RollbackInProgress are not among them: AWS
// answers InstanceRefreshInProgress (AWS: understand-instance-refresh-statuses).
var terminal = map[asgtypes.InstanceRefreshStatus]bool{
	asgtypes.InstanceRefreshStatusSuccessful:         true,
	asgtypes.InstanceRefreshStatusFailed:             true,
	asgtypes.InstanceRefreshStatusCancelled:          true,
	asgtypes.InstanceRefreshStatusRollbackFailed:     true,
	asgtypes.InstanceRefreshStatusRollbackSuccessful: true,
}

// Active is true for a refresh that has not ended.
func (r *Refresh) Active() bool {
	return r != nil && !terminal[asgtypes.InstanceRefreshStatus(r.Status)]
}

// Succeeded is true for a refresh that replaced all that it set out to replace.
func (r *Refresh) Succeeded() bool {
	return r != nil && r.Status == string(asgtypes.InstanceRefreshStatusSuccessful)
}

// RetryAfter is how long a refresh that failed or was cancelled is left alone before the next one: long enough for a person to see it.
const RetryAfter = 5 * time.Minute

// Verdict is what to do about a roll-out.
type Verdict string

// The verdicts.
const (
	// RolledOut: every instance runs the wanted config.
	RolledOut Verdict = "RolledOut"
	// Rolling: a refresh is under way; look again later.
	Rolling Verdict = "Rolling"
	// Start: a refresh is due now.
	Start Verdict = "Start"
	// Later: a refresh is due, but an earlier one failed a short while ago.
	Later Verdict = "Later"
	// Disabled: a refresh is due, and the user wants none.
	Disabled Verdict = "Disabled"
)

// Rollout is all that the decision about a roll-out is made from: what exists now, and nothing remembered.
type Rollout struct {
	// TemplateID is the template that instances should be launched from.
	TemplateID string
	// Current are the versions of it with the wanted config; they differ by their join token alone.
	Current []int64
	// Accepted are versions, of whatever template, that count as the wanted config without a fingerprint that says so.
	Accepted []infrav1.AcceptedVersions
	// Instances are the group's members.
	Instances []Instance
	// Latest is the newest refresh, nil if there never was one.
	Latest *Refresh
	// Disabled is the user's refreshPreferences.disable.
	Disabled bool
	Now      time.Time
}

// Decision is a verdict and why.
type Decision struct {
	Verdict Verdict
	// Outdated are the instances that run another config.
	Outdated []Instance
	// Reason says it in words, without times, so that a condition can carry it.
	Reason string
	// Wait is how long until the verdict Later turns into Start.
	Wait time.Duration
}

// Decide says what to do. A roll-out is due exactly when some instance runs a config other than the wanted one; a token that rotated
// made another version with the same config, so it is not.
func (r Rollout) Decide() Decision {
	outdated := slices.DeleteFunc(slices.Clone(r.Instances), r.current)
	decision := Decision{Outdated: outdated, Reason: r.describe(outdated)}
	switch {
	case r.Latest.Active():
		decision.Verdict = Rolling
	case len(outdated) == 0:
		decision.Verdict = RolledOut
	case r.Disabled:
		decision.Verdict = Disabled
	case r.Latest != nil && !r.Latest.Succeeded() && r.Now.Before(r.Latest.Ended.Add(RetryAfter)):
		decision.Verdict, decision.Wait = Later, r.Latest.Ended.Add(RetryAfter).Sub(r.Now)
	default:
		decision.Verdict = Start
	}
	return decision
}

// current is true for an instance that need not be replaced.
func (r Rollout) current(instance Instance) bool {
	if instance.Leaving() {
		return true
	}
	if instance.LaunchTemplateID == r.TemplateID && slices.Contains(r.Current, instance.Version) {
		return true
	}
	return slices.ContainsFunc(r.Accepted, func(accepted infrav1.AcceptedVersions) bool {
		return accepted.Holds(instance.LaunchTemplateID, instance.Version)
	})
}

// describe counts the outdated instances by what they run: "2 of 3 instances run version 4". Instances on their way out do not count.
func (r Rollout) describe(outdated []Instance) string {
	if len(outdated) == 0 {
		return ""
	}
	counts := map[string]int{}
	for _, instance := range outdated {
		source := fmt.Sprintf("version %d", instance.Version)
		switch { // an instance without a template was attached, or launched from a launch configuration
		case instance.LaunchTemplateID == "":
			source = "no launch template"
		case instance.LaunchTemplateID != r.TemplateID:
			source = "launch template " + instance.LaunchTemplateID
		}
		counts[source]++
	}
	present := 0
	for _, instance := range r.Instances {
		if !instance.Leaving() {
			present++
		}
	}
	text := ""
	for _, source := range slices.Sorted(maps.Keys(counts)) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d of %d instances run %s", counts[source], present, source)
	}
	return text
}
