package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProvisionedNodeFinalizer keeps a ProvisionedNode until its instance is terminated, or never existed.
const ProvisionedNodeFinalizer = "provisioning.karpenter.sh/instance"

// NodeFinalizer keeps the Node of a ProvisionedNode until its pods have left and its instance
// is terminated: deleting the Node removes both.
const NodeFinalizer = "provisioning.karpenter.sh/termination"

// ReplaceAnnotation on a ProvisionedNode requests a replacement: Slipway terminates the node once
// its pods have places elsewhere. Its value describes the reason to users. Slipway itself sets
// values that begin with DriftedReason, and removes them when the node is no longer drifted.
const ReplaceAnnotation = "provisioning.karpenter.sh/replace"

// RetryAnnotation on a Provisioner has launches begin anew after nodes failed to start: any value
// that it did not have before does.
const RetryAnnotation = "provisioning.karpenter.sh/retry"

// ProvisionedNodeSpec records what was decided before the node was launched. It never changes, so a
// launch that is repeated with it starts only one instance.
//
// +kubebuilder:validation:XValidation:rule=`self == oldSelf`,message="spec.launch is immutable: delete the object to terminate the node"
type ProvisionedNodeSpec struct {
	// Provisioner that launches the node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Provisioner string `json:"provisioner"`

	// Cluster that the node joins.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Cluster string `json:"cluster"`

	// Launch is the call to EC2 that the node is launched by, together with others that are equal.
	// +required
	Launch NodeLaunch `json:"launch"`

	// LaunchTemplate that the instance is launched from.
	// +required
	LaunchTemplate LaunchTemplateVersion `json:"launchTemplate"`

	// Architecture of the node.
	// +required
	Architecture Architecture `json:"architecture"`

	// CapacityType is how the instance is bought.
	// +required
	// +kubebuilder:validation:Enum=spot;on-demand
	CapacityType string `json:"capacityType"`

	// Offerings are the instances that suit, the cheapest first. EC2 chooses one.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=300
	Offerings []NodeOffering `json:"offerings"`

	// Labels that the Node gets.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Taints that the Node gets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Taints []Taint `json:"taints,omitempty"`

	// StartupTaints that the Node gets when it registers, and that another controller removes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	StartupTaints []Taint `json:"startupTaints,omitempty"`

	// AwaitedResources are the extended resources that pods of the node request, such as
	// nvidia.com/gpu. The node is initialized once its Node has them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=317
	AwaitedResources []string `json:"awaitedResources,omitempty"`

	// ExtraResources that the node will have in addition to the resources of its instance type.
	// +optional
	ExtraResources ExtraResources `json:"extraResources,omitempty"`

	// Reserved is what of its provisioner's limits the node takes until its instance is known: as
	// much as the largest of its offerings has.
	// +optional
	Reserved ProvisionedResources `json:"reserved,omitempty,omitzero"`
}

// NodeLaunch is one call to EC2 for some equal nodes.
type NodeLaunch struct {
	// Name of the launch. EC2 takes calls of one name for one call.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Nodes is how many are launched by the call.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Nodes int32 `json:"nodes"`

	// ClusterUID is the UID of the kube-system namespace of the cluster that the nodes are launched
	// for. The instances are tagged with it. It is missing where an earlier release recorded the
	// launch.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ClusterUID string `json:"clusterUID,omitempty"`
}

// LaunchTemplateVersion is one version of an EC2 launch template.
type LaunchTemplateVersion struct {
	// ID of the launch template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// Version is its number.
	// +required
	// +kubebuilder:validation:Minimum=1
	Version int64 `json:"version"`

	// Generated is true for a default launch template, which Slipway made.
	// +optional
	Generated bool `json:"generated,omitempty"`

	// AskedVersion is what pods asked for that name the launch template themselves: a number or
	// latest. It is empty where the provisioner decided.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	AskedVersion string `json:"askedVersion,omitempty"`
}

// NodeOffering is an instance type in a subnet.
type NodeOffering struct {
	// InstanceType such as m5.large.
	// +required
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType"`

	// Zone of the subnet.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Zone string `json:"zone"`

	// SubnetID is empty where the launch template has the subnet.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SubnetID string `json:"subnetID,omitempty"`
}

// ProvisionedNodeStatus says what became of the node.
type ProvisionedNodeStatus struct {
	// Conditions say how far the node is.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// InstanceID is the instance, once EC2 has launched it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceID string `json:"instanceID,omitempty"`

	// InstanceType that EC2 chose.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType,omitempty"`

	// ImageID is the image that the instance was launched with.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID string `json:"imageID,omitempty"`

	// Zone that EC2 chose.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Zone string `json:"zone,omitempty"`

	// Resources of the instance, as limits count them.
	// +optional
	Resources *ProvisionedResources `json:"resources,omitempty"`

	// NodeName is the Node, once it has registered.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName,omitempty"`

	// RequestTime is when the instance was asked for first.
	// +optional
	RequestTime *metav1.Time `json:"requestTime,omitempty"`

	// LaunchTime is when EC2 answered with the instance.
	// +optional
	LaunchTime *metav1.Time `json:"launchTime,omitempty"`

	// ReadyTime is when the node was initialized: it took pods for the first time.
	// +optional
	ReadyTime *metav1.Time `json:"readyTime,omitempty"`

	// AwaySince is when the Node, which had registered, was found gone. It is missing while the
	// Node is there.
	// +optional
	AwaySince *metav1.Time `json:"awaySince,omitempty"`

	// FailedSince is when the node, which had been initialized, was found failed: not ready, its
	// instance stopped, or its instance failing an EC2 status check. It is missing while the node
	// is well.
	// +optional
	FailedSince *metav1.Time `json:"failedSince,omitempty"`

	// TerminateTime is when EC2 was first asked to terminate the instance.
	// +optional
	TerminateTime *metav1.Time `json:"terminateTime,omitempty"`

	// DrainTime is when the drain of the node began, after its deletion.
	// +optional
	DrainTime *metav1.Time `json:"drainTime,omitempty"`

	// EmptySince is when the last pod left that is not of a daemon set. It is missing while there are some.
	// +optional
	EmptySince *metav1.Time `json:"emptySince,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=provisionednodes,scope=Cluster
// +kubebuilder:printcolumn:name="Provisioner",type="string",JSONPath=".spec.provisioner",description="Provisioner that launched the node"
// +kubebuilder:printcolumn:name="Instance",type="string",JSONPath=".status.instanceID",description="EC2 instance"
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".status.instanceType",description="Instance type"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".status.zone",description="Availability zone"
// +kubebuilder:printcolumn:name="Capacity",type="string",JSONPath=".spec.capacityType",description="How the instance is bought"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description="Node that the instance became"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether pods can run there"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='Ready')].message",description="What is in the way"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// ProvisionedNode is one node that a Provisioner launches. It exists before its instance is
// launched and until its instance is terminated, so that no instance is launched twice and none is
// lost. Deleting a ProvisionedNode drains its node and terminates its instance.
type ProvisionedNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what was decided before anything was launched.
	// +required
	Spec ProvisionedNodeSpec `json:"spec"`

	// Status says what became of it.
	// +optional
	Status ProvisionedNodeStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions.
func (n *ProvisionedNode) GetConditions() []metav1.Condition { return n.Status.Conditions }

// SetConditions replaces the conditions.
func (n *ProvisionedNode) SetConditions(conditions []metav1.Condition) {
	n.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// ProvisionedNodeList is a list of ProvisionedNodes.
type ProvisionedNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProvisionedNode `json:"items"`
}
