package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// furtherInstanceFilters are the filters of DescribeInstances that are rarely used (SDK,
// DescribeInstancesInput.Filters).
var furtherInstanceFilters = filterTable[instance]{
	"affinity": func(i instance) []string { return text(val(i.api.Placement).Affinity) },
	"block-device-mapping.attach-time": func(i instance) []string {
		return collect(i.api.BlockDeviceMappings, func(m types.InstanceBlockDeviceMapping) []string { return instant(val(m.Ebs).AttachTime) })
	},
	"block-device-mapping.delete-on-termination": func(i instance) []string {
		return collect(i.api.BlockDeviceMappings, func(m types.InstanceBlockDeviceMapping) []string { return boolean(val(m.Ebs).DeleteOnTermination) })
	},
	"block-device-mapping.status": func(i instance) []string {
		return collect(i.api.BlockDeviceMappings, func(m types.InstanceBlockDeviceMapping) []string { return enum(val(m.Ebs).Status) })
	},
	"boot-mode":               func(i instance) []string { return enum(i.api.BootMode) },
	"capacity-reservation-id": func(i instance) []string { return text(i.api.CapacityReservationId) },
	"capacity-reservation-specification.capacity-reservation-preference": func(i instance) []string {
		return enum(val(i.api.CapacityReservationSpecification).CapacityReservationPreference)
	},
	"capacity-reservation-specification.capacity-reservation-target.capacity-reservation-id": func(i instance) []string {
		return text(val(val(i.api.CapacityReservationSpecification).CapacityReservationTarget).CapacityReservationId)
	},
	"capacity-reservation-specification.capacity-reservation-target.capacity-reservation-resource-group-arn": func(i instance) []string {
		return text(val(val(i.api.CapacityReservationSpecification).CapacityReservationTarget).CapacityReservationResourceGroupArn)
	},
	"current-instance-boot-mode":          func(i instance) []string { return enum(i.api.CurrentInstanceBootMode) },
	"ena-support":                         func(i instance) []string { return boolean(i.api.EnaSupport) },
	"enclave-options.enabled":             func(i instance) []string { return boolean(val(i.api.EnclaveOptions).Enabled) },
	"hibernation-options.configured":      func(i instance) []string { return boolean(val(i.api.HibernationOptions).Configured) },
	"host-id":                             func(i instance) []string { return text(val(i.api.Placement).HostId) },
	"ipv6-address":                        func(i instance) []string { return text(i.api.Ipv6Address) },
	"kernel-id":                           func(i instance) []string { return text(i.api.KernelId) },
	"maintenance-options.auto-recovery":   func(i instance) []string { return enum(val(i.api.MaintenanceOptions).AutoRecovery) },
	"metadata-options.http-protocol-ipv4": func(i instance) []string { return enum(val(i.api.MetadataOptions).HttpEndpoint) },
	"metadata-options.http-protocol-ipv6": func(i instance) []string { return enum(val(i.api.MetadataOptions).HttpProtocolIpv6) },
	"metadata-options.state":              func(i instance) []string { return enum(val(i.api.MetadataOptions).State) },
	"network-performance-options.bandwidth-weighting": func(i instance) []string {
		return enum(val(i.api.NetworkPerformanceOptions).BandwidthWeighting)
	},
	"operator.managed":           func(i instance) []string { return boolean(val(i.api.Operator).Managed) },
	"operator.principal":         func(i instance) []string { return text(val(i.api.Operator).Principal) },
	"outpost-arn":                func(i instance) []string { return text(i.api.OutpostArn) },
	"owner-id":                   func(i instance) []string { return []string{i.owner} },
	"placement-partition-number": func(i instance) []string { return number(val(i.api.Placement).PartitionNumber) },
	"private-dns-name-options.enable-resource-name-dns-a-record": func(i instance) []string {
		return boolean(val(i.api.PrivateDnsNameOptions).EnableResourceNameDnsARecord)
	},
	"private-dns-name-options.enable-resource-name-dns-aaaa-record": func(i instance) []string {
		return boolean(val(i.api.PrivateDnsNameOptions).EnableResourceNameDnsAAAARecord)
	},
	"private-dns-name-options.hostname-type": func(i instance) []string { return enum(val(i.api.PrivateDnsNameOptions).HostnameType) },
	"product-code":                           func(i instance) []string { return productCodes(i.api.ProductCodes) },
	"product-code.type":                      func(i instance) []string { return productCodeTypes(i.api.ProductCodes) },
	"ramdisk-id":                             func(i instance) []string { return text(i.api.RamdiskId) },
	"reason":                                 func(i instance) []string { return text(i.api.StateTransitionReason) },
	"source-dest-check":                      func(i instance) []string { return boolean(i.api.SourceDestCheck) },
	"state-reason-message":                   func(i instance) []string { return text(val(i.api.StateReason).Message) },
	"tpm-support":                            func(i instance) []string { return text(i.api.TpmSupport) },
	"usage-operation":                        func(i instance) []string { return text(i.api.UsageOperation) },
	"usage-operation-update-time":            func(i instance) []string { return instant(i.api.UsageOperationUpdateTime) },
}

// instanceInterfaceFilters are the filters network-interface.* of DescribeInstances.
func instanceInterfaceFilters() filterTable[instance] {
	table := filterTable[instance]{
		"network-interface.availability-zone": func(i instance) []string {
			return collect(i.api.NetworkInterfaces, func(types.InstanceNetworkInterface) []string { return text(val(i.api.Placement).AvailabilityZone) })
		},
		"network-interface.attachment.instance-id": func(i instance) []string {
			return collect(i.api.NetworkInterfaces, func(types.InstanceNetworkInterface) []string { return text(i.api.InstanceId) })
		},
	}
	for name, read := range interfaceOfInstanceFilters {
		table["network-interface."+name] = func(i instance) []string { return collect(i.api.NetworkInterfaces, read) }
	}
	for name, read := range associationFilters {
		table["network-interface.association."+name] = func(i instance) []string {
			return collect(i.api.NetworkInterfaces, func(n types.InstanceNetworkInterface) []string { return read(val(n.Association)) })
		}
		table["network-interface.addresses.association."+name] = func(i instance) []string {
			return collect(i.api.NetworkInterfaces, func(n types.InstanceNetworkInterface) []string {
				return collect(n.PrivateIpAddresses, func(a types.InstancePrivateIpAddress) []string { return read(val(a.Association)) })
			})
		}
	}
	return table
}

// filtersOf returns the filters network-interface.* of DescribeInstances for what
// instances do not show of their interfaces.
func (ni *networkInterfaces) filtersOf() filterTable[instance] {
	table := filterTable[instance]{}
	add := func(name string, read func(types.NetworkInterface) []string) {
		table["network-interface."+name] = func(i instance) []string {
			return collect(i.api.NetworkInterfaces, func(shown types.InstanceNetworkInterface) []string {
				n, _ := ni.Visible(*shown.NetworkInterfaceId)
				return read(n)
			})
		}
	}
	for _, name := range []string{"association.allocation-id", "association.association-id", "requester-id"} {
		add(name, interfaceListing.filters[name])
	}
	add("addresses.association.allocation-id", interfaceAddresses(func(a types.NetworkInterfacePrivateIpAddress) []string { return text(val(a.Association).AllocationId) }))
	add("addresses.association.association-id", interfaceAddresses(func(a types.NetworkInterfacePrivateIpAddress) []string { return text(val(a.Association).AssociationId) }))
	add("tag-key", func(n types.NetworkInterface) []string { return tagKeys(n.TagSet) })
	add("tag-value", func(n types.NetworkInterface) []string {
		return collect(n.TagSet, func(tag types.Tag) []string { return text(tag.Value) })
	})
	return table
}

var associationFilters = filterTable[types.InstanceNetworkInterfaceAssociation]{
	"carrier-ip":        func(a types.InstanceNetworkInterfaceAssociation) []string { return text(a.CarrierIp) },
	"customer-owned-ip": func(a types.InstanceNetworkInterfaceAssociation) []string { return text(a.CustomerOwnedIp) },
	"ip-owner-id":       func(a types.InstanceNetworkInterfaceAssociation) []string { return text(a.IpOwnerId) },
	"public-dns-name":   func(a types.InstanceNetworkInterfaceAssociation) []string { return text(a.PublicDnsName) },
	"public-ip":         func(a types.InstanceNetworkInterfaceAssociation) []string { return text(a.PublicIp) },
}

var interfaceOfInstanceFilters = filterTable[types.InstanceNetworkInterface]{
	"addresses.primary":                instanceAddresses(func(a types.InstancePrivateIpAddress) []string { return boolean(a.Primary) }),
	"addresses.private-dns-name":       instanceAddresses(func(a types.InstancePrivateIpAddress) []string { return text(a.PrivateDnsName) }),
	"addresses.private-ip-address":     instanceAddresses(func(a types.InstancePrivateIpAddress) []string { return text(a.PrivateIpAddress) }),
	"attachment.attach-time":           func(n types.InstanceNetworkInterface) []string { return instant(val(n.Attachment).AttachTime) },
	"attachment.attachment-id":         func(n types.InstanceNetworkInterface) []string { return text(val(n.Attachment).AttachmentId) },
	"attachment.delete-on-termination": func(n types.InstanceNetworkInterface) []string { return boolean(val(n.Attachment).DeleteOnTermination) },
	"attachment.device-index":          func(n types.InstanceNetworkInterface) []string { return number(val(n.Attachment).DeviceIndex) },
	"attachment.instance-owner-id":     func(n types.InstanceNetworkInterface) []string { return text(n.OwnerId) },
	"attachment.network-card-index":    func(n types.InstanceNetworkInterface) []string { return number(val(n.Attachment).NetworkCardIndex) },
	"attachment.status":                func(n types.InstanceNetworkInterface) []string { return enum(val(n.Attachment).Status) },
	"deny-all-igw-traffic":             never,
	"description":                      func(n types.InstanceNetworkInterface) []string { return text(n.Description) },
	"group-name": func(n types.InstanceNetworkInterface) []string {
		return collect(n.Groups, func(g types.GroupIdentifier) []string { return text(g.GroupName) })
	},
	"ipv4-prefixes.ipv4-prefix": func(n types.InstanceNetworkInterface) []string {
		return collect(n.Ipv4Prefixes, func(p types.InstanceIpv4Prefix) []string { return text(p.Ipv4Prefix) })
	},
	"ipv6-address":                ipv6Addresses,
	"ipv6-addresses.ipv6-address": ipv6Addresses,
	"ipv6-addresses.is-primary-ipv6": func(n types.InstanceNetworkInterface) []string {
		return collect(n.Ipv6Addresses, func(a types.InstanceIpv6Address) []string { return boolean(a.IsPrimaryIpv6) })
	},
	"ipv6-native": never,
	"ipv6-prefixes.ipv6-prefix": func(n types.InstanceNetworkInterface) []string {
		return collect(n.Ipv6Prefixes, func(p types.InstanceIpv6Prefix) []string { return text(p.Ipv6Prefix) })
	},
	"mac-address":        func(n types.InstanceNetworkInterface) []string { return text(n.MacAddress) },
	"operator.managed":   func(n types.InstanceNetworkInterface) []string { return boolean(val(n.Operator).Managed) },
	"operator.principal": func(n types.InstanceNetworkInterface) []string { return text(val(n.Operator).Principal) },
	"owner-id":           func(n types.InstanceNetworkInterface) []string { return text(n.OwnerId) },
	"private-dns-name":   func(n types.InstanceNetworkInterface) []string { return text(n.PrivateDnsName) },
	"private-ip-address": func(n types.InstanceNetworkInterface) []string { return text(n.PrivateIpAddress) },
	"public-dns-name":    func(n types.InstanceNetworkInterface) []string { return text(val(n.Association).PublicDnsName) },
	"requester-managed":  never,
	"source-dest-check":  func(n types.InstanceNetworkInterface) []string { return boolean(n.SourceDestCheck) },
	"status":             func(n types.InstanceNetworkInterface) []string { return enum(n.Status) },
}

// never reads a truth value that is false for every interface of an instance here.
func never(types.InstanceNetworkInterface) []string { return []string{"false"} }

func instanceAddresses(read func(types.InstancePrivateIpAddress) []string) func(types.InstanceNetworkInterface) []string {
	return func(n types.InstanceNetworkInterface) []string { return collect(n.PrivateIpAddresses, read) }
}

func ipv6Addresses(n types.InstanceNetworkInterface) []string {
	return collect(n.Ipv6Addresses, func(a types.InstanceIpv6Address) []string { return text(a.Ipv6Address) })
}
