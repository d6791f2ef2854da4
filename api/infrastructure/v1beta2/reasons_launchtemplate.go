package v1beta2

// Reasons of LaunchTemplateReady, Resolved, Verified and VersionsPruned.
const (
	// WaitingForLaunchConfigReason reports that the AWSLaunchConfig of a pool is still reconciling
	// its latest spec.
	//
	// Nodes: running nodes stay.
	// Remedy: none. If it lasts, check the conditions of the AWSLaunchConfig.
	WaitingForLaunchConfigReason = "WaitingForLaunchConfig"

	// LaunchConfigNotOwnedReason reports that an AWSLaunchConfig with the pool's name belongs to
	// another object.
	//
	// Nodes: the pool launches none.
	// Remedy: delete that AWSLaunchConfig, or refer to it with spec.launchConfigRef.
	LaunchConfigNotOwnedReason = "LaunchConfigNotOwned"

	// LaunchConfigTemplateNotFoundReason reports that the AWSLaunchConfigTemplate that a pool refers
	// to does not exist.
	//
	// Nodes: running and new nodes use the configuration that the pool created from it before.
	// Remedy: create the template, or correct spec.launchConfigTemplateRef.
	//
	// +slipway:condition=LaunchTemplateReady:False on AWSMachinePool, AWSManagedMachinePool
	LaunchConfigTemplateNotFoundReason = "LaunchConfigTemplateNotFound"

	// LaunchConfigTemplateNotAllowedReason reports that the AWSLaunchConfigTemplate may not be used
	// from the pool's namespace.
	//
	// Nodes: running and new nodes use the configuration that the pool created from it before.
	// Remedy: add the namespace to spec.allowedNamespaces of the template.
	//
	// +slipway:condition=LaunchTemplateReady:False on AWSMachinePool, AWSManagedMachinePool
	LaunchConfigTemplateNotAllowedReason = "LaunchConfigTemplateNotAllowed"

	// LaunchTemplateCreateFailedReason reports that the launch template could not be created. The
	// value is CAPA's.
	//
	// Nodes: the pool has none.
	// Remedy: act on the message. The call is retried.
	//
	// +slipway:condition=LaunchTemplateReady:False on AWSLaunchConfig
	LaunchTemplateCreateFailedReason = "LaunchTemplateCreateFailed"

	// LaunchTemplateReconcileFailedReason reports that a version, the default version or the tags of
	// an existing launch template could not be changed. The value is CAPA's.
	//
	// Nodes: running nodes stay. New nodes use the last version.
	// Remedy: act on the message. The call is retried.
	LaunchTemplateReconcileFailedReason = "LaunchTemplateReconcileFailed"

	// LaunchTemplateNotFoundReason reports that the launch template was deleted outside Slipway.
	// Slipway recreates its own templates; it does not recreate a template that spec.existing or an
	// override names.
	//
	// Nodes: running nodes stay. No nodes are launched until the template exists.
	// Remedy: none for a template of Slipway. Otherwise recreate the template, or name another one.
	//
	// +slipway:condition=ASGReady:False
	LaunchTemplateNotFoundReason = "LaunchTemplateNotFound"

	// LaunchTemplateDataInvalidReason reports that EC2 stored the version with a warning: launches
	// from it would fail.
	//
	// Nodes: running nodes stay. Launches of new nodes fail.
	// Remedy: correct the field that the message names.
	LaunchTemplateDataInvalidReason = "LaunchTemplateDataInvalid"

	// VerifyingReason reports that EC2 has not answered the dry run yet.
	//
	// Nodes: new nodes wait for the answer.
	// Remedy: none.
	VerifyingReason = "Verifying"

	// DryRunFailedReason reports that EC2 would not launch an instance from the version. The message
	// gives the reason.
	//
	// Nodes: running nodes stay. No nodes are launched from the version.
	// Remedy: correct what the message names, such as the image, the key pair or the instance
	// profile.
	DryRunFailedReason = "DryRunFailed"

	// LaunchTemplateDeleteFailedReason reports that the launch template could not be deleted.
	//
	// Nodes: no effect: its nodes are terminated already.
	// Remedy: act on the message. The call is retried.
	LaunchTemplateDeleteFailedReason = "LaunchTemplateDeleteFailed"

	// ImageNotFoundReason reports that no image matches the spec.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version.
	// Remedy: set spec.ami to an image that exists in the region and that this account may use.
	//
	// +slipway:condition=Resolved:False
	// +slipway:condition=ASGReady:False
	ImageNotFoundReason = "ImageNotFound"

	// InstanceTypeNotFoundReason reports that the region does not offer the instance type.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version.
	// Remedy: choose an instance type of the region.
	//
	// +slipway:condition=Resolved:False
	// +slipway:condition=ASGReady:False
	InstanceTypeNotFoundReason = "InstanceTypeNotFound"

	// NitroEnclaveEdgeZoneUnsupportedReason reports that enclaveOptions is enabled, and that a
	// subnet or zone of the pool is in a Local Zone or Wavelength Zone, where AWS has no Nitro
	// Enclaves.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version.
	// Remedy: disable enclaveOptions, or choose subnets of Availability Zones.
	//
	// +slipway:condition=LaunchTemplateReady:False on AWSMachinePool, AWSManagedMachinePool
	NitroEnclaveEdgeZoneUnsupportedReason = "NitroEnclaveEdgeZoneUnsupported"

	// ArchitectureMismatchReason reports that the instance type cannot run the image's architecture.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version.
	// Remedy: change the image or the instance type.
	//
	// +slipway:condition=Resolved:False
	// +slipway:condition=ASGReady:False
	ArchitectureMismatchReason = "ArchitectureMismatch"

	// SecurityGroupNotFoundReason reports that a security group that is named by ID or by filters
	// does not exist.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version.
	// Remedy: name a security group that exists in the VPC of the cluster.
	//
	// +slipway:condition=Resolved:False
	SecurityGroupNotFoundReason = "SecurityGroupNotFound"

	// RootVolumeTooSmallReason reports that the root volume is smaller than the image's snapshot.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version.
	// Remedy: enlarge the root volume to the size that the message gives.
	//
	// +slipway:condition=Resolved:False
	RootVolumeTooSmallReason = "RootVolumeTooSmall"

	// ResolveFailedReason reports that a lookup in AWS failed for a reason that has no name of its
	// own.
	//
	// Nodes: running nodes stay. New nodes use the last launch template version.
	// Remedy: act on the message. The lookup is retried.
	//
	// +slipway:condition=Resolved:False
	ResolveFailedReason = "ResolveFailed"

	// VersionNotFoundReason reports that the launch template has no version with the number that
	// spec.pinnedVersion or spec.existing names.
	//
	// Nodes: running nodes stay. New nodes use the last version that was launched.
	// Remedy: name a version that status.versions lists.
	VersionNotFoundReason = "VersionNotFound"

	// PinnedVersionChangedReason reports that the version that spec.pinnedVersion names has another
	// configuration than when it was pinned. The launch template was deleted and recreated outside
	// Slipway, so its versions are numbered from 1 again.
	//
	// Nodes: running nodes stay. No new version is launched.
	// Remedy: remove spec.pinnedVersion. To pin the version with that number all the same, set the
	// field again once the condition is gone.
	PinnedVersionChangedReason = "PinnedVersionChanged"

	// PruneFailedReason reports that some launch template versions could not be deleted.
	//
	// Nodes: no effect.
	// Remedy: act on the message. The deletion is retried. EC2 keeps at most 10,000 versions of a
	// template.
	//
	// +slipway:condition=VersionsPruned:False on AWSLaunchConfig
	PruneFailedReason = "PruneFailed"

	// VersionsNotVisibleReason reports that EC2 does not describe all versions yet. Slipway counts
	// and deletes them once it does.
	//
	// Nodes: no effect.
	// Remedy: none.
	VersionsNotVisibleReason = "VersionsNotVisible"
)

// Reasons of RolloutApproved.
const (
	// ApprovedReason reports that nodes are launched with the configuration that the spec asks for.
	//
	// Nodes: new nodes use the version.
	// Remedy: none.
	ApprovedReason = "Approved"

	// WaitingForApprovalReason reports that a version was created and waits for approval. The
	// message describes what it would change.
	//
	// Nodes: running and new nodes keep the approved version.
	// Remedy: set the approved-version annotation to the number of the version, or undo the edit.
	WaitingForApprovalReason = "WaitingForApproval"

	// EditPausedReason reports that a version was created and waits, because the annotation
	// rollout-paused pauses roll-outs. The message describes what it would change.
	//
	// Nodes: running and new nodes keep the previous version.
	// Remedy: remove the annotation rollout-paused, or undo the edit.
	EditPausedReason = "EditPaused"

	// PinnedReason reports that nodes are launched with the configuration of spec.pinnedVersion.
	//
	// Nodes: new nodes use the pinned version. Edits of the spec reach none.
	// Remedy: none. Remove spec.pinnedVersion to launch what the spec asks for.
	PinnedReason = "Pinned"
)
