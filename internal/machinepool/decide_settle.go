package machinepool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/report"
)

// settle holds the group back from what is newly wanted until that has not changed for a while, so
// that a batch of edits makes one roll-out. It holds nothing back that replaces no instance: a
// rotated token reaches the group at once.
func settle(in input, plan *reconcile.Plan) bool {
	if launchable(in) == nil {
		return true
	}
	target, status := wanted(in), &in.Object.Status
	since := wantedSince(in)
	status.WantedVersion, status.WantedConfig, status.WantedSince = target.Version, target.Key(), &since
	group := in.Seen.Group
	if group == nil || group.Deleting || target.Launches(*group) && repointed(in) == nil {
		return true
	}
	if needsDifferences(in) {
		plan.Need(needDifferences)
		return true
	}
	if !settling(in) {
		setCause(in)
		return true
	}
	plan.LookAgain(settleWait(in))
	return true
}

// repointed returns the update by which the group was given something else to launch in this pass,
// nil if there was none.
func repointed(in input) *updateGroup {
	for _, done := range in.Done {
		update, is := done.Action.(updateGroup)
		launches := func(change autoscalinggroup.Change) bool { return change.Operation == autoscalinggroup.Update }
		if is && done.Err == nil && update.Desired.LaunchTemplateID != "" && slices.ContainsFunc(update.Changes, launches) {
			return &update
		}
	}
	return nil
}

// wanted returns what the pool's instances should run. There is a launchable launch config.
func wanted(in input) autoscalinggroup.Wanted {
	status := &launchable(in).Status
	target := autoscalinggroup.Wanted{
		TemplateID: status.LaunchTemplateID, Config: status.ConfigFingerprint, Versions: status.CurrentVersions, Version: status.Version,
		Accepted: status.AcceptedVersions,
	}
	if version := status.FindVersion(status.Version); version != nil {
		target.ImageID = version.ImageID
	}
	if policy := in.Object.Spec.MixedInstancesPolicy; policy != nil {
		target.Overrides = policy.Overrides
	}
	return target
}

// wantedSince returns since when this is wanted. The API stores whole seconds, so a time that is
// recorded now is rounded up: a window that is measured from it is never shorter than it says.
func wantedSince(in input) metav1.Time {
	status := in.Object.Status
	if status.WantedConfig == wanted(in).Key() && status.WantedSince != nil {
		return *status.WantedSince
	}
	return pool.RoundedUp(in.Now)
}

// settling reports whether what is wanted is held back, because it changed a short while ago. A
// group whose template is gone launches nothing, and is not held back.
func settling(in input) bool {
	config, group := launchable(in), in.Seen.Group
	if config == nil || group == nil || group.Deleting || wanted(in).Launches(*group) {
		return false
	}
	lost := config.Status.LastLostTemplateID != "" && config.Status.LastLostTemplateID == group.LaunchTemplateID
	return !lost && settleWait(in) > 0
}

// settleWait returns for how long what is wanted must still not change before it is rolled out.
func settleWait(in input) time.Duration {
	return in.Seen.Settings.SettleWindow - in.Now.Sub(wantedSince(in).Time)
}

// mostSources limits the number of configurations of running instances that are compared with the
// wanted one. There are rarely more than two.
const mostSources = 4

// source identifies the launch template version that instances were launched from.
type source struct {
	template string
	version  int64
}

// sources returns what the instances were launched from that run something other than what is
// wanted, the most frequent first.
func sources(in input) []source {
	target, counts := wanted(in), map[source]int{}
	for _, instance := range slices.Concat(in.Seen.Group.Instances, warmInstances(in)) {
		if !instance.Leaving() && !target.Runs(instance) {
			counts[source{instance.LaunchTemplateID, instance.Version}]++
		}
	}
	found := make([]source, 0, len(counts))
	for one := range counts {
		found = append(found, one)
	}
	slices.SortFunc(found, func(a, b source) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a.template, b.template), cmp.Compare(b.version, a.version))
	})
	return found[:min(len(found), mostSources)]
}

// versionsToCompare returns the versions of the wanted launch template that instances run and whose
// differences from the wanted version say why these are replaced.
func versionsToCompare(in input) []int64 {
	var versions []int64
	for _, one := range sources(in) {
		if knownDifference(in, one) == "" {
			versions = append(versions, one.version)
		}
	}
	return versions
}

// needsDifferences reports whether what differs between versions must be read before the cause of a
// roll-out is known.
func needsDifferences(in input) bool {
	return slices.ContainsFunc(versionsToCompare(in), func(version int64) bool {
		_, read := in.Seen.Differences[version]
		return !read
	})
}

// knownDifference returns what differs between what some instances run and what is wanted, as far
// as that is known without reading versions: only versions of the pool's own template are read.
func knownDifference(in input, from source) string {
	config, target := launchable(in), wanted(in)
	switch {
	case from.template == "":
		return "no launch template → launch template " + target.TemplateID
	case from.template == config.Status.LastLostTemplateID && from.template != target.TemplateID:
		return fmt.Sprintf("launch template %s was deleted outside Slipway", from.template)
	case from.template != target.TemplateID && in.Object.Spec.LaunchConfigRef != nil:
		return fmt.Sprintf("launch template %s → %s of AWSLaunchConfig %s", from.template, target.TemplateID, config.Name)
	case from.template != target.TemplateID:
		return fmt.Sprintf("launch template %s → %s", from.template, target.TemplateID)
	case config.Status.FingerprintOf(from.version) == target.Config:
		return "images or templates of overrides changed"
	}
	return ""
}

// causeOf returns why instances are replaced: what differs between what they run and what is
// wanted. It is empty if all instances run what is wanted. Nothing else counts, such as what the
// group launched in between: an edit that was taken back replaces no instance.
func causeOf(in input) string {
	var causes []string
	for _, one := range sources(in) {
		difference := cmp.Or(knownDifference(in, one), in.Seen.Differences[one.version])
		for cause := range strings.SplitSeq(difference, "; ") {
			if cause != "" && !slices.Contains(causes, cause) {
				causes = append(causes, cause)
			}
		}
	}
	return report.Shortened(strings.Join(causes, "; "))
}

// setCause records why instances are replaced.
func setCause(in input) {
	if why := causeOf(in); why != cause(in) {
		rolloutStatus(in.Object).Cause = why
	}
}

// cause returns why instances are replaced, or were last.
func cause(in input) string {
	if record := in.Object.Status.Rollout; record != nil {
		return record.Cause
	}
	return ""
}

// fingerprints returns the fingerprints of a launch config's versions by number.
func fingerprints(config *infrav1.AWSLaunchConfig) map[int64]string {
	known := make(map[int64]string, len(config.Status.Versions))
	for _, version := range config.Status.Versions {
		known[version.Number] = version.ConfigFingerprint
	}
	return known
}
