package nodelifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// drain empties the Node. It is cordoned first, so that no pods replace the evicted ones.
// PodDisruptionBudgets and the annotation karpenter.sh/do-not-disrupt hold until the deadline of
// the drain, or for as long as they do.
func (r *Reconciler) drain(ctx context.Context, p *pass) reconciling.Outcome {
	if p.member == nil || p.instance == nil || p.instance.Ends() {
		return reconciling.Continue()
	}
	if p.node.Status.DrainTime == nil {
		p.node.Status.DrainTime = &metav1.Time{Time: r.Clock.Now()}
	}
	if err := r.limitFailedDrain(ctx, p); err != nil {
		return reconciling.Fail(err)
	}
	terms := drain.Terms{Now: r.Clock.Now(), Deadline: deadlineOf(p.node, p.provisioner), Protects: func(pod *corev1.Pod) bool {
		return disruption.Protection(pod.Annotations) != ""
	}}
	progress, err := drain.LookWith(ctx, drain.CountedTrusted(drain.Clientset(r.Cluster), r.Report.Progress.Evicted), p.member.Name, p.member.Spec.ProviderID, terms)
	if err != nil {
		return reconciling.Fail(err)
	}
	if progress.Empty {
		return reconciling.Continue()
	}
	message := progress.String()
	if !terms.Deadline.IsZero() {
		message += fmt.Sprintf("; the instance is terminated at %s in any case", terms.Deadline.UTC().Format(time.RFC3339))
	}
	reconciling.True(p.node, provisioningv1.EndingCondition, provisioningv1.DrainingReason, message)
	elapsed := r.drains.Elapsed(client.ObjectKeyFromObject(p.node), terms.Now)
	wait := drain.NextLook(elapsed)
	if !progress.Next.IsZero() {
		wait = min(wait, progress.Next.Sub(terms.Now))
	}
	return reconciling.ComeBack(wait, "pods are leaving the Node")
}

// deadlineOf returns when the instance of a node that is being deleted is terminated, whatever is
// left on it; zero for never. That is its terminationGracePeriod after the drain began, or what an
// annotation says if that is sooner.
func deadlineOf(node *provisioningv1.ProvisionedNode, provisioner *provisioningv1.Provisioner) time.Time {
	var deadline time.Time
	if provisioner != nil && provisioner.Spec.TerminationGracePeriod != nil && node.Status.DrainTime != nil {
		deadline = node.Status.DrainTime.Add(provisioner.Spec.TerminationGracePeriod.Duration)
	}
	annotated, err := time.Parse(time.RFC3339, node.Annotations[provisioningv1.TerminationDeadlineAnnotation])
	if err == nil && (deadline.IsZero() || annotated.Before(deadline)) {
		return annotated
	}
	return deadline
}

// lookAtEnd is the interval at which a terminating instance is described again, should the sweeps
// not wake its object first.
const lookAtEnd = 30 * time.Second

// terminate terminates the instance, and comes back until EC2 reports that it has terminated.
func (r *Reconciler) terminate(ctx context.Context, p *pass) reconciling.Outcome {
	if p.node.Status.InstanceID == "" {
		return r.terminateUnrecorded(ctx, p)
	}
	switch {
	case p.foreign, p.instance == nil && r.longLaunched(p.node), p.instance != nil && p.instance.Ends():
		return reconciling.Continue()
	case p.instance == nil:
		return reconciling.ComeBack(lookAtLaunch, "EC2 does not show the instance yet")
	}
	if err := r.Fleets.Terminate(ctx, *p.instance, r.claim(p.node)); err != nil {
		return pool.RetryOutcome(err)
	}
	r.Instances.Invalidate(p.node.Status.InstanceID)
	if p.node.Status.TerminateTime == nil {
		p.node.Status.TerminateTime = &metav1.Time{Time: r.Clock.Now()}
	}
	reconciling.True(p.node, provisioningv1.EndingCondition, provisioningv1.TerminatingReason, "the instance is ending")
	return reconciling.ComeBack(lookAtEnd, "the instance is ending")
}

// terminateUnrecorded terminates what a launch may have launched for a node that does not know its
// instance. While other nodes of the launch wait for their instances, the call is still to be
// answered, and the collector terminates what it launched too many of.
func (r *Reconciler) terminateUnrecorded(ctx context.Context, p *pass) reconciling.Outcome {
	name := p.node.Spec.Launch.Name
	answered, known := r.launches.answerTo(name)
	mine, launched := answered.instances[p.node.Name]
	if known && !launched {
		return reconciling.Continue()
	}
	var siblings provisioningv1.ProvisionedNodeList
	if err := r.Client.List(ctx, &siblings, client.MatchingFields{byLaunch: name}); err != nil {
		return reconciling.Fail(fmt.Errorf("listing the nodes of launch %q: %w", name, err))
	}
	if !known && awaited(siblings.Items, p.node.Name) {
		return reconciling.Continue()
	}
	instances, err := r.ofLaunch(ctx, p.node)
	if err != nil {
		return pool.RetryOutcome(err)
	}
	isMine := func(instance fleet.Instance) bool { return instance.ID == mine.ID }
	if known && !slices.ContainsFunc(instances, isMine) && r.recentlyAsked(p.node) {
		return reconciling.ComeBack(lookAtLaunch, "EC2 does not show the instance yet")
	}
	unrecorded := slices.DeleteFunc(instances, func(instance fleet.Instance) bool {
		return instance.Ends() || recorded(siblings.Items, instance) || known && !isMine(instance)
	})
	for _, instance := range unrecorded {
		if err := r.Fleets.Terminate(ctx, instance, r.claim(p.node)); err != nil {
			return pool.RetryOutcome(err)
		}
	}
	return reconciling.Continue()
}

// awaited reports whether a node of a launch other than the named one still waits for its instance.
func awaited(nodes []provisioningv1.ProvisionedNode, except string) bool {
	return slices.ContainsFunc(nodes, func(node provisioningv1.ProvisionedNode) bool {
		return node.Name != except && node.Status.InstanceID == "" && node.DeletionTimestamp == nil
	})
}

// recentlyAsked reports whether EC2 may not show yet what it launched for the node.
func (r *Reconciler) recentlyAsked(node *provisioningv1.ProvisionedNode) bool {
	return node.Status.RequestTime != nil && r.Clock.Since(node.Status.RequestTime.Time) < launchTimeout
}

// ofLaunch returns the instances of the node's launch, without instances of another cluster that
// has a launch of that name.
func (r *Reconciler) ofLaunch(ctx context.Context, node *provisioningv1.ProvisionedNode) ([]fleet.Instance, error) {
	instances, err := r.Fleets.OfLaunch(ctx, node.Spec.Launch.Name)
	return slices.DeleteFunc(instances, func(instance fleet.Instance) bool { return r.claim(node).Check(instance) != nil }), err
}

func recorded(nodes []provisioningv1.ProvisionedNode, instance fleet.Instance) bool {
	return slices.ContainsFunc(nodes, func(node provisioningv1.ProvisionedNode) bool { return node.Status.InstanceID == instance.ID })
}

// release removes the Node of an instance that has terminated, and lets the object go.
func (r *Reconciler) release(ctx context.Context, p *pass) reconciling.Outcome {
	if p.member != nil {
		if err := r.releaseMember(ctx, p); err != nil {
			return reconciling.Fail(err)
		}
	}
	if left := r.heldPlace(p.node); left > 0 {
		return reconciling.ComeBack(left, "it counts among the failed nodes of its zone")
	}
	if err := reconciling.RemoveFinalizer(ctx, r.Client, p.node, provisioningv1.ProvisionedNodeFinalizer); err != nil {
		return reconciling.Fail(fmt.Errorf("removing the finalizer: %w", err))
	}
	r.Report.Progress.NodeEnded(p.node, r.Clock.Now())
	var siblings provisioningv1.ProvisionedNodeList
	if err := r.Client.List(ctx, &siblings, client.MatchingFields{byLaunch: p.node.Spec.Launch.Name}); err != nil {
		return reconciling.Fail(fmt.Errorf("listing the nodes of launch %q: %w", p.node.Spec.Launch.Name, err))
	}
	if len(siblings.Items) <= 1 { // the cache may still have this one
		r.launches.forget(p.node.Spec.Launch.Name)
	}
	return reconciling.Stop("the node is gone")
}

// releaseMember deletes the Node, if it was registered for this ProvisionedNode, and removes the
// finalizer from it.
func (r *Reconciler) releaseMember(ctx context.Context, p *pass) error {
	if p.member.Labels[provisioningv1.LabelProvisionerName] == p.node.Spec.Provisioner {
		precondition := client.Preconditions{UID: &p.member.UID}
		if err := r.Client.Delete(ctx, p.member, precondition); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("deleting Node %q: %w", p.member.Name, err)
		}
	}
	member := &corev1.Node{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(p.member), member)
	switch {
	case apierrors.IsNotFound(err), err == nil && member.UID != p.member.UID:
		return nil
	case err != nil:
		return fmt.Errorf("reading Node %q: %w", p.member.Name, err)
	}
	return freeMember(ctx, r.Client, member)
}

// freeMember removes the finalizer from a Node.
func freeMember(ctx context.Context, c client.Client, member *corev1.Node) error {
	if err := reconciling.RemoveFinalizer(ctx, c, member, provisioningv1.NodeFinalizer); err != nil {
		return fmt.Errorf("removing the finalizer from Node %q: %w", member.Name, err)
	}
	return nil
}
