package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LaunchConfigData are the members of EC2's launch template data that awsLaunchTemplate lacks, with
// EC2's field names (AWS: API_RequestLaunchTemplateData). It is not a kind: AWSLaunchConfig has its
// fields in spec, alongside the fields of AWSLaunchTemplate. Members that neither has
// are listed, with the reason, in a test of package launchtemplate.
//
// +slipway:rule=SG1
// +kubebuilder:validation:XValidation:rule=`!has(self.networkInterfaces) || self.networkInterfaces.exists(n, (!has(n.groups) || size(n.groups) == 0) && (!has(n.networkInterfaceId) || n.networkInterfaceId == "")) || !has(self.additionalSecurityGroups) || size(self.additionalSecurityGroups) == 0`,message="every item of networkInterfaces has its own groups, so additionalSecurityGroups has no effect: remove additionalSecurityGroups, or the groups of an interface",fieldPath=".additionalSecurityGroups"
// +slipway:rule=NI1
// +kubebuilder:validation:XValidation:rule=`!has(self.networkInterfaces) || size(self.networkInterfaces) == 0 || self.networkInterfaces.exists(n, n.deviceIndex == 0 && (!has(n.networkCardIndex) || n.networkCardIndex == 0))`,message="networkInterfaces must have a primary interface: add one with deviceIndex 0 on network card 0",fieldPath=".networkInterfaces"
// +slipway:rule=NI1
// +kubebuilder:validation:XValidation:rule=`!has(self.networkInterfaces) || self.networkInterfaces.all(n, self.networkInterfaces.exists_one(m, m.deviceIndex == n.deviceIndex && valueOr(m.networkCardIndex, 0) == valueOr(n.networkCardIndex, 0)))`,message="every item of networkInterfaces must have a unique combination of deviceIndex and network card",fieldPath=".networkInterfaces"
// +slipway:rule=NI2
// +kubebuilder:validation:XValidation:rule=`!has(self.networkInterfaces) || size(self.networkInterfaces) < 2 || !self.networkInterfaces.exists(n, has(n.associatePublicIpAddress) && n.associatePublicIpAddress)`,message="EC2 assigns no public address to an instance with several network interfaces: remove associatePublicIpAddress, or specify only one interface",fieldPath=".networkInterfaces"
// +slipway:rule=BD1
// +kubebuilder:validation:XValidation:rule=`!has(self.blockDeviceMappings) || !has(self.nonRootVolumes) || self.nonRootVolumes.all(v, !has(v.deviceName) || !self.blockDeviceMappings.exists(b, b.deviceName == v.deviceName))`,message="nonRootVolumes and blockDeviceMappings must not have the same device: remove it from one of them",fieldPath=".blockDeviceMappings"
// +slipway:rule=BD1
// +kubebuilder:validation:XValidation:rule=`!has(self.blockDeviceMappings) || !has(self.rootVolume) || !has(self.rootVolume.deviceName) || !self.blockDeviceMappings.exists(b, b.deviceName == self.rootVolume.deviceName)`,message="rootVolume and blockDeviceMappings must not have the same device: remove one of them",fieldPath=".blockDeviceMappings"
// +slipway:rule=IT1
// +kubebuilder:validation:XValidation:rule=`!has(self.instanceRequirements) || !has(self.instanceType) || self.instanceType == ""`,message="instanceType and instanceRequirements are mutually exclusive: remove one of them",fieldPath=".instanceRequirements"
// +slipway:rule=MK1
// +kubebuilder:validation:XValidation:rule=`!has(self.instanceMarketOptions) || (!has(self.marketType) && !has(self.spotMarketOptions))`,message="instanceMarketOptions cannot be combined with marketType and spotMarketOptions: remove either instanceMarketOptions or the other two",fieldPath=".instanceMarketOptions"
// +slipway:rule=MK6
// +kubebuilder:validation:XValidation:rule=`!has(self.instanceMarketOptions) || !(self.instanceMarketOptions.marketType in ['capacity-block', 'interruptible-capacity-reservation']) || (has(self.capacityReservationId) && self.capacityReservationId != "") || (has(self.capacityReservationResourceGroupArn) && self.capacityReservationResourceGroupArn != "")`,message="this market type requires a Capacity Reservation: set capacityReservationId, or capacityReservationResourceGroupArn",fieldPath=".instanceMarketOptions.marketType"
// +slipway:rule=MK6
// +kubebuilder:validation:XValidation:rule=`!has(self.instanceMarketOptions) || self.instanceMarketOptions.marketType != 'capacity-block' || (has(self.instanceType) && self.instanceType != "")`,message="marketType capacity-block requires instanceType: set it to the reserved instance type",fieldPath=".instanceMarketOptions.marketType"
// +slipway:rule=CR1
// +kubebuilder:validation:XValidation:rule=`!(has(self.capacityReservationResourceGroupArn) && self.capacityReservationResourceGroupArn != "") || !has(self.capacityReservationId) || self.capacityReservationId == ""`,message="capacityReservationId and capacityReservationResourceGroupArn are mutually exclusive: remove one of them",fieldPath=".capacityReservationResourceGroupArn"
// +slipway:rule=CR2
// +kubebuilder:validation:XValidation:rule=`!(has(self.capacityReservationResourceGroupArn) && self.capacityReservationResourceGroupArn != "") || !has(self.capacityReservationPreference) || self.capacityReservationPreference in ["", 'CapacityReservationsOnly']`,message="capacityReservationResourceGroupArn requires capacityReservationPreference CapacityReservationsOnly: set it, or omit capacityReservationPreference",fieldPath=".capacityReservationPreference"
// +slipway:rule=CR3
// +kubebuilder:validation:XValidation:rule=`!((has(self.capacityReservationId) && self.capacityReservationId != "") || (has(self.capacityReservationResourceGroupArn) && self.capacityReservationResourceGroupArn != "")) || !(has(self.spotMarketOptions) || (has(self.marketType) && self.marketType == 'Spot') || (has(self.instanceMarketOptions) && self.instanceMarketOptions.marketType == 'spot'))`,message="Spot Instances cannot run in Capacity Reservations: remove the reservation, or the fields that request Spot Instances"
// +slipway:rule=CP3
// +kubebuilder:validation:XValidation:rule=`!has(self.cpuOptions) || !has(self.cpuOptions.coreCount) || !has(self.instanceType) || !self.instanceType.contains('metal')`,message="bare metal instance types have no CPU options: remove coreCount and threadsPerCore",fieldPath=".cpuOptions.coreCount"
// +slipway:rule=CS1
// +kubebuilder:validation:XValidation:rule=`!has(self.creditSpecification) || !has(self.instanceType) || self.instanceType == "" || self.instanceType.matches('^t[0-9]')`,message="CPU credits are only valid for burstable instance types (T2, T3, T3a, T4g): remove creditSpecification, or change instanceType",fieldPath=".creditSpecification"
// +slipway:rule=EN1
// +kubebuilder:validation:XValidation:rule=`!has(self.hibernationOptions) || !self.hibernationOptions.configured || !has(self.enclaveOptions) || !has(self.enclaveOptions.enabled) || !self.enclaveOptions.enabled`,message="an instance with enclaves cannot hibernate: disable one of them",fieldPath=".hibernationOptions"
// +slipway:rule=HB1
// +kubebuilder:validation:XValidation:rule=`!has(self.hibernationOptions) || !self.hibernationOptions.configured || !has(self.rootVolume) || !has(self.rootVolume.encrypted) || self.rootVolume.encrypted`,message="hibernation requires an encrypted root volume: remove rootVolume.encrypted: false",fieldPath=".rootVolume.encrypted"
// +slipway:rule=HB1
// +kubebuilder:validation:XValidation:rule=`!has(self.hibernationOptions) || !self.hibernationOptions.configured || !has(self.instanceType) || !self.instanceType.contains('metal')`,message="bare metal instance types cannot hibernate: remove hibernationOptions, or change instanceType",fieldPath=".hibernationOptions"
// +slipway:rule=HB1
// +kubebuilder:validation:XValidation:rule=`!has(self.hibernationOptions) || !self.hibernationOptions.configured || !(has(self.spotMarketOptions) || (has(self.marketType) && self.marketType == 'Spot') || (has(self.instanceMarketOptions) && self.instanceMarketOptions.marketType == 'spot' && !(has(self.instanceMarketOptions.spotOptions) && has(self.instanceMarketOptions.spotOptions.spotInstanceType) && self.instanceMarketOptions.spotOptions.spotInstanceType == 'persistent')))`,message="Spot Instances hibernate only with persistent requests: remove hibernationOptions, or set instanceMarketOptions.spotOptions.spotInstanceType to persistent",fieldPath=".hibernationOptions"
// +slipway:rule=TG1
// +kubebuilder:validation:XValidation:rule=`!has(self.tagSpecifications) || !self.tagSpecifications.exists(t, t.resourceType == 'spot-instances-request') || has(self.spotMarketOptions) || (has(self.marketType) && self.marketType == 'Spot') || (has(self.instanceMarketOptions) && self.instanceMarketOptions.marketType == 'spot')`,message="EC2 launches no instance from a template that tags Spot requests but requests no Spot Instances: request Spot Instances, or remove the tags of spot-instances-request",fieldPath=".tagSpecifications"
// +slipway:rule=SL28
// +kubebuilder:validation:XValidation:rule=`!has(self.metadataOptions) || !has(self.instanceMetadataOptions)`,message="metadataOptions and instanceMetadataOptions are mutually exclusive: remove one of them",fieldPath=".metadataOptions"
type LaunchConfigData struct {
	// BlockDeviceMappings are devices as EC2 has them: volumes with all that EBS offers, volumes of
	// the instance store, and devices of the image to leave out. They are added to rootVolume and
	// nonRootVolumes; a device is in one of the three.
	// +optional
	// +listType=map
	// +listMapKey=deviceName
	// +kubebuilder:validation:MaxItems=128
	BlockDeviceMappings []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`

	// CapacityReservationResourceGroupARN is the resource group of Capacity Reservations that
	// instances are launched into, in place of one that capacityReservationId names.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^arn:[a-z-]+:resource-groups:[a-z0-9-]+:[0-9]{12}:group/.+$')`,message="must be the ARN of a resource group (arn:aws:resource-groups:<region>:<account>:group/<name>)"
	CapacityReservationResourceGroupARN string `json:"capacityReservationResourceGroupArn,omitempty"`

	// CPUOptions choose cores, threads and what the processor can do. Default: all of the instance type's.
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`

	// CreditSpecification says how burstable instances pay for CPU beyond their baseline.
	// +optional
	CreditSpecification *CreditSpecification `json:"creditSpecification,omitempty"`

	// DisableAPIStop has EC2 refuse to stop an instance until it is allowed again. Default: false.
	// +optional
	DisableAPIStop *bool `json:"disableApiStop,omitempty"`

	// DisableAPITermination has EC2 refuse to terminate an instance at the request of a person.
	// Auto Scaling terminates it all the same. Default: false.
	// +optional
	DisableAPITermination *bool `json:"disableApiTermination,omitempty"`

	// EBSOptimized gives volumes bandwidth of their own, on types that do not do so anyway.
	// +optional
	EBSOptimized *bool `json:"ebsOptimized,omitempty"`

	// HibernationOptions say whether an instance can hibernate.
	// +optional
	HibernationOptions *HibernationOptions `json:"hibernationOptions,omitempty"`

	// InstanceInitiatedShutdownBehavior is what becomes of an instance that shuts itself down.
	// AWS's default: stop.
	// +optional
	// +kubebuilder:validation:Enum=stop;terminate
	InstanceInitiatedShutdownBehavior string `json:"instanceInitiatedShutdownBehavior,omitempty"`

	// InstanceMarketOptions say how instances are bought, with all that EC2 offers, in place of
	// marketType and spotMarketOptions.
	// +optional
	InstanceMarketOptions *InstanceMarketOptions `json:"instanceMarketOptions,omitempty"`

	// InstanceRequirements choose instance types by their attributes, in place of instanceType.
	// +optional
	InstanceRequirements *LaunchRequirements `json:"instanceRequirements,omitempty"`

	// KernelID is the kernel of a paravirtual image. AWS recommends images that bring their own.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^aki-[0-9a-f]{8,17}$')`,message="must be the ID of a kernel (aki-...)"
	KernelID string `json:"kernelId,omitempty"`

	// LicenseSpecifications are AWS License Manager's configurations that instances count towards.
	// +optional
	// +listType=map
	// +listMapKey=licenseConfigurationArn
	// +kubebuilder:validation:MaxItems=16
	LicenseSpecifications []LicenseSpecification `json:"licenseSpecifications,omitempty"`

	// MaintenanceOptions say what EC2 does about failing hosts.
	// +optional
	MaintenanceOptions *MaintenanceOptions `json:"maintenanceOptions,omitempty"`

	// MetadataOptions set up the instance metadata service (IMDS), in place of
	// instanceMetadataOptions. Session tokens (IMDSv2) are required unless httpTokens says
	// otherwise; where neither field is given, they are for configs that no pool made and that are
	// new.
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`

	// Monitoring says whether CloudWatch has metrics of each minute.
	// +optional
	Monitoring *Monitoring `json:"monitoring,omitempty"`

	// NetworkInterfaces of the instances. Without them each has one, with the security groups of
	// the config, in the subnet where it is launched.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`

	// NetworkPerformanceOptions weigh the bandwidth of the network against that of EBS.
	// +optional
	NetworkPerformanceOptions *NetworkPerformanceOptions `json:"networkPerformanceOptions,omitempty"`

	// Placement says on which hosts instances run.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// RAMDiskID is the RAM disk of a paravirtual image. AWS recommends images that bring their own.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^ari-[0-9a-f]{8,17}$')`,message="must be the ID of a RAM disk (ari-...)"
	RAMDiskID string `json:"ramDiskId,omitempty"`

	// SecondaryInterfaces are interfaces in secondary subnets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	SecondaryInterfaces []SecondaryInterface `json:"secondaryInterfaces,omitempty"`

	// TagSpecifications are tags of one type of resource, in addition to additionalTags. Instances
	// and volumes are tagged anyway; network interfaces and Spot requests are tagged, with
	// additionalTags too, if they are here.
	// +optional
	// +listType=map
	// +listMapKey=resourceType
	// +kubebuilder:validation:MaxItems=4
	TagSpecifications []TagSpecification `json:"tagSpecifications,omitempty"`
}

// CPUOptions choose cores, threads and what the processor can do.
//
// +slipway:rule=CP1
// +kubebuilder:validation:XValidation:rule=`has(self.coreCount) == has(self.threadsPerCore)`,message="coreCount and threadsPerCore must be set together",fieldPath=".coreCount"
// +slipway:rule=CP3
// +kubebuilder:validation:XValidation:rule=`!(has(self.amdSevSnp) && self.amdSevSnp == 'enabled') || !(has(self.nestedVirtualization) && self.nestedVirtualization == 'enabled')`,message="AMD SEV-SNP and nested virtualization are mutually exclusive: enable only one of them",fieldPath=".nestedVirtualization"
type CPUOptions struct {
	// AMDSEVSNP encrypts the memory of the instance (M6a, R6a and C6a alone).
	// +optional
	// +kubebuilder:validation:Enum=enabled;disabled
	AMDSEVSNP string `json:"amdSevSnp,omitempty"`

	// CoreCount is the number of cores.
	// +optional
	// +kubebuilder:validation:Minimum=1
	CoreCount *int32 `json:"coreCount,omitempty"`

	// NestedVirtualization allows virtual machines in the instance (C8i, M8i, R8i and their flex
	// variants alone).
	// +optional
	// +kubebuilder:validation:Enum=enabled;disabled
	NestedVirtualization string `json:"nestedVirtualization,omitempty"`

	// ThreadsPerCore is 1 to disable multithreading, else 2.
	// +optional
	// +slipway:rule=CP2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2
	ThreadsPerCore *int32 `json:"threadsPerCore,omitempty"`
}

// CreditSpecification says how burstable instances pay for CPU beyond their baseline.
type CreditSpecification struct {
	// CPUCredits is standard, or unlimited, which may cost more.
	// +required
	// +slipway:rule=CS1
	// +kubebuilder:validation:Enum=standard;unlimited
	CPUCredits string `json:"cpuCredits"`
}

// HibernationOptions say whether an instance can hibernate.
type HibernationOptions struct {
	// Configured lets the instance hibernate: its type can, and its root volume is encrypted and
	// has room for the memory.
	// +required
	Configured bool `json:"configured"`
}

// LaunchRequirements choose instance types by their attributes (AWS: API_InstanceRequirementsRequest).
type LaunchRequirements struct {
	InstanceRequirements `json:",inline"`

	// RequireEncryptionInTransit takes types alone that encrypt traffic between instances.
	// +optional
	RequireEncryptionInTransit *bool `json:"requireEncryptionInTransit,omitempty"`
}

// LicenseSpecification is a license configuration of AWS License Manager.
type LicenseSpecification struct {
	// LicenseConfigurationARN is its ARN.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self.matches('^arn:[a-z-]+:license-manager:[a-z0-9-]+:[0-9]{12}:license-configuration:lic-[0-9a-f]+$')`,message="must be the ARN of a license configuration (arn:aws:license-manager:<region>:<account>:license-configuration:lic-...)"
	LicenseConfigurationARN string `json:"licenseConfigurationArn"`
}

// MaintenanceOptions say what EC2 does about failing hosts.
type MaintenanceOptions struct {
	// AutoRecovery moves an instance off a failing host (default), or leaves that to others (disabled).
	// +required
	// +kubebuilder:validation:Enum=default;disabled
	AutoRecovery string `json:"autoRecovery"`
}

// MetadataOptions set up the instance metadata service (IMDS). AWS's defaults for the account
// and the image apply to members that are left out, but for httpTokens.
type MetadataOptions struct {
	// HTTPEndpoint switches the service on or off.
	// +optional
	HTTPEndpoint InstanceMetadataState `json:"httpEndpoint,omitempty"`

	// HTTPProtocolIPv6 switches the service's IPv6 endpoint on or off.
	// +optional
	HTTPProtocolIPv6 InstanceMetadataState `json:"httpProtocolIpv6,omitempty"`

	// HTTPPutResponseHopLimit is how many network hops an answer with a session token may travel.
	// Containers that are not on the host's network need 2.
	// +optional
	// +slipway:rule=MD1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	HTTPPutResponseHopLimit *int32 `json:"httpPutResponseHopLimit,omitempty"`

	// HTTPTokens says whether session tokens (IMDSv2) are required. Default: required.
	// +optional
	HTTPTokens HTTPTokensState `json:"httpTokens,omitempty"`

	// InstanceMetadataTags would show the instance's tags in its metadata. Only disabled is
	// possible: EC2 does not launch such an instance when a tag key has a slash, and the tags of
	// cluster nodes have.
	// +optional
	// +slipway:rule=MD3
	// +kubebuilder:validation:XValidation:rule=`self == 'disabled'`,message="EC2 does not launch instances that expose tags in instance metadata if a tag key contains a slash, as kubernetes.io/cluster/<name> does: set instanceMetadataTags to disabled, or omit it"
	InstanceMetadataTags InstanceMetadataState `json:"instanceMetadataTags,omitempty"`
}

// Monitoring says whether CloudWatch has metrics of each minute.
type Monitoring struct {
	// Enabled asks for metrics of each minute in place of each five, which costs.
	// +required
	Enabled bool `json:"enabled"`
}

// NetworkPerformanceOptions weigh the bandwidth of the network against that of EBS.
type NetworkPerformanceOptions struct {
	// BandwidthWeighting is the type's own (default), or gives more to the network (vpc-1) or to EBS (ebs-1).
	// +required
	// +kubebuilder:validation:Enum=default;vpc-1;ebs-1
	BandwidthWeighting string `json:"bandwidthWeighting"`
}

// TagSpecification are the tags of one type of resource.
type TagSpecification struct {
	// ResourceType that is tagged.
	// +required
	// +slipway:rule=TG1
	// +kubebuilder:validation:Enum=instance;volume;network-interface;spot-instances-request
	ResourceType string `json:"resourceType"`

	// Tags of it. They win over additionalTags.
	// +required
	Tags Tags `json:"tags"`
}

// InstanceMarketOptions say how instances are bought.
//
// +slipway:rule=MK1
// +kubebuilder:validation:XValidation:rule=`!has(self.spotOptions) || self.marketType == 'spot'`,message="spotOptions are only valid for marketType spot: remove them, or change marketType",fieldPath=".spotOptions"
type InstanceMarketOptions struct {
	// MarketType is how instances are bought.
	// +required
	// +kubebuilder:validation:Enum=spot;capacity-block;interruptible-capacity-reservation;on-demand
	MarketType string `json:"marketType"`

	// SpotOptions are the terms on which Spot Instances are asked for.
	// +optional
	SpotOptions *SpotOptions `json:"spotOptions,omitempty"`
}

// SpotOptions are the terms on which Spot Instances are asked for. Auto Scaling makes one-time
// requests alone, whose instances are terminated.
//
// +slipway:rule=MK2
// +kubebuilder:validation:XValidation:rule=`!has(self.maxPrice) || self.maxPrice == "" || (self.maxPrice.matches('^[0-9]+([.][0-9]+)?$') && double(self.maxPrice) > 0.001)`,message="maxPrice must be a decimal number greater than 0.001 (USD per hour), such as 0.05; omit it to use the On-Demand price",fieldPath=".maxPrice"
// +slipway:rule=MK3
// +kubebuilder:validation:XValidation:rule=`!has(self.validUntil) || (has(self.spotInstanceType) && self.spotInstanceType == 'persistent')`,message="validUntil is only valid for persistent requests: set spotInstanceType to persistent, or remove it",fieldPath=".validUntil"
// +slipway:rule=MK4
// +kubebuilder:validation:XValidation:rule=`!has(self.instanceInterruptionBehavior) || self.instanceInterruptionBehavior == 'terminate' || (has(self.spotInstanceType) && self.spotInstanceType == 'persistent')`,message="instances of one-time requests are always terminated when interrupted: set spotInstanceType to persistent, or instanceInterruptionBehavior to terminate",fieldPath=".instanceInterruptionBehavior"
type SpotOptions struct {
	// InstanceInterruptionBehavior is what becomes of an instance that AWS takes back. AWS's
	// default: terminate.
	// +optional
	// +kubebuilder:validation:Enum=hibernate;stop;terminate
	InstanceInterruptionBehavior string `json:"instanceInterruptionBehavior,omitempty"`

	// MaxPrice is the most to pay per instance hour, in USD, as a decimal number. Left out, the
	// On-Demand price is the limit, which AWS recommends.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	MaxPrice string `json:"maxPrice,omitempty"`

	// SpotInstanceType says whether the request is closed with its instance (one-time, AWS's default) or
	// asks again (persistent).
	// +optional
	// +kubebuilder:validation:Enum=one-time;persistent
	SpotInstanceType string `json:"spotInstanceType,omitempty"`

	// ValidUntil is when a persistent request expires.
	// +optional
	ValidUntil *metav1.Time `json:"validUntil,omitempty"`
}
