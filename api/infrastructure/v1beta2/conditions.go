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

// Condition types. All of them are metav1.Condition with positive polarity, except Paused, Deleting
// and DeprecatedFieldsInUse, which are True while the thing that they name goes on.
const (
	// ReadyCondition is True when the object works: for a pool, when its group or node group exists
	// and launches what the spec asks for. It does not depend on RolledOut and CapacityAvailable:
	// while instances are replaced or missing, the other nodes work. Cluster API copies it to the
	// MachinePool. Converged is True when nothing is left to do at all. It repeats the reason and
	// message of the first condition that is not True.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool,AWSLaunchConfig
	ReadyCondition = "Ready"

	// ConvergedCondition is True when a pool is as its spec asks for in every respect: Ready, with
	// all its capacity, no node left to drain, and all instances with the desired configuration.
	// Otherwise it repeats the reason and message of the most important condition that is not as it
	// should be.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool
	ConvergedCondition = "Converged"

	// PausedCondition is True while Slipway does nothing, because the Cluster or the object is
	// paused.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool,AWSLaunchConfig
	PausedCondition = "Paused"

	// DeletingCondition is True from the time that deletion is requested, and False while a call
	// that the deletion needs fails. Its message reports what is still there.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool,AWSLaunchConfig
	DeletingCondition = "Deleting"

	// ClusterInfrastructureReadyCondition is True when nodes can be launched into the network of
	// the cluster, with the identity of the cluster.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool,AWSLaunchConfig
	ClusterInfrastructureReadyCondition = "ClusterInfrastructureReady"

	// BootstrapDataReadyCondition is True when the bootstrap data Secret exists and fits into EC2
	// user data, or is kept where user data points to.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool,AWSLaunchConfig
	BootstrapDataReadyCondition = "BootstrapDataReady"

	// LaunchTemplateReadyCondition is True when the launch template has the version that the spec
	// asks for. A pool repeats the reason and message of its AWSLaunchConfig. The name is CAPA's.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool,AWSLaunchConfig
	LaunchTemplateReadyCondition = "LaunchTemplateReady"

	// VerifiedCondition is True when EC2 would launch an instance from the version that the spec
	// asks for. It exists if spec.verify is set.
	//
	// +slipway:kinds=AWSLaunchConfig
	VerifiedCondition = "Verified"

	// ASGReadyCondition is True when the Auto Scaling group exists as the spec asks for it. The
	// name is CAPA's.
	//
	// +slipway:kinds=AWSMachinePool
	ASGReadyCondition = "ASGReady"

	// NodeRoleReadyCondition is True when the IAM role of a managed pool's nodes exists as the spec
	// asks for it. The name is CAPA's.
	//
	// +slipway:kinds=AWSManagedMachinePool
	NodeRoleReadyCondition = "IAMNodegroupRolesReady"

	// NodegroupReadyCondition is True when the EKS node group exists as the spec asks for it. The
	// name is CAPA's.
	//
	// +slipway:kinds=AWSManagedMachinePool
	NodegroupReadyCondition = "EKSNodegroupReady"

	// NodegroupHealthyCondition is True when EKS reports no health issues for the node group. Its
	// message lists the health issues.
	//
	// +slipway:kinds=AWSManagedMachinePool
	NodegroupHealthyCondition = "NodegroupHealthy"

	// AWSReachableCondition is False while AWS does not answer, or has failed or throttled every call of an
	// action for five minutes. Its message names the service and the time since when, which is its last
	// transition. It is missing while AWS answers. Ready repeats it.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool,AWSLaunchConfig
	AWSReachableCondition = "AWSReachable"

	// DeprecatedFieldsCondition is True for a pool that uses fields that a later release removes.
	// Its message names them, their successors and the time. It is missing otherwise, and is no
	// part of Ready.
	//
	// +slipway:kinds=AWSManagedMachinePool
	DeprecatedFieldsCondition = "DeprecatedFieldsInUse"

	// RolledOutCondition is True when every instance of the pool runs the desired configuration.
	// Ready does not depend on it.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool
	RolledOutCondition = "RolledOut"

	// NodesDrainedCondition is False while nodes are drained whose instances are about to be
	// terminated. Its message reports what the drain waits for. A pool none of whose instances had
	// to wait has no such condition.
	//
	// +slipway:kinds=AWSMachinePool
	NodesDrainedCondition = "NodesDrained"

	// CapacityAvailableCondition is True when the Auto Scaling group has its desired capacity, and
	// False while launches fail. Ready does not depend on it: the other instances work.
	//
	// +slipway:kinds=AWSMachinePool
	CapacityAvailableCondition = "CapacityAvailable"

	// ResolvedCondition is True when everything that an AWSLaunchConfig names was found in AWS:
	// image, instance type, security groups.
	//
	// +slipway:kinds=AWSLaunchConfig
	ResolvedCondition = "Resolved"

	// RolloutApprovedCondition is False while nodes are not launched with the configuration that
	// the spec asks for, because spec.rollout is Manual and no user has approved its version, or
	// because spec.pinnedVersion names another version. A pool repeats it. It is missing where
	// neither is set.
	//
	// +slipway:kinds=AWSLaunchConfig,AWSMachinePool,AWSManagedMachinePool
	// +slipway:copied=AWSMachinePool,AWSManagedMachinePool
	RolloutApprovedCondition = "RolloutApproved"

	// VersionsPrunedCondition is True when the launch template has no more versions than
	// spec.versionsToKeep allows. Versions in use are always kept.
	//
	// +slipway:kinds=AWSLaunchConfig
	VersionsPrunedCondition = "VersionsPruned"

	// AdoptedCondition is True for resources that CAPA created and Slipway took over. Its message
	// reports how the instances that Slipway took over differ from the spec. It is missing where
	// Slipway took nothing over.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool,AWSLaunchConfig
	AdoptedCondition = "Adopted"

	// ReleasedCondition is True when a pool with the release annotation has the form that CAPA
	// expects, and Slipway no longer acts on it. It is missing where no release was requested.
	//
	// +slipway:kinds=AWSMachinePool,AWSManagedMachinePool,AWSLaunchConfig
	ReleasedCondition = "Released"
)
