package scheduling

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
)

func TestMain(m *testing.M) { labtest.MainWith(m, lab.Options{Scheduler: true, WithoutPools: true}) }

// nodeConfig is the user data of a node of EKS's Amazon Linux 2023 with a label and further flags
// of the kubelet.
func nodeConfig(label string, flags ...string) *string {
	var b strings.Builder
	b.WriteString("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n")
	for _, flag := range append([]string{"--node-labels=test=" + label}, flags...) {
		fmt.Fprintf(&b, "    - %q\n", flag)
	}
	return aws.String(base64.StdEncoding.EncodeToString([]byte(b.String())))
}

// launch creates a fleet of one instance from a launch template that names only an image, and
// returns the instance's ID.
func launch(env *labtest.Env, instanceType ec2types.InstanceType, userData *string) string {
	env.Helper()
	ctx, calls := env.Context(), ec2.NewFromConfig(env.AWSConfig())
	images, err := calls.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: aws.String("name"), Values: []string{"amazon-eks-node-al2023-x86_64-standard-1.36-*"}},
	}})
	if err != nil || len(images.Images) == 0 {
		env.Fatalf("finding an image: %v, %v", images, err)
	}
	subnets, err := calls.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{{Name: aws.String("tag:Name"), Values: []string{"private-us-east-1b"}}}})
	if err != nil || len(subnets.Subnets) != 1 {
		env.Fatalf("finding a subnet: %v, %v", subnets, err)
	}
	name := "nodes-" + string(instanceType)
	template := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: images.Images[0].ImageId}}
	if _, err := calls.CreateLaunchTemplate(ctx, template); err != nil {
		env.Fatal(err)
	}
	fleet, err := calls.CreateFleet(ctx, &ec2.CreateFleetInput{
		Type: ec2types.FleetTypeInstant,
		LaunchTemplateConfigs: []ec2types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: &name, Version: aws.String("1"), LaunchTemplateSpecificationUserData: userData,
			},
			Overrides: []ec2types.FleetLaunchTemplateOverridesRequest{{InstanceType: instanceType, SubnetId: subnets.Subnets[0].SubnetId}},
		}},
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: ec2types.DefaultTargetCapacityTypeOnDemand,
		},
	})
	if err != nil || len(fleet.Instances) != 1 {
		env.Fatalf("launching: %v, %v", fleet, err)
	}
	return fleet.Instances[0].InstanceIds[0]
}

// pend creates a pod for nodes with a label.
func pend(env *labtest.Env, name, label, cpu string) *corev1.Pod {
	env.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: name},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"test": label}, AutomountServiceAccountToken: ptr.To(false),
			Containers: []corev1.Container{{
				Name: "main", Image: "none.example/none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
			}},
		},
	}
	env.Eventually("the namespace takes pods", func() error { return env.WorkloadClient.Create(env.Context(), pod) })
	return pod
}

func read(env *labtest.Env, pod *corev1.Pod) error {
	return env.WorkloadClient.Get(env.Context(), client.ObjectKeyFromObject(pod), pod)
}

// wantUnschedulable waits until the scheduler has said that there is no node for the pod, and why.
func wantUnschedulable(env *labtest.Env, pod *corev1.Pod, why string) {
	env.Helper()
	env.Eventually("the scheduler finds no node for pod "+pod.Name, func() error {
		if err := read(env, pod); err != nil {
			return err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && strings.Contains(c.Message, why) {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", pod.Status.Conditions)
	})
}

func wantRunning(env *labtest.Env, pod *corev1.Pod, instance string) {
	env.Helper()
	env.Eventually("pod "+pod.Name+" runs on instance "+instance, func() error {
		if err := read(env, pod); err != nil {
			return err
		}
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
		if pod.Spec.NodeName != instance+".ec2.internal" || pod.Status.Phase != corev1.PodRunning || !ready {
			return fmt.Errorf("it is %s on node %q", pod.Status.Phase, pod.Spec.NodeName)
		}
		return nil
	})
}

func wantGone(env *labtest.Env, pod *corev1.Pod) {
	env.Helper()
	env.Eventually("pod "+pod.Name+" is gone", func() error {
		if err := read(env, pod); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there on node %q: %w", pod.Spec.NodeName, err)
		}
		return nil
	})
}

func TestPendingPodsAreBoundToNodesOfFleets(t *testing.T) {
	t.Parallel()
	env := labtest.New(t)
	label := env.Namespace
	first := pend(env, "first", label, "1500m")
	// "no nodes available to schedule pods", or none of other tests'
	wantUnschedulable(env, first, "available")
	instance := launch(env, "m5.large", nodeConfig(label))
	wantRunning(env, first, instance)

	second := pend(env, "second", label, "500m") // 1,930m of 2 CPUs are for pods
	wantUnschedulable(env, second, "Insufficient cpu")
	if err := env.WorkloadClient.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wantGone(env, first)
	wantRunning(env, second, instance)

	if _, err := ec2.NewFromConfig(env.AWSConfig()).TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{instance}}); err != nil {
		t.Fatal(err)
	}
	wantGone(env, second)
}

func TestTaintsOfUserDataKeepPodsAway(t *testing.T) {
	t.Parallel()
	env := labtest.New(t)
	label := env.Namespace
	pod := pend(env, "pod", label, "100m")
	instance := launch(env, "c5.large", nodeConfig(label, "--register-with-taints=startup=:NoExecute"))
	wantUnschedulable(env, pod, "untolerated taint")
	env.Eventually("the taint can be removed", func() error {
		node := &corev1.Node{}
		if err := env.WorkloadClient.Get(t.Context(), client.ObjectKey{Name: instance + ".ec2.internal"}, node); err != nil {
			return err
		}
		before := node.DeepCopy()
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "startup" })
		if len(before.Spec.Taints) == len(node.Spec.Taints) {
			return fmt.Errorf("the node has no such taint: %v", before.Spec.Taints)
		}
		return env.WorkloadClient.Patch(t.Context(), node, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	wantRunning(env, pod, instance)
}
