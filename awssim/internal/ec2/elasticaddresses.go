package ec2

import (
	"fmt"
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

// elasticAddresses holds the Elastic IP addresses of a Region by allocation id.
type elasticAddresses struct {
	*sim.Table[types.Address]
	region           *sim.Region
	kernel           *sim.Kernel
	internetGateways *internetGateways
	interfaces       *networkInterfaces
	instances        *sim.Table[instance]
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

func addressNotFound(ip string) error {
	return sim.Errorf("InvalidAddress.NotFound", "Address '%s' not found.", ip)
}

// describeAddressesAttribute shows reverse DNS records. Nobody can set one here, so that there are none.
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

// freeIP returns a public address that no other allocation has.
func (ea *elasticAddresses) freeIP(id string) string {
	taken := map[string]bool{}
	for _, a := range ea.All() {
		taken[*a.PublicIp] = true
	}
	ip := publicAddress(id)
	for n := 0; taken[ip]; n++ {
		ip = publicAddress(fmt.Sprint(id, n))
	}
	return ip
}

// find returns an allocation by its id or by its address.
func (ea *elasticAddresses) find(id, ip *string) (types.Address, error) {
	if val(id) != "" {
		if err := allocationID.check(*id); err != nil {
			return types.Address{}, err
		}
		a, ok := ea.Get(*id)
		if !ok {
			return a, allocationID.missing(*id)
		}
		return a, nil
	}
	if val(ip) == "" {
		return types.Address{}, missingParameter("AllocationId")
	}
	for _, a := range ea.All() {
		if *a.PublicIp == *ip {
			return a, nil
		}
	}
	return types.Address{}, addressNotFound(*ip)
}

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

func (ea *elasticAddresses) checkAssociation(a types.Address, n types.NetworkInterface, in *awsec2.AssociateAddressInput) error {
	if val(in.PrivateIpAddress) != "" && *in.PrivateIpAddress != *n.PrivateIpAddress {
		return sim.Errorf("Unsupported", "The simulation associates addresses with the primary private address of an interface only.")
	}
	if val(n.RequesterManaged) {
		return errNotYours
	}
	if !ea.internetGateways.attachedTo(*n.VpcId) {
		return noGateway(*n.VpcId)
	}
	if a.AssociationId != nil && *a.NetworkInterfaceId != *n.NetworkInterfaceId {
		return ea.checkMove(a, in.AllowReassociation)
	}
	other := val(n.Association).AllocationId
	if other != nil && *other != *a.AllocationId && in.AllowReassociation != nil && !*in.AllowReassociation {
		return sim.Errorf("Resource.AlreadyAssociated", "resource %s is already associated with associate-id %s", *n.NetworkInterfaceId, *n.Association.AssociationId)
	}
	return nil
}

// checkMove refuses to take an address off another interface if the request forbids it (SDK,
// AssociateAddressInput.AllowReassociation: "Reassociation is automatic, but you can specify
// false") or if AWS manages that interface.
func (ea *elasticAddresses) checkMove(a types.Address, allowed *bool) error {
	if allowed != nil && !*allowed {
		return sim.Errorf("Resource.AlreadyAssociated", "resource %s is already associated with associate-id %s", *a.AllocationId, *a.AssociationId)
	}
	if other, _ := ea.interfaces.Get(*a.NetworkInterfaceId); val(other.RequesterManaged) {
		return errNotYours
	}
	return nil
}

func noGateway(vpc string) error {
	return sim.Errorf("Gateway.NotAttached", "Network %s is not attached to any internet gateway", vpc)
}

// associate gives an interface an address and returns the id of the association.
func (ea *elasticAddresses) associate(a types.Address, n types.NetworkInterface) string {
	id := ea.kernel.NewID("eipassoc-", 17)
	a.AssociationId, a.NetworkInterfaceId, a.NetworkInterfaceOwnerId, a.PrivateIpAddress = ptr(id), n.NetworkInterfaceId, n.OwnerId, n.PrivateIpAddress
	a.InstanceId = val(n.Attachment).InstanceId
	ea.Put(*a.AllocationId, a)
	ea.interfaces.store(associated(n, &types.NetworkInterfaceAssociation{
		AllocationId: a.AllocationId, AssociationId: ptr(id), IpOwnerId: ptr(ea.region.Account.ID), PublicIp: a.PublicIp,
		PublicDnsName: ptr(ea.interfaces.publicName(*n.VpcId, *a.PublicIp)),
	}))
	return id
}

// disassociate takes an address off the interface that has it. An instance that was launched with
// an automatic address gets one again (User Guide, "Elastic IP addresses").
func (ea *elasticAddresses) disassociate(a types.Address) {
	n, ok := ea.interfaces.Get(*a.NetworkInterfaceId)
	ea.Put(*a.AllocationId, free(a))
	if !ok {
		return
	}
	ea.interfaces.store(associated(n, nil))
	if i, ok := ea.instances.Get(val(a.InstanceId)); ok && i.in(types.InstanceStateNamePending, types.InstanceStateNameRunning) {
		ea.interfaces.lendAddress(i)
		ea.instances.Put(i.id(), ea.interfaces.refreshed(i))
	}
}

// free returns an address without its association.
func free(a types.Address) types.Address {
	a.AssociationId, a.NetworkInterfaceId, a.NetworkInterfaceOwnerId, a.PrivateIpAddress, a.InstanceId = nil, nil, nil, nil, nil
	return a
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
