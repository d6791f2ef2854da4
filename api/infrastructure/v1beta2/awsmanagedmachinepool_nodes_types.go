package v1beta2

// ManagedMachineAMIType is a family of EKS images (AWS: API_CreateNodegroup, amiType).
// +kubebuilder:validation:Enum=AL2_x86_64;AL2_x86_64_GPU;AL2_ARM_64;CUSTOM;BOTTLEROCKET_ARM_64;BOTTLEROCKET_x86_64;BOTTLEROCKET_ARM_64_FIPS;BOTTLEROCKET_x86_64_FIPS;BOTTLEROCKET_ARM_64_NVIDIA;BOTTLEROCKET_x86_64_NVIDIA;BOTTLEROCKET_ARM_64_NVIDIA_FIPS;BOTTLEROCKET_x86_64_NVIDIA_FIPS;WINDOWS_CORE_2019_x86_64;WINDOWS_FULL_2019_x86_64;WINDOWS_CORE_2022_x86_64;WINDOWS_FULL_2022_x86_64;WINDOWS_CORE_2025_x86_64;WINDOWS_FULL_2025_x86_64;AL2023_x86_64_STANDARD;AL2023_ARM_64_STANDARD;AL2023_x86_64_NEURON;AL2023_x86_64_NVIDIA;AL2023_ARM_64_NVIDIA
type ManagedMachineAMIType string

// The families.
const (
	AMITypeCustom                    ManagedMachineAMIType = "CUSTOM"
	AMITypeAL2X86                    ManagedMachineAMIType = "AL2_x86_64"
	AMITypeAL2X86GPU                 ManagedMachineAMIType = "AL2_x86_64_GPU"
	AMITypeAL2ARM                    ManagedMachineAMIType = "AL2_ARM_64"
	AMITypeAL2023X86                 ManagedMachineAMIType = "AL2023_x86_64_STANDARD"
	AMITypeAL2023ARM                 ManagedMachineAMIType = "AL2023_ARM_64_STANDARD"
	AMITypeAL2023X86Neuron           ManagedMachineAMIType = "AL2023_x86_64_NEURON"
	AMITypeAL2023X86Nvidia           ManagedMachineAMIType = "AL2023_x86_64_NVIDIA"
	AMITypeAL2023ARMNvidia           ManagedMachineAMIType = "AL2023_ARM_64_NVIDIA"
	AMITypeBottlerocketX86           ManagedMachineAMIType = "BOTTLEROCKET_x86_64"
	AMITypeBottlerocketARM           ManagedMachineAMIType = "BOTTLEROCKET_ARM_64"
	AMITypeBottlerocketX86FIPS       ManagedMachineAMIType = "BOTTLEROCKET_x86_64_FIPS"
	AMITypeBottlerocketARMFIPS       ManagedMachineAMIType = "BOTTLEROCKET_ARM_64_FIPS"
	AMITypeBottlerocketX86Nvidia     ManagedMachineAMIType = "BOTTLEROCKET_x86_64_NVIDIA"
	AMITypeBottlerocketARMNvidia     ManagedMachineAMIType = "BOTTLEROCKET_ARM_64_NVIDIA"
	AMITypeBottlerocketX86NvidiaFIPS ManagedMachineAMIType = "BOTTLEROCKET_x86_64_NVIDIA_FIPS"
	AMITypeBottlerocketARMNvidiaFIPS ManagedMachineAMIType = "BOTTLEROCKET_ARM_64_NVIDIA_FIPS"
	AMITypeWindowsCore2019           ManagedMachineAMIType = "WINDOWS_CORE_2019_x86_64"
	AMITypeWindowsFull2019           ManagedMachineAMIType = "WINDOWS_FULL_2019_x86_64"
	AMITypeWindowsCore2022           ManagedMachineAMIType = "WINDOWS_CORE_2022_x86_64"
	AMITypeWindowsFull2022           ManagedMachineAMIType = "WINDOWS_FULL_2022_x86_64"
	AMITypeWindowsCore2025           ManagedMachineAMIType = "WINDOWS_CORE_2025_x86_64"
	AMITypeWindowsFull2025           ManagedMachineAMIType = "WINDOWS_FULL_2025_x86_64"
)

// ManagedMachinePoolCapacityType describes how the instances of a node group are purchased.
// +kubebuilder:validation:Enum=onDemand;spot;capacityBlock
type ManagedMachinePoolCapacityType string

// The capacity types.
const (
	// ManagedMachinePoolCapacityTypeOnDemand buys at the On-Demand price.
	ManagedMachinePoolCapacityTypeOnDemand ManagedMachinePoolCapacityType = "onDemand"
	// ManagedMachinePoolCapacityTypeSpot buys spare capacity, which AWS may take back.
	ManagedMachinePoolCapacityTypeSpot ManagedMachinePoolCapacityType = "spot"
	// ManagedMachinePoolCapacityTypeCapacityBlock uses a Capacity Block that was bought before.
	ManagedMachinePoolCapacityTypeCapacityBlock ManagedMachinePoolCapacityType = "capacityBlock"
)

// TemplateLossPolicy says what is done about a node group whose launch template is gone.
// +kubebuilder:validation:Enum=Report;Replace
type TemplateLossPolicy string

// The policies.
const (
	// TemplateLossReport says so in a condition.
	TemplateLossReport TemplateLossPolicy = "Report"
	// TemplateLossReplace replaces the node group by another.
	TemplateLossReplace TemplateLossPolicy = "Replace"
)

// TaintEffect defines what happens to pods that do not tolerate a taint. The values are the same as
// in CAPA.
// +kubebuilder:validation:Enum=no-schedule;no-execute;prefer-no-schedule
type TaintEffect string

// The effects.
const (
	TaintEffectNoSchedule       TaintEffect = "no-schedule"
	TaintEffectNoExecute        TaintEffect = "no-execute"
	TaintEffectPreferNoSchedule TaintEffect = "prefer-no-schedule"
)

// Taint keeps pods that do not tolerate it off the nodes.
type Taint struct {
	// Effect on pods that do not tolerate the taint.
	// +required
	Effect TaintEffect `json:"effect"`

	// Key of the taint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Key string `json:"key"`

	// Value of the taint; it may be empty.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value"`
}

// ManagedMachinePoolScaling bounds the size of a node group.
//
// +slipway:rule=EK24
// +kubebuilder:validation:XValidation:rule=`!has(self.minSize) || !has(self.maxSize) || self.minSize <= self.maxSize`,message="minSize must be less than or equal to maxSize",fieldPath=".minSize"
type ManagedMachinePoolScaling struct {
	// MinSize is the smallest number of nodes. Default: the MachinePool's replicas, or maxSize
	// where that is less.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinSize *int32 `json:"minSize,omitempty"`

	// MaxSize is the largest number of nodes. Default: the MachinePool's replicas, or minSize where
	// that is more.
	// +optional
	// +slipway:rule=EK24
	// +kubebuilder:validation:Minimum=1
	MaxSize *int32 `json:"maxSize,omitempty"`
}

// ManagedRemoteAccess opens SSH (RDP for Windows) to the instances of a node group.
//
// +slipway:rule=SL20
// +kubebuilder:validation:XValidation:rule=`!has(self.public) || !self.public || !has(self.sourceSecurityGroups) || size(self.sourceSecurityGroups) == 0`,message="public allows connections from every address, so sourceSecurityGroups has no effect: remove one of them",fieldPath=".sourceSecurityGroups"
type ManagedRemoteAccess struct {
	// SSHKeyName is the EC2 key pair whose public key is put on the instances. Default: the control plane's.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	SSHKeyName *string `json:"sshKeyName,omitempty"`

	// SourceSecurityGroups are the ids of the security groups that may connect, in addition
	// to the security groups of the cluster and its bastion.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=255
	SourceSecurityGroups []string `json:"sourceSecurityGroups,omitempty"`

	// Public lets the whole internet connect.
	// +optional
	Public bool `json:"public,omitempty"`
}
