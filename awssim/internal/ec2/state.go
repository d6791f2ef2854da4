package ec2

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// state holds what EC2 has in one Region of one account. Each part knows only the parts that newState
// creates before it. What takes several of them, as launches and most actions do, takes the state.
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

	tokens map[tokenKey]tokenUse
}

func stateOf(r *sim.Region) *state { return sim.Store(r, newState) }

func newState(r *sim.Region) *state {
	k := r.Kernel()
	s := &state{
		region: r, kernel: k, tokens: map[tokenKey]tokenUse{},
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

// resourceARN names a resource of EC2 in this account and Region.
func resourceARN(region *sim.Region, resource string) string {
	return fmt.Sprintf("arn:%s:ec2:%s:%s:%s", partition(region.Name), region.Name, region.Account.ID, resource)
}

// partition is the AWS partition that a Region is in.
func partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	default:
		return "aws"
	}
}

// beginning is when the things were made that a world brings without a date of their own.
var beginning = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// tagList writes a map of tags in the order of its keys.
func tagList(tags map[string]string) []types.Tag {
	if len(tags) == 0 {
		return nil
	}
	list := make([]types.Tag, 0, len(tags))
	for key, value := range tags {
		list = append(list, types.Tag{Key: ptr(key), Value: ptr(value)})
	}
	sort.Slice(list, func(i, j int) bool { return *list[i].Key < *list[j].Key })
	return list
}
