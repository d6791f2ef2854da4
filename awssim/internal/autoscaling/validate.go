package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
	"github.com/slipway-project/slipway/awssim/internal/autoscaling/scalein"
)

// Limits on groups (UG ec2-auto-scaling-quotas; SDK CreateAutoScalingGroupInput; API model for lengths).
const (
	defaultMaxGroups    = 500
	maxHooks            = 50
	maxTags             = 50
	maxNameLength       = 255
	minInstanceLifetime = 86_400
	maxTargetGroups     = 50
	// Attaching and detaching take fewer at once.
	maxTargetGroupsPerCall = 10
	maxVPCLatticeTargets   = 5
	maxDescribeGroups      = 100
	maxPlacementGroupName  = 255
)

// validateName checks the name of a new group: printable ASCII without a colon (SDK
// CreateAutoScalingGroupInput.AutoScalingGroupName).
func validateName(name *string) error {
	n := val(name)
	if n == "" {
		return required("autoScalingGroupName")
	}
	if len(n) > maxNameLength {
		return constraint(n, "autoScalingGroupName", "Member must have length less than or equal to 255")
	}
	for _, r := range n {
		if r < 33 || r > 126 || r == ':' {
			return invalid("AutoScalingGroupName %q contains invalid characters: it may contain ASCII characters 33 to 126 except ':'.", n)
		}
	}
	return nil
}

// applyHealth sets what has to do with health and age.
func (n *settings) applyHealth(in *autoscaling.UpdateAutoScalingGroupInput) error {
	if in.HealthCheckType != nil {
		for _, part := range strings.Split(*in.HealthCheckType, ",") {
			if !slices.Contains([]string{"EC2", "EBS", "ELB", "VPC_LATTICE"}, strings.TrimSpace(part)) {
				return invalid("Invalid health check type: %s. Valid types are: EC2, EBS, ELB, VPC_LATTICE", part)
			}
		}
		n.healthCheckType = *in.HealthCheckType
	}
	if g := in.HealthCheckGracePeriod; g != nil && *g < 0 {
		return invalid("Health check grace period must be greater than or equal to 0.")
	}
	set(&n.healthCheckWait, in.HealthCheckGracePeriod)
	if c := in.DefaultCooldown; c != nil && *c < 0 {
		return invalid("Default cooldown must be greater than or equal to 0.")
	}
	set(&n.cooldown, in.DefaultCooldown)
	if err := n.applyTimes(in.DefaultInstanceWarmup, in.MaxInstanceLifetime); err != nil {
		return err
	}
	return n.applyMaintenance(in.InstanceMaintenancePolicy)
}

// applyTimes sets the default warmup, which -1 takes back, and the longest life of an instance,
// which 0 takes back.
func (n *settings) applyTimes(warmup, lifetime *int32) error {
	if warmup != nil {
		if *warmup < -1 {
			return invalid("Default instance warmup must be greater than or equal to 0, or -1 to remove it.")
		}
		n.warmup = warmup
		if *warmup == -1 {
			n.warmup = nil
		}
	}
	if lifetime != nil {
		if *lifetime != 0 && *lifetime < minInstanceLifetime {
			return invalid("Max instance lifetime must be 0 or at least %d seconds.", minInstanceLifetime)
		}
		n.maxLifetime = lifetime
		if *lifetime == 0 {
			n.maxLifetime = nil
		}
	}
	return nil
}

// applyMaintenance sets or clears the instance maintenance policy (SDK InstanceMaintenancePolicy).
func (n *settings) applyMaintenance(p *types.InstanceMaintenancePolicy) error {
	if p == nil {
		return nil
	}
	if p.MinHealthyPercentage == nil || p.MaxHealthyPercentage == nil {
		return invalid("Both MinHealthyPercentage and MaxHealthyPercentage must be specified in an instance maintenance policy.")
	}
	low, high := *p.MinHealthyPercentage, *p.MaxHealthyPercentage
	if low == -1 && high == -1 {
		n.maintenance = nil
		return nil
	}
	if low == -1 || high == -1 {
		return invalid("To clear an instance maintenance policy, both MinHealthyPercentage and MaxHealthyPercentage must be -1.")
	}
	if err := validateHealthyRange(&low, &high); err != nil {
		return err
	}
	n.maintenance = p
	return nil
}

// applyPolicies sets the rest: who terminates, where capacity goes, what is protected.
func (n *settings) applyPolicies(in *autoscaling.UpdateAutoScalingGroupInput) error {
	for _, p := range in.TerminationPolicies {
		if !slices.Contains(scalein.Policies, p) && !strings.HasPrefix(p, "arn:aws:lambda:") {
			return invalid("Invalid termination policy: %s", p)
		}
	}
	if len(in.TerminationPolicies) > 0 {
		n.policies = in.TerminationPolicies
	}
	if d := in.DeletionProtection; d != "" {
		if !slices.Contains(d.Values(), d) {
			return notInEnum("deletionProtection", d, d.Values())
		}
		n.deletion = d
	}
	if p := in.PlacementGroup; p != nil && len(*p) > maxPlacementGroupName {
		return constraint(*p, "placementGroup", "Member must have length less than or equal to 255")
	}
	set(&n.placementGroup, in.PlacementGroup)
	set(&n.context, in.Context)
	set(&n.serviceLinkedRole, in.ServiceLinkedRoleARN)
	set(&n.protectNew, in.NewInstancesProtectedFromScaleIn)
	if in.CapacityRebalance != nil {
		n.capacityRebalance = in.CapacityRebalance
	}
	return n.applyZonePolicies(in)
}

func (n *settings) applyZonePolicies(in *autoscaling.UpdateAutoScalingGroupInput) error {
	if d := in.AvailabilityZoneDistribution; d != nil {
		if v := d.CapacityDistributionStrategy; v != "" && !slices.Contains(v.Values(), v) {
			return notInEnum("availabilityZoneDistribution.capacityDistributionStrategy", v, v.Values())
		}
		n.distribution = d
	}
	if p := in.AvailabilityZoneImpairmentPolicy; p != nil {
		if v := p.ImpairedZoneHealthCheckBehavior; v != "" && !slices.Contains(v.Values(), v) {
			return notInEnum("availabilityZoneImpairmentPolicy.impairedZoneHealthCheckBehavior", v, v.Values())
		}
		if val(p.ZonalShiftEnabled) && p.ImpairedZoneHealthCheckBehavior == "" {
			return invalid("ImpairedZoneHealthCheckBehavior is required when ZonalShiftEnabled is true.")
		}
		n.impairment = p
	}
	if r := in.CapacityReservationSpecification; r != nil {
		if v := r.CapacityReservationPreference; v != "" && !slices.Contains(v.Values(), v) {
			return notInEnum("capacityReservationSpecification.capacityReservationPreference", v, v.Values())
		}
		n.reservation = r
	}
	return n.applyLifecycle(in.InstanceLifecyclePolicy)
}

func (n *settings) applyLifecycle(l *types.InstanceLifecyclePolicy) error {
	if l == nil {
		return nil
	}
	if t := l.RetentionTriggers; t != nil {
		if v := t.TerminateHookAbandon; v != "" && !slices.Contains(v.Values(), v) {
			return notInEnum("instanceLifecyclePolicy.retentionTriggers.terminateHookAbandon", v, v.Values())
		}
	}
	n.lifecycle = l
	return nil
}

// check refuses combinations that no single member shows.
func (n *settings) check(attributeBased bool) error {
	if n.capacityUnit != allocation.CapacityTypeUnits && !attributeBased {
		return invalid("DesiredCapacityType is supported for attribute-based instance type selection only.")
	}
	if len(n.config.segments()) > 0 && (n.reservation == nil || n.reservation.CapacityReservationTarget == nil ||
		len(n.reservation.CapacityReservationTarget.CapacityReservationResourceGroupArns) == 0) {
		return invalid("Distribution segments require a Capacity Reservation resource group as the capacity reservation target.")
	}
	if d := n.distribution; d != nil && d.CapacityDistributionStrategy == types.CapacityDistributionStrategyReservationsThenBalanced {
		if n.reservation == nil || n.reservation.CapacityReservationTarget == nil {
			// SDK CapacityDistributionStrategy
			return invalid("The reservations-then-balanced strategy requires a capacity reservation target.")
		}
	}
	return nil
}

// validateTags checks the tags of a group (reference 1.2; SDK Tag).
func validateTags(tags []types.Tag, group string) error {
	seen := map[string]bool{}
	for _, t := range tags {
		key := val(t.Key)
		switch {
		case key == "" || len(key) > 128:
			return constraint(key, "tags.member.key", "Member must have length between 1 and 128")
		case len(val(t.Value)) > 256:
			return constraint(val(t.Value), "tags.member.value", "Member must have length less than or equal to 256")
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return invalid("Tag keys beginning with aws: are reserved for system use: %s", key)
		case t.ResourceType != nil && *t.ResourceType != "auto-scaling-group":
			return invalid("Invalid tag resource type: %s. The only supported value is auto-scaling-group.", *t.ResourceType)
		case group != "" && t.ResourceId != nil && *t.ResourceId != group:
			return invalid("The resource id %s of tag %s is not the group %s", *t.ResourceId, key, group)
		case seen[val(t.ResourceId)+"\x00"+key]:
			return invalid("Duplicate tag keys are not allowed: %s", key)
		}
		seen[val(t.ResourceId)+"\x00"+key] = true
	}
	return nil
}
