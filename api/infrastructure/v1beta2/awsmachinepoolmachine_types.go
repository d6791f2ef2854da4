package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWSMachinePoolMachineSpec says which instance the object stands for. The controller writes it.
type AWSMachinePoolMachineSpec struct {
	// ProviderID is the instance as Node.spec.providerID names it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// InstanceID is the EC2 instance id.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	InstanceID string `json:"instanceID"`
}

// AWSMachinePoolMachineStatus says what the instance is.
type AWSMachinePoolMachineStatus struct {
	// Ready is true for an instance that exists. Cluster API reads it.
	// +optional
	Ready bool `json:"ready"`

	// Initialization is what Cluster API's v1beta2 contract reads in place of ready.
	// +optional
	Initialization AWSMachinePoolInitializationStatus `json:"initialization,omitempty,omitzero"`

	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say how far the instance is, and what is in the way.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Instance is what the group reports about the instance.
	// +optional
	Instance *AWSMachinePoolInstanceStatus `json:"instance,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=awsmachinepoolmachines,scope=Namespaced,categories=cluster-api,shortName=awsmpm
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that the instance belongs to"
// +kubebuilder:printcolumn:name="Pool",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/pool-name']",description="MachinePool that the instance belongs to"
// +kubebuilder:printcolumn:name="Instance",type="string",JSONPath=".spec.instanceID",description="EC2 instance"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.instance.lifecycleState",description="Where the instance is in the group's life"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.instance.launchTemplateVersion",description="Launch template version that the instance runs"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// AWSMachinePoolMachine stands for one instance of an AWSMachinePool's group, so that Cluster API
// can have a Machine for it. It is made and removed by the pool's controller.
type AWSMachinePoolMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which instance the object stands for.
	// +required
	Spec AWSMachinePoolMachineSpec `json:"spec"`

	// Status says what the instance is.
	// +optional
	Status AWSMachinePoolMachineStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions, as Cluster API's helpers want it.
func (m *AWSMachinePoolMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions.
func (m *AWSMachinePoolMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// AWSMachinePoolMachineList is a list of AWSMachinePoolMachines.
type AWSMachinePoolMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSMachinePoolMachine `json:"items"`
}
