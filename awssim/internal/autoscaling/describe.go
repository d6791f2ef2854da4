package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// statusDeleting is the Status of a group whose deletion has begun (SDK types.AutoScalingGroup.Status).
const statusDeleting = "Delete in progress"

// publish shows what the group is now to Describe actions.
func (s *service) publish(g *group) {
	if g.gone {
		return
	}
	v := &groupView{group: g.describe(s)}
	for _, m := range g.members {
		if m.warmed() {
			v.warm = append(v.warm, m.describe(s))
		} else {
			v.group.Instances = append(v.group.Instances, m.describe(s))
		}
	}
	if g.warm != nil {
		v.group.WarmPoolConfiguration = g.warm.describe()
		v.group.WarmPoolSize = number(len(v.warm))
	}
	for _, h := range g.hooks {
		v.hooks = append(v.hooks, types.LifecycleHook{
			AutoScalingGroupName: ptr(g.name), LifecycleHookName: ptr(h.name), LifecycleTransition: ptr(h.transition),
			DefaultResult: ptr(h.result), HeartbeatTimeout: ptr(h.heartbeat), GlobalTimeout: ptr(h.globalTimeout()),
			NotificationMetadata: optional(h.metadata), NotificationTargetARN: optional(h.target), RoleARN: optional(h.role),
		})
	}
	v.scaling, v.scheduled, v.notifications = g.scaling, g.describeScheduled(), g.notifications
	s.views.Put(g.name, v)
	if g.refresh != nil {
		s.refreshes.Put(g.refresh.id, g.refresh.describe(g))
	}
	s.tellWatchers(g)
}

func (g *group) describe(s *service) types.AutoScalingGroup {
	d := types.AutoScalingGroup{
		AutoScalingGroupName: ptr(g.name), AutoScalingGroupARN: ptr(g.arn), CreatedTime: ptr(g.created),
		MinSize: number(g.min), MaxSize: number(g.max), DesiredCapacity: number(g.desired),
		DefaultCooldown: ptr(g.cooldown), DefaultInstanceWarmup: g.warmup, AvailabilityZones: g.zones,
		HealthCheckType: ptr(g.healthCheckType), HealthCheckGracePeriod: ptr(g.healthCheckWait), LaunchTemplate: g.config.template,
		LaunchConfigurationName: optional(g.config.launchConfiguration),
		MixedInstancesPolicy:    g.config.mixed, NewInstancesProtectedFromScaleIn: ptr(g.protectNew), TerminationPolicies: g.policies,
		MaxInstanceLifetime: g.maxLifetime, CapacityRebalance: g.capacityRebalance, PlacementGroup: optional(g.placementGroup),
		Context: optional(g.context), ServiceLinkedRoleARN: ptr(g.serviceLinkedRole), DeletionProtection: g.deletion,
		InstanceMaintenancePolicy: g.maintenance, AvailabilityZoneDistribution: g.distribution, AvailabilityZoneImpairmentPolicy: g.impairment,
		CapacityReservationSpecification: g.reservation, InstanceLifecyclePolicy: g.lifecycle, Operator: g.operator,
		EnabledMetrics: g.metrics, SuspendedProcesses: g.suspended, Tags: slices.Clone(g.tags), LoadBalancerNames: g.attached.loadBalancers,
		TargetGroupARNs: g.attached.targetGroups, TrafficSources: g.attached.trafficSources,
	}
	for _, z := range g.zones {
		if zone := s.region.World().Zone(z); zone != nil {
			d.AvailabilityZoneIds = append(d.AvailabilityZoneIds, zone.ID)
		}
	}
	ids := make([]string, len(g.subnets))
	for i, p := range g.subnets {
		ids[i] = p.id
	}
	d.VPCZoneIdentifier = ptr(strings.Join(ids, ","))
	if g.capacityUnit != capacityTypeUnits {
		d.DesiredCapacityType = ptr(g.capacityUnit)
	}
	if d.AvailabilityZoneDistribution == nil {
		d.AvailabilityZoneDistribution = &types.AvailabilityZoneDistribution{
			CapacityDistributionStrategy: types.CapacityDistributionStrategyBalancedBestEffort,
		}
	}
	if g.deleting {
		d.Status = ptr(statusDeleting)
	}
	return d
}

func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (m *member) describe(s *service) types.Instance {
	health := "Healthy"
	if m.sick != "" {
		health = "Unhealthy"
	}
	return types.Instance{
		InstanceId: ptr(m.id), AvailabilityZone: ptr(m.zone), AvailabilityZoneId: optional(m.zoneID), InstanceType: ptr(m.instanceType),
		LifecycleState: m.state, HealthStatus: ptr(health), ProtectedFromScaleIn: ptr(m.protected), LaunchTemplate: m.template,
		LaunchConfigurationName: s.nameOf(m.configuration), WeightedCapacity: optional(m.weight), ImageId: optional(m.imageID),
	}
}

// visible returns the group as Describe actions see it now.
func (s *service) visible(name *string) (*groupView, error) {
	if val(name) == "" {
		return nil, required("autoScalingGroupName")
	}
	v, ok := s.views.Visible(*name)
	if !ok {
		return nil, groupNotFound(*name)
	}
	return v, nil
}

func (s *service) describeAutoScalingGroups(_ *sim.Call,
	in *autoscaling.DescribeAutoScalingGroupsInput) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	size := valOr(in.MaxRecords, 50)
	if len(in.AutoScalingGroupNames) > max(50, int(min(size, maxDescribeGroups))) {
		// SDK DescribeAutoScalingGroupsInput
		return nil, invalid("You can specify a maximum of %d group names.", max(50, size))
	}
	if err := validGroupFilters(in.Filters); err != nil {
		return nil, err
	}
	found := filter(s.views.VisibleAll(), func(v *groupView) bool {
		return (len(in.AutoScalingGroupNames) == 0 || slices.Contains(in.AutoScalingGroupNames, *v.group.AutoScalingGroupName)) &&
			matchesFilters(v.group.Tags, in.Filters)
	})
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, maxDescribeGroups, func(v *groupView) string { return *v.group.AutoScalingGroupName })
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeAutoScalingGroupsOutput{AutoScalingGroups: []types.AutoScalingGroup{}, NextToken: next}
	for _, v := range page {
		g := v.group
		if !valOr(in.IncludeInstances, true) {
			g.Instances = []types.Instance{}
		}
		out.AutoScalingGroups = append(out.AutoScalingGroups, g)
	}
	return out, nil
}

// validGroupFilters: groups can be filtered by their tags (API DescribeAutoScalingGroups, Filter).
func validGroupFilters(filters []types.Filter) error {
	for _, f := range filters {
		if n := val(f.Name); n != "tag-key" && n != "tag-value" && !strings.HasPrefix(n, "tag:") {
			return invalid("Filter type %s is not correct. Allowed Filter types are: tag-key tag-value tag:<key>", n)
		}
	}
	return nil
}

func matchesFilters(tags []types.TagDescription, filters []types.Filter) bool {
	for _, f := range filters {
		name := val(f.Name)
		key, byKey := strings.CutPrefix(name, "tag:")
		matches := slices.ContainsFunc(tags, func(t types.TagDescription) bool {
			switch {
			case byKey:
				return val(t.Key) == key && slices.Contains(f.Values, val(t.Value))
			case name == "tag-key":
				return slices.Contains(f.Values, val(t.Key))
			default:
				return slices.Contains(f.Values, val(t.Value))
			}
		})
		if !matches {
			return false
		}
	}
	return true
}

func (s *service) describeAutoScalingInstances(_ *sim.Call,
	in *autoscaling.DescribeAutoScalingInstancesInput) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	if len(in.InstanceIds) > 50 {
		return nil, invalid("You can specify a maximum of 50 instance IDs.")
	}
	var found []types.AutoScalingInstanceDetails
	for _, v := range s.views.VisibleAll() {
		for _, i := range slices.Concat(v.group.Instances, v.warm) {
			if len(in.InstanceIds) > 0 && !slices.Contains(in.InstanceIds, *i.InstanceId) {
				continue
			}
			health := "HEALTHY" // this action writes it in capitals (API AutoScalingInstanceDetails)
			if *i.HealthStatus != "Healthy" {
				health = "UNHEALTHY"
			}
			found = append(found, types.AutoScalingInstanceDetails{
				AutoScalingGroupName: v.group.AutoScalingGroupName, InstanceId: i.InstanceId, AvailabilityZone: i.AvailabilityZone,
				AvailabilityZoneId: i.AvailabilityZoneId, InstanceType: i.InstanceType, LifecycleState: ptr(string(i.LifecycleState)),
				HealthStatus: ptr(health), ProtectedFromScaleIn: i.ProtectedFromScaleIn, LaunchTemplate: i.LaunchTemplate,
				LaunchConfigurationName: i.LaunchConfigurationName, WeightedCapacity: i.WeightedCapacity, ImageId: i.ImageId,
			})
		}
	}
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, 50, func(i types.AutoScalingInstanceDetails) string { return *i.InstanceId })
	if err != nil {
		return nil, err
	}
	return &autoscaling.DescribeAutoScalingInstancesOutput{AutoScalingInstances: page, NextToken: next}, nil
}
