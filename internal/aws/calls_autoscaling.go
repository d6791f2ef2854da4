package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
)

// AutoScaling contains the calls of EC2 Auto Scaling that Slipway uses.
type AutoScaling struct {
	attachLoadBalancerTargetGroups      call[autoscaling.AttachLoadBalancerTargetGroupsInput, autoscaling.AttachLoadBalancerTargetGroupsOutput, autoscaling.Options]
	attachTrafficSources                call[autoscaling.AttachTrafficSourcesInput, autoscaling.AttachTrafficSourcesOutput, autoscaling.Options]
	cancelInstanceRefresh               call[autoscaling.CancelInstanceRefreshInput, autoscaling.CancelInstanceRefreshOutput, autoscaling.Options]
	completeLifecycleAction             call[autoscaling.CompleteLifecycleActionInput, autoscaling.CompleteLifecycleActionOutput, autoscaling.Options]
	createAutoScalingGroup              call[autoscaling.CreateAutoScalingGroupInput, autoscaling.CreateAutoScalingGroupOutput, autoscaling.Options]
	createOrUpdateTags                  call[autoscaling.CreateOrUpdateTagsInput, autoscaling.CreateOrUpdateTagsOutput, autoscaling.Options]
	deleteAutoScalingGroup              call[autoscaling.DeleteAutoScalingGroupInput, autoscaling.DeleteAutoScalingGroupOutput, autoscaling.Options]
	deleteLifecycleHook                 call[autoscaling.DeleteLifecycleHookInput, autoscaling.DeleteLifecycleHookOutput, autoscaling.Options]
	deleteTags                          call[autoscaling.DeleteTagsInput, autoscaling.DeleteTagsOutput, autoscaling.Options]
	deleteWarmPool                      call[autoscaling.DeleteWarmPoolInput, autoscaling.DeleteWarmPoolOutput, autoscaling.Options]
	describeAutoScalingGroups           call[autoscaling.DescribeAutoScalingGroupsInput, autoscaling.DescribeAutoScalingGroupsOutput, autoscaling.Options]
	describeInstanceRefreshes           call[autoscaling.DescribeInstanceRefreshesInput, autoscaling.DescribeInstanceRefreshesOutput, autoscaling.Options]
	describeLifecycleHooks              call[autoscaling.DescribeLifecycleHooksInput, autoscaling.DescribeLifecycleHooksOutput, autoscaling.Options]
	describeScalingActivities           call[autoscaling.DescribeScalingActivitiesInput, autoscaling.DescribeScalingActivitiesOutput, autoscaling.Options]
	describeWarmPool                    call[autoscaling.DescribeWarmPoolInput, autoscaling.DescribeWarmPoolOutput, autoscaling.Options]
	detachLoadBalancerTargetGroups      call[autoscaling.DetachLoadBalancerTargetGroupsInput, autoscaling.DetachLoadBalancerTargetGroupsOutput, autoscaling.Options]
	detachTrafficSources                call[autoscaling.DetachTrafficSourcesInput, autoscaling.DetachTrafficSourcesOutput, autoscaling.Options]
	putLifecycleHook                    call[autoscaling.PutLifecycleHookInput, autoscaling.PutLifecycleHookOutput, autoscaling.Options]
	putWarmPool                         call[autoscaling.PutWarmPoolInput, autoscaling.PutWarmPoolOutput, autoscaling.Options]
	recordLifecycleActionHeartbeat      call[autoscaling.RecordLifecycleActionHeartbeatInput, autoscaling.RecordLifecycleActionHeartbeatOutput, autoscaling.Options]
	resumeProcesses                     call[autoscaling.ResumeProcessesInput, autoscaling.ResumeProcessesOutput, autoscaling.Options]
	setInstanceProtection               call[autoscaling.SetInstanceProtectionInput, autoscaling.SetInstanceProtectionOutput, autoscaling.Options]
	startInstanceRefresh                call[autoscaling.StartInstanceRefreshInput, autoscaling.StartInstanceRefreshOutput, autoscaling.Options]
	suspendProcesses                    call[autoscaling.SuspendProcessesInput, autoscaling.SuspendProcessesOutput, autoscaling.Options]
	terminateInstanceInAutoScalingGroup call[autoscaling.TerminateInstanceInAutoScalingGroupInput, autoscaling.TerminateInstanceInAutoScalingGroupOutput, autoscaling.Options]
	updateAutoScalingGroup              call[autoscaling.UpdateAutoScalingGroupInput, autoscaling.UpdateAutoScalingGroupOutput, autoscaling.Options]
}

func newAutoScaling(client *autoscaling.Client) *AutoScaling {
	return &AutoScaling{
		attachLoadBalancerTargetGroups:      client.AttachLoadBalancerTargetGroups,
		attachTrafficSources:                client.AttachTrafficSources,
		cancelInstanceRefresh:               client.CancelInstanceRefresh,
		completeLifecycleAction:             client.CompleteLifecycleAction,
		createAutoScalingGroup:              client.CreateAutoScalingGroup,
		createOrUpdateTags:                  client.CreateOrUpdateTags,
		deleteAutoScalingGroup:              client.DeleteAutoScalingGroup,
		deleteLifecycleHook:                 client.DeleteLifecycleHook,
		deleteTags:                          client.DeleteTags,
		deleteWarmPool:                      client.DeleteWarmPool,
		describeAutoScalingGroups:           client.DescribeAutoScalingGroups,
		describeInstanceRefreshes:           client.DescribeInstanceRefreshes,
		describeLifecycleHooks:              client.DescribeLifecycleHooks,
		describeScalingActivities:           client.DescribeScalingActivities,
		describeWarmPool:                    client.DescribeWarmPool,
		detachLoadBalancerTargetGroups:      client.DetachLoadBalancerTargetGroups,
		detachTrafficSources:                client.DetachTrafficSources,
		putLifecycleHook:                    client.PutLifecycleHook,
		putWarmPool:                         client.PutWarmPool,
		recordLifecycleActionHeartbeat:      client.RecordLifecycleActionHeartbeat,
		resumeProcesses:                     client.ResumeProcesses,
		setInstanceProtection:               client.SetInstanceProtection,
		startInstanceRefresh:                client.StartInstanceRefresh,
		suspendProcesses:                    client.SuspendProcesses,
		terminateInstanceInAutoScalingGroup: client.TerminateInstanceInAutoScalingGroup,
		updateAutoScalingGroup:              client.UpdateAutoScalingGroup,
	}
}

// AttachLoadBalancerTargetGroups calls the API action of the same name.
func (c *AutoScaling) AttachLoadBalancerTargetGroups(ctx context.Context, input *autoscaling.AttachLoadBalancerTargetGroupsInput, set ...func(*autoscaling.Options)) (*autoscaling.AttachLoadBalancerTargetGroupsOutput, error) {
	return c.attachLoadBalancerTargetGroups(ctx, input, set...)
}

// CancelInstanceRefresh calls the API action of the same name.
func (c *AutoScaling) CancelInstanceRefresh(ctx context.Context, input *autoscaling.CancelInstanceRefreshInput, set ...func(*autoscaling.Options)) (*autoscaling.CancelInstanceRefreshOutput, error) {
	return c.cancelInstanceRefresh(ctx, input, set...)
}

// CompleteLifecycleAction calls the API action of the same name.
func (c *AutoScaling) CompleteLifecycleAction(ctx context.Context, input *autoscaling.CompleteLifecycleActionInput, set ...func(*autoscaling.Options)) (*autoscaling.CompleteLifecycleActionOutput, error) {
	return c.completeLifecycleAction(ctx, input, set...)
}

// CreateAutoScalingGroup calls the API action of the same name.
func (c *AutoScaling) CreateAutoScalingGroup(ctx context.Context, input *autoscaling.CreateAutoScalingGroupInput, set ...func(*autoscaling.Options)) (*autoscaling.CreateAutoScalingGroupOutput, error) {
	return c.createAutoScalingGroup(ctx, input, set...)
}

// CreateOrUpdateTags calls the API action of the same name.
func (c *AutoScaling) CreateOrUpdateTags(ctx context.Context, input *autoscaling.CreateOrUpdateTagsInput, set ...func(*autoscaling.Options)) (*autoscaling.CreateOrUpdateTagsOutput, error) {
	return c.createOrUpdateTags(ctx, input, set...)
}

// DeleteAutoScalingGroup calls the API action of the same name.
func (c *AutoScaling) DeleteAutoScalingGroup(ctx context.Context, input *autoscaling.DeleteAutoScalingGroupInput, set ...func(*autoscaling.Options)) (*autoscaling.DeleteAutoScalingGroupOutput, error) {
	return c.deleteAutoScalingGroup(ctx, input, set...)
}

// DeleteLifecycleHook calls the API action of the same name.
func (c *AutoScaling) DeleteLifecycleHook(ctx context.Context, input *autoscaling.DeleteLifecycleHookInput, set ...func(*autoscaling.Options)) (*autoscaling.DeleteLifecycleHookOutput, error) {
	return c.deleteLifecycleHook(ctx, input, set...)
}

// DeleteTags calls the API action of the same name.
func (c *AutoScaling) DeleteTags(ctx context.Context, input *autoscaling.DeleteTagsInput, set ...func(*autoscaling.Options)) (*autoscaling.DeleteTagsOutput, error) {
	return c.deleteTags(ctx, input, set...)
}

// DeleteWarmPool calls the API action of the same name.
func (c *AutoScaling) DeleteWarmPool(ctx context.Context, input *autoscaling.DeleteWarmPoolInput, set ...func(*autoscaling.Options)) (*autoscaling.DeleteWarmPoolOutput, error) {
	return c.deleteWarmPool(ctx, input, set...)
}

// DescribeAutoScalingGroups calls the API action of the same name.
func (c *AutoScaling) DescribeAutoScalingGroups(ctx context.Context, input *autoscaling.DescribeAutoScalingGroupsInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	return c.describeAutoScalingGroups(ctx, input, set...)
}

// DescribeInstanceRefreshes calls the API action of the same name.
func (c *AutoScaling) DescribeInstanceRefreshes(ctx context.Context, input *autoscaling.DescribeInstanceRefreshesInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeInstanceRefreshesOutput, error) {
	return c.describeInstanceRefreshes(ctx, input, set...)
}

// DescribeLifecycleHooks calls the API action of the same name.
func (c *AutoScaling) DescribeLifecycleHooks(ctx context.Context, input *autoscaling.DescribeLifecycleHooksInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeLifecycleHooksOutput, error) {
	return c.describeLifecycleHooks(ctx, input, set...)
}

// DescribeScalingActivities calls the API action of the same name.
func (c *AutoScaling) DescribeScalingActivities(ctx context.Context, input *autoscaling.DescribeScalingActivitiesInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	return c.describeScalingActivities(ctx, input, set...)
}

// DescribeWarmPool calls the API action of the same name.
func (c *AutoScaling) DescribeWarmPool(ctx context.Context, input *autoscaling.DescribeWarmPoolInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeWarmPoolOutput, error) {
	return c.describeWarmPool(ctx, input, set...)
}

// DetachLoadBalancerTargetGroups calls the API action of the same name.
func (c *AutoScaling) DetachLoadBalancerTargetGroups(ctx context.Context, input *autoscaling.DetachLoadBalancerTargetGroupsInput, set ...func(*autoscaling.Options)) (*autoscaling.DetachLoadBalancerTargetGroupsOutput, error) {
	return c.detachLoadBalancerTargetGroups(ctx, input, set...)
}

// PutLifecycleHook calls the API action of the same name.
func (c *AutoScaling) PutLifecycleHook(ctx context.Context, input *autoscaling.PutLifecycleHookInput, set ...func(*autoscaling.Options)) (*autoscaling.PutLifecycleHookOutput, error) {
	return c.putLifecycleHook(ctx, input, set...)
}

// PutWarmPool calls the API action of the same name.
func (c *AutoScaling) PutWarmPool(ctx context.Context, input *autoscaling.PutWarmPoolInput, set ...func(*autoscaling.Options)) (*autoscaling.PutWarmPoolOutput, error) {
	return c.putWarmPool(ctx, input, set...)
}

// RecordLifecycleActionHeartbeat calls the API action of the same name.
func (c *AutoScaling) RecordLifecycleActionHeartbeat(ctx context.Context, input *autoscaling.RecordLifecycleActionHeartbeatInput, set ...func(*autoscaling.Options)) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error) {
	return c.recordLifecycleActionHeartbeat(ctx, input, set...)
}

// ResumeProcesses calls the API action of the same name.
func (c *AutoScaling) ResumeProcesses(ctx context.Context, input *autoscaling.ResumeProcessesInput, set ...func(*autoscaling.Options)) (*autoscaling.ResumeProcessesOutput, error) {
	return c.resumeProcesses(ctx, input, set...)
}

// SetInstanceProtection calls the API action of the same name.
func (c *AutoScaling) SetInstanceProtection(ctx context.Context, input *autoscaling.SetInstanceProtectionInput, set ...func(*autoscaling.Options)) (*autoscaling.SetInstanceProtectionOutput, error) {
	return c.setInstanceProtection(ctx, input, set...)
}

// StartInstanceRefresh calls the API action of the same name.
func (c *AutoScaling) StartInstanceRefresh(ctx context.Context, input *autoscaling.StartInstanceRefreshInput, set ...func(*autoscaling.Options)) (*autoscaling.StartInstanceRefreshOutput, error) {
	return c.startInstanceRefresh(ctx, input, set...)
}

// SuspendProcesses calls the API action of the same name.
func (c *AutoScaling) SuspendProcesses(ctx context.Context, input *autoscaling.SuspendProcessesInput, set ...func(*autoscaling.Options)) (*autoscaling.SuspendProcessesOutput, error) {
	return c.suspendProcesses(ctx, input, set...)
}

// TerminateInstanceInAutoScalingGroup calls the API action of the same name.
func (c *AutoScaling) TerminateInstanceInAutoScalingGroup(ctx context.Context, input *autoscaling.TerminateInstanceInAutoScalingGroupInput, set ...func(*autoscaling.Options)) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error) {
	return c.terminateInstanceInAutoScalingGroup(ctx, input, set...)
}

// UpdateAutoScalingGroup calls the API action of the same name.
func (c *AutoScaling) UpdateAutoScalingGroup(ctx context.Context, input *autoscaling.UpdateAutoScalingGroupInput, set ...func(*autoscaling.Options)) (*autoscaling.UpdateAutoScalingGroupOutput, error) {
	return c.updateAutoScalingGroup(ctx, input, set...)
}

// AttachTrafficSources calls the API action of the same name.
func (c *AutoScaling) AttachTrafficSources(ctx context.Context, input *autoscaling.AttachTrafficSourcesInput, set ...func(*autoscaling.Options)) (*autoscaling.AttachTrafficSourcesOutput, error) {
	return c.attachTrafficSources(ctx, input, set...)
}

// DetachTrafficSources calls the API action of the same name.
func (c *AutoScaling) DetachTrafficSources(ctx context.Context, input *autoscaling.DetachTrafficSourcesInput, set ...func(*autoscaling.Options)) (*autoscaling.DetachTrafficSourcesOutput, error) {
	return c.detachTrafficSources(ctx, input, set...)
}
