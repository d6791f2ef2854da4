package ec2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestZonesAndRegions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	zones, err := r.ec2.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{Filters: []types.Filter{filter("zone-id", "use1-az2")}})
	if err != nil || len(zones.AvailabilityZones) != 1 || *zones.AvailabilityZones[0].ZoneName != "us-east-1b" {
		t.Errorf("zones by id: %v, %v", zones, err)
	}
	for _, in := range []*ec2.DescribeAvailabilityZonesInput{{ZoneNames: []string{"us-east-1a"}}, {ZoneIds: []string{"use1-az1"}}} {
		zones, err := r.ec2.DescribeAvailabilityZones(t.Context(), in)
		if err != nil || len(zones.AvailabilityZones) != 1 || *zones.AvailabilityZones[0].ZoneName != "us-east-1a" {
			t.Errorf("the zones of %v %v are %v, %v", in.ZoneNames, in.ZoneIds, zones, err)
		}
	}
	_, err = r.ec2.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"us-east-1z"}})
	wantError(t, err, "InvalidParameterValue", "us-east-1z")
	regions, err := r.ec2.DescribeRegions(t.Context(), &ec2.DescribeRegionsInput{})
	if err != nil || len(regions.Regions) != len(r.sim.World().Regions) {
		t.Errorf("regions: %v, %v", regions, err)
	}
	_, err = r.ec2.DescribeRegions(t.Context(), &ec2.DescribeRegionsInput{RegionNames: []string{"mars-1"}})
	wantError(t, err, "InvalidParameterValue", "mars-1")
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vpc, err := r.ec2.CreateVpc(t.Context(), &ec2.CreateVpcInput{
		CidrBlock: aws.String("10.8.0.0/16"), TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVpc, Tags: []types.Tag{tag("Name", "second")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	create := func(cidr string) (*ec2.CreateSubnetOutput, error) {
		return r.ec2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: vpc.Vpc.VpcId, CidrBlock: &cidr, AvailabilityZone: aws.String("us-east-1c")})
	}
	subnet, err := create("10.8.1.0/28")
	if err != nil || *subnet.Subnet.AvailableIpAddressCount != 11 || *subnet.Subnet.AvailabilityZoneId != "use1-az3" {
		t.Fatalf("a /28 has 16 addresses, 5 of them reserved: %+v, %v", subnet, err)
	}
	_, err = create("10.8.1.8/29")
	wantError(t, err, "InvalidSubnet.Range", "10.8.1.8/29")
	_, err = create("10.8.0.0/20")
	wantError(t, err, "InvalidSubnet.Conflict", "10.8.0.0/20")
	_, err = create("10.7.0.0/20")
	wantError(t, err, "InvalidSubnet.Range", "10.7.0.0/20")

	in := &ec2.CreateSecurityGroupInput{GroupName: aws.String("web"), Description: aws.String("web"), VpcId: vpc.Vpc.VpcId}
	group, err := r.ec2.CreateSecurityGroup(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.ec2.CreateSecurityGroup(t.Context(), in)
	wantError(t, err, "InvalidGroup.Duplicate", "web")
	launched, err := r.run(func(in *ec2.RunInstancesInput) {
		in.SubnetId, in.SecurityGroupIds = subnet.Subnet.SubnetId, []string{*group.GroupId}
		in.MinCount, in.MaxCount = aws.Int32(1), aws.Int32(20)
	})
	if err != nil || len(launched.Instances) != 11 {
		t.Fatalf("as many instances as addresses: %v", err)
	}
	_, err = r.run(func(in *ec2.RunInstancesInput) { in.SubnetId = subnet.Subnet.SubnetId })
	wantError(t, err, "InsufficientFreeAddressesInSubnet", *subnet.Subnet.SubnetId)
	deleteGroup := func() error {
		_, err := r.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: group.GroupId})
		return err
	}
	deleteSubnet := func() error {
		_, err := r.ec2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: subnet.Subnet.SubnetId})
		return err
	}
	deleteVPC := func() error {
		_, err := r.ec2.DeleteVpc(t.Context(), &ec2.DeleteVpcInput{VpcId: vpc.Vpc.VpcId})
		return err
	}
	for _, remove := range []func() error{deleteGroup, deleteSubnet, deleteVPC} {
		wantError(t, remove(), "DependencyViolation", "")
	}
	var ids []string
	for _, i := range launched.Instances {
		ids = append(ids, *i.InstanceId)
	}
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
	for i, remove := range []func() error{deleteGroup, deleteSubnet, deleteVPC} {
		if err := remove(); err != nil {
			t.Errorf("removal %d: %v", i, err)
		}
	}
	_, err = r.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{*vpc.Vpc.VpcId}})
	wantError(t, err, "InvalidVpcID.NotFound", *vpc.Vpc.VpcId)
}

func TestKeyPairs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, kind := range []types.KeyType{types.KeyTypeRsa, types.KeyTypeEd25519} {
		name := "made-" + string(kind)
		made, err := r.ec2.CreateKeyPair(t.Context(), &ec2.CreateKeyPairInput{KeyName: &name, KeyType: kind})
		if err != nil || !strings.Contains(*made.KeyMaterial, "PRIVATE KEY") {
			t.Fatalf("creating an %s key: %v", kind, err)
		}
		shown, err := r.ec2.DescribeKeyPairs(t.Context(), &ec2.DescribeKeyPairsInput{KeyNames: []string{name}, IncludePublicKey: aws.Bool(true)})
		if err != nil || *shown.KeyPairs[0].KeyFingerprint != *made.KeyFingerprint || shown.KeyPairs[0].KeyType != kind {
			t.Fatalf("describing it: %v, %v", shown, err)
		}
		imported, err := r.ec2.ImportKeyPair(t.Context(), &ec2.ImportKeyPairInput{KeyName: aws.String("imported-" + string(kind)), PublicKeyMaterial: []byte(*shown.KeyPairs[0].PublicKey)})
		if err != nil {
			t.Fatalf("importing its public key: %v", err)
		}
		if kind == types.KeyTypeEd25519 && *imported.KeyFingerprint != *made.KeyFingerprint {
			t.Errorf("the fingerprint of an ED25519 key is that of its public key: %s and %s", *imported.KeyFingerprint, *made.KeyFingerprint)
		}
	}
	_, err := r.ec2.CreateKeyPair(t.Context(), &ec2.CreateKeyPairInput{KeyName: aws.String("default")})
	wantError(t, err, "InvalidKeyPair.Duplicate", "")
	_, err = r.ec2.ImportKeyPair(t.Context(), &ec2.ImportKeyPairInput{KeyName: aws.String("bad"), PublicKeyMaterial: []byte("not a key")})
	wantError(t, err, "InvalidKey.Format", "")
	for range 2 {
		if _, err := r.ec2.DeleteKeyPair(t.Context(), &ec2.DeleteKeyPairInput{KeyName: aws.String("default")}); err != nil {
			t.Errorf("deleting a key pair, also one that is gone, succeeds: %v", err)
		}
	}
	_, err = r.ec2.DescribeKeyPairs(t.Context(), &ec2.DescribeKeyPairsInput{KeyNames: []string{"default"}})
	wantError(t, err, "InvalidKeyPair.NotFound", "'default' does not exist")
}
