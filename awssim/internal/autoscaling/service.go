package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// service is Auto Scaling in one account and Region.
type service struct {
	groups         *groups
	activities     *activityLog
	configurations configurations
	alarms         map[string]AlarmState
	// ownZoneOnly are target groups whose load balancers send no traffic to other zones.
	ownZoneOnly map[string]bool
	permissions *permissions

	attachmentActions    *attachmentActions
	configurationActions *configurationActions
	describeActions      *describeActions
	groupActions         *groupActions
	hookActions          *hookActions
	instanceActions      *instanceActions
	notificationActions  *notificationActions
	policyActions        *policyActions
	processActions       *processActions
	refreshActions       *refreshActions
	scheduleActions      *scheduleActions
	tagActions           *tagActions
	warmPoolActions      *warmPoolActions
}

// regional returns the state of a Region, which is empty at first: worlds hold no groups.
func regional(r *sim.Region) *service { return sim.Store(r, newService) }

// newService connects the parts of the service. Each part knows only parts that are created before
// it, with one exception: a change of a group runs the reconciler.
func newService(region *sim.Region) *service {
	k := region.Kernel()
	s := &service{alarms: map[string]AlarmState{}, ownZoneOnly: map[string]bool{}}
	s.configurations = configurations{sim.NewTable[*types.LaunchConfiguration](k)}
	s.groups = newGroups(region, s.configurations)
	s.activities = &activityLog{region: region, kernel: k, table: sim.NewTable[*types.Activity](k)}

	compute, sources := compute{region}, &sources{region: region, configurations: s.configurations}
	lifecycle := &lifecycle{region: region, kernel: k, groups: s.groups, activities: s.activities, compute: compute}
	planner := &launchPlanner{region: region, kernel: k, compute: compute, sources: sources}
	launcher := &launcher{
		region: region, kernel: k, groups: s.groups, activities: s.activities, compute: compute, planner: planner, lifecycle: lifecycle,
	}
	scaler := &scaler{kernel: k, activities: s.activities, sources: sources, lifecycle: lifecycle, launcher: launcher}
	warmPools := &warmPools{kernel: k, sources: sources, lifecycle: lifecycle, launcher: launcher}
	refreshes := &refreshes{
		region: region, kernel: k, alarms: s.alarms, groups: s.groups, sources: sources, scaler: scaler, warmPools: warmPools,
	}
	reconciler := &reconciler{
		kernel: k, groups: s.groups, compute: compute, lifecycle: lifecycle, scaler: scaler, warmPools: warmPools, refreshes: refreshes,
	}
	s.groups.reconcile = reconciler.reconcile
	ec2.OnInstanceChange(region, s.groups.instanceChanged)

	s.addActions(region, compute, sources, lifecycle, refreshes)
	return s
}

// addActions adds what calls reach.
func (s *service) addActions(region *sim.Region, compute compute, sources *sources, lifecycle *lifecycle, refreshes *refreshes) {
	k := region.Kernel()
	requests := &requests{region: region, kernel: k, configurations: s.configurations, compute: compute, sources: sources}
	s.attachmentActions = &attachmentActions{ownZoneOnly: s.ownZoneOnly, groups: s.groups}
	s.configurationActions = &configurationActions{region: region, kernel: k, groups: s.groups, configurations: s.configurations}
	s.describeActions = &describeActions{groups: s.groups, activities: s.activities}
	s.groupActions = &groupActions{
		region: region, kernel: k, ownZoneOnly: s.ownZoneOnly, groups: s.groups, configurations: s.configurations,
		requests: requests, refreshes: refreshes, configurationActions: s.configurationActions,
	}
	s.hookActions = &hookActions{kernel: k, groups: s.groups}
	s.instanceActions = &instanceActions{
		region: region, kernel: k, groups: s.groups, activities: s.activities, sources: sources, lifecycle: lifecycle,
	}
	s.notificationActions = &notificationActions{s.groups}
	s.policyActions = &policyActions{region: region, kernel: k, groups: s.groups}
	s.processActions = &processActions{s.groups}
	s.refreshActions = &refreshActions{
		region: region, kernel: k, alarms: s.alarms, groups: s.groups, sources: sources, requests: requests, refreshes: refreshes,
	}
	s.scheduleActions = &scheduleActions{region: region, kernel: k, groups: s.groups, activities: s.activities}
	s.tagActions = &tagActions{s.groups}
	s.warmPoolActions = &warmPoolActions{groups: s.groups, requests: requests, lifecycle: lifecycle}
	s.permissions = &permissions{
		region: region, groups: s.groups, compute: compute, configurations: s.configurations, configurationActions: s.configurationActions,
	}
}
