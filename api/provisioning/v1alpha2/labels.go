package v1alpha2

// Labels by which a provisioner or a pod says what its nodes are launched from. Nodes carry them too.
const (
	// LabelProvisionerName is on every node of a provisioner; pods choose their provisioner by it.
	LabelProvisionerName = "provisioning.karpenter.sh/name"

	// LabelLaunchTemplateName is the name of the EC2 launch template.
	LabelLaunchTemplateName = "node.k8s.aws/launch-template-name"

	// LabelLaunchTemplateVersion is the version of that template: on nodes and in pods a number; in
	// a provisioner latest (the default), default or $LATEST too. A version belongs to the launch
	// template that the pod names.
	LabelLaunchTemplateVersion = "node.k8s.aws/launch-template-version"

	// LabelCapacityType describes how the instance is purchased: spot or on-demand (the default).
	LabelCapacityType = "node.k8s.aws/capacity-type"
)

// Labels of Karpenter that nodes carry, and that pods and requirements may name.
const (
	// KarpenterLabelCapacityType is LabelCapacityType under Karpenter's name.
	KarpenterLabelCapacityType = "karpenter.sh/capacity-type"

	// InstanceLabelPrefix begins the keys of labels that describe the instance type.
	InstanceLabelPrefix = "karpenter.k8s.aws/instance-"
)

// Labels of before March 2021, which mean the same. They are read, with a warning, and never put on a node.
const (
	// LegacyLabelLaunchTemplateID is the id of the EC2 launch template, lt-....
	LegacyLabelLaunchTemplateID = "kubernetes.amazonaws.com/launchTemplateId"

	// LegacyLabelLaunchTemplateVersion is LabelLaunchTemplateVersion.
	LegacyLabelLaunchTemplateVersion = "kubernetes.amazonaws.com/launchTemplateVersion"

	// LegacyLabelCapacityType is LabelCapacityType.
	LegacyLabelCapacityType = "kubernetes.amazonaws.com/capacityType"
)

// Values of LabelCapacityType.
const (
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
)

// Versions of a launch template that are no number. They are resolved to one before anything is launched.
const (
	// VersionLatest is the newest version.
	VersionLatest = "latest"

	// VersionDefault is the version that the template has as its default.
	VersionDefault = "default"

	// VersionLatestOfDocument is VersionLatest as the document of 2021 writes it. It is no legal
	// value of a label: only a provisioner can say it.
	VersionLatestOfDocument = "$LATEST"
)
