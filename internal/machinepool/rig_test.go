package machinepool

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/report"
)

const (
	victim, attacker = "victim", "attacker"
	clusterName      = "prod"
	poolName         = "workers"
	// subnet and the groups are the simulated AWS's default world's.
	subnet = "subnet-0b2000000000000aa"
)

// rig is a reconciler over a simulated AWS and an API server that keeps objects.
type rig struct {
	*testing.T
	client.Client
	sim   *awssim.Simulator
	clock *simclock.Clock
	ec2   *ec2.Client
	asg   *autoscaling.Client
	pools *Controller
	// terminating is a namespace in which nothing can be created, empty for none.
	terminating string
	// memory is used by drains that do not run as whole passes.
	memory Memory
}

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC), awssim.Options{})
	config := awssimtest.Config(url, "us-east-1", "123456789012")
	scheme := reconciletest.Scheme(t, corev1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, eksv1.AddToScheme, infrav1.AddToScheme)
	r := &rig{T: t, sim: sim, clock: clock, ec2: ec2.NewFromConfig(config), asg: autoscaling.NewFromConfig(config)}
	r.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&infrav1.AWSMachinePool{}, &infrav1.AWSLaunchConfig{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if r.terminating != "" && object.GetNamespace() == r.terminating {
					return apierrors.NewForbidden(infrav1.GroupVersion.WithResource("awslaunchconfigs").GroupResource(), object.GetName(),
						fmt.Errorf("namespace %s is being terminated", r.terminating))
				}
				return c.Create(ctx, object, options...)
			},
		}).Build()
	resolver := &identity.Resolver{Reader: r.Client, Secrets: r.Client, SecretNamespace: "system"}
	registry := clouds.NewRegistry(aws.NewSessions(config, aws.WithClock(clock)), resolver, clock, observe.Intervals{Rest: 4 * time.Minute, Motion: 5 * time.Second})
	r.pools = New(&Kind{Client: r.Client, Live: r.Client, Clouds: registry, Clock: clock}, report.Reporter{Recorder: events.NewFakeRecorder(1000)})
	return r
}

// template creates a launch template, whose instances have the given tags.
func (r *rig) template(name string, tags, instanceTags map[string]string) string {
	r.Helper()
	images, err := r.ec2.DescribeImages(r.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("name"), Values: []string{"capa-ami-ubuntu-24.04-v1.36.3-*"}}, {Name: awssdk.String("architecture"), Values: []string{"x86_64"}},
	}})
	if err != nil || len(images.Images) != 1 {
		r.Fatalf("finding an image: %v", err)
	}
	list := func(tags map[string]string) []ec2types.Tag {
		all := []ec2types.Tag{{Key: awssdk.String("made"), Value: awssdk.String("by the test")}}
		for key, value := range tags {
			all = append(all, ec2types.Tag{Key: &key, Value: &value})
		}
		return all
	}
	made, err := r.ec2.CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		TagSpecifications:  []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: list(tags)}},
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			InstanceType: "m5.large", ImageId: images.Images[0].ImageId,
			TagSpecifications: []ec2types.LaunchTemplateTagSpecificationRequest{{ResourceType: ec2types.ResourceTypeInstance, Tags: list(instanceTags)}},
		},
	})
	if err != nil {
		r.Fatal(err)
	}
	return *made.LaunchTemplate.LaunchTemplateId
}

// group creates an Auto Scaling group with instances, and returns its ARN.
func (r *rig) group(name, template string, size int32, tags map[string]string) string {
	r.Helper()
	input := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name, MinSize: ptr.To[int32](0), MaxSize: ptr.To[int32](10), DesiredCapacity: &size, VPCZoneIdentifier: awssdk.String(subnet),
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &template, Version: awssdk.String("1")},
	}
	for key, value := range tags {
		input.Tags = append(input.Tags, asgtypes.Tag{Key: &key, Value: &value, PropagateAtLaunch: awssdk.Bool(false)})
	}
	if _, err := r.asg.CreateAutoScalingGroup(r.Context(), input); err != nil {
		r.Fatal(err)
	}
	for range 20 {
		r.clock.Step(10 * time.Second)
		if len(r.find(name).Instances) == int(size) {
			break
		}
	}
	r.sim.ClearCalls()
	return *r.find(name).AutoScalingGroupARN
}

// find returns a group, nil if there is none or it is being deleted.
func (r *rig) find(name string) *asgtypes.AutoScalingGroup {
	r.Helper()
	out, err := r.asg.DescribeAutoScalingGroups(r.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		r.Fatal(err)
	}
	if len(out.AutoScalingGroups) == 0 || out.AutoScalingGroups[0].Status != nil {
		return nil
	}
	return &out.AutoScalingGroups[0]
}

// writes returns the calls that changed something.
func (r *rig) writes() []string { return awssimtest.Writes(r.sim) }

// pass reconciles the pool, repeatedly if it comes back soon, and returns it as it is then, nil if
// it is gone.
func (r *rig) pass(namespace string) *infrav1.AWSMachinePool {
	r.Helper()
	key := client.ObjectKey{Namespace: namespace, Name: poolName}
	for range 20 {
		result, err := r.pools.Reconcile(r.Context(), ctrl.Request{NamespacedName: key})
		if err != nil {
			r.Fatal(err)
		}
		if result.RequeueAfter == 0 || result.RequeueAfter >= time.Minute {
			break
		}
		r.clock.Step(result.RequeueAfter)
	}
	pool := &infrav1.AWSMachinePool{}
	if err := r.Get(r.Context(), key, pool); err != nil {
		if !apierrors.IsNotFound(err) {
			r.Fatal(err)
		}
		return nil
	}
	return pool
}

// condition checks a condition of the pool, and that its message has the texts.
func (r *rig) condition(pool *infrav1.AWSMachinePool, conditionType, reason string, texts ...string) {
	r.Helper()
	if pool == nil {
		r.Fatal("the pool is gone")
	}
	condition := meta.FindStatusCondition(pool.Status.Conditions, conditionType)
	if condition == nil || condition.Reason != reason {
		r.Fatalf("condition %s is %+v, want reason %s; all are %+v", conditionType, condition, reason, pool.Status.Conditions)
	}
	for _, text := range texts {
		if !strings.Contains(condition.Message, text) {
			r.Errorf("the message lacks %q: %s", text, condition.Message)
		}
	}
}

func capaTags() map[string]string {
	return map[string]string{infrav1.ClusterTagKey(clusterName): infrav1.TagValueOwned, infrav1.KubernetesClusterTagKey(clusterName): infrav1.TagValueOwned}
}

// slipwayTags returns the tags of a group of the pool in a namespace.
func slipwayTags(namespace string) map[string]string {
	tags := capaTags()
	owner := ownership.OwnerNamed(namespace, clusterName, poolName)
	tags[infrav1.TagMachinePool], tags[infrav1.TagLaunchConfig] = owner, owner
	return tags
}

func launchedFor(namespace string) map[string]string {
	return map[string]string{infrav1.TagBootstrapDataSecret: namespace + "/bootstrap-data"}
}

// cluster returns a Cluster in a namespace with all that makes it ready, and a pool in it with its
// MachinePool.
func clusterIn(namespace string) []client.Object {
	object := metav1.ObjectMeta{Namespace: namespace, Name: clusterName, UID: "uid-of-cluster"}
	infrastructure := &capav1.AWSCluster{ObjectMeta: object}
	infrastructure.Spec.Region = "us-east-1"
	infrastructure.Spec.NetworkSpec.VPC.ID = "vpc-0b20000000000000a"
	infrastructure.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: "sg-0b20000000000000a"}, capav1.SecurityGroupLB: {ID: "sg-0b20000000000000b"},
	}
	cluster := &clusterv1.Cluster{ObjectMeta: object}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: clusterName}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	return []client.Object{infrastructure, cluster, machinePoolIn(namespace)}
}

func machinePoolIn(namespace string) *clusterv1.MachinePool {
	machinePool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: poolName, UID: "uid-of-machine-pool"}}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = clusterName, ptr.To[int32](1)
	machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("bootstrap-data")
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachinePool", Name: poolName,
	}
	return machinePool
}

func poolIn(namespace, providerID string) *infrav1.AWSMachinePool {
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: poolName, UID: "uid-of-pool"}}
	pool.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: poolName, UID: "uid-of-machine-pool"}}
	pool.Spec = infrav1.AWSMachinePoolSpec{ProviderID: providerID, MaxSize: 3, AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}}
	return pool
}
