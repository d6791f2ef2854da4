package sdkcopy

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMembers(t *testing.T) {
	compare := cmpopts.IgnoreUnexported(
		asgtypes.AutoScalingGroup{}, asgtypes.LaunchTemplateSpecification{}, ec2types.ResponseLaunchTemplateData{},
		ec2types.LaunchTemplateBlockDeviceMapping{}, ec2types.LaunchTemplateEbsBlockDevice{})
	for name, tc := range map[string]struct {
		reason         string
		to, from, want any
	}{
		"RequestToAnswer": {
			reason: "Nested members of types with different names are copied.",
			to:     &ec2types.ResponseLaunchTemplateData{},
			from: &ec2types.RequestLaunchTemplateData{
				ImageId: awssdk.String("ami-1"), InstanceType: "m5.large",
				BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMappingRequest{{Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: awssdk.Int32(8)}}},
			},
			want: &ec2types.ResponseLaunchTemplateData{
				ImageId: awssdk.String("ami-1"), InstanceType: "m5.large",
				BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMapping{{Ebs: &ec2types.LaunchTemplateEbsBlockDevice{VolumeSize: awssdk.Int32(8)}}},
			},
		},
		"UpdateOfGroup": {
			reason: "What a request leaves out stays as it is.",
			to:     &asgtypes.AutoScalingGroup{MinSize: awssdk.Int32(1), MaxSize: awssdk.Int32(3), DeletionProtection: asgtypes.DeletionProtectionPreventAllDeletion},
			from:   &autoscaling.UpdateAutoScalingGroupInput{MaxSize: awssdk.Int32(0), LaunchTemplate: &asgtypes.LaunchTemplateSpecification{Version: awssdk.String("2")}},
			want: &asgtypes.AutoScalingGroup{
				MinSize: awssdk.Int32(1), MaxSize: awssdk.Int32(0), DeletionProtection: asgtypes.DeletionProtectionPreventAllDeletion,
				LaunchTemplate: &asgtypes.LaunchTemplateSpecification{Version: awssdk.String("2")},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			Members(tc.to, tc.from)
			if diff := cmp.Diff(tc.want, tc.to, compare); diff != "" {
				t.Errorf("%s Members: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
