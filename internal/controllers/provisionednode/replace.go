package provisionednode

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/state"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// lookAtReplacement is how often it is looked whether the pods of a node have places elsewhere.
const lookAtReplacement = 2 * time.Second

// replacedFor is the reason for which a node is to be replaced, and why in words; empty if it is not.
func replacedFor(node *provisioningv1.ProvisionedNode, verdict life) (reason, why string) {
	asked, is := node.Annotations[provisioningv1.ReplaceAnnotation]
	switch {
	case verdict.expired:
		return provisioningv1.ExpiredReason, verdict.why
	case strings.HasPrefix(asked, provisioningv1.DriftedReason):
		return provisioningv1.DriftedReason, strings.TrimLeft(strings.TrimPrefix(asked, provisioningv1.DriftedReason), ": ")
	case is:
		return provisioningv1.RequestedReason, strings.TrimSuffix("its replacement is asked for: "+asked, ": ")
	}
	return "", ""
}

// replace ends a node once all of its pods have places on nodes that take them. The condition has them packed anew, and keeps further ones away. A node that is too old waits no longer
// for that than a new one may take to come.
func (r *Reconciler) replace(ctx context.Context, p *pass, reason, why string) reconciling.Outcome {
	homeless, err := r.homeless(ctx, p)
	if err != nil {
		return reconciling.Fail(err)
	}
	since := meta.FindStatusCondition(p.node.Status.Conditions, provisioningv1.ReplacingCondition)
	late := reason == provisioningv1.ExpiredReason && since != nil && r.Clock.Since(since.LastTransitionTime.Time) > r.RegistrationTimeout
	if homeless == 0 || late {
		r.tellEnd(ctx, p, why)
		return r.end(ctx, p, why)
	}
	reconciling.True(p.node, provisioningv1.ReplacingCondition, reason, fmt.Sprintf("%s; %d of its pods have no place elsewhere yet", why, homeless))
	return reconciling.ComeBack(lookAtReplacement, "its pods are to have places elsewhere first")
}

// homeless is how many pods have no place yet on another node that takes them.
func (r *Reconciler) homeless(ctx context.Context, p *pass) (int, error) {
	if p.member == nil {
		return 0, nil
	}
	pods, err := r.podsOf(ctx, p.member.Name)
	if err != nil {
		return 0, err
	}
	count := 0
	for i := range pods {
		if !state.Moves(&pods[i]) {
			continue
		}
		place := r.Promises.Of(pods[i].UID)
		if place == "" || place == p.node.Name {
			count++
			continue
		}
		taken, err := r.takesPods(ctx, place)
		if err != nil {
			return 0, err
		}
		if !taken {
			count++
		}
	}
	return count, nil
}

// takesPods is true for a node, by the name of its ProvisionedNode or by its own, that pods can come to now.
func (r *Reconciler) takesPods(ctx context.Context, name string) (bool, error) {
	node := &provisioningv1.ProvisionedNode{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, node)
	if err == nil {
		return state.IsTrue(node, provisioningv1.ReadyCondition) && !state.Leaves(node), nil
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading ProvisionedNode %q: %w", name, err)
	}
	member := &corev1.Node{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, member); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, nil
		}
		return false, fmt.Errorf("reading Node %q: %w", name, err)
	}
	return state.Ready(member) && !member.Spec.Unschedulable, nil
}
