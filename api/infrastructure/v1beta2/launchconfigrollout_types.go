package v1beta2

// ApprovedVersionAnnotation holds the number of the launch template version that rollout Manual
// waits for. It is set on the pool, or on the AWSLaunchConfig, and lets that version's
// configuration be launched for as long as the spec asks for it.
const ApprovedVersionAnnotation = "infrastructure.cluster.x-k8s.io/approved-version"

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
