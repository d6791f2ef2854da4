package launchconfig

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A config with spec.verify launches only configurations that EC2 confirmed it would launch.
// Slipway creates a version of the new configuration next to the launched version, and tries it,
// before it becomes the default and pools see it (docs/adr/0007).

// isVerified reports whether EC2 said that it would launch a config.
func isVerified(in Input, config string) bool {
	return in.Object.Status.VerifiedFingerprint == config || slices.Contains(in.Seen.Verified, config)
}

// decideVerification has EC2 try what the spec newly asks for, whether that needs approval too or
// not, and holds it back for as long as the answer is no.
func decideVerification(in Input, asked asked, launch steered, plan *reconcile.Plan) (steered, bool) {
	status := &in.Object.Status
	if in.Object.Spec.Verify == "" {
		reconciling.Remove(in.Object, infrav1.VerifiedCondition)
		status.VerifiedFingerprint = ""
		return launch, true
	}
	wanted := launch.input
	if launch.pending != nil {
		wanted = *launch.pending
	}
	launched, exists := launchedVersion(in)
	if !exists || launched.Fingerprints.Config == wanted.Fingerprints.Config || in.Seen.Template.Untouched() {
		return launch, true // nothing else could be launched meanwhile
	}
	if isVerified(in, wanted.Fingerprints.Config) {
		status.VerifiedFingerprint = wanted.Fingerprints.Config
		reconciling.True(in.Object, infrav1.VerifiedCondition, infrav1.ReadyReason, "")
		return launch, true
	}
	number, known := decideBeside(in, wanted, launch.unapproved, plan)
	if !known {
		return steered{}, false
	}
	if !decideTry(in, number, wanted, plan) {
		return steered{}, false
	}
	if launch.pending == nil {
		earlier, known := earlierConfig(in, asked, launched.Number, plan)
		if !known {
			return steered{}, false
		}
		launch = steered{input: earlier, pending: &wanted}
	}
	return launch, decideTryLaunched(in, launched.Number, launch.input, plan)
}

// decideTry has EC2 say whether it would launch an instance from a version that is not known to be
// good, and shows the answer. It reports false while the question is due: the answer is no
// otherwise. A version that EC2 stored with a warning is not launched, whatever a dry run says.
func decideTry(in Input, number int64, input launchtemplate.Input, plan *reconcile.Plan) bool {
	config := in.Object
	shown := meta.FindStatusCondition(config.Status.Conditions, infrav1.VerifiedCondition)
	warning := in.Seen.Warnings[number]
	switch {
	case warning != "":
		reconciling.False(config, infrav1.VerifiedCondition, infrav1.LaunchTemplateDataInvalidReason,
			fmt.Sprintf("EC2 stored version %d with a warning: %s", number, warning))
		return true
	case shown != nil && shown.Reason == infrav1.LaunchTemplateDataInvalidReason && shown.ObservedGeneration == config.Generation:
		return true // EC2 warns once, when the version is made
	case shown == nil || shown.Status == metav1.ConditionTrue:
		// The answer for another configuration must not stand while EC2 cannot be asked.
		reconciling.Unknown(config, infrav1.VerifiedCondition, infrav1.VerifyingReason, "")
	}
	if err := failure(in, func(action dryRun) bool { return action.Number == number }); err != nil {
		pool.ShowFailure(config, plan, infrav1.VerifiedCondition, infrav1.DryRunFailedReason, err)
		return true
	}
	plan.Do(dryRun{TemplateID: in.Seen.Template.Template.ID, Number: number, Input: input}, "spec.verify requests it, and this "+
		"configuration has not been tried yet")
	return false
}

// decideTryLaunched finds out whether pools can go on with what is launched, if that is not known:
// status was lost, or something else was found good after it. It reports false while the question
// is due.
func decideTryLaunched(in Input, number int64, input launchtemplate.Input, plan *reconcile.Plan) bool {
	refused := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.VerifiedCondition)
	if isVerified(in, input.Fingerprints.Config) {
		in.Object.Status.VerifiedFingerprint = input.Fingerprints.Config
		return true
	}
	if refused.Status != metav1.ConditionFalse {
		return true
	}
	if err := failure(in, func(action dryRun) bool { return action.Number == number }); err != nil {
		reconciling.False(in.Object, infrav1.VerifiedCondition, refused.Reason,
			fmt.Sprintf("%s; pools cannot use the previous version either: %s", refused.Message, aws.UserMessage(err)))
		return true
	}
	plan.Do(dryRun{TemplateID: in.Seen.Template.Template.ID, Number: number, Input: input}, "the configuration in the spec is held "+
		"back, and it is not known whether EC2 can launch the current version")
	return false
}

// decideTryFirst has EC2 try the launched version if no version is held back: a first version,
// which is its template's default from the start, or a version that was launched before the user
// set spec.verify. The config is not ready until EC2 accepts the version, so that no pool uses it
// before.
func decideTryFirst(in Input, launch steered, number int64, plan *reconcile.Plan) bool {
	if in.Object.Spec.Verify == "" || launch.pending != nil {
		return true
	}
	config := launch.input.Fingerprints.Config
	if isVerified(in, config) {
		in.Object.Status.VerifiedFingerprint = config
		reconciling.True(in.Object, infrav1.VerifiedCondition, infrav1.ReadyReason, "")
		return true
	}
	decideTry(in, number, launch.input, plan)
	return false
}
