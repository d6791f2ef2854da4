package autoscaling_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
)

func TestAttachments(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.asg.CreateAutoScalingGroup, newGroup(f.template(), 0))
	nodes := aws.String("nodes")
	one, two := "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/one/1", "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/two/2"
	call(f, f.asg.AttachLoadBalancerTargetGroups, &autoscaling.AttachLoadBalancerTargetGroupsInput{AutoScalingGroupName: nodes, TargetGroupARNs: []string{one, two}})
	call(f, f.asg.AttachLoadBalancerTargetGroups, &autoscaling.AttachLoadBalancerTargetGroupsInput{AutoScalingGroupName: nodes, TargetGroupARNs: []string{one}})
	call(f, f.asg.DetachLoadBalancerTargetGroups, &autoscaling.DetachLoadBalancerTargetGroupsInput{AutoScalingGroupName: nodes, TargetGroupARNs: []string{two}})
	groups := call(f, f.asg.DescribeLoadBalancerTargetGroups, &autoscaling.DescribeLoadBalancerTargetGroupsInput{AutoScalingGroupName: nodes}).LoadBalancerTargetGroups
	if len(groups) != 1 || *groups[0].LoadBalancerTargetGroupARN != one {
		t.Errorf("target groups %+v", groups)
	}
	fails(f, f.asg.AttachLoadBalancerTargetGroups, &autoscaling.AttachLoadBalancerTargetGroupsInput{AutoScalingGroupName: nodes, TargetGroupARNs: []string{"two"}},
		"ValidationError", "not valid")

	call(f, f.asg.AttachLoadBalancers, &autoscaling.AttachLoadBalancersInput{AutoScalingGroupName: nodes, LoadBalancerNames: []string{"a", "b"}})
	call(f, f.asg.DetachLoadBalancers, &autoscaling.DetachLoadBalancersInput{AutoScalingGroupName: nodes, LoadBalancerNames: []string{"a"}})
	if diff := cmp.Diff([]string{"b"}, f.group().LoadBalancerNames); diff != "" {
		t.Errorf("load balancers (-want +got):\n%s", diff)
	}
	if got := call(f, f.asg.DescribeLoadBalancers, &autoscaling.DescribeLoadBalancersInput{AutoScalingGroupName: nodes}).LoadBalancers; len(got) != 1 || *got[0].LoadBalancerName != "b" {
		t.Errorf("described %+v", got)
	}

	lattice := types.TrafficSourceIdentifier{Identifier: aws.String("arn:aws:vpc-lattice:us-east-1:1:targetgroup/tg-1"), Type: aws.String("vpc-lattice")}
	call(f, f.asg.AttachTrafficSources, &autoscaling.AttachTrafficSourcesInput{AutoScalingGroupName: nodes, TrafficSources: []types.TrafficSourceIdentifier{lattice}})
	if got := call(f, f.asg.DescribeTrafficSources, &autoscaling.DescribeTrafficSourcesInput{AutoScalingGroupName: nodes, TrafficSourceType: aws.String("vpc-lattice")}).TrafficSources; len(got) != 1 {
		t.Errorf("described %+v", got)
	}
	call(f, f.asg.DetachTrafficSources, &autoscaling.DetachTrafficSourcesInput{AutoScalingGroupName: nodes, TrafficSources: []types.TrafficSourceIdentifier{lattice}})
	if n := len(f.group().TrafficSources); n != 0 {
		t.Errorf("%d traffic sources left", n)
	}
}
