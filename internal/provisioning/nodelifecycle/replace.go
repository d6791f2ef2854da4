package nodelifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// lookAtReplacement is the interval at which it is checked whether the pods of a node have places
// elsewhere.
const lookAtReplacement = 2 * time.Second

// recheckKept is the interval at which a node that an annotation or a PodDisruptionBudget keeps is
// checked again. Changes of pods and Nodes bring a pass sooner.
const recheckKept = time.Minute

// disruptedFor returns the reason for which a node should be disrupted and a text that explains it;
// both are empty if it should not be.
func disruptedFor(node *provisioningv1.ProvisionedNode, verdict life) (reason provisioningv1.DisruptionReason, why string) {
	asked, is := node.Annotations[provisioningv1.ReplaceAnnotation]
	switch {
	case verdict.over:
		return provisioningv1.DisruptionEmpty, verdict.why
	case verdict.expired:
		return provisioningv1.DisruptionExpired, verdict.why
	case disruption.MarkedDrifted(node):
		return provisioningv1.DisruptionDrifted, strings.TrimLeft(strings.TrimPrefix(asked, provisioningv1.DriftedReason), ": ")
	case is:
		return provisioningv1.DisruptionRequested, strings.TrimSuffix("its replacement is asked for: "+asked, ": ")
	}
	return "", ""
}

// disrupt terminates a node that is empty and replaces one that is not, unless an annotation or a
// PodDisruptionBudget keeps it, or a disruption budget holds it back. The condition says so; the
// controller of Provisioners reads from it that the node asks, and allows it by an annotation.
func (r *Reconciler) disrupt(ctx context.Context, p *pass, reason provisioningv1.DisruptionReason, why string) reconciling.Outcome {
	kept, err := r.keptBy(ctx, p)
	// Nodes that the Provisioner's controller marked as drifted are within the budgets.
	bounded := reason != provisioningv1.DisruptionDrifted && disruption.Bounded(&p.provisioner.Spec, reason)
	switch {
	case err != nil:
		return reconciling.Fail(err)
	case kept.Keeps():
		reconciling.False(p.node, provisioningv1.ReplacingCondition, kept.Reason, kept.Explain(why))
		return reconciling.ComeBack(recheckKept, kept.By)
	case bounded && !disruption.Allows(p.node, reason):
		reconciling.False(p.node, provisioningv1.ReplacingCondition, string(reason),
			fmt.Sprintf("%s; the node stays until the disruption budgets of Provisioner %s allow its disruption", why, p.provisioner.Name))
		// it may become empty meanwhile
		return reconciling.ComeBack(recheckKept, "the disruption budgets do not allow it yet")
	case reason == provisioningv1.DisruptionEmpty:
		r.tellEnd(ctx, p, why)
		return r.end(ctx, p, string(reason), why)
	}
	return r.replace(ctx, p, string(reason), why)
}

// keptBy returns what keeps the node from being disrupted.
func (r *Reconciler) keptBy(ctx context.Context, p *pass) (disruption.Keeper, error) {
	var pods []corev1.Pod
	if p.member != nil {
		var err error
		if pods, err = r.podsOf(ctx, p.member.Name); err != nil {
			return disruption.Keeper{}, err
		}
	}
	budgets, err := PodDisruptionBudgets(ctx, r.Client)
	return disruption.KeptBy(&p.provisioner.Spec, p.node, p.member, pods, budgets), err
}

// PodDisruptionBudgets lists the PodDisruptionBudgets of all namespaces. The caller must not change
// them.
func PodDisruptionBudgets(ctx context.Context, c client.Client) ([]policyv1.PodDisruptionBudget, error) {
	var list policyv1.PodDisruptionBudgetList
	if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	return list.Items, nil
}

// replace deletes a node once all of its pods have places on nodes that take them. The condition
// has them packed anew, and keeps further ones away. A node that is too old waits for that no
// longer than a new one may take to come.
func (r *Reconciler) replace(ctx context.Context, p *pass, reason, why string) reconciling.Outcome {
	homeless, err := r.homeless(ctx, p)
	if err != nil {
		return reconciling.Fail(err)
	}
	since := meta.FindStatusCondition(p.node.Status.Conditions, provisioningv1.ReplacingCondition)
	late := reason == provisioningv1.ExpiredReason && since != nil && since.Status == metav1.ConditionTrue && r.Clock.Since(since.LastTransitionTime.Time) > r.RegistrationTimeout
	if homeless == 0 || late {
		r.tellEnd(ctx, p, why)
		return r.end(ctx, p, reason, why)
	}
	r.Report.Progress.NodeReplacing(p.node, reason)
	reconciling.True(p.node, provisioningv1.ReplacingCondition, reason, fmt.Sprintf("%s; %d of its pods have no place elsewhere yet", why, homeless))
	return reconciling.ComeBack(lookAtReplacement, "its pods are to have places elsewhere first")
}

// homeless returns how many pods have no place yet on another node that takes them.
func (r *Reconciler) homeless(ctx context.Context, p *pass) (int, error) {
	if p.member == nil {
		return 0, nil
	}
	pods, err := r.podsOf(ctx, p.member.Name)
	if err != nil {
		return 0, err
	}
	cluster, err := r.volumesOf(ctx, pods)
	if err != nil {
		return 0, err
	}
	count := 0
	for i := range pods {
		if !cluster.Moves(&pods[i]) {
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

// volumesOf returns the volumes, which show whether a pod is tied to one Node. It reads nothing if
// no pod has a claim.
func (r *Reconciler) volumesOf(ctx context.Context, pods []corev1.Pod) (*clusterstate.Cluster, error) {
	if !slices.ContainsFunc(pods, clusterstate.Claims) {
		return &clusterstate.Cluster{}, nil
	}
	var provisioners provisioningv1.ProvisionerList
	var nodes corev1.NodeList
	var claims corev1.PersistentVolumeClaimList
	var volumes corev1.PersistentVolumeList
	for _, list := range []client.ObjectList{&provisioners, &nodes, &claims, &volumes} {
		// The lists are read-only.
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	return &clusterstate.Cluster{Provisioners: provisioners.Items, Nodes: nodes.Items, Claims: claims.Items, Volumes: volumes.Items}, nil
}

// takesPods reports whether pods can now come to a node, by the name of its ProvisionedNode or by
// its own.
func (r *Reconciler) takesPods(ctx context.Context, name string) (bool, error) {
	node := &provisioningv1.ProvisionedNode{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, node)
	if err == nil {
		return clusterstate.IsTrue(node, provisioningv1.ReadyCondition) && !clusterstate.Leaves(node), nil
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
	return clusterstate.Ready(member) && !member.Spec.Unschedulable, nil
}
