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

func TestGroupLife(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template(func(d *ec2types.RequestLaunchTemplateData) {
		d.TagSpecifications = []ec2types.LaunchTemplateTagSpecificationRequest{{ResourceType: ec2types.ResourceTypeInstance, Tags: []ec2types.Tag{
			{Key: aws.String("owner"), Value: aws.String("template")}, {Key: aws.String("from"), Value: aws.String("template")},
		}}}
	})
	call(f, f.asg.CreateAutoScalingGroup, newGroup(template, 3, func(in *autoscaling.CreateAutoScalingGroupInput) {
		in.Tags = []types.Tag{
			{Key: aws.String("owner"), Value: aws.String("group"), PropagateAtLaunch: aws.Bool(true)},
			{Key: aws.String("kept"), Value: aws.String("group"), PropagateAtLaunch: aws.Bool(false)},
		}
	}))
	if g := f.group(); len(g.Instances) != 0 {
		t.Errorf("the group has instances at once: %v", ids(g))
	}
	f.step(2 * time.Second)
	if got := f.in(types.LifecycleStatePending); len(got) != 3 {
		t.Fatalf("pending after 2 s: %v", f.summary())
	}
	f.step(pending)
	g := f.group()
	zones := map[string]int{}
	for _, i := range g.Instances {
		zones[*i.AvailabilityZone]++
		if i.LifecycleState != types.LifecycleStateInService || *i.HealthStatus != "Healthy" || *i.LaunchTemplate.Version != "1" || *i.LaunchTemplate.LaunchTemplateId != template {
			t.Errorf("instance %+v", i)
		}
	}
	if diff := cmp.Diff(map[string]int{"us-east-1a": 1, "us-east-1b": 1, "us-east-1c": 1}, zones); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}

	described := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{InstanceIds: ids(g)[:1]}).Reservations[0].Instances[0]
	tags := map[string]string{}
	for _, tag := range described.Tags {
		tags[*tag.Key] = *tag.Value
	}
	want := map[string]string{"owner": "group", "from": "template", "aws:autoscaling:groupName": "nodes",
		"aws:ec2launchtemplate:id": template, "aws:ec2launchtemplate:version": "1"}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("tags of an instance: group tags win and reach it only if they propagate (-want +got):\n%s", diff)
	}

	activities := f.activities()
	if len(activities) != 3 || activities[0].StatusCode != types.ScalingActivityStatusCodeSuccessful ||
		!strings.Contains(*activities[2].Cause, "a user request created an AutoScalingGroup changing the desired capacity from 0 to 3.") {
		t.Errorf("activities: %+v", activities)
	}

	call(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), DesiredCapacity: aws.Int32(1)})
	f.until(time.Minute, "one instance left", func() bool { return len(f.group().Instances) == 1 })
	fails(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes")}, "ResourceInUse", "instances")

	last := ids(f.group())[0]
	call(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("nodes"), ForceDelete: aws.Bool(true)})
	if got := aws.ToString(f.group().Status); got != "Delete in progress" {
		t.Errorf("status %q while instances end", got)
	}
	fails(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("nodes"), DesiredCapacity: aws.Int32(1)},
		"ValidationError", "pending delete")
	f.step(2*time.Second + shuttingDown)
	if out := call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{}); len(out.AutoScalingGroups) != 0 {
		t.Errorf("the group is still there: %v", f.summary())
	}
	if got := f.state(last); got != ec2types.InstanceStateNameTerminated {
		t.Errorf("the last instance is %s", got)
	}
	gone := call(f, f.asg.DescribeScalingActivities, &autoscaling.DescribeScalingActivitiesInput{IncludeDeletedGroups: aws.Bool(true)}).Activities
	if len(gone) != 6 || aws.ToString(gone[0].AutoScalingGroupState) != "Deleted" {
		t.Errorf("%d activities of the deleted group, first %+v", len(gone), gone[0])
	}
}

// TestAnswersOfGroups holds what AWS returns for groups: empty lists, settings that no request set,
// and no version if none was given.
func TestAnswersOfGroups(t *testing.T) {
	t.Parallel()
	f := start(t)
	in := newGroup(f.template(), 0)
	in.LaunchTemplate.Version = nil
	call(f, f.asg.CreateAutoScalingGroup, in)
	g := f.group()
	if g.LaunchTemplate.Version != nil || aws.ToString(g.LaunchTemplate.LaunchTemplateId) == "" {
		t.Errorf("the launch template is %+v", g.LaunchTemplate)
	}
	if g.CapacityReservationSpecification == nil || g.CapacityReservationSpecification.CapacityReservationPreference != types.CapacityReservationPreferenceDefault {
		t.Errorf("the capacity reservation is %+v", g.CapacityReservationSpecification)
	}
	if g.InstanceLifecyclePolicy == nil || g.InstanceLifecyclePolicy.RetentionTriggers.TerminateHookAbandon != types.RetentionActionTerminate {
		t.Errorf("the lifecycle policy is %+v", g.InstanceLifecyclePolicy)
	}
	for name, list := range map[string]bool{
		"Instances": g.Instances != nil, "SuspendedProcesses": g.SuspendedProcesses != nil, "EnabledMetrics": g.EnabledMetrics != nil, "Tags": g.Tags != nil,
		"LoadBalancerNames": g.LoadBalancerNames != nil, "TargetGroupARNs": g.TargetGroupARNs != nil, "TrafficSources": g.TrafficSources != nil,
	} {
		if !list {
			t.Errorf("the answer has no list of %s", name)
		}
	}
	// It launches the default version, as it is at each launch.
	call(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("nodes"), DesiredCapacity: aws.Int32(1)})
	f.settled(1)
	if got := f.group().Instances[0].LaunchTemplate; aws.ToString(got.Version) != "1" {
		t.Errorf("the instance is of %+v", got)
	}
}

// TestNamesOfMissingGroups holds the messages by action.
func TestNamesOfMissingGroups(t *testing.T) {
	t.Parallel()
	f := start(t)
	none := aws.String("nope")
	fails(f, f.asg.UpdateAutoScalingGroup, &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: none}, "ValidationError", "AutoScalingGroup name not found - null")
	fails(f, f.asg.DeleteAutoScalingGroup, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: none}, "ValidationError",
		"AutoScalingGroup name not found - AutoScalingGroup 'nope' not found")
	fails(f, f.asg.DescribePolicies, &autoscaling.DescribePoliciesInput{AutoScalingGroupName: none}, "ValidationError", "Group nope not found")
}
