package launchconfig

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// acceptedFor returns the versions that count as the wanted config although their fingerprints do
// not match it. It reads them from the template's tag, or from status if the tag was removed
// outside Slipway. The versions of a template that is being adopted or was lost are added once: as
// what the spec asks for at that time.
func acceptedFor(in Input, input launchtemplate.Input) launchtemplate.Accepted {
	accepted := acceptedBefore(in, input)
	if config := input.Fingerprints.Config; len(in.Seen.Template.Deleted) > 0 && in.Object.Status.ConfigFingerprint == config {
		return accepted.WithDeleted(in.Seen.Template.Template.ID, config, in.Seen.Template.Deleted)
	}
	return accepted
}

// acceptedBefore is acceptedFor without the versions that were found deleted in this pass.
func acceptedBefore(in Input, input launchtemplate.Input) launchtemplate.Accepted {
	status, seen := &in.Object.Status, in.Seen.Template
	accepted := launchtemplate.Accepted{Config: status.ConfigFingerprint, Versions: status.AcceptedVersions}
	switch {
	case seen.Template == nil && status.LastLostTemplateID != "":
		accepted = launchtemplate.Lost(status.LastLostTemplateID, status.ConfigFingerprint, status.Versions, accepted)
	case seen.Template != nil:
		if tagged, ok := launchtemplate.ParseAccepted(seen.Template.Tags[infrav1.TagAccepted]); ok {
			accepted = tagged
		}
	}
	adopt := in.Object.Annotations[infrav1.AdoptTemplateAnnotation]
	if adopt == "" || slices.ContainsFunc(accepted.Versions, func(versions infrav1.AcceptedVersions) bool { return versions.LaunchTemplateID == adopt }) {
		return accepted
	}
	// If a deleted template's instances are adopted, the number of its versions is unknown.
	taken := infrav1.AcceptedVersions{LaunchTemplateID: adopt, First: 1, Last: math.MaxInt32}
	if seen.Template != nil && seen.Template.ID == adopt {
		taken.Last = seen.NewestSeen()
	}
	config := input.Fingerprints.Config
	return launchtemplate.Accepted{Config: config, Versions: append([]infrav1.AcceptedVersions{taken}, accepted.Of(config)...)}
}

// mostDifferences limits the number of differences that a condition lists.
const mostDifferences = 12

// reportAdoption shows in a condition how the configuration of a template that was taken over
// differs from the spec.
func reportAdoption(in Input, input launchtemplate.Input, accepted launchtemplate.Accepted) error {
	seen := in.Seen.Template
	own := slices.IndexFunc(accepted.Versions, func(versions infrav1.AcceptedVersions) bool {
		return versions.LaunchTemplateID == seen.Template.ID
	})
	if own < 0 {
		reconciling.Remove(in.Object, infrav1.AdoptedCondition)
		return nil
	}
	said := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.AdoptedCondition)
	if seen.Recorded && said != nil && accepted.Config == input.Fingerprints.Config {
		// what is written down of versions does not say what is in them
		reconciling.True(in.Object, infrav1.AdoptedCondition, said.Reason, said.Message)
		return nil
	}
	through := accepted.Versions[own].Last
	message := fmt.Sprintf("Cluster API Provider AWS created the versions up to %d of launch template %s", through, seen.Template.Name)
	foreign, exists := seen.NewestForeign(through)
	if !exists && said == nil {
		return nil // versions of Slipway's that were deleted by hand
	}
	if !exists || accepted.Config != input.Fingerprints.Config {
		reconciling.True(in.Object, infrav1.AdoptedCondition, infrav1.AdoptedReason, message)
		return nil
	}
	wanted, err := input.Settings()
	if err != nil {
		return err
	}
	differences := foreign.Settings.Differences(wanted)
	if len(differences) == 0 {
		reconciling.True(in.Object, infrav1.AdoptedCondition, infrav1.AdoptedReason, message+", and they match the spec")
		return nil
	}
	if more := len(differences) - mostDifferences; more > 0 {
		differences = append(differences[:mostDifferences], fmt.Sprintf("and %d more", more))
	}
	reconciling.True(in.Object, infrav1.AdoptedCondition, infrav1.AdoptedWithDifferencesReason, fmt.Sprintf(
		"%s. The spec differs from it: %s. Instances that run these versions are kept until the next edit that "+
			"changes nodes, or until the pool has annotation %s: \"true\"",
		message, strings.Join(differences, "; "), infrav1.RollAdoptedAnnotation))
	return nil
}
