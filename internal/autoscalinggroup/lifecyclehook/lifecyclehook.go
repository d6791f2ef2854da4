// Package lifecyclehook owns lifecycle hooks of Auto Scaling groups: what a pool lists, what a group
// has, and what it takes to make the two equal.
package lifecyclehook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/digest"
	"github.com/slipway-project/slipway/internal/optional"
)

// AWS's defaults of a hook (AWS: API_PutLifecycleHook).
const (
	defaultHeartbeat = 3600
	defaultResult    = string(infrav1.LifecycleHookDefaultResultAbandon)
)

// Hook is a lifecycle hook, with AWS's defaults in place of the fields that were left out.
type Hook struct {
	Name string
	// Transition is an infrav1.LifecycleTransition.
	Transition string
	// Heartbeat is in seconds.
	Heartbeat int32
	Result    string
	Metadata  string
	// TargetARN and RoleARN are both "" for a hook that sends no notifications.
	TargetARN, RoleARN string
}

// Of returns the hooks that a pool lists, sorted by name.
func Of(listed []infrav1.AWSLifecycleHook) []Hook {
	hooks := make([]Hook, 0, len(listed))
	for i := range listed {
		hook := Hook{
			Name: listed[i].Name, Transition: string(listed[i].LifecycleTransition), Heartbeat: defaultHeartbeat, Result: defaultResult,
			Metadata:  awssdk.ToString(listed[i].NotificationMetadata),
			TargetARN: awssdk.ToString(listed[i].NotificationTargetARN), RoleARN: awssdk.ToString(listed[i].RoleARN),
		}
		if timeout := listed[i].HeartbeatTimeout; timeout != nil {
			hook.Heartbeat = int32(timeout.Seconds())
		}
		if listed[i].DefaultResult != nil {
			hook.Result = string(*listed[i].DefaultResult)
		}
		hooks = append(hooks, hook)
	}
	return Sort(hooks)
}

// Sort sorts by name, in place.
func Sort(hooks []Hook) []Hook {
	slices.SortFunc(hooks, func(a, b Hook) int { return cmp.Compare(a.Name, b.Name) })
	return hooks
}

// Digest returns a digest that is the same for the same hooks, and for no others.
func Digest(hooks []Hook) string { return digest.Of(hooks) }

// Names returns the names of hooks.
func Names(hooks []Hook) []string {
	names := make([]string, 0, len(hooks))
	for _, hook := range hooks {
		names = append(names, hook.Name)
	}
	return names
}

// WithGroup returns the hooks that are created together with the group, so that no instance
// comes in past them. AWS accepts only hooks that notify the same target with the same role (AWS:
// lifecycle-hooks, "Considerations"); hooks of launching instances take precedence. The others are
// added after it.
func WithGroup(hooks []Hook) []Hook {
	if len(hooks) == 0 {
		return nil
	}
	first := hooks[0]
	if i := slices.IndexFunc(hooks, launching); i >= 0 {
		first = hooks[i]
	}
	return slices.DeleteFunc(slices.Clone(hooks), func(hook Hook) bool { return hook.TargetARN != first.TargetARN || hook.RoleARN != first.RoleARN })
}

func launching(hook Hook) bool {
	return hook.Transition == string(infrav1.LifecycleTransitionInstanceLaunching)
}

// Specifications returns the hooks as the request that creates a group has them.
func Specifications(hooks []Hook) []asgtypes.LifecycleHookSpecification {
	var list []asgtypes.LifecycleHookSpecification
	for _, hook := range hooks {
		specification := asgtypes.LifecycleHookSpecification{
			LifecycleHookName: awssdk.String(hook.Name), LifecycleTransition: awssdk.String(hook.Transition),
			DefaultResult: awssdk.String(hook.Result), HeartbeatTimeout: awssdk.Int32(hook.Heartbeat),
			NotificationMetadata: optional.Text(hook.Metadata),
		}
		if hook.TargetARN != "" {
			specification.NotificationTargetARN, specification.RoleARN = optional.Text(hook.TargetARN), optional.Text(hook.RoleARN)
		}
		list = append(list, specification)
	}
	return list
}

// API has the calls of Auto Scaling that read and change the hooks of a group.
type API interface {
	DescribeLifecycleHooks(context.Context, *autoscaling.DescribeLifecycleHooksInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeLifecycleHooksOutput, error)
	PutLifecycleHook(context.Context, *autoscaling.PutLifecycleHookInput, ...func(*autoscaling.Options)) (*autoscaling.PutLifecycleHookOutput, error)
	DeleteLifecycleHook(context.Context, *autoscaling.DeleteLifecycleHookInput, ...func(*autoscaling.Options)) (*autoscaling.DeleteLifecycleHookOutput, error)
}

// Client reads and changes the hooks of groups.
type Client struct{ api API }

// New returns a client.
func New(api API) *Client { return &Client{api: api} }

// List returns the lifecycle hooks of a group, including hooks that others added. There is no call
// for the hooks of many groups.
func (c *Client) List(ctx context.Context, group string) ([]Hook, error) {
	output, err := c.api.DescribeLifecycleHooks(ctx, &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: &group})
	if err != nil {
		return nil, fmt.Errorf("describing the lifecycle hooks of Auto Scaling group %q: %w", group, err)
	}
	hooks := make([]Hook, 0, len(output.LifecycleHooks))
	for i := range output.LifecycleHooks {
		hooks = append(hooks, hookOf(&output.LifecycleHooks[i]))
	}
	return hooks, nil
}

// Change puts a hook, or deletes it.
type Change struct {
	Hook Hook
	// Present is the hook of this name that the group has, with nothing but a name if the group is not
	// seen to have one.
	Present Hook
	Delete  bool
}

// Effect describes what the change does.
func (c Change) Effect() string {
	if c.Delete {
		return "deleted lifecycle hook " + c.Hook.Name
	}
	return "put lifecycle hook " + c.Hook.Name
}

// Changes returns the changes that bring a group's hooks to the wanted state: retired hooks are
// deleted, whether or not they are described, because a description may be older than a hook; and
// hooks that the group lacks, or has otherwise, are put. Hooks that others added stay.
func Changes(wanted []Hook, retired []string, present []Hook) []Change {
	seen := make(map[string]Hook, len(present))
	for _, hook := range present {
		seen[hook.Name] = hook
	}
	var changes []Change
	for _, name := range retired {
		if !slices.ContainsFunc(wanted, func(hook Hook) bool { return hook.Name == name }) {
			present := seen[name]
			present.Name = name
			changes = append(changes, Change{Hook: present, Present: present, Delete: true})
		}
	}
	for _, hook := range wanted {
		if present, exists := seen[hook.Name]; !exists || present != hook {
			changes = append(changes, Change{Hook: hook, Present: present})
		}
	}
	return changes
}

// Apply applies changes in order, and returns the effects of the ones that succeeded.
func (c *Client) Apply(ctx context.Context, group string, changes []Change) ([]string, error) {
	var done []string
	for _, change := range changes {
		var err error
		if change.Delete {
			err = c.delete(ctx, group, change.Present)
		} else {
			err = c.put(ctx, group, change.Hook, change.Present)
		}
		if err != nil {
			return done, err
		}
		done = append(done, change.Effect())
	}
	return done, nil
}

// Ensure brings the hooks of a group to the wanted state, as Changes does, and returns
// what it did.
func (c *Client) Ensure(ctx context.Context, group string, wanted []Hook, retired []string) ([]string, error) {
	present, err := c.List(ctx, group)
	if err != nil {
		return nil, err
	}
	return c.Apply(ctx, group, Changes(wanted, retired, present))
}

// put sets all fields of a hook. Metadata can be replaced but not removed (AWS:
// API_PutLifecycleHook, whose pattern wants a character), so a hook that loses its metadata is
// recreated.
func (c *Client) put(ctx context.Context, group string, hook, present Hook) error {
	if present.Metadata != "" && hook.Metadata == "" {
		if err := c.delete(ctx, group, present); err != nil {
			return err
		}
		present = Hook{}
	}
	if _, err := c.api.PutLifecycleHook(ctx, hookInput(group, hook, present)); err != nil {
		return fmt.Errorf("putting lifecycle hook %q of Auto Scaling group %q: %w", hook.Name, group, err)
	}
	return nil
}

// hookInput returns the request that changes a hook from the present to the wanted state.
func hookInput(group string, hook, present Hook) *autoscaling.PutLifecycleHookInput {
	input := &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: &group, LifecycleHookName: &hook.Name, LifecycleTransition: &hook.Transition,
		DefaultResult: &hook.Result, HeartbeatTimeout: &hook.Heartbeat, NotificationMetadata: optional.Text(hook.Metadata),
	}
	switch {
	case hook.TargetARN != "":
		input.NotificationTargetARN, input.RoleARN = &hook.TargetARN, optional.Text(hook.RoleARN)
	case present.TargetARN != "":
		input.NotificationTargetARN = awssdk.String("")
	}
	return input
}

func (c *Client) delete(ctx context.Context, group string, hook Hook) error {
	_, err := c.api.DeleteLifecycleHook(ctx, &autoscaling.DeleteLifecycleHookInput{AutoScalingGroupName: &group, LifecycleHookName: &hook.Name})
	if err != nil && !hook.notFound(err) {
		return fmt.Errorf("deleting lifecycle hook %q of Auto Scaling group %q: %w", hook.Name, group, err)
	}
	return nil
}

// notFound reports whether a hook does not exist: it was deleted, or a description was old. AWS has
// no code of its own for it. A hook that was not described has only a name here, and the name may be
// invalid.
func (h Hook) notFound(err error) bool {
	invalid := aws.Code(err) == "ValidationError"
	return aws.IsNotFound(err) || invalid && (h.Transition == "" || strings.Contains(err.Error(), "No Lifecycle Hook found"))
}

// hookOf converts AWS's description of a hook. A role without a target is left over, and has no
// meaning.
func hookOf(hook *asgtypes.LifecycleHook) Hook {
	seen := Hook{
		Name: awssdk.ToString(hook.LifecycleHookName), Transition: awssdk.ToString(hook.LifecycleTransition),
		Heartbeat: awssdk.ToInt32(hook.HeartbeatTimeout), Result: awssdk.ToString(hook.DefaultResult),
		Metadata: awssdk.ToString(hook.NotificationMetadata), TargetARN: awssdk.ToString(hook.NotificationTargetARN),
	}
	if seen.TargetARN != "" {
		seen.RoleARN = awssdk.ToString(hook.RoleARN)
	}
	return seen
}
