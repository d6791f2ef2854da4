package autoscalinggroup

import (
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

func createInput(desired Desired, name string) *autoscaling.CreateAutoScalingGroupInput {
	template, mixed := launchSource(desired)
	return &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name,
		MinSize:              &desired.MinSize,
		MaxSize:              &desired.MaxSize,
		DesiredCapacity:      desired.Capacity,
		LaunchTemplate:       template,
		MixedInstancesPolicy: mixed,
		VPCZoneIdentifier:    awssdk.String(strings.Join(desired.SubnetIDs, ",")),
		Tags:                 groupTags(desired.Tags, name),
	}
}

// updateInput sets all that is wanted; the capacity only when it differs, because setting it again would undo a scaling that
// happened since the group was seen.
func updateInput(desired Desired, group Group) *autoscaling.UpdateAutoScalingGroupInput {
	input := &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: &group.Name,
		MinSize:              &desired.MinSize,
		MaxSize:              &desired.MaxSize,
		VPCZoneIdentifier:    awssdk.String(strings.Join(desired.SubnetIDs, ",")),
	}
	if desired.launches() {
		input.LaunchTemplate, input.MixedInstancesPolicy = launchSource(desired)
	}
	if desired.Capacity != nil && *desired.Capacity != group.Capacity {
		input.DesiredCapacity = desired.Capacity
	}
	return input
}

// launchSource is the template alone, or the mixed instances policy that holds it: AWS takes one of them.
func launchSource(desired Desired) (*asgtypes.LaunchTemplateSpecification, *asgtypes.MixedInstancesPolicy) {
	specification := &asgtypes.LaunchTemplateSpecification{
		LaunchTemplateId: &desired.LaunchTemplateID,
		Version:          awssdk.String(strconv.FormatInt(desired.Version, 10)),
	}
	if desired.MixedInstancesPolicy == nil {
		return specification, nil
	}
	return nil, &asgtypes.MixedInstancesPolicy{
		InstancesDistribution: distribution(desired.MixedInstancesPolicy.InstancesDistribution),
		LaunchTemplate: &asgtypes.LaunchTemplate{
			LaunchTemplateSpecification: specification,
			Overrides:                   overrides(desired.MixedInstancesPolicy.Overrides),
		},
	}
}

// distribution says all that a pool can say, with AWS's defaults for what it leaves out (AWS: API_InstancesDistribution). An update
// that leaves something out would leave it as it was, and not as the pool says now.
func distribution(wanted *infrav1.InstancesDistribution) *asgtypes.InstancesDistribution {
	set := &asgtypes.InstancesDistribution{
		OnDemandAllocationStrategy:          awssdk.String(string(infrav1.OnDemandAllocationStrategyPrioritized)),
		SpotAllocationStrategy:              awssdk.String(string(infrav1.SpotAllocationStrategyLowestPrice)),
		OnDemandBaseCapacity:                awssdk.Int32(0),
		OnDemandPercentageAboveBaseCapacity: awssdk.Int32(100),
	}
	if wanted == nil {
		return set
	}
	if wanted.OnDemandAllocationStrategy != "" {
		set.OnDemandAllocationStrategy = awssdk.String(string(wanted.OnDemandAllocationStrategy))
	}
	if wanted.SpotAllocationStrategy != "" {
		set.SpotAllocationStrategy = awssdk.String(string(wanted.SpotAllocationStrategy))
	}
	if wanted.OnDemandBaseCapacity != nil {
		set.OnDemandBaseCapacity = narrow(wanted.OnDemandBaseCapacity)
	}
	if wanted.OnDemandPercentageAboveBaseCapacity != nil {
		set.OnDemandPercentageAboveBaseCapacity = narrow(wanted.OnDemandPercentageAboveBaseCapacity)
	}
	return set
}

func overrides(wanted []infrav1.Overrides) []asgtypes.LaunchTemplateOverrides {
	list := make([]asgtypes.LaunchTemplateOverrides, 0, len(wanted))
	for i := range wanted {
		list = append(list, asgtypes.LaunchTemplateOverrides{InstanceType: awssdk.String(wanted[i].InstanceType)})
	}
	return list
}

// groupTags are sorted by key. They do not propagate: instances and volumes get their tags from the template, where group
// tags would win over them silently.
func groupTags(tags map[string]string, name string) []asgtypes.Tag {
	list := make([]asgtypes.Tag, 0, len(tags))
	for key, value := range tags {
		list = append(list, asgtypes.Tag{
			Key: awssdk.String(key), Value: awssdk.String(value), PropagateAtLaunch: awssdk.Bool(false),
			ResourceId: awssdk.String(name), ResourceType: awssdk.String("auto-scaling-group"),
		})
	}
	slices.SortFunc(list, func(a, b asgtypes.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	return list
}
