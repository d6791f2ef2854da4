package v1beta2

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWSManagedMachinePoolSpec says what EKS managed node group the pool has.
//
// +slipway:rule=SL21
// +kubebuilder:validation:XValidation:rule=`[has(self.awsLaunchTemplate), has(self.launchConfigRef), has(self.launchConfigTemplateRef)].filter(given, given).size() <= 1`,message="at most one of awsLaunchTemplate, launchConfigRef, and launchConfigTemplateRef may be set"
// +slipway:rule=EK9
// +kubebuilder:validation:XValidation:rule=`!has(self.diskSize) || !hasAny(self, awsLaunchTemplate, launchConfigRef, launchConfigTemplateRef)`,message="the launch template of the pool determines the size of its root volume: remove diskSize, and set awsLaunchTemplate.rootVolume.size",fieldPath=".diskSize"
// +slipway:rule=EK10
// +kubebuilder:validation:XValidation:rule=`!has(self.remoteAccess) || !hasAny(self, awsLaunchTemplate, launchConfigRef, launchConfigTemplateRef)`,message="the launch template of the pool determines its SSH key and security groups: remove remoteAccess, and set awsLaunchTemplate.sshKeyName and additionalSecurityGroups",fieldPath=".remoteAccess"
// +slipway:rule=EK11
// +kubebuilder:validation:XValidation:rule=`!has(self.instanceType) || self.instanceType == "" || !hasAny(self, awsLaunchTemplate, launchConfigRef, launchConfigTemplateRef)`,message="the launch template of the pool determines its instance type: remove instanceType, and set awsLaunchTemplate.instanceType, or instanceTypes",fieldPath=".instanceType"
// +slipway:rule=EK11
// +kubebuilder:validation:XValidation:rule=`!has(self.instanceTypes) || size(self.instanceTypes) == 0 || !has(self.instanceType) || self.instanceType == ""`,message="instanceType and instanceTypes are mutually exclusive: remove instanceType, and make it the first item of instanceTypes",fieldPath=".instanceTypes"
// +slipway:rule=EK11
// +kubebuilder:validation:XValidation:rule=`!has(self.instanceTypes) || size(self.instanceTypes) == 0 || !has(self.awsLaunchTemplate) || !has(self.awsLaunchTemplate.instanceType) || self.awsLaunchTemplate.instanceType == ""`,message="EKS reads instance types either from the launch template or from the node group: remove awsLaunchTemplate.instanceType, or instanceTypes",fieldPath=".instanceTypes"
// +slipway:rule=EK12
// +kubebuilder:validation:XValidation:rule=`!has(self.amiType) || self.amiType in ['CUSTOM', 'AL2_x86_64'] || !specifiesImage(self)`,message="awsLaunchTemplate specifies an image (ami, or imageLookup...), so EKS does not choose one: set amiType to CUSTOM, or omit it; without an image in awsLaunchTemplate, EKS chooses it by amiType and amiVersion",fieldPath=".amiType"
// +slipway:rule=EK12
// +kubebuilder:validation:XValidation:rule=`!has(self.amiVersion) || !specifiesImage(self)`,message="awsLaunchTemplate specifies an image (ami, or imageLookup...), so EKS does not choose one: remove amiVersion; without an image in awsLaunchTemplate, EKS chooses it by amiType and amiVersion",fieldPath=".amiVersion"
// +slipway:rule=EK12
// +kubebuilder:validation:XValidation:rule=`!has(self.amiVersion) || !(has(self.amiType) && self.amiType == 'CUSTOM')`,message="amiVersion is only valid for images that EKS chooses, but amiType CUSTOM means your own image: remove amiVersion, or choose another amiType",fieldPath=".amiVersion"
// +slipway:rule=EK13
// +kubebuilder:validation:XValidation:rule=`!(has(self.amiType) && self.amiType == 'CUSTOM') || hasAny(self, awsLaunchTemplate, launchConfigRef, launchConfigTemplateRef)`,message="amiType CUSTOM means the image of a launch template, but the pool has no launch template: set awsLaunchTemplate, or choose another amiType",fieldPath=".amiType"
// +slipway:rule=EK26
// +kubebuilder:validation:XValidation:rule=`!has(self.capacityType) || self.capacityType != 'capacityBlock' || has(self.launchConfigRef) || has(self.launchConfigTemplateRef) || (has(self.awsLaunchTemplate) && has(self.awsLaunchTemplate.marketType) && self.awsLaunchTemplate.marketType == 'CapacityBlock')`,message="capacityType capacityBlock requires a launch template with a Capacity Block: set awsLaunchTemplate.marketType to CapacityBlock, capacityReservationId, and instanceType",fieldPath=".capacityType"
// +slipway:rule=EK27
// +kubebuilder:validation:XValidation:rule=`!has(self.awsLaunchTemplate) || !has(self.awsLaunchTemplate.marketType) || self.awsLaunchTemplate.marketType != 'CapacityBlock' || (has(self.capacityType) && self.capacityType == 'capacityBlock')`,message="awsLaunchTemplate requests a Capacity Block: set capacityType to capacityBlock, or remove awsLaunchTemplate.marketType",fieldPath=".capacityType"
// +slipway:rule=EK28
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !ownImage(self)`,message="EKS supports warm pools only for images that it chooses: remove warmPool, or remove your own image (amiType CUSTOM, awsLaunchTemplate.ami, imageLookup...)",fieldPath=".warmPool"
// +slipway:rule=EK28
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !has(self.amiType) || !self.amiType.startsWith('BOTTLEROCKET') || ((!has(self.warmPool.state) || self.warmPool.state != 'Hibernated') && (!has(self.warmPool.reuseOnScaleIn) || !self.warmPool.reuseOnScaleIn))`,message="Bottlerocket instances can neither hibernate nor return to the warm pool: set warmPool.state to Stopped or Running, and remove reuseOnScaleIn",fieldPath=".warmPool"
// +slipway:rule=EK28
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !has(self.capacityType) || self.capacityType == 'onDemand'`,message="a warm pool supports only On-Demand Instances: set capacityType to onDemand, or remove warmPool",fieldPath=".warmPool"
// +slipway:rule=SL24
// +kubebuilder:validation:XValidation:rule=`!has(self.templateLossPolicy) || hasAny(self, awsLaunchTemplate, launchConfigRef, launchConfigTemplateRef)`,message="templateLossPolicy applies to the launch template, but the pool has none: remove it, or set awsLaunchTemplate",fieldPath=".templateLossPolicy"
// +slipway:rule=SL24
// +kubebuilder:validation:XValidation:rule=`!has(self.versionsToKeep) || has(self.awsLaunchTemplate) || has(self.launchConfigTemplateRef)`,message="versionsToKeep applies to the pool's own launch template, but the pool has none: remove it, or set awsLaunchTemplate (an AWSLaunchConfig has its own versionsToKeep)",fieldPath=".versionsToKeep"
// +slipway:rule=SL24
// +kubebuilder:validation:XValidation:rule=`(!has(self.rollout) && !has(self.pinnedVersion)) || has(self.awsLaunchTemplate) || has(self.launchConfigTemplateRef)`,message="rollout and pinnedVersion apply to the pool's own launch template, but the pool has none: remove them, or set awsLaunchTemplate (an AWSLaunchConfig has its own)",fieldPath=".rollout"
// +slipway:rule=EK20
// +kubebuilder:validation:XValidation:rule=`(has(self.awsLaunchTemplate) || has(self.launchConfigTemplateRef)) == (has(oldSelf.awsLaunchTemplate) || has(oldSelf.launchConfigTemplateRef))`,message="EKS can neither add a launch template to a node group nor remove it: restore the previous awsLaunchTemplate, or create a new pool and migrate to it",fieldPath=".awsLaunchTemplate"
// +slipway:rule=EK20
// +kubebuilder:validation:XValidation:rule=`(has(self.launchConfigRef) ? self.launchConfigRef.name : "") == (has(oldSelf.launchConfigRef) ? oldSelf.launchConfigRef.name : "")`,message="EKS cannot change a node group to another launch template: restore the previous launchConfigRef, or create a new pool and migrate to it",fieldPath=".launchConfigRef"
// +slipway:rule=EK21
// +kubebuilder:validation:XValidation:rule=`ownImage(self) == ownImage(oldSelf)`,message="EKS cannot switch a node group between your own image and an image that EKS chooses: restore the previous amiType and awsLaunchTemplate.ami, or create a new pool and migrate to it",fieldPath=".awsLaunchTemplate"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.subnetIDs, [])`,message="EKS cannot change the subnetIDs of a node group: restore the previous subnetIDs, or create a new pool and migrate to it",fieldPath=".subnetIDs"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.availabilityZones, [])`,message="EKS cannot change the availabilityZones of a node group: restore the previous availabilityZones, or create a new pool and migrate to it",fieldPath=".availabilityZones"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.availabilityZoneSubnetType, "")`,message="EKS cannot change the availabilityZoneSubnetType of a node group: restore the previous availabilityZoneSubnetType, or create a new pool and migrate to it",fieldPath=".availabilityZoneSubnetType"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.diskSize, 0)`,message="EKS cannot change the diskSize of a node group: restore the previous diskSize, or create a new pool and migrate to it",fieldPath=".diskSize"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.instanceType, "")`,message="EKS cannot change the instanceType of a node group: restore the previous instanceType, or create a new pool and migrate to it",fieldPath=".instanceType"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.instanceTypes, [])`,message="EKS cannot change the instanceTypes of a node group: restore the previous instanceTypes, or create a new pool and migrate to it",fieldPath=".instanceTypes"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.capacityType, "")`,message="EKS cannot change the capacityType of a node group: restore the previous capacityType, or create a new pool and migrate to it",fieldPath=".capacityType"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.rolePath, "")`,message="IAM cannot change the path of a role: restore the previous rolePath, or create a new pool and migrate to it",fieldPath=".rolePath"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.amiType, "") || (ownImage(self) && ownImage(oldSelf))`,message="EKS cannot change the amiType of a node group: restore the previous amiType, or create a new pool and migrate to it",fieldPath=".amiType"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`has(self.remoteAccess) == has(oldSelf.remoteAccess) && (!has(self.remoteAccess) || (same(self.remoteAccess.sshKeyName, "") && same(self.remoteAccess.sourceSecurityGroups, []) && same(self.remoteAccess.public, false)))`,message="EKS cannot change the remoteAccess of a node group: restore the previous remoteAccess, or create a new pool and migrate to it",fieldPath=".remoteAccess"
type AWSManagedMachinePoolSpec struct {
	// EKSNodegroupName is the name of the node group in EKS. It is fixed once the pool exists. A
	// name in the form of CAPA's default can be left out again, and the node group keeps it.
	// Default: CAPA's, which is <namespace>_<name> with _ for every dot or, where that has more
	// than 63 characters, capa_ and a hash of it. status.nodegroup.name shows the name, from before
	// the node group is created.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +slipway:rule=EK23
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^[A-Za-z0-9][A-Za-z0-9_-]*$')`,message="a node group name must begin with a letter or a digit, and contain only letters, digits, -, and _"
	EKSNodegroupName string `json:"eksNodegroupName,omitempty"`

	// AvailabilityZones are the zones that instances run in, in subnets of the cluster. Where
	// subnetIDs is given, it decides alone. Default: the zones of the MachinePool, else all private
	// subnets of the cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	AvailabilityZones []string `json:"availabilityZones,omitempty"`

	// AvailabilityZoneSubnetType says which of the cluster's subnets in the zones are taken.
	// Default: private.
	// +optional
	AvailabilityZoneSubnetType *AZSubnetType `json:"availabilityZoneSubnetType,omitempty"`

	// SubnetIDs are the subnets that instances are launched into.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=255
	SubnetIDs []string `json:"subnetIDs,omitempty"`

	// AdditionalTags are put on the node group, its Auto Scaling group, the launch template, the
	// instances and their volumes, in addition to the cluster's tags and the tags that identify the
	// owner.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// RoleAdditionalPolicies are the ARNs of policies that the node role has in addition to
	// the policies that EKS needs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=2048
	// +slipway:rule=SL22
	// +kubebuilder:validation:XValidation:rule=`self.all(a, a.matches('^arn:[a-z-]+:iam::([0-9]{12}|aws):policy/[!-~]+$'))`,message="must be ARNs of IAM policies (arn:aws:iam::aws:policy/<name>)"
	RoleAdditionalPolicies []string `json:"roleAdditionalPolicies,omitempty"`

	// RoleName is the IAM role of the nodes. If there is a role of that name that is not the pool's
	// own, it is used as it is and never changed or deleted. If there is none, it is made with the
	// policies that nodes need, as CAPA does with its feature gate EKSEnableIAM, and deleted with
	// the last pool that names it; status.nodeRole.managed shows which. Default: a role of the
	// pool's own, with the name that CAPA makes of the EKS cluster's and the node group's;
	// status.nodeRole.name shows it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SL22
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^[a-zA-Z0-9_+=,.@-]{1,64}$')`,message="must be the name of an IAM role, not its ARN"
	RoleName string `json:"roleName,omitempty"`

	// RolePath is the IAM path of a role that Slipway creates. Default: the manager's
	// --node-role-path and the Cluster's name, such as /slipway/blue/. The path of an existing role
	// does not change.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +slipway:rule=SL22
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^/([!-~]+/)?$')`,message="an IAM path must begin and end with a slash, such as /nodes/"
	RolePath string `json:"rolePath,omitempty"`

	// RolePermissionsBoundary is the ARN of the policy that bounds what a role that Slipway creates
	// may do. Default: the manager's --node-role-permissions-boundary; where that is set, no other
	// is accepted.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +slipway:rule=SL22
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^arn:[a-z-]+:iam::([0-9]{12}|aws):policy/[!-~]+$')`,message="must be the ARN of an IAM policy (arn:aws:iam::<account>:policy/<name>)"
	RolePermissionsBoundary string `json:"rolePermissionsBoundary,omitempty"`

	// AMIVersion is the release version of the EKS image, such as 1.34.1-20251103. Without it the
	// newest of the Kubernetes version is taken when the node group is made or its Kubernetes
	// version changes, and kept. A release older than the nodes' release takes them back to it. It
	// is for images that EKS chooses: not together with an image of the launch template.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=128
	AMIVersion *string `json:"amiVersion,omitempty"`

	// AMIType is the family of EKS images that EKS chooses from. CUSTOM stands for the image of
	// awsLaunchTemplate, or the one that is looked up where it names none.
	// +optional
	// +kubebuilder:default=AL2_x86_64
	AMIType *ManagedMachineAMIType `json:"amiType,omitempty"`

	// Labels of the nodes. An edit is applied without replacing nodes.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	// +slipway:rule=EK29
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.matches('^([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?/)?[a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?$') && size(k) <= 63 && self[k].matches('^[a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?$'))`,message="label keys and values must have 1 to 63 characters, and must begin and end with a letter or a digit"
	// +slipway:rule=EK29
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('eks.amazonaws.com/') && (!k.matches('^([^/]+[.])?(kubernetes|k8s)[.]io/') || k.matches('^(([^/]+[.])?(node|kubelet)|topology|beta|failure-domain[.]beta)[.]kubernetes[.]io/')))`,message="labels of eks.amazonaws.com, kubernetes.io, and k8s.io are reserved, and nodes with others than EKS and kubelet allow do not join: use labels of a domain of yours, or of node.kubernetes.io"
	Labels map[string]string `json:"labels,omitempty"`

	// Taints of the nodes. An edit is applied without replacing nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +slipway:rule=EK29
	// +kubebuilder:validation:XValidation:rule=`self.all(t, self.exists_one(u, u.key == t.key && u.effect == t.effect))`,message="every item of taints must have a unique combination of key and effect"
	Taints []Taint `json:"taints,omitempty"`

	// DiskSize is the size of the root volume in GiB, for a pool without awsLaunchTemplate. It is
	// fixed once the pool exists. This field will go away (docs/reference/deprecations.md): use
	// awsLaunchTemplate.rootVolume.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	DiskSize *int32 `json:"diskSize,omitempty"`

	// InstanceType is the instance type, for a pool without awsLaunchTemplate. It is fixed once the
	// pool exists. This field will go away (docs/reference/deprecations.md): use
	// awsLaunchTemplate.instanceType, or instanceTypes.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType *string `json:"instanceType,omitempty"`

	// InstanceTypes are the types that EKS launches, most wanted first, for a pool whose launch
	// template names none. They are fixed once the pool exists. Without any type anywhere EKS takes
	// t3.medium.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	InstanceTypes []string `json:"instanceTypes,omitempty"`

	// Scaling bounds the size of the node group.
	// +optional
	Scaling *ManagedMachinePoolScaling `json:"scaling,omitempty"`

	// RemoteAccess opens SSH or RDP to the instances, for a pool without awsLaunchTemplate. It is
	// fixed once the pool exists.
	// +optional
	RemoteAccess *ManagedRemoteAccess `json:"remoteAccess,omitempty"`

	// ProviderIDList are the provider IDs of the node group's instances, as on their Nodes, sorted.
	// The controller writes it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MaxLength=512
	ProviderIDList []string `json:"providerIDList,omitempty"`

	// CapacityType is how instances are bought: onDemand, spot, or capacityBlock for a Capacity
	// Block that the launch template names. It is fixed once the pool exists.
	// +optional
	// +kubebuilder:default=onDemand
	CapacityType *ManagedMachinePoolCapacityType `json:"capacityType,omitempty"`

	// UpdateConfig says how nodes are replaced when what they are launched with has changed.
	// Default: one at a time.
	// +optional
	UpdateConfig *UpdateConfig `json:"updateConfig,omitempty"`

	// AWSLaunchTemplate says what instances are launched with. Each change of it makes a version of
	// the EC2 launch template; a change of the nodes' configuration rolls the pool. Without ami, the image is
	// the one that EKS chooses by amiType and amiVersion. EKS can neither give a launch template to
	// a node group that has none nor take it away.
	// +optional
	// +slipway:rule=EK1
	// +kubebuilder:validation:XValidation:rule=`!has(self.iamInstanceProfile) || self.iamInstanceProfile == ""`,message="EKS assigns the instance profile of the node role to instances: remove iamInstanceProfile, and set roleName to the role",fieldPath=".iamInstanceProfile"
	// +slipway:rule=EK5
	// +kubebuilder:validation:XValidation:rule=`!has(self.spotMarketOptions) && (!has(self.marketType) || self.marketType != 'Spot')`,message="EKS rejects launch templates that request Spot Instances: remove spotMarketOptions and marketType, and set capacityType to spot",fieldPath=".marketType"
	AWSLaunchTemplate *AWSLaunchTemplate `json:"awsLaunchTemplate,omitempty"`

	// LaunchConfigRef names the AWSLaunchConfig that the pool launches from, in place of
	// awsLaunchTemplate. It is in the namespace of the pool and is not the pool's: other pools may
	// use it too, and it stays when the pool is deleted.
	// +optional
	LaunchConfigRef *LaunchConfigReference `json:"launchConfigRef,omitempty"`

	// LaunchConfigTemplateRef names the AWSLaunchConfigTemplate that the pool's own AWSLaunchConfig
	// is made from, in place of awsLaunchTemplate. An edit of the template, and another name here,
	// roll the pool as an edit of awsLaunchTemplate does.
	// +optional
	LaunchConfigTemplateRef *LaunchConfigTemplateReference `json:"launchConfigTemplateRef,omitempty"`

	// VersionsToKeep is how many launch template versions are kept; older ones that nothing uses are deleted.
	// Default: 10.
	// +optional
	// +slipway:rule=LT8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9999
	VersionsToKeep *int32 `json:"versionsToKeep,omitempty"`

	LaunchConfigControl `json:",inline"`

	// TemplateLossPolicy is the action after the deletion, outside Slipway, of the launch template of the
	// node group. EKS cannot give a node group another one. Report, the default, says so in a
	// condition and leaves the nodes alone; Replace creates a second node group, moves the pool to
	// it, and deletes the first. A replacement that has started is completed even if the policy changes.
	// +optional
	TemplateLossPolicy TemplateLossPolicy `json:"templateLossPolicy,omitempty"`

	// WarmPool keeps instances that have been initialized already, for the node group to grow faster.
	// +optional
	WarmPool *WarmPool `json:"warmPool,omitempty"`

	// AWSLifecycleHooks stop instances of the node group's Auto Scaling group on their way in or
	// out until another program completes the lifecycle action.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=49
	AWSLifecycleHooks []AWSLifecycleHook `json:"lifecycleHooks,omitempty"`

	// NodeRepairConfig has EKS replace or reboot nodes that are not healthy.
	// +optional
	NodeRepairConfig *NodeRepairConfig `json:"nodeRepairConfig,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=awsmanagedmachinepools,scope=Namespaced,categories=cluster-api,shortName=awsmmp
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that the pool belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether nodes can be launched as the spec asks for"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type=='Converged')].reason",description="Converged, or the most important thing that is not as the spec asks for"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description="Instances of the node group"
// +kubebuilder:printcolumn:name="UpToDate",type="integer",JSONPath=".status.upToDateReplicas",description="Instances that run the wanted configuration"
// +kubebuilder:printcolumn:name="MinSize",type="integer",JSONPath=".spec.scaling.minSize",description="Smallest size of the node group"
// +kubebuilder:printcolumn:name="MaxSize",type="integer",JSONPath=".spec.scaling.maxSize",description="Largest size of the node group"
// +kubebuilder:printcolumn:name="Nodegroup",type="string",JSONPath=".status.nodegroup.status",description="Status of the node group in EKS"
// +kubebuilder:printcolumn:name="LaunchTemplate ID",type="string",JSONPath=".status.launchTemplateID",description="EC2 launch template of the node group"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.launchTemplateVersion",description="Launch template version of the node group"
// +kubebuilder:printcolumn:name="Release",type="string",JSONPath=".status.nodegroup.releaseVersion",description="Release version, or image, of the node group"
// +kubebuilder:printcolumn:name="Rollout",type="string",JSONPath=".status.conditions[?(@.type=='RolledOut')].reason",description="Whether all instances run the wanted configuration"
// +kubebuilder:printcolumn:name="Update",type="string",priority=1,JSONPath=".status.update.status",description="Newest update of the node group"
// +kubebuilder:printcolumn:name="Cause",type="string",priority=1,JSONPath=".status.update.cause",description="Why nodes are replaced, or were last"
// +kubebuilder:printcolumn:name="Instance Type",type="string",priority=1,JSONPath=".status.instanceTypes",description="Types of the running instances"
// +kubebuilder:printcolumn:name="Nodegroup Name",type="string",priority=1,JSONPath=".status.nodegroup.name",description="Name of the node group in EKS"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='Converged')].message",description="What is in the way"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// AWSManagedMachinePool is the infrastructure of a MachinePool: an EKS managed node group, which
// launches its instances from an EC2 launch template where the pool has one.
//
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.spec.eksNodegroupName, "") || (valueOr(self.spec.eksNodegroupName, "") == (has(oldSelf.status) && has(oldSelf.status.nodegroup) ? oldSelf.status.nodegroup.name : valueOr(self.spec.eksNodegroupName, "")) && (!has(oldSelf.spec.eksNodegroupName) || oldSelf.spec.eksNodegroupName == "")) || ((!has(self.spec.eksNodegroupName) || self.spec.eksNodegroupName == "") && (oldSelf.spec.eksNodegroupName.matches('^capa_[0-9a-z]{27}$') || (oldSelf.spec.eksNodegroupName.matches('^[a-z0-9-]+_') && oldSelf.spec.eksNodegroupName.endsWith('_' + self.metadata.name.replace('.', '_')) && !oldSelf.spec.eksNodegroupName.substring(0, size(oldSelf.spec.eksNodegroupName) - size(self.metadata.name) - 1).contains('_'))))`,message="EKS cannot rename a node group: restore the previous eksNodegroupName, or create a new pool and migrate to it",fieldPath=".spec.eksNodegroupName"
// +slipway:rule=EK22
// +kubebuilder:validation:XValidation:rule=`same(self.spec.roleName, "") || ((!has(oldSelf.spec.roleName) || oldSelf.spec.roleName == "") && (!has(oldSelf.status) || !has(oldSelf.status.nodeRole) || oldSelf.status.nodeRole.name == valueOr(self.spec.roleName, "")))`,message="EKS cannot change the role of a node group: restore the previous roleName, or create a new pool and migrate to it",fieldPath=".spec.roleName"
type AWSManagedMachinePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the pool shall be.
	// +optional
	Spec AWSManagedMachinePoolSpec `json:"spec,omitempty"`

	// Status says what the pool is.
	// +optional
	Status AWSManagedMachinePoolStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions, as Cluster API's helpers want it.
func (p *AWSManagedMachinePool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions. Those without a reason are left out, as for AWSMachinePool.
func (p *AWSManagedMachinePool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool {
		return c.Reason == ""
	})
}

// SetObservedGeneration records the generation of the spec that the status is about.
func (p *AWSManagedMachinePool) SetObservedGeneration(generation int64) {
	p.Status.ObservedGeneration = generation
}

// Templated reports whether the node group of a pool has a launch template. EKS can neither add one
// to a node group nor remove it.
func (s *AWSManagedMachinePoolSpec) Templated() bool {
	return s.AWSLaunchTemplate != nil || s.LaunchConfigRef != nil || s.LaunchConfigTemplateRef != nil
}

// OwnImage says whether nodes boot an image of the launch template's, so that EKS chooses none: the
// group is CUSTOM then, and its user data has to be complete. The default of amiType does not count
// as a wish: CAPA's definition writes it into every object.
func (s *AWSManagedMachinePoolSpec) OwnImage() bool {
	if s.AMIType != nil && *s.AMIType == AMITypeCustom {
		return true
	}
	return s.AWSLaunchTemplate != nil && s.AWSLaunchTemplate.NamesImage()
}

// +kubebuilder:object:root=true

// AWSManagedMachinePoolList is a list of AWSManagedMachinePools.
type AWSManagedMachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSManagedMachinePool `json:"items"`
}
