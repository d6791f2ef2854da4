package autoscalinggroup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/smithy-go"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// lifecycleActions has the calls of Auto Scaling that hold and release instances.
type lifecycleActions interface {
	CompleteLifecycleAction(context.Context, *autoscaling.CompleteLifecycleActionInput, ...func(*autoscaling.Options)) (*autoscaling.CompleteLifecycleActionOutput, error)
	TerminateInstanceInAutoScalingGroup(context.Context, *autoscaling.TerminateInstanceInAutoScalingGroupInput, ...func(*autoscaling.Options)) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error)
	RecordLifecycleActionHeartbeat(context.Context, *autoscaling.RecordLifecycleActionHeartbeatInput, ...func(*autoscaling.Options)) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error)
}

// DrainHook is the name of the lifecycle hook that holds an instance on its way out until its node is empty.
const DrainHook = "slipway-drain"

// DrainHeartbeat is the time for which the hook holds an instance without a heartbeat from us: long
// enough for a new manager to take over, and short enough that nothing is held for long when none
// does. A hundred of them are more than the 48 hours for which AWS holds an instance at most (AWS:
// lifecycle-hooks).
const DrainHeartbeat = 30 * time.Minute

// Held reports whether a lifecycle hook for terminations holds an instance, ours or another: on its
// way out, or before its root volume is replaced (AWS: replace-root-volume, "Use lifecycle hooks
// with replace root volume").
func (i Instance) Held() bool {
	return i.LifecycleState == "Terminating:Wait" || i.LifecycleState == "Warmed:Terminating:Wait" || i.LifecycleState == "ReplacingRootVolume:Wait"
}

// ReplacesRoot reports whether the root volume of an instance is being replaced. Such an instance
// stays in its group: it is rebooted with another image, and comes into service again as a new one
// does (AWS: lifecycle-hooks-overview, "Lifecycle state transitions for instances undergoing root
// volume replacement").
func (i Instance) ReplacesRoot() bool {
	return strings.HasPrefix(i.LifecycleState, "ReplacingRootVolume") || i.LifecycleState == "RootVolumeReplaced"
}

// Warmed reports whether an instance waits in a warm pool.
func (i Instance) Warmed() bool { return strings.HasPrefix(i.LifecycleState, "Warmed:") }

// LetGo completes the lifecycle action of the drain hook on an instance. It is no error if the hook
// does not hold the instance.
func (g *Groups) LetGo(ctx context.Context, group, instance string) error {
	_, err := g.api.CompleteLifecycleAction(ctx, &autoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: &group, InstanceId: &instance,
		LifecycleHookName: awssdk.String(DrainHook), LifecycleActionResult: awssdk.String("CONTINUE"),
	})
	if err != nil && !isNotHeld(err) {
		return fmt.Errorf("letting instance %s of Auto Scaling group %q go: %w", instance, group, err)
	}
	return nil
}

// Retained reports whether a lifecycle policy keeps an instance whose termination was abandoned. It
// runs, counts for no size of its group, and stays until it is terminated (AWS:
// manage-retained-instances).
func (i Instance) Retained() bool { return strings.HasSuffix(i.LifecycleState, ":Retained") }

// Abandon abandons the termination of an instance that the drain hook holds, so that a group that
// retains such instances keeps it. One that the hook does not hold is no error.
func (g *Groups) Abandon(ctx context.Context, group, instance string) error {
	_, err := g.api.CompleteLifecycleAction(ctx, &autoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: &group, InstanceId: &instance,
		LifecycleHookName: awssdk.String(DrainHook), LifecycleActionResult: awssdk.String("ABANDON"),
	})
	if err != nil && !isNotHeld(err) {
		return fmt.Errorf("retaining instance %s of Auto Scaling group %q: %w", instance, group, err)
	}
	return nil
}

// StopRetaining has a group terminate instances whose termination is abandoned. AWS does not delete
// a group that retains them with its instances.
func (g *Groups) StopRetaining(ctx context.Context, group string) error {
	_, err := g.api.UpdateAutoScalingGroup(ctx, &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: &group, InstanceLifecyclePolicy: lifecyclePolicy(infrav1.RetentionActionTerminate),
	})
	if err != nil {
		return fmt.Errorf("having Auto Scaling group %q retain no instances: %w", group, err)
	}
	return nil
}

// Hold has the drain hook hold an instance for another DrainHeartbeat. It is no error if the hook
// does not hold the instance.
func (g *Groups) Hold(ctx context.Context, group, instance string) error {
	_, err := g.api.RecordLifecycleActionHeartbeat(ctx, &autoscaling.RecordLifecycleActionHeartbeatInput{
		AutoScalingGroupName: &group, InstanceId: &instance, LifecycleHookName: awssdk.String(DrainHook),
	})
	if err != nil && !isNotHeld(err) {
		return fmt.Errorf("holding instance %s of Auto Scaling group %q: %w", instance, group, err)
	}
	return nil
}

// Terminate terminates one instance of a group, by its hooks. The group shrinks by it, or replaces
// it.
func (g *Groups) Terminate(ctx context.Context, group, instance string, shrink bool) error {
	if _, err := g.api.TerminateInstanceInAutoScalingGroup(ctx, terminateInput(instance, shrink)); err != nil {
		return fmt.Errorf("terminating instance %s of Auto Scaling group %q: %w", instance, group, err)
	}
	return nil
}

// terminateInput returns the request that terminates an instance.
func terminateInput(instance string, shrink bool) *autoscaling.TerminateInstanceInAutoScalingGroupInput {
	return &autoscaling.TerminateInstanceInAutoScalingGroupInput{InstanceId: &instance, ShouldDecrementDesiredCapacity: &shrink}
}

// isNotHeld knows AWS's answer where there is no action to complete: ValidationError, "No active
// Lifecycle Action found with instance ID i-0".
func isNotHeld(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == "ValidationError" &&
		strings.HasPrefix(answer.ErrorMessage(), "No active Lifecycle Action found")
}

// Empty shrinks a group to nothing, so that its instances leave by its hooks and none comes in
// their place. It is for a group that is about to be deleted.
func (g *Groups) Empty(ctx context.Context, group string) error {
	zero := awssdk.Int32(0)
	_, err := g.api.UpdateAutoScalingGroup(ctx, &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: &group, MinSize: zero, MaxSize: zero, DesiredCapacity: zero,
	})
	if err != nil {
		return fmt.Errorf("emptying Auto Scaling group %q: %w", group, err)
	}
	return nil
}
