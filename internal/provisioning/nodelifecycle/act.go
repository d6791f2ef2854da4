package nodelifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// doer is an action that can be done. It keeps what was observed true of the world.
type doer interface {
	do(ctx context.Context, a actor) ([]reconcile.Event, error)
}

// actor acts in one pass.
type actor struct {
	*Kind
	pass
}

func (r registerMember) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	member := a.Seen.Member.DeepCopy()
	err := reconciling.Patch(ctx, a.Client, member, func(member *corev1.Node) {
		controllerutil.AddFinalizer(member, provisioningv1.NodeFinalizer)
		if r.Dress {
			dress(member, a.Object, r.Labels, r.Starts)
		}
	})
	if err != nil {
		return nil, err
	}
	a.Seen.Member = member
	return nil, nil
}

// dress puts labels and taints on a Node: the labels of its instance type, and the labels and
// taints of the ProvisionedNode, with startup taints if it starts.
func dress(member *corev1.Node, node *provisioningv1.ProvisionedNode, instance map[string]string, starts bool) {
	labels := maps.Clone(member.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, instance)
	maps.Copy(labels, node.Spec.Labels)
	member.Labels = labels
	taints := slices.DeleteFunc(slices.Clone(member.Spec.Taints), func(taint corev1.Taint) bool { return taint.Key == clusterstate.UnregisteredTaint })
	wanted := clusterstate.Taints(node)
	if starts {
		wanted = append(wanted, clusterstate.StartupTaints(node)...)
	}
	for _, taint := range wanted {
		if !slices.ContainsFunc(taints, func(has corev1.Taint) bool { return has.MatchTaint(&taint) }) {
			taints = append(taints, taint)
		}
	}
	member.Spec.Taints = taints
}

// do changes the status of the Provisioner, unless another writer changed it since it was read:
// nodes that fail together are not to undo each other's entries.
func (r recordStarts) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	provisioner := a.Seen.Provisioner.DeepCopy()
	provisioner.Status.FailedStarts = r.FailedStarts
	patch := client.MergeFromWithOptions(a.Seen.Provisioner, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Status().Patch(ctx, provisioner, patch); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("recording in Provisioner %q whether nodes start: %w", provisioner.Name, err)
	}
	a.Seen.Provisioner = provisioner
	return nil, nil
}

func (d deleteNode) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	node := a.Object.DeepCopy()
	precondition := client.Preconditions{UID: &node.UID}
	if err := a.Client.Delete(ctx, node, precondition); client.IgnoreNotFound(err) != nil {
		return d.Told, fmt.Errorf("deleting ProvisionedNode %q: %w", node.Name, err)
	}
	a.Report.Progress.NodeDisrupted(node, d.Reason)
	a.Report.Progress.NodesDecided(node.Spec.Provisioner, metrics.DecisionTerminate, 1)
	return d.Told, nil
}

// do deletes one failed node after the other, from the state of the API server at that time, so that
// two of them never take the same place. Without a place it deletes nothing.
func (r replaceFailed) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	a.repairs.Lock()
	defer a.repairs.Unlock()
	var nodes provisioningv1.ProvisionedNodeList
	if err := a.Live.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	a.Seen.Nodes.Value = nodes.Items
	if !mayRepair(nodes.Items, r.Zone) {
		return nil, nil
	}
	if r.CheckStatus {
		still, err := a.Checks.stillFails(ctx, a.Object.Status.InstanceID)
		a.Seen.Recovered = err == nil && !still
		if err != nil || !still {
			return nil, err
		}
	}
	return r.deleteNode.do(ctx, a)
}

// do cordons the Node first, so that no pods replace the evicted ones.
func (d drainMember) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	terms := drain.Terms{Now: a.Clock.Now(), Deadline: d.Deadline, Protects: func(pod *corev1.Pod) bool {
		return disruption.Protection(pod.Annotations) != ""
	}}
	progress, err := drain.LookWith(ctx, drain.CountedTrusted(drain.Clientset(a.Cluster), a.Report.Progress.Evicted), d.Node, d.ProviderID, terms)
	a.Seen.Drain = progress
	return nil, err
}

func (v avoidOffering) do(_ context.Context, a actor) ([]reconcile.Event, error) {
	a.Shortages.Mark(v.Offering)
	return nil, nil
}

func (t terminateInstance) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if err := a.Fleets.Terminate(ctx, t.Instance, a.claim(a.Object)); err != nil {
		return nil, err
	}
	if t.Instance.ID == a.Object.Status.InstanceID {
		a.Instances.Invalidate(t.Instance.ID)
	}
	a.Seen.OfLaunch.Value = slices.Clone(a.Seen.OfLaunch.Value)
	for i, instance := range a.Seen.OfLaunch.Value {
		if instance.ID == t.Instance.ID {
			a.Seen.OfLaunch.Value[i] = instance.Ended()
		}
	}
	return nil, nil
}

func (releaseMember) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if a.Seen.Member.Labels[provisioningv1.LabelProvisionerName] == a.Object.Spec.Provisioner {
		precondition := client.Preconditions{UID: &a.Seen.Member.UID}
		if err := a.Client.Delete(ctx, a.Seen.Member.DeepCopy(), precondition); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("deleting Node %q: %w", a.Seen.Member.Name, err)
		}
	}
	member := &corev1.Node{}
	err := a.Live.Get(ctx, client.ObjectKeyFromObject(a.Seen.Member), member)
	switch {
	case apierrors.IsNotFound(err), err == nil && member.UID != a.Seen.Member.UID:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Node %q: %w", a.Seen.Member.Name, err)
	}
	return nil, freeMember(ctx, a.Client, member)
}

// freeMember removes the finalizer from a Node.
func freeMember(ctx context.Context, c client.Client, member *corev1.Node) error {
	if err := reconciling.RemoveFinalizer(ctx, c, member, provisioningv1.NodeFinalizer); err != nil {
		return fmt.Errorf("removing the finalizer from Node %q: %w", member.Name, err)
	}
	return nil
}

func (releaseNode) do(ctx context.Context, a actor) ([]reconcile.Event, error) {
	if err := reconciling.RemoveFinalizer(ctx, a.Client, a.Object, provisioningv1.ProvisionedNodeFinalizer); err != nil {
		return nil, fmt.Errorf("removing the finalizer: %w", err)
	}
	a.Report.Progress.NodeEnded(a.Object, a.Clock.Now())
	siblings, err := observer(a).list(ctx, client.MatchingFields{byLaunch: a.Object.Spec.Launch.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the nodes of launch %q: %w", a.Object.Spec.Launch.Name, err)
	}
	if len(siblings) <= 1 { // the cache may still have this one
		a.launches.forget(a.Object.Spec.Launch.Name)
	}
	return nil, nil
}
