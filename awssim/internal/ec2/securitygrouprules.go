package ec2

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// mostRules limits the rules of a group for each direction and version of IP (VPC User Guide,
// "Amazon VPC quotas").
const mostRules = 60

// authorize adds all the rules that permissions mean, or none.
func (sg *securityGroups) authorize(group types.SecurityGroup, egress bool, permissions []types.IpPermission, specifications []types.TagSpecification, dry bool) ([]types.SecurityGroupRule, error) {
	if len(permissions) == 0 {
		return nil, missingParameter("ipPermissions")
	}
	tags, err := tagsFor(specifications, types.ResourceTypeSecurityGroupRule, types.ResourceTypeSecurityGroupRule)
	if err != nil {
		return nil, err
	}
	wanted, err := sg.rulesOf(group, egress, permissions)
	if err != nil {
		return nil, err
	}
	present := sg.rulesByKey(*group.GroupId)
	asked := map[string]bool{}
	for _, rule := range wanted {
		key := ruleKey(rule)
		if asked[key] {
			return nil, sim.Errorf("InvalidParameterValue", "The same permission must not appear multiple times")
		}
		if _, taken := present[key]; taken {
			return nil, ruleExists(rule)
		}
		asked[key] = true
	}
	if err := sg.checkRuleCount(group, wanted); err != nil {
		return nil, err
	}
	if dry {
		return nil, dryRun()
	}
	added := make([]types.SecurityGroupRule, len(wanted))
	for i, rule := range wanted {
		added[i] = sg.putRule(group, rule, sg.kernel.NewID("sgr-", 17), tags)
	}
	return added, nil
}

// ruleExists is worded as in galaxyproject/cloudlaunch#56, lucidsoftware/cumulus#101 (all
// protocols), and ansible/ansible-modules-core#3258 (a protocol without a name).
func ruleExists(rule types.SecurityGroupRule) error {
	return sim.Errorf("InvalidPermission.Duplicate", `the specified rule "%s" already exists`, describeRule(rule))
}

func (sg *securityGroups) checkRuleCount(group types.SecurityGroup, added []types.SecurityGroupRule) error {
	counts := map[[2]bool]int{}
	for _, rule := range append(sg.rulesOfGroup(*group.GroupId), added...) {
		place := [2]bool{*rule.IsEgress, rule.CidrIpv6 != nil}
		if counts[place]++; counts[place] > mostRules {
			return sim.Errorf("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
		}
	}
	return nil
}

// putRule stores a rule of a group under an id.
func (sg *securityGroups) putRule(group types.SecurityGroup, rule types.SecurityGroupRule, id string, tags []types.Tag) types.SecurityGroupRule {
	rule.SecurityGroupRuleId, rule.SecurityGroupRuleArn, rule.Tags = ptr(id), ptr(resourceARN(sg.region, "security-group-rule/"+id)), tags
	rule.GroupId, rule.GroupOwnerId = group.GroupId, group.OwnerId
	sg.rules.Put(id, rule)
	return rule
}

func (sg *securityGroups) rulesOfGroup(id string) []types.SecurityGroupRule {
	var rules []types.SecurityGroupRule
	for _, rule := range sg.rules.All() {
		if *rule.GroupId == id {
			rules = append(rules, rule)
		}
	}
	return rules
}

func (sg *securityGroups) rulesByKey(group string) map[string]types.SecurityGroupRule {
	rules := map[string]types.SecurityGroupRule{}
	for _, rule := range sg.rulesOfGroup(group) {
		rules[ruleKey(rule)] = rule
	}
	return rules
}

// ruleKey returns what two rules of a group must not have in common: everything but the description.
func ruleKey(r types.SecurityGroupRule) string {
	return fmt.Sprint(*r.IsEgress, val(r.IpProtocol), val(r.FromPort), val(r.ToPort), peerOf(r))
}

func peerOf(r types.SecurityGroupRule) string {
	return val(r.CidrIpv4) + val(r.CidrIpv6) + val(r.PrefixListId) + val(val(r.ReferencedGroupInfo).GroupId)
}

func describeRule(r types.SecurityGroupRule) string {
	what := "protocol: " + *r.IpProtocol
	switch *r.IpProtocol {
	case allProtocols:
		what = "ALL"
	case "tcp", "udp":
		what = fmt.Sprintf("%s, from port: %d, to port: %d", strings.ToUpper(*r.IpProtocol), *r.FromPort, *r.ToPort)
	case "icmp", "icmpv6":
		what = strings.ToUpper(*r.IpProtocol)
	}
	return fmt.Sprintf("peer: %s, %s, ALLOW", peerOf(r), what)
}

// findRule returns a rule of a group by its id.
func (sg *securityGroups) findRule(group types.SecurityGroup, id string) (types.SecurityGroupRule, error) {
	if err := securityGroupRuleID.check(id); err != nil {
		return types.SecurityGroupRule{}, err
	}
	rule, ok := sg.rules.Get(id)
	if !ok || *rule.GroupId != *group.GroupId {
		return types.SecurityGroupRule{}, securityGroupRuleID.missing(id)
	}
	return rule, nil
}

// redescribe sets the descriptions of rules, which are named by what they permit or by their ids.
// An empty description removes it.
func (sg *securityGroups) redescribe(group types.SecurityGroup, egress bool, permissions []types.IpPermission, byID []types.SecurityGroupRuleDescription, dry bool) error {
	if len(permissions) > 0 == (len(byID) > 0) {
		// SDK, UpdateSecurityGroupRuleDescriptionsIngressInput: "You must specify either a
		// description or IP permissions".
		return missingParameter("ipPermissions or securityGroupRuleDescriptions")
	}
	named, err := sg.rulesOf(group, egress, permissions)
	if err != nil {
		return err
	}
	present := sg.rulesByKey(*group.GroupId)
	var changed []types.SecurityGroupRule
	for _, wanted := range named {
		rule, ok := present[ruleKey(wanted)]
		if !ok {
			return errNoSuchRule
		}
		rule.Description = wanted.Description
		changed = append(changed, rule)
	}
	for _, d := range byID {
		rule, err := sg.findRule(group, val(d.SecurityGroupRuleId))
		if err != nil {
			return err
		}
		if *rule.IsEgress != egress {
			return securityGroupRuleID.missing(*d.SecurityGroupRuleId)
		}
		if err := checkRuleDescription(d.Description); err != nil {
			return err
		}
		rule.Description = optional(val(d.Description))
		changed = append(changed, rule)
	}
	if dry {
		return dryRun()
	}
	for _, rule := range changed {
		sg.rules.Put(*rule.SecurityGroupRuleId, rule)
	}
	return nil
}
