package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Bounds of the lists in an AWSLaunchConfig's status.
const (
	// MaxLaunchConfigHistory limits how many launches status.history lists, newest first.
	MaxLaunchConfigHistory = 20
	// MaxLaunchConfigUsers limits how many pools status.usedBy lists, however many there are.
	MaxLaunchConfigUsers = 64
)

// LaunchConfigUser is a pool that launches from an AWSLaunchConfig.
type LaunchConfigUser struct {
	// Kind of the pool: AWSMachinePool or AWSManagedMachinePool.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Kind string `json:"kind"`

	// Name of the pool, which is in the namespace of the AWSLaunchConfig.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Instances is how many instances of the pool run it.
	// +optional
	Instances int32 `json:"instances,omitempty"`
}

// LaunchConfigCause describes why a configuration was launched.
// +kubebuilder:validation:Enum=First;Edited;RolledBack;Pinned;TemplateLost;Adopted;WaitingForApproval;NotVerified
type LaunchConfigCause string

// The causes.
const (
	// LaunchConfigCauseFirst is the first configuration of a new launch template.
	LaunchConfigCauseFirst LaunchConfigCause = "First"
	// LaunchConfigCauseEdited is an edit of the spec, or of its effect in AWS.
	LaunchConfigCauseEdited LaunchConfigCause = "Edited"
	// LaunchConfigCauseRolledBack is a roll-out that failed.
	LaunchConfigCauseRolledBack LaunchConfigCause = "RolledBack"
	// LaunchConfigCausePinned is spec.pinnedVersion.
	LaunchConfigCausePinned LaunchConfigCause = "Pinned"
	// LaunchConfigCauseTemplateLost is a launch template that was deleted outside Slipway.
	LaunchConfigCauseTemplateLost LaunchConfigCause = "TemplateLost"
	// LaunchConfigCauseAdopted is a launch template of Cluster API Provider AWS's that was taken over.
	LaunchConfigCauseAdopted LaunchConfigCause = "Adopted"
	// LaunchConfigCauseWaitingForApproval was written by earlier releases for a version that was
	// not launched. Such entries are dropped.
	LaunchConfigCauseWaitingForApproval LaunchConfigCause = "WaitingForApproval"
	// LaunchConfigCauseNotVerified was written by earlier releases for a version that was not
	// launched. Such entries are dropped.
	LaunchConfigCauseNotVerified LaunchConfigCause = "NotVerified"
)

// LaunchConfigHistoryEntry is a launch: a configuration that instances were launched with, after
// they were launched with another. New join tokens are no launch. Nothing of an entry changes later
// but runBy and deleted.
type LaunchConfigHistoryEntry struct {
	// Version is the number of the version that was launched.
	// +required
	// +kubebuilder:validation:Minimum=1
	Version int64 `json:"version"`

	// LaunchTemplateID is the id of the launch template that the version is of.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LaunchTemplateID string `json:"launchTemplateID,omitempty"`

	// Launched is when an instance with the configuration was first reported by a pool.
	// +optional
	Launched metav1.Time `json:"launched,omitempty,omitzero"`

	// Created is when the version was created, which is long before where an earlier one was launched again.
	// +optional
	Created metav1.Time `json:"created,omitempty,omitzero"`

	// Cause is why the configuration was launched, empty if that is no longer known.
	// +optional
	Cause LaunchConfigCause `json:"cause,omitempty"`

	// Change is the difference from the launch before, whatever was asked for in between and never launched.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Change string `json:"change,omitempty"`

	// ConfigFingerprint identifies the configuration.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ConfigFingerprint string `json:"configFingerprint,omitempty"`

	// BootstrapFingerprint identifies the bytes of the version's user data.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	BootstrapFingerprint string `json:"bootstrapFingerprint,omitempty"`

	// RunBy are the pools with instances that run the configuration now. They are listed once, with
	// its latest launch.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	RunBy []LaunchConfigUser `json:"runBy,omitempty"`

	// Deleted is true if no version with the configuration exists any longer.
	// +optional
	Deleted bool `json:"deleted,omitempty"`
}
