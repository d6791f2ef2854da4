package autoscaling

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func (s *service) startInstanceRefresh(c *sim.Call, in *autoscaling.StartInstanceRefreshInput) (*autoscaling.StartInstanceRefreshOutput, error) {
	g, err := s.change(c, in.AutoScalingGroupName)
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
	desired, err := s.desiredConfiguration(g, in.DesiredConfiguration)
	if err != nil {
		return nil, err
	}
	if err := s.checkRefresh(g, prefs, desired); err != nil {
		return nil, err
	}
	if in.Strategy == types.RefreshStrategyReplaceRootVolume {
		if err := s.checkRootVolumes(g, desired); err != nil {
			return nil, err
		}
	}
	g.refresh = &refresh{
		strategy: cmp.Or(in.Strategy, types.RefreshStrategyRolling),
		id:       s.kernel.NewUUID(), status: types.InstanceRefreshStatusPending, started: c.Now, prefs: prefs, desired: desired,
		startSequence: g.launches, remaining: len(filter(g.members, func(m *member) bool { return m.counts() })),
	}
	if desired != nil {
		g.refresh.asked = &types.DesiredConfiguration{LaunchTemplate: desired.template, MixedInstancesPolicy: desired.mixed}
	}
	id := g.refresh.id
	s.changed(g)
	return &autoscaling.StartInstanceRefreshOutput{InstanceRefreshId: ptr(id)}, nil
}

// desiredConfiguration checks what a refresh should deploy as an update of the group would be checked.
func (s *service) desiredConfiguration(g *group, d *types.DesiredConfiguration) (*configuration, error) {
	if d == nil || d.LaunchTemplate == nil && d.MixedInstancesPolicy == nil {
		return nil, nil
	}
	config, err := s.applyConfiguration(g.config, d.LaunchTemplate, d.MixedInstancesPolicy, nil)
	if err != nil {
		return nil, err
	}
	n := g.settings
	n.config = config
	if err := s.checkUpdate(g, &n); err != nil {
		return nil, err
	}
	return &config, nil
}

// checkRefresh refuses preferences that the group, or what is to be deployed, does not allow
// (reference 2.4; UG instance-refresh-overview, instance-refresh-rollback,
// using-systems-manager-parameters).
func (s *service) checkRefresh(g *group, prefs preferences, desired *configuration) error {
	byAttributes := s.attributeBased(g.config) || desired != nil && s.attributeBased(*desired)
	switch {
	case byAttributes && desired != nil:
		return invalid("DesiredConfiguration is not supported for Auto Scaling groups that use attribute-based instance type selection.")
	case byAttributes && prefs.skipMatching:
		return invalid("SkipMatching is not supported for Auto Scaling groups that use attribute-based instance type selection.")
	case prefs.autoRollback && desired == nil:
		return invalid("AutoRollback requires a desired configuration.")
	}
	if err := s.checkParameterImages(g, prefs, desired); err != nil {
		return err
	}
	if prefs.autoRollback && !numbered(g.config) {
		return invalid("AutoRollback is not supported for Auto Scaling groups that use the $Latest or $Default launch template version.")
	}
	return s.checkAlarms(prefs)
}

// checkParameterImages refuses what needs an image id where a launch template has a parameter (UG
// using-systems-manager-parameters). An automatic rollback goes back to what the group names now,
// which must not name a parameter either (SDK RefreshPreferences.AutoRollback).
func (s *service) checkParameterImages(g *group, prefs preferences, desired *configuration) error {
	if desired != nil && s.usesParameterImage(*desired) || (prefs.skipMatching || prefs.autoRollback) && s.usesParameterImage(g.config) {
		return invalid("DesiredConfiguration, SkipMatching and AutoRollback are not supported with a launch template that uses an AWS Systems Manager parameter instead of an AMI ID.")
	}
	return nil
}

// numbered reports whether every launch template of a configuration is named with a version number.
// A launch configuration never changes.
func numbered(c configuration) bool {
	if c.launchConfiguration != "" {
		return true
	}
	isNumber := func(spec *types.LaunchTemplateSpecification) bool {
		_, err := strconv.Atoi(val(spec.Version))
		return err == nil
	}
	for _, o := range c.overrides() {
		if o.LaunchTemplateSpecification != nil && !isNumber(o.LaunchTemplateSpecification) {
			return false
		}
	}
	return isNumber(c.specification())
}

// usesParameterImage reports whether a template of the configuration names its image by a
// parameter. A template that is gone names none.
func (s *service) usesParameterImage(c configuration) bool {
	if c.launchConfiguration != "" {
		return false
	}
	specs := []*types.LaunchTemplateSpecification{c.specification()}
	for _, o := range c.overrides() {
		if o.LaunchTemplateSpecification != nil {
			specs = append(specs, o.LaunchTemplateSpecification)
		}
	}
	return slices.ContainsFunc(specs, func(spec *types.LaunchTemplateSpecification) bool {
		t, err := s.resolve(spec)
		return err == nil && parameterImage(t)
	})
}

func (s *service) cancelInstanceRefresh(c *sim.Call, in *autoscaling.CancelInstanceRefreshInput) (*autoscaling.CancelInstanceRefreshOutput, error) {
	g, err := s.change(c, in.AutoScalingGroupName)
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
		s.endRefresh(g, types.InstanceRefreshStatusCancelled, "Cancelled due to user request.")
	}
	s.changed(g)
	return &autoscaling.CancelInstanceRefreshOutput{InstanceRefreshId: ptr(r.id)}, nil
}

func noActiveRefresh(g *group) error {
	return sim.Errorf(codeNoActiveRefresh, "No in progress or pending Instance Refresh found for Auto Scaling group %s", g.name)
}

func (s *service) rollbackInstanceRefresh(c *sim.Call, in *autoscaling.RollbackInstanceRefreshInput) (*autoscaling.RollbackInstanceRefreshOutput, error) {
	g, err := s.change(c, in.AutoScalingGroupName)
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
	case s.usesParameterImage(g.config):
		return nil, sim.Errorf(codeIrreversibleRefresh, "The launch template of the Auto Scaling group uses an AWS Systems Manager parameter: the instance refresh cannot be rolled back.")
	}
	s.beginRollback(g, "Manual rollback due to user request.")
	s.changed(g)
	return &autoscaling.RollbackInstanceRefreshOutput{InstanceRefreshId: ptr(r.id)}, nil
}

func (s *service) describeInstanceRefreshes(c *sim.Call,
	in *autoscaling.DescribeInstanceRefreshesInput) (*autoscaling.DescribeInstanceRefreshesOutput, error) {
	if _, err := s.visible(in.AutoScalingGroupName); err != nil {
		return nil, err
	}
	found := filter(s.refreshes.VisibleAll(), func(r *types.InstanceRefresh) bool {
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

// describe returns the refresh as it is shown.
func (r *refresh) describe(g *group) *types.InstanceRefresh {
	d := &types.InstanceRefresh{
		AutoScalingGroupName: ptr(g.name), InstanceRefreshId: ptr(r.id), Status: r.status, StatusReason: optional(r.reason),
		StartTime: ptr(r.started), PercentageComplete: number(r.percent), InstancesToUpdate: number(r.remaining),
		Preferences: r.prefs.describe(), DesiredConfiguration: r.asked, RollbackDetails: r.rollback, Strategy: r.strategy,
		ProgressDetails: r.progressDetails(g),
	}
	if !r.ended.IsZero() {
		d.EndTime = ptr(r.ended)
	}
	return d
}

// progressDetails tells the live group and the warm pool apart; a group without a warm pool shows
// none (SDK InstanceRefresh).
func (r *refresh) progressDetails(g *group) *types.InstanceRefreshProgressDetails {
	if g.warm == nil {
		return nil
	}
	return &types.InstanceRefreshProgressDetails{
		LivePoolProgress: &types.InstanceRefreshLivePoolProgress{InstancesToUpdate: number(r.remaining), PercentageComplete: number(r.percent)},
		WarmPoolProgress: &types.InstanceRefreshWarmPoolProgress{InstancesToUpdate: number(r.warmRemaining), PercentageComplete: number(r.warmPercent)},
	}
}
