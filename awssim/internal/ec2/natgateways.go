package ec2

import (
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// How long NAT gateways take. AWS gives no times for the first two: they are what users of
// infrastructure tools usually wait (inference). A gateway that is gone can be described for about
// an hour (VPC User Guide, "Delete a NAT gateway").
const (
	natCreation  = 90 * time.Second
	natDeletion  = 45 * time.Second
	natTombstone = time.Hour
)

// natInterface is the type of a gateway's interface (SDK, DescribeNetworkInterfacesInput.Filters;
// the SDK's enumeration spells it otherwise).
const natInterface types.NetworkInterfaceType = "nat_gateway"

// natGateways holds the NAT gateways of a Region.
type natGateways struct {
	*sim.Table[types.NatGateway]
	kernel           *sim.Kernel
	internetGateways *internetGateways
	subnets          *subnets
	interfaces       *networkInterfaces
	elastics         *elasticAddresses
}

// check refuses what EC2 refuses at once. Other mistakes make the gateway fail later (VPC User
// Guide, "NAT gateway creation fails").
func (ng *natGateways) check(in *awsec2.CreateNatGatewayInput) (types.Subnet, []types.Tag, error) {
	secondary := len(in.SecondaryAllocationIds)+len(in.SecondaryPrivateIpAddresses) > 0 || in.SecondaryPrivateIpAddressCount != nil
	regional := in.AvailabilityMode == types.AvailabilityModeRegional || len(in.AvailabilityZoneAddresses) > 0 || in.VpcId != nil
	if err := firstError(
		unsupportedMember(secondary, "secondary addresses of NAT gateways"),
		unsupportedMember(regional, "regional NAT gateways"),
		checkEnum("connectivityType", in.ConnectivityType, in.ConnectivityType.Values()),
	); err != nil {
		return types.Subnet{}, nil, err
	}
	subnet, err := ng.subnets.find(in.SubnetId)
	if err != nil {
		return subnet, nil, err
	}
	private := in.ConnectivityType == types.ConnectivityTypePrivate
	switch {
	case private && in.AllocationId != nil:
		// SDK, CreateNatGatewayInput.AllocationId
		return subnet, nil, invalidCombination("A private NAT gateway cannot have an Elastic IP address.")
	case !private:
		if val(in.AllocationId) == "" {
			return subnet, nil, missingParameter("AllocationId")
		}
		if _, err := ng.elastics.find(in.AllocationId, nil); err != nil {
			return subnet, nil, err
		}
	}
	if val(in.PrivateIpAddress) != "" {
		if err := ng.subnets.pool(subnet).check(*in.PrivateIpAddress); err != nil {
			return subnet, nil, err
		}
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeNatgateway, types.ResourceTypeNatgateway)
	return subnet, tags, err
}

// start gives a gateway its network interface. Without a free address it gets none, and fails.
func (ng *natGateways) start(gateway types.NatGateway, subnet types.Subnet, address string) types.NatGateway {
	n, err := ng.interfaces.create(interfaceRequest{
		subnet: subnet, description: "Interface for NAT Gateway " + *gateway.NatGatewayId, kind: natInterface, primary: address,
	})
	if err != nil {
		return gateway
	}
	n.RequesterManaged, n.Status, n.SourceDestCheck = ptr(true), types.NetworkInterfaceStatusInUse, ptr(false)
	n.Attachment = &types.NetworkInterfaceAttachment{
		AttachmentId: ptr(ng.kernel.NewID("ela-attach-", 17)), InstanceOwnerId: ptr("amazon-aws"), DeviceIndex: ptr(int32(1)), DeleteOnTermination: ptr(false),
		Status: types.AttachmentStatusAttached, AttachTime: gateway.CreateTime,
	}
	ng.interfaces.Put(*n.NetworkInterfaceId, n)
	part := &gateway.NatGatewayAddresses[0]
	part.NetworkInterfaceId, part.PrivateIp = n.NetworkInterfaceId, n.PrivateIpAddress
	part.AvailabilityZone, part.AvailabilityZoneId = n.AvailabilityZone, n.AvailabilityZoneId
	return gateway
}

// finish makes a pending gateway available, or lets it fail with the codes of "NAT gateway
// creation fails" (VPC User Guide).
func (ng *natGateways) finish(id string) {
	gateway, ok := ng.Get(id)
	if !ok || gateway.State != types.NatGatewayStatePending {
		return
	}
	part := gateway.NatGatewayAddresses[0]
	n, hasInterface := ng.interfaces.Get(val(part.NetworkInterfaceId))
	address, _ := ng.elastics.Get(val(part.AllocationId))
	hasGateway := ng.internetGateways.attachedTo(*gateway.VpcId)
	public := gateway.ConnectivityType == types.ConnectivityTypePublic
	fail := func(code, message string) {
		gateway.State, gateway.FailureCode, gateway.FailureMessage = types.NatGatewayStateFailed, ptr(code), ptr(message)
		if hasInterface {
			ng.interfaces.drop(n)
		}
		ng.Put(id, gateway)
		ng.kernel.After(natTombstone, func() { ng.Delete(id) })
	}
	switch {
	case !hasInterface:
		fail("InsufficientFreeAddressesInSubnet", "Subnet has insufficient free addresses to create this NAT gateway")
	case public && !hasGateway:
		fail("Gateway.NotAttached", "Network "+*gateway.VpcId+" has no Internet gateway attached")
	case public && address.AllocationId == nil:
		fail("InvalidAllocationID.NotFound", "Elastic IP address "+val(part.AllocationId)+" could not be associated with this NAT gateway")
	case public && address.AssociationId != nil:
		fail("Resource.AlreadyAssociated", "Elastic IP address "+*part.AllocationId+" is already associated")
	default:
		if public {
			part.AssociationId, part.PublicIp = ptr(ng.elastics.associate(address, n)), address.PublicIp
		}
		part.Status = types.NatGatewayAddressStatusSucceeded
		gateway.NatGatewayAddresses, gateway.State = []types.NatGatewayAddress{part}, types.NatGatewayStateAvailable
		ng.Put(id, gateway)
	}
}

func (ng *natGateways) find(id *string) (types.NatGateway, error) {
	if err := natGatewayID.check(val(id)); err != nil {
		return types.NatGateway{}, err
	}
	gateway, ok := ng.Get(*id)
	if !ok {
		return gateway, natGatewayID.missing(*id)
	}
	return gateway, nil
}
