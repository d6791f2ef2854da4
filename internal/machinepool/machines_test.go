package machinepool

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/watches"
)

// newMachineRollouts returns a pool of two instances in service that have Machines.
func newMachineRollouts(t *testing.T) *rollouts {
	t.Helper()
	r := newRollouts(t, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.MachinePoolMachines = infrav1.MachinePoolMachinesEnabled
		pool.Labels = map[string]string{watches.WatchFilterLabel: "blue"}
	})
	r.want("m5.large", "")
	r.withCore("two instances have Machines", func() bool { return r.allRun(1) && len(r.machines()) == 2 })
	return r
}

// withCore makes passes, with Cluster API's controllers in between, until a condition holds.
func (r *rollouts) withCore(what string, holds func() bool) {
	r.Helper()
	r.until(what, func() bool {
		r.core()
		return holds()
	})
}

// core does what Cluster API does for the Machines of a pool that says that it has some: it creates
// a Machine for each object of an instance, and for a Machine that was deleted it deletes the object
// of the instance and, when that is gone, lets the Machine go.
func (r *rollouts) core() {
	r.Helper()
	machinePool := &clusterv1.MachinePool{}
	r.must(r.Get(r.Context(), r.key, machinePool))
	if r.pool().Status.InfrastructureMachineKind != "" {
		for _, infra := range r.infraMachines() {
			machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
				Namespace: infra.Namespace, Name: infra.Name, UID: types.UID("machine-" + infra.Name), Finalizers: []string{clusterv1.MachineFinalizer}, Labels: infra.Labels,
			}}
			r.must(controllerutil.SetControllerReference(machinePool, machine, r.Scheme()))
			if infra.DeletionTimestamp.IsZero() {
				r.must(client.IgnoreAlreadyExists(r.Create(r.Context(), machine)))
			}
		}
	}
	for _, machine := range r.machines() {
		if machine.DeletionTimestamp.IsZero() || machine.Annotations[clusterv1.PausedAnnotation] != "" {
			continue
		}
		infra := &infrav1.AWSMachinePoolMachine{}
		switch err := r.Get(r.Context(), client.ObjectKeyFromObject(&machine), infra); {
		case apierrors.IsNotFound(err):
			controllerutil.RemoveFinalizer(&machine, clusterv1.MachineFinalizer)
			r.must(r.Update(r.Context(), &machine))
		case infra.DeletionTimestamp.IsZero():
			r.must(r.Delete(r.Context(), infra))
		}
	}
}

func (r *rollouts) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rollouts) machines() []clusterv1.Machine {
	r.Helper()
	list := &clusterv1.MachineList{}
	r.must(r.List(r.Context(), list))
	return list.Items
}

func (r *rollouts) infraMachines() []infrav1.AWSMachinePoolMachine {
	r.Helper()
	list := &infrav1.AWSMachinePoolMachineList{}
	r.must(r.List(r.Context(), list))
	return list.Items
}

// instanceOf returns the instance of a Machine.
func (r *rollouts) instanceOf(machine clusterv1.Machine) string {
	r.Helper()
	infra := &infrav1.AWSMachinePoolMachine{}
	r.must(r.Get(r.Context(), client.ObjectKeyFromObject(&machine), infra))
	return infra.Spec.InstanceID
}

func (r *rollouts) replicas(count int32) {
	r.Helper()
	machinePool := &clusterv1.MachinePool{}
	r.must(r.Get(r.Context(), r.key, machinePool))
	machinePool.Spec.Replicas = &count
	r.must(r.Update(r.Context(), machinePool))
}

// TestInstancesHaveMachines holds what the object of an instance says to Cluster API, and that none
// is created twice.
func TestInstancesHaveMachines(t *testing.T) {
	t.Parallel()
	r := newMachineRollouts(t)
	var instances []string
	for _, infra := range r.infraMachines() {
		instances = append(instances, infra.Spec.InstanceID)
		want := map[string]string{clusterv1.ClusterNameLabel: "blue", clusterv1.MachinePoolNameLabel: "pool", watches.WatchFilterLabel: "blue"}
		if diff := cmp.Diff(want, infra.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		if infra.Spec.ProviderID != "aws:///us-east-1a/"+infra.Spec.InstanceID || !infra.Status.Ready || !ptr.Deref(infra.Status.Initialization.Provisioned, false) {
			t.Errorf("the object says %+v, %+v", infra.Spec, infra.Status)
		}
		if !ownedBy(&infra, r.pool()) || metav1.GetControllerOf(&infra) != nil {
			t.Errorf("its owners are %+v", infra.OwnerReferences)
		}
		if !strings.HasPrefix(infra.Name, "pool-") || !controllerutil.ContainsFinalizer(&infra, infrav1.MachinePoolMachineFinalizer) {
			t.Errorf("it is %s with finalizers %q", infra.Name, infra.Finalizers)
		}
	}
	slices.Sort(instances)
	if want := r.instanceIDs(); !slices.Equal(instances, want) {
		t.Errorf("objects are of %q, want %q", instances, want)
	}
	before := r.infraMachines()
	r.forgetful = true
	r.reconcile(0)
	if diff := cmp.Diff(before, r.infraMachines()); diff != "" {
		t.Errorf("another pass changed the objects (-before +after):\n%s", diff)
	}
}

// TestDeletedMachineIsReplaced holds that an instance whose Machine was deleted is terminated and
// replaced, and that no other instance is.
func TestDeletedMachineIsReplaced(t *testing.T) {
	t.Parallel()
	r := newMachineRollouts(t)
	victim, other := r.machines()[0], r.machines()[1]
	goes, stays := r.instanceOf(victim), r.instanceOf(other)
	r.must(r.Delete(t.Context(), &victim))
	r.withCore("the instance is replaced", func() bool {
		ids := r.instanceIDs()
		return r.allRun(1) && len(r.machines()) == 2 && !slices.Contains(ids, goes) && slices.Contains(ids, stays)
	})
	if events := r.told("InstanceTerminated"); len(events) != 1 || !strings.Contains(events[0], goes+", because its Machine was deleted; its replacement follows") {
		t.Errorf("the events are %q", events)
	}
	if group := r.group(); *group.DesiredCapacity != 2 {
		t.Errorf("the group wants %d instances", *group.DesiredCapacity)
	}
}

// TestMarkedMachineGoesFirst holds that a pool that shrinks loses the instance whose Machine is
// marked, and is not smaller than it was asked for afterwards.
func TestMarkedMachineGoesFirst(t *testing.T) {
	t.Parallel()
	for index := range 2 {
		t.Run(fmt.Sprint("machine ", index), func(t *testing.T) {
			t.Parallel()
			r := newMachineRollouts(t)
			victim, other := r.machines()[index], r.machines()[1-index]
			stays := r.instanceOf(other)
			metav1.SetMetaDataAnnotation(&victim.ObjectMeta, clusterv1.DeleteMachineAnnotation, "")
			r.must(r.Update(t.Context(), &victim))
			r.replicas(1)
			r.withCore("the pool shrinks", func() bool { return len(r.group().Instances) == 1 && len(r.machines()) == 1 })
			if ids := r.instanceIDs(); !slices.Equal(ids, []string{stays}) {
				t.Errorf("instances %q stay, want %q", ids, stays)
			}
			for range 5 {
				r.reconcile(0)
				r.core()
			}
			if group := r.group(); *group.DesiredCapacity != 1 || len(group.Instances) != 1 {
				t.Errorf("the group wants %d instances and has %d", *group.DesiredCapacity, len(group.Instances))
			}
			if events := r.told("InstanceTerminated"); len(events) != 1 || !strings.Contains(events[0], "the group scales in") {
				t.Errorf("the events are %q", events)
			}
		})
	}
}

// TestInstanceThatIsGoneLosesItsMachine holds that the Machine of an instance that was terminated
// behind the pool's back goes, before the object of the instance does.
func TestInstanceThatIsGoneLosesItsMachine(t *testing.T) {
	t.Parallel()
	r := newMachineRollouts(t)
	victim := r.machines()[0]
	id := r.instanceOf(victim)
	_, err := r.asg.TerminateInstanceInAutoScalingGroup(t.Context(), &autoscaling.TerminateInstanceInAutoScalingGroupInput{InstanceId: &id, ShouldDecrementDesiredCapacity: ptr.To(false)})
	r.must(err)
	r.withCore("its objects are gone and the new instance has some", func() bool {
		for _, infra := range r.infraMachines() {
			if infra.Spec.InstanceID == id {
				return false
			}
		}
		return r.allRun(1) && len(r.machines()) == 2
	})
}

// TestMachinesAreTakenAway holds that a pool that must have no Machines loses them, while every
// instance stays, and that Cluster API drains none of their nodes: status no longer asks it for
// Machines, and each Machine is paused before it is deleted.
func TestMachinesAreTakenAway(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		late   bool
	}{
		{"all of them at once", false},
		{"one that core created late, for an object that is gone", true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newMachineRollouts(t)
			before := r.instanceIDs()
			if row.late {
				machinePool, machine := &clusterv1.MachinePool{}, r.machines()[0].DeepCopy()
				r.must(r.Get(t.Context(), r.key, machinePool))
				machine.Name, machine.ResourceVersion, machine.UID = "late", "", "late"
				r.must(r.Create(t.Context(), machine))
			}
			pool := r.pool()
			pool.Spec.MachinePoolMachines = infrav1.MachinePoolMachinesDisabled
			r.must(r.Update(t.Context(), pool))
			r.withCore("there are no Machines", func() bool { return len(r.machines())+len(r.infraMachines()) == 0 })
			if after := r.instanceIDs(); !slices.Equal(before, after) {
				t.Errorf("instances were %q and are %q", before, after)
			}
			if kind := r.pool().Status.InfrastructureMachineKind; kind != "" {
				t.Errorf("status still says %q to Cluster API", kind)
			}
		})
	}
}

// TestOthersMachinesStay holds that the objects of other pools, and Machines that only have this
// pool's labels, are not touched when the Machines of this pool go.
func TestOthersMachinesStay(t *testing.T) {
	t.Parallel()
	r := newMachineRollouts(t)
	labels := map[string]string{clusterv1.ClusterNameLabel: "blue", clusterv1.MachinePoolNameLabel: "pool"}
	foreign := &infrav1.AWSMachinePoolMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "foreign", Labels: labels, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: "other", UID: "other"},
		{APIVersion: "example.com/v1", Kind: "AWSMachinePool", Name: "pool", UID: "pool"},
	}}}
	foreign.Spec.InstanceID = "i-0123456789abcdef0"
	standalone := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "standalone", Labels: labels}}
	r.must(r.Create(t.Context(), foreign))
	r.must(r.Create(t.Context(), standalone))
	pool := r.pool()
	pool.Spec.MachinePoolMachines = infrav1.MachinePoolMachinesDisabled
	r.must(r.Update(t.Context(), pool))
	for range 20 {
		r.reconcile(0)
	}
	var names []string
	for _, machine := range r.machines() {
		names = append(names, machine.Name)
	}
	for _, infra := range r.infraMachines() {
		names = append(names, infra.Name)
	}
	if !slices.Equal(names, []string{"standalone", "foreign"}) {
		t.Errorf("there are %q", names)
	}
}

// TestTerminationThatFails holds that an instance whose termination AWS refuses stays a member with
// its Machine, that the pool says so, and that the instance is terminated when AWS allows it.
func TestTerminationThatFails(t *testing.T) {
	t.Parallel()
	r := newMachineRollouts(t)
	id, err := r.sim.AddFault(awssim.Fault{Service: "autoscaling", Action: "TerminateInstanceInAutoScalingGroup", Code: "AccessDenied", Status: 403, Message: "not authorized"})
	r.must(err)
	victim := r.machines()[0]
	goes := r.instanceOf(victim)
	r.must(r.Delete(t.Context(), &victim))
	r.withCore("the pool says that the termination failed", func() bool {
		return strings.Contains(r.condition(infrav1.ASGReadyCondition).Message, "not authorized")
	})
	if !slices.Contains(r.instanceIDs(), goes) || len(r.machines()) != 2 {
		t.Errorf("instances are %q with %d Machines", r.instanceIDs(), len(r.machines()))
	}
	for _, instance := range r.group().Instances {
		if instance.LifecycleState != asgtypes.LifecycleStateInService {
			t.Errorf("instance %s is %s", *instance.InstanceId, instance.LifecycleState)
		}
	}
	r.sim.RemoveFault(id)
	r.withCore("the instance is replaced", func() bool {
		return r.allRun(1) && !slices.Contains(r.instanceIDs(), goes) && r.condition(infrav1.ASGReadyCondition).Status == metav1.ConditionTrue
	})
}

// TestPoolOfMachine holds which Machines wake which pool: only Machines that Cluster API's
// MachinePool controls, and only when they will go.
func TestPoolOfMachine(t *testing.T) {
	t.Parallel()
	r := newRollouts(t, nil)
	machinePool := &clusterv1.MachinePool{}
	r.must(r.Get(t.Context(), r.key, machinePool))
	machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AWSMachinePool", Name: "infra"}
	r.must(r.Update(t.Context(), machinePool))
	controlled := func(version, kind, name string) *clusterv1.Machine {
		return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", OwnerReferences: []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, Controller: ptr.To(true)}}}}
	}
	for _, row := range []struct {
		reason  string
		machine *clusterv1.Machine
		want    string
	}{
		{"one of the pool", controlled(clusterv1.GroupVersion.String(), "MachinePool", "pool"), "team/infra"},
		{"one of a MachineSet", controlled(clusterv1.GroupVersion.String(), "MachineSet", "pool"), ""},
		{"one of another group's MachinePool", controlled("example.com/v1", "MachinePool", "pool"), ""},
		{"one of a MachinePool that is gone", controlled(clusterv1.GroupVersion.String(), "MachinePool", "gone"), ""},
		{"one without an owner", &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}, ""},
	} {
		var woken []string
		for _, request := range r.pools.poolOfMachine(t.Context(), row.machine) {
			woken = append(woken, request.String())
		}
		if got := strings.Join(woken, " "); got != row.want {
			t.Errorf("%s wakes %q, want %q", row.reason, got, row.want)
		}
	}
	now := metav1.Now()
	for _, row := range []struct {
		reason string
		object metav1.ObjectMeta
		want   bool
	}{
		{"nothing happened to it", metav1.ObjectMeta{Annotations: map[string]string{"other": ""}}, false},
		{"it is marked to go", metav1.ObjectMeta{Annotations: map[string]string{clusterv1.DeleteMachineAnnotation: ""}}, true},
		{"it was deleted", metav1.ObjectMeta{DeletionTimestamp: &now}, true},
	} {
		if got := goes(&clusterv1.Machine{ObjectMeta: row.object}); got != row.want {
			t.Errorf("%s: the pool is woken: %t", row.reason, got)
		}
	}
}

// TestMachineNames holds that the name of an instance's objects can be used as a label's value, as
// Cluster API does, and that no two instances of a pool share one, whatever the pool is called.
func TestMachineNames(t *testing.T) {
	t.Parallel()
	pools, instances := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?){0,2}`), rapid.StringMatching(`i-[0-9a-f]{8}([0-9a-f]{9})?`)
	rapid.Check(t, func(t *rapid.T) {
		pool, one, other := pools.Draw(t, "pool"), instances.Draw(t, "one"), instances.Draw(t, "other")
		name := machineName(pool, one)
		if complaints := validation.IsValidLabelValue(name); len(complaints) > 0 {
			t.Errorf("%q is no label: %q", name, complaints)
		}
		if complaints := validation.IsDNS1123Subdomain(name); len(complaints) > 0 {
			t.Errorf("%q is no name: %q", name, complaints)
		}
		if one != other && machineName(pool, other) == name {
			t.Errorf("%s and %s are both %q", one, other, name)
		}
		label := labelValue(pool)
		if complaints := validation.IsValidLabelValue(label); len(complaints) > 0 || len(pool) <= validation.LabelValueMaxLength && label != pool {
			t.Errorf("the label of %q is %q: %q", pool, label, complaints)
		}
	})
}
