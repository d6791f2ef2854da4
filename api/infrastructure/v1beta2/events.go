package v1beta2

// Events of AWSMachinePool.
const (
	// AdoptionDeferredEvent reports that Slipway does not take over CAPA's group yet, because AWS is
	// replacing or updating its nodes for another user or program. Pools of both kinds report it.
	//
	// Remedy: none, Slipway continues when AWS has finished. The message names the command that shows
	// the progress.
	AdoptionDeferredEvent = "AdoptionDeferred"

	// ASGAdoptedEvent reports that Slipway took over an Auto Scaling group that CAPA created.
	//
	// Remedy: none.
	ASGAdoptedEvent = "ASGAdopted"

	// ASGChangedOutsideEvent reports that another user or program changed the Auto Scaling group,
	// and that Slipway changed it back.
	//
	// Remedy: change the spec instead of the group. CloudTrail shows who changed the group.
	ASGChangedOutsideEvent = "ASGChangedOutside"

	// ASGCreatedEvent reports that Slipway created the Auto Scaling group.
	//
	// Remedy: none.
	ASGCreatedEvent = "ASGCreated"

	// ASGDeletingEvent reports that Slipway is deleting the Auto Scaling group and its instances.
	//
	// Remedy: none.
	ASGDeletingEvent = "ASGDeleting"

	// ASGEmptyingEvent reports that Slipway is terminating the instances of a group before it
	// deletes the group.
	//
	// Remedy: none.
	ASGEmptyingEvent = "ASGEmptying"

	// ASGHooksChangedEvent reports that Slipway changed lifecycle hooks of the Auto Scaling group.
	//
	// Remedy: none.
	ASGHooksChangedEvent = "ASGHooksChanged"

	// ASGLostEvent reports that the Auto Scaling group was deleted outside Slipway, and that Slipway
	// recreates it.
	//
	// Remedy: none. CloudTrail shows who deleted the group. spec.deletionProtection prevents it.
	ASGLostEvent = "ASGLost"

	// ASGReleasedEvent reports that Slipway released the Auto Scaling group to CAPA.
	//
	// Remedy: none.
	ASGReleasedEvent = "ASGReleased"

	// ASGUpdatedEvent reports which settings of the Auto Scaling group Slipway changed.
	//
	// Remedy: none.
	ASGUpdatedEvent = "ASGUpdated"

	// CapacityMissingEvent reports that launches of the Auto Scaling group fail. The message is
	// AWS's.
	//
	// Remedy: correct what the message names, or allow more instance types or zones.
	CapacityMissingEvent = "CapacityMissing"

	// InstanceRefreshEndedEvent reports that an instance refresh finished without replacing all
	// instances.
	//
	// Remedy: act on the message. Slipway starts another refresh after a delay.
	InstanceRefreshEndedEvent = "InstanceRefreshEnded"

	// InstanceRefreshPausedEvent reports that Slipway cancels an instance refresh, because the
	// annotation rollout-paused pauses roll-outs.
	//
	// Remedy: none. Remove the annotation to continue.
	InstanceRefreshPausedEvent = "InstanceRefreshPaused"

	// InstanceRefreshStartedEvent reports that Slipway started an instance refresh, and which change
	// caused it.
	//
	// Remedy: none.
	InstanceRefreshStartedEvent = "InstanceRefreshStarted"

	// InstanceRefreshStoppedEvent reports that Slipway cancels an instance refresh, because the nodes
	// of most instances that it launched do not become Ready.
	//
	// Remedy: see the reason NodesNotReady of the condition RolledOut.
	InstanceRefreshStoppedEvent = "InstanceRefreshStopped"

	// InstanceRefreshSucceededEvent reports that an instance refresh replaced all instances.
	//
	// Remedy: none.
	InstanceRefreshSucceededEvent = "InstanceRefreshSucceeded"

	// InstanceRefreshSupersededEvent reports that Slipway cancels an instance refresh, because a
	// newer configuration is desired.
	//
	// Remedy: none.
	InstanceRefreshSupersededEvent = "InstanceRefreshSuperseded"

	// InstanceRetainedEvent reports that the group retains an instance whose node was not drained in
	// time.
	//
	// Remedy: check the pods and PodDisruptionBudgets that the message names. The instance is
	// terminated once its node is empty.
	InstanceRetainedEvent = "InstanceRetained"

	// InstanceTerminatedEvent reports that Slipway terminated an instance, because its Machine was
	// deleted.
	//
	// Remedy: none.
	InstanceTerminatedEvent = "InstanceTerminated"

	// MachinesRemovedEvent reports that Slipway removed Machines without terminating their
	// instances.
	//
	// Remedy: none.
	MachinesRemovedEvent = "MachinesRemoved"

	// NodeDrainTimedOutEvent reports that an instance was terminated at the time limit of its drain,
	// although its node was not empty.
	//
	// Remedy: check the pods and PodDisruptionBudgets that the message names, or increase
	// spec.nodeDrain.timeout.
	NodeDrainTimedOutEvent = "NodeDrainTimedOut"

	// NodeDrainedEvent reports that the node of an instance was drained.
	//
	// Remedy: none.
	NodeDrainedEvent = "NodeDrained"

	// NodeDrainingEvent reports that Slipway is draining a node, and until when.
	//
	// Remedy: none.
	NodeDrainingEvent = "NodeDraining"

	// NodeNotDrainedEvent reports that an instance was terminated before its node was seen empty,
	// because another program completed its lifecycle action or its heartbeats stopped.
	//
	// Remedy: check who completes lifecycle actions of the group. If it was none, check that the
	// manager runs.
	NodeNotDrainedEvent = "NodeNotDrained"

	// NodeUncordonedEvent reports that Slipway uncordoned a node whose instance is in service again.
	//
	// Remedy: none.
	NodeUncordonedEvent = "NodeUncordoned"

	// ReplicasFollowedEvent reports that Slipway set the replicas of the MachinePool to the group's
	// desired capacity.
	//
	// Remedy: none.
	ReplicasFollowedEvent = "ReplicasFollowed"

	// RolledBackEvent reports that a roll-out failed, and that the pool goes back to its previous
	// configuration.
	//
	// Remedy: correct the spec. An edit finishes the roll-back.
	RolledBackEvent = "RolledBack"
)

// Events of AWSLaunchConfig. Pools report some of them too.
const (
	// BootstrapDataDeletedEvent reports that Slipway deleted bootstrap data from the place where it
	// was kept.
	//
	// Remedy: none.
	BootstrapDataDeletedEvent = "BootstrapDataDeleted"

	// BootstrapDataStoredEvent reports that Slipway wrote the bootstrap data to the place that the
	// message names.
	//
	// Remedy: none.
	BootstrapDataStoredEvent = "BootstrapDataStored"

	// ImageGoneEvent reports that the image of the launch template no longer exists, and that
	// Slipway looks up another one.
	//
	// Remedy: none. To keep an image, deregister it only when no pool uses it.
	ImageGoneEvent = "ImageGone"

	// LaunchTemplateAdoptedEvent reports that Slipway took over a launch template that CAPA created.
	//
	// Remedy: none.
	LaunchTemplateAdoptedEvent = "LaunchTemplateAdopted"

	// LaunchTemplateChangedOutsideEvent reports that another user or program changed the launch
	// template, and that Slipway changed it back.
	//
	// Remedy: change the spec instead of the launch template. CloudTrail shows who changed it.
	LaunchTemplateChangedOutsideEvent = "LaunchTemplateChangedOutside"

	// LaunchTemplateCreatedEvent reports that Slipway created the launch template.
	//
	// Remedy: none.
	LaunchTemplateCreatedEvent = "LaunchTemplateCreated"

	// LaunchTemplateDataInvalidEvent reports that EC2 stored a launch template version with a
	// warning: launches from it would fail.
	//
	// Remedy: correct the field that the message names.
	LaunchTemplateDataInvalidEvent = "LaunchTemplateDataInvalid"

	// LaunchTemplateDeletedEvent reports that Slipway deleted the launch template.
	//
	// Remedy: none.
	LaunchTemplateDeletedEvent = "LaunchTemplateDeleted"

	// LaunchTemplateFollowedEvent reports that Slipway follows an existing launch template.
	//
	// Remedy: none.
	LaunchTemplateFollowedEvent = "LaunchTemplateFollowed"

	// LaunchTemplateLeftEvent reports that Slipway leaves a launch template in AWS, because it does
	// not have the owner tag.
	//
	// Remedy: delete the launch template yourself if nothing uses it.
	LaunchTemplateLeftEvent = "LaunchTemplateLeft"

	// LaunchTemplateLostEvent reports that the launch template was deleted outside Slipway.
	//
	// Remedy: none for a template of Slipway, which is recreated. Otherwise recreate the template,
	// or name another one.
	LaunchTemplateLostEvent = "LaunchTemplateLost"

	// LaunchTemplateReleasedEvent reports that Slipway released the launch template to CAPA.
	//
	// Remedy: none.
	LaunchTemplateReleasedEvent = "LaunchTemplateReleased"

	// LaunchTemplateVersionCreatedEvent reports that Slipway created a launch template version, and
	// which change caused it.
	//
	// Remedy: none.
	LaunchTemplateVersionCreatedEvent = "LaunchTemplateVersionCreated"

	// LaunchTemplateVersionFollowedEvent reports that another version of an existing launch template
	// takes effect, and how it differs.
	//
	// Remedy: none.
	LaunchTemplateVersionFollowedEvent = "LaunchTemplateVersionFollowed"

	// LaunchTemplateVersionPendingEvent reports that Slipway created a version that waits for
	// approval.
	//
	// Remedy: set the approved-version annotation to the number of the version, or undo the edit.
	LaunchTemplateVersionPendingEvent = "LaunchTemplateVersionPending"

	// LaunchTemplateVersionsPrunedEvent reports which unused versions Slipway deleted.
	//
	// Remedy: none.
	LaunchTemplateVersionsPrunedEvent = "LaunchTemplateVersionsPruned"
)

// Events of AWSManagedMachinePool, in addition to events that it shares with AWSMachinePool.
const (
	// NodeRoleChangedEvent reports what Slipway changed in the IAM role of the nodes.
	//
	// Remedy: none.
	NodeRoleChangedEvent = "NodeRoleChanged"

	// NodeRoleCreatedEvent reports that Slipway created the IAM role of the nodes.
	//
	// Remedy: none.
	NodeRoleCreatedEvent = "NodeRoleCreated"

	// NodeRoleDeletedEvent reports that Slipway deleted the IAM role of the nodes.
	//
	// Remedy: none.
	NodeRoleDeletedEvent = "NodeRoleDeleted"

	// NodeRoleHandedOverEvent reports that Slipway transferred the IAM role to another pool whose
	// nodes use it.
	//
	// Remedy: none.
	NodeRoleHandedOverEvent = "NodeRoleHandedOver"

	// NodeRoleLeftEvent reports that Slipway leaves an IAM role in AWS when the pool is deleted.
	//
	// Remedy: delete the role in IAM if nothing uses it.
	NodeRoleLeftEvent = "NodeRoleLeft"

	// NodegroupActiveEvent reports that the node group is active.
	//
	// Remedy: none.
	NodegroupActiveEvent = "NodegroupActive"

	// NodegroupAdoptedEvent reports that Slipway took over a node group that CAPA created.
	//
	// Remedy: none.
	NodegroupAdoptedEvent = "NodegroupAdopted"

	// NodegroupConfigUpdateStartedEvent reports that Slipway started an update of the settings of
	// the node group.
	//
	// Remedy: none.
	NodegroupConfigUpdateStartedEvent = "NodegroupConfigUpdateStarted"

	// NodegroupConfigUpdatedEvent reports that an update of the settings of the node group
	// succeeded.
	//
	// Remedy: none.
	NodegroupConfigUpdatedEvent = "NodegroupConfigUpdated"

	// NodegroupCreatedEvent reports that EKS is creating the node group.
	//
	// Remedy: none.
	NodegroupCreatedEvent = "NodegroupCreated"

	// NodegroupDeletingEvent reports that Slipway is deleting the node group, and why.
	//
	// Remedy: none.
	NodegroupDeletingEvent = "NodegroupDeleting"

	// NodegroupLostEvent reports that the node group was deleted outside Slipway, and that Slipway
	// recreates it.
	//
	// Remedy: none. CloudTrail shows who deleted the node group.
	NodegroupLostEvent = "NodegroupLost"

	// NodegroupReleasedEvent reports that Slipway released the node group to CAPA.
	//
	// Remedy: none.
	NodegroupReleasedEvent = "NodegroupReleased"

	// NodegroupReplacedEvent reports that a second node group has taken the place of one whose
	// launch template is lost.
	//
	// Remedy: none.
	NodegroupReplacedEvent = "NodegroupReplaced"

	// NodegroupReplacingEvent reports that Slipway creates a second node group, because the launch
	// template of the first is lost.
	//
	// Remedy: none. CloudTrail shows who deleted the launch template.
	NodegroupReplacingEvent = "NodegroupReplacing"

	// NodegroupRetiringEvent reports that Slipway is deleting a node group that was replaced.
	//
	// Remedy: none.
	NodegroupRetiringEvent = "NodegroupRetiring"

	// NodegroupUnhealthyEvent reports the health issues of the node group.
	//
	// Remedy: act on the health issues.
	NodegroupUnhealthyEvent = "NodegroupUnhealthy"

	// NodegroupUpdateFailedEvent reports that an update of the node group failed, and that EKS went
	// back.
	//
	// Remedy: act on the message, which is often a PodDisruptionBudget that allows no eviction. The
	// update is retried.
	NodegroupUpdateFailedEvent = "NodegroupUpdateFailed"

	// NodegroupUpdateStartedEvent reports that Slipway started a version update of the node group,
	// which replaces its nodes, and which change caused it.
	//
	// Remedy: none.
	NodegroupUpdateStartedEvent = "NodegroupUpdateStarted"

	// NodegroupUpdatedEvent reports that a version update of the node group succeeded.
	//
	// Remedy: none.
	NodegroupUpdatedEvent = "NodegroupUpdated"
)
