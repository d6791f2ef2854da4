package awslaunchconfig

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// Why a configuration came back, as the beginning of a reason.
const (
	rolledBackPrefix = "rolled back: "
	pinnedPrefix     = "pinned: "
)

// heldBack is a version that is not launched yet, and why; the zero value is none.
type heldBack struct {
	version int64
	cause   infrav1.LaunchConfigCause
}

// history lists the configurations that were asked for, newest first: one entry for all versions that differ by their join token alone. What status listed before
// stays when its versions are deleted.
func history(seen launchtemplate.Observation, templateID string, reasons map[int64]string, held heldBack, usages []usage, before []infrav1.LaunchConfigHistoryEntry,
) []infrav1.LaunchConfigHistoryEntry {
	var entries []infrav1.LaunchConfigHistoryEntry
	find := func(list []infrav1.LaunchConfigHistoryEntry, config string) int {
		return slices.IndexFunc(list, func(entry infrav1.LaunchConfigHistoryEntry) bool { return entry.ConfigFingerprint == config })
	}
	for _, version := range seen.NewestFirst() {
		i := find(entries, version.Fingerprints.Config)
		if i < 0 {
			entries = append(entries, infrav1.LaunchConfigHistoryEntry{
				Version: version.Number, Created: metav1.NewTime(version.Created),
				ConfigFingerprint: version.Fingerprints.Config, BootstrapFingerprint: version.Fingerprints.Bootstrap,
			})
			i = len(entries) - 1
		}
		entry := &entries[i]
		if reason := reasons[version.Number]; entry.Change == "" && reason != "" && reason != reasonToken && reason != reasonDelivery {
			entry.Cause, entry.Change = causeOf(reason), reason
		}
		if version.Number == held.version {
			entry.Cause = held.cause
		}
		for _, used := range usages {
			entry.RunBy = addUser(entry.RunBy, used.user, used.running[versionOfTemplate{templateID, version.Number}])
		}
	}
	for _, old := range before {
		i := find(entries, old.ConfigFingerprint)
		if i >= 0 && entries[i].Change == "" {
			entries[i].Cause, entries[i].Change = old.Cause, old.Change // the version that said it is deleted
		}
		if i < 0 {
			old.Deleted, old.RunBy = true, nil
			entries = append(entries, old)
		}
	}
	slices.SortStableFunc(entries, func(a, b infrav1.LaunchConfigHistoryEntry) int { return cmp.Compare(b.Version, a.Version) })
	return entries[:min(len(entries), infrav1.MaxLaunchConfigHistory)]
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

// causeOf is the cause that a reason tells of.
func causeOf(reason string) infrav1.LaunchConfigCause {
	switch {
	case reason == reasonFirst:
		return infrav1.LaunchConfigCauseFirst
	case reason == reasonLost:
		return infrav1.LaunchConfigCauseTemplateLost
	case reason == reasonAdopted:
		return infrav1.LaunchConfigCauseAdopted
	case strings.HasPrefix(reason, rolledBackPrefix):
		return infrav1.LaunchConfigCauseRolledBack
	case strings.HasPrefix(reason, pinnedPrefix):
		return infrav1.LaunchConfigCausePinned
	}
	return infrav1.LaunchConfigCauseEdited
}
