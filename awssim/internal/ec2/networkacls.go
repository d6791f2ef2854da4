package ec2

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

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

// networkACLs holds the network ACLs of a Region.
type networkACLs struct {
	*sim.Table[types.NetworkAcl]
	region *sim.Region
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

// lastACLRule is the number of the rule that denies what no other allows, and that nobody can
// change. Users' rules are numbered below it (VPC User Guide, "Network ACL rules").
const lastACLRule = 32767

// newACL returns a network ACL. The default one allows all IPv4 traffic, others deny
// everything (VPC User Guide, "Default network ACL for a VPC" and "Custom network ACLs for your
// VPC").
func (na *networkACLs) newACL(id, vpc string, isDefault bool, tags []types.Tag) types.NetworkAcl {
	acl := types.NetworkAcl{NetworkAclId: ptr(id), VpcId: ptr(vpc), OwnerId: ptr(na.region.Account.ID), IsDefault: ptr(isDefault), Tags: tags}
	for _, egress := range []bool{true, false} {
		entry := types.NetworkAclEntry{Egress: ptr(egress), Protocol: ptr(allProtocols), CidrBlock: ptr("0.0.0.0/0")}
		if isDefault {
			entry.RuleNumber, entry.RuleAction = ptr(int32(100)), types.RuleActionAllow
			acl.Entries = append(acl.Entries, entry)
		}
		entry.RuleNumber, entry.RuleAction = ptr(int32(lastACLRule)), types.RuleActionDeny
		acl.Entries = append(acl.Entries, entry)
	}
	return acl
}

// defaultOf returns the default network ACL of a VPC, which always has one.
func (na *networkACLs) defaultOf(vpc string) types.NetworkAcl {
	for _, acl := range na.All() {
		if *acl.VpcId == vpc && *acl.IsDefault {
			return acl
		}
	}
	return types.NetworkAcl{NetworkAclId: ptr("")}
}

func withSubnet(acl types.NetworkAcl, subnet, association string) types.NetworkAcl {
	acl.Associations = append(slices.Clone(acl.Associations), types.NetworkAclAssociation{
		NetworkAclAssociationId: ptr(association), NetworkAclId: acl.NetworkAclId, SubnetId: ptr(subnet),
	})
	return acl
}

func withoutSubnet(acl types.NetworkAcl, subnet string) types.NetworkAcl {
	acl.Associations = slices.DeleteFunc(slices.Clone(acl.Associations), func(a types.NetworkAclAssociation) bool { return *a.SubnetId == subnet })
	return acl
}

func (na *networkACLs) find(id *string) (types.NetworkAcl, error) {
	if err := networkACLID.check(val(id)); err != nil {
		return types.NetworkAcl{}, err
	}
	acl, ok := na.Get(*id)
	if !ok {
		return acl, networkACLID.missing(*id)
	}
	return acl, nil
}

func createNetworkACL(c *sim.Call, in *awsec2.CreateNetworkAclInput) (*awsec2.CreateNetworkAclOutput, error) {
	s := stateOf(c.Region)
	asked := *in
	asked.DryRun = nil
	if answer, err := replay[awsec2.CreateNetworkAclOutput](s, c.Action, in.ClientToken, maxInstanceToken, asked); answer != nil || err != nil {
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
	remember(s, c.Action, in.ClientToken, asked, out)
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

// setEntry adds an entry, or replaces one.
func (na *networkACLs) setEntry(in *awsec2.CreateNetworkAclEntryInput, replace bool) error {
	acl, err := na.find(in.NetworkAclId)
	if err != nil {
		return err
	}
	entry, err := aclEntry(in)
	if err != nil {
		return err
	}
	place := entryPlace(acl, *entry.Egress, *entry.RuleNumber)
	switch {
	case replace && place < 0:
		return noSuchEntry(*entry.Egress, *entry.RuleNumber)
	case !replace && place >= 0:
		return sim.Errorf("NetworkAclEntryAlreadyExists", "The network acl entry identified by %d already exists.", *entry.RuleNumber)
	case val(in.DryRun):
		return dryRun()
	}
	acl.Entries = slices.Clone(acl.Entries)
	if replace {
		acl.Entries[place] = entry
	} else {
		acl.Entries = append(acl.Entries, entry)
	}
	slices.SortStableFunc(acl.Entries, func(a, b types.NetworkAclEntry) int {
		if *a.Egress != *b.Egress {
			return map[bool]int{true: -1, false: 1}[*a.Egress]
		}
		return int(*a.RuleNumber - *b.RuleNumber)
	})
	na.Put(*acl.NetworkAclId, acl)
	return nil
}

func noSuchEntry(egress bool, number int32) error {
	return sim.Errorf("InvalidNetworkAclEntry.NotFound", "The network acl entry identified by %d does not exist (egress: %t)", number, egress)
}

func entryPlace(acl types.NetworkAcl, egress bool, number int32) int {
	return slices.IndexFunc(acl.Entries, func(e types.NetworkAclEntry) bool { return *e.Egress == egress && *e.RuleNumber == number })
}

// aclEntry returns the entry that a request describes (SDK, CreateNetworkAclEntryInput).
func aclEntry(in *awsec2.CreateNetworkAclEntryInput) (types.NetworkAclEntry, error) {
	entry := types.NetworkAclEntry{
		Egress: ptr(val(in.Egress)), RuleNumber: ptr(val(in.RuleNumber)), RuleAction: in.RuleAction, Protocol: ptr(strings.ToLower(val(in.Protocol))),
		IcmpTypeCode: in.IcmpTypeCode, PortRange: in.PortRange,
	}
	for number, name := range protocolNames {
		if *entry.Protocol == name {
			entry.Protocol = ptr(number)
		}
	}
	if n, err := strconv.Atoi(*entry.Protocol); err != nil || n < -1 || n > 255 {
		return entry, invalidValue("protocol", val(in.Protocol), "It is not a known protocol.")
	}
	if n := *entry.RuleNumber; n < 1 || n >= lastACLRule {
		return entry, invalidValue("ruleNumber", n, "Expecting a value between 1 and 32766.")
	}
	if in.RuleAction == "" {
		return entry, missingParameter("ruleAction")
	}
	if err := checkEnum("ruleAction", in.RuleAction, in.RuleAction.Values()); err != nil {
		return entry, err
	}
	if err := checkEntryPorts(entry); err != nil {
		return entry, err
	}
	return entry, setEntryBlock(&entry, in)
}

// checkEntryPorts: TCP and UDP need ports, ICMP needs a type and a code (SDK,
// CreateNetworkAclEntryInput.PortRange, IcmpTypeCode).
func checkEntryPorts(entry types.NetworkAclEntry) error {
	switch *entry.Protocol {
	case "6", "17":
		if entry.PortRange == nil || entry.PortRange.From == nil || entry.PortRange.To == nil {
			return missingParameter("portRange")
		}
	case "1", "58":
		if entry.IcmpTypeCode == nil {
			return missingParameter("icmpTypeCode")
		}
	}
	return nil
}

func setEntryBlock(entry *types.NetworkAclEntry, in *awsec2.CreateNetworkAclEntryInput) error {
	cidr := val(in.CidrBlock) + val(in.Ipv6CidrBlock)
	if (in.CidrBlock == nil) == (in.Ipv6CidrBlock == nil) {
		return missingParameter("cidrBlock or ipv6CidrBlock")
	}
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil || prefix.Addr().Is4() != (in.CidrBlock != nil) {
		return invalidValue("cidrBlock", cidr, "This is not a valid CIDR block.")
	}
	if in.CidrBlock != nil {
		entry.CidrBlock = ptr(prefix.Masked().String())
	} else {
		entry.Ipv6CidrBlock = ptr(prefix.Masked().String())
	}
	return nil
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

func associationNotFound(id string) error {
	return sim.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", id)
}
