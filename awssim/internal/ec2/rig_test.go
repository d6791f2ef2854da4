package ec2_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	slipwayaws "github.com/slipway-project/slipway/internal/aws"
)

// rig is a simulated AWS with a client of the real SDK and a clock that stands still.
type rig struct {
	*testing.T
	sim   *awssim.Simulator
	clock *simclock.Clock
	ec2   *ec2.Client
}

const region = "us-east-1"

var start = time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)

func newRig(t *testing.T, configure ...func(*awssim.Options)) *rig {
	t.Helper()
	clock := simclock.New(start, 0)
	t.Cleanup(clock.Close)
	options := awssim.Options{Clock: clock}
	for _, c := range configure {
		c(&options)
	}
	simulator := awssim.New(options)
	url, err := simulator.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatalf("starting the simulated AWS: %v", err)
	}
	t.Cleanup(func() {
		if err := simulator.Close(); err != nil {
			t.Errorf("closing the simulated AWS: %v", err)
		}
	})
	client := ec2.New(ec2.Options{
		Region: region, BaseEndpoint: aws.String(url), Retryer: aws.NopRetryer{},
		APIOptions:  []func(*middleware.Stack) error{slipwayaws.SendBodies},
		Credentials: credentials.NewStaticCredentialsProvider("AKIATEST123456789012", "secret", ""),
	})
	return &rig{T: t, sim: simulator, clock: clock, ec2: client}
}

func withBehavior(b awssim.Behavior) func(*awssim.Options) {
	return func(o *awssim.Options) { o.Behavior = b }
}

// code is the error code of AWS's answer, "" if there is no error.
func code(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var apiError smithy.APIError
	if !errors.As(err, &apiError) {
		t.Fatalf("not an answer of AWS: %v", err)
	}
	return apiError.ErrorCode()
}

// wantError checks code and part of the message of AWS's answer.
func wantError(t testing.TB, err error, wantCode, message string) {
	t.Helper()
	if got := code(t, err); got != wantCode {
		t.Fatalf("error code is %q, want %q (%v)", got, wantCode, err)
	}
	if err != nil && !strings.Contains(err.Error(), message) {
		t.Errorf("the message %q does not say %q", err, message)
	}
}

func status(t testing.TB, err error) int {
	t.Helper()
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) {
		t.Fatalf("not an HTTP answer: %v", err)
	}
	return response.HTTPStatusCode()
}

// image is the newest image of the default world for an architecture.
func (r *rig) image(architecture types.ArchitectureValues) types.Image {
	r.Helper()
	out, err := r.ec2.DescribeImages(r.Context(), &ec2.DescribeImagesInput{Filters: []types.Filter{
		filter("name", "capa-ami-ubuntu-24.04-v1.36.3-*"), filter("architecture", string(architecture)),
	}})
	if err != nil || len(out.Images) != 1 {
		r.Fatalf("finding the image for %s: %v, %v", architecture, out, err)
	}
	return out.Images[0]
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

func tag(key, value string) types.Tag {
	return types.Tag{Key: aws.String(key), Value: aws.String(value)}
}

// subnet is a private subnet of the default world.
func (r *rig) subnet(zone string) types.Subnet {
	r.Helper()
	out, err := r.ec2.DescribeSubnets(r.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("tag:Name", "private-"+zone)}})
	if err != nil || len(out.Subnets) != 1 {
		r.Fatalf("finding the private subnet of %s: %v", zone, err)
	}
	return out.Subnets[0]
}

func (r *rig) group(name string) string {
	r.Helper()
	out, err := r.ec2.DescribeSecurityGroups(r.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("group-name", name)}})
	if err != nil || len(out.SecurityGroups) != 1 {
		r.Fatalf("finding the security group %s: %v", name, err)
	}
	return *out.SecurityGroups[0].GroupId
}

// template creates a launch template and returns its id.
func (r *rig) template(name string, data *types.RequestLaunchTemplateData) string {
	r.Helper()
	out, err := r.ec2.CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(name), LaunchTemplateData: data})
	if err != nil {
		r.Fatalf("creating launch template %q: %v", name, err)
	}
	return *out.LaunchTemplate.LaunchTemplateId
}

// version creates a launch template version and returns its number.
func (r *rig) version(id string, data *types.RequestLaunchTemplateData) int64 {
	r.Helper()
	out, err := r.ec2.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: aws.String(id), LaunchTemplateData: data})
	if err != nil {
		r.Fatalf("creating a version of %s: %v", id, err)
	}
	return *out.LaunchTemplateVersion.VersionNumber
}

func typed(instanceType types.InstanceType) *types.RequestLaunchTemplateData {
	return &types.RequestLaunchTemplateData{InstanceType: instanceType}
}

// run launches one instance with an image of amd64 in a private subnet of the first zone, changed as wanted.
func (r *rig) run(change func(*ec2.RunInstancesInput)) (*ec2.RunInstancesOutput, error) {
	r.Helper()
	in := &ec2.RunInstancesInput{
		ImageId: r.image(types.ArchitectureValuesX8664).ImageId, InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		SubnetId: r.subnet("us-east-1a").SubnetId,
	}
	if change != nil {
		change(in)
	}
	return r.ec2.RunInstances(r.Context(), in)
}

func (r *rig) instance(id string) types.Instance {
	r.Helper()
	out, err := r.ec2.DescribeInstances(r.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		r.Fatalf("describing instance %s: %v", id, err)
	}
	return out.Reservations[0].Instances[0]
}
