package ec2

import (
	"net/netip"
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// subnets holds the subnets of a Region, and which of their addresses are taken.
type subnets struct {
	*sim.Table[types.Subnet]
	region    *sim.Region
	acls      *networkACLs
	addresses map[string]*addressPool // by subnet id
}

func (ss *subnets) fromWorld(v world.Subnet) types.Subnet {
	subnet := ss.newSubnet(v.ID, v.VPC, v.Zone, v.CIDR, tagList(v.Tags))
	subnet.MapPublicIpOnLaunch = ptr(v.MapPublicIPOnLaunch)
	subnet.DefaultForAz = ptr(v.DefaultForZone)
	return subnet
}

func (ss *subnets) newSubnet(id, vpc, zone, cidr string, tags []types.Tag) types.Subnet {
	subnet := types.Subnet{
		SubnetId: ptr(id), VpcId: ptr(vpc), AvailabilityZone: ptr(zone), CidrBlock: ptr(cidr), OwnerId: ptr(ss.region.Account.ID),
		SubnetArn: ptr(resourceARN(ss.region, "subnet/"+id)), State: types.SubnetStateAvailable, MapPublicIpOnLaunch: ptr(false), DefaultForAz: ptr(false),
		AssignIpv6AddressOnCreation: ptr(false), EnableDns64: ptr(false), Ipv6Native: ptr(false), MapCustomerOwnedIpOnLaunch: ptr(false),
		PrivateDnsNameOptionsOnLaunch: &types.PrivateDnsNameOptionsOnLaunch{
			HostnameType: types.HostnameTypeIpName, EnableResourceNameDnsARecord: ptr(false), EnableResourceNameDnsAAAARecord: ptr(false),
		},
		Tags: tags,
	}
	if z := ss.region.World().Zone(zone); z != nil {
		subnet.AvailabilityZoneId = ptr(z.ID)
	}
	return subnet
}

// add stores a new subnet, which the VPC's default network ACL is associated with (VPC User
// Guide, "Control subnet traffic with network access control lists").
func (ss *subnets) add(subnet types.Subnet, newID idMaker) {
	id := *subnet.SubnetId
	ss.Put(id, subnet)
	acl := ss.acls.defaultOf(*subnet.VpcId)
	ss.acls.Put(*acl.NetworkAclId, withSubnet(acl, id, newID("aclassoc-", id)))
}

// freeBlock checks that a block lies in the VPC and overlaps with none of its subnets.
func (ss *subnets) freeBlock(vpc types.Vpc, cidr string) (netip.Prefix, error) {
	prefix, err := blockSize(cidr, "InvalidSubnet.Range")
	if err != nil {
		return prefix, err
	}
	within := func(whole netip.Prefix) bool { return whole.Contains(prefix.Addr()) && prefix.Bits() >= whole.Bits() }
	if !slices.ContainsFunc(blocksOf(vpc), within) {
		return prefix, sim.Errorf("InvalidSubnet.Range", "The CIDR '%s' is invalid.", cidr)
	}
	for _, other := range ss.All() {
		if block, err := netip.ParsePrefix(val(other.CidrBlock)); err == nil && val(other.VpcId) == *vpc.VpcId && block.Overlaps(prefix) {
			return prefix, sim.Errorf("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", cidr)
		}
	}
	return prefix, nil
}

func (ss *subnets) zoneFor(in *awsec2.CreateSubnetInput) (string, error) {
	for _, z := range ss.region.World().Zones {
		if (val(in.AvailabilityZone) == "" && val(in.AvailabilityZoneId) == "") || z.Name == val(in.AvailabilityZone) || z.ID == val(in.AvailabilityZoneId) {
			return z.Name, nil
		}
	}
	return "", invalidValue("availabilityZone", val(in.AvailabilityZone)+val(in.AvailabilityZoneId), "Subnets can currently only be created in the Availability Zones of the Region.")
}

func (ss *subnets) find(id *string) (types.Subnet, error) {
	if val(id) == "" {
		return types.Subnet{}, missingParameter("subnetId")
	}
	if err := subnetID.check(*id); err != nil {
		return types.Subnet{}, err
	}
	subnet, ok := ss.Get(*id)
	if !ok {
		return types.Subnet{}, subnetID.missing(*id)
	}
	return subnet, nil
}
