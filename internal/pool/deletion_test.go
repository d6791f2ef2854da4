package pool_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/managedmachinepool"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
	"github.com/slipway-project/slipway/internal/workload"
)

const (
	namespace = "team"
	account   = "123456789012"
	region    = "us-east-1"
	// name is the Cluster's and its infrastructure's; workers is the pool's and its MachinePool's.
	name, workers = "prod", "workers"
	subnet        = "subnet-0b2000000000000aa"
)

// noWatches stands in for the watches of Secrets: the tests reconcile everything anyway.
type noWatches struct{}

func (noWatches) Watch(_, _ types.NamespacedName)   {}
func (noWatches) Read(types.NamespacedName, string) {}
func (noWatches) Forget(types.NamespacedName)       {}

// world is a namespace with the controllers of pools.
type world struct {
	*testing.T
	client.Client
	clock *simclock.Clock
	sim   *awssim.Simulator
	aws   awssdk.Config
	// reconcilers by the kind that each is for.
	reconcilers []kind
	// terminating is set once the namespace is being deleted: nothing can be created in it.
	terminating bool
}

type kind struct {
	empty      reconciling.Conditioned
	reconciler reconcile.Reconciler
}

// newWorld returns a namespace in which a pool of one kind is at rest.
func newWorld(t *testing.T, managed bool) *world {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 22, 10, 0, 0, 0, time.UTC), awssim.Options{
		Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: time.Second, Boot: time.Second, ShuttingDown: 10 * time.Second}},
	})
	w := &world{T: t, clock: clock, sim: sim, aws: awssimtest.Config(url, region, account)}
	if err := w.sim.Region(account, region).SetCluster(awssim.Cluster{Name: name, Version: "1.36", Subnets: []string{subnet}}); err != nil {
		t.Fatal(err)
	}
	scheme := reconciletest.Scheme(t, corev1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme, eksv1.AddToScheme, infrav1.AddToScheme)
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, index := range launchconfig.Indexes() {
		builder = builder.WithIndex(index.Object, index.Name, index.Values)
	}
	w.Client = builder.WithObjects(objectsOf(managed)...).
		WithStatusSubresource(&infrav1.AWSMachinePool{}, &infrav1.AWSManagedMachinePool{}, &infrav1.AWSLaunchConfig{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if w.terminating {
					return apierrors.NewForbidden(infrav1.GroupVersion.WithResource("any").GroupResource(), object.GetName(),
						fmt.Errorf("namespace %s is being terminated", namespace))
				}
				if object.GetUID() == "" {
					object.SetUID(types.UID(fmt.Sprintf("uid-of-%T-%s", object, object.GetName())))
				}
				return c.Create(ctx, object, options...)
			},
		}).Build()
	w.build(managed)
	w.Cleanup(func() { w.Logf("conditions at the end: %s", w.conditions()) })
	w.until("the pool is at rest", func() bool {
		pool := w.pool(managed)
		ready := meta.FindStatusCondition(pool.GetConditions(), infrav1.ReadyCondition)
		return ready != nil && ready.Status == metav1.ConditionTrue && len(w.left()) > 0
	})
	return w
}

// build wires the controllers.
func (w *world) build(managed bool) {
	resolver := &identity.Resolver{Reader: w.Client, Secrets: w.Client, SecretNamespace: "system"}
	sessions := aws.NewSessions(w.aws, aws.WithClock(w.clock), aws.WithLimits(nil))
	registry := clouds.NewRegistry(sessions, resolver, w.clock, observe.Intervals{Rest: 4 * time.Minute, Motion: 5 * time.Second})
	report := report.Reporter{Recorder: events.NewFakeRecorder(10000)}
	w.reconcilers = []kind{{&infrav1.AWSLaunchConfig{}, launchconfig.New(launchconfig.Options{
		Client: w.Client, Live: w.Client, Watches: noWatches{}, Clouds: registry, Clock: w.clock, Report: report,
	})}}
	if managed {
		w.reconcilers = append(w.reconcilers, kind{&infrav1.AWSManagedMachinePool{}, managedmachinepool.New(&managedmachinepool.Kind{
			Client: w.Client, Live: w.Client, Clouds: registry, Clock: w.clock,
		}, report)})
		return
	}
	w.reconcilers = append(w.reconcilers, kind{&infrav1.AWSMachinePool{}, machinepool.New(&machinepool.Kind{
		Client: w.Client, Live: w.Client, Clouds: registry, Clock: w.clock, Workloads: workload.New(w.Client, w.clock),
	}, report)})
}

// objectsOf are the objects of a ready cluster, a pool in it, and the pool's bootstrap data.
func objectsOf(managed bool) []client.Object {
	object := func(called string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: called, UID: types.UID("uid-of-" + called)}
	}
	subnets := capav1.Subnets{{ID: subnet, AvailabilityZone: "us-east-1a"}}
	cluster := &clusterv1.Cluster{ObjectMeta: object(name)}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	data := &corev1.Secret{ObjectMeta: object("bootstrap-data"), Data: map[string][]byte{"value": []byte("#!/bin/bash\necho join\n"), "format": []byte("cloud-config")}}
	machinePool := &clusterv1.MachinePool{ObjectMeta: object(workers)}
	machinePool.Spec.ClusterName, machinePool.Spec.Replicas = name, ptr.To[int32](1)
	machinePool.Spec.Template.Spec.Version, machinePool.Spec.Template.Spec.Bootstrap.DataSecretName = "v1.36.3", ptr.To("bootstrap-data")
	owners := []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: workers, UID: machinePool.UID}}
	reference := clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachinePool", Name: workers}
	template := &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
	if managed {
		reference.Kind = "AWSManagedMachinePool"
		machinePool.Spec.Template.Spec.InfrastructureRef = reference
		controlPlane := &eksv1.AWSManagedControlPlane{ObjectMeta: object(name)}
		controlPlane.Spec = eksv1.AWSManagedControlPlaneSpec{EKSClusterName: name, Region: region, Version: ptr.To("v1.36")}
		controlPlane.Spec.NetworkSpec = capav1.NetworkSpec{VPC: capav1.VPCSpec{ID: "vpc-0a10000000000000a"}, Subnets: subnets}
		controlPlane.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
			capav1.SecurityGroupNode: {ID: "sg-0c1000000000000ab"}, capav1.SecurityGroupEKSNodeAdditional: {ID: "sg-0c1000000000000ab"},
		}
		cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: eksv1.GroupVersion.Group, Kind: "AWSManagedControlPlane", Name: name}
		pool := &infrav1.AWSManagedMachinePool{ObjectMeta: object(workers)}
		pool.OwnerReferences = owners
		pool.Spec.AMIType, pool.Spec.AWSLaunchTemplate, pool.Spec.SubnetIDs = ptr.To(infrav1.AMITypeAL2023X86), template, []string{subnet}
		return []client.Object{cluster, controlPlane, machinePool, pool, data}
	}
	machinePool.Spec.Template.Spec.InfrastructureRef = reference
	infrastructure := &capav1.AWSCluster{ObjectMeta: object(name)}
	infrastructure.Spec.Region, infrastructure.Spec.NetworkSpec.VPC.ID, infrastructure.Spec.NetworkSpec.Subnets = region, "vpc-0a10000000000000a", subnets
	infrastructure.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: "sg-0c1000000000000ab"}, capav1.SecurityGroupLB: {ID: "sg-0c1000000000000ac"},
	}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: name}
	pool := &infrav1.AWSMachinePool{ObjectMeta: object(workers)}
	pool.OwnerReferences = owners
	// there is no workload cluster to reach
	pool.Spec.NodeDrain = &infrav1.NodeDrain{Timeout: &metav1.Duration{Duration: time.Minute}}
	pool.Spec.MaxSize, pool.Spec.AWSLaunchTemplate, pool.Spec.Subnets = 3, template, []infrav1.AWSResourceReference{{ID: ptr.To(subnet)}}
	return []client.Object{cluster, infrastructure, machinePool, pool, data}
}

// pass reconciles every object once, and lets five seconds go by.
func (w *world) pass() {
	w.Helper()
	for _, kind := range w.reconcilers {
		request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: workers}}
		if _, err := kind.reconciler.Reconcile(w.Context(), request); err != nil {
			w.Logf("reconciling the %T: %v", kind.empty, err)
		}
	}
	w.clock.Step(5 * time.Second)
}

// until makes passes until the condition holds, twenty minutes at most.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for range 240 {
		if w.pass(); holds() {
			return
		}
	}
	w.Fatalf("%s: not after 20 minutes; in AWS there are %q", what, w.left())
}

func (w *world) pool(managed bool) reconciling.Conditioned {
	w.Helper()
	var pool reconciling.Conditioned = &infrav1.AWSMachinePool{}
	if managed {
		pool = &infrav1.AWSManagedMachinePool{}
	}
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: workers}, pool); err != nil {
		w.Fatal(err)
	}
	return pool
}

// present are the objects of Slipway's that are left.
func (w *world) present() []reconciling.Conditioned {
	w.Helper()
	var found []reconciling.Conditioned
	for _, kind := range w.reconcilers {
		object := kind.empty.DeepCopyObject().(reconciling.Conditioned)
		err := w.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: workers}, object)
		if client.IgnoreNotFound(err) != nil {
			w.Fatal(err)
		}
		if err == nil {
			found = append(found, object)
		}
	}
	return found
}

func (w *world) conditions() string {
	var text strings.Builder
	for _, object := range w.present() {
		fmt.Fprintf(&text, "%T %+v\n", object, object.GetConditions())
	}
	return text.String()
}

// left are the resources in AWS that a pool can have made.
func (w *world) left() []string {
	w.Helper()
	var left []string
	must := func(err error) {
		if err != nil {
			w.Fatal(err)
		}
	}
	ctx := w.Context()
	templates, err := ec2.NewFromConfig(w.aws).DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
	must(err)
	for _, template := range templates.LaunchTemplates {
		left = append(left, "launch template "+*template.LaunchTemplateName)
	}
	groups, err := autoscaling.NewFromConfig(w.aws).DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{})
	must(err)
	for _, group := range groups.AutoScalingGroups {
		left = append(left, "Auto Scaling group "+*group.AutoScalingGroupName)
	}
	nodegroups, err := eks.NewFromConfig(w.aws).ListNodegroups(ctx, &eks.ListNodegroupsInput{ClusterName: awssdk.String(name)})
	must(err)
	for _, group := range nodegroups.Nodegroups {
		left = append(left, "node group "+group)
	}
	roles, err := iam.NewFromConfig(w.aws).ListRoles(ctx, &iam.ListRolesInput{})
	must(err)
	for _, role := range roles.Roles {
		if strings.HasSuffix(*role.RoleName, infrav1.NodeRoleSuffix) {
			left = append(left, "IAM role "+*role.RoleName)
		}
	}
	for _, instance := range w.sim.Region(account, region).Instances() {
		if instance.State.Name != ec2types.InstanceStateNameTerminated {
			left = append(left, "instance "+*instance.InstanceId)
		}
	}
	return left
}

// removed has an object deleted, as the namespace controller or the garbage collector does.
func (w *world) removed(object client.Object) {
	w.Helper()
	if err := client.IgnoreNotFound(w.Delete(w.Context(), object)); err != nil {
		w.Fatal(err)
	}
}

// TestDeletionInAnyOrder holds that a namespace can be deleted whichever of its objects goes first:
// all that was made in AWS goes, no object stays, nothing is made anew, and at each moment every
// object that is being deleted says what it waits for.
func TestDeletionInAnyOrder(t *testing.T) {
	t.Parallel()
	parts := []string{"the Cluster", "the MachinePool", "the pool", "the launch config", "the bootstrap data"}
	for _, managed := range []bool{false, true} {
		var orders [][]string
		for at := range parts {
			order := slices.Concat(parts[at:], parts[:at])
			backwards := slices.Clone(order)
			slices.Reverse(backwards)
			orders = append(orders, order, backwards)
		}
		for _, order := range orders {
			t.Run(fmt.Sprintf("managed: %t, %s", managed, strings.Join(order, ", ")), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, managed)
				w.sim.ClearCalls()
				w.terminating = true
				for _, part := range order {
					w.deletePart(part, managed)
					for range 3 {
						w.deletionPass()
					}
				}
				for range 240 {
					if w.deletionPass(); len(w.present()) == 0 {
						break
					}
				}
				if present, left := len(w.present()), w.left(); present > 0 || len(left) > 0 {
					t.Errorf("%d objects are left, and in AWS %q", present, left)
				}
				for _, call := range w.sim.Calls() {
					if strings.HasPrefix(call.Action, "Create") {
						t.Errorf("%s was called while the namespace was being deleted", call.Action)
					}
				}
			})
		}
	}
}

// deletePart deletes one part of the namespace's objects.
func (w *world) deletePart(part string, managed bool) {
	w.Helper()
	called := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	switch part {
	case "the Cluster":
		w.removed(&clusterv1.Cluster{ObjectMeta: called(name)})
		if managed {
			w.removed(&eksv1.AWSManagedControlPlane{ObjectMeta: called(name)})
		} else {
			w.removed(&capav1.AWSCluster{ObjectMeta: called(name)})
		}
	case "the MachinePool":
		w.removed(&clusterv1.MachinePool{ObjectMeta: called(workers)})
	case "the pool":
		if managed {
			w.removed(&infrav1.AWSManagedMachinePool{ObjectMeta: called(workers)})
		} else {
			w.removed(&infrav1.AWSMachinePool{ObjectMeta: called(workers)})
		}
	case "the launch config":
		w.removed(&infrav1.AWSLaunchConfig{ObjectMeta: called(workers)})
	case "the bootstrap data":
		w.removed(&corev1.Secret{ObjectMeta: called("bootstrap-data")})
	default:
		w.Fatalf("there is no part %q", part)
	}
}

// deletionPass is a pass, after which every object that was being deleted before, and is still
// there, must report what is left.
func (w *world) deletionPass() {
	w.Helper()
	deleted := map[string]bool{}
	for _, object := range w.present() {
		deleted[fmt.Sprintf("%T", object)] = object.GetDeletionTimestamp() != nil
	}
	w.pass()
	for _, object := range w.present() {
		if !deleted[fmt.Sprintf("%T", object)] {
			continue
		}
		deleting := meta.FindStatusCondition(object.GetConditions(), infrav1.DeletingCondition)
		if deleting == nil || deleting.Status != metav1.ConditionTrue || deleting.Message == "" {
			w.Errorf("%T is being deleted and does not say what is left: %+v; in AWS there are %q", object, object.GetConditions(), w.left())
		}
	}
}

// TestDeletionOfWhatIsLost holds that a pool whose resources were deleted outside Slipway says what
// the deletion waits for too, and goes.
func TestDeletionOfWhatIsLost(t *testing.T) {
	t.Parallel()
	for _, managed := range []bool{false, true} {
		t.Run(fmt.Sprintf("managed: %t", managed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, managed)
			w.lose(managed)
			w.terminating = true
			w.deletePart("the pool", managed)
			for range 24 {
				if w.deletionPass(); len(w.present()) == 0 {
					break
				}
			}
			if present, left := len(w.present()), w.left(); present > 0 || len(left) > 0 {
				t.Errorf("%d objects are left, and in AWS %q", present, left)
			}
		})
	}
}

// lose deletes the group and the launch template as a user of AWS does.
func (w *world) lose(managed bool) {
	w.Helper()
	must := func(_ any, err error) {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
	}
	if managed {
		group := w.pool(true).(*infrav1.AWSManagedMachinePool).Status.Nodegroup.Name
		must(eks.NewFromConfig(w.aws).DeleteNodegroup(w.Context(), &eks.DeleteNodegroupInput{ClusterName: awssdk.String(name), NodegroupName: &group}))
	} else {
		must(autoscaling.NewFromConfig(w.aws).DeleteAutoScalingGroup(w.Context(), &autoscaling.DeleteAutoScalingGroupInput{
			AutoScalingGroupName: awssdk.String(workers), ForceDelete: awssdk.Bool(true),
		}))
	}
	w.clock.Step(20 * time.Minute)
	config := &infrav1.AWSLaunchConfig{}
	must(nil, w.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: workers}, config))
	must(ec2.NewFromConfig(w.aws).DeleteLaunchTemplate(w.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &config.Status.LaunchTemplateID}))
}
