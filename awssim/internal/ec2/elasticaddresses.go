package ec2

import (
	"fmt"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// elasticAddresses holds the Elastic IP addresses of a Region by allocation id.
type elasticAddresses struct {
	*sim.Table[types.Address]
	region           *sim.Region
	kernel           *sim.Kernel
	internetGateways *internetGateways
	interfaces       *networkInterfaces
	instances        *sim.Table[instance]
}

func addressNotFound(ip string) error {
	return sim.Errorf("InvalidAddress.NotFound", "Address '%s' not found.", ip)
}

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
