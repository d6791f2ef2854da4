package v1beta2

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultVersionsToKeep is the number of launch template versions to keep where spec.versionsToKeep
// is not set.
const DefaultVersionsToKeep int32 = 10

// AWSMachinePoolSpec says what Auto Scaling group the pool has.
//
// +slipway:rule=SL41
// +kubebuilder:validation:XValidation:rule=`[has(self.awsLaunchTemplate), has(self.launchConfigRef), has(self.launchConfigTemplateRef)].filter(given, given).size() == 1`,message="exactly one of awsLaunchTemplate, launchConfigRef, and launchConfigTemplateRef must be set"
// +slipway:rule=SL42
// +kubebuilder:validation:XValidation:rule=`has(self.launchConfigRef) == has(oldSelf.launchConfigRef)`,message="a pool cannot switch between its own AWSLaunchConfig and a shared one: restore the previous launchConfigRef, or create a new pool and migrate to it",fieldPath=".launchConfigRef"
// +slipway:rule=SL43
// +kubebuilder:validation:XValidation:rule=`!has(self.launchConfigRef) || (!has(self.rollout) && !has(self.pinnedVersion))`,message="an AWSLaunchConfig has its own rollout and pinnedVersion: remove them, and set them there",fieldPath=".launchConfigRef"
// +slipway:rule=SL43
// +kubebuilder:validation:XValidation:rule=`!has(self.launchConfigRef) || !has(self.versionsToKeep)`,message="an AWSLaunchConfig has its own versionsToKeep: remove versionsToKeep, and set it there",fieldPath=".versionsToKeep"
// +slipway:rule=SL43
// +kubebuilder:validation:XValidation:rule=`!has(self.launchConfigRef) || !has(self.refreshPreferences) || !has(self.refreshPreferences.rollback) || !self.refreshPreferences.rollback`,message="rollback is not supported for a shared AWSLaunchConfig, because other pools may use it: remove refreshPreferences.rollback, and set pinnedVersion of the AWSLaunchConfig to roll back",fieldPath=".refreshPreferences.rollback"
// +slipway:rule=SL43
// +kubebuilder:validation:XValidation:rule=`!has(self.launchConfigRef) || (!has(self.bootstrapStorage) && !has(self.ignition))`,message="an AWSLaunchConfig has its own bootstrap data: remove bootstrapStorage and ignition, and set them in its spec.bootstrap",fieldPath=".bootstrapStorage"
// +slipway:rule=AS2
// +kubebuilder:validation:XValidation:rule=`!has(self.awsLaunchTemplate) || (has(self.awsLaunchTemplate.instanceType) && self.awsLaunchTemplate.instanceType != "") || (has(self.mixedInstancesPolicy) && has(self.mixedInstancesPolicy.overrides) && size(self.mixedInstancesPolicy.overrides) > 0)`,message="an instance type is required: set awsLaunchTemplate.instanceType, or list instance types in mixedInstancesPolicy.overrides",fieldPath=".awsLaunchTemplate"
// +slipway:rule=AS3
// +kubebuilder:validation:XValidation:rule=`!has(self.awsLaunchTemplate) || !has(self.mixedInstancesPolicy) || !(has(self.awsLaunchTemplate.spotMarketOptions) || (has(self.awsLaunchTemplate.marketType) && self.awsLaunchTemplate.marketType == 'Spot'))`,message="mixedInstancesPolicy does not support a launch template that requests Spot Instances: remove awsLaunchTemplate.spotMarketOptions and marketType, and set mixedInstancesPolicy.instancesDistribution.onDemandPercentageAboveBaseCapacity instead",fieldPath=".mixedInstancesPolicy"
// +slipway:rule=CB1
// +kubebuilder:validation:XValidation:rule=`!has(self.awsLaunchTemplate) || !has(self.mixedInstancesPolicy) || !has(self.awsLaunchTemplate.marketType) || self.awsLaunchTemplate.marketType != 'CapacityBlock'`,message="Capacity Blocks cannot be used with mixedInstancesPolicy: remove mixedInstancesPolicy, or marketType CapacityBlock",fieldPath=".mixedInstancesPolicy"
// +slipway:rule=AS9
// +kubebuilder:validation:XValidation:rule=`self.minSize <= self.maxSize`,message="minSize must be less than or equal to maxSize",fieldPath=".minSize"
// +slipway:rule=RF4
// +kubebuilder:validation:XValidation:rule=`!has(self.refreshPreferences) || !has(self.refreshPreferences.skipMatching) || !self.refreshPreferences.skipMatching || !has(self.mixedInstancesPolicy) || !has(self.mixedInstancesPolicy.overrides) || self.mixedInstancesPolicy.overrides.all(o, !has(o.instanceRequirements))`,message="AWS cannot skip matching instances if overrides have instanceRequirements, and fails the refresh: remove skipMatching, or list instance types",fieldPath=".refreshPreferences.skipMatching"
// +slipway:rule=RF8
// +kubebuilder:validation:XValidation:rule=`!has(self.refreshPreferences) || !has(self.refreshPreferences.strategy) || self.refreshPreferences.strategy != 'ReplaceRootVolume' || (has(self.mixedInstancesPolicy) && has(self.mixedInstancesPolicy.overrides) && size(self.mixedInstancesPolicy.overrides) > 0 && self.mixedInstancesPolicy.overrides.all(o, has(o.imageID) && o.imageID != "" && has(o.instanceType) && !o.instanceType.contains('metal')))`,message="ReplaceRootVolume requires that every item of mixedInstancesPolicy.overrides has an imageID and an instanceType that is not bare metal: set them, or remove strategy",fieldPath=".refreshPreferences.strategy"
// +slipway:rule=RF8
// +kubebuilder:validation:XValidation:rule=`!has(self.refreshPreferences) || !has(self.refreshPreferences.strategy) || self.refreshPreferences.strategy != 'ReplaceRootVolume' || !(has(self.warmPool) || (has(self.targetGroupARNs) && size(self.targetGroupARNs) > 0) || (has(self.trafficSources) && size(self.trafficSources) > 0))`,message="ReplaceRootVolume is only valid for groups without a warm pool and without load balancers: remove warmPool, targetGroupARNs, and trafficSources, or remove strategy",fieldPath=".refreshPreferences.strategy"
// +slipway:rule=WP1
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !has(self.mixedInstancesPolicy) || !has(self.mixedInstancesPolicy.overrides) || self.mixedInstancesPolicy.overrides.all(o, !has(o.weightedCapacity))`,message="a group with a warm pool does not support weights: remove weightedCapacity from mixedInstancesPolicy.overrides, or remove warmPool",fieldPath=".warmPool"
// +slipway:rule=WP1
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !has(self.mixedInstancesPolicy) || !has(self.mixedInstancesPolicy.overrides) || self.mixedInstancesPolicy.overrides.all(o, !has(o.instanceRequirements))`,message="a group with a warm pool does not support instanceRequirements: list instance types in mixedInstancesPolicy.overrides, or remove warmPool",fieldPath=".warmPool"
// +slipway:rule=WP1
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !has(self.mixedInstancesPolicy) || !has(self.mixedInstancesPolicy.instancesDistribution) || !has(self.mixedInstancesPolicy.instancesDistribution.onDemandPercentageAboveBaseCapacity) || self.mixedInstancesPolicy.instancesDistribution.onDemandPercentageAboveBaseCapacity == 100`,message="a group with a warm pool launches only On-Demand Instances: set onDemandPercentageAboveBaseCapacity of mixedInstancesPolicy.instancesDistribution to 100, or remove warmPool",fieldPath=".warmPool"
// +slipway:rule=WP1
// +kubebuilder:validation:XValidation:rule=`!has(self.awsLaunchTemplate) || !has(self.warmPool) || !(has(self.awsLaunchTemplate.spotMarketOptions) || (has(self.awsLaunchTemplate.marketType) && self.awsLaunchTemplate.marketType in ['Spot', 'CapacityBlock']))`,message="a group with a warm pool launches neither Spot Instances nor instances in Capacity Blocks: remove awsLaunchTemplate.spotMarketOptions and marketType, or remove warmPool",fieldPath=".warmPool"
// +slipway:rule=WP2
// +kubebuilder:validation:XValidation:rule=`!has(self.awsLaunchTemplate) || !has(self.warmPool) || !has(self.warmPool.state) || self.warmPool.state != 'Hibernated'`,message="awsLaunchTemplate cannot enable hibernation: set hibernationOptions in an AWSLaunchConfig or an AWSLaunchConfigTemplate, and refer to it in launchConfigRef or launchConfigTemplateRef, or set state to Stopped or Running",fieldPath=".warmPool.state"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.bootstrapStorage) || !has(self.ignition) || self.bootstrapStorage != 'SSM'`,message="Ignition cannot read from SSM: set bootstrapStorage to S3 or UserData",fieldPath=".bootstrapStorage"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.bootstrapStorage) || !has(self.ignition) || !has(self.ignition.storageType) || self.bootstrapStorage != 'UserData' || self.ignition.storageType != 'ClusterObjectStore'`,message="bootstrapStorage UserData conflicts with ignition.storageType ClusterObjectStore: set ignition.storageType to UnencryptedUserData, or omit bootstrapStorage",fieldPath=".bootstrapStorage"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.bootstrapStorage) || !has(self.ignition) || !has(self.ignition.storageType) || self.bootstrapStorage != 'S3' || self.ignition.storageType != 'UnencryptedUserData'`,message="bootstrapStorage S3 conflicts with ignition.storageType UnencryptedUserData: set ignition.storageType to ClusterObjectStore, or omit bootstrapStorage",fieldPath=".bootstrapStorage"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.awsLaunchTemplate) || !has(self.bootstrapStorage) || self.bootstrapStorage == 'UserData' || (has(self.awsLaunchTemplate.iamInstanceProfile) && self.awsLaunchTemplate.iamInstanceProfile != "")`,message="instances need an instance profile to read bootstrap data that is stored outside the launch template: set awsLaunchTemplate.iamInstanceProfile, or set bootstrapStorage to UserData",fieldPath=".bootstrapStorage"
// +slipway:rule=CR1
// +kubebuilder:validation:XValidation:rule=`!has(self.awsLaunchTemplate) || !has(self.capacityReservation) || self.capacityReservation.preference == 'default' || !has(self.awsLaunchTemplate.capacityReservationId) || self.awsLaunchTemplate.capacityReservationId == ""`,message="capacityReservation of the group overrides awsLaunchTemplate.capacityReservationId: specify the reservation in one of them, or set preference to default",fieldPath=".capacityReservation"
// +slipway:rule=CR3
// +kubebuilder:validation:XValidation:rule=`!has(self.awsLaunchTemplate) || !has(self.capacityReservation) || !(self.capacityReservation.preference in ['capacity-reservations-only', 'capacity-reservations-first']) || !(has(self.awsLaunchTemplate.spotMarketOptions) || (has(self.awsLaunchTemplate.marketType) && self.awsLaunchTemplate.marketType == 'Spot'))`,message="Spot Instances cannot run in a Capacity Reservation: set preference to none or default, or remove awsLaunchTemplate.spotMarketOptions and marketType Spot",fieldPath=".capacityReservation.preference"
// +slipway:rule=AS20
// +kubebuilder:validation:XValidation:rule=`!has(self.availabilityZoneDistribution) || self.availabilityZoneDistribution != 'reservations-then-balanced' || (has(self.capacityReservation) && ((has(self.capacityReservation.ids) && size(self.capacityReservation.ids) > 0) || (has(self.capacityReservation.resourceGroupARNs) && size(self.capacityReservation.resourceGroupARNs) > 0)))`,message="reservations-then-balanced requires Capacity Reservations: set capacityReservation.ids or resourceGroupARNs, or set availabilityZoneDistribution to balanced-best-effort",fieldPath=".availabilityZoneDistribution"
// +slipway:rule=SL76
// +kubebuilder:validation:XValidation:rule=`!has(self.desiredCapacityType) || self.desiredCapacityType == 'units' || (has(self.mixedInstancesPolicy) && (!has(self.mixedInstancesPolicy.overrides) || self.mixedInstancesPolicy.overrides.all(o, has(o.instanceRequirements) && !has(o.weightedCapacity))))`,message="Auto Scaling counts vCPUs or memory only if it chooses the instance types: use instanceRequirements without weightedCapacity in mixedInstancesPolicy.overrides, or set desiredCapacityType to units",fieldPath=".desiredCapacityType"
// +slipway:rule=SL77
// +kubebuilder:validation:XValidation:rule=`!has(self.mixedInstancesPolicy) || !has(self.mixedInstancesPolicy.instancesDistribution) || !has(self.mixedInstancesPolicy.instancesDistribution.distributionSegments) || size(self.mixedInstancesPolicy.instancesDistribution.distributionSegments) == 0 || (has(self.capacityReservation) && has(self.capacityReservation.resourceGroupARNs) && size(self.capacityReservation.resourceGroupARNs) > 0)`,message="distributionSegments selects Capacity Reservations from resource groups: set capacityReservation.resourceGroupARNs",fieldPath=".mixedInstancesPolicy.instancesDistribution.distributionSegments"
// +slipway:rule=SL78
// +kubebuilder:validation:XValidation:rule=`!has(self.trafficSources) || !has(self.targetGroupARNs) || self.trafficSources.all(s, !(s.identifier in self.targetGroupARNs))`,message="trafficSources and targetGroupARNs must not have the same target group: remove it from one of them",fieldPath=".trafficSources"
type AWSMachinePoolSpec struct {
	// ProviderID is the ARN of the Auto Scaling group. The controller writes it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// MinSize is the smallest number of instances that the group may have.
	// +required
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	MinSize int32 `json:"minSize"`

	// MaxSize is the largest number of instances that the group may have.
	// +required
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	MaxSize int32 `json:"maxSize"`

	// DesiredCapacityType is the unit in which minSize, maxSize, and the replicas of the
	// MachinePool are counted: units, which are instances, vcpu, or memory-mib. The last two need
	// instanceRequirements in mixedInstancesPolicy. Default: units.
	// +optional
	DesiredCapacityType DesiredCapacityType `json:"desiredCapacityType,omitempty"`

	// AvailabilityZones are the zones that instances run in, in subnets of the cluster. Where
	// subnets is given, it decides alone. Default: the zones of the MachinePool, else all private
	// subnets of the cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	AvailabilityZones []string `json:"availabilityZones,omitempty"`

	// AvailabilityZoneSubnetType says which of the cluster's subnets in the zones are taken. Default: all.
	// +optional
	AvailabilityZoneSubnetType *AZSubnetType `json:"availabilityZoneSubnetType,omitempty"`

	// Subnets that instances are launched into.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=200
	Subnets []AWSResourceReference `json:"subnets,omitempty"`

	// AdditionalTags are put on the group, the launch template, the instances and their volumes, in
	// addition to the cluster's tags and the tags that identify the owner.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// AWSLaunchTemplate says what instances are launched with. Each change of it makes a version of
	// the EC2 launch template; a change of the nodes' configuration rolls the pool. Give one of this,
	// launchConfigRef and launchConfigTemplateRef.
	// +optional
	AWSLaunchTemplate *AWSLaunchTemplate `json:"awsLaunchTemplate,omitempty"`

	// LaunchConfigRef names the AWSLaunchConfig that the pool launches from. It is in the namespace
	// of the pool and is not the pool's: other pools may use it too, it has bootstrap data of its
	// own, and it stays when the pool is deleted.
	// +optional
	LaunchConfigRef *LaunchConfigReference `json:"launchConfigRef,omitempty"`

	// LaunchConfigTemplateRef names the AWSLaunchConfigTemplate that the pool's own AWSLaunchConfig
	// is made from. An edit of the template, and another name here, roll the pool as an edit of
	// awsLaunchTemplate does.
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

	// MixedInstancesPolicy lets the group launch several instance types, On-Demand and Spot.
	// +optional
	MixedInstancesPolicy *MixedInstancesPolicy `json:"mixedInstancesPolicy,omitempty"`

	// ProviderIDList are the provider IDs of the group's instances, as on their Nodes, sorted. The
	// controller writes it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MaxLength=512
	ProviderIDList []string `json:"providerIDList,omitempty"`

	// RefreshPreferences say how instances are replaced when what they are launched with has changed.
	// +optional
	RefreshPreferences *RefreshPreferences `json:"refreshPreferences,omitempty"`

	// DefaultCoolDown is how long the group waits after a scaling activity of a simple scaling
	// policy before it begins another. Default: AWS's, 300 s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('596523h')`,message="defaultCoolDown must be a non-negative duration in whole seconds, such as 300s or 5m"
	DefaultCoolDown *metav1.Duration `json:"defaultCoolDown,omitempty"`

	// DefaultInstanceWarmup is how long a new instance is given before its metrics count and before
	// a refresh replaces the next one. It should be as long as a node takes to join the cluster and
	// become ready. Default: 300s, as CAPA has it. With 0s a refresh does not wait for new nodes.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('596523h')`,message="defaultInstanceWarmup must be a non-negative duration in whole seconds, such as 300s or 5m"
	DefaultInstanceWarmup *metav1.Duration `json:"defaultInstanceWarmup,omitempty"`

	// DeletionProtection keeps the group from being deleted, by Slipway or by others:
	// prevent-force-deletion until it has no instances, prevent-all-deletion always. A pool that is
	// deleted waits, with its nodes: under prevent-force-deletion until the group is empty, for
	// which Slipway scales it to zero, and under prevent-all-deletion until this is changed.
	// Default: as the group is, which AWS creates with none.
	// +optional
	DeletionProtection DeletionProtection `json:"deletionProtection,omitempty"`

	// InstanceLifecyclePolicy says what becomes of an instance whose termination was abandoned: by
	// a lifecycle hook, or by Slipway, whose drain of the node ran out of time. Default: as the
	// group is, which AWS creates to terminate it.
	// +optional
	InstanceLifecyclePolicy *InstanceLifecyclePolicy `json:"instanceLifecyclePolicy,omitempty"`

	// ServiceLinkedRoleARN is the service-linked role with which Auto Scaling calls other AWS
	// services for the group, such as one whose use of a KMS key is granted. The account must have
	// it already. Default: as the group is, which AWS creates with AWSServiceRoleForAutoScaling.
	// +optional
	// +kubebuilder:validation:MaxLength=1600
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^arn:[a-z-]+:iam::[0-9]{12}:role/aws-service-role/autoscaling[.]amazonaws[.]com([.]cn)?/AWSServiceRoleForAutoScaling[A-Za-z0-9_+=,.@-]*$')`,message="must be the ARN of a service-linked role of Auto Scaling (arn:aws:iam::<account>:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling_<suffix>)"
	ServiceLinkedRoleARN string `json:"serviceLinkedRoleARN,omitempty"`

	// CapacityRebalance launches a replacement for a Spot Instance as soon as AWS says that it may
	// be interrupted.
	// +optional
	CapacityRebalance bool `json:"capacityRebalance,omitempty"`

	// SuspendProcesses stops processes of the group, such as AZRebalance.
	// +optional
	SuspendProcesses *SuspendProcessesTypes `json:"suspendProcesses,omitempty"`

	// LifecycleHooks hold instances that are launched or terminated until another program completes
	// the lifecycle action. Hooks that are not listed here and that others made are left alone.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=49
	LifecycleHooks []AWSLifecycleHook `json:"lifecycleHooks,omitempty"`

	// Ignition says how bootstrap data in the Ignition format reaches the instances.
	// +optional
	Ignition *Ignition `json:"ignition,omitempty"`

	// BootstrapStorage selects where the bootstrap data is stored: UserData stores it in the launch
	// template itself, SSM in a SecureString parameter, and S3 in the bucket of the cluster. With
	// SSM and S3, the launch template contains only a reference to the data. A rotated join token
	// then creates no launch template version, and permission to read the launch template does not
	// reveal the token. The instance profile must allow instances to read the data. Defaults to
	// UserData, or to S3 if ignition.storageType is ClusterObjectStore.
	// +optional
	BootstrapStorage BootstrapStorage `json:"bootstrapStorage,omitempty"`

	// HealthCheck says what makes an instance unhealthy, so that the group replaces it.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`

	// TerminationPolicies say, in order, which instance goes first when the group shrinks: Default,
	// AllocationStrategy, OldestLaunchTemplate, OldestLaunchConfiguration,
	// ClosestToNextInstanceHour, NewestInstance, OldestInstance, or the ARN of a Lambda function.
	// Default: Default.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=1600
	// +slipway:rule=SL5
	// +kubebuilder:validation:XValidation:rule=`self.all(p, p in ['Default', 'AllocationStrategy', 'OldestLaunchTemplate', 'OldestLaunchConfiguration', 'ClosestToNextInstanceHour', 'NewestInstance', 'OldestInstance'] || p.matches('^arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:[a-zA-Z0-9_:$-]+$'))`,message="a termination policy must be Default, AllocationStrategy, OldestLaunchTemplate, OldestLaunchConfiguration, ClosestToNextInstanceHour, NewestInstance, OldestInstance, or the ARN of a Lambda function"
	// +slipway:rule=SL5
	// +kubebuilder:validation:XValidation:rule=`self.size() < 2 || self.indexOf('Default') in [-1, self.size() - 1]`,message="Default always selects an instance, so policies after it have no effect: make it the last item of terminationPolicies"
	// +slipway:rule=SL5
	// +kubebuilder:validation:XValidation:rule=`self.size() < 2 || self.filter(p, p.startsWith('arn:')).size() == 0 || (self[0].startsWith('arn:') && self.filter(p, p.startsWith('arn:')).size() == 1)`,message="Auto Scaling supports one Lambda function in terminationPolicies, which must be the first item"
	TerminationPolicies []string `json:"terminationPolicies,omitempty"`

	// MaxInstanceLifetime is the age at which the group replaces an instance, from 24h on; none by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=AS22
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) <= duration('596523h') && (duration(self) == duration('0s') || duration(self) >= duration('24h'))`,message="maxInstanceLifetime must be at least 24h, in whole seconds, such as 168h; omit it, or set 0s, for no limit"
	MaxInstanceLifetime *metav1.Duration `json:"maxInstanceLifetime,omitempty"`

	// InstanceMaintenancePolicy bounds how far the group may shrink and grow while it replaces
	// instances by itself.
	// +optional
	InstanceMaintenancePolicy *InstanceMaintenancePolicy `json:"instanceMaintenancePolicy,omitempty"`

	// AvailabilityZoneDistribution says how strictly instances are spread over the zones.
	// +optional
	AvailabilityZoneDistribution AvailabilityZoneDistribution `json:"availabilityZoneDistribution,omitempty"`

	// AvailabilityZoneImpairmentPolicy says what the group does when AWS shifts traffic away from a zone.
	// +optional
	AvailabilityZoneImpairmentPolicy *AvailabilityZoneImpairmentPolicy `json:"availabilityZoneImpairmentPolicy,omitempty"`

	// CapacityReservation says whether the group launches into Capacity Reservations, and into which.
	// +optional
	CapacityReservation *GroupCapacityReservation `json:"capacityReservation,omitempty"`

	// TargetGroupARNs are the load balancer target groups that instances are registered with.
	// Target groups that others attached are left alone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=511
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self.all(a, a.matches('^arn:[a-z-]+:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:targetgroup/[a-zA-Z0-9-]+/[0-9a-f]+$'))`,message="must be ARNs of target groups (arn:aws:elasticloadbalancing:<region>:<account>:targetgroup/<name>/<id>), not of load balancers"
	TargetGroupARNs []string `json:"targetGroupARNs,omitempty"`

	// TrafficSources list what the group registers its instances with: target groups of VPC
	// Lattice, which targetGroupARNs cannot name, target groups of load balancers, and Classic Load
	// Balancers. Slipway leaves alone what others attached.
	// +optional
	// +listType=map
	// +listMapKey=identifier
	// +slipway:rule=SL78
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule=`self.filter(s, s.type == 'vpc-lattice').size() <= 5`,message="Auto Scaling allows at most 5 VPC Lattice target groups for each group"
	TrafficSources []TrafficSource `json:"trafficSources,omitempty"`

	// PlacementGroup is the name of the placement group that instances are launched into.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	PlacementGroup string `json:"placementGroup,omitempty"`

	// NewInstancesProtectedFromScaleIn keeps the group from ending new instances when it shrinks.
	// +optional
	NewInstancesProtectedFromScaleIn bool `json:"newInstancesProtectedFromScaleIn,omitempty"`

	// WarmPool keeps instances that have been initialized already, for the group to grow faster.
	// +optional
	WarmPool *WarmPool `json:"warmPool,omitempty"`

	// NodeDrain says how nodes are emptied before their instances are terminated, in scale-in, refresh and deletion.
	// +optional
	NodeDrain *NodeDrain `json:"nodeDrain,omitempty"`

	// MachinePoolMachines gives each instance a Machine of Cluster API's, which shows it and, when
	// it is deleted, drains the node and terminates the instance. Default: the manager's
	// --machine-pool-machines.
	// +optional
	MachinePoolMachines MachinePoolMachines `json:"machinePoolMachines,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=awsmachinepools,scope=Namespaced,categories=cluster-api,shortName=awsmp
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that the pool belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether nodes can be launched as the spec asks for"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type=='Converged')].reason",description="Converged, or the most important thing that is not as the spec asks for"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description="Instances of the group"
// +kubebuilder:printcolumn:name="UpToDate",type="integer",JSONPath=".status.upToDateReplicas",description="Instances that run the wanted configuration"
// +kubebuilder:printcolumn:name="MinSize",type="integer",JSONPath=".spec.minSize",description="Smallest size of the group"
// +kubebuilder:printcolumn:name="MaxSize",type="integer",JSONPath=".spec.maxSize",description="Largest size of the group"
// +kubebuilder:printcolumn:name="LaunchTemplate ID",type="string",JSONPath=".status.launchTemplateID",description="EC2 launch template of the group"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.launchTemplateVersion",description="Launch template version of the group"
// +kubebuilder:printcolumn:name="Rollout",type="string",JSONPath=".status.conditions[?(@.type=='RolledOut')].reason",description="Whether all instances run the wanted configuration"
// +kubebuilder:printcolumn:name="Refresh",type="string",priority=1,JSONPath=".status.rollout.status",description="Newest instance refresh"
// +kubebuilder:printcolumn:name="Done%",type="integer",priority=1,JSONPath=".status.rollout.percentageComplete",description="How much of the newest instance refresh is done"
// +kubebuilder:printcolumn:name="Cause",type="string",priority=1,JSONPath=".status.rollout.cause",description="Why instances are replaced, or were last"
// +kubebuilder:printcolumn:name="Instance Type",type="string",priority=1,JSONPath=".status.instanceTypes",description="Types of the running instances"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='Converged')].message",description="What is in the way"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// AWSMachinePool is the infrastructure of a MachinePool: an EC2 Auto Scaling group that launches
// its instances from an EC2 launch template.
type AWSMachinePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the pool shall be.
	// +optional
	Spec AWSMachinePoolSpec `json:"spec,omitempty"`

	// Status says what the pool is.
	// +optional
	Status AWSMachinePoolStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions, as Cluster API's helpers want it.
func (p *AWSMachinePool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions. Those without a reason are left out: CAPA wrote such to
// the pools that it made, and the API server would refuse every status that still has one.
func (p *AWSMachinePool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool {
		return c.Reason == ""
	})
}

// SetObservedGeneration records the generation of the spec that the status is about.
func (p *AWSMachinePool) SetObservedGeneration(generation int64) {
	p.Status.ObservedGeneration = generation
}

// +kubebuilder:object:root=true

// AWSMachinePoolList is a list of AWSMachinePools.
type AWSMachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSMachinePool `json:"items"`
}
