package v1alpha2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// ProvisionerSpec says which nodes may be launched for pending pods, and from what.
//
// +slipway:rule=PV2
// +kubebuilder:validation:XValidation:rule=`!has(self.architecture) || !has(self.labels) || !('node.k8s.aws/launch-template-name' in self.labels || 'kubernetes.amazonaws.com/launchTemplateId' in self.labels)`,message="the image of the launch template determines the architecture: remove architecture, or the label of the launch template",fieldPath=".architecture"
// +slipway:rule=PV2
// +kubebuilder:validation:XValidation:rule=`!has(self.architecture) || !(has(self.launchTemplateRef) || has(self.launchConfigRef))`,message="the image of the launch template determines the architecture: remove architecture, or the reference to the launch template",fieldPath=".architecture"
// +slipway:rule=SP1
// +kubebuilder:validation:XValidation:rule=`(has(self.launchTemplateRef) ? 1 : 0) + (has(self.launchConfigRef) ? 1 : 0) + (has(self.labels) && ('node.k8s.aws/launch-template-name' in self.labels || 'kubernetes.amazonaws.com/launchTemplateId' in self.labels) ? 1 : 0) <= 1`,message="only one launch template may be specified: by a label, launchTemplateRef, or launchConfigRef"
// +slipway:rule=SP7
// +kubebuilder:validation:XValidation:rule=`!has(self.taints) || !has(self.startupTaints) || self.startupTaints.all(s, !self.taints.exists(t, t.key == s.key && t.effect == s.effect))`,message="a taint must not be in both taints and startupTaints: remove it from one of them",fieldPath=".startupTaints"
type ProvisionerSpec struct {
	// Cluster that the nodes join.
	// +required
	Cluster ProvisionerCluster `json:"cluster"`

	// Architecture of all nodes. Without it, and without a launch template, a pod's
	// kubernetes.io/arch decides; a pod that says nothing runs on x86_64.
	// +optional
	Architecture Architecture `json:"architecture,omitempty"`

	// Taints of all nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +slipway:rule=SP7
	// +kubebuilder:validation:XValidation:rule=`self.all(t, self.filter(o, o.key == t.key && o.effect == t.effect).size() == 1)`,message="every taint must have a unique combination of key and effect"
	Taints []Taint `json:"taints,omitempty"`

	// StartupTaints are taints that nodes get once, when they register, and that another controller
	// removes when its part of the node is ready: a network plugin, for example. Pods need not
	// tolerate them. A node that still has one when it should have been initialized is replaced.
	// Taints whose key begins with readiness.k8s.io/ or ends with /agent-not-ready are startup
	// taints without being listed here. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +slipway:rule=SP7
	// +kubebuilder:validation:XValidation:rule=`self.all(t, self.filter(o, o.key == t.key && o.effect == t.effect).size() == 1)`,message="every taint must have a unique combination of key and effect"
	StartupTaints []Taint `json:"startupTaints,omitempty"`

	// Zones that nodes may be in: pods choose among them. Default: the zones of the subnets.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=64
	// +slipway:rule=SP2
	// +kubebuilder:validation:XValidation:rule=`self.all(z, z.matches('^[a-z]{2,}(-[a-z0-9]+)+$'))`,message="must be names of zones, such as us-east-1a"
	Zones []string `json:"zones,omitempty"`

	// InstanceTypes that nodes may have: pods choose among them. Default: every type of the region
	// that suits.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=64
	// +slipway:rule=SP2
	// +kubebuilder:validation:XValidation:rule=`self.all(t, t.matches('^[a-z0-9-]+[.][a-z0-9-]+$'))`,message="must be names of instance types, such as m5.large"
	InstanceTypes []string `json:"instanceTypes,omitempty"`

	// Requirements that all nodes satisfy, in addition to zones, instanceTypes and architecture.
	// Where they allow both capacity types, nodes are Spot Instances, and On-Demand Instances while
	// AWS has no suitable Spot capacity.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Requirements []Requirement `json:"requirements,omitempty"`

	// Weight orders Provisioners that suit the same pods: the highest weight launches, and among
	// equal weights the first by name. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Weight *int32 `json:"weight,omitempty"`

	// ExtraResources are resources that every node from the Provisioner's own or default launch
	// template has in addition to the resources of its instance type: huge pages that its user data
	// reserves, network interfaces for vpc.amazonaws.com/efa, or devices of a device plugin. Huge
	// pages are taken from the node's memory. Pods that ask for them get nodes. Default: none.
	// +optional
	ExtraResources ExtraResources `json:"extraResources,omitempty"`

	// TTLSeconds is how long, in seconds, a node stays on which only pods of daemon
	// sets run. Default: for good.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TTLSeconds *int64 `json:"ttlSeconds,omitempty"`

	// TTLSecondsUntilExpired is the age, in seconds, at which a node is replaced. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=315360000
	TTLSecondsUntilExpired *int64 `json:"ttlSecondsUntilExpired,omitempty"`

	// Drift replaces nodes that differ from the nodes that would be launched now: they would get
	// another version of their launch template, or another image, because a newer one exists or
	// because this spec changed. With it, default launch templates follow the newest image.
	// Default: nodes stay as they are.
	// +optional
	Drift *Drift `json:"drift,omitempty"`

	// Disruption bounds how many nodes are disrupted voluntarily at a time: nodes that are
	// empty, expired, or drifted, and nodes whose replacement was requested. With spec.drift, its
	// maxReplacing holds as well.
	// +optional
	Disruption *Disruption `json:"disruption,omitempty"`

	// TerminationGracePeriod bounds the drain of a node: after it the instance is terminated. Pods
	// that are still there are deleted in time for their own grace period, whatever
	// PodDisruptionBudgets and karpenter.sh/do-not-disrupt ask for. With it, pods with
	// karpenter.sh/do-not-disrupt delay the replacement of their node, and do not prevent it.
	// Default: a drain takes as long as its pods need.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SP32
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]{1,5}h)?([0-9]{1,6}m)?([0-9]{1,7}s)?$') && self.size() > 0`,message="must be a duration in hours, minutes, and seconds, such as 48h, 1h30m, or 300s"
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`

	// Labels of all nodes, unless a pod asks for another value. Labels of node.k8s.aws choose the
	// launch template and how capacity is bought.
	// +optional
	Labels Labels `json:"labels,omitempty"`

	// LaunchTemplateRef is the EC2 launch template of nodes whose pods name none, where its name is
	// no legal value of a label, or only its id is known.
	// +optional
	LaunchTemplateRef *LaunchTemplateReference `json:"launchTemplateRef,omitempty"`

	// LaunchConfigRef is the AWSLaunchConfig whose launch template has the nodes of pods that name none.
	// +optional
	LaunchConfigRef *LaunchConfigReference `json:"launchConfigRef,omitempty"`

	// AllowedLaunchTemplates are the EC2 launch templates that pods may name by
	// node.k8s.aws/launch-template-name, in addition to the one that their nodes would be launched
	// from anyway. Default: none.
	// +optional
	AllowedLaunchTemplates *AllowedLaunchTemplates `json:"allowedLaunchTemplates,omitempty"`

	// Subnets that nodes may be in. Default: those with the tag kubernetes.io/cluster/ and the name
	// of the cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Subnets []infrav1.AWSResourceReference `json:"subnets,omitempty"`

	// SecurityGroups of nodes from default launch templates. Default: those with the tag
	// kubernetes.io/cluster/ and the name of the cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	SecurityGroups []infrav1.AWSResourceReference `json:"securityGroups,omitempty"`

	// Limits of all nodes of the provisioner together. Nothing is launched that would go beyond one.
	// +optional
	Limits *Limits `json:"limits,omitempty"`

	// IncompatibleArchitecturePolicy is what becomes of pods whose architecture the launch template
	// cannot serve. Default: UseDefault.
	// +optional
	IncompatibleArchitecturePolicy IncompatibleArchitecturePolicy `json:"incompatibleArchitecturePolicy,omitempty"`
}

// ProvisionerCluster is the cluster that nodes join.
//
// +slipway:rule=SP3
// +kubebuilder:validation:XValidation:rule=`has(self.endpoint) == has(self.caBundle)`,message="endpoint and caBundle must be set together, because a node needs both to join"
type ProvisionerCluster struct {
	// Name of the cluster, as in the tags of its resources. It never changes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +slipway:rule=SP11
	// +kubebuilder:validation:XValidation:rule=`self == oldSelf`,message="cluster.name is immutable, because nodes and default launch templates have the cluster's name: create a new Provisioner"
	Name string `json:"name"`

	// CABundle has the certificates that the API server's is signed by: PEM, in base64. Default:
	// the authority of the EKS cluster of the name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +slipway:rule=SP3
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[A-Za-z0-9+/]+={0,2}$')`,message="must be PEM certificates, base64-encoded in one line"
	CABundle string `json:"caBundle,omitempty"`

	// Endpoint of the API server. Default: the endpoint of the EKS cluster of the name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +slipway:rule=SP3
	// +kubebuilder:validation:XValidation:rule=`self.matches('^https://[^ /]+/?$')`,message="must be an endpoint such as https://example.com:6443"
	Endpoint string `json:"endpoint,omitempty"`
}

// Architecture of a processor, as named by EC2 or by Kubernetes.
//
// +kubebuilder:validation:Enum=x86_64;amd64;arm64
type Architecture string

// The architectures. ArchitectureX86 and ArchitectureAMD64 are one.
const (
	ArchitectureX86   Architecture = "x86_64"
	ArchitectureAMD64 Architecture = "amd64"
	ArchitectureARM64 Architecture = "arm64"
)

// Label returns the value of kubernetes.io/arch on nodes of the architecture, or "" if there is no
// architecture.
func (a Architecture) Label() string {
	if a == ArchitectureX86 {
		return string(ArchitectureAMD64)
	}
	return string(a)
}

// Taint keeps pods that do not tolerate it off the nodes.
type Taint struct {
	// Key of the taint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +slipway:rule=SP4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')`,message="a key must be a name of at most 63 letters, digits, and - _ . optionally with a domain and / before it"
	Key string `json:"key"`

	// Value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +slipway:rule=SP4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$')`,message="a value must have at most 63 letters, digits, and - _ . and must begin and end with a letter or digit"
	Value string `json:"value,omitempty"`

	// Effect on pods that do not tolerate the taint.
	// +required
	Effect TaintEffect `json:"effect"`
}

// TaintEffect defines what happens to pods that do not tolerate a taint, with the values of
// Kubernetes.
//
// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
type TaintEffect string

// Labels are labels of nodes by key.
//
// +kubebuilder:validation:MaxProperties=64
//
// +slipway:rule=SP4
// +kubebuilder:validation:XValidation:rule=`self.all(k, k.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))`,message="a key must be a name of at most 63 letters, digits, and - _ . optionally with a domain and / before it"
// +slipway:rule=SP4
// +kubebuilder:validation:XValidation:rule=`self.all(k, k == 'node.k8s.aws/launch-template-name' || k == 'node.k8s.aws/launch-template-version' || k == 'kubernetes.amazonaws.com/launchTemplateVersion' || self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))`,message="a value must have at most 63 letters, digits, and - _ . and must begin and end with a letter or digit"
// +slipway:rule=PV1
// +kubebuilder:validation:XValidation:rule=`!('node.k8s.aws/launch-template-version' in self || 'kubernetes.amazonaws.com/launchTemplateVersion' in self) || 'node.k8s.aws/launch-template-name' in self || 'kubernetes.amazonaws.com/launchTemplateId' in self`,message="node.k8s.aws/launch-template-version requires a launch template: add node.k8s.aws/launch-template-name, or remove the version"
// +slipway:rule=PV3
// +kubebuilder:validation:XValidation:rule=`!('node.k8s.aws/launch-template-name' in self) || self['node.k8s.aws/launch-template-name'].matches('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')`,message="node.k8s.aws/launch-template-name must be a valid label value of at most 63 letters, digits, and - _ . For other names, use spec.launchTemplateRef"
// +slipway:rule=PV4
// +kubebuilder:validation:XValidation:rule=`!('node.k8s.aws/launch-template-name' in self) || self['node.k8s.aws/launch-template-name'].size() >= 3`,message="node.k8s.aws/launch-template-name must have at least 3 characters, as names in EC2 do"
// +slipway:rule=PV6
// +kubebuilder:validation:XValidation:rule=`['node.k8s.aws/launch-template-version', 'kubernetes.amazonaws.com/launchTemplateVersion'].all(k, !(k in self) || self[k] == '$LATEST' || self[k].matches('^([0-9]+|latest|default)$'))`,message="a version must be a number, latest, or default (write latest for $Latest, default for $Default)"
// +slipway:rule=PV7
// +kubebuilder:validation:XValidation:rule=`['node.k8s.aws/launch-template-version', 'kubernetes.amazonaws.com/launchTemplateVersion'].all(k, !(k in self) || !self[k].matches('^[0-9]+$') || self[k].matches('^[1-9][0-9]{0,17}$'))`,message="a version number must be positive, without leading zeros, and have at most 18 digits"
// +slipway:rule=PV8
// +kubebuilder:validation:XValidation:rule=`['node.k8s.aws/capacity-type', 'kubernetes.amazonaws.com/capacityType'].all(k, !(k in self) || self[k] == 'spot' || self[k] == 'on-demand')`,message="node.k8s.aws/capacity-type must be spot or on-demand"
// +slipway:rule=PV9
// +kubebuilder:validation:XValidation:rule=`!('node.k8s.aws/launch-template-version' in self) || !('kubernetes.amazonaws.com/launchTemplateVersion' in self) || self['node.k8s.aws/launch-template-version'] == self['kubernetes.amazonaws.com/launchTemplateVersion']`,message="kubernetes.amazonaws.com/launchTemplateVersion is deprecated and conflicts with node.k8s.aws/launch-template-version: remove kubernetes.amazonaws.com/launchTemplateVersion"
// +slipway:rule=PV9
// +kubebuilder:validation:XValidation:rule=`!('node.k8s.aws/capacity-type' in self) || !('kubernetes.amazonaws.com/capacityType' in self) || self['node.k8s.aws/capacity-type'] == self['kubernetes.amazonaws.com/capacityType']`,message="kubernetes.amazonaws.com/capacityType is deprecated and conflicts with node.k8s.aws/capacity-type: remove kubernetes.amazonaws.com/capacityType"
// +slipway:rule=PV10
// +kubebuilder:validation:XValidation:rule=`!('node.k8s.aws/launch-template-name' in self && 'kubernetes.amazonaws.com/launchTemplateId' in self)`,message="only one launch template may be specified: remove kubernetes.amazonaws.com/launchTemplateId"
// +slipway:rule=SP5
// +kubebuilder:validation:XValidation:rule=`!('kubernetes.amazonaws.com/launchTemplateId' in self) || self['kubernetes.amazonaws.com/launchTemplateId'].matches('^lt-[0-9a-f]{8,17}$')`,message="kubernetes.amazonaws.com/launchTemplateId must be an ID (lt-...): to use a name, set node.k8s.aws/launch-template-name"
// +slipway:rule=SP5
// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('node.k8s.aws/') || k in ['node.k8s.aws/launch-template-name', 'node.k8s.aws/launch-template-version', 'node.k8s.aws/capacity-type'])`,message="the only supported labels of node.k8s.aws/ are launch-template-name, launch-template-version, and capacity-type"
// +slipway:rule=SP5
// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('kubernetes.amazonaws.com/') || k in ['kubernetes.amazonaws.com/launchTemplateId', 'kubernetes.amazonaws.com/launchTemplateVersion', 'kubernetes.amazonaws.com/capacityType'])`,message="the only supported labels of kubernetes.amazonaws.com/ are launchTemplateId, launchTemplateVersion, and capacityType, and they are deprecated: use node.k8s.aws/"
// +slipway:rule=SP6
// +kubebuilder:validation:XValidation:rule=`!('kubernetes.io/arch' in self || 'beta.kubernetes.io/arch' in self)`,message="use spec.architecture instead of the label kubernetes.io/arch"
// +slipway:rule=SP6
// +kubebuilder:validation:XValidation:rule=`!self.exists(k, k in ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone', 'node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'])`,message="use spec.zones or spec.instanceTypes instead of the label: the instance determines the zone and instance type of its node"
// +slipway:rule=SP6
// +kubebuilder:validation:XValidation:rule=`!self.exists(k, k in ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region', 'kubernetes.io/os', 'beta.kubernetes.io/os'])`,message="the instance determines the region and the operating system: remove the label"
// +slipway:rule=SP6
// +kubebuilder:validation:XValidation:rule=`!self.exists(k, k.startsWith('karpenter.k8s.aws/'))`,message="labels of karpenter.k8s.aws/ describe the instance: use spec.requirements to restrict it instead"
// +slipway:rule=PV20
// +kubebuilder:validation:XValidation:rule=`self.all(k, k != 'kubernetes.io/hostname' && !k.startsWith('kubernetes.io/cluster/') && !k.matches('^([^/]+[.])?karpenter[.]sh/'))`,message="kubernetes.io/hostname, kubernetes.io/cluster/, and karpenter.sh/ are reserved for other components: remove the label"
type Labels map[string]string

// LaunchTemplateReference names an EC2 launch template of another owner.
//
// +slipway:rule=SP1
// +kubebuilder:validation:XValidation:rule=`has(self.id) != has(self.name)`,message="exactly one of id and name must be set"
type LaunchTemplateReference struct {
	// ID of the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SP5
	// +kubebuilder:validation:XValidation:rule=`self.matches('^lt-[0-9a-f]{8,17}$')`,message="must be the ID of a launch template (lt-...)"
	ID string `json:"id,omitempty"`

	// Name of the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +slipway:rule=PV5
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-zA-Z0-9()./_-]{3,128}$')`,message="a launch template name must have 3 to 128 characters: letters, digits, and ( ) . - / _"
	Name string `json:"name,omitempty"`

	// Version is a number, latest or default. Default: latest.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=PV6
	// +kubebuilder:validation:XValidation:rule=`self == '$LATEST' || self.matches('^([0-9]+|latest|default)$')`,message="a version must be a number, latest, or default (write latest for $Latest, default for $Default)"
	// +slipway:rule=PV7
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[0-9]+$') || self.matches('^[1-9][0-9]{0,17}$')`,message="a version number must be positive, without leading zeros, and have at most 18 digits"
	Version string `json:"version,omitempty"`
}

// AllowedLaunchTemplates selects EC2 launch templates. A launch template is selected if it has one
// of the names, if its name begins with one of the prefixes, or if it has all of the tags.
// Instances have the AWS permissions of the instance profile in their launch template, so a user
// who can create pods has the permissions of every instance profile in the selected launch
// templates.
//
// +slipway:rule=SP12
// +kubebuilder:validation:XValidation:rule=`has(self.names) || has(self.prefixes) || has(self.tags)`,message="at least one of names, prefixes, and tags must be set, or pods can use no launch template"
type AllowedLaunchTemplates struct {
	// Names of launch templates.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=128
	Names []string `json:"names,omitempty"`

	// Prefixes of names of launch templates.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Prefixes []string `json:"prefixes,omitempty"`

	// Tags that a launch template must have, all of them.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=20
	// +slipway:rule=SP12
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)`,message="a tag must have a key of 1 to 128 characters and a value of at most 256 characters"
	Tags map[string]string `json:"tags,omitempty"`

	// InstanceProfiles limits the instance profiles that these launch templates may have: names or
	// ARNs, with * for any characters but / and ? for any one. A launch template without an
	// instance profile is always allowed. Default: any.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	InstanceProfiles []string `json:"instanceProfiles,omitempty"`
}

// LaunchConfigReference names an AWSLaunchConfig.
type LaunchConfigReference struct {
	// Namespace of the AWSLaunchConfig.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// Name of the AWSLaunchConfig.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Limits bound what all nodes of a provisioner have together.
//
// +slipway:rule=SP8
// +kubebuilder:validation:XValidation:rule=`!has(self.cpu) || (type(self.cpu) == int ? self.cpu >= 0 : isQuantity(self.cpu) && !quantity(self.cpu).isLessThan(quantity('0')))`,message="cpu must not be negative",fieldPath=".cpu"
// +slipway:rule=SP8
// +kubebuilder:validation:XValidation:rule=`!has(self.memory) || (type(self.memory) == int ? self.memory >= 0 : isQuantity(self.memory) && !quantity(self.memory).isLessThan(quantity('0')))`,message="memory must not be negative",fieldPath=".memory"
type Limits struct {
	// CPU of all nodes, such as 1000.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// Memory of all nodes, such as 1000Gi.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// Nodes is their number. 0 launches nothing.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Nodes *int32 `json:"nodes,omitempty"`
}

// Drift defines how nodes are replaced that differ from the nodes that would be launched now.
type Drift struct {
	// MaxReplacing is how many nodes are replaced at a time: a number, or percent of all nodes of
	// the provisioner, rounded up.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +slipway:rule=SP10
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 1 && self <= 100000 : self.matches('^([1-9][0-9]?|100)%$')`,message="must be a number of nodes that is at least 1, or a percentage such as 10%"
	MaxReplacing intstr.IntOrString `json:"maxReplacing"`
}

// IncompatibleArchitecturePolicy defines what happens to pods whose architecture the launch
// template cannot serve.
//
// +kubebuilder:validation:Enum=UseDefault;Ignore
type IncompatibleArchitecturePolicy string

const (
	// UseDefault launches such pods' nodes from the default launch template of their architecture.
	UseDefault IncompatibleArchitecturePolicy = "UseDefault"

	// Ignore leaves such pods alone.
	Ignore IncompatibleArchitecturePolicy = "Ignore"
)
