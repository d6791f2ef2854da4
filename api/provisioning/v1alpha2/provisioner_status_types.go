package v1alpha2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProvisionerFinalizer keeps a Provisioner until its nodes and its default launch templates are gone.
const ProvisionerFinalizer = "provisioning.karpenter.sh/nodes"

// MaxStatusLaunchTemplates limits how many launch templates a status lists, however many of them
// pods name.
const MaxStatusLaunchTemplates = 50

// ProvisionerStatus says what was found in AWS, and which nodes there are. All of it can be found again.
type ProvisionerStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say whether nodes can be launched, and what is in the way.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LaunchTemplates are the launch templates that the spec and pending pods name, and the default ones, by name:
	// what each resolved to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	LaunchTemplates []ResolvedLaunchTemplate `json:"launchTemplates,omitempty"`

	// FailedStarts are launch templates whose nodes did not start, with what was missing. While one
	// waits, no node of its kind is launched.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	FailedStarts []FailedStart `json:"failedStarts,omitempty"`

	// RejectedOfferings summarize why no node is launched for pods that have waited for a while: the
	// offerings that AWS has in the region, by the reason why none of them is launched, the most
	// frequent reason first. An offering is an instance type in a zone, bought in one way. It counts if
	// it is rejected for at least one of the pods, by the first reason that applies. It is empty if
	// every pod has a place.
	// +optional
	// +listType=map
	// +listMapKey=reason
	// +kubebuilder:validation:MaxItems=16
	RejectedOfferings []RejectedOfferings `json:"rejectedOfferings,omitempty"`

	// Nodes is how many nodes there are, those included that were launched and have not joined yet.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`

	// Resources of all these nodes together: what spec.limits bound.
	// +optional
	Resources *ProvisionedResources `json:"resources,omitempty"`
}

// RejectedOfferings are offerings that are rejected for one reason.
type RejectedOfferings struct {
	// Reason is why nothing of them is launched. The pods do not tolerate the taints of the
	// Provisioner's nodes: Taints. The pods and the Provisioner together do not allow it: Architecture,
	// InstanceType, which includes all labels of instance types, Zone, which includes the zones of the
	// pods' volumes, or CapacityType. EC2 refuses to launch it from the launch template: LaunchRefused.
	// AWS had no capacity for it recently, or the account may not launch it: NoCapacity. Its instances
	// have too little room for one of the pods: TooSmall. It exceeds what is left of spec.limits:
	// Limits. Affinities, topology spread constraints or host ports of the pods do not allow it:
	// Placement.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// Offerings is how many offerings are rejected for the reason.
	// +required
	// +kubebuilder:validation:Minimum=1
	Offerings int32 `json:"offerings"`

	// Example is one of the offerings, such as m5.large, on-demand, in us-east-1a.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Example string `json:"example,omitempty"`

	// Pod is one of the pods that they are rejected for, as namespace and name with a slash between.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Pod string `json:"pod,omitempty"`
}

// FailedStart counts the rounds of nodes that were launched from one version of a launch template
// and did not start. A node that starts removes it.
type FailedStart struct {
	// LaunchTemplateID is the launch template that the nodes were launched from.
	// +required
	// +kubebuilder:validation:MaxLength=64
	LaunchTemplateID string `json:"launchTemplateID"`

	// LaunchTemplateVersion is the number of the version.
	// +required
	LaunchTemplateVersion int64 `json:"launchTemplateVersion"`

	// Resource that was missing, such as nvidia.com/gpu. It is empty if the instances did not
	// become Nodes, were not ready, or kept a startup taint; then no node at all is launched from
	// the version while it waits, and else none for pods that request the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Resource string `json:"resource,omitempty"`

	// Tries is the number of rounds of nodes that failed in a row.
	// +required
	// +kubebuilder:validation:Minimum=1
	Tries int32 `json:"tries"`

	// LastTime is when the last round failed.
	// +required
	LastTime metav1.Time `json:"lastTime"`

	// Generation of the spec when the last round failed. An entry of another generation no longer counts.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Retry is the value of the annotation provisioning.karpenter.sh/retry then. An entry of
	// another value no longer counts.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Retry string `json:"retry,omitempty"`

	// Message says what the last node lacked.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// ProvisionedResources are sums over nodes.
type ProvisionedResources struct {
	// CPU of all nodes.
	// +optional
	CPU resource.Quantity `json:"cpu,omitempty,omitzero"`

	// Memory of all nodes.
	// +optional
	Memory resource.Quantity `json:"memory,omitempty,omitzero"`
}

// ResolvedLaunchTemplate describes the launch template that a name, or the absence of a name,
// resolved to.
type ResolvedLaunchTemplate struct {
	// Name of the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name,omitempty"`

	// ID of the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// AskedVersion is what was asked for: latest, default or a number. It is empty for a default
	// launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	AskedVersion string `json:"askedVersion,omitempty"`

	// LaunchConfig is the AWSLaunchConfig that leads here, by namespace/name.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	LaunchConfig string `json:"launchConfig,omitempty"`

	// Version is the number that nodes are launched from.
	// +optional
	Version int64 `json:"version,omitempty"`

	// ImageID is the image.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID string `json:"imageID,omitempty"`

	// Architecture of the image.
	// +optional
	Architecture Architecture `json:"architecture,omitempty"`

	// Accelerator that the image of a default launch template has the driver of: nvidia or neuron.
	// It is empty for the standard image.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Accelerator string `json:"accelerator,omitempty"`

	// Generated is true for a default launch template, which Slipway made.
	// +optional
	Generated bool `json:"generated,omitempty"`

	// SpecDigest stands for what of the spec a default launch template was made of. One that was
	// made of something else is not launched from.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SpecDigest string `json:"specDigest,omitempty"`

	// Facts are the properties that nodes get from a launch template of another owner. They are missing where
	// nothing can be launched from it.
	// +optional
	Facts *LaunchTemplateFacts `json:"facts,omitempty"`

	// Message says why nothing can be launched from it, or what pods have to know. It is empty
	// where all is well.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// LaunchTemplateFacts describe what a launch template gives to its nodes, or restricts them to.
// While EC2 does not describe launch templates, nodes are launched by these facts, also after a
// restart of the provisioner.
type LaunchTemplateFacts struct {
	// InstanceTypes that the launch template names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=64
	InstanceTypes []string `json:"instanceTypes,omitempty"`

	// Zones that it can be launched in, where it fixes a subnet or a zone.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=64
	Zones []string `json:"zones,omitempty"`

	// CapacityType that its market options fix.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	CapacityType string `json:"capacityType,omitempty"`

	// EphemeralStorage is the size of the volume that has it, where that is not as the instance type says.
	// +optional
	EphemeralStorage *resource.Quantity `json:"ephemeralStorage,omitempty"`

	// InstanceProfile of the launch template: a name or an ARN.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	InstanceProfile string `json:"instanceProfile,omitempty"`

	// FixesSubnet says that instances are launched in the subnet of the launch template.
	// +optional
	FixesSubnet bool `json:"fixesSubnet,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=provisioners,scope=Cluster
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.cluster.name",description="Cluster that the nodes join"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether nodes can be launched"
// +kubebuilder:printcolumn:name="Nodes",type="integer",JSONPath=".status.nodes",description="Nodes, those included that have not joined yet"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.resources.cpu",description="CPU of all nodes"
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.resources.memory",description="Memory of all nodes"
// +kubebuilder:printcolumn:name="Architecture",type="string",priority=1,JSONPath=".spec.architecture",description="Architecture of all nodes"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='Ready')].message",description="What is in the way"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// Provisioner launches nodes for pods that are pending because no existing node suits them, and
// terminates nodes that are no longer needed.
//
// +slipway:rule=SP9
// +kubebuilder:validation:XValidation:rule=`self.metadata.name.size() <= 63`,message="the name must have at most 63 characters, because it is the value of a label of nodes"
type Provisioner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which nodes may be launched, and from what.
	// +required
	Spec ProvisionerSpec `json:"spec"`

	// Status says what was found in AWS, and which nodes there are.
	// +optional
	Status ProvisionerStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions, as Cluster API's helpers want it.
func (p *Provisioner) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions.
func (p *Provisioner) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// ProvisionerList is a list of Provisioners.
type ProvisionerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Provisioner `json:"items"`
}
