package launchtemplate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// TestContentsOfInputAndOfVersion holds that the data that is sent and the data that EC2 then
// returns have the same contents.
func TestContentsOfInputAndOfVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := infrav1.AWSLaunchConfigSpec{
		AWSLaunchTemplate: infrav1.AWSLaunchTemplate{
			IamInstanceProfile: "nodes", RootVolume: &infrav1.Volume{Size: 50},
			CapacityReservationID: ptr.To("cr-0123456789abcdef0"),
		},
		LaunchConfigData: infrav1.LaunchConfigData{
			InstanceRequirements: &infrav1.LaunchRequirements{InstanceRequirements: infrav1.InstanceRequirements{
				VCPUCount: infrav1.RequiredRange{Min: 2}, MemoryMiB: infrav1.RequiredRange{Min: 4096},
			}},
			NetworkInterfaces: []infrav1.NetworkInterface{{DeviceIndex: 0}, {DeviceIndex: 1}},
			Placement:         &infrav1.Placement{AvailabilityZone: "us-east-1a"},
		},
	}
	input, err := launchtemplate.NewInput(&spec, launchtemplate.Resolved{
		ImageID: "ami-0123456789abcdef0", RootDeviceName: "/dev/xvda", UserData: []byte("join"), SecurityGroupIDs: []string{"sg-0c1000000000000a2", "sg-0c1000000000000a1"},
		Interfaces: []launchtemplate.Interface{{SubnetID: "subnet-0b2000000000000aa"}, {GroupIDs: []string{"sg-0c1000000000000a3"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := launchtemplate.Contents{
		ImageID: "ami-0123456789abcdef0", Requirements: `{"MemoryMiB":{"Min":4096},"VCpuCount":{"Min":2}}`, InstanceProfile: "nodes",
		CapacityReservation: "cr-0123456789abcdef0", AvailabilityZone: "us-east-1a", UserData: []byte("join"),
		SecurityGroupIDs: []string{"sg-0c1000000000000a1", "sg-0c1000000000000a2", "sg-0c1000000000000a3"}, SubnetIDs: []string{"subnet-0b2000000000000aa"},
		Volumes: []launchtemplate.Volume{{DeviceName: "/dev/xvda", SizeGiB: 50}},
	}
	asked, err := input.Contents()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("what is asked for (-want +got):\n%s", diff)
	}
	wanted := r.wanted("m5.large", "")
	wanted.Input = input
	version, seen, _, err := r.templates.Ensure(t.Context(), wanted, launchtemplate.Observation{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.templates.Data(t.Context(), seen.Template.ID, version.Number)
	if err != nil {
		t.Fatal(err)
	}
	answered, err := data.Contents()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, answered); diff != "" {
		t.Errorf("what EC2 answers (-want +got):\n%s", diff)
	}
}
