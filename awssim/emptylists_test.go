package awssim_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// emptyLists returns the lists of a structure that an answer had without an element. The SDK sets a
// list to nil if the answer does not have it.
func emptyLists(structure any) []string {
	v := reflect.ValueOf(structure)
	names := []string{}
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && !f.IsNil() && f.Len() == 0 {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	slices.Sort(names)
	return names
}

// emptyListObservations returns a row for each structure with lists that AWS writes although they
// are empty. All other empty lists are left out.
func emptyListObservations() []observation {
	sources := awsCLI + "; " + custodian + "; output that users published"
	row := func(service, of string, observe func(t *testing.T, r *recorded) any, want ...string) observation {
		return observation{service, "empty lists of " + of, sources, func(t *testing.T, r *recorded) (any, error) { return emptyLists(observe(t, r)), nil }, append([]string{}, want...)}
	}
	network := func(t *testing.T, r *recorded) string {
		t.Helper()
		return *must[*ec2.CreateVpcOutput](t)(r.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.99.0.0/16")})).Vpc.VpcId
	}
	reservation := func(t *testing.T, r *recorded) ec2types.Reservation {
		t.Helper()
		return must[*ec2.DescribeInstancesOutput](t)(r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})).Reservations[0]
	}
	inNetwork := func(t *testing.T, r *recorded) []ec2types.Filter {
		t.Helper()
		return []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{network(t, r)}}}
	}
	securityGroup := func(t *testing.T, r *recorded) ec2types.SecurityGroup {
		t.Helper()
		group := *must[*ec2.CreateSecurityGroupOutput](t)(r.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
			GroupName: aws.String("empty"), Description: aws.String("d"), VpcId: aws.String(network(t, r)),
		})).GroupId
		return must[*ec2.DescribeSecurityGroupsOutput](t)(r.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})).SecurityGroups[0]
	}
	return []observation{
		row("EC2", "a reservation", func(t *testing.T, r *recorded) any { t.Helper(); return reservation(t, r) }, "Groups"),
		row("EC2", "an instance", func(t *testing.T, r *recorded) any {
			t.Helper()
			return reservation(t, r).Instances[0]
		}, "ProductCodes", "SecondaryInterfaces"),
		row("EC2", "an instance's network interface", func(t *testing.T, r *recorded) any {
			t.Helper()
			return reservation(t, r).Instances[0].NetworkInterfaces[0]
		}, "Ipv6Addresses"),
		row("EC2", "a network interface", func(t *testing.T, r *recorded) any {
			t.Helper()
			return *must[*ec2.CreateNetworkInterfaceOutput](t)(r.ec2.CreateNetworkInterface(t.Context(), &ec2.CreateNetworkInterfaceInput{SubnetId: aws.String(recordedSubnet)})).NetworkInterface
		}, "Ipv6Addresses", "TagSet"),
		row("EC2", "a security group", func(t *testing.T, r *recorded) any { t.Helper(); return securityGroup(t, r) }, "IpPermissions"),
		row("EC2", "a permission", func(t *testing.T, r *recorded) any {
			t.Helper()
			return securityGroup(t, r).IpPermissionsEgress[0]
		}, "Ipv6Ranges", "PrefixListIds", "UserIdGroupPairs"),
		row("EC2", "a security group rule", func(t *testing.T, r *recorded) any {
			t.Helper()
			return must[*ec2.DescribeSecurityGroupRulesOutput](t)(r.ec2.DescribeSecurityGroupRules(t.Context(), &ec2.DescribeSecurityGroupRulesInput{})).SecurityGroupRules[0]
		}, "Tags"),
		row("EC2", "a VPC that is created", func(t *testing.T, r *recorded) any {
			t.Helper()
			return *must[*ec2.CreateVpcOutput](t)(r.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.99.0.0/16")})).Vpc
		}, "Ipv6CidrBlockAssociationSet"),
		row("EC2", "a VPC that is described", func(t *testing.T, r *recorded) any {
			t.Helper()
			return must[*ec2.DescribeVpcsOutput](t)(r.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{network(t, r)}})).Vpcs[0]
		}),
		row("EC2", "a subnet", func(t *testing.T, r *recorded) any {
			t.Helper()
			return *must[*ec2.CreateSubnetOutput](t)(r.ec2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: aws.String(network(t, r)), CidrBlock: aws.String("10.99.1.0/24")})).Subnet
		}, "Ipv6CidrBlockAssociationSet"),
		row("EC2", "a route table", func(t *testing.T, r *recorded) any {
			t.Helper()
			return *must[*ec2.CreateRouteTableOutput](t)(r.ec2.CreateRouteTable(t.Context(), &ec2.CreateRouteTableInput{VpcId: aws.String(network(t, r))})).RouteTable
		}, "Associations", "PropagatingVgws", "Tags"),
		row("EC2", "an internet gateway", func(t *testing.T, r *recorded) any {
			t.Helper()
			return *must[*ec2.CreateInternetGatewayOutput](t)(r.ec2.CreateInternetGateway(t.Context(), &ec2.CreateInternetGatewayInput{})).InternetGateway
		}, "Attachments", "Tags"),
		row("EC2", "a network ACL", func(t *testing.T, r *recorded) any {
			t.Helper()
			return must[*ec2.DescribeNetworkAclsOutput](t)(r.ec2.DescribeNetworkAcls(t.Context(), &ec2.DescribeNetworkAclsInput{Filters: inNetwork(t, r)})).NetworkAcls[0]
		}, "Associations", "Tags"),
		row("EC2", "a volume", func(t *testing.T, r *recorded) any {
			t.Helper()
			return must[*ec2.DescribeVolumesOutput](t)(r.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})).Volumes[0]
		}),
		row("EC2", "a zone", func(t *testing.T, r *recorded) any {
			t.Helper()
			return must[*ec2.DescribeAvailabilityZonesOutput](t)(r.ec2.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{})).AvailabilityZones[0]
		}, "Messages"),
		row("EC2", "a key pair", func(t *testing.T, r *recorded) any {
			t.Helper()
			must[*ec2.CreateKeyPairOutput](t)(r.ec2.CreateKeyPair(t.Context(), &ec2.CreateKeyPairInput{KeyName: aws.String("empty")}))
			return must[*ec2.DescribeKeyPairsOutput](t)(r.ec2.DescribeKeyPairs(t.Context(), &ec2.DescribeKeyPairsInput{KeyNames: []string{"empty"}})).KeyPairs[0]
		}, "Tags"),
		row("EC2", "a launch template", func(t *testing.T, r *recorded) any {
			t.Helper()
			return must[*ec2.DescribeLaunchTemplatesOutput](t)(r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})).LaunchTemplates[0]
		}),
		row("Auto Scaling", "a simple scaling policy", func(t *testing.T, r *recorded) any {
			t.Helper()
			must[*autoscaling.PutScalingPolicyOutput](t)(r.asg.PutScalingPolicy(t.Context(), &autoscaling.PutScalingPolicyInput{
				AutoScalingGroupName: &r.group, PolicyName: aws.String("one"), AdjustmentType: aws.String("ChangeInCapacity"), ScalingAdjustment: aws.Int32(1),
			}))
			return must[*autoscaling.DescribePoliciesOutput](t)(r.asg.DescribePolicies(t.Context(), &autoscaling.DescribePoliciesInput{AutoScalingGroupName: &r.group})).ScalingPolicies[0]
		}, "Alarms", "StepAdjustments"),
		row("Auto Scaling", "a launch configuration", func(t *testing.T, r *recorded) any {
			t.Helper()
			must[*autoscaling.CreateLaunchConfigurationOutput](t)(r.asg.CreateLaunchConfiguration(t.Context(), &autoscaling.CreateLaunchConfigurationInput{
				LaunchConfigurationName: aws.String("one"), ImageId: &r.image, InstanceType: aws.String("m5.large"),
			}))
			found := must[*autoscaling.DescribeLaunchConfigurationsOutput](t)(r.asg.DescribeLaunchConfigurations(t.Context(), &autoscaling.DescribeLaunchConfigurationsInput{}))
			return found.LaunchConfigurations[0]
		}, "BlockDeviceMappings", "ClassicLinkVPCSecurityGroups", "SecurityGroups"),
		row("Auto Scaling", "a group without an instance", func(t *testing.T, r *recorded) any {
			t.Helper()
			must[*autoscaling.CreateAutoScalingGroupOutput](t)(r.asg.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
				AutoScalingGroupName: aws.String("none"), MinSize: aws.Int32(0), MaxSize: aws.Int32(1), VPCZoneIdentifier: aws.String(recordedSubnet),
				LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &r.template},
			}))
			group, err := r.describeGroup(t.Context(), "none")
			if err != nil {
				t.Fatal(err)
			}
			return group
		}, "EnabledMetrics", "Instances", "LoadBalancerNames", "SuspendedProcesses", "Tags", "TargetGroupARNs", "TrafficSources"),
	}
}
