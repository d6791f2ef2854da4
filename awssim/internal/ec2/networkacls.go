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

// networkACLs holds the network ACLs of a Region.
type networkACLs struct {
	*sim.Table[types.NetworkAcl]
	region *sim.Region
}

// lastACLRule is the number of the rule that denies what no other rule allows. It cannot be
// changed. Users' rules have lower numbers (VPC User Guide, "Network ACL rules").
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

func associationNotFound(id string) error {
	return sim.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", id)
}
