package v1alpha2

// Conditions of a Provisioner.
const (
	// ReadyCondition is True when nodes can be launched; of a ProvisionedNode, when pods can run there.
	ReadyCondition = "Ready"

	// SubnetsReadyCondition is True when there are subnets that nodes may be in.
	SubnetsReadyCondition = "SubnetsReady"

	// LaunchTemplatesReadyCondition is True when every launch template that the spec names can be launched from.
	LaunchTemplatesReadyCondition = "LaunchTemplatesReady"

	// NodesCurrentCondition is True when every node is what it would be launched as now. It is there where spec.drift is.
	NodesCurrentCondition = "NodesCurrent"

	// VersionsPrunedCondition is False when versions of default launch templates that nothing needs any more could not be deleted. It is missing when there are none.
	VersionsPrunedCondition = "VersionsPruned"

	// DistinctCondition is False while pods that do not name the provisioner get nodes of another one, which suits the same pods, launches from another launch template and comes first
	// by name. It is missing otherwise.
	DistinctCondition = "Distinct"

	// SpellingsCurrentCondition is False while the spec has labels of before March 2021, which are read as those that took their place.
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

	// ReplacingCondition is True while the node is to end once its pods have places elsewhere, and says why, and how many have none yet.
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

	// InsufficientCapacityReason says that AWS has no such instance now.
	InsufficientCapacityReason = "InsufficientCapacity"

	// RegisteringReason says that the instance is there, and its Node not yet.
	RegisteringReason = "Registering"

	// NotReadyReason says that the Node is there and takes no pods.
	NotReadyReason = "NodeNotReady"

	// ExpiredReason says that the node is as old as it may become.
	ExpiredReason = "Expired"

	// DriftedReason says what of the node is not as it would be launched now; of a Provisioner, how many nodes are so.
	DriftedReason = "Drifted"

	// RequestedReason says that somebody set the annotation provisioning.karpenter.sh/replace.
	RequestedReason = "Requested"

	// PruneFailedReason says why versions could not be deleted. It is tried again.
	PruneFailedReason = "PruneFailed"

	// DrainingReason says which pods are still to leave.
	DrainingReason = "Draining"

	// TerminatingReason says that the instance is on its way out.
	TerminatingReason = "Terminating"

	// TemplateUnusableReason says why nothing can be launched from a launch template.
	TemplateUnusableReason = "LaunchTemplateUnusable"

	// LaunchConfigUnavailableReason says that spec.launchConfigRef names what this API server does not have.
	LaunchConfigUnavailableReason = "LaunchConfigUnavailable"

	// SubnetsUnusableReason says why there are no subnets.
	SubnetsUnusableReason = "SubnetsUnusable"

	// SamePodsReason names the provisioner that suits the same pods and comes first.
	SamePodsReason = "SamePods"

	// OldSpellingReason names the labels to replace.
	OldSpellingReason = "OldSpelling"

	// DeletingReason says what a deletion waits for.
	DeletingReason = "Deleting"
)
