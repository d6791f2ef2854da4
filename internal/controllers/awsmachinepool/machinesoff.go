package awsmachinepool

import (
	"context"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// dropMachines removes the Machines of a pool that is to have none any more, and leaves its instances and nodes alone. Core would drain a deleted
// Machine's node and delete the Node, so it is told by its own annotation to keep off, and what it would do last is done for it.
func (r *Reconciler) dropMachines(ctx context.Context, p *pass) reconciling.Outcome {
	if p.pool.Status.InfrastructureMachineKind != "" {
		// Core makes Machines for as long as it reads this.
		p.pool.Status.InfrastructureMachineKind = ""
		return reconciling.ContinueAndComeBack(lookAgain, "Machines are removed once Cluster API makes no more")
	}
	machines := &metav1.PartialObjectMetadataList{}
	machines.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("MachineList"))
	// By label, not by our objects: core may have made one for an object that is gone.
	err := r.Client.List(ctx, machines, client.InNamespace(p.pool.Namespace), client.MatchingLabels{
		clusterv1.ClusterNameLabel: p.clusterName, clusterv1.MachinePoolNameLabel: labelValue(p.machinePool.Name),
	})
	if err != nil {
		return reconciling.Fail(fmt.Errorf("listing Machines: %w", err)).AndGoOn()
	}
	var failures []error
	for i := range machines.Items {
		machine := &machines.Items[i]
		machine.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
		if metav1.IsControlledBy(machine, p.machinePool) {
			failures = append(failures, r.dropMachine(ctx, machine))
		}
	}
	for _, twin := range p.twins {
		failures = append(failures, r.dropInfraMachine(ctx, twin.infra))
	}
	if len(machines.Items)+len(p.twins) > 0 && errors.Join(failures...) == nil {
		r.Report.Done(ctx, p.pool, "MachinesRemoved", "Removed %d Machines, whose instances stay", len(p.twins))
	}
	if err := errors.Join(failures...); err != nil {
		return reconciling.Fail(err).AndGoOn()
	}
	return reconciling.Continue()
}

func (r *Reconciler) dropMachine(ctx context.Context, machine *metav1.PartialObjectMetadata) error {
	err := reconciling.Patch(ctx, r.Client, machine, func(machine *metav1.PartialObjectMetadata) {
		annotations := maps.Clone(machine.Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[clusterv1.PausedAnnotation] = ""
		machine.SetAnnotations(annotations)
	})
	if err == nil && machine.DeletionTimestamp.IsZero() {
		// Only this one as it is now: a pause that somebody took back would let core drain.
		err = r.Client.Delete(ctx, machine, client.Preconditions{UID: &machine.UID, ResourceVersion: &machine.ResourceVersion})
		if err == nil {
			err = r.Live.Get(ctx, client.ObjectKeyFromObject(machine), machine)
		}
	}
	if err == nil {
		err = reconciling.RemoveFinalizer(ctx, r.Client, machine, clusterv1.MachineFinalizer)
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("removing Machine %q: %w", machine.Name, err)
	}
	return nil
}

func (r *Reconciler) dropInfraMachine(ctx context.Context, infra *infrav1.AWSMachinePoolMachine) error {
	err := reconciling.Patch(ctx, r.Client, infra, func(infra *infrav1.AWSMachinePoolMachine) {
		controllerutil.RemoveFinalizer(infra, infrav1.MachinePoolMachineFinalizer)
	})
	if err == nil && infra.DeletionTimestamp.IsZero() {
		err = r.Client.Delete(ctx, infra)
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("removing AWSMachinePoolMachine %q: %w", infra.Name, err)
	}
	return nil
}

// releaseMachines lets the objects of a deleted pool's instances go, which are gone with the group.
func (r *Reconciler) releaseMachines(ctx context.Context, p *pass) reconciling.Outcome {
	if outcome := r.seeMachines(ctx, p); outcome != reconciling.Continue() {
		return outcome
	}
	var failures []error
	for _, twin := range p.twins {
		failures = append(failures, r.removeMachine(ctx, twin), r.dropInfraMachine(ctx, twin.infra))
	}
	if err := errors.Join(failures...); err != nil {
		return reconciling.Fail(err)
	}
	return reconciling.Continue()
}
