package nodelifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// findMember finds the Node by the instance that it says it runs on.
func (r *Reconciler) findMember(ctx context.Context, p *pass) reconciling.Outcome {
	if p.node.Status.InstanceID == "" || p.foreign {
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

// register gives the Node its labels, taints, and finalizer, and removes the taint that kept pods
// from it until then, in one write. Deleting a Node deletes its ProvisionedNode: the finalizer
// keeps it until it is drained and its instance has terminated.
func (r *Reconciler) register(ctx context.Context, p *pass) reconciling.Outcome {
	if p.member == nil {
		return r.awaitMember(ctx, p)
	}
	p.node.Status.AwaySince = nil
	if p.member.DeletionTimestamp != nil {
		r.tell(ctx, p, "NodeDeleted", "Node %s was deleted: its pods are evicted, and instance %s is terminated.", p.member.Name, p.node.Status.InstanceID)
		return r.end(ctx, p, "NodeDeleted", "its Node was deleted")
	}
	first := !clusterstate.IsTrue(p.node, provisioningv1.RegisteredCondition)
	// The finalizer is written together with the startup taints: a Node that has it got them
	// before, and they may have been removed since.
	starts := !controllerutil.ContainsFinalizer(p.member, provisioningv1.NodeFinalizer) && p.node.Status.ReadyTime == nil
	unregistered := slices.ContainsFunc(p.member.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == clusterstate.UnregisteredTaint })
	if first || unregistered || !controllerutil.ContainsFinalizer(p.member, provisioningv1.NodeFinalizer) {
		var labels map[string]string
		var err error
		if first || unregistered {
			// A Node that pods came to without these labels would keep them, and lack the labels for good.
			if labels, err = r.Region.Labels(ctx, p.node.Status.InstanceType); err != nil {
				return pool.RetryOutcome(err)
			}
		}
		err = reconciling.Patch(ctx, r.Client, p.member, func(member *corev1.Node) {
			controllerutil.AddFinalizer(member, provisioningv1.NodeFinalizer)
			if first || unregistered {
				dress(member, p.node, labels, starts)
			}
		})
		if err != nil {
			return reconciling.Fail(fmt.Errorf("labeling Node %q: %w", p.member.Name, err))
		}
	}
	if first && p.node.Status.ReadyTime == nil {
		r.Report.Progress.NodeStarted(p.node, metrics.StageRegistered, r.Clock.Now())
	}
	reconciling.True(p.node, provisioningv1.RegisteredCondition, provisioningv1.RegisteredCondition, "")
	return reconciling.Continue()
}

// awaitMember waits for the Node: for the first time, or because it was deleted past its finalizer.
// In that case it may be back when its kubelet starts again, and no pod is promised to it
// meanwhile. If it stays away, the instance is terminated.
func (r *Reconciler) awaitMember(ctx context.Context, p *pass) reconciling.Outcome {
	name := p.node.Status.NodeName
	if name == "" {
		reconciling.False(p.node, provisioningv1.RegisteredCondition, provisioningv1.RegisteringReason, "the instance has not joined the cluster yet")
		return reconciling.Continue()
	}
	member := &corev1.Node{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, member)
	switch {
	case err == nil && clusterstate.InstanceOf(member.Spec.ProviderID) == p.node.Status.InstanceID:
		return reconciling.ComeBack(lookAtReplacement, "the cache does not show the Node")
	case client.IgnoreNotFound(err) != nil:
		return reconciling.Fail(fmt.Errorf("reading Node %q: %w", name, err))
	}
	if p.node.Status.AwaySince == nil {
		p.node.Status.AwaySince = &metav1.Time{Time: r.Clock.Now()}
	}
	left := p.node.Status.AwaySince.Add(r.RegistrationTimeout).Sub(r.Clock.Now())
	if left <= 0 {
		return r.replaceFailed(ctx, p, failure{failedAway, fmt.Sprintf("Node %s is gone and did not come back within %s", name, duration.HumanDuration(r.RegistrationTimeout))})
	}
	reconciling.False(p.node, provisioningv1.RegisteredCondition, provisioningv1.NodeGoneReason,
		fmt.Sprintf("Node %s is gone; no pods are placed on it, and instance %s is terminated unless the Node is back within %s", name, p.node.Status.InstanceID, duration.HumanDuration(r.RegistrationTimeout)))
	return reconciling.ComeBack(left, "the Node is to be back by then")
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

// live deletes or replaces the node when its time has come, and returns when to check again.
func (r *Reconciler) live(ctx context.Context, p *pass) reconciling.Outcome {
	now := r.Clock.Now()
	if p.node.Status.ReadyTime == nil && clusterstate.IsTrue(p.node, provisioningv1.InitializedCondition) {
		p.node.Status.ReadyTime = &metav1.Time{Time: now}
		r.Report.Progress.NodeStarted(p.node, metrics.StageReady, now)
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
	if reason, why := disruptedFor(p.node, verdict); reason != "" {
		return r.disrupt(ctx, p, reason, why)
	}
	reconciling.Remove(p.node, provisioningv1.ReplacingCondition)
	switch {
	case promised && p.node.Status.ReadyTime != nil:
		// No event of the node itself signals that its pods have come, or that they no longer need
		// it.
		return reconciling.ComeBack(settling, "pods are to come that it was launched for")
	case verdict.next > 0:
		return reconciling.ComeBack(verdict.next, verdict.why)
	}
	return reconciling.Continue()
}

func (r *Reconciler) tellEnd(ctx context.Context, p *pass, why string) {
	r.Report.Done(ctx, p.provisioner, "NodeEnded", "Ending ProvisionedNode %s (Node %s): %s.", p.node.Name, p.node.Status.NodeName, why)
}

// empty reports whether no pod uses a node.
func (r *Reconciler) empty(ctx context.Context, p *pass) (bool, error) {
	if p.member == nil || p.node.Status.ReadyTime == nil {
		return false, nil
	}
	pods, err := r.podsOf(ctx, p.member.Name)
	return err == nil && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return uses(&pod) }), err
}

// podsOf returns the pods of a Node. The caller must not change them.
func (r *Reconciler) podsOf(ctx context.Context, name string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.MatchingFields{byNode: name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pods of Node %q: %w", name, err)
	}
	return pods.Items, nil
}

// uses reports whether a node is needed for a pod: it is not a pod of a daemon set or of the
// kubelet, and it has not finished.
func uses(pod *corev1.Pod) bool {
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return false
	}
	controller := metav1.GetControllerOf(pod)
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return !ended && (controller == nil || controller.Kind != "DaemonSet")
}

// life says whether it is time to delete or to replace a node; else when it may be.
type life struct {
	over, expired bool
	next          time.Duration
	why           string
}

// settling is the time for which a node that was never used is left alone: the scheduler considers
// a new one within seconds.
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
