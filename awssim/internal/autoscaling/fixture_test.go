package autoscaling_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
)

// Places of the default world.
const (
	subnetA = "subnet-0b2000000000000aa"
	subnetB = "subnet-0b2000000000000ab"
	subnetC = "subnet-0b2000000000000ac"
	subnets = subnetA + "," + subnetB + "," + subnetC
)

// Times of instances in these tests.
const (
	pending      = 10 * time.Second
	shuttingDown = 20 * time.Second
)

var beginning = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

// fixture is a simulated AWS behind its wire protocol, with a clock that stands still until it is
// stepped, and the SDK's clients for it.
type fixture struct {
	t     *testing.T
	sim   *awssim.Simulator
	asg   *autoscaling.Client
	ec2   *ec2.Client
	image string
	arm   string
}

func start(t *testing.T, change ...func(*awssim.Options)) *fixture {
	t.Helper()
	clock := simclock.New(beginning, 0)
	t.Cleanup(clock.Close)
	options := awssim.Options{Clock: clock, Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: pending, ShuttingDown: shuttingDown}}}
	for _, c := range change {
		c(&options)
	}
	sim := awssim.New(options)
	url, err := sim.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(url), Credentials: credentials.NewStaticCredentialsProvider("AKIA123456789012", "secret", ""),
		Retryer: retryConnections,
	}
	f := &fixture{t: t, sim: sim, asg: autoscaling.NewFromConfig(config), ec2: ec2.NewFromConfig(config)}
	f.image, f.arm = f.findImage("x86_64"), f.findImage("arm64")
	return f
}

// retryConnections retries nothing but broken connections. The SDK closes the body of a request as
// soon as it has the head of the answer; an answer that comes before net/http has read that body to
// EOF breaks the connection, and the simulator is that fast.
func retryConnections() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableConnectionError{}}
		o.RateLimiter, o.MaxBackoff, o.MaxAttempts = ratelimit.None, time.Millisecond, 10
	})
}

func (f *fixture) findImage(architecture string) string {
	f.t.Helper()
	out, err := f.ec2.DescribeImages(f.t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: aws.String("architecture"), Values: []string{architecture}}, {Name: aws.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.30*"}},
	}})
	if err != nil || len(out.Images) == 0 {
		f.t.Fatalf("finding an image: %v, %d found", err, len(out.Images))
	}
	return *out.Images[0].ImageId
}

// call makes an SDK call that must succeed.
func call[I, O, P any](f *fixture, do func(context.Context, *I, ...func(*P)) (*O, error), in *I) *O {
	f.t.Helper()
	out, err := do(f.t.Context(), in)
	if err != nil {
		f.t.Fatalf("%T: %v", in, err)
	}
	return out
}

// fails makes an SDK call that must fail with the code, and with a message that has the words.
func fails[I, O, P any](f *fixture, do func(context.Context, *I, ...func(*P)) (*O, error), in *I, code, words string) {
	f.t.Helper()
	_, err := do(f.t.Context(), in)
	var apiErr smithy.APIError
	if !errors.As(err, &apiErr) {
		f.t.Fatalf("%T: got %v, want the error %s", in, err, code)
	}
	if apiErr.ErrorCode() != code || !strings.Contains(apiErr.ErrorMessage(), words) {
		f.t.Fatalf("%T: got %s: %s, want %s with %q", in, apiErr.ErrorCode(), apiErr.ErrorMessage(), code, words)
	}
}

func (f *fixture) step(d time.Duration) { f.sim.Clock().Step(d) }

// until steps second by second until the condition holds, at most for the given time.
func (f *fixture) until(limit time.Duration, what string, condition func() bool) {
	f.t.Helper()
	for waited := time.Duration(0); !condition(); waited += time.Second {
		if waited > limit {
			f.t.Fatalf("%s: not within %s; group %+v", what, limit, f.summary())
		}
		f.step(time.Second)
	}
}

func (f *fixture) summary() []string {
	var lines []string
	for _, g := range call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{}).AutoScalingGroups {
		lines = append(lines, fmt.Sprintf("%s desired %d status %q", *g.AutoScalingGroupName, *g.DesiredCapacity, aws.ToString(g.Status)))
		for _, i := range g.Instances {
			version := "-"
			if i.LaunchTemplate != nil {
				version = *i.LaunchTemplate.Version
			}
			lines = append(lines, fmt.Sprintf("  %s %s %s %s v%s protected %t", *i.InstanceId, i.LifecycleState, *i.HealthStatus, *i.AvailabilityZone,
				version, *i.ProtectedFromScaleIn))
		}
		for _, r := range call(f, f.asg.DescribeInstanceRefreshes, &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: g.AutoScalingGroupName}).InstanceRefreshes {
			lines = append(lines, fmt.Sprintf("  refresh %s %d%% %d left: %s", r.Status, *r.PercentageComplete, *r.InstancesToUpdate, aws.ToString(r.StatusReason)))
		}
	}
	return lines
}

// template makes a launch template for t3.large and returns its id.
func (f *fixture) template(change ...func(*ec2types.RequestLaunchTemplateData)) string {
	f.t.Helper()
	data := ec2types.RequestLaunchTemplateData{ImageId: aws.String(f.image), InstanceType: ec2types.InstanceTypeT3Large}
	for _, c := range change {
		c(&data)
	}
	out := call(f, f.ec2.CreateLaunchTemplate, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(fmt.Sprintf("template-%d", len(f.sim.Calls()))), LaunchTemplateData: &data,
	})
	return *out.LaunchTemplate.LaunchTemplateId
}

// version adds a version with another instance type to a launch template and returns its number.
func (f *fixture) version(template string, instanceType ec2types.InstanceType) string {
	f.t.Helper()
	out := call(f, f.ec2.CreateLaunchTemplateVersion, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId:   aws.String(template),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: aws.String(f.image), InstanceType: instanceType},
	})
	return fmt.Sprint(*out.LaunchTemplateVersion.VersionNumber)
}

func spec(template, version string) *types.LaunchTemplateSpecification {
	return &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String(template), Version: aws.String(version)}
}

// newGroup is a group named nodes of the given size on version 1 of a template.
func newGroup(template string, size int32, change ...func(*autoscaling.CreateAutoScalingGroupInput)) *autoscaling.CreateAutoScalingGroupInput {
	in := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), MinSize: aws.Int32(0), MaxSize: aws.Int32(20), DesiredCapacity: aws.Int32(size),
		VPCZoneIdentifier: aws.String(subnets), LaunchTemplate: spec(template, "1"),
	}
	for _, c := range change {
		c(in)
	}
	return in
}

// running makes a group and waits until all of its instances are in service.
func (f *fixture) running(in *autoscaling.CreateAutoScalingGroupInput) types.AutoScalingGroup {
	f.t.Helper()
	call(f, f.asg.CreateAutoScalingGroup, in)
	f.settled(int(*in.DesiredCapacity))
	return f.group()
}

// settled waits until the group has that many instances and all are in service.
func (f *fixture) settled(n int) {
	f.t.Helper()
	f.until(10*time.Minute, fmt.Sprintf("%d instances in service", n), func() bool {
		g := f.group()
		return len(g.Instances) == n && len(f.in(types.LifecycleStateInService)) == n
	})
}

// group returns the group named nodes.
func (f *fixture) group() types.AutoScalingGroup {
	f.t.Helper()
	out := call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"nodes"}})
	if len(out.AutoScalingGroups) != 1 {
		f.t.Fatalf("found %d groups named nodes", len(out.AutoScalingGroups))
	}
	return out.AutoScalingGroups[0]
}

// in returns the ids of the group's instances in a lifecycle state.
func (f *fixture) in(state types.LifecycleState) []string {
	f.t.Helper()
	var ids []string
	for _, i := range f.group().Instances {
		if i.LifecycleState == state {
			ids = append(ids, *i.InstanceId)
		}
	}
	return ids
}

// versions returns the launch template versions of the group's instances, sorted.
func (f *fixture) versions() []string {
	f.t.Helper()
	var versions []string
	for _, i := range f.group().Instances {
		versions = append(versions, *i.LaunchTemplate.Version)
	}
	slices.Sort(versions)
	return versions
}

func ids(g types.AutoScalingGroup) []string {
	var all []string
	for _, i := range g.Instances {
		all = append(all, *i.InstanceId)
	}
	return all
}

func (f *fixture) activities() []types.Activity {
	f.t.Helper()
	return call(f, f.asg.DescribeScalingActivities, &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("nodes")}).Activities
}

// state returns the EC2 state of an instance.
func (f *fixture) state(id string) ec2types.InstanceStateName {
	f.t.Helper()
	out := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	return out.Reservations[0].Instances[0].State.Name
}
