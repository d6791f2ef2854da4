package autoscalinggroup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Refresh is an instance refresh as it was seen. Started is by AWS's clock, and only for showing:
// nothing is decided from it.
type Refresh struct {
	ID         string
	Status     string
	Reason     string
	Percentage int32
	Started    time.Time
	// Strategy is Rolling, ReplaceRootVolume, or empty if it is not known.
	Strategy string
}

// terminal are the statuses after which another refresh can start. Baking, Cancelling and
// RollbackInProgress are not among them: AWS answers InstanceRefreshInProgress (AWS:
// understand-instance-refresh-statuses).
var terminal = map[asgtypes.InstanceRefreshStatus]bool{
	asgtypes.InstanceRefreshStatusSuccessful:         true,
	asgtypes.InstanceRefreshStatusFailed:             true,
	asgtypes.InstanceRefreshStatusCancelled:          true,
	asgtypes.InstanceRefreshStatusRollbackFailed:     true,
	asgtypes.InstanceRefreshStatusRollbackSuccessful: true,
}

// Active reports whether a refresh has not finished.
func (r *Refresh) Active() bool {
	return r != nil && !terminal[asgtypes.InstanceRefreshStatus(r.Status)]
}

// Pending reports whether AWS has accepted a refresh and not started it.
func (r *Refresh) Pending() bool {
	return r != nil && r.Status == string(asgtypes.InstanceRefreshStatusPending)
}

// Succeeded reports whether a refresh replaced all that it set out to replace.
func (r *Refresh) Succeeded() bool {
	return r != nil && r.Status == string(asgtypes.InstanceRefreshStatusSuccessful)
}

// Failed reports whether AWS gave up a refresh. It is false for a cancelled one.
func (r *Refresh) Failed() bool {
	return r != nil && (r.Status == string(asgtypes.InstanceRefreshStatusFailed) || r.Status == string(asgtypes.InstanceRefreshStatusRollbackFailed))
}

// replacing reports whether a cancellation would stop a refresh.
func (r *Refresh) replacing() bool {
	return r.Active() && r.Status != string(asgtypes.InstanceRefreshStatusCancelling) && r.Status != string(asgtypes.InstanceRefreshStatusRollbackInProgress)
}

const (
	// RetryAfter is the time after which a refresh that did not succeed is followed by the next
	// one: long enough for a user to see it. It doubles with each attempt, up to retryAtMost.
	RetryAfter  = 5 * time.Minute
	retryAtMost = 2 * time.Hour
)

// backOff returns the time to wait after so many attempts in a row, which are counted in AWS. A
// wait.Backoff would count steps of its own, which a restart loses.
func backOff(attempts int) time.Duration {
	wait := RetryAfter
	for range attempts - 1 {
		wait = min(2*wait, retryAtMost)
	}
	return wait
}

// Verdict names what to do about a roll-out.
type Verdict string

// The verdicts.
const (
	// RolledOut: every instance runs what is wanted.
	RolledOut Verdict = "RolledOut"
	// Rolling: a refresh is under way; check again later.
	Rolling Verdict = "Rolling"
	// Supersede: the refresh under way is ours, and brings what is no longer wanted or what is broken,
	// or the user pauses roll-outs; cancel it.
	Supersede Verdict = "Supersede"
	// Start: a refresh is due now.
	Start Verdict = "Start"
	// Later: a refresh is due, but an earlier one did not succeed a short while ago.
	Later Verdict = "Later"
	// GoBack: our refresh failed or brought what is broken, and the user wants to go back to what ran
	// before.
	GoBack Verdict = "GoBack"
	// Disabled: a refresh is due, and the user wants none or pauses roll-outs, or what it would bring
	// is broken.
	Disabled Verdict = "Disabled"
	// Left: what still runs something else is what the user's preferences leave alone.
	Left Verdict = "Left"
)

// Rollout holds the input of the decision about a roll-out: what exists now, and the record of the
// refresh that we started. Without a record nothing is cancelled and nothing goes back.
type Rollout struct {
	Wanted Wanted
	// After is the id of the newest refresh that there was before the first one for what is wanted
	// now, empty if there was none. That refresh, and all that AWS lists after it, are no attempts
	// to bring what is wanted now.
	After string
	// Instances are the group's members, and Warm the instances of its warm pool, as far as they are
	// known. A refresh replaces both.
	Instances, Warm []Instance
	// History are the group's refreshes, newest first.
	History []Refresh
	// EndSeen is when the newest refresh was first seen to have finished, by our clock.
	EndSeen time.Time
	// StartedID identifies the refresh that we started last, and StartedFor is the key of the state
	// that it should bring.
	StartedID, StartedFor string
	// StartedTemplate is the launch template that the group named when we started it, empty if that
	// is not known.
	StartedTemplate string
	// Configs are the fingerprints of the versions of the wanted template, by number.
	Configs map[int64]string
	// InPlace is true if the next refresh replaces root volumes.
	InPlace bool
	// CanGoBack is true if there is a good config to go back to, other than the wanted one.
	CanGoBack bool
	// Paused is true if the user pauses roll-outs.
	Paused bool
	// Broken is true if nodes of instances that run what is wanted do not become Ready.
	Broken bool
	// Preferences are the user's, nil for the defaults.
	Preferences *infrav1.RefreshPreferences
	Now         time.Time
}

// Decision is a verdict and why.
type Decision struct {
	Verdict Verdict
	// Outdated are the instances that run something else.
	Outdated []Instance
	// Reason explains it to a user, without times, so that a condition can carry it.
	Reason string
	// Attempts is how many refreshes in a row left instances behind since this came to be wanted.
	Attempts int
	// Wait is how long until the verdict Later turns into Start.
	Wait time.Duration
	// Shield holds the instances that run what is wanted, and that AWS would replace all the same, now
	// or once the join token rotates.
	Shield []Instance
}

// Decide decides what to do. A roll-out is due exactly when some instance runs something other than
// what is wanted. A rotated token creates another version with the same config, so it causes no
// roll-out.
func (r Rollout) Decide() Decision {
	outdated := slices.DeleteFunc(r.all(), func(i Instance) bool { return i.Leaving() || r.Wanted.Runs(i) })
	decision := Decision{Outdated: outdated, Reason: r.describe(outdated)}
	if len(outdated) > 0 {
		decision.Attempts = r.attempts()
		decision.Shield = r.shield()
	}
	latest := r.latest()
	switch {
	case r.supersedes(latest):
		decision.Verdict = Supersede
	case latest.Active():
		decision.Verdict = Rolling
	case r.goesBack(latest):
		decision.Verdict = GoBack
	case len(outdated) == 0:
		decision.Verdict = RolledOut
	case r.Paused || r.Broken || r.preferences().Disable:
		decision.Verdict = Disabled
	default:
		decision.Verdict = Start
		r.hesitate(&decision, latest)
	}
	return decision
}

// hesitate turns Start into Left or Later.
func (r Rollout) hesitate(decision *Decision, latest *Refresh) {
	if why := r.left(decision, latest); why != "" {
		decision.Verdict = Left
		decision.Reason += "; " + why
		return
	}
	if decision.Attempts == 0 {
		return
	}
	if left := backOff(decision.Attempts) - r.Now.Sub(r.EndSeen); left > 0 {
		decision.Verdict, decision.Wait = Later, left
	}
}

// left says why another refresh would replace none of the outdated instances, "" if it would.
func (r Rollout) left(decision *Decision, latest *Refresh) string {
	checkpoints := r.preferences().CheckpointPercentages
	if n := len(checkpoints); n > 0 && checkpoints[n-1] < 100 && latest.Succeeded() && decision.Attempts > 0 {
		return fmt.Sprintf("the refresh finished at its last checkpoint, which is %d. Add 100 to "+
			"refreshPreferences.checkpointPercentages to replace the remaining instances", checkpoints[n-1])
	}
	if latest.Succeeded() && decision.Attempts > 0 && !slices.ContainsFunc(decision.Outdated, func(i Instance) bool { return !i.Warmed() }) {
		return fmt.Sprintf("instance refresh %s finished without replacing them. Terminate them, or retry the roll-out with `slipway rollout retry`", latest.ID)
	}
	protected := r.ignoresProtected(decision)
	for _, instance := range decision.Outdated {
		ignored := instance.Protected && protected || instance.LifecycleState == "Standby" && r.preferences().StandbyInstances == "Ignore"
		if !ignored {
			return ""
		}
	}
	if protected && slices.ContainsFunc(decision.Outdated, func(i Instance) bool { return i.Protected }) {
		return "they are protected from scale in: remove the protection, or set " +
			"refreshPreferences.scaleInProtectedInstances to Refresh"
	}
	return "they are in standby: return them to service, or set refreshPreferences.standbyInstances to Terminate"
}

// ignoresProtected reports whether a refresh would leave instances alone that are protected from
// scale-in.
func (r Rollout) ignoresProtected(decision *Decision) bool {
	asked := r.preferences().ScaleInProtectedInstances
	return asked == "Ignore" || asked != "Refresh" && len(decision.Shield) > 0
}

// shield returns the instances that a refresh must leave alone, because they run what is wanted.
// AWS compares version numbers, and a version that differs only by its token is another. So an
// instance in service is shielded although AWS would skip it: the join token may rotate during the
// refresh, and then it no longer matches. If the user wants nothing skipped, nothing is shielded.
// If the user has protected instances refreshed too, there is a shield only while something
// unprotected must be replaced: protection is what shields.
func (r Rollout) shield() []Instance {
	preferences := r.preferences()
	if preferences.SkipMatching != nil && !*preferences.SkipMatching {
		return nil
	}
	outdated := func(protected bool) func(Instance) bool {
		return func(i Instance) bool { return !i.Leaving() && !r.Wanted.Runs(i) && i.Protected == protected }
	}
	if preferences.ScaleInProtectedInstances == "Refresh" && !slices.ContainsFunc(r.all(), outdated(false)) {
		return nil
	}
	// A shield has the refresh ignore all protected instances. Instances that the user has
	// protected and wants replaced, or waited for, must not be ignored for the sake of a token that
	// may never rotate.
	lasting := !slices.Contains([]string{"Refresh", "Wait"}, preferences.ScaleInProtectedInstances) && !slices.ContainsFunc(r.Instances, outdated(true))
	skipping := r.SkipsMatching()
	return slices.DeleteFunc(slices.Clone(r.Instances), func(i Instance) bool {
		return i.Leaving() || !r.Wanted.Runs(i) || skipping && r.Wanted.skipped(i) && (!lasting || !i.InService())
	})
}

// SkipsMatching reports whether AWS should leave matching instances alone. It cannot where types
// are chosen by attributes (AWS: API_StartInstanceRefresh). It must not where it would take an
// outdated instance for a matching one: it documents that it compares the launch template and the
// instance type, not an override's image.
func (r Rollout) SkipsMatching() bool {
	if asked := r.preferences().SkipMatching; asked != nil {
		return *asked
	}
	if r.InPlace {
		return true // AWS compares images then (AWS: instance-refresh-overview)
	}
	return !r.Wanted.byAttributes() && !slices.ContainsFunc(r.all(), func(i Instance) bool {
		return !i.Leaving() && !r.Wanted.Runs(i) && i.LaunchTemplateID == r.Wanted.TemplateID && i.Version == r.Wanted.Version
	})
}

// attempts counts the newest refreshes that were for what is wanted now and left instances behind.
// It goes by AWS's order: AWS's clock and ours do not show which of two moments was first.
func (r Rollout) attempts() int {
	attempts := 0
	for i := range r.History {
		refresh := &r.History[i]
		// An older one that succeeded had nothing left to do then.
		if refresh.ID == r.After || refresh.Succeeded() && i > 0 {
			break
		}
		if !refresh.Active() {
			attempts++
		}
	}
	return attempts
}

// ours reports whether a refresh was started for what is wanted now.
func (r Rollout) ours(refresh *Refresh) bool {
	return refresh != nil && refresh.ID != "" && refresh.ID == r.StartedID && r.StartedFor == r.Wanted.Key()
}

// started reports whether a refresh is under way that we started, and that can be cancelled.
func (r Rollout) started(refresh *Refresh) bool {
	return refresh.replacing() && refresh.ID == r.StartedID && r.StartedFor != ""
}

// goesBack reports whether our refresh failed, or brought what is broken, and the user wants to go back. A
// refresh that a user asked to retry counts no longer.
func (r Rollout) goesBack(latest *Refresh) bool {
	return r.CanGoBack && !r.Paused && r.preferences().Rollback && (latest.Failed() || r.Broken) && r.ours(latest) && latest.ID != r.After
}

// supersedes reports whether the refresh under way should be cancelled. It is ours, and the user pauses
// roll-outs, or it brings what is broken, or it was started for something else, and either instances run
// that already, which it takes for done, or instances run what is wanted, which it would replace. All
// others it replaces with what the group names by then, because it carries no desired configuration; so
// it can go on. One that was started with a template that was replaced since is cancelled if any
// instance of that template is outdated: its versions are no longer known, and neither is which of them
// the refresh takes for done.
func (r Rollout) supersedes(latest *Refresh) bool {
	if !r.started(latest) || r.preferences().Disable && !r.Paused {
		return false
	}
	if r.Paused || r.Broken {
		return true
	}
	if latest.InPlace() && r.StartedFor != r.Wanted.Key() {
		return true // it carries a desired configuration, which is no longer wanted
	}
	replaced := r.StartedTemplate != "" && r.StartedTemplate != r.Wanted.TemplateID
	if !replaced && r.StartedFor == r.Wanted.Key() {
		return false
	}
	return slices.ContainsFunc(r.all(), func(i Instance) bool { return !i.Leaving() && r.mistakes(i, replaced) })
}

// mistakes reports whether the refresh under way, which was started for something else, would replace
// an instance that runs what is wanted, or take one for done that does not. Replaced is true if the
// template that it was started with was replaced.
func (r Rollout) mistakes(instance Instance, replaced bool) bool {
	if r.Wanted.Runs(instance) {
		return r.StartedFor != r.Wanted.Key()
	}
	return replaced && instance.LaunchTemplateID == r.StartedTemplate ||
		instance.LaunchTemplateID == r.Wanted.TemplateID && r.Configs[instance.Version] == configOf(r.StartedFor)
}

func (r Rollout) latest() *Refresh {
	if len(r.History) == 0 {
		return nil
	}
	return &r.History[0]
}

func (r Rollout) preferences() infrav1.RefreshPreferences {
	if r.Preferences == nil {
		return infrav1.RefreshPreferences{}
	}
	return *r.Preferences
}

// all returns the instances that a refresh replaces.
func (r Rollout) all() []Instance { return slices.Concat(r.Instances, r.Warm) }

// describe counts the outdated instances by what they run: "2 of 3 instances run version 4".
// Instances on their way out do not count.
func (r Rollout) describe(outdated []Instance) string {
	var parts []string
	for _, warm := range []bool{false, true} {
		counts, what, present := map[string]int{}, "instances", 0
		for _, instance := range outdated {
			if instance.Warmed() == warm {
				counts[r.runs(instance)]++
			}
		}
		for _, instance := range r.all() {
			if !instance.Leaving() && instance.Warmed() == warm {
				present++
			}
		}
		if warm {
			what = "warm instances"
		}
		for _, source := range slices.Sorted(maps.Keys(counts)) {
			parts = append(parts, fmt.Sprintf("%d of %d %s run %s", counts[source], present, what, source))
		}
	}
	return strings.Join(parts, ", ")
}

// runs says what an instance was launched from.
func (r Rollout) runs(instance Instance) string {
	text := fmt.Sprintf("version %d", instance.Version)
	switch { // an instance without a template was attached, or launched from a launch configuration
	case instance.LaunchTemplateID == "":
		text = "no launch template"
	case instance.LaunchTemplateID != r.Wanted.TemplateID:
		text = "launch template " + instance.LaunchTemplateID
	}
	if instance.ImageID != "" {
		text += " with image " + instance.ImageID
	}
	return text
}
