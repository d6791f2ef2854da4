package awsmachinepool

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// infraMachineKind is the kind of the objects that stand for instances.
const infraMachineKind = "AWSMachinePoolMachine"

// twin is the two objects that stand for an instance: ours, and the Machine that core Cluster API makes for it, under the same name. Core
// drains a Machine that is deleted, and deletes ours when it is done.
type twin struct {
	infra *infrav1.AWSMachinePoolMachine
	// machine is nil until core has made it, and when it is gone.
	machine *metav1.PartialObjectMetadata
}

// ended is true once ours was deleted, as a rule by core when it has drained the node.
func (t *twin) ended() bool { return !t.infra.DeletionTimestamp.IsZero() }

// drained is true once core has drained the node: only then does it delete ours. One that a person deleted was drained by nobody.
func (t *twin) drained() bool {
	return t.ended() && t.machine != nil && !t.machine.DeletionTimestamp.IsZero()
}

// drainedByCore is true if core drains the node of an instance, or will: it drains for a Machine that is deleted, and none is deleted for a root volume.
func (t *twin) drainedByCore(instance autoscalinggroup.Instance) bool {
	return t != nil && t.machine != nil && (!instance.ReplacesRoot() || !t.machine.DeletionTimestamp.IsZero())
}

// leaving is true if the instance is to go: somebody deleted the Machine, or says by Cluster API's annotation that it goes when the pool shrinks.
func (t *twin) leaving() bool { return t.rank() < unconcerned }

// The order in which instances go when a pool shrinks.
const (
	ended = iota
	beingDrained
	marked
	unconcerned
)

func (t *twin) rank() int {
	switch {
	case t.ended():
		return ended
	case t.machine == nil:
		return unconcerned
	case !t.machine.DeletionTimestamp.IsZero():
		return beingDrained
	}
	if _, annotated := t.machine.Annotations[clusterv1.DeleteMachineAnnotation]; annotated {
		return marked
	}
	return unconcerned
}

// machinesWanted says whether instances have Machines.
func (r *Reconciler) machinesWanted(p *pass) bool {
	switch p.pool.Spec.MachinePoolMachines {
	case infrav1.MachinePoolMachinesEnabled:
		return true
	case infrav1.MachinePoolMachinesDisabled:
		return false
	}
	return r.MachinePoolMachines
}

// seeMachines finds the objects that stand for the pool's instances. It reads the cache, and no more than metadata of Machines.
func (r *Reconciler) seeMachines(ctx context.Context, p *pass) reconciling.Outcome {
	list := &infrav1.AWSMachinePoolMachineList{}
	if err := r.Client.List(ctx, list, client.InNamespace(p.pool.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: p.clusterName}); err != nil {
		return reconciling.Fail(fmt.Errorf("listing AWSMachinePoolMachines: %w", err))
	}
	p.twins = map[string]*twin{}
	for i := range list.Items {
		infra := &list.Items[i]
		if !ownedBy(infra, p.pool) {
			continue
		}
		machine := newMachine()
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(infra), machine)
		if isGone(err) {
			machine, err = nil, nil
		}
		if err != nil {
			return reconciling.Fail(fmt.Errorf("reading Machine %q: %w", infra.Name, err))
		}
		p.twins[infra.Spec.InstanceID] = &twin{infra: infra, machine: machine}
	}
	return reconciling.Continue()
}

func newMachine() *metav1.PartialObjectMetadata {
	machine := &metav1.PartialObjectMetadata{}
	machine.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
	return machine
}

// ownedBy goes by name: UIDs change when a cluster is moved.
func ownedBy(infra *infrav1.AWSMachinePoolMachine, pool *infrav1.AWSMachinePool) bool {
	return slices.ContainsFunc(infra.OwnerReferences, func(reference metav1.OwnerReference) bool {
		return reference.Kind == "AWSMachinePool" && reference.Name == pool.Name && strings.HasPrefix(reference.APIVersion, infrav1.GroupVersion.Group+"/")
	})
}

// keepMachines keeps an object for each instance, removes those whose instance goes, and ends the instances whose Machine was deleted.
func (r *Reconciler) keepMachines(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil {
		return reconciling.Continue()
	}
	if !r.machinesWanted(p) {
		return r.dropMachines(ctx, p)
	}
	p.pool.Status.InfrastructureMachineKind = infraMachineKind
	if stop := r.endInstances(ctx, p); stop != nil {
		return *stop
	}
	members := map[string]autoscalinggroup.Instance{}
	for _, instance := range p.group.Instances {
		members[instance.ID] = instance
	}
	var failures []error
	for _, instance := range p.group.Instances {
		if p.twins[instance.ID] == nil && !instance.Leaving() && !instance.Warmed() {
			failures = append(failures, r.createMachine(ctx, p, instance))
		}
	}
	for id, twin := range p.twins {
		instance, present := members[id]
		switch {
		case !present:
			failures = append(failures, r.forgetInstance(ctx, twin))
		case instance.Leaving() && drainWanted(p):
			failures = append(failures, r.removeMachine(ctx, twin))
			fallthrough
		default:
			failures = append(failures, r.showInstance(ctx, twin.infra, instance))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return reconciling.Fail(err).AndGoOn()
	}
	return reconciling.Continue()
}

// endInstances ends the instances whose node core has drained for a Machine that was deleted. The group shrinks by them as far as the pool asks for fewer
// instances than the group has, and replaces the others: deleting a Machine lowers nothing by itself. It also says which further instances make
// up for the difference, and are about to go.
func (r *Reconciler) endInstances(ctx context.Context, p *pass) *reconciling.Outcome {
	if slices.ContainsFunc(p.group.Instances, func(instance autoscalinggroup.Instance) bool { return p.endsNow(instance) }) {
		// What a sweep saw may be old, and an instance can not be brought back.
		if err := r.see(ctx, p, true); err != nil {
			stop := outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err)
			return &stop
		}
		if p.group == nil {
			stop := reconciling.ComeBack(lookAgain, "the group changed a moment ago")
			return &stop
		}
	}
	candidates := slices.DeleteFunc(slices.Clone(p.group.Instances), func(instance autoscalinggroup.Instance) bool {
		twin := p.twins[instance.ID]
		return twin == nil || !twin.leaving() || instance.Leaving() || instance.Warmed()
	})
	slices.SortStableFunc(candidates, func(a, b autoscalinggroup.Instance) int {
		return cmp.Compare(p.twins[a.ID].rank(), p.twins[b.ID].rank())
	})
	surplus := r.surplus(p)
	for _, instance := range candidates {
		shrink := surplus > 0
		switch {
		case p.endsNow(instance):
			if err := r.endInstance(ctx, p, instance, shrink); err != nil {
				p.staying += max(surplus, 0)
				stop := outcome.Of(p.pool, infrav1.ASGReadyCondition, infrav1.ASGUpdateFailedReason, err).AndGoOn()
				return &stop
			}
		case shrink:
			p.staying++
			if err := r.removeMachine(ctx, p.twins[instance.ID]); err != nil {
				stop := reconciling.Fail(err).AndGoOn()
				return &stop
			}
		}
		surplus--
	}
	return nil
}

// endsNow is true for a member whose Machine is done with.
func (p *pass) endsNow(instance autoscalinggroup.Instance) bool {
	twin := p.twins[instance.ID]
	return twin != nil && twin.ended() && !instance.Leaving()
}

// surplus is how many more instances the group has than the pool asks for.
func (r *Reconciler) surplus(p *pass) int32 {
	if p.machinePool == nil || common.Autoscaled(p.machinePool) {
		return 0
	}
	return max(p.group.Capacity-max(ptr.Deref(p.machinePool.Spec.Replicas, 1), p.pool.Spec.MinSize), 0)
}

func (r *Reconciler) endInstance(ctx context.Context, p *pass, instance autoscalinggroup.Instance, shrink bool) error {
	// A group that may not shrink further is told that it may by the update that follows; until then the instance stays.
	if shrink && p.group.Capacity <= p.group.MinSize {
		p.staying++
		return nil
	}
	err := p.cloud.Groups.Terminate(ctx, p.group.Name, instance.ID, shrink)
	p.cloud.SeenGroups.Invalidate(p.group.Name)
	if err != nil {
		return err
	}
	// What the call made of the group is known without another one.
	for i := range p.group.Instances {
		if p.group.Instances[i].ID == instance.ID {
			p.group.Instances[i].LifecycleState = "Terminating"
		}
	}
	how := "its replacement follows"
	if shrink {
		p.group.Capacity--
		how = "the group shrinks by it"
	}
	p.moving = true
	r.Report.Done(ctx, p.pool, "InstanceTerminated", "Terminated instance %s, whose Machine was deleted; %s", instance.ID, how)
	return nil
}

func (r *Reconciler) createMachine(ctx context.Context, p *pass, instance autoscalinggroup.Instance) error {
	infra := &infrav1.AWSMachinePoolMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.pool.Namespace, Name: machineName(p.pool.Name, instance.ID),
			Finalizers: []string{infrav1.MachinePoolMachineFinalizer},
			Labels: map[string]string{
				clusterv1.ClusterNameLabel: p.clusterName, clusterv1.MachinePoolNameLabel: labelValue(p.machinePool.Name),
			},
		},
		Spec: infrav1.AWSMachinePoolMachineSpec{InstanceID: instance.ID, ProviderID: instance.ProviderID()},
	}
	if filter, labelled := p.pool.Labels[common.WatchFilterLabel]; labelled {
		infra.Labels[common.WatchFilterLabel] = filter
	}
	// No controller reference: that is the Machine's to set.
	if err := controllerutil.SetOwnerReference(p.pool, infra, r.Client.Scheme()); err != nil {
		return fmt.Errorf("owning AWSMachinePoolMachine %q: %w", infra.Name, err)
	}
	if err := r.Client.Create(ctx, infra); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil // made a moment ago, and not in the cache yet
		}
		return fmt.Errorf("creating AWSMachinePoolMachine %q: %w", infra.Name, err)
	}
	return r.showInstance(ctx, infra, instance)
}

// showInstance says that the instance is there, and what the group says of it.
func (r *Reconciler) showInstance(ctx context.Context, infra *infrav1.AWSMachinePoolMachine, instance autoscalinggroup.Instance) error {
	before := infra.DeepCopy()
	status := instanceStatus(instance)
	infra.Status.Ready, infra.Status.Initialization.Provisioned = true, ptr.To(true)
	infra.Status.Instance, infra.Status.ObservedGeneration = &status, infra.Generation
	reconciling.True(infra, infrav1.ReadyCondition, infrav1.ReadyReason, "")
	if equality.Semantic.DeepEqual(before.Status, infra.Status) {
		return nil
	}
	return reconciling.PatchStatus(ctx, r.Client, infra, before)
}

// removeMachine deletes the Machine of an instance that goes, so that core drains the node and deletes ours.
func (r *Reconciler) removeMachine(ctx context.Context, twin *twin) error {
	if twin.machine == nil || !twin.machine.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, twin.machine)); err != nil {
		return fmt.Errorf("deleting Machine %q: %w", twin.machine.Name, err)
	}
	return nil
}

// forgetInstance removes the objects of an instance that is gone. Ours goes after the Machine was told to: core takes one that is missing earlier for a
// failure.
func (r *Reconciler) forgetInstance(ctx context.Context, twin *twin) error {
	if twin.machine != nil && !twin.ended() {
		return r.removeMachine(ctx, twin)
	}
	return r.dropInfraMachine(ctx, twin.infra)
}

// machineName is that of both objects of an instance. Names of Machines are used as labels, so they are not longer than these may be.
func machineName(pool, instance string) string {
	suffix := "-" + strings.TrimPrefix(instance, "i-")
	return strings.TrimRight(pool[:min(len(pool), validation.LabelValueMaxLength-len(suffix))], "-.") + suffix
}

// labelValue is the value of Cluster API's label for a name, which is a hash of names that no label can have (Cluster API: util/labels/format).
func labelValue(name string) string {
	if len(validation.IsValidLabelValue(name)) == 0 {
		return name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // never fails
	return "hash_" + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)) + "_z"
}
