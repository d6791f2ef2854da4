package ec2

import (
	"encoding/hex"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// addWorld fills the state with the VPCs, subnets, and security groups of a world and what comes
// with them. A default VPC has an internet gateway (VPC User Guide, "Default VPC components"), and
// all VPCs of a world give DNS hostnames, as default VPCs do.
func addWorld(s *state, w *world.Region) {
	s.dhcpOptions.addDefault()
	for _, v := range w.VPCs {
		vpc := s.vpcs.fromWorld(v)
		s.vpcs.add(vpc, vpcSettings{dnsSupport: true, dnsHostnames: true}, derivedID)
		if v.Default {
			gateway := s.internetGateways.newGateway(derivedID("igw-", v.ID), nil)
			gateway.Attachments = gatewayAttachment(v.ID)
			s.internetGateways.Put(*gateway.InternetGatewayId, gateway)
			main := s.routeTables.mainOf(v.ID)
			main.Routes = append(main.Routes, types.Route{
				DestinationCidrBlock: ptr("0.0.0.0/0"), GatewayId: gateway.InternetGatewayId, State: types.RouteStateActive, Origin: types.RouteOriginCreateRoute,
			})
			s.routeTables.Put(*main.RouteTableId, main)
		}
	}
	for _, v := range w.Subnets {
		s.subnets.add(s.subnets.fromWorld(v), derivedID)
	}
	for _, g := range w.SecurityGroups {
		s.groups.add(s.groups.fromWorld(g), derivedID)
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

// freshID returns the idMaker of what a request creates.
func freshID(k *sim.Kernel) idMaker {
	return func(prefix string, _ ...string) string { return k.NewID(prefix, 17) }
}

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
