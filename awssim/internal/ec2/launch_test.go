package ec2_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

const nodeProfile = "nodes.cluster-api-provider-aws.sigs.k8s.io"

// withWorld changes a copy of the default world.
func withWorld(change func(*world.World)) func(*awssim.Options) {
	return func(o *awssim.Options) {
		w := *world.Default()
		w.Regions, w.InstanceProfiles = slices.Clone(w.Regions), slices.Clone(w.InstanceProfiles)
		change(&w)
		o.World = &w
	}
}

func TestRunInstancesRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, withWorld(func(w *world.World) {
		w.Regions[0].NotOffered = []world.Absence{{InstanceType: "m5.2xlarge", Zones: []string{"us-east-1a"}}}
		w.InstanceProfiles = append(w.InstanceProfiles, world.InstanceProfile{Name: "hollow"})
	}))
	arm := r.image(types.ArchitectureValuesArm64).ImageId
	group := r.group("node")
	vpc, err := r.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := r.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("foreign"), Description: aws.String("x"), VpcId: vpc.Vpc.VpcId})
	if err != nil {
		t.Fatal(err)
	}
	root := func(ebs types.EbsBlockDevice) []types.BlockDeviceMapping {
		return []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/sda1"), Ebs: &ebs}}
	}
	nic := func(change func(*types.InstanceNetworkInterfaceSpecification)) []types.InstanceNetworkInterfaceSpecification {
		n := types.InstanceNetworkInterfaceSpecification{DeviceIndex: aws.Int32(0)}
		change(&n)
		return []types.InstanceNetworkInterfaceSpecification{n}
	}
	spot := func(o types.SpotMarketOptions) *types.InstanceMarketOptionsRequest {
		return &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: &o}
	}
	rows := []struct {
		reason string
		change func(*ec2.RunInstancesInput)
		code   string
		says   string
	}{
		{"no image", func(in *ec2.RunInstancesInput) { in.ImageId = nil }, "MissingParameter", "ImageId"},
		{"an image that does not exist", func(in *ec2.RunInstancesInput) { in.ImageId = aws.String("ami-00000000000000000") }, "InvalidAMIID.NotFound", "ami-00000000000000000"},
		{"a malformed image", func(in *ec2.RunInstancesInput) { in.ImageId = aws.String("ubuntu") }, "InvalidAMIID.Malformed", `expecting "ami-..."`},
		{"an unknown type", func(in *ec2.RunInstancesInput) { in.InstanceType = "m5.gigantic" }, "InvalidParameterValue", "for InstanceType"},
		{"the wrong architecture", func(in *ec2.RunInstancesInput) { in.ImageId = arm }, "InvalidParameterValue", "architecture 'x86_64' of the specified instance type does not match the architecture 'arm64'"},
		{"a type that the zone lacks", func(in *ec2.RunInstancesInput) { in.InstanceType = "m5.2xlarge" }, "Unsupported", "choosing us-east-1b, us-east-1c"},
		{"no such subnet", func(in *ec2.RunInstancesInput) { in.SubnetId = aws.String("subnet-00000000000000000") }, "InvalidSubnetID.NotFound", "does not exist"},
		{"no such group", func(in *ec2.RunInstancesInput) { in.SecurityGroupIds = []string{"sg-00000000000000000"} }, "InvalidGroup.NotFound", "does not exist"},
		{"a group of another VPC", func(in *ec2.RunInstancesInput) { in.SecurityGroupIds = []string{*foreign.GroupId} }, "InvalidParameter", "belong to different networks"},
		{"no such key pair", func(in *ec2.RunInstancesInput) { in.KeyName = aws.String("missing") }, "InvalidKeyPair.NotFound", "'missing' does not exist"},
		{"no such profile", func(in *ec2.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("missing")}
		}, "InvalidParameterValue", "Invalid IAM Instance Profile name"},
		{"a profile by ARN in the place of the name", func(in *ec2.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("arn:aws:iam::123456789012:instance-profile/" + nodeProfile)}
		}, "InvalidParameterValue", "Invalid IAM Instance Profile name"},
		{"a profile twice", func(in *ec2.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String(nodeProfile), Arn: aws.String("arn:aws:iam::123456789012:instance-profile/" + nodeProfile)}
		}, "InvalidParameterCombination", "may not be used in combination"},
		{"a profile without a role", func(in *ec2.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("hollow")}
		}, "InvalidParameterValue", "has no associated IAM Roles"},
		{"user data that is not base64", func(in *ec2.RunInstancesInput) { in.UserData = aws.String("#cloud") }, "InvalidParameterValue", "BASE64"},
		{"too much user data", func(in *ec2.RunInstancesInput) {
			in.UserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16385)))
		}, "InvalidParameterValue", "limited to 16384 bytes"},
		{"tags in metadata with a slash in the key", func(in *ec2.RunInstancesInput) {
			in.MetadataOptions = &types.InstanceMetadataOptionsRequest{InstanceMetadataTags: types.InstanceMetadataTagsStateEnabled}
			in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{tag("kubernetes.io/cluster/x", "owned")}}}
		}, "InvalidParameterValue", "'kubernetes.io/cluster/x' is not a valid tag key"},
		{"a subnet beside an interface", func(in *ec2.RunInstancesInput) {
			in.NetworkInterfaces = nic(func(*types.InstanceNetworkInterfaceSpecification) {})
		}, "InvalidParameterCombination", "instance-level subnet ID"},
		{"groups beside an interface", func(in *ec2.RunInstancesInput) {
			in.SubnetId, in.SecurityGroupIds = nil, []string{group}
			in.NetworkInterfaces = nic(func(*types.InstanceNetworkInterfaceSpecification) {})
		}, "InvalidParameterCombination", "instance-level security groups"},
		{"an interface without index", func(in *ec2.RunInstancesInput) {
			in.SubnetId = nil
			in.NetworkInterfaces = nic(func(n *types.InstanceNetworkInterfaceSpecification) {
				n.DeviceIndex, n.Description = nil, aws.String("x")
			})
		}, "InvalidParameterValue", "device index"},
		{"no primary interface", func(in *ec2.RunInstancesInput) {
			in.SubnetId = nil
			in.NetworkInterfaces = nic(func(n *types.InstanceNetworkInterfaceSpecification) { n.DeviceIndex = aws.Int32(1) })
		}, "InvalidParameterCombination", "index 0"},
		{"an EFA on a type without", func(in *ec2.RunInstancesInput) {
			in.SubnetId = nil
			in.NetworkInterfaces = nic(func(n *types.InstanceNetworkInterfaceSpecification) { n.InterfaceType = aws.String("efa") })
		}, "Unsupported", "Elastic Fabric"},
		{"an EFA-only interface with an address", func(in *ec2.RunInstancesInput) {
			in.SubnetId = nil
			second := nic(func(n *types.InstanceNetworkInterfaceSpecification) {
				n.DeviceIndex, n.InterfaceType, n.Ipv6AddressCount = aws.Int32(1), aws.String("efa-only"), aws.Int32(1)
			})
			in.NetworkInterfaces = append(nic(func(*types.InstanceNetworkInterfaceSpecification) {}), second...)
		}, "InvalidParameterCombination", "EFA-only"},
		{"two primary addresses", func(in *ec2.RunInstancesInput) {
			in.SubnetId = nil
			in.NetworkInterfaces = nic(func(n *types.InstanceNetworkInterfaceSpecification) {
				n.PrivateIpAddresses = []types.PrivateIpAddressSpecification{{Primary: aws.Bool(true)}, {Primary: aws.Bool(true)}}
			})
		}, "InvalidParameterCombination", "designated as primary"},
		{"a timeout out of range", func(in *ec2.RunInstancesInput) {
			in.SubnetId = nil
			in.NetworkInterfaces = nic(func(n *types.InstanceNetworkInterfaceSpecification) {
				n.ConnectionTrackingSpecification = &types.ConnectionTrackingSpecificationRequest{UdpStreamTimeout: aws.Int32(181)}
			})
		}, "InvalidParameterValue", "between 60 and 180"},
		{"ENA Express for UDP alone", func(in *ec2.RunInstancesInput) {
			in.SubnetId = nil
			in.NetworkInterfaces = nic(func(n *types.InstanceNetworkInterfaceSpecification) {
				n.EnaSrdSpecification = &types.EnaSrdSpecificationRequest{EnaSrdUdpSpecification: &types.EnaSrdUdpSpecificationRequest{EnaSrdUdpEnabled: aws.Bool(true)}}
			})
		}, "InvalidParameterCombination", "EnaSrdEnabled"},
		{"a secondary interface that outlives its instance", func(in *ec2.RunInstancesInput) {
			in.SecondaryInterfaces = []types.InstanceSecondaryInterfaceSpecificationRequest{{DeleteOnTermination: aws.Bool(false)}}
		}, "InvalidParameterValue", "only supported value"},
		{"a placement in another zone than the subnet", func(in *ec2.RunInstancesInput) {
			in.Placement = &types.Placement{AvailabilityZone: aws.String("us-east-1b")}
		}, "InvalidParameterValue", "does not match"},
		{"no such placement group", func(in *ec2.RunInstancesInput) { in.Placement = &types.Placement{GroupName: aws.String("missing")} }, "InvalidPlacementGroup.Unknown", "missing"},
		{"a host without the tenancy", func(in *ec2.RunInstancesInput) {
			in.Placement = &types.Placement{HostId: aws.String("h-00000000000000000")}
		}, "InvalidParameterCombination", "tenancy host"},
		{"a root volume smaller than its snapshot", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = root(types.EbsBlockDevice{VolumeSize: aws.Int32(4)})
		}, "InvalidBlockDeviceMapping", "smaller than snapshot"},
		{"provisioned IOPS on gp2", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = root(types.EbsBlockDevice{VolumeType: types.VolumeTypeGp2, Iops: aws.Int32(3000)})
		}, "InvalidParameterCombination", "iops is not supported for gp2"},
		{"io2 without IOPS", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = root(types.EbsBlockDevice{VolumeType: types.VolumeTypeIo2})
		}, "MissingParameter", "iops"},
		{"too many IOPS for the size", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = root(types.EbsBlockDevice{VolumeType: types.VolumeTypeGp3, VolumeSize: aws.Int32(8), Iops: aws.Int32(5000)})
		}, "InvalidParameterValue", "ratio of 625.0 is too high"},
		{"throughput without the IOPS for it", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = root(types.EbsBlockDevice{VolumeType: types.VolumeTypeGp3, VolumeSize: aws.Int32(100), Throughput: aws.Int32(1000)})
		}, "InvalidParameterValue", "too high"},
		{"a root volume that can not boot", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = root(types.EbsBlockDevice{VolumeType: types.VolumeTypeSt1, VolumeSize: aws.Int32(200)})
		}, "BootForVolumeTypeUnsupported", "st1"},
		{"an unknown volume type", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = root(types.EbsBlockDevice{VolumeType: "gp9"})
		}, "InvalidParameterValue", "gp9"},
		{"a further volume without a size", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/sdb"), Ebs: &types.EbsBlockDevice{VolumeType: types.VolumeTypeGp3}}}
		}, "MissingParameter", "size or snapshotId"},
		{"one device twice", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = append(root(types.EbsBlockDevice{VolumeSize: aws.Int32(20)}), root(types.EbsBlockDevice{VolumeSize: aws.Int32(20)})...)
		}, "InvalidBlockDeviceMapping", "more than one"},
		{"a KMS key without encryption", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = root(types.EbsBlockDevice{KmsKeyId: aws.String("alias/x")})
		}, "InvalidParameterCombination", "KmsKeyId"},
		{"Spot options on demand", func(in *ec2.RunInstancesInput) {
			in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{SpotOptions: &types.SpotMarketOptions{MaxPrice: aws.String("1")}}
		}, "InvalidParameterCombination", "market type spot"},
		{"a price of nothing", func(in *ec2.RunInstancesInput) {
			in.InstanceMarketOptions = spot(types.SpotMarketOptions{MaxPrice: aws.String("0.0001")})
		}, "InvalidParameterValue", "SpotPrice"},
		{"stopping a one-time Spot request", func(in *ec2.RunInstancesInput) {
			in.InstanceMarketOptions = spot(types.SpotMarketOptions{InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorStop})
		}, "InvalidParameterCombination", "persistent"},
		{"a one-time Spot request with an end", func(in *ec2.RunInstancesInput) {
			in.InstanceMarketOptions = spot(types.SpotMarketOptions{ValidUntil: &start})
		}, "InvalidParameterCombination", "ValidUntil"},
		{"enclave and hibernation", func(in *ec2.RunInstancesInput) {
			in.EnclaveOptions, in.HibernationOptions = &types.EnclaveOptionsRequest{Enabled: aws.Bool(true)}, &types.HibernationOptionsRequest{Configured: aws.Bool(true)}
		}, "InvalidParameterCombination", "hibernation"},
		{"hibernation on a plain root volume", func(in *ec2.RunInstancesInput) {
			in.HibernationOptions = &types.HibernationOptionsRequest{Configured: aws.Bool(true)}
		}, "UnsupportedHibernationConfiguration", "encrypted"},
		{"credits on a type without", func(in *ec2.RunInstancesInput) {
			in.CreditSpecification = &types.CreditSpecificationRequest{CpuCredits: aws.String("unlimited")}
		}, "InstanceCreditSpecification.NotSupported", "m5.large"},
		{"half of the CPU options", func(in *ec2.RunInstancesInput) { in.CpuOptions = &types.CpuOptionsRequest{CoreCount: aws.Int32(1)} }, "MissingParameter", "ThreadsPerCore"},
		{"a reservation that does not exist", func(in *ec2.RunInstancesInput) {
			in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String("cr-00000000000000000")}}
		}, "InvalidCapacityReservationId.NotFound", "does not exist"},
		{"tags on Spot requests without Spot", func(in *ec2.RunInstancesInput) {
			in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: []types.Tag{tag("a", "b")}}}
		}, "InvalidParameterValue", "Spot instances requests"},
		{"fewer than one", func(in *ec2.RunInstancesInput) { in.MinCount = aws.Int32(0) }, "InvalidParameterValue", "greater than 0"},
		{"a maximum below the minimum", func(in *ec2.RunInstancesInput) { in.MinCount = aws.Int32(2) }, "InvalidParameterValue", "maximum count"},
		{"one address for two", func(in *ec2.RunInstancesInput) {
			in.MaxCount, in.PrivateIpAddress = aws.Int32(2), aws.String("10.0.64.9")
		}, "InvalidParameterCombination", "single instance"},
		{"an address outside of the subnet", func(in *ec2.RunInstancesInput) { in.PrivateIpAddress = aws.String("10.1.0.9") }, "InvalidParameterValue", "address range"},
		{"no such template", func(in *ec2.RunInstancesInput) {
			in.LaunchTemplate = &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("missing")}
		}, "InvalidLaunchTemplateName.NotFoundException", "missing"},
		{"no such parameter", func(in *ec2.RunInstancesInput) { in.ImageId = aws.String("resolve:ssm:/missing") }, "InvalidParameterValue", "/missing"},
	}
	for _, row := range rows {
		for _, dry := range []bool{true, false} {
			_, err := r.run(func(in *ec2.RunInstancesInput) { row.change(in); in.DryRun = &dry })
			if got := code(t, err); got != row.code || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%s (dry run %t): got %v, want %s saying %q", row.reason, dry, err, row.code, row.says)
			}
		}
	}
	if left := r.sim.Region(awssim.DefaultAccount, region).Instances(); len(left) > 0 {
		t.Errorf("refused launches left %d instances", len(left))
	}
}

func TestDryRunLaunchesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.run(func(in *ec2.RunInstancesInput) { in.DryRun = aws.Bool(true) })
	wantError(t, err, "DryRunOperation", "would have succeeded")
	if got := status(t, err); got != 412 {
		t.Errorf("HTTP status is %d, want 412", got)
	}
	if left := r.sim.Region(awssim.DefaultAccount, region).Instances(); len(left) > 0 {
		t.Errorf("a dry run made %d instances", len(left))
	}
}

func TestLaunchFromTemplate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	image, group := r.image(types.ArchitectureValuesX8664), r.group("node")
	id := r.template("pool", &types.RequestLaunchTemplateData{
		ImageId: image.ImageId, InstanceType: "m5.large", KeyName: aws.String("default"), SecurityGroupIds: []string{group},
		UserData:           aws.String(base64.StdEncoding.EncodeToString([]byte("#cloud-config"))),
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(nodeProfile)},
		MetadataOptions:    &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: "required", HttpPutResponseHopLimit: aws.Int32(2)},
		BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{
			{DeviceName: image.RootDeviceName, Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(80), VolumeType: "gp3", Encrypted: aws.Bool(true)}},
			{DeviceName: aws.String("/dev/sdb"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(10), VolumeType: "io2", Iops: aws.Int32(500), DeleteOnTermination: aws.Bool(false)}},
		},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{tag("Name", "node")}}, {ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{tag("disk", "yes")}},
		},
	})
	r.version(id, typed("c5.large"))
	out, err := r.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: &id}, InstanceType: "m5.xlarge", SubnetId: r.subnet("us-east-1b").SubnetId,
		MinCount: aws.Int32(2), MaxCount: aws.Int32(2),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Instances) != 2 || out.Instances[0].State.Name != types.InstanceStateNamePending {
		t.Fatalf("launched %d instances, the first %s; want 2, pending", len(out.Instances), out.Instances[0].State.Name)
	}
	i := r.instance(*out.Instances[0].InstanceId)
	if i.State.Name != types.InstanceStateNameRunning || i.InstanceType != "m5.xlarge" || *i.KeyName != "default" || *i.Placement.AvailabilityZone != "us-east-1b" {
		t.Errorf("the instance is %s %s %s in %s", i.State.Name, i.InstanceType, *i.KeyName, *i.Placement.AvailabilityZone)
	}
	if *i.SecurityGroups[0].GroupId != group || !strings.HasSuffix(*i.IamInstanceProfile.Arn, "/"+nodeProfile) {
		t.Errorf("groups %v, profile %s", i.SecurityGroups, *i.IamInstanceProfile.Arn)
	}
	if i.MetadataOptions.HttpTokens != "required" || *i.MetadataOptions.HttpPutResponseHopLimit != 2 || i.MetadataOptions.State != "applied" {
		t.Errorf("metadata options are %+v", *i.MetadataOptions)
	}
	want := map[string]string{"Name": "node", "aws:ec2launchtemplate:id": id, "aws:ec2launchtemplate:version": "1"}
	if diff := cmp.Diff(want, tagMap(i.Tags)); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if *i.PrivateIpAddress != "10.0.96.4" || *i.PrivateDnsName != "ip-10-0-96-4.ec2.internal" {
		t.Errorf("address %s, name %s; want the first free address of the subnet", *i.PrivateIpAddress, *i.PrivateDnsName)
	}
	r.checkVolumes(*i.InstanceId)
	inside, ok := r.sim.Region(awssim.DefaultAccount, region).Instance(*i.InstanceId)
	if !ok || inside.UserData != "#cloud-config" || !inside.Booted {
		t.Errorf("inside of the instance: user data %q, booted %t", inside.UserData, inside.Booted)
	}
}

func (r *rig) checkVolumes(instance string) {
	r.Helper()
	out, err := r.ec2.DescribeVolumes(r.Context(), &ec2.DescribeVolumesInput{Filters: []types.Filter{filter("attachment.instance-id", instance)}})
	if err != nil {
		r.Fatal(err)
	}
	type volume struct {
		Device    string
		Size      int32
		Kind      types.VolumeType
		Iops      int32
		Encrypted bool
		Deleted   bool
		Tags      map[string]string
	}
	var got []volume
	for _, v := range out.Volumes {
		a := v.Attachments[0]
		got = append(got, volume{*a.Device, *v.Size, v.VolumeType, *v.Iops, *v.Encrypted, *a.DeleteOnTermination, tagMap(v.Tags)})
	}
	want := []volume{
		{"/dev/sda1", 80, "gp3", 3000, true, true, map[string]string{"disk": "yes"}},
		{"/dev/sdb", 10, "io2", 500, false, false, map[string]string{"disk": "yes"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("volumes (-want +got):\n%s", diff)
	}
}

func tagMap(tags []types.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range tags {
		m[*t.Key] = aws.ToString(t.Value)
	}
	return m
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m5.large", Zone: "us-east-1a", Available: 3}}}))
	counts := func(low, high int32) func(*ec2.RunInstancesInput) {
		return func(in *ec2.RunInstancesInput) { in.MinCount, in.MaxCount = &low, &high }
	}
	out, err := r.run(counts(1, 2))
	if err != nil || len(out.Instances) != 2 {
		t.Fatalf("two of three: %v, %v", out, err)
	}
	_, err = r.run(counts(2, 2))
	wantError(t, err, "InsufficientInstanceCapacity", "not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a)")
	wantError(t, err, "InsufficientInstanceCapacity", "choosing us-east-1b, us-east-1c")
	if got := status(t, err); got != 500 {
		t.Errorf("HTTP status is %d, want 500", got)
	}
	less, err := r.run(counts(1, 5))
	if err != nil || len(less.Instances) != 1 {
		t.Errorf("as many as there are, at least MinCount: %v, %v", less, err)
	}
	if _, err := r.run(func(in *ec2.RunInstancesInput) { in.SubnetId = r.subnet("us-east-1b").SubnetId }); err != nil {
		t.Errorf("another zone has capacity: %v", err)
	}
	_, err = r.run(func(in *ec2.RunInstancesInput) {
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	})
	wantError(t, err, "InsufficientInstanceCapacity", "no Spot capacity")
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*out.Instances[0].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.run(nil); err != nil {
		t.Errorf("a terminated instance makes room: %v", err)
	}
}

func TestRunInstancesClientToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := func(in *ec2.RunInstancesInput) { in.ClientToken = aws.String("once") }
	first, err := r.run(token)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.run(token)
	if err != nil || *second.Instances[0].InstanceId != *first.Instances[0].InstanceId || second.Instances[0].State.Name != types.InstanceStateNameRunning {
		t.Errorf("the same instance as it is now: %+v, %v", second, err)
	}
	_, err = r.run(func(in *ec2.RunInstancesInput) { token(in); in.InstanceType = "m5.xlarge" })
	wantError(t, err, "IdempotentParameterMismatch", "")
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*first.Instances[0].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	_, err = r.run(token)
	wantError(t, err, "IdempotentInstanceTerminated", "")
}

func TestSpotInstance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out, err := r.run(func(in *ec2.RunInstancesInput) {
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	})
	if err != nil {
		t.Fatal(err)
	}
	i := out.Instances[0]
	if i.InstanceLifecycle != types.InstanceLifecycleTypeSpot || !strings.HasPrefix(*i.SpotInstanceRequestId, "sir-") {
		t.Errorf("lifecycle %s, request %s", i.InstanceLifecycle, *i.SpotInstanceRequestId)
	}
	_, err = r.ec2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{*i.InstanceId}})
	wantError(t, err, "UnsupportedOperation", "one-time")
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out, err := r.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("tag:Name", "public-us-east-1a")}})
	if err != nil {
		t.Fatal(err)
	}
	public := out.Subnets[0]
	before := *public.AvailableIpAddressCount
	launched, err := r.run(func(in *ec2.RunInstancesInput) { in.SubnetId = public.SubnetId })
	if err != nil {
		t.Fatal(err)
	}
	if i := launched.Instances[0]; i.PublicIpAddress == nil || !strings.HasPrefix(*i.PublicDnsName, "ec2-198-1") {
		t.Errorf("public address %v, name %s", i.PublicIpAddress, *i.PublicDnsName)
	}
	out, err = r.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{*public.SubnetId}})
	if err != nil || *out.Subnets[0].AvailableIpAddressCount != before-1 {
		t.Errorf("the subnet had %d free addresses and now has %v", before, out)
	}
	id := *launched.Instances[0].InstanceId
	if _, err := r.ec2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	if i := r.instance(id); i.PublicIpAddress != nil || i.PrivateIpAddress == nil {
		t.Errorf("a stopped instance keeps its private address alone: %v, %v", i.PublicIpAddress, i.PrivateIpAddress)
	}
	if _, err := r.ec2.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	if i := r.instance(id); i.PublicIpAddress == nil || i.NetworkInterfaces[0].Association == nil {
		t.Errorf("started again it has a public address: %v", i.PublicIpAddress)
	}
	private, err := r.run(func(in *ec2.RunInstancesInput) {
		in.SubnetId = nil
		in.NetworkInterfaces = []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: public.SubnetId, AssociatePublicIpAddress: aws.Bool(false)}}
	})
	if err != nil || private.Instances[0].PublicIpAddress != nil {
		t.Errorf("the interface says no public address: %+v, %v", private, err)
	}
}
