package ec2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func (r *rig) newSubnet(vpc, cidr string) (string, error) {
	out, err := r.ec2.CreateSubnet(r.Context(), &ec2.CreateSubnetInput{VpcId: &vpc, CidrBlock: &cidr})
	if err != nil {
		return "", err
	}
	return *out.Subnet.SubnetId, nil
}

// TestBlocksOfVPCsAndSubnets holds sizes, places, and overlaps.
func TestBlocksOfVPCsAndSubnets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, row := range []struct{ reason, cidr, code string }{
		{"too large", "10.0.0.0/15", "InvalidVpcRange"},
		{"too small", "10.0.0.0/29", "InvalidVpcRange"},
		{"no block", "10.0.0.0", "InvalidParameterValue"},
		{"IPv6", "fd00::/64", "InvalidParameterValue"},
	} {
		_, err := r.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String(row.cidr)})
		if got := code(t, err); got != row.code {
			t.Errorf("a VPC that is %s: %v, want %s", row.reason, err, row.code)
		}
	}
	vpc := r.newVPC("10.9.0.0/16")
	if _, err := r.newSubnet(vpc, "10.9.16.0/20"); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ reason, cidr, code, words string }{
		{"outside of the VPC", "10.8.0.0/24", "InvalidSubnet.Range", "The CIDR '10.8.0.0/24' is invalid."},
		{"too small", "10.9.0.0/29", "InvalidSubnet.Range", "invalid"},
		{"the same block", "10.9.16.0/20", "InvalidSubnet.Conflict", "conflicts with another subnet"},
		{"inside of another", "10.9.17.0/24", "InvalidSubnet.Conflict", "conflicts with another subnet"},
		{"around another", "10.9.0.0/16", "InvalidSubnet.Conflict", "conflicts with another subnet"},
	} {
		_, err := r.newSubnet(vpc, row.cidr)
		if got := code(t, err); got != row.code || !strings.Contains(err.Error(), row.words) {
			t.Errorf("a subnet %s: %v, want %s", row.reason, err, row.code)
		}
	}
	_, err := r.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.7.0.0/16"), AmazonProvidedIpv6CidrBlock: aws.Bool(true)})
	wantError(t, err, "Unsupported", "IPv6")
	_, err = r.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.7.0.0/16"), DryRun: aws.Bool(true)})
	wantError(t, err, "DryRunOperation", "")
}

// TestVPCAttributes: they are changed one at a time, and public names follow them.
func TestVPCAttributes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vpc := *r.subnet("us-east-1a").VpcId
	set := func(change func(*ec2.ModifyVpcAttributeInput)) error {
		in := &ec2.ModifyVpcAttributeInput{VpcId: &vpc}
		change(in)
		_, err := r.ec2.ModifyVpcAttribute(t.Context(), in)
		return err
	}
	to := func(value bool) *types.AttributeBooleanValue { return &types.AttributeBooleanValue{Value: &value} }
	err := set(func(in *ec2.ModifyVpcAttributeInput) { in.EnableDnsHostnames, in.EnableDnsSupport = to(true), to(true) })
	wantError(t, err, "InvalidParameterCombination", "multiple")
	wantError(t, set(func(*ec2.ModifyVpcAttributeInput) {}), "MissingParameter", "")
	public := func(in *ec2.RunInstancesInput) {
		in.SubnetId, in.NetworkInterfaces = nil, []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), AssociatePublicIpAddress: aws.Bool(true)}}
	}
	if got := *r.launched(public).PublicDnsName; !strings.HasPrefix(got, "ec2-") {
		t.Errorf("in a default VPC the public name is %q", got)
	}
	if err := set(func(in *ec2.ModifyVpcAttributeInput) { in.EnableDnsHostnames = to(false) }); err != nil {
		t.Fatal(err)
	}
	if i := r.launched(public); *i.PublicDnsName != "" || i.PublicIpAddress == nil {
		t.Errorf("without DNS hostnames the public name is %q, the address %v", *i.PublicDnsName, i.PublicIpAddress)
	}
	if err := set(func(in *ec2.ModifyVpcAttributeInput) { in.EnableDnsSupport = to(false) }); err != nil {
		t.Fatal(err)
	}
	err = set(func(in *ec2.ModifyVpcAttributeInput) { in.EnableDnsHostnames = to(true) })
	wantError(t, err, "InvalidParameterCombination", "DNS support")
}

// TestSubnetAttributes: they are changed one at a time, and launches follow them.
func TestSubnetAttributes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	subnet := r.subnet("us-east-1a").SubnetId
	set := func(in ec2.ModifySubnetAttributeInput) error {
		in.SubnetId = subnet
		_, err := r.ec2.ModifySubnetAttribute(t.Context(), &in)
		return err
	}
	yes := &types.AttributeBooleanValue{Value: aws.Bool(true)}
	for _, row := range []struct {
		reason string
		in     ec2.ModifySubnetAttributeInput
		code   string
	}{
		{"two at a time", ec2.ModifySubnetAttributeInput{MapPublicIpOnLaunch: yes, EnableDns64: yes}, "InvalidParameterCombination"},
		{"none", ec2.ModifySubnetAttributeInput{}, "MissingParameter"},
		{"IPv6 without a block", ec2.ModifySubnetAttributeInput{AssignIpv6AddressOnCreation: yes}, "InvalidParameterValue"},
		{"a type of names that there is not", ec2.ModifySubnetAttributeInput{PrivateDnsHostnameTypeOnLaunch: "other"}, "InvalidParameterValue"},
		{"public addresses", ec2.ModifySubnetAttributeInput{MapPublicIpOnLaunch: yes}, ""},
		{"names by resource", ec2.ModifySubnetAttributeInput{PrivateDnsHostnameTypeOnLaunch: types.HostnameTypeResourceName}, ""},
		{"records of names by resource", ec2.ModifySubnetAttributeInput{EnableResourceNameDnsARecordOnLaunch: yes}, ""},
	} {
		if err := set(row.in); code(t, err) != row.code {
			t.Errorf("%s: %v, want %q", row.reason, err, row.code)
		}
	}
	i := r.launched(nil)
	if i.PublicIpAddress == nil || *i.PrivateDnsName != *i.InstanceId+".ec2.internal" || !*i.PrivateDnsNameOptions.EnableResourceNameDnsARecord {
		t.Errorf("the instance has the public address %v and the name %s", i.PublicIpAddress, *i.PrivateDnsName)
	}
}

// TestNetworkACLs: entries come and go, but for the last one; subnets move between ACLs.
func TestNetworkACLs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, vpc := t.Context(), r.newVPC("10.9.0.0/16")
	subnet := must[string](t)(r.newSubnet(vpc, "10.9.1.0/24"))
	describe := func(filters ...types.Filter) types.NetworkAcl {
		t.Helper()
		out := must[*ec2.DescribeNetworkAclsOutput](t)(r.ec2.DescribeNetworkAcls(ctx, &ec2.DescribeNetworkAclsInput{Filters: filters}))
		if len(out.NetworkAcls) != 1 {
			t.Fatalf("%d network ACLs were found, want 1", len(out.NetworkAcls))
		}
		return out.NetworkAcls[0]
	}
	first := describe(filter("vpc-id", vpc), filter("default", "true"))
	own := must[*ec2.CreateNetworkAclOutput](t)(r.ec2.CreateNetworkAcl(ctx, &ec2.CreateNetworkAclInput{VpcId: &vpc})).NetworkAcl
	entry := ec2.CreateNetworkAclEntryInput{
		NetworkAclId: own.NetworkAclId, Egress: aws.Bool(false), Protocol: aws.String("tcp"), RuleAction: types.RuleActionAllow, RuleNumber: aws.Int32(10),
		CidrBlock: aws.String("10.1.2.3/8"), PortRange: &types.PortRange{From: aws.Int32(1), To: aws.Int32(2)},
	}
	must[*ec2.CreateNetworkAclEntryOutput](t)(r.ec2.CreateNetworkAclEntry(ctx, &entry))
	_, err := r.ec2.CreateNetworkAclEntry(ctx, &entry)
	wantError(t, err, "NetworkAclEntryAlreadyExists", "The network acl entry identified by 10 already exists.")
	last := entry
	last.RuleNumber = aws.Int32(32767)
	_, err = r.ec2.CreateNetworkAclEntry(ctx, &last)
	wantError(t, err, "InvalidParameterValue", "ruleNumber")
	found := describe(filter("entry.cidr", "10.0.0.0/8"), filter("entry.protocol", "tcp"))
	if len(found.Entries) != 3 || *found.Entries[1].Protocol != "6" {
		t.Errorf("the entries are %+v", found.Entries)
	}
	moved := must[*ec2.ReplaceNetworkAclAssociationOutput](t)(r.ec2.ReplaceNetworkAclAssociation(ctx, &ec2.ReplaceNetworkAclAssociationInput{
		NetworkAclId: own.NetworkAclId, AssociationId: first.Associations[0].NetworkAclAssociationId,
	}))
	if found := describe(filter("association.subnet-id", subnet)); *found.NetworkAclId != *own.NetworkAclId {
		t.Errorf("the subnet is with %s", *found.NetworkAclId)
	}
	_, err = r.ec2.DeleteNetworkAcl(ctx, &ec2.DeleteNetworkAclInput{NetworkAclId: own.NetworkAclId})
	wantError(t, err, "DependencyViolation", "The networkAcl")
	must[*ec2.ReplaceNetworkAclAssociationOutput](t)(r.ec2.ReplaceNetworkAclAssociation(ctx, &ec2.ReplaceNetworkAclAssociationInput{NetworkAclId: first.NetworkAclId, AssociationId: moved.NewAssociationId}))
	must[*ec2.DeleteNetworkAclOutput](t)(r.ec2.DeleteNetworkAcl(ctx, &ec2.DeleteNetworkAclInput{NetworkAclId: own.NetworkAclId}))
	_, err = r.ec2.DeleteNetworkAcl(ctx, &ec2.DeleteNetworkAclInput{NetworkAclId: first.NetworkAclId})
	wantError(t, err, "InvalidParameterValue", "default network ACL")
	must[*ec2.DeleteNetworkAclEntryOutput](t)(r.ec2.DeleteNetworkAclEntry(ctx, &ec2.DeleteNetworkAclEntryInput{NetworkAclId: first.NetworkAclId, Egress: aws.Bool(true), RuleNumber: aws.Int32(100)}))
	if left := describe(filter("vpc-id", vpc)); len(left.Entries) != 3 {
		t.Errorf("the default ACL has %d entries, want 3", len(left.Entries))
	}
}
