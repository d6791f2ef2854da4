package ec2

import (
	"encoding/hex"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// network holds the parts of networks that belong to VPCs, subnets, and security groups.
type network struct {
	settings         *sim.Table[vpcSettings] // by VPC id
	rules            *sim.Table[types.SecurityGroupRule]
	interfaces       *sim.Table[types.NetworkInterface]
	acls             *sim.Table[types.NetworkAcl]
	routeTables      *sim.Table[types.RouteTable]
	internetGateways *sim.Table[types.InternetGateway]
	natGateways      *sim.Table[types.NatGateway]
	elastics         *sim.Table[types.Address] // by allocation id
	dhcpOptions      *sim.Table[types.DhcpOptions]
}

func newNetwork(k *sim.Kernel) network {
	return network{
		settings: sim.NewTable[vpcSettings](k), rules: sim.NewTable[types.SecurityGroupRule](k), interfaces: sim.NewTable[types.NetworkInterface](k),
		acls: sim.NewTable[types.NetworkAcl](k), routeTables: sim.NewTable[types.RouteTable](k), internetGateways: sim.NewTable[types.InternetGateway](k),
		natGateways: sim.NewTable[types.NatGateway](k), elastics: sim.NewTable[types.Address](k), dhcpOptions: sim.NewTable[types.DhcpOptions](k),
	}
}

// addWorld fills the state with the VPCs, subnets, and security groups of a world and what comes
// with them. A default VPC has an internet gateway (VPC User Guide, "Default VPC components"), and
// all VPCs of a world give DNS hostnames, as default VPCs do.
func (s *state) addWorld(w *world.Region) {
	s.putDHCPOptions()
	for _, v := range w.VPCs {
		vpc := s.vpcFromWorld(v)
		s.putVPC(vpc, vpcSettings{dnsSupport: true, dnsHostnames: true}, derivedID)
		if v.Default {
			gateway := s.newInternetGateway(derivedID("igw-", v.ID), nil)
			gateway.Attachments = gatewayAttachment(v.ID)
			s.internetGateways.Put(*gateway.InternetGatewayId, gateway)
			main := s.mainRouteTable(v.ID)
			main.Routes = append(main.Routes, types.Route{
				DestinationCidrBlock: ptr("0.0.0.0/0"), GatewayId: gateway.InternetGatewayId, State: types.RouteStateActive, Origin: types.RouteOriginCreateRoute,
			})
			s.routeTables.Put(*main.RouteTableId, main)
		}
	}
	for _, v := range w.Subnets {
		s.putSubnet(s.subnetFromWorld(v), derivedID)
	}
	for _, g := range w.SecurityGroups {
		s.putGroup(s.groupFromWorld(g), derivedID)
	}
}

// derivedID returns the identifier of something that comes with a resource of the world. It is the
// same in every run and in every account.
func derivedID(prefix string, parts ...string) string {
	const digits = 17
	sum := hash(strings.Join(parts, "/"))
	return prefix + hex.EncodeToString(sum[:])[:digits]
}

// idMaker returns the identifier of something that comes with a new resource.
type idMaker func(prefix string, parts ...string) string

// freshID is the idMaker of what a request creates.
func (s *state) freshID(prefix string, _ ...string) string { return s.kernel.NewID(prefix, 17) }

func dependencyViolation(noun, id string) error {
	return sim.Errorf("DependencyViolation", "The %s '%s' has dependencies and cannot be deleted.", noun, id)
}

// unsupportedMember refuses a request that has a member which the simulation does not know what to do with.
func unsupportedMember(given bool, what string) error {
	if given {
		return sim.Errorf("Unsupported", "The simulation's networks have no %s.", what)
	}
	return nil
}

// firstError returns the first error that is not nil.
func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
