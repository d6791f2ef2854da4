package v1alpha2

// Events of Provisioners. The conditions of ProvisionedNodes have further reasons, which are
// reasons of events on their Provisioner too.
const (
	// InstanceGoneEvent reports that an instance was terminated, but not by Slipway, and why if EC2 says
	// so: EC2 interrupted a Spot Instance, could not launch the instance, or its operating system shut
	// it down.
	//
	// Remedy: act on EC2's reason. Client.InternalError usually means that EC2 may not use the KMS key
	// of a volume. Without a reason, another user or program terminated the instance, and CloudTrail
	// shows who.
	InstanceGoneEvent = "InstanceGone"

	// LaunchTemplateLostEvent reports that a default launch template was deleted outside Slipway,
	// and that another one takes its place.
	//
	// Remedy: none. CloudTrail shows who deleted the launch template.
	LaunchTemplateLostEvent = "LaunchTemplateLost"

	// LaunchedEvent reports that Slipway launched an instance.
	//
	// Remedy: none.
	LaunchedEvent = "Launched"

	// NodeDeletedEvent reports that a user deleted a Node, and that Slipway drains it and terminates
	// its instance.
	//
	// Remedy: none.
	NodeDeletedEvent = "NodeDeleted"

	// NodeDriftedEvent reports that Slipway is replacing a node that differs from one that would be
	// launched now.
	//
	// Remedy: none.
	NodeDriftedEvent = "NodeDrifted"

	// NodeEndedEvent reports that Slipway is terminating a node, and why.
	//
	// Remedy: none.
	NodeEndedEvent = "NodeEnded"

	// NodeFailedEvent reports that Slipway is replacing a node that failed, and what failed.
	//
	// Remedy: none. If it happens often, check the kubelet log of a node.
	NodeFailedEvent = "NodeFailed"

	// NodeNotInitializedEvent reports that Slipway terminates an instance that did not become an
	// initialized Node in time.
	//
	// Remedy: act on the message: user data, security groups and the cluster endpoint are the usual
	// causes.
	NodeNotInitializedEvent = "NodeNotInitialized"

	// RebalanceRecommendedEvent reports that EC2 may interrupt a Spot Instance soon.
	//
	// Remedy: none: Slipway avoids its instance type in its zone for a while.
	RebalanceRecommendedEvent = "RebalanceRecommended"

	// SpotInterruptionEvent reports that EC2 interrupts a Spot Instance within two minutes.
	//
	// Remedy: none: its pods are evicted and get another node. More instance types and zones make it
	// rarer.
	SpotInterruptionEvent = "SpotInterruption"

	// StatusChecksUnknownEvent reports that Slipway may not read the EC2 status checks of instances.
	//
	// Remedy: allow ec2:DescribeInstanceStatus. `slipway iam policy` prints the policy that Slipway
	// needs.
	StatusChecksUnknownEvent = "StatusChecksUnknown"
)

// Events of pods.
const (
	// NoNodeLaunchedEvent reports why no node is launched for a pod.
	//
	// Remedy: act on the message: change the pod, or a Provisioner.
	NoNodeLaunchedEvent = "NoNodeLaunched"

	// NodeLaunchedEvent reports that a node is being launched for a pod.
	//
	// Remedy: none.
	NodeLaunchedEvent = "NodeLaunched"

	// NotBoundEvent reports that a Node has a place for a pod, and that the scheduler does not bind
	// the pod to it.
	//
	// Remedy: act on the message: another scheduler or a scheduling gate is the usual cause.
	NotBoundEvent = "NotBound"

	// VolumeOfOneNodeEvent reports that a pod can run only on one Node, because a volume of the pod
	// exists only there.
	//
	// Remedy: act on the message: wait for the Node, or delete the volume if the pod does not need
	// it.
	VolumeOfOneNodeEvent = "VolumeOfOneNode"
)
