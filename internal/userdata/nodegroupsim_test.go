package userdata_test

import (
	"encoding/base64"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/userdata"
)

// TestEKSTakesUserData: EKS merges the user data that is rendered into its own. It refuses
// bootstrap data for Amazon Linux as bootstrap providers write it, which is not MIME multi-part, so
// this fails if rendering stops wrapping it.
func TestEKSTakesUserData(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, version string
		amiType         ekstypes.AMITypes
		family          userdata.Family
		data            string
	}{
		{"cloud-config on Amazon Linux 2023", "1.35", ekstypes.AMITypesAl2023X8664Standard, userdata.FamilyAmazonLinux2023, "#cloud-config\nruncmd: [echo]\n"},
		{"a script on Amazon Linux 2023", "1.35", ekstypes.AMITypesAl2023X8664Standard, userdata.FamilyAmazonLinux2023, "#!/bin/bash\necho\n"},
		{"a NodeConfig", "1.35", ekstypes.AMITypesAl2023X8664Standard, userdata.FamilyAmazonLinux2023, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n"},
		{"jinja", "1.35", ekstypes.AMITypesAl2023X8664Standard, userdata.FamilyAmazonLinux2023, string(jinja)},
		{"cloud-config on Amazon Linux 2", "1.30", ekstypes.AMITypesAl2X8664, userdata.FamilyAmazonLinux2, "#cloud-config\nruncmd: [echo]\n"},
		{"a script on Amazon Linux 2", "1.30", ekstypes.AMITypesAl2X8664, userdata.FamilyAmazonLinux2, "#!/bin/bash\necho\n"},
		{"no bootstrap data", "1.35", ekstypes.AMITypesAl2023X8664Standard, userdata.FamilyAmazonLinux2023, ""},
		{"settings of Bottlerocket", "1.35", ekstypes.AMITypesBottlerocketX8664, userdata.FamilyBottlerocket, "[settings.kubernetes]\nmax-pods = 42\n"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			rendered, err := userdata.RenderNodegroup([]byte(row.data), userdata.FormatCloudConfig, userdata.Nodegroup{Family: row.family})
			if err != nil {
				t.Fatal(err)
			}
			if status, issues := nodegroupWith(t, row.version, row.amiType, rendered.Bytes); status != ekstypes.NodegroupStatusActive {
				t.Errorf("the node group is %s: %+v", status, issues)
			}
			if row.family == userdata.FamilyBottlerocket || row.data == "" {
				return
			}
			// The oracle itself: EKS refuses the same data unwrapped.
			status, issues := nodegroupWith(t, row.version, row.amiType, []byte(row.data))
			if status != ekstypes.NodegroupStatusCreateFailed || len(issues) != 1 || issues[0].Code != ekstypes.NodegroupIssueCodeEc2LaunchTemplateInvalidConfiguration {
				t.Errorf("with unwrapped data the node group is %s: %+v", status, issues)
			}
		})
	}
}

// nodegroupWith creates a node group whose launch template has the user data, and returns what became of it.
func nodegroupWith(t *testing.T, version string, amiType ekstypes.AMITypes, data []byte) (ekstypes.NodegroupStatus, []ekstypes.Issue) {
	t.Helper()
	const account, region = "123456789012", "us-east-1"
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), awssim.Options{})
	subnets := []string{"subnet-0b2000000000000aa", "subnet-0b2000000000000ab"}
	if err := sim.Region(account, region).SetCluster(awssim.Cluster{Name: "one", Version: version, Subnets: subnets}); err != nil {
		t.Fatal(err)
	}
	config := awssdk.Config{
		Region: region, BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("AKIA"+account, "secret", ""),
		APIOptions: []func(*middleware.Stack) error{aws.SendBodies},
	}
	values := &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"}
	if len(data) > 0 {
		values.UserData = awssdk.String(base64.StdEncoding.EncodeToString(data))
	}
	template, err := ec2.NewFromConfig(config).CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String("pool"), LaunchTemplateData: values,
	})
	if err != nil {
		t.Fatal(err)
	}
	groups, name := eks.NewFromConfig(config), awssdk.String("nodes")
	if _, err := groups.CreateNodegroup(t.Context(), &eks.CreateNodegroupInput{
		ClusterName: awssdk.String("one"), NodegroupName: name, Subnets: subnets, AmiType: amiType,
		NodeRole:       awssdk.String("arn:aws:iam::" + account + ":role/eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"),
		LaunchTemplate: &ekstypes.LaunchTemplateSpecification{Id: template.LaunchTemplate.LaunchTemplateId},
	}); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		found, err := groups.DescribeNodegroup(t.Context(), &eks.DescribeNodegroupInput{ClusterName: awssdk.String("one"), NodegroupName: name})
		if err != nil {
			t.Fatal(err)
		}
		if found.Nodegroup.Status != ekstypes.NodegroupStatusCreating {
			return found.Nodegroup.Status, found.Nodegroup.Health.Issues
		}
		clock.Step(time.Minute)
	}
	t.Fatal("the node group is still being created after an hour")
	return "", nil
}
