package ec2

import (
	"net/netip"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var vpcListing = listing[types.Vpc]{
	kind: vpcID, id: func(v types.Vpc) string { return *v.VpcId }, tags: func(v types.Vpc) []types.Tag { return v.Tags }, pages: commonPages,
	filters: filterTable[types.Vpc]{
		"cidr": func(v types.Vpc) []string { return text(v.CidrBlock) },
		"cidr-block-association.cidr-block": func(v types.Vpc) []string {
			return collect(v.CidrBlockAssociationSet, func(a types.VpcCidrBlockAssociation) []string { return text(a.CidrBlock) })
		},
		"dhcp-options-id": func(v types.Vpc) []string { return text(v.DhcpOptionsId) },
		"is-default":      func(v types.Vpc) []string { return boolean(v.IsDefault) },
		"owner-id":        func(v types.Vpc) []string { return text(v.OwnerId) },
		"state":           func(v types.Vpc) []string { return enum(v.State) },
		"vpc-id":          func(v types.Vpc) []string { return text(v.VpcId) },
	},
}

func describeVpcs(c *sim.Call, in *awsec2.DescribeVpcsInput) (*awsec2.DescribeVpcsOutput, error) {
	found, next, err := vpcListing.read(stateOf(c.Region).vpcs.VisibleAll(), query{in.VpcIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeVpcsOutput{Vpcs: found, NextToken: next}, nil
}

var subnetListing = listing[types.Subnet]{
	kind: subnetID, id: func(v types.Subnet) string { return *v.SubnetId }, tags: func(v types.Subnet) []types.Tag { return v.Tags }, pages: commonPages,
	filters: filterTable[types.Subnet]{
		"availability-zone":          func(v types.Subnet) []string { return text(v.AvailabilityZone) },
		"availabilityZone":           func(v types.Subnet) []string { return text(v.AvailabilityZone) },
		"availability-zone-id":       func(v types.Subnet) []string { return text(v.AvailabilityZoneId) },
		"available-ip-address-count": func(v types.Subnet) []string { return number(v.AvailableIpAddressCount) },
		"cidr-block":                 func(v types.Subnet) []string { return text(v.CidrBlock) },
		"cidr":                       func(v types.Subnet) []string { return text(v.CidrBlock) },
		"default-for-az":             func(v types.Subnet) []string { return boolean(v.DefaultForAz) },
		"ipv6-native":                func(v types.Subnet) []string { return boolean(v.Ipv6Native) },
		"map-public-ip-on-launch":    func(v types.Subnet) []string { return boolean(v.MapPublicIpOnLaunch) },
		"owner-id":                   func(v types.Subnet) []string { return text(v.OwnerId) },
		"state":                      func(v types.Subnet) []string { return enum(v.State) },
		"subnet-arn":                 func(v types.Subnet) []string { return text(v.SubnetArn) },
		"subnet-id":                  func(v types.Subnet) []string { return text(v.SubnetId) },
		"vpc-id":                     func(v types.Subnet) []string { return text(v.VpcId) },
	},
}

func describeSubnets(c *sim.Call, in *awsec2.DescribeSubnetsInput) (*awsec2.DescribeSubnetsOutput, error) {
	s := stateOf(c.Region)
	all := s.subnets.VisibleAll()
	for i := range all {
		all[i].AvailableIpAddressCount = count32(s.pool(all[i]).free())
	}
	found, next, err := subnetListing.read(all, query{in.SubnetIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeSubnetsOutput{Subnets: found, NextToken: next}, nil
}

// blockSize is what a VPC or a subnet may have (error codes, InvalidVpcRange and InvalidSubnet.Range: "between a /28 netmask and /16").
func blockSize(cidr, code string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil || !prefix.Addr().Is4() {
		return prefix, sim.Errorf("InvalidParameterValue", "Value (%s) for parameter cidrBlock is invalid. This is not a valid CIDR block.", cidr)
	}
	if prefix.Bits() < 16 || prefix.Bits() > 28 {
		return prefix, sim.Errorf(code, "The CIDR '%s' is invalid.", cidr)
	}
	return prefix.Masked(), nil
}

func createVpc(c *sim.Call, in *awsec2.CreateVpcInput) (*awsec2.CreateVpcOutput, error) {
	s := stateOf(c.Region)
	if val(in.CidrBlock) == "" {
		return nil, missingParameter("cidrBlock")
	}
	prefix, err := blockSize(*in.CidrBlock, "InvalidVpcRange")
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeVpc, types.ResourceTypeVpc)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	vpc := s.newVPC(c.Kernel.NewID("vpc-", 17), prefix.String(), false, tags)
	s.vpcs.Put(*vpc.VpcId, vpc)
	group := s.newGroup(c.Kernel.NewID("sg-", 17), "default", "default VPC security group", *vpc.VpcId, nil)
	s.groups.Put(*group.GroupId, group)
	return &awsec2.CreateVpcOutput{Vpc: &vpc}, nil
}

func deleteVpc(c *sim.Call, in *awsec2.DeleteVpcInput) (*awsec2.DeleteVpcOutput, error) {
	s := stateOf(c.Region)
	if err := vpcID.check(val(in.VpcId)); err != nil {
		return nil, err
	}
	id := *in.VpcId
	if _, ok := s.vpcs.Get(id); !ok {
		return nil, vpcID.missing(id)
	}
	var own []string
	for _, g := range s.groups.All() {
		if val(g.VpcId) == id && val(g.GroupName) == "default" {
			own = append(own, *g.GroupId)
		} else if val(g.VpcId) == id {
			return nil, sim.Errorf("DependencyViolation", "The vpc '%s' has dependencies and cannot be deleted.", id)
		}
	}
	for _, subnet := range s.subnets.All() {
		if val(subnet.VpcId) == id {
			return nil, sim.Errorf("DependencyViolation", "The vpc '%s' has dependencies and cannot be deleted.", id)
		}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	for _, g := range own {
		s.groups.Delete(g)
	}
	s.vpcs.Delete(id)
	return &awsec2.DeleteVpcOutput{}, nil
}

func createSubnet(c *sim.Call, in *awsec2.CreateSubnetInput) (*awsec2.CreateSubnetOutput, error) {
	s := stateOf(c.Region)
	if val(in.CidrBlock) == "" {
		return nil, missingParameter("cidrBlock")
	}
	if err := vpcID.check(val(in.VpcId)); err != nil {
		return nil, err
	}
	vpc, ok := s.vpcs.Get(*in.VpcId)
	if !ok {
		return nil, vpcID.missing(*in.VpcId)
	}
	prefix, err := s.freeBlock(vpc, *in.CidrBlock)
	if err != nil {
		return nil, err
	}
	zone, err := s.subnetZone(in)
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeSubnet, types.ResourceTypeSubnet)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	subnet := s.newSubnet(c.Kernel.NewID("subnet-", 17), *vpc.VpcId, zone, prefix.String(), tags)
	s.subnets.Put(*subnet.SubnetId, subnet)
	subnet.AvailableIpAddressCount = count32(s.pool(subnet).free())
	return &awsec2.CreateSubnetOutput{Subnet: &subnet}, nil
}

// freeBlock checks that a block lies in the VPC and overlaps with none of its subnets.
func (s *state) freeBlock(vpc types.Vpc, cidr string) (netip.Prefix, error) {
	prefix, err := blockSize(cidr, "InvalidSubnet.Range")
	if err != nil {
		return prefix, err
	}
	whole, err := netip.ParsePrefix(val(vpc.CidrBlock))
	if err != nil || !whole.Contains(prefix.Addr()) || prefix.Bits() < whole.Bits() {
		return prefix, sim.Errorf("InvalidSubnet.Range", "The CIDR '%s' is invalid.", cidr)
	}
	for _, other := range s.subnets.All() {
		if block, err := netip.ParsePrefix(val(other.CidrBlock)); err == nil && val(other.VpcId) == *vpc.VpcId && block.Overlaps(prefix) {
			return prefix, sim.Errorf("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", cidr)
		}
	}
	return prefix, nil
}

func (s *state) subnetZone(in *awsec2.CreateSubnetInput) (string, error) {
	for _, z := range s.region.World().Zones {
		if (val(in.AvailabilityZone) == "" && val(in.AvailabilityZoneId) == "") || z.Name == val(in.AvailabilityZone) || z.ID == val(in.AvailabilityZoneId) {
			return z.Name, nil
		}
	}
	return "", invalidValue("availabilityZone", val(in.AvailabilityZone)+val(in.AvailabilityZoneId), "Subnets can currently only be created in the Availability Zones of the Region.")
}

func deleteSubnet(c *sim.Call, in *awsec2.DeleteSubnetInput) (*awsec2.DeleteSubnetOutput, error) {
	s := stateOf(c.Region)
	if err := subnetID.check(val(in.SubnetId)); err != nil {
		return nil, err
	}
	subnet, ok := s.subnets.Get(*in.SubnetId)
	if !ok {
		return nil, subnetID.missing(*in.SubnetId)
	}
	if len(s.pool(subnet).used) > 0 {
		return nil, sim.Errorf("DependencyViolation", "The subnet '%s' has dependencies and cannot be deleted.", *in.SubnetId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.subnets.Delete(*in.SubnetId)
	delete(s.addresses, *in.SubnetId)
	return &awsec2.DeleteSubnetOutput{}, nil
}

var groupListing = listing[types.SecurityGroup]{
	kind: securityGroupID, id: func(g types.SecurityGroup) string { return *g.GroupId }, tags: func(g types.SecurityGroup) []types.Tag { return g.Tags }, pages: commonPages,
	filters: filterTable[types.SecurityGroup]{
		"description": func(g types.SecurityGroup) []string { return text(g.Description) },
		"group-id":    func(g types.SecurityGroup) []string { return text(g.GroupId) },
		"group-name":  func(g types.SecurityGroup) []string { return text(g.GroupName) },
		"owner-id":    func(g types.SecurityGroup) []string { return text(g.OwnerId) },
		"vpc-id":      func(g types.SecurityGroup) []string { return text(g.VpcId) },
	},
}

// describeSecurityGroups reads groups by id or, in a default VPC, by name (SDK, DescribeSecurityGroupsInput.GroupNames).
func describeSecurityGroups(c *sim.Call, in *awsec2.DescribeSecurityGroupsInput) (*awsec2.DescribeSecurityGroupsOutput, error) {
	s := stateOf(c.Region)
	all := s.groups.VisibleAll()
	if len(in.GroupNames) > 0 {
		var inDefault []types.SecurityGroup
		for _, g := range all {
			if vpc, _ := s.vpcs.Get(val(g.VpcId)); val(vpc.IsDefault) {
				inDefault = append(inDefault, g)
			}
		}
		var err error
		all, err = selectByName(inDefault, in.GroupNames, func(g types.SecurityGroup) string { return *g.GroupName }, func(name string) error {
			return sim.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC", name)
		})
		if err != nil {
			return nil, err
		}
	}
	found, next, err := groupListing.read(all, query{in.GroupIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeSecurityGroupsOutput{SecurityGroups: found, NextToken: next}, nil
}

func createSecurityGroup(c *sim.Call, in *awsec2.CreateSecurityGroupInput) (*awsec2.CreateSecurityGroupOutput, error) {
	s := stateOf(c.Region)
	name := val(in.GroupName)
	switch {
	case name == "":
		return nil, missingParameter("groupName")
	case val(in.Description) == "":
		return nil, missingParameter("groupDescription")
	case len(name) > 255 || strings.HasPrefix(name, "sg-"):
		return nil, invalidValue("groupName", name, "Group names have up to 255 characters and may not start with sg-.") // SDK, CreateSecurityGroupInput.GroupName
	case name == "default":
		return nil, sim.Errorf("InvalidGroup.Reserved", "The security group 'default' is reserved")
	}
	vpc, err := s.vpcForGroup(val(in.VpcId))
	if err != nil {
		return nil, err
	}
	if _, taken := s.groupByName(vpc, name); taken {
		return nil, sim.Errorf("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", name, vpc)
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeSecurityGroup, types.ResourceTypeSecurityGroup)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	group := s.newGroup(c.Kernel.NewID("sg-", 17), name, *in.Description, vpc, tags)
	s.groups.Put(*group.GroupId, group)
	return &awsec2.CreateSecurityGroupOutput{GroupId: group.GroupId, SecurityGroupArn: group.SecurityGroupArn, Tags: tags}, nil
}

// vpcForGroup is the VPC that is named, or the default one.
func (s *state) vpcForGroup(id string) (string, error) {
	if id != "" {
		if err := vpcID.check(id); err != nil {
			return "", err
		}
		if _, ok := s.vpcs.Get(id); !ok {
			return "", vpcID.missing(id)
		}
		return id, nil
	}
	for _, v := range s.vpcs.All() {
		if val(v.IsDefault) {
			return *v.VpcId, nil
		}
	}
	return "", sim.Errorf("VPCIdNotSpecified", "No default VPC for this user")
}

func deleteSecurityGroup(c *sim.Call, in *awsec2.DeleteSecurityGroupInput) (*awsec2.DeleteSecurityGroupOutput, error) {
	s := stateOf(c.Region)
	if val(in.GroupId) == "" {
		return nil, missingParameter("groupId")
	}
	group, err := s.findGroup(*in.GroupId)
	if err != nil {
		return nil, err
	}
	if *group.GroupName == "default" {
		return nil, sim.Errorf("CannotDelete", "the specified group: %q name: \"default\" cannot be deleted by a user", *group.GroupId)
	}
	for _, i := range s.instances.All() {
		for _, n := range i.api.NetworkInterfaces {
			for _, g := range n.Groups {
				if val(g.GroupId) == *group.GroupId {
					return nil, sim.Errorf("DependencyViolation", "resource %s has a dependent object", *group.GroupId)
				}
			}
		}
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.groups.Delete(*group.GroupId)
	return &awsec2.DeleteSecurityGroupOutput{GroupId: group.GroupId, Return: ptr(true)}, nil
}

func describeAvailabilityZones(c *sim.Call, in *awsec2.DescribeAvailabilityZonesInput) (*awsec2.DescribeAvailabilityZonesOutput, error) {
	s := stateOf(c.Region)
	byName, byID := setOf(in.ZoneNames), setOf(in.ZoneIds)
	some := len(byName)+len(byID) > 0
	var all []types.AvailabilityZone
	for _, z := range s.region.World().Zones {
		if some && !byName[z.Name] && !byID[z.ID] {
			continue
		}
		delete(byName, z.Name)
		delete(byID, z.ID)
		all = append(all, types.AvailabilityZone{
			ZoneName: ptr(z.Name), ZoneId: ptr(z.ID), RegionName: ptr(s.region.Name), State: types.AvailabilityZoneStateAvailable, ZoneType: ptr("availability-zone"),
			OptInStatus: types.AvailabilityZoneOptInStatusOptInNotRequired, GroupName: ptr(s.region.Name + "-zg-1"), NetworkBorderGroup: ptr(s.region.Name),
		})
	}
	for _, wanted := range append(in.ZoneNames, in.ZoneIds...) {
		if s.region.World().Zone(wanted) == nil && (byName[wanted] || byID[wanted]) {
			return nil, sim.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", wanted)
		}
	}
	found, err := zoneFilters.apply(in.Filters, all, nil)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	return &awsec2.DescribeAvailabilityZonesOutput{AvailabilityZones: found}, nil
}

var zoneFilters = filterTable[types.AvailabilityZone]{
	"group-name":    func(z types.AvailabilityZone) []string { return text(z.GroupName) },
	"opt-in-status": func(z types.AvailabilityZone) []string { return enum(z.OptInStatus) },
	"region-name":   func(z types.AvailabilityZone) []string { return text(z.RegionName) },
	"state":         func(z types.AvailabilityZone) []string { return enum(z.State) },
	"zone-id":       func(z types.AvailabilityZone) []string { return text(z.ZoneId) },
	"zone-name":     func(z types.AvailabilityZone) []string { return text(z.ZoneName) },
	"zone-type":     func(z types.AvailabilityZone) []string { return text(z.ZoneType) },
}

var regionFilters = filterTable[types.Region]{
	"endpoint":      func(r types.Region) []string { return text(r.Endpoint) },
	"opt-in-status": func(r types.Region) []string { return text(r.OptInStatus) },
	"region-name":   func(r types.Region) []string { return text(r.RegionName) },
}

func describeRegions(c *sim.Call, in *awsec2.DescribeRegionsInput) (*awsec2.DescribeRegionsOutput, error) {
	var all []types.Region
	for _, name := range c.Kernel.World().RegionNames() {
		all = append(all, types.Region{RegionName: ptr(name), Endpoint: ptr("ec2." + name + ".amazonaws.com"), OptInStatus: ptr("opt-in-not-required")})
	}
	all, err := selectByName(all, in.RegionNames, func(r types.Region) string { return *r.RegionName }, func(name string) error {
		return sim.Errorf("InvalidParameterValue", "Invalid region '%s' provided.", name)
	})
	if err != nil {
		return nil, err
	}
	found, err := regionFilters.apply(in.Filters, all, nil)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	return &awsec2.DescribeRegionsOutput{Regions: found}, nil
}
