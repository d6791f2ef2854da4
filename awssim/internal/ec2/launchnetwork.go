package ec2

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// interfacePlan is a network interface that the launch makes.
type interfacePlan struct {
	spec   types.InstanceNetworkInterfaceSpecification
	subnet types.Subnet
	groups []types.GroupIdentifier
	tags   []types.Tag
	// existing is the interface that the launch names by its id; nil for a new one.
	existing *types.NetworkInterface
}

// addresses returns how many free addresses of its subnet an interface needs.
func (p interfacePlan) addresses() int {
	if p.existing != nil {
		return 0
	}
	return 1 + len(secondaryAddresses(p.spec))
}

// ruleInterfaces holds the rules of network interfaces among themselves (SDK,
// InstanceNetworkInterfaceSpecification; for the number, User Guide, "Maximum IP addresses per
// network interface").
func ruleInterfaces(l *launch) error {
	type slot struct{ card, device int32 }
	taken := map[slot]bool{}
	for _, n := range l.in.NetworkInterfaces {
		if n.DeviceIndex == nil {
			return sim.Errorf("InvalidParameterValue", "Each network interface requires a device index.")
		}
		place := slot{val(n.NetworkCardIndex), *n.DeviceIndex}
		if taken[place] {
			return invalidCombination("The network interface device index %d on network card %d is specified more than once.", place.device, place.card)
		}
		taken[place] = true
		if err := checkInterface(n, len(l.in.NetworkInterfaces)); err != nil {
			return err
		}
		if err := checkExisting(l, n); err != nil {
			return err
		}
	}
	if len(taken) == 0 {
		return nil
	}
	if !taken[slot{0, 0}] {
		return invalidCombination("When specifying network interfaces, you must include a device at index 0.")
	}
	return checkInterfacesFitType(l)
}

func checkInterface(n types.InstanceNetworkInterfaceSpecification, count int) error {
	if val(n.AssociatePublicIpAddress) && count > 1 {
		return invalidCombination("The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
	}
	exclusive := func(a, b bool, names string) error {
		if a && b {
			return invalidCombination("Only one of %s may be specified for a network interface.", names)
		}
		return nil
	}
	for _, err := range []error{
		exclusive(n.Ipv4PrefixCount != nil, len(n.Ipv4Prefixes) > 0, "Ipv4PrefixCount and Ipv4Prefixes"),
		exclusive(n.Ipv6PrefixCount != nil, len(n.Ipv6Prefixes) > 0, "Ipv6PrefixCount and Ipv6Prefixes"),
		exclusive(n.Ipv6AddressCount != nil, len(n.Ipv6Addresses) > 0, "Ipv6AddressCount and Ipv6Addresses"),
		exclusive(n.SecondaryPrivateIpAddressCount != nil, len(n.PrivateIpAddresses) > 1, "SecondaryPrivateIpAddressCount and PrivateIpAddresses"),
	} {
		if err != nil {
			return err
		}
	}
	for _, check := range []func(types.InstanceNetworkInterfaceSpecification) error{checkEFAOnly, checkPrimaryAddress, checkTracking, checkENAExpress} {
		if err := check(n); err != nil {
			return err
		}
	}
	return nil
}

// checkExisting: an interface that is there already has its subnet, groups, and addresses (SDK,
// InstanceNetworkInterfaceSpecification.NetworkInterfaceId). The words of the second refusal are an
// inference.
func checkExisting(l *launch, n types.InstanceNetworkInterfaceSpecification) error {
	if val(n.NetworkInterfaceId) == "" {
		return nil
	}
	if _, err := l.state.interfaces.find(*n.NetworkInterfaceId); err != nil {
		return err
	}
	if val(n.SubnetId) != "" || len(n.Groups)+len(n.PrivateIpAddresses) > 0 || val(n.PrivateIpAddress) != "" || n.SecondaryPrivateIpAddressCount != nil || n.AssociatePublicIpAddress != nil {
		return invalidCombination("A network interface ID cannot be specified together with a subnet ID, security groups or IP addresses.")
	}
	return nil
}

// checkEFAOnly: such an interface has no IP addresses (SDK,
// InstanceNetworkInterfaceSpecification.InterfaceType), so it is not the primary one.
func checkEFAOnly(n types.InstanceNetworkInterfaceSpecification) error {
	if val(n.InterfaceType) != "efa-only" {
		return nil
	}
	counts := val(n.SecondaryPrivateIpAddressCount) + val(n.Ipv6AddressCount) + val(n.Ipv4PrefixCount) + val(n.Ipv6PrefixCount)
	lists := len(n.PrivateIpAddresses) + len(n.Ipv6Addresses) + len(n.Ipv4Prefixes) + len(n.Ipv6Prefixes)
	primary := val(n.DeviceIndex) == 0 && val(n.NetworkCardIndex) == 0
	if primary || counts > 0 || lists > 0 || val(n.AssociatePublicIpAddress) || val(n.PrivateIpAddress) != "" {
		return invalidCombination("An EFA-only network interface can't be the primary one and can't have IP addresses.")
	}
	return nil
}

// checkPrimaryAddress: one private address is the primary one (SDK,
// InstanceNetworkInterfaceSpecification.PrivateIpAddresses).
func checkPrimaryAddress(n types.InstanceNetworkInterfaceSpecification) error {
	primaries := 0
	for _, a := range n.PrivateIpAddresses {
		if val(a.Primary) {
			primaries++
		}
	}
	if primaries > 1 {
		return invalidCombination("Only one private IP address of a network interface can be designated as primary.")
	}
	return nil
}

// checkTracking holds the ranges of the timeouts (SDK, ConnectionTrackingSpecificationRequest).
func checkTracking(n types.InstanceNetworkInterfaceSpecification) error {
	timeouts := val(n.ConnectionTrackingSpecification)
	for _, t := range []struct {
		name      string
		value     *int32
		low, high int32
	}{
		{"TcpEstablishedTimeout", timeouts.TcpEstablishedTimeout, 60, 432_000},
		{"UdpStreamTimeout", timeouts.UdpStreamTimeout, 60, 180},
		{"UdpTimeout", timeouts.UdpTimeout, 30, 60},
	} {
		if t.value != nil && (*t.value < t.low || *t.value > t.high) {
			return invalidValue(t.name, *t.value, fmt.Sprintf("Expecting a value between %d and %d.", t.low, t.high))
		}
	}
	return nil
}

// checkENAExpress: UDP can use ENA Express only where it is enabled (SDK, EnaSrdUdpSpecificationRequest).
func checkENAExpress(n types.InstanceNetworkInterfaceSpecification) error {
	express := val(n.EnaSrdSpecification)
	if val(val(express.EnaSrdUdpSpecification).EnaSrdUdpEnabled) && !val(express.EnaSrdEnabled) {
		return invalidCombination("EnaSrdUdpEnabled requires EnaSrdEnabled.")
	}
	return nil
}

// ruleSecondaryInterfaces holds the rules of interfaces in secondary subnets (SDK,
// InstanceSecondaryInterfaceSpecificationRequest). That a count and a list exclude each other is an
// inference from the other members of their kind.
func ruleSecondaryInterfaces(l *launch) error {
	for _, n := range l.in.SecondaryInterfaces {
		if n.DeleteOnTermination != nil && !*n.DeleteOnTermination {
			return invalidValue("DeleteOnTermination", false, "The only supported value for a secondary interface is true.")
		}
		if n.PrivateIpAddressCount != nil && len(n.PrivateIpAddresses) > 0 {
			return invalidCombination("Only one of PrivateIpAddressCount and PrivateIpAddresses may be specified for a secondary interface.")
		}
	}
	return nil
}

func checkInterfacesFitType(l *launch) error {
	if l.kind == nil {
		return nil
	}
	if n := len(l.in.NetworkInterfaces); l.kind.MaxENIs > 0 && n > int(l.kind.MaxENIs) {
		return sim.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", n, l.kind.Name)
	}
	for _, n := range l.in.NetworkInterfaces {
		if strings.HasPrefix(val(n.InterfaceType), "efa") && l.kind.MaxEFAInterfaces == 0 {
			return sim.Errorf("Unsupported", "The instance type %s does not support Elastic Fabric Adapters.", l.kind.Name)
		}
	}
	return nil
}

// place finds the subnets and security groups of the launch, and that the zone offers the type.
func (l *launch) place() error {
	specs := l.in.NetworkInterfaces
	if len(specs) == 0 {
		specs = []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: ptr(int32(0)), SubnetId: l.in.SubnetId, PrivateIpAddress: l.in.PrivateIpAddress, Groups: l.in.SecurityGroupIds,
			DeleteOnTermination: ptr(true),
		}}
	}
	for _, spec := range specs {
		plan, err := l.planInterface(spec)
		if err != nil {
			return err
		}
		if val(spec.DeviceIndex) == 0 && val(spec.NetworkCardIndex) == 0 {
			l.subnet = &plan.subnet
			l.interfaces = slices.Insert(l.interfaces, 0, plan)
			continue
		}
		l.interfaces = append(l.interfaces, plan)
	}
	for _, plan := range l.interfaces {
		if val(plan.subnet.AvailabilityZone) != val(l.subnet.AvailabilityZone) {
			return invalidCombination("All network interfaces of an instance must be in the same Availability Zone.")
		}
	}
	return l.checkZone()
}

func (l *launch) planInterface(spec types.InstanceNetworkInterfaceSpecification) (interfacePlan, error) {
	plan := interfacePlan{spec: spec, tags: l.tags(types.ResourceTypeNetworkInterface)}
	if val(spec.NetworkInterfaceId) != "" {
		n, err := l.state.interfaces.find(*spec.NetworkInterfaceId)
		if err != nil {
			return plan, err
		}
		if n.Attachment != nil {
			return plan, sim.Errorf("InvalidNetworkInterface.InUse", "The network interface '%s' is currently in use.", *n.NetworkInterfaceId)
		}
		plan.existing, plan.groups = &n, n.Groups
		spec.SubnetId = n.SubnetId
	}
	var err error
	if plan.subnet, err = l.findSubnet(spec.SubnetId); err != nil || plan.existing != nil {
		return plan, err
	}
	plan.groups, err = l.state.groups.forInterface(spec.Groups, l.in.SecurityGroups, plan.subnet, val(spec.SubnetId) != "")
	return plan, err
}

// findSubnet is the subnet that is named, or the default subnet of the zone that the placement asks
// for, or of the first zone that has one (User Guide, "Default subnets").
func (l *launch) findSubnet(id *string) (types.Subnet, error) {
	if val(id) != "" {
		return l.state.subnets.find(id)
	}
	zone := l.wantedZone()
	for _, subnet := range l.state.subnets.All() {
		if !val(subnet.DefaultForAz) || (zone != "" && zone != val(subnet.AvailabilityZone)) {
			continue
		}
		if zone == "" && l.kind != nil && !l.state.region.World().Offers(l.kind.Name, val(subnet.AvailabilityZone)) {
			continue
		}
		return subnet, nil
	}
	for _, vpc := range l.state.vpcs.All() {
		if val(vpc.IsDefault) {
			return types.Subnet{}, sim.Errorf("MissingInput", "No subnets found for the default VPC '%s'. Please specify a subnet.", val(vpc.VpcId))
		}
	}
	return types.Subnet{}, sim.Errorf("VPCIdNotSpecified", "No default VPC for this user. GroupName is only supported for EC2-Classic and default VPC.")
}

// wantedZone is the zone that the placement names, by name or by id.
func (l *launch) wantedZone() string {
	p := val(l.in.Placement)
	if val(p.AvailabilityZoneId) == "" {
		return val(p.AvailabilityZone)
	}
	for _, z := range l.state.region.World().Zones {
		if z.ID == *p.AvailabilityZoneId {
			return z.Name
		}
	}
	return *p.AvailabilityZoneId
}

func (l *launch) checkZone() error {
	region, zone := l.state.region.World(), val(l.subnet.AvailabilityZone)
	if wanted := l.wantedZone(); wanted != "" && wanted != zone {
		if region.Zone(wanted) == nil {
			return sim.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", wanted)
		}
		return sim.Errorf("InvalidParameterValue", "The availability zone '%s' of the placement does not match the availability zone '%s' of the subnet.", wanted, zone)
	}
	if region.Offers(l.kind.Name, zone) {
		return nil
	}
	if others := l.state.catalog.zonesOffering(l.kind.Name); len(others) > 0 {
		return sim.Errorf("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). "+
			"Please retry your request by not specifying an Availability Zone or choosing %s.", l.kind.Name, zone, strings.Join(others, ", "))
	}
	return sim.Errorf("Unsupported", "The requested configuration is currently not supported. Please check the documentation for supported configurations.")
}

// checkGroupsExist is for data that is only stored: every security group that it names by id exists.
func (l *launch) checkGroupsExist() error {
	ids := slices.Clone(l.in.SecurityGroupIds)
	for _, n := range l.in.NetworkInterfaces {
		ids = append(ids, n.Groups...)
	}
	for _, id := range ids {
		if _, err := l.state.groups.find(id); err != nil {
			return err
		}
	}
	return nil
}

// secondaryAddresses lists the further private addresses that an interface asks for; "" stands for any.
func secondaryAddresses(spec types.InstanceNetworkInterfaceSpecification) []string {
	var wanted []string
	for _, a := range spec.PrivateIpAddresses {
		if !val(a.Primary) {
			wanted = append(wanted, val(a.PrivateIpAddress))
		}
	}
	return append(wanted, make([]string, max(int(val(spec.SecondaryPrivateIpAddressCount)), 0))...)
}

// primaryAddress is the private address that an interface asks for, "" for any.
func primaryAddress(spec types.InstanceNetworkInterfaceSpecification) string {
	for _, a := range spec.PrivateIpAddresses {
		if val(a.Primary) {
			return val(a.PrivateIpAddress)
		}
	}
	return val(spec.PrivateIpAddress)
}
