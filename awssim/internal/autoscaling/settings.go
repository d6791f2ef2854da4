package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/iam"
)

// Defaults of a group (SDK CreateAutoScalingGroupInput).
const (
	defaultCooldown    = 300
	capacityTypeUnits  = "units"
	capacityTypeVCPU   = "vcpu"
	capacityTypeMemory = "memory-mib"
)

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

// configuration is what a group launches: a launch template, a mixed instances policy, or the
// launch configuration of that name. It is never changed, only replaced.
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

// weighted reports whether instances count for more than one unit.
func (c configuration) weighted() bool {
	return slices.ContainsFunc(c.overrides(), func(o types.LaunchTemplateOverrides) bool { return o.WeightedCapacity != nil })
}

// fromCreate turns the settings of a new group into an update of the defaults, so that both are
// checked by the same code.
func fromCreate(in *autoscaling.CreateAutoScalingGroupInput) *autoscaling.UpdateAutoScalingGroupInput {
	return &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: in.AutoScalingGroupName, AvailabilityZoneDistribution: in.AvailabilityZoneDistribution,
		AvailabilityZoneIds: in.AvailabilityZoneIds, AvailabilityZoneImpairmentPolicy: in.AvailabilityZoneImpairmentPolicy,
		AvailabilityZones: in.AvailabilityZones, CapacityRebalance: in.CapacityRebalance,
		CapacityReservationSpecification: in.CapacityReservationSpecification, Context: in.Context, DefaultCooldown: in.DefaultCooldown,
		DefaultInstanceWarmup: in.DefaultInstanceWarmup, DeletionProtection: in.DeletionProtection, DesiredCapacity: in.DesiredCapacity,
		DesiredCapacityType: in.DesiredCapacityType, HealthCheckGracePeriod: in.HealthCheckGracePeriod, HealthCheckType: in.HealthCheckType,
		InstanceLifecyclePolicy: in.InstanceLifecyclePolicy, InstanceMaintenancePolicy: in.InstanceMaintenancePolicy,
		LaunchConfigurationName: in.LaunchConfigurationName, LaunchTemplate: in.LaunchTemplate, MaxInstanceLifetime: in.MaxInstanceLifetime,
		MaxSize: in.MaxSize, MinSize: in.MinSize, MixedInstancesPolicy: in.MixedInstancesPolicy,
		NewInstancesProtectedFromScaleIn: in.NewInstancesProtectedFromScaleIn, PlacementGroup: in.PlacementGroup,
		ServiceLinkedRoleARN: in.ServiceLinkedRoleARN, SkipZonalShiftValidation: in.SkipZonalShiftValidation,
		TerminationPolicies: in.TerminationPolicies, VPCZoneIdentifier: in.VPCZoneIdentifier,
	}
}

// defaults are the settings of a new group before its own are applied.
func (s *service) defaults() settings {
	return settings{
		capacityUnit: capacityTypeUnits, cooldown: defaultCooldown, healthCheckType: "EC2", policies: []string{policyDefault},
		serviceLinkedRole: s.linkedRoleARN(),
		deletion:          types.DeletionProtectionNone,
		// Shown of groups for which nobody set them (cloud-custodian, recordings of
		// test_asg_suspend_force of 2026).
		reservation: &types.CapacityReservationSpecification{CapacityReservationPreference: types.CapacityReservationPreferenceDefault},
		lifecycle:   &types.InstanceLifecyclePolicy{RetentionTriggers: &types.RetentionTriggers{TerminateHookAbandon: types.RetentionActionTerminate}},
	}
}

// apply returns the settings with those of the input in place; members that are not there stay as
// they were (SDK UpdateAutoScalingGroup).
func (s *service) apply(old settings, in *autoscaling.UpdateAutoScalingGroupInput) (settings, error) {
	n := old
	if err := n.applySizes(in); err != nil {
		return n, err
	}
	if err := s.applyNetwork(&n, in); err != nil {
		return n, err
	}
	if err := n.applyHealth(in); err != nil {
		return n, err
	}
	if err := n.applyPolicies(in); err != nil {
		return n, err
	}
	if err := s.checkServiceLinkedRole(in.ServiceLinkedRoleARN); err != nil {
		return n, err
	}
	config, err := s.applyConfiguration(old.config, in.LaunchTemplate, in.MixedInstancesPolicy, in.LaunchConfigurationName)
	if err != nil {
		return n, err
	}
	n.config = config
	return n, n.check(s.attributeBased(config))
}

// checkServiceLinkedRole refuses a role that is none of Auto Scaling's in the account.
// AWSServiceRoleForAutoScaling is created where there is none (UG autoscaling-service-linked-role).
// The words are remembered from reports of users; no page has them.
func (s *service) checkServiceLinkedRole(arn *string) error {
	if arn == nil {
		return nil
	}
	role, exists := iam.FindRole(s.region.Account, (*arn)[strings.LastIndex(*arn, "/")+1:])
	if *arn == s.linkedRoleARN() || exists && role.ARN == *arn && role.Path == "/aws-service-role/"+linkedService+"/" {
		return nil
	}
	return invalid("ARN specified for Service-Linked Role does not exist.")
}

// linkedRoleARN is the ARN of the role that groups have by default.
func (s *service) linkedRoleARN() string {
	return "arn:aws:iam::" + s.region.Account.ID + ":role/aws-service-role/" + linkedService + "/" + linkedRole
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
		if !slices.Contains([]string{capacityTypeUnits, capacityTypeVCPU, capacityTypeMemory}, *u) {
			return invalid("DesiredCapacityType must be one of units, vcpu, memory-mib.")
		}
		n.capacityUnit = *u
	}
	return nil
}

// applyNetwork sets zones and subnets. Subnets bring their zones with them.
func (s *service) applyNetwork(n *settings, in *autoscaling.UpdateAutoScalingGroupInput) error {
	if len(in.AvailabilityZones) > 0 && len(in.AvailabilityZoneIds) > 0 {
		return invalid("You cannot specify both AvailabilityZones and AvailabilityZoneIds in the same request.")
	}
	zones, err := s.zoneNames(in.AvailabilityZones, in.AvailabilityZoneIds)
	if err != nil {
		return err
	}
	var subnets []subnetPlace
	if in.VPCZoneIdentifier != nil && strings.TrimSpace(*in.VPCZoneIdentifier) != "" {
		if subnets, err = s.subnetPlaces(*in.VPCZoneIdentifier); err != nil {
			return err
		}
	}
	switch {
	case len(subnets) > 0:
		own := zonesOf(subnets)
		if len(zones) > 0 && !sameSet(zones, own) {
			return invalid("The availability zones of the specified subnets and the AutoScalingGroup do not match")
		}
		n.subnets, n.zones = subnets, own
	case len(zones) > 0:
		// Subnets in other zones go; a zone without a subnet is launched into by its default subnet
		// (API CreateAutoScalingGroup).
		n.zones = zones
		n.subnets = filter(n.subnets, func(p subnetPlace) bool { return slices.Contains(zones, p.zone) })
		if len(n.subnets) > 0 && !sameSet(zones, zonesOf(n.subnets)) {
			return invalid("The availability zones of the specified subnets and the AutoScalingGroup do not match")
		}
	}
	if len(n.zones) == 0 {
		return invalid("At least one Availability Zone or VPC Subnet is required.")
	}
	return nil
}

func zonesOf(subnets []subnetPlace) []string {
	var zones []string
	for _, p := range subnets {
		if !slices.Contains(zones, p.zone) {
			zones = append(zones, p.zone)
		}
	}
	slices.Sort(zones)
	return zones
}

func sameSet(a, b []string) bool {
	a, b = slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b)))
	return slices.Equal(a, b)
}

// zoneNames turns zone names or zone ids into names.
func (s *service) zoneNames(names, ids []string) ([]string, error) {
	w := s.region.World()
	zones := slices.Clone(names)
	for _, name := range names {
		if w.Zone(name) == nil {
			return nil, invalid("Invalid availability zones: [%s]", name)
		}
	}
	for _, id := range ids {
		found := ""
		for _, z := range w.Zones {
			if z.ID == id {
				found = z.Name
			}
		}
		if found == "" {
			return nil, invalid("Invalid availability zone IDs: [%s]", id)
		}
		zones = append(zones, found)
	}
	slices.Sort(zones)
	return slices.Compact(zones), nil
}

// subnetPlaces reads a VPCZoneIdentifier.
func (s *service) subnetPlaces(list string) ([]subnetPlace, error) {
	var places []subnetPlace
	vpc := ""
	for _, id := range strings.Split(list, ",") {
		id = strings.TrimSpace(id)
		subnet, ok := s.subnet(id)
		if !ok {
			return nil, invalid("The subnet ID '%s' does not exist", id)
		}
		if vpc != "" && subnet.vpc != vpc {
			return nil, invalid("Subnets must belong to a single VPC")
		}
		vpc = subnet.vpc
		p := subnetPlace{id: id, zone: subnet.zone}
		if slices.Contains(places, p) {
			return nil, invalid("VPCZoneIdentifier contains duplicate subnet %s", id)
		}
		places = append(places, p)
	}
	return places, nil
}
