package provisionednode

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// drain empties the Node. It is cordoned first, so that nothing comes in place of what leaves, and PodDisruptionBudgets hold for as long as they do.
func (r *Reconciler) drain(ctx context.Context, p *pass) reconciling.Outcome {
	if p.member == nil || p.instance == nil || p.instance.Ends() {
		return reconciling.Continue()
	}
	progress, err := drain.Look(ctx, r.Cluster, p.member.Name, p.member.Spec.ProviderID)
	if err != nil {
		return reconciling.Fail(err)
	}
	if progress.Empty {
		return reconciling.Continue()
	}
	reconciling.True(p.node, provisioningv1.EndingCondition, provisioningv1.DrainingReason, progress.String())
	elapsed := r.drains.Elapsed(client.ObjectKeyFromObject(p.node), r.Clock.Now())
	return reconciling.ComeBack(drain.NextLook(elapsed), "pods are leaving the Node")
}

// lookAtEnd is when an instance that ends is looked at again, should the sweeps not wake its object first.
const lookAtEnd = 30 * time.Second

// terminate ends the instance, and comes back until EC2 says that it has ended.
func (r *Reconciler) terminate(ctx context.Context, p *pass) reconciling.Outcome {
	if p.node.Status.InstanceID == "" {
		return r.terminateUnrecorded(ctx, p)
	}
	switch {
	case p.instance == nil && r.sinceLaunch(p.node) >= visibility, p.instance != nil && p.instance.Ends():
		return reconciling.Continue()
	}
	if err := r.Fleets.Terminate(ctx, p.node.Status.InstanceID); err != nil {
		return outcome.Again(err)
	}
	r.Instances.Invalidate(p.node.Status.InstanceID)
	reconciling.True(p.node, provisioningv1.EndingCondition, provisioningv1.TerminatingReason, "the instance is ending")
	return reconciling.ComeBack(lookAtEnd, "the instance is ending")
}

// terminateUnrecorded ends what a launch may have made for a node that does not know its instance. While others of the launch wait for theirs, the call is still to be answered: what it
// made too much of is collected later.
func (r *Reconciler) terminateUnrecorded(ctx context.Context, p *pass) reconciling.Outcome {
	name := p.node.Spec.Launch.Name
	if answered, known := r.launches.answerTo(name); known {
		if instance, launched := answered.instances[p.node.Name]; launched {
			if err := r.Fleets.Terminate(ctx, instance.ID); err != nil {
				return outcome.Again(err)
			}
		}
		return reconciling.Continue()
	}
	var siblings provisioningv1.ProvisionedNodeList
	if err := r.Client.List(ctx, &siblings, client.MatchingFields{byLaunch: name}); err != nil {
		return reconciling.Fail(fmt.Errorf("listing the nodes of launch %q: %w", name, err))
	}
	if slices.ContainsFunc(siblings.Items, func(node provisioningv1.ProvisionedNode) bool {
		return node.Name != p.node.Name && node.Status.InstanceID == "" && node.DeletionTimestamp == nil
	}) {
		return reconciling.Continue()
	}
	instances, err := r.Fleets.OfLaunch(ctx, name)
	if err != nil {
		return outcome.Again(err)
	}
	for _, instance := range instances {
		if instance.Ends() || recorded(siblings.Items, instance) {
			continue
		}
		if err := r.Fleets.Terminate(ctx, instance.ID); err != nil {
			return outcome.Again(err)
		}
	}
	return reconciling.Continue()
}

func recorded(nodes []provisioningv1.ProvisionedNode, instance fleet.Instance) bool {
	return slices.ContainsFunc(nodes, func(node provisioningv1.ProvisionedNode) bool { return node.Status.InstanceID == instance.ID })
}

// release removes the Node of an instance that has ended, and lets the object go.
func (r *Reconciler) release(ctx context.Context, p *pass) reconciling.Outcome {
	if p.member != nil {
		precondition := client.Preconditions{UID: &p.member.UID}
		if err := r.Client.Delete(ctx, p.member, precondition); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return reconciling.Fail(fmt.Errorf("deleting Node %q: %w", p.member.Name, err))
		}
	}
	if err := reconciling.RemoveFinalizer(ctx, r.Client, p.node, provisioningv1.ProvisionedNodeFinalizer); err != nil {
		return reconciling.Fail(fmt.Errorf("removing the finalizer: %w", err))
	}
	var siblings provisioningv1.ProvisionedNodeList
	if err := r.Client.List(ctx, &siblings, client.MatchingFields{byLaunch: p.node.Spec.Launch.Name}); err != nil {
		return reconciling.Fail(fmt.Errorf("listing the nodes of launch %q: %w", p.node.Spec.Launch.Name, err))
	}
	if len(siblings.Items) <= 1 { // the cache may still have this one
		r.launches.forget(p.node.Spec.Launch.Name)
	}
	return reconciling.Stop("the node is gone")
}
