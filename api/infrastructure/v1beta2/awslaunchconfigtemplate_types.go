package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxLaunchConfigTemplateUsers limits how many users status.usedBy lists, however many there are.
const MaxLaunchConfigTemplateUsers = 100

// AWSLaunchConfigTemplateSpec says what the AWSLaunchConfigs that are made from the template have
// in common, and who may use it.
type AWSLaunchConfigTemplateSpec struct {
	// AllowedNamespaces are the namespaces whose pools may refer to the template, in addition to
	// its own namespace. Without it there are no others; left empty ({}) all are.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`

	// Template of the AWSLaunchConfigs. An edit reaches every pool that refers to this object, each
	// by its own roll-out.
	// +required
	Template AWSLaunchConfigTemplateResource `json:"template"`
}

// AllowedNamespaces selects namespaces: by name with list, and by label with selector.
type AllowedNamespaces struct {
	// NamespaceList names namespaces.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	NamespaceList []string `json:"list,omitempty"`

	// Selector selects namespaces by their labels. An empty one selects none.
	// +optional
	Selector *NamespaceSelector `json:"selector,omitempty"`
}

// NamespaceSelector selects namespaces that have all of these labels.
type NamespaceSelector struct {
	// MatchLabels are the labels, such as kubernetes.io/metadata.name.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
}

// AWSLaunchConfigTemplateResource describes the AWSLaunchConfig that is created from a template.
type AWSLaunchConfigTemplateResource struct {
	// Spec of the AWSLaunchConfigs, less what each cluster and pool says for itself.
	// +required
	Spec AWSLaunchConfigTemplateResourceSpec `json:"spec"`
}

// AWSLaunchConfigTemplateResourceSpec is the part of an AWSLaunchConfig's spec that belongs to no
// cluster and to no pool.
//
// +slipway:rule=SL40
// +kubebuilder:validation:XValidation:rule=`!has(self.name) || self.name == ""`,message="each AWSLaunchConfig has its own EC2 launch template, and the names must be unique: remove name",fieldPath=".name"
// +slipway:rule=TG2
// +kubebuilder:validation:XValidation:rule=`!has(self.tagSpecifications) || !has(self.additionalTags) || self.tagSpecifications.all(t, size(self.additionalTags) + t.tags.filter(k, !(k in self.additionalTags)).size() <= ('Name' in t.tags || 'Name' in self.additionalTags ? 45 : 44))`,message="AWS allows 50 tags on a resource, and Slipway sets six of them: specify at most 44 in additionalTags and the tags of the resource type together, or 45 if Name is one of them",fieldPath=".tagSpecifications"
type AWSLaunchConfigTemplateResourceSpec struct {
	// VersionsToKeep is how many launch template versions are kept, where the pool does not say;
	// older ones that nothing uses are deleted. Default: 10.
	// +optional
	// +slipway:rule=LT8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9999
	VersionsToKeep *int32 `json:"versionsToKeep,omitempty"`

	// AdditionalTags are put on the launch template, the instances and their volumes, in addition
	// to the cluster's tags and the tags that identify the owner. A pool's own additionalTags
	// overrule them key by key.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// Verify has a new version tried before any pool uses it, and before it is the default: DryRun
	// asks EC2 whether it would launch an instance from it, in a subnet of the cluster. A dry run
	// is of one instance type and one image: pools that have them from elsewhere say that they
	// cannot follow the template.
	// +optional
	// +kubebuilder:validation:Enum=DryRun
	Verify LaunchConfigVerification `json:"verify,omitempty"`

	AWSLaunchTemplate `json:",inline"`
	LaunchConfigData  `json:",inline"`
}

// AWSLaunchConfigTemplateStatus says who uses the template.
type AWSLaunchConfigTemplateStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// LaunchConfigs is how many AWSLaunchConfigs were made from the template.
	// +optional
	LaunchConfigs int32 `json:"launchConfigs,omitempty"`

	// UpToDateLaunchConfigs is how many of them are what the template says now, and ready.
	// +optional
	UpToDateLaunchConfigs int32 `json:"upToDateLaunchConfigs,omitempty"`

	// UsedBy lists them by namespace and name; 100 at most.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	UsedBy []LaunchConfigTemplateUser `json:"usedBy,omitempty"`
}

// LaunchConfigTemplateUser is an AWSLaunchConfig that was made from a template. It has the name of
// the pool that it is for.
type LaunchConfigTemplateUser struct {
	// Namespace of the AWSLaunchConfig.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// Name of the AWSLaunchConfig.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// ClusterName is the Cluster whose nodes are launched.
	// +required
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName"`

	// UpToDate is whether it is what the template says now, and ready.
	// +optional
	UpToDate bool `json:"upToDate,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=awslaunchconfigtemplates,scope=Namespaced,categories=cluster-api,shortName=awslct
// +kubebuilder:printcolumn:name="Instance Type",type="string",JSONPath=".spec.template.spec.instanceType",description="Instance type"
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.template.spec.ami.id",description="Image, where the template names one"
// +kubebuilder:printcolumn:name="Used By",type="integer",JSONPath=".status.launchConfigs",description="AWSLaunchConfigs made from the template"
// +kubebuilder:printcolumn:name="UpToDate",type="integer",JSONPath=".status.upToDateLaunchConfigs",description="AWSLaunchConfigs that are what the template says now, and ready"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// AWSLaunchConfigTemplate is a template for the AWSLaunchConfigs of many clusters. A pool that
// refers to it gets an AWSLaunchConfig of its own: the cluster's region, network, and security
// groups, and the image for its Kubernetes version, are resolved for each.
type AWSLaunchConfigTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the AWSLaunchConfigs have in common.
	// +required
	Spec AWSLaunchConfigTemplateSpec `json:"spec"`

	// Status says who uses the template.
	// +optional
	Status AWSLaunchConfigTemplateStatus `json:"status,omitempty"`
}

// GetConditions returns none. A template has no conditions.
func (*AWSLaunchConfigTemplate) GetConditions() []metav1.Condition { return nil }

// SetConditions does nothing. A template has no conditions.
func (*AWSLaunchConfigTemplate) SetConditions([]metav1.Condition) {}

// SetObservedGeneration records the generation of the spec that the status is about.
func (t *AWSLaunchConfigTemplate) SetObservedGeneration(generation int64) {
	t.Status.ObservedGeneration = generation
}

// +kubebuilder:object:root=true

// AWSLaunchConfigTemplateList is a list of AWSLaunchConfigTemplates.
type AWSLaunchConfigTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSLaunchConfigTemplate `json:"items"`
}
