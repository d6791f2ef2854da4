package ec2

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// state is what EC2 holds in one Region of one account.
type state struct {
	region *sim.Region
	kernel *sim.Kernel

	templates     *sim.Table[template]
	templateNames *sim.Table[string] // name -> id; names are unique per account and Region
	images        *sim.Table[types.Image]
	vpcs          *sim.Table[types.Vpc]
	subnets       *sim.Table[types.Subnet]
	groups        *sim.Table[types.SecurityGroup]
	keyPairs      *sim.Table[types.KeyPairInfo]
	instances     *sim.Table[instance]
	volumes       *sim.Table[types.Volume]
	rootTasks     *sim.Table[rootTask]
	placements    *sim.Table[types.PlacementGroup] // by id
	fleets        *sim.Table[fleet]
	capacities    *sim.Table[CapacityReservation]
	network

	tokens    map[tokenKey]tokenUse
	addresses map[string]*addressPool // by subnet id
	watchers  []func(Instance)
	drafts    []*draft // of the fleet that is being planned
	typeInfos []types.InstanceTypeInfo
}

func stateOf(r *sim.Region) *state { return sim.Store(r, newState) }

func newState(r *sim.Region) *state {
	k := r.Kernel()
	s := &state{
		region: r, kernel: k,
		templates: sim.NewTable[template](k), templateNames: sim.NewTable[string](k),
		images: sim.NewTable[types.Image](k), vpcs: sim.NewTable[types.Vpc](k), subnets: sim.NewTable[types.Subnet](k),
		groups: sim.NewTable[types.SecurityGroup](k), keyPairs: sim.NewTable[types.KeyPairInfo](k),
		instances: sim.NewTable[instance](k), volumes: sim.NewTable[types.Volume](k), rootTasks: sim.NewTable[rootTask](k),
		placements: sim.NewTable[types.PlacementGroup](k), fleets: sim.NewTable[fleet](k), capacities: sim.NewTable[CapacityReservation](k),
		network: newNetwork(k), tokens: map[tokenKey]tokenUse{}, addresses: map[string]*addressPool{},
	}
	w := r.World()
	s.addWorld(w)
	for _, p := range w.KeyPairs {
		s.keyPairs.Put(p.ID, s.keyPairFromWorld(p))
	}
	for _, i := range w.Images {
		if !i.Private || i.OwnerID == r.Account.ID {
			s.images.Put(i.ID, imageFromWorld(i))
		}
	}
	return s
}

// arn names a resource of EC2 in this account and Region.
func (s *state) arn(resource string) string {
	return fmt.Sprintf("arn:%s:ec2:%s:%s:%s", partition(s.region.Name), s.region.Name, s.region.Account.ID, resource)
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

func (s *state) vpcFromWorld(v world.VPC) types.Vpc {
	return s.newVPC(v.ID, v.CIDR, v.Default, tagList(v.Tags))
}

func (s *state) newVPC(id, cidr string, isDefault bool, tags []types.Tag) types.Vpc {
	return types.Vpc{
		VpcId: ptr(id), CidrBlock: ptr(cidr), IsDefault: ptr(isDefault), OwnerId: ptr(s.region.Account.ID),
		State: types.VpcStateAvailable, InstanceTenancy: types.TenancyDefault, DhcpOptionsId: ptr(s.dhcpOptionsID()),
		CidrBlockAssociationSet: []types.VpcCidrBlockAssociation{blockAssociation("vpc-cidr-assoc-"+strings.TrimPrefix(id, "vpc-"), cidr)},
		Tags:                    tags,
	}
}

func (s *state) subnetFromWorld(v world.Subnet) types.Subnet {
	subnet := s.newSubnet(v.ID, v.VPC, v.Zone, v.CIDR, tagList(v.Tags))
	subnet.MapPublicIpOnLaunch = ptr(v.MapPublicIPOnLaunch)
	subnet.DefaultForAz = ptr(v.DefaultForZone)
	return subnet
}

func (s *state) newSubnet(id, vpc, zone, cidr string, tags []types.Tag) types.Subnet {
	subnet := types.Subnet{
		SubnetId: ptr(id), VpcId: ptr(vpc), AvailabilityZone: ptr(zone), CidrBlock: ptr(cidr), OwnerId: ptr(s.region.Account.ID),
		SubnetArn: ptr(s.arn("subnet/" + id)), State: types.SubnetStateAvailable, MapPublicIpOnLaunch: ptr(false), DefaultForAz: ptr(false),
		AssignIpv6AddressOnCreation: ptr(false), EnableDns64: ptr(false), Ipv6Native: ptr(false), MapCustomerOwnedIpOnLaunch: ptr(false),
		PrivateDnsNameOptionsOnLaunch: &types.PrivateDnsNameOptionsOnLaunch{
			HostnameType: types.HostnameTypeIpName, EnableResourceNameDnsARecord: ptr(false), EnableResourceNameDnsAAAARecord: ptr(false),
		},
		Tags: tags,
	}
	if z := s.region.World().Zone(zone); z != nil {
		subnet.AvailabilityZoneId = ptr(z.ID)
	}
	return subnet
}

func (s *state) groupFromWorld(g world.SecurityGroup) types.SecurityGroup {
	return s.newGroup(g.ID, g.Name, g.Description, g.VPC, tagList(g.Tags))
}

func (s *state) newGroup(id, name, description, vpc string, tags []types.Tag) types.SecurityGroup {
	return types.SecurityGroup{
		GroupId: ptr(id), GroupName: ptr(name), Description: ptr(description), VpcId: ptr(vpc), OwnerId: ptr(s.region.Account.ID),
		SecurityGroupArn: ptr(s.arn("security-group/" + id)), Tags: tags,
	}
}

func (s *state) keyPairFromWorld(p world.KeyPair) types.KeyPairInfo {
	return types.KeyPairInfo{
		KeyPairId: ptr(p.ID), KeyName: ptr(p.Name), KeyType: types.KeyType(p.Type), KeyFingerprint: ptr(p.Fingerprint),
		PublicKey: optional(p.PublicKey), CreateTime: ptr(beginning), Tags: tagList(p.Tags),
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
