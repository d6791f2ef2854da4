package integration

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// withMachines is a replacement in the example that gives instances Machines.
var withMachines = []string{"  maxSize: 10", "  maxSize: 10\n  machinePoolMachines: Enabled"}

// machines are the Machines of the pool.
func (w *world) machines() []clusterv1.Machine {
	w.Helper()
	list := &clusterv1.MachineList{}
	if err := w.Client.List(w.Context(), list, client.InNamespace(w.Namespace),
		client.MatchingLabels{clusterv1.MachinePoolNameLabel: format.MustFormatValue(poolName), clusterv1.ClusterNameLabel: "capa"}); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// infraMachines are ours.
func (w *world) infraMachines() []infrav1.AWSMachinePoolMachine {
	w.Helper()
	list := &infrav1.AWSMachinePoolMachineList{}
	if err := w.Client.List(w.Context(), list, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// twins is nil once each running instance has a Machine with the instance's Node, and there is none besides.
func (w *world) twins() error {
	instances, infra, machines := w.running(), w.infraMachines(), w.machines()
	if len(infra) != len(instances) || len(machines) != len(instances) {
		return fmt.Errorf("%d instances have %d objects of ours and %d Machines", len(instances), len(infra), len(machines))
	}
	for _, object := range infra {
		if !slices.Contains(instances, object.Spec.InstanceID) || !object.DeletionTimestamp.IsZero() || object.Status.Instance == nil ||
			object.Status.Instance.LifecycleState != "InService" {
			return fmt.Errorf("%s is for instance %s, deleted at %v, with status %+v", object.Name, object.Spec.InstanceID, object.DeletionTimestamp, object.Status)
		}
		at := slices.IndexFunc(machines, func(machine clusterv1.Machine) bool { return machine.Name == object.Name })
		if at < 0 {
			return fmt.Errorf("%s has no Machine", object.Name)
		}
		machine := machines[at]
		if machine.Spec.ProviderID != object.Spec.ProviderID || !machine.Status.NodeRef.IsDefined() || !machine.DeletionTimestamp.IsZero() {
			return fmt.Errorf("machine %s has provider id %q and node %+v", machine.Name, machine.Spec.ProviderID, machine.Status.NodeRef)
		}
	}
	return nil
}

// haveControlPlane creates a Machine of the control plane, without which core does not count the
// cluster as one whose nodes are worth draining.
func (w *world) haveControlPlane() {
	w.Helper()
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: "control-plane",
			Labels:      map[string]string{clusterv1.ClusterNameLabel: "capa", clusterv1.MachineControlPlaneLabel: ""},
			Annotations: map[string]string{clusterv1.PausedAnnotation: ""},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName: "capa", Bootstrap: clusterv1.Bootstrap{DataSecretName: aws.String("none")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachine", Name: "control-plane"},
		},
	}
	if err := w.Client.Create(w.Context(), machine); err != nil {
		w.Fatal(err)
	}
}

func (w *world) haveMachines() {
	w.Helper()
	w.haveControlPlane()
	w.havePool(withMachines...)
	w.Eventually("each instance has a Machine", w.twins)
	w.rest()
	w.Cloud.AWS.ClearCalls()
}

// instanceOf is the instance of a Machine.
func (w *world) instanceOf(machine clusterv1.Machine) string {
	w.Helper()
	for _, object := range w.infraMachines() {
		if object.Name == machine.Name {
			return object.Spec.InstanceID
		}
	}
	w.Fatalf("Machine %s has no object of ours", machine.Name)
	return ""
}

// TestDeletingAMachine holds that the node of a deleted Machine is drained, its instance
// terminates, and another comes in its place.
func TestDeletingAMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.haveMachines()
	w.servePods()
	machine := w.machines()[0]
	victim, before := w.instanceOf(machine), w.running()
	w.clock.SetRate(unhurried)
	w.remove(&clusterv1.Machine{}, machine.Name)
	w.Eventually("Cluster API has begun to drain", func() error { return equals([]int{w.cordoned()}, []int{1}) })
	w.rest()
	if err := equals(w.running(), before); err != nil || w.count("TerminateInstanceInAutoScalingGroup") != 0 {
		t.Errorf("while a budget holds pods: %v, writes %q", err, w.writes())
	}
	w.allowDisruptions(1)
	w.clock.SetRate(rate)
	w.Eventually("another instance takes its place", func() error {
		if slices.Contains(w.running(), victim) {
			return fmt.Errorf("instance %s is still there", victim)
		}
		if err := w.twins(); err != nil {
			return err
		}
		return w.settled(2)
	})
	if left := w.pods(); len(left) != 1 {
		t.Errorf("pods %q are left", left)
	}
	w.expectCounts(map[string]int{"TerminateInstanceInAutoScalingGroup": 1, "UpdateAutoScalingGroup": 0, "CompleteLifecycleAction": 1})
}

// TestShrinkingByMachines holds that a pool which shrinks loses the instances whose Machines were
// chosen, and where none was, the instances that AWS takes.
func TestShrinkingByMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.haveMachines()
	w.scaleTo(3)
	w.Eventually("a third comes", func() error {
		if err := w.twins(); err != nil {
			return err
		}
		return w.settled(3)
	})
	w.rest()
	w.Cloud.AWS.ClearCalls()
	machine := w.machines()[1]
	victim := w.instanceOf(machine)
	edited(w, &clusterv1.Machine{}, machine.Name, func(machine *clusterv1.Machine) {
		machine.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "yes"}
	})
	w.rest()
	if running := w.running(); len(running) != 3 || len(w.writes()) != 0 {
		t.Errorf("a mark alone did something: %q, %q", running, w.writes())
	}
	before := w.running()
	w.scaleTo(2)
	gone := func(want int) func() error {
		return func() error {
			if running := w.running(); len(running) != want {
				return fmt.Errorf("instances are %q", running)
			}
			if err := w.twins(); err != nil {
				return err
			}
			return w.settled(want)
		}
	}
	w.Eventually("the one goes that was marked", gone(2))
	left := slices.DeleteFunc(before, func(id string) bool { return id == victim })
	if err := equals(w.running(), left); err != nil {
		t.Errorf("instances: %v", err)
	}
	if got := aws.ToInt32(w.group().DesiredCapacity); got != 2 || w.count("TerminateInstanceInAutoScalingGroup") != 1 {
		t.Errorf("capacity %d, writes %q", got, w.writes())
	}
	w.scaleTo(1)
	w.Eventually("AWS takes another", gone(1))
	if w.count("TerminateInstanceInAutoScalingGroup") != 1 {
		t.Errorf("writes %q", w.writes())
	}
}

// TestInstanceOfAMachineLost holds that the Machine of an instance that terminated outside Slipway
// goes, and that a Machine of its replacement comes.
func TestInstanceOfAMachineLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.haveMachines()
	victim := w.running()[0]
	w.must(w.ec2().TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{victim}}))
	w.Eventually("another has its place", func() error {
		if slices.Contains(w.running(), victim) {
			return fmt.Errorf("instance %s is still there", victim)
		}
		if err := w.twins(); err != nil {
			return err
		}
		return w.settled(2)
	})
	w.expectCounts(map[string]int{"TerminateInstanceInAutoScalingGroup": 0})
}

// TestMachinesComeAndGo switches the Machines of a pool on and off again, with nothing happening to
// its nodes and pods; a restart changes nothing; and deletes the pool while it has some.
func TestMachinesComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.haveControlPlane()
	w.havePool()
	w.servePods()
	before, nodes := w.running(), nodeIDs(w.Nodes())
	choose := func(choice infrav1.MachinePoolMachines) {
		w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.MachinePoolMachines = choice })
	}
	choose(infrav1.MachinePoolMachinesEnabled)
	w.Eventually("each instance has a Machine", w.twins)
	w.rest()
	w.stopManager()
	w.startManager()
	w.rest()
	choose(infrav1.MachinePoolMachinesDisabled)
	w.Eventually("no Machine is left", func() error {
		if infra, machines := w.infraMachines(), w.machines(); len(infra)+len(machines) != 0 {
			return fmt.Errorf("there are %d of ours and %d Machines", len(infra), len(machines))
		}
		return nil
	})
	w.rest()
	if err := equals(w.running(), before); err != nil {
		t.Errorf("instances: %v", err)
	}
	if err := equals(nodeIDs(w.Nodes()), nodes); err != nil || w.cordoned() != 0 || len(w.pods()) != 2 {
		t.Errorf("nodes: %v; %d are cordoned, pods %q", err, w.cordoned(), w.pods())
	}
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("Machines cost writes in AWS: %q", writes)
	}
	choose(infrav1.MachinePoolMachinesEnabled)
	w.Eventually("each instance has a Machine once more", w.twins)
	w.clock.SetRate(unhurried)
	w.deletePool()
	w.Eventually("the nodes are being drained", func() error { return equals([]int{w.cordoned()}, []int{2}) })
	w.allowDisruptions(2)
	w.clock.SetRate(rate)
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("AWS holds nothing of it", func() error { return w.remains() })
	w.Eventually("no Machine is left", func() error {
		if infra, machines := w.infraMachines(), w.machines(); len(infra)+len(machines) != 0 {
			return fmt.Errorf("there are %+v and %+v", metaOf(infra), machines)
		}
		return nil
	})
}

func metaOf(infra []infrav1.AWSMachinePoolMachine) []metav1.ObjectMeta {
	var list []metav1.ObjectMeta
	for _, object := range infra {
		list = append(list, object.ObjectMeta)
	}
	return list
}

// nodeIDs returns IDs that distinguish a Node from one that was recreated under its name.
func nodeIDs(nodes []corev1.Node) []string {
	var ids []string
	for _, node := range nodes {
		ids = append(ids, string(node.UID))
	}
	slices.Sort(ids)
	return ids
}
