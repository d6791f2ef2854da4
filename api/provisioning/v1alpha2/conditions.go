package v1alpha2

// Conditions of a Provisioner.
const (
	// ReadyCondition is True when nodes can be launched; for a ProvisionedNode, when pods can run
	// on it. It repeats the reason and message of the first condition that is not True.
	//
	// +slipway:kinds=Provisioner,ProvisionedNode
	ReadyCondition = "Ready"

	// ClusterNameUniqueCondition is False while instances or launch templates of another Kubernetes
	// cluster have the name in spec.cluster.name. Nothing is launched then.
	//
	// +slipway:kinds=Provisioner
	ClusterNameUniqueCondition = "ClusterNameUnique"

	// SubnetsReadyCondition is True when nodes can be launched into a subnet: one in a zone that
	// the spec allows, with a free address.
	//
	// +slipway:kinds=Provisioner
	SubnetsReadyCondition = "SubnetsReady"

	// LaunchTemplatesReadyCondition is True when instances can be launched from every launch
	// template that the spec names, and AWS offers an instance type for it in the zones of the
	// subnets.
	//
	// +slipway:kinds=Provisioner
	LaunchTemplatesReadyCondition = "LaunchTemplatesReady"

	// NodesCurrentCondition is True when every node is as it would be launched now. It exists if
	// spec.drift is set.
	//
	// +slipway:kinds=Provisioner
	NodesCurrentCondition = "NodesCurrent"

	// VersionsPrunedCondition is False when unused versions of default launch templates could not
	// be deleted. It is missing otherwise.
	//
	// +slipway:kinds=Provisioner
	VersionsPrunedCondition = "VersionsPruned"

	// DistinctCondition is False while pods that name no Provisioner get nodes of another
	// Provisioner, which suits the same pods, launches from another launch template and comes first
	// by name. It is missing otherwise.
	//
	// +slipway:kinds=Provisioner
	DistinctCondition = "Distinct"

	// NodesStartCondition is False while nodes are not launched because the last ones failed to
	// start. Its message reports what they lacked, and when the next attempt is.
	//
	// +slipway:kinds=Provisioner
	NodesStartCondition = "NodesStart"

	// NodesLaunchCondition is False while AWS fails to launch a node of the Provisioner, and while
	// AWS has none of the instances that the Provisioner may launch, or the account may have none.
	// Its message gives the reason. The launch is repeated.
	//
	// +slipway:kinds=Provisioner
	NodesLaunchCondition = "NodesLaunch"

	// AWSReachableCondition is False while AWS does not answer, or has failed or throttled every call of an
	// action for five minutes. Its message names the service, and the time since when. It is missing
	// while AWS answers. Ready repeats it.
	//
	// +slipway:kinds=Provisioner
	AWSReachableCondition = "AWSReachable"

	// DisruptionBudgetsValidCondition is False while a budget in spec.disruption has a schedule
	// that cannot be read. That budget allows no disruptions. It is missing otherwise.
	//
	// +slipway:kinds=Provisioner
	DisruptionBudgetsValidCondition = "DisruptionBudgetsValid"

	// SpellingsCurrentCondition is False while the spec has labels with a spelling from before
	// March 2021, which are read as their successors. It is missing otherwise.
	//
	// +slipway:kinds=Provisioner
	SpellingsCurrentCondition = "SpellingsCurrent"
)

// Conditions of a ProvisionedNode, in the order in which they become True.
const (
	// LaunchedCondition is True when EC2 has launched the instance.
	//
	// +slipway:kinds=ProvisionedNode
	LaunchedCondition = "Launched"

	// RegisteredCondition is True when the Node exists, with its labels and taints.
	//
	// +slipway:kinds=ProvisionedNode
	RegisteredCondition = "Registered"

	// NodeReadyCondition is True when the kubelet reports that the Node takes pods.
	//
	// +slipway:kinds=ProvisionedNode
	NodeReadyCondition = "NodeReady"

	// InitializedCondition is True once the Node was ready, without startup taints, and had the
	// extended resources that its pods request. It stays True.
	//
	// +slipway:kinds=ProvisionedNode
	InitializedCondition = "Initialized"

	// ReplacingCondition is True while the node is being replaced: it is terminated once its pods
	// have places elsewhere. Its message gives the reason, and the number of pods without a place.
	// It is False while the node should be disrupted and must not be yet, because of a disruption
	// budget, a PodDisruptionBudget or the annotation karpenter.sh/do-not-disrupt.
	//
	// +slipway:kinds=ProvisionedNode
	ReplacingCondition = "Replacing"

	// EndingCondition is True while the node is being terminated. Its message reports what the
	// drain waits for.
	//
	// +slipway:kinds=ProvisionedNode
	EndingCondition = "Ending"
)
