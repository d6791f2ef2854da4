package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/internal/aws/cause"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// doer is an action that the actor performs.
type doer interface {
	do(ctx context.Context, a actor) error
}

// provisionerKind is the kind that calls to AWS are made for.
const provisionerKind = "Provisioner"

// actor acts in one pass, and keeps what was observed true of the world.
type actor struct {
	*Reconciler
	seen *Observed
}

func (c createNodes) do(ctx context.Context, a actor) error {
	a.Budget.Spend(len(c.Launch.Nodes))
	for _, node := range c.Launch.Nodes {
		a.created.add(node.Name) // a creation that fails may have its effect
		if err := a.Client.Create(ctx, node); err != nil {
			return fmt.Errorf("creating ProvisionedNode %q: %w", node.Name, err)
		}
		a.Report.Progress.NodesDecided(node.Spec.Provisioner, metrics.DecisionLaunch, 1)
	}
	return addPlaces{c.Launch.Places()}.do(ctx, a)
}

// writers bounds how many nominations are written at a time.
const writers = 10

// do writes the nominations. Nothing depends on a nomination, so a failure is only logged.
func (n nominate) do(ctx context.Context, a actor) error {
	failures := make([]error, len(n.Nominations))
	workqueue.ParallelizeUntil(ctx, writers, len(n.Nominations), func(i int) {
		failures[i] = n.Nominations[i].write(ctx, a.Client)
	})
	if err := errors.Join(failures...); err != nil {
		log.FromContext(ctx).Error(err, "Nominating Nodes for pods failed")
	}
	return nil
}

// write writes the nomination, unless the pod has changed since it was read: the scheduler may have
// bound it, or have nominated a Node itself.
func (n nominationOf) write(ctx context.Context, c client.Client) error {
	var name any
	if n.Node != "" {
		name = n.Node
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": n.Pod.UID, "resourceVersion": n.Pod.ResourceVersion}, "status": map[string]any{"nominatedNodeName": name},
	})
	if err != nil {
		return fmt.Errorf("encoding the nomination of pod %s/%s: %w", n.Pod.Namespace, n.Pod.Name, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: n.Pod.Namespace, Name: n.Pod.Name}}
	err = c.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(clusterstate.NominationManager))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return nil // it is gone, changed, or bound: its event brings the next pass
	}
	if err != nil {
		return fmt.Errorf("nominating Node %q for pod %s/%s: %w", n.Node, n.Pod.Namespace, n.Pod.Name, err)
	}
	return nil
}

func (t tellPods) do(ctx context.Context, a actor) error {
	a.events.Spend(len(t.Events))
	for _, event := range t.Events {
		tell := a.Report.Done
		if event.Warning {
			tell = a.Report.Warn
		}
		tell(ctx, event.About, event.Reason, "%s", event.Note)
	}
	return nil
}

// do ensures the default launch template. A failure is recorded in the observed state: the pods of
// the nodes get it.
func (e ensureDefault) do(ctx context.Context, a actor) error {
	template, err := a.Defaults.Ensure(cause.For(ctx, provisionerKind, e.Provisioner), e.Provisioner, e.Variant)
	ensured := map[defaultOf]EnsuredTemplate{}
	maps.Copy(ensured, a.seen.Ensured)
	ensured[defaultOf{e.Provisioner.Name, e.Variant}] = EnsuredTemplate{Version: template.LaunchTemplateVersion, Err: err}
	a.seen.Ensured = ensured
	return nil
}

// do writes the status, without a conflict with other writers of other fields. Nothing depends on it, so a
// failure is only logged, and the next difference is written.
func (r recordOfferings) do(ctx context.Context, a actor) error {
	provisioner := r.Provisioner.DeepCopy()
	provisioner.Status.RejectedOfferings = r.Rejected
	if err := a.Client.Status().Patch(ctx, provisioner, client.MergeFrom(r.Provisioner)); client.IgnoreNotFound(err) != nil {
		log.FromContext(ctx).Error(err, "Recording rejected offerings failed", "provisioner", provisioner.Name)
	}
	return nil
}

func (s setPromises) do(_ context.Context, a actor) error {
	a.Promises.Set(s.Places)
	a.seen.Cluster.Promised = s.Places
	return nil
}

func (p addPlaces) do(_ context.Context, a actor) error {
	a.Promises.Add(p.Places)
	a.Startups.Place(p.Places)
	return nil
}

func (t askTemplates) do(_ context.Context, a actor) error {
	a.Asked.Set(t.Templates)
	return nil
}

func (w wake) do(_ context.Context, a actor) error {
	a.Asked.Wake(w.Provisioner)
	return nil
}

func (s showPending) do(_ context.Context, a actor) error {
	a.Report.Progress.PodsPending(s.Counts)
	return nil
}

func (s showBatchWait) do(_ context.Context, a actor) error {
	a.Report.Progress.BatchWaited(s.Waited)
	return nil
}

func (s showBatch) do(_ context.Context, a actor) error {
	a.Report.Progress.Batched(metrics.BatchPods, s.Pods)
	return nil
}
