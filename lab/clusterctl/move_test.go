package clusterctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterctlclient "sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/product"
)

// The pools of the examples, and what a namespace has of Slipway's.
const (
	poolName, managedPoolName = "capa-mp-0", "capa-mmp-0"
	managedCluster            = "capa-eks"
	// sharedName is a launch config written by hand, and the managed pool that refers to it.
	sharedName = "by-hand"
)

// byHand is a managed pool with a launch config without an owner.
const byHand = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSLaunchConfig
metadata:
  name: by-hand
spec:
  clusterName: capa-eks
  kubernetesVersion: v1.34.0
  nodegroup:
    amiType: AL2023_x86_64_STANDARD
  instanceType: t3.large
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata:
  name: by-hand
spec:
  amiType: AL2023_x86_64_STANDARD
  scaling:
    minSize: 1
    maxSize: 3
  launchConfigRef:
    name: by-hand
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata:
  name: by-hand
spec:
  clusterName: capa-eks
  replicas: 1
  template:
    spec:
      bootstrap:
        dataSecretName: ""
      clusterName: capa-eks
      infrastructureRef:
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: AWSManagedMachinePool
        name: by-hand
      version: v1.34.0
`

// TestMove moves a cluster with pools of both kinds to another management cluster and back, as
// clusterctl move does: nothing is written to AWS, and every instance stays. Both management
// clusters have Slipway running all the time, as they have in the world.
func TestMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.ClusterOptions{}, lab.ClusterOptions{Name: managedCluster, Managed: true, KubernetesVersion: "v1.34.0"})
	other, err := lab.Start(t.Context(), lab.Options{WithoutCloud: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	manage(t, other)
	w.StartManager(product.Manager(product.Settings{}))
	w.manageToo(other)

	w.ApplyFile("../../examples/machinepool.yaml")
	w.ApplyFile("../../examples/managedmachinepool.yaml", "clusterName: capa", "clusterName: "+managedCluster)
	w.Apply(byHand)
	w.Eventually("the pools have their nodes", func() error { return errors.Join(w.hasNodes(5), settled(t.Context(), w.Client, w.Namespace)) })
	w.edit()
	w.Eventually("an edit has rolled", func() error { return errors.Join(w.hasNodes(5), settled(t.Context(), w.Client, w.Namespace)) })
	w.rest()

	before, absent := w.take(w.Client), w.absentProviders()
	w.Cloud.AWS.ClearCalls()
	for _, step := range []struct {
		name     string
		from, to *lab.Lab
	}{{"there", w.Lab, other}, {"back", other, w.Lab}} {
		if err := clusterctl(t).Move(t.Context(), clusterctlclient.MoveOptions{
			FromKubeconfig: clusterctlclient.Kubeconfig{Path: step.from.Kubeconfig()}, ToKubeconfig: clusterctlclient.Kubeconfig{Path: step.to.Kubeconfig()},
			Namespace: w.Namespace,
		}); err != nil {
			t.Fatalf("clusterctl move %s: %v", step.name, err)
		}
		w.nothingIn(step.from.Client())
		w.report(step.to.Client(), absent)
		w.Eventually("the pools are settled "+step.name, func() error { return settled(t.Context(), step.to.Client(), w.Namespace) })
		w.rest()
		if diff := cmp.Diff(before, w.take(step.to.Client()), ignored...); diff != "" {
			t.Errorf("the move %s changed (-before +after):\n%s", step.name, diff)
		}
		if writes := w.writes(); len(writes) > 0 {
			t.Errorf("after the move %s, AWS was written to: %q", step.name, writes)
		}
	}
}

// absentProviders are the objects of providers that do not run in the laboratory, with the status
// that the laboratory gave them.
func (w *world) absentProviders() []*unstructured.Unstructured {
	w.Helper()
	var objects []*unstructured.Unstructured
	for _, kind := range []schema.GroupVersionKind{
		capav1.GroupVersion.WithKind("AWSCluster"), capav1.GroupVersion.WithKind("AWSManagedCluster"),
		controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"), eksv1.GroupVersion.WithKind("AWSManagedControlPlane"),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := w.Client.List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.Fatal(err)
		}
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
	return objects
}

// report does what the absent providers do after a move, which drops every status: they find all in
// AWS again, and report it as before.
func (w *world) report(c client.Client, objects []*unstructured.Unstructured) {
	w.Helper()
	for _, object := range objects {
		moved := object.DeepCopy()
		if err := c.Get(w.Context(), client.ObjectKeyFromObject(object), moved); err != nil {
			w.Fatalf("%s was not moved: %v", describe(object), err)
		}
		moved.Object["status"] = object.Object["status"]
		if err := c.Status().Update(w.Context(), moved); err != nil {
			w.Fatal(err)
		}
	}
}

// manageToo runs a manager for the test's namespace in another management cluster.
func (w *world) manageToo(other *lab.Lab) {
	w.Helper()
	env := w.ManagerEnv()
	env.RESTConfig = other.RESTConfig()
	manager, err := other.StartManager(w.Context(), env, product.Manager(product.Settings{}))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := manager.Stop(); err != nil {
			w.Error(err)
		}
	})
}

// edit changes both pools, so that their templates have more than one version.
func (w *world) edit() {
	w.Helper()
	pool, managed := &infrav1.AWSMachinePool{}, &infrav1.AWSManagedMachinePool{}
	w.get(w.Client, pool, poolName)
	w.get(w.Client, managed, managedPoolName)
	before, managedBefore := pool.DeepCopy(), managed.DeepCopy()
	pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large"
	managed.Spec.AWSLaunchTemplate.RootVolume.Size = 40
	if err := errors.Join(
		w.Client.Patch(w.Context(), pool, client.MergeFrom(before)), w.Client.Patch(w.Context(), managed, client.MergeFrom(managedBefore)),
	); err != nil {
		w.Fatal(err)
	}
}

// rest waits until the manager has had ten sweeps of AWS in which to do something that it should not.
func (w *world) rest() {
	w.Helper()
	const sweep = 4 * time.Minute
	end := w.Cloud.Clock().Now().Add(10 * sweep)
	w.Eventually("ten sweeps have passed", func() error {
		if now := w.Cloud.Clock().Now(); now.Before(end) {
			return fmt.Errorf("it is %s", now)
		}
		return nil
	})
}

// writes are the calls that change AWS, or would have.
func (w *world) writes() []string {
	var writes []string
	for _, call := range w.Cloud.AWS.Calls() {
		if !slices.ContainsFunc([]string{"Describe", "Get", "List", "Head"}, func(prefix string) bool { return strings.HasPrefix(call.Action, prefix) }) {
			writes = append(writes, call.Action)
		}
	}
	return writes
}

// picture holds what a move must not change: the instances, and what Slipway reports about them.
type picture struct {
	Instances   []string
	Pool        infrav1.AWSMachinePool
	ManagedPool infrav1.AWSManagedMachinePool
	Shared      infrav1.AWSManagedMachinePool
	Configs     []infrav1.AWSLaunchConfig
}

// ignored lists what a move may change: fields that the API server sets, times, and reports about
// the past.
var ignored = cmp.Options{
	cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "Generation", "CreationTimestamp", "ManagedFields"),
	cmpopts.IgnoreFields(metav1.OwnerReference{}, "UID"),
	cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime", "ObservedGeneration"),
	cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type }),
	cmpopts.IgnoreTypes(metav1.Time{}, &metav1.Time{}),
	// The history, which is recorded only here: the last roll-out, and why versions were created.
	cmpopts.IgnoreTypes(&infrav1.RolloutStatus{}, &infrav1.NodegroupUpdateStatus{}),
	cmpopts.IgnoreFields(infrav1.LaunchTemplateVersionStatus{}, "Reason"),
	// The launches of before the move are lost with status.
	cmpopts.IgnoreFields(infrav1.AWSLaunchConfigStatus{}, "History"),
	cmp.FilterPath(func(path cmp.Path) bool { return path.Last().String() == ".ObservedGeneration" }, cmp.Ignore()),
}

// take reads the state of a management cluster and of AWS.
func (w *world) take(c client.Client) picture {
	w.Helper()
	taken := picture{}
	for _, instance := range w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances() {
		if instance.State.Name == ec2types.InstanceStateNameRunning {
			taken.Instances = append(taken.Instances, *instance.InstanceId)
		}
	}
	slices.Sort(taken.Instances)
	w.get(c, &taken.Pool, poolName)
	w.get(c, &taken.ManagedPool, managedPoolName)
	w.get(c, &taken.Shared, sharedName)
	configs := &infrav1.AWSLaunchConfigList{}
	if err := c.List(w.Context(), configs, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
	taken.Configs = configs.Items
	return taken
}

func (w *world) get(c client.Client, object client.Object, name string) {
	w.Helper()
	if err := c.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object); err != nil {
		w.Fatal(err)
	}
}

// nothingIn holds that no object of Slipway's is left in a management cluster.
func (w *world) nothingIn(c client.Client) {
	w.Helper()
	for _, list := range []client.ObjectList{
		&infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}, &infrav1.AWSLaunchConfigList{}, &infrav1.AWSMachinePoolMachineList{},
	} {
		if err := c.List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.Fatal(err)
		}
		if left := meta.LenList(list); left > 0 {
			w.Errorf("%d of %T are left behind", left, list)
		}
	}
}

// settled is nil once all pools are ready and rolled out for their current generation.
func settled(ctx context.Context, c client.Client, namespace string) error {
	pool := &infrav1.AWSMachinePool{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: poolName}, pool); err != nil {
		return err
	}
	failures := []error{complete(pool, pool.Status.ObservedGeneration, pool.Status.Conditions)}
	for _, name := range []string{managedPoolName, sharedName} {
		managed := &infrav1.AWSManagedMachinePool{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, managed); err != nil {
			return err
		}
		failures = append(failures, complete(managed, managed.Status.ObservedGeneration, managed.Status.Conditions))
	}
	return errors.Join(failures...)
}

func complete(pool client.Object, observed int64, conditions []metav1.Condition) error {
	if generation := pool.GetGeneration(); generation != observed {
		return fmt.Errorf("generation %d of pool %q is observed of %d", observed, pool.GetName(), generation)
	}
	for _, condition := range []string{infrav1.ReadyCondition, infrav1.RolledOutCondition} {
		if !meta.IsStatusConditionTrue(conditions, condition) {
			return fmt.Errorf("conditions of pool %q are %+v", pool.GetName(), conditions)
		}
	}
	return nil
}
