package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// state holds what EC2 has in one Region of one account. Each part knows only the parts that
// newState creates before it. Functions that need several of them, as launches and most actions do,
// take the state.
type state struct {
	region *sim.Region
	kernel *sim.Kernel

	catalog   *catalog
	images    *images
	keyPairs  *keyPairs
	templates *templates

	acls             *networkACLs
	routeTables      *routeTables
	internetGateways *internetGateways
	dhcpOptions      *dhcpOptionSets
	vpcs             *vpcs
	subnets          *subnets
	groups           *securityGroups
	interfaces       *networkInterfaces
	elastics         *elasticAddresses
	natGateways      *natGateways

	capacities *capacity
	instances  *instances
	volumes    *sim.Table[types.Volume]
	rootTasks  *rootVolumes
	fleets     *fleets
	placements *sim.Table[types.PlacementGroup] // by id

	tokens clientTokens
}

func stateOf(r *sim.Region) *state { return sim.Store(r, newState) }

func newState(r *sim.Region) *state {
	k := r.Kernel()
	s := &state{
		region: r, kernel: k, tokens: clientTokens{},
		volumes: sim.NewTable[types.Volume](k), placements: sim.NewTable[types.PlacementGroup](k),
		catalog: &catalog{region: r, kernel: k}, images: &images{Table: sim.NewTable[types.Image](k), region: r},
		keyPairs:  &keyPairs{Table: sim.NewTable[types.KeyPairInfo](k)},
		templates: &templates{Table: sim.NewTable[template](k), kernel: k, names: sim.NewTable[string](k)},
	}
	running := sim.NewTable[instance](k)
	s.addNetwork(running)
	s.capacities = &capacity{
		Table: sim.NewTable[CapacityReservation](k), region: r, kernel: k, catalog: s.catalog, subnets: s.subnets, instances: running,
	}
	s.instances = &instances{Table: running, region: r, kernel: k, volumes: s.volumes, interfaces: s.interfaces, capacities: s.capacities}
	s.rootTasks = &rootVolumes{Table: sim.NewTable[rootTask](k), kernel: k, images: s.images, volumes: s.volumes, instances: s.instances}
	s.fleets = &fleets{Table: sim.NewTable[fleet](k), kernel: k, instances: running}

	w := r.World()
	addWorld(s, w)
	for _, p := range w.KeyPairs {
		s.keyPairs.Put(p.ID, keyPairFromWorld(p))
	}
	for _, i := range w.Images {
		if !i.Private || i.OwnerID == r.Account.ID {
			s.images.Put(i.ID, imageFromWorld(i))
		}
	}
	return s
}

// addNetwork creates the parts of networks, for instances that are in the given table.
func (s *state) addNetwork(running *sim.Table[instance]) {
	r, k := s.region, s.kernel
	allGroups, allSubnets := sim.NewTable[types.SecurityGroup](k), sim.NewTable[types.Subnet](k)
	allInterfaces, addresses := sim.NewTable[types.NetworkInterface](k), sim.NewTable[types.Address](k)

	s.acls = &networkACLs{Table: sim.NewTable[types.NetworkAcl](k), region: r}
	s.routeTables = &routeTables{Table: sim.NewTable[types.RouteTable](k), region: r}
	s.internetGateways = &internetGateways{Table: sim.NewTable[types.InternetGateway](k), region: r}
	s.dhcpOptions = &dhcpOptionSets{Table: sim.NewTable[types.DhcpOptions](k), region: r}
	s.vpcs = &vpcs{
		Table: sim.NewTable[types.Vpc](k), region: r, settings: sim.NewTable[vpcSettings](k), acls: s.acls, routeTables: s.routeTables,
		internetGateways: s.internetGateways, dhcpOptions: s.dhcpOptions, subnets: allSubnets, groups: allGroups,
	}
	s.subnets = &subnets{Table: allSubnets, region: r, acls: s.acls, addresses: map[string]*addressPool{}}
	s.groups = &securityGroups{
		Table: allGroups, region: r, kernel: k, rules: sim.NewTable[types.SecurityGroupRule](k), vpcs: s.vpcs, interfaces: allInterfaces,
	}
	s.interfaces = &networkInterfaces{
		Table: allInterfaces, region: r, kernel: k, settings: s.vpcs.settings, subnets: s.subnets, elastics: addresses, instances: running,
	}
	s.elastics = &elasticAddresses{
		Table: addresses, region: r, kernel: k, internetGateways: s.internetGateways, interfaces: s.interfaces, instances: running,
	}
	s.natGateways = &natGateways{
		Table: sim.NewTable[types.NatGateway](k), kernel: k, internetGateways: s.internetGateways, subnets: s.subnets,
		interfaces: s.interfaces, elastics: s.elastics,
	}
}

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
