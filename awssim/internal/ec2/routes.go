package ec2

import (
	"net/netip"
	"slices"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func createRoute(c *sim.Call, in *awsec2.CreateRouteInput) (*awsec2.CreateRouteOutput, error) {
	s := stateOf(c.Region)
	table, route, err := routeAsked(s, in)
	if err != nil {
		return nil, err
	}
	if place := routePlace(table, *route.DestinationCidrBlock); place >= 0 {
		return nil, sim.Errorf("RouteAlreadyExists", "The route identified by %s already exists.", *route.DestinationCidrBlock)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	table.Routes = append(slices.Clone(table.Routes), route)
	s.routeTables.Put(*table.RouteTableId, table)
	return &awsec2.CreateRouteOutput{Return: ptr(true)}, nil
}

func replaceRoute(c *sim.Call, in *awsec2.ReplaceRouteInput) (*awsec2.ReplaceRouteOutput, error) {
	s := stateOf(c.Region)
	asked := &awsec2.CreateRouteInput{
		RouteTableId: in.RouteTableId, CarrierGatewayId: in.CarrierGatewayId, CoreNetworkArn: in.CoreNetworkArn, DestinationCidrBlock: in.DestinationCidrBlock,
		DestinationIpv6CidrBlock: in.DestinationIpv6CidrBlock, DestinationPrefixListId: in.DestinationPrefixListId,
		EgressOnlyInternetGatewayId: in.EgressOnlyInternetGatewayId, GatewayId: in.GatewayId, InstanceId: in.InstanceId, LocalGatewayId: in.LocalGatewayId,
		NatGatewayId: in.NatGatewayId, NetworkInterfaceId: in.NetworkInterfaceId, OdbNetworkArn: in.OdbNetworkArn, TransitGatewayId: in.TransitGatewayId,
		VpcPeeringConnectionId: in.VpcPeeringConnectionId,
	}
	if in.VpcEndpointId != nil || val(in.LocalTarget) {
		return nil, unsupportedMember(true, "endpoints and replaced local routes")
	}
	table, route, err := routeAsked(s, asked)
	if err != nil {
		return nil, err
	}
	place, err := changeableRoute(table, *route.DestinationCidrBlock)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	table.Routes = slices.Clone(table.Routes)
	table.Routes[place] = route
	s.routeTables.Put(*table.RouteTableId, table)
	return &awsec2.ReplaceRouteOutput{}, nil
}

func deleteRoute(c *sim.Call, in *awsec2.DeleteRouteInput) (*awsec2.DeleteRouteOutput, error) {
	s := stateOf(c.Region)
	table, err := s.routeTables.find(in.RouteTableId)
	if err != nil {
		return nil, err
	}
	destination, err := destinationOf(in.DestinationCidrBlock, in.DestinationIpv6CidrBlock, in.DestinationPrefixListId)
	if err != nil {
		return nil, err
	}
	place, err := changeableRoute(table, destination)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	table.Routes = slices.Delete(slices.Clone(table.Routes), place, place+1)
	s.routeTables.Put(*table.RouteTableId, table)
	return &awsec2.DeleteRouteOutput{}, nil
}

// destinationOf returns the destination of a route in its canonical form (SDK,
// CreateRouteInput.DestinationCidrBlock).
func destinationOf(ipv4, ipv6, prefixList *string) (string, error) {
	if err := unsupportedMember(ipv6 != nil || prefixList != nil, "routes for IPv6 and prefix lists"); err != nil {
		return "", err
	}
	if val(ipv4) == "" {
		return "", missingParameter("destinationCidrBlock")
	}
	prefix, err := netip.ParsePrefix(*ipv4)
	if err != nil || !prefix.Addr().Is4() {
		return "", invalidValue("destinationCidrBlock", *ipv4, "This is not a valid CIDR block.")
	}
	return prefix.Masked().String(), nil
}

func routePlace(table types.RouteTable, destination string) int {
	return slices.IndexFunc(table.Routes, func(r types.Route) bool { return val(r.DestinationCidrBlock) == destination })
}

// changeableRoute returns the place of a route that is not the local one.
func changeableRoute(table types.RouteTable, destination string) (int, error) {
	place := routePlace(table, destination)
	if place < 0 {
		return place, sim.Errorf("InvalidRoute.NotFound", "no route with destination-cidr-block %s in route table %s", destination, *table.RouteTableId)
	}
	if val(table.Routes[place].GatewayId) == localTarget {
		return place, sim.Errorf("InvalidParameterValue", "cannot remove local route %s in route table %s", destination, *table.RouteTableId)
	}
	return place, nil
}

// routeAsked returns the route table and the route that a request describes.
func routeAsked(s *state, in *awsec2.CreateRouteInput) (types.RouteTable, types.Route, error) {
	route := types.Route{Origin: types.RouteOriginCreateRoute, State: types.RouteStateActive}
	others := []*string{in.CarrierGatewayId, in.CoreNetworkArn, in.EgressOnlyInternetGatewayId, in.LocalGatewayId, in.OdbNetworkArn, in.TransitGatewayId, in.VpcEndpointId, in.VpcPeeringConnectionId}
	if err := unsupportedMember(slices.ContainsFunc(others, func(id *string) bool { return id != nil }), "routes to gateways other than internet gateways and NAT gateways"); err != nil {
		return types.RouteTable{}, route, err
	}
	table, err := s.routeTables.find(in.RouteTableId)
	if err != nil {
		return table, route, err
	}
	destination, err := destinationOf(in.DestinationCidrBlock, in.DestinationIpv6CidrBlock, in.DestinationPrefixListId)
	if err != nil {
		return table, route, err
	}
	route.DestinationCidrBlock = ptr(destination)
	targets := 0
	for _, target := range []*string{in.GatewayId, in.NatGatewayId, in.NetworkInterfaceId, in.InstanceId} {
		if target != nil {
			targets++
		}
	}
	switch {
	case targets == 0:
		return table, route, missingParameter("gatewayId, natGatewayId, networkInterfaceId or instanceId")
	case targets > 1:
		return table, route, invalidCombination("Only one target of a route may be specified.")
	}
	return table, route, setTarget(s, &route, table, in)
}

// setTarget sets the target of a route, which is in the VPC of the route table.
func setTarget(s *state, route *types.Route, table types.RouteTable, in *awsec2.CreateRouteInput) error {
	switch {
	case in.NatGatewayId != nil:
		gateway, err := s.natGateways.find(in.NatGatewayId)
		if err != nil || gateway.State == types.NatGatewayStateDeleted {
			return sim.Errorf("InvalidNatGatewayID.NotFound", "The natGateway ID '%s' does not exist", *in.NatGatewayId)
		}
		route.NatGatewayId = gateway.NatGatewayId
		return sameNetwork(table, *gateway.VpcId, "nat gateway "+*gateway.NatGatewayId)
	case in.GatewayId != nil:
		if !strings.HasPrefix(*in.GatewayId, internetGatewayID.prefix+"-") {
			return sim.Errorf("InvalidGatewayID.NotFound", "The gateway ID '%s' does not exist", *in.GatewayId)
		}
		gateway, err := s.internetGateways.find(in.GatewayId)
		if err != nil {
			return err
		}
		route.GatewayId = gateway.InternetGatewayId
		if !isAttachedTo(gateway, *table.VpcId) {
			return sameNetwork(table, "", "network gateway "+*gateway.InternetGatewayId)
		}
		return nil
	case in.NetworkInterfaceId != nil:
		n, err := s.interfaces.find(*in.NetworkInterfaceId)
		if err != nil {
			return err
		}
		return setInterfaceTarget(route, table, n)
	}
	found, err := s.instances.named([]string{*in.InstanceId})
	if err != nil {
		return err
	}
	n, ok := s.interfaces.primaryOf(found[0])
	if !ok || len(found[0].api.NetworkInterfaces) > 1 {
		// Error codes, InvalidInstanceID: "This error may occur if … the instance has multiple
		// network interfaces".
		return sim.Errorf("InvalidInstanceID", "There are multiple interfaces attached to instance '%s'. Please specify an interface ID for the operation instead.", *in.InstanceId)
	}
	return setInterfaceTarget(route, table, n)
}

func setInterfaceTarget(route *types.Route, table types.RouteTable, n types.NetworkInterface) error {
	route.NetworkInterfaceId = n.NetworkInterfaceId
	if n.Attachment != nil {
		route.InstanceId, route.InstanceOwnerId = n.Attachment.InstanceId, n.Attachment.InstanceOwnerId
	}
	return sameNetwork(table, *n.VpcId, "interface "+*n.NetworkInterfaceId)
}

func sameNetwork(table types.RouteTable, vpc, target string) error {
	if *table.VpcId != vpc {
		return differentNetworks(table, target)
	}
	return nil
}

// withStates returns the routes of a table with their present states: a route whose target is gone
// or detached is a black hole (SDK, Route.State).
func withStates(s *state, table types.RouteTable) []types.Route {
	routes := slices.Clone(table.Routes)
	for i := range routes {
		route, works := &routes[i], true
		switch {
		case val(route.GatewayId) == localTarget:
		case route.GatewayId != nil:
			gateway, _ := s.internetGateways.Get(*route.GatewayId)
			works = isAttachedTo(gateway, *table.VpcId)
		case route.NatGatewayId != nil:
			gateway, _ := s.natGateways.Get(*route.NatGatewayId)
			works = gateway.State == types.NatGatewayStateAvailable || gateway.State == types.NatGatewayStatePending
		case route.NetworkInterfaceId != nil:
			n, _ := s.interfaces.Get(*route.NetworkInterfaceId)
			works = n.Attachment != nil
		}
		if route.State = types.RouteStateActive; !works {
			route.State = types.RouteStateBlackhole
		}
	}
	return routes
}
