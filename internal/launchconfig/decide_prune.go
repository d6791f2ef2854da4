package launchconfig

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// pruneAgain is the time until Slipway checks versions again that were in use.
	pruneAgain = 30 * time.Minute
	// usersVisibleAfter is the time after which AWS certainly describes the groups and instances
	// that were created from a version while it was wanted.
	usersVisibleAfter = 30 * time.Second
)

// decidePruning deletes versions beyond spec.versionsToKeep that are not in use, and bootstrap data
// that no version points to any longer. It never prevents the config from being ready. It reports
// false while something is due, or failed.
func decidePruning(in Input, wanted launchtemplate.Version, delivered delivery, plan *reconcile.Plan) bool {
	const condition = infrav1.VersionsPrunedCondition
	config, seen := in.Object, in.Seen.Template
	keep := versionsToKeep(config)
	if done, err := pruned(in); done != nil || err != nil {
		if err == nil {
			err = decideSweeping(in, *done, delivered, plan)
		}
		switch {
		case err != nil:
			// The next sweep, or the deletion of the config, finds what is left.
			pool.ShowFailure(config, plan, condition, infrav1.PruneFailedReason, err)
			return false
		case len(plan.Actions) > 0:
			return false
		case len(in.Seen.Refused) > 0:
			reconciling.False(config, condition, infrav1.PruneFailedReason, fmt.Sprintf("EC2 refused to delete versions (%s). No "+
				"node is affected. Slipway retries the deletion", refusals(in.Seen.Refused)))
			plan.LookAgain(pruneAgain)
			return true
		}
		plan.Tell(prunedEvent(in, *done))
		reconciling.True(config, condition, infrav1.ReadyReason, "")
		return true
	}
	if !launchtemplate.PruneDue(seen.Versions, keep, wanted.Number) {
		return decideUnseen(in, plan)
	}
	if in.Seen.Use == nil {
		if wait := waitToAsk(in); wait > 0 {
			showStillInUse(config)
			plan.LookAgain(wait)
			return true
		}
		if wait := recentlyWanted(in); wait > 0 {
			plan.LookAgain(wait) // AWS may not show yet who uses the versions that were wanted before
			return true
		}
		// The remembered versions may lack one that was created right before the others, when reads
		// lagged behind it. No other read would ever find it.
		plan.Need(needUse)
		return false
	}
	if err := in.Seen.Use.Err; err != nil {
		pool.ShowFailure(config, plan, condition, infrav1.PruneFailedReason, err)
		return false
	}
	unused := launchtemplate.PrunePlan(seen.Versions, keep, wanted.Number, versionsInUse(in))
	if len(unused) == 0 {
		showInUse(config)
		plan.LookAgain(pruneAgain)
		return true
	}
	plan.Do(prune{TemplateID: seen.Template.ID, Numbers: unused}, "versionsToKeep is %d, and nothing uses these "+
		"versions", keep)
	return false
}

// versionsToKeep returns the number of configurations whose versions are kept though nothing uses them.
func versionsToKeep(config *infrav1.AWSLaunchConfig) int {
	return int(ptr.Deref(config.Spec.VersionsToKeep, infrav1.DefaultVersionsToKeep))
}

// waitToAsk returns how long it is until AWS should be asked again which versions are in use.
func waitToAsk(in Input) time.Duration {
	if in.Seen.LastAsked.IsZero() {
		return 0
	}
	return in.Seen.LastAsked.Add(pruneAgain).Sub(in.Now)
}

// prunedEvent reports which versions were deleted.
func prunedEvent(in Input, done prune) reconcile.Event {
	return reconcile.Eventf(infrav1.LaunchTemplateVersionsPrunedEvent, "Deleted versions %s of launch template %s", numberList(done.Numbers), in.Seen.Template.Template.Name)
}

// showInUse shows that no version can be deleted.
func showInUse(config *infrav1.AWSLaunchConfig) {
	reconciling.True(config, infrav1.VersionsPrunedCondition, infrav1.ReadyReason, "versions in excess of versionsToKeep are "+
		"still in use")
}

// showStillInUse shows what the pass that asked AWS found, whose status may not have been written because
// of a conflict. A failure to delete versions stays.
func showStillInUse(config *infrav1.AWSLaunchConfig) {
	shown := meta.FindStatusCondition(config.Status.Conditions, infrav1.VersionsPrunedCondition)
	if shown == nil || shown.Status == metav1.ConditionTrue {
		showInUse(config)
	}
}

// decideUnseen has the versions read again if one was skipped that reads may not have shown.
// Nothing else would ever find it, and it counts among those to keep.
func decideUnseen(in Input, plan *reconcile.Plan) bool {
	if !mayLackVersions(in) {
		reconciling.True(in.Object, infrav1.VersionsPrunedCondition, infrav1.ReadyReason, "")
		return true
	}
	if wait := recentlyWanted(in); wait > 0 {
		plan.LookAgain(wait)
		return true
	}
	plan.Need(needVersions)
	return false
}

// mayLackVersions reports whether reads skipped a version, and were not repeated since EC2 certainly
// returns it.
func mayLackVersions(in Input) bool {
	shown := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.VersionsPrunedCondition)
	return shown != nil && shown.Reason == infrav1.VersionsNotVisibleReason && in.Seen.VersionsRead.Before(lastWanted(in).Add(usersVisibleAfter))
}

// lacksVersions reports whether the template may have versions that reads did not return: one that
// status lists, or one between new versions. EC2 numbers versions without gaps, so another client
// created the missing version, or a pass created it whose status was not written.
func lacksVersions(in Input) bool {
	expected, newest := map[int64]bool{}, int64(0)
	for _, version := range in.Object.Status.Versions {
		expected[version.Number], newest = true, max(newest, version.Number)
	}
	for _, version := range in.Seen.Template.Versions {
		for ; newest < version.Number; newest++ {
			expected[newest+1] = true
		}
	}
	for _, version := range in.Seen.Template.Versions {
		delete(expected, version.Number)
	}
	if done, _ := pruned(in); done != nil {
		for _, number := range done.Numbers {
			delete(expected, number)
		}
	}
	return len(expected) > 0
}

// pruned returns the versions that were pruned in this pass, nil if none were, or the error of trying to.
func pruned(in Input) (*prune, error) {
	for _, done := range in.Done {
		if action, is := done.Action.(prune); is {
			return &action, done.Err
		}
	}
	return nil, nil
}

// decideSweeping deletes bootstrap data that no version points to any longer, once versions were
// deleted. It returns the error of a failed sweep.
func decideSweeping(in Input, _ prune, delivered delivery, plan *reconcile.Plan) error {
	if len(in.Seen.Refused) > 0 {
		return nil
	}
	for _, place := range placesOf(in.Object) {
		isThis := func(action sweepStorage) bool { return action.Place == place }
		if err := failure(in, isThis); err != nil {
			return err
		}
		if !wasDone(in, isThis) {
			plan.Do(sweepStorage{Place: place, Owner: owner(in.Object), Keep: pointedTo(in.Seen.Template.Versions, delivered.item)}, "the versions that referred to it were "+
				"deleted")
		}
	}
	return nil
}

// recentlyWanted returns for how long versions that were wanted before are not pruned. A pool may
// have created its group, or AWS an instance, from one of them right before the wanted version
// changed, and descriptions lag behind.
func recentlyWanted(in Input) time.Duration {
	return usersVisibleAfter - in.Now.Sub(lastWanted(in))
}

// lastWanted returns when another version than the present one was wanted last.
func lastWanted(in Input) time.Time {
	var changed time.Time
	if at := in.Object.Status.LaunchTemplateChanged; at != nil {
		changed = at.Time
	}
	// If status was lost, the newest version shows it.
	for _, version := range in.Seen.Template.NewestFirst()[:1] {
		if version.Created.After(changed) {
			changed = version.Created
		}
	}
	return changed
}

// versionsInUse returns the versions that groups refer to or instances run, and the versions that
// Slipway uses again or may use again, such as for a rollback. Once the last instance is replaced,
// nothing in AWS uses the latter.
func versionsInUse(in Input) map[int64]bool {
	spec, status := &in.Object.Spec, &in.Object.Status
	inUse := maps.Clone(in.Seen.Use.InUse)
	for _, number := range []int64{in.Seen.Use.LastGood, status.PendingVersion, ptr.Deref(spec.PinnedVersion, 0)} {
		if number != 0 {
			inUse[number] = true
		}
	}
	if len(status.History) > 0 {
		if version, exists := in.Seen.Template.NewestOf(status.History[0].ConfigFingerprint); exists {
			inUse[version.Number] = true // the next launch is compared with it
		}
	}
	if version, exists := rollbackVersion(in); exists {
		inUse[version.Number] = true
	}
	for _, used := range in.Seen.Usages {
		inUse[used.wanted] = true // a pool that has not seen the versions after it is about to launch it
	}
	return inUse
}

// refusals returns why EC2 did not delete versions, for a message.
func refusals(why map[int64]string) string {
	texts := make([]string, 0, len(why))
	for _, number := range slices.Sorted(maps.Keys(why)) {
		texts = append(texts, fmt.Sprintf("%d: %s", number, why[number]))
	}
	return strings.Join(texts, "; ")
}

// numberList returns version numbers for a message.
func numberList(numbers []int64) string {
	texts := make([]string, 0, len(numbers))
	for _, number := range numbers {
		texts = append(texts, strconv.FormatInt(number, 10))
	}
	return strings.Join(texts, ", ")
}
