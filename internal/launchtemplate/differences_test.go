package launchtemplate

import (
	"encoding/base64"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

func instanceTags(tags ...string) []ec2types.LaunchTemplateTagSpecification {
	var list []ec2types.Tag
	for i := 0; i < len(tags); i += 2 {
		list = append(list, ec2types.Tag{Key: &tags[i], Value: &tags[i+1]})
	}
	return []ec2types.LaunchTemplateTagSpecification{{ResourceType: "instance", Tags: list}}
}

func encoded(text string) *string {
	return awssdk.String(base64.StdEncoding.EncodeToString([]byte(text)))
}

// TestDifferences compares what CAPA stored with what a spec asks for.
func TestDifferences(t *testing.T) {
	t.Parallel()
	const joined = "#cloud-config\nruncmd:\n- kubeadm join --token "
	for _, row := range []struct {
		reason   string
		spec     infrav1.AWSLaunchTemplate
		resolved Resolved
		data     ec2types.ResponseLaunchTemplateData
		want     []string
	}{
		{reason: "nothing"},
		{
			reason:   "what CAPA adds by itself, and its explicit defaults",
			spec:     infrav1.AWSLaunchTemplate{InstanceMetadataOptions: &infrav1.InstanceMetadataOptions{HTTPTokens: "required", HTTPProtocolIPv6: "disabled"}},
			resolved: Resolved{Tags: map[string]string{"Name": "pool"}, SecurityGroupIDs: []string{"sg-1", "sg-2"}},
			data: ec2types.ResponseLaunchTemplateData{
				SecurityGroupIds: []string{"sg-2", "sg-1", "sg-1"},
				MetadataOptions:  &ec2types.LaunchTemplateInstanceMetadataOptions{HttpTokens: "required", State: "applied"},
				EnclaveOptions:   &ec2types.LaunchTemplateEnclaveOptions{Enabled: awssdk.Bool(false)},
				TagSpecifications: append(instanceTags("Name", "pool", infrav1.TagBootstrapDataSecret, "a/b", infrav1.TagBootstrapDataHash, "c"),
					ec2types.LaunchTemplateTagSpecification{ResourceType: "volume", Tags: []ec2types.Tag{{Key: awssdk.String("Name"), Value: awssdk.String("pool")}}}),
			},
		},
		{
			reason:   "a token",
			resolved: Resolved{UserData: []byte(joined + "abcdef.0123456789abcdef\n")},
			data:     ec2types.ResponseLaunchTemplateData{UserData: encoded(joined + "fedcba.fedcba9876543210\n")},
		},
		{
			reason:   "other bootstrap data, of which nothing is shown",
			resolved: Resolved{UserData: []byte(joined + "abcdef.0123456789abcdef --node-name a\n")},
			data:     ec2types.ResponseLaunchTemplateData{UserData: encoded(joined + "fedcba.fedcba9876543210\n")},
			want:     []string{"bootstrap data changed"},
		},
		{
			reason: "bootstrap data that is kept in a parameter, and was in the template",
			resolved: Resolved{
				UserData: []byte("fetch it"), Bootstrap: []byte(joined + "abcdef.0123456789abcdef\n"), Data: "ssm",
			},
			data: ec2types.ResponseLaunchTemplateData{UserData: encoded(joined + "fedcba.fedcba9876543210\n")},
		},
		{
			reason: "Ignition data that CAPA keeps in an object, of which nothing is known",
			resolved: Resolved{
				UserData: []byte(`{"ignition":{"version":"3.4.0","config":{"merge":[{"source":"s3://bucket/node/slipway/a/b/c/d"}]}}}`), Bootstrap: []byte("{}"), Data: "s3",
			},
			data: ec2types.ResponseLaunchTemplateData{
				UserData: encoded(`{"ignition":{"config":{"merge":[{"source":"s3://bucket/machine-pool/pool/0123"}],"replace":{}},"version":"3.4.0"},"storage":{}}`),
			},
		},
		{
			reason:   "a root volume that CAPA did not resize, and an image",
			spec:     infrav1.AWSLaunchTemplate{RootVolume: &infrav1.Volume{Size: 30}, InstanceType: "m5.large"},
			resolved: Resolved{ImageID: "ami-2", RootDeviceName: "/dev/sda1"},
			data: ec2types.ResponseLaunchTemplateData{
				ImageId: awssdk.String("ami-1"), InstanceType: "m5.large",
				BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMapping{{
					DeviceName: awssdk.String("/dev/sda1"),
					Ebs:        &ec2types.LaunchTemplateEbsBlockDevice{VolumeSize: awssdk.Int32(8), DeleteOnTermination: awssdk.Bool(true)},
				}},
			},
			want: []string{"volume /dev/sda1 size in GiB 8 → 30", "image ami-1 → ami-2"},
		},
		{
			reason:   "a tag, and a key pair that is gone",
			resolved: Resolved{Tags: map[string]string{"team": "b"}},
			data:     ec2types.ResponseLaunchTemplateData{KeyName: awssdk.String("old"), TagSpecifications: instanceTags("team", "a")},
			want:     []string{"key pair old → none", "tag team changed", "tag team added"},
		},
		{
			reason: "what CAPA never sends",
			spec:   infrav1.AWSLaunchTemplate{EnclaveOptions: &infrav1.EnclaveOptions{Enabled: ptr.To(true)}},
			want:   []string{"enclave enabled none → true"},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			input, err := NewInput(&infrav1.AWSLaunchConfigSpec{AWSLaunchTemplate: row.spec}, row.resolved)
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := input.Settings()
			if err != nil {
				t.Fatal(err)
			}
			seen, err := settingsOf(&row.data, awssdk.ToString(row.data.UserData))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, seen.Differences(wanted), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
