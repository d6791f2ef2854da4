package ec2

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file turns the permissions of requests, which join ports with many sources, into rules with
// one source each, and back. Where no source is given for the words of a refusal, they are an
// inference.

// allProtocols is the protocol of a rule for every protocol in the answers of EC2.
const allProtocols = "-1"

// protocolNames are the protocols that EC2 writes by name (SDK, IpPermission.IpProtocol).
var protocolNames = map[string]string{"1": "icmp", "6": "tcp", "17": "udp", "58": "icmpv6"}

// flatPermission holds the parameters by which a request can describe one permission without IpPermissions.
type flatPermission struct {
	protocol         *string
	from, to         *int32
	cidr             *string
	sourceName, user *string
}

func (f flatPermission) given() bool {
	return f.protocol != nil || f.from != nil || f.to != nil || f.cidr != nil || f.sourceName != nil || f.user != nil
}

// refuse is for outbound rules (SDK, AuthorizeSecurityGroupEgressInput: "Not supported. Use IP
// permissions instead"). The code is an inference.
func (f flatPermission) refuse() error {
	if f.given() {
		return invalidCombination("Only IP permissions can describe an outbound rule.")
	}
	return nil
}

// with returns the permissions of a request. A source group by name stands for all ICMP, UDP, and
// TCP traffic (SDK, AuthorizeSecurityGroupIngressInput.SourceSecurityGroupName).
func (f flatPermission) with(permissions []types.IpPermission) ([]types.IpPermission, error) {
	if !f.given() {
		return permissions, nil
	}
	if len(permissions) > 0 {
		return nil, invalidCombination("The parameter ipPermissions cannot be used with the parameter ipProtocol, fromPort, toPort, cidrIp or sourceSecurityGroupName")
	}
	if f.sourceName == nil {
		return []types.IpPermission{{IpProtocol: f.protocol, FromPort: f.from, ToPort: f.to, IpRanges: []types.IpRange{{CidrIp: f.cidr}}}}, nil
	}
	if f.cidr != nil || f.protocol != nil || f.from != nil || f.to != nil {
		return nil, invalidCombination("The parameter sourceSecurityGroupName cannot be used with the parameter cidrIp, ipProtocol, fromPort or toPort")
	}
	var all []types.IpPermission
	for _, protocol := range []string{"icmp", "tcp", "udp"} {
		from, to := int32(0), int32(65535)
		if protocol == "icmp" {
			from, to = -1, -1
		}
		all = append(all, types.IpPermission{
			IpProtocol: ptr(protocol), FromPort: ptr(from), ToPort: ptr(to),
			UserIdGroupPairs: []types.UserIdGroupPair{{GroupName: f.sourceName, UserId: f.user}},
		})
	}
	return all, nil
}

// rulesOf returns the rules that permissions mean for a group.
func (sg *securityGroups) rulesOf(group types.SecurityGroup, egress bool, permissions []types.IpPermission) ([]types.SecurityGroupRule, error) {
	var rules []types.SecurityGroupRule
	for _, p := range permissions {
		ports, err := portsOf(p.IpProtocol, p.FromPort, p.ToPort)
		if err != nil {
			return nil, err
		}
		ports.IsEgress = ptr(egress)
		before := len(rules)
		add := func(description *string, set func(*types.SecurityGroupRule) error) error {
			if err := checkRuleDescription(description); err != nil {
				return err
			}
			rule := ports
			rule.Description = optional(val(description))
			rules = append(rules, rule)
			return set(&rules[len(rules)-1])
		}
		if err := sg.addSources(group, p, add); err != nil {
			return nil, err
		}
		if len(rules) == before {
			return nil, missingParameter("ipRanges, ipv6Ranges, prefixListIds or userIdGroupPairs")
		}
	}
	return rules, nil
}

// addSources calls add for every source of a permission.
func (sg *securityGroups) addSources(group types.SecurityGroup, p types.IpPermission, add func(description *string, set func(*types.SecurityGroupRule) error) error) error {
	for _, r := range p.IpRanges {
		if err := add(r.Description, func(rule *types.SecurityGroupRule) error { return setCIDR(rule, r.CidrIp, nil) }); err != nil {
			return err
		}
	}
	for _, r := range p.Ipv6Ranges {
		if err := add(r.Description, func(rule *types.SecurityGroupRule) error { return setCIDR(rule, nil, r.CidrIpv6) }); err != nil {
			return err
		}
	}
	for _, l := range p.PrefixListIds {
		if err := add(l.Description, func(*types.SecurityGroupRule) error { return prefixListMissing(val(l.PrefixListId)) }); err != nil {
			return err
		}
	}
	for _, pair := range p.UserIdGroupPairs {
		err := add(pair.Description, func(rule *types.SecurityGroupRule) error {
			if user := val(pair.UserId); user != "" && user != sg.region.Account.ID {
				return sim.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", val(pair.GroupId))
			}
			return sg.setReferenced(rule, group, pair.GroupId, pair.GroupName)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ruleOf returns the rule that ModifySecurityGroupRules asks for: it has exactly one source.
func (sg *securityGroups) ruleOf(group types.SecurityGroup, egress bool, r types.SecurityGroupRuleRequest) (types.SecurityGroupRule, error) {
	rule, err := portsOf(r.IpProtocol, r.FromPort, r.ToPort)
	if err != nil {
		return rule, err
	}
	if err := checkRuleDescription(r.Description); err != nil {
		return rule, err
	}
	rule.IsEgress, rule.Description = ptr(egress), optional(val(r.Description))
	sources := 0
	for _, source := range []*string{r.CidrIpv4, r.CidrIpv6, r.PrefixListId, r.ReferencedGroupId} {
		if source != nil {
			sources++
		}
	}
	switch {
	case sources != 1:
		return rule, invalidCombination("Exactly one of CidrIpv4, CidrIpv6, PrefixListId and ReferencedGroupId must be specified.")
	case r.ReferencedGroupId != nil:
		return rule, sg.setReferenced(&rule, group, r.ReferencedGroupId, nil)
	case r.PrefixListId != nil:
		return rule, prefixListMissing(*r.PrefixListId)
	}
	return rule, setCIDR(&rule, r.CidrIpv4, r.CidrIpv6)
}

// prefixListMissing is the answer for every prefix list: the simulation has none.
func prefixListMissing(id string) error {
	return sim.Errorf("InvalidPrefixListID.NotFound", "The prefix list ID '%s' does not exist", id)
}

// setCIDR sets the source of a rule in its canonical form (SDK, AuthorizeSecurityGroupIngressInput.CidrIp).
func setCIDR(rule *types.SecurityGroupRule, ipv4, ipv6 *string) error {
	cidr := val(ipv4) + val(ipv6)
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil || prefix.Addr().Is4() != (ipv6 == nil) {
		return sim.Errorf("InvalidParameterValue", "CIDR block %s is malformed", cidr)
	}
	if ipv6 == nil {
		rule.CidrIpv4 = ptr(prefix.Masked().String())
	} else {
		rule.CidrIpv6 = ptr(prefix.Masked().String())
	}
	return nil
}

func (sg *securityGroups) setReferenced(rule *types.SecurityGroupRule, group types.SecurityGroup, id, name *string) error {
	if val(id) == "" && val(name) == "" {
		return sim.Errorf("MissingParameter", "Source group ID missing.")
	}
	source, err := sg.named(id, name)
	if err != nil {
		return err
	}
	if val(source.VpcId) != val(group.VpcId) {
		// Code and message as in philips-software/go-hsdp-api#43.
		return sim.Errorf("InvalidGroup.NotFound", "You have specified two resources that belong to different networks.")
	}
	rule.ReferencedGroupInfo = sg.referenced(*source.GroupId)
	return nil
}

func (sg *securityGroups) referenced(group string) *types.ReferencedSecurityGroup {
	return &types.ReferencedSecurityGroup{GroupId: ptr(group), UserId: ptr(sg.region.Account.ID)}
}

// checkRuleDescription answers as in aws-cloudformation/cfn-lint#173.
func checkRuleDescription(description *string) error {
	if !isDescription(val(description)) {
		return sim.Errorf("InvalidParameterValue", "Invalid rule description. Valid descriptions are strings less than 256 characters from the following set:  %s", descriptionSet)
	}
	return nil
}

// portsOf returns a rule with a protocol and its ports. Protocols without ports have -1 (SDK,
// SecurityGroupRule.FromPort).
func portsOf(protocol *string, from, to *int32) (types.SecurityGroupRule, error) {
	name := strings.ToLower(val(protocol))
	if known, ok := protocolNames[name]; ok {
		name = known
	}
	rule := types.SecurityGroupRule{IpProtocol: &name, FromPort: ptr(int32(-1)), ToPort: ptr(int32(-1))}
	switch name {
	case "":
		return rule, missingParameter("ipProtocol")
	case "tcp", "udp":
		if from == nil || to == nil {
			return rule, sim.Errorf("InvalidParameterValue", "Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.")
		}
		if *from < 0 || *to > 65535 || *from > *to {
			return rule, sim.Errorf("InvalidParameterValue", "Invalid TCP/UDP port range (%d:%d)", *from, *to)
		}
		rule.FromPort, rule.ToPort = from, to
	case "icmp", "icmpv6":
		return rule, setICMP(&rule, from, to)
	case allProtocols:
	default:
		if number, err := strconv.Atoi(name); err != nil || number < 0 || number > 255 {
			return rule, sim.Errorf("InvalidParameterValue", "Invalid value '%s' for IP protocol. Unknown protocol.", val(protocol))
		}
	}
	return rule, nil
}

// setICMP sets type and code. Only for icmpv6 they may be missing, which means all (SDK,
// IpPermission.IpProtocol).
func setICMP(rule *types.SecurityGroupRule, kind, code *int32) error {
	if kind == nil || code == nil {
		if *rule.IpProtocol == "icmpv6" && kind == nil && code == nil {
			return nil
		}
		return sim.Errorf("InvalidParameterValue", "Invalid value 'Must specify both type and code with ICMP.' for portRange.")
	}
	if *kind < -1 || *kind > 255 || *code < -1 || *code > 255 || *kind == -1 && *code != -1 {
		return sim.Errorf("InvalidParameterValue", "ICMP type (%d) or code (%d) is out of range", *kind, *code)
	}
	rule.FromPort, rule.ToPort = kind, code
	return nil
}

// withRules returns groups with the permissions that their rules mean.
func withRules(groups []types.SecurityGroup, rules []types.SecurityGroupRule) []types.SecurityGroup {
	type place struct {
		group  string
		egress bool
	}
	sorted := map[place][]types.SecurityGroupRule{}
	for _, rule := range rules {
		p := place{*rule.GroupId, *rule.IsEgress}
		sorted[p] = append(sorted[p], rule)
	}
	for i := range groups {
		groups[i].IpPermissions = permissionsOf(sorted[place{*groups[i].GroupId, false}])
		groups[i].IpPermissionsEgress = permissionsOf(sorted[place{*groups[i].GroupId, true}])
	}
	return groups
}

// permissionsOf joins rules of the same protocol and ports, in the order of the rules.
func permissionsOf(rules []types.SecurityGroupRule) []types.IpPermission {
	var joined []types.IpPermission
	places := map[string]int{}
	for _, r := range rules {
		key := fmt.Sprint(*r.IpProtocol, *r.FromPort, *r.ToPort)
		n, known := places[key]
		if !known {
			n = len(joined)
			places[key] = n
			permission := types.IpPermission{IpProtocol: r.IpProtocol}
			switch *r.IpProtocol {
			case "tcp", "udp", "icmp", "icmpv6":
				permission.FromPort, permission.ToPort = r.FromPort, r.ToPort
			}
			joined = append(joined, permission)
		}
		p := &joined[n]
		switch {
		case r.CidrIpv4 != nil:
			p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: r.CidrIpv4, Description: r.Description})
		case r.CidrIpv6 != nil:
			p.Ipv6Ranges = append(p.Ipv6Ranges, types.Ipv6Range{CidrIpv6: r.CidrIpv6, Description: r.Description})
		case r.ReferencedGroupInfo != nil:
			p.UserIdGroupPairs = append(p.UserIdGroupPairs, types.UserIdGroupPair{
				GroupId: r.ReferencedGroupInfo.GroupId, UserId: r.ReferencedGroupInfo.UserId, Description: r.Description,
			})
		}
	}
	return joined
}
