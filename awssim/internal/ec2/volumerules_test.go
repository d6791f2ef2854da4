package ec2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// TestEncryptionOfASnapshot: what a launch with a template refuses, the same launch without one does.
func TestEncryptionOfASnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	snapshot := r.image(types.ArchitectureValuesX8664).BlockDeviceMappings[0].Ebs.SnapshotId
	template := r.template("encrypting", &types.RequestLaunchTemplateData{BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{
		DeviceName: aws.String("/dev/sdb"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{SnapshotId: snapshot, Encrypted: aws.Bool(true)},
	}}})
	_, err := r.run(func(in *ec2.RunInstancesInput) {
		in.LaunchTemplate = &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String(template)}
	})
	wantError(t, err, "InvalidBlockDeviceMapping", "device /dev/sdb has a snapshot")
	_, err = r.run(func(in *ec2.RunInstancesInput) {
		in.BlockDeviceMappings = []types.BlockDeviceMapping{{
			DeviceName: aws.String("/dev/sdb"), Ebs: &types.EbsBlockDevice{SnapshotId: snapshot, Encrypted: aws.Bool(true)},
		}}
	})
	wantError(t, err, "", "")
}

// TestEncryptionOfTheImagesDevices: a launch may have the root volume encrypted, and must not say
// that it is not, with a template or without.
func TestEncryptionOfTheImagesDevices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	root := r.image(types.ArchitectureValuesX8664).RootDeviceName
	for _, row := range []struct {
		reason, device string
		encrypted      *bool
		code           string
	}{
		{"the image has a snapshot for its root device", *root, aws.Bool(false), "InvalidBlockDeviceMapping"},
		{"a copy of the snapshot is encrypted", *root, aws.Bool(true), ""},
		{"the snapshot decides", *root, nil, ""},
		{"an empty volume has no snapshot", "/dev/sdb", aws.Bool(false), ""},
	} {
		data := &types.RequestLaunchTemplateData{BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{
			DeviceName: aws.String(row.device), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(20), Encrypted: row.encrypted},
		}}}
		template := r.template("device-"+strings.ReplaceAll(row.reason, " ", "-"), data)
		words := ""
		if row.code != "" {
			words = "the encrypted flag cannot be specified since device " + row.device + " has a snapshot specified."
		}
		_, err := r.run(func(in *ec2.RunInstancesInput) {
			in.LaunchTemplate = &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String(template)}
		})
		wantError(t, err, row.code, words)
		_, err = r.run(func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = []types.BlockDeviceMapping{{
				DeviceName: aws.String(row.device), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(20), Encrypted: row.encrypted},
			}}
		})
		wantError(t, err, row.code, words)
	}
}

// TestSpotMaximumPrice: a price below the present one is refused when it comes to launching, not before.
func TestSpotMaximumPrice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rows := []struct {
		reason, price string
		dry           bool
		code          string
	}{
		{"too low", "0.002", false, "SpotMaxPriceTooLow"},
		{"a dry run does not look at the market", "0.002", true, "DryRunOperation"},
		{"high enough", "1", false, ""},
		{"the On-Demand price by default", "", false, ""},
	}
	for _, row := range rows {
		_, err := r.run(func(in *ec2.RunInstancesInput) {
			options := &types.SpotMarketOptions{}
			if row.price != "" {
				options.MaxPrice = aws.String(row.price)
			}
			in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: options}
			in.DryRun = aws.Bool(row.dry)
		})
		if got := code(t, err); got != row.code {
			t.Errorf("%s: %q, want %q (%v)", row.reason, got, row.code, err)
		}
	}
}

func TestDeleteVolume(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out, err := r.run(func(in *ec2.RunInstancesInput) {
		in.BlockDeviceMappings = []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/sda1"), Ebs: &types.EbsBlockDevice{DeleteOnTermination: aws.Bool(false)}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	volumes, err := r.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})
	if err != nil || len(volumes.Volumes) != 1 {
		t.Fatalf("volumes: %v, %v", volumes, err)
	}
	id := volumes.Volumes[0].VolumeId
	_, err = r.ec2.DeleteVolume(t.Context(), &ec2.DeleteVolumeInput{VolumeId: id})
	wantError(t, err, "VolumeInUse", *out.Instances[0].InstanceId)
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*out.Instances[0].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ec2.DeleteVolume(t.Context(), &ec2.DeleteVolumeInput{VolumeId: id}); err != nil {
		t.Errorf("the volume outlives its instance and can be deleted then: %v", err)
	}
}
