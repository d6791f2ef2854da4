package capa

import (
	"context"
	"errors"
	"fmt"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// finalizer is CAPA's on its pools.
const finalizer = "awsmachinepool.infrastructure.cluster.x-k8s.io"

// Reconcile does for an AWSMachinePool what one pass of CAPA does: it creates what is missing, creates a
// version for what differs, replaces all instances if CAPA would, and sets the sizes of the group.
func (p Provider) Reconcile(ctx context.Context) error {
	pool := &infrav1.AWSMachinePool{}
	if err := p.Client.Get(ctx, p.Key, pool); err != nil {
		return err
	}
	if !pool.DeletionTimestamp.IsZero() {
		return p.delete(ctx, pool) // its bootstrap data may be gone
	}
	o, err := p.read(ctx)
	if err != nil {
		return err
	}
	if p.ImageID, err = p.lookUpImage(ctx, o); err != nil {
		return err
	}
	group, err := p.group(ctx)
	switch {
	case err != nil:
		return err
	case group == nil:
		return p.create(ctx, o)
	}
	if err := p.MarkPool(ctx); err != nil {
		return err
	}
	decision, err := p.Decide(ctx)
	if err != nil {
		return err
	}
	if len(decision.Refresh)+len(decision.Version) > 0 {
		err = p.CreateVersion(ctx)
	}
	groups := autoscaling.NewFromConfig(p.AWS)
	if err == nil && len(decision.Refresh) > 0 {
		_, err = groups.StartInstanceRefresh(ctx, &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: &o.name})
	}
	if err == nil && len(decision.Group) > 0 {
		_, err = groups.UpdateAutoScalingGroup(ctx, &autoscaling.UpdateAutoScalingGroupInput{
			AutoScalingGroupName: &o.name, MinSize: &o.pool.Spec.MinSize, MaxSize: &o.pool.Spec.MaxSize, DesiredCapacity: o.machinePool.Spec.Replicas,
		})
	}
	return err
}

// create creates the launch template and the group.
func (p Provider) create(ctx context.Context, o objects) error {
	before := o.pool.DeepCopy()
	if controllerutil.AddFinalizer(o.pool, finalizer) {
		if err := p.Client.Patch(ctx, o.pool, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	template, err := p.createTemplate(ctx, o)
	if err != nil {
		return err
	}
	return p.CreateGroup(ctx, template)
}

// delete deletes the group with its instances, the launch template, and then the finalizer.
func (p Provider) delete(ctx context.Context, pool *infrav1.AWSMachinePool) error {
	group, err := p.group(ctx)
	if err != nil {
		return err
	}
	if group != nil {
		_, err := autoscaling.NewFromConfig(p.AWS).DeleteAutoScalingGroup(ctx, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: &pool.Name, ForceDelete: awssdk.Bool(true)})
		return errors.Join(err, errors.New("the group is being deleted"))
	}
	if _, err := ec2.NewFromConfig(p.AWS).DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: &pool.Name}); err != nil {
		return err
	}
	before := pool.DeepCopy()
	controllerutil.RemoveFinalizer(pool, finalizer)
	return p.Client.Patch(ctx, pool, client.MergeFrom(before))
}

// lookUpImage returns the image that CAPA looks up for the Kubernetes version of the MachinePool, unless
// the pool names one. The laboratory has one for each version.
func (p Provider) lookUpImage(ctx context.Context, o objects) (string, error) {
	if ptr.Deref(o.spec.AMI.ID, "") != "" {
		return "", nil
	}
	out, err := ec2.NewFromConfig(p.AWS).DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"819546954734"}})
	if err != nil {
		return "", err
	}
	prefix := "capa-ami-ubuntu-24.04-" + o.machinePool.Spec.Template.Spec.Version + "-"
	for i := range out.Images {
		if image := &out.Images[i]; image.Architecture == "x86_64" && strings.HasPrefix(awssdk.ToString(image.Name), prefix) {
			return *image.ImageId, nil
		}
	}
	return "", fmt.Errorf("there is no image %s", prefix)
}
