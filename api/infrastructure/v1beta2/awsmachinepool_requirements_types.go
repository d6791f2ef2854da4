package v1beta2

import "k8s.io/apimachinery/pkg/api/resource"

// InstanceRequirements choose instance types by their attributes (AWS: API_InstanceRequirements).
//
// +slipway:rule=IT3
// +kubebuilder:validation:XValidation:rule=`!has(self.allowedInstanceTypes) || !has(self.excludedInstanceTypes)`,message="allowedInstanceTypes and excludedInstanceTypes are mutually exclusive: remove one of them",fieldPath=".excludedInstanceTypes"
// +slipway:rule=IT4
// +kubebuilder:validation:XValidation:rule=`!has(self.spotMaxPricePercentageOverLowestPrice) || !has(self.maxSpotPriceAsPercentageOfOptimalOnDemandPrice)`,message="spotMaxPricePercentageOverLowestPrice and maxSpotPriceAsPercentageOfOptimalOnDemandPrice are mutually exclusive: remove one of them",fieldPath=".spotMaxPricePercentageOverLowestPrice"
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
	// +kubebuilder:validation:XValidation:rule=`self.all(t, t.matches('^[a-zA-Z0-9.*-]{1,30}$'))`,message="allowedInstanceTypes must be instance types, or patterns with *, such as m5.* or *3*"
	AllowedInstanceTypes []string `json:"allowedInstanceTypes,omitempty"`

	// ExcludedInstanceTypes are not taken; * is a wildcard.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=400
	// +kubebuilder:validation:items:MaxLength=30
	// +slipway:rule=IT3
	// +kubebuilder:validation:XValidation:rule=`self.all(t, t.matches('^[a-zA-Z0-9.*-]{1,30}$'))`,message="excludedInstanceTypes must be instance types, or patterns with *, such as m5.* or *3*"
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

	// AcceleratorManufacturers that are taken: nvidia, amd, amazon-web-services, xilinx, habana.
	// Default: any.
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

	// BaselinePerformanceFactors take types alone that perform at least as well as a family.
	// +optional
	BaselinePerformanceFactors *BaselinePerformanceFactors `json:"baselinePerformanceFactors,omitempty"`

	// RequireHibernateSupport takes types alone that can hibernate.
	// +optional
	RequireHibernateSupport bool `json:"requireHibernateSupport,omitempty"`

	// OnDemandMaxPricePercentageOverLowestPrice is how much more than the cheapest fitting type an
	// On-Demand type may cost, in percent. Default: 20.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999
	OnDemandMaxPricePercentageOverLowestPrice *int32 `json:"onDemandMaxPricePercentageOverLowestPrice,omitempty"`

	// SpotMaxPricePercentageOverLowestPrice is how much more than the cheapest fitting type a Spot
	// type may cost, in percent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999
	SpotMaxPricePercentageOverLowestPrice *int32 `json:"spotMaxPricePercentageOverLowestPrice,omitempty"`

	// MaxSpotPriceAsPercentageOfOptimalOnDemandPrice bounds the Spot price by the On-Demand price
	// of the best fitting type, in percent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999
	MaxSpotPriceAsPercentageOfOptimalOnDemandPrice *int32 `json:"maxSpotPriceAsPercentageOfOptimalOnDemandPrice,omitempty"`
}

// RequiredRange is a range of whole numbers whose lower end must be given.
//
// +slipway:rule=IT2
// +kubebuilder:validation:XValidation:rule=`!has(self.max) || self.min <= self.max`,message="min must be less than or equal to max",fieldPath=".min"
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
// +kubebuilder:validation:XValidation:rule=`!has(self.min) || !has(self.max) || self.min <= self.max`,message="min must be less than or equal to max",fieldPath=".min"
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
// +kubebuilder:validation:XValidation:rule=`!has(self.min) || !has(self.max) || quantity(string(self.min)).compareTo(quantity(string(self.max))) <= 0`,message="min must be less than or equal to max",fieldPath=".min"
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

// BaselinePerformanceFactors define the baseline that instance types are compared with.
type BaselinePerformanceFactors struct {
	// CPU performance.
	// +required
	CPU CPUPerformanceFactor `json:"cpu"`
}

// CPUPerformanceFactor is the CPU performance that instance types are measured by.
type CPUPerformanceFactor struct {
	// References are the instance families to measure by; EC2 takes one.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +slipway:rule=IT5
	// +kubebuilder:validation:MaxItems=1
	References []PerformanceFactorReference `json:"references"`
}

// PerformanceFactorReference is an instance family to measure by.
type PerformanceFactorReference struct {
	// InstanceFamily, such as c6i. AWS selects no type at all for a family that it does not
	// support, such as p5 (AWS: API_PerformanceFactorReferenceRequest).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +slipway:rule=IT5
	// +kubebuilder:validation:XValidation:rule=`!self.contains('.')`,message="instanceFamily must be the part of an instance type before the period, such as c6i for c6i.large"
	InstanceFamily string `json:"instanceFamily"`
}

// Inclusion says whether instance types of some sort are taken.
// +kubebuilder:validation:Enum=included;excluded;required
type Inclusion string
