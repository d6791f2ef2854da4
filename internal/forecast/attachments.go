package forecast

import (
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

var attachmentWrites = map[string]writer{
	"autoscaling:AttachLoadBalancerTargetGroups": onGroup[autoscaling.AttachLoadBalancerTargetGroupsInput, autoscaling.AttachLoadBalancerTargetGroupsOutput](
		func(input *autoscaling.AttachLoadBalancerTargetGroupsInput) (*string, change) {
			return input.AutoScalingGroupName, targetGroups(input.TargetGroupARNs, true)
		}),
	"autoscaling:DetachLoadBalancerTargetGroups": onGroup[autoscaling.DetachLoadBalancerTargetGroupsInput, autoscaling.DetachLoadBalancerTargetGroupsOutput](
		func(input *autoscaling.DetachLoadBalancerTargetGroupsInput) (*string, change) {
			return input.AutoScalingGroupName, targetGroups(input.TargetGroupARNs, false)
		}),
	"autoscaling:AttachTrafficSources": onGroup[autoscaling.AttachTrafficSourcesInput, autoscaling.AttachTrafficSourcesOutput](
		func(input *autoscaling.AttachTrafficSourcesInput) (*string, change) {
			return input.AutoScalingGroupName, trafficSources(input.TrafficSources, true)
		}),
	"autoscaling:DetachTrafficSources": onGroup[autoscaling.DetachTrafficSourcesInput, autoscaling.DetachTrafficSourcesOutput](
		func(input *autoscaling.DetachTrafficSourcesInput) (*string, change) {
			return input.AutoScalingGroupName, trafficSources(input.TrafficSources, false)
		}),
}

// targetGroups attaches target groups by their ARNs, or detaches them. AWS describes a target group
// among the traffic sources too (AWS: API_AutoScalingGroup, TrafficSources), which Slipway does not
// count twice.
func targetGroups(arns []string, attach bool) change {
	return func(described *asgtypes.AutoScalingGroup) {
		kept := slices.DeleteFunc(slices.Clone(described.TargetGroupARNs), func(arn string) bool { return slices.Contains(arns, arn) })
		if attach {
			kept = append(kept, arns...)
		}
		described.TargetGroupARNs = kept
		described.TrafficSources = slices.DeleteFunc(slices.Clone(described.TrafficSources), func(source asgtypes.TrafficSourceIdentifier) bool {
			return slices.Contains(arns, awssdk.ToString(source.Identifier))
		})
	}
}

// trafficSources attaches traffic sources, or detaches them.
func trafficSources(sources []asgtypes.TrafficSourceIdentifier, attach bool) change {
	return func(described *asgtypes.AutoScalingGroup) {
		kept := slices.DeleteFunc(slices.Clone(described.TrafficSources), func(present asgtypes.TrafficSourceIdentifier) bool {
			return slices.ContainsFunc(sources, func(source asgtypes.TrafficSourceIdentifier) bool {
				return awssdk.ToString(source.Identifier) == awssdk.ToString(present.Identifier)
			})
		})
		if attach {
			kept = append(kept, sources...)
		}
		described.TrafficSources = kept
	}
}
