package machinepool

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/ownership"
)

// TestOwnerRefersToThePool holds that a MachinePool owns only the pool that it refers to, whatever the owner
// references of other pools say: they neither follow its size nor set it.
func TestOwnerRefersToThePool(t *testing.T) {
	t.Parallel()
	other := machinePoolIn(victim)
	other.Name, other.UID = "other", "uid-of-other"
	other.Spec.Template.Spec.InfrastructureRef.Name = "other"
	foreign := metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: "other", UID: "uid-of-other"}
	for _, row := range []struct {
		reason string
		owners []metav1.OwnerReference
		owned  bool
	}{
		{reason: "it names a MachinePool that refers to another pool", owners: []metav1.OwnerReference{foreign}},
		{reason: "it names several, and its own is not the first", owners: append([]metav1.OwnerReference{foreign}, poolIn(victim, "").OwnerReferences...), owned: true},
		{reason: "it names a MachinePool that does not exist, too", owners: append([]metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool", Name: "gone", UID: "uid-of-gone",
		}}, poolIn(victim, "").OwnerReferences...), owned: true},
		{reason: "it names an object of another group", owners: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "MachinePool", Name: poolName, UID: "uid-of-machine-pool"}}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			objects := append(clusterIn(victim), other.DeepCopy())
			for _, object := range objects {
				if machinePool, is := object.(*clusterv1.MachinePool); is {
					machinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "an autoscaler"}
				}
			}
			r := newRig(t, objects...)
			pool := poolIn(victim, r.group(poolName, r.template(poolName, slipwayTags(victim), nil), 2, slipwayTags(victim)))
			pool.OwnerReferences = row.owners
			if err := r.Create(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			r.sim.ClearCalls()
			pool = r.pass(victim)
			if !row.owned {
				r.condition(pool, infrav1.ClusterInfrastructureReadyCondition, infrav1.WaitingForOwnerReason, "spec.template.spec.infrastructureRef")
				if calls := r.sim.Calls(); len(calls) > 0 {
					t.Errorf("calls to AWS: %+v", calls)
				}
			}
			for name, followed := range map[string]bool{"other": false, poolName: row.owned} {
				machinePool := &clusterv1.MachinePool{}
				if err := r.Get(t.Context(), client.ObjectKey{Namespace: victim, Name: name}, machinePool); err != nil {
					t.Fatal(err)
				}
				if got := ptr.Deref(machinePool.Spec.Replicas, 0); (got == 2) != followed {
					t.Errorf("MachinePool %s has %d replicas, follows the group: want %t", name, got, followed)
				}
			}
		})
	}
}

// TestPoolStaysInItsCluster holds that a pool whose MachinePool was replaced by one of another Cluster creates
// nothing there, and does not forget where its group is.
func TestPoolStaysInItsCluster(t *testing.T) {
	t.Parallel()
	for _, region := range []string{"us-east-1", "eu-west-1"} {
		t.Run(region, func(t *testing.T) {
			t.Parallel()
			objects := clusterIn(victim)
			for _, object := range clusterIn(victim) {
				switch object := object.(type) {
				case *clusterv1.MachinePool:
					continue
				case *clusterv1.Cluster:
					object.Spec.InfrastructureRef.Name = "other"
				case *capav1.AWSCluster:
					object.Spec.Region = region
				}
				object.SetName("other")
				objects = append(objects, object)
			}
			r := newRig(t, objects...)
			pool := poolIn(victim, r.group(poolName, r.template(poolName, slipwayTags(victim), nil), 1, slipwayTags(victim)))
			pool.Spec.NodeDrain = &infrav1.NodeDrain{Disable: true}
			if err := r.Create(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			r.pass(victim)
			machinePool := &clusterv1.MachinePool{}
			if err := r.Get(t.Context(), client.ObjectKey{Namespace: victim, Name: poolName}, machinePool); err != nil {
				t.Fatal(err)
			}
			machinePool.Spec.ClusterName = "other"
			if err := r.Update(t.Context(), machinePool); err != nil {
				t.Fatal(err)
			}
			r.sim.ClearCalls()
			pool = r.pass(victim)
			if got := pool.Annotations; got[ownership.ClusterAnnotation] != clusterName || got[ownership.RegionAnnotation] != "us-east-1" {
				t.Errorf("the pool forgot where its group is: %v", got)
			}
			r.condition(pool, infrav1.ClusterInfrastructureReadyCondition, infrav1.ClusterChangedReason, `"other"`, `"`+clusterName+`"`)
			if writes := r.writes(); len(writes) > 0 {
				t.Errorf("writes to AWS: %q", writes)
			}
			if err := r.Delete(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				if pool = r.pass(victim); pool == nil {
					break
				}
			}
			if r.find(poolName) != nil {
				t.Errorf("the group outlives its pool: %+v", pool)
			}
		})
	}
}

// TestForgedInstanceObjects holds that an AWSMachinePoolMachine that a user created has no effect on what is not the
// pool's: neither on the Machine of its name, which Slipway may delete and the user may not, nor on an instance.
func TestForgedInstanceObjects(t *testing.T) {
	t.Parallel()
	r := newMachineRollouts(t)
	controlPlane := &clusterv1.Machine{}
	controlPlane.Namespace, controlPlane.Name, controlPlane.Finalizers = r.key.Namespace, "control-plane", []string{clusterv1.MachineFinalizer}
	controlPlane.OwnerReferences = []metav1.OwnerReference{{APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "KubeadmControlPlane", Name: "blue", UID: "kcp", Controller: ptr.To(true)}}
	controlPlane.Labels = map[string]string{clusterv1.ClusterNameLabel: "blue"}
	r.must(r.Create(t.Context(), controlPlane))
	real := r.infraMachines()[0]
	forged := func(name, instance string) {
		infra := &infrav1.AWSMachinePoolMachine{}
		infra.Namespace, infra.Name, infra.Labels, infra.OwnerReferences = r.key.Namespace, name, real.Labels, real.OwnerReferences
		infra.Spec.InstanceID = instance
		r.must(r.Create(t.Context(), infra))
	}
	forged("control-plane", "i-00000000000000bad")
	forged("zzz", real.Spec.InstanceID)
	instances := r.group().Instances
	for range 20 {
		r.core()
		r.reconcile(settleWindow)
	}
	for _, name := range []string{"control-plane", real.Name} {
		machine := &clusterv1.Machine{}
		if err := r.Get(t.Context(), client.ObjectKey{Namespace: r.key.Namespace, Name: name}, machine); err != nil || !machine.DeletionTimestamp.IsZero() {
			t.Errorf("Machine %s was deleted: %v", name, err)
		}
	}
	for i, now := range r.group().Instances {
		if *now.InstanceId != *instances[i].InstanceId || now.LifecycleState != "InService" {
			t.Errorf("the group has %+v", now)
		}
	}
	if !slices.ContainsFunc(r.infraMachines(), func(infra infrav1.AWSMachinePoolMachine) bool { return infra.Name == real.Name }) {
		t.Errorf("the object of instance %s is gone", real.Spec.InstanceID)
	}
}

// TestForgedNodesOfARollout holds that neither a Ready Node that names the instance of another one has a roll-out go on
// whose own Nodes do not become Ready, nor one that is not Ready stops a roll-out whose own Nodes do.
func TestForgedNodesOfARollout(t *testing.T) {
	t.Parallel()
	for _, works := range []bool{false, true} {
		t.Run(fmt.Sprintf("new nodes work: %t", works), func(t *testing.T) {
			t.Parallel()
			k := newKubelets(t, nil)
			k.named, k.forged, k.ready["2"] = true, ptr.To(!works), works
			k.want("m6i.large", "")
			if works {
				k.settled(2)
				return
			}
			k.stopped()
			if versions := k.versions(); versions["1"] != 1 {
				t.Errorf("the instances run %v, want one of version 1", versions)
			}
		})
	}
}

// TestForgedNodesHideNoNode holds that the Node with the name that EC2 gave an instance is drained at once, and another
// one before the instance goes, however many Nodes that are listed first name the instance too.
func TestForgedNodesHideNoNode(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		t.Run(fmt.Sprintf("with EC2's name: %t", named), func(t *testing.T) {
			t.Parallel()
			r := newRootRig(t)
			r.server.forged = 40
			for _, described := range r.sim.Region("123456789012", "us-east-1").Instances() {
				if named && *described.InstanceId == r.instance {
					r.server.node.Name = *described.PrivateDnsName
				}
			}
			r.refreshRoots()
			if named {
				r.drainFor(time.Minute)
				if r.server.pod || !r.server.node.Spec.Unschedulable {
					t.Errorf("after the first look, the Node has its pod (%t) and is unschedulable (%t)", r.server.pod, r.server.node.Spec.Unschedulable)
				}
			}
			r.drainFor(4 * time.Minute)
			if r.server.pod {
				t.Error("the pod was not evicted")
			}
			r.drainFor(18 * time.Minute)
			if r.imageOf() != r.image || r.server.node.Spec.Unschedulable {
				t.Errorf("the instance has image %s, want %s, and its node is unschedulable: %t", r.imageOf(), r.image, r.server.node.Spec.Unschedulable)
			}
		})
	}
}
