package autoscaling_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

func TestTerminateInstanceInGroup(t *testing.T) {
	t.Parallel()
	f := start(t)
	all := ids(f.running(newGroup(f.template(), 3, func(in *autoscaling.CreateAutoScalingGroupInput) { in.MinSize = aws.Int32(2) })))
	out := call(f, f.asg.TerminateInstanceInAutoScalingGroup, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: aws.String(all[0]), ShouldDecrementDesiredCapacity: aws.Bool(true),
	})
	if !strings.Contains(*out.Activity.Cause, "in response to a user request, shrinking the capacity from 3 to 2.") {
		t.Errorf("cause %q", *out.Activity.Cause)
	}
	f.until(time.Minute, "two left", func() bool { return len(f.group().Instances) == 2 })
	fails(f, f.asg.TerminateInstanceInAutoScalingGroup, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: aws.String(all[1]), ShouldDecrementDesiredCapacity: aws.Bool(true),
	}, "ValidationError", "min size")
	call(f, f.asg.TerminateInstanceInAutoScalingGroup, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[1:], ShouldDecrementDesiredCapacity: aws.Bool(false),
	})
	f.step(2 * time.Minute)
	f.settled(2)
	for _, id := range ids(f.group()) {
		if slices.Contains(all, id) {
			t.Errorf("%s was not replaced", id)
		}
	}
	fails(f, f.asg.TerminateInstanceInAutoScalingGroup, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: aws.String(all[0]), ShouldDecrementDesiredCapacity: aws.Bool(true),
	}, "ValidationError", "No managed instance found")
}

func TestStandby(t *testing.T) {
	t.Parallel()
	f := start(t)
	all := ids(f.running(newGroup(f.template(), 2)))
	call(f, f.asg.EnterStandby, &autoscaling.EnterStandbyInput{AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[:1], ShouldDecrementDesiredCapacity: aws.Bool(true)})
	if diff := cmp.Diff(all[:1], f.in(types.LifecycleStateEnteringStandby)); diff != "" {
		t.Errorf("EnteringStandby (-want +got):\n%s", diff)
	}
	f.step(5 * time.Minute)
	if g := f.group(); *g.DesiredCapacity != 1 || len(g.Instances) != 2 || !slices.Equal(all[:1], f.in(types.LifecycleStateStandby)) {
		t.Fatalf("in standby: %v", f.summary())
	}
	fails(f, f.asg.EnterStandby, &autoscaling.EnterStandbyInput{AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[:1], ShouldDecrementDesiredCapacity: aws.Bool(true)},
		"ValidationError", "is not in InService")
	call(f, f.asg.ExitStandby, &autoscaling.ExitStandbyInput{AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[:1]})
	if diff := cmp.Diff(all[:1], f.in(types.LifecycleStatePendingProceed)); diff != "" {
		t.Errorf("Pending:Proceed (-want +got):\n%s", diff)
	}
	f.settled(2)
	if got := *f.group().DesiredCapacity; got != 2 {
		t.Errorf("desired capacity %d", got)
	}
}

func TestAttachAndDetach(t *testing.T) {
	t.Parallel()
	f := start(t)
	all := ids(f.running(newGroup(f.template(), 2)))
	call(f, f.asg.DetachInstances, &autoscaling.DetachInstancesInput{AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[:1], ShouldDecrementDesiredCapacity: aws.Bool(true)})
	f.step(5 * time.Second)
	if diff := cmp.Diff(all[1:], ids(f.group())); diff != "" {
		t.Errorf("after detaching (-want +got):\n%s", diff)
	}
	if got := f.state(all[0]); got != ec2types.InstanceStateNameRunning {
		t.Errorf("the detached instance is %s", got)
	}
	call(f, f.asg.AttachInstances, &autoscaling.AttachInstancesInput{AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[:1]})
	fails(f, f.asg.AttachInstances, &autoscaling.AttachInstancesInput{AutoScalingGroupName: aws.String("nodes"), InstanceIds: all[:1]},
		"ValidationError", "already part of AutoScalingGroup:nodes")
	f.settled(2)
	if got := *f.group().DesiredCapacity; got != 2 {
		t.Errorf("desired capacity %d", got)
	}
	fails(f, f.asg.AttachInstances, &autoscaling.AttachInstancesInput{AutoScalingGroupName: aws.String("nodes"), InstanceIds: []string{"i-00000000000000000"}},
		"ValidationError", "Invalid Instance ID")
}

func TestDescribeAutoScalingInstances(t *testing.T) {
	t.Parallel()
	f := start(t)
	all := ids(f.running(newGroup(f.template(), 2)))
	out := call(f, f.asg.DescribeAutoScalingInstances, &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: []string{all[1], "i-00000000000000000"}})
	if len(out.AutoScalingInstances) != 1 || *out.AutoScalingInstances[0].InstanceId != all[1] || *out.AutoScalingInstances[0].HealthStatus != "HEALTHY" ||
		*out.AutoScalingInstances[0].AutoScalingGroupName != "nodes" || *out.AutoScalingInstances[0].LifecycleState != "InService" {
		t.Errorf("described %+v", out.AutoScalingInstances)
	}
	first := call(f, f.asg.DescribeAutoScalingInstances, &autoscaling.DescribeAutoScalingInstancesInput{MaxRecords: aws.Int32(1)})
	second := call(f, f.asg.DescribeAutoScalingInstances, &autoscaling.DescribeAutoScalingInstancesInput{MaxRecords: aws.Int32(1), NextToken: first.NextToken})
	if second.NextToken != nil || *second.AutoScalingInstances[0].InstanceId != all[1] {
		t.Errorf("second page %+v", second)
	}
	fails(f, f.asg.DescribeAutoScalingInstances, &autoscaling.DescribeAutoScalingInstancesInput{NextToken: aws.String("??")}, "InvalidNextToken", "")
}

func TestTags(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.running(newGroup(f.template(), 1, func(in *autoscaling.CreateAutoScalingGroupInput) {
		in.Tags = []types.Tag{{Key: aws.String("b"), Value: aws.String("1"), PropagateAtLaunch: aws.Bool(true)}}
	}))
	tag := func(key, value string) types.Tag {
		return types.Tag{Key: aws.String(key), Value: aws.String(value), PropagateAtLaunch: aws.Bool(true), ResourceId: aws.String("nodes"), ResourceType: aws.String("auto-scaling-group")}
	}
	call(f, f.asg.CreateOrUpdateTags, &autoscaling.CreateOrUpdateTagsInput{Tags: []types.Tag{tag("b", "2"), tag("a", "1")}})
	got := map[string]string{}
	for _, d := range call(f, f.asg.DescribeTags, &autoscaling.DescribeTagsInput{Filters: []types.Filter{
		{Name: aws.String("auto-scaling-group"), Values: []string{"nodes"}}, {Name: aws.String("propagate-at-launch"), Values: []string{"true"}},
	}}).Tags {
		got[*d.Key] = *d.Value
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2"}, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	instance := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: ids(f.group())}).Reservations[0].Instances[0]
	if slices.ContainsFunc(instance.Tags, func(t ec2types.Tag) bool { return *t.Key == "a" }) {
		t.Error("a tag reached an instance that runs already")
	}
	for _, tt := range []struct {
		filter types.Filter
		want   int
	}{
		{types.Filter{Name: aws.String("tag-key"), Values: []string{"a"}}, 1},
		{types.Filter{Name: aws.String("tag:a"), Values: []string{"1", "2"}}, 1},
		{types.Filter{Name: aws.String("tag:a"), Values: []string{"2"}}, 0},
		{types.Filter{Name: aws.String("tag-value"), Values: []string{"9"}}, 0},
	} {
		out := call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{Filters: []types.Filter{tt.filter}})
		if len(out.AutoScalingGroups) != tt.want {
			t.Errorf("filter %s=%v found %d groups", *tt.filter.Name, tt.filter.Values, len(out.AutoScalingGroups))
		}
	}
	call(f, f.asg.DeleteTags, &autoscaling.DeleteTagsInput{Tags: []types.Tag{tag("a", "1")}})
	if n := len(f.group().Tags); n != 1 {
		t.Errorf("%d tags left", n)
	}
	fails(f, f.asg.CreateOrUpdateTags, &autoscaling.CreateOrUpdateTagsInput{Tags: []types.Tag{tag("aws:x", "1")}}, "ValidationError", "reserved")
	fails(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{Filters: []types.Filter{{Name: aws.String("size")}}}, "ValidationError", "Filter type size")
}
