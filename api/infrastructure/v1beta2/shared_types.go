package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Tags are AWS tags by key.
//
// AWS allows 50 on a resource, and the six that Slipway adds count too, as do the cluster's.
// +kubebuilder:validation:MaxProperties=50
//
// +slipway:rule=TG2
// +kubebuilder:validation:XValidation:rule=`self.all(k, size(k) >= 1 && size(k) <= 128)`,message="tag keys must be 1 to 128 characters long"
// +slipway:rule=TG2
// +kubebuilder:validation:XValidation:rule=`self.all(k, k.matches(r'^[\p{L}\p{Z}\p{N}_.:/=+@-]*$') && self[k].matches(r'^[\p{L}\p{Z}\p{N}_.:/=+@-]*$'))`,message="tag keys and values must contain only letters, digits, spaces, and _ . : / = + - @"
// +slipway:rule=TG2
// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.matches(r'^[Aa][Ww][Ss]:'))`,message="tag keys must not begin with aws:, which is reserved for AWS in upper and lower case"
// +slipway:rule=TG2
// +kubebuilder:validation:XValidation:rule=`size(self) <= ('Name' in self ? 45 : 44)`,message="AWS allows 50 tags on a resource, and Slipway sets six of them: specify at most 44, or 45 if Name is one of them"
// +slipway:rule=TG3
// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('kubernetes.io/cluster/') && !k.startsWith('sigs.k8s.io/cluster-api-provider-aws/') && !k.startsWith('slipway.infrastructure.cluster.x-k8s.io/'))`,message="tag keys that begin with kubernetes.io/cluster/, sigs.k8s.io/cluster-api-provider-aws/, or slipway.infrastructure.cluster.x-k8s.io/ identify the owner of a resource and are reserved for Slipway: remove them"
// +slipway:rule=TG3
// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('eks:') && !(k in ['karpenter.sh/nodepool', 'karpenter.sh/nodeclaim', 'karpenter.sh/managed-by', 'karpenter.sh/provisioner-name', 'karpenter.k8s.aws/ec2nodeclass']))`,message="tag keys of Amazon EKS (eks:...) and of Karpenter are reserved, because these programs would manage the instances as their own: remove them"
type Tags map[string]string

// AWSResourceReference names AWS resources by id, or describes them by filters.
//
// +slipway:rule=SL1
// +kubebuilder:validation:XValidation:rule=`(has(self.id) && self.id != "") != (has(self.filters) && size(self.filters) > 0)`,message="exactly one of id and filters must be set"
type AWSResourceReference struct {
	// ID of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ID *string `json:"id,omitempty"`

	// Filters that the resource matches, in the vocabulary of the AWS call that lists such
	// resources. All resources that match are taken.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Filters []Filter `json:"filters,omitempty"`
}

// Filter is one filter of an AWS describe call.
type Filter struct {
	// Name of the filter, such as tag:Name; case matters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// Values. One must match; case matters, and * and ? are wildcards.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=256
	Values []string `json:"values"`
}

// NodeCapacity maps resources to the amounts that a node has.
//
// +kubebuilder:validation:MaxProperties=32
type NodeCapacity map[corev1.ResourceName]resource.Quantity

// NodeInfo describes a future node to cluster-autoscaler.
type NodeInfo struct {
	// Architecture as kubernetes.io/arch has it: amd64 or arm64.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Architecture string `json:"architecture,omitempty"`

	// OperatingSystem as kubernetes.io/os has it: linux or windows.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	OperatingSystem string `json:"operatingSystem,omitempty"`
}
