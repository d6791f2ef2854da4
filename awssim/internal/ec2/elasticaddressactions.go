package ec2

import (
	"slices"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var addressFilters = filterTable[types.Address]{
	"allocation-id":              func(a types.Address) []string { return text(a.AllocationId) },
	"association-id":             func(a types.Address) []string { return text(a.AssociationId) },
	"domain":                     func(a types.Address) []string { return enum(a.Domain) },
	"instance-id":                func(a types.Address) []string { return text(a.InstanceId) },
	"network-border-group":       func(a types.Address) []string { return text(a.NetworkBorderGroup) },
	"network-interface-id":       func(a types.Address) []string { return text(a.NetworkInterfaceId) },
	"network-interface-owner-id": func(a types.Address) []string { return text(a.NetworkInterfaceOwnerId) },
	"private-ip-address":         func(a types.Address) []string { return text(a.PrivateIpAddress) },
	"public-ip":                  func(a types.Address) []string { return text(a.PublicIp) },
}

func addressID(a types.Address) string { return *a.AllocationId }

// describeAddresses has no pages (SDK, DescribeAddressesInput).
func describeAddresses(c *sim.Call, in *awsec2.DescribeAddressesInput) (*awsec2.DescribeAddressesOutput, error) {
	all := stateOf(c.Region).elastics.VisibleAll()
	found, err := selectByID(allocationID, all, addressID, in.AllocationIds)
	if err != nil {
		return nil, err
	}
	found, err = selectByName(found, in.PublicIps, func(a types.Address) string { return *a.PublicIp }, addressNotFound)
	if err != nil {
		return nil, err
	}
	found, err = addressFilters.apply(in.Filters, found, func(a types.Address) []types.Tag { return a.Tags })
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	return &awsec2.DescribeAddressesOutput{Addresses: found}, nil
}

// describeAddressesAttribute describes reverse DNS records. No simulated action sets one, so there
// are none.
func describeAddressesAttribute(c *sim.Call, in *awsec2.DescribeAddressesAttributeInput) (*awsec2.DescribeAddressesAttributeOutput, error) {
	found, err := selectByID(allocationID, stateOf(c.Region).elastics.VisibleAll(), addressID, in.AllocationIds)
	if err != nil {
		return nil, err
	}
	if in.Attribute != "" {
		if err := checkEnum("attribute", in.Attribute, in.Attribute.Values()); err != nil {
			return nil, err
		}
	}
	found, next, err := page(found, in.MaxResults, in.NextToken, pageLimits{min: 1, max: 1000}, addressID)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	out := &awsec2.DescribeAddressesAttributeOutput{NextToken: next}
	for _, a := range found {
		out.Addresses = append(out.Addresses, types.AddressAttribute{AllocationId: a.AllocationId, PublicIp: a.PublicIp})
	}
	return out, nil
}

func allocateAddress(c *sim.Call, in *awsec2.AllocateAddressInput) (*awsec2.AllocateAddressOutput, error) {
	s := stateOf(c.Region)
	if err := firstError(
		unsupportedMember(in.Address != nil || in.PublicIpv4Pool != nil && *in.PublicIpv4Pool != amazonPool, "addresses that are brought or asked for"),
		unsupportedMember(in.IpamPoolId != nil, "address pools of IPAM"),
		unsupportedMember(in.CustomerOwnedIpv4Pool != nil, "Outposts"),
	); err != nil {
		return nil, err
	}
	if in.Domain == types.DomainTypeStandard {
		// EC2-Classic is retired (SDK, AllocateAddressInput.Domain); the words are an inference.
		return nil, invalidValue("domain", in.Domain, "Expecting vpc.")
	}
	if group := val(in.NetworkBorderGroup); group != "" && group != s.region.Name {
		return nil, invalidValue("networkBorderGroup", group, "The Region has one network border group.")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeElasticIp, types.ResourceTypeElasticIp)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	id := c.Kernel.NewID("eipalloc-", 17)
	address := types.Address{
		AllocationId: ptr(id), PublicIp: ptr(s.elastics.freeIP(id)), Domain: types.DomainTypeVpc, NetworkBorderGroup: ptr(s.region.Name),
		PublicIpv4Pool: ptr(amazonPool), Tags: tags,
	}
	s.elastics.Put(id, address)
	return &awsec2.AllocateAddressOutput{
		AllocationId: &id, PublicIp: address.PublicIp, Domain: address.Domain, NetworkBorderGroup: address.NetworkBorderGroup, PublicIpv4Pool: address.PublicIpv4Pool,
	}, nil
}

// amazonPool names the addresses that Amazon owns.
const amazonPool = "amazon"

// releaseAddress refuses an address that is associated (API reference, ReleaseAddress:
// "InvalidIPAddress.InUse").
func releaseAddress(c *sim.Call, in *awsec2.ReleaseAddressInput) (*awsec2.ReleaseAddressOutput, error) {
	s := stateOf(c.Region)
	a, err := s.elastics.find(in.AllocationId, in.PublicIp)
	if err != nil {
		return nil, err
	}
	if a.AssociationId != nil {
		return nil, sim.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", *a.PublicIp)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.elastics.Delete(*a.AllocationId)
	return &awsec2.ReleaseAddressOutput{}, nil
}

func associateAddress(c *sim.Call, in *awsec2.AssociateAddressInput) (*awsec2.AssociateAddressOutput, error) {
	s := stateOf(c.Region)
	a, err := s.elastics.find(in.AllocationId, in.PublicIp)
	if err != nil {
		return nil, err
	}
	n, err := addressTarget(s, in)
	if err != nil {
		return nil, err
	}
	if err := s.elastics.checkAssociation(a, n, in); err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	if a.AssociationId != nil && *a.NetworkInterfaceId != *n.NetworkInterfaceId {
		s.elastics.disassociate(a)
	}
	if old := n.Association; old != nil && old.AllocationId != nil && *old.AllocationId != *a.AllocationId {
		previous, _ := s.elastics.Get(*old.AllocationId)
		s.elastics.Put(*old.AllocationId, free(previous))
	}
	id := s.elastics.associate(a, n)
	return &awsec2.AssociateAddressOutput{AssociationId: &id}, nil
}

// addressTarget returns the interface that a request associates an address with: the one that it
// names, or the primary one of the instance.
func addressTarget(s *state, in *awsec2.AssociateAddressInput) (types.NetworkInterface, error) {
	if in.NetworkInterfaceId != nil {
		if in.InstanceId != nil {
			return types.NetworkInterface{}, invalidCombination("You may specify either instanceId or networkInterfaceId, but not both.")
		}
		return s.interfaces.find(*in.NetworkInterfaceId)
	}
	if in.InstanceId == nil {
		return types.NetworkInterface{}, missingParameter("instanceId or networkInterfaceId")
	}
	found, err := s.instances.named([]string{*in.InstanceId})
	if err != nil {
		return types.NetworkInterface{}, err
	}
	n, ok := s.interfaces.primaryOf(found[0])
	if !ok || !found[0].in(types.InstanceStateNameRunning, types.InstanceStateNameStopped) {
		// Error codes, InvalidInstanceID: "the instance … is not in the appropriate state"; the
		// words are an inference.
		return n, sim.Errorf("InvalidInstanceID", "The pending instance '%s' is not in a valid state for this operation.", *in.InstanceId)
	}
	return n, nil
}

func disassociateAddress(c *sim.Call, in *awsec2.DisassociateAddressInput) (*awsec2.DisassociateAddressOutput, error) {
	s := stateOf(c.Region)
	all := s.elastics.All()
	place := slices.IndexFunc(all, func(a types.Address) bool {
		return a.AssociationId != nil && (*a.AssociationId == val(in.AssociationId) || *a.PublicIp == val(in.PublicIp))
	})
	switch {
	case val(in.AssociationId)+val(in.PublicIp) == "":
		return nil, missingParameter("AssociationId")
	case place < 0 && in.AssociationId != nil:
		return nil, associationNotFound(*in.AssociationId)
	case place < 0:
		return nil, addressNotFound(*in.PublicIp)
	}
	if n, _ := s.interfaces.Get(*all[place].NetworkInterfaceId); val(n.RequesterManaged) {
		return nil, errNotYours
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	s.elastics.disassociate(all[place])
	return &awsec2.DisassociateAddressOutput{}, nil
}
