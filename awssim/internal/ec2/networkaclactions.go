package ec2

import (
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var aclListing = listing[types.NetworkAcl]{
	kind: networkACLID, id: func(a types.NetworkAcl) string { return *a.NetworkAclId }, tags: func(a types.NetworkAcl) []types.Tag { return a.Tags }, pages: commonPages,
	filters: filterTable[types.NetworkAcl]{
		"association.association-id": aclAssociations(func(a types.NetworkAclAssociation) []string { return text(a.NetworkAclAssociationId) }),
		"association.network-acl-id": aclAssociations(func(a types.NetworkAclAssociation) []string { return text(a.NetworkAclId) }),
		"association.subnet-id":      aclAssociations(func(a types.NetworkAclAssociation) []string { return text(a.SubnetId) }),
		"default":                    func(a types.NetworkAcl) []string { return boolean(a.IsDefault) },
		"entry.cidr":                 aclEntries(func(e types.NetworkAclEntry) []string { return text(e.CidrBlock) }),
		"entry.egress":               aclEntries(func(e types.NetworkAclEntry) []string { return boolean(e.Egress) }),
		"entry.icmp.code":            aclEntries(func(e types.NetworkAclEntry) []string { return number(val(e.IcmpTypeCode).Code) }),
		"entry.icmp.type":            aclEntries(func(e types.NetworkAclEntry) []string { return number(val(e.IcmpTypeCode).Type) }),
		"entry.ipv6-cidr":            aclEntries(func(e types.NetworkAclEntry) []string { return text(e.Ipv6CidrBlock) }),
		"entry.port-range.from":      aclEntries(func(e types.NetworkAclEntry) []string { return number(val(e.PortRange).From) }),
		"entry.port-range.to":        aclEntries(func(e types.NetworkAclEntry) []string { return number(val(e.PortRange).To) }),
		"entry.protocol": aclEntries(func(e types.NetworkAclEntry) []string {
			return append(text(e.Protocol), text(optional(protocolNames[*e.Protocol]))...)
		}),
		"entry.rule-action": aclEntries(func(e types.NetworkAclEntry) []string { return enum(e.RuleAction) }),
		"entry.rule-number": aclEntries(func(e types.NetworkAclEntry) []string { return number(e.RuleNumber) }),
		"network-acl-id":    func(a types.NetworkAcl) []string { return text(a.NetworkAclId) },
		"owner-id":          func(a types.NetworkAcl) []string { return text(a.OwnerId) },
		"vpc-id":            func(a types.NetworkAcl) []string { return text(a.VpcId) },
	},
}

func aclAssociations(read func(types.NetworkAclAssociation) []string) func(types.NetworkAcl) []string {
	return func(a types.NetworkAcl) []string { return collect(a.Associations, read) }
}

func aclEntries(read func(types.NetworkAclEntry) []string) func(types.NetworkAcl) []string {
	return func(a types.NetworkAcl) []string { return collect(a.Entries, read) }
}

func describeNetworkAcls(c *sim.Call, in *awsec2.DescribeNetworkAclsInput) (*awsec2.DescribeNetworkAclsOutput, error) {
	found, next, err := aclListing.read(stateOf(c.Region).acls.VisibleAll(), query{in.NetworkAclIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeNetworkAclsOutput{NetworkAcls: found, NextToken: next}, nil
}

func withoutSubnet(acl types.NetworkAcl, subnet string) types.NetworkAcl {
	acl.Associations = slices.DeleteFunc(slices.Clone(acl.Associations), func(a types.NetworkAclAssociation) bool { return *a.SubnetId == subnet })
	return acl
}

func createNetworkACL(c *sim.Call, in *awsec2.CreateNetworkAclInput) (*awsec2.CreateNetworkAclOutput, error) {
	s := stateOf(c.Region)
	asked := *in
	asked.DryRun = nil
	if answer, err := replay[awsec2.CreateNetworkAclOutput](s.tokens, c.Action, in.ClientToken, maxInstanceToken, asked); answer != nil || err != nil {
		return answer, err
	}
	vpc, err := s.vpcs.find(in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeNetworkAcl, types.ResourceTypeNetworkAcl)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	acl := s.acls.newACL(c.Kernel.NewID("acl-", 17), *vpc.VpcId, false, tags)
	s.acls.Put(*acl.NetworkAclId, acl)
	out := &awsec2.CreateNetworkAclOutput{NetworkAcl: &acl, ClientToken: in.ClientToken}
	remember(s.tokens, c.Action, in.ClientToken, asked, out)
	return out, nil
}

func deleteNetworkACL(c *sim.Call, in *awsec2.DeleteNetworkAclInput) (*awsec2.DeleteNetworkAclOutput, error) {
	s := stateOf(c.Region)
	acl, err := s.acls.find(in.NetworkAclId)
	if err != nil {
		return nil, err
	}
	if *acl.IsDefault {
		return nil, sim.Errorf("InvalidParameterValue", "cannot delete default network ACL %s", *acl.NetworkAclId)
	}
	if len(acl.Associations) > 0 {
		return nil, dependencyViolation("networkAcl", *acl.NetworkAclId)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.acls.Delete(*acl.NetworkAclId)
	return &awsec2.DeleteNetworkAclOutput{}, nil
}

func createNetworkACLEntry(c *sim.Call, in *awsec2.CreateNetworkAclEntryInput) (*awsec2.CreateNetworkAclEntryOutput, error) {
	if err := stateOf(c.Region).acls.setEntry(in, false); err != nil {
		return nil, err
	}
	return &awsec2.CreateNetworkAclEntryOutput{}, nil
}

func replaceNetworkACLEntry(c *sim.Call, in *awsec2.ReplaceNetworkAclEntryInput) (*awsec2.ReplaceNetworkAclEntryOutput, error) {
	if err := stateOf(c.Region).acls.setEntry((*awsec2.CreateNetworkAclEntryInput)(in), true); err != nil {
		return nil, err
	}
	return &awsec2.ReplaceNetworkAclEntryOutput{}, nil
}

func deleteNetworkACLEntry(c *sim.Call, in *awsec2.DeleteNetworkAclEntryInput) (*awsec2.DeleteNetworkAclEntryOutput, error) {
	s := stateOf(c.Region)
	acl, err := s.acls.find(in.NetworkAclId)
	if err != nil {
		return nil, err
	}
	number := val(in.RuleNumber)
	if number < 1 || number >= lastACLRule {
		return nil, invalidValue("ruleNumber", number, "Expecting a value between 1 and 32766.")
	}
	place := entryPlace(acl, val(in.Egress), number)
	if place < 0 {
		return nil, noSuchEntry(val(in.Egress), number)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	acl.Entries = slices.Delete(slices.Clone(acl.Entries), place, place+1)
	s.acls.Put(*acl.NetworkAclId, acl)
	return &awsec2.DeleteNetworkAclEntryOutput{}, nil
}

// replaceNetworkACLAssociation gives the subnet of an association another network ACL.
func replaceNetworkACLAssociation(c *sim.Call, in *awsec2.ReplaceNetworkAclAssociationInput) (*awsec2.ReplaceNetworkAclAssociationOutput, error) {
	s := stateOf(c.Region)
	target, err := s.acls.find(in.NetworkAclId)
	if err != nil {
		return nil, err
	}
	for _, acl := range s.acls.All() {
		for _, a := range acl.Associations {
			if *a.NetworkAclAssociationId != val(in.AssociationId) {
				continue
			}
			if *acl.VpcId != *target.VpcId {
				return nil, sim.Errorf("InvalidParameterValue", "network ACL %s and subnet %s belong to different networks", *target.NetworkAclId, *a.SubnetId)
			}
			if val(in.DryRun) {
				return nil, dryRun()
			}
			id := c.Kernel.NewID("aclassoc-", 17)
			s.acls.Put(*acl.NetworkAclId, withoutSubnet(acl, *a.SubnetId))
			if *acl.NetworkAclId == *target.NetworkAclId {
				target = withoutSubnet(target, *a.SubnetId)
			}
			s.acls.Put(*target.NetworkAclId, withSubnet(target, *a.SubnetId, id))
			return &awsec2.ReplaceNetworkAclAssociationOutput{NewAssociationId: &id}, nil
		}
	}
	return nil, associationNotFound(val(in.AssociationId))
}
