package v1alpha2

// Conditions of a Provisioner.
const (
	// ReadyCondition is True when nodes can be launched; of a ProvisionedNode, when pods can run there.
	ReadyCondition = "Ready"

	// ClusterNameUniqueCondition is False while instances or launch templates of another Kubernetes
	// cluster have the name in spec.cluster.name. Nothing is launched then.
	ClusterNameUniqueCondition = "ClusterNameUnique"

	// SubnetsReadyCondition is True when nodes can be launched into a subnet: one in a zone that
	// the spec allows, with a free address.
	SubnetsReadyCondition = "SubnetsReady"

	// LaunchTemplatesReadyCondition is True when every launch template that the spec names can be
	// launched from, and AWS offers an instance type for it where the subnets are.
	LaunchTemplatesReadyCondition = "LaunchTemplatesReady"

	// NodesCurrentCondition is True when every node is what it would be launched as now. It is
	// there where spec.drift is.
	NodesCurrentCondition = "NodesCurrent"

	// VersionsPrunedCondition is False when unused versions of default launch templates could not
	// be deleted. It is missing when there are none.
	VersionsPrunedCondition = "VersionsPruned"

	// DistinctCondition is False while pods that do not name the provisioner get nodes of another
	// one, which suits the same pods, launches from another launch template and comes first by
	// name. It is missing otherwise.
	DistinctCondition = "Distinct"

	// NodesStartCondition is False while nodes are not launched because the last ones failed to
	// start; its message says what they lacked, and when the next try is.
	NodesStartCondition = "NodesStart"

	// NodesLaunchCondition is False while AWS fails to launch a node of the provisioner, and while
	// AWS has none of the instances that the provisioner may launch, or the account may have none;
	// its message says why. The launch is repeated.
	NodesLaunchCondition = "NodesLaunch"

	// AWSReachableCondition is False while AWS gives no answers; its message says which service,
	// and since when. It is missing while AWS answers. Ready repeats it.
	AWSReachableCondition = "AWSReachable"

	// DisruptionBudgetsValidCondition is False while a budget in spec.disruption has a schedule
	// that cannot be read. That budget allows no disruptions. It is missing otherwise.
	DisruptionBudgetsValidCondition = "DisruptionBudgetsValid"

	// SpellingsCurrentCondition is False while the spec has labels of before March 2021, which are
	// read as those that took their place.
	SpellingsCurrentCondition = "SpellingsCurrent"
)

// Conditions of a ProvisionedNode, in the order in which they become True.
const (
	// LaunchedCondition is True when EC2 has launched the instance.
	LaunchedCondition = "Launched"

	// RegisteredCondition is True when the Node is there, with its labels and taints.
	RegisteredCondition = "Registered"

	// NodeReadyCondition is True when the kubelet says that the Node takes pods.
	NodeReadyCondition = "NodeReady"

	// InitializedCondition is True once the Node was ready, without startup taints, and had the
	// extended resources that its pods request. It stays True.
	InitializedCondition = "Initialized"

	// ReplacingCondition is True while the node is being replaced: it ends once its pods have
	// places elsewhere. Its message says why, and how many have none yet. It is False while the
	// node should be disrupted and must not be yet, because of a disruption budget or the
	// annotation karpenter.sh/do-not-disrupt.
	ReplacingCondition = "Replacing"

	// EndingCondition is True while the node is being ended, and says what is in the way.
	EndingCondition = "Ending"
)

// Reasons of conditions and events.
const (
	// ReadyReason is that of conditions that are True because all is well.
	ReadyReason = "Ready"

	// LaunchingReason says that EC2 has been asked for the instance, or is about to be.
	LaunchingReason = "Launching"

	// LaunchFailedReason says why EC2 launches nothing.
	LaunchFailedReason = "LaunchFailed"

	// ThrottledReason says that AWS limits the rate of requests. The launch is repeated within seconds.
	ThrottledReason = "Throttled"

	// InsufficientCapacityReason says that AWS has no such instance now; of a Provisioner, none
	// that it may launch.
	InsufficientCapacityReason = "InsufficientCapacity"

	// RegisteringReason says that the instance is there, and its Node not yet.
	RegisteringReason = "Registering"

	// NotReadyReason says that the Node is there and takes no pods.
	NotReadyReason = "NodeNotReady"

	// EmptyReason says that no pod but those of daemon sets has run on the node for spec.ttlSeconds.
	EmptyReason = "Empty"

	// DoNotDisruptReason names the pod or the Node with the annotation karpenter.sh/do-not-disrupt,
	// or karpenter.sh/do-not-evict.
	DoNotDisruptReason = "DoNotDisrupt"

	// PodDisruptionBudgetReason says that a node should be replaced, and stays because a
	// PodDisruptionBudget allows no eviction of one of its pods.
	PodDisruptionBudgetReason = "PodDisruptionBudget"

	// InitializingReason says what the Node lacks to be initialized.
	InitializingReason = "Initializing"

	// StartTimeoutReason says what a node lacked that did not become an initialized Node in time.
	// It is replaced.
	StartTimeoutReason = "StartTimeout"

	// ExpiredReason says that the node is as old as it may become.
	ExpiredReason = "Expired"

	// DriftedReason says how the node differs from one that would be launched now or, for a
	// Provisioner, how many nodes differ.
	DriftedReason = "Drifted"

	// RequestedReason says that somebody set the annotation provisioning.karpenter.sh/replace.
	RequestedReason = "Requested"

	// PruneFailedReason says why versions could not be deleted. It is tried again.
	PruneFailedReason = "PruneFailed"

	// DrainingReason says which pods are still to leave.
	DrainingReason = "Draining"

	// TerminatingReason says that the instance is on its way out.
	TerminatingReason = "Terminating"

	// ClusterNameTakenReason names what in AWS another cluster of the same name has.
	ClusterNameTakenReason = "ClusterNameTaken"

	// InstanceNotOwnedReason says that the instance in status was not launched for the
	// ProvisionedNode. Slipway does not touch it.
	InstanceNotOwnedReason = "InstanceNotOwned"

	// OtherClusterReason says that the ProvisionedNode was written in another cluster, and came
	// here with a backup, for example. It launches nothing.
	OtherClusterReason = "OtherCluster"

	// NodeGoneReason says that the Node was deleted past its finalizer. The instance is terminated
	// unless the Node is back in time.
	NodeGoneReason = "NodeGone"

	// TemplateUnusableReason says why nothing can be launched from a launch template.
	TemplateUnusableReason = "LaunchTemplateUnusable"

	// LaunchConfigUnavailableReason says that spec.launchConfigRef names what this API server does not have.
	LaunchConfigUnavailableReason = "LaunchConfigUnavailable"

	// SubnetsUnusableReason says why nothing can be launched into the subnets; of a ProvisionedNode
	// and in events, which one has no free address or does not exist.
	SubnetsUnusableReason = "SubnetsUnusable"

	// SamePodsReason names the provisioner that suits the same pods and comes first.
	SamePodsReason = "SamePods"

	// InvalidScheduleReason names the schedules that cannot be read.
	InvalidScheduleReason = "InvalidSchedule"

	// OldSpellingReason names the labels to replace.
	OldSpellingReason = "OldSpelling"

	// DeletingReason says what a deletion waits for.
	DeletingReason = "Deleting"
)
