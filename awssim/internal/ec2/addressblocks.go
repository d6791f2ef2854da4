package ec2

import (
	"net/netip"
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// mostBlocks limits the IPv4 blocks of a VPC (VPC User Guide, "Amazon VPC quotas").
const mostBlocks = 5

// blocksOf returns the IPv4 blocks of a VPC, the primary one first.
func blocksOf(vpc types.Vpc) []netip.Prefix {
	var blocks []netip.Prefix
	for _, association := range vpc.CidrBlockAssociationSet {
		if prefix, err := netip.ParsePrefix(val(association.CidrBlock)); err == nil {
			blocks = append(blocks, prefix)
		}
	}
	return blocks
}

// associateVpcCidrBlock adds an IPv4 block to a VPC, and a local route to it to each of the VPC's
// route tables (VPC User Guide, "VPC CIDR blocks": the size is between /28 and /16, and a block
// must not overlap with one that the VPC has). The code and the words for a block that overlaps are
// an inference. The private ranges that cannot be combined are not known here.
func associateVpcCidrBlock(c *sim.Call, in *awsec2.AssociateVpcCidrBlockInput) (*awsec2.AssociateVpcCidrBlockOutput, error) {
	s := stateOf(c.Region)
	ipv6 := val(in.AmazonProvidedIpv6CidrBlock) || in.Ipv6CidrBlock != nil || in.Ipv6IpamPoolId != nil || in.Ipv6Pool != nil || in.Ipv6NetmaskLength != nil
	if err := firstError(
		unsupportedMember(ipv6, "IPv6 addresses"),
		unsupportedMember(in.Ipv4IpamPoolId != nil || in.Ipv4NetmaskLength != nil, "address pools of IPAM"),
	); err != nil {
		return nil, err
	}
	vpc, err := s.vpcs.find(in.VpcId)
	if err != nil {
		return nil, err
	}
	if val(in.CidrBlock) == "" {
		return nil, missingParameter("cidrBlock")
	}
	block, err := blockSize(*in.CidrBlock, "InvalidVpc.Range")
	if err != nil {
		return nil, err
	}
	blocks := blocksOf(vpc)
	if slices.ContainsFunc(blocks, block.Overlaps) {
		return nil, sim.Errorf("InvalidVpc.Conflict", "The CIDR '%s' conflicts with another CIDR block of the VPC", block)
	}
	if len(blocks) >= mostBlocks {
		return nil, sim.Errorf("CidrLimitExceeded", "This network '%s' has met its maximum number of allowed CIDRs: %d", *vpc.VpcId, mostBlocks)
	}
	association := blockAssociation(c.Kernel.NewID("vpc-cidr-assoc-", 17), block.String())
	vpc.CidrBlockAssociationSet = append(slices.Clone(vpc.CidrBlockAssociationSet), association)
	s.vpcs.Put(*vpc.VpcId, vpc)
	s.routeTables.changeEach(*vpc.VpcId, func(table *types.RouteTable) {
		table.Routes = append(slices.Clone(table.Routes), localRoute(ptr(block.String())))
	})
	// in the answer; a describe finds it associated
	association.CidrBlockState = &types.VpcCidrBlockState{State: types.VpcCidrBlockStateCodeAssociating}
	return &awsec2.AssociateVpcCidrBlockOutput{VpcId: vpc.VpcId, CidrBlockAssociation: &association}, nil
}

func blockAssociation(id, cidr string) types.VpcCidrBlockAssociation {
	return types.VpcCidrBlockAssociation{AssociationId: ptr(id), CidrBlock: ptr(cidr), CidrBlockState: &types.VpcCidrBlockState{State: types.VpcCidrBlockStateCodeAssociated}}
}

// disassociateVpcCidrBlock takes a block from a VPC that is not its primary one and has no subnets
// (API reference, DisassociateVpcCidrBlock: "You must detach or delete all gateways and resources
// that are associated with the CIDR block before"). The code for a block with subnets is an
// inference.
func disassociateVpcCidrBlock(c *sim.Call, in *awsec2.DisassociateVpcCidrBlockInput) (*awsec2.DisassociateVpcCidrBlockOutput, error) {
	s := stateOf(c.Region)
	if val(in.AssociationId) == "" {
		return nil, missingParameter("associationId")
	}
	vpc, place := s.vpcs.findBlock(*in.AssociationId)
	switch {
	case place < 0:
		return nil, sim.Errorf("InvalidVpcCidrBlockAssociationID.NotFound", "The vpc CIDR block association ID '%s' does not exist", *in.AssociationId)
	case place == 0:
		return nil, sim.Errorf("OperationNotPermitted", "The vpc CIDR block with association ID %s may not be disassociated. It is the primary IPv4 CIDR block of the VPC", *in.AssociationId)
	}
	association := vpc.CidrBlockAssociationSet[place]
	block, err := netip.ParsePrefix(*association.CidrBlock)
	if err != nil {
		return nil, err
	}
	for _, subnet := range s.subnets.All() {
		if within, err := netip.ParsePrefix(val(subnet.CidrBlock)); err == nil && val(subnet.VpcId) == *vpc.VpcId && block.Overlaps(within) {
			return nil, sim.Errorf("InvalidCidrBlock.InUse", "The vpc %s currently has a subnet within CIDR block %s", *vpc.VpcId, block)
		}
	}
	vpc.CidrBlockAssociationSet = slices.Delete(slices.Clone(vpc.CidrBlockAssociationSet), place, place+1)
	s.vpcs.Put(*vpc.VpcId, vpc)
	s.routeTables.changeEach(*vpc.VpcId, func(table *types.RouteTable) {
		table.Routes = slices.DeleteFunc(slices.Clone(table.Routes), func(route types.Route) bool {
			return val(route.GatewayId) == localTarget && val(route.DestinationCidrBlock) == *association.CidrBlock
		})
	})
	association.CidrBlockState = &types.VpcCidrBlockState{State: types.VpcCidrBlockStateCodeDisassociating}
	return &awsec2.DisassociateVpcCidrBlockOutput{VpcId: vpc.VpcId, CidrBlockAssociation: &association}, nil
}
