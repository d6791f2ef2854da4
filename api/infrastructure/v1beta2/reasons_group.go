package v1beta2

// Reasons of ASGReady.
const (
	// WaitingForLaunchTemplateReason reports that the group waits for the condition
	// LaunchTemplateReady.
	//
	// Nodes: running nodes stay. A new pool has none.
	// Remedy: act on the condition LaunchTemplateReady.
	WaitingForLaunchTemplateReason = "WaitingForLaunchTemplate"

	// SubnetsNotFoundReason reports that the subnets or zones that the spec names lead to no subnet.
	//
	// Nodes: running nodes stay in their subnets. A new pool has none.
	// Remedy: name subnets or zones that exist in the VPC of the cluster.
	//
	// +slipway:condition=ASGReady:False
	// +slipway:condition=Resolved:False
	SubnetsNotFoundReason = "SubnetsNotFound"

	// ASGProvisionFailedReason reports that the group could not be created. The value is CAPA's.
	//
	// Nodes: the pool has none.
	// Remedy: act on the message. The call is retried.
	ASGProvisionFailedReason = "ASGProvisionFailed"

	// ASGUpdateFailedReason reports that the group, or its tags, could not be changed.
	//
	// Nodes: running nodes stay. New nodes use the settings that the group has.
	// Remedy: act on the message. The call is retried.
	ASGUpdateFailedReason = "ASGUpdateFailed"

	// ASGNotFoundReason reports that the group was deleted outside Slipway, and that Slipway
	// recreates it. The value is CAPA's.
	//
	// Nodes: they were terminated with the group. New nodes are launched.
	// Remedy: none. Find out who deleted the group, in CloudTrail, or set spec.deletionProtection.
	ASGNotFoundReason = "ASGNotFound"

	// ASGDeletionInProgressReason reports that the group, or its instances, are being deleted. The
	// value is CAPA's.
	//
	// Nodes: they are drained and terminated.
	// Remedy: none.
	ASGDeletionInProgressReason = "ASGDeletionInProgress"

	// ASGDeletionProtectedReason reports that spec.deletionProtection keeps the group, and the pool
	// with it, from being deleted.
	//
	// Nodes: they stay.
	// Remedy: set spec.deletionProtection to none to delete the pool.
	ASGDeletionProtectedReason = "ASGDeletionProtected"

	// ASGDeleteFailedReason reports that the group could not be deleted.
	//
	// Nodes: the remaining ones stay.
	// Remedy: act on the message. The call is retried.
	ASGDeleteFailedReason = "ASGDeleteFailed"

	// ReplicasOutOfBoundsReason reports that the MachinePool asks for more replicas than maxSize or
	// for fewer than minSize, which AWS refuses.
	//
	// Nodes: their number stays within the bounds that the group has.
	// Remedy: change spec.replicas of the MachinePool, or the bounds of the pool.
	//
	// +slipway:condition=ASGReady:False
	ReplicasOutOfBoundsReason = "ReplicasOutOfBounds"
)

// Reasons of IAMNodegroupRolesReady.
const (
	// NodeRoleReconcileFailedReason reports that the role, or its policies, could not be created or
	// changed. The value is CAPA's.
	//
	// Nodes: running nodes keep the role that they have. A new pool has none.
	// Remedy: act on the message. The call is retried.
	//
	// +slipway:condition=IAMNodegroupRolesReady:False
	NodeRoleReconcileFailedReason = "IAMNodegroupRolesReconciliationFailed"

	// NodeRoleDeleteFailedReason reports that the role could not be deleted.
	//
	// Nodes: no effect: its nodes are terminated already.
	// Remedy: act on the message. The call is retried.
	NodeRoleDeleteFailedReason = "IAMNodegroupRolesDeleteFailed"
)

// Reasons of EKSNodegroupReady, in addition to the reasons that it shares with ASGReady.
const (
	// WaitingForControlPlaneReason reports that the EKS cluster does not exist yet, is not active,
	// or has a lower Kubernetes version than the spec asks for.
	//
	// Nodes: running nodes stay. A new pool has none.
	// Remedy: none while the control plane is created or upgraded. Otherwise check the
	// AWSManagedControlPlane.
	//
	// +slipway:condition=EKSNodegroupReady:False
	// +slipway:condition=Resolved:False
	WaitingForControlPlaneReason = "WaitingForControlPlane"

	// NodegroupCreatingReason reports that EKS is creating the node group.
	//
	// Nodes: they join within minutes.
	// Remedy: none.
	NodegroupCreatingReason = "NodegroupCreating"

	// NodegroupUpdatingReason reports that EKS is updating the node group. Other changes of the spec
	// wait.
	//
	// Nodes: EKS drains and replaces them if the update is a version update.
	// Remedy: none.
	NodegroupUpdatingReason = "NodegroupUpdating"

	// NodegroupDeletingReason reports that EKS is deleting the node group, or does so after an update.
	//
	// Nodes: EKS drains and terminates them.
	// Remedy: none.
	NodegroupDeletingReason = "NodegroupDeleting"

	// NodegroupNotFoundReason reports that the node group was deleted outside Slipway, and that
	// Slipway recreates it.
	//
	// Nodes: they were terminated with the node group. New nodes are launched.
	// Remedy: none. Find out who deleted the node group, in CloudTrail.
	NodegroupNotFoundReason = "NodegroupNotFound"

	// NodegroupReconcileFailedReason reports that the node group could not be created or changed.
	// The value is CAPA's.
	//
	// Nodes: running nodes stay.
	// Remedy: act on the message. The call is retried.
	NodegroupReconcileFailedReason = "EKSNodegroupReconciliationFailed"

	// NodegroupCreateFailedReason reports that EKS could not create the node group (CREATE_FAILED).
	// The health issues give the reason.
	//
	// Nodes: none joined the cluster.
	// Remedy: act on the health issues. Slipway deletes the node group and creates it again.
	//
	// +slipway:condition=EKSNodegroupReady:False
	NodegroupCreateFailedReason = "NodegroupCreateFailed"

	// NodegroupDeleteFailedReason reports that EKS could not delete the node group (DELETE_FAILED).
	//
	// Nodes: the remaining ones stay.
	// Remedy: act on the health issues. The deletion is retried.
	NodegroupDeleteFailedReason = "NodegroupDeleteFailed"

	// NodegroupUpdateFailedReason reports that the newest update failed, and that EKS went back to
	// the previous version.
	//
	// Nodes: running nodes have the previous version.
	// Remedy: act on the message, which is often a PodDisruptionBudget that allows no eviction. The
	// update is retried.
	NodegroupUpdateFailedReason = "NodegroupUpdateFailed"

	// ImmutableFieldReason reports that the spec differs from the node group in a setting that EKS
	// cannot change.
	//
	// Nodes: running and new nodes keep the setting that the node group has.
	// Remedy: undo the edit, or create a new pool with the setting.
	//
	// +slipway:condition=EKSNodegroupReady:False
	// +slipway:condition=RolledOut:False on AWSManagedMachinePool
	ImmutableFieldReason = "ImmutableField"

	// TemplateLostReason reports that the launch template of the node group was deleted. EKS cannot
	// point a node group at another one.
	//
	// Nodes: running nodes stay. EKS can launch no new ones.
	// Remedy: set spec.templateLossPolicy to Replace, or create a new pool.
	//
	// +slipway:condition=EKSNodegroupReady:False
	// +slipway:condition=RolledOut:False on AWSManagedMachinePool
	TemplateLostReason = "TemplateLost"

	// CapacityBlockEndedReason reports that the Capacity Block of the node group has expired or is
	// about to.
	//
	// Nodes: EKS terminates them. The pool has none until there is another Capacity Block.
	// Remedy: extend the Capacity Block, or name another one in the launch template.
	CapacityBlockEndedReason = "CapacityBlockEnded"

	// ReplacingNodegroupReason reports that a second node group takes the place of one whose launch
	// template is lost.
	//
	// Nodes: they are replaced: new nodes join, then EKS drains the old ones.
	// Remedy: none.
	ReplacingNodegroupReason = "ReplacingNodegroup"
)

// Reasons of NodegroupHealthy.
const (
	// HealthyReason reports that EKS reports no health issue.
	//
	// Nodes: no effect.
	// Remedy: none.
	HealthyReason = "Healthy"

	// DegradedReason reports that EKS reports health issues, which the message lists.
	//
	// Nodes: depends on the issue: often no new nodes can be launched or join.
	// Remedy: act on the health issues.
	DegradedReason = "Degraded"
)

// Reason of DeprecatedFieldsInUse.
const (
	// DeprecatedFieldsReason reports that the pool uses fields that a later release removes.
	//
	// Nodes: no effect.
	// Remedy: use the fields that the message names instead.
	DeprecatedFieldsReason = "DeprecatedFieldsInUse"
)

// Reasons of NodesDrained.
const (
	// InstancesRetainedReason reports that the group retains instances whose termination was
	// abandoned by another program than Slipway.
	//
	// Nodes: the retained ones stay and cost money. The group has launched replacements.
	// Remedy: terminate the instances that the message lists, or find the program that abandons the
	// lifecycle action.
	InstancesRetainedReason = "InstancesRetained"

	// DrainedReason reports that no instance waits for its node to be drained.
	//
	// Nodes: no effect.
	// Remedy: none.
	DrainedReason = "Drained"

	// DrainingReason reports that instances wait for their nodes to be drained. It is a reason of
	// Deleting too.
	//
	// Nodes: they are cordoned and their pods are evicted.
	// Remedy: none. If it lasts, check the pods and PodDisruptionBudgets that the message names.
	DrainingReason = "Draining"
)

// Reasons of CapacityAvailable, in addition to QuotaExceeded.
const (
	// CapacityAvailableReason reports that the group has its desired capacity.
	//
	// Nodes: no effect.
	// Remedy: none.
	CapacityAvailableReason = "CapacityAvailable"

	// InsufficientCapacityReason reports that AWS has no capacity for the instances that the group
	// should launch, where it should launch them. The message is AWS's.
	//
	// Nodes: some are missing.
	// Remedy: none: the group retries by itself. More instance types or zones help.
	//
	// +slipway:condition=CapacityAvailable:False
	InsufficientCapacityReason = "InsufficientCapacity"

	// LaunchFailedReason reports that EC2 refuses the group's launches. The message is AWS's.
	//
	// Nodes: some are missing.
	// Remedy: correct what the message names. The group retries by itself.
	LaunchFailedReason = "LaunchFailed"

	// LaunchSuspendedReason reports that instances are missing because the process Launch of the
	// group is suspended.
	//
	// Nodes: some are missing, and none are launched.
	// Remedy: remove launch from spec.suspendProcesses, or resume the process.
	LaunchSuspendedReason = "LaunchSuspended"

	// WaitingForInstancesReason reports that instances are missing, and that no launch failed.
	//
	// Nodes: some are still being launched.
	// Remedy: none.
	WaitingForInstancesReason = "WaitingForInstances"
)
