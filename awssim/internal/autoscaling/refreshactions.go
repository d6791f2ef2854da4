package autoscaling

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// refreshActions serves the actions on instance refreshes.
type refreshActions struct {
	region    *sim.Region
	kernel    *sim.Kernel
	alarms    map[string]AlarmState
	groups    *groups
	sources   *sources
	requests  *requests
	refreshes *refreshes
}

func (api *refreshActions) start(c *sim.Call, in *autoscaling.StartInstanceRefreshInput) (*autoscaling.StartInstanceRefreshOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if g.refresh != nil {
		return nil, sim.Errorf(codeRefreshInProgress, "An Instance Refresh is already in progress and blocks the execution of this Instance Refresh.")
	}
	if v := in.Strategy; v != "" && !slices.Contains(v.Values(), v) {
		return nil, notInEnum("strategy", v, v.Values())
	}
	prefs, err := resolvePreferences(in.Preferences, groupDefaults{policy: g.maintenance, warmup: g.warmup, healthCheckWait: g.healthCheckWait})
	if err != nil {
		return nil, err
	}
	desired, err := api.desiredConfiguration(g, in.DesiredConfiguration)
	if err != nil {
		return nil, err
	}
	if err := api.checkRefresh(g, prefs, desired); err != nil {
		return nil, err
	}
	if in.Strategy == types.RefreshStrategyReplaceRootVolume {
		if err := api.checkRootVolumes(g, desired); err != nil {
			return nil, err
		}
	}
	g.refresh = &refresh{
		strategy: cmp.Or(in.Strategy, types.RefreshStrategyRolling),
		id:       api.kernel.NewUUID(), status: types.InstanceRefreshStatusPending, started: c.Now, prefs: prefs, desired: desired,
		startSequence: g.launches, remaining: len(list.Filter(g.members, func(m *member) bool { return m.counts() })),
	}
	if desired != nil {
		g.refresh.asked = &types.DesiredConfiguration{LaunchTemplate: desired.template, MixedInstancesPolicy: desired.mixed}
	}
	id := g.refresh.id
	api.groups.changed(g)
	return &autoscaling.StartInstanceRefreshOutput{InstanceRefreshId: ptr(id)}, nil
}

func (api *refreshActions) cancel(c *sim.Call, in *autoscaling.CancelInstanceRefreshInput) (*autoscaling.CancelInstanceRefreshOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	r := g.refresh
	wait := valOr(in.WaitForTransitioningInstances, true)
	if r == nil || wait && r.status == types.InstanceRefreshStatusCancelling {
		return nil, noActiveRefresh(g)
	}
	if wait {
		r.status, r.reason = types.InstanceRefreshStatusCancelling, "Cancelled due to user request."
	} else {
		api.refreshes.finish(g, types.InstanceRefreshStatusCancelled, "Cancelled due to user request.")
	}
	api.groups.changed(g)
	return &autoscaling.CancelInstanceRefreshOutput{InstanceRefreshId: ptr(r.id)}, nil
}

func noActiveRefresh(g *group) error {
	return sim.Errorf(codeNoActiveRefresh, "No in progress or pending Instance Refresh found for Auto Scaling group %s", g.name)
}

func (api *refreshActions) rollback(c *sim.Call, in *autoscaling.RollbackInstanceRefreshInput) (*autoscaling.RollbackInstanceRefreshOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	r := g.refresh
	switch {
	case r == nil:
		return nil, noActiveRefresh(g)
	case r.status == types.InstanceRefreshStatusCancelling || r.rollback != nil:
		return nil, sim.Errorf(codeIrreversibleRefresh, "The instance refresh %s is in status %s and cannot be rolled back.", r.id, r.status)
	case r.desired == nil:
		return nil, sim.Errorf(codeIrreversibleRefresh, "The instance refresh %s has no desired configuration and cannot be rolled back.", r.id)
	case !numbered(g.config):
		return nil, sim.Errorf(codeIrreversibleRefresh, "The Auto Scaling group uses the $Latest or $Default launch template version: the instance refresh cannot be rolled back.")
	case api.sources.usesParameterImage(g.config):
		return nil, sim.Errorf(codeIrreversibleRefresh, "The launch template of the Auto Scaling group uses an AWS Systems Manager parameter: the instance refresh cannot be rolled back.")
	}
	api.refreshes.beginRollback(g, "Manual rollback due to user request.")
	api.groups.changed(g)
	return &autoscaling.RollbackInstanceRefreshOutput{InstanceRefreshId: ptr(r.id)}, nil
}

func (api *refreshActions) describe(c *sim.Call,
	in *autoscaling.DescribeInstanceRefreshesInput) (*autoscaling.DescribeInstanceRefreshesOutput, error) {
	if _, err := api.groups.visible(in.AutoScalingGroupName); err != nil {
		return nil, err
	}
	found := list.Filter(api.groups.refreshes.VisibleAll(), func(r *types.InstanceRefresh) bool {
		return *r.AutoScalingGroupName == *in.AutoScalingGroupName && c.Now.Sub(*r.StartTime) < keptFor &&
			(len(in.InstanceRefreshIds) == 0 || slices.Contains(in.InstanceRefreshIds, *r.InstanceRefreshId))
	})
	slices.Reverse(found) // newest first (SDK DescribeInstanceRefreshesOutput)
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, 100, func(r *types.InstanceRefresh) string { return *r.InstanceRefreshId })
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeInstanceRefreshesOutput{NextToken: next}
	for _, r := range page {
		out.InstanceRefreshes = append(out.InstanceRefreshes, *r)
	}
	return out, nil
}
