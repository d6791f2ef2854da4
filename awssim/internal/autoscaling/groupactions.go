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

// groupActions serves the actions that create, change and delete groups.
type groupActions struct {
	region               *sim.Region
	kernel               *sim.Kernel
	ownZoneOnly          map[string]bool
	groups               *groups
	configurations       configurations
	requests             *requests
	refreshes            *refreshes
	configurationActions *configurationActions
}

func (api *groupActions) create(c *sim.Call, in *autoscaling.CreateAutoScalingGroupInput) (*autoscaling.CreateAutoScalingGroupOutput, error) {
	if err := api.checkNew(in); err != nil {
		return nil, err
	}
	in, configuration, err := api.configurationActions.fromInstance(c, in)
	if err != nil {
		return nil, err
	}
	if configuration != nil {
		api.configurations.table.Put(*configuration.LaunchConfigurationName, configuration)
	}
	g, err := api.newGroup(c, in)
	if err != nil {
		if configuration != nil {
			api.configurations.table.Delete(*configuration.LaunchConfigurationName)
		}
		return nil, err
	}
	api.groups.byName[g.name] = g
	api.groups.order = append(api.groups.order, g)
	api.groups.changed(g)
	iam.EnsureServiceLinkedRole(c.Account, linkedRole, linkedService)
	return &autoscaling.CreateAutoScalingGroupOutput{}, nil
}

// checkNew refuses a group whose name is invalid or taken, one too many, and one that does not name
// one thing to launch.
func (api *groupActions) checkNew(in *autoscaling.CreateAutoScalingGroupInput) error {
	if err := validateName(in.AutoScalingGroupName); err != nil {
		return err
	}
	name := *in.AutoScalingGroupName
	if api.groups.byName[name] != nil {
		return sim.Errorf(codeAlreadyExists, "AutoScalingGroup by this name already exists - A group with the name %s already exists", name)
	}
	if quota := api.kernel.World().Quota(world.QuotaAutoScalingGroups, defaultMaxGroups); len(api.groups.byName) >= quota {
		return sim.Errorf(codeLimitExceeded, "You have already reached the limit of %d Auto Scaling groups.", quota)
	}
	return exactlyOneSource(in)
}

// newGroup returns the group that a request asks for.
func (api *groupActions) newGroup(c *sim.Call, in *autoscaling.CreateAutoScalingGroupInput) (*group, error) {
	name := *in.AutoScalingGroupName
	n, err := api.requests.apply(defaultSettings(api.region.Account), fromCreate(in))
	if err != nil {
		return nil, err
	}
	if err := api.requests.checkLaunchable(&n); err != nil {
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
	if err := checkZonalShift(api.ownZoneOnly, n.impairment, attached, in.SkipZonalShiftValidation); err != nil {
		return nil, err
	}
	return &group{
		name: name, created: c.Now, settings: n, hooks: hooks, tags: describedTags(in.Tags, name), operator: in.Operator, attached: attached,
		arn: fmt.Sprintf("arn:aws:autoscaling:%s:%s:autoScalingGroup:%s:autoScalingGroupName/%s", api.region.Name, api.region.Account.ID,
			api.kernel.NewUUID(), name),
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

func (api *groupActions) update(c *sim.Call, in *autoscaling.UpdateAutoScalingGroupInput) (*autoscaling.UpdateAutoScalingGroupOutput, error) {
	if name := val(in.AutoScalingGroupName); name != "" && api.groups.byName[name] == nil {
		// As moto answers, whose test is verified on AWS (autoscaling/models.py, update_auto_scaling_group).
		return nil, invalid("AutoScalingGroup name not found - null")
	}
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	reconfigures := in.LaunchTemplate != nil || in.MixedInstancesPolicy != nil || in.LaunchConfigurationName != nil
	if reconfigures && g.refresh != nil && g.refresh.desired != nil {
		// UG instance-refresh-overview, "Update restriction".
		return nil, invalid("An active instance refresh with a desired configuration exists. All configuration options derived from the desired configuration are not available for update while the instance refresh is active.")
	}
	n, err := api.requests.apply(g.settings, in)
	if err != nil {
		return nil, err
	}
	if err := api.checkChange(g, &n, in, reconfigures); err != nil {
		return nil, err
	}
	if n.desired != g.desired || n.min != g.min || n.max != g.max {
		g.cause = fmt.Sprintf("At %s a user request update of AutoScalingGroup constraints to min: %d, max: %d, desired: %d changing the desired capacity from %d to %d.",
			stamp(c.Now), n.min, n.max, n.desired, g.desired, n.desired)
	}
	g.settings = n
	api.groups.changed(g)
	return &autoscaling.UpdateAutoScalingGroupOutput{}, nil
}

// changesLaunches reports whether an update that leaves the configuration as it is still changes
// where or what the group launches.
func changesLaunches(in *autoscaling.UpdateAutoScalingGroupInput) bool {
	return in.VPCZoneIdentifier != nil || len(in.AvailabilityZones)+len(in.AvailabilityZoneIds) > 0 || in.DesiredCapacityType != nil || in.PlacementGroup != nil
}

// checkChange refuses an update that the group could not launch with, not prepare in its warm pool,
// or not shift out of a zone with.
func (api *groupActions) checkChange(g *group, n *settings, in *autoscaling.UpdateAutoScalingGroupInput, reconfigures bool) error {
	if err := checkZonalShift(api.ownZoneOnly, in.AvailabilityZoneImpairmentPolicy, g.attached, in.SkipZonalShiftValidation); err != nil {
		return err
	}
	if !reconfigures && !changesLaunches(in) {
		return nil
	}
	return api.requests.checkUpdate(g, n)
}

// delete deletes a group that is empty, or with force one that is not: its
// instances are then terminated without lifecycle hooks, and the group is gone when they are (SDK
// DeleteAutoScalingGroupInput; UG lifecycle-hooks).
func (api *groupActions) delete(c *sim.Call, in *autoscaling.DeleteAutoScalingGroupInput) (*autoscaling.DeleteAutoScalingGroupOutput, error) {
	if name := val(in.AutoScalingGroupName); name != "" && api.groups.byName[name] == nil {
		// As moto answers, whose test is verified on AWS (autoscaling/models.py, delete_auto_scaling_group).
		return nil, invalid("AutoScalingGroup name not found - AutoScalingGroup '%s' not found", name)
	}
	g, err := api.groups.find(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	force := val(in.ForceDelete)
	if g.deleting {
		return &autoscaling.DeleteAutoScalingGroupOutput{}, nil
	}
	if g, err = api.groups.change(c, in.AutoScalingGroupName); err != nil {
		return nil, err
	}
	if err := refuseDeletion(g, force); err != nil {
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
		api.refreshes.cancel(g, "The Auto Scaling group was deleted.")
		api.groups.remove(g)
		return &autoscaling.DeleteAutoScalingGroupOutput{}, nil
	}
	g.deleting = true
	g.min, g.max, g.desired = 0, 0, 0
	api.refreshes.cancel(g, "The Auto Scaling group is being deleted.")
	api.groups.changed(g)
	return &autoscaling.DeleteAutoScalingGroupOutput{}, nil
}

// refuseDeletion refuses to delete a group that is protected, or whose instances are.
func refuseDeletion(g *group, force bool) error {
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

func (api *groupActions) setDesiredCapacity(c *sim.Call, in *autoscaling.SetDesiredCapacityInput) (*autoscaling.SetDesiredCapacityOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
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
	api.groups.changed(g)
	return &autoscaling.SetDesiredCapacityOutput{}, nil
}

// describeAccountLimits shows the quotas.
func (api *groupActions) describeAccountLimits(*sim.Call, *autoscaling.DescribeAccountLimitsInput) (*autoscaling.DescribeAccountLimitsOutput, error) {
	quota := api.kernel.World().Quota(world.QuotaAutoScalingGroups, defaultMaxGroups)
	return &autoscaling.DescribeAccountLimitsOutput{
		MaxNumberOfAutoScalingGroups: number(quota), NumberOfAutoScalingGroups: number(len(api.groups.byName)),
		MaxNumberOfLaunchConfigurations: number(api.configurationActions.quota()), NumberOfLaunchConfigurations: number(api.configurations.table.Len()),
	}, nil
}
