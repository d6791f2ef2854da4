package v1beta2

// Finalizers.
const (
	// MachinePoolFinalizer keeps an AWSMachinePool until its Auto Scaling group is gone. It is
	// CAPA's, so that a pool that CAPA made has one finalizer, not two.
	MachinePoolFinalizer = "awsmachinepool.infrastructure.cluster.x-k8s.io"

	// ManagedMachinePoolFinalizer keeps an AWSManagedMachinePool until its node group and its node
	// role are gone. It is CAPA's.
	ManagedMachinePoolFinalizer = "awsmanagedmachinepools.infrastructure.cluster.x-k8s.io"

	// MachinePoolMachineFinalizer keeps an AWSMachinePoolMachine until its instance has left the group.
	MachinePoolMachineFinalizer = "awsmachinepoolmachine.infrastructure.cluster.x-k8s.io"

	// LaunchConfigFinalizer keeps an AWSLaunchConfig until its EC2 launch template is gone.
	LaunchConfigFinalizer = "awslaunchconfig.infrastructure.cluster.x-k8s.io"
)

// Condition types. All of them are metav1.Condition with positive polarity, except Paused, Deleting and
// DeprecatedFieldsInUse, which are True while the thing that they name goes on.
const (
	// ReadyCondition is True when the object can do its work: for a pool, when its group or node
	// group exists and launches what the spec asks for. It does not depend on RolledOut and
	// CapacityAvailable: while instances are replaced or missing, the nodes that there are work.
	// Cluster API copies it to the MachinePool. Converged is True when nothing is left to do at
	// all.
	ReadyCondition = "Ready"

	// ConvergedCondition is True when a pool is as its spec asks for in every respect: Ready, with
	// all its capacity, no node left to drain, and all instances of the wanted configuration.
	// Otherwise its reason and message are those of the most important condition that is not as it
	// should be.
	ConvergedCondition = "Converged"

	// PausedCondition is True while nothing is done, because the Cluster or the object is paused.
	PausedCondition = "Paused"

	// DeletingCondition is True from the moment that deletion is asked for; its message says what
	// is still there.
	DeletingCondition = "Deleting"

	// ClusterInfrastructureReadyCondition is True when the cluster's network is there to launch nodes into.
	ClusterInfrastructureReadyCondition = "ClusterInfrastructureReady"

	// BootstrapDataReadyCondition is True when the bootstrap data Secret is there and fits into EC2
	// user data, or is kept where user data points to.
	BootstrapDataReadyCondition = "BootstrapDataReady"

	// LaunchTemplateReadyCondition is True when the launch template has the version that the spec
	// asks for. On an AWSMachinePool it mirrors the AWSLaunchConfig of the pool. CAPA's name.
	LaunchTemplateReadyCondition = "LaunchTemplateReady"

	// VerifiedCondition is True when EC2 would launch an instance from the version that the spec
	// asks for. It is there if spec.verify is.
	VerifiedCondition = "Verified"

	// ASGReadyCondition is True when the Auto Scaling group exists as the spec asks for it. CAPA's name.
	ASGReadyCondition = "ASGReady"

	// NodeRoleReadyCondition is True when the IAM role of a managed pool's nodes is there as the
	// spec asks for it. CAPA's name.
	NodeRoleReadyCondition = "IAMNodegroupRolesReady"

	// NodegroupReadyCondition is True when the EKS node group exists as the spec asks for it. CAPA's name.
	NodegroupReadyCondition = "EKSNodegroupReady"

	// NodegroupHealthyCondition is True when EKS reports no health issues for the node group; its
	// message lists the health issues.
	NodegroupHealthyCondition = "NodegroupHealthy"

	// AWSReachableCondition is False while AWS gives no answers; its message says which service,
	// and since when. Its last transition is that time. It is missing while AWS answers. Ready
	// repeats it.
	AWSReachableCondition = "AWSReachable"

	// DeprecatedFieldsCondition is True for a pool that uses fields that will go away; its message
	// says which, what to use and until when. It is missing where there are none, and no part of
	// Ready.
	DeprecatedFieldsCondition = "DeprecatedFieldsInUse"

	// RolledOutCondition is True when no instance of the pool runs another configuration than the
	// wanted one. Ready does not depend on it.
	RolledOutCondition = "RolledOut"

	// NodesDrainedCondition is False while nodes are emptied whose instances are about to end; its
	// message says what is in the way. A pool without an instance that had to wait has no such
	// condition.
	NodesDrainedCondition = "NodesDrained"

	// CapacityAvailableCondition is True when the Auto Scaling group has the capacity that it asks
	// for, and False while launches fail. Ready does not depend on it: the instances that there are
	// work.
	CapacityAvailableCondition = "CapacityAvailable"

	// ResolvedCondition is True when all that an AWSLaunchConfig names was found in AWS: image,
	// instance type, security groups.
	ResolvedCondition = "Resolved"

	// RolloutApprovedCondition is False while the configuration that the spec asks for is not the
	// one that is launched, because spec.rollout is Manual and nobody has approved its version, or
	// because spec.pinnedVersion names another. A pool mirrors it. It is missing where neither is
	// set.
	RolloutApprovedCondition = "RolloutApproved"

	// VersionsPrunedCondition is True when no more launch template versions are kept than
	// spec.versionsToKeep allows (versions in use are always kept).
	VersionsPrunedCondition = "VersionsPruned"

	// AdoptedCondition is True for what CAPA made and Slipway took over; its message says what the
	// instances that were taken over run otherwise than the spec asks for. It is missing where
	// nothing was taken over.
	AdoptedCondition = "Adopted"

	// ReleasedCondition is True when a pool with the release annotation is as CAPA would have it,
	// and Slipway no longer acts on it. It is missing where nobody asked for a release.
	ReleasedCondition = "Released"
)

// Reasons that several conditions share.
const (
	// ConvergedReason is the reason of a Converged condition that is True.
	ConvergedReason = "Converged"
	// ReadyReason is the reason of conditions that are True because all is as it should be.
	ReadyReason = "Ready"
	// PendingReason is the reason of Ready while a condition that it follows from is not known for
	// the current generation.
	PendingReason = "Pending"
	// NotPausedReason is the reason of a Paused condition that is False.
	NotPausedReason = "NotPaused"
	// PausedReason is the reason of a Paused condition that is True.
	PausedReason = "Paused"
	// DeletingReason is the reason of any condition while the object is being deleted.
	DeletingReason = "Deleting"
	// InvalidSpecReason says that AWS refuses what the spec asks for; the message is AWS's. Only an
	// edit helps.
	InvalidSpecReason = "InvalidSpec"
	// AccessDeniedReason says that the controller's identity may not make a call; the message names
	// the action.
	AccessDeniedReason = "AccessDenied"
	// AWSUnavailableReason says that AWS failed or throttled a call, which is tried again without help.
	AWSUnavailableReason = "AWSUnavailable"
	// QuotaExceededReason says that a quota of the AWS account is used up.
	QuotaExceededReason = "QuotaExceeded"
	// NameTakenReason says that the name is held by a resource in AWS that this object does not own.
	NameTakenReason = "NameTaken"
	// OwnerTagMissingReason reports that spec or status names a resource in AWS that exists without
	// the tag that marks it as this object's. The message names the resource and the tag. Slipway
	// neither changes the resource nor creates another until the tag is back.
	OwnerTagMissingReason = "OwnerTagMissing"
)

// ExistingNotAllowedReason of LaunchTemplateReady reports that spec.existing names a launch
// template that belongs to another namespace or cluster, by its tags. It is neither read nor
// launched from.
const ExistingNotAllowedReason = "ExistingNotAllowed"

// Reasons of ClusterInfrastructureReady.
const (
	// WaitingForOwnerReason says that no MachinePool owns the object yet.
	WaitingForOwnerReason = "WaitingForOwner"
	// WaitingForClusterReason says that the Cluster, or the object with its network, does not exist yet.
	WaitingForClusterReason = "WaitingForCluster"
	// WaitingForClusterInfrastructureReason says that the cluster's network is not ready yet.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"
)

// Reasons of ClusterInfrastructureReady, and of Deleting, that say that AWS cannot be called as the
// cluster's identity. Nothing is read or changed in AWS until that changes.
const (
	// IdentityNotFoundReason says that the identity that the cluster's identityRef names, one that
	// it is chained to, or a Secret with its keys does not exist.
	IdentityNotFoundReason = "IdentityNotFound"
	// IdentityNotAllowedReason says that an identity may not be used from the cluster's namespace.
	IdentityNotAllowedReason = "IdentityNotAllowed"
	// IdentityInvalidReason says that an identity cannot be used as it is written.
	IdentityInvalidReason = "IdentityInvalid"
	// IdentityUnknownReason says that an object is being deleted whose identity was not recorded
	// and can no longer be determined.
	IdentityUnknownReason = "IdentityUnknown"
	// IdentityInOtherAccountReason says that the identity acts in another AWS account than the one
	// that holds what was made so far.
	IdentityInOtherAccountReason = "IdentityInOtherAccount"
	// CredentialsInvalidReason says that AWS refuses the identity's keys, or to let it assume its
	// role; the message is AWS's.
	CredentialsInvalidReason = "CredentialsInvalid"
	// InstanceProfileNotAllowedReason, of Resolved, says that the identity limits which instance
	// profiles it may be used with, and not to this one.
	InstanceProfileNotAllowedReason = "InstanceProfileNotAllowed"
)

// Reasons of BootstrapDataReady.
const (
	// WaitingForBootstrapDataReason says that the MachinePool names no bootstrap data Secret yet.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"
	// BootstrapDataSecretNotFoundReason says that the Secret that was named does not exist.
	BootstrapDataSecretNotFoundReason = "BootstrapDataSecretNotFound"
	// BootstrapDataInvalidReason says that the Secret has no value, or a format that is not known.
	BootstrapDataInvalidReason = "BootstrapDataInvalid"
	// UserDataTooLargeReason says that the data is above 16,384 bytes, which EC2 refuses, or above
	// the 8,192 of a parameter.
	UserDataTooLargeReason = "UserDataTooLarge"
	// BucketNotConfiguredReason says that the data should be stored in S3, but the cluster has no
	// bucket.
	BucketNotConfiguredReason = "BucketNotConfigured"
	// BootstrapStorageFailedReason says that the data could not be written to, or deleted from,
	// where it is kept.
	BootstrapStorageFailedReason = "BootstrapStorageFailed"
)

// Reasons of LaunchTemplateReady, Resolved and VersionsPruned.
const (
	// WaitingForLaunchConfigReason says that the AWSLaunchConfig of a pool has not acted on its
	// current spec yet.
	WaitingForLaunchConfigReason = "WaitingForLaunchConfig"
	// LaunchConfigNotOwnedReason says that an AWSLaunchConfig of the pool's name belongs to something else.
	LaunchConfigNotOwnedReason = "LaunchConfigNotOwned"
	// LaunchConfigTemplateNotFoundReason says that the AWSLaunchConfigTemplate that a pool refers
	// to does not exist. What the pool made from it before goes on.
	LaunchConfigTemplateNotFoundReason = "LaunchConfigTemplateNotFound"
	// LaunchConfigTemplateNotAllowedReason says that the AWSLaunchConfigTemplate may not be used
	// from the pool's namespace.
	LaunchConfigTemplateNotAllowedReason = "LaunchConfigTemplateNotAllowed"
	// LaunchTemplateCreateFailedReason says that the template could not be created. CAPA's name.
	LaunchTemplateCreateFailedReason = "LaunchTemplateCreateFailed"
	// LaunchTemplateReconcileFailedReason says that a version, the default version or the tags of an existing
	// template could not be changed. CAPA's name.
	LaunchTemplateReconcileFailedReason = "LaunchTemplateReconcileFailed"
	// LaunchTemplateNotFoundReason says that the template was deleted outside Slipway, and is about
	// to be made again.
	LaunchTemplateNotFoundReason = "LaunchTemplateNotFound"
	// LaunchTemplateDataInvalidReason says that EC2 stored the version with a warning: launches
	// from it would fail.
	LaunchTemplateDataInvalidReason = "LaunchTemplateDataInvalid"
	// VerifyingReason: EC2 has not answered yet.
	VerifyingReason = "Verifying"
	// DryRunFailedReason: EC2 would not launch an instance from the version; the message says why.
	DryRunFailedReason = "DryRunFailed"
	// LaunchTemplateDeleteFailedReason says that the template could not be deleted.
	LaunchTemplateDeleteFailedReason = "LaunchTemplateDeleteFailed"
	// ImageNotFoundReason says that no image matches.
	ImageNotFoundReason = "ImageNotFound"
	// InstanceTypeNotFoundReason says that the region does not know the instance type.
	InstanceTypeNotFoundReason = "InstanceTypeNotFound"
	// NitroEnclaveEdgeZoneUnsupportedReason says that enclaveOptions is enabled, and a subnet or
	// zone of the pool is in a Local Zone or Wavelength Zone, where AWS has no Nitro Enclaves.
	NitroEnclaveEdgeZoneUnsupportedReason = "NitroEnclaveEdgeZoneUnsupported"
	// ArchitectureMismatchReason says that the instance type cannot run the image's architecture.
	ArchitectureMismatchReason = "ArchitectureMismatch"
	// SecurityGroupNotFoundReason says that a security group named by id, or by filters, does not exist.
	SecurityGroupNotFoundReason = "SecurityGroupNotFound"
	// RootVolumeTooSmallReason says that the root volume is smaller than the image's snapshot.
	RootVolumeTooSmallReason = "RootVolumeTooSmall"
	// ResolveFailedReason says that looking something up in AWS failed for another reason.
	ResolveFailedReason = "ResolveFailed"
	// VersionNotFoundReason says that there is no version of the number that spec.pinnedVersion, or
	// spec.existing, names.
	VersionNotFoundReason = "VersionNotFound"
	// PruneFailedReason says that some versions could not be deleted; it is tried again.
	PruneFailedReason = "PruneFailed"
	// VersionsNotVisibleReason says that EC2 does not describe all versions yet. They are counted,
	// and pruned, once it does.
	VersionsNotVisibleReason = "VersionsNotVisible"
)

// Reasons of RolloutApproved.
const (
	// ApprovedReason says that what the spec asks for is launched.
	ApprovedReason = "Approved"
	// WaitingForApprovalReason says that a version was made and waits for its number in the
	// approved-version annotation; the message says what it would change.
	WaitingForApprovalReason = "WaitingForApproval"
	// PinnedReason says that the configuration of spec.pinnedVersion is launched.
	PinnedReason = "Pinned"
)

// Reasons of ASGReady.
const (
	// WaitingForLaunchTemplateReason says that the group waits for the LaunchTemplateReady condition.
	WaitingForLaunchTemplateReason = "WaitingForLaunchTemplate"
	// SubnetsNotFoundReason says that subnets or zones that the spec names lead to no subnet.
	SubnetsNotFoundReason = "SubnetsNotFound"
	// ASGProvisionFailedReason says that the group could not be created. CAPA's name.
	ASGProvisionFailedReason = "ASGProvisionFailed"
	// ASGUpdateFailedReason says that the group, or its tags, could not be changed.
	ASGUpdateFailedReason = "ASGUpdateFailed"
	// ASGNotFoundReason says that the group was deleted outside Slipway, and is about to be made
	// again. CAPA's name.
	ASGNotFoundReason = "ASGNotFound"
	// ASGDeletionInProgressReason says that the group, or its instances, are being deleted. CAPA's value.
	ASGDeletionInProgressReason = "ASGDeletionInProgress"
	// ASGDeletionProtectedReason says that spec.deletionProtection keeps the group, and the pool
	// with it, from being deleted.
	ASGDeletionProtectedReason = "ASGDeletionProtected"
	// ASGDeleteFailedReason says that the group could not be deleted.
	ASGDeleteFailedReason = "ASGDeleteFailed"
	// ReplicasOutOfBoundsReason says that the MachinePool asks for more or fewer replicas than
	// maxSize and minSize allow, which AWS refuses.
	ReplicasOutOfBoundsReason = "ReplicasOutOfBounds"
)

// Reasons of IAMNodegroupRolesReady.
const (
	// NodeRoleNotFoundReason says that the role that spec.roleName names does not exist, and may not be made.
	NodeRoleNotFoundReason = "NodeRoleNotFound"
	// NodeRoleReconcileFailedReason says that the role, or its policies, could not be made or
	// changed. CAPA's value.
	NodeRoleReconcileFailedReason = "IAMNodegroupRolesReconciliationFailed"
	// NodeRoleDeleteFailedReason says that the role could not be deleted.
	NodeRoleDeleteFailedReason = "IAMNodegroupRolesDeleteFailed"
)

// Reasons of EKSNodegroupReady, in addition to those that it shares with ASGReady.
const (
	// WaitingForControlPlaneReason says that the EKS cluster is not there, or not active, yet.
	WaitingForControlPlaneReason = "WaitingForControlPlane"
	// WaitingForNodeRoleReason says that the node group waits for the IAMNodegroupRolesReady condition.
	WaitingForNodeRoleReason = "WaitingForNodeRole"
	// NodegroupCreatingReason says that EKS is making the node group.
	NodegroupCreatingReason = "NodegroupCreating"
	// NodegroupUpdatingReason says that EKS is changing the node group; what else the spec asks for waits.
	NodegroupUpdatingReason = "NodegroupUpdating"
	// NodegroupDeletingReason says that EKS is deleting the node group.
	NodegroupDeletingReason = "NodegroupDeleting"
	// NodegroupNotFoundReason says that the node group was deleted outside Slipway, and is about to
	// be made again.
	NodegroupNotFoundReason = "NodegroupNotFound"
	// NodegroupReconcileFailedReason says that the node group could not be made or changed. CAPA's value.
	NodegroupReconcileFailedReason = "EKSNodegroupReconciliationFailed"
	// NodegroupCreateFailedReason says that EKS could not make the node group (CREATE_FAILED); the
	// health issues say why.
	NodegroupCreateFailedReason = "NodegroupCreateFailed"
	// NodegroupDeleteFailedReason says that EKS could not delete the node group (DELETE_FAILED).
	NodegroupDeleteFailedReason = "NodegroupDeleteFailed"
	// NodegroupUpdateFailedReason says that the newest update failed, and EKS went back. It is a
	// reason of RolledOut too.
	NodegroupUpdateFailedReason = "NodegroupUpdateFailed"
	// ImmutableFieldReason says that the node group is otherwise than the spec asks for in
	// something that EKS cannot change: only a new pool has it.
	ImmutableFieldReason = "ImmutableField"
	// TemplateLostReason says that the launch template of the node group was deleted. EKS cannot
	// point a node group at another; spec.templateLossPolicy Replace replaces it.
	TemplateLostReason = "TemplateLost"
	// CapacityBlockEndedReason says that the Capacity Block of the node group has ended or is about
	// to, so that the pool has no nodes until the block is extended or the launch template names
	// another.
	CapacityBlockEndedReason = "CapacityBlockEnded"
	// ReplacingNodegroupReason says that a second node group takes the place of one whose launch
	// template is lost.
	ReplacingNodegroupReason = "ReplacingNodegroup"
	// UserDataInvalidReason, of BootstrapDataReady, says that the bootstrap data is nothing that
	// the image's family understands, or not enough of it.
	UserDataInvalidReason = "UserDataInvalid"
)

// Reasons of NodegroupHealthy.
const (
	// HealthyReason says that EKS reports no issue.
	HealthyReason = "Healthy"
	// DegradedReason says that EKS reports issues.
	DegradedReason = "Degraded"
)

// Reasons of RolledOut of a managed pool, in addition to those that it shares with AWSMachinePool.
const (
	// WaitingForUpdateReason says that an update is due, and waits for an earlier one to end: EKS
	// does one at a time.
	WaitingForUpdateReason = "WaitingForUpdate"
	// CapacityBlockInUseReason says that an update is due, and that EKS makes it only while the
	// node group has no nodes: they run in a Capacity Block.
	CapacityBlockInUseReason = "CapacityBlockInUse"
	// WaitingForNodegroupReason says that there is no node group yet.
	WaitingForNodegroupReason = "WaitingForNodegroup"
)

// Reason of DeprecatedFieldsInUse.
const (
	// DeprecatedFieldsReason says that the pool uses fields that will go away.
	DeprecatedFieldsReason = "DeprecatedFieldsInUse"
)

// Reasons of NodesDrained.
const (
	// InstancesRetainedReason says that the group keeps instances whose termination was abandoned,
	// and not by Slipway.
	InstancesRetainedReason = "InstancesRetained"
	// DrainedReason says that no instance waits for its node to be emptied.
	DrainedReason = "Drained"
	// DrainingReason says that instances wait for their nodes to be emptied. It is a reason of Deleting too.
	DrainingReason = "Draining"
)

// Reasons of CapacityAvailable, in addition to QuotaExceeded.
const (
	// CapacityAvailableReason says that the group has the capacity that it asks for.
	CapacityAvailableReason = "CapacityAvailable"
	// InsufficientCapacityReason says that AWS has no capacity for the instances that the group
	// should launch, where it should launch them; the message is AWS's. The group tries again by
	// itself; more instance types or zones help.
	InsufficientCapacityReason = "InsufficientCapacity"
	// LaunchFailedReason says that EC2 refuses the group's launches; the message is AWS's.
	LaunchFailedReason = "LaunchFailed"
	// LaunchSuspendedReason says that instances are missing because the process that launches them
	// is suspended.
	LaunchSuspendedReason = "LaunchSuspended"
	// WaitingForInstancesReason says that instances are missing, and that no launch failed.
	WaitingForInstancesReason = "WaitingForInstances"
)

// Reasons of RolledOut.
const (
	// RolledOutReason says that every instance runs the wanted configuration.
	RolledOutReason = "RolledOut"
	// RollingOutReason says that an instance refresh is replacing instances.
	RollingOutReason = "RollingOut"
	// WaitingForRefreshReason says that a refresh is due, and waits for an earlier one to end.
	WaitingForRefreshReason = "WaitingForRefresh"
	// RefreshDisabledReason says that instances run another configuration, and
	// spec.refreshPreferences.disable leaves it to somebody else to replace them.
	RefreshDisabledReason = "RefreshDisabled"
	// RefreshStartFailedReason says that AWS refused to start the refresh.
	RefreshStartFailedReason = "RefreshStartFailed"
	// RefreshFailedReason says that the refresh ended without replacing all instances. CAPA's value
	// is the same idea under InstanceRefreshFailed.
	RefreshFailedReason = "RefreshFailed"
	// RefreshCancelledReason says that somebody cancelled the refresh, or rolled it back.
	RefreshCancelledReason = "RefreshCancelled"
	// SettlingReason says that the spec changed recently: the roll-out begins when it has not
	// changed for a while, so that a batch of edits causes one roll-out.
	SettlingReason = "Settling"
	// SupersededReason says that the refresh that runs is being cancelled, because a newer
	// configuration is wanted.
	SupersededReason = "Superseded"
	// RolledBackReason says that a refresh to what the spec asks for failed, and the pool went back
	// to the configuration before it, as spec.refreshPreferences.rollback asks for. An edit of the
	// spec ends it.
	RolledBackReason = "RolledBack"
	// InstancesLeftReason says that spec.refreshPreferences leaves the rest of the instances as they are.
	InstancesLeftReason = "InstancesLeft"
	// WaitingForASGReason says that there is no group yet.
	WaitingForASGReason = "WaitingForASG"
)

// Reasons of Adopted and Released.
const (
	// AdoptedReason says that what was taken over runs what the spec asked for at that time, or has
	// been replaced since.
	AdoptedReason = "Adopted"
	// AdoptedWithDifferencesReason says that instances that were taken over run something else than
	// the spec asks for. They are kept until the next edit of what a node is, or until the
	// roll-adopted annotation asks for their replacement.
	AdoptedWithDifferencesReason = "AdoptedWithDifferences"
	// AdoptingReason says that a group of CAPA's is about to be taken over.
	AdoptingReason = "Adopting"
	// AdoptionBlockedReason says that a group of CAPA's is this pool's, and what keeps it from
	// being taken over.
	AdoptionBlockedReason = "AdoptionBlocked"
	// ReleasedReason says that CAPA can run the pool.
	ReleasedReason = "Released"
	// ReleasingReason says that a pool is being made as CAPA would have it.
	ReleasingReason = "Releasing"
)
