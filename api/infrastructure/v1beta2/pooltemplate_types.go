package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PoolTemplateMetadata contains metadata that the pools of a template get in addition to the
// metadata that Cluster API sets.
type PoolTemplateMetadata struct {
	// Labels of the pools.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations of the pools.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// AWSMachinePoolTemplateSpec holds the template.
type AWSMachinePoolTemplateSpec struct {
	// Template is what pools are made of.
	// +required
	Template AWSMachinePoolTemplateResource `json:"template"`
}

// AWSMachinePoolTemplateResource is an AWSMachinePool without a name.
//
// +slipway:rule=SL30
// +kubebuilder:validation:XValidation:rule=`!has(self.spec.providerID) && !has(self.spec.providerIDList)`,message="Slipway sets providerID and providerIDList of each pool: remove them from the template",fieldPath=".spec.providerID"
type AWSMachinePoolTemplateResource struct {
	// Metadata of the pools.
	// +optional
	Metadata PoolTemplateMetadata `json:"metadata,omitempty"`

	// Spec of the pools.
	// +required
	Spec AWSMachinePoolSpec `json:"spec"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=awsmachinepooltemplates,scope=Namespaced,categories=cluster-api,shortName=awsmpt
// +kubebuilder:printcolumn:name="Instance Type",type="string",JSONPath=".spec.template.spec.awsLaunchTemplate.instanceType",description="Instance type"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// AWSMachinePoolTemplate is a template from which Cluster API creates AWSMachinePools, for the
// machine pools of a ClusterClass. An edit is applied to all pools that were created from it.
type AWSMachinePoolTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec holds the template.
	// +required
	Spec AWSMachinePoolTemplateSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// AWSMachinePoolTemplateList is a list of AWSMachinePoolTemplates.
type AWSMachinePoolTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSMachinePoolTemplate `json:"items"`
}

// AWSManagedMachinePoolTemplateSpec holds the template.
type AWSManagedMachinePoolTemplateSpec struct {
	// Template is what pools are made of.
	// +required
	Template AWSManagedMachinePoolTemplateResource `json:"template"`
}

// AWSManagedMachinePoolTemplateResource is an AWSManagedMachinePool without a name.
//
// +slipway:rule=SL30
// +kubebuilder:validation:XValidation:rule=`!has(self.spec.providerIDList)`,message="Slipway sets providerIDList of each pool: remove it from the template",fieldPath=".spec.providerIDList"
// +slipway:rule=SL31
// +kubebuilder:validation:XValidation:rule=`!has(self.spec.eksNodegroupName) || self.spec.eksNodegroupName == ""`,message="node group names are unique in a cluster, but a template is used for many pools: remove eksNodegroupName",fieldPath=".spec.eksNodegroupName"
type AWSManagedMachinePoolTemplateResource struct {
	// Metadata of the pools.
	// +optional
	Metadata PoolTemplateMetadata `json:"metadata,omitempty"`

	// Spec of the pools.
	// +required
	Spec AWSManagedMachinePoolSpec `json:"spec"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=awsmanagedmachinepooltemplates,scope=Namespaced,categories=cluster-api,shortName=awsmmpt
// +kubebuilder:printcolumn:name="AMI Type",type="string",JSONPath=".spec.template.spec.amiType",description="What EKS chooses images from"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// AWSManagedMachinePoolTemplate is a template from which Cluster API creates
// AWSManagedMachinePools, for the machine pools of a ClusterClass. An edit is applied to all pools
// that were created from it.
type AWSManagedMachinePoolTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec holds the template.
	// +required
	Spec AWSManagedMachinePoolTemplateSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// AWSManagedMachinePoolTemplateList is a list of AWSManagedMachinePoolTemplates.
type AWSManagedMachinePoolTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSManagedMachinePoolTemplate `json:"items"`
}
