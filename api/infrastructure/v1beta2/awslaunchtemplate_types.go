package v1beta2

// AWSLaunchTemplate says what an instance is launched with. It is not a kind: AWSMachinePool has it as
// spec.awsLaunchTemplate, AWSLaunchConfig has its fields in spec.
//
// +slipway:rule=LT1
// +kubebuilder:validation:XValidation:rule=`!has(self.name) || self.name == "" || self.name.matches('^[a-zA-Z0-9()./_-]{3,128}$')`,message="a launch template name must have 3 to 128 characters: letters, digits, and ( ) . - / _",fieldPath=".name"
// +slipway:rule=LT2
// +kubebuilder:validation:XValidation:rule=`same(self.name, "")`,message="EC2 cannot rename a launch template: restore the previous name, or create a new pool",fieldPath=".name"
// +slipway:rule=LT6
// +kubebuilder:validation:XValidation:rule=`!has(self.versionNumber)`,message="Slipway sets the launch template version: remove versionNumber, and read the version from the status",fieldPath=".versionNumber"
// +slipway:rule=IP1
// +kubebuilder:validation:XValidation:rule=`!has(self.iamInstanceProfile) || self.iamInstanceProfile == "" || self.iamInstanceProfile.matches('^[a-zA-Z0-9_+=,.@-]{1,128}$') || self.iamInstanceProfile.matches('^arn:[a-z-]+:iam::[0-9]{12}:instance-profile/[!-~]+$')`,message="must be the name or ARN of an instance profile (arn:aws:iam::<account>:instance-profile/<name>), not the ARN of a role",fieldPath=".iamInstanceProfile"
// +slipway:rule=IM2
// +kubebuilder:validation:XValidation:rule=`!has(self.ami) || ((!has(self.ami.id) || self.ami.id == "") && !has(self.ami.eksLookupType)) || !((has(self.imageLookupFormat) && self.imageLookupFormat != "") || (has(self.imageLookupOrg) && self.imageLookupOrg != "") || (has(self.imageLookupBaseOS) && self.imageLookupBaseOS != ""))`,message="ami determines the image, so imageLookupFormat, imageLookupOrg, and imageLookupBaseOS have no effect: remove them, or remove ami"
// +slipway:rule=BD1
// +kubebuilder:validation:XValidation:rule=`!has(self.nonRootVolumes) || self.nonRootVolumes.all(v, has(v.deviceName) && v.deviceName != "")`,message="every item of nonRootVolumes must have a deviceName, such as /dev/sdb",fieldPath=".nonRootVolumes"
// +slipway:rule=BD1
// +kubebuilder:validation:XValidation:rule=`!has(self.nonRootVolumes) || self.nonRootVolumes.all(v, !has(v.deviceName) || v.deviceName == "" || self.nonRootVolumes.exists_one(w, has(w.deviceName) && w.deviceName == v.deviceName))`,message="every item of nonRootVolumes must have a unique deviceName",fieldPath=".nonRootVolumes"
// +slipway:rule=BD1
// +kubebuilder:validation:XValidation:rule=`!has(self.rootVolume) || !has(self.rootVolume.deviceName) || self.rootVolume.deviceName == "" || !has(self.nonRootVolumes) || self.nonRootVolumes.all(v, !has(v.deviceName) || v.deviceName != self.rootVolume.deviceName)`,message="deviceName in nonRootVolumes must differ from rootVolume.deviceName",fieldPath=".nonRootVolumes"
// +slipway:rule=BD11
// +kubebuilder:validation:XValidation:rule=`!has(self.rootVolume) || !has(self.rootVolume.type) || !(self.rootVolume.type in ['st1', 'sc1'])`,message="instances cannot boot from st1 and sc1 volumes: use gp3, gp2, io1, io2, or standard for rootVolume",fieldPath=".rootVolume.type"
// +slipway:rule=MK1
// +kubebuilder:validation:XValidation:rule=`!has(self.spotMarketOptions) || !has(self.marketType) || self.marketType == 'Spot'`,message="spotMarketOptions requests Spot Instances: remove it, or set marketType to Spot",fieldPath=".spotMarketOptions"
// +slipway:rule=MK6
// +kubebuilder:validation:XValidation:rule=`!has(self.marketType) || self.marketType != 'CapacityBlock' || (has(self.capacityReservationId) && self.capacityReservationId != "")`,message="marketType CapacityBlock requires capacityReservationId: set it to the ID of the Capacity Block",fieldPath=".capacityReservationId"
// +slipway:rule=MK6
// +kubebuilder:validation:XValidation:rule=`!has(self.marketType) || self.marketType != 'CapacityBlock' || (has(self.instanceType) && self.instanceType != "")`,message="marketType CapacityBlock requires instanceType: set it to the reserved instance type",fieldPath=".instanceType"
// +slipway:rule=CR2
// +kubebuilder:validation:XValidation:rule=`!(has(self.capacityReservationId) && self.capacityReservationId != "") || !has(self.capacityReservationPreference) || self.capacityReservationPreference in ["", 'CapacityReservationsOnly']`,message="capacityReservationId requires capacityReservationPreference CapacityReservationsOnly: set it, or omit capacityReservationPreference",fieldPath=".capacityReservationPreference"
// +slipway:rule=CR3
// +kubebuilder:validation:XValidation:rule=`!(has(self.capacityReservationId) && self.capacityReservationId != "") || !(has(self.spotMarketOptions) || (has(self.marketType) && self.marketType == 'Spot'))`,message="Spot Instances cannot run in a Capacity Reservation: remove capacityReservationId, or spotMarketOptions and marketType Spot",fieldPath=".capacityReservationId"
type AWSLaunchTemplate struct {
	// Name of the EC2 launch template. Without it the template is named after the pool. EC2 cannot
	// rename a template, so the name is fixed once the pool exists. On an AWSLaunchConfig use
	// launchTemplateName instead.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name,omitempty"`

	// VersionNumber is accepted from manifests as a field, and refused when set: the controller
	// chooses the version, and the status shows it.
	// +optional
	VersionNumber *int64 `json:"versionNumber,omitempty"`

	// IamInstanceProfile is the instance profile of the instances, by name or by ARN.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	IamInstanceProfile string `json:"iamInstanceProfile,omitempty"`

	// AMI is the image that instances boot. Without it the image is looked up, once, for the
	// Kubernetes version and the architecture of the instance type, and kept until one of the two
	// changes.
	// +optional
	AMI AMIReference `json:"ami,omitempty,omitzero"`

	// ImageLookupFormat is the pattern for the name of the image to look up: text with the
	// wildcards * and ?, in which {{.BaseOS}} and {{.K8sVersion}} (without the leading v) are
	// replaced. No other expression is possible. Default: the cluster's, else CAPA's pattern.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +slipway:rule=SL70
	// +kubebuilder:validation:XValidation:rule=`self.matches('^([^{}]|[{][{]\\s*[.](BaseOS|K8sVersion)\\s*[}][}])*$')`,message="imageLookupFormat must not contain expressions or braces other than {{.BaseOS}} and {{.K8sVersion}}"
	ImageLookupFormat string `json:"imageLookupFormat,omitempty"`

	// ImageLookupOrg is the AWS account id, or owner alias, whose images are looked up. Default:
	// the cluster's, else the account that publishes the Cluster API images.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ImageLookupOrg string `json:"imageLookupOrg,omitempty"`

	// ImageLookupBaseOS is the operating system in the name of the image to look up. Default: the
	// cluster's, else CAPA's.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ImageLookupBaseOS string `json:"imageLookupBaseOS,omitempty"`

	// InstanceType of the instances, such as m5.large. It may be left out where
	// mixedInstancesPolicy lists types.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType,omitempty"`

	// RootVolume changes the volume that the image's root device is restored to. Without it the
	// image decides.
	// +optional
	RootVolume *Volume `json:"rootVolume,omitempty"`

	// NonRootVolumes are further volumes, created with each instance and deleted with it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=127
	NonRootVolumes []Volume `json:"nonRootVolumes,omitempty"`

	// SSHKeyName is the EC2 key pair whose public key is put on the instances. Left out or empty
	// means none: as with CAPA, the cluster's key is not the pools'.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	SSHKeyName *string `json:"sshKeyName,omitempty"`

	// AdditionalSecurityGroups are put on the instances in addition to the security groups that the
	// cluster gives its nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	AdditionalSecurityGroups []AWSResourceReference `json:"additionalSecurityGroups,omitempty"`

	// SpotMarketOptions ask for Spot Instances, as marketType Spot does.
	// +optional
	SpotMarketOptions *SpotMarketOptions `json:"spotMarketOptions,omitempty"`

	// InstanceMetadataOptions set up the instance metadata service (IMDS) of the instances. Without
	// them AWS's defaults for the account and the image hold.
	// +optional
	InstanceMetadataOptions *InstanceMetadataOptions `json:"instanceMetadataOptions,omitempty"`

	// EnclaveOptions allow AWS Nitro Enclaves on the instances.
	// +optional
	EnclaveOptions *EnclaveOptions `json:"enclaveOptions,omitempty"`

	// PrivateDNSName sets the hostname type of the instances, and which DNS records answer for it.
	// Without it the subnet decides.
	// +optional
	PrivateDNSName *PrivateDNSName `json:"privateDnsName,omitempty"`

	// CapacityReservationID is the Capacity Reservation, or Capacity Block, that instances are launched into.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CapacityReservationID *string `json:"capacityReservationId,omitempty"`

	// MarketType is how the instances are bought. Default: Spot where spotMarketOptions is set,
	// else OnDemand. CapacityBlock needs capacityReservationId.
	// +optional
	MarketType MarketType `json:"marketType,omitempty"`

	// CapacityReservationPreference says whether instances may run in Capacity Reservations: Open,
	// in any that matches (AWS's default); None, in none; CapacityReservationsOnly, in nothing
	// else.
	// +optional
	CapacityReservationPreference CapacityReservationPreference `json:"capacityReservationPreference,omitempty"`
}

// AMIReference names an image by id, or has an Amazon EKS optimized image looked up.
//
// +slipway:rule=IM1
// +kubebuilder:validation:XValidation:rule=`!has(self.id) || self.id == "" || self.id.matches('^ami-[0-9a-f]{8,17}$') || self.id.matches('^resolve:ssm:[a-zA-Z0-9_./:-]+$')`,message="must be an image ID (ami-...), or resolve:ssm: and the name of an SSM parameter",fieldPath=".id"
// +slipway:rule=IM2
// +kubebuilder:validation:XValidation:rule=`!has(self.id) || self.id == "" || !has(self.eksLookupType)`,message="id determines the image, so eksLookupType has no effect: remove one of them"
type AMIReference struct {
	// ID of the image (ami-...), or resolve:ssm: followed by the name of the SSM parameter that
	// holds it. A parameter is read when the configuration changes, not at each launch.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ID *string `json:"id,omitempty"`

	// EKSOptimizedLookupType has the Amazon EKS optimized image of this family looked up, for the
	// Kubernetes version. It takes precedence over what the cluster looks images up by
	// (imageLookupFormat, imageLookupOrg, imageLookupBaseOS).
	// +optional
	EKSOptimizedLookupType *EKSAMILookupType `json:"eksLookupType,omitempty"`
}

// EKSAMILookupType is a family of Amazon EKS optimized images.
// +kubebuilder:validation:Enum=AmazonLinux;AmazonLinuxGPU;AmazonLinux2023;AmazonLinux2023GPU;AmazonLinux2023Neuron;Bottlerocket;BottlerocketFIPS;BottlerocketNvidia;BottlerocketNvidiaFIPS;WindowsCore2019;WindowsFull2019;WindowsCore2022;WindowsFull2022;WindowsCore2025;WindowsFull2025
type EKSAMILookupType string

// The families of Amazon EKS optimized images.
const (
	// EKSAMILookupTypeAmazonLinux is Amazon Linux 2.
	EKSAMILookupTypeAmazonLinux EKSAMILookupType = "AmazonLinux"
	// EKSAMILookupTypeAmazonLinuxGPU is Amazon Linux 2 with NVIDIA drivers.
	EKSAMILookupTypeAmazonLinuxGPU EKSAMILookupType = "AmazonLinuxGPU"
	// EKSAMILookupTypeAmazonLinux2023 is Amazon Linux 2023.
	EKSAMILookupTypeAmazonLinux2023 EKSAMILookupType = "AmazonLinux2023"
	// EKSAMILookupTypeAmazonLinux2023GPU is Amazon Linux 2023 with NVIDIA drivers.
	EKSAMILookupTypeAmazonLinux2023GPU EKSAMILookupType = "AmazonLinux2023GPU"
	// EKSAMILookupTypeAmazonLinux2023Neuron is Amazon Linux 2023 with drivers for AWS Trainium and
	// Inferentia.
	EKSAMILookupTypeAmazonLinux2023Neuron EKSAMILookupType = "AmazonLinux2023Neuron"
	// EKSAMILookupTypeBottlerocket is Bottlerocket; FIPS has validated cryptography, Nvidia the drivers.
	EKSAMILookupTypeBottlerocket           EKSAMILookupType = "Bottlerocket"
	EKSAMILookupTypeBottlerocketFIPS       EKSAMILookupType = "BottlerocketFIPS"
	EKSAMILookupTypeBottlerocketNvidia     EKSAMILookupType = "BottlerocketNvidia"
	EKSAMILookupTypeBottlerocketNvidiaFIPS EKSAMILookupType = "BottlerocketNvidiaFIPS"
	// EKSAMILookupTypeWindowsCore2022 and its like are editions of Windows Server.
	EKSAMILookupTypeWindowsCore2019 EKSAMILookupType = "WindowsCore2019"
	EKSAMILookupTypeWindowsFull2019 EKSAMILookupType = "WindowsFull2019"
	EKSAMILookupTypeWindowsCore2022 EKSAMILookupType = "WindowsCore2022"
	EKSAMILookupTypeWindowsFull2022 EKSAMILookupType = "WindowsFull2022"
	EKSAMILookupTypeWindowsCore2025 EKSAMILookupType = "WindowsCore2025"
	EKSAMILookupTypeWindowsFull2025 EKSAMILookupType = "WindowsFull2025"
)

// Volume is an EBS volume that is created with an instance and deleted with it.
//
// +slipway:rule=BD4
// +kubebuilder:validation:XValidation:rule=`!has(self.encryptionKey) || self.encryptionKey == "" || !has(self.encrypted) || self.encrypted`,message="encryptionKey requires an encrypted volume: set encrypted to true, or remove encryptionKey",fieldPath=".encrypted"
// +slipway:rule=BD5
// +kubebuilder:validation:XValidation:rule=`!has(self.iops) || self.iops == 0 || !has(self.type) || self.type in ["", 'gp3', 'io1', 'io2']`,message="iops is only valid for gp3, io1, and io2 volumes: remove iops, or change type",fieldPath=".iops"
// +slipway:rule=BD5
// +kubebuilder:validation:XValidation:rule=`!has(self.type) || !(self.type in ['io1', 'io2']) || (has(self.iops) && self.iops > 0)`,message="iops is required for io1 and io2 volumes",fieldPath=".iops"
// +slipway:rule=BD6
// +kubebuilder:validation:XValidation:rule=`!has(self.type) || self.type != 'gp3' || !has(self.iops) || self.iops == 0 || (self.iops >= 3000 && self.iops <= 80000)`,message="iops of gp3 volumes must be between 3,000 and 80,000",fieldPath=".iops"
// +slipway:rule=BD6
// +kubebuilder:validation:XValidation:rule=`!has(self.type) || self.type != 'io1' || !has(self.iops) || self.iops == 0 || (self.iops >= 100 && self.iops <= 64000)`,message="iops of io1 volumes must be between 100 and 64,000",fieldPath=".iops"
// +slipway:rule=BD6
// +kubebuilder:validation:XValidation:rule=`!has(self.type) || self.type != 'io2' || !has(self.iops) || self.iops == 0 || (self.iops >= 100 && self.iops <= 256000)`,message="iops of io2 volumes must be between 100 and 256,000",fieldPath=".iops"
// +slipway:rule=BD7
// +kubebuilder:validation:XValidation:rule=`!has(self.throughput) || (has(self.type) && self.type == 'gp3')`,message="throughput is only valid for gp3 volumes: set type to gp3, or remove throughput",fieldPath=".throughput"
// +slipway:rule=BD8
// +kubebuilder:validation:XValidation:rule=`!has(self.type) || !(self.type in ['gp2', 'io1']) || self.size <= 16384`,message="the size of gp2 and io1 volumes must be at most 16,384 GiB",fieldPath=".size"
// +slipway:rule=BD8
// +kubebuilder:validation:XValidation:rule=`!has(self.type) || !(self.type in ['st1', 'sc1']) || (self.size >= 125 && self.size <= 16384)`,message="the size of st1 and sc1 volumes must be between 125 and 16,384 GiB",fieldPath=".size"
// +slipway:rule=BD8
// +kubebuilder:validation:XValidation:rule=`!has(self.type) || self.type != 'standard' || self.size <= 1024`,message="the size of standard volumes must be at most 1,024 GiB",fieldPath=".size"
type Volume struct {
	// DeviceName is the name under which the instance sees the volume, such as /dev/sdb. Every
	// volume but the root needs one. The root volume has the image's root device name; another one
	// given here is refused when the image is known.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DeviceName string `json:"deviceName,omitempty"`

	// Size in GiB, at least the size of the snapshot in the image.
	// +required
	// +slipway:rule=BD2
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=65536
	Size int64 `json:"size"`

	// Type of the volume. Default: the image's, else AWS's.
	// +optional
	Type VolumeType `json:"type,omitempty"`

	// IOPS that are provisioned, for gp3, io1 and io2; required for io1 and io2.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=256000
	IOPS int64 `json:"iops,omitempty"`

	// Throughput that is provisioned, in MiB/s, for gp3.
	// +optional
	// +kubebuilder:validation:Minimum=125
	// +kubebuilder:validation:Maximum=2000
	Throughput *int64 `json:"throughput,omitempty"`

	// Encrypted has the volume encrypted. Left out, the image and the account decide; with
	// encryptionKey it is true.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`

	// EncryptionKey is the KMS key to encrypt with, by id, alias or ARN. Default: the account's key for EBS.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	EncryptionKey string `json:"encryptionKey,omitempty"`
}

// VolumeType is a type of EBS volume. The empty string means left out.
// +kubebuilder:validation:Enum="";standard;gp2;gp3;io1;io2;st1;sc1
type VolumeType string

// The types of EBS volumes (AWS: ebs-volume-types).
const (
	VolumeTypeStandard VolumeType = "standard"
	VolumeTypeGP2      VolumeType = "gp2"
	VolumeTypeGP3      VolumeType = "gp3"
	VolumeTypeIO1      VolumeType = "io1"
	VolumeTypeIO2      VolumeType = "io2"
	VolumeTypeST1      VolumeType = "st1"
	VolumeTypeSC1      VolumeType = "sc1"
)

// SpotMarketOptions are the terms on which Spot Instances are asked for.
//
// +slipway:rule=MK2
// +kubebuilder:validation:XValidation:rule=`!has(self.maxPrice) || self.maxPrice == "" || (self.maxPrice.matches('^[0-9]+([.][0-9]+)?$') && double(self.maxPrice) > 0.001)`,message="maxPrice must be a decimal number greater than 0.001 (USD per hour), such as 0.05; omit it to use the On-Demand price",fieldPath=".maxPrice"
type SpotMarketOptions struct {
	// MaxPrice is the most to pay per instance hour, in USD, as a decimal number. Left out or
	// empty, the On-Demand price is the limit, which AWS recommends.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	MaxPrice *string `json:"maxPrice,omitempty"`
}

// MarketType describes how an instance is purchased.
// +kubebuilder:validation:Enum=OnDemand;Spot;CapacityBlock
type MarketType string

// The market types.
const (
	// MarketTypeOnDemand buys at the On-Demand price.
	MarketTypeOnDemand MarketType = "OnDemand"
	// MarketTypeSpot buys spare capacity, which AWS may take back.
	MarketTypeSpot MarketType = "Spot"
	// MarketTypeCapacityBlock uses a Capacity Block that was bought before.
	MarketTypeCapacityBlock MarketType = "CapacityBlock"
)

// CapacityReservationPreference says whether instances may run in Capacity Reservations. The empty
// string means left out.
// +kubebuilder:validation:Enum="";None;CapacityReservationsOnly;Open
type CapacityReservationPreference string

// The preferences.
const (
	// CapacityReservationPreferenceNone keeps instances out of Capacity Reservations.
	CapacityReservationPreferenceNone CapacityReservationPreference = "None"
	// CapacityReservationPreferenceOnly lets instances run in Capacity Reservations alone.
	CapacityReservationPreferenceOnly CapacityReservationPreference = "CapacityReservationsOnly"
	// CapacityReservationPreferenceOpen lets instances run in any open Capacity Reservation that matches.
	CapacityReservationPreferenceOpen CapacityReservationPreference = "Open"
)

// EnclaveOptions are about AWS Nitro Enclaves.
type EnclaveOptions struct {
	// Enabled allows enclaves on the instance. Default: false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// PrivateDNSName is about the hostnames of instances.
type PrivateDNSName struct {
	// EnableResourceNameDNSAAAARecord has DNS answer AAAA queries for the instance's resource name.
	// +optional
	EnableResourceNameDNSAAAARecord *bool `json:"enableResourceNameDnsAAAARecord,omitempty"`

	// EnableResourceNameDNSARecord has DNS answer A queries for the instance's resource name.
	// +optional
	EnableResourceNameDNSARecord *bool `json:"enableResourceNameDnsARecord,omitempty"`

	// HostnameType makes hostnames from the private IPv4 address (ip-name) or the instance id
	// (resource-name).
	// +optional
	// +kubebuilder:validation:Enum=ip-name;resource-name
	HostnameType *string `json:"hostnameType,omitempty"`
}

// InstanceMetadataState switches a part of the instance metadata service on or off.
// +kubebuilder:validation:Enum=enabled;disabled
type InstanceMetadataState string

// The states.
const (
	InstanceMetadataEnabled  InstanceMetadataState = "enabled"
	InstanceMetadataDisabled InstanceMetadataState = "disabled"
)

// HTTPTokensState says whether IMDS answers requests without a session token.
// +kubebuilder:validation:Enum=optional;required
type HTTPTokensState string

// The states.
const (
	// HTTPTokensOptional allows IMDSv1 and IMDSv2.
	HTTPTokensOptional HTTPTokensState = "optional"
	// HTTPTokensRequired allows IMDSv2 alone.
	HTTPTokensRequired HTTPTokensState = "required"
)

// InstanceMetadataOptions set up the instance metadata service (IMDS). Where the options are given
// at all, those left out take the defaults below.
//
// +slipway:rule=MD3
// +kubebuilder:validation:XValidation:rule=`!has(self.instanceMetadataTags) || self.instanceMetadataTags == 'disabled'`,message="EC2 does not launch instances that expose tags in instance metadata if a tag key contains a slash, as kubernetes.io/cluster/<name> does: set instanceMetadataTags to disabled, or omit it",fieldPath=".instanceMetadataTags"
type InstanceMetadataOptions struct {
	// HTTPEndpoint switches the service on or off.
	// +optional
	// +kubebuilder:default=enabled
	HTTPEndpoint InstanceMetadataState `json:"httpEndpoint,omitempty"`

	// HTTPProtocolIPv6 switches the service's IPv6 endpoint on or off.
	// +optional
	// +kubebuilder:default=disabled
	HTTPProtocolIPv6 InstanceMetadataState `json:"httpProtocolIpv6,omitempty"`

	// HTTPPutResponseHopLimit is how many network hops an answer with a session token may travel.
	// Containers that are not on the host's network need 2.
	// +optional
	// +kubebuilder:default=1
	// +slipway:rule=MD1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	HTTPPutResponseHopLimit int64 `json:"httpPutResponseHopLimit,omitempty"`

	// HTTPTokens says whether session tokens (IMDSv2) are required.
	// +optional
	// +kubebuilder:default=optional
	HTTPTokens HTTPTokensState `json:"httpTokens,omitempty"`

	// InstanceMetadataTags would show the instance's tags in its metadata. Only disabled is
	// possible: EC2 does not launch such an instance when a tag key has a slash, and the tags of
	// cluster nodes have.
	// +optional
	// +kubebuilder:default=disabled
	InstanceMetadataTags InstanceMetadataState `json:"instanceMetadataTags,omitempty"`
}

// NamesImage says whether the template names an image, or says how to look one up.
func (t *AWSLaunchTemplate) NamesImage() bool {
	return (t.AMI.ID != nil && *t.AMI.ID != "") || t.AMI.EKSOptimizedLookupType != nil ||
		t.ImageLookupFormat != "" || t.ImageLookupOrg != "" || t.ImageLookupBaseOS != ""
}
