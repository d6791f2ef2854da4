package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// deed is an action of a user in Kubernetes, or of an operator in AWS. It describes itself for the
// trace, and is empty if there was nothing to do.
type deed func(ctx context.Context, w *World, o *observer) (string, error)

// act has the scene's user or operator do something.
func (w *World) act(ctx context.Context, report func(format string, values ...any)) error {
	what, err := w.scene.act(ctx)
	if what != "" {
		report("%s", what)
	}
	if err != nil && !apierrors.IsNotFound(err) { // what is gone is not changed
		return fmt.Errorf("acting as the user: %w", err)
	}
	return nil
}

// edit changes the pool as it is in the API server.
func (o *observer) edit(ctx context.Context, change func(pool client.Object)) error {
	pool := o.kind.empty()
	if err := o.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.name}, pool); err != nil {
		return err
	}
	change(pool)
	return o.user.Update(ctx, pool)
}

// editTemplate changes what the pool's instances are launched with.
func (o *observer) editTemplate(ctx context.Context, change func(template *infrav1.AWSLaunchTemplate)) error {
	return o.edit(ctx, func(pool client.Object) { change(o.kind.template(pool)) })
}

func changeInstanceType(ctx context.Context, w *World, o *observer) (string, error) {
	wanted := pick(w.chance, "m5.large", "m5.xlarge", "c5.large")
	return "the user sets instanceType " + wanted, o.editTemplate(ctx, func(template *infrav1.AWSLaunchTemplate) { template.InstanceType = wanted })
}

func changeVolume(ctx context.Context, w *World, o *observer) (string, error) {
	wanted := pick(w.chance, int64(50), 60)
	return fmt.Sprintf("the user sets rootVolume.size %d", wanted), o.editTemplate(ctx, func(template *infrav1.AWSLaunchTemplate) {
		template.RootVolume = &infrav1.Volume{Size: wanted}
	})
}

func label(ctx context.Context, w *World, o *observer) (string, error) {
	value := fmt.Sprint(w.chance.IntN(100))
	return "the user labels the pool " + value, o.edit(ctx, func(pool client.Object) {
		pool.GetLabels()["example.com/label"] = value
	})
}

// changeAndTakeBack changes the instance type, and changes it back before the process can learn about either.
func changeAndTakeBack(ctx context.Context, w *World, o *observer) (string, error) {
	o.facts.unsettled = true
	defer func() { o.facts.unsettled = false }()
	var before string
	err := o.editTemplate(ctx, func(template *infrav1.AWSLaunchTemplate) {
		before = template.InstanceType
		template.InstanceType = "r5.large"
	})
	if err != nil {
		return "", err
	}
	err = o.editTemplate(ctx, func(template *infrav1.AWSLaunchTemplate) { template.InstanceType = before })
	for err == nil && len(w.pending()) > 0 {
		err = w.deliver(w.pending()[0], w.trace.detail)
	}
	return "the user sets instanceType r5.large, and takes it back", err
}

func changeReplicas(ctx context.Context, w *World, o *observer) (string, error) {
	wanted := 1 + w.chance.Int32N(3)
	machinePool := &clusterv1.MachinePool{}
	if err := w.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.name}, machinePool); err != nil {
		return "", err
	}
	o.facts.surplus += int(max(0, *machinePool.Spec.Replicas-wanted))
	machinePool.Spec.Replicas = &wanted
	return fmt.Sprintf("the user sets replicas %d", wanted), w.user.Update(ctx, machinePool)
}

func rotateToken(ctx context.Context, w *World, o *observer) (string, error) {
	secret := &corev1.Secret{}
	if err := w.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.secret}, secret); err != nil {
		return "", err
	}
	o.facts.tokens++
	secret.Data = bootstrapData(o.facts.tokens)
	return "the bootstrap provider rotates the join token", w.user.Update(ctx, secret)
}

func deleteLaunchConfig(ctx context.Context, w *World, _ *observer) (string, error) {
	configs := &infrav1.AWSLaunchConfigList{}
	if err := w.user.List(ctx, configs); err != nil || len(configs.Items) == 0 {
		return "", err
	}
	config := &configs.Items[w.chance.IntN(len(configs.Items))]
	return "the user deletes AWSLaunchConfig " + config.Name, w.user.Delete(ctx, config)
}

// deletePool deletes the pool in one schedule of four that come here.
func deletePool(ctx context.Context, w *World, o *observer) (string, error) {
	if !w.chance.happens(0.25) {
		return "", nil
	}
	pool := o.kind.empty()
	pool.SetNamespace(namespace)
	pool.SetName(o.name)
	return "the user deletes the pool", w.user.Delete(ctx, pool)
}

func terminateInstance(ctx context.Context, w *World, o *observer) (string, error) {
	running := o.facts.running()
	if len(running) == 0 {
		return "", nil
	}
	id := pick(w.chance, running...)
	o.facts.instances[id].excused = true
	_, err := w.person.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	return "an operator terminates " + id, err
}

func deleteGroup(ctx context.Context, w *World, o *observer) (string, error) {
	owned := o.aws.ownedGroups()
	if len(owned) == 0 {
		return "", nil
	}
	for _, instance := range o.facts.instances {
		instance.excused = true
	}
	_, err := w.person.groups.DeleteAutoScalingGroup(ctx, &autoscaling.DeleteAutoScalingGroupInput{
		AutoScalingGroupName: owned[0].AutoScalingGroupName, ForceDelete: ptr.To(true),
	})
	return "an operator deletes the Auto Scaling group " + *owned[0].AutoScalingGroupName, err
}

// createForeignGroup creates a foreign group and template with the name that the pool's would get.
func createForeignGroup(ctx context.Context, w *World, o *observer) error {
	images, err := w.person.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: ptr.To("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.36.3-*"}}, {Name: ptr.To("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) == 0 {
		return errors.Join(errors.New("finding an image"), err)
	}
	template, err := w.person.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &o.name,
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "t3.micro", ImageId: images.Images[0].ImageId},
	})
	if err != nil {
		return fmt.Errorf("creating the foreign launch template: %w", err)
	}
	_, err = w.person.groups.CreateAutoScalingGroup(ctx, &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &o.name, MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](1), VPCZoneIdentifier: ptr.To(subnet),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: template.LaunchTemplate.LaunchTemplateId, Version: ptr.To("1")},
		Tags:           []asgtypes.Tag{{Key: ptr.To("owner"), Value: ptr.To("another team")}},
	})
	if err != nil {
		return fmt.Errorf("creating the foreign group: %w", err)
	}
	return nil
}

// describeForeignGroup describes the foreign group and template.
func describeForeignGroup(ctx context.Context, w *World, o *observer) (string, error) {
	groups, err := w.person.groups.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{o.name}})
	if err != nil {
		return "", fmt.Errorf("describing the foreign group: %w", err)
	}
	versions, err := w.person.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: &o.name})
	if err != nil {
		return "", fmt.Errorf("describing the foreign launch template: %w", err)
	}
	var described strings.Builder
	for _, group := range groups.AutoScalingGroups {
		fmt.Fprintf(&described, "%s %d %d %d %s", *group.AutoScalingGroupARN, *group.MinSize, *group.MaxSize, *group.DesiredCapacity, *group.LaunchTemplate.Version)
		for _, tag := range group.Tags {
			fmt.Fprintf(&described, " %s=%s", *tag.Key, *tag.Value)
		}
		for _, instance := range group.Instances {
			fmt.Fprintf(&described, " %s", *instance.InstanceId)
		}
	}
	for _, version := range versions.LaunchTemplateVersions {
		fmt.Fprintf(&described, "\n%s %d %t", *version.LaunchTemplateId, *version.VersionNumber, *version.DefaultVersion)
	}
	return described.String(), nil
}
