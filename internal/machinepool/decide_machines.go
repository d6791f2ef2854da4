package machinepool

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"

	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// infraMachineKind is the kind of the objects that represent instances.
const infraMachineKind = "AWSMachinePoolMachine"

// Machine is the two objects that represent an instance: ours, and the Machine that core Cluster
// API creates for it, under the same name. Core drains a Machine that is deleted, and deletes ours
// when it is done.
type Machine struct {
	Infra *infrav1.AWSMachinePoolMachine
	// Machine is nil until core has created it, and when it is gone.
	Machine *metav1.PartialObjectMetadata
}

// ended reports whether ours was deleted, usually by core when it has drained the node.
func (m Machine) ended() bool { return !m.Infra.DeletionTimestamp.IsZero() }

// drained reports whether core has drained the node. Core deletes the AWSMachinePoolMachine only
// after the drain. If a user deletes it, the node was not drained.
func (m Machine) drained() bool {
	return m.ended() && m.Machine != nil && !m.Machine.DeletionTimestamp.IsZero()
}

// drainedByCore reports whether core drains the node of an instance, or will: it drains for a
// Machine that is deleted, and none is deleted for a root volume.
func (m Machine) drainedByCore(instance autoscalinggroup.Instance) bool {
	return m.Machine != nil && (!instance.ReplacesRoot() || !m.Machine.DeletionTimestamp.IsZero())
}

// leaving reports whether the instance should go: its Machine was deleted, or is marked by Cluster
// API's annotation to go when the pool shrinks.
func (m Machine) leaving() bool { return m.rank() < unconcerned }

// The order in which instances go when a pool shrinks.
const (
	ended = iota
	beingDrained
	marked
	unconcerned
)

func (m Machine) rank() int {
	switch {
	case m.ended():
		return ended
	case m.Machine == nil:
		return unconcerned
	case !m.Machine.DeletionTimestamp.IsZero():
		return beingDrained
	}
	if _, annotated := m.Machine.Annotations[clusterv1.DeleteMachineAnnotation]; annotated {
		return marked
	}
	return unconcerned
}

// machinesWanted reports whether instances have Machines.
func machinesWanted(in input) bool {
	switch in.Object.Spec.MachinePoolMachines {
	case infrav1.MachinePoolMachinesEnabled:
		return true
	case infrav1.MachinePoolMachinesDisabled:
		return false
	}
	return in.Seen.Settings.MachinePoolMachines
}

// keepMachines keeps an object for each instance, removes the objects whose instance goes, and
// terminates the instances whose Machine was deleted.
func keepMachines(in input, plan *reconcile.Plan) bool {
	if in.Seen.Group == nil {
		return true
	}
	if !machinesWanted(in) {
		return dropMachines(in, plan)
	}
	in.Object.Status.InfrastructureMachineKind = infraMachineKind
	if goOn := endInstances(in, plan); !goOn || pending(plan) {
		return goOn
	}
	if tried, _ := reconcile.Attempted[syncMachines](in.Done); tried {
		return true
	}
	if sync := machinesToSync(in); sync.size() > 0 {
		plan.Do(sync, "%s", sync.reason())
	}
	return true
}

// machinesToSync returns the objects that are missing, out of date, or left over.
func machinesToSync(in input) syncMachines {
	group := in.Seen.Group
	sync := syncMachines{MachinePool: in.Seen.MachinePool.Name, Cluster: in.Seen.ClusterName}
	sync.Create = slices.DeleteFunc(slices.Clone(group.Instances), func(instance autoscalinggroup.Instance) bool {
		_, has := in.Seen.Machines[instance.ID]
		return has || instance.Leaving() || instance.Warmed()
	})
	for _, id := range slices.Sorted(maps.Keys(in.Seen.Machines)) {
		machine := in.Seen.Machines[id]
		member := slices.IndexFunc(group.Instances, func(instance autoscalinggroup.Instance) bool { return instance.ID == id })
		switch {
		case member < 0 && machine.Machine != nil && !machine.ended():
			// Ours goes after the Machine was deleted: core takes one that is missing earlier for a failure.
			if machine.Machine.DeletionTimestamp.IsZero() {
				sync.Delete = append(sync.Delete, id)
			}
			continue
		case member < 0:
			sync.Drop = append(sync.Drop, id)
			continue
		case group.Instances[member].Leaving() && drainWanted(in) && machine.Machine != nil && machine.Machine.DeletionTimestamp.IsZero():
			sync.Delete = append(sync.Delete, id)
		}
		if !shown(machine.Infra, group.Instances[member]) {
			sync.Show = append(sync.Show, group.Instances[member])
		}
	}
	return sync
}

func (s syncMachines) size() int { return len(s.Create) + len(s.Delete) + len(s.Drop) + len(s.Show) }

// reason returns why objects that represent instances change.
func (s syncMachines) reason() string {
	var reasons []string
	for _, part := range []struct {
		ids []string
		why string
	}{
		{instanceIDs(s.Create), "have no Machine yet"}, {s.Delete, "leave the group"}, {s.Drop, "are gone"}, {instanceIDs(s.Show), "changed"},
	} {
		if len(part.ids) > 0 {
			reasons = append(reasons, named(part.ids)+" "+part.why)
		}
	}
	return strings.Join(reasons, "; ")
}

// shown reports whether an object shows its instance as the group has it.
func shown(infra *infrav1.AWSMachinePoolMachine, instance autoscalinggroup.Instance) bool {
	showing := infra.DeepCopy()
	show(showing, instance)
	return equality.Semantic.DeepEqual(infra.Status, showing.Status)
}

// show has an object show its instance as the group has it.
func show(infra *infrav1.AWSMachinePoolMachine, instance autoscalinggroup.Instance) {
	status := instanceStatus(instance)
	infra.Status.Ready, infra.Status.Initialization.Provisioned = true, ptr.To(true)
	infra.Status.Instance, infra.Status.ObservedGeneration = &status, infra.Generation
	reconciling.True(infra, infrav1.ReadyCondition, infrav1.ReadyReason, "")
}

// endInstances terminates the instances whose node core has drained for a Machine that was deleted.
// The group shrinks by them as far as the pool asks for fewer instances than the group has, and
// replaces the others: deleting a Machine lowers nothing by itself. The Machines of further
// instances that make up for the difference are deleted, so that core drains them.
func endInstances(in input, plan *reconcile.Plan) bool {
	if err := reconcile.LastFailure[terminateInstances](in.Done); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err)
		return true
	}
	ends := endingsOf(in)
	if len(ends.Terminate) > 0 && !in.Seen.Fresh {
		plan.Need(needFreshGroup) // what a sweep saw may be old, and an instance cannot be brought back
		return true
	}
	if tried, _ := reconcile.Attempted[terminateInstances](in.Done); len(ends.Terminate) > 0 && !tried {
		ids := make([]string, 0, len(ends.Terminate))
		for _, one := range ends.Terminate {
			ids = append(ids, one.Instance)
		}
		plan.Do(terminateInstances{Group: in.Seen.Group.Name, Instances: ends.Terminate}, "the Machines of %s were deleted, and their nodes are drained", named(ids))
		return true
	}
	if tried, _ := reconcile.Attempted[deleteMachines](in.Done); len(ends.Delete) > 0 && !tried {
		plan.Do(deleteMachines{Instances: ends.Delete}, "the pool requests fewer instances, and %s are "+
			"terminated first", named(ends.Delete))
	}
	return true
}

// endings lists the effects on instances of Machines that were deleted or are marked to go.
type endings struct {
	// Terminate are the instances that are terminated now, and Delete the instances whose Machines
	// are deleted first.
	Terminate []ending
	Delete    []string
	// Staying is how many instances the group keeps beyond what the pool asks for, because their
	// Machines, which were chosen to go, are being drained.
	Staying int32
}

// endingsOf returns them. Machines that were deleted go first, then Machines that are marked to go,
// as long as the group has more instances than the pool asks for.
func endingsOf(in input) endings {
	group, surplus := in.Seen.Group, surplusOf(in)
	candidates := slices.DeleteFunc(slices.Clone(group.Instances), func(instance autoscalinggroup.Instance) bool {
		machine, has := in.Seen.Machines[instance.ID]
		return !has || !machine.leaving() || instance.Leaving() || instance.Warmed()
	})
	slices.SortStableFunc(candidates, func(a, b autoscalinggroup.Instance) int {
		return cmp.Compare(in.Seen.Machines[a.ID].rank(), in.Seen.Machines[b.ID].rank())
	})
	stopped := reconcile.LastFailure[terminateInstances](in.Done) != nil
	var found endings
	capacity := group.Capacity
	for _, instance := range candidates {
		machine, shrink := in.Seen.Machines[instance.ID], surplus > 0
		surplus--
		switch {
		case machine.ended() && !stopped && (!shrink || capacity > group.MinSize):
			found.Terminate = append(found.Terminate, ending{Instance: instance.ID, Shrink: shrink})
			if shrink {
				capacity--
			}
		case shrink:
			// A group that may not shrink further may once it is updated; until then the instance stays.
			found.Staying++
			if !machine.ended() && machine.Machine.DeletionTimestamp.IsZero() {
				found.Delete = append(found.Delete, instance.ID)
			}
		}
	}
	if stopped {
		found.Staying = max(surplusOf(in), 0)
	}
	return found
}

// staying returns how many instances the group keeps beyond what the pool asks for.
func staying(in input) int32 {
	if in.Seen.Group == nil || !machinesWanted(in) {
		return 0
	}
	return endingsOf(in).Staying
}

// surplusOf returns how many more instances the group has than the pool asks for.
func surplusOf(in input) int32 {
	if in.Seen.MachinePool == nil || pool.Autoscaled(in.Seen.MachinePool) {
		return 0
	}
	return max(in.Seen.Group.Capacity-max(replicas(in), in.Object.Spec.MinSize), 0)
}

// dropMachines removes the Machines of a pool that should no longer have any, and leaves its
// instances and nodes alone.
func dropMachines(in input, plan *reconcile.Plan) bool {
	if in.Object.Status.InfrastructureMachineKind != "" {
		// Core creates Machines for as long as it reads this.
		in.Object.Status.InfrastructureMachineKind = ""
		plan.LookAgain(lookAgain)
		return true
	}
	if tried, _ := reconcile.Attempted[removeMachines](in.Done); tried || len(in.Seen.Unwanted)+len(in.Seen.Machines) == 0 {
		return true
	}
	remove := removeMachines{Instances: slices.Sorted(maps.Keys(in.Seen.Machines))}
	for _, machine := range in.Seen.Unwanted {
		remove.Machines = append(remove.Machines, machine.Name)
	}
	plan.Do(remove, "the pool does not have Machines for its instances")
	return true
}

// machineName returns the name of both objects of an instance. Names of Machines are used as label
// values, so they are not longer than a label value may be.
func machineName(pool, instance string) string {
	suffix := "-" + strings.TrimPrefix(instance, "i-")
	return strings.TrimRight(pool[:min(len(pool), validation.LabelValueMaxLength-len(suffix))], "-.") + suffix
}

// labelValue is the value of Cluster API's label for a name, which is a hash of names that no label
// can have (Cluster API: util/labels/format).
func labelValue(name string) string {
	if len(validation.IsValidLabelValue(name)) == 0 {
		return name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // never fails
	return fmt.Sprintf("hash_%s_z", base64.RawURLEncoding.EncodeToString(hash.Sum(nil)))
}
