package launchconfig

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// pinnedAnnotation records what spec.pinnedVersion named when it was set: the number, the launch
// template, and the fingerprint of the configuration. Unlike status it is part of a backup, after
// which the number may name another configuration.
const pinnedAnnotation = infrav1.TagSlipwayPrefix + "pinned"

// noFingerprint stands in the record of a pin for the fingerprint of a version that has none.
const noFingerprint = "-"

// decidePinned reports whether the version that spec.pinnedVersion names exists, and has the
// configuration that it had when it was pinned.
func decidePinned(in Input, number int64, plan *reconcile.Plan) bool {
	seen := in.Seen.Template
	if seen.Recorded {
		plan.Need(needVersions)
		return false
	}
	version, exists := seen.Version(number)
	switch {
	case !exists:
		reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.VersionNotFoundReason, missingPinned(number, seen.Observation))
	case pinnedAnother(in, version):
		reconciling.False(in.Object, infrav1.LaunchTemplateReadyCondition, infrav1.PinnedVersionChangedReason, fmt.Sprintf("version %d, "+
			"which spec.pinnedVersion names, has another configuration than when it was pinned: the launch template was "+
			"recreated, and its versions are numbered from 1 again. Nodes keep the version that they run. Remove "+
			"spec.pinnedVersion, or pin another version", number))
	default:
		recordPin(in, version, plan)
		return true
	}
	return false
}

// missingPinned describes that a pinned version does not exist.
func missingPinned(number int64, seen launchtemplate.Observation) string {
	if seen.Template == nil {
		return fmt.Sprintf("spec.pinnedVersion names version %d, but the launch template does not exist, so no node can be "+
			"launched. Running nodes stay. Remove spec.pinnedVersion, and Slipway creates the launch template from the spec", number)
	}
	var present []int64
	for _, version := range seen.NewestFirst() {
		present = append(present, version.Number)
	}
	return fmt.Sprintf("version %d, which spec.pinnedVersion names, does not exist. The launch template has "+
		"versions %s. Nodes keep the version that they run. Set spec.pinnedVersion to one of these versions", number, numberList(present))
}

// pinnedAnother reports whether the version with the pinned number has another configuration than
// the version that was pinned. Versions never change, so it belongs to another launch template then.
func pinnedAnother(in Input, version launchtemplate.Version) bool {
	recorded := strings.Fields(in.Object.Annotations[pinnedAnnotation])
	if len(recorded) != 3 || recorded[0] != strconv.FormatInt(version.Number, 10) || recorded[1] == in.Seen.Template.Template.ID {
		return false
	}
	return version.Fingerprints.Config == "" || recorded[2] != version.Fingerprints.Config
}

// recordPin records what spec.pinnedVersion names.
func recordPin(in Input, version launchtemplate.Version, plan *reconcile.Plan) {
	text := fmt.Sprintf("%d %s %s", version.Number, in.Seen.Template.Template.ID, cmp.Or(version.Fingerprints.Config, noFingerprint))
	if in.Object.Annotations[pinnedAnnotation] != text {
		plan.Annotate(pinnedAnnotation, text)
	}
}

// forgetPin drops the record of a pin that was removed.
func forgetPin(in Input, plan *reconcile.Plan) {
	if in.Object.Spec.PinnedVersion == nil && in.Object.Annotations[pinnedAnnotation] != "" {
		plan.Annotate(pinnedAnnotation, "")
	}
}
