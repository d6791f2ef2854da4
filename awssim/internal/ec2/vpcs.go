package ec2

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// vpcs holds the VPCs of a Region.
type vpcs struct {
	*sim.Table[types.Vpc]
	region   *sim.Region
	settings *sim.Table[vpcSettings] // by VPC id

	acls             *networkACLs
	routeTables      *routeTables
	internetGateways *internetGateways
	dhcpOptions      *dhcpOptionSets
	subnets          *sim.Table[types.Subnet]
	groups           *sim.Table[types.SecurityGroup]
}

func (vs *vpcs) fromWorld(v world.VPC) types.Vpc {
	return vs.newVPC(v.ID, v.CIDR, v.Default, tagList(v.Tags))
}

func (vs *vpcs) newVPC(id, cidr string, isDefault bool, tags []types.Tag) types.Vpc {
	return types.Vpc{
		VpcId: ptr(id), CidrBlock: ptr(cidr), IsDefault: ptr(isDefault), OwnerId: ptr(vs.region.Account.ID),
		State: types.VpcStateAvailable, InstanceTenancy: types.TenancyDefault, DhcpOptionsId: ptr(vs.dhcpOptions.defaultID()),
		CidrBlockAssociationSet: []types.VpcCidrBlockAssociation{blockAssociation("vpc-cidr-assoc-"+strings.TrimPrefix(id, "vpc-"), cidr)},
		Tags:                    tags,
	}
}

// blockSize checks the size of a VPC or a subnet (error codes, InvalidVpcRange and
// InvalidSubnet.Range: "between a /28 netmask and /16").
func blockSize(cidr, code string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil || !prefix.Addr().Is4() {
		return prefix, sim.Errorf("InvalidParameterValue", "Value (%s) for parameter cidrBlock is invalid. This is not a valid CIDR block.", cidr)
	}
	if prefix.Bits() < 16 || prefix.Bits() > 28 {
		return prefix, sim.Errorf(code, "The CIDR '%s' is invalid.", cidr)
	}
	return prefix.Masked(), nil
}

// add stores a VPC with its main route table and its default network ACL.
func (vs *vpcs) add(vpc types.Vpc, settings vpcSettings, newID idMaker) {
	id := *vpc.VpcId
	vs.Put(id, vpc)
	vs.settings.Put(id, settings)
	table := vs.routeTables.newTable(newID("rtb-", id), vpc, nil)
	table.Associations = []types.RouteTableAssociation{{
		Main: ptr(true), RouteTableId: table.RouteTableId, RouteTableAssociationId: ptr(newID("rtbassoc-", id)), AssociationState: routeAssociated(),
	}}
	vs.routeTables.Put(*table.RouteTableId, table)
	acl := vs.acls.newACL(newID("acl-", id), id, true, nil)
	vs.acls.Put(*acl.NetworkAclId, acl)
}

// inUse reports whether a VPC has something that it did not begin with.
func (vs *vpcs) inUse(id string) bool {
	for _, g := range vs.groups.All() {
		if val(g.VpcId) == id && val(g.GroupName) != defaultGroup {
			return true
		}
	}
	for _, subnet := range vs.subnets.All() {
		if val(subnet.VpcId) == id {
			return true
		}
	}
	for _, table := range vs.routeTables.All() {
		if val(table.VpcId) == id && !isMain(table) {
			return true
		}
	}
	for _, acl := range vs.acls.All() {
		if val(acl.VpcId) == id && !val(acl.IsDefault) {
			return true
		}
	}
	return vs.internetGateways.attachedTo(id)
}

func (vs *vpcs) find(id *string) (types.Vpc, error) {
	if val(id) == "" {
		return types.Vpc{}, missingParameter("vpcId")
	}
	if err := vpcID.check(*id); err != nil {
		return types.Vpc{}, err
	}
	vpc, ok := vs.Get(*id)
	if !ok {
		return vpc, vpcID.missing(*id)
	}
	return vpc, nil
}

// forGroup returns the VPC that is named, or the default one.
func (vs *vpcs) forGroup(id string) (string, error) {
	if id != "" {
		if err := vpcID.check(id); err != nil {
			return "", err
		}
		if _, ok := vs.Get(id); !ok {
			return "", vpcID.missing(id)
		}
		return id, nil
	}
	if vpc, ok := vs.defaultVPC(); ok {
		return *vpc.VpcId, nil
	}
	return "", sim.Errorf("VPCIdNotSpecified", "No default VPC for this user")
}

func (vs *vpcs) defaultVPC() (types.Vpc, bool) {
	for _, v := range vs.All() {
		if val(v.IsDefault) {
			return v, true
		}
	}
	return types.Vpc{}, false
}

// findBlock returns the VPC with an association of a block, and the place of the association, -1 if
// there is none.
func (vs *vpcs) findBlock(id string) (types.Vpc, int) {
	for _, vpc := range vs.All() {
		place := slices.IndexFunc(vpc.CidrBlockAssociationSet, func(a types.VpcCidrBlockAssociation) bool { return val(a.AssociationId) == id })
		if place >= 0 {
			return vpc, place
		}
	}
	return types.Vpc{}, -1
}

// vpcSettings holds the attributes of a VPC that DescribeVpcs does not show.
type vpcSettings struct{ dnsSupport, dnsHostnames, usageMetrics bool }
