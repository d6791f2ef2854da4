package autoscaling

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

func (s *service) createAutoScalingGroup(c *sim.Call, in *autoscaling.CreateAutoScalingGroupInput) (*autoscaling.CreateAutoScalingGroupOutput, error) {
	if err := s.checkNew(in); err != nil {
		return nil, err
	}
	in, configuration, err := s.fromInstance(c, in)
	if err != nil {
		return nil, err
	}
	if configuration != nil {
		s.configurations.Put(*configuration.LaunchConfigurationName, configuration)
	}
	g, err := s.newGroup(c, in)
	if err != nil {
		if configuration != nil {
			s.configurations.Delete(*configuration.LaunchConfigurationName)
		}
		return nil, err
	}
	s.groups[g.name] = g
	s.order = append(s.order, g)
	s.changed(g)
	iam.EnsureServiceLinkedRole(c.Account, linkedRole, linkedService)
	return &autoscaling.CreateAutoScalingGroupOutput{}, nil
}

// checkNew refuses a group whose name is invalid or taken, one too many, and one that does not name
// one thing to launch.
func (s *service) checkNew(in *autoscaling.CreateAutoScalingGroupInput) error {
	if err := validateName(in.AutoScalingGroupName); err != nil {
		return err
	}
	name := *in.AutoScalingGroupName
	if s.groups[name] != nil {
		return sim.Errorf(codeAlreadyExists, "AutoScalingGroup by this name already exists - A group with the name %s already exists", name)
	}
	if quota := s.kernel.World().Quota(world.QuotaAutoScalingGroups, defaultMaxGroups); len(s.groups) >= quota {
		return sim.Errorf(codeLimitExceeded, "You have already reached the limit of %d Auto Scaling groups.", quota)
	}
	return exactlyOneSource(in)
}

// newGroup returns the group that a request asks for.
func (s *service) newGroup(c *sim.Call, in *autoscaling.CreateAutoScalingGroupInput) (*group, error) {
	name := *in.AutoScalingGroupName
	n, err := s.apply(s.defaults(), fromCreate(in))
	if err != nil {
		return nil, err
	}
	if err := s.checkLaunchable(&n); err != nil {
		return nil, err
	}
	if len(in.Tags) > maxTags {
		return nil, invalid("You can specify a maximum of %d tags.", maxTags)
	}
	if err := validateTags(in.Tags, name); err != nil {
		return nil, err
	}
	hooks, err := newHooks(in.LifecycleHookSpecificationList)
	if err != nil {
		return nil, err
	}
	attached, err := newAttachments(in)
	if err != nil {
		return nil, err
	}
	if err := s.checkZonalShift(n.impairment, attached, in.SkipZonalShiftValidation); err != nil {
		return nil, err
	}
	return &group{
		name: name, created: c.Now, settings: n, hooks: hooks, tags: describedTags(in.Tags, name), operator: in.Operator, attached: attached,
		arn: fmt.Sprintf("arn:aws:autoscaling:%s:%s:autoScalingGroup:%s:autoScalingGroupName/%s", s.region.Name, s.region.Account.ID,
			s.kernel.NewUUID(), name),
		cause: fmt.Sprintf("At %s a user request created an AutoScalingGroup changing the desired capacity from 0 to %d.", stamp(c.Now), n.desired),
	}, nil
}

// exactlyOneSource checks that a new group says in one way what it launches (SDK
// CreateAutoScalingGroupInput.LaunchTemplate).
func exactlyOneSource(in *autoscaling.CreateAutoScalingGroupInput) error {
	switch {
	case given(in.LaunchTemplate != nil, in.MixedInstancesPolicy != nil, in.LaunchConfigurationName != nil, in.InstanceId != nil) != 1:
		return invalid("Valid requests must contain either LaunchTemplate, LaunchConfigurationName, InstanceId or MixedInstancesPolicy parameter.")
	case in.MinSize == nil:
		return required("minSize")
	case in.MaxSize == nil:
		return required("maxSize")
	case in.Operator != nil && val(in.Operator.Principal) == "":
		return required("operator.principal")
	}
	return nil
}

func (s *service) updateAutoScalingGroup(c *sim.Call, in *autoscaling.UpdateAutoScalingGroupInput) (*autoscaling.UpdateAutoScalingGroupOutput, error) {
	if name := val(in.AutoScalingGroupName); name != "" && s.groups[name] == nil {
		// As moto answers, whose test is verified on AWS (autoscaling/models.py, update_auto_scaling_group).
		return nil, invalid("AutoScalingGroup name not found - null")
	}
	g, err := s.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	reconfigures := in.LaunchTemplate != nil || in.MixedInstancesPolicy != nil || in.LaunchConfigurationName != nil
	if reconfigures && g.hasDesiredConfiguration() {
		// UG instance-refresh-overview, "Update restriction".
		return nil, invalid("An active instance refresh with a desired configuration exists. All configuration options derived from the desired configuration are not available for update while the instance refresh is active.")
	}
	n, err := s.apply(g.settings, in)
	if err != nil {
		return nil, err
	}
	if err := s.checkChange(g, &n, in, reconfigures); err != nil {
		return nil, err
	}
	if n.desired != g.desired || n.min != g.min || n.max != g.max {
		g.cause = fmt.Sprintf("At %s a user request update of AutoScalingGroup constraints to min: %d, max: %d, desired: %d changing the desired capacity from %d to %d.",
			stamp(c.Now), n.min, n.max, n.desired, g.desired, n.desired)
	}
	g.settings = n
	s.changed(g)
	return &autoscaling.UpdateAutoScalingGroupOutput{}, nil
}

// changesLaunches reports whether an update that leaves the configuration as it is still changes
// where or what the group launches.
func changesLaunches(in *autoscaling.UpdateAutoScalingGroupInput) bool {
	return in.VPCZoneIdentifier != nil || len(in.AvailabilityZones)+len(in.AvailabilityZoneIds) > 0 || in.DesiredCapacityType != nil || in.PlacementGroup != nil
}

// hasDesiredConfiguration reports whether a refresh with a desired configuration is active.
func (g *group) hasDesiredConfiguration() bool { return g.refresh != nil && g.refresh.desired != nil }

// checkChange refuses an update that the group could not launch with, not prepare in its warm pool,
// or not shift out of a zone with.
func (s *service) checkChange(g *group, n *settings, in *autoscaling.UpdateAutoScalingGroupInput, reconfigures bool) error {
	if err := s.checkZonalShift(in.AvailabilityZoneImpairmentPolicy, g.attached, in.SkipZonalShiftValidation); err != nil {
		return err
	}
	if !reconfigures && !changesLaunches(in) {
		return nil
	}
	return s.checkUpdate(g, n)
}

// checkUpdate refuses settings that the group could not launch with, or not prepare in its warm pool.
func (s *service) checkUpdate(g *group, n *settings) error {
	if err := s.checkLaunchable(n); err != nil {
		return err
	}
	if g.warm != nil {
		return s.checkWarmPool(n.config, g.warm.state)
	}
	return nil
}

// deleteAutoScalingGroup deletes a group that is empty, or with force one that is not: its
// instances are then terminated without lifecycle hooks, and the group is gone when they are (SDK
// DeleteAutoScalingGroupInput; UG lifecycle-hooks).
func (s *service) deleteAutoScalingGroup(c *sim.Call, in *autoscaling.DeleteAutoScalingGroupInput) (*autoscaling.DeleteAutoScalingGroupOutput, error) {
	if name := val(in.AutoScalingGroupName); name != "" && s.groups[name] == nil {
		// As moto answers, whose test is verified on AWS (autoscaling/models.py, delete_auto_scaling_group).
		return nil, invalid("AutoScalingGroup name not found - AutoScalingGroup '%s' not found", name)
	}
	g, err := s.find(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	force := val(in.ForceDelete)
	if g.deleting {
		return &autoscaling.DeleteAutoScalingGroupOutput{}, nil
	}
	if g, err = s.change(c, in.AutoScalingGroupName); err != nil {
		return nil, err
	}
	if err := g.refuseDeletion(force); err != nil {
		return nil, err
	}
	if !force {
		if len(g.members) > 0 {
			if !slices.ContainsFunc(g.members, func(m *member) bool { return !m.leaving() }) {
				return nil, sim.Errorf(codeScalingInProgress, "You cannot delete an AutoScalingGroup while there are scaling activities in progress for that group.")
			}
			return nil, sim.Errorf(codeResourceInUse, "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) still in the group.")
		}
		if g.warm != nil {
			return nil, sim.Errorf(codeResourceInUse, "You cannot delete an AutoScalingGroup while there is a warm pool associated with it.")
		}
		s.drop(g)
		return &autoscaling.DeleteAutoScalingGroupOutput{}, nil
	}
	g.deleting = true
	g.min, g.max, g.desired = 0, 0, 0
	if g.refresh != nil {
		s.endRefresh(g, types.InstanceRefreshStatusCancelled, "The Auto Scaling group is being deleted.")
	}
	s.changed(g)
	return &autoscaling.DeleteAutoScalingGroupOutput{}, nil
}

// refuseDeletion says what protects the group, or its instances, from being deleted.
func (g *group) refuseDeletion(force bool) error {
	switch { // UG resource-deletion-protection: "returns a ValidationError"; its words are an inference
	case g.deletion == types.DeletionProtectionPreventAllDeletion:
		return invalid("The Auto Scaling group %s cannot be deleted: its deletion protection is prevent-all-deletion.", g.name)
	case g.deletion == types.DeletionProtectionPreventForceDeletion && force:
		return invalid("The Auto Scaling group %s cannot be force deleted: its deletion protection is prevent-force-deletion.", g.name)
	case g.retains() && force: // as AWS answered the sweeper of hashicorp/terraform-provider-aws (internal/service/autoscaling/sweep.go)
		return invalid("You can't force delete this Auto Scaling group because the TerminateHookAbandon retention trigger is set to retain. " +
			"Change the retention trigger to terminate and try again")
	}
	return nil
}

// drop removes a group that has no instances left.
func (s *service) drop(g *group) {
	if g.refresh != nil {
		s.endRefresh(g, types.InstanceRefreshStatusCancelled, "The Auto Scaling group was deleted.")
	}
	g.gone = true
	delete(s.groups, g.name)
	s.order = slices.DeleteFunc(s.order, func(o *group) bool { return o == g })
	s.views.Delete(g.name)
	s.tellWatchers(g)
	for _, r := range g.past {
		s.refreshes.Delete(r.id)
	}
}

func (s *service) setDesiredCapacity(c *sim.Call, in *autoscaling.SetDesiredCapacityInput) (*autoscaling.SetDesiredCapacityOutput, error) {
	g, err := s.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if in.DesiredCapacity == nil {
		return nil, required("desiredCapacity")
	}
	want := int(*in.DesiredCapacity)
	switch {
	case want < g.min:
		return nil, invalid("New SetDesiredCapacity value %d is below min value %d for the AutoScalingGroup.", want, g.min)
	case want > g.max:
		return nil, invalid("New SetDesiredCapacity value %d is above max value %d for the AutoScalingGroup.", want, g.max)
	}
	if want != g.desired {
		g.cause = fmt.Sprintf("At %s a user request explicitly set group desired capacity changing the desired capacity from %d to %d.",
			stamp(c.Now), g.desired, want)
	}
	g.desired = want
	g.holdUntil = time.Time{}
	if val(in.HonorCooldown) && c.Now.Before(g.coolUntil) {
		g.holdUntil = g.coolUntil
	}
	s.changed(g)
	return &autoscaling.SetDesiredCapacityOutput{}, nil
}

// describeAccountLimits shows the quotas.
func (s *service) describeAccountLimits(*sim.Call, *autoscaling.DescribeAccountLimitsInput) (*autoscaling.DescribeAccountLimitsOutput, error) {
	quota := s.kernel.World().Quota(world.QuotaAutoScalingGroups, defaultMaxGroups)
	return &autoscaling.DescribeAccountLimitsOutput{
		MaxNumberOfAutoScalingGroups: number(quota), NumberOfAutoScalingGroups: number(len(s.groups)),
		MaxNumberOfLaunchConfigurations: number(s.maxConfigurations()), NumberOfLaunchConfigurations: number(s.configurations.Len()),
	}, nil
}
