package v1beta2

// MixedInstancesPolicy lets a group launch several instance types, On-Demand and Spot.
//
// +slipway:rule=AS12
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.all(o, has(o.instanceRequirements)) || self.overrides.all(o, !has(o.instanceRequirements))`,message="overrides must use either instanceType or instanceRequirements, the same for all overrides",fieldPath=".overrides"
// +slipway:rule=AS11
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.filter(o, has(o.instanceRequirements)).size() <= 4`,message="a group supports at most 4 overrides with instanceRequirements: combine interchangeable types into one override",fieldPath=".overrides"
// +slipway:rule=AS11
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.filter(o, has(o.launchTemplate)).map(o, 1.0 / double(self.overrides.filter(p, has(p.launchTemplate) && p.launchTemplate.id == o.launchTemplate.id).size())).sum() < 19.5`,message="a group supports at most 20 launch templates, including the pool's own: specify at most 19 others in overrides",fieldPath=".overrides"
// +slipway:rule=SL19
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.all(o, !has(o.instanceType) || self.overrides.exists_one(p, has(p.instanceType) && p.instanceType == o.instanceType))`,message="every item of overrides must have a unique instanceType",fieldPath=".overrides"
// +slipway:rule=AS13
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || self.overrides.all(o, has(o.weightedCapacity)) || self.overrides.all(o, !has(o.weightedCapacity))`,message="weightedCapacity must be set for all overrides or for none",fieldPath=".overrides"
// +slipway:rule=AS14
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || !has(self.instancesDistribution) || !has(self.instancesDistribution.onDemandAllocationStrategy) || self.instancesDistribution.onDemandAllocationStrategy != 'prioritized' || self.overrides.all(o, !has(o.instanceRequirements))`,message="instanceRequirements do not define an order of instance types: set onDemandAllocationStrategy to lowest-price (the default with instancesDistribution is prioritized)",fieldPath=".instancesDistribution.onDemandAllocationStrategy"
// +slipway:rule=AS14
// +kubebuilder:validation:XValidation:rule=`!has(self.overrides) || !has(self.instancesDistribution) || !has(self.instancesDistribution.spotAllocationStrategy) || self.instancesDistribution.spotAllocationStrategy != 'capacity-optimized-prioritized' || self.overrides.all(o, !has(o.instanceRequirements))`,message="instanceRequirements do not define an order of instance types: set spotAllocationStrategy to price-capacity-optimized, capacity-optimized, or lowest-price",fieldPath=".instancesDistribution.spotAllocationStrategy"
type MixedInstancesPolicy struct {
	// InstancesDistribution says how capacity is spread over On-Demand and Spot, and over the types.
	// +optional
	InstancesDistribution *InstancesDistribution `json:"instancesDistribution,omitempty"`

	// Overrides are the instance types, most wanted first. Without any, the launch template's is
	// the only one.
	// +optional
	// +listType=atomic
	// +slipway:rule=AS11
	// +kubebuilder:validation:MaxItems=40
	Overrides []Overrides `json:"overrides,omitempty"`
}

// Overrides replaces parts of the launch template for some of the group's instances.
//
// +slipway:rule=AS12
// +kubebuilder:validation:XValidation:rule=`(has(self.instanceType) && self.instanceType != "") != has(self.instanceRequirements)`,message="exactly one of instanceType and instanceRequirements must be set in an override"
// +slipway:rule=IM1
// +kubebuilder:validation:XValidation:rule=`!has(self.imageID) || self.imageID == "" || self.imageID.matches('^ami-[0-9a-f]{8,17}$')`,message="must be an image ID (ami-...); an SSM parameter is only valid in awsLaunchTemplate.ami",fieldPath=".imageID"
type Overrides struct {
	// InstanceType to launch, in place of the launch template's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType,omitempty"`

	// InstanceRequirements choose instance types by what they have, in place of instanceType.
	// +optional
	InstanceRequirements *InstanceRequirements `json:"instanceRequirements,omitempty"`

	// WeightedCapacity is how many units of the group's capacity an instance counts for. Give it to
	// all overrides or to none.
	// +optional
	// +slipway:rule=AS13
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=999
	WeightedCapacity *int32 `json:"weightedCapacity,omitempty"`

	// ImageID is the image of instances from this override, in place of the launch template's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID string `json:"imageID,omitempty"`

	// LaunchTemplate to launch from instead of the pool's. Another owner manages it; it is read and
	// never changed.
	// +optional
	LaunchTemplate *LaunchTemplateReference `json:"launchTemplate,omitempty"`
}

// LaunchTemplateReference names a version of an EC2 launch template of another owner.
type LaunchTemplateReference struct {
	// ID of the launch template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=LT4
	// +kubebuilder:validation:XValidation:rule=`self.matches('^lt-[0-9a-f]{8,17}$')`,message="must be the ID of a launch template (lt-...)"
	ID string `json:"id"`

	// Version is the number of the version.
	// +required
	// +kubebuilder:validation:Minimum=1
	Version int64 `json:"version"`
}

// InstancesDistribution says how capacity is spread over On-Demand and Spot, and over instance types.
//
// +slipway:rule=AS15
// +kubebuilder:validation:XValidation:rule=`!has(self.spotInstancePools) || !has(self.spotAllocationStrategy) || self.spotAllocationStrategy == 'lowest-price'`,message="spotInstancePools is only valid for spotAllocationStrategy lowest-price: remove it, or change the strategy",fieldPath=".spotInstancePools"
// +slipway:rule=AS16
// +kubebuilder:validation:XValidation:rule=`!has(self.spotMaxPrice) || self.spotMaxPrice == "" || (self.spotMaxPrice.matches('^[0-9]+([.][0-9]+)?$') && double(self.spotMaxPrice) > 0.001)`,message="spotMaxPrice must be a decimal number greater than 0.001 (USD per hour), such as 0.05; omit it to use the On-Demand price",fieldPath=".spotMaxPrice"
// +slipway:rule=SL77
// +kubebuilder:validation:XValidation:rule=`!has(self.distributionSegments) || size(self.distributionSegments) == 0 || ((!has(self.onDemandBaseCapacity) || self.onDemandBaseCapacity == 0) && (!has(self.onDemandPercentageAboveBaseCapacity) || self.onDemandPercentageAboveBaseCapacity == 100))`,message="distributionSegments determines the source of all capacity and does not include Spot: remove onDemandBaseCapacity and onDemandPercentageAboveBaseCapacity, or distributionSegments",fieldPath=".distributionSegments"
type InstancesDistribution struct {
	// DistributionSegments launches instances into Capacity Reservations of several types, in the
	// order given, and on demand where the list says so. The reservations are those in
	// spec.capacityReservation.resourceGroupARNs. Give one segment: AWS documents no way to divide
	// capacity between several.
	// +optional
	// +listType=atomic
	// +slipway:rule=SL77
	// +kubebuilder:validation:MaxItems=1
	DistributionSegments []DistributionSegment `json:"distributionSegments,omitempty"`

	// OnDemandAllocationStrategy fills On-Demand capacity in the order of the overrides
	// (prioritized), or from the cheapest type (lowest-price).
	// +optional
	// +kubebuilder:default=prioritized
	OnDemandAllocationStrategy OnDemandAllocationStrategy `json:"onDemandAllocationStrategy,omitempty"`

	// SpotAllocationStrategy says from which Spot pools capacity is taken. The default is CAPA's;
	// AWS recommends price-capacity-optimized.
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

	// OnDemandPercentageAboveBaseCapacity is the share of On-Demand in all capacity above the base,
	// in percent.
	// +optional
	// +kubebuilder:default=100
	// +slipway:rule=AS16
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	OnDemandPercentageAboveBaseCapacity *int64 `json:"onDemandPercentageAboveBaseCapacity,omitempty"`

	// SpotInstancePools is over how many Spot pools the lowest-price strategy spreads, in each
	// zone. Default: 2.
	// +optional
	// +slipway:rule=AS15
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	SpotInstancePools *int32 `json:"spotInstancePools,omitempty"`

	// SpotMaxPrice is the most that is paid for an hour of a Spot Instance, in US dollars. Default:
	// the On-Demand price, which AWS recommends.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	SpotMaxPrice string `json:"spotMaxPrice,omitempty"`
}

// DistributionSegment lists the types of capacity that instances are launched into.
type DistributionSegment struct {
	// TargetCapacityTypes are types of capacity, most wanted first: on-demand-capacity-reservation,
	// capacity-block, interruptible-capacity-reservation, and on-demand, which is capacity outside
	// of all reservations.
	// +required
	// +listType=atomic
	// +slipway:rule=SL77
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=on-demand-capacity-reservation;capacity-block;interruptible-capacity-reservation;on-demand
	// +kubebuilder:validation:XValidation:rule=`self.all(t, self.exists_one(u, u == t))`,message="each capacity type must be listed only once, at its most preferred position"
	TargetCapacityTypes []string `json:"targetCapacityTypes"`
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
