package autoscaling_test

import (
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

const (
	launching   = "autoscaling:EC2_INSTANCE_LAUNCHING"
	terminating = "autoscaling:EC2_INSTANCE_TERMINATING"
)

func (f *fixture) hook(name, transition string, change ...func(*autoscaling.PutLifecycleHookInput)) {
	f.t.Helper()
	in := &autoscaling.PutLifecycleHookInput{AutoScalingGroupName: aws.String("nodes"), LifecycleHookName: aws.String(name), LifecycleTransition: aws.String(transition)}
	for _, c := range change {
		c(in)
	}
	call(f, f.asg.PutLifecycleHook, in)
}

func (f *fixture) complete(name, instance, result string) {
	f.t.Helper()
	call(f, f.asg.CompleteLifecycleAction, &autoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: aws.String("nodes"), LifecycleHookName: aws.String(name), InstanceId: aws.String(instance), LifecycleActionResult: aws.String(result),
	})
}

func (f *fixture) setDesired(n int32) {
	f.t.Helper()
	call(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("nodes"), DesiredCapacity: aws.Int32(n)})
}

func TestLaunchHookHoldsAnInstance(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 1, func(in *autoscaling.CreateAutoScalingGroupInput) {
		in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{
			{LifecycleHookName: aws.String("join"), LifecycleTransition: aws.String(launching), HeartbeatTimeout: aws.Int32(60)},
			{LifecycleHookName: aws.String("scan"), LifecycleTransition: aws.String(launching), HeartbeatTimeout: aws.Int32(600), DefaultResult: aws.String("CONTINUE")},
		}
	}))
	f.step(2*time.Second + pending)
	waiting := f.in(types.LifecycleStatePendingWait)
	if len(waiting) != 1 {
		t.Fatalf("no instance waits: %v", f.summary())
	}
	if got := f.activities()[0].StatusCode; got != types.ScalingActivityStatusCodeMidLifecycleAction {
		t.Errorf("activity status %s", got)
	}
	f.step(50 * time.Second)
	call(f, f.asg.RecordLifecycleActionHeartbeat, &autoscaling.RecordLifecycleActionHeartbeatInput{
		AutoScalingGroupName: aws.String("nodes"), LifecycleHookName: aws.String("join"), InstanceId: aws.String(waiting[0]),
	})
	f.step(50 * time.Second)
	if diff := cmp.Diff(waiting, f.in(types.LifecycleStatePendingWait)); diff != "" {
		t.Fatalf("a heartbeat did not help (-want +got):\n%s", diff)
	}
	f.complete("join", waiting[0], "CONTINUE")
	f.step(2 * time.Second)
	if diff := cmp.Diff(waiting, f.in(types.LifecycleStatePendingWait)); diff != "" {
		t.Fatalf("the second hook does not hold (-want +got):\n%s", diff)
	}
	fails(f, f.asg.CompleteLifecycleAction, &autoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: aws.String("nodes"), LifecycleHookName: aws.String("join"), InstanceId: aws.String(waiting[0]), LifecycleActionResult: aws.String("CONTINUE"),
	}, "ValidationError", "No active Lifecycle Action found")
	f.step(10 * time.Minute) // the default result of the second is CONTINUE
	if diff := cmp.Diff(waiting, f.in(types.LifecycleStateInService)); diff != "" {
		t.Errorf("in service (-want +got):\n%s", diff)
	}
}

func TestAbandonedLaunchIsReplacedLater(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 1, func(in *autoscaling.CreateAutoScalingGroupInput) {
		in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{{
			LifecycleHookName: aws.String("join"), LifecycleTransition: aws.String(launching), HeartbeatTimeout: aws.Int32(60),
		}}
	}))
	f.step(2*time.Second + pending)
	first := f.in(types.LifecycleStatePendingWait)[0]
	f.step(61 * time.Second)
	f.until(time.Minute, "the abandoned instance is gone", func() bool { return f.state(first) == ec2types.InstanceStateNameTerminated })
	f.until(2*time.Minute, "another waits", func() bool { return len(f.in(types.LifecycleStatePendingWait)) == 1 })
	var cancelled []types.Activity
	for _, a := range f.activities() {
		if a.StatusCode == types.ScalingActivityStatusCodeCancelled {
			cancelled = append(cancelled, a)
		}
	}
	if len(cancelled) != 1 || !strings.Contains(*cancelled[0].StatusMessage, "was abandoned") {
		t.Errorf("cancelled activities: %+v", cancelled)
	}
}

func TestTerminateHookDelaysEC2(t *testing.T) {
	t.Parallel()
	tests := []struct{ reason, result string }{
		{"CONTINUE lets it go", "CONTINUE"},
		{"ABANDON lets it go as well", "ABANDON"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			f.running(newGroup(f.template(), 1))
			f.hook("drain", terminating, func(in *autoscaling.PutLifecycleHookInput) { in.HeartbeatTimeout = aws.Int32(300) })
			f.setDesired(0)
			f.step(5 * time.Second)
			waiting := f.in(types.LifecycleStateTerminatingWait)
			if len(waiting) != 1 || f.state(waiting[0]) != ec2types.InstanceStateNameRunning {
				t.Fatalf("no running instance waits: %v", f.summary())
			}
			f.complete("drain", waiting[0], tt.result)
			f.step(2 * time.Second)
			if diff := cmp.Diff(waiting, f.in(types.LifecycleStateTerminatingProceed)); diff != "" {
				t.Errorf("Terminating:Proceed (-want +got):\n%s", diff)
			}
			f.step(shuttingDown)
			if n := len(f.group().Instances); n != 0 {
				t.Errorf("%d instances left", n)
			}
		})
	}
}

// TestForceDeleteEndsLifecycleActions holds that a group that is deleted by force waits for no hook
// (AWS: API_DeleteAutoScalingGroup, ForceDelete), whatever became of the instance meanwhile.
func TestForceDeleteEndsLifecycleActions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		before func(f *fixture, instance string)
	}{
		{"the instance runs", func(*fixture, string) {}},
		{"a user has terminated it in EC2", func(f *fixture, instance string) {
			call(f, f.ec2.TerminateInstances, &ec2.TerminateInstancesInput{InstanceIds: []string{instance}})
			f.step(time.Minute)
		}},
	} {
		f := start(t)
		call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 1, func(in *autoscaling.CreateAutoScalingGroupInput) {
			in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{
				{LifecycleHookName: aws.String("drain"), LifecycleTransition: aws.String(terminating), HeartbeatTimeout: aws.Int32(7200)},
			}
		}))
		f.step(time.Minute)
		call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), MinSize: aws.Int32(0), DesiredCapacity: aws.Int32(0)})
		f.step(time.Minute)
		waiting := f.in(types.LifecycleStateTerminatingWait)
		if len(waiting) != 1 {
			t.Fatalf("%s: no instance waits: %v", row.reason, f.summary())
		}
		row.before(f, waiting[0])
		call(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), ForceDelete: aws.Bool(true)})
		f.step(time.Minute)
		if groups := call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{}).AutoScalingGroups; len(groups) > 0 {
			t.Errorf("%s: after a minute the group is %q, with %v", row.reason, aws.ToString(groups[0].Status), f.summary())
		}
	}
}

func TestHeartbeatsEndAtTheGlobalTimeout(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.running(newGroup(f.template(), 1))
	f.hook("drain", terminating, func(in *autoscaling.PutLifecycleHookInput) { in.HeartbeatTimeout = aws.Int32(30) })
	f.setDesired(0)
	f.step(5 * time.Second)
	id := f.in(types.LifecycleStateTerminatingWait)[0]
	hook := call(f, f.asg.DescribeLifecycleHooks, &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: aws.String("nodes")}).LifecycleHooks[0]
	if *hook.GlobalTimeout != 3000 || *hook.DefaultResult != "ABANDON" {
		t.Errorf("hook %+v", hook)
	}
	beats := 0
	for ; len(f.in(types.LifecycleStateTerminatingWait)) == 1 && beats < 200; beats++ {
		call(f, f.asg.RecordLifecycleActionHeartbeat, &autoscaling.RecordLifecycleActionHeartbeatInput{
			AutoScalingGroupName: aws.String("nodes"), LifecycleHookName: aws.String("drain"), InstanceId: aws.String(id),
		})
		f.step(25 * time.Second)
	}
	if beats < 118 || beats > 121 {
		t.Errorf("held for %d heartbeats of 25 s, want the 3000 s of the global timeout", beats)
	}
}

func TestRefreshHonorsHooks(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	f.running(newGroup(template, 1))
	f.hook("drain", terminating)
	f.hook("join", launching)
	f.point(template, f.version(template, ec2types.InstanceTypeM5Large))
	f.refresh(prefer(func(p *types.RefreshPreferences) {
		p.MinHealthyPercentage, p.MaxHealthyPercentage = aws.Int32(100), aws.Int32(200)
	}))
	f.until(time.Minute, "the new instance waits", func() bool { return len(f.in(types.LifecycleStatePendingWait)) == 1 })
	f.step(30 * time.Minute)
	if n := len(f.in(types.LifecycleStateInService)); n != 1 {
		t.Fatalf("%d in service while the hook holds the replacement", n)
	}
	f.complete("join", f.in(types.LifecycleStatePendingWait)[0], "CONTINUE")
	f.until(time.Minute, "the old instance waits", func() bool { return len(f.in(types.LifecycleStateTerminatingWait)) == 1 })
	f.step(10 * time.Minute)
	if r := f.last(); r.Status != types.InstanceRefreshStatusInProgress || !strings.Contains(*r.StatusReason, "is terminating") {
		t.Errorf("refresh %s: %s", r.Status, aws.ToString(r.StatusReason))
	}
	f.complete("drain", f.in(types.LifecycleStateTerminatingWait)[0], "CONTINUE")
	f.ends(time.Minute, types.InstanceRefreshStatusSuccessful)
}

func TestHooksAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	tests := []struct {
		reason string
		change func(*autoscaling.PutLifecycleHookInput)
		words  string
	}{
		{"a name has no spaces", func(in *autoscaling.PutLifecycleHookInput) { in.LifecycleHookName = aws.String("a b") }, "regular expression"},
		{"a new hook has a transition", func(in *autoscaling.PutLifecycleHookInput) { in.LifecycleTransition = nil }, "required"},
		{"there are two transitions", func(in *autoscaling.PutLifecycleHookInput) { in.LifecycleTransition = aws.String("sideways") }, "Invalid lifecycle transition"},
		{"there are two results", func(in *autoscaling.PutLifecycleHookInput) { in.DefaultResult = aws.String("MAYBE") }, "Invalid default result"},
		{"a heartbeat is 30 s at least", func(in *autoscaling.PutLifecycleHookInput) { in.HeartbeatTimeout = aws.Int32(29) }, "Heartbeat"},
		{"a heartbeat is two hours at most", func(in *autoscaling.PutLifecycleHookInput) { in.HeartbeatTimeout = aws.Int32(7201) }, "Heartbeat"},
		{"a target needs a role", func(in *autoscaling.PutLifecycleHookInput) {
			in.NotificationTargetARN = aws.String("arn:aws:sqs:us-east-1:1:q")
		}, "RoleARN is required"},
		{"a role needs a target", func(in *autoscaling.PutLifecycleHookInput) { in.RoleARN = aws.String("arn:aws:iam::1:role/r") }, "RoleARN is valid only"},
	}
	for _, tt := range tests {
		in := &autoscaling.PutLifecycleHookInput{AutoScalingGroupName: aws.String("nodes"), LifecycleHookName: aws.String("h"), LifecycleTransition: aws.String(launching)}
		tt.change(in)
		t.Log(tt.reason)
		fails(f, f.asg.PutLifecycleHook, in, "ValidationError", tt.words)
	}
	fails(f, f.asg.DeleteLifecycleHook, &autoscaling.DeleteLifecycleHookInput{AutoScalingGroupName: aws.String("nodes"), LifecycleHookName: aws.String("h")},
		"ValidationError", "No Lifecycle Hook found")
}

func TestDeletedHookReleasesItsInstances(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.running(newGroup(f.template(), 1))
	f.hook("drain", terminating)
	f.setDesired(0)
	f.step(5 * time.Second)
	if n := len(f.in(types.LifecycleStateTerminatingWait)); n != 1 {
		t.Fatalf("%d wait", n)
	}
	call(f, f.asg.DeleteLifecycleHook, &autoscaling.DeleteLifecycleHookInput{AutoScalingGroupName: aws.String("nodes"), LifecycleHookName: aws.String("drain")})
	f.until(time.Minute, "gone", func() bool { return len(f.group().Instances) == 0 })
}

func TestInstanceLifecyclePolicyRetainsAbandonedInstances(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.running(newGroup(f.template(), 1, func(in *autoscaling.CreateAutoScalingGroupInput) {
		in.InstanceLifecyclePolicy = &types.InstanceLifecyclePolicy{RetentionTriggers: &types.RetentionTriggers{TerminateHookAbandon: types.RetentionActionRetain}}
	}))
	f.hook("drain", terminating)
	f.setDesired(0)
	f.step(5 * time.Second)
	id := f.in(types.LifecycleStateTerminatingWait)[0]
	f.complete("drain", id, "ABANDON")
	f.step(10 * time.Minute)
	if diff := cmp.Diff([]string{id}, f.in(types.LifecycleStateTerminatingRetained)); diff != "" {
		t.Errorf("retained (-want +got):\n%s", diff)
	}
	if got := f.state(id); got != ec2types.InstanceStateNameRunning {
		t.Errorf("the retained instance is %s", got)
	}
	fails(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), ForceDelete: aws.Bool(true)},
		"ValidationError", "TerminateHookAbandon retention trigger is set to retain")
	call(f, f.asg.TerminateInstanceInAutoScalingGroup, &autoscaling.TerminateInstanceInAutoScalingGroupInput{InstanceId: &id, ShouldDecrementDesiredCapacity: aws.Bool(false)})
	f.step(5 * time.Second)
	if diff := cmp.Diff([]string{id}, f.in(types.LifecycleStateTerminatingWait)); diff != "" {
		t.Errorf("terminated, the hook holds it again (-want +got):\n%s", diff)
	}
	f.complete("drain", id, "ABANDON")
	f.step(time.Minute)
	f.kill(id)
	f.until(time.Minute, "an instance that ended in EC2 is no longer retained", func() bool { return len(f.group().Instances) == 0 })
}
