package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// theirs returns an image for arm64, and a foreign launch template.
func (w *world) theirs() (image, template string) {
	w.Helper()
	images, err := w.ec2().DescribeImages(w.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: aws.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.25.0-*"}}, {Name: aws.String("architecture"), Values: []string{"arm64"}},
	}})
	if err != nil || len(images.Images) == 0 {
		w.Fatalf("finding an image: %v", err)
	}
	own := w.versions()[0].LaunchTemplateData
	made, err := w.ec2().CreateLaunchTemplate(w.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("theirs"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: own.ImageId, InstanceType: "m5.large"},
	})
	if err != nil {
		w.Fatal(err)
	}
	return *images.Images[0].ImageId, *made.LaunchTemplate.LaunchTemplateId
}

const (
	theirHook   = "theirs"
	theirTarget = "arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/theirs/73e2d6bc24d8a067"
)

// attachTheirs gives the group what is none of ours.
func (w *world) attachTheirs() {
	w.Helper()
	_, hookErr := w.asg().PutLifecycleHook(w.Context(), &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: aws.String(poolName), LifecycleHookName: aws.String(theirHook),
		LifecycleTransition: aws.String("autoscaling:EC2_INSTANCE_TERMINATING"), HeartbeatTimeout: aws.Int32(30),
	})
	_, targetErr := w.asg().AttachLoadBalancerTargetGroups(w.Context(), &autoscaling.AttachLoadBalancerTargetGroupsInput{
		AutoScalingGroupName: aws.String(poolName), TargetGroupARNs: []string{theirTarget},
	})
	if err := errors.Join(hookErr, targetErr); err != nil {
		w.Fatal(err)
	}
}

// detachTheirs detaches it, which fails if it was detached before.
func (w *world) detachTheirs() {
	w.Helper()
	if seen := w.seen(poolName); seen.hooks[theirHook].LifecycleHookName == nil || !slices.Equal(seen.TargetGroupARNs, []string{theirTarget}) {
		w.Errorf("of what others gave the group there is left: hooks %v, target groups %q", seen.hooks, seen.TargetGroupARNs)
	}
	_, hookErr := w.asg().DeleteLifecycleHook(w.Context(), &autoscaling.DeleteLifecycleHookInput{
		AutoScalingGroupName: aws.String(poolName), LifecycleHookName: aws.String(theirHook),
	})
	_, targetErr := w.asg().DetachLoadBalancerTargetGroups(w.Context(), &autoscaling.DetachLoadBalancerTargetGroupsInput{
		AutoScalingGroupName: aws.String(poolName), TargetGroupARNs: []string{theirTarget},
	})
	if err := errors.Join(hookErr, targetErr); err != nil {
		w.Fatal(err)
	}
}

// makeAfresh creates another pool with the present spec of the first.
func (w *world) makeAfresh() {
	w.Helper()
	spec := w.mustPool().Spec
	w.stopManager()
	w.applyExample(poolName, "afresh")
	edited(w, &infrav1.AWSMachinePool{}, "afresh", func(pool *infrav1.AWSMachinePool) {
		pool.Spec = *spec.DeepCopy()
		pool.Spec.ProviderID, pool.Spec.ProviderIDList = "", nil
	})
	w.startManager()
	w.Eventually("the other pool is ready", func() error {
		pool := &infrav1.AWSMachinePool{}
		if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "afresh"}, pool); err != nil {
			return err
		}
		if !pool.Status.Ready || pool.Status.ObservedGeneration != pool.Generation {
			return fmt.Errorf("status is %+v", pool.Status)
		}
		return nil
	})
}

// seen returns AWS's description of the group of that name.
func (w *world) seen(name string) inAWS {
	w.Helper()
	groups, err := w.asg().DescribeAutoScalingGroups(w.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil || len(groups.AutoScalingGroups) != 1 {
		w.Fatalf("group %s: %d found, error %v", name, len(groups.AutoScalingGroups), err)
	}
	hooks, err := w.asg().DescribeLifecycleHooks(w.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: &name})
	if err != nil {
		w.Fatal(err)
	}
	seen := inAWS{AutoScalingGroup: groups.AutoScalingGroups[0], hooks: map[string]asgtypes.LifecycleHook{}}
	for _, hook := range hooks.LifecycleHooks {
		seen.hooks[*hook.LifecycleHookName] = hook
	}
	return seen
}

// comparable returns AWS's description of a group, without what differs between any two groups, and
// without explicit defaults.
func (w *world) comparable(name string) inAWS {
	w.Helper()
	seen := w.seen(name)
	group := &seen.AutoScalingGroup
	group.AutoScalingGroupName, group.AutoScalingGroupARN, group.CreatedTime, group.Instances, group.WarmPoolSize = nil, nil, nil, nil, nil
	for i := range group.Tags {
		tag := &group.Tags[i]
		tag.ResourceId, tag.Value = nil, aws.String(strings.ReplaceAll(*tag.Value, "afresh", poolName))
	}
	own := group.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification
	own.LaunchTemplateId, own.LaunchTemplateName, own.Version = nil, nil, nil
	if policy := group.AvailabilityZoneImpairmentPolicy; policy != nil && !*policy.ZonalShiftEnabled {
		group.AvailabilityZoneImpairmentPolicy = nil
	}
	if reservation := group.CapacityReservationSpecification; reservation != nil && reservation.CapacityReservationPreference == "default" {
		group.CapacityReservationSpecification = nil
	}
	group.CapacityRebalance = aws.Bool(aws.ToBool(group.CapacityRebalance))
	return seen
}
