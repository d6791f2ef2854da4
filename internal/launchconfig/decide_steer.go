package launchconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/terminal"
)

// steered holds the configuration that is launched, which is usually the one that the spec asks
// for.
type steered struct {
	input launchtemplate.Input
	// pending is what the spec asks for while it is held back; nil if nothing is. Unapproved is
	// true if it waits for approval.
	pending    *launchtemplate.Input
	unapproved bool
}

// decideSteering puts an earlier config in the place of the spec's if the user or the pool asks for
// it, and holds back what waits for approval, or what EC2 would not launch.
func decideSteering(in Input, asked asked, plan *reconcile.Plan) (steered, bool) {
	config := in.Object
	config.Status.RolledBackFrom, config.Status.PendingVersion = "", 0
	forgetPin(in, plan)
	launch := steered{input: asked.input}
	switch pinned, rollback := config.Spec.PinnedVersion, config.Spec.Rollback; {
	case pinned != nil:
		if !decidePinned(in, *pinned, plan) {
			return steered{}, false
		}
		earlier, known := earlierConfig(in, asked, *pinned, plan)
		if !known {
			return steered{}, false
		}
		launch.input = earlier
	case rollback != nil && rollback.From == asked.config():
		// The spec still asks for the config that failed. Where the version is gone, or the
		// bootstrap data is what failed, that stays wanted.
		config.Status.RolledBackFrom = asked.config()
		version, exists := rollbackVersion(in)
		if !exists {
			break
		}
		earlier, known := earlierConfig(in, asked, version.Number, plan)
		if !known {
			return steered{}, false
		}
		launch.input = earlier
	}
	approved, known := decideApproval(in, asked, launch, plan)
	if !known {
		return steered{}, false
	}
	return decideVerification(in, asked, approved, plan)
}

// rollbackVersion returns a version with the configuration that spec.rollback goes back to.
func rollbackVersion(in Input) (launchtemplate.Version, bool) {
	seen, rollback := in.Seen.Template, in.Object.Spec.Rollback
	if seen.Template == nil || rollback == nil {
		return launchtemplate.Version{}, false
	}
	version, exists := seen.Version(rollback.Version)
	if rollback.To == "" || exists && version.Fingerprints.Config == rollback.To {
		return version, exists
	}
	return seen.NewestOf(rollback.To)
}

// earlierConfig returns the config of a version with the bootstrap data of today: an old join token
// would be dead.
func earlierConfig(in Input, asked asked, number int64, plan *reconcile.Plan) (launchtemplate.Input, bool) {
	data, err, known := versionData(in, plan, number)
	if !known {
		return launchtemplate.Input{}, false
	}
	var earlier launchtemplate.Input
	if err == nil {
		earlier, err = data.WithBootstrap(asked.resolved)
	}
	if err != nil {
		fail(in, plan, infrav1.LaunchTemplateReconcileFailedReason, err)
		return launchtemplate.Input{}, false
	}
	return earlier, true
}

// decideApproval holds back what the spec newly asks for, where spec.rollout is Manual, until its
// version is approved, and where roll-outs are paused, until they are resumed. Meanwhile, the
// earlier configuration is launched with the bootstrap data of today. The first version, a
// rollback, and a template that is being taken over need no approval.
func decideApproval(in Input, asked asked, launch steered, plan *reconcile.Plan) (steered, bool) {
	config := in.Object
	if pinned := config.Spec.PinnedVersion; pinned != nil {
		reconciling.False(config, infrav1.RolloutApprovedCondition, infrav1.PinnedReason,
			fmt.Sprintf("nodes run the configuration of version %d, because pinnedVersion names it, regardless "+
				"of the rest of the spec", *pinned))
		return launch, true
	}
	manual, paused := config.Spec.Rollout == infrav1.LaunchConfigRolloutManual, infrav1.RolloutPaused(config.Annotations)
	if !manual && !paused {
		reconciling.Remove(config, infrav1.RolloutApprovedCondition)
		return launch, true
	}
	wanted := launch.input.Fingerprints.Config
	launched, exists := launchedVersion(in)
	approved := isApproved(in, wanted)
	if !exists || launched.Fingerprints.Config == wanted || config.Status.RolledBackFrom != "" || in.Seen.Template.Untouched() || approved && !paused {
		if manual {
			reconciling.True(config, infrav1.RolloutApprovedCondition, infrav1.ApprovedReason, approver(config, approved))
		} else {
			reconciling.Remove(config, infrav1.RolloutApprovedCondition)
		}
		return launch, true
	}
	pending := launch.input
	earlier, known := earlierConfig(in, asked, launched.Number, plan)
	if !known {
		return steered{}, false
	}
	reason, message := infrav1.WaitingForApprovalReason, "Slipway is creating the version that needs approval"
	if paused {
		reason, message = infrav1.EditPausedReason, "Slipway is creating the version that waits until roll-outs are resumed"
	}
	reconciling.False(config, infrav1.RolloutApprovedCondition, reason, message)
	return steered{input: earlier, pending: &pending, unapproved: true}, true
}

// approver returns what is known about the user who approved the version that is launched.
func approver(config *infrav1.AWSLaunchConfig, approved bool) string {
	user := config.Annotations[infrav1.ApprovedByAnnotation]
	if !approved || user == "" {
		return ""
	}
	return fmt.Sprintf("version %s was approved by %q", config.Annotations[infrav1.ApprovedVersionAnnotation], bounded(user))
}

// launchedVersion is the version that was launched before this pass: status says it, and if that
// was lost the default version does, which follows it.
func launchedVersion(in Input) (launchtemplate.Version, bool) {
	seen, status := in.Seen.Template, &in.Object.Status
	if seen.Template == nil {
		return launchtemplate.Version{}, false
	}
	if version, exists := seen.Version(launchedNumber(status, *seen.Template)); exists {
		return version, true
	}
	return seen.Version(seen.Template.DefaultVersion)
}

// launchedNumber returns the number of the version that is launched: by status, or the default of a
// template that status does not name.
func launchedNumber(status *infrav1.AWSLaunchConfigStatus, template launchtemplate.Template) int64 {
	if status.LaunchTemplateID == template.ID {
		return status.Version
	}
	return template.DefaultVersion
}

// isApproved is true if the version that the annotation names has the config. An annotation that
// was meant for another edit approves nothing.
func isApproved(in Input, config string) bool {
	number, err := strconv.ParseInt(in.Object.Annotations[infrav1.ApprovedVersionAnnotation], 10, 64)
	if err != nil {
		return false
	}
	version, exists := in.Seen.Template.Version(number)
	return exists && version.Fingerprints.Config == config
}

// decideBeside creates a version of a configuration that is not launched yet, unless there is one,
// and returns its number. It reports false while that is due, or failed.
func decideBeside(in Input, input launchtemplate.Input, unapproved bool, plan *reconcile.Plan) (int64, bool) {
	seen := in.Seen.Template
	if seen.Recorded {
		plan.Need(needVersions)
		return 0, false
	}
	if version, exists := seen.NewestOf(input.Fingerprints.Config); exists {
		return version.Number, true
	}
	err := failure(in, func(action createVersion) bool { return action.Beside })
	var operations []launchtemplate.Operation
	if err == nil {
		operations, err = launchtemplate.Wanted{Owner: owner(in.Object), Input: input}.PlanBeside(seen.Observation)
	}
	if err != nil {
		versionRefused(in, plan, err)
		return 0, false
	}
	change, known := pendingChange(in, input, plan)
	if !known {
		return 0, false
	}
	for _, operation := range operations {
		if create, is := operation.(launchtemplate.CreateVersion); is {
			plan.Do(createVersion{CreateVersion: create, Why: change, Waits: unapproved}, "%s", change)
		}
	}
	return 0, false
}

// pendingChange returns a human-readable difference between what is launched and what is held back.
func pendingChange(in Input, pending launchtemplate.Input, plan *reconcile.Plan) (string, bool) {
	launched, exists := launchedVersion(in)
	if !exists {
		return configurationChanged, true
	}
	return changesFrom(in, launched.Number, pending, plan)
}

// changesFrom returns a human-readable difference between a version and an input, as far as that is
// known. It reports false if the version has to be read first.
func changesFrom(in Input, number int64, input launchtemplate.Input, plan *reconcile.Plan) (string, bool) {
	data, err, known := versionData(in, plan, number)
	if !known || err != nil {
		return configurationChanged, known
	}
	return inWords(launchtemplate.Changes(data, input)), true
}

// decidePending has a version created of the configuration that is held back, and returns the
// human-readable changes that it would bring.
func decidePending(in Input, launch steered, plan *reconcile.Plan) (number int64, why string, known bool) {
	if launch.pending == nil {
		return 0, "", true
	}
	if number, known = decideBeside(in, *launch.pending, launch.unapproved, plan); !known {
		return 0, "", false
	}
	if why, known = pendingChange(in, *launch.pending, plan); !known {
		return 0, "", false
	}
	in.Object.Status.PendingVersion = number
	if launch.unapproved {
		what := why
		if warning := in.Seen.Warnings[number]; warning != "" {
			what += "; EC2 reports a warning: " + warning
		}
		showWaiting(in, number, what)
	}
	return number, why, true
}

// showWaiting shows that a version waits for a user.
func showWaiting(in Input, number int64, what string) {
	if infrav1.RolloutPaused(in.Object.Annotations) {
		reconciling.False(in.Object, infrav1.RolloutApprovedCondition, infrav1.EditPausedReason,
			fmt.Sprintf("version %d waits, because annotation %s pauses roll-outs: %s", number, infrav1.RolloutPausedAnnotation, what))
		return
	}
	reconciling.False(in.Object, infrav1.RolloutApprovedCondition, infrav1.WaitingForApprovalReason,
		fmt.Sprintf("version %d waits for approval by annotation %s: %q: %s", number, infrav1.ApprovedVersionAnnotation, strconv.FormatInt(number, 10), what))
}

// longestReason bounds a version's reason in status (API: maxLength 256), in characters.
const longestReason = 256

// configurationChanged is said where what differs is not known.
const configurationChanged = "configuration changed"

// inWords are differences as a version's reason.
func inWords(differences []string) string {
	if len(differences) == 0 {
		return configurationChanged
	}
	return bounded(strings.Join(slices.Clone(differences), ", "))
}

// bounded cuts a reason to what status takes.
func bounded(text string) string { return terminal.Cut(text, longestReason) }
