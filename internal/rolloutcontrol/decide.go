package rolloutcontrol

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Undo pins a version that was launched before: the latest with another configuration than the one that
// the spec asks for, or the version to if it is not 0.
func Undo(s Subject, to int64) (Change, error) {
	if err := s.steerable(); err != nil {
		return Change{}, err
	}
	known := choices(s.Config)
	pinned := s.control().PinnedVersion
	if pinned != nil && (to == 0 || to == *pinned) {
		return Change{}, fmt.Errorf("%s is already pinned to version %d. Pin another version with --to, or remove the pin with unpin. The history has %s",
			describe(s.steered()), *pinned, list(known))
	}
	if to != 0 {
		return undoTo(s, to, known)
	}
	current, err := wanted(s.Config)
	if err != nil {
		return Change{}, err
	}
	return goBack(s, current, false)
}

// undoTo pins the version that the user names.
func undoTo(s Subject, to int64, known []choice) (Change, error) {
	asked := s.Config.Status.FingerprintOf(to)
	i := slices.IndexFunc(known, func(choice choice) bool { return choice.version == to || asked != "" && choice.fingerprint == asked })
	if i < 0 {
		return Change{}, fmt.Errorf("version %d was never launched, or no longer exists. The history has %s", to, list(known))
	}
	if current, err := wanted(s.Config); err == nil && s.control().PinnedVersion == nil && current == known[i].fingerprint {
		return Change{}, fmt.Errorf("version %d has the configuration that the spec asks for, so there is nothing to undo", to)
	}
	return s.pin(choice{to, known[i].fingerprint, known[i].change}, false), nil
}

// goBack pins the latest launch of another configuration than the current one. It also resumes roll-outs
// if that is asked for.
func goBack(s Subject, current string, resume bool) (Change, error) {
	known := choices(s.Config)
	i := slices.IndexFunc(known, func(choice choice) bool { return choice.fingerprint != current })
	if i < 0 {
		return Change{}, fmt.Errorf("no earlier version of %s can be launched. The history has %s. Raise versionsToKeep to keep more versions", describe(s.steered()), list(known))
	}
	return s.pin(known[i], resume), nil
}

// pin returns the change that pins a version, and resumes roll-outs if that is asked for.
func (s Subject) pin(to choice, resume bool) Change {
	change := Change{Reason: fmt.Sprintf("pin %s to version %d", describe(s.steered()), to.version), Affected: s.others()}
	if to.change != "" {
		change.Reason += " (" + to.change + ")"
	}
	var annotations map[string]any
	if resume {
		change.Reason += ", and resume roll-outs"
		annotations = map[string]any{infrav1.RolloutPausedAnnotation: nil}
	}
	spec := map[string]any{"pinnedVersion": to.version}
	if resume && s.shared() {
		change.patch(s.steered(), spec, nil)
		change.patch(s.named(), nil, annotations)
	} else {
		change.patch(s.steered(), spec, annotations)
	}
	change.note("Later edits of the launch template wait until you remove the pin with unpin.")
	if !resume {
		s.noteLimits(&change)
	}
	return change
}

// noteLimits notes what keeps a change from replacing nodes.
func (s Subject) noteLimits(change *Change) {
	if s.paused() {
		change.note("Roll-outs of %s are paused: running nodes stay as they are until you resume them.", describe(s.named()))
	}
}

// Unpin removes the pin.
func Unpin(s Subject) (Change, error) {
	if err := s.steerable(); err != nil {
		return Change{}, err
	}
	control := s.control()
	if control.PinnedVersion == nil {
		return Change{}, fmt.Errorf("%s is not pinned", describe(s.steered()))
	}
	change := Change{
		Reason:   fmt.Sprintf("remove the pin of %s to version %d, and launch what the spec asks for", describe(s.steered()), *control.PinnedVersion),
		Affected: s.others(),
	}
	change.patch(s.steered(), map[string]any{"pinnedVersion": nil}, nil)
	if control.Rollout == infrav1.LaunchConfigRolloutManual {
		change.note("spec.rollout is Manual: a version that was not approved waits for approval.")
	}
	s.noteLimits(&change)
	return change, nil
}

// Pause pauses roll-outs.
func Pause(s Subject) (Change, error) {
	named := s.named()
	switch {
	case s.paused():
		return Change{}, fmt.Errorf("roll-outs of %s are already paused", describe(named))
	case s.Pool == nil && s.Config.Spec.Existing != nil:
		return Change{}, fmt.Errorf("%s uses a launch template of another owner, whose changes Slipway cannot hold back: pause the pools that use it", describe(named))
	}
	change := Change{Reason: "pause roll-outs of " + describe(named)}
	change.patch(named, nil, map[string]any{infrav1.RolloutPausedAnnotation: "true"})
	switch {
	case s.Pool == nil:
		change.Affected = s.others()
		change.note("Edits of the launch template wait for all pools that use it. A roll-out that is in progress continues: pause the pool to stop it.")
		return change, nil
	case s.managed():
		change.note("EKS cannot stop an update: one that is in progress continues.")
	default:
		change.note("The instance refresh in progress, if Slipway started it, is canceled. Instances that are being terminated are still replaced.")
	}
	if s.shared() {
		change.note("New nodes use new versions of AWSLaunchConfig %s. To hold these back for all pools that use it, pause awslaunchconfig/%[1]s.", s.reference().Name)
	}
	return change, nil
}

// Resume resumes roll-outs that were paused.
func Resume(s Subject) (Change, error) {
	named := s.named()
	if !s.paused() {
		return Change{}, fmt.Errorf("roll-outs of %s are not paused", describe(named))
	}
	change := Change{Reason: "resume roll-outs of " + describe(named)}
	change.patch(named, nil, map[string]any{infrav1.RolloutPausedAnnotation: nil})
	if s.Pool == nil {
		change.Affected = s.others()
	} else if s.shared() && s.Config != nil && infrav1.RolloutPaused(s.Config.Annotations) {
		change.note("Edits of AWSLaunchConfig %s are paused too: resume awslaunchconfig/%[1]s to launch them.", s.Config.Name)
	}
	return change, nil
}

// Cancel stops a roll-out and goes back to the version that was launched before.
func Cancel(s Subject) (Change, error) {
	if err := s.onPool("cancel"); err != nil {
		return Change{}, err
	}
	if err := s.steerable(); err != nil {
		return Change{}, err
	}
	rolledOut, pinned := s.rolledOut(), s.control().PinnedVersion
	switch {
	case rolledOut == nil || rolledOut.Status != metav1.ConditionFalse:
		return Change{}, fmt.Errorf("no roll-out of %s is in progress. To go back to an earlier version, use undo", describe(s.Pool))
	case rolledOut.Reason == infrav1.RolledBackReason:
		return Change{}, fmt.Errorf("the roll-out of %s failed, and the pool goes back already", describe(s.Pool))
	case pinned != nil:
		return Change{}, fmt.Errorf("the roll-out of %s brings the pinned version %d. Remove the pin with unpin, or pin another version with undo --to", describe(s.Pool), *pinned)
	case !s.runsOther():
		return Change{}, fmt.Errorf("all instances of %s run the launch template version that its spec asks for, so no earlier one can be kept: %s. To go back to an earlier version, use undo. If another edit caused the roll-out, take it back", describe(s.Pool), strings.TrimSuffix(rolledOut.Message, "."))
	}
	return goBack(s, s.Config.Status.ConfigFingerprint, s.paused())
}

// runsOther reports whether instances of the pool run another configuration of the launch template than
// the one that is launched.
func (s Subject) runsOther() bool {
	for _, entry := range s.Config.Status.History {
		for _, user := range entry.RunBy {
			if user.Kind == kindOf(s.Pool) && user.Name == s.Pool.GetName() && user.Instances > 0 && entry.ConfigFingerprint != s.Config.Status.ConfigFingerprint {
				return true
			}
		}
	}
	return false
}

// onPool returns an error if the command names a launch config.
func (s Subject) onPool(command string) error {
	if s.Pool == nil {
		return fmt.Errorf("AWSLaunchConfig %s has no roll-outs of its own: %s the roll-out of a pool that uses it", s.Config.Name, command)
	}
	return nil
}

// failures are the reasons of the condition RolledOut after which a roll-out can be retried.
var failures = []string{
	infrav1.NodesNotReadyReason, infrav1.RefreshFailedReason, infrav1.RefreshCancelledReason, infrav1.RefreshStartFailedReason, infrav1.RolledBackReason, infrav1.NodegroupUpdateFailedReason,
}

// Retry retries a roll-out that failed. The request distinguishes this retry from others, and can be a time.
func Retry(s Subject, request string) (Change, error) {
	if err := s.onPool("retry"); err != nil {
		return Change{}, err
	}
	rolledOut := s.rolledOut()
	switch {
	case s.paused():
		return Change{}, fmt.Errorf("roll-outs of %s are paused: resume them first", describe(s.Pool))
	case rolledOut == nil || rolledOut.Status != metav1.ConditionFalse || !slices.Contains(failures, rolledOut.Reason):
		return Change{}, fmt.Errorf("no roll-out of %s has failed", describe(s.Pool))
	}
	change := Change{Reason: fmt.Sprintf("retry the roll-out of %s, which failed: %s", describe(s.Pool), strings.TrimSuffix(rolledOut.Message, "."))}
	if s.shared() && s.Config != nil && s.Config.Spec.Rollback != nil {
		change.Affected = s.others()
		change.patch(s.Config, map[string]any{"rollback": nil}, nil)
	}
	change.patch(s.Pool, nil, map[string]any{infrav1.RetryRolloutAnnotation: request})
	return change, nil
}

// Approve approves the version that waits for approval, which must be the given version unless that is 0.
// It records the user.
func Approve(s Subject, version int64, user string) (Change, error) {
	if err := s.steerable(); err != nil {
		return Change{}, err
	}
	pending, err := pendingApproval(s.Config)
	switch {
	case version != 0 && !s.Config.HasVersion(strconv.FormatInt(version, 10)):
		return Change{}, errors.Join(fmt.Errorf("version %d does not exist", version), waiting(pending))
	case err != nil:
		return Change{}, err
	case version != 0 && version != pending:
		return Change{}, fmt.Errorf("version %d does not wait for approval: version %d does", version, pending)
	case user == "":
		return Change{}, errors.New("the API server does not know your name, so the approval would have no user")
	}
	condition := meta.FindStatusCondition(s.Config.Status.Conditions, infrav1.RolloutApprovedCondition)
	change := Change{Reason: fmt.Sprintf("approve version %d of %s as %s", pending, describe(s.steered()), user), Affected: s.others()}
	change.patch(s.steered(), nil, map[string]any{infrav1.ApprovedVersionAnnotation: strconv.FormatInt(pending, 10), infrav1.ApprovedByAnnotation: user})
	change.note("The condition RolloutApproved reports: %s", condition.Message)
	s.noteLimits(&change)
	return change, nil
}

// waiting says which version waits for approval, nil if none does.
func waiting(pending int64) error {
	if pending == 0 {
		return errors.New("no version waits for approval")
	}
	return fmt.Errorf("version %d waits for approval", pending)
}

// pendingApproval returns the number of the version that waits for approval, and an error if none does.
func pendingApproval(config *infrav1.AWSLaunchConfig) (int64, error) {
	pending := config.Status.PendingVersion
	condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.RolloutApprovedCondition)
	switch {
	case condition != nil && condition.ObservedGeneration != config.Generation:
		return 0, fmt.Errorf("AWSLaunchConfig %s is still reconciling its latest spec: try again in a few seconds", config.Name)
	case pending != 0 && condition != nil && condition.Status == metav1.ConditionFalse && condition.Reason == infrav1.WaitingForApprovalReason:
		return pending, nil
	case pending != 0 && condition != nil && condition.Reason == infrav1.EditPausedReason:
		return 0, fmt.Errorf("version %d waits because roll-outs are paused: resume them first", pending)
	case pending != 0:
		return 0, fmt.Errorf("version %d does not wait for approval, but for EC2 to accept it (spec.verify)", pending)
	}
	return 0, waiting(0)
}
