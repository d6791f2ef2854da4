package provisionednode

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/state"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// findMember finds the Node by the instance that it says it runs on.
func (r *Reconciler) findMember(ctx context.Context, p *pass) reconciling.Outcome {
	if p.node.Status.InstanceID == "" {
		return reconciling.Continue()
	}
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes, client.MatchingFields{byInstance: p.node.Status.InstanceID}); err != nil {
		return reconciling.Fail(fmt.Errorf("finding the Node of instance %q: %w", p.node.Status.InstanceID, err))
	}
	if len(nodes.Items) > 0 {
		p.member = &nodes.Items[0]
		p.node.Status.NodeName = p.member.Name
	}
	return reconciling.Continue()
}

// register gives the Node its labels and taints, and takes away the taint that kept pods from it until then, in one write.
func (r *Reconciler) register(ctx context.Context, p *pass) reconciling.Outcome {
	if p.member == nil {
		reconciling.False(p.node, provisioningv1.RegisteredCondition, provisioningv1.RegisteringReason, "the instance has not joined the cluster yet")
		return reconciling.Continue()
	}
	first := !state.IsTrue(p.node, provisioningv1.RegisteredCondition)
	unregistered := slices.ContainsFunc(p.member.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == state.UnregisteredTaint })
	if first || unregistered {
		err := reconciling.Patch(ctx, r.Client, p.member, func(member *corev1.Node) { dress(member, p.node) })
		if err != nil {
			return reconciling.Fail(fmt.Errorf("labeling Node %q: %w", p.member.Name, err))
		}
	}
	reconciling.True(p.node, provisioningv1.RegisteredCondition, provisioningv1.RegisteredCondition, "")
	return reconciling.Continue()
}

// dress puts labels and taints on a Node.
func dress(member *corev1.Node, node *provisioningv1.ProvisionedNode) {
	labels := maps.Clone(member.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, node.Spec.Labels)
	member.Labels = labels
	taints := slices.DeleteFunc(slices.Clone(member.Spec.Taints), func(taint corev1.Taint) bool { return taint.Key == state.UnregisteredTaint })
	for _, taint := range state.Taints(node) {
		if !slices.ContainsFunc(taints, func(has corev1.Taint) bool { return has.MatchTaint(&taint) }) {
			taints = append(taints, taint)
		}
	}
	member.Spec.Taints = taints
}

// awaitReady says whether the Node takes pods. One that never came to it in time is ended: its pods need another.
func (r *Reconciler) awaitReady(ctx context.Context, p *pass) reconciling.Outcome {
	if p.member != nil && state.Ready(p.member) {
		reconciling.True(p.node, provisioningv1.NodeReadyCondition, provisioningv1.ReadyReason, "")
		return reconciling.Continue()
	}
	before := state.IsTrue(p.node, provisioningv1.NodeReadyCondition) || p.node.Status.ReadyTime != nil
	reconciling.False(p.node, provisioningv1.NodeReadyCondition, provisioningv1.NotReadyReason, "its kubelet does not say that it is ready")
	if before {
		return reconciling.Continue() // what becomes of nodes that fail later is not for this timeout
	}
	left := r.RegistrationTimeout - r.sinceLaunch(p.node)
	if left > 0 {
		return reconciling.ComeBack(left, "the node is to take pods by then")
	}
	r.tell(ctx, p, "RegistrationTimeout", "ProvisionedNode %s (instance %s) did not become a Node that takes pods within %s, and is replaced.",
		p.node.Name, p.node.Status.InstanceID, r.RegistrationTimeout)
	return r.end(ctx, p, "it did not become ready in time")
}

// live ends the node when its time has come, and says when to look again.
func (r *Reconciler) live(ctx context.Context, p *pass) reconciling.Outcome {
	now := r.Clock.Now()
	if p.node.Status.ReadyTime == nil && state.IsTrue(p.node, provisioningv1.NodeReadyCondition) {
		p.node.Status.ReadyTime = &metav1.Time{Time: now}
	}
	if p.provisioner == nil {
		return reconciling.Continue()
	}
	promised := r.Promises.Has(p.node.Name)
	empty, err := r.empty(ctx, p)
	if err != nil {
		return reconciling.Fail(err)
	}
	switch {
	case !empty, promised:
		p.node.Status.EmptySince = nil
	case p.node.Status.EmptySince == nil:
		p.node.Status.EmptySince = &metav1.Time{Time: now}
	}
	verdict := lifeOf(&p.node.Status, &p.provisioner.Spec, now)
	reason, why := replacedFor(p.node, verdict)
	switch {
	case verdict.over:
		r.tellEnd(ctx, p, verdict.why)
		return r.end(ctx, p, verdict.why)
	case reason != "":
		return r.replace(ctx, p, reason, why)
	}
	reconciling.Remove(p.node, provisioningv1.ReplacingCondition)
	switch {
	case promised && p.node.Status.ReadyTime != nil:
		// Nothing of the node's own says when its pods have come, or need it no more.
		return reconciling.ComeBack(settling, "pods are to come that it was launched for")
	case verdict.next > 0:
		return reconciling.ComeBack(verdict.next, verdict.why)
	}
	return reconciling.Continue()
}

func (r *Reconciler) tellEnd(ctx context.Context, p *pass, why string) {
	r.Report.Done(ctx, p.provisioner, "NodeEnded", "Ending ProvisionedNode %s (Node %s): %s.", p.node.Name, p.node.Status.NodeName, why)
}

// empty is true for a node that nobody uses.
func (r *Reconciler) empty(ctx context.Context, p *pass) (bool, error) {
	if p.member == nil || p.node.Status.ReadyTime == nil {
		return false, nil
	}
	pods, err := r.podsOf(ctx, p.member.Name)
	return err == nil && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return uses(&pod) }), err
}

// podsOf are the pods of a Node. Nothing in them is to be changed.
func (r *Reconciler) podsOf(ctx context.Context, name string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.MatchingFields{byNode: name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pods of Node %q: %w", name, err)
	}
	return pods.Items, nil
}

// uses is true for pods that a node is there for: not those of daemon sets or of the kubelet, nor those that have ended.
func uses(pod *corev1.Pod) bool {
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return false
	}
	controller := metav1.GetControllerOf(pod)
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return !ended && (controller == nil || controller.Kind != "DaemonSet")
}

// life says whether a node's time has come, to end or to be replaced; else when it may.
type life struct {
	over, expired bool
	next          time.Duration
	why           string
}

// settling is how long a node is left alone that was never used: the scheduler looks at a new one within seconds.
const settling = 10 * time.Second

// lifeOf decides from when the node was launched and how long it has been empty.
func lifeOf(status *provisioningv1.ProvisionedNodeStatus, spec *provisioningv1.ProvisionerSpec, now time.Time) life {
	verdict := life{why: "its time has not come"}
	due := func(since *metav1.Time, seconds *int64, least time.Duration, then life) {
		if since == nil || seconds == nil || verdict.over {
			return
		}
		left := since.Add(max(time.Duration(*seconds)*time.Second, least)).Sub(now)
		switch {
		case left <= 0:
			verdict = then
		case verdict.next == 0 || left < verdict.next:
			verdict.next = left
		}
	}
	due(status.EmptySince, spec.TTLSeconds, settling, life{over: true, why: "no pod runs there"})
	due(status.LaunchTime, spec.TTLSecondsUntilExpired, 0, life{expired: true, why: "it is as old as it may become"})
	return verdict
}
