package v1beta2

// NetworkInterface is one that is created with an instance, or an existing one. Auto Scaling
// ignores its subnet and takes the group's.
//
// +slipway:rule=NI3
// +kubebuilder:validation:XValidation:rule=`!has(self.ipv4PrefixCount) || !has(self.ipv4Prefixes)`,message="ipv4PrefixCount and ipv4Prefixes are mutually exclusive: remove one of them",fieldPath=".ipv4PrefixCount"
// +slipway:rule=NI3
// +kubebuilder:validation:XValidation:rule=`!has(self.ipv6PrefixCount) || !has(self.ipv6Prefixes)`,message="ipv6PrefixCount and ipv6Prefixes are mutually exclusive: remove one of them",fieldPath=".ipv6PrefixCount"
// +slipway:rule=NI3
// +kubebuilder:validation:XValidation:rule=`!has(self.ipv6AddressCount) || !has(self.ipv6Addresses)`,message="ipv6AddressCount and ipv6Addresses are mutually exclusive: remove one of them",fieldPath=".ipv6AddressCount"
// +slipway:rule=NI3
// +kubebuilder:validation:XValidation:rule=`!has(self.secondaryPrivateIpAddressCount) || !has(self.privateIpAddresses) || size(self.privateIpAddresses) < 2`,message="secondaryPrivateIpAddressCount cannot be combined with several privateIpAddresses: remove one of them",fieldPath=".secondaryPrivateIpAddressCount"
// +slipway:rule=NI4
// +kubebuilder:validation:XValidation:rule=`!has(self.interfaceType) || self.interfaceType != 'efa-only' || !(hasAny(self, privateIpAddress, privateIpAddresses, secondaryPrivateIpAddressCount, ipv4PrefixCount, ipv4Prefixes, ipv6AddressCount, ipv6Addresses, ipv6PrefixCount, ipv6Prefixes) || (has(self.associatePublicIpAddress) && self.associatePublicIpAddress))`,message="an interface of type efa-only cannot have IP addresses: remove them, or set interfaceType to efa",fieldPath=".interfaceType"
// +slipway:rule=NI4
// +kubebuilder:validation:XValidation:rule=`!has(self.interfaceType) || self.interfaceType != 'efa-only' || self.deviceIndex != 0 || (has(self.networkCardIndex) && self.networkCardIndex != 0)`,message="the primary interface must have an IP address, which type efa-only does not support: set interfaceType to efa, or change deviceIndex",fieldPath=".interfaceType"
// +slipway:rule=NI6
// +kubebuilder:validation:XValidation:rule=`!has(self.networkInterfaceId) || self.networkInterfaceId == "" || !(hasAny(self, groups, subnet, privateIpAddress, privateIpAddresses, secondaryPrivateIpAddressCount, ipv4PrefixCount, ipv4Prefixes, ipv6AddressCount, ipv6Addresses, ipv6PrefixCount, ipv6Prefixes) || (has(self.deleteOnTermination) && self.deleteOnTermination))`,message="networkInterfaceId refers to an existing interface, which has its own groups, subnet, and addresses, and remains when the instance is terminated: remove these fields, and deleteOnTermination: true",fieldPath=".networkInterfaceId"
// +slipway:rule=NI9
// +kubebuilder:validation:XValidation:rule=`!has(self.privateIpAddresses) || self.privateIpAddresses.filter(a, has(a.primary) && a.primary).size() <= 1`,message="an interface has one primary address: set primary for only one of privateIpAddresses",fieldPath=".privateIpAddresses"
type NetworkInterface struct {
	// AssociateCarrierIPAddress gives the interface a carrier address, in a Wavelength Zone.
	// +optional
	AssociateCarrierIPAddress *bool `json:"associateCarrierIpAddress,omitempty"`

	// AssociatePublicIPAddress gives the interface a public IPv4 address. Left out, the subnet decides.
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIpAddress,omitempty"`

	// ConnectionTrackingSpecification says how long idle connections are remembered.
	// +optional
	ConnectionTrackingSpecification *ConnectionTrackingSpecification `json:"connectionTrackingSpecification,omitempty"`

	// DeleteOnTermination deletes the interface with the instance. AWS's default: true, for an
	// interface that is created.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`

	// Description of the interface.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Description string `json:"description,omitempty"`

	// DeviceIndex is the place of the interface on its network card; 0 on card 0 is the primary one.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	DeviceIndex int32 `json:"deviceIndex"`

	// ENAQueueCount is the number of ENA queues of the interface. Default: the type's.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	ENAQueueCount *int32 `json:"enaQueueCount,omitempty"`

	// ENASRDSpecification sets up ENA Express.
	// +optional
	ENASRDSpecification *ENASRDSpecification `json:"enaSrdSpecification,omitempty"`

	// Groups are the security groups of the interface. Default: the security groups that
	// the cluster gives its nodes, and additionalSecurityGroups; with groups of its own it has these alone.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Groups []AWSResourceReference `json:"groups,omitempty"`

	// InterfaceType is interface (AWS's default), efa for an Elastic Fabric Adapter, or efa-only
	// for one without IP.
	// +optional
	// +slipway:rule=NI5
	// +kubebuilder:validation:Enum=interface;efa;efa-only
	InterfaceType string `json:"interfaceType,omitempty"`

	// IPv4PrefixCount is how many IPv4 prefixes EC2 assigns.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	IPv4PrefixCount *int32 `json:"ipv4PrefixCount,omitempty"`

	// IPv4Prefixes are the IPv4 prefixes to assign, such as 10.0.0.16/28.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=18
	IPv4Prefixes []string `json:"ipv4Prefixes,omitempty"`

	// IPv6AddressCount is how many IPv6 addresses EC2 assigns.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	IPv6AddressCount *int32 `json:"ipv6AddressCount,omitempty"`

	// IPv6Addresses are the IPv6 addresses to assign.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=39
	IPv6Addresses []string `json:"ipv6Addresses,omitempty"`

	// IPv6PrefixCount is how many IPv6 prefixes EC2 assigns.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	IPv6PrefixCount *int32 `json:"ipv6PrefixCount,omitempty"`

	// IPv6Prefixes are the IPv6 prefixes to assign.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=43
	IPv6Prefixes []string `json:"ipv6Prefixes,omitempty"`

	// NetworkCardIndex is the network card of the interface, on types with several. AWS's default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	NetworkCardIndex *int32 `json:"networkCardIndex,omitempty"`

	// NetworkInterfaceID is an interface that exists, for a config that one instance at a time is
	// launched from.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^eni-[0-9a-f]{8,17}$')`,message="must be the ID of a network interface (eni-...)"
	NetworkInterfaceID string `json:"networkInterfaceId,omitempty"`

	// PrimaryIPv6 keeps the first IPv6 address for as long as the interface is attached.
	// +optional
	PrimaryIPv6 *bool `json:"primaryIpv6,omitempty"`

	// PrivateIPAddress is the primary private IPv4 address, for a config that one instance at a
	// time is launched from.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	PrivateIPAddress string `json:"privateIpAddress,omitempty"`

	// PrivateIPAddresses are private IPv4 addresses, for a config that one instance at a time is
	// launched from.
	// +optional
	// +listType=map
	// +listMapKey=privateIpAddress
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	PrivateIPAddresses []PrivateIPAddress `json:"privateIpAddresses,omitempty"`

	// SecondaryPrivateIPAddressCount is how many private IPv4 addresses EC2 assigns in addition to
	// the primary one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	SecondaryPrivateIPAddressCount *int32 `json:"secondaryPrivateIpAddressCount,omitempty"`

	// Subnet of the interface, by id or by filters that one subnet of the VPC matches. Default:
	// where the instance is launched.
	// +optional
	Subnet *AWSResourceReference `json:"subnet,omitempty"`
}

// ConnectionTrackingSpecification says how long idle connections are remembered, in seconds.
type ConnectionTrackingSpecification struct {
	// TCPEstablishedTimeout is the timeout of established TCP connections. AWS's default: 432,000, or 350
	// on Nitro v6 types.
	// +optional
	// +slipway:rule=NI7
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=432000
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`

	// UDPStreamTimeout is the timeout of UDP flows with more than one request and response. AWS's default: 180.
	// +optional
	// +slipway:rule=NI7
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=180
	UDPStreamTimeout *int32 `json:"udpStreamTimeout,omitempty"`

	// UDPTimeout is the timeout of UDP flows in one direction, or with one request and response. AWS's default: 30.
	// +optional
	// +slipway:rule=NI7
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=60
	UDPTimeout *int32 `json:"udpTimeout,omitempty"`
}

// ENASRDSpecification sets up ENA Express, AWS's Scalable Reliable Datagram.
//
// +slipway:rule=NI8
// +kubebuilder:validation:XValidation:rule=`!has(self.enaSrdUdpSpecification) || !has(self.enaSrdUdpSpecification.enaSrdUdpEnabled) || !self.enaSrdUdpSpecification.enaSrdUdpEnabled || (has(self.enaSrdEnabled) && self.enaSrdEnabled)`,message="ENA Express for UDP requires ENA Express: set enaSrdEnabled to true",fieldPath=".enaSrdUdpSpecification"
type ENASRDSpecification struct {
	// ENASRDEnabled enables ENA Express for TCP.
	// +optional
	ENASRDEnabled *bool `json:"enaSrdEnabled,omitempty"`

	// ENASRDUDPSpecification is about UDP.
	// +optional
	ENASRDUDPSpecification *ENASRDUDPSpecification `json:"enaSrdUdpSpecification,omitempty"`
}

// ENASRDUDPSpecification is about UDP over ENA Express.
type ENASRDUDPSpecification struct {
	// ENASRDUDPEnabled enables ENA Express for UDP too.
	// +optional
	ENASRDUDPEnabled *bool `json:"enaSrdUdpEnabled,omitempty"`
}

// PrivateIPAddress is a private IPv4 address.
type PrivateIPAddress struct {
	// PrivateIPAddress is the address.
	// +required
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=15
	PrivateIPAddress string `json:"privateIpAddress"`

	// Primary makes it the primary one.
	// +optional
	Primary *bool `json:"primary,omitempty"`
}

// SecondaryInterface is an interface in a secondary subnet. It is deleted with its instance.
//
// +slipway:rule=NI10
// +kubebuilder:validation:XValidation:rule=`!has(self.privateIpAddressCount) || !has(self.privateIpAddresses)`,message="privateIpAddressCount and privateIpAddresses are mutually exclusive: remove one of them",fieldPath=".privateIpAddressCount"
type SecondaryInterface struct {
	// DeleteOnTermination deletes the interface with the instance. EC2 offers nothing else.
	// +optional
	// +slipway:rule=NI10
	// +kubebuilder:validation:XValidation:rule=`self`,message="a secondary interface is always deleted with its instance: set deleteOnTermination to true, or omit it"
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`

	// DeviceIndex is the place of the interface on its network card.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	DeviceIndex *int32 `json:"deviceIndex,omitempty"`

	// InterfaceType is secondary.
	// +optional
	// +slipway:rule=NI10
	// +kubebuilder:validation:Enum=secondary
	InterfaceType string `json:"interfaceType,omitempty"`

	// NetworkCardIndex is the network card of the interface.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	NetworkCardIndex *int32 `json:"networkCardIndex,omitempty"`

	// PrivateIPAddressCount is how many private IPv4 addresses EC2 assigns.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	PrivateIPAddressCount *int32 `json:"privateIpAddressCount,omitempty"`

	// PrivateIPAddresses are the private IPv4 addresses to assign, for a config that one instance
	// at a time is launched from.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=15
	PrivateIPAddresses []string `json:"privateIpAddresses,omitempty"`

	// SecondarySubnetID is the secondary subnet.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SecondarySubnetID string `json:"secondarySubnetId,omitempty"`
}

// Placement says on which hosts instances run. Auto Scaling and EKS choose zones by subnets.
//
// +slipway:rule=PL1
// +kubebuilder:validation:XValidation:rule=`!(has(self.availabilityZone) && self.availabilityZone != "") || !(has(self.availabilityZoneId) && self.availabilityZoneId != "")`,message="availabilityZone and availabilityZoneId are mutually exclusive: remove one of them",fieldPath=".availabilityZoneId"
// +slipway:rule=PL2
// +kubebuilder:validation:XValidation:rule=`!(has(self.groupName) && self.groupName != "") || !(has(self.groupId) && self.groupId != "")`,message="groupName and groupId are mutually exclusive: remove one of them",fieldPath=".groupId"
// +slipway:rule=PL3
// +kubebuilder:validation:XValidation:rule=`!(has(self.hostResourceGroupArn) && self.hostResourceGroupArn != "") || ((!has(self.tenancy) || self.tenancy == 'host') && (!has(self.hostId) || self.hostId == ""))`,message="hostResourceGroupArn selects the host, with tenancy host: remove hostId, and set tenancy to host or omit it",fieldPath=".hostResourceGroupArn"
// +slipway:rule=PL4
// +kubebuilder:validation:XValidation:rule=`!has(self.partitionNumber) || (has(self.groupName) && self.groupName != "") || (has(self.groupId) && self.groupId != "")`,message="partitionNumber requires a placement group: set groupName or groupId, or remove partitionNumber",fieldPath=".partitionNumber"
// +slipway:rule=PL6
// +kubebuilder:validation:XValidation:rule=`!((has(self.affinity) && self.affinity != "") || (has(self.hostId) && self.hostId != "")) || (has(self.tenancy) && self.tenancy == 'host')`,message="affinity and hostId are only valid for Dedicated Hosts: set tenancy to host, or remove them",fieldPath=".tenancy"
type Placement struct {
	// Affinity ties a stopped instance to its Dedicated Host (host), or does not (default).
	// +optional
	// +kubebuilder:validation:Enum=default;host
	Affinity string `json:"affinity,omitempty"`

	// AvailabilityZone by name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AvailabilityZone string `json:"availabilityZone,omitempty"`

	// AvailabilityZoneID is the zone by id, such as use1-az1.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AvailabilityZoneID string `json:"availabilityZoneId,omitempty"`

	// GroupID is the placement group by id, which a group that another account shares needs.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^pg-[0-9a-f]{8,17}$')`,message="must be the ID of a placement group (pg-...)"
	GroupID string `json:"groupId,omitempty"`

	// GroupName is the placement group by name.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	GroupName string `json:"groupName,omitempty"`

	// HostID is the Dedicated Host.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^h-[0-9a-f]{8,17}$')`,message="must be the ID of a Dedicated Host (h-...)"
	HostID string `json:"hostId,omitempty"`

	// HostResourceGroupARN is the host resource group of Dedicated Hosts.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +slipway:rule=SL6
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches('^arn:[a-z-]+:resource-groups:[a-z0-9-]+:[0-9]{12}:group/.+$')`,message="must be the ARN of a host resource group (arn:aws:resource-groups:<region>:<account>:group/<name>)"
	HostResourceGroupARN string `json:"hostResourceGroupArn,omitempty"`

	// PartitionNumber is the partition, in a placement group of that strategy.
	// +optional
	// +slipway:rule=PL4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	PartitionNumber *int32 `json:"partitionNumber,omitempty"`

	// Tenancy is default, dedicated for hardware of one's own, or host for Dedicated Hosts.
	// +optional
	// +kubebuilder:validation:Enum=default;dedicated;host
	Tenancy string `json:"tenancy,omitempty"`
}
