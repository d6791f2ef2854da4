package nodelifecycle

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// kubeletNotReady explains why a Node takes no pods.
const kubeletNotReady = "its kubelet does not say that it is ready"

// notInitialized is the reason for which a node is terminated that did not start in time.
const notInitialized = "NodeNotInitialized"

// awaitInitialized waits until the Node is ready, has no startup taint, and has the extended
// resources that its pods request. A node that has not come to it in time is replaced. A node that
// was initialized stays so, whatever becomes of it later.
func (r *Reconciler) awaitInitialized(ctx context.Context, p *pass) reconciling.Outcome {
	isReady := p.member != nil && clusterstate.Ready(p.member)
	switch failed := failureOf(p, r.Checks.fails(p.node)); {
	case !isReady:
		reconciling.False(p.node, provisioningv1.NodeReadyCondition, provisioningv1.NotReadyReason, kubeletNotReady)
	case failed.reason != "":
		reconciling.False(p.node, provisioningv1.NodeReadyCondition, failed.reason, failed.why)
	default:
		reconciling.True(p.node, provisioningv1.NodeReadyCondition, provisioningv1.ReadyReason, "")
	}
	if p.node.Status.ReadyTime != nil {
		reconciling.True(p.node, provisioningv1.InitializedCondition, provisioningv1.InitializedCondition, "")
		return reconciling.Continue()
	}
	resource, missing, err := r.missing(ctx, p, isReady)
	if err != nil {
		return reconciling.Fail(err)
	}
	if missing == "" {
		if err := r.startSucceeded(ctx, p); err != nil {
			return reconciling.Fail(err)
		}
		reconciling.True(p.node, provisioningv1.InitializedCondition, provisioningv1.InitializedCondition, "")
		return reconciling.Continue()
	}
	reconciling.False(p.node, provisioningv1.InitializedCondition, provisioningv1.InitializingReason, missing)
	if left := r.RegistrationTimeout - r.sinceLaunch(p.node); left > 0 {
		return reconciling.ComeBack(left, "the node is to be initialized by then")
	}
	return r.startFailed(ctx, p, resource, missing)
}

// missing returns what the node lacks to be initialized, "" if nothing; and the extended resource,
// if it lacks only those.
func (r *Reconciler) missing(ctx context.Context, p *pass, isReady bool) (resource, what string, err error) {
	switch {
	case p.member == nil:
		return "", "the instance did not register as a Node", nil
	case !isReady:
		return "", kubeletNotReady, nil
	}
	pods, err := r.podsOf(ctx, p.member.Name)
	if err != nil {
		return "", "", err
	}
	used := slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return uses(&pod) })
	awaited := clusterstate.Awaits(p.node, p.member, used)
	if len(awaited.Taints)+len(awaited.Undeclared) == 0 && len(awaited.Resources) > 0 {
		resource = awaited.Resources[0]
	}
	return resource, awaited.String(), nil
}

// startFailed replaces a node that was not initialized in time. The failure, as recorded in the
// Provisioner's status, holds further launches back. It is recorded once, because a node that was
// launched before the last failure counts as part of it, and not at all if another node of the kind
// has started meanwhile.
func (r *Reconciler) startFailed(ctx context.Context, p *pass, resource, missing string) reconciling.Outcome {
	why := fmt.Sprintf("it was not initialized within %s: %s", duration.HumanDuration(r.RegistrationTimeout), missing)
	if p.provisioner == nil {
		return r.end(ctx, p, notInitialized, why)
	}
	var nodes provisioningv1.ProvisionedNodeList
	if err := r.Client.List(ctx, &nodes, client.MatchingFields{byProvisioner: p.provisioner.Name}); err != nil {
		return reconciling.Fail(fmt.Errorf("listing the nodes of Provisioner %q: %w", p.provisioner.Name, err))
	}
	err := r.patchProvisioner(ctx, p, func(provisioner *provisioningv1.Provisioner) bool {
		return clusterstate.FailStart(provisioner, nodes.Items, p.node, resource, missing, r.Clock.Now())
	})
	if err != nil {
		return reconciling.Fail(err)
	}
	r.tell(ctx, p, notInitialized, "Instance %s of ProvisionedNode %s is terminated, because %s.", p.node.Status.InstanceID, p.node.Name, why)
	return r.end(ctx, p, notInitialized, why)
}

// startSucceeded removes from the Provisioner's status the failures that an initialized node disproves.
func (r *Reconciler) startSucceeded(ctx context.Context, p *pass) error {
	if p.provisioner == nil || len(p.provisioner.Status.FailedStarts) == 0 {
		return nil
	}
	return r.patchProvisioner(ctx, p, func(provisioner *provisioningv1.Provisioner) bool {
		return clusterstate.ClearFailedStarts(provisioner, p.node)
	})
}

// patchProvisioner changes the status of the Provisioner, unless another writer changed it since it
// was read: nodes that fail together are not to undo each other's entries.
func (r *Reconciler) patchProvisioner(ctx context.Context, p *pass, change func(*provisioningv1.Provisioner) bool) error {
	provisioner := p.provisioner.DeepCopy()
	if !change(provisioner) {
		return nil
	}
	patch := client.MergeFromWithOptions(p.provisioner, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, provisioner, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("recording in Provisioner %q whether nodes start: %w", provisioner.Name, err)
	}
	p.provisioner = provisioner
	return nil
}
