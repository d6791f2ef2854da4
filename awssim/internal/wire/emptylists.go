package wire

// emptyLists names the lists that a service writes even if they are empty, by name of the Go
// struct and of its member. Clients in Python fail without them, because botocore leaves out what
// an answer does not have. A list that is not here is written only if it is set.
//
// Each was seen empty in answers of AWS: in the examples of the AWS CLI, in Cloud Custodian's
// recorded flight data, and in output that users published (SecondaryInterfaces and
// AttachedAppliances since 2026). The same sources show that AWS leaves out the Tags of instances,
// volumes, subnets, VPCs, images, NAT gateways, addresses and launch templates that have none.
var emptyLists = map[string]map[string]bool{
	"ec2": {
		"AvailabilityZone.Messages":               true,
		"CapacityReservation.CapacityAllocations": true, "CapacityReservation.Tags": true,
		"Image.BlockDeviceMappings":    true,
		"Instance.BlockDeviceMappings": true, "Instance.NetworkInterfaces": true, "Instance.ProductCodes": true, "Instance.SecondaryInterfaces": true,
		"Instance.SecurityGroups":         true,
		"InstanceNetworkInterface.Groups": true, "InstanceNetworkInterface.Ipv6Addresses": true, "InstanceNetworkInterface.PrivateIpAddresses": true,
		"InternetGateway.Attachments": true, "InternetGateway.Tags": true,
		"IpPermission.IpRanges": true, "IpPermission.Ipv6Ranges": true, "IpPermission.PrefixListIds": true, "IpPermission.UserIdGroupPairs": true,
		"KeyPairInfo.Tags":              true,
		"NatGateway.AttachedAppliances": true, "NatGateway.NatGatewayAddresses": true,
		"NetworkAcl.Associations": true, "NetworkAcl.Entries": true, "NetworkAcl.Tags": true,
		"NetworkInterface.Groups": true, "NetworkInterface.Ipv6Addresses": true, "NetworkInterface.PrivateIpAddresses": true, "NetworkInterface.TagSet": true,
		"ReplaceRootVolumeTask.Tags": true,
		"Reservation.Groups":         true, "Reservation.Instances": true,
		"RouteTable.Associations": true, "RouteTable.PropagatingVgws": true, "RouteTable.Routes": true, "RouteTable.Tags": true,
		"SecurityGroup.IpPermissions": true, "SecurityGroup.IpPermissionsEgress": true,
		"SecurityGroupRule.Tags":             true,
		"Subnet.Ipv6CidrBlockAssociationSet": true,
		"Volume.Attachments":                 true,
	},
	"autoscaling": {
		"AutoScalingGroup.EnabledMetrics": true, "AutoScalingGroup.Instances": true, "AutoScalingGroup.LoadBalancerNames": true,
		"AutoScalingGroup.SuspendedProcesses": true, "AutoScalingGroup.Tags": true, "AutoScalingGroup.TargetGroupARNs": true,
		"AutoScalingGroup.TrafficSources":         true,
		"LaunchConfiguration.BlockDeviceMappings": true, "LaunchConfiguration.ClassicLinkVPCSecurityGroups": true, "LaunchConfiguration.SecurityGroups": true,
		"ScalingPolicy.Alarms": true, "ScalingPolicy.StepAdjustments": true,
	},
	"iam": {
		"InstanceProfile.Roles": true,
	},
}
