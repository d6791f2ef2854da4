package v1beta2

import (
	"slices"

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
type Overrides struct {
	// InstanceType to launch, in place of the launch template's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType"`
}

// InstancesDistribution says how capacity is spread over On-Demand and Spot, and over instance types.
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
type RefreshPreferences struct {
	// Disable leaves the replacing of instances to somebody else: new instances get the new launch template version,
	// running ones stay as they are.
	// +optional
	Disable bool `json:"disable,omitempty"`

	// Strategy of the refresh.
	// +optional
	// +slipway:rule=RF8
	// +kubebuilder:validation:Enum=Rolling
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
}

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

	// Rollout is the newest instance refresh of the group.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

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

// RolloutStatus is an instance refresh.
type RolloutStatus struct {
	// RefreshID is the id that AWS gave the refresh.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	RefreshID string `json:"refreshID"`

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
