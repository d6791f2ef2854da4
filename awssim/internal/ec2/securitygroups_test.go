package ec2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// newGroup creates a security group in a VPC; without one it is the default VPC.
func (r *rig) newGroup(name, vpc string) string {
	r.Helper()
	in := &ec2.CreateSecurityGroupInput{GroupName: &name, Description: aws.String("for a test")}
	if vpc != "" {
		in.VpcId = &vpc
	}
	out, err := r.ec2.CreateSecurityGroup(r.Context(), in)
	if err != nil {
		r.Fatalf("creating security group %q: %v", name, err)
	}
	return *out.GroupId
}

func (r *rig) newVPC(cidr string) string {
	r.Helper()
	out, err := r.ec2.CreateVpc(r.Context(), &ec2.CreateVpcInput{CidrBlock: &cidr})
	if err != nil {
		r.Fatalf("creating a VPC: %v", err)
	}
	return *out.Vpc.VpcId
}

// rules returns the rules of a group.
func (r *rig) rules(group string) []types.SecurityGroupRule {
	r.Helper()
	out, err := r.ec2.DescribeSecurityGroupRules(r.Context(), &ec2.DescribeSecurityGroupRulesInput{Filters: []types.Filter{filter("group-id", group)}})
	if err != nil {
		r.Fatalf("describing the rules of %s: %v", group, err)
	}
	return out.SecurityGroupRules
}

func (r *rig) describedGroup(id string) types.SecurityGroup {
	r.Helper()
	out, err := r.ec2.DescribeSecurityGroups(r.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	if err != nil {
		r.Fatalf("describing security group %s: %v", id, err)
	}
	return out.SecurityGroups[0]
}

// permission permits a port from CIDR blocks.
func permission(protocol string, from, to int32, cidrs ...string) types.IpPermission {
	p := types.IpPermission{IpProtocol: &protocol, FromPort: &from, ToPort: &to}
	for _, cidr := range cidrs {
		p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: aws.String(cidr)})
	}
	return p
}

func (r *rig) permit(group string, permissions ...types.IpPermission) error {
	r.Helper()
	_, err := r.ec2.AuthorizeSecurityGroupIngress(r.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: permissions})
	return err
}

// samePermissions compares permissions. It treats the empty lists that EC2 returns like nil.
var samePermissions = cmp.Options{cmpopts.IgnoreUnexported(types.IpPermission{}, types.IpRange{}, types.Ipv6Range{}, types.UserIdGroupPair{}), cmpopts.EquateEmpty()}

// TestNewGroupsLetEverythingOut: a group begins with a rule that lets all traffic out; a VPC's
// default group lets its members in, too.
func TestNewGroupsLetEverythingOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vpc := r.newVPC("10.9.0.0/16")
	everything := []types.IpPermission{{IpProtocol: aws.String("-1"), IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}}}
	group := r.describedGroup(r.newGroup("own", vpc))
	if diff := cmp.Diff(everything, group.IpPermissionsEgress, samePermissions); diff != "" || len(group.IpPermissions) > 0 {
		t.Errorf("a new group lets in %v, and out (-want +got):\n%s", group.IpPermissions, diff)
	}
	out, err := r.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("vpc-id", vpc), filter("group-name", "default")}})
	if err != nil || len(out.SecurityGroups) != 1 {
		t.Fatalf("finding the default group: %v, %v", out, err)
	}
	group = out.SecurityGroups[0]
	members := []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: group.GroupId, UserId: group.OwnerId}}}}
	if diff := cmp.Diff(members, group.IpPermissions, samePermissions); diff != "" {
		t.Errorf("the default group lets in (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(everything, group.IpPermissionsEgress, samePermissions); diff != "" {
		t.Errorf("the default group lets out (-want +got):\n%s", diff)
	}
	_, err = r.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: group.GroupId})
	wantError(t, err, "CannotDelete", "cannot be deleted by a user")
}

// TestRulesComeAndGo: rules are added with many sources, described one by one and joined, changed,
// and revoked by content and by id.
func TestRulesComeAndGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vpc := r.newVPC("10.9.0.0/16")
	group, source := r.newGroup("own", vpc), r.newGroup("source", vpc)
	web := permission("TCP", 443, 443, "10.1.2.3/8", "192.168.0.0/16")
	web.IpRanges[0].Description = aws.String("offices")
	web.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: &source}}
	added, err := r.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &group, IpPermissions: []types.IpPermission{web, {IpProtocol: aws.String("58"), Ipv6Ranges: []types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}}},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroupRule, Tags: []types.Tag{tag("a", "b")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(added.SecurityGroupRules) != 4 {
		t.Fatalf("%d rules were added, want one for each source: 4", len(added.SecurityGroupRules))
	}
	described := r.describedGroup(group).IpPermissions
	want := []types.IpPermission{
		{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(443), ToPort: aws.Int32(443),
			IpRanges:         []types.IpRange{{CidrIp: aws.String("10.0.0.0/8"), Description: aws.String("offices")}, {CidrIp: aws.String("192.168.0.0/16")}},
			UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &source, UserId: aws.String("123456789012")}},
		},
		{IpProtocol: aws.String("icmpv6"), FromPort: aws.Int32(-1), ToPort: aws.Int32(-1), Ipv6Ranges: []types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}},
	}
	if diff := cmp.Diff(want, described, samePermissions); diff != "" {
		t.Errorf("the group lets in (-want +got):\n%s", diff)
	}
	tagged, err := r.ec2.DescribeSecurityGroupRules(t.Context(), &ec2.DescribeSecurityGroupRulesInput{Filters: []types.Filter{filter("tag:a", "b")}})
	if err != nil || len(tagged.SecurityGroupRules) != 4 {
		t.Errorf("by tag there are %v, %v; want 4 rules", tagged, err)
	}
	office := added.SecurityGroupRules[0].SecurityGroupRuleId
	_, err = r.ec2.ModifySecurityGroupRules(t.Context(), &ec2.ModifySecurityGroupRulesInput{GroupId: &group, SecurityGroupRules: []types.SecurityGroupRuleUpdate{{
		SecurityGroupRuleId: office, SecurityGroupRule: &types.SecurityGroupRuleRequest{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80), CidrIpv4: aws.String("10.0.0.0/8"), Description: aws.String("changed"),
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := r.ec2.DescribeSecurityGroupRules(t.Context(), &ec2.DescribeSecurityGroupRulesInput{SecurityGroupRuleIds: []string{*office}})
	if err != nil {
		t.Fatal(err)
	}
	if rule := changed.SecurityGroupRules[0]; *rule.FromPort != 80 || *rule.Description != "changed" || tagMap(rule.Tags)["a"] != "b" || *rule.IsEgress {
		t.Errorf("the changed rule is %+v", rule)
	}
	_, err = r.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &source})
	wantError(t, err, "DependencyViolation", "has a dependent object")
	fromSource := types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(443), ToPort: aws.Int32(443), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &source}}}
	revoked, err := r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{fromSource}})
	if err != nil || len(revoked.RevokedSecurityGroupRules) != 1 || *revoked.RevokedSecurityGroupRules[0].ReferencedGroupId != source {
		t.Errorf("revoked: %v, %v", revoked, err)
	}
	if _, err := r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &group, SecurityGroupRuleIds: []string{*office}}); err != nil {
		t.Error(err)
	}
	if _, err := r.ec2.RevokeSecurityGroupEgress(t.Context(), &ec2.RevokeSecurityGroupEgressInput{GroupId: &group, IpPermissions: r.describedGroup(group).IpPermissionsEgress}); err != nil {
		t.Error(err)
	}
	if left := r.rules(group); len(left) != 2 {
		t.Errorf("%d rules are left, want 2", len(left))
	}
	for _, id := range []string{source, group} {
		if _, err := r.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &id}); err != nil {
			t.Error(err)
		}
	}
	if left := r.rules(group); len(left) != 0 {
		t.Errorf("%d rules outlive their group", len(left))
	}
}

// TestRuleDescriptions: a description is changed by what the rule permits or by its id, and nothing
// else of the rule.
func TestRuleDescriptions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	group := r.newGroup("own", "")
	ssh := permission("tcp", 22, 22, "10.0.0.0/8")
	if err := r.permit(group, ssh); err != nil {
		t.Fatal(err)
	}
	ssh.IpRanges[0].Description = aws.String("by content")
	if _, err := r.ec2.UpdateSecurityGroupRuleDescriptionsIngress(t.Context(), &ec2.UpdateSecurityGroupRuleDescriptionsIngressInput{GroupName: aws.String("own"), IpPermissions: []types.IpPermission{ssh}}); err != nil {
		t.Fatal(err)
	}
	if got := r.describedGroup(group).IpPermissions[0].IpRanges[0].Description; aws.ToString(got) != "by content" {
		t.Errorf("the description is %q", aws.ToString(got))
	}
	out := r.rules(group)[0]
	if _, err := r.ec2.UpdateSecurityGroupRuleDescriptionsEgress(t.Context(), &ec2.UpdateSecurityGroupRuleDescriptionsEgressInput{GroupId: &group, SecurityGroupRuleDescriptions: []types.SecurityGroupRuleDescription{{
		SecurityGroupRuleId: out.SecurityGroupRuleId, Description: aws.String("by id"),
	}}}); err != nil {
		t.Fatal(err)
	}
	if got := r.describedGroup(group).IpPermissionsEgress[0].IpRanges[0].Description; aws.ToString(got) != "by id" {
		t.Errorf("the description of the outbound rule is %q", aws.ToString(got))
	}
	ssh.FromPort = aws.Int32(21)
	_, err := r.ec2.UpdateSecurityGroupRuleDescriptionsIngress(t.Context(), &ec2.UpdateSecurityGroupRuleDescriptionsIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{ssh}})
	wantError(t, err, "InvalidPermission.NotFound", "does not exist in this security group")
}

func TestRulesThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vpc := r.newVPC("10.9.0.0/16")
	group, elsewhere := r.newGroup("own", vpc), r.newGroup("elsewhere", "")
	if err := r.permit(group, permission("tcp", 22, 22, "10.0.0.0/8")); err != nil {
		t.Fatal(err)
	}
	described := permission("tcp", 1, 1, "10.0.0.0/8")
	described.IpRanges[0].Description = aws.String("it's not allowed")
	from := func(id string) types.IpPermission {
		return types.IpPermission{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &id}}}
	}
	rows := []struct {
		reason      string
		permissions []types.IpPermission
		code, words string
	}{
		{"a rule that is there, in another form", []types.IpPermission{permission("6", 22, 22, "10.1.1.1/8")}, "InvalidPermission.Duplicate", `the specified rule "peer: 10.0.0.0/8, TCP, from port: 22, to port: 22, ALLOW" already exists`},
		{"a rule twice in a request", []types.IpPermission{permission("tcp", 1, 1, "10.0.0.0/8", "10.2.0.0/8")}, "InvalidParameterValue", "The same permission must not appear multiple times"},
		{"a protocol that there is not", []types.IpPermission{permission("http", 1, 1, "10.0.0.0/8")}, "InvalidParameterValue", "Unknown protocol"},
		{"ports in the wrong order", []types.IpPermission{permission("tcp", 2, 1, "10.0.0.0/8")}, "InvalidParameterValue", "Invalid TCP/UDP port range (2:1)"},
		{"TCP without ports", []types.IpPermission{{IpProtocol: aws.String("tcp"), IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}}}, "InvalidParameterValue", "Must specify both from and to ports"},
		{"all types of ICMP with one code", []types.IpPermission{permission("icmp", -1, 3, "10.0.0.0/8")}, "InvalidParameterValue", "out of range"},
		{"a block that is none", []types.IpPermission{permission("tcp", 1, 1, "10.0.0.0/33")}, "InvalidParameterValue", "CIDR block 10.0.0.0/33 is malformed"},
		{"IPv6 where IPv4 belongs", []types.IpPermission{permission("tcp", 1, 1, "::/0")}, "InvalidParameterValue", "malformed"},
		{"a description with other characters", []types.IpPermission{described}, "InvalidParameterValue", "Invalid rule description"},
		{"a group of another VPC", []types.IpPermission{from(elsewhere)}, "InvalidGroup.NotFound", "belong to different networks"},
		{"a group that there is not", []types.IpPermission{from("sg-00000000000000000")}, "InvalidGroup.NotFound", "does not exist"},
		{"no source", []types.IpPermission{permission("tcp", 1, 1)}, "MissingParameter", ""},
		{"no permission", nil, "MissingParameter", "ipPermissions"},
		{"a prefix list that there is not", []types.IpPermission{{IpProtocol: aws.String("-1"), PrefixListIds: []types.PrefixListId{{PrefixListId: aws.String("pl-1")}}}}, "InvalidPrefixListID.NotFound", "pl-1"},
	}
	before := len(r.rules(group))
	for _, row := range rows {
		err := r.permit(group, row.permissions...)
		if got := code(t, err); got != row.code || err != nil && !strings.Contains(err.Error(), row.words) {
			t.Errorf("%s: %v, want %s with %q", row.reason, err, row.code, row.words)
		}
	}
	if after := len(r.rules(group)); after != before {
		t.Errorf("refused requests changed the number of rules from %d to %d", before, after)
	}
	var ports []types.IpPermission
	for port := range int32(60) {
		ports = append(ports, permission("tcp", 1000+port, 1000+port, "10.0.0.0/8"))
	}
	wantError(t, r.permit(group, ports...), "RulesPerSecurityGroupLimitExceeded", "maximum number of rules")
	if err := r.permit(group, ports[:59]...); err != nil {
		t.Errorf("60 inbound rules are allowed: %v", err)
	}
}

// TestRevokingWhatIsNotThere is an error, except in the default VPC, where the answer lists it.
func TestRevokingWhatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	unknown := []types.IpPermission{permission("tcp", 22, 22, "10.0.0.0/8")}
	own, inDefault := r.newGroup("own", r.newVPC("10.9.0.0/16")), r.newGroup("own", "")
	_, err := r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &own, IpPermissions: unknown})
	wantError(t, err, "InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
	out, err := r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &inDefault, IpPermissions: unknown})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unknown, out.UnknownIpPermissions, samePermissions); diff != "" {
		t.Errorf("unknown permissions (-want +got):\n%s", diff)
	}
	_, err = r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &own, SecurityGroupRuleIds: []string{"sgr-00000000000000000"}})
	wantError(t, err, "InvalidSecurityGroupRuleId.NotFound", "The security group rule ID 'sgr-00000000000000000' does not exist")
	_, err = r.ec2.RevokeSecurityGroupEgress(t.Context(), &ec2.RevokeSecurityGroupEgressInput{GroupId: &own, CidrIp: aws.String("10.0.0.0/8")})
	wantError(t, err, "InvalidParameterCombination", "outbound")
}

// TestNetworkIsHeldToPolicies: a caller with policies needs a permission for each call, bound to
// the resource's tags and VPC.
func TestNetworkIsHeldToPolicies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	group := r.newGroup("own", "")
	const caller = "AKIALIMITED123456789012"
	limited := ec2.New(r.ec2.Options(), func(o *ec2.Options) { o.Credentials = credentials.NewStaticCredentialsProvider(caller, "secret", "") })
	permit := func(policy string) error {
		if err := r.sim.SetPolicies(caller, `{"Version":"2012-10-17","Statement":`+policy+`}`); err != nil {
			t.Fatal(err)
		}
		_, err := limited.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{permission("tcp", 1, 1, "10.0.0.0/8")}})
		return err
	}
	wantError(t, permit(`{"Effect":"Allow","Action":"ec2:AuthorizeSecurityGroupEgress","Resource":"*"}`), "UnauthorizedOperation", "AuthorizeSecurityGroupIngress")
	elsewhere := `{"Effect":"Allow","Action":"ec2:AuthorizeSecurityGroupIngress","Resource":"*","Condition":{"StringEquals":{"ec2:Vpc":"arn:aws:ec2:us-east-1:123456789012:vpc/vpc-1"}}}`
	wantError(t, permit(elsewhere), "UnauthorizedOperation", group)
	if err := permit(strings.Replace(elsewhere, "vpc-1", *r.subnet("us-east-1a").VpcId, 1)); err != nil {
		t.Errorf("in the VPC of the condition: %v", err)
	}
}
