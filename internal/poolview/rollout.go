package poolview

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// finishRollout adds to the roll-out what follows from the rest of the view.
func finishRollout(view *View, of pool, now time.Time) {
	condition := meta.FindStatusCondition(of.conditions, infrav1.RolledOutCondition)
	if condition == nil || condition.Status == metav1.ConditionUnknown || deleting(of) {
		view.Rollout = nil // what instances should run is not known, so neither is how many of them do
		return
	}
	if view.Rollout == nil {
		if condition.Status == metav1.ConditionTrue {
			return
		}
		view.Rollout = &Rollout{Percent: -1}
	}
	if view.Rollout.AWS == successful && condition.Status != metav1.ConditionTrue {
		view.Rollout = &Rollout{Percent: -1} // what AWS completed is the roll-out before this one
	}
	rollout := view.Rollout
	rollout.Status = condition.Reason
	rollout.Active = condition.Status != metav1.ConditionTrue && (condition.Reason == infrav1.RollingOutReason || condition.Reason == infrav1.SupersededReason)
	rollout.Total = max(view.Replicas, view.UpToDate)
	rollout.Done = view.UpToDate
	progress := rollout.Percent // AWS counts the instances of this refresh alone
	rollout.Percent = share(rollout.Done, rollout.Total)
	switch {
	case condition.Status == metav1.ConditionTrue:
		rollout.Percent = 100
	case progress < 0:
		progress = rollout.Percent
	}
	if rollout.Active && rollout.Started != nil {
		blocked := slices.ContainsFunc(view.Drains, Drain.Blocked)
		rollout.ETA = eta(*rollout.Started, now, float64(progress)/100, rollout.Total, blocked)
	}
}

// successful is the status of an instance refresh, or of an update of a node group, that is complete.
const successful = "Successful"

func share(done, total int32) int32 {
	if total == 0 {
		return 0
	}
	return done * 100 / total
}

// longestETA bounds an estimate. A pace that leads beyond it says nothing.
const longestETA = 30 * 24 * time.Hour

// eta returns when a roll-out is complete if it goes on at its pace so far. Progress is counted in whole
// instances, so that the one that is being replaced may be nearly done: that gives the earliest time. Nil
// is returned before the first instance is replaced, because there is no pace yet.
func eta(started, now time.Time, progress float64, total int32, blocked bool) *Range {
	elapsed := now.Sub(started)
	if progress <= 0 || progress >= 1 || elapsed <= 0 || total == 0 {
		return nil
	}
	next := min(progress+1/float64(total), 1)
	earliest := time.Duration(float64(elapsed) * (1 - next) / next)
	latest := time.Duration(float64(elapsed) * (1 - progress) / progress)
	if latest > longestETA {
		return nil
	}
	found := &Range{Earliest: now.Add(earliest).UTC().Truncate(time.Second)}
	if !blocked {
		until := now.Add(latest).UTC().Truncate(time.Second)
		found.Latest = &until
	}
	return found
}

// numberOf returns the number of a version, zero for none.
func numberOf(version string) int64 {
	number, err := strconv.ParseInt(strings.TrimSpace(version), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// creationDelay limits the time between an edit and the creation of a version, for the edit to be
// taken as the cause of the version.
const creationDelay = 2 * time.Minute

// historyOf returns the launches, without their writers.
func historyOf(view *View, config *infrav1.AWSLaunchConfig) []Launch {
	var launches []Launch
	for i := range config.Status.History {
		entry := &config.Status.History[i]
		launch := Launch{
			Version: entry.Version, LaunchTemplateID: entry.LaunchTemplateID, Launched: timeOf(&entry.Launched), Created: timeOf(&entry.Created),
			Cause: string(entry.Cause), Change: entry.Change, Deleted: entry.Deleted, Outcome: Replaced,
		}
		for _, user := range entry.RunBy {
			launch.AllNodes += user.Instances
			if user.Kind == view.Kind && user.Name == view.Name {
				launch.Nodes += user.Instances
			}
		}
		switch {
		case i == 0:
			launch.Outcome = newestOutcome(view, launch.Nodes)
		case config.Status.History[i-1].Cause == infrav1.LaunchConfigCauseRolledBack:
			launch.Outcome = RolledBack
		}
		launches = append(launches, launch)
	}
	return launches
}

// newestOutcome returns what became of the newest launch, by how many instances run its configuration.
func newestOutcome(view *View, nodes int32) Outcome {
	switch {
	case view.Rollout != nil && view.Rollout.Active:
		return InProgress
	case nodes < view.Replicas:
		return Incomplete
	}
	return Current
}

// sizes are fields of specs that only set how many nodes there are, so that no version is created for them.
var sizes = []string{"minSize", "maxSize", "replicas", "scaling"}

// launchWriters returns the writers whose edits may cause a launch. Writers of nothing but sizes cause none.
func launchWriters(writers []Writer) []Writer {
	return slices.DeleteFunc(slices.Clone(writers), func(writer Writer) bool {
		return !slices.ContainsFunc(writer.Fields, func(field string) bool { return !slices.Contains(sizes, field) })
	})
}

// nameWriters adds to launches, the newest first, whose edit each was for, as far as that is known. Entries of
// the history do not have it. The API server records only the last edit of each manager, so the writer is known
// if its last edit came shortly before the version was created. A version that existed at the launch before is
// launched again for a later edit.
//
// Versions have times of AWS's clock. If it is ahead of the API server's, as in a laboratory whose time passes faster,
// only the newest launch has a writer: the one whose edit came shortly before the last edit of the launch config.
func nameWriters(launches []Launch, writers []Writer, edited *time.Time, now time.Time) {
	for i := range launches {
		launch := &launches[i]
		since := launch.Created
		if before := i + 1; since != nil && before < len(launches) && launches[before].Launched != nil && since.Before(*launches[before].Launched) {
			since = launch.Launched
		}
		limit := creationDelay
		if i == 0 && since != nil && since.Sub(now) > clocksAgree {
			since, limit = edited, copyDelay
		}
		if launch.Cause != string(infrav1.LaunchConfigCauseRolledBack) {
			launch.By = writerBefore(writers, since, limit)
		}
	}
}

// clocksAgree is by how much the clock of AWS may be ahead, at most, for times of both clocks to be compared.
const clocksAgree = time.Minute

// copyDelay limits the time between the edit of a pool and the write of its launch config, for the edit to be taken
// as the cause of the write.
const copyDelay = 10 * time.Second

// lastEdit returns when the spec of a launch config was last written, nil if that is not known. A pool writes its own
// one when the pool, or its MachinePool, is edited.
func lastEdit(config *infrav1.AWSLaunchConfig) *time.Time {
	var last *time.Time
	for i := range config.ManagedFields {
		entry := &config.ManagedFields[i]
		if entry.Subresource != "" || entry.FieldsV1 == nil || entry.Time.IsZero() || len(specFields(entry.FieldsV1.GetRawBytes())) == 0 {
			continue
		}
		if last == nil || entry.Time.After(*last) {
			last = timeOf(entry.Time)
		}
	}
	return last
}

// writerBefore returns the manager whose last edit came before a time by no more than a limit, if it is the only one.
func writerBefore(writers []Writer, at *time.Time, limit time.Duration) string {
	found := ""
	for _, writer := range writers {
		if at == nil || writer.Time == nil {
			continue
		}
		// Managed fields have times in whole seconds, of another clock than AWS's.
		if delay := at.Sub(*writer.Time); delay < -5*time.Second || delay > limit {
			continue
		}
		if found != "" && found != writer.Manager {
			return ""
		}
		found = writer.Manager
	}
	return found
}
