package ec2

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var interfaceListing = listing[types.NetworkInterface]{
	kind: networkInterfaceID, id: func(n types.NetworkInterface) string { return *n.NetworkInterfaceId }, pages: commonPages,
	tags: func(n types.NetworkInterface) []types.Tag { return n.TagSet },
	filters: filterTable[types.NetworkInterface]{
		"addresses.association.owner-id":   interfaceAddresses(func(a types.NetworkInterfacePrivateIpAddress) []string { return text(val(a.Association).IpOwnerId) }),
		"addresses.association.public-ip":  interfaceAddresses(func(a types.NetworkInterfacePrivateIpAddress) []string { return text(val(a.Association).PublicIp) }),
		"addresses.primary":                interfaceAddresses(func(a types.NetworkInterfacePrivateIpAddress) []string { return boolean(a.Primary) }),
		"addresses.private-ip-address":     interfaceAddresses(func(a types.NetworkInterfacePrivateIpAddress) []string { return text(a.PrivateIpAddress) }),
		"association.allocation-id":        func(n types.NetworkInterface) []string { return text(val(n.Association).AllocationId) },
		"association.association-id":       func(n types.NetworkInterface) []string { return text(val(n.Association).AssociationId) },
		"association.ip-owner-id":          func(n types.NetworkInterface) []string { return text(val(n.Association).IpOwnerId) },
		"association.public-dns-name":      func(n types.NetworkInterface) []string { return text(val(n.Association).PublicDnsName) },
		"association.public-ip":            func(n types.NetworkInterface) []string { return text(val(n.Association).PublicIp) },
		"attachment.attach-time":           attachment(func(a types.NetworkInterfaceAttachment) []string { return instant(a.AttachTime) }),
		"attachment.attachment-id":         attachment(func(a types.NetworkInterfaceAttachment) []string { return text(a.AttachmentId) }),
		"attachment.delete-on-termination": attachment(func(a types.NetworkInterfaceAttachment) []string { return boolean(a.DeleteOnTermination) }),
		"attachment.device-index":          attachment(func(a types.NetworkInterfaceAttachment) []string { return number(a.DeviceIndex) }),
		"attachment.instance-id":           attachment(func(a types.NetworkInterfaceAttachment) []string { return text(a.InstanceId) }),
		"attachment.instance-owner-id":     attachment(func(a types.NetworkInterfaceAttachment) []string { return text(a.InstanceOwnerId) }),
		"attachment.status":                attachment(func(a types.NetworkInterfaceAttachment) []string { return enum(a.Status) }),
		"availability-zone":                func(n types.NetworkInterface) []string { return text(n.AvailabilityZone) },
		"availability-zone-id":             func(n types.NetworkInterface) []string { return text(n.AvailabilityZoneId) },
		"description":                      func(n types.NetworkInterface) []string { return text(n.Description) },
		"group-id": func(n types.NetworkInterface) []string {
			return collect(n.Groups, func(g types.GroupIdentifier) []string { return text(g.GroupId) })
		},
		"interface-type":       func(n types.NetworkInterface) []string { return enum(n.InterfaceType) },
		"mac-address":          func(n types.NetworkInterface) []string { return text(n.MacAddress) },
		"network-interface-id": func(n types.NetworkInterface) []string { return text(n.NetworkInterfaceId) },
		"operator.managed":     func(n types.NetworkInterface) []string { return boolean(val(n.Operator).Managed) },
		"operator.principal":   func(n types.NetworkInterface) []string { return text(val(n.Operator).Principal) },
		"owner-id":             func(n types.NetworkInterface) []string { return text(n.OwnerId) },
		"private-dns-name":     func(n types.NetworkInterface) []string { return text(n.PrivateDnsName) },
		"private-ip-address":   interfaceAddresses(func(a types.NetworkInterfacePrivateIpAddress) []string { return text(a.PrivateIpAddress) }),
		"requester-id":         func(n types.NetworkInterface) []string { return text(n.RequesterId) },
		"requester-managed":    func(n types.NetworkInterface) []string { return boolean(n.RequesterManaged) },
		"source-dest-check":    func(n types.NetworkInterface) []string { return boolean(n.SourceDestCheck) },
		"status":               func(n types.NetworkInterface) []string { return enum(n.Status) },
		"subnet-id":            func(n types.NetworkInterface) []string { return text(n.SubnetId) },
		"vpc-id":               func(n types.NetworkInterface) []string { return text(n.VpcId) },
		"ipv6-addresses.ipv6-address": func(n types.NetworkInterface) []string {
			return collect(n.Ipv6Addresses, func(a types.NetworkInterfaceIpv6Address) []string { return text(a.Ipv6Address) })
		},
	},
}

// networkInterfaces holds the network interfaces of a Region. Its table is what counts; an instance
// has copies of the interfaces that are attached to it.
type networkInterfaces struct {
	*sim.Table[types.NetworkInterface]
	region    *sim.Region
	kernel    *sim.Kernel
	settings  *sim.Table[vpcSettings] // by VPC id
	subnets   *subnets
	elastics  *sim.Table[types.Address]
	instances *sim.Table[instance]
}

func interfaceAddresses(read func(types.NetworkInterfacePrivateIpAddress) []string) func(types.NetworkInterface) []string {
	return func(n types.NetworkInterface) []string { return collect(n.PrivateIpAddresses, read) }
}

// attachment reads the attachment of an interface; one that is available matches no filter.
func attachment(read func(types.NetworkInterfaceAttachment) []string) func(types.NetworkInterface) []string {
	return func(n types.NetworkInterface) []string {
		if n.Attachment == nil {
			return nil
		}
		return read(*n.Attachment)
	}
}

// interfaceRequest holds the parameters of a new network interface.
type interfaceRequest struct {
	subnet      types.Subnet
	groups      []types.GroupIdentifier
	description string
	kind        types.NetworkInterfaceType
	tags        []types.Tag
	// name is what the MAC address, and with a hostname by resource also the private DNS name, is
	// derived from.
	name     string
	hostname types.HostnameType
	primary  string   // the wanted address, "" for any
	further  []string // wanted secondary addresses
}

// create takes addresses of the subnet and stores an interface that is attached to nothing.
func (ni *networkInterfaces) create(request interfaceRequest) (types.NetworkInterface, error) {
	var taken []types.NetworkInterfacePrivateIpAddress
	pool := ni.subnets.pool(request.subnet)
	for i, wanted := range append([]string{request.primary}, request.further...) {
		address, ok := pool.take(wanted)
		if !ok {
			for _, a := range taken {
				pool.release(*a.PrivateIpAddress)
			}
			return types.NetworkInterface{}, noAddress(request.subnet, wanted)
		}
		taken = append(taken, types.NetworkInterfacePrivateIpAddress{Primary: ptr(i == 0), PrivateIpAddress: ptr(address.String())})
	}
	id := ni.kernel.NewID("eni-", 17)
	if request.name == "" {
		request.name = id
	}
	primary := taken[0].PrivateIpAddress
	taken[0].PrivateDnsName = ptr(privateDNSName(ni.region, request.name, *primary, request.hostname))
	n := types.NetworkInterface{
		NetworkInterfaceId: ptr(id), SubnetId: request.subnet.SubnetId, VpcId: request.subnet.VpcId, OwnerId: ptr(ni.region.Account.ID),
		AvailabilityZone: request.subnet.AvailabilityZone, AvailabilityZoneId: request.subnet.AvailabilityZoneId,
		Description: ptr(request.description), Groups: request.groups, InterfaceType: request.kind, Status: types.NetworkInterfaceStatusAvailable,
		PrivateIpAddress: primary, PrivateDnsName: taken[0].PrivateDnsName, PrivateIpAddresses: taken,
		MacAddress: ptr(macAddress(request.name, *primary)), SourceDestCheck: ptr(true), RequesterManaged: ptr(false), RequesterId: ptr(ni.region.Account.ID),
		Operator: operatorOf(""), TagSet: request.tags,
	}
	ni.Put(id, n)
	return n, nil
}

func noAddress(subnet types.Subnet, wanted string) error {
	if wanted != "" {
		return sim.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", wanted)
	}
	return sim.Errorf("InsufficientFreeAddressesInSubnet", "The specified subnet does not have enough free addresses to satisfy the request. (%s)", val(subnet.SubnetId))
}

// forLaunch returns an interface of an instance that is being launched: a new one, or one that
// the launch names.
func (ni *networkInterfaces) forLaunch(plan interfacePlan, now time.Time, instanceID string, hostname types.HostnameType) (types.InstanceNetworkInterface, error) {
	var n types.NetworkInterface
	if plan.existing != nil {
		n = *plan.existing
	} else {
		kind := types.NetworkInterfaceTypeInterface
		if val(plan.spec.InterfaceType) != "" {
			kind = types.NetworkInterfaceType(*plan.spec.InterfaceType)
		}
		var err error
		n, err = ni.create(interfaceRequest{
			subnet: plan.subnet, groups: plan.groups, description: val(plan.spec.Description), kind: kind, tags: plan.tags, name: instanceID,
			hostname: hostname, primary: primaryAddress(plan.spec), further: secondaryAddresses(plan.spec),
		})
		if err != nil {
			return types.InstanceNetworkInterface{}, err
		}
	}
	public := val(plan.subnet.MapPublicIpOnLaunch)
	if plan.spec.AssociatePublicIpAddress != nil {
		public = *plan.spec.AssociatePublicIpAddress
	}
	if public && plan.existing == nil {
		n = associated(n, ni.automaticAddress(n, instanceID))
	}
	// Interfaces that the launch creates are deleted with the instance, others stay (User Guide,
	// "Delete network interfaces on termination").
	goes := plan.existing == nil
	if plan.spec.DeleteOnTermination != nil {
		goes = *plan.spec.DeleteOnTermination
	}
	n = ni.attached(n, instanceID, now, types.NetworkInterfaceAttachment{
		DeviceIndex: ptr(val(plan.spec.DeviceIndex)), NetworkCardIndex: ptr(val(plan.spec.NetworkCardIndex)), DeleteOnTermination: ptr(goes),
	})
	ni.Put(*n.NetworkInterfaceId, n)
	return onInstance(n), nil
}

// attached returns an interface with an attachment to an instance.
func (ni *networkInterfaces) attached(n types.NetworkInterface, instanceID string, now time.Time, a types.NetworkInterfaceAttachment) types.NetworkInterface {
	a.AttachmentId, a.AttachTime, a.Status = ptr(ni.kernel.NewID("eni-attach-", 17)), ptr(now), types.AttachmentStatusAttached
	a.InstanceId, a.InstanceOwnerId = ptr(instanceID), ptr(ni.region.Account.ID)
	n.Attachment, n.Status = &a, types.NetworkInterfaceStatusInUse
	return n
}

// automaticAddress returns the public address that EC2 lends to an instance.
func (ni *networkInterfaces) automaticAddress(n types.NetworkInterface, instanceID string) *types.NetworkInterfaceAssociation {
	ip := publicAddress(instanceID)
	return &types.NetworkInterfaceAssociation{IpOwnerId: ptr("amazon"), PublicIp: ptr(ip), PublicDnsName: ptr(ni.publicName(val(n.VpcId), ip))}
}

// associated returns an interface with the public address of its primary private address; nil takes it away.
func associated(n types.NetworkInterface, association *types.NetworkInterfaceAssociation) types.NetworkInterface {
	n.Association, n.PrivateIpAddresses = association, slices.Clone(n.PrivateIpAddresses)
	n.PrivateIpAddresses[0].Association = association
	return n
}

// onInstance returns an interface as an instance has it.
func onInstance(n types.NetworkInterface) types.InstanceNetworkInterface {
	return types.InstanceNetworkInterface{
		NetworkInterfaceId: n.NetworkInterfaceId, SubnetId: n.SubnetId, VpcId: n.VpcId, OwnerId: n.OwnerId, Description: n.Description, Groups: n.Groups,
		PrivateIpAddress: n.PrivateIpAddress, PrivateDnsName: n.PrivateDnsName, SourceDestCheck: n.SourceDestCheck, Status: n.Status,
		InterfaceType: ptr(string(n.InterfaceType)), MacAddress: n.MacAddress,
		Association:        shape.Convert[*types.InstanceNetworkInterfaceAssociation](n.Association),
		Attachment:         shape.Convert[*types.InstanceNetworkInterfaceAttachment](n.Attachment),
		PrivateIpAddresses: shape.Convert[[]types.InstancePrivateIpAddress](n.PrivateIpAddresses),
	}
}

// refreshed returns an instance with its interfaces as the table has them now.
func (ni *networkInterfaces) refreshed(i instance) instance {
	var views []types.InstanceNetworkInterface
	for _, old := range i.api.NetworkInterfaces {
		if n, ok := ni.Get(*old.NetworkInterfaceId); ok && val(val(n.Attachment).InstanceId) == i.id() {
			views = append(views, onInstance(n))
		}
	}
	return i.showing(views)
}

// showing returns an instance with interfaces. The first one is the primary interface.
func (i instance) showing(views []types.InstanceNetworkInterface) instance {
	primary := views[0]
	i.api.NetworkInterfaces, i.api.SecurityGroups, i.api.SourceDestCheck = views, primary.Groups, primary.SourceDestCheck
	i.api.PublicIpAddress, i.api.PublicDnsName = nil, ptr("")
	if primary.Association != nil {
		i.api.PublicIpAddress, i.api.PublicDnsName = primary.Association.PublicIp, primary.Association.PublicDnsName
	}
	return i
}

// store stores a changed interface, and its copy in the instance that has it.
func (ni *networkInterfaces) store(n types.NetworkInterface) {
	ni.Put(*n.NetworkInterfaceId, n)
	if i, ok := ni.instances.Get(val(val(n.Attachment).InstanceId)); ok && len(i.api.NetworkInterfaces) > 0 {
		ni.instances.Put(i.id(), ni.refreshed(i))
	}
}

// drop deletes an interface, whose private addresses are free then.
func (ni *networkInterfaces) drop(n types.NetworkInterface) {
	if subnet, ok := ni.subnets.Get(*n.SubnetId); ok {
		for _, a := range n.PrivateIpAddresses {
			ni.subnets.pool(subnet).release(*a.PrivateIpAddress)
		}
	}
	ni.Delete(*n.NetworkInterfaceId)
}

// release takes the interfaces off an instance that is terminated.
func (ni *networkInterfaces) release(i instance) {
	for _, view := range i.api.NetworkInterfaces {
		n, ok := ni.Get(*view.NetworkInterfaceId)
		if !ok || n.Attachment == nil {
			continue
		}
		goes := val(n.Attachment.DeleteOnTermination)
		n = ni.withoutPublicAddress(n, false)
		n.Attachment, n.Status = nil, types.NetworkInterfaceStatusAvailable
		if goes {
			ni.drop(n)
		} else {
			ni.Put(*n.NetworkInterfaceId, n)
		}
	}
}

// withoutPublicAddress takes the public address off an interface. An instance that stops keeps an
// Elastic IP address, one that is terminated loses it (User Guide, "EC2 instance IP addressing" and
// "Elastic IP addresses").
func (ni *networkInterfaces) withoutPublicAddress(n types.NetworkInterface, keepElastic bool) types.NetworkInterface {
	if n.Association == nil || keepElastic && n.Association.AllocationId != nil {
		return n
	}
	if a, ok := ni.elastics.Get(val(n.Association.AllocationId)); ok {
		ni.elastics.Put(*a.AllocationId, free(a))
	}
	return associated(n, nil)
}

// lendAddress gives an instance an automatic public address, if it was launched with one and has no other.
func (ni *networkInterfaces) lendAddress(i instance) {
	n, ok := ni.primaryOf(i)
	if ok && i.hasPublic && n.Association == nil {
		ni.Put(*n.NetworkInterfaceId, associated(n, ni.automaticAddress(n, i.id())))
	}
}

// primaryOf returns the primary interface of an instance that is not terminated.
func (ni *networkInterfaces) primaryOf(i instance) (types.NetworkInterface, bool) {
	if len(i.api.NetworkInterfaces) == 0 {
		return types.NetworkInterface{}, false
	}
	return ni.Get(*i.api.NetworkInterfaces[0].NetworkInterfaceId)
}

// find returns the network interface with an id.
func (ni *networkInterfaces) find(id string) (types.NetworkInterface, error) {
	if err := networkInterfaceID.check(id); err != nil {
		return types.NetworkInterface{}, err
	}
	n, ok := ni.Get(id)
	if !ok {
		return n, networkInterfaceID.missing(id)
	}
	return n, nil
}

// publicName returns the public DNS name of an address in a VPC, "" if the VPC gives none (VPC User
// Guide, "DNS attributes for your VPC").
func (ni *networkInterfaces) publicName(vpc, address string) string {
	if settings, _ := ni.settings.Get(vpc); !settings.dnsHostnames || !settings.dnsSupport {
		return ""
	}
	return publicDNSName(ni.region, address)
}

// checkAttachment refuses an attachment that is not possible. Codes are from AWS's page "error
// codes"; the message about the state is an inference.
func (ni *networkInterfaces) checkAttachment(n types.NetworkInterface, i instance, device, card int32) error {
	if n.Attachment != nil {
		return sim.Errorf("InvalidNetworkInterface.InUse", "The network interface '%s' is currently in use.", *n.NetworkInterfaceId)
	}
	if !i.in(types.InstanceStateNameRunning, types.InstanceStateNameStopped) {
		return sim.Errorf("IncorrectInstanceState", "The instance '%s' is not in the 'running' or 'stopped' state.", i.id())
	}
	if val(n.AvailabilityZone) != val(i.api.Placement.AvailabilityZone) {
		return invalidCombination("You may not attach a network interface to an instance if they are not in the same availability zone")
	}
	for _, other := range i.api.NetworkInterfaces {
		if val(other.Attachment.DeviceIndex) == device && val(other.Attachment.NetworkCardIndex) == card {
			return sim.Errorf("InvalidParameterValue", "Instance '%s' already has an interface attached at device index '%d'.", i.id(), device)
		}
	}
	kind := ni.kernel.World().InstanceType(string(i.api.InstanceType))
	if count := len(i.api.NetworkInterfaces) + 1; kind != nil && count > int(kind.MaxENIs) {
		return sim.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", count, kind.Name)
	}
	return nil
}
