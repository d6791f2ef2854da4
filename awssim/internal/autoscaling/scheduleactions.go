package autoscaling

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// actionRequest holds the parameters of a scheduled action. The batch's entries have the same
// parameters as the single call.
type actionRequest struct {
	types.ScheduledUpdateGroupActionRequest
	old *time.Time // Time, which StartTime has replaced
}

// scheduleActions serves the actions on scheduled actions, and runs those when they are due.
type scheduleActions struct {
	region     *sim.Region
	kernel     *sim.Kernel
	groups     *groups
	activities *activityLog
}

func (api *scheduleActions) put(c *sim.Call,
	in *autoscaling.PutScheduledUpdateGroupActionInput) (*autoscaling.PutScheduledUpdateGroupActionOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	request := actionRequest{types.ScheduledUpdateGroupActionRequest{
		ScheduledActionName: in.ScheduledActionName, DesiredCapacity: in.DesiredCapacity, MinSize: in.MinSize, MaxSize: in.MaxSize, StartTime: in.StartTime, EndTime: in.EndTime,
		Recurrence: in.Recurrence, TimeZone: in.TimeZone,
	}, in.Time}
	if err := api.schedule(g, request); err != nil {
		return nil, err
	}
	api.groups.publish(g)
	return &autoscaling.PutScheduledUpdateGroupActionOutput{}, nil
}

// batchPut puts each action by itself: some may fail.
func (api *scheduleActions) batchPut(c *sim.Call,
	in *autoscaling.BatchPutScheduledUpdateGroupActionInput) (*autoscaling.BatchPutScheduledUpdateGroupActionOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if n := len(in.ScheduledUpdateGroupActions); n > maxBatch {
		return nil, invalid("You can specify a maximum of %d scheduled actions in a request.", maxBatch)
	}
	out := &autoscaling.BatchPutScheduledUpdateGroupActionOutput{FailedScheduledUpdateGroupActions: []types.FailedScheduledUpdateGroupActionRequest{}}
	for _, request := range in.ScheduledUpdateGroupActions {
		if err := api.schedule(g, actionRequest{request, nil}); err != nil {
			out.FailedScheduledUpdateGroupActions = append(out.FailedScheduledUpdateGroupActions, failedAction(request.ScheduledActionName, err))
		}
	}
	api.groups.publish(g)
	return out, nil
}

func failedAction(name *string, err error) types.FailedScheduledUpdateGroupActionRequest {
	e := sim.AsError(err)
	return types.FailedScheduledUpdateGroupActionRequest{ScheduledActionName: name, ErrorCode: ptr(e.Code), ErrorMessage: ptr(e.Message)}
}

// schedule adds an action to a group, or changes the one of that name: what a request leaves out is
// gone then (SDK PutScheduledUpdateGroupAction: "creates or updates"; that it replaces as a whole
// is an inference).
func (api *scheduleActions) schedule(g *group, in actionRequest) error {
	name := val(in.ScheduledActionName)
	if name == "" {
		return required("scheduledActionName")
	}
	i := slices.IndexFunc(g.scheduled, func(a *scheduledAction) bool { return a.name == name })
	if i < 0 && len(g.scheduled) >= maxScheduled {
		return sim.Errorf(codeLimitExceeded, "You have already reached the limit of %d scheduled actions for the Auto Scaling group.", maxScheduled)
	}
	a, err := api.newAction(g, in)
	if err != nil {
		return err
	}
	if i >= 0 {
		a.arn = g.scheduled[i].arn
		g.scheduled = slices.Concat(g.scheduled[:i], []*scheduledAction{a}, g.scheduled[i+1:])
	} else {
		a.arn = fmt.Sprintf("arn:aws:autoscaling:%s:%s:scheduledUpdateGroupAction:%s:autoScalingGroupName/%s:scheduledActionName/%s", api.region.Name, api.region.Account.ID,
			api.kernel.NewUUID(), g.name, name)
		g.scheduled = append(slices.Clone(g.scheduled), a)
	}
	api.arm(g, a)
	return nil
}

// newAction checks a request (SDK PutScheduledUpdateGroupActionInput). The messages about times in
// the past are quoted by users of Terraform, hashicorp/terraform-provider-aws; the others are an
// inference.
func (api *scheduleActions) newAction(g *group, in actionRequest) (*scheduledAction, error) {
	now := api.kernel.Now()
	a := &scheduledAction{
		name: *in.ScheduledActionName, min: in.MinSize, max: in.MaxSize, desired: in.DesiredCapacity, start: in.StartTime, end: in.EndTime, recurrence: val(in.Recurrence), zone: val(in.TimeZone),
		location: time.UTC,
	}
	if a.start == nil {
		a.start = in.old
	} else if in.old != nil && !in.old.Equal(*in.StartTime) {
		return nil, invalid("Time and StartTime must be the same if both are given.")
	}
	if err := a.check(now); err != nil {
		return nil, err
	}
	if err := a.recur(now); err != nil {
		return nil, err
	}
	// UG ec2-auto-scaling-scheduled-scaling: "a scheduled action must have a unique time value"
	for _, other := range g.scheduled {
		if other.name != a.name && other.start.Equal(*a.start) {
			return nil, sim.Errorf(codeAlreadyExists, "Action %s with the start time %s already exists.", other.name, stamp(*other.start))
		}
	}
	return a, nil
}

// arm has the action run when it is due.
func (api *scheduleActions) arm(g *group, a *scheduledAction) {
	api.kernel.After(a.start.Sub(api.kernel.Now()), func() { api.run(g, a) })
}

// run changes the group's sizes, unless the action is gone or the process is suspended. It removes
// an action that runs only once, and a recurring action that would next run after its EndTime.
func (api *scheduleActions) run(g *group, a *scheduledAction) {
	if g.gone || g.deleting || !slices.Contains(g.scheduled, a) {
		return
	}
	now := api.kernel.Now()
	if a.end == nil || !now.After(*a.end) {
		if !g.suspends(processScheduledActions) {
			api.resize(g, a, now)
		}
	}
	renewed := *a
	if a.schedule == nil || renewed.next(now) != nil || a.end != nil && renewed.start.After(*a.end) {
		g.scheduled = list.Filter(g.scheduled, func(other *scheduledAction) bool { return other != a })
	} else {
		i := slices.Index(g.scheduled, a)
		g.scheduled = slices.Concat(g.scheduled[:i], []*scheduledAction{&renewed}, g.scheduled[i+1:])
		api.arm(g, &renewed)
	}
	api.groups.publish(g)
}

// resize applies the sizes as an update would. Sizes that contradict the group's are
// left, and an activity says so (inference: AWS shows a failed activity).
func (api *scheduleActions) resize(g *group, a *scheduledAction, now time.Time) {
	n := g.settings
	if err := n.applySizes(&autoscaling.UpdateAutoScalingGroupInput{MinSize: a.min, MaxSize: a.max, DesiredCapacity: a.desired}); err != nil {
		activity := api.activities.begin(g, nil, "Executing scheduled action "+a.name, fmt.Sprintf("At %s a scheduled action was due.", stamp(now)))
		api.activities.note(activity, types.ScalingActivityStatusCodeFailed, 100, sim.AsError(err).Message)
		return
	}
	if n.desired != g.desired || n.min != g.min || n.max != g.max { // words of UG as-verify-scaling-activity
		g.cause = fmt.Sprintf("At %s a scheduled action update of AutoScalingGroup constraints to min: %d, max: %d, desired: %d changing the desired capacity from %d to %d.",
			stamp(now), n.min, n.max, n.desired, g.desired, n.desired)
	}
	g.settings = n
	api.groups.changed(g)
}

func (api *scheduleActions) describe(_ *sim.Call, in *autoscaling.DescribeScheduledActionsInput) (*autoscaling.DescribeScheduledActionsOutput, error) {
	if err := api.groups.checkShown(in.AutoScalingGroupName); err != nil {
		return nil, err
	}
	var found []types.ScheduledUpdateGroupAction
	for _, v := range api.groups.views.VisibleAll() {
		found = append(found, list.Filter(v.scheduled, func(a types.ScheduledUpdateGroupAction) bool {
			return (val(in.AutoScalingGroupName) == "" || *a.AutoScalingGroupName == *in.AutoScalingGroupName) &&
				(len(in.ScheduledActionNames) == 0 || slices.Contains(in.ScheduledActionNames, *a.ScheduledActionName)) &&
				(in.StartTime == nil || len(in.ScheduledActionNames) > 0 || !a.StartTime.Before(*in.StartTime)) &&
				// SDK: "if scheduled action names are provided, this property is ignored"
				(in.EndTime == nil || len(in.ScheduledActionNames) > 0 || !a.StartTime.After(*in.EndTime))
		})...)
	}
	page, next, err := paginate(found, in.NextToken, in.MaxRecords, 50, 100, func(a types.ScheduledUpdateGroupAction) string { return *a.ScheduledActionARN })
	if err != nil {
		return nil, err
	}
	return &autoscaling.DescribeScheduledActionsOutput{ScheduledUpdateGroupActions: emptyIfNil(page), NextToken: next}, nil
}

func (api *scheduleActions) delete(c *sim.Call, in *autoscaling.DeleteScheduledActionInput) (*autoscaling.DeleteScheduledActionOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if val(in.ScheduledActionName) == "" {
		return nil, required("scheduledActionName")
	}
	if err := g.unschedule(*in.ScheduledActionName); err != nil {
		return nil, err
	}
	api.groups.publish(g)
	return &autoscaling.DeleteScheduledActionOutput{}, nil
}

func (g *group) unschedule(name string) error {
	left := list.Filter(g.scheduled, func(a *scheduledAction) bool { return a.name != name })
	if len(left) == len(g.scheduled) {
		return invalid("Scheduled action name not found - %s", name) // inference for the words
	}
	g.scheduled = left
	return nil
}

func (api *scheduleActions) batchDelete(c *sim.Call,
	in *autoscaling.BatchDeleteScheduledActionInput) (*autoscaling.BatchDeleteScheduledActionOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if len(in.ScheduledActionNames) > maxBatch {
		return nil, invalid("You can specify a maximum of %d scheduled actions in a request.", maxBatch)
	}
	out := &autoscaling.BatchDeleteScheduledActionOutput{FailedScheduledActions: []types.FailedScheduledUpdateGroupActionRequest{}}
	for _, name := range in.ScheduledActionNames {
		if err := g.unschedule(name); err != nil {
			out.FailedScheduledActions = append(out.FailedScheduledActions, failedAction(&name, err))
		}
	}
	api.groups.publish(g)
	return out, nil
}
