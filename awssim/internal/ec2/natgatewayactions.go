package ec2

import (
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var natListing = listing[types.NatGateway]{
	kind: natGatewayID, id: func(g types.NatGateway) string { return *g.NatGatewayId }, tags: func(g types.NatGateway) []types.Tag { return g.Tags }, pages: commonPages,
	filters: filterTable[types.NatGateway]{
		"nat-gateway-id": func(g types.NatGateway) []string { return text(g.NatGatewayId) },
		"state":          func(g types.NatGateway) []string { return enum(g.State) },
		"subnet-id":      func(g types.NatGateway) []string { return text(g.SubnetId) },
		"vpc-id":         func(g types.NatGateway) []string { return text(g.VpcId) },
	},
}

func describeNatGateways(c *sim.Call, in *awsec2.DescribeNatGatewaysInput) (*awsec2.DescribeNatGatewaysOutput, error) {
	found, next, err := natListing.read(stateOf(c.Region).natGateways.VisibleAll(), query{in.NatGatewayIds, in.Filter, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeNatGatewaysOutput{NatGateways: found, NextToken: next}, nil
}

func createNatGateway(c *sim.Call, in *awsec2.CreateNatGatewayInput) (*awsec2.CreateNatGatewayOutput, error) {
	s := stateOf(c.Region)
	asked := *in
	asked.DryRun = nil
	if answer, err := replay[awsec2.CreateNatGatewayOutput](s.tokens, c.Action, in.ClientToken, maxInstanceToken, asked); answer != nil || err != nil {
		return answer, err
	}
	subnet, tags, err := s.natGateways.check(in)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	gateway := types.NatGateway{
		NatGatewayId: ptr(c.Kernel.NewID("nat-", 17)), SubnetId: subnet.SubnetId, VpcId: subnet.VpcId, State: types.NatGatewayStatePending,
		CreateTime: ptr(c.Now.Truncate(time.Second)), ConnectivityType: in.ConnectivityType, AvailabilityMode: types.AvailabilityModeZonal, Tags: tags,
		NatGatewayAddresses: []types.NatGatewayAddress{{AllocationId: in.AllocationId, IsPrimary: ptr(true), Status: types.NatGatewayAddressStatusAssociating}},
	}
	if gateway.ConnectivityType == "" {
		gateway.ConnectivityType = types.ConnectivityTypePublic
	}
	gateway = s.natGateways.start(gateway, subnet, val(in.PrivateIpAddress))
	s.natGateways.Put(*gateway.NatGatewayId, gateway)
	c.Kernel.After(natCreation, func() { s.natGateways.finish(*gateway.NatGatewayId) })
	out := &awsec2.CreateNatGatewayOutput{NatGateway: &gateway, ClientToken: in.ClientToken}
	remember(s.tokens, c.Action, in.ClientToken, asked, out)
	return out, nil
}

// deleteNatGateway starts the end of a gateway. Its address is disassociated then, but stays
// allocated (API reference, DeleteNatGateway).
func deleteNatGateway(c *sim.Call, in *awsec2.DeleteNatGatewayInput) (*awsec2.DeleteNatGatewayOutput, error) {
	s := stateOf(c.Region)
	gateway, err := s.natGateways.find(in.NatGatewayId)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	id := *gateway.NatGatewayId
	if gateway.State == types.NatGatewayStateDeleting || gateway.State == types.NatGatewayStateDeleted {
		return &awsec2.DeleteNatGatewayOutput{NatGatewayId: &id}, nil
	}
	gateway.State = types.NatGatewayStateDeleting
	s.natGateways.Put(id, gateway)
	c.Kernel.After(natDeletion, func() {
		gateway, ok := s.natGateways.Get(id)
		if !ok {
			return
		}
		part := gateway.NatGatewayAddresses[0]
		if address, ok := s.elastics.Get(val(part.AllocationId)); ok && val(address.NetworkInterfaceId) == val(part.NetworkInterfaceId) && part.NetworkInterfaceId != nil {
			s.elastics.Put(*address.AllocationId, free(address))
		}
		if n, ok := s.interfaces.Get(val(part.NetworkInterfaceId)); ok {
			s.interfaces.drop(n)
		}
		gateway.State, gateway.DeleteTime = types.NatGatewayStateDeleted, ptr(s.kernel.Now().Truncate(time.Second))
		s.natGateways.Put(id, gateway)
		s.kernel.After(natTombstone, func() { s.natGateways.Delete(id) })
	})
	return &awsec2.DeleteNatGatewayOutput{NatGatewayId: &id}, nil
}
