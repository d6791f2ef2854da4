package aws

import (
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
)

const subnet = "subnet-0b2000000000000aa"

// simulated is an account with one template and one group of one instance.
func simulated(t *testing.T) (*Clients, *awssim.Simulator) {
	t.Helper()
	clients, sim, clock := withTemplate(t, awssim.Behavior{})
	if _, err := clients.AutoScaling.CreateAutoScalingGroup(t.Context(), group("pool", "pool", "1")); err != nil {
		t.Fatal(err)
	}
	clock.Step(time.Minute) // the group launches its instance
	return clients, sim
}

// withTemplate is an account with one template, of an AWS with the given behavior whose clock stands.
func withTemplate(t *testing.T, behavior awssim.Behavior) (*Clients, *awssim.Simulator, *simclock.Clock) {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), awssim.Options{Behavior: behavior})
	clients, err := NewSessions(awssimtest.Config(url, "us-east-1", "123456789012"), WithClock(clock), WithBackoff(time.Millisecond)).For(t.Context(), Principal{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients.EC2.CreateLaunchTemplate(t.Context(), template("pool")); err != nil {
		t.Fatal(err)
	}
	return clients, sim, clock
}

func template(name string) *ec2.CreateLaunchTemplateInput {
	return &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String(name), ClientToken: awssdk.String("token-" + name),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeM5Large, ImageId: awssdk.String("resolve:ssm:/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id")},
	}
}

func group(name, template, version string) *autoscaling.CreateAutoScalingGroupInput {
	return &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: awssdk.String(name), MinSize: awssdk.Int32(1), MaxSize: awssdk.Int32(2), VPCZoneIdentifier: awssdk.String(subnet),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateName: awssdk.String(template), Version: awssdk.String(version)},
	}
}

// TestClassesOfAnswers holds that answers of the services are recognized through the wire and the
// middleware.
func TestClassesOfAnswers(t *testing.T) {
	t.Parallel()
	clients, _ := simulated(t)
	if _, err := clients.AutoScaling.StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: awssdk.String("pool")}); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		call func() error
		is   func(error) bool
		fate FateKind
	}{
		{"template by name", func() error {
			_, err := clients.EC2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"typo"}})
			return err
		}, IsLaunchTemplateNotFound, RetrySoon},
		{"template by id", func() error {
			_, err := clients.EC2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: awssdk.String("lt-0123456789abcdef0")})
			return err
		}, IsLaunchTemplateNotFound, RetrySoon},
		{"version", func() error {
			_, err := clients.EC2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: awssdk.String("pool"), Versions: []string{"7"}})
			return err
		}, IsLaunchTemplateNotFound, RetrySoon},
		{"template's name taken", func() error {
			again := template("pool")
			again.ClientToken = awssdk.String("another")
			_, err := clients.EC2.CreateLaunchTemplate(t.Context(), again)
			return err
		}, IsAlreadyExists, RetrySoon},
		{"token reused", func() error {
			other := template("other")
			other.ClientToken = awssdk.String("token-pool")
			_, err := clients.EC2.CreateLaunchTemplate(t.Context(), other)
			return err
		}, IsIdempotentParameterMismatch, WaitForUser},
		{"never sent", func() error {
			_, err := clients.EC2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{})
			return err
		}, func(err error) bool { return err != nil && Code(err) == "" && !IsUncertain(err) }, WaitForUser},
		{"group's template", func() error {
			_, err := clients.AutoScaling.CreateAutoScalingGroup(t.Context(), group("two", "typo", "1"))
			return err
		}, IsLaunchTemplateNotFound, RetrySoon},
		{"group's version", func() error {
			_, err := clients.AutoScaling.CreateAutoScalingGroup(t.Context(), group("two", "pool", "7"))
			return err
		}, IsLaunchTemplateNotFound, RetrySoon},
		{"group's name taken", func() error {
			_, err := clients.AutoScaling.CreateAutoScalingGroup(t.Context(), group("pool", "pool", "1"))
			return err
		}, IsAlreadyExists, RetrySoon},
		{"group", func() error {
			_, err := clients.AutoScaling.UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: awssdk.String("typo"), MinSize: awssdk.Int32(1)})
			return err
		}, IsNotFound, RetrySoon},
		{"group's sizes", func() error {
			_, err := clients.AutoScaling.UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: awssdk.String("pool"), MinSize: awssdk.Int32(9)})
			return err
		}, func(err error) bool { return Code(err) == "ValidationError" && !IsNotFound(err) && !IsConflict(err) }, WaitForUser},
		{"group in use", func() error {
			_, err := clients.AutoScaling.DeleteAutoScalingGroup(t.Context(), &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: awssdk.String("pool")})
			return err
		}, func(err error) bool { return IsInUse(err) || IsConflict(err) }, WaitForAWS},
		{"refresh under way", func() error {
			_, err := clients.AutoScaling.StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: awssdk.String("pool")})
			return err
		}, IsConflict, WaitForAWS},
		{"refresh of a group that does not exist", func() error {
			_, err := clients.AutoScaling.StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: awssdk.String("typo")})
			return err
		}, IsNotFound, RetrySoon},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.call()
			if !tc.is(err) {
				t.Errorf("not recognized: %v", err)
			}
			if fate := FateOf(err); fate.Kind != tc.fate {
				t.Errorf("fate %v of %v", fate, err)
			}
		})
	}
}

// TestLostAnswerIsRepeatedSafely holds that a call whose answer was lost takes effect once: the SDK
// repeats it with the same client token.
func TestLostAnswerIsRepeatedSafely(t *testing.T) {
	t.Parallel()
	clients, sim := simulated(t)
	if _, err := sim.AddFault(awssim.Fault{Service: "ec2", Action: "CreateLaunchTemplateVersion", Nth: 1, Place: awssim.AfterEffect, Drop: true}); err != nil {
		t.Fatal(err)
	}
	created, err := clients.EC2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateName: awssdk.String("pool"), LaunchTemplateData: template("pool").LaunchTemplateData, ClientToken: awssdk.String("v2"),
	})
	if err != nil || awssdk.ToInt64(created.LaunchTemplateVersion.VersionNumber) != 2 {
		t.Fatalf("got %+v, %v", created, err)
	}
	versions, err := clients.EC2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: awssdk.String("pool")})
	if err != nil || len(versions.LaunchTemplateVersions) != 2 {
		t.Errorf("%d versions, %v", len(versions.LaunchTemplateVersions), err)
	}
}
