package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// hookActions serves the actions on lifecycle hooks and on the lifecycle actions that they start.
type hookActions struct {
	kernel *sim.Kernel
	groups *groups
}

func (api *hookActions) put(c *sim.Call, in *autoscaling.PutLifecycleHookInput) (*autoscaling.PutLifecycleHookOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	old := hook{result: resultAbandon, heartbeat: defaultHeartbeat}
	i := g.hook(val(in.LifecycleHookName))
	if i >= 0 {
		old = g.hooks[i]
	}
	h, err := mergeHook(old, types.LifecycleHookSpecification{
		LifecycleHookName: in.LifecycleHookName, LifecycleTransition: in.LifecycleTransition, DefaultResult: in.DefaultResult,
		HeartbeatTimeout: in.HeartbeatTimeout, NotificationMetadata: in.NotificationMetadata, NotificationTargetARN: in.NotificationTargetARN,
		RoleARN: in.RoleARN,
	})
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		g.hooks[i] = h
	} else {
		if len(g.hooks) >= maxHooks {
			return nil, sim.Errorf(codeLimitExceeded, "You have reached the limit of %d lifecycle hooks for the group %s.", maxHooks, g.name)
		}
		g.hooks = append(g.hooks, h)
	}
	api.groups.changed(g)
	return &autoscaling.PutLifecycleHookOutput{}, nil
}

func (api *hookActions) delete(c *sim.Call, in *autoscaling.DeleteLifecycleHookInput) (*autoscaling.DeleteLifecycleHookOutput, error) {
	g, err := api.groups.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	name := val(in.LifecycleHookName)
	i := g.hook(name)
	if i < 0 {
		return nil, invalid("No Lifecycle Hook found with name: %s", name)
	}
	g.hooks = slices.Delete(slices.Clone(g.hooks), i, i+1)
	// The open actions of a deleted hook complete with ABANDON for launching instances, CONTINUE
	// for terminating ones (API DeleteLifecycleHook).
	for _, m := range g.members {
		for _, a := range m.actions {
			if a.hook == name && a.result == "" {
				a.result = resultContinue
				if m.starting() {
					a.result = resultAbandon
				}
			}
		}
	}
	api.groups.changed(g)
	return &autoscaling.DeleteLifecycleHookOutput{}, nil
}

func (api *hookActions) describe(_ *sim.Call, in *autoscaling.DescribeLifecycleHooksInput) (*autoscaling.DescribeLifecycleHooksOutput, error) {
	if len(in.LifecycleHookNames) > maxHooks {
		return nil, invalid("You can specify a maximum of %d lifecycle hook names.", maxHooks)
	}
	view, err := api.groups.visible(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	var hooks []types.LifecycleHook
	for _, h := range view.hooks {
		if len(in.LifecycleHookNames) == 0 || slices.Contains(in.LifecycleHookNames, *h.LifecycleHookName) {
			hooks = append(hooks, h)
		}
	}
	return &autoscaling.DescribeLifecycleHooksOutput{LifecycleHooks: hooks}, nil
}

// openAction is a lifecycle action with the group and the instance it belongs to.
type openAction struct {
	group  *group
	member *member
	action *lifecycleAction
}

// open finds the open action that a call means, by token or by instance.
func (api *hookActions) open(c *sim.Call, name, hook, instance, token *string) (*openAction, error) {
	g, err := api.groups.find(name)
	if err != nil {
		return nil, err
	}
	if err := g.allows(c.Principal); err != nil {
		return nil, err
	}
	if instance == nil && token == nil {
		return nil, invalid("Either InstanceId or LifecycleActionToken must be specified.")
	}
	for _, m := range g.members {
		if instance != nil && *instance != m.id || m.outcome != "" {
			continue
		}
		for _, a := range m.actions {
			if a.result == "" && a.hook == val(hook) && (token == nil || *token == a.token) {
				return &openAction{g, m, a}, nil
			}
		}
	}
	if token != nil {
		return nil, invalid("No active Lifecycle Action found with token %s", *token)
	}
	return nil, invalid("No active Lifecycle Action found with instance ID %s", *instance)
}

func (api *hookActions) complete(c *sim.Call, in *autoscaling.CompleteLifecycleActionInput) (*autoscaling.CompleteLifecycleActionOutput, error) {
	result := val(in.LifecycleActionResult)
	if result != resultContinue && result != resultAbandon {
		return nil, invalid("Invalid lifecycle action result: %s. Valid values are: CONTINUE, ABANDON", result)
	}
	found, err := api.open(c, in.AutoScalingGroupName, in.LifecycleHookName, in.InstanceId, in.LifecycleActionToken)
	if err != nil {
		return nil, err
	}
	found.action.result = result
	api.groups.wake(found.group, reaction)
	return &autoscaling.CompleteLifecycleActionOutput{}, nil
}

func (api *hookActions) recordHeartbeat(c *sim.Call,
	in *autoscaling.RecordLifecycleActionHeartbeatInput) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error) {
	found, err := api.open(c, in.AutoScalingGroupName, in.LifecycleHookName, in.InstanceId, in.LifecycleActionToken)
	if err != nil {
		return nil, err
	}
	a := found.action
	a.deadline = api.kernel.Now().Add(a.wait)
	if a.deadline.After(a.end) {
		a.deadline = a.end
	}
	return &autoscaling.RecordLifecycleActionHeartbeatOutput{}, nil
}

func describeLifecycleHookTypes(*sim.Call,
	*autoscaling.DescribeLifecycleHookTypesInput) (*autoscaling.DescribeLifecycleHookTypesOutput, error) {
	return &autoscaling.DescribeLifecycleHookTypesOutput{LifecycleHookTypes: []string{transitionLaunch, transitionTerminate}}, nil
}
