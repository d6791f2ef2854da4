package v1beta2_test

// launchPlaceCases hold for devices, network interfaces and placement of an AWSLaunchConfig.
var launchPlaceCases = []ruleCase{
	{
		rule: "BD1", reason: "a mapping is of a device", accept: `{blockDeviceMappings: [{deviceName: /dev/sdb, noDevice: true}]}`,
		refuse: `{blockDeviceMappings: [{noDevice: true}]}`, says: "deviceName: Required value",
	},
	{
		rule: "BD1", reason: "each device once", accept: `{blockDeviceMappings: [{deviceName: a, noDevice: true}, {deviceName: b, noDevice: true}]}`,
		refuse: `{blockDeviceMappings: [{deviceName: a, noDevice: true}, {deviceName: a, noDevice: true}]}`, says: "Duplicate value",
	},
	{
		rule: "BD1", reason: "in one of the fields", accept: `{nonRootVolumes: [{deviceName: a, size: 8}], blockDeviceMappings: [{deviceName: b, noDevice: true}]}`,
		refuse: `{nonRootVolumes: [{deviceName: a, size: 8}], blockDeviceMappings: [{deviceName: a, noDevice: true}]}`, says: "nonRootVolumes and blockDeviceMappings must not have the same device",
	},
	{
		rule: "BD1", reason: "the root device too", accept: `{rootVolume: {deviceName: a, size: 8}, blockDeviceMappings: [{deviceName: b, noDevice: true}]}`,
		refuse: `{rootVolume: {deviceName: a, size: 8}, blockDeviceMappings: [{deviceName: a, noDevice: true}]}`, says: "rootVolume and blockDeviceMappings must not have the same device",
	},
	{rule: "BD3", reason: "a snapshot is encrypted or not", accept: ebs(`snapshotId: snap-01234567`), refuse: ebs(`snapshotId: snap-01234567, encrypted: true`), says: "the snapshot determines whether the volume is encrypted"},
	{rule: "BD4", reason: "a key is for an encrypted volume", accept: ebs(`volumeSize: 8, encrypted: true, kmsKeyId: k`), refuse: ebs(`volumeSize: 8, kmsKeyId: k`), says: "kmsKeyId requires an encrypted volume"},
	{rule: "BD5", reason: "gp2 has no IOPS to set", accept: ebs(`volumeSize: 8, iops: 3000`), refuse: ebs(`volumeSize: 8, volumeType: gp2, iops: 3000`), says: "remove iops, or change volumeType"},
	{rule: "BD5", reason: "io2 has no default", accept: ebs(`volumeSize: 8, volumeType: io2, iops: 100`), refuse: ebs(`volumeSize: 8, volumeType: io2`), says: "iops is required for io1 and io2 volumes"},
	{rule: "BD6", reason: "gp3 has a baseline", accept: ebs(`volumeSize: 8, volumeType: gp3, iops: 3000`), refuse: ebs(`volumeSize: 8, volumeType: gp3, iops: 2999`), says: "iops of gp3 volumes must be between 3,000 and 80,000"},
	{rule: "BD6", reason: "io1 ends at 64,000", accept: ebs(`volumeSize: 8, volumeType: io1, iops: 64000`), refuse: ebs(`volumeSize: 8, volumeType: io1, iops: 64001`), says: "iops of io1 volumes must be between 100 and 64,000"},
	{rule: "BD6", reason: "io2 ends at 256,000", accept: ebs(`volumeSize: 8, volumeType: io2, iops: 256000`), refuse: ebs(`volumeSize: 8, volumeType: io2, iops: 256001`), says: "should be less than or equal to 256000"},
	{rule: "BD7", reason: "throughput is gp3's", accept: ebs(`volumeSize: 8, volumeType: gp3, throughput: 125`), refuse: ebs(`volumeSize: 8, throughput: 125`), says: "set volumeType to gp3"},
	{rule: "BD7", reason: "from 125 on", accept: ebs(`volumeSize: 8, volumeType: gp3, throughput: 2000`), refuse: ebs(`volumeSize: 8, volumeType: gp3, throughput: 124`), says: "should be greater than or equal to 125"},
	{rule: "BD8", reason: "gp2 ends at 16 TiB", accept: ebs(`volumeSize: 16384, volumeType: gp2`), refuse: ebs(`volumeSize: 16385, volumeType: gp2`), says: "at most 16,384 GiB"},
	{rule: "BD8", reason: "io1 begins at 4 GiB", accept: ebs(`volumeSize: 4, volumeType: io1, iops: 100`), refuse: ebs(`volumeSize: 3, volumeType: io1, iops: 100`), says: "at least 4 GiB"},
	{rule: "BD8", reason: "st1 begins at 125 GiB", accept: ebs(`volumeSize: 125, volumeType: st1`), refuse: ebs(`volumeSize: 124, volumeType: st1`), says: "the size of st1 and sc1 volumes must be " +
		"between 125 and 16,384 GiB"},
	{rule: "BD8", reason: "standard ends at 1 TiB", accept: ebs(`volumeSize: 1024, volumeType: standard`), refuse: ebs(`volumeSize: 1025, volumeType: standard`), says: "at most 1,024 GiB"},
	{rule: "BD9", reason: "only a snapshot is brought from S3", accept: ebs(`snapshotId: snap-01234567, volumeInitializationRate: 100`), refuse: ebs(`volumeSize: 8, volumeInitializationRate: 100`), says: "volumeInitializationRate is only valid for volumes that are created from a snapshot"},
	{rule: "BD9", reason: "at 300 MiB/s", accept: ebs(`snapshotId: snap-01234567, volumeInitializationRate: 300`), refuse: ebs(`snapshotId: snap-01234567, volumeInitializationRate: 301`), says: "should be less than or equal to 300"},
	{
		rule: "BD10", reason: "a device is one thing", accept: `{blockDeviceMappings: [{deviceName: a, virtualName: ephemeral0, noDevice: false}]}`,
		refuse: `{blockDeviceMappings: [{deviceName: a, virtualName: ephemeral0, noDevice: true}]}`, says: "exactly one of ebs, virtualName, and noDevice",
	},
	{
		rule: "BD10", reason: "there are 24 instance store volumes", accept: `{blockDeviceMappings: [{deviceName: a, virtualName: ephemeral23}]}`,
		refuse: `{blockDeviceMappings: [{deviceName: a, virtualName: ephemeral24}]}`, says: "ephemeral0 to ephemeral23",
	},
	{rule: "SL6", reason: "snapshots have ids", accept: ebs(`snapshotId: snap-0123456789abcdef0`), refuse: ebs(`snapshotId: mine`), says: "must be the ID of a snapshot (snap-...)"},
	{
		rule: "SG1", reason: "groups go to an interface", accept: `{additionalSecurityGroups: [{id: sg-1}], networkInterfaces: [{deviceIndex: 0}, {deviceIndex: 1, groups: [{id: sg-2}]}]}`,
		refuse: `{additionalSecurityGroups: [{id: sg-1}], networkInterfaces: [{deviceIndex: 0, groups: [{id: sg-2}]}]}`, says: "every item of networkInterfaces has its own groups, so additionalSecurityGroups has no effect",
	},
	{
		rule: "NI1", reason: "an instance has a primary interface", accept: `{networkInterfaces: [{deviceIndex: 0, networkCardIndex: 0}]}`,
		refuse: `{networkInterfaces: [{deviceIndex: 0, networkCardIndex: 1}]}`, says: "networkInterfaces must have a primary interface",
	},
	{
		rule: "NI1", reason: "a place has one interface", accept: `{networkInterfaces: [{deviceIndex: 0}, {deviceIndex: 0, networkCardIndex: 1}]}`,
		refuse: `{networkInterfaces: [{deviceIndex: 0}, {deviceIndex: 0, networkCardIndex: 0}]}`, says: "every item of networkInterfaces must have a unique combination of deviceIndex and network card",
	},
	{
		rule: "NI2", reason: "one interface can have a public address", accept: `{networkInterfaces: [{deviceIndex: 0, associatePublicIpAddress: true}]}`,
		refuse: `{networkInterfaces: [{deviceIndex: 0, associatePublicIpAddress: true}, {deviceIndex: 1}]}`, says: "no public address to an instance with several",
	},
	{rule: "NI3", reason: "IPv4 prefixes by number or by name", accept: nic(`ipv4PrefixCount: 1`), refuse: nic(`ipv4PrefixCount: 1, ipv4Prefixes: [10.0.0.0/28]`), says: "ipv4PrefixCount and ipv4Prefixes are mutually exclusive"},
	{rule: "NI3", reason: "IPv6 prefixes by number or by name", accept: nic(`ipv6PrefixCount: 1`), refuse: nic(`ipv6PrefixCount: 1, ipv6Prefixes: ["::/80"]`), says: "ipv6PrefixCount and ipv6Prefixes are mutually exclusive"},
	{rule: "NI3", reason: "IPv6 addresses by number or by name", accept: nic(`ipv6AddressCount: 1`), refuse: nic(`ipv6AddressCount: 1, ipv6Addresses: ["::1"]`), says: "ipv6AddressCount and ipv6Addresses are mutually exclusive"},
	{
		rule: "NI3", reason: "IPv4 addresses by number or by name", accept: nic(`secondaryPrivateIpAddressCount: 1, privateIpAddresses: [{privateIpAddress: 10.0.0.9}]`),
		refuse: nic(`secondaryPrivateIpAddressCount: 1, privateIpAddresses: [{privateIpAddress: 10.0.0.9}, {privateIpAddress: 10.0.0.8}]`), says: "secondaryPrivateIpAddressCount cannot be combined with several privateIpAddresses",
	},
	{
		rule: "NI4", reason: "efa-only has no addresses", accept: `{networkInterfaces: [{deviceIndex: 0}, {deviceIndex: 1, interfaceType: efa-only}]}`,
		refuse: `{networkInterfaces: [{deviceIndex: 0}, {deviceIndex: 1, interfaceType: efa-only, ipv6AddressCount: 1}]}`, says: "an interface of type efa-only cannot have IP addresses",
	},
	{rule: "NI4", reason: "so that it is not the primary one", accept: nic(`interfaceType: efa`), refuse: nic(`interfaceType: efa-only`), says: "the primary interface must have an IP address, which type efa-only does not support"},
	{rule: "NI5", reason: "there are three types", accept: nic(`interfaceType: interface`), refuse: nic(`interfaceType: trunk`), says: "Unsupported value"},
	{rule: "NI6", reason: "what exists is what it is", accept: nic(`networkInterfaceId: eni-01234567, deleteOnTermination: false`), refuse: nic(`networkInterfaceId: eni-01234567, groups: [{id: sg-1}]`), says: "networkInterfaceId refers to an existing interface, which has its own groups, subnet, and addresses, and remains when the instance is terminated"},
	{rule: "NI7", reason: "TCP is remembered for five days", accept: nic(`connectionTrackingSpecification: {tcpEstablishedTimeout: 432000}`), refuse: nic(`connectionTrackingSpecification: {tcpEstablishedTimeout: 59}`), says: "should be greater than or equal to 60"},
	{rule: "NI7", reason: "UDP streams for three minutes", accept: nic(`connectionTrackingSpecification: {udpStreamTimeout: 180}`), refuse: nic(`connectionTrackingSpecification: {udpStreamTimeout: 181}`), says: "should be less than or equal to 180"},
	{rule: "NI7", reason: "UDP for one", accept: nic(`connectionTrackingSpecification: {udpTimeout: 30}`), refuse: nic(`connectionTrackingSpecification: {udpTimeout: 61}`), says: "should be less than or equal to 60"},
	{
		rule: "NI8", reason: "UDP goes with TCP", accept: nic(`enaSrdSpecification: {enaSrdEnabled: true, enaSrdUdpSpecification: {enaSrdUdpEnabled: true}}`),
		refuse: nic(`enaSrdSpecification: {enaSrdUdpSpecification: {enaSrdUdpEnabled: true}}`), says: "set enaSrdEnabled to true",
	},
	{
		rule: "NI9", reason: "one address is the primary one", accept: nic(`privateIpAddresses: [{privateIpAddress: 10.0.0.9, primary: true}, {privateIpAddress: 10.0.0.8, primary: false}]`),
		refuse: nic(`privateIpAddresses: [{privateIpAddress: 10.0.0.9, primary: true}, {privateIpAddress: 10.0.0.8, primary: true}]`), says: "an interface has one primary address",
	},
	{rule: "NI10", reason: "secondary interfaces are deleted", accept: `{secondaryInterfaces: [{deleteOnTermination: true}]}`, refuse: `{secondaryInterfaces: [{deleteOnTermination: false}]}`, says: "always deleted with its instance"},
	{rule: "NI10", reason: "and of one type", accept: `{secondaryInterfaces: [{interfaceType: secondary}]}`, refuse: `{secondaryInterfaces: [{interfaceType: efa}]}`, says: "Unsupported value"},
	{
		rule: "NI10", reason: "addresses by number or by name", accept: `{secondaryInterfaces: [{privateIpAddressCount: 1}]}`,
		refuse: `{secondaryInterfaces: [{privateIpAddressCount: 1, privateIpAddresses: [10.0.0.9]}]}`, says: "privateIpAddressCount and privateIpAddresses are mutually exclusive",
	},
	{rule: "SL1", reason: "groups by id or by filters", accept: nic(`groups: [{id: sg-1}]`), refuse: nic(`groups: [{}]`), says: "exactly one of id and filters must be set"},
	{rule: "SL1", reason: "a subnet by id or by filters", accept: nic(`subnet: {filters: [{name: subnet-id, values: [s]}]}`), refuse: nic(`subnet: {}`), says: "exactly one of id and filters must be set"},
	{rule: "SL6", reason: "interfaces have ids", accept: nic(`networkInterfaceId: eni-0123456789abcdef0`), refuse: nic(`networkInterfaceId: mine`), says: "must be the ID of a network interface (eni-...)"},
	{rule: "PL1", reason: "a zone has two names", accept: `{placement: {availabilityZoneId: use1-az1}}`, refuse: `{placement: {availabilityZone: us-east-1a, availabilityZoneId: use1-az1}}`, says: "availabilityZone and availabilityZoneId are mutually exclusive"},
	{rule: "PL2", reason: "and so has a group", accept: `{placement: {groupId: pg-01234567}}`, refuse: `{placement: {groupId: pg-01234567, groupName: one}}`, says: "groupName and groupId are mutually exclusive"},
	{
		rule: "PL3", reason: "a host resource group chooses hosts", accept: `{placement: {tenancy: host, hostResourceGroupArn: "arn:aws:resource-groups:us-east-1:123456789012:group/hosts"}}`,
		refuse: `{placement: {tenancy: dedicated, hostResourceGroupArn: "arn:aws:resource-groups:us-east-1:123456789012:group/hosts"}}`, says: "hostResourceGroupArn selects the host, with tenancy host",
	},
	{rule: "PL4", reason: "a partition is of a group", accept: `{placement: {groupName: one, partitionNumber: 7}}`, refuse: `{placement: {partitionNumber: 1}}`, says: "partitionNumber requires a placement group"},
	{rule: "PL4", reason: "which has seven of them", accept: `{placement: {groupName: one, partitionNumber: 1}}`, refuse: `{placement: {groupName: one, partitionNumber: 8}}`, says: "should be less than or equal to 7"},
	{rule: "PL6", reason: "hosts are Dedicated Hosts", accept: `{placement: {tenancy: host, hostId: h-01234567, affinity: host}}`, refuse: `{placement: {hostId: h-01234567}}`, says: "set tenancy to host, or remove them"},
	{rule: "SL6", reason: "placement groups have ids", accept: `{placement: {groupId: ""}}`, refuse: `{placement: {groupId: one}}`, says: "must be the ID of a placement group (pg-...)"},
	{rule: "SL6", reason: "hosts have ids", accept: `{placement: {hostId: ""}}`, refuse: `{placement: {tenancy: host, hostId: one}}`, says: "must be the ID of a Dedicated Host (h-...)"},
	{rule: "SL6", reason: "host resource groups have ARNs", accept: `{placement: {hostResourceGroupArn: ""}}`, refuse: `{placement: {hostResourceGroupArn: hosts}}`, says: "must be the ARN of a host resource group (arn:aws:resource-groups:<region>:<account>:group/<name>)"},
}

func ebs(members string) string {
	return "{blockDeviceMappings: [{deviceName: /dev/sdb, ebs: {" + members + "}}]}"
}

func nic(members string) string { return "{networkInterfaces: [{deviceIndex: 0, " + members + "}]}" }
