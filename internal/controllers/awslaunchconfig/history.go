package awslaunchconfig

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// Why a configuration came back, as the beginning of a reason.
const (
	rolledBackPrefix = "rolled back: "
	pinnedPrefix     = "pinned: "
)

// withLaunch returns the history with an entry in front, unless the last entry has its configuration. Entries are never changed and never
// sorted: they are what was launched, in order. The oldest ones go when there are too many.
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

// withUsers returns the history with what is true of its entries now: who runs them, and whether their versions still exist. A configuration that was
// launched several times counts with its latest launch. Versions that count as the wanted configuration count with that.
func withUsers(config *infrav1.AWSLaunchConfig, seen launchtemplate.Observation, usages []usage) []infrav1.LaunchConfigHistoryEntry {
	history := onlyLaunches(config.Status.History)
	listed := map[string]bool{}
	for i := range history {
		entry := &history[i]
		configuration := entry.ConfigFingerprint
		_, exists := newestOf(seen, configuration)
		entry.RunBy, entry.Deleted = nil, !exists
		for _, used := range usages {
			for running, instances := range used.running {
				version, ours := versionOf(seen, running.version)
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

// runs reports whether a pool has an instance of what is wanted, by what the pools report.
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

// recordLaunch adds to the history what instances began to run, and how that differs from what was launched before. Status has the wanted version,
// and which others count as it, already. Change returns the difference from a version of the template, in words.
func (r *Reconciler) recordLaunch(p *pass, change func(from int64) string) {
	status := &p.config.Status
	if runs(p.config, p.usages) {
		launched := infrav1.LaunchConfigHistoryEntry{
			Version: p.version.Number, LaunchTemplateID: p.seen.Template.ID, Launched: metav1.NewTime(r.Clock.Now()), Created: metav1.NewTime(p.version.Created),
			ConfigFingerprint: p.version.Fingerprints.Config, BootstrapFingerprint: p.version.Fingerprints.Bootstrap,
		}
		history := onlyLaunches(status.History)
		if len(history) == 0 {
			launched.Cause, launched.Change = beginning(status.Versions)
		} else if before := history[0]; before.ConfigFingerprint != launched.ConfigFingerprint {
			launched.Change = configurationChanged
			if number, exists := newestOf(p.seen, before.ConfigFingerprint); exists {
				launched.Change = change(number)
			}
			launched.Cause, launched.Change = steered(p.config, launched.Change)
		}
		status.History = withLaunch(history, launched)
	}
	status.History = withUsers(p.config, p.seen, p.usages)
}

// newestOf returns the number of the newest version with a configuration.
func newestOf(seen launchtemplate.Observation, config string) (int64, bool) {
	for _, version := range seen.NewestFirst() {
		if version.Fingerprints.Config == config {
			return version.Number, true
		}
	}
	return 0, false
}

// beginning returns the cause of the first launch, as far as the versions say it: their reasons are lost with status.
func beginning(versions []infrav1.LaunchTemplateVersionStatus) (infrav1.LaunchConfigCause, string) {
	for _, version := range versions {
		for reason, cause := range map[string]infrav1.LaunchConfigCause{
			reasonFirst: infrav1.LaunchConfigCauseFirst, reasonAdopted: infrav1.LaunchConfigCauseAdopted, reasonLost: infrav1.LaunchConfigCauseTemplateLost,
		} {
			if version.Reason == reason {
				return cause, reason
			}
		}
	}
	return "", ""
}

// steered returns why a change was launched, and the change with the same at its beginning.
func steered(config *infrav1.AWSLaunchConfig, change string) (infrav1.LaunchConfigCause, string) {
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
