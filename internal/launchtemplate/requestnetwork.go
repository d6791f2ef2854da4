package launchtemplate

import (
	"cmp"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/optional"
)

// networkInterfaces returns the interfaces in the order of their network cards and device indexes,
// whatever their order in the spec: the same interfaces result in the same request.
func networkInterfaces(interfaces []infrav1.NetworkInterface, resolved Resolved) []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
	requests := make([]ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest, 0, len(interfaces))
	for i := range interfaces {
		found := Interface{}
		if i < len(resolved.Interfaces) {
			found = resolved.Interfaces[i]
		}
		request := networkInterface(&interfaces[i])
		request.SubnetId, request.Groups = optional.Text(found.SubnetID), sortedUnique(found.GroupIDs)
		if len(request.Groups) == 0 && request.NetworkInterfaceId == nil {
			request.Groups = sortedUnique(resolved.SecurityGroupIDs)
		}
		requests = append(requests, request)
	}
	slices.SortStableFunc(requests, func(a, b ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest) int {
		return cmp.Or(cmp.Compare(awssdk.ToInt32(a.NetworkCardIndex), awssdk.ToInt32(b.NetworkCardIndex)), cmp.Compare(*a.DeviceIndex, *b.DeviceIndex))
	})
	return requests
}

func networkInterface(spec *infrav1.NetworkInterface) ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
	request := ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
		AssociateCarrierIpAddress:      spec.AssociateCarrierIPAddress,
		AssociatePublicIpAddress:       spec.AssociatePublicIPAddress,
		DeleteOnTermination:            spec.DeleteOnTermination,
		Description:                    optional.Text(spec.Description),
		DeviceIndex:                    &spec.DeviceIndex,
		EnaQueueCount:                  spec.ENAQueueCount,
		InterfaceType:                  optional.Text(spec.InterfaceType),
		Ipv4PrefixCount:                spec.IPv4PrefixCount,
		Ipv6AddressCount:               spec.IPv6AddressCount,
		Ipv6PrefixCount:                spec.IPv6PrefixCount,
		NetworkCardIndex:               spec.NetworkCardIndex,
		NetworkInterfaceId:             optional.Text(spec.NetworkInterfaceID),
		PrimaryIpv6:                    spec.PrimaryIPv6,
		PrivateIpAddress:               optional.Text(spec.PrivateIPAddress),
		SecondaryPrivateIpAddressCount: spec.SecondaryPrivateIPAddressCount,
	}
	for i := range spec.IPv4Prefixes {
		request.Ipv4Prefixes = append(request.Ipv4Prefixes, ec2types.Ipv4PrefixSpecificationRequest{Ipv4Prefix: &spec.IPv4Prefixes[i]})
	}
	for i := range spec.IPv6Prefixes {
		request.Ipv6Prefixes = append(request.Ipv6Prefixes, ec2types.Ipv6PrefixSpecificationRequest{Ipv6Prefix: &spec.IPv6Prefixes[i]})
	}
	for i := range spec.IPv6Addresses {
		request.Ipv6Addresses = append(request.Ipv6Addresses, ec2types.InstanceIpv6AddressRequest{Ipv6Address: &spec.IPv6Addresses[i]})
	}
	for i := range spec.PrivateIPAddresses {
		address := &spec.PrivateIPAddresses[i]
		request.PrivateIpAddresses = append(request.PrivateIpAddresses, ec2types.PrivateIpAddressSpecification{
			PrivateIpAddress: &address.PrivateIPAddress, Primary: address.Primary,
		})
	}
	if tracking := spec.ConnectionTrackingSpecification; tracking != nil {
		request.ConnectionTrackingSpecification = &ec2types.ConnectionTrackingSpecificationRequest{
			TcpEstablishedTimeout: tracking.TCPEstablishedTimeout, UdpStreamTimeout: tracking.UDPStreamTimeout, UdpTimeout: tracking.UDPTimeout,
		}
	}
	if express := spec.ENASRDSpecification; express != nil {
		request.EnaSrdSpecification = &ec2types.EnaSrdSpecificationRequest{EnaSrdEnabled: express.ENASRDEnabled}
		if udp := express.ENASRDUDPSpecification; udp != nil {
			request.EnaSrdSpecification.EnaSrdUdpSpecification = &ec2types.EnaSrdUdpSpecificationRequest{EnaSrdUdpEnabled: udp.ENASRDUDPEnabled}
		}
	}
	return request
}

func secondaryInterfaces(interfaces []infrav1.SecondaryInterface) []ec2types.LaunchTemplateInstanceSecondaryInterfaceSpecificationRequest {
	var requests []ec2types.LaunchTemplateInstanceSecondaryInterfaceSpecificationRequest
	for i := range interfaces {
		spec := &interfaces[i]
		request := ec2types.LaunchTemplateInstanceSecondaryInterfaceSpecificationRequest{
			DeleteOnTermination: spec.DeleteOnTermination, DeviceIndex: spec.DeviceIndex, InterfaceType: ec2types.SecondaryInterfaceType(spec.InterfaceType),
			NetworkCardIndex: spec.NetworkCardIndex, PrivateIpAddressCount: spec.PrivateIPAddressCount, SecondarySubnetId: optional.Text(spec.SecondarySubnetID),
		}
		for n := range spec.PrivateIPAddresses {
			request.PrivateIpAddresses = append(request.PrivateIpAddresses,
				ec2types.SecondaryInterfacePrivateIpAddressSpecificationRequest{PrivateIpAddress: &spec.PrivateIPAddresses[n]})
		}
		requests = append(requests, request)
	}
	slices.SortStableFunc(requests, func(a, b ec2types.LaunchTemplateInstanceSecondaryInterfaceSpecificationRequest) int {
		return cmp.Or(cmp.Compare(awssdk.ToInt32(a.NetworkCardIndex), awssdk.ToInt32(b.NetworkCardIndex)),
			cmp.Compare(awssdk.ToInt32(a.DeviceIndex), awssdk.ToInt32(b.DeviceIndex)))
	})
	return requests
}
