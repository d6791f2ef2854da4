package autoscalinggroup

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"

	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
)

// createInput says what differs from AWS's defaults. A group whose launches are suspended begins
// empty: they can be suspended only once it is there.
func createInput(desired Desired, name string) *autoscaling.CreateAutoScalingGroupInput {
	template, mixed := launchSource(desired)
	settings := &autoscaling.UpdateAutoScalingGroupInput{}
	sendSettings(desired.Settings, defaultSettings(), settings)
	input := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name,
		MinSize:              &desired.MinSize,
		MaxSize:              &desired.MaxSize,
		DesiredCapacity:      desired.Capacity,
		LaunchTemplate:       template,
		MixedInstancesPolicy: mixed,
		VPCZoneIdentifier:    awssdk.String(strings.Join(desired.SubnetIDs, ",")),
		Tags:                 groupTags(desired.Tags, name),

		LifecycleHookSpecificationList: lifecyclehook.Specifications(lifecyclehook.WithGroup(desired.Hooks)),
		TargetGroupARNs:                desired.TargetGroupARNs,
		TrafficSources:                 trafficSourcesWithGroup(desired),

		DefaultCooldown: settings.DefaultCooldown, DefaultInstanceWarmup: settings.DefaultInstanceWarmup, CapacityRebalance: settings.CapacityRebalance,
		HealthCheckType: settings.HealthCheckType, HealthCheckGracePeriod: settings.HealthCheckGracePeriod,
		TerminationPolicies: settings.TerminationPolicies, MaxInstanceLifetime: settings.MaxInstanceLifetime,
		InstanceMaintenancePolicy: settings.InstanceMaintenancePolicy, AvailabilityZoneDistribution: settings.AvailabilityZoneDistribution,
		AvailabilityZoneImpairmentPolicy: settings.AvailabilityZoneImpairmentPolicy,
		CapacityReservationSpecification: settings.CapacityReservationSpecification,
		PlacementGroup:                   settings.PlacementGroup, NewInstancesProtectedFromScaleIn: settings.NewInstancesProtectedFromScaleIn,
		DeletionProtection: settings.DeletionProtection, DesiredCapacityType: settings.DesiredCapacityType,
		InstanceLifecyclePolicy: settings.InstanceLifecyclePolicy,
		ServiceLinkedRoleARN:    settings.ServiceLinkedRoleARN, SkipZonalShiftValidation: settings.SkipZonalShiftValidation,
	}
	if slices.Contains(desired.Suspended, ProcessLaunch) {
		input.MinSize, input.DesiredCapacity = awssdk.Int32(0), awssdk.Int32(0)
	}
	return input
}

// updateInput returns the request that brings a group to the desired state. It has both bounds, so
// that they fit each other, and otherwise only what differs. Setting the capacity again would undo
// a scaling that happened since the group was seen, and AWS validates a launch template whenever it
// is sent: a group whose image was deregistered could not change its sizes.
func updateInput(desired Desired, group Group) *autoscaling.UpdateAutoScalingGroupInput {
	input := sizesInput(desired, group)
	if subnetsDiffer(desired, group) != "" {
		input.VPCZoneIdentifier = awssdk.String(strings.Join(desired.SubnetIDs, ","))
	}
	if desired.launches() && len(differences(launchChecks, desired, group)) > 0 {
		input.LaunchTemplate, input.MixedInstancesPolicy = launchSource(desired)
	}
	sendSettings(desired.Settings, group.Settings, input)
	return input
}

// sizesInput returns the request that gives a group its sizes and changes nothing else.
func sizesInput(desired Desired, group Group) *autoscaling.UpdateAutoScalingGroupInput {
	input := &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: &group.Name, MinSize: &desired.MinSize, MaxSize: &desired.MaxSize}
	if desired.Capacity != nil && *desired.Capacity != group.Capacity {
		input.DesiredCapacity = desired.Capacity
	}
	return input
}

// launchSource returns the template alone, or the mixed instances policy that holds it: AWS accepts
// one of them.
func launchSource(desired Desired) (*asgtypes.LaunchTemplateSpecification, *asgtypes.MixedInstancesPolicy) {
	specification := &asgtypes.LaunchTemplateSpecification{
		LaunchTemplateId: &desired.LaunchTemplateID,
		Version:          awssdk.String(strconv.FormatInt(desired.Version, 10)),
	}
	if desired.MixedInstancesPolicy == nil {
		return specification, nil
	}
	return nil, &asgtypes.MixedInstancesPolicy{
		InstancesDistribution: distribution(desired.MixedInstancesPolicy),
		LaunchTemplate: &asgtypes.LaunchTemplate{
			LaunchTemplateSpecification: specification,
			Overrides:                   overrides(desired.MixedInstancesPolicy.Overrides),
		},
	}
}

// distribution says all that a pool can say, with AWS's defaults for what it leaves out (AWS:
// API_InstancesDistribution). An update that leaves something out would leave it as it was, and not
// as the pool says now.
func distribution(policy *infrav1.MixedInstancesPolicy) *asgtypes.InstancesDistribution {
	onDemand := infrav1.OnDemandAllocationStrategyPrioritized
	if attributeBased(policy) {
		onDemand = infrav1.OnDemandAllocationStrategyLowestPrice
	}
	wanted := policy.InstancesDistribution
	if wanted == nil {
		wanted = &infrav1.InstancesDistribution{}
	}
	spot := cmp.Or(wanted.SpotAllocationStrategy, infrav1.SpotAllocationStrategyLowestPrice)
	set := &asgtypes.InstancesDistribution{
		OnDemandAllocationStrategy:          awssdk.String(string(cmp.Or(wanted.OnDemandAllocationStrategy, onDemand))),
		SpotAllocationStrategy:              awssdk.String(string(spot)),
		OnDemandBaseCapacity:                awssdk.Int32(0),
		OnDemandPercentageAboveBaseCapacity: awssdk.Int32(100),
		SpotInstancePools:                   wanted.SpotInstancePools,
		SpotMaxPrice:                        &wanted.SpotMaxPrice, // an empty one takes the limit away
	}
	if len(wanted.DistributionSegments) > 0 {
		// Shares of On-Demand would remove them (AWS: API_UpdateAutoScalingGroup, MixedInstancesPolicy).
		set.OnDemandBaseCapacity, set.OnDemandPercentageAboveBaseCapacity = nil, nil
		set.DistributionSegments = segments(wanted.DistributionSegments)
		return withPools(set, spot)
	}
	if wanted.OnDemandBaseCapacity != nil {
		set.OnDemandBaseCapacity = narrow(wanted.OnDemandBaseCapacity)
	}
	if wanted.OnDemandPercentageAboveBaseCapacity != nil {
		set.OnDemandPercentageAboveBaseCapacity = narrow(wanted.OnDemandPercentageAboveBaseCapacity)
	}
	return withPools(set, spot)
}

// withPools sets the number of Spot pools that AWS assumes where none is given.
func withPools(set *asgtypes.InstancesDistribution, spot infrav1.SpotAllocationStrategy) *asgtypes.InstancesDistribution {
	if set.SpotInstancePools == nil && spot == infrav1.SpotAllocationStrategyLowestPrice {
		set.SpotInstancePools = awssdk.Int32(defaultSpotPools)
	}
	return set
}

func segments(wanted []infrav1.DistributionSegment) []asgtypes.DistributionSegment {
	list := make([]asgtypes.DistributionSegment, len(wanted))
	for i := range wanted {
		for _, kind := range wanted[i].TargetCapacityTypes {
			list[i].TargetCapacityTypes = append(list[i].TargetCapacityTypes, asgtypes.TargetCapacityType(kind))
		}
	}
	return list
}

// defaultSpotPools is AWS's, and for the strategy lowest-price alone.
const defaultSpotPools = 2

// groupTags returns tags sorted by key. They do not propagate: instances and volumes get their tags
// from the template, where group tags would win over them silently.
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

// tagsByKey returns tags of a group without values, by which they are deleted whatever their values.
func tagsByKey(keys []string, name string) []asgtypes.Tag {
	list := make([]asgtypes.Tag, 0, len(keys))
	for _, key := range keys {
		list = append(list, asgtypes.Tag{Key: awssdk.String(key), ResourceId: awssdk.String(name), ResourceType: awssdk.String("auto-scaling-group")})
	}
	return list
}
