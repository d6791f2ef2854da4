package ec2

import (
	"net/netip"
	"slices"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

var vpcListing = listing[types.Vpc]{
	kind: vpcID, id: func(v types.Vpc) string { return *v.VpcId }, tags: func(v types.Vpc) []types.Tag { return v.Tags }, pages: commonPages,
	filters: filterTable[types.Vpc]{
		"cidr": func(v types.Vpc) []string { return text(v.CidrBlock) },
		"cidr-block-association.association-id": func(v types.Vpc) []string {
			return collect(v.CidrBlockAssociationSet, func(a types.VpcCidrBlockAssociation) []string { return text(a.AssociationId) })
		},
		"cidr-block-association.cidr-block": func(v types.Vpc) []string {
			return collect(v.CidrBlockAssociationSet, func(a types.VpcCidrBlockAssociation) []string { return text(a.CidrBlock) })
		},
		"cidr-block-association.state": func(v types.Vpc) []string {
			return collect(v.CidrBlockAssociationSet, func(a types.VpcCidrBlockAssociation) []string { return enum(a.CidrBlockState.State) })
		},
		"dhcp-options-id": func(v types.Vpc) []string { return text(v.DhcpOptionsId) },
		"is-default":      func(v types.Vpc) []string { return boolean(v.IsDefault) },
		// the documented name until 2020, which many scripts use
		"isDefault": func(v types.Vpc) []string { return boolean(v.IsDefault) },
		"owner-id":  func(v types.Vpc) []string { return text(v.OwnerId) },
		"state":     func(v types.Vpc) []string { return enum(v.State) },
		"vpc-id":    func(v types.Vpc) []string { return text(v.VpcId) },
	}.with(furtherVpcFilters),
}

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

func describeVpcs(c *sim.Call, in *awsec2.DescribeVpcsInput) (*awsec2.DescribeVpcsOutput, error) {
	found, next, err := vpcListing.read(stateOf(c.Region).vpcs.VisibleAll(), query{in.VpcIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeVpcsOutput{Vpcs: found, NextToken: next}, nil
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

func createVpc(c *sim.Call, in *awsec2.CreateVpcInput) (*awsec2.CreateVpcOutput, error) {
	s := stateOf(c.Region)
	ipv6 := val(in.AmazonProvidedIpv6CidrBlock) || in.Ipv6CidrBlock != nil || in.Ipv6IpamPoolId != nil || in.Ipv6Pool != nil || in.Ipv6NetmaskLength != nil
	if err := firstError(
		unsupportedMember(ipv6, "IPv6 addresses"),
		unsupportedMember(in.Ipv4IpamPoolId != nil || in.Ipv4NetmaskLength != nil, "address pools of IPAM"),
		unsupportedMember(in.VpcEncryptionControl != nil, "encryption control"),
	); err != nil {
		return nil, err
	}
	if val(in.CidrBlock) == "" {
		return nil, missingParameter("cidrBlock")
	}
	prefix, err := blockSize(*in.CidrBlock, "InvalidVpcRange")
	if err != nil {
		return nil, err
	}
	// SDK, CreateVpcInput.InstanceTenancy: "The host value cannot be used with this parameter".
	if err := checkEnum("instanceTenancy", in.InstanceTenancy, []types.Tenancy{types.TenancyDefault, types.TenancyDedicated}); err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeVpc, types.ResourceTypeVpc)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	vpc := s.vpcs.newVPC(c.Kernel.NewID("vpc-", 17), prefix.String(), false, tags)
	if in.InstanceTenancy != "" {
		vpc.InstanceTenancy = in.InstanceTenancy
	}
	s.vpcs.add(vpc, vpcSettings{dnsSupport: true}, freshID(s.kernel))
	s.groups.add(s.groups.newGroup(c.Kernel.NewID("sg-", 17), defaultGroup, "default VPC security group", *vpc.VpcId, nil), freshID(s.kernel))
	// in the answer, as in the API reference's example; a describe finds it available
	vpc.State = types.VpcStatePending
	// The examples of the AWS CLI show the empty list in this answer, and none in that of
	// DescribeVpcs.
	vpc.Ipv6CidrBlockAssociationSet = []types.VpcIpv6CidrBlockAssociation{}
	return &awsec2.CreateVpcOutput{Vpc: &vpc}, nil
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

// deleteVpc refuses to delete a VPC that has more than what came with it (API reference, DeleteVpc).
func deleteVpc(c *sim.Call, in *awsec2.DeleteVpcInput) (*awsec2.DeleteVpcOutput, error) {
	s := stateOf(c.Region)
	vpc, err := s.vpcs.find(in.VpcId)
	if err != nil {
		return nil, err
	}
	id := *vpc.VpcId
	if s.vpcs.inUse(id) {
		return nil, dependencyViolation("vpc", id)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	for _, g := range s.groups.All() {
		if val(g.VpcId) == id {
			s.groups.drop(*g.GroupId)
		}
	}
	s.routeTables.Delete(*s.routeTables.mainOf(id).RouteTableId)
	s.acls.Delete(*s.acls.defaultOf(id).NetworkAclId)
	s.vpcs.settings.Delete(id)
	s.vpcs.Delete(id)
	return &awsec2.DeleteVpcOutput{}, nil
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

func describeVpcAttribute(c *sim.Call, in *awsec2.DescribeVpcAttributeInput) (*awsec2.DescribeVpcAttributeOutput, error) {
	s := stateOf(c.Region)
	found, err := selectByID(vpcID, s.vpcs.VisibleAll(), vpcListing.id, []string{val(in.VpcId)})
	if err != nil {
		return nil, err
	}
	settings, _ := s.vpcs.settings.Visible(*in.VpcId)
	out := &awsec2.DescribeVpcAttributeOutput{VpcId: found[0].VpcId}
	switch in.Attribute {
	case types.VpcAttributeNameEnableDnsSupport:
		out.EnableDnsSupport = &types.AttributeBooleanValue{Value: ptr(settings.dnsSupport)}
	case types.VpcAttributeNameEnableDnsHostnames:
		out.EnableDnsHostnames = &types.AttributeBooleanValue{Value: ptr(settings.dnsHostnames)}
	case types.VpcAttributeNameEnableNetworkAddressUsageMetrics:
		out.EnableNetworkAddressUsageMetrics = &types.AttributeBooleanValue{Value: ptr(settings.usageMetrics)}
	case "":
		return nil, missingParameter("attribute")
	default:
		return nil, checkEnum("attribute", in.Attribute, in.Attribute.Values())
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	return out, nil
}

// modifyVpcAttribute changes one attribute. DNS hostnames need DNS support (SDK,
// ModifyVpcAttributeInput); the code for that is an inference.
func modifyVpcAttribute(c *sim.Call, in *awsec2.ModifyVpcAttributeInput) (*awsec2.ModifyVpcAttributeOutput, error) {
	s := stateOf(c.Region)
	vpc, err := s.vpcs.find(in.VpcId)
	if err != nil {
		return nil, err
	}
	settings, _ := s.vpcs.settings.Get(*vpc.VpcId)
	given := 0
	for _, change := range []struct {
		to     *types.AttributeBooleanValue
		member *bool
	}{
		{in.EnableDnsSupport, &settings.dnsSupport}, {in.EnableDnsHostnames, &settings.dnsHostnames},
		{in.EnableNetworkAddressUsageMetrics, &settings.usageMetrics},
	} {
		if change.to != nil {
			given++
			*change.member = val(change.to.Value)
		}
	}
	switch {
	case given == 0:
		return nil, missingParameter("enableDnsSupport, enableDnsHostnames or enableNetworkAddressUsageMetrics")
	case given > 1:
		return nil, errManyAttributes
	case in.EnableDnsHostnames != nil && settings.dnsHostnames && !settings.dnsSupport:
		return nil, invalidCombination("DNS hostnames can only be enabled if DNS support is enabled.")
	}
	s.vpcs.settings.Put(*vpc.VpcId, settings)
	return &awsec2.ModifyVpcAttributeOutput{}, nil
}

// errManyAttributes is the answer to a Modify that names several attributes where EC2 takes one.
// The words are an inference.
var errManyAttributes = invalidCombination("Fields for multiple attribute types specified.")
