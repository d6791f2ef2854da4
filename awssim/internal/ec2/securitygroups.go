package ec2

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// defaultGroup is the name of the security group that comes with a VPC.
const defaultGroup = "default"

// securityGroups holds the security groups of a Region and their rules.
type securityGroups struct {
	*sim.Table[types.SecurityGroup]
	region     *sim.Region
	kernel     *sim.Kernel
	rules      *sim.Table[types.SecurityGroupRule]
	vpcs       *vpcs
	interfaces *sim.Table[types.NetworkInterface]
}

func groupNameNotFound(name string) error {
	return sim.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC", name)
}

func (sg *securityGroups) fromWorld(g world.SecurityGroup) types.SecurityGroup {
	return sg.newGroup(g.ID, g.Name, g.Description, g.VPC, tagList(g.Tags))
}

func (sg *securityGroups) newGroup(id, name, description, vpc string, tags []types.Tag) types.SecurityGroup {
	return types.SecurityGroup{
		GroupId: ptr(id), GroupName: ptr(name), Description: ptr(description), VpcId: ptr(vpc), OwnerId: ptr(sg.region.Account.ID),
		SecurityGroupArn: ptr(resourceARN(sg.region, "security-group/"+id)), Tags: tags,
	}
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

// add stores a new group with the rules that it begins with: every group lets all traffic out,
// and the default group lets in what comes from its own members (VPC User Guide, "Default security
// groups for your VPCs" and "Security group rules").
func (sg *securityGroups) add(group types.SecurityGroup, newID idMaker) {
	sg.Put(*group.GroupId, group)
	first := []types.SecurityGroupRule{{IsEgress: ptr(true), CidrIpv4: ptr("0.0.0.0/0")}}
	if *group.GroupName == defaultGroup {
		first = append(first, types.SecurityGroupRule{IsEgress: ptr(false), ReferencedGroupInfo: sg.referenced(*group.GroupId)})
	}
	for _, rule := range first {
		direction := "ingress"
		if *rule.IsEgress {
			direction = "egress"
		}
		rule.IpProtocol, rule.FromPort, rule.ToPort = ptr(allProtocols), ptr(int32(-1)), ptr(int32(-1))
		sg.putRule(group, rule, newID("sgr-", *group.GroupId, direction), nil)
	}
}

// named returns the group with an id or, in the default VPC, with a name (SDK,
// DeleteSecurityGroupInput.GroupName and its like).
func (sg *securityGroups) named(id, name *string) (types.SecurityGroup, error) {
	switch {
	case val(id) != "":
		return sg.find(*id)
	case val(name) == "":
		return types.SecurityGroup{}, missingParameter("groupId")
	}
	if vpc, ok := sg.vpcs.defaultVPC(); ok {
		if group, ok := sg.byName(*vpc.VpcId, *name); ok {
			return group, nil
		}
	}
	return types.SecurityGroup{}, groupNameNotFound(*name)
}

func (sg *securityGroups) find(id string) (types.SecurityGroup, error) {
	if err := securityGroupID.check(id); err != nil {
		return types.SecurityGroup{}, err
	}
	group, ok := sg.Get(id)
	if !ok {
		return types.SecurityGroup{}, sim.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
	}
	return group, nil
}

func (sg *securityGroups) byName(vpc, name string) (types.SecurityGroup, bool) {
	for _, g := range sg.All() {
		if val(g.VpcId) == vpc && val(g.GroupName) == name {
			return g, true
		}
	}
	return types.SecurityGroup{}, false
}

// forInterface returns the security groups of an interface: the ones that are named, or the VPC's
// default group. Names are for launches in the default VPC that name no subnet:
// hashicorp/terraform#12123 has EC2's refusal, crossplane-contrib/provider-aws#1519 and #1752 have
// Auto Scaling's for a launch template with names, with a subnet and without one.
func (sg *securityGroups) forInterface(ids, names []string, subnet types.Subnet, named bool) ([]types.GroupIdentifier, error) {
	var groups []types.GroupIdentifier
	for _, id := range ids {
		group, err := sg.find(id)
		if err != nil {
			return nil, err
		}
		if val(group.VpcId) != val(subnet.VpcId) {
			return nil, sim.Errorf("InvalidParameter", "Security group %s and subnet %s belong to different networks.", id, val(subnet.SubnetId))
		}
		groups = append(groups, types.GroupIdentifier{GroupId: group.GroupId, GroupName: group.GroupName})
	}
	if len(names) > 0 && named {
		return nil, invalidCombination("The parameter groupName cannot be used with the parameter subnet")
	}
	if len(ids) == 0 && len(names) == 0 {
		names = []string{"default"}
	}
	for _, name := range names {
		group, ok := sg.byName(val(subnet.VpcId), name)
		if !ok {
			return nil, sim.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC '%s'", name, val(subnet.VpcId))
		}
		groups = append(groups, types.GroupIdentifier{GroupId: group.GroupId, GroupName: group.GroupName})
	}
	return groups, nil
}

// inUse reports whether a network interface has the group, or a rule of another group refers to it.
func (sg *securityGroups) inUse(id string) bool {
	for _, n := range sg.interfaces.All() {
		for _, g := range n.Groups {
			if val(g.GroupId) == id {
				return true
			}
		}
	}
	for _, rule := range sg.rules.All() {
		if *rule.GroupId != id && val(val(rule.ReferencedGroupInfo).GroupId) == id {
			return true
		}
	}
	return false
}

// drop deletes a group with its rules.
func (sg *securityGroups) drop(id string) {
	for _, rule := range sg.rules.All() {
		if *rule.GroupId == id {
			sg.rules.Delete(*rule.SecurityGroupRuleId)
		}
	}
	sg.Delete(id)
}
