package autoscaling

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
)

// statusDeleting is the Status of a group whose deletion has begun (SDK types.AutoScalingGroup.Status).
const statusDeleting = "Delete in progress"

// publish shows what the group is now to Describe actions.
func (gs *groups) publish(g *group) {
	if g.gone {
		return
	}
	now := gs.now(g)
	v := &groupView{group: now.AutoScalingGroup, warm: now.Warm}
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
	v.scaling, v.scheduled, v.notifications = g.scaling, describeScheduled(g), g.notifications
	gs.views.Put(g.name, v)
	if g.refresh != nil {
		gs.refreshes.Put(g.refresh.id, g.refresh.describe(g.name, g.warm != nil))
	}
	gs.notify(g)
}

func (gs *groups) describe(g *group) types.AutoScalingGroup {
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
		if zone := gs.region.World().Zone(z); zone != nil {
			d.AvailabilityZoneIds = append(d.AvailabilityZoneIds, zone.ID)
		}
	}
	ids := make([]string, len(g.subnets))
	for i, p := range g.subnets {
		ids[i] = p.id
	}
	d.VPCZoneIdentifier = ptr(strings.Join(ids, ","))
	if g.capacityUnit != allocation.CapacityTypeUnits {
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

func (gs *groups) describeInstance(m *member) types.Instance {
	health := "Healthy"
	if m.sick != "" {
		health = "Unhealthy"
	}
	return types.Instance{
		InstanceId: ptr(m.id), AvailabilityZone: ptr(m.zone), AvailabilityZoneId: optional(m.zoneID), InstanceType: ptr(m.instanceType),
		LifecycleState: m.state, HealthStatus: ptr(health), ProtectedFromScaleIn: ptr(m.protected), LaunchTemplate: m.template,
		LaunchConfigurationName: gs.configurations.nameOf(m.configuration), WeightedCapacity: optional(m.weight), ImageId: optional(m.imageID),
	}
}

func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// visible returns the group as Describe actions see it now.
func (gs *groups) visible(name *string) (*groupView, error) {
	if val(name) == "" {
		return nil, required("autoScalingGroupName")
	}
	v, ok := gs.views.Visible(*name)
	if !ok {
		return nil, groupNotFound(*name)
	}
	return v, nil
}

// checkShown refuses the name of a group that is not there (seen of AWS; no page has it).
func (gs *groups) checkShown(name *string) error {
	if val(name) == "" {
		return nil
	}
	if _, there := gs.views.Visible(*name); !there {
		return invalid("Group %s not found", *name)
	}
	return nil
}

// describeScheduled returns the scheduled actions of a group as they are shown.
func describeScheduled(g *group) []types.ScheduledUpdateGroupAction {
	var all []types.ScheduledUpdateGroupAction
	for _, a := range g.scheduled {
		all = append(all, types.ScheduledUpdateGroupAction{
			AutoScalingGroupName: ptr(g.name), ScheduledActionName: ptr(a.name), ScheduledActionARN: ptr(a.arn), MinSize: a.min, MaxSize: a.max, DesiredCapacity: a.desired,
			StartTime: a.start, Time: a.start, EndTime: a.end, Recurrence: optional(a.recurrence), TimeZone: optional(a.zone),
		})
	}
	return all
}
