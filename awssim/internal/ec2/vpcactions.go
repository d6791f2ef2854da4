package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
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

func describeVpcs(c *sim.Call, in *awsec2.DescribeVpcsInput) (*awsec2.DescribeVpcsOutput, error) {
	found, next, err := vpcListing.read(stateOf(c.Region).vpcs.VisibleAll(), query{in.VpcIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeVpcsOutput{Vpcs: found, NextToken: next}, nil
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
	// The examples of the AWS CLI show the empty list in this answer, and none in the answer of
	// DescribeVpcs.
	vpc.Ipv6CidrBlockAssociationSet = []types.VpcIpv6CidrBlockAssociation{}
	return &awsec2.CreateVpcOutput{Vpc: &vpc}, nil
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
