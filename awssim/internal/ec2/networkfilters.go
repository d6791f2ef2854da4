package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// This file has the filters of VPCs, subnets, and zones that are rarely used (SDK, Filters of their
// Describe actions).

var furtherVpcFilters = filterTable[types.Vpc]{
	"ipv6-cidr-block-association.association-id": func(v types.Vpc) []string {
		return collect(v.Ipv6CidrBlockAssociationSet, func(a types.VpcIpv6CidrBlockAssociation) []string { return text(a.AssociationId) })
	},
	"ipv6-cidr-block-association.ipv6-cidr-block": func(v types.Vpc) []string {
		return collect(v.Ipv6CidrBlockAssociationSet, func(a types.VpcIpv6CidrBlockAssociation) []string { return text(a.Ipv6CidrBlock) })
	},
	"ipv6-cidr-block-association.ipv6-pool": func(v types.Vpc) []string {
		return collect(v.Ipv6CidrBlockAssociationSet, func(a types.VpcIpv6CidrBlockAssociation) []string { return text(a.Ipv6Pool) })
	},
	"ipv6-cidr-block-association.state": func(v types.Vpc) []string {
		return collect(v.Ipv6CidrBlockAssociationSet, func(a types.VpcIpv6CidrBlockAssociation) []string { return enum(val(a.Ipv6CidrBlockState).State) })
	},
}

var furtherSubnetFilters = filterTable[types.Subnet]{
	"availabilityZoneId":         func(v types.Subnet) []string { return text(v.AvailabilityZoneId) },
	"cidrBlock":                  func(v types.Subnet) []string { return text(v.CidrBlock) },
	"customer-owned-ipv4-pool":   func(v types.Subnet) []string { return text(v.CustomerOwnedIpv4Pool) },
	"defaultForAz":               func(v types.Subnet) []string { return boolean(v.DefaultForAz) },
	"enable-lni-at-device-index": func(v types.Subnet) []string { return number(v.EnableLniAtDeviceIndex) },
	"ipv6-cidr-block-association.association-id": func(v types.Subnet) []string {
		return collect(v.Ipv6CidrBlockAssociationSet, func(a types.SubnetIpv6CidrBlockAssociation) []string { return text(a.AssociationId) })
	},
	"ipv6-cidr-block-association.ipv6-cidr-block": func(v types.Subnet) []string {
		return collect(v.Ipv6CidrBlockAssociationSet, func(a types.SubnetIpv6CidrBlockAssociation) []string { return text(a.Ipv6CidrBlock) })
	},
	"ipv6-cidr-block-association.state": func(v types.Subnet) []string {
		return collect(v.Ipv6CidrBlockAssociationSet, func(a types.SubnetIpv6CidrBlockAssociation) []string { return enum(val(a.Ipv6CidrBlockState).State) })
	},
	"outpost-arn": func(v types.Subnet) []string { return text(v.OutpostArn) },
}

var furtherZoneFilters = filterTable[types.AvailabilityZone]{
	"group-long-name": func(z types.AvailabilityZone) []string { return text(z.GroupLongName) },
	"message": func(z types.AvailabilityZone) []string {
		return collect(z.Messages, func(m types.AvailabilityZoneMessage) []string { return text(m.Message) })
	},
	"parent-zone-id":   func(z types.AvailabilityZone) []string { return text(z.ParentZoneId) },
	"parent-zone-name": func(z types.AvailabilityZone) []string { return text(z.ParentZoneName) },
}
