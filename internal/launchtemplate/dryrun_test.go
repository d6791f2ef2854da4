package launchtemplate_test

import (
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// TestDryRun holds that a dry run reports errors that EC2 does not report for a version that it
// stores, and launches nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	const subnet = "subnet-0b2000000000000aa"
	for _, row := range []struct {
		reason string
		change func(*infrav1.AWSLaunchConfigSpec)
		subnet string
		code   string
	}{
		{reason: "what can be launched", subnet: subnet},
		{reason: "with interfaces the subnet is theirs", change: func(spec *infrav1.AWSLaunchConfigSpec) {
			spec.NetworkInterfaces = []infrav1.NetworkInterface{{DeviceIndex: 0}, {DeviceIndex: 1}}
		}, subnet: subnet},
		{reason: "a placement group that is gone", change: func(spec *infrav1.AWSLaunchConfigSpec) {
			spec.Placement = &infrav1.Placement{GroupName: "gone"}
		}, subnet: subnet, code: "InvalidPlacementGroup.Unknown"},
		{reason: "a subnet that is gone", subnet: "subnet-0b2000000000000ff", code: "InvalidSubnetID.NotFound"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			images, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{
				Filters: []ec2types.Filter{{Name: awssdk.String("architecture"), Values: []string{"x86_64"}}},
			})
			if err != nil || len(images.Images) == 0 {
				t.Fatalf("there is no image: %v", err)
			}
			spec := infrav1.AWSLaunchConfigSpec{AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}}
			if row.change != nil {
				row.change(&spec)
			}
			wanted := r.wanted("m5.large", "abcdef.0123456789abcdef")
			if wanted.Input, err = launchtemplate.NewInput(&spec, launchtemplate.Resolved{ImageID: *images.Images[0].ImageId}); err != nil {
				t.Fatal(err)
			}
			version, seen, _, err := r.templates.Ensure(t.Context(), wanted, launchtemplate.Observation{})
			if err != nil {
				t.Fatal(err)
			}
			err = r.templates.DryRun(t.Context(), seen.Template.ID, version.Number, wanted.Input, row.subnet)
			if got := aws.Code(err); got != row.code || (err != nil) != (row.code != "") {
				t.Errorf("the answer is %v, want %q", err, row.code)
			}
			if err != nil && !strings.Contains(err.Error(), seen.Template.ID) {
				t.Errorf("%v does not say what was tried", err)
			}
			instances, err := r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
			if err != nil || len(instances.Reservations) != 0 {
				t.Errorf("instances are %+v (%v)", instances, err)
			}
		})
	}
}
