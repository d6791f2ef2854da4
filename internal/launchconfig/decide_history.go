package launchconfig

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// withLaunch returns the history with an entry in front, unless the last entry has its
// configuration. Entries are never changed and never sorted: they are what was launched, in order.
// The oldest ones go when there are too many.
func withLaunch(history []infrav1.LaunchConfigHistoryEntry, launched infrav1.LaunchConfigHistoryEntry) []infrav1.LaunchConfigHistoryEntry {
	if len(history) > 0 && history[0].ConfigFingerprint == launched.ConfigFingerprint {
		return history
	}
	history = slices.Insert(slices.Clone(history), 0, launched)
	return history[:min(len(history), infrav1.MaxLaunchConfigHistory)]
}

// onlyLaunches returns the history without what earlier releases listed and was never launched.
func onlyLaunches(history []infrav1.LaunchConfigHistoryEntry) []infrav1.LaunchConfigHistoryEntry {
	return slices.DeleteFunc(slices.Clone(history), func(entry infrav1.LaunchConfigHistoryEntry) bool {
		return entry.Cause == infrav1.LaunchConfigCauseWaitingForApproval || entry.Cause == infrav1.LaunchConfigCauseNotVerified
	})
}

// withUsers returns the history with what is true of its entries now: who runs them, and whether
// their versions still exist. A configuration that was launched several times counts with its
// latest launch. Versions that count as the wanted configuration count with that.
func withUsers(config *infrav1.AWSLaunchConfig, seen launchtemplate.Observation, usages []usage) []infrav1.LaunchConfigHistoryEntry {
	history := onlyLaunches(config.Status.History)
	listed := map[string]bool{}
	for i := range history {
		entry := &history[i]
		configuration := entry.ConfigFingerprint
		_, exists := seen.NewestOf(configuration)
		entry.RunBy, entry.Deleted = nil, !exists
		for _, used := range usages {
			for running, instances := range used.running {
				version, ours := seen.Version(running.version)
				has := ours && running.template == seen.Template.ID && version.Fingerprints.Config == configuration
				accepted := configuration == config.Status.ConfigFingerprint && config.Accepts(running.template, running.version)
				if (has || accepted) && !listed[configuration] {
					entry.RunBy = addUser(entry.RunBy, used.user, instances)
				}
			}
		}
		listed[configuration] = true
	}
	return history
}

// runs reports whether any pool reports an instance of the wanted configuration.
func runs(config *infrav1.AWSLaunchConfig, usages []usage) bool {
	for _, used := range usages {
		for version, instances := range used.running {
			if instances > 0 && config.Accepts(version.template, version.version) {
				return true
			}
		}
	}
	return false
}

// recordLaunch adds to the history what instances began to run, and how that differs from what was
// launched before. Status already has the wanted version, and which others count as it. Change
// returns a human-readable difference from a version of the template, and false if that version has
// to be read first.
func recordLaunch(in Input, wanted launchtemplate.Version, change func(from int64) (string, bool)) bool {
	status, seen := &in.Object.Status, in.Seen.Template
	status.History = withMissedLaunches(in, wanted)
	if runs(in.Object, in.Seen.Usages) {
		launched := launchOf(in, wanted)
		history := status.History
		if len(history) == 0 {
			launched.Cause, launched.Change = firstLaunch(status.Versions)
		} else if before := history[0]; before.ConfigFingerprint != launched.ConfigFingerprint {
			launched.Change = configurationChanged
			if version, exists := seen.NewestOf(before.ConfigFingerprint); exists {
				var known bool
				if launched.Change, known = change(version.Number); !known {
					return false
				}
			}
			launched.Cause, launched.Change = launchCause(in.Object, launched.Change)
		}
		status.History = withLaunch(history, launched)
	}
	status.History = withUsers(in.Object, seen.Observation, in.Seen.Usages)
	return true
}

// withMissedLaunches returns the history of a config with launches that no pass saw in time: instances
// run a version that is newer than all in the history, and an edit has another one wanted already.
func withMissedLaunches(in Input, wanted launchtemplate.Version) []infrav1.LaunchConfigHistoryEntry {
	status, seen := &in.Object.Status, in.Seen.Template
	history := onlyLaunches(status.History)
	last := int64(0)
	for i := range history {
		if history[i].LaunchTemplateID == seen.Template.ID {
			last = max(last, history[i].Version)
		}
	}
	for _, number := range runningOf(seen.Template.ID, in.Seen.Usages) {
		version, ours := seen.Version(number)
		known := slices.ContainsFunc(history, func(entry infrav1.LaunchConfigHistoryEntry) bool {
			return entry.ConfigFingerprint == version.Fingerprints.Config
		})
		if !ours || known || number <= last || version.Fingerprints.Config == wanted.Fingerprints.Config {
			continue
		}
		launched := launchOf(in, version)
		if len(history) == 0 {
			launched.Cause, launched.Change = firstLaunch(status.Versions)
		} else {
			launched.Cause = infrav1.LaunchConfigCauseEdited
			if listed := status.FindVersion(number); listed != nil {
				launched.Change = listed.Reason
			}
		}
		history = withLaunch(history, launched)
	}
	return history
}

// launchOf returns the entry of a launch that this pass sees first, without its cause.
func launchOf(in Input, version launchtemplate.Version) infrav1.LaunchConfigHistoryEntry {
	return infrav1.LaunchConfigHistoryEntry{
		Version: version.Number, LaunchTemplateID: in.Seen.Template.Template.ID, Launched: metav1.NewTime(in.Now), Created: metav1.NewTime(version.Created),
		ConfigFingerprint: version.Fingerprints.Config, BootstrapFingerprint: version.Fingerprints.Bootstrap,
	}
}

// runningOf returns the versions of a template that instances run, the oldest first.
func runningOf(template string, usages []usage) []int64 {
	var running []int64
	for _, used := range usages {
		for version, instances := range used.running {
			if instances > 0 && version.template == template {
				running = append(running, version.version)
			}
		}
	}
	slices.Sort(running)
	return slices.Compact(running)
}

// firstLaunch returns the cause of the first launch, as far as the versions say it: their reasons
// are lost with status.
func firstLaunch(versions []infrav1.LaunchTemplateVersionStatus) (infrav1.LaunchConfigCause, string) {
	for _, version := range versions {
		switch version.Reason {
		case reasonFirst:
			return infrav1.LaunchConfigCauseFirst, version.Reason
		case reasonAdopted:
			return infrav1.LaunchConfigCauseAdopted, version.Reason
		case reasonLost:
			return infrav1.LaunchConfigCauseTemplateLost, version.Reason
		}
	}
	return "", ""
}

// launchCause returns why a change was launched, and the change with the same at its beginning.
func launchCause(config *infrav1.AWSLaunchConfig, change string) (infrav1.LaunchConfigCause, string) {
	prefix, cause := "", infrav1.LaunchConfigCauseEdited
	switch {
	case config.Spec.PinnedVersion != nil:
		prefix, cause = pinnedPrefix, infrav1.LaunchConfigCausePinned
	case config.Status.RolledBackFrom != "" && config.Status.RolledBackFrom != config.Status.ConfigFingerprint:
		prefix, cause = rolledBackPrefix, infrav1.LaunchConfigCauseRolledBack
	}
	return cause, bounded(prefix + change)
}

// addUser counts more instances of a pool.
func addUser(listed []infrav1.LaunchConfigUser, user infrav1.LaunchConfigUser, instances int32) []infrav1.LaunchConfigUser {
	if instances == 0 {
		return listed
	}
	i := slices.IndexFunc(listed, func(other infrav1.LaunchConfigUser) bool { return other.Kind == user.Kind && other.Name == user.Name })
	if i < 0 {
		if len(listed) == infrav1.MaxLaunchConfigUsers {
			return listed
		}
		user.Instances = 0
		listed, i = append(listed, user), len(listed)
	}
	listed[i].Instances += instances
	return listed
}
