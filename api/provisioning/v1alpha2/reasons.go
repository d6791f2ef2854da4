package v1alpha2

// Reasons of conditions. Some are reasons of events too.
const (
	// ReadyReason reports that a condition is True because everything that it covers is as the spec
	// asks for.
	//
	// Nodes: no effect.
	// Remedy: none.
	ReadyReason = "Ready"

	// LaunchedReason reports that EC2 has launched the instance.
	//
	// Nodes: it joins the cluster within minutes.
	// Remedy: none.
	LaunchedReason = "Launched"

	// RegisteredReason reports that the Node exists, with its labels and taints.
	//
	// Nodes: pods can be bound once it is ready.
	// Remedy: none.
	RegisteredReason = "Registered"

	// InitializedReason reports that the Node was ready, without startup taints, and had the
	// extended resources that its pods request.
	//
	// Nodes: pods run on it.
	// Remedy: none.
	InitializedReason = "Initialized"

	// LaunchingReason reports that Slipway has requested the instance from EC2, or is about to.
	//
	// Nodes: it does not exist yet.
	// Remedy: none.
	LaunchingReason = "Launching"

	// LaunchFailedReason reports that EC2 launches no instance. The message gives the reason.
	//
	// Nodes: the ProvisionedNode is deleted, and another choice is launched for its pods.
	// Remedy: act on the message. The launch is repeated.
	LaunchFailedReason = "LaunchFailed"

	// ThrottledReason reports that AWS limits the rate of requests.
	//
	// Nodes: it is launched within seconds, with the next attempt.
	// Remedy: none.
	//
	// +slipway:condition=Launched:False
	ThrottledReason = "Throttled"

	// InsufficientCapacityReason reports that AWS has no such instance now or, for a Provisioner,
	// none of the instances that it may launch.
	//
	// Nodes: other instance types and zones are tried. Pods wait if there are none.
	// Remedy: none: AWS is asked again within minutes. More instance types or zones help.
	//
	// +slipway:condition=Launched:False
	// +slipway:condition=NodesLaunch:False
	InsufficientCapacityReason = "InsufficientCapacity"

	// RegisteringReason reports that the instance exists, and that its Node does not yet.
	//
	// Nodes: pods wait for it.
	// Remedy: none. After the registration timeout, the node is replaced.
	RegisteringReason = "Registering"

	// NotReadyReason reports that the kubelet of the Node is not ready.
	//
	// Nodes: it takes no pods. Slipway replaces it after 10 minutes, unless too many nodes of the
	// zone fail.
	// Remedy: none. If it happens often, check the kubelet log of a node.
	NotReadyReason = "NodeNotReady"

	// InstanceStoppedReason reports that the instance of the Node is stopped.
	//
	// Nodes: its pods are evicted, and it is replaced.
	// Remedy: none. Terminate nodes by deleting the Node, instead of stopping instances.
	//
	// +slipway:condition=NodeReady:False
	InstanceStoppedReason = "InstanceStopped"

	// StatusChecksFailedReason reports that the instance fails an EC2 status check.
	//
	// Nodes: its pods are evicted, and it is replaced.
	// Remedy: none.
	//
	// +slipway:condition=NodeReady:False
	StatusChecksFailedReason = "StatusChecksFailed"

	// EmptyReason reports that only pods of daemon sets have run on the node for spec.ttlSeconds.
	//
	// Nodes: it is terminated.
	// Remedy: none.
	//
	// +slipway:condition=Replacing:True
	// +slipway:condition=Replacing:False
	EmptyReason = "Empty"

	// DoNotDisruptReason reports that the annotation karpenter.sh/do-not-disrupt, or
	// karpenter.sh/do-not-evict, keeps a node that should be replaced. The message names the pod or
	// the Node.
	//
	// Nodes: it stays.
	// Remedy: remove the annotation to let the node be replaced.
	//
	// +slipway:condition=Replacing:False
	DoNotDisruptReason = "DoNotDisrupt"

	// PodDisruptionBudgetReason reports that a node should be replaced, and stays because a
	// PodDisruptionBudget allows no eviction of one of its pods.
	//
	// Nodes: it stays.
	// Remedy: change the PodDisruptionBudget, or add replicas of the workload.
	//
	// +slipway:condition=Replacing:False
	PodDisruptionBudgetReason = "PodDisruptionBudget"

	// InitializingReason reports what the Node lacks to be initialized.
	//
	// Nodes: pods may wait for a startup taint to go or for a resource to be registered.
	// Remedy: none. If it lasts, check the daemon that removes the taint or registers the resource.
	InitializingReason = "Initializing"

	// StartTimeoutReason reports what nodes lacked that did not become initialized in time, or why
	// their instances ended before.
	//
	// Nodes: they were replaced. The next ones are launched after a delay that increases.
	// Remedy: act on the message: user data, security groups and the cluster endpoint are the usual
	// causes.
	StartTimeoutReason = "StartTimeout"

	// ExpiredReason reports that the node is as old as spec.ttlSecondsUntilExpired.
	//
	// Nodes: it is drained and replaced, within the disruption budgets.
	// Remedy: none.
	//
	// +slipway:condition=Replacing:True
	// +slipway:condition=Replacing:False
	ExpiredReason = "Expired"

	// DriftedReason reports how the node differs from one that would be launched now or, for a
	// Provisioner, how many nodes differ.
	//
	// Nodes: they are drained and replaced, within the disruption budgets.
	// Remedy: none.
	//
	// +slipway:condition=Replacing:True
	// +slipway:condition=Replacing:False
	DriftedReason = "Drifted"

	// RequestedReason reports that a user set the annotation provisioning.karpenter.sh/replace.
	//
	// Nodes: it is drained and replaced, within the disruption budgets.
	// Remedy: none.
	//
	// +slipway:condition=Replacing:True
	// +slipway:condition=Replacing:False
	RequestedReason = "Requested"

	// PruneFailedReason reports why unused versions of default launch templates could not be
	// deleted.
	//
	// Nodes: no effect.
	// Remedy: act on the message. The deletion is retried.
	PruneFailedReason = "PruneFailed"

	// DrainingReason reports which pods have not left the node yet.
	//
	// Nodes: it is cordoned, and its pods are evicted.
	// Remedy: none. If it lasts, check the pods and PodDisruptionBudgets that the message names.
	DrainingReason = "Draining"

	// TerminatingReason reports that the instance is being terminated.
	//
	// Nodes: its pods have left.
	// Remedy: none.
	TerminatingReason = "Terminating"

	// ClusterNameTakenReason reports that instances or launch templates of another Kubernetes
	// cluster have the name in spec.cluster.name. The message names them.
	//
	// Nodes: running nodes stay. None are launched.
	// Remedy: give each cluster of the account and region its own name, or delete what the message
	// names.
	ClusterNameTakenReason = "ClusterNameTaken"

	// InstanceNotOwnedReason reports that the instance in status was not launched for the
	// ProvisionedNode.
	//
	// Nodes: Slipway neither drains nor terminates it.
	// Remedy: terminate the instance yourself if nothing uses it, and delete the ProvisionedNode.
	InstanceNotOwnedReason = "InstanceNotOwned"

	// OtherClusterReason reports that the ProvisionedNode was written in another cluster, and was
	// restored here from a backup, for example.
	//
	// Nodes: none is launched for it.
	// Remedy: delete the ProvisionedNode.
	OtherClusterReason = "OtherCluster"

	// NodeGoneReason reports that the Node object was deleted without its finalizer.
	//
	// Nodes: the instance is terminated unless the Node is registered again in time.
	// Remedy: none. Delete Nodes without removing finalizers, so that they are drained.
	//
	// +slipway:condition=NodeReady:False
	NodeGoneReason = "NodeGone"

	// TemplateUnusableReason reports why no instance can be launched from a launch template.
	//
	// Nodes: running nodes stay. None are launched from it.
	// Remedy: correct the launch template, or name another one.
	TemplateUnusableReason = "LaunchTemplateUnusable"

	// LaunchConfigUnavailableReason reports that spec.launchConfigRef names an AWSLaunchConfig that
	// this API server does not have, or that is not ready.
	//
	// Nodes: running nodes stay. None are launched from it.
	// Remedy: create the AWSLaunchConfig in this cluster, or name the launch template in
	// spec.launchTemplateRef.
	//
	// +slipway:condition=LaunchTemplatesReady:False
	LaunchConfigUnavailableReason = "LaunchConfigUnavailable"

	// SubnetsUnusableReason reports why no instance can be launched into the subnets or, for a
	// ProvisionedNode and in events, which subnet has no free address or does not exist.
	//
	// Nodes: running nodes stay. None are launched into the subnets.
	// Remedy: tag subnets for the cluster, or add subnets with free addresses.
	//
	// +slipway:condition=Launched:False
	SubnetsUnusableReason = "SubnetsUnusable"

	// SamePodsReason reports which Provisioner suits the same pods and comes first by name.
	//
	// Nodes: pods that name no Provisioner get nodes of the other one.
	// Remedy: give the Provisioners different taints or labels, or delete one.
	SamePodsReason = "SamePods"

	// InvalidScheduleReason reports which schedules of disruption budgets cannot be read.
	//
	// Nodes: the budget allows no disruptions.
	// Remedy: write the schedule in cron syntax.
	InvalidScheduleReason = "InvalidSchedule"

	// OldSpellingReason reports which labels of the spec have a spelling from before March 2021.
	//
	// Nodes: no effect: the labels are read as their successors.
	// Remedy: replace the labels as the message says.
	OldSpellingReason = "OldSpelling"

	// DeletingReason reports what a deletion waits for.
	//
	// Nodes: they are drained and terminated.
	// Remedy: none.
	DeletingReason = "Deleting"
)
