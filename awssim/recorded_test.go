package awssim_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/oracle"
)

// Where answers of AWS were recorded.
const (
	moto       = "moto's tests that are marked aws_verified"
	localStack = "LocalStack's validated snapshots"
	terraform  = "the errors that terraform-provider-aws's acceptance tests expect"
	custodian  = "Cloud Custodian's recorded flight data"
	awsCLI     = "the examples of the AWS CLI"
)

// recorded has the clients, and the objects that recorded calls need.
type recorded struct {
	ec2 *ec2.Client
	asg *autoscaling.Client
	eks *eks.Client
	iam *iam.Client
	sqs *sqs.Client
	ssm *ssm.Client

	sim      *awssim.Simulator
	image    string
	template string // has one version
	group    string // has one instance, its minimum
}

const (
	recordedSubnet = "subnet-0b2000000000000aa"
	recordedRole   = "arn:aws:iam::" + account + ":role/eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"
)

func newRecorded(t *testing.T) *recorded {
	t.Helper()
	e := serve(t, awssim.Options{})
	c := e.config(key)
	r := &recorded{ec2: ec2.NewFromConfig(c), asg: autoscaling.NewFromConfig(c), eks: eks.NewFromConfig(c), iam: iam.NewFromConfig(c), sqs: sqs.NewFromConfig(c), ssm: ssm.NewFromConfig(c), sim: e.Simulator, group: "nodes"}
	if err := e.Region(account, region).SetCluster(awssim.Cluster{Name: "demo", Version: "1.33", Subnets: []string{recordedSubnet, "subnet-0b2000000000000ab"}}); err != nil {
		t.Fatal(err)
	}
	image := must[*ssm.GetParameterOutput](t)(r.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id")}))
	r.image = *image.Parameter.Value
	r.template = r.templateOf(t, "nodes", unchanged)
	if err := r.groupOf(t.Context(), r.group, r.template); err != nil {
		t.Fatal(err)
	}
	e.Clock().Step(5 * time.Minute)
	return r
}

// templateOf creates a launch template of an image and a type, changed in some way, and returns its id.
func (r *recorded) templateOf(t testing.TB, name string, change func(*ec2types.RequestLaunchTemplateData)) string {
	t.Helper()
	data := ec2types.RequestLaunchTemplateData{ImageId: aws.String(r.image), InstanceType: ec2types.InstanceTypeM5Large}
	change(&data)
	made := must[*ec2.CreateLaunchTemplateOutput](t)(r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(name), LaunchTemplateData: &data}))
	return *made.LaunchTemplate.LaunchTemplateId
}

func unchanged(*ec2types.RequestLaunchTemplateData) {}

// groupOf creates a group of one instance.
func (r *recorded) groupOf(ctx context.Context, name, template string) error {
	_, err := r.asg.CreateAutoScalingGroup(ctx, &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name, MinSize: aws.Int32(1), MaxSize: aws.Int32(2), DesiredCapacity: aws.Int32(1), VPCZoneIdentifier: aws.String(recordedSubnet),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &template},
	})
	return err
}

// answer is a recorded error.
type answer struct {
	service, reason, source string
	call                    func(ctx context.Context, r *recorded) error
	// code, status and message are what AWS answered; message is a regular expression that the
	// whole message matches.
	code    string
	status  int
	message string
}

// TestRecordedErrors compares errors with the recorded errors of AWS: code, HTTP status, and
// message.
func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	r := newRecorded(t)
	held, cases := map[string]int{}, map[string]int{}
	for _, row := range append(ec2Errors(t), otherErrors(t)...) {
		cases[row.service]++
		t.Run(row.service+"/"+row.reason, func(t *testing.T) {
			err := row.call(t.Context(), r)
			var status int
			var message string
			var response *awshttp.ResponseError
			if errors.As(err, &response) {
				status = response.HTTPStatusCode()
			}
			var api smithy.APIError
			if errors.As(err, &api) {
				message = api.ErrorMessage()
			}
			if got := code(err); got != row.code || status != row.status || !regexp.MustCompile(`^(?s:`+row.message+`)$`).MatchString(message) {
				t.Fatalf("the answer is %q %d %q, want %q %d %q (%s)", got, status, message, row.code, row.status, row.message, row.source)
			}
			held[row.service]++
		})
	}
	for service, n := range cases {
		oracle.Report(t, oracle.Result{Oracle: "errors that AWS was recorded to answer", Source: "tests and recordings of moto, LocalStack, Terraform and Cloud Custodian", Service: service, Cases: n, Held: held[service]})
	}
}

func ec2Errors(t *testing.T) []answer {
	return []answer{
		{"EC2", "DescribeLaunchTemplateVersions of nothing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{})
			return err
		}, "MissingParameter", 400, "To describe the launch template data for all your launch templates, .*"},
		{"EC2", "DescribeLaunchTemplateVersions of a number alone", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"1"}})
			return err
		}, "InvalidParameterValue", 400, "To describe the launch template data for all your launch templates, .*"},
		{"EC2", "ModifyLaunchTemplate by name and id", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.ec2.ModifyLaunchTemplate(ctx, &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &r.template, LaunchTemplateName: aws.String("nodes"), DefaultVersion: aws.String("1")})
			return err
		}, "InvalidParameterCombination", 400, "Either provide launch template ID or launch template name to modify the template."},
		{"EC2", "ModifyLaunchTemplate to a version that is missing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.ec2.ModifyLaunchTemplate(ctx, &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &r.template, DefaultVersion: aws.String("2")})
			return err
		}, "InvalidLaunchTemplateId.VersionNotFound", 400, "The launch template version 2 is not found for the specified launch template."},
		{"EC2", "a template takes an image id of the wrong length", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.ec2.CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: aws.String(r.templateOf(t, "odd", unchanged)),
				LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: aws.String("ami-def456")}})
			return err
		}, "", 0, ""},
		{"EC2", "DescribeImages of two that are missing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{"ami-abcd1234", "ami-1234abcd"}})
			return err
		}, "InvalidAMIID.NotFound", 400, `The image ids '\[ami-abcd1234, ami-1234abcd\]' do not exist`},
		{"EC2", "DescribeVolumes of one that is missing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{"vol-04c1b309bb8d18d71"}})
			return err
		}, "InvalidVolume.NotFound", 400, "The volume 'vol-04c1b309bb8d18d71' does not exist."},
	}
}

func otherErrors(t *testing.T) []answer {
	group := func(name string, change func(*ec2types.RequestLaunchTemplateData)) func(context.Context, *recorded) error {
		return func(ctx context.Context, r *recorded) error {
			return r.groupOf(ctx, name, r.templateOf(t, name, change))
		}
	}
	missing := aws.String("nope")
	return []answer{
		{"Auto Scaling", "UpdateAutoScalingGroup of one that is missing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.asg.UpdateAutoScalingGroup(ctx, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: missing, MinSize: aws.Int32(1)})
			return err
		}, "ValidationError", 400, "AutoScalingGroup name not found - null"},
		{"Auto Scaling", "DeleteAutoScalingGroup of one that is missing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.asg.DeleteAutoScalingGroup(ctx, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: missing})
			return err
		}, "ValidationError", 400, "AutoScalingGroup name not found - AutoScalingGroup 'nope' not found"},
		{"Auto Scaling", "TerminateInstanceInAutoScalingGroup below the minimum", moto, func(ctx context.Context, r *recorded) error {
			described, err := r.asg.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{r.group}})
			if err != nil {
				return err
			}
			_, err = r.asg.TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
				InstanceId: described.AutoScalingGroups[0].Instances[0].InstanceId, ShouldDecrementDesiredCapacity: aws.Bool(true)})
			return err
		}, "ValidationError", 400, `Currently, desiredSize equals minSize \(1\). Terminating instance without replacement will violate group's min size constraint. ` +
			`Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.`},
		{"Auto Scaling", "a security group by name, in a subnet", terraform, group("by-name", func(data *ec2types.RequestLaunchTemplateData) { data.SecurityGroups = []string{"default"} }),
			"ValidationError", 400, "You must use a valid fully-formed launch template. The parameter groupName cannot be used with the parameter subnet"},
		{"Auto Scaling", "a network interface beside security groups", terraform, group("interface", func(data *ec2types.RequestLaunchTemplateData) {
			data.SecurityGroupIds = []string{"sg-0c1000000000000aa"}
			data.NetworkInterfaces = []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0)}}
		}),
			"InvalidQueryParameter", 400, "Invalid launch template: When a network interface is provided, the security groups must be a part of it."},
		{"Auto Scaling", "a strategy that is unknown", terraform, func(ctx context.Context, r *recorded) error {
			_, err := r.asg.CreateAutoScalingGroup(ctx, &autoscaling.CreateAutoScalingGroupInput{AutoScalingGroupName: aws.String("mixed"), MinSize: aws.Int32(0), MaxSize: aws.Int32(1), VPCZoneIdentifier: aws.String(recordedSubnet),
				MixedInstancesPolicy: &asgtypes.MixedInstancesPolicy{InstancesDistribution: &asgtypes.InstancesDistribution{SpotAllocationStrategy: aws.String("cheap")},
					LaunchTemplate: &asgtypes.LaunchTemplate{LaunchTemplateSpecification: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &r.template}}}})
			return err
		}, "ValidationError", 400, `SpotAllocationStrategy is not valid. Valid options are: \[lowest-price, capacity-optimized, capacity-optimized-prioritized, price-capacity-optimized\].?`},
		{"Auto Scaling", "an encrypted flag on a device that has a snapshot", terraform, group("encrypted", func(data *ec2types.RequestLaunchTemplateData) {
			data.BlockDeviceMappings = []ec2types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: aws.String("/dev/xvda"), Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{Encrypted: aws.Bool(false)}}}
		}),
			"ValidationError", 400, "You must use a valid fully-formed launch template. the encrypted flag cannot be specified since device /dev/xvda has a snapshot specified."},
		{"Auto Scaling", "DescribePolicies of a group that is missing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.asg.DescribePolicies(ctx, &autoscaling.DescribePoliciesInput{AutoScalingGroupName: missing})
			return err
		}, "ValidationError", 400, "Group nope not found"},
		{"EKS", "Amazon Linux 2 on 1.33", terraform, nodegroup(func(in *eks.CreateNodegroupInput) { in.AmiType = ekstypes.AMITypesAl2X8664 }),
			"InvalidParameterException", 400, "AMI Type AL2_x86_64 is only supported for kubernetes versions 1.32 or earlier"},
		{"EKS", "remote access without a key", terraform, nodegroup(func(in *eks.CreateNodegroupInput) {
			in.RemoteAccess = &ekstypes.RemoteAccessConfig{SourceSecurityGroups: []string{"sg-0c1000000000000ab"}}
		}), "InvalidParameterException", 400, "ec2SshKey in remote-access can't be empty"},
		{"IAM", "CreateRole with a policy that is no JSON", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("bad"), AssumeRolePolicyDocument: aws.String("{")})
			return err
		}, "MalformedPolicyDocument", 400, "This policy contains invalid Json"},
		{"IAM", "AttachRolePolicy with what is no ARN", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("nodes.cluster-api-provider-aws.sigs.k8s.io"), PolicyArn: aws.String("longpolicynamebutnoarn")})
			return err
		}, "ValidationError", 400, "Invalid ARN:  Could not be parsed!"},
		{"IAM", "RemoveRoleFromInstanceProfile of a role that is missing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{RoleName: aws.String("test"), InstanceProfileName: aws.String("nodes.cluster-api-provider-aws.sigs.k8s.io")})
			return err
		}, "NoSuchEntity", 404, "The role with name test cannot be found."},
		{"Systems Manager", "DeleteParameter of one that is missing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.ssm.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: missing})
			return err
		}, "ParameterNotFound", 400, ""},
		{"Systems Manager", "two slashes in a name", localStack, func(ctx context.Context, r *recorded) error {
			_, err := r.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/a//b")})
			return err
		}, "ValidationException", 400, ".*sub-paths divided by slash symbol.*"},
		{"SQS", "GetQueueUrl of one that is missing", moto, func(ctx context.Context, r *recorded) error {
			_, err := r.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: missing})
			return err
		}, "AWS.SimpleQueueService.NonExistentQueue", 400, "The specified queue does not exist."},
	}
}

// nodegroup returns a call that creates a node group, changed in one way.
func nodegroup(change func(*eks.CreateNodegroupInput)) func(context.Context, *recorded) error {
	return func(ctx context.Context, r *recorded) error {
		in := &eks.CreateNodegroupInput{ClusterName: aws.String("demo"), NodegroupName: aws.String("nodes"), NodeRole: aws.String(recordedRole), Subnets: []string{recordedSubnet}}
		change(in)
		_, err := r.eks.CreateNodegroup(ctx, in)
		return err
	}
}
