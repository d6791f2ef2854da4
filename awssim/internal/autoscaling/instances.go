package autoscaling

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/allocation"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Instances per call (SDK AttachInstancesInput, SetInstanceProtectionInput,
// TerminateInstanceInAutoScalingGroupInput).
const (
	maxMoved      = 20
	maxProtected  = 50
	maxTerminated = 100
)

// liveMembers returns the live members with the given ids.
func liveMembers(g *group, ids []string, most int) ([]*member, error) {
	if len(ids) == 0 {
		return nil, invalid("At least one instance ID must be specified.")
	}
	if len(ids) > most {
		return nil, invalid("You can specify a maximum of %d instance IDs.", most)
	}
	var found []*member
	for _, id := range ids {
		m := g.instance(id)
		if m == nil {
			return nil, invalid("The instance %s is not part of Auto Scaling group %s.", id, g.name)
		}
		if m.warmed() {
			return nil, invalid("The instance %s is in the warm pool of Auto Scaling group %s.", id, g.name)
		}
		if !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	return found, nil
}

// lowerDesired takes units off the desired capacity, which may not fall below the minimum. The
// message is what users of TerminateInstanceInAutoScalingGroup paste; that the other actions answer
// the same is an inference.
func (g *group) lowerDesired(units int) error {
	if g.desired-units < g.min {
		return invalid("Currently, desiredSize equals minSize (%d). Terminating instance without replacement will violate group's min size constraint. "+
			"Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.", g.min)
	}
	g.desired -= units
	return nil
}

func totalUnits(all []*member) int {
	n := 0
	for _, m := range all {
		n += m.units
	}
	return n
}

// instanceActions serves the actions on single instances.
type instanceActions struct {
	region     *sim.Region
	kernel     *sim.Kernel
	groups     *groups
	activities *activityLog
	sources    *sources
	lifecycle  *lifecycle
}

func (api *instanceActions) terminate(c *sim.Call,
	in *autoscaling.TerminateInstanceInAutoScalingGroupInput) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error) {
	name, ids, err := api.toTerminate(in)
	if err != nil {
		return nil, err
	}
	g, err := api.groups.change(c, name)
	if err != nil {
		return nil, err
	}
	found, err := liveMembers(g, ids, maxTerminated)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		if m.leaving() {
			return nil, invalid("Instance %s is not in a state that can be terminated: it is in %s.", m.id, m.state)
		}
	}
	counting := list.Filter(found, (*member).counts)
	before := g.capacity()
	shrinking := ""
	if *in.ShouldDecrementDesiredCapacity {
		if err := g.lowerDesired(totalUnits(counting)); err != nil {
			return nil, err
		}
		shrinking = fmt.Sprintf(", shrinking the capacity from %d to %d", before, before-totalUnits(counting))
	} else {
		g.replacing += len(counting)
	}
	out := &autoscaling.TerminateInstanceInAutoScalingGroupOutput{}
	for _, m := range found {
		api.lifecycle.startTermination(g, m, fmt.Sprintf("At %s instance %s was taken out of service in response to a user request%s.", stamp(c.Now), m.id, shrinking))
		out.Activities = append(out.Activities, *m.run)
	}
	if in.InstanceId != nil {
		out.Activity, out.Activities = &out.Activities[0], nil
	}
	api.groups.changed(g)
	return out, nil
}

// toTerminate returns the group and the instances that a call means. A single instance need not
// name its group.
func (api *instanceActions) toTerminate(in *autoscaling.TerminateInstanceInAutoScalingGroupInput) (name *string, ids []string, err error) {
	switch {
	case in.ShouldDecrementDesiredCapacity == nil:
		return nil, nil, required("shouldDecrementDesiredCapacity")
	case (in.InstanceId == nil) == (len(in.InstanceIds) == 0):
		return nil, nil, invalid("Exactly one of InstanceId and InstanceIds must be specified.")
	case len(in.InstanceIds) > 0 && in.AutoScalingGroupName == nil:
		return nil, nil, invalid("AutoScalingGroupName is required when InstanceIds is specified.")
	case in.InstanceId == nil:
		return in.AutoScalingGroupName, in.InstanceIds, nil
	}
	owner := api.groups.ofInstance[*in.InstanceId]
	if owner == nil || in.AutoScalingGroupName != nil && owner.name != *in.AutoScalingGroupName {
		return nil, nil, invalid("Instance Id not found - No managed instance found for instance ID: %s", *in.InstanceId)
	}
	return &owner.name, []string{*in.InstanceId}, nil
}

func (api *instanceActions) setProtection(c *sim.Call, in *autoscaling.SetInstanceProtectionInput) (*autoscaling.SetInstanceProtectionOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if in.ProtectedFromScaleIn == nil {
		return nil, required("protectedFromScaleIn")
	}
	found, err := liveMembers(g, in.InstanceIds, maxProtected)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		if m.state != types.LifecycleStateInService && !m.starting() && m.state != types.LifecycleStateStandby {
			return nil, invalid("The instance %s is not in InService or EnteringStandby or Standby.", m.id)
		}
	}
	for _, m := range found {
		m.protected = *in.ProtectedFromScaleIn
	}
	api.groups.changed(g)
	return &autoscaling.SetInstanceProtectionOutput{}, nil
}

func (api *instanceActions) enterStandby(c *sim.Call, in *autoscaling.EnterStandbyInput) (*autoscaling.EnterStandbyOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if in.ShouldDecrementDesiredCapacity == nil {
		return nil, required("shouldDecrementDesiredCapacity")
	}
	found, err := liveMembers(g, in.InstanceIds, maxMoved)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		if m.state != types.LifecycleStateInService {
			return nil, invalid("The instance %s is not in InService.", m.id)
		}
	}
	before := g.capacity()
	shrinking := ""
	if *in.ShouldDecrementDesiredCapacity {
		if err := g.lowerDesired(totalUnits(found)); err != nil {
			return nil, err
		}
		shrinking = fmt.Sprintf(", shrinking the capacity from %d to %d", before, before-totalUnits(found))
	}
	out := &autoscaling.EnterStandbyOutput{}
	for _, m := range found {
		m.state, m.settle = types.LifecycleStateEnteringStandby, c.Now.Add(reaction)
		m.run = api.activities.begin(g, m, "Moving EC2 instance to Standby: "+m.id,
			fmt.Sprintf("At %s instance %s was moved to standby in response to a user request%s.", stamp(c.Now), m.id, shrinking))
		out.Activities = append(out.Activities, *m.run)
	}
	api.groups.changed(g)
	return out, nil
}

// exitStandby returns instances to service and raises the desired capacity by them (SDK
// ExitStandby). They start again as Pending (UG as-enter-exit-standby); lifecycle hooks do not
// apply (UG lifecycle-hooks).
func (api *instanceActions) exitStandby(c *sim.Call, in *autoscaling.ExitStandbyInput) (*autoscaling.ExitStandbyOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	found, err := liveMembers(g, in.InstanceIds, maxMoved)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		if m.state != types.LifecycleStateStandby {
			return nil, invalid("The instance %s is not in Standby.", m.id)
		}
	}
	if g.suspends(processLaunch) { // UG understand-how-suspending-processes-affects-other-processes
		return nil, invalid("The Launch process of Auto Scaling group %s is suspended.", g.name)
	}
	if n := g.desired + totalUnits(found); n > g.max {
		return nil, invalid("AutoScalingGroup %s has max-size=%d, desired-size=%d, and cannot return %d instances to service.", g.name, g.max, g.desired, len(found))
	}
	before := g.capacity()
	g.desired += totalUnits(found)
	out := &autoscaling.ExitStandbyOutput{}
	for _, m := range found {
		m.run = api.activities.begin(g, m, "Moving EC2 instance out of Standby: "+m.id,
			fmt.Sprintf("At %s instance %s was moved out of standby in response to a user request, increasing the capacity from %d to %d.",
				stamp(c.Now), m.id, before, before+totalUnits(found)))
		out.Activities = append(out.Activities, *m.run)
		m.state, m.settle = types.LifecycleStatePendingProceed, c.Now.Add(reaction)
	}
	api.groups.changed(g)
	return out, nil
}

// attach takes in running instances that belong to no group, and raises the desired
// capacity by them (SDK AttachInstances; UG ec2-auto-scaling-detach-attach-instances).
func (api *instanceActions) attach(c *sim.Call, in *autoscaling.AttachInstancesInput) (*autoscaling.AttachInstancesOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if len(in.InstanceIds) == 0 || len(in.InstanceIds) > maxMoved {
		return nil, invalid("You can specify from 1 to %d instance IDs.", maxMoved)
	}
	if g.suspends(processLaunch) {
		return nil, invalid("The Launch process of Auto Scaling group %s is suspended.", g.name)
	}
	var joining []*member
	for _, id := range in.InstanceIds {
		m, err := api.attachable(g, id)
		if err != nil {
			return nil, err
		}
		joining = append(joining, m)
	}
	if g.desired+totalUnits(joining) > g.max {
		return nil, invalid("AutoScalingGroup %s has max-size=%d, desired-size=%d, and cannot attach %d instances.", g.name, g.max, g.desired, len(joining))
	}
	for _, m := range joining {
		before := g.capacity()
		g.launches++
		g.desired += m.units
		m.sequence, m.protected = g.launches, g.protectNew
		m.state, m.settle = types.LifecycleStatePendingProceed, c.Now.Add(reaction)
		g.members = append(g.members, m)
		api.groups.ofInstance[m.id] = g
		ec2.SetInstanceTags(api.region, m.id, append(g.instanceTags(), ec2types.Tag{Key: ptr(groupNameTag), Value: ptr(g.name)}))
		m.run = api.activities.begin(g, m, "Attaching an existing EC2 instance: "+m.id,
			fmt.Sprintf("At %s an instance was attached in response to a user request, increasing the capacity from %d to %d.",
				stamp(c.Now), before, before+m.units))
	}
	api.groups.changed(g)
	return &autoscaling.AttachInstancesOutput{}, nil
}

func (api *instanceActions) attachable(g *group, id string) (*member, error) {
	i, ok := ec2.LookupInstance(api.region, id)
	switch {
	case !ok:
		return nil, invalid("Invalid Instance ID(s): [%s] specified. An instance should be in same region as the AutoScalingGroup and in running state.", id)
	case i.State.Name != ec2types.InstanceStateNameRunning:
		return nil, invalid("Invalid Instance ID(s): [%s] specified. The instance is not in running state.", id)
	case api.groups.ofInstance[id] != nil:
		return nil, invalid("Instance %s is already part of AutoScalingGroup:%s", id, api.groups.ofInstance[id].name)
	}
	zone := val(i.Placement.AvailabilityZone)
	if !slices.Contains(g.zones, zone) {
		return nil, invalid("The availability zone %s of instance %s is not one of the Auto Scaling group's.", zone, id)
	}
	if g.refresh.inPlace() { // UG replace-root-volume, "Limitations"
		if _, listed := api.sources.overrideFor(*g.refresh.desired, &member{instanceType: string(i.InstanceType)}); !listed {
			return nil, invalid("The instance type %s of instance %s is not in the mixed instances policy of the active instance refresh.", i.InstanceType, id)
		}
	}
	m := &member{
		id: id, zone: zone, zoneID: val(i.Placement.AvailabilityZoneId), subnet: val(i.SubnetId), instanceType: string(i.InstanceType), units: 1,
		spot: i.InstanceLifecycle == ec2types.InstanceLifecycleTypeSpot, launched: val(i.LaunchTime),
	}
	for _, o := range g.config.overrides() {
		if val(o.InstanceType) == m.instanceType {
			m.weight, m.units = val(o.WeightedCapacity), allocation.UnitsOf(val(o.WeightedCapacity), api.kernel.World().InstanceType(m.instanceType), g.capacityUnit)
		}
	}
	return m, nil
}

func (api *instanceActions) detach(c *sim.Call, in *autoscaling.DetachInstancesInput) (*autoscaling.DetachInstancesOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if in.ShouldDecrementDesiredCapacity == nil {
		return nil, required("shouldDecrementDesiredCapacity")
	}
	if len(in.InstanceIds) == 0 || len(in.InstanceIds) > maxMoved {
		return nil, invalid("You can specify from 1 to %d instance IDs.", maxMoved)
	}
	var found []*member
	for _, id := range in.InstanceIds {
		m := g.instance(id)
		if m == nil {
			return nil, invalid("The instance %s is not part of Auto Scaling group %s.", id, g.name)
		}
		if m.state != types.LifecycleStateInService && m.state != types.LifecycleStateStandby && !resting(m) {
			return nil, invalid("The instance %s is not in InService or Standby or Warmed.", id)
		}
		found = append(found, m)
	}
	before := g.capacity()
	shrinking := ""
	if *in.ShouldDecrementDesiredCapacity {
		counting := totalUnits(list.Filter(found, (*member).counts))
		if err := g.lowerDesired(counting); err != nil {
			return nil, err
		}
		shrinking = fmt.Sprintf(", shrinking the capacity from %d to %d", before, before-counting)
	}
	out := &autoscaling.DetachInstancesOutput{}
	for _, m := range found {
		m.state, m.settle = types.LifecycleStateDetaching, c.Now.Add(reaction)
		m.run = api.activities.begin(g, m, "Detaching EC2 instance: "+m.id,
			fmt.Sprintf("At %s instance %s was detached in response to a user request%s.", stamp(c.Now), m.id, shrinking))
		out.Activities = append(out.Activities, *m.run)
	}
	api.groups.changed(g)
	return out, nil
}

func (api *instanceActions) setHealth(c *sim.Call, in *autoscaling.SetInstanceHealthInput) (*autoscaling.SetInstanceHealthOutput, error) {
	health := val(in.HealthStatus)
	if health != "Healthy" && health != "Unhealthy" {
		return nil, invalid("Valid instance health states are: [Healthy, Unhealthy].")
	}
	owner := api.groups.ofInstance[val(in.InstanceId)]
	if owner == nil {
		return nil, invalid("Instance Id not found - No managed instance found for instance ID %s", val(in.InstanceId))
	}
	g, err := api.groups.change(c, &owner.name)
	if err != nil {
		return nil, err
	}
	m := g.instance(*in.InstanceId)
	if health == "Healthy" {
		if m.sick == reasonUserSick {
			m.sick = ""
		}
		api.groups.changed(g)
		return &autoscaling.SetInstanceHealthOutput{}, nil
	}
	graceEnds := m.inService.Add(seconds(g.healthCheckWait))
	if valOr(in.ShouldRespectGracePeriod, true) && (m.inService.IsZero() || c.Now.Before(graceEnds)) {
		// Within the grace period the call has no effect (SDK
		// SetInstanceHealthInput.ShouldRespectGracePeriod).
		return &autoscaling.SetInstanceHealthOutput{}, nil
	}
	m.sick = reasonUserSick
	api.groups.changed(g)
	return &autoscaling.SetInstanceHealthOutput{}, nil
}
