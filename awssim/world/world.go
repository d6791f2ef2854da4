// Package world owns what a simulated AWS holds before the first call: regions, networks, images,
// instance types, IAM roles, and public parameters. A world is data; the default one is embedded
// and others are read from a YAML file. Every account of a simulated AWS starts as a copy of it,
// with the same identifiers.
package world

import (
	"slices"
	"strings"
	"time"
)

// World is everything that exists at the start.
type World struct {
	Name             string            `json:"name"`
	Regions          []Region          `json:"regions"`
	InstanceTypes    []InstanceType    `json:"instanceTypes"`
	Roles            []Role            `json:"roles,omitempty"`
	InstanceProfiles []InstanceProfile `json:"instanceProfiles,omitempty"`
	// Quotas overrides default quotas by name; see the constants.
	Quotas map[string]int `json:"quotas,omitempty"`
}

// Born is the date of everything that has no date of its own.
var Born = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)

// Names of quotas.
const (
	QuotaLaunchTemplates        = "launchTemplates"        // per region; AWS default 5,000
	QuotaLaunchTemplateVersions = "launchTemplateVersions" // per template; AWS default 10,000
	QuotaAutoScalingGroups      = "autoScalingGroups"      // per region; AWS default 500
	QuotaLaunchConfigurations   = "launchConfigurations"   // per region; AWS default 200
	QuotaClusters               = "clusters"               // EKS clusters per region; AWS default 100
	QuotaNodeGroups             = "nodeGroups"             // managed ones per EKS cluster; AWS default 30
	QuotaNodesPerGroup          = "nodesPerGroup"          // per managed node group; AWS default 450
	// per region, of all On-Demand Instances; none here unless it is set
	QuotaOnDemandVCPUs = "onDemandVCPUs"
	// per region, of all Spot Instances; none here unless it is set
	QuotaSpotVCPUs = "spotVCPUs"
)

// quotaGroups are the families that share a quota of vCPUs, by the letters that they begin with
// (EC2 user guide, "Amazon EC2 instance type quotas": "Running On-Demand Standard (A, C, D, H, I,
// M, R, T, Z) instances", "Running On-Demand G and VT instances"). Every other letter has a quota
// of its own.
var quotaGroups = map[string]string{
	"a": "standard", "c": "standard", "d": "standard", "h": "standard", "i": "standard", "im": "standard", "is": "standard", "m": "standard", "r": "standard",
	"t": "standard", "z": "standard", "g": "g", "gr": "g", "vt": "g",
}

// QuotaOfGroup returns the name of the quota of vCPUs that instances of a type count against, in
// addition to the given one of all types: onDemandVCPUs/standard, for example. There is none unless
// a world sets it.
func QuotaOfGroup(quota, instanceType string) string {
	letters := instanceType[:strings.IndexFunc(instanceType+"0", func(r rune) bool { return r < 'a' || r > 'z' })]
	if group, shared := quotaGroups[letters]; shared {
		letters = group
	}
	return quota + "/" + letters
}

// Quota returns the quota of that name, or otherwise if the world does not set it.
func (w *World) Quota(name string, otherwise int) int {
	if n, ok := w.Quotas[name]; ok {
		return n
	}
	return otherwise
}

// Region returns the region of that name, or nil.
func (w *World) Region(name string) *Region {
	for i := range w.Regions {
		if w.Regions[i].Name == name {
			return &w.Regions[i]
		}
	}
	return nil
}

// RegionNames returns the names of all regions in the order of the world.
func (w *World) RegionNames() []string {
	names := make([]string, len(w.Regions))
	for i := range w.Regions {
		names[i] = w.Regions[i].Name
	}
	return names
}

// InstanceType returns the instance type of that name, or nil.
func (w *World) InstanceType(name string) *InstanceType {
	for i := range w.InstanceTypes {
		if w.InstanceTypes[i].Name == name {
			return &w.InstanceTypes[i]
		}
	}
	return nil
}

// Region is one AWS region.
type Region struct {
	Name           string          `json:"name"`
	Zones          []Zone          `json:"zones"`
	VPCs           []VPC           `json:"vpcs,omitempty"`
	Subnets        []Subnet        `json:"subnets,omitempty"`
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	KeyPairs       []KeyPair       `json:"keyPairs,omitempty"`
	Images         []Image         `json:"images,omitempty"`
	Parameters     []Parameter     `json:"parameters,omitempty"`
	Buckets        []Bucket        `json:"buckets,omitempty"`
	Queues         []Queue         `json:"queues,omitempty"`
	EventRules     []EventRule     `json:"eventRules,omitempty"`
	Clusters       []Cluster       `json:"clusters,omitempty"`
	// later returns images and parameters that most worlds never use; see Complete.
	later func() ([]Image, []Parameter)
	// NotOffered lists instance types that some zones of the region lack. All other types of the
	// world are offered in every zone.
	NotOffered []Absence `json:"notOffered,omitempty"`
}

// Complete returns the region with the images and parameters of AWS's that are added to it when it
// is first used.
func (r *Region) Complete() *Region {
	if r.later == nil {
		return r
	}
	complete := *r
	images, parameters := r.later()
	complete.Images, complete.Parameters, complete.later = slices.Concat(r.Images, images), slices.Concat(r.Parameters, parameters), nil
	return &complete
}

// Zone returns the zone of that name, or nil.
func (r *Region) Zone(name string) *Zone {
	for i := range r.Zones {
		if r.Zones[i].Name == name {
			return &r.Zones[i]
		}
	}
	return nil
}

// Offers reports whether the instance type can be had in the zone; the type itself must be one of
// the world's.
func (r *Region) Offers(instanceType, zone string) bool {
	for _, a := range r.NotOffered {
		if a.InstanceType == instanceType && (len(a.Zones) == 0 || contains(a.Zones, zone)) {
			return false
		}
	}
	return true
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// Zone is an availability zone.
type Zone struct {
	Name string `json:"name"` // us-east-1a
	ID   string `json:"id"`   // use1-az1
}

// Absence says that zones do not offer an instance type; no zones means the whole region.
type Absence struct {
	InstanceType string   `json:"instanceType"`
	Zones        []string `json:"zones,omitempty"`
}

// VPC is a virtual private cloud.
type VPC struct {
	ID      string            `json:"id"`
	CIDR    string            `json:"cidr"`
	Default bool              `json:"default,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// Subnet lies in one zone of a VPC.
type Subnet struct {
	ID                  string            `json:"id"`
	VPC                 string            `json:"vpc"`
	Zone                string            `json:"zone"`
	CIDR                string            `json:"cidr"`
	MapPublicIPOnLaunch bool              `json:"mapPublicIPOnLaunch,omitempty"`
	DefaultForZone      bool              `json:"defaultForZone,omitempty"`
	Tags                map[string]string `json:"tags,omitempty"`
}

// SecurityGroup belongs to a VPC. Its name is unique there.
type SecurityGroup struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	VPC         string            `json:"vpc"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// KeyPair is an EC2 key pair.
type KeyPair struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Type        string            `json:"type"` // rsa or ed25519
	Fingerprint string            `json:"fingerprint"`
	PublicKey   string            `json:"publicKey,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// Image is an Amazon machine image.
type Image struct {
	ID                 string            `json:"id"`
	Name               string            `json:"name"`
	Description        string            `json:"description,omitempty"`
	OwnerID            string            `json:"ownerID"`
	OwnerAlias         string            `json:"ownerAlias,omitempty"` // amazon, aws-marketplace
	Architecture       string            `json:"architecture"`         // x86_64, arm64
	CreationDate       time.Time         `json:"creationDate"`
	Private            bool              `json:"private,omitempty"` // seen by its owner alone
	State              string            `json:"state,omitempty"`   // available if empty
	RootDeviceName     string            `json:"rootDeviceName"`
	BlockDevices       []BlockDevice     `json:"blockDevices"`
	VirtualizationType string            `json:"virtualizationType"` // hvm
	Platform           string            `json:"platform,omitempty"` // windows, else empty
	PlatformDetails    string            `json:"platformDetails,omitempty"`
	ENASupport         bool              `json:"enaSupport,omitempty"`
	BootMode           string            `json:"bootMode,omitempty"`    // legacy-bios, uefi, uefi-preferred
	IMDSSupport        string            `json:"imdsSupport,omitempty"` // v2.0 or empty
	TPMSupport         string            `json:"tpmSupport,omitempty"`
	Tags               map[string]string `json:"tags,omitempty"`
}

// BlockDevice is an EBS volume that an image brings.
type BlockDevice struct {
	DeviceName          string `json:"deviceName"`
	SnapshotID          string `json:"snapshotID,omitempty"`
	SizeGiB             int32  `json:"sizeGiB"`
	VolumeType          string `json:"volumeType"`
	IOPS                int32  `json:"iops,omitempty"`
	Throughput          int32  `json:"throughput,omitempty"` // MiB/s
	DeleteOnTermination bool   `json:"deleteOnTermination"`
	Encrypted           bool   `json:"encrypted,omitempty"`
}

// InstanceType describes an EC2 instance type. Members are as in EC2's InstanceTypeInfo unless a
// comment says otherwise.
type InstanceType struct {
	Name           string  `json:"name"`
	VCPUs          int32   `json:"vcpus"`
	Cores          int32   `json:"cores"`
	ThreadsPerCore int32   `json:"threadsPerCore"`
	ValidCores     []int32 `json:"validCores,omitempty"`
	MemoryMiB      int64   `json:"memoryMiB"`
	// x86_64, arm64, i386, x86_64_mac, arm64_mac
	Architectures []string `json:"architectures"`
	// nitro, xen, or empty for bare metal
	Hypervisor        string   `json:"hypervisor,omitempty"`
	BareMetal         bool     `json:"bareMetal,omitempty"`
	Burstable         bool     `json:"burstable,omitempty"`
	CurrentGeneration bool     `json:"currentGeneration"`
	FreeTierEligible  bool     `json:"freeTierEligible,omitempty"`
	Processor         string   `json:"processor"` // manufacturer: Intel, AMD, AWS, Apple
	ProcessorFeatures []string `json:"processorFeatures,omitempty"`
	ClockSpeedGHz     float64  `json:"clockSpeedGHz,omitempty"`
	MaxENIs           int32    `json:"maxENIs"` // of all network cards together
	IPv4PerENI        int32    `json:"ipv4PerENI"`
	IPv6PerENI        int32    `json:"ipv6PerENI,omitempty"` // no IPv6 if 0
	// EC2 answers 0 for some types, and nothing for others
	IPv4PerSecondaryENI *int32 `json:"ipv4PerSecondaryENI,omitempty"`
	NetworkPerformance  string `json:"networkPerformance"`
	// one with all interfaces if empty
	NetworkCards []NetworkCard `json:"networkCards,omitempty"`
	// no Elastic Fabric Adapters if 0
	MaxEFAInterfaces int32 `json:"maxEFAInterfaces,omitempty"`
	// required, supported, unsupported
	ENASupport               string   `json:"enaSupport"`
	ENAExpress               bool     `json:"enaExpress,omitempty"`
	FlexibleENAQueues        bool     `json:"flexibleENAQueues,omitempty"`
	EncryptionInTransit      bool     `json:"encryptionInTransit,omitempty"`
	BandwidthWeightings      []string `json:"bandwidthWeightings,omitempty"`
	EBSOptimized             string   `json:"ebsOptimized"`
	NVMe                     string   `json:"nvme"` // EBS NVMe: required, supported, unsupported
	EBS                      EBS      `json:"ebs,omitempty"`
	GPUs                     []GPU    `json:"gpus,omitempty"`
	InstanceStorage          []Disk   `json:"instanceStorage,omitempty"`
	AutoRecovery             bool     `json:"autoRecovery,omitempty"`
	DedicatedHosts           bool     `json:"dedicatedHosts,omitempty"`
	Hibernation              bool     `json:"hibernation,omitempty"`
	NitroEnclaves            bool     `json:"nitroEnclaves,omitempty"`
	NitroTPM                 bool     `json:"nitroTPM,omitempty"`
	PHC                      bool     `json:"phc,omitempty"` // precision hardware clock
	RebootMigration          bool     `json:"rebootMigration,omitempty"`
	PlacementGroupStrategies []string `json:"placementGroupStrategies,omitempty"`
	UsageClasses             []string `json:"usageClasses"` // on-demand, spot, capacity-block
	BootModes                []string `json:"bootModes"`
	RootDeviceTypes          []string `json:"rootDeviceTypes,omitempty"`     // ebs if empty
	VirtualizationTypes      []string `json:"virtualizationTypes,omitempty"` // hvm if empty
	// NeuronDevices are AWS's accelerators for inference and training. Those for inference are
	// InferenceAccelerators too.
	NeuronDevices         []NeuronDevice `json:"neuronDevices,omitempty"`
	InferenceAccelerators []Accelerator  `json:"inferenceAccelerators,omitempty"`
	FPGAs                 []Accelerator  `json:"fpgas,omitempty"`
	MediaAccelerators     []Accelerator  `json:"mediaAccelerators,omitempty"`
	// TCPEstablishedTimeoutSeconds is how long connections are tracked; 432000, five days, if it is 0.
	TCPEstablishedTimeoutSeconds int32 `json:"tcpEstablishedTimeoutSeconds,omitempty"`
	// OnDemandUSD and SpotUSD are US dollars per hour for Linux in us-east-1. If SpotUSD is 0 it
	// follows from the other; see SpotPrice.
	OnDemandUSD float64 `json:"onDemandUSD"`
	SpotUSD     float64 `json:"spotUSD,omitempty"`
}

// Cards returns the network cards. Every instance type has one or more.
func (t *InstanceType) Cards() []NetworkCard {
	if len(t.NetworkCards) > 0 {
		return t.NetworkCards
	}
	return []NetworkCard{{MaxENIs: t.MaxENIs, Performance: t.NetworkPerformance}}
}

// spotShare is the price of a Spot Instance, as a share of the On-Demand price, where the world has
// none. AWS advertises savings of up to 90 %; real prices change by the hour.
const spotShare = 0.4

// SpotPrice returns the spot price in US dollars per hour.
func (t InstanceType) SpotPrice() float64 {
	if t.SpotUSD > 0 {
		return t.SpotUSD
	}
	return t.OnDemandUSD * spotShare
}

// NetworkCard is one of the network cards of an instance type. Bandwidths and queues of 0 are
// unknown.
type NetworkCard struct {
	MaxENIs         int32   `json:"maxENIs"`
	FlexibleENIs    int32   `json:"flexibleENIs,omitempty"` // AdditionalFlexibleNetworkInterfaces
	Performance     string  `json:"performance"`
	BaselineGbps    float64 `json:"baselineGbps,omitempty"`
	PeakGbps        float64 `json:"peakGbps,omitempty"`
	QueuesPerENI    int32   `json:"queuesPerENI,omitempty"` // by default
	MaxQueues       int32   `json:"maxQueues,omitempty"`
	MaxQueuesPerENI int32   `json:"maxQueuesPerENI,omitempty"`
}

// EBS says how an instance type reaches its volumes. A value of 0 or "" is unknown, except for
// Cards: most types have none of their own for volumes.
type EBS struct {
	// dedicated, or shared with network interfaces and local disks
	AttachmentLimit string  `json:"attachmentLimit,omitempty"`
	MaxAttachments  int32   `json:"maxAttachments,omitempty"`
	Baseline        EBSRate `json:"baseline,omitempty"`
	Maximum         EBSRate `json:"maximum,omitempty"`
	Cards           int32   `json:"cards,omitempty"` // each has an equal share
}

// EBSRate is a bandwidth, in megabits and megabytes per second, with its operations per second.
type EBSRate struct {
	Mbps int32   `json:"mbps"`
	IOPS int32   `json:"iops"`
	MBps float64 `json:"mBps"`
}

// GPU is a kind of GPU in an instance type.
type GPU struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer"`
	Count        int32  `json:"count"`     // 0 for a part of one
	MemoryMiB    int32  `json:"memoryMiB"` // of each
	// LogicalCount is how many GPUs the guest sees, Count if it is 0, and PartitionSize how much of
	// a physical one each is, 1 if it is 0.
	LogicalCount  int32    `json:"logicalCount,omitempty"`
	PartitionSize float64  `json:"partitionSize,omitempty"`
	Workloads     []string `json:"workloads,omitempty"`
}

// NeuronDevice is a kind of AWS's accelerators in an instance type.
type NeuronDevice struct {
	Name        string `json:"name"`
	Count       int32  `json:"count"`
	MemoryMiB   int32  `json:"memoryMiB"` // of each
	Cores       int32  `json:"cores"`     // of each
	CoreVersion int32  `json:"coreVersion"`
}

// Accelerator is a kind of another accelerator in an instance type.
type Accelerator struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer"`
	Count        int32  `json:"count"`
	MemoryMiB    int32  `json:"memoryMiB"` // of each
}

// Disk is a kind of local disk in an instance type.
type Disk struct {
	Count   int32  `json:"count"`
	SizeGB  int32  `json:"sizeGB"` // of each
	Type    string `json:"type"`   // ssd, hdd
	NVMe    bool   `json:"nvme"`
	Encrypt bool   `json:"encrypt"`
}

// Role is an IAM role. TrustedPrincipals and ExternalID, if set, say who may assume it.
type Role struct {
	Name              string            `json:"name"`
	Path              string            `json:"path,omitempty"` // "/" if empty
	Description       string            `json:"description,omitempty"`
	TrustedPrincipals []string          `json:"trustedPrincipals,omitempty"` // ARNs, account ids, or services
	ExternalID        string            `json:"externalID,omitempty"`
	Tags              map[string]string `json:"tags,omitempty"`
	// Policies are the ARNs of AWS's managed policies that are attached to it.
	Policies []string `json:"policies,omitempty"`
}

// InstanceProfile is an IAM instance profile. It holds at most one role.
type InstanceProfile struct {
	Name string            `json:"name"`
	Path string            `json:"path,omitempty"` // "/" if empty
	Role string            `json:"role,omitempty"`
	Tags map[string]string `json:"tags,omitempty"`
}

// Parameter is a parameter of the Systems Manager parameter store.
type Parameter struct {
	Name     string `json:"name"`
	Type     string `json:"type,omitempty"` // String if empty
	Value    string `json:"value"`
	DataType string `json:"dataType,omitempty"` // text if empty, or aws:ec2:image
	// Public parameters are AWS's own, below /aws/: read-only.
	Public bool `json:"public,omitempty"`
}

// Queue is a standard SQS queue, empty at the start.
type Queue struct {
	Name string `json:"name"`
	// VisibilityTimeoutSeconds is how long a message that was received is hidden from others; 30,
	// as with AWS, if it is left out.
	VisibilityTimeoutSeconds int `json:"visibilityTimeoutSeconds,omitempty"`
}

// EventRule is a rule of EventBridge that sends events to a queue.
type EventRule struct {
	Name string `json:"name"`
	// Sources are such as aws.ec2 and aws.autoscaling.
	Sources []string `json:"sources"`
	// DetailTypes are those to send; all of the sources if it is left out.
	DetailTypes []string `json:"detailTypes,omitempty"`
	Queue       string   `json:"queue"`
}

// Cluster is an EKS cluster that is ACTIVE. Omitted values of endpoint, authority, security group,
// and CIDR are made up.
type Cluster struct {
	Name    string   `json:"name"`
	Version string   `json:"version"` // of Kubernetes, such as 1.36
	Subnets []string `json:"subnets"` // all of one VPC
	// Endpoint is the URL of the Kubernetes API, CertificateAuthority the certificate in base64 of
	// PEM, as DescribeCluster answers it.
	Endpoint             string `json:"endpoint,omitempty"`
	CertificateAuthority string `json:"certificateAuthority,omitempty"`
	// the one that EKS gives a cluster and its managed nodes
	SecurityGroup string            `json:"securityGroup,omitempty"`
	ServiceCIDR   string            `json:"serviceCIDR,omitempty"` // 172.20.0.0/16 if empty
	Tags          map[string]string `json:"tags,omitempty"`
}

// Bucket is an S3 bucket, empty at the start.
type Bucket struct {
	Name string `json:"name"`
	// Expirations are the rules by which its objects expire.
	Expirations []Expiration `json:"expirations,omitempty"`
}

// Expiration deletes objects under a prefix some days after they were written, as a lifecycle rule
// of a bucket does.
type Expiration struct {
	Prefix string `json:"prefix"`
	Days   int    `json:"days"`
}
