package eks_test

import (
	"context"
	"encoding/base64"
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
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
)

// Places and roles of the default world, and the cluster that every test has.
const (
	account = "123456789012"
	region  = "us-east-1"
	subnetA = "subnet-0b2000000000000aa"
	subnetB = "subnet-0b2000000000000ab"
	subnetC = "subnet-0b2000000000000ac"
	role    = "arn:aws:iam::123456789012:role/eks-nodegroup.cluster-api-provider-aws.sigs.k8s.io"

	clusterName = "demo"
)

// Times of instances in these tests: a node is Ready 40 s after its launch.
const (
	pending      = 10 * time.Second
	boot         = 30 * time.Second
	shuttingDown = 20 * time.Second
)

var beginning = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

// fixture is a simulated AWS behind its wire protocol, with a clock that stands still until it is
// stepped, and the SDK's clients for it.
type fixture struct {
	t     *testing.T
	sim   *awssim.Simulator
	eks   *eks.Client
	asg   *autoscaling.Client
	ec2   *ec2.Client
	iam   *iam.Client
	image string // of the user's own
	named int
}

func start(t *testing.T, change ...func(*awssim.Options)) *fixture {
	t.Helper()
	clock := simclock.New(beginning, 0)
	t.Cleanup(clock.Close)
	options := awssim.Options{Clock: clock, Behavior: awssim.Behavior{
		InstanceTimes: awssim.InstanceTimes{Pending: pending, Boot: boot, ShuttingDown: shuttingDown},
	}}
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
		Region: region, BaseEndpoint: aws.String(url), Credentials: credentials.NewStaticCredentialsProvider("AKIA"+account, "secret", ""),
		Retryer: retryConnections,
	}
	f := &fixture{
		t: t, sim: sim, eks: eks.NewFromConfig(config), asg: autoscaling.NewFromConfig(config), ec2: ec2.NewFromConfig(config), iam: iam.NewFromConfig(config),
	}
	f.setCluster("1.35")
	found := call(f, f.ec2.DescribeImages, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: aws.String("architecture"), Values: []string{"x86_64"}}, {Name: aws.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.35*"}},
	}})
	f.image = *found.Images[0].ImageId
	return f
}

// retryConnections retries only broken connections. The SDK closes the body of a request as soon as
// it has the head of the answer; an answer that comes before net/http has seen the end of that body
// breaks the connection, and the simulator is that fast.
func retryConnections() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableConnectionError{}}
		o.RateLimiter, o.MaxBackoff, o.MaxAttempts = ratelimit.None, time.Millisecond, 10
	})
}

func (f *fixture) setCluster(version string) {
	f.t.Helper()
	cluster := awssim.Cluster{Name: clusterName, Version: version, Subnets: []string{subnetA, subnetB, subnetC}}
	if err := f.sim.Region(account, region).SetCluster(cluster); err != nil {
		f.t.Fatal(err)
	}
}

// call sends an SDK call that must succeed.
func call[I, O, P any](f *fixture, do func(context.Context, *I, ...func(*P)) (*O, error), in *I) *O {
	f.t.Helper()
	out, err := do(f.t.Context(), in)
	if err != nil {
		f.t.Fatalf("%T: %v", in, err)
	}
	return out
}

// errorOf returns code and message of the error of an SDK call.
func errorOf(err error) (code, message string) {
	var api smithy.APIError
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &api):
		return api.ErrorCode(), api.ErrorMessage()
	default:
		return "?", err.Error()
	}
}

// fails sends an SDK call that must fail with the code, and with a message that has the words.
func fails[I, O, P any](f *fixture, do func(context.Context, *I, ...func(*P)) (*O, error), in *I, code, words string) {
	f.t.Helper()
	_, err := do(f.t.Context(), in)
	if got, message := errorOf(err); got != code || !strings.Contains(message, words) {
		f.t.Errorf("%T: got %s: %s, want %s with %q", in, got, message, code, words)
	}
}

func (f *fixture) step(d time.Duration) { f.sim.Clock().Step(d) }

// until steps second by second until the condition holds, at most for the given time, and returns
// how long it took.
func (f *fixture) until(limit time.Duration, what string, condition func() bool) time.Duration {
	f.t.Helper()
	waited := time.Duration(0)
	for ; !condition(); waited += time.Second {
		if waited > limit {
			f.t.Fatalf("%s: not within %s\n%s", what, limit, strings.Join(f.summary(), "\n"))
		}
		f.step(time.Second)
	}
	return waited
}

func (f *fixture) summary() []string {
	var lines []string
	for _, name := range call(f, f.eks.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: aws.String(clusterName)}).Nodegroups {
		g := f.group(name)
		lines = append(lines, fmt.Sprintf("%s %s", name, g.Status))
		for _, i := range g.Health.Issues {
			lines = append(lines, fmt.Sprintf("  %s: %s %v", i.Code, *i.Message, i.ResourceIds))
		}
	}
	for _, g := range call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{}).AutoScalingGroups {
		lines = append(lines, fmt.Sprintf("%s min %d desired %d max %d", *g.AutoScalingGroupName, *g.MinSize, *g.DesiredCapacity, *g.MaxSize))
		for _, i := range g.Instances {
			lines = append(lines, fmt.Sprintf("  %s %s %s v%s", *i.InstanceId, i.LifecycleState, *i.AvailabilityZone, *i.LaunchTemplate.Version))
		}
	}
	return lines
}

// template creates a launch template and returns its ID. Without a change it names no image and no
// type.
func (f *fixture) template(change ...func(*ec2types.RequestLaunchTemplateData)) string {
	f.t.Helper()
	f.named++
	out := call(f, f.ec2.CreateLaunchTemplate, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(fmt.Sprintf("template-%d", f.named)), LaunchTemplateData: templateData(change...),
	})
	return *out.LaunchTemplate.LaunchTemplateId
}

// version adds a version to a launch template and returns its number.
func (f *fixture) version(template string, change ...func(*ec2types.RequestLaunchTemplateData)) string {
	f.t.Helper()
	out := call(f, f.ec2.CreateLaunchTemplateVersion, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: aws.String(template), LaunchTemplateData: templateData(change...),
	})
	return fmt.Sprint(*out.LaunchTemplateVersion.VersionNumber)
}

func templateData(change ...func(*ec2types.RequestLaunchTemplateData)) *ec2types.RequestLaunchTemplateData {
	data := &ec2types.RequestLaunchTemplateData{EbsOptimized: aws.Bool(true)}
	for _, c := range change {
		c(data)
	}
	return data
}

func withImage(id string) func(*ec2types.RequestLaunchTemplateData) {
	return func(d *ec2types.RequestLaunchTemplateData) { d.ImageId = aws.String(id) }
}

func withType(name ec2types.InstanceType) func(*ec2types.RequestLaunchTemplateData) {
	return func(d *ec2types.RequestLaunchTemplateData) { d.InstanceType = name }
}

func spec(template, version string) *types.LaunchTemplateSpecification {
	return &types.LaunchTemplateSpecification{Id: aws.String(template), Version: aws.String(version)}
}

// newGroup is a group named nodes of the given size in three zones.
func newGroup(size int32, change ...func(*eks.CreateNodegroupInput)) *eks.CreateNodegroupInput {
	in := &eks.CreateNodegroupInput{
		ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes"), NodeRole: aws.String(role), Subnets: []string{subnetA, subnetB, subnetC},
		ScalingConfig: &types.NodegroupScalingConfig{MinSize: aws.Int32(0), MaxSize: aws.Int32(10), DesiredSize: aws.Int32(size)},
	}
	for _, c := range change {
		c(in)
	}
	return in
}

func onTemplate(template, version string) func(*eks.CreateNodegroupInput) {
	return func(in *eks.CreateNodegroupInput) { in.LaunchTemplate = spec(template, version) }
}

// active creates a group and waits until it is ACTIVE.
func (f *fixture) active(in *eks.CreateNodegroupInput) *types.Nodegroup {
	f.t.Helper()
	call(f, f.eks.CreateNodegroup, in)
	f.awaitStatus(types.NodegroupStatusActive)
	return f.group("nodes")
}

func (f *fixture) group(name string) *types.Nodegroup {
	f.t.Helper()
	return call(f, f.eks.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String(name)}).Nodegroup
}

// awaitStatus waits until the group named nodes has a status and returns how long it took.
func (f *fixture) awaitStatus(status types.NodegroupStatus) time.Duration {
	f.t.Helper()
	return f.until(2*time.Hour, "node group "+string(status), func() bool { return f.group("nodes").Status == status })
}

// autoScalingGroup returns the group that EKS created.
func (f *fixture) autoScalingGroup() asgtypes.AutoScalingGroup {
	f.t.Helper()
	name := *f.group("nodes").Resources.AutoScalingGroups[0].Name
	out := call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if len(out.AutoScalingGroups) != 1 {
		f.t.Fatalf("found %d groups named %s", len(out.AutoScalingGroups), name)
	}
	return out.AutoScalingGroups[0]
}

// issues returns the health codes of the group named nodes.
func (f *fixture) issues() []types.NodegroupIssueCode {
	f.t.Helper()
	var codes []types.NodegroupIssueCode
	for _, i := range f.group("nodes").Health.Issues {
		codes = append(codes, i.Code)
	}
	slices.Sort(codes)
	return codes
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
