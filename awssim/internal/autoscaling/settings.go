package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
)

// defaultCooldown is the cooldown of a group that names none (SDK CreateAutoScalingGroupInput).
const defaultCooldown = 300

// settings are everything about a group that UpdateAutoScalingGroup can change.
type settings struct {
	config       configuration
	min, max     int
	desired      int
	capacityUnit string // units, vcpu or memory-mib
	zones        []string
	subnets      []subnetPlace

	cooldown          int32
	warmup            *int32 // seconds; nil if not set
	healthCheckType   string
	healthCheckWait   int32
	protectNew        bool
	policies          []string
	maxLifetime       *int32
	capacityRebalance *bool
	placementGroup    string
	context           string
	serviceLinkedRole string
	deletion          types.DeletionProtection
	maintenance       *types.InstanceMaintenancePolicy
	distribution      *types.AvailabilityZoneDistribution
	impairment        *types.AvailabilityZoneImpairmentPolicy
	reservation       *types.CapacityReservationSpecification
	lifecycle         *types.InstanceLifecyclePolicy
}

// subnetPlace is a subnet and the zone it lies in.
type subnetPlace struct{ id, zone string }

// configuration describes what a group launches: a launch template, a mixed instances policy, or
// the launch configuration of that name. It is never changed, only replaced.
type configuration struct {
	template            *types.LaunchTemplateSpecification
	mixed               *types.MixedInstancesPolicy
	launchConfiguration string
}

// specification returns the launch template that the configuration names first, nil if it is a
// launch configuration.
func (c configuration) specification() *types.LaunchTemplateSpecification {
	if c.mixed != nil {
		return c.mixed.LaunchTemplate.LaunchTemplateSpecification
	}
	return c.template
}

func (c configuration) overrides() []types.LaunchTemplateOverrides {
	if c.mixed == nil {
		return nil
	}
	return c.mixed.LaunchTemplate.Overrides
}

// onDemandTarget returns how many of the given units a mixed instances policy wants On-Demand.
func (c configuration) onDemandTarget(total int) int {
	d := c.mixed.InstancesDistribution
	return allocation.OnDemandTarget(total, int(val(d.OnDemandBaseCapacity)), int(valOr(d.OnDemandPercentageAboveBaseCapacity, 100)))
}

// weighted reports whether instances count for more than one unit.
func (c configuration) weighted() bool {
	return slices.ContainsFunc(c.overrides(), func(o types.LaunchTemplateOverrides) bool { return o.WeightedCapacity != nil })
}

// alternatives are the overrides, or for a configuration without any the one alternative of changing nothing.
func (c configuration) alternatives() []types.LaunchTemplateOverrides {
	if overrides := c.overrides(); len(overrides) > 0 {
		return overrides
	}
	return []types.LaunchTemplateOverrides{{}}
}

// applySizes sets the sizes. A minimum above the desired capacity, or a maximum below it, moves the
// desired capacity (SDK UpdateAutoScalingGroup, notes).
func (n *settings) applySizes(in *autoscaling.UpdateAutoScalingGroupInput) error {
	for _, size := range []struct {
		member string
		value  *int32
	}{{"minSize", in.MinSize}, {"maxSize", in.MaxSize}, {"desiredCapacity", in.DesiredCapacity}} {
		if v := size.value; v != nil && *v < 0 {
			return constraint(itoa(int(*v)), size.member, "Member must have value greater than or equal to 0")
		}
	}
	if in.MinSize != nil {
		n.min = int(*in.MinSize)
	}
	if in.MaxSize != nil {
		n.max = int(*in.MaxSize)
	}
	if n.min > n.max {
		return invalid("Max bound, %d, must be greater than or equal to min bound, %d", n.max, n.min)
	}
	if in.DesiredCapacity == nil {
		n.desired = min(max(n.desired, n.min), n.max)
	} else {
		n.desired = int(*in.DesiredCapacity)
	}
	if n.desired < n.min || n.desired > n.max {
		return invalid("Desired capacity:%d must be between the specified min size:%d and max size:%d", n.desired, n.min, n.max)
	}
	if u := in.DesiredCapacityType; u != nil {
		if !slices.Contains([]string{allocation.CapacityTypeUnits, allocation.CapacityTypeVCPU, allocation.CapacityTypeMemory}, *u) {
			return invalid("DesiredCapacityType must be one of units, vcpu, memory-mib.")
		}
		n.capacityUnit = *u
	}
	return nil
}
