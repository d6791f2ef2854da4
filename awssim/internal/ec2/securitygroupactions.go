package ec2

import (
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var groupListing = listing[types.SecurityGroup]{
	kind: securityGroupID, id: func(g types.SecurityGroup) string { return *g.GroupId }, tags: func(g types.SecurityGroup) []types.Tag { return g.Tags }, pages: commonPages,
	filters: groupFilters(),
}

func groupFilters() filterTable[types.SecurityGroup] {
	table := filterTable[types.SecurityGroup]{
		"description": func(g types.SecurityGroup) []string { return text(g.Description) },
		"group-id":    func(g types.SecurityGroup) []string { return text(g.GroupId) },
		"group-name":  func(g types.SecurityGroup) []string { return text(g.GroupName) },
		"owner-id":    func(g types.SecurityGroup) []string { return text(g.OwnerId) },
		"vpc-id":      func(g types.SecurityGroup) []string { return text(g.VpcId) },
	}
	for name, read := range permissionFilters {
		table["ip-permission."+name] = func(g types.SecurityGroup) []string { return collect(g.IpPermissions, read) }
		table["egress.ip-permission."+name] = func(g types.SecurityGroup) []string { return collect(g.IpPermissionsEgress, read) }
	}
	return table
}

// permissionFilters read one set of permissions; SDK, DescribeSecurityGroupsInput.Filters, lists
// them for both directions.
var permissionFilters = filterTable[types.IpPermission]{
	"cidr": func(p types.IpPermission) []string {
		return collect(p.IpRanges, func(r types.IpRange) []string { return text(r.CidrIp) })
	},
	"ipv6-cidr": func(p types.IpPermission) []string {
		return collect(p.Ipv6Ranges, func(r types.Ipv6Range) []string { return text(r.CidrIpv6) })
	},
	"prefix-list-id": func(p types.IpPermission) []string {
		return collect(p.PrefixListIds, func(l types.PrefixListId) []string { return text(l.PrefixListId) })
	},
	"group-id": func(p types.IpPermission) []string {
		return collect(p.UserIdGroupPairs, func(g types.UserIdGroupPair) []string { return text(g.GroupId) })
	},
	"group-name": func(p types.IpPermission) []string {
		return collect(p.UserIdGroupPairs, func(g types.UserIdGroupPair) []string { return text(g.GroupName) })
	},
	"user-id": func(p types.IpPermission) []string {
		return collect(p.UserIdGroupPairs, func(g types.UserIdGroupPair) []string { return text(g.UserId) })
	},
	"from-port": func(p types.IpPermission) []string { return number(p.FromPort) },
	"to-port":   func(p types.IpPermission) []string { return number(p.ToPort) },
	"protocol":  func(p types.IpPermission) []string { return text(p.IpProtocol) },
}

// describeSecurityGroups reads groups by id or, in a default VPC, by name (SDK,
// DescribeSecurityGroupsInput.GroupNames).
func describeSecurityGroups(c *sim.Call, in *awsec2.DescribeSecurityGroupsInput) (*awsec2.DescribeSecurityGroupsOutput, error) {
	s := stateOf(c.Region)
	all := withRules(s.groups.VisibleAll(), s.groups.rules.VisibleAll())
	if len(in.GroupNames) > 0 {
		var inDefault []types.SecurityGroup
		for _, g := range all {
			if vpc, _ := s.vpcs.Get(val(g.VpcId)); val(vpc.IsDefault) {
				inDefault = append(inDefault, g)
			}
		}
		var err error
		all, err = selectByName(inDefault, in.GroupNames, func(g types.SecurityGroup) string { return *g.GroupName }, groupNameNotFound)
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
	if err := checkGroupName(name, val(in.Description)); err != nil {
		return nil, err
	}
	vpc, err := s.vpcs.forGroup(val(in.VpcId))
	if err != nil {
		return nil, err
	}
	if _, taken := s.groups.byName(vpc, name); taken {
		return nil, sim.Errorf("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", name, vpc)
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeSecurityGroup, types.ResourceTypeSecurityGroup)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	group := s.groups.newGroup(c.Kernel.NewID("sg-", 17), name, *in.Description, vpc, tags)
	s.groups.add(group, freshID(s.kernel))
	return &awsec2.CreateSecurityGroupOutput{GroupId: group.GroupId, SecurityGroupArn: group.SecurityGroupArn, Tags: tags}, nil
}

func checkGroupName(name, description string) error {
	switch {
	case name == "":
		return missingParameter("groupName")
	case description == "":
		return missingParameter("groupDescription")
	case len(name) > 255 || strings.HasPrefix(name, "sg-"):
		// SDK, CreateSecurityGroupInput.GroupName
		return invalidValue("groupName", name, "Group names have up to 255 characters and may not start with sg-.")
	case name == defaultGroup:
		return sim.Errorf("InvalidGroup.Reserved", "The security group 'default' is reserved")
	case !isASCII(description):
		return invalidValue("GroupDescription", description, "Character sets beyond ASCII are not supported.")
	case !isDescription(description):
		return sim.Errorf("InvalidParameterValue", "Invalid security group description. Valid descriptions are strings less than 256 characters from the following set:  %s", descriptionSet)
	}
	return nil
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return c > 0x7e }) < 0
}

func deleteSecurityGroup(c *sim.Call, in *awsec2.DeleteSecurityGroupInput) (*awsec2.DeleteSecurityGroupOutput, error) {
	s := stateOf(c.Region)
	group, err := s.groups.named(in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	id := *group.GroupId
	if *group.GroupName == defaultGroup {
		return nil, sim.Errorf("CannotDelete", "the specified group: %q name: \"default\" cannot be deleted by a user", id)
	}
	if s.groups.inUse(id) {
		return nil, sim.Errorf("DependencyViolation", "resource %s has a dependent object", id)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.groups.drop(id)
	return &awsec2.DeleteSecurityGroupOutput{GroupId: &id, Return: ptr(true)}, nil
}
