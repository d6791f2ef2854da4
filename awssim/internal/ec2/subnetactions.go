package ec2

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

var subnetListing = listing[types.Subnet]{
	kind: subnetID, id: func(v types.Subnet) string { return *v.SubnetId }, tags: func(v types.Subnet) []types.Tag { return v.Tags }, pages: commonPages,
	filters: filterTable[types.Subnet]{
		"availability-zone":               func(v types.Subnet) []string { return text(v.AvailabilityZone) },
		"availabilityZone":                func(v types.Subnet) []string { return text(v.AvailabilityZone) },
		"availability-zone-id":            func(v types.Subnet) []string { return text(v.AvailabilityZoneId) },
		"available-ip-address-count":      func(v types.Subnet) []string { return number(v.AvailableIpAddressCount) },
		"cidr-block":                      func(v types.Subnet) []string { return text(v.CidrBlock) },
		"cidr":                            func(v types.Subnet) []string { return text(v.CidrBlock) },
		"default-for-az":                  func(v types.Subnet) []string { return boolean(v.DefaultForAz) },
		"enable-dns64":                    func(v types.Subnet) []string { return boolean(v.EnableDns64) },
		"ipv6-native":                     func(v types.Subnet) []string { return boolean(v.Ipv6Native) },
		"map-customer-owned-ip-on-launch": func(v types.Subnet) []string { return boolean(v.MapCustomerOwnedIpOnLaunch) },
		"map-public-ip-on-launch":         func(v types.Subnet) []string { return boolean(v.MapPublicIpOnLaunch) },
		"owner-id":                        func(v types.Subnet) []string { return text(v.OwnerId) },
		"private-dns-name-options-on-launch.enable-resource-name-dns-a-record": func(v types.Subnet) []string {
			return boolean(v.PrivateDnsNameOptionsOnLaunch.EnableResourceNameDnsARecord)
		},
		"private-dns-name-options-on-launch.enable-resource-name-dns-aaaa-record": func(v types.Subnet) []string {
			return boolean(v.PrivateDnsNameOptionsOnLaunch.EnableResourceNameDnsAAAARecord)
		},
		"private-dns-name-options-on-launch.hostname-type": func(v types.Subnet) []string { return enum(v.PrivateDnsNameOptionsOnLaunch.HostnameType) },
		"state":      func(v types.Subnet) []string { return enum(v.State) },
		"subnet-arn": func(v types.Subnet) []string { return text(v.SubnetArn) },
		"subnet-id":  func(v types.Subnet) []string { return text(v.SubnetId) },
		"vpc-id":     func(v types.Subnet) []string { return text(v.VpcId) },
	}.with(furtherSubnetFilters),
}

func describeSubnets(c *sim.Call, in *awsec2.DescribeSubnetsInput) (*awsec2.DescribeSubnetsOutput, error) {
	s := stateOf(c.Region)
	all := s.subnets.VisibleAll()
	for i := range all {
		all[i].AvailableIpAddressCount = count32(s.subnets.pool(all[i]).free())
	}
	found, next, err := subnetListing.read(all, query{in.SubnetIds, in.Filters, in.MaxResults, in.NextToken, in.DryRun})
	if err != nil {
		return nil, err
	}
	return &awsec2.DescribeSubnetsOutput{Subnets: found, NextToken: next}, nil
}

func createSubnet(c *sim.Call, in *awsec2.CreateSubnetInput) (*awsec2.CreateSubnetOutput, error) {
	s := stateOf(c.Region)
	ipv6 := in.Ipv6CidrBlock != nil || in.Ipv6IpamPoolId != nil || in.Ipv6NetmaskLength != nil || val(in.Ipv6Native)
	if err := firstError(
		unsupportedMember(ipv6, "IPv6 addresses"),
		unsupportedMember(in.Ipv4IpamPoolId != nil || in.Ipv4NetmaskLength != nil, "address pools of IPAM"),
		unsupportedMember(in.OutpostArn != nil, "Outposts"),
	); err != nil {
		return nil, err
	}
	if val(in.CidrBlock) == "" {
		return nil, missingParameter("cidrBlock")
	}
	vpc, err := s.vpcs.find(in.VpcId)
	if err != nil {
		return nil, err
	}
	prefix, err := s.subnets.freeBlock(vpc, *in.CidrBlock)
	if err != nil {
		return nil, err
	}
	zone, err := s.subnets.zoneFor(in)
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeSubnet, types.ResourceTypeSubnet)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	subnet := s.subnets.newSubnet(c.Kernel.NewID("subnet-", 17), *vpc.VpcId, zone, prefix.String(), tags)
	s.subnets.add(subnet, freshID(s.kernel))
	subnet.AvailableIpAddressCount = count32(s.subnets.pool(subnet).free())
	return &awsec2.CreateSubnetOutput{Subnet: &subnet}, nil
}

func deleteSubnet(c *sim.Call, in *awsec2.DeleteSubnetInput) (*awsec2.DeleteSubnetOutput, error) {
	s := stateOf(c.Region)
	subnet, err := s.subnets.find(in.SubnetId)
	if err != nil {
		return nil, err
	}
	id := *subnet.SubnetId
	if len(s.subnets.pool(subnet).used) > 0 {
		return nil, dependencyViolation("subnet", id)
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	for _, acl := range s.acls.All() {
		if left := withoutSubnet(acl, id); len(left.Associations) < len(acl.Associations) {
			s.acls.Put(*acl.NetworkAclId, left)
		}
	}
	if table, association, ok := s.routeTables.ofSubnet(id); ok {
		s.routeTables.Put(*table.RouteTableId, withoutAssociation(table, *association.RouteTableAssociationId))
	}
	s.subnets.Delete(id)
	delete(s.subnets.addresses, id)
	return &awsec2.DeleteSubnetOutput{}, nil
}

// modifySubnetAttribute changes one attribute (SDK, ModifySubnetAttributeInput).
func modifySubnetAttribute(c *sim.Call, in *awsec2.ModifySubnetAttributeInput) (*awsec2.ModifySubnetAttributeOutput, error) {
	s := stateOf(c.Region)
	subnet, err := s.subnets.find(in.SubnetId)
	if err != nil {
		return nil, err
	}
	owned := in.CustomerOwnedIpv4Pool != nil || in.MapCustomerOwnedIpOnLaunch != nil || in.EnableLniAtDeviceIndex != nil || in.DisableLniAtDeviceIndex != nil
	if err := unsupportedMember(owned, "Outposts"); err != nil {
		return nil, err
	}
	options := shape.Clone(*subnet.PrivateDnsNameOptionsOnLaunch)
	given := 0
	for _, change := range []struct {
		to     *types.AttributeBooleanValue
		member **bool
	}{
		{in.AssignIpv6AddressOnCreation, &subnet.AssignIpv6AddressOnCreation}, {in.MapPublicIpOnLaunch, &subnet.MapPublicIpOnLaunch},
		{in.EnableDns64, &subnet.EnableDns64}, {in.EnableResourceNameDnsARecordOnLaunch, &options.EnableResourceNameDnsARecord},
		{in.EnableResourceNameDnsAAAARecordOnLaunch, &options.EnableResourceNameDnsAAAARecord},
	} {
		if change.to != nil {
			given++
			*change.member = ptr(val(change.to.Value))
		}
	}
	if in.PrivateDnsHostnameTypeOnLaunch != "" {
		given++
		options.HostnameType = in.PrivateDnsHostnameTypeOnLaunch
	}
	if err := checkSubnetChange(in, given); err != nil {
		return nil, err
	}
	subnet.PrivateDnsNameOptionsOnLaunch = &options
	s.subnets.Put(*subnet.SubnetId, subnet)
	return &awsec2.ModifySubnetAttributeOutput{}, nil
}

func checkSubnetChange(in *awsec2.ModifySubnetAttributeInput, given int) error {
	switch {
	case given == 0:
		return missingParameter("attribute")
	case given > 1:
		return errManyAttributes
	case in.AssignIpv6AddressOnCreation != nil && val(in.AssignIpv6AddressOnCreation.Value):
		// The subnets here have IPv4 only; the words are an inference.
		return sim.Errorf("InvalidParameterValue", "The subnet '%s' has no IPv6 CIDR block associated.", *in.SubnetId)
	}
	return checkEnum("privateDnsHostnameTypeOnLaunch", in.PrivateDnsHostnameTypeOnLaunch, in.PrivateDnsHostnameTypeOnLaunch.Values())
}
