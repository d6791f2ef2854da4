package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
	"github.com/slipway-project/slipway/awssim/internal/autoscaling/scalein"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// requests turns what callers ask of a group into its settings, and refuses what the group could
// not launch with.
type requests struct {
	region         *sim.Region
	kernel         *sim.Kernel
	configurations configurations
	compute        compute
	sources        *sources
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

// defaultSettings returns the settings of a new group before its own are applied.
func defaultSettings(account *sim.Account) settings {
	return settings{
		capacityUnit: allocation.CapacityTypeUnits, cooldown: defaultCooldown, healthCheckType: "EC2", policies: []string{scalein.PolicyDefault},
		serviceLinkedRole: linkedRoleARN(account),
		deletion:          types.DeletionProtectionNone,
		// AWS returns these for groups that do not set them (cloud-custodian, recordings of
		// test_asg_suspend_force of 2026).
		reservation: &types.CapacityReservationSpecification{CapacityReservationPreference: types.CapacityReservationPreferenceDefault},
		lifecycle:   &types.InstanceLifecyclePolicy{RetentionTriggers: &types.RetentionTriggers{TerminateHookAbandon: types.RetentionActionTerminate}},
	}
}

// apply returns the settings with the values of the input applied; settings that the input leaves
// out do not change (SDK UpdateAutoScalingGroup).
func (r *requests) apply(old settings, in *autoscaling.UpdateAutoScalingGroupInput) (settings, error) {
	n := old
	if err := n.applySizes(in); err != nil {
		return n, err
	}
	if err := r.applyNetwork(&n, in); err != nil {
		return n, err
	}
	if err := n.applyHealth(in); err != nil {
		return n, err
	}
	if err := n.applyPolicies(in); err != nil {
		return n, err
	}
	if err := checkServiceLinkedRole(r.region.Account, in.ServiceLinkedRoleARN); err != nil {
		return n, err
	}
	config, err := r.applyConfiguration(old.config, in.LaunchTemplate, in.MixedInstancesPolicy, in.LaunchConfigurationName)
	if err != nil {
		return n, err
	}
	n.config = config
	return n, n.check(r.sources.attributeBased(config))
}

// checkServiceLinkedRole refuses a role that is none of Auto Scaling's in the account.
// AWSServiceRoleForAutoScaling is created where there is none (UG autoscaling-service-linked-role).
// The words are remembered from reports of users; no page has them.
func checkServiceLinkedRole(account *sim.Account, arn *string) error {
	if arn == nil {
		return nil
	}
	role, exists := iam.FindRole(account, (*arn)[strings.LastIndex(*arn, "/")+1:])
	if *arn == linkedRoleARN(account) || exists && role.ARN == *arn && role.Path == "/aws-service-role/"+linkedService+"/" {
		return nil
	}
	return invalid("ARN specified for Service-Linked Role does not exist.")
}

// linkedRoleARN is the ARN of the role that groups have by default.
func linkedRoleARN(account *sim.Account) string {
	return "arn:aws:iam::" + account.ID + ":role/aws-service-role/" + linkedService + "/" + linkedRole
}

// applyNetwork sets zones and subnets. Subnets bring their zones with them.
func (r *requests) applyNetwork(n *settings, in *autoscaling.UpdateAutoScalingGroupInput) error {
	if len(in.AvailabilityZones) > 0 && len(in.AvailabilityZoneIds) > 0 {
		return invalid("You cannot specify both AvailabilityZones and AvailabilityZoneIds in the same request.")
	}
	zones, err := zoneNames(r.region.World(), in.AvailabilityZones, in.AvailabilityZoneIds)
	if err != nil {
		return err
	}
	var subnets []subnetPlace
	if in.VPCZoneIdentifier != nil && strings.TrimSpace(*in.VPCZoneIdentifier) != "" {
		if subnets, err = r.compute.subnetPlaces(*in.VPCZoneIdentifier); err != nil {
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
		n.subnets = list.Filter(n.subnets, func(p subnetPlace) bool { return slices.Contains(zones, p.zone) })
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
func zoneNames(w *world.Region, names, ids []string) ([]string, error) {
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

// checkUpdate refuses settings that the group could not launch with, or not prepare in its warm pool.
func (r *requests) checkUpdate(g *group, n *settings) error {
	if err := r.checkLaunchable(n); err != nil {
		return err
	}
	if g.warm != nil {
		return r.checkWarmPool(n.config, g.warm.state)
	}
	return nil
}
