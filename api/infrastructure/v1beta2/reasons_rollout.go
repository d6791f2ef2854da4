package v1beta2

// Reasons of RolledOut.
const (
	// RolledOutReason reports that every instance runs the desired configuration, also in a warm pool.
	//
	// Nodes: no effect.
	// Remedy: none.
	RolledOutReason = "RolledOut"

	// RollingOutReason reports that instances are being replaced.
	//
	// Nodes: they are drained and replaced, within the limits of spec.refreshPreferences or
	// spec.updateConfig.
	// Remedy: none. The message and the condition NodesDrained report what it waits for.
	RollingOutReason = "RollingOut"

	// WaitingForRefreshReason reports that an instance refresh is due, and waits for an earlier one
	// to finish or for an instance to be in service.
	//
	// Nodes: running nodes keep their configuration until then.
	// Remedy: none.
	WaitingForRefreshReason = "WaitingForRefresh"

	// RefreshDisabledReason reports that instances run another configuration, and that
	// spec.refreshPreferences.disable keeps Slipway from replacing them.
	//
	// Nodes: running nodes keep their configuration. New nodes have the desired one.
	// Remedy: terminate the instances when it suits, or remove spec.refreshPreferences.disable.
	RefreshDisabledReason = "RefreshDisabled"

	// RolloutPausedReason reports that nodes run another configuration, and that the annotation
	// rollout-paused keeps Slipway from replacing them.
	//
	// Nodes: running nodes keep their configuration. A node that is already being terminated is
	// replaced, and so are the nodes of an EKS update that is in progress.
	// Remedy: none. Remove the annotation rollout-paused to continue.
	RolloutPausedReason = "RolloutPaused"

	// RefreshStartFailedReason reports that AWS refused to start the instance refresh.
	//
	// Nodes: running nodes keep their configuration.
	// Remedy: act on the message. The call is retried.
	RefreshStartFailedReason = "RefreshStartFailed"

	// NodesNotReadyReason reports that most instances with the desired configuration have no Ready Node
	// a minute before their warm-up has passed, although more of the nodes with the earlier configuration
	// are Ready, and that Slipway therefore replaces no more of them.
	//
	// Nodes: nodes with the earlier configuration stay. Most instances that were replaced already have no
	// Ready Node.
	// Remedy: find out why the nodes do not become Ready, such as the bootstrap data, the image, or
	// the network, and edit the spec. The roll-out continues by itself once most of them are Ready, and
	// `slipway rollout retry` waits for them again. Set spec.refreshPreferences.instanceWarmup if
	// nodes need longer.
	NodesNotReadyReason = "NodesNotReady"

	// RefreshFailedReason reports that the instance refresh finished without replacing all
	// instances. CAPA's InstanceRefreshFailed has the same meaning.
	//
	// Nodes: some run the desired configuration and some do not.
	// Remedy: act on the message, such as a health check that fails. Slipway starts another one,
	// with increasing delays.
	//
	// +slipway:condition=RolledOut:False on AWSMachinePool
	RefreshFailedReason = "RefreshFailed"

	// RefreshCancelledReason reports that another user or program cancelled the instance refresh, or
	// rolled it back.
	//
	// Nodes: some run the desired configuration and some do not.
	// Remedy: none: Slipway starts another one after a delay. Set spec.refreshPreferences.disable to
	// prevent that.
	//
	// +slipway:condition=RolledOut:False on AWSMachinePool
	RefreshCancelledReason = "RefreshCancelled"

	// SettlingReason reports that the spec changed recently. The roll-out begins when it has not
	// changed for a while, so that a batch of edits causes one roll-out.
	//
	// Nodes: running nodes keep their configuration until then.
	// Remedy: none.
	SettlingReason = "Settling"

	// SupersededReason reports that the running instance refresh is being cancelled, because a newer
	// configuration is desired.
	//
	// Nodes: the replacement stops, and begins again with the newer configuration.
	// Remedy: none.
	SupersededReason = "Superseded"

	// RolledBackReason reports that an instance refresh to the configuration in the spec failed, and
	// that the pool went back to the previous configuration, as spec.refreshPreferences.rollback
	// asks for.
	//
	// Nodes: they run, or are replaced with, the previous configuration.
	// Remedy: correct the spec. An edit finishes the roll-back.
	RolledBackReason = "RolledBack"

	// InstancesLeftReason reports that spec.refreshPreferences leaves the rest of the instances as
	// they are, or that an instance refresh finished without replacing warm instances.
	//
	// Nodes: some keep their earlier configuration.
	// Remedy: none, or change spec.refreshPreferences to have them replaced. Terminate warm instances,
	// or retry the roll-out with `slipway rollout retry`.
	InstancesLeftReason = "InstancesLeft"

	// WaitingForASGReason reports that there is no group yet.
	//
	// Nodes: the pool has none.
	// Remedy: act on the condition ASGReady.
	WaitingForASGReason = "WaitingForASG"
)

// Reasons of RolledOut of a managed pool, in addition to the reasons that it shares with
// AWSMachinePool.
const (
	// WaitingForUpdateReason reports that an update is due, and waits for an earlier one to finish:
	// EKS performs one at a time.
	//
	// Nodes: running nodes keep their configuration until then.
	// Remedy: none.
	WaitingForUpdateReason = "WaitingForUpdate"

	// CapacityBlockInUseReason reports that an update is due, and that EKS performs it only while
	// the node group has no nodes, because they run in a Capacity Block.
	//
	// Nodes: running nodes keep their configuration.
	// Remedy: scale the pool to zero to have the update performed.
	CapacityBlockInUseReason = "CapacityBlockInUse"

	// WaitingForNodegroupReason reports that there is no node group yet.
	//
	// Nodes: the pool has none.
	// Remedy: act on the condition EKSNodegroupReady.
	WaitingForNodegroupReason = "WaitingForNodegroup"
)

// Reasons of Adopted and Released.
const (
	// AdoptedReason reports that the instances that Slipway took over from CAPA run what the spec
	// asked for at that time, or have been replaced since.
	//
	// Nodes: no effect.
	// Remedy: none.
	AdoptedReason = "Adopted"

	// AdoptedWithDifferencesReason reports that instances that Slipway took over differ from the
	// spec.
	//
	// Nodes: running nodes are kept until the next edit of their configuration.
	// Remedy: set the roll-adopted annotation to replace them now, or edit the spec to match them.
	AdoptedWithDifferencesReason = "AdoptedWithDifferences"

	// AdoptingReason reports that Slipway is taking over CAPA's group.
	//
	// Nodes: running nodes stay.
	// Remedy: none.
	AdoptingReason = "Adopting"

	// AdoptionBlockedReason reports that CAPA's group belongs to this pool, and why Slipway does not
	// take it over.
	//
	// Nodes: running nodes stay, unmanaged.
	// Remedy: act on the message.
	//
	// +slipway:condition=ASGReady:False
	// +slipway:condition=EKSNodegroupReady:False
	// +slipway:condition=LaunchTemplateReady:False on AWSLaunchConfig
	AdoptionBlockedReason = "AdoptionBlocked"

	// AdoptionDeferredReason reports that Slipway takes CAPA's group over once AWS has finished an
	// instance refresh or an update that Slipway did not start.
	//
	// Nodes: AWS replaces nodes until it has finished. Edits of the spec have no effect yet.
	// Remedy: none. To continue sooner, cancel the instance refresh as the message says.
	//
	// +slipway:condition=ASGReady:False
	// +slipway:condition=EKSNodegroupReady:False
	AdoptionDeferredReason = "AdoptionDeferred"

	// ReleasedReason reports that CAPA can manage the pool.
	//
	// Nodes: running nodes stay. Slipway no longer acts on them.
	// Remedy: none.
	ReleasedReason = "Released"

	// ReleasingReason reports that Slipway is changing a pool into the form that CAPA expects.
	//
	// Nodes: running nodes stay.
	// Remedy: none, or act on the message if it lasts.
	ReleasingReason = "Releasing"
)
