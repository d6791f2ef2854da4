package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Requirement limits what a label of nodes may be, as an expression of a node selector does. Pods
// narrow it, and never widen it.
//
// +slipway:rule=SP20
// +kubebuilder:validation:XValidation:rule=`!(self.operator in ['In', 'NotIn']) || has(self.values) && self.values.size() > 0`,message="values must not be empty for the operators In and NotIn",fieldPath=".values"
// +slipway:rule=SP20
// +kubebuilder:validation:XValidation:rule=`!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0`,message="values must be empty for the operators Exists and DoesNotExist",fieldPath=".values"
// +slipway:rule=SP20
// +kubebuilder:validation:XValidation:rule=`!(self.operator in ['Gt', 'Lt']) || has(self.values) && self.values.size() == 1 && self.values[0].matches('^(0|[1-9][0-9]{0,17})$')`,message="values must be a single non-negative integer for the operators Gt and Lt",fieldPath=".values"
// +slipway:rule=SP20
// +kubebuilder:validation:XValidation:rule=`!(self.operator in ['Gt', 'Lt']) || self.key in ['karpenter.k8s.aws/instance-generation', 'karpenter.k8s.aws/instance-cpu', 'karpenter.k8s.aws/instance-memory', 'karpenter.k8s.aws/instance-ebs-bandwidth', 'karpenter.k8s.aws/instance-network-bandwidth', 'karpenter.k8s.aws/instance-local-nvme', 'karpenter.k8s.aws/instance-gpu-count', 'karpenter.k8s.aws/instance-gpu-memory', 'karpenter.k8s.aws/instance-accelerator-count']`,message="operators Gt and Lt are only valid for labels with numeric values: use In or NotIn",fieldPath=".operator"
// +slipway:rule=SP21
// +kubebuilder:validation:XValidation:rule=`!(self.key in ['node.k8s.aws/capacity-type', 'karpenter.sh/capacity-type']) || !has(self.values) || self.values.all(v, v in ['spot', 'on-demand'])`,message="a capacity type must be spot or on-demand",fieldPath=".values"
// +slipway:rule=SP21
// +kubebuilder:validation:XValidation:rule=`self.key != 'kubernetes.io/arch' || !has(self.values) || self.values.all(v, v in ['amd64', 'arm64'])`,message="kubernetes.io/arch must be amd64 or arm64",fieldPath=".values"
// +slipway:rule=SP21
// +kubebuilder:validation:XValidation:rule=`self.key != 'kubernetes.io/os' || self.operator == 'Exists' || self.operator == 'In' && has(self.values) && 'linux' in self.values`,message="all nodes run Linux: require kubernetes.io/os In [linux], or remove the requirement",fieldPath=".values"
type Requirement struct {
	// Key of the label. Labels of karpenter.k8s.aws/ describe the instance type: memory and GPU
	// memory in MiB, bandwidths in Mbit/s, local-nvme in GB. karpenter.sh/capacity-type is
	// node.k8s.aws/capacity-type.
	// +required
	Key RequirementKey `json:"key"`

	// Operator relates the label to the values. NotIn and DoesNotExist hold for nodes without the
	// label too; the others do not.
	// +required
	Operator RequirementOperator `json:"operator"`

	// Values of the label: at least one for In and NotIn, one whole number for Gt and Lt, none for
	// Exists and DoesNotExist.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	Values []string `json:"values,omitempty"`
}

// RequirementKey is a label that an instance decides. A Provisioner has one launch template, so
// that labels of launch templates are not among them.
//
// +slipway:rule=PV19
// +kubebuilder:validation:Enum=topology.kubernetes.io/zone;node.kubernetes.io/instance-type;kubernetes.io/arch;kubernetes.io/os;node.k8s.aws/capacity-type;karpenter.sh/capacity-type;karpenter.k8s.aws/instance-category;karpenter.k8s.aws/instance-family;karpenter.k8s.aws/instance-generation;karpenter.k8s.aws/instance-size;karpenter.k8s.aws/instance-cpu;karpenter.k8s.aws/instance-cpu-manufacturer;karpenter.k8s.aws/instance-memory;karpenter.k8s.aws/instance-ebs-bandwidth;karpenter.k8s.aws/instance-network-bandwidth;karpenter.k8s.aws/instance-hypervisor;karpenter.k8s.aws/instance-encryption-in-transit-supported;karpenter.k8s.aws/instance-local-nvme;karpenter.k8s.aws/instance-gpu-name;karpenter.k8s.aws/instance-gpu-manufacturer;karpenter.k8s.aws/instance-gpu-count;karpenter.k8s.aws/instance-gpu-memory;karpenter.k8s.aws/instance-accelerator-name;karpenter.k8s.aws/instance-accelerator-manufacturer;karpenter.k8s.aws/instance-accelerator-count
type RequirementKey string

// RequirementOperator relates a label to values, as in node selectors.
//
// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
type RequirementOperator string

// ExtraResources are amounts that a node has in addition to the resources of its instance type.
//
// +kubebuilder:validation:MaxProperties=16
// +slipway:rule=SP22
// +kubebuilder:validation:XValidation:rule=`self.all(k, k.matches('^hugepages-[1-9][0-9]{0,3}[KMG]i$') || k.matches('^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))`,message="must be huge pages of a size, such as hugepages-2Mi, or a resource with a domain, such as vpc.amazonaws.com/efa: the instance type determines CPU, memory, storage, and pods"
// +slipway:rule=SP22
// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.matches('^([^/]+[.])?kubernetes[.]io/'))`,message="resources of kubernetes.io/ are not device resources: use the name that the device plugin registers"
// +slipway:rule=SP22
// +kubebuilder:validation:XValidation:rule=`self.all(k, type(self[k]) == int ? self[k] >= 1 : !quantity(self[k]).isLessThan(quantity('1')))`,message="an amount must be at least 1"
type ExtraResources map[corev1.ResourceName]resource.Quantity
