package machinepool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/watches"
)

func (t terminateInstances) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	var told []reconcile.Event
	for _, one := range t.Instances {
		err := a.groups().Terminate(ctx, t.Group, one.Instance, one.Shrink)
		a.invalidate()
		if err != nil {
			return told, err
		}
		how := "its replacement follows"
		if one.Shrink {
			how = "the group scales in"
		}
		// The effect of the call on the group is known without another call.
		a.change(func(group *autoscalinggroup.Group) {
			group.Instances = slices.Clone(group.Instances)
			for i := range group.Instances {
				if group.Instances[i].ID == one.Instance {
					group.Instances[i].LifecycleState = "Terminating"
				}
			}
			if one.Shrink {
				group.Capacity--
			}
		})
		told = append(told, reconcile.Eventf(infrav1.InstanceTerminatedEvent, "Terminated instance %s, because its "+
			"Machine was deleted; %s", one.Instance, how).WithoutReason())
	}
	return told, nil
}

// changeMachines changes what was observed of the objects of instances.
func (a actor) changeMachines(change func(machines map[string]Machine)) {
	a.Seen.Machines = maps.Clone(a.Seen.Machines)
	change(a.Seen.Machines)
}

// deleteMachine deletes the Machine of an instance that goes, so that core drains the node and deletes ours.
func (a actor) deleteMachine(ctx context.Context, id string) error {
	machine := a.Seen.Machines[id].Machine
	if machine == nil || !machine.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := client.IgnoreNotFound(a.Client.Delete(ctx, machine.DeepCopy())); err != nil {
		return fmt.Errorf("deleting Machine %q: %w", machine.Name, err)
	}
	deleted := machine.DeepCopy()
	now := metav1.NewTime(a.Clock.Now())
	deleted.DeletionTimestamp = &now
	a.changeMachines(func(machines map[string]Machine) { machines[id] = Machine{Infra: machines[id].Infra, Machine: deleted} })
	return nil
}

func (d deleteMachines) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	for _, id := range d.Instances {
		if err := a.deleteMachine(ctx, id); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (s syncMachines) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	var failures []error
	for _, instance := range s.Create {
		failures = append(failures, s.create(ctx, a, instance))
	}
	for _, id := range s.Delete {
		failures = append(failures, a.deleteMachine(ctx, id))
	}
	for _, id := range s.Drop {
		failures = append(failures, a.dropInfraMachine(ctx, id))
	}
	for _, instance := range s.Show {
		failures = append(failures, a.showInstance(ctx, a.Seen.Machines[instance.ID].Infra, instance))
	}
	return nil, errors.Join(failures...)
}

// create creates the object that represents an instance.
func (s syncMachines) create(ctx context.Context, a actor, instance autoscalinggroup.Instance) error {
	infra := &infrav1.AWSMachinePoolMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: a.Object.Namespace, Name: machineName(a.Object.Name, instance.ID),
			Finalizers: []string{infrav1.MachinePoolMachineFinalizer},
			Labels: map[string]string{
				clusterv1.ClusterNameLabel: s.Cluster, clusterv1.MachinePoolNameLabel: labelValue(s.MachinePool),
			},
		},
		Spec: infrav1.AWSMachinePoolMachineSpec{InstanceID: instance.ID, ProviderID: instance.ProviderID()},
	}
	if filter, labelled := a.Object.Labels[watches.WatchFilterLabel]; labelled {
		infra.Labels[watches.WatchFilterLabel] = filter
	}
	// No controller reference: that is the Machine's to set.
	if err := controllerutil.SetOwnerReference(a.Object, infra, a.Client.Scheme()); err != nil {
		return fmt.Errorf("owning AWSMachinePoolMachine %q: %w", infra.Name, err)
	}
	if err := a.Client.Create(ctx, infra); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil // it was created just now, and is not in the cache yet
		}
		return fmt.Errorf("creating AWSMachinePoolMachine %q: %w", infra.Name, err)
	}
	return a.showInstance(ctx, infra, instance)
}

// showInstance has an object show its instance as the group has it.
func (a actor) showInstance(ctx context.Context, infra *infrav1.AWSMachinePoolMachine, instance autoscalinggroup.Instance) error {
	showing := infra.DeepCopy()
	show(showing, instance)
	reconciling.Stamp(showing, infra, a.Clock.Now())
	if err := reconciling.PatchStatus(ctx, a.Client, showing, infra); err != nil {
		return err
	}
	a.changeMachines(func(machines map[string]Machine) {
		machines[instance.ID] = Machine{Infra: showing, Machine: machines[instance.ID].Machine}
	})
	return nil
}

// dropInfraMachine removes the object that represents an instance.
func (a actor) dropInfraMachine(ctx context.Context, id string) error {
	infra := a.Seen.Machines[id].Infra.DeepCopy()
	err := reconciling.Patch(ctx, a.Client, infra, func(infra *infrav1.AWSMachinePoolMachine) {
		controllerutil.RemoveFinalizer(infra, infrav1.MachinePoolMachineFinalizer)
	})
	if err == nil && infra.DeletionTimestamp.IsZero() {
		err = a.Client.Delete(ctx, infra)
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("removing AWSMachinePoolMachine %q: %w", infra.Name, err)
	}
	a.changeMachines(func(machines map[string]Machine) { delete(machines, id) })
	return nil
}

// do removes Machines, and leaves their instances and nodes alone. Core would drain a deleted
// Machine's node and delete the Node, so its own annotation has it keep off, and what it would do
// last is done for it.
func (r removeMachines) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	var failures []error
	for i := range a.Seen.Unwanted {
		failures = append(failures, a.removeMachine(ctx, a.Seen.Unwanted[i].DeepCopy()))
	}
	for _, id := range r.Instances {
		failures = append(failures, a.dropInfraMachine(ctx, id))
	}
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	a.Seen.Unwanted = nil
	return eventsOf(reconcile.Eventf(infrav1.MachinesRemovedEvent, "Deleted %d Machines. Their instances keep running", len(r.Instances))), nil
}

func (a actor) removeMachine(ctx context.Context, machine *metav1.PartialObjectMetadata) error {
	machine.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
	err := reconciling.Patch(ctx, a.Client, machine, func(machine *metav1.PartialObjectMetadata) {
		annotations := maps.Clone(machine.Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[clusterv1.PausedAnnotation] = ""
		machine.SetAnnotations(annotations)
	})
	if err == nil && machine.DeletionTimestamp.IsZero() {
		// Only this one as it is now: a pause that was taken back would let core drain.
		err = a.Client.Delete(ctx, machine, client.Preconditions{UID: &machine.UID, ResourceVersion: &machine.ResourceVersion})
		if err == nil {
			err = a.Live.Get(ctx, client.ObjectKeyFromObject(machine), machine)
		}
	}
	if err == nil {
		err = reconciling.RemoveFinalizer(ctx, a.Client, machine, clusterv1.MachineFinalizer)
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("removing Machine %q: %w", machine.Name, err)
	}
	return nil
}

func (d dropInstances) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	var failures []error
	for _, id := range d.Instances {
		failures = append(failures, a.deleteMachine(ctx, id), a.dropInfraMachine(ctx, id))
	}
	return nil, errors.Join(failures...)
}
