package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var gatewayListing = listing[types.InternetGateway]{
	kind: internetGatewayID, id: func(g types.InternetGateway) string { return *g.InternetGatewayId }, pages: commonPages,
	tags: func(g types.InternetGateway) []types.Tag { return g.Tags },
	filters: filterTable[types.InternetGateway]{
		"attachment.state": func(g types.InternetGateway) []string {
			return collect(g.Attachments, func(a types.InternetGatewayAttachment) []string { return enum(a.State) })
		},
		"attachment.vpc-id": func(g types.InternetGateway) []string {
			return collect(g.Attachments, func(a types.InternetGatewayAttachment) []string { return text(a.VpcId) })
		},
		"internet-gateway-id": func(g types.InternetGateway) []string { return text(g.InternetGatewayId) },
		"owner-id":            func(g types.InternetGateway) []string { return text(g.OwnerId) },
	},
}

func describeInternetGateways(c *sim.Call, in *awsec2.DescribeInternetGatewaysInput) (*awsec2.DescribeInternetGatewaysOutput, error) {
	q := query{in.InternetGatewayIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun}
	found, next, err := gatewayListing.read(stateOf(c.Region).internetGateways.VisibleAll(), q)
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeInternetGatewaysOutput{InternetGateways: found, NextToken: next}, nil
}

func createInternetGateway(c *sim.Call, in *awsec2.CreateInternetGatewayInput) (*awsec2.CreateInternetGatewayOutput, error) {
	s := stateOf(c.Region)
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeInternetGateway, types.ResourceTypeInternetGateway)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	gateway := s.internetGateways.newGateway(c.Kernel.NewID("igw-", 17), tags)
	s.internetGateways.Put(*gateway.InternetGatewayId, gateway)
	return &awsec2.CreateInternetGatewayOutput{InternetGateway: &gateway}, nil
}

func attachInternetGateway(c *sim.Call, in *awsec2.AttachInternetGatewayInput) (*awsec2.AttachInternetGatewayOutput, error) {
	s := stateOf(c.Region)
	gateway, err := s.internetGateways.find(in.InternetGatewayId)
	if err != nil {
		return nil, err
	}
	vpc, err := s.vpcs.find(in.VpcId)
	if err != nil {
		return nil, err
	}
	if len(gateway.Attachments) > 0 {
		return nil, sim.Errorf("Resource.AlreadyAssociated", "resource %s is already attached to network %s", *gateway.InternetGatewayId, *gateway.Attachments[0].VpcId)
	}
	if s.internetGateways.attachedTo(*vpc.VpcId) {
		return nil, sim.Errorf("InvalidParameterValue", "Network %s already has an internet gateway attached", *vpc.VpcId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	gateway.Attachments = gatewayAttachment(*vpc.VpcId)
	s.internetGateways.Put(*gateway.InternetGatewayId, gateway)
	return &awsec2.AttachInternetGatewayOutput{}, nil
}

// detachInternetGateway refuses to detach a gateway from a VPC with public addresses (error codes,
// DependencyViolation).
func detachInternetGateway(c *sim.Call, in *awsec2.DetachInternetGatewayInput) (*awsec2.DetachInternetGatewayOutput, error) {
	s := stateOf(c.Region)
	gateway, err := s.internetGateways.find(in.InternetGatewayId)
	if err != nil {
		return nil, err
	}
	vpc, err := s.vpcs.find(in.VpcId)
	if err != nil {
		return nil, err
	}
	if !isAttachedTo(gateway, *vpc.VpcId) {
		return nil, sim.Errorf("Gateway.NotAttached", "resource %s is not attached to network %s", *gateway.InternetGatewayId, *vpc.VpcId)
	}
	for _, n := range s.interfaces.All() {
		if *n.VpcId == *vpc.VpcId && n.Association != nil {
			return nil, sim.Errorf("DependencyViolation", "Network %s has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.", *vpc.VpcId)
		}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	gateway.Attachments = nil
	s.internetGateways.Put(*gateway.InternetGatewayId, gateway)
	return &awsec2.DetachInternetGatewayOutput{}, nil
}

func deleteInternetGateway(c *sim.Call, in *awsec2.DeleteInternetGatewayInput) (*awsec2.DeleteInternetGatewayOutput, error) {
	s := stateOf(c.Region)
	gateway, err := s.internetGateways.find(in.InternetGatewayId)
	if err != nil {
		return nil, err
	}
	if len(gateway.Attachments) > 0 {
		return nil, dependencyViolation("internetGateway", *gateway.InternetGatewayId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.internetGateways.Delete(*gateway.InternetGatewayId)
	return &awsec2.DeleteInternetGatewayOutput{}, nil
}
