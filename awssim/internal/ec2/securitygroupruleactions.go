package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func revokeSecurityGroupIngress(c *sim.Call, in *awsec2.RevokeSecurityGroupIngressInput) (*awsec2.RevokeSecurityGroupIngressOutput, error) {
	s := stateOf(c.Region)
	group, err := s.groups.named(in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	flat := flatPermission{in.IpProtocol, in.FromPort, in.ToPort, in.CidrIp, in.SourceSecurityGroupName, in.SourceSecurityGroupOwnerId}
	permissions, err := flat.with(in.IpPermissions)
	if err != nil {
		return nil, err
	}
	revoked, unknown, err := s.groups.revoke(group, false, permissions, in.SecurityGroupRuleIds, val(in.DryRun))
	if err != nil {
		return nil, err
	}
	return &awsec2.RevokeSecurityGroupIngressOutput{Return: ptr(true), RevokedSecurityGroupRules: revoked, UnknownIpPermissions: unknown}, nil
}

func revokeSecurityGroupEgress(c *sim.Call, in *awsec2.RevokeSecurityGroupEgressInput) (*awsec2.RevokeSecurityGroupEgressOutput, error) {
	s := stateOf(c.Region)
	group, err := s.groups.named(in.GroupId, nil)
	if err != nil {
		return nil, err
	}
	flat := flatPermission{in.IpProtocol, in.FromPort, in.ToPort, in.CidrIp, in.SourceSecurityGroupName, in.SourceSecurityGroupOwnerId}
	if err := flat.refuse(); err != nil {
		return nil, err
	}
	revoked, unknown, err := s.groups.revoke(group, true, in.IpPermissions, in.SecurityGroupRuleIds, val(in.DryRun))
	if err != nil {
		return nil, err
	}
	return &awsec2.RevokeSecurityGroupEgressOutput{Return: ptr(true), RevokedSecurityGroupRules: revoked, UnknownIpPermissions: unknown}, nil
}

var ruleListing = listing[types.SecurityGroupRule]{
	kind: securityGroupRuleID, id: func(r types.SecurityGroupRule) string { return *r.SecurityGroupRuleId }, pages: commonPages,
	tags: func(r types.SecurityGroupRule) []types.Tag { return r.Tags },
	filters: filterTable[types.SecurityGroupRule]{
		"group-id":               func(r types.SecurityGroupRule) []string { return text(r.GroupId) },
		"security-group-rule-id": func(r types.SecurityGroupRule) []string { return text(r.SecurityGroupRuleId) },
	},
}

func describeSecurityGroupRules(c *sim.Call, in *awsec2.DescribeSecurityGroupRulesInput) (*awsec2.DescribeSecurityGroupRulesOutput, error) {
	found, next, err := ruleListing.read(stateOf(c.Region).groups.rules.VisibleAll(), query{in.SecurityGroupRuleIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeSecurityGroupRulesOutput{SecurityGroupRules: found, NextToken: next}, nil
}

func authorizeSecurityGroupIngress(c *sim.Call, in *awsec2.AuthorizeSecurityGroupIngressInput) (*awsec2.AuthorizeSecurityGroupIngressOutput, error) {
	s := stateOf(c.Region)
	group, err := s.groups.named(in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	flat := flatPermission{in.IpProtocol, in.FromPort, in.ToPort, in.CidrIp, in.SourceSecurityGroupName, in.SourceSecurityGroupOwnerId}
	permissions, err := flat.with(in.IpPermissions)
	if err != nil {
		return nil, err
	}
	added, err := s.groups.authorize(group, false, permissions, in.TagSpecifications, val(in.DryRun))
	if err != nil {
		return nil, err
	}
	return &awsec2.AuthorizeSecurityGroupIngressOutput{Return: ptr(true), SecurityGroupRules: added}, nil
}

func authorizeSecurityGroupEgress(c *sim.Call, in *awsec2.AuthorizeSecurityGroupEgressInput) (*awsec2.AuthorizeSecurityGroupEgressOutput, error) {
	s := stateOf(c.Region)
	group, err := s.groups.named(in.GroupId, nil)
	if err != nil {
		return nil, err
	}
	flat := flatPermission{in.IpProtocol, in.FromPort, in.ToPort, in.CidrIp, in.SourceSecurityGroupName, in.SourceSecurityGroupOwnerId}
	if err := flat.refuse(); err != nil {
		return nil, err
	}
	added, err := s.groups.authorize(group, true, in.IpPermissions, in.TagSpecifications, val(in.DryRun))
	if err != nil {
		return nil, err
	}
	return &awsec2.AuthorizeSecurityGroupEgressOutput{Return: ptr(true), SecurityGroupRules: added}, nil
}

// modifySecurityGroupRules replaces the contents of rules, which keep their ids and tags.
func modifySecurityGroupRules(c *sim.Call, in *awsec2.ModifySecurityGroupRulesInput) (*awsec2.ModifySecurityGroupRulesOutput, error) {
	s := stateOf(c.Region)
	group, err := s.groups.named(in.GroupId, nil)
	if err != nil {
		return nil, err
	}
	if len(in.SecurityGroupRules) == 0 {
		return nil, missingParameter("SecurityGroupRules")
	}
	present := s.groups.rulesByKey(*group.GroupId)
	var changed []types.SecurityGroupRule
	for _, update := range in.SecurityGroupRules {
		old, err := s.groups.findRule(group, val(update.SecurityGroupRuleId))
		if err != nil {
			return nil, err
		}
		rule, err := s.groups.ruleOf(group, *old.IsEgress, val(update.SecurityGroupRule))
		if err != nil {
			return nil, err
		}
		key := ruleKey(rule)
		if other, taken := present[key]; taken && *other.SecurityGroupRuleId != *old.SecurityGroupRuleId {
			return nil, ruleExists(rule)
		}
		delete(present, ruleKey(old))
		rule.SecurityGroupRuleId, rule.Tags = old.SecurityGroupRuleId, old.Tags
		present[key] = rule
		changed = append(changed, rule)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	for _, rule := range changed {
		s.groups.putRule(group, rule, *rule.SecurityGroupRuleId, rule.Tags)
	}
	return &awsec2.ModifySecurityGroupRulesOutput{Return: ptr(true)}, nil
}

func updateSecurityGroupRuleDescriptionsIngress(c *sim.Call, in *awsec2.UpdateSecurityGroupRuleDescriptionsIngressInput) (*awsec2.UpdateSecurityGroupRuleDescriptionsIngressOutput, error) {
	s := stateOf(c.Region)
	group, err := s.groups.named(in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	if err := s.groups.redescribe(group, false, in.IpPermissions, in.SecurityGroupRuleDescriptions, val(in.DryRun)); err != nil {
		return nil, err
	}
	return &awsec2.UpdateSecurityGroupRuleDescriptionsIngressOutput{Return: ptr(true)}, nil
}

func updateSecurityGroupRuleDescriptionsEgress(c *sim.Call, in *awsec2.UpdateSecurityGroupRuleDescriptionsEgressInput) (*awsec2.UpdateSecurityGroupRuleDescriptionsEgressOutput, error) {
	s := stateOf(c.Region)
	group, err := s.groups.named(in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	if err := s.groups.redescribe(group, true, in.IpPermissions, in.SecurityGroupRuleDescriptions, val(in.DryRun)); err != nil {
		return nil, err
	}
	return &awsec2.UpdateSecurityGroupRuleDescriptionsEgressOutput{Return: ptr(true)}, nil
}
