package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// call is one action of a service, a method of the SDK's client for it. The types below have these functions in place of clients, so that no interface can hold
// a client: the linker would keep all of its methods, which are hundreds, because something in the program looks methods up by name (ADR 46).
type call[Input, Output, Options any] func(context.Context, *Input, ...func(*Options)) (*Output, error)

// EC2 is what Slipway calls of EC2.
type EC2 struct {
	createFleet                    call[ec2.CreateFleetInput, ec2.CreateFleetOutput, ec2.Options]
	createLaunchTemplate           call[ec2.CreateLaunchTemplateInput, ec2.CreateLaunchTemplateOutput, ec2.Options]
	createLaunchTemplateVersion    call[ec2.CreateLaunchTemplateVersionInput, ec2.CreateLaunchTemplateVersionOutput, ec2.Options]
	createTags                     call[ec2.CreateTagsInput, ec2.CreateTagsOutput, ec2.Options]
	deleteLaunchTemplate           call[ec2.DeleteLaunchTemplateInput, ec2.DeleteLaunchTemplateOutput, ec2.Options]
	deleteLaunchTemplateVersions   call[ec2.DeleteLaunchTemplateVersionsInput, ec2.DeleteLaunchTemplateVersionsOutput, ec2.Options]
	deleteTags                     call[ec2.DeleteTagsInput, ec2.DeleteTagsOutput, ec2.Options]
	describeCapacityReservations   call[ec2.DescribeCapacityReservationsInput, ec2.DescribeCapacityReservationsOutput, ec2.Options]
	describeImages                 call[ec2.DescribeImagesInput, ec2.DescribeImagesOutput, ec2.Options]
	describeInstances              call[ec2.DescribeInstancesInput, ec2.DescribeInstancesOutput, ec2.Options]
	describeInstanceTypeOfferings  call[ec2.DescribeInstanceTypeOfferingsInput, ec2.DescribeInstanceTypeOfferingsOutput, ec2.Options]
	describeInstanceTypes          call[ec2.DescribeInstanceTypesInput, ec2.DescribeInstanceTypesOutput, ec2.Options]
	describeLaunchTemplates        call[ec2.DescribeLaunchTemplatesInput, ec2.DescribeLaunchTemplatesOutput, ec2.Options]
	describeLaunchTemplateVersions call[ec2.DescribeLaunchTemplateVersionsInput, ec2.DescribeLaunchTemplateVersionsOutput, ec2.Options]
	describeSecurityGroups         call[ec2.DescribeSecurityGroupsInput, ec2.DescribeSecurityGroupsOutput, ec2.Options]
	describeSpotPriceHistory       call[ec2.DescribeSpotPriceHistoryInput, ec2.DescribeSpotPriceHistoryOutput, ec2.Options]
	describeSubnets                call[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput, ec2.Options]
	modifyLaunchTemplate           call[ec2.ModifyLaunchTemplateInput, ec2.ModifyLaunchTemplateOutput, ec2.Options]
	runInstances                   call[ec2.RunInstancesInput, ec2.RunInstancesOutput, ec2.Options]
	terminateInstances             call[ec2.TerminateInstancesInput, ec2.TerminateInstancesOutput, ec2.Options]
}

func newEC2(client *ec2.Client) *EC2 {
	return &EC2{
		createFleet:                    client.CreateFleet,
		createLaunchTemplate:           client.CreateLaunchTemplate,
		createLaunchTemplateVersion:    client.CreateLaunchTemplateVersion,
		createTags:                     client.CreateTags,
		deleteLaunchTemplate:           client.DeleteLaunchTemplate,
		deleteLaunchTemplateVersions:   client.DeleteLaunchTemplateVersions,
		deleteTags:                     client.DeleteTags,
		describeCapacityReservations:   client.DescribeCapacityReservations,
		describeImages:                 client.DescribeImages,
		describeInstances:              client.DescribeInstances,
		describeInstanceTypeOfferings:  client.DescribeInstanceTypeOfferings,
		describeInstanceTypes:          client.DescribeInstanceTypes,
		describeLaunchTemplates:        client.DescribeLaunchTemplates,
		describeLaunchTemplateVersions: client.DescribeLaunchTemplateVersions,
		describeSecurityGroups:         client.DescribeSecurityGroups,
		describeSpotPriceHistory:       client.DescribeSpotPriceHistory,
		describeSubnets:                client.DescribeSubnets,
		modifyLaunchTemplate:           client.ModifyLaunchTemplate,
		runInstances:                   client.RunInstances,
		terminateInstances:             client.TerminateInstances,
	}
}

// CreateFleet is the SDK's.
func (c *EC2) CreateFleet(ctx context.Context, input *ec2.CreateFleetInput, set ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
	return c.createFleet(ctx, input, set...)
}

// CreateLaunchTemplate is the SDK's.
func (c *EC2) CreateLaunchTemplate(ctx context.Context, input *ec2.CreateLaunchTemplateInput, set ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error) {
	return c.createLaunchTemplate(ctx, input, set...)
}

// CreateLaunchTemplateVersion is the SDK's.
func (c *EC2) CreateLaunchTemplateVersion(ctx context.Context, input *ec2.CreateLaunchTemplateVersionInput, set ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateVersionOutput, error) {
	return c.createLaunchTemplateVersion(ctx, input, set...)
}

// CreateTags is the SDK's.
func (c *EC2) CreateTags(ctx context.Context, input *ec2.CreateTagsInput, set ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
	return c.createTags(ctx, input, set...)
}

// DeleteLaunchTemplate is the SDK's.
func (c *EC2) DeleteLaunchTemplate(ctx context.Context, input *ec2.DeleteLaunchTemplateInput, set ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error) {
	return c.deleteLaunchTemplate(ctx, input, set...)
}

// DeleteLaunchTemplateVersions is the SDK's.
func (c *EC2) DeleteLaunchTemplateVersions(ctx context.Context, input *ec2.DeleteLaunchTemplateVersionsInput, set ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateVersionsOutput, error) {
	return c.deleteLaunchTemplateVersions(ctx, input, set...)
}

// DeleteTags is the SDK's.
func (c *EC2) DeleteTags(ctx context.Context, input *ec2.DeleteTagsInput, set ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error) {
	return c.deleteTags(ctx, input, set...)
}

// DescribeCapacityReservations is the SDK's.
func (c *EC2) DescribeCapacityReservations(ctx context.Context, input *ec2.DescribeCapacityReservationsInput, set ...func(*ec2.Options)) (*ec2.DescribeCapacityReservationsOutput, error) {
	return c.describeCapacityReservations(ctx, input, set...)
}

// DescribeImages is the SDK's.
func (c *EC2) DescribeImages(ctx context.Context, input *ec2.DescribeImagesInput, set ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error) {
	return c.describeImages(ctx, input, set...)
}

// DescribeInstanceTypeOfferings is the SDK's.
func (c *EC2) DescribeInstanceTypeOfferings(ctx context.Context, input *ec2.DescribeInstanceTypeOfferingsInput, set ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	return c.describeInstanceTypeOfferings(ctx, input, set...)
}

// DescribeInstanceTypes is the SDK's.
func (c *EC2) DescribeInstanceTypes(ctx context.Context, input *ec2.DescribeInstanceTypesInput, set ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
	return c.describeInstanceTypes(ctx, input, set...)
}

// DescribeInstances is the SDK's.
func (c *EC2) DescribeInstances(ctx context.Context, input *ec2.DescribeInstancesInput, set ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	return c.describeInstances(ctx, input, set...)
}

// DescribeLaunchTemplateVersions is the SDK's.
func (c *EC2) DescribeLaunchTemplateVersions(ctx context.Context, input *ec2.DescribeLaunchTemplateVersionsInput, set ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	return c.describeLaunchTemplateVersions(ctx, input, set...)
}

// DescribeLaunchTemplates is the SDK's.
func (c *EC2) DescribeLaunchTemplates(ctx context.Context, input *ec2.DescribeLaunchTemplatesInput, set ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error) {
	return c.describeLaunchTemplates(ctx, input, set...)
}

// DescribeSecurityGroups is the SDK's.
func (c *EC2) DescribeSecurityGroups(ctx context.Context, input *ec2.DescribeSecurityGroupsInput, set ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	return c.describeSecurityGroups(ctx, input, set...)
}

// DescribeSpotPriceHistory is the SDK's.
func (c *EC2) DescribeSpotPriceHistory(ctx context.Context, input *ec2.DescribeSpotPriceHistoryInput, set ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	return c.describeSpotPriceHistory(ctx, input, set...)
}

// DescribeSubnets is the SDK's.
func (c *EC2) DescribeSubnets(ctx context.Context, input *ec2.DescribeSubnetsInput, set ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	return c.describeSubnets(ctx, input, set...)
}

// ModifyLaunchTemplate is the SDK's.
func (c *EC2) ModifyLaunchTemplate(ctx context.Context, input *ec2.ModifyLaunchTemplateInput, set ...func(*ec2.Options)) (*ec2.ModifyLaunchTemplateOutput, error) {
	return c.modifyLaunchTemplate(ctx, input, set...)
}

// RunInstances is the SDK's.
func (c *EC2) RunInstances(ctx context.Context, input *ec2.RunInstancesInput, set ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error) {
	return c.runInstances(ctx, input, set...)
}

// TerminateInstances is the SDK's.
func (c *EC2) TerminateInstances(ctx context.Context, input *ec2.TerminateInstancesInput, set ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error) {
	return c.terminateInstances(ctx, input, set...)
}

// AutoScaling is what Slipway calls of EC2 Auto Scaling.
type AutoScaling struct {
	attachLoadBalancerTargetGroups      call[autoscaling.AttachLoadBalancerTargetGroupsInput, autoscaling.AttachLoadBalancerTargetGroupsOutput, autoscaling.Options]
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

// AttachLoadBalancerTargetGroups is the SDK's.
func (c *AutoScaling) AttachLoadBalancerTargetGroups(ctx context.Context, input *autoscaling.AttachLoadBalancerTargetGroupsInput, set ...func(*autoscaling.Options)) (*autoscaling.AttachLoadBalancerTargetGroupsOutput, error) {
	return c.attachLoadBalancerTargetGroups(ctx, input, set...)
}

// CancelInstanceRefresh is the SDK's.
func (c *AutoScaling) CancelInstanceRefresh(ctx context.Context, input *autoscaling.CancelInstanceRefreshInput, set ...func(*autoscaling.Options)) (*autoscaling.CancelInstanceRefreshOutput, error) {
	return c.cancelInstanceRefresh(ctx, input, set...)
}

// CompleteLifecycleAction is the SDK's.
func (c *AutoScaling) CompleteLifecycleAction(ctx context.Context, input *autoscaling.CompleteLifecycleActionInput, set ...func(*autoscaling.Options)) (*autoscaling.CompleteLifecycleActionOutput, error) {
	return c.completeLifecycleAction(ctx, input, set...)
}

// CreateAutoScalingGroup is the SDK's.
func (c *AutoScaling) CreateAutoScalingGroup(ctx context.Context, input *autoscaling.CreateAutoScalingGroupInput, set ...func(*autoscaling.Options)) (*autoscaling.CreateAutoScalingGroupOutput, error) {
	return c.createAutoScalingGroup(ctx, input, set...)
}

// CreateOrUpdateTags is the SDK's.
func (c *AutoScaling) CreateOrUpdateTags(ctx context.Context, input *autoscaling.CreateOrUpdateTagsInput, set ...func(*autoscaling.Options)) (*autoscaling.CreateOrUpdateTagsOutput, error) {
	return c.createOrUpdateTags(ctx, input, set...)
}

// DeleteAutoScalingGroup is the SDK's.
func (c *AutoScaling) DeleteAutoScalingGroup(ctx context.Context, input *autoscaling.DeleteAutoScalingGroupInput, set ...func(*autoscaling.Options)) (*autoscaling.DeleteAutoScalingGroupOutput, error) {
	return c.deleteAutoScalingGroup(ctx, input, set...)
}

// DeleteLifecycleHook is the SDK's.
func (c *AutoScaling) DeleteLifecycleHook(ctx context.Context, input *autoscaling.DeleteLifecycleHookInput, set ...func(*autoscaling.Options)) (*autoscaling.DeleteLifecycleHookOutput, error) {
	return c.deleteLifecycleHook(ctx, input, set...)
}

// DeleteTags is the SDK's.
func (c *AutoScaling) DeleteTags(ctx context.Context, input *autoscaling.DeleteTagsInput, set ...func(*autoscaling.Options)) (*autoscaling.DeleteTagsOutput, error) {
	return c.deleteTags(ctx, input, set...)
}

// DeleteWarmPool is the SDK's.
func (c *AutoScaling) DeleteWarmPool(ctx context.Context, input *autoscaling.DeleteWarmPoolInput, set ...func(*autoscaling.Options)) (*autoscaling.DeleteWarmPoolOutput, error) {
	return c.deleteWarmPool(ctx, input, set...)
}

// DescribeAutoScalingGroups is the SDK's.
func (c *AutoScaling) DescribeAutoScalingGroups(ctx context.Context, input *autoscaling.DescribeAutoScalingGroupsInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	return c.describeAutoScalingGroups(ctx, input, set...)
}

// DescribeInstanceRefreshes is the SDK's.
func (c *AutoScaling) DescribeInstanceRefreshes(ctx context.Context, input *autoscaling.DescribeInstanceRefreshesInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeInstanceRefreshesOutput, error) {
	return c.describeInstanceRefreshes(ctx, input, set...)
}

// DescribeLifecycleHooks is the SDK's.
func (c *AutoScaling) DescribeLifecycleHooks(ctx context.Context, input *autoscaling.DescribeLifecycleHooksInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeLifecycleHooksOutput, error) {
	return c.describeLifecycleHooks(ctx, input, set...)
}

// DescribeScalingActivities is the SDK's.
func (c *AutoScaling) DescribeScalingActivities(ctx context.Context, input *autoscaling.DescribeScalingActivitiesInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	return c.describeScalingActivities(ctx, input, set...)
}

// DescribeWarmPool is the SDK's.
func (c *AutoScaling) DescribeWarmPool(ctx context.Context, input *autoscaling.DescribeWarmPoolInput, set ...func(*autoscaling.Options)) (*autoscaling.DescribeWarmPoolOutput, error) {
	return c.describeWarmPool(ctx, input, set...)
}

// DetachLoadBalancerTargetGroups is the SDK's.
func (c *AutoScaling) DetachLoadBalancerTargetGroups(ctx context.Context, input *autoscaling.DetachLoadBalancerTargetGroupsInput, set ...func(*autoscaling.Options)) (*autoscaling.DetachLoadBalancerTargetGroupsOutput, error) {
	return c.detachLoadBalancerTargetGroups(ctx, input, set...)
}

// PutLifecycleHook is the SDK's.
func (c *AutoScaling) PutLifecycleHook(ctx context.Context, input *autoscaling.PutLifecycleHookInput, set ...func(*autoscaling.Options)) (*autoscaling.PutLifecycleHookOutput, error) {
	return c.putLifecycleHook(ctx, input, set...)
}

// PutWarmPool is the SDK's.
func (c *AutoScaling) PutWarmPool(ctx context.Context, input *autoscaling.PutWarmPoolInput, set ...func(*autoscaling.Options)) (*autoscaling.PutWarmPoolOutput, error) {
	return c.putWarmPool(ctx, input, set...)
}

// RecordLifecycleActionHeartbeat is the SDK's.
func (c *AutoScaling) RecordLifecycleActionHeartbeat(ctx context.Context, input *autoscaling.RecordLifecycleActionHeartbeatInput, set ...func(*autoscaling.Options)) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error) {
	return c.recordLifecycleActionHeartbeat(ctx, input, set...)
}

// ResumeProcesses is the SDK's.
func (c *AutoScaling) ResumeProcesses(ctx context.Context, input *autoscaling.ResumeProcessesInput, set ...func(*autoscaling.Options)) (*autoscaling.ResumeProcessesOutput, error) {
	return c.resumeProcesses(ctx, input, set...)
}

// SetInstanceProtection is the SDK's.
func (c *AutoScaling) SetInstanceProtection(ctx context.Context, input *autoscaling.SetInstanceProtectionInput, set ...func(*autoscaling.Options)) (*autoscaling.SetInstanceProtectionOutput, error) {
	return c.setInstanceProtection(ctx, input, set...)
}

// StartInstanceRefresh is the SDK's.
func (c *AutoScaling) StartInstanceRefresh(ctx context.Context, input *autoscaling.StartInstanceRefreshInput, set ...func(*autoscaling.Options)) (*autoscaling.StartInstanceRefreshOutput, error) {
	return c.startInstanceRefresh(ctx, input, set...)
}

// SuspendProcesses is the SDK's.
func (c *AutoScaling) SuspendProcesses(ctx context.Context, input *autoscaling.SuspendProcessesInput, set ...func(*autoscaling.Options)) (*autoscaling.SuspendProcessesOutput, error) {
	return c.suspendProcesses(ctx, input, set...)
}

// TerminateInstanceInAutoScalingGroup is the SDK's.
func (c *AutoScaling) TerminateInstanceInAutoScalingGroup(ctx context.Context, input *autoscaling.TerminateInstanceInAutoScalingGroupInput, set ...func(*autoscaling.Options)) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error) {
	return c.terminateInstanceInAutoScalingGroup(ctx, input, set...)
}

// UpdateAutoScalingGroup is the SDK's.
func (c *AutoScaling) UpdateAutoScalingGroup(ctx context.Context, input *autoscaling.UpdateAutoScalingGroupInput, set ...func(*autoscaling.Options)) (*autoscaling.UpdateAutoScalingGroupOutput, error) {
	return c.updateAutoScalingGroup(ctx, input, set...)
}

// EKS is what Slipway calls of EKS.
type EKS struct {
	createNodegroup        call[eks.CreateNodegroupInput, eks.CreateNodegroupOutput, eks.Options]
	deleteNodegroup        call[eks.DeleteNodegroupInput, eks.DeleteNodegroupOutput, eks.Options]
	describeCluster        call[eks.DescribeClusterInput, eks.DescribeClusterOutput, eks.Options]
	describeNodegroup      call[eks.DescribeNodegroupInput, eks.DescribeNodegroupOutput, eks.Options]
	describeUpdate         call[eks.DescribeUpdateInput, eks.DescribeUpdateOutput, eks.Options]
	listUpdates            call[eks.ListUpdatesInput, eks.ListUpdatesOutput, eks.Options]
	tagResource            call[eks.TagResourceInput, eks.TagResourceOutput, eks.Options]
	untagResource          call[eks.UntagResourceInput, eks.UntagResourceOutput, eks.Options]
	updateNodegroupConfig  call[eks.UpdateNodegroupConfigInput, eks.UpdateNodegroupConfigOutput, eks.Options]
	updateNodegroupVersion call[eks.UpdateNodegroupVersionInput, eks.UpdateNodegroupVersionOutput, eks.Options]
}

func newEKS(client *eks.Client) *EKS {
	return &EKS{
		createNodegroup:        client.CreateNodegroup,
		deleteNodegroup:        client.DeleteNodegroup,
		describeCluster:        client.DescribeCluster,
		describeNodegroup:      client.DescribeNodegroup,
		describeUpdate:         client.DescribeUpdate,
		listUpdates:            client.ListUpdates,
		tagResource:            client.TagResource,
		untagResource:          client.UntagResource,
		updateNodegroupConfig:  client.UpdateNodegroupConfig,
		updateNodegroupVersion: client.UpdateNodegroupVersion,
	}
}

// CreateNodegroup is the SDK's.
func (c *EKS) CreateNodegroup(ctx context.Context, input *eks.CreateNodegroupInput, set ...func(*eks.Options)) (*eks.CreateNodegroupOutput, error) {
	return c.createNodegroup(ctx, input, set...)
}

// DeleteNodegroup is the SDK's.
func (c *EKS) DeleteNodegroup(ctx context.Context, input *eks.DeleteNodegroupInput, set ...func(*eks.Options)) (*eks.DeleteNodegroupOutput, error) {
	return c.deleteNodegroup(ctx, input, set...)
}

// DescribeCluster is the SDK's.
func (c *EKS) DescribeCluster(ctx context.Context, input *eks.DescribeClusterInput, set ...func(*eks.Options)) (*eks.DescribeClusterOutput, error) {
	return c.describeCluster(ctx, input, set...)
}

// DescribeNodegroup is the SDK's.
func (c *EKS) DescribeNodegroup(ctx context.Context, input *eks.DescribeNodegroupInput, set ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error) {
	return c.describeNodegroup(ctx, input, set...)
}

// DescribeUpdate is the SDK's.
func (c *EKS) DescribeUpdate(ctx context.Context, input *eks.DescribeUpdateInput, set ...func(*eks.Options)) (*eks.DescribeUpdateOutput, error) {
	return c.describeUpdate(ctx, input, set...)
}

// ListUpdates is the SDK's.
func (c *EKS) ListUpdates(ctx context.Context, input *eks.ListUpdatesInput, set ...func(*eks.Options)) (*eks.ListUpdatesOutput, error) {
	return c.listUpdates(ctx, input, set...)
}

// TagResource is the SDK's.
func (c *EKS) TagResource(ctx context.Context, input *eks.TagResourceInput, set ...func(*eks.Options)) (*eks.TagResourceOutput, error) {
	return c.tagResource(ctx, input, set...)
}

// UntagResource is the SDK's.
func (c *EKS) UntagResource(ctx context.Context, input *eks.UntagResourceInput, set ...func(*eks.Options)) (*eks.UntagResourceOutput, error) {
	return c.untagResource(ctx, input, set...)
}

// UpdateNodegroupConfig is the SDK's.
func (c *EKS) UpdateNodegroupConfig(ctx context.Context, input *eks.UpdateNodegroupConfigInput, set ...func(*eks.Options)) (*eks.UpdateNodegroupConfigOutput, error) {
	return c.updateNodegroupConfig(ctx, input, set...)
}

// UpdateNodegroupVersion is the SDK's.
func (c *EKS) UpdateNodegroupVersion(ctx context.Context, input *eks.UpdateNodegroupVersionInput, set ...func(*eks.Options)) (*eks.UpdateNodegroupVersionOutput, error) {
	return c.updateNodegroupVersion(ctx, input, set...)
}

// IAM is what Slipway calls of IAM.
type IAM struct {
	attachRolePolicy              call[iam.AttachRolePolicyInput, iam.AttachRolePolicyOutput, iam.Options]
	createRole                    call[iam.CreateRoleInput, iam.CreateRoleOutput, iam.Options]
	deleteRole                    call[iam.DeleteRoleInput, iam.DeleteRoleOutput, iam.Options]
	deleteRolePermissionsBoundary call[iam.DeleteRolePermissionsBoundaryInput, iam.DeleteRolePermissionsBoundaryOutput, iam.Options]
	detachRolePolicy              call[iam.DetachRolePolicyInput, iam.DetachRolePolicyOutput, iam.Options]
	getRole                       call[iam.GetRoleInput, iam.GetRoleOutput, iam.Options]
	listAttachedRolePolicies      call[iam.ListAttachedRolePoliciesInput, iam.ListAttachedRolePoliciesOutput, iam.Options]
	putRolePermissionsBoundary    call[iam.PutRolePermissionsBoundaryInput, iam.PutRolePermissionsBoundaryOutput, iam.Options]
	tagRole                       call[iam.TagRoleInput, iam.TagRoleOutput, iam.Options]
	untagRole                     call[iam.UntagRoleInput, iam.UntagRoleOutput, iam.Options]
}

func newIAM(client *iam.Client) *IAM {
	return &IAM{
		attachRolePolicy:              client.AttachRolePolicy,
		createRole:                    client.CreateRole,
		deleteRole:                    client.DeleteRole,
		deleteRolePermissionsBoundary: client.DeleteRolePermissionsBoundary,
		detachRolePolicy:              client.DetachRolePolicy,
		getRole:                       client.GetRole,
		listAttachedRolePolicies:      client.ListAttachedRolePolicies,
		putRolePermissionsBoundary:    client.PutRolePermissionsBoundary,
		tagRole:                       client.TagRole,
		untagRole:                     client.UntagRole,
	}
}

// AttachRolePolicy is the SDK's.
func (c *IAM) AttachRolePolicy(ctx context.Context, input *iam.AttachRolePolicyInput, set ...func(*iam.Options)) (*iam.AttachRolePolicyOutput, error) {
	return c.attachRolePolicy(ctx, input, set...)
}

// CreateRole is the SDK's.
func (c *IAM) CreateRole(ctx context.Context, input *iam.CreateRoleInput, set ...func(*iam.Options)) (*iam.CreateRoleOutput, error) {
	return c.createRole(ctx, input, set...)
}

// DeleteRole is the SDK's.
func (c *IAM) DeleteRole(ctx context.Context, input *iam.DeleteRoleInput, set ...func(*iam.Options)) (*iam.DeleteRoleOutput, error) {
	return c.deleteRole(ctx, input, set...)
}

// DeleteRolePermissionsBoundary is the SDK's.
func (c *IAM) DeleteRolePermissionsBoundary(ctx context.Context, input *iam.DeleteRolePermissionsBoundaryInput, set ...func(*iam.Options)) (*iam.DeleteRolePermissionsBoundaryOutput, error) {
	return c.deleteRolePermissionsBoundary(ctx, input, set...)
}

// DetachRolePolicy is the SDK's.
func (c *IAM) DetachRolePolicy(ctx context.Context, input *iam.DetachRolePolicyInput, set ...func(*iam.Options)) (*iam.DetachRolePolicyOutput, error) {
	return c.detachRolePolicy(ctx, input, set...)
}

// GetRole is the SDK's.
func (c *IAM) GetRole(ctx context.Context, input *iam.GetRoleInput, set ...func(*iam.Options)) (*iam.GetRoleOutput, error) {
	return c.getRole(ctx, input, set...)
}

// ListAttachedRolePolicies is the SDK's.
func (c *IAM) ListAttachedRolePolicies(ctx context.Context, input *iam.ListAttachedRolePoliciesInput, set ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error) {
	return c.listAttachedRolePolicies(ctx, input, set...)
}

// PutRolePermissionsBoundary is the SDK's.
func (c *IAM) PutRolePermissionsBoundary(ctx context.Context, input *iam.PutRolePermissionsBoundaryInput, set ...func(*iam.Options)) (*iam.PutRolePermissionsBoundaryOutput, error) {
	return c.putRolePermissionsBoundary(ctx, input, set...)
}

// TagRole is the SDK's.
func (c *IAM) TagRole(ctx context.Context, input *iam.TagRoleInput, set ...func(*iam.Options)) (*iam.TagRoleOutput, error) {
	return c.tagRole(ctx, input, set...)
}

// UntagRole is the SDK's.
func (c *IAM) UntagRole(ctx context.Context, input *iam.UntagRoleInput, set ...func(*iam.Options)) (*iam.UntagRoleOutput, error) {
	return c.untagRole(ctx, input, set...)
}

// SSM is what Slipway calls of Systems Manager.
type SSM struct {
	deleteParameters   call[ssm.DeleteParametersInput, ssm.DeleteParametersOutput, ssm.Options]
	describeParameters call[ssm.DescribeParametersInput, ssm.DescribeParametersOutput, ssm.Options]
	getParameter       call[ssm.GetParameterInput, ssm.GetParameterOutput, ssm.Options]
	putParameter       call[ssm.PutParameterInput, ssm.PutParameterOutput, ssm.Options]
}

func newSSM(client *ssm.Client) *SSM {
	return &SSM{
		deleteParameters:   client.DeleteParameters,
		describeParameters: client.DescribeParameters,
		getParameter:       client.GetParameter,
		putParameter:       client.PutParameter,
	}
}

// DeleteParameters is the SDK's.
func (c *SSM) DeleteParameters(ctx context.Context, input *ssm.DeleteParametersInput, set ...func(*ssm.Options)) (*ssm.DeleteParametersOutput, error) {
	return c.deleteParameters(ctx, input, set...)
}

// DescribeParameters is the SDK's.
func (c *SSM) DescribeParameters(ctx context.Context, input *ssm.DescribeParametersInput, set ...func(*ssm.Options)) (*ssm.DescribeParametersOutput, error) {
	return c.describeParameters(ctx, input, set...)
}

// GetParameter is the SDK's.
func (c *SSM) GetParameter(ctx context.Context, input *ssm.GetParameterInput, set ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	return c.getParameter(ctx, input, set...)
}

// PutParameter is the SDK's.
func (c *SSM) PutParameter(ctx context.Context, input *ssm.PutParameterInput, set ...func(*ssm.Options)) (*ssm.PutParameterOutput, error) {
	return c.putParameter(ctx, input, set...)
}

// S3 is what Slipway calls of S3.
type S3 struct {
	deleteObjects call[s3.DeleteObjectsInput, s3.DeleteObjectsOutput, s3.Options]
	headObject    call[s3.HeadObjectInput, s3.HeadObjectOutput, s3.Options]
	listObjectsV2 call[s3.ListObjectsV2Input, s3.ListObjectsV2Output, s3.Options]
	putObject     call[s3.PutObjectInput, s3.PutObjectOutput, s3.Options]
}

func newS3(client *s3.Client) *S3 {
	return &S3{
		deleteObjects: client.DeleteObjects,
		headObject:    client.HeadObject,
		listObjectsV2: client.ListObjectsV2,
		putObject:     client.PutObject,
	}
}

// DeleteObjects is the SDK's.
func (c *S3) DeleteObjects(ctx context.Context, input *s3.DeleteObjectsInput, set ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error) {
	return c.deleteObjects(ctx, input, set...)
}

// HeadObject is the SDK's.
func (c *S3) HeadObject(ctx context.Context, input *s3.HeadObjectInput, set ...func(*s3.Options)) (*s3.HeadObjectOutput, error) {
	return c.headObject(ctx, input, set...)
}

// ListObjectsV2 is the SDK's.
func (c *S3) ListObjectsV2(ctx context.Context, input *s3.ListObjectsV2Input, set ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	return c.listObjectsV2(ctx, input, set...)
}

// PutObject is the SDK's.
func (c *S3) PutObject(ctx context.Context, input *s3.PutObjectInput, set ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	return c.putObject(ctx, input, set...)
}

// SQS is what Slipway calls of SQS.
type SQS struct {
	deleteMessageBatch call[sqs.DeleteMessageBatchInput, sqs.DeleteMessageBatchOutput, sqs.Options]
	getQueueURL        call[sqs.GetQueueUrlInput, sqs.GetQueueUrlOutput, sqs.Options]
	receiveMessage     call[sqs.ReceiveMessageInput, sqs.ReceiveMessageOutput, sqs.Options]
}

func newSQS(client *sqs.Client) *SQS {
	return &SQS{
		deleteMessageBatch: client.DeleteMessageBatch,
		getQueueURL:        client.GetQueueUrl,
		receiveMessage:     client.ReceiveMessage,
	}
}

// DeleteMessageBatch is the SDK's.
func (c *SQS) DeleteMessageBatch(ctx context.Context, input *sqs.DeleteMessageBatchInput, set ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	return c.deleteMessageBatch(ctx, input, set...)
}

// GetQueueUrl is the SDK's.
func (c *SQS) GetQueueUrl(ctx context.Context, input *sqs.GetQueueUrlInput, set ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error) { //nolint:revive // the name is the SDK's
	return c.getQueueURL(ctx, input, set...)
}

// ReceiveMessage is the SDK's.
func (c *SQS) ReceiveMessage(ctx context.Context, input *sqs.ReceiveMessageInput, set ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	return c.receiveMessage(ctx, input, set...)
}
