package ec2

import (
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// defaultGroup is the name of the security group that comes with a VPC.
const defaultGroup = "default"

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
	all := withRules(s.groups.VisibleAll(), s.rules.VisibleAll())
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

func groupNameNotFound(name string) error {
	return sim.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC", name)
}

func createSecurityGroup(c *sim.Call, in *awsec2.CreateSecurityGroupInput) (*awsec2.CreateSecurityGroupOutput, error) {
	s := stateOf(c.Region)
	name := val(in.GroupName)
	if err := checkGroupName(name, val(in.Description)); err != nil {
		return nil, err
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
	s.putGroup(group, s.freshID)
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

// descriptionSet lists the characters that descriptions of groups and rules may have (SDK,
// CreateSecurityGroupInput.Description, IpRange. Description).
const descriptionSet = "a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*"

func isDescription(text string) bool {
	return len(text) <= 255 && strings.IndexFunc(text, func(c rune) bool {
		isLetter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		return !isLetter && !strings.ContainsRune(". _-:/()#,@[]+=&;{}!$*", c)
	}) < 0
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return c > 0x7e }) < 0
}

// putGroup stores a new group with the rules that it begins with: every group lets all traffic out,
// and the default group lets in what comes from its own members (VPC User Guide, "Default security
// groups for your VPCs" and "Security group rules").
func (s *state) putGroup(group types.SecurityGroup, newID idMaker) {
	s.groups.Put(*group.GroupId, group)
	first := []types.SecurityGroupRule{{IsEgress: ptr(true), CidrIpv4: ptr("0.0.0.0/0")}}
	if *group.GroupName == defaultGroup {
		first = append(first, types.SecurityGroupRule{IsEgress: ptr(false), ReferencedGroupInfo: s.referenced(*group.GroupId)})
	}
	for _, rule := range first {
		direction := "ingress"
		if *rule.IsEgress {
			direction = "egress"
		}
		rule.IpProtocol, rule.FromPort, rule.ToPort = ptr(allProtocols), ptr(int32(-1)), ptr(int32(-1))
		s.putRule(group, rule, newID("sgr-", *group.GroupId, direction), nil)
	}
}

// vpcForGroup returns the VPC that is named, or the default one.
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
	if vpc, ok := s.defaultVPC(); ok {
		return *vpc.VpcId, nil
	}
	return "", sim.Errorf("VPCIdNotSpecified", "No default VPC for this user")
}

func (s *state) defaultVPC() (types.Vpc, bool) {
	for _, v := range s.vpcs.All() {
		if val(v.IsDefault) {
			return v, true
		}
	}
	return types.Vpc{}, false
}

// namedGroup returns the group with an id or, in the default VPC, with a name (SDK,
// DeleteSecurityGroupInput.GroupName and its like).
func (s *state) namedGroup(id, name *string) (types.SecurityGroup, error) {
	switch {
	case val(id) != "":
		return s.findGroup(*id)
	case val(name) == "":
		return types.SecurityGroup{}, missingParameter("groupId")
	}
	if vpc, ok := s.defaultVPC(); ok {
		if group, ok := s.groupByName(*vpc.VpcId, *name); ok {
			return group, nil
		}
	}
	return types.SecurityGroup{}, groupNameNotFound(*name)
}

func deleteSecurityGroup(c *sim.Call, in *awsec2.DeleteSecurityGroupInput) (*awsec2.DeleteSecurityGroupOutput, error) {
	s := stateOf(c.Region)
	group, err := s.namedGroup(in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	id := *group.GroupId
	if *group.GroupName == defaultGroup {
		return nil, sim.Errorf("CannotDelete", "the specified group: %q name: \"default\" cannot be deleted by a user", id)
	}
	if s.groupInUse(id) {
		return nil, sim.Errorf("DependencyViolation", "resource %s has a dependent object", id)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.dropGroup(id)
	return &awsec2.DeleteSecurityGroupOutput{GroupId: &id, Return: ptr(true)}, nil
}

// groupInUse reports whether a network interface has the group, or a rule of another group refers to it.
func (s *state) groupInUse(id string) bool {
	for _, n := range s.interfaces.All() {
		for _, g := range n.Groups {
			if val(g.GroupId) == id {
				return true
			}
		}
	}
	for _, rule := range s.rules.All() {
		if *rule.GroupId != id && val(val(rule.ReferencedGroupInfo).GroupId) == id {
			return true
		}
	}
	return false
}

// dropGroup deletes a group with its rules.
func (s *state) dropGroup(id string) {
	for _, rule := range s.rules.All() {
		if *rule.GroupId == id {
			s.rules.Delete(*rule.SecurityGroupRuleId)
		}
	}
	s.groups.Delete(id)
}
