package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var errNoSuchRule = sim.Errorf("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")

// revoke removes rules, which are named by what they permit or by their ids. A permission that the
// group does not have is an error, except in a default VPC, where the answer lists it (API
// reference, RevokeSecurityGroupIngress).
func (sg *securityGroups) revoke(group types.SecurityGroup, egress bool, permissions []types.IpPermission, ids []string, dry bool) ([]types.RevokedSecurityGroupRule, []types.IpPermission, error) {
	if len(permissions) == 0 && len(ids) == 0 {
		return nil, nil, missingParameter("ipPermissions")
	}
	if len(permissions) > 0 && len(ids) > 0 {
		return nil, nil, invalidCombination("You may specify either IP permissions or security group rule IDs, but not both.")
	}
	named, err := sg.rulesOf(group, egress, permissions)
	if err != nil {
		return nil, nil, err
	}
	present := sg.rulesByKey(*group.GroupId)
	var gone, unknown []types.SecurityGroupRule
	for _, wanted := range named {
		if rule, ok := present[ruleKey(wanted)]; ok {
			gone = append(gone, rule)
		} else {
			unknown = append(unknown, wanted)
		}
	}
	if vpc, _ := sg.vpcs.Get(val(group.VpcId)); len(unknown) > 0 && !val(vpc.IsDefault) {
		return nil, nil, errNoSuchRule
	}
	for _, id := range ids {
		rule, err := sg.findRule(group, id)
		if err != nil {
			return nil, nil, err
		}
		if *rule.IsEgress != egress {
			return nil, nil, securityGroupRuleID.missing(id)
		}
		gone = append(gone, rule)
	}
	if dry {
		return nil, nil, dryRun()
	}
	var revoked []types.RevokedSecurityGroupRule
	for _, rule := range gone {
		sg.rules.Delete(*rule.SecurityGroupRuleId)
		revoked = append(revoked, types.RevokedSecurityGroupRule{
			SecurityGroupRuleId: rule.SecurityGroupRuleId, GroupId: rule.GroupId, IsEgress: rule.IsEgress, IpProtocol: rule.IpProtocol,
			FromPort: rule.FromPort, ToPort: rule.ToPort, CidrIpv4: rule.CidrIpv4, CidrIpv6: rule.CidrIpv6, PrefixListId: rule.PrefixListId,
			ReferencedGroupId: val(rule.ReferencedGroupInfo).GroupId, Description: rule.Description,
		})
	}
	return revoked, permissionsOf(unknown), nil
}
