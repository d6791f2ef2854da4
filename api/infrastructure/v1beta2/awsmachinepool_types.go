package v1beta2

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultVersionsToKeep is how many launch template versions are kept where spec.versionsToKeep is left out.
const DefaultVersionsToKeep int32 = 10

// AWSMachinePoolSpec says what Auto Scaling group the pool has.
//
// +slipway:rule=AS2
// +kubebuilder:validation:XValidation:rule=`(has(self.awsLaunchTemplate.instanceType) && self.awsLaunchTemplate.instanceType != "") || (has(self.mixedInstancesPolicy) && has(self.mixedInstancesPolicy.overrides) && size(self.mixedInstancesPolicy.overrides) > 0)`,message="set awsLaunchTemplate.instanceType, or list instance types in mixedInstancesPolicy.overrides",fieldPath=".awsLaunchTemplate"
// +slipway:rule=AS3
// +kubebuilder:validation:XValidation:rule=`!has(self.mixedInstancesPolicy) || !(has(self.awsLaunchTemplate.spotMarketOptions) || (has(self.awsLaunchTemplate.marketType) && self.awsLaunchTemplate.marketType == 'Spot'))`,message="a group with mixedInstancesPolicy takes no launch template that asks for Spot: remove awsLaunchTemplate.spotMarketOptions and marketType, and set mixedInstancesPolicy.instancesDistribution.onDemandPercentageAboveBaseCapacity instead",fieldPath=".mixedInstancesPolicy"
// +slipway:rule=CB1
// +kubebuilder:validation:XValidation:rule=`!has(self.mixedInstancesPolicy) || !has(self.awsLaunchTemplate.marketType) || self.awsLaunchTemplate.marketType != 'CapacityBlock'`,message="Capacity Blocks can not be used with mixedInstancesPolicy: remove mixedInstancesPolicy, or marketType CapacityBlock",fieldPath=".mixedInstancesPolicy"
// +slipway:rule=AS9
// +kubebuilder:validation:XValidation:rule=`self.minSize <= self.maxSize`,message="minSize must not be above maxSize",fieldPath=".minSize"
// +slipway:rule=RF4
// +kubebuilder:validation:XValidation:rule=`!has(self.refreshPreferences) || !has(self.refreshPreferences.skipMatching) || !self.refreshPreferences.skipMatching || !has(self.mixedInstancesPolicy) || !has(self.mixedInstancesPolicy.overrides) || self.mixedInstancesPolicy.overrides.all(o, !has(o.instanceRequirements))`,message="AWS can not skip matching instances where overrides have instanceRequirements, and fails the refresh: leave skipMatching out, or list instance types",fieldPath=".refreshPreferences.skipMatching"
// +slipway:rule=WP1
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !has(self.mixedInstancesPolicy) || !has(self.mixedInstancesPolicy.overrides) || self.mixedInstancesPolicy.overrides.all(o, !has(o.weightedCapacity))`,message="a group with a warm pool takes no weights: remove weightedCapacity from mixedInstancesPolicy.overrides, or remove warmPool",fieldPath=".warmPool"
// +slipway:rule=WP1
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !has(self.mixedInstancesPolicy) || !has(self.mixedInstancesPolicy.overrides) || self.mixedInstancesPolicy.overrides.all(o, !has(o.instanceRequirements))`,message="a group with a warm pool takes no instanceRequirements: list instance types in mixedInstancesPolicy.overrides, or remove warmPool",fieldPath=".warmPool"
// +slipway:rule=WP1
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !has(self.mixedInstancesPolicy) || !has(self.mixedInstancesPolicy.instancesDistribution) || !has(self.mixedInstancesPolicy.instancesDistribution.onDemandPercentageAboveBaseCapacity) || self.mixedInstancesPolicy.instancesDistribution.onDemandPercentageAboveBaseCapacity == 100`,message="a group with a warm pool launches On-Demand Instances alone: set onDemandPercentageAboveBaseCapacity of mixedInstancesPolicy.instancesDistribution to 100, or remove warmPool",fieldPath=".warmPool"
// +slipway:rule=WP1
// +kubebuilder:validation:XValidation:rule=`!has(self.warmPool) || !(has(self.awsLaunchTemplate.spotMarketOptions) || (has(self.awsLaunchTemplate.marketType) && self.awsLaunchTemplate.marketType in ['Spot', 'CapacityBlock']))`,message="a group with a warm pool launches neither Spot Instances nor into Capacity Blocks: remove awsLaunchTemplate.spotMarketOptions and marketType, or remove warmPool",fieldPath=".warmPool"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.bootstrapStorage) || !has(self.ignition) || self.bootstrapStorage != 'SSM'`,message="Ignition can not read from SSM: set bootstrapStorage to S3 or UserData",fieldPath=".bootstrapStorage"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.bootstrapStorage) || !has(self.ignition) || !has(self.ignition.storageType) || self.bootstrapStorage != 'UserData' || self.ignition.storageType != 'ClusterObjectStore'`,message="bootstrapStorage UserData and ignition.storageType ClusterObjectStore name two places for the same data: set ignition.storageType to UnencryptedUserData, or leave bootstrapStorage out",fieldPath=".bootstrapStorage"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.bootstrapStorage) || !has(self.ignition) || !has(self.ignition.storageType) || self.bootstrapStorage != 'S3' || self.ignition.storageType != 'UnencryptedUserData'`,message="bootstrapStorage S3 and ignition.storageType UnencryptedUserData name two places for the same data: set ignition.storageType to ClusterObjectStore, or leave bootstrapStorage out",fieldPath=".bootstrapStorage"
// +slipway:rule=SL7
// +kubebuilder:validation:XValidation:rule=`!has(self.bootstrapStorage) || self.bootstrapStorage == 'UserData' || (has(self.awsLaunchTemplate.iamInstanceProfile) && self.awsLaunchTemplate.iamInstanceProfile != "")`,message="instances read bootstrap data outside of the launch template with their instance profile: set awsLaunchTemplate.iamInstanceProfile, or bootstrapStorage to UserData",fieldPath=".bootstrapStorage"
// +slipway:rule=CR1
// +kubebuilder:validation:XValidation:rule=`!has(self.capacityReservation) || self.capacityReservation.preference == 'default' || !has(self.awsLaunchTemplate.capacityReservationId) || self.awsLaunchTemplate.capacityReservationId == ""`,message="capacityReservation of the group overrules awsLaunchTemplate.capacityReservationId: name the reservation in one of the two, or set preference to default",fieldPath=".capacityReservation"
// +slipway:rule=CR3
// +kubebuilder:validation:XValidation:rule=`!has(self.capacityReservation) || !(self.capacityReservation.preference in ['capacity-reservations-only', 'capacity-reservations-first']) || !(has(self.awsLaunchTemplate.spotMarketOptions) || (has(self.awsLaunchTemplate.marketType) && self.awsLaunchTemplate.marketType == 'Spot'))`,message="Spot Instances can not run in a Capacity Reservation: set preference to none or default, or remove awsLaunchTemplate.spotMarketOptions and marketType Spot",fieldPath=".capacityReservation.preference"
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

	// AvailabilityZones are the zones that instances run in, in subnets of the cluster. Where subnets is given, it
	// decides alone. Default: the zones of the MachinePool, else all private subnets of the cluster.
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

	// AdditionalTags are put on the group, the launch template, the instances and their volumes, beside those that
	// the cluster asks for and those that say whose these are.
	// +optional
	AdditionalTags Tags `json:"additionalTags,omitempty"`

	// AWSLaunchTemplate says what instances are launched with. Each change of it makes a version of the EC2 launch
	// template; a change of what a node is rolls the pool.
	// +required
	AWSLaunchTemplate AWSLaunchTemplate `json:"awsLaunchTemplate"`

	// VersionsToKeep is how many launch template versions are kept; older ones that nothing uses are deleted.
	// Default: 10.
	// +optional
	// +slipway:rule=LT8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9999
	VersionsToKeep *int32 `json:"versionsToKeep,omitempty"`

	// MixedInstancesPolicy lets the group launch several instance types, On-Demand and Spot.
	// +optional
	MixedInstancesPolicy *MixedInstancesPolicy `json:"mixedInstancesPolicy,omitempty"`

	// ProviderIDList are the provider IDs of the group's instances, as on their Nodes, sorted. The controller writes
	// it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MaxLength=512
	ProviderIDList []string `json:"providerIDList,omitempty"`

	// RefreshPreferences say how instances are replaced when what they are launched with has changed.
	// +optional
	RefreshPreferences *RefreshPreferences `json:"refreshPreferences,omitempty"`

	// DefaultCoolDown is how long the group waits after a scaling activity of a simple scaling policy before it begins
	// another. Default: AWS's, 300 s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('596523h')`,message="defaultCoolDown must be a duration in whole seconds that is not negative, such as 300s or 5m"
	DefaultCoolDown *metav1.Duration `json:"defaultCoolDown,omitempty"`

	// DefaultInstanceWarmup is how long a new instance is given before its metrics count and before a refresh goes on.
	// Default: none, so that the health check grace period is taken.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('596523h')`,message="defaultInstanceWarmup must be a duration in whole seconds that is not negative, such as 300s or 5m"
	DefaultInstanceWarmup *metav1.Duration `json:"defaultInstanceWarmup,omitempty"`

	// CapacityRebalance launches a replacement for a Spot Instance as soon as AWS says that it may be interrupted.
	// +optional
	CapacityRebalance bool `json:"capacityRebalance,omitempty"`

	// SuspendProcesses stops processes of the group, such as AZRebalance.
	// +optional
	SuspendProcesses *SuspendProcessesTypes `json:"suspendProcesses,omitempty"`

	// LifecycleHooks stop instances of the group on their way in or out until somebody lets them go. Hooks that are not
	// listed here and that others made are left alone.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=49
	LifecycleHooks []AWSLifecycleHook `json:"lifecycleHooks,omitempty"`

	// Ignition says how bootstrap data in the Ignition format reaches the instances.
	// +optional
	Ignition *Ignition `json:"ignition,omitempty"`

	// BootstrapStorage is where the bootstrap data is kept: UserData, in the launch template itself; SSM, in a
	// SecureString parameter; S3, in the bucket of the cluster. With the latter two the template holds a pointer, a rotated
	// join token makes no version, and nobody reads it from the template; the instance profile must allow reading it.
	// Default: UserData, and S3 where ignition.storageType says ClusterObjectStore.
	// +optional
	BootstrapStorage BootstrapStorage `json:"bootstrapStorage,omitempty"`

	// HealthCheck says what makes an instance unhealthy, so that the group replaces it.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`

	// TerminationPolicies say, in order, which instance goes first when the group shrinks: Default, AllocationStrategy,
	// OldestLaunchTemplate, OldestLaunchConfiguration, ClosestToNextInstanceHour, NewestInstance, OldestInstance, or the ARN of
	// a Lambda function. Default: Default.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=1600
	// +slipway:rule=SL5
	// +kubebuilder:validation:XValidation:rule=`self.all(p, p in ['Default', 'AllocationStrategy', 'OldestLaunchTemplate', 'OldestLaunchConfiguration', 'ClosestToNextInstanceHour', 'NewestInstance', 'OldestInstance'] || p.matches('^arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:[a-zA-Z0-9_:$-]+$'))`,message="a termination policy is Default, AllocationStrategy, OldestLaunchTemplate, OldestLaunchConfiguration, ClosestToNextInstanceHour, NewestInstance, OldestInstance, or the ARN of a Lambda function"
	// +slipway:rule=SL5
	// +kubebuilder:validation:XValidation:rule=`self.size() < 2 || self.indexOf('Default') in [-1, self.size() - 1]`,message="Default decides every time, so that what comes after it would do nothing: put it last in terminationPolicies"
	// +slipway:rule=SL5
	// +kubebuilder:validation:XValidation:rule=`self.size() < 2 || self.filter(p, p.startsWith('arn:')).size() == 0 || (self[0].startsWith('arn:') && self.filter(p, p.startsWith('arn:')).size() == 1)`,message="Auto Scaling asks one Lambda function, and asks it first: give one, at the head of terminationPolicies"
	TerminationPolicies []string `json:"terminationPolicies,omitempty"`

	// MaxInstanceLifetime is the age at which the group replaces an instance, from 24h on; none by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=AS22
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) <= duration('596523h') && (duration(self) == duration('0s') || duration(self) >= duration('24h'))`,message="maxInstanceLifetime must be at least 24h, in whole seconds, such as 168h; leave it out, or give 0s, for no limit"
	MaxInstanceLifetime *metav1.Duration `json:"maxInstanceLifetime,omitempty"`

	// InstanceMaintenancePolicy bounds how far the group may shrink and grow while it replaces instances by itself.
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

	// TargetGroupARNs are the load balancer target groups that instances are registered with. Target groups that others
	// attached are left alone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=511
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self.all(a, a.matches('^arn:[a-z-]+:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:targetgroup/[a-zA-Z0-9-]+/[0-9a-f]+$'))`,message="give the ARNs of target groups (arn:aws:elasticloadbalancing:<region>:<account>:targetgroup/<name>/<id>); a load balancer's ARN is not one"
	TargetGroupARNs []string `json:"targetGroupARNs,omitempty"`

	// PlacementGroup is the name of the placement group that instances are launched into.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	PlacementGroup string `json:"placementGroup,omitempty"`

	// NewInstancesProtectedFromScaleIn keeps the group from ending new instances when it shrinks.
	// +optional
	NewInstancesProtectedFromScaleIn bool `json:"newInstancesProtectedFromScaleIn,omitempty"`

	// WarmPool keeps instances that have been initialized already, for the group to grow faster.
	// +optional
	// +slipway:rule=WP2
	// +kubebuilder:validation:XValidation:rule=`!has(self.state) || self.state != 'Hibernated'`,message="instances hibernate where their launch template allows it, which no field of awsLaunchTemplate can say yet: set state to Stopped or Running",fieldPath=".state"
	WarmPool *WarmPool `json:"warmPool,omitempty"`

	// NodeDrain says how nodes are emptied before their instances end, in scale-in, refresh and deletion.
	// +optional
	NodeDrain *NodeDrain `json:"nodeDrain,omitempty"`

	// MachinePoolMachines gives each instance a Machine of Cluster API's, which shows it and, when it is deleted, drains the
	// node and ends the instance. Default: the manager's --machine-pool-machines.
	// +optional
	MachinePoolMachines MachinePoolMachines `json:"machinePoolMachines,omitempty"`
}

// AZSubnetType is a type of subnet.
// +kubebuilder:validation:Enum=public;private;all
type AZSubnetType string

// The types of subnets.
const (
	AZSubnetTypePublic  AZSubnetType = "public"
	AZSubnetTypePrivate AZSubnetType = "private"
	AZSubnetTypeAll     AZSubnetType = "all"
)

// MixedInstancesPolicy lets a group launch several instance types, On-Demand and Spot.
//
// +slipway:rule=AS12
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.all(o, has(o.instanceRequirements)) || self.overrides.all(o, !has(o.instanceRequirements))`,message="overrides choose either by instanceType or by instanceRequirements: use one of the two for all overrides",fieldPath=".overrides"
// +slipway:rule=AS11
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.filter(o, has(o.instanceRequirements)).size() <= 4`,message="a group takes at most 4 overrides with instanceRequirements: put types that may replace each other into one",fieldPath=".overrides"
// +slipway:rule=AS11
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.filter(o, has(o.launchTemplate)).map(o, 1.0 / double(self.overrides.filter(p, has(p.launchTemplate) && p.launchTemplate.id == o.launchTemplate.id).size())).sum() < 19.5`,message="a group takes at most 20 launch templates, and the pool's own is one of them: name at most 19 others in overrides",fieldPath=".overrides"
// +slipway:rule=SL19
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.all(o, !has(o.instanceType) || self.overrides.exists_one(p, has(p.instanceType) && p.instanceType == o.instanceType))`,message="two overrides have the same instanceType, which Auto Scaling refuses: remove one of them",fieldPath=".overrides"
// +slipway:rule=AS13
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.all(o, has(o.weightedCapacity)) || self.overrides.all(o, !has(o.weightedCapacity))`,message="give weightedCapacity to all overrides, or to none",fieldPath=".overrides"
// +slipway:rule=AS14
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || !has(self.instancesDistribution) || !has(self.instancesDistribution.onDemandAllocationStrategy) || self.instancesDistribution.onDemandAllocationStrategy != 'prioritized' || self.overrides.all(o, !has(o.instanceRequirements))`,message="instanceRequirements give no order of instance types: set onDemandAllocationStrategy to lowest-price (where instancesDistribution is given, the default is prioritized)",fieldPath=".instancesDistribution.onDemandAllocationStrategy"
// +slipway:rule=AS14
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || !has(self.instancesDistribution) || !has(self.instancesDistribution.spotAllocationStrategy) || self.instancesDistribution.spotAllocationStrategy != 'capacity-optimized-prioritized' || self.overrides.all(o, !has(o.instanceRequirements))`,message="instanceRequirements give no order of instance types: set spotAllocationStrategy to price-capacity-optimized, capacity-optimized or lowest-price",fieldPath=".instancesDistribution.spotAllocationStrategy"
type MixedInstancesPolicy struct {
	// InstancesDistribution says how capacity is spread over On-Demand and Spot, and over the types.
	// +optional
	InstancesDistribution *InstancesDistribution `json:"instancesDistribution,omitempty"`

	// Overrides are the instance types, most wanted first. Without any, the launch template's is the only one.
	// +optional
	// +listType=atomic
	// +slipway:rule=AS11
	// +kubebuilder:validation:MaxItems=40
	Overrides []Overrides `json:"overrides,omitempty"`
}

// Overrides replaces parts of the launch template for some of the group's instances.
//
// +slipway:rule=AS12
// +kubebuilder:validation:XValidation:rule=`(has(self.instanceType) && self.instanceType != "") != has(self.instanceRequirements)`,message="an override chooses either by instanceType or by instanceRequirements: give one of the two"
// +slipway:rule=IM1
// +kubebuilder:validation:XValidation:rule=`!has(self.imageID) || self.imageID == "" || self.imageID.matches('^ami-[0-9a-f]{8,17}$')`,message="give the id of an image (ami-...); an SSM parameter can be given in awsLaunchTemplate.ami alone",fieldPath=".imageID"
type Overrides struct {
	// InstanceType to launch, in place of the launch template's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType,omitempty"`

	// InstanceRequirements choose instance types by what they have, in place of instanceType.
	// +optional
	InstanceRequirements *InstanceRequirements `json:"instanceRequirements,omitempty"`

	// WeightedCapacity is how many units of the group's capacity an instance counts for. Give it to all overrides or to
	// none.
	// +optional
	// +slipway:rule=AS13
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=999
	WeightedCapacity *int32 `json:"weightedCapacity,omitempty"`

	// ImageID is the image of instances from this override, in place of the launch template's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID string `json:"imageID,omitempty"`

	// LaunchTemplate to launch from instead of the pool's. Somebody else owns it; it is read and never changed.
	// +optional
	LaunchTemplate *LaunchTemplateReference `json:"launchTemplate,omitempty"`
}

// LaunchTemplateReference names a version of an EC2 launch template of somebody else's.
type LaunchTemplateReference struct {
	// ID of the launch template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=LT4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^lt-[0-9a-f]{8,17}$')`,message="give the id of a launch template (lt-...)"
	ID string `json:"id"`

	// Version is the number of the version.
	// +required
	// +kubebuilder:validation:Minimum=1
	Version int64 `json:"version"`
}

// InstanceRequirements choose instance types by their attributes (AWS: API_InstanceRequirements).
//
// +slipway:rule=IT3
// +kubebuilder:validation:XValidation:rule=`!has(self.allowedInstanceTypes) || !has(self.excludedInstanceTypes)`,message="allowedInstanceTypes say all that is taken, so that excludedInstanceTypes would do nothing: remove one of the two",fieldPath=".excludedInstanceTypes"
// +slipway:rule=IT4
// +kubebuilder:validation:XValidation:rule=`!has(self.spotMaxPricePercentageOverLowestPrice) || !has(self.maxSpotPriceAsPercentageOfOptimalOnDemandPrice)`,message="spotMaxPricePercentageOverLowestPrice and maxSpotPriceAsPercentageOfOptimalOnDemandPrice are two ways to bound the same price: remove one of the two",fieldPath=".spotMaxPricePercentageOverLowestPrice"
type InstanceRequirements struct {
	// VCPUCount bounds the number of vCPUs.
	// +required
	VCPUCount RequiredRange `json:"vCPUCount"`

	// MemoryMiB bounds the memory.
	// +required
	MemoryMiB RequiredRange `json:"memoryMiB"`

	// MemoryGiBPerVCPU bounds the memory for each vCPU.
	// +optional
	MemoryGiBPerVCPU *QuantityRange `json:"memoryGiBPerVCPU,omitempty"`

	// CPUManufacturers that are taken: intel, amd, amazon-web-services, apple. Default: any.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=intel;amd;amazon-web-services;apple
	CPUManufacturers []string `json:"cpuManufacturers,omitempty"`

	// InstanceGenerations that are taken: current, previous. Default: any.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=current;previous
	InstanceGenerations []string `json:"instanceGenerations,omitempty"`

	// AllowedInstanceTypes are the only ones taken; * is a wildcard, as in m5.* or *3*.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=400
	// +kubebuilder:validation:items:MaxLength=30
	// +slipway:rule=IT3
	// +kubebuilder:validation:XValidation:rule=`self.all(t, t.matches('^[a-zA-Z0-9.*-]{1,30}$'))`,message="allowedInstanceTypes are instance types, or patterns with *, such as m5.* or *3*"
	AllowedInstanceTypes []string `json:"allowedInstanceTypes,omitempty"`

	// ExcludedInstanceTypes are not taken; * is a wildcard.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=400
	// +kubebuilder:validation:items:MaxLength=30
	// +slipway:rule=IT3
	// +kubebuilder:validation:XValidation:rule=`self.all(t, t.matches('^[a-zA-Z0-9.*-]{1,30}$'))`,message="excludedInstanceTypes are instance types, or patterns with *, such as m5.* or *3*"
	ExcludedInstanceTypes []string `json:"excludedInstanceTypes,omitempty"`

	// BareMetal says whether bare metal types are taken. Default: excluded.
	// +optional
	BareMetal Inclusion `json:"bareMetal,omitempty"`

	// BurstablePerformance says whether burstable types are taken. Default: excluded.
	// +optional
	BurstablePerformance Inclusion `json:"burstablePerformance,omitempty"`

	// LocalStorage says whether types with instance store volumes are taken. Default: included.
	// +optional
	LocalStorage Inclusion `json:"localStorage,omitempty"`

	// LocalStorageTypes that are taken: hdd, ssd. Default: any.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=hdd;ssd
	LocalStorageTypes []string `json:"localStorageTypes,omitempty"`

	// TotalLocalStorageGB bounds the instance store.
	// +optional
	TotalLocalStorageGB *QuantityRange `json:"totalLocalStorageGB,omitempty"`

	// NetworkInterfaceCount bounds the number of network interfaces.
	// +optional
	NetworkInterfaceCount *Range `json:"networkInterfaceCount,omitempty"`

	// NetworkBandwidthGbps bounds the network bandwidth.
	// +optional
	NetworkBandwidthGbps *QuantityRange `json:"networkBandwidthGbps,omitempty"`

	// BaselineEBSBandwidthMbps bounds the baseline bandwidth to EBS.
	// +optional
	BaselineEBSBandwidthMbps *Range `json:"baselineEBSBandwidthMbps,omitempty"`

	// AcceleratorCount bounds the number of accelerators; a max of 0 excludes types with any.
	// +optional
	AcceleratorCount *Range `json:"acceleratorCount,omitempty"`

	// AcceleratorTypes that are taken: gpu, fpga, inference, media. Default: any.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=gpu;fpga;inference;media
	AcceleratorTypes []string `json:"acceleratorTypes,omitempty"`

	// AcceleratorManufacturers that are taken: nvidia, amd, amazon-web-services, xilinx, habana. Default: any.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Enum=nvidia;amd;amazon-web-services;xilinx;habana
	AcceleratorManufacturers []string `json:"acceleratorManufacturers,omitempty"`

	// AcceleratorNames that are taken, such as a100, v100, t4. Default: any.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	AcceleratorNames []string `json:"acceleratorNames,omitempty"`

	// AcceleratorTotalMemoryMiB bounds the memory of all accelerators together.
	// +optional
	AcceleratorTotalMemoryMiB *Range `json:"acceleratorTotalMemoryMiB,omitempty"`

	// RequireHibernateSupport takes types alone that can hibernate.
	// +optional
	RequireHibernateSupport bool `json:"requireHibernateSupport,omitempty"`

	// OnDemandMaxPricePercentageOverLowestPrice is how much more than the cheapest fitting type an On-Demand type may cost,
	// in percent. Default: 20.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999
	OnDemandMaxPricePercentageOverLowestPrice *int32 `json:"onDemandMaxPricePercentageOverLowestPrice,omitempty"`

	// SpotMaxPricePercentageOverLowestPrice is how much more than the cheapest fitting type a Spot type may cost, in
	// percent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999
	SpotMaxPricePercentageOverLowestPrice *int32 `json:"spotMaxPricePercentageOverLowestPrice,omitempty"`

	// MaxSpotPriceAsPercentageOfOptimalOnDemandPrice bounds the Spot price by the On-Demand price of the best fitting type, in
	// percent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999
	MaxSpotPriceAsPercentageOfOptimalOnDemandPrice *int32 `json:"maxSpotPriceAsPercentageOfOptimalOnDemandPrice,omitempty"`
}

// RequiredRange is a range of whole numbers whose lower end must be given.
//
// +slipway:rule=IT2
// +kubebuilder:validation:XValidation:rule=`!has(self.max) || self.min <= self.max`,message="min must not be above max",fieldPath=".min"
type RequiredRange struct {
	// Min is the least; 0 for no bound.
	// +required
	// +kubebuilder:validation:Minimum=0
	Min int32 `json:"min"`

	// Max is the most. Default: no bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Max *int32 `json:"max,omitempty"`
}

// Range is a range of whole numbers.
//
// +slipway:rule=IT2
// +kubebuilder:validation:XValidation:rule=`!has(self.min) || !has(self.max) || self.min <= self.max`,message="min must not be above max",fieldPath=".min"
type Range struct {
	// Min is the least. Default: no bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Min *int32 `json:"min,omitempty"`

	// Max is the most. Default: no bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Max *int32 `json:"max,omitempty"`
}

// QuantityRange is a range of decimal numbers, such as "0.5".
//
// +slipway:rule=IT2
// +kubebuilder:validation:XValidation:rule=`!has(self.min) || !has(self.max) || quantity(string(self.min)).compareTo(quantity(string(self.max))) <= 0`,message="min must not be above max",fieldPath=".min"
// +slipway:rule=IT2
// +kubebuilder:validation:XValidation:rule=`(!has(self.min) || quantity(string(self.min)).compareTo(quantity('0')) >= 0) && (!has(self.max) || quantity(string(self.max)).compareTo(quantity('0')) >= 0)`,message="min and max must not be negative"
type QuantityRange struct {
	// Min is the least. Default: no bound.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	Min *resource.Quantity `json:"min,omitempty"`

	// Max is the most. Default: no bound.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	Max *resource.Quantity `json:"max,omitempty"`
}

// Inclusion says whether instance types of some sort are taken.
// +kubebuilder:validation:Enum=included;excluded;required
type Inclusion string

// InstancesDistribution says how capacity is spread over On-Demand and Spot, and over instance types.
//
// +slipway:rule=AS15
// +kubebuilder:validation:XValidation:rule=`!has(self.spotInstancePools) || !has(self.spotAllocationStrategy) || self.spotAllocationStrategy == 'lowest-price'`,message="spotInstancePools belongs to spotAllocationStrategy lowest-price: remove it, or change the strategy",fieldPath=".spotInstancePools"
// +slipway:rule=AS16
// +kubebuilder:validation:XValidation:rule=`!has(self.spotMaxPrice) || self.spotMaxPrice == "" || (self.spotMaxPrice.matches('^[0-9]+([.][0-9]+)?$') && double(self.spotMaxPrice) > 0.001)`,message="spotMaxPrice must be a decimal number above 0.001 (USD per hour), such as 0.05; leave it out for the On-Demand price",fieldPath=".spotMaxPrice"
type InstancesDistribution struct {
	// OnDemandAllocationStrategy fills On-Demand capacity in the order of the overrides (prioritized), or from the
	// cheapest type (lowest-price).
	// +optional
	// +kubebuilder:default=prioritized
	OnDemandAllocationStrategy OnDemandAllocationStrategy `json:"onDemandAllocationStrategy,omitempty"`

	// SpotAllocationStrategy says from which Spot pools capacity is taken. The default is CAPA's; AWS recommends
	// price-capacity-optimized.
	// +optional
	// +kubebuilder:default=lowest-price
	SpotAllocationStrategy SpotAllocationStrategy `json:"spotAllocationStrategy,omitempty"`

	// OnDemandBaseCapacity is how many instances are On-Demand before any is Spot.
	// +optional
	// +kubebuilder:default=0
	// +slipway:rule=AS16
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	OnDemandBaseCapacity *int64 `json:"onDemandBaseCapacity,omitempty"`

	// OnDemandPercentageAboveBaseCapacity is the share of On-Demand in all capacity above the base, in percent.
	// +optional
	// +kubebuilder:default=100
	// +slipway:rule=AS16
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	OnDemandPercentageAboveBaseCapacity *int64 `json:"onDemandPercentageAboveBaseCapacity,omitempty"`

	// SpotInstancePools is over how many Spot pools the lowest-price strategy spreads, in each zone. Default: 2.
	// +optional
	// +slipway:rule=AS15
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	SpotInstancePools *int32 `json:"spotInstancePools,omitempty"`

	// SpotMaxPrice is the most that is paid for an hour of a Spot Instance, in US dollars. Default: the On-Demand price, which
	// AWS recommends.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	SpotMaxPrice string `json:"spotMaxPrice,omitempty"`
}

// OnDemandAllocationStrategy says how On-Demand capacity is spread over instance types.
// +kubebuilder:validation:Enum=prioritized;lowest-price
type OnDemandAllocationStrategy string

// The strategies for On-Demand capacity.
const (
	OnDemandAllocationStrategyPrioritized OnDemandAllocationStrategy = "prioritized"
	OnDemandAllocationStrategyLowestPrice OnDemandAllocationStrategy = "lowest-price"
)

// SpotAllocationStrategy says how Spot capacity is spread over Spot pools.
// +kubebuilder:validation:Enum=lowest-price;capacity-optimized;capacity-optimized-prioritized;price-capacity-optimized
type SpotAllocationStrategy string

// The strategies for Spot capacity.
const (
	SpotAllocationStrategyLowestPrice                  SpotAllocationStrategy = "lowest-price"
	SpotAllocationStrategyCapacityOptimized            SpotAllocationStrategy = "capacity-optimized"
	SpotAllocationStrategyCapacityOptimizedPrioritized SpotAllocationStrategy = "capacity-optimized-prioritized"
	SpotAllocationStrategyPriceCapacityOptimized       SpotAllocationStrategy = "price-capacity-optimized"
)

// RefreshStrategyRolling replaces instances a few at a time.
const RefreshStrategyRolling = "Rolling"

// RefreshPreferences say how an instance refresh replaces instances. What is left out is AWS's default.
//
// +slipway:rule=RF1
// +kubebuilder:validation:XValidation:rule=`!has(self.maxHealthyPercentage) || has(self.minHealthyPercentage)`,message="maxHealthyPercentage needs minHealthyPercentage: set both",fieldPath=".maxHealthyPercentage"
// +slipway:rule=RF1
// +kubebuilder:validation:XValidation:rule=`!has(self.maxHealthyPercentage) || !has(self.minHealthyPercentage) || self.maxHealthyPercentage - self.minHealthyPercentage <= 100`,message="maxHealthyPercentage must be at most 100 above minHealthyPercentage",fieldPath=".maxHealthyPercentage"
// +slipway:rule=RF3
// +kubebuilder:validation:XValidation:rule=`!has(self.checkpointDelay) || (has(self.checkpointPercentages) && size(self.checkpointPercentages) > 0)`,message="checkpointDelay is the wait at a checkpoint: give checkpointPercentages, or remove checkpointDelay",fieldPath=".checkpointDelay"
type RefreshPreferences struct {
	// Disable leaves the replacing of instances to somebody else: new instances get the new launch template version,
	// running ones stay as they are.
	// +optional
	Disable bool `json:"disable,omitempty"`

	// Strategy of the refresh.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=RF8
	// +kubebuilder:validation:XValidation:rule=`self == 'Rolling'`,message="Rolling is the only strategy: ReplaceRootVolume needs a desired configuration, which would hold the launch template, and the join token in it, fast until the refresh ends; leave strategy out"
	Strategy *string `json:"strategy,omitempty"`

	// InstanceWarmup is how long, in seconds, a new instance is given before the next is replaced. Default: the
	// group's default instance warmup, else its health check grace period.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	InstanceWarmup *int64 `json:"instanceWarmup,omitempty"`

	// MinHealthyPercentage is the share of the desired capacity that stays healthy during the refresh, in percent.
	// Default: 90. With 100, a new instance is launched before an old one ends.
	// +optional
	// +slipway:rule=RF1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MinHealthyPercentage *int64 `json:"minHealthyPercentage,omitempty"`

	// MaxHealthyPercentage is how far the group may grow during the refresh, in percent of the desired capacity. It
	// needs minHealthyPercentage, and is at most 100 above it.
	// +optional
	// +slipway:rule=RF1
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=200
	MaxHealthyPercentage *int64 `json:"maxHealthyPercentage,omitempty"`

	// CheckpointPercentages are the shares of replaced instances, in percent and ascending, at which the refresh waits for
	// checkpointDelay.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +slipway:rule=RF2
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=100
	// +slipway:rule=RF2
	// +kubebuilder:validation:XValidation:rule=`self.isSorted() && self.all(p, self.exists_one(q, q == p))`,message="checkpointPercentages must ascend, each given once, such as 20, 50, 100"
	CheckpointPercentages []int32 `json:"checkpointPercentages,omitempty"`

	// CheckpointDelay is how long the refresh waits at each checkpoint, up to 48h. Default: 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=RF3
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('48h')`,message="checkpointDelay must be from 0s to 48h, in whole seconds, such as 30m"
	CheckpointDelay *metav1.Duration `json:"checkpointDelay,omitempty"`

	// BakeTime is how long the refresh waits after the last replacement before it counts as successful, with the alarms
	// watched. Default: 0.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('48h')`,message="bakeTime must be from 0s to 48h, in whole seconds, such as 10m"
	BakeTime *metav1.Duration `json:"bakeTime,omitempty"`

	// Alarms are names of CloudWatch alarms: the refresh fails when one of them goes off.
	// +optional
	// +listType=set
	// +slipway:rule=RF7
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	Alarms []string `json:"alarms,omitempty"`

	// Rollback goes back, when a refresh fails, to the last configuration that all instances ran, with the bootstrap data of
	// today: the group is pointed there, and what was replaced is replaced once more. An edit of the pool ends it.
	// +optional
	Rollback bool `json:"rollback,omitempty"`

	// ScaleInProtectedInstances says what becomes of instances that are protected from scale-in: Refresh replaces them
	// too, Ignore leaves them, Wait waits up to an hour and then fails. Default: Wait.
	// +optional
	// +kubebuilder:validation:Enum=Refresh;Ignore;Wait
	ScaleInProtectedInstances string `json:"scaleInProtectedInstances,omitempty"`

	// StandbyInstances says what becomes of instances in standby: Terminate ends them, Ignore leaves them, Wait waits up to
	// an hour and then fails. Default: Wait.
	// +optional
	// +kubebuilder:validation:Enum=Terminate;Ignore;Wait
	StandbyInstances string `json:"standbyInstances,omitempty"`

	// SkipMatching leaves instances alone that run the wanted configuration already. Default: true. Where AWS can not tell, because
	// overrides have instanceRequirements or versions differ by their join token alone, such instances are protected from
	// scale-in while the refresh runs.
	// +optional
	SkipMatching *bool `json:"skipMatching,omitempty"`
}

// SuspendProcessesTypes are the processes of a group that are stopped.
type SuspendProcessesTypes struct {
	// All stops every process.
	// +optional
	All bool `json:"all,omitempty"`

	// Processes says it for each process; what it says false to stays running under all.
	// +optional
	Processes *Processes `json:"processes,omitempty"`
}

// Processes are the processes of an Auto Scaling group (AWS: as-suspend-resume-processes).
type Processes struct {
	// Launch adds instances.
	// +optional
	Launch *bool `json:"launch,omitempty"`

	// Terminate removes instances.
	// +optional
	Terminate *bool `json:"terminate,omitempty"`

	// AddToLoadBalancer registers instances with target groups.
	// +optional
	AddToLoadBalancer *bool `json:"addToLoadBalancer,omitempty"`

	// AlarmNotification takes alarms for scaling policies.
	// +optional
	AlarmNotification *bool `json:"alarmNotification,omitempty"`

	// AZRebalance evens the zones out.
	// +optional
	AZRebalance *bool `json:"azRebalance,omitempty"`

	// HealthCheck finds unhealthy instances.
	// +optional
	HealthCheck *bool `json:"healthCheck,omitempty"`

	// InstanceRefresh replaces instances in a refresh.
	// +optional
	InstanceRefresh *bool `json:"instanceRefresh,omitempty"`

	// ReplaceUnhealthy replaces unhealthy instances.
	// +optional
	ReplaceUnhealthy *bool `json:"replaceUnhealthy,omitempty"`

	// ScheduledActions scales on a schedule.
	// +optional
	ScheduledActions *bool `json:"scheduledActions,omitempty"`
}

// AWSLifecycleHook stops instances on their way in or out.
//
// +slipway:rule=HK1
// +kubebuilder:validation:XValidation:rule=`self.name.matches('^[A-Za-z0-9_/-]+$')`,message="the name of a lifecycle hook has letters, digits and - _ / alone",fieldPath=".name"
// +slipway:rule=HK1
// +kubebuilder:validation:XValidation:rule=`!self.name.startsWith('slipway-')`,message="lifecycle hooks whose names begin with slipway- are the controller's own: choose another name",fieldPath=".name"
// +slipway:rule=HK3
// +kubebuilder:validation:XValidation:rule=`!(has(self.notificationTargetARN) && self.notificationTargetARN != "") || (has(self.roleARN) && self.roleARN != "")`,message="notificationTargetARN needs roleARN: give the role with which Auto Scaling may send there",fieldPath=".roleARN"
// +slipway:rule=HK3
// +kubebuilder:validation:XValidation:rule=`!(has(self.roleARN) && self.roleARN != "") || (has(self.notificationTargetARN) && self.notificationTargetARN != "")`,message="roleARN does nothing without notificationTargetARN: give the queue or topic, or remove roleARN",fieldPath=".roleARN"
// +slipway:rule=HK3
// +kubebuilder:validation:XValidation:rule=`!has(self.notificationTargetARN) || self.notificationTargetARN == "" || self.notificationTargetARN.matches('^arn:[a-z-]+:(sqs|sns):[a-z0-9-]+:[0-9]{12}:[a-zA-Z0-9_.-]+$')`,message="give the ARN of an SQS queue or an SNS topic (arn:aws:sqs:<region>:<account>:<queue>)",fieldPath=".notificationTargetARN"
// +slipway:rule=HK3
// +kubebuilder:validation:XValidation:rule=`!has(self.roleARN) || self.roleARN == "" || self.roleARN.matches('^arn:[a-z-]+:iam::[0-9]{12}:role/[!-~]+$')`,message="give the ARN of an IAM role (arn:aws:iam::<account>:role/<name>)",fieldPath=".roleARN"
type AWSLifecycleHook struct {
	// Name of the hook.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// NotificationTargetARN is the SQS queue or SNS topic that is told.
	// +optional
	// +kubebuilder:validation:MaxLength=1600
	NotificationTargetARN *string `json:"notificationTargetARN,omitempty"`

	// RoleARN is the IAM role that may tell the target.
	// +optional
	// +kubebuilder:validation:MaxLength=1600
	RoleARN *string `json:"roleARN,omitempty"`

	// LifecycleTransition is the way that instances are stopped on.
	// +required
	LifecycleTransition LifecycleTransition `json:"lifecycleTransition"`

	// HeartbeatTimeout is how long an instance is held without a heartbeat, 30s to 2h. Default: 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=HK2
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('30s') && duration(self) <= duration('2h')`,message="heartbeatTimeout must be from 30s to 2h, in whole seconds; whoever holds instances for longer sends heartbeats"
	HeartbeatTimeout *metav1.Duration `json:"heartbeatTimeout,omitempty"`

	// DefaultResult is what happens at the timeout. Default: ABANDON.
	// +optional
	DefaultResult *LifecycleHookDefaultResult `json:"defaultResult,omitempty"`

	// NotificationMetadata is sent along to the target.
	// +optional
	// +slipway:rule=HK3
	// +kubebuilder:validation:MaxLength=4000
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[\t\n\r -~]*$')`,message="notificationMetadata may have printable ASCII characters, tabs and line breaks alone"
	NotificationMetadata *string `json:"notificationMetadata,omitempty"`
}

// LifecycleTransition is a way of an instance into or out of a group.
// +kubebuilder:validation:Enum="autoscaling:EC2_INSTANCE_LAUNCHING";"autoscaling:EC2_INSTANCE_TERMINATING"
type LifecycleTransition string

// The ways.
const (
	LifecycleTransitionInstanceLaunching   LifecycleTransition = "autoscaling:EC2_INSTANCE_LAUNCHING"
	LifecycleTransitionInstanceTerminating LifecycleTransition = "autoscaling:EC2_INSTANCE_TERMINATING"
)

// LifecycleHookDefaultResult is what happens to an instance that nobody let go.
// +kubebuilder:validation:Enum=CONTINUE;ABANDON
type LifecycleHookDefaultResult string

// The results.
const (
	LifecycleHookDefaultResultContinue LifecycleHookDefaultResult = "CONTINUE"
	LifecycleHookDefaultResultAbandon  LifecycleHookDefaultResult = "ABANDON"
)

// Ignition says how bootstrap data in the Ignition format reaches the instances.
//
// +slipway:rule=SL8
// +kubebuilder:validation:XValidation:rule=`!has(self.proxy) || (has(self.version) && self.version in ['3.1', '3.2', '3.3', '3.4'])`,message="Ignition knows proxies from version 3.1 on: set version to 3.1 or higher, or remove proxy",fieldPath=".proxy"
type Ignition struct {
	// Version of the Ignition specification of the pointer that user data holds. Default: 2.3, as with CAPA.
	// +optional
	// +kubebuilder:validation:Enum="2.3";"3.0";"3.1";"3.2";"3.3";"3.4"
	Version string `json:"version,omitempty"`

	// StorageType is where the bootstrap data is kept: ClusterObjectStore, in the S3 bucket of the cluster;
	// UnencryptedUserData, in the launch template.
	// +optional
	// +kubebuilder:default=ClusterObjectStore
	StorageType IgnitionStorageType `json:"storageType,omitempty"`

	// Proxy is how Ignition reaches the network.
	// +optional
	Proxy *IgnitionProxy `json:"proxy,omitempty"`

	// TLS says which certificates Ignition trusts.
	// +optional
	TLS *IgnitionTLS `json:"tls,omitempty"`
}

// IgnitionStorageType is where bootstrap data is kept.
// +kubebuilder:validation:Enum=ClusterObjectStore;UnencryptedUserData
type IgnitionStorageType string

// The places.
const (
	IgnitionStorageTypeClusterObjectStore  IgnitionStorageType = "ClusterObjectStore"
	IgnitionStorageTypeUnencryptedUserData IgnitionStorageType = "UnencryptedUserData"
)

// IgnitionProxy is how Ignition reaches the network.
type IgnitionProxy struct {
	// HTTPProxy is the proxy for http URLs.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self == '' || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '')`,message="httpProxy must be the URL of a proxy, such as http://proxy.example.com:3128"
	HTTPProxy *string `json:"httpProxy,omitempty"`

	// HTTPSProxy is the proxy for https URLs.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self == '' || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '')`,message="httpsProxy must be the URL of a proxy, such as http://proxy.example.com:3128"
	HTTPSProxy *string `json:"httpsProxy,omitempty"`

	// NoProxy are hosts that are reached without a proxy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=2048
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self.all(h, h == '*' || h.matches('^[.]?[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?$') || h.matches('^[0-9a-fA-F:.]+(/[0-9]{1,3})?$') || h.matches('^[[][0-9a-fA-F:.]+[]](:[0-9]{1,5})?$'))`,message="noProxy are domain names (.example.com for subdomains alone), IP addresses, ranges such as 10.0.0.0/8, each with a port if need be, or *"
	NoProxy []string `json:"noProxy,omitempty"`
}

// IgnitionTLS says which certificates Ignition trusts.
type IgnitionTLS struct {
	// CertificateAuthorities are the URLs of certificate bundles: http, https, tftp, s3, arn, gs or data.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=65536
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self.all(u, ['http://', 'https://', 'tftp://', 's3://', 'arn:', 'gs://', 'data:'].exists(p, u.startsWith(p)))`,message="certificateAuthorities are URLs that begin with https://, http://, tftp://, s3://, arn:, gs:// or data:"
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self.all(u, !u.startsWith('data:') || u.contains(';base64,'))`,message="a data URL of certificateAuthorities must be in base64: data:;base64,..."
	CertificateAuthorities []string `json:"certificateAuthorities,omitempty"`
}

// BootstrapStorage is where bootstrap data is kept.
// +kubebuilder:validation:Enum=UserData;SSM;S3
type BootstrapStorage string

// The places.
const (
	BootstrapStorageUserData BootstrapStorage = "UserData"
	BootstrapStorageSSM      BootstrapStorage = "SSM"
	BootstrapStorageS3       BootstrapStorage = "S3"
)

// HealthCheck says what makes an instance unhealthy.
type HealthCheck struct {
	// Types of checks beside EC2's own, which is always on: ELB, VPC_LATTICE, EBS.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=EC2;ELB;VPC_LATTICE;EBS
	Types []string `json:"types,omitempty"`

	// GracePeriod is how long a new instance is not checked. Default: none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('0s') && duration(self) <= duration('596523h')`,message="gracePeriod must be a duration in whole seconds that is not negative, such as 300s or 5m"
	GracePeriod *metav1.Duration `json:"gracePeriod,omitempty"`
}

// InstanceMaintenancePolicy bounds how far a group may shrink and grow while it replaces instances.
//
// +slipway:rule=AS21
// +kubebuilder:validation:XValidation:rule=`self.maxHealthyPercentage - self.minHealthyPercentage <= 100`,message="maxHealthyPercentage must be at most 100 above minHealthyPercentage",fieldPath=".maxHealthyPercentage"
type InstanceMaintenancePolicy struct {
	// MinHealthyPercentage is the share of the desired capacity that stays healthy, in percent.
	// +required
	// +slipway:rule=AS21
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MinHealthyPercentage int32 `json:"minHealthyPercentage"`

	// MaxHealthyPercentage is how far the group may grow, in percent of the desired capacity; at most 100 above
	// minHealthyPercentage.
	// +required
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=200
	MaxHealthyPercentage int32 `json:"maxHealthyPercentage"`
}

// AvailabilityZoneDistribution says how strictly instances are spread over zones: balanced-best-effort launches elsewhere when
// a zone has no capacity, and is AWS's default; balanced-only waits for the zone.
//
// +slipway:rule=AS20
// +kubebuilder:validation:Enum=balanced-best-effort;balanced-only
type AvailabilityZoneDistribution string

// AvailabilityZoneImpairmentPolicy says what a group does when AWS shifts traffic away from a zone.
//
// +slipway:rule=SL9
// +kubebuilder:validation:XValidation:rule=`!self.zonalShiftEnabled || has(self.impairedZoneHealthCheckBehavior)`,message="zonalShiftEnabled needs impairedZoneHealthCheckBehavior: set it to ReplaceUnhealthy or IgnoreUnhealthy",fieldPath=".impairedZoneHealthCheckBehavior"
// +slipway:rule=SL9
// +kubebuilder:validation:XValidation:rule=`self.zonalShiftEnabled || !has(self.impairedZoneHealthCheckBehavior)`,message="impairedZoneHealthCheckBehavior does nothing without a zonal shift: set zonalShiftEnabled to true, or remove it",fieldPath=".impairedZoneHealthCheckBehavior"
type AvailabilityZoneImpairmentPolicy struct {
	// ZonalShiftEnabled lets a zonal shift move the group out of the zone.
	// +required
	ZonalShiftEnabled bool `json:"zonalShiftEnabled"`

	// ImpairedZoneHealthCheckBehavior says whether unhealthy instances of the zone are replaced. It is required while zonal
	// shift is enabled.
	// +optional
	// +kubebuilder:validation:Enum=ReplaceUnhealthy;IgnoreUnhealthy
	ImpairedZoneHealthCheckBehavior string `json:"impairedZoneHealthCheckBehavior,omitempty"`
}

// GroupCapacityReservation says whether a group launches into Capacity Reservations.
//
// +slipway:rule=CR2
// +kubebuilder:validation:XValidation:rule=`!((has(self.ids) && size(self.ids) > 0) || (has(self.resourceGroupARNs) && size(self.resourceGroupARNs) > 0)) || self.preference in ['capacity-reservations-only', 'capacity-reservations-first']`,message="ids and resourceGroupARNs name reservations to use: set preference to capacity-reservations-only or capacity-reservations-first",fieldPath=".preference"
type GroupCapacityReservation struct {
	// Preference is AWS's: capacity-reservations-only, capacity-reservations-first, none, or default, which leaves it to
	// the launch template.
	// +required
	// +kubebuilder:validation:Enum=capacity-reservations-only;capacity-reservations-first;none;default
	Preference string `json:"preference"`

	// IDs are the Capacity Reservations. Default: any that is open and fits.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=64
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self.all(i, i.matches('^cr-[0-9a-f]{8,17}$'))`,message="give the ids of Capacity Reservations (cr-...)"
	IDs []string `json:"ids,omitempty"`

	// ResourceGroupARNs are resource groups of Capacity Reservations.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=2048
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self.all(a, a.matches('^arn:[a-z-]+:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[!-~]+$'))`,message="give the ARNs of resource groups (arn:aws:resource-groups:<region>:<account>:group/<name>)"
	ResourceGroupARNs []string `json:"resourceGroupARNs,omitempty"`
}

// WarmPool keeps initialized instances in reserve.
type WarmPool struct {
	// MinSize is how many instances the warm pool has at least. Default: 0.
	// +optional
	// +slipway:rule=WP3
	// +kubebuilder:validation:Minimum=0
	MinSize int32 `json:"minSize,omitempty"`

	// MaxGroupPreparedCapacity is how many instances the group and its warm pool have together. Default: maxSize.
	// +optional
	// +slipway:rule=WP3
	// +kubebuilder:validation:Minimum=0
	MaxGroupPreparedCapacity *int32 `json:"maxGroupPreparedCapacity,omitempty"`

	// State that instances wait in. Default: Stopped.
	// +optional
	// +kubebuilder:validation:Enum=Stopped;Running;Hibernated
	State string `json:"state,omitempty"`

	// ReuseOnScaleIn returns instances to the warm pool when the group shrinks, instead of ending them.
	// +optional
	ReuseOnScaleIn bool `json:"reuseOnScaleIn,omitempty"`
}

// DefaultNodeDrainTimeout is how long a node may take to empty where spec.nodeDrain.timeout is left out.
const DefaultNodeDrainTimeout = 15 * time.Minute

// NodeDrain says how a node is emptied before its instance ends.
type NodeDrain struct {
	// Disable lets instances end at once, without emptying their nodes.
	// +optional
	Disable bool `json:"disable,omitempty"`

	// Timeout is how long a node may take to empty before its instance ends anyway, 1m to 48h. Default: 15m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +slipway:rule=SL4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]+(h|m|s))+$') && duration(self) >= duration('1m') && duration(self) <= duration('48h')`,message="timeout must be from 1m to 48h, in whole seconds, such as 15m: Auto Scaling holds an instance for 48 hours at most"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// MachinePoolMachines says whether instances have Machines.
// +kubebuilder:validation:Enum=Enabled;Disabled
type MachinePoolMachines string

// The choices.
const (
	MachinePoolMachinesEnabled  MachinePoolMachines = "Enabled"
	MachinePoolMachinesDisabled MachinePoolMachines = "Disabled"
)

// AWSMachinePoolStatus says what the pool is. All of it can be found again from AWS.
type AWSMachinePoolStatus struct {
	// Ready is true from the moment that the Auto Scaling group exists. Cluster API reads it.
	// +optional
	Ready bool `json:"ready"`

	// Initialization is what Cluster API's v1beta2 contract reads in place of ready.
	// +optional
	Initialization AWSMachinePoolInitializationStatus `json:"initialization,omitempty,omitzero"`

	// Replicas is how many instances the group has, in any state of life.
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is how many instances the group counts as in service and healthy.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// UpToDateReplicas is how many instances run the wanted configuration.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say how far the pool is, and what is in the way.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LaunchTemplateID is the id of the EC2 launch template that the group launches from.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LaunchTemplateID string `json:"launchTemplateID,omitempty"`

	// LaunchTemplateVersion is the number of the version that the group launches from.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	LaunchTemplateVersion *string `json:"launchTemplateVersion,omitempty"`

	// AutoScalingGroup identifies the group.
	// +optional
	AutoScalingGroup *AutoScalingGroupReference `json:"autoScalingGroup,omitempty"`

	// InfrastructureMachineKind is the kind of the objects that stand for single instances, while the pool has Machines. Cluster
	// API reads it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	InfrastructureMachineKind string `json:"infrastructureMachineKind,omitempty"`

	// WantedVersion is the number of the launch template version that the spec asks for.
	// +optional
	WantedVersion int64 `json:"wantedVersion,omitempty"`

	// WantedConfig identifies what instances should be launched from: the configuration that the spec asks for, and the images
	// and templates of its overrides.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	WantedConfig string `json:"wantedConfig,omitempty"`

	// WantedSince is when wantedConfig came to be wanted. A roll-out begins when it has been for a while, so that a batch of edits
	// makes one roll-out.
	// +optional
	WantedSince *metav1.Time `json:"wantedSince,omitempty"`

	// RunningVersions are what the instances run, with their counts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	RunningVersions []RunningVersion `json:"runningVersions,omitempty"`

	// Rollout is the newest roll-out, with the instance refresh that carries it.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// LastGood is the newest configuration that all instances ran: the one that a rollback goes to.
	// +optional
	LastGood *GoodConfiguration `json:"lastGood,omitempty"`

	// Instances of the group.
	// +optional
	// +listType=map
	// +listMapKey=instanceID
	// +kubebuilder:validation:MaxItems=10000
	Instances []AWSMachinePoolInstanceStatus `json:"instances,omitempty"`
}

// AWSMachinePoolInitializationStatus says how far the first provisioning has come.
// +kubebuilder:validation:MinProperties=1
type AWSMachinePoolInitializationStatus struct {
	// Provisioned is true from the moment that the Auto Scaling group exists, and never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// AutoScalingGroupReference identifies an Auto Scaling group.
type AutoScalingGroupReference struct {
	// Name of the group, unique in the account and region.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// ARN of the group.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ARN string `json:"arn,omitempty"`
}

// RunningVersion is a launch template version that instances run.
type RunningVersion struct {
	// LaunchTemplateID is the id of the template, empty for instances that were launched without one.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LaunchTemplateID string `json:"launchTemplateID,omitempty"`

	// Version is the number of the version.
	// +optional
	Version int64 `json:"version,omitempty"`

	// ImageID is the image that an override names in place of the template's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID string `json:"imageID,omitempty"`

	// Instances is how many run it.
	// +required
	Instances int32 `json:"instances"`

	// UpToDate is whether it is the wanted configuration.
	// +optional
	UpToDate bool `json:"upToDate,omitempty"`
}

// GoodConfiguration is a configuration that all instances ran.
type GoodConfiguration struct {
	// ConfigFingerprint identifies the configuration.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ConfigFingerprint string `json:"configFingerprint"`

	// Version is the number of a launch template version with it.
	// +required
	Version int64 `json:"version"`
}

// RolloutStatus is a roll-out and the instance refresh that carries it.
type RolloutStatus struct {
	// Cause is why instances are replaced, in words: instance type m5.large → m6i.large.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Cause string `json:"cause,omitempty"`

	// RefreshID is the id that AWS gave the newest refresh, empty while there was none.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	RefreshID string `json:"refreshID,omitempty"`

	// StartedID is the id of the newest refresh that Slipway started. It differs from refreshID when somebody else has started
	// one since. Slipway cancels none but this.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	StartedID string `json:"startedID,omitempty"`

	// StartedFor is the wantedConfig that it was started for.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	StartedFor string `json:"startedFor,omitempty"`

	// RolledBackFrom is the fingerprint of the configuration that the pool went back from, after a refresh to it failed. It
	// is not tried again until the spec asks for another.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	RolledBackFrom string `json:"rolledBackFrom,omitempty"`

	// Attempts is how many refreshes in a row, since the configuration came to be wanted, left instances behind.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// Status is AWS's: Pending, InProgress, Baking, Successful, Failed, Cancelling, Cancelled, RollbackInProgress,
	// RollbackSuccessful or RollbackFailed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Status string `json:"status,omitempty"`

	// PercentageComplete is the share of instances that were replaced, in percent.
	// +optional
	PercentageComplete *int32 `json:"percentageComplete,omitempty"`

	// Reason is AWS's explanation of the status.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// StartTime is when the refresh began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
}

// AWSMachinePoolInstanceStatus is one instance of the group.
type AWSMachinePoolInstanceStatus struct {
	// InstanceID is the EC2 instance id.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	InstanceID string `json:"instanceID"`

	// Version is the Kubernetes version that the instance was launched for.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Version *string `json:"version,omitempty"`

	// LaunchTemplateVersion is the number of the launch template version that the instance was launched from.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	LaunchTemplateVersion string `json:"launchTemplateVersion,omitempty"`

	// LifecycleState is where the instance is in the group's life, such as Pending, InService or Terminating:Wait.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LifecycleState string `json:"lifecycleState,omitempty"`

	// HealthStatus is the group's judgement: Healthy or Unhealthy.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	HealthStatus string `json:"healthStatus,omitempty"`

	// AvailabilityZone that the instance runs in.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AvailabilityZone string `json:"availabilityZone,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=awsmachinepools,scope=Namespaced,categories=cluster-api,shortName=awsmp
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that the pool belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the pool is as its spec asks for"
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
// +kubebuilder:printcolumn:name="Instance Type",type="string",priority=1,JSONPath=".spec.awsLaunchTemplate.instanceType",description="Instance type"
// +kubebuilder:printcolumn:name="Message",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='Ready')].message",description="What is in the way"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"

// AWSMachinePool is the infrastructure of a MachinePool: an EC2 Auto Scaling group that launches its instances from
// an EC2 launch template.
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

// SetConditions replaces the conditions. Those without a reason are left out: CAPA wrote such to the pools that it
// made, and the API server would refuse every status that still has one.
func (p *AWSMachinePool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool {
		return c.Reason == ""
	})
}

// +kubebuilder:object:root=true

// AWSMachinePoolList is a list of AWSMachinePools.
type AWSMachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSMachinePool `json:"items"`
}
