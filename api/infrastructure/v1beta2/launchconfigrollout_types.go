package v1beta2

// ApprovedVersionAnnotation holds the number of the launch template version that rollout Manual
// waits for. It is set on the pool, or on the AWSLaunchConfig, and lets that version's
// configuration be launched for as long as the spec asks for it. Slipway removes an approval of a
// launch template that was deleted: the versions of the next one are numbered from 1 again.
const ApprovedVersionAnnotation = "infrastructure.cluster.x-k8s.io/approved-version"

// ApprovedByAnnotation holds the name of the user who set ApprovedVersionAnnotation. The admission
// policy slipway-rollout-approval, if it is installed, admits only the name of the user who sends
// the request. Without the policy, the value is a claim that nothing verifies.
const ApprovedByAnnotation = "infrastructure.cluster.x-k8s.io/approved-by"

// RolloutPausedAnnotation with the value "true" pauses roll-outs. On a pool, Slipway cancels its
// running instance refresh, starts no other roll-out, and holds edits of the launch template back as
// rollout Manual does. On an AWSLaunchConfig that pools refer to, it holds edits back.
const RolloutPausedAnnotation = "infrastructure.cluster.x-k8s.io/rollout-paused"

// RetryRolloutAnnotation on a pool retries a roll-out that failed, each time that it gets another
// value: Slipway starts the next attempt at once, and a pool that was rolled back launches what its
// spec asks for again.
const RetryRolloutAnnotation = "infrastructure.cluster.x-k8s.io/retry-rollout"

// RolloutPaused reports whether the annotations of a pool or of an AWSLaunchConfig pause roll-outs.
func RolloutPaused(annotations map[string]string) bool {
	return annotations[RolloutPausedAnnotation] == "true"
}

// LaunchConfigRollout says when a configuration that the spec newly asks for is launched.
//
// +slipway:rule=SL44
// +kubebuilder:validation:Enum=Automatic;Manual
type LaunchConfigRollout string

// The ways.
const (
	// LaunchConfigRolloutAutomatic launches it at once.
	LaunchConfigRolloutAutomatic LaunchConfigRollout = "Automatic"
	// LaunchConfigRolloutManual makes its version, and waits for approval.
	LaunchConfigRolloutManual LaunchConfigRollout = "Manual"
)

// LaunchConfigControl steers which configuration is launched.
type LaunchConfigControl struct {
	// Rollout says when a configuration that the spec newly asks for is launched: Automatic, at
	// once; Manual, when the annotation infrastructure.cluster.x-k8s.io/approved-version has the
	// number of its version, which is made and shown in status.pendingVersion of the
	// AWSLaunchConfig. Until then what was launched before goes on, with new join tokens. The first
	// version does not wait. Default: Automatic.
	// +optional
	Rollout LaunchConfigRollout `json:"rollout,omitempty"`

	// PinnedVersion goes back to the configuration of an earlier version, with the bootstrap data
	// of today, for as long as it is set. The rest of the spec waits.
	// +optional
	// +slipway:rule=SL44
	// +kubebuilder:validation:Minimum=1
	PinnedVersion *int64 `json:"pinnedVersion,omitempty"`
}
