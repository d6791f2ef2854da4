package nodelifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// failedAgo has the node have failed for some time, among the nodes of its zone.
func failedAgo(before time.Duration) edit {
	return func(in *input) {
		in.Object.Status.FailedSince = ago(before)
		in.Seen.Nodes = is([]provisioningv1.ProvisionedNode{*in.Object})
	}
}

// TestDecideRepair holds when a node that had been initialized counts as failed, and when it is
// replaced.
func TestDecideRepair(t *testing.T) {
	t.Parallel()
	impaired := func(in *input) { in.Seen.Impaired = true }
	stopped := func(in *input) { in.Seen.Instance.Found.State = "stopped" }
	crowded := func(in *input) {
		other := in.Object.DeepCopy()
		other.Name, other.DeletionTimestamp, other.Status.FailedSince = "other", ago(time.Minute), ago(time.Hour)
		in.Seen.Nodes.Value = append(in.Seen.Nodes.Value, *other)
	}
	period := func(length time.Duration) edit {
		return provisioner(func(p *provisioningv1.Provisioner) {
			p.Spec.TerminationGracePeriod = &metav1.Duration{Duration: length}
		})
	}
	decideRows(t, []row{
		{reason: "the kubelet is not ready, and may recover", given: []edit{unready}, want: "again in 10m0s", shows: "NodeReady False NodeNotReady: its " +
			"kubelet does not report that it is ready",
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.FailedSince.Time.Equal(noon) }},
		{reason: "the instance is stopped", given: []edit{stopped}, want: "again in 10m0s", shows: "NodeReady False InstanceStopped: instance i-1 is stopped"},
		{reason: "the instance fails a status check", given: []edit{impaired}, want: "again in 10m0s", shows: "NodeReady False StatusChecksFailed: instance i-1 fails an EC2 status check"},
		{reason: "it has failed for less than it may", given: []edit{unready, failedAgo(4 * time.Minute)}, want: "again in 6m0s"},
		{reason: "it recovers", given: []edit{failedAgo(4 * time.Minute)}, then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.FailedSince == nil }},
		{reason: "the nodes of the zone are asked for", given: []edit{unready, failedAgo(10 * time.Minute), func(in *input) { in.Seen.Nodes.Known = false }}, want: "observe all nodes"},
		{reason: "it has failed for too long", given: []edit{unready, failedAgo(10 * time.Minute)},
			want: `replace the failed node in zone us-east-1a, because Node ip-1 has failed since 2026-11-22T11:50:00Z: its kubelet does not report that it is ready; count NodeNotReady; tell NodeFailed "Replacing ProvisionedNode node: Node ip-1 has failed since 2026-11-22T11:50:00Z: its kubelet does not report that it is ready. Slipway evicts its pods and terminates instance i-1 within 5m."`},
		{reason: "its Provisioner is gone", given: []edit{unready, failedAgo(10 * time.Minute), orphaned},
			want: "replace the failed node in zone us-east-1a, because Node ip-1 has failed since " +
				"2026-11-22T11:50:00Z: its kubelet does not report that it is ready; count NodeNotReady"},
		{reason: "its drain has less time by its Provisioner", given: []edit{unready, failedAgo(10 * time.Minute), period(time.Minute)},
			want: `replace the failed node in zone us-east-1a, because Node ip-1 has failed since 2026-11-22T11:50:00Z: its kubelet does not report that it is ready; count NodeNotReady; tell NodeFailed "Replacing ProvisionedNode node: Node ip-1 has failed since 2026-11-22T11:50:00Z: its kubelet does not report that it is ready. Slipway evicts its pods and terminates instance i-1 within 60s."`},
		{reason: "its drain has more time by its Provisioner, which does not count", given: []edit{unready, failedAgo(10 * time.Minute), period(time.Hour)},
			want: `replace the failed node in zone us-east-1a, because Node ip-1 has failed since 2026-11-22T11:50:00Z: its kubelet does not report that it is ready; count NodeNotReady; tell NodeFailed "Replacing ProvisionedNode node: Node ip-1 has failed since 2026-11-22T11:50:00Z: its kubelet does not report that it is ready. Slipway evicts its pods and terminates instance i-1 within 5m."`},
		{reason: "EC2 confirms that a status check fails", given: []edit{impaired, failedAgo(10 * time.Minute)},
			want: `replace the failed node in zone us-east-1a, because Node ip-1 has failed since 2026-11-22T11:50:00Z: instance i-1 fails an EC2 status check; count StatusChecksFailed; tell NodeFailed "Replacing ProvisionedNode node: Node ip-1 has failed since 2026-11-22T11:50:00Z: instance i-1 fails an EC2 status check. Slipway evicts its pods and terminates instance i-1 within 5m."`},
		{reason: "EC2 does not confirm it for now", given: []edit{impaired, failedAgo(10 * time.Minute), done(replaceFailed{}, errHeldBack)}, want: "again in 7s"},
		{reason: "the status checks pass again", given: []edit{impaired, failedAgo(10 * time.Minute), done(replaceFailed{}, nil), func(in *input) { in.Seen.Recovered = true }}, want: "again in 30s",
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.FailedSince == nil }},
		{reason: "it is deleted", given: []edit{unready, failedAgo(10 * time.Minute), done(replaceFailed{}, nil)}, want: "leave the status"},
		{reason: "another failed node of the zone is replaced first", given: []edit{unready, failedAgo(10 * time.Minute), crowded}, want: "again in 30s",
			shows: "NodeReady False NodeNotReady: Node ip-1 has failed since 2026-11-22T11:50:00Z: its kubelet " +
				"does not report that it is ready; it is not replaced yet, because a fifth of the nodes in " +
				"zone us-east-1a are being replaced for failures"},
		{reason: "the API server showed another failed node of the zone", given: []edit{unready, failedAgo(10 * time.Minute), done(replaceFailed{}, nil), crowded}, want: "again in 30s"},
	})
}

// TestDecideDisruption holds when a node that works is deleted or replaced.
func TestDecideDisruption(t *testing.T) {
	t.Parallel()
	emptyFor := func(since time.Duration) edit {
		return func(in *input) {
			in.Seen.Pods, in.Seen.Budgets = podsAre(), is([]policyv1.PodDisruptionBudget{})
			in.Object.Status.EmptySince = ago(since)
			in.Seen.Provisioner.Spec.TTLSeconds = ptr.To[int64](60)
		}
	}
	placed := func(place Place) edit {
		return func(in *input) {
			in.Seen.Places = is(Places{Volumes: &clusterstate.Cluster{}, ByPod: map[types.UID]Place{"pod-1": place}})
		}
	}
	homeless := func(in *input) { in.Seen.Places = is(Places{Volumes: &clusterstate.Cluster{}}) }
	old := func(in *input) {
		in.Seen.Budgets = is([]policyv1.PodDisruptionBudget{})
		in.Seen.Provisioner.Spec.TTLSecondsUntilExpired = ptr.To[int64](3600)
		homeless(in)
		annotation(provisioningv1.DisruptionAllowedAnnotation, provisioningv1.ExpiredReason)(in)
	}
	asked := func(value string) edit {
		return func(in *input) {
			old(in)
			in.Seen.Provisioner.Spec.TTLSecondsUntilExpired = nil
			annotation(provisioningv1.ReplaceAnnotation, value)(in)
		}
	}
	bounded := provisioner(func(p *provisioningv1.Provisioner) {
		p.Spec.Disruption = &provisioningv1.Disruption{Budgets: []provisioningv1.DisruptionBudget{{Nodes: intstr.FromInt32(0)}}}
	})
	promised := func(in *input) { in.Seen.Promised = true }
	waiting := func(since time.Duration) edit {
		return func(in *input) {
			in.Object.Status.Conditions = append(in.Object.Status.Conditions, metav1.Condition{
				Type: provisioningv1.ReplacingCondition, Status: metav1.ConditionTrue, Reason: provisioningv1.RequestedReason, LastTransitionTime: metav1.NewTime(in.Now.Add(-since)),
			})
		}
	}
	ready := &provisioningv1.ProvisionedNode{}
	ready.Status.Conditions = []metav1.Condition{{Type: provisioningv1.ReadyCondition, Status: metav1.ConditionTrue}}
	takes := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	decideRows(t, []row{
		{reason: "the pods of an initialized node are asked for", given: []edit{func(in *input) { in.Seen.Pods = Fact[[]corev1.Pod]{} }}, want: "observe pods of the Node"},
		{reason: "no pod uses the node", given: []edit{pods(), provisioner(func(p *provisioningv1.Provisioner) { p.Spec.TTLSeconds = ptr.To[int64](60) })}, want: "again in 1m0s",
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.EmptySince.Time.Equal(noon) }},
		{reason: "a daemon set, the kubelet and finished pods do not use it", given: []edit{pods(
			pod("daemon", func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "DaemonSet" }),
			pod("static", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
			pod("job", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))}, then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.EmptySince != nil }},
		{reason: "a pod has had its grace period just now", given: []edit{pods(pod("ends", func(p *corev1.Pod) { p.DeletionTimestamp = ago(20 * time.Second) }))}, want: "again in 41s",
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.EmptySince == nil }},
		{reason: "a pod should have ended long ago", given: []edit{pods(pod("ends", func(p *corev1.Pod) { p.DeletionTimestamp = ago(2 * time.Minute) }))},
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.EmptySince != nil }},
		{reason: "beside a pod that uses the node", given: []edit{pods(pod("ends", func(p *corev1.Pod) { p.DeletionTimestamp = ago(2 * time.Minute) }), pod("web"))},
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.EmptySince == nil }},
		{reason: "pods are to come", given: []edit{emptyFor(time.Hour), promised}, want: "again in 1m0s", then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.EmptySince == nil }},
		{reason: "pods are to come to a new node", given: []edit{pods(), promised, func(in *input) { in.Object.Status.ReadyTime = timeOf(noon.Add(-time.Minute)) }}, want: "again in 10s"},
		{reason: "further pods are to come to a node with pods, whose end brings a pass", given: []edit{promised}},
		{reason: "it is empty, and its Provisioner is gone", given: []edit{emptyFor(time.Hour), orphaned}},
		{reason: "PodDisruptionBudgets are asked for", given: []edit{emptyFor(time.Minute), func(in *input) { in.Seen.Budgets.Known = false }}, want: "observe PodDisruptionBudgets"},
		{reason: "it has been empty for long enough", given: []edit{emptyFor(time.Minute)},
			want: `delete the ProvisionedNode, because the node has no pods; count Empty; tell NodeEnded "Terminating ProvisionedNode node (Node ip-1): the node has no pods."`},
		{reason: "an annotation keeps it", given: []edit{emptyFor(time.Minute), annotation(provisioningv1.DoNotDisruptAnnotation, "true")}, want: "again in 1m0s",
			shows: "Replacing False DoNotDisrupt: the node has no pods, but ProvisionedNode node has the " +
				"annotation karpenter.sh/do-not-disrupt: the node stays until the annotation is removed or " +
				"the pod has ended"},
		{reason: "a disruption budget holds it back", given: []edit{emptyFor(time.Minute), bounded}, want: "again in 1m0s",
			shows: "Replacing False Empty: the node has no pods; the node stays until the disruption budgets of " +
				"Provisioner default allow its disruption"},
		{reason: "the disruption budgets allow it", given: []edit{emptyFor(time.Minute), bounded, annotation(provisioningv1.DisruptionAllowedAnnotation, provisioningv1.EmptyReason)},
			want: `delete the ProvisionedNode, because the node has no pods; count Empty; tell NodeEnded "Terminating ProvisionedNode node (Node ip-1): the node has no pods."`},
		{reason: "it is not to be replaced any longer", given: []edit{condition(provisioningv1.ReplacingCondition, provisioningv1.RequestedReason, true)}, then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return len(s.Conditions) == 4 }},
		{reason: "it is too old, and the places of its pods are asked for", given: []edit{old, func(in *input) { in.Seen.Places.Known = false }}, want: "observe places of pods"},
		{reason: "its pods have no place elsewhere", given: []edit{old}, want: "again in 2s", shows: "Replacing True Expired: the node has " +
			"reached its maximum age; 1 of its pods do not fit on other nodes yet"},
		{reason: "its pods have a place on the node itself", given: []edit{old, placed(Place{Name: "node", Provisioned: ready})}, want: "again in 2s"},
		{reason: "its pods have a place on a node that is gone", given: []edit{old, placed(Place{Name: "other"})}, want: "again in 2s"},
		{reason: "its pods have a place on a node that is ready", given: []edit{old, placed(Place{Name: "other", Provisioned: ready})},
			want: `delete the ProvisionedNode, because the node has reached its maximum age; count Expired; tell NodeEnded "Terminating ProvisionedNode node (Node ip-1): the node has reached its maximum age."`},
		{reason: "its pods have a place on a Node that Slipway did not launch", given: []edit{old, placed(Place{Name: "other", Member: takes})},
			want: `delete the ProvisionedNode, because the node has reached its maximum age; count Expired; tell NodeEnded "Terminating ProvisionedNode node (Node ip-1): the node has reached its maximum age."`},
		{reason: "its pods stay with it", given: []edit{old, pods(pod("bare", func(p *corev1.Pod) { p.OwnerReferences = nil }))},
			want: `delete the ProvisionedNode, because the node has reached its maximum age; count Expired; tell NodeEnded "Terminating ProvisionedNode node (Node ip-1): the node has reached its maximum age."`},
		{reason: "no place came in the time that a new node takes", given: []edit{old, condition(provisioningv1.ReplacingCondition, provisioningv1.ExpiredReason, true)},
			want: `delete the ProvisionedNode, because the node has reached its maximum age; count Expired; tell NodeEnded "Terminating ProvisionedNode node (Node ip-1): the node has reached its maximum age."`},
		{reason: "its Node is gone for the first time", given: []edit{old, func(in *input) { in.Seen.Member, in.Object.Status.NodeName = nil, "" }},
			want: `delete the ProvisionedNode, because the node has reached its maximum age; count Expired; tell NodeEnded "Terminating ProvisionedNode node (Node ): the node has reached its maximum age."`},
		{reason: "a user requests its replacement", given: []edit{asked("a new image")}, want: "again in 2s", shows: "Replacing True Requested: its " +
			"replacement was requested: a new image; 1 of its pods do not fit on other nodes yet"},
		{reason: "a new node has not come yet", given: []edit{asked("a new image"), waiting(20 * time.Second)}, want: "again in 2s"},
		{reason: "a new node is late", given: []edit{asked("a new image"), waiting(10 * time.Minute)}, want: "again in 40s"},
		{reason: "there may never be a place", given: []edit{asked("a new image"), waiting(24 * time.Hour)}, want: "again in 1m0s"},
		{reason: "it has drifted, which the Provisioner's controller bounds", given: []edit{asked("Drifted: another image"), bounded}, want: "again in 2s", shows: "Replacing True Drifted: another image; " +
			"1 of its pods do not fit on other nodes yet"},
	})
}

// drained has one step of the drain be taken.
func drained(progress drain.Progress) edit {
	return func(in *input) {
		in.Seen.Drain = progress
		done(drainMember{}, nil)(in)
	}
}

// TestDecideDeletion holds how a node is drained and terminated, and when its object goes.
func TestDecideDeletion(t *testing.T) {
	t.Parallel()
	empty := drained(drain.Progress{Empty: true})
	busy := drain.Progress{Node: "ip-1", Protected: 1}
	began := func(before time.Duration) edit {
		return status(func(s *provisioningv1.ProvisionedNodeStatus) { s.DrainTime = ago(before) })
	}
	period := provisioner(func(p *provisioningv1.Provisioner) {
		p.Spec.TerminationGracePeriod = &metav1.Duration{Duration: 30 * time.Minute}
	})
	terminated := func(err error) edit { return done(terminateInstance{running("i-1")}, err) }
	deadline := func(at string) edit {
		return annotation(provisioningv1.TerminationDeadlineAnnotation, at)
	}
	gone := func(in *input) { in.Seen.Member = nil; ended(in) }
	decideRows(t, []row{
		{reason: "its Node is drained", given: []edit{deleted},
			want:  "drain Node ip-1, because ProvisionedNode node is being deleted",
			shows: "Ready False Deleting", then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.DrainTime.Time.Equal(noon) }},
		{reason: "EC2 holds the description back", given: []edit{deleted, func(in *input) { in.Seen.Instance.Err = errHeldBack }}, want: "again in 7s"},
		{reason: "the drain fails", given: []edit{deleted, done(drainMember{}, errServer)}, want: "fail: the API server does not respond"},
		{reason: "pods are left on the Node", given: []edit{deleted, drained(busy)}, want: "again in 5s", shows: "Ending True Draining: 1 pod with an annotation against disruption"},
		{reason: "a drain that takes long is looked at less often", given: []edit{deleted, drained(busy), began(2 * time.Minute)}, want: "again in 20s"},
		{reason: "the drain has a deadline", given: []edit{deleted, drained(busy), began(10 * time.Minute), period}, want: "again in 30s",
			shows: "Ending True Draining: 1 pod with an annotation against disruption; the instance is terminated at 2026-11-22T12:20:00Z in any case"},
		{reason: "a pod is deleted in time for the deadline", given: []edit{deleted, drained(drain.Progress{Protected: 1, Next: noon.Add(2 * time.Second)}), began(10 * time.Minute), period}, want: "again in 2s"},
		{reason: "an annotation has a sooner deadline", given: []edit{deleted, drained(busy), began(10 * time.Minute), period, deadline("2026-11-22T12:01:00Z")}, want: "again in 30s",
			shows: "Ending True Draining: 1 pod with an annotation against disruption; the instance is terminated at 2026-11-22T12:01:00Z in any case"},
		{reason: "the drain of a failed node is bounded", given: []edit{deleted, unready, failedAgo(10 * time.Minute)},
			want: "annotate termination-deadline=2026-11-22T12:05:00Z; drain Node ip-1, because ProvisionedNode node is being deleted"},
		{reason: "a node that fails while it is drained may recover", given: []edit{deleted, unready, failedAgo(time.Minute)},
			want: "drain Node ip-1, because ProvisionedNode node is being deleted"},
		{reason: "a sooner deadline of a failed node stays", given: []edit{deleted, unready, failedAgo(10 * time.Minute), deadline("2026-11-22T12:01:00Z")},
			want: "drain Node ip-1, because ProvisionedNode node is being deleted"},
		{reason: "the kubelet of an instance that is ending is not ready", given: []edit{deleted, unready, failedAgo(10 * time.Minute), status(func(s *provisioningv1.ProvisionedNodeStatus) { s.TerminateTime = ago(time.Second) })},
			want: "drain Node ip-1, because ProvisionedNode node is being deleted"},
		{reason: "nothing is left on the Node", given: []edit{deleted, empty},
			want: "terminate instance i-1, because ProvisionedNode node is being deleted"},
		{reason: "EC2 holds the termination back", given: []edit{deleted, empty, terminated(errHeldBack)}, want: "again in 7s"},
		{reason: "the instance is being terminated", given: []edit{deleted, empty, terminated(nil)}, want: "again in 30s", shows: "Ending True Terminating: the instance " +
			"is being terminated",
			then: func(s *provisioningv1.ProvisionedNodeStatus) bool { return s.TerminateTime.Time.Equal(noon) }},
		{reason: "an instance that never joined is terminated", given: []edit{deleted, func(in *input) { in.Seen.Member = nil }},
			want: "terminate instance i-1, because ProvisionedNode node is being deleted"},
		{reason: "a new instance is not shown yet", given: []edit{deleted, unshown, launchedAgo(time.Minute)}, want: "again in 5s"},
		{reason: "the instance has terminated, and its Node goes", given: []edit{deleted, ended}, want: "release Node ip-1, because instance i-1 " +
			"is terminated"},
		{reason: "its Node cannot be deleted", given: []edit{deleted, ended, done(releaseMember{}, errServer)}, want: "fail: the API server does not respond"},
		{reason: "its Node is gone, and the object goes", given: []edit{deleted, ended, done(releaseMember{}, nil)},
			want: "remove the finalizer, because ProvisionedNode node has no resources left"},
		{reason: "there is no Node", given: []edit{deleted, gone},
			want: "remove the finalizer, because ProvisionedNode node has no resources left"},
		{reason: "a lost instance has nothing to terminate", given: []edit{deleted, unshown},
			want: "remove the finalizer, because ProvisionedNode node has no resources left"},
		{reason: "an instance of another cluster is left alone", given: []edit{deleted, foreign},
			want: `remove the finalizer, because ProvisionedNode node has no resources left; tell InstanceNotOwned "ProvisionedNode node: instance i-1 was launched by another cluster. Slipway neither drains nor terminates it, and the ProvisionedNode counts against limits until it is deleted. Delete the ProvisionedNode if it should not manage this instance."`},
		{reason: "the object cannot go yet", given: []edit{deleted, gone, done(releaseNode{}, errServer)}, want: "fail: the API server does not respond"},
		{reason: "the object is gone", given: []edit{deleted, gone, done(releaseNode{}, nil)}, want: "leave the status"},
		{reason: "a failed node counts in its zone until it is replaced", given: []edit{deleted, gone, failedAgo(20 * time.Minute), status(func(s *provisioningv1.ProvisionedNodeStatus) { s.TerminateTime = ago(20 * time.Second) })}, want: "again in 40s"},
		{reason: "a failed node has counted for long enough", given: []edit{deleted, gone, failedAgo(20 * time.Minute), status(func(s *provisioningv1.ProvisionedNodeStatus) { s.TerminateTime = ago(time.Minute) })},
			want: "remove the finalizer, because ProvisionedNode node has no resources left"},
	})
}

// TestDecideUnrecorded holds what is terminated for a node that is deleted before its instance was
// recorded.
func TestDecideUnrecorded(t *testing.T) {
	t.Parallel()
	answeredAgo := func(before time.Duration) edit {
		return func(in *input) {
			in.Seen.Answer = &answer{instances: map[string]fleet.Instance{"node": running("i-1")}, at: noon.Add(-before)}
		}
	}
	mine := answeredAgo(time.Minute)
	deletedAgo := func(before time.Duration) edit {
		return func(in *input) { in.Object.DeletionTimestamp = ago(before) }
	}
	shown := func(instances ...fleet.Instance) edit {
		return func(in *input) { in.Seen.OfLaunch = is(instances) }
	}
	sibling := func(change func(*provisioningv1.ProvisionedNode)) edit {
		return func(in *input) {
			other := provisioningv1.ProvisionedNode{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
			change(&other)
			in.Seen.Siblings.Value = append(in.Seen.Siblings.Value, other)
		}
	}
	given := func(more ...edit) []edit { return append([]edit{unlaunched, deleted}, more...) }
	decideRows(t, []row{
		{reason: "its siblings are asked for", given: given(func(in *input) { in.Seen.Siblings.Known = false }), want: "observe nodes of the launch"},
		{reason: "its launch is known to have launched nothing for it", given: given(func(in *input) { in.Seen.Answer = &answer{} }),
			want: "remove the finalizer, because ProvisionedNode node has no resources left"},
		{reason: "a sibling waits for the answer", given: given(sibling(func(*provisioningv1.ProvisionedNode) {})),
			want: "remove the finalizer, because ProvisionedNode node has no resources left"},
		{reason: "the instances of the launch are asked for", given: given(), want: "observe instances of the launch"},
		{reason: "EC2 holds the description back", given: given(func(in *input) { in.Seen.OfLaunch = unanswered[[]fleet.Instance](errHeldBack) }), want: "again in 7s"},
		{reason: "its instance is not shown yet", given: given(mine, shown()), want: "again in 5s"},
		{reason: "its instance was never shown", given: given(answeredAgo(time.Hour), shown()),
			want: "remove the finalizer, because ProvisionedNode node has no resources left"},
		{reason: "a restarted controller waits for what may have been launched", given: given(deletedAgo(time.Minute), shown()), want: "again in 5s"},
		{reason: "a restarted controller has waited for long enough", given: given(deletedAgo(2*time.Minute), shown()),
			want: "remove the finalizer, because ProvisionedNode node has no resources left"},
		{reason: "its own instance is terminated, and no sibling's", given: given(mine, shown(running("i-1"), running("i-2"))),
			want: "terminate instance i-1, because ProvisionedNode node is being deleted, and no other node of its launch has the instance"},
		{reason: "a restarted controller terminates what no node has", given: given(shown(running("i-1"), running("i-2"), running("i-3").Ended()), sibling(func(other *provisioningv1.ProvisionedNode) { other.Status.InstanceID = "i-2" })),
			want: "terminate instance i-1, because ProvisionedNode node is being deleted, and no other node of its launch has the instance"},
		{reason: "EC2 holds the termination back", given: given(mine, shown(running("i-1")), done(terminateInstance{running("i-1")}, errHeldBack)), want: "again in 7s"},
		{reason: "its instance is terminated, and the object goes", given: given(mine, shown(running("i-1").Ended()), done(terminateInstance{running("i-1")}, nil)),
			want: "remove the finalizer, because ProvisionedNode node has no resources left"},
	})
}

// TestDecideNotices holds what follows from the notices of EC2 about a Spot Instance.
func TestDecideNotices(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		decide func(input) reconcile.Plan
		given  []edit
		want   string
	}{
		{reason: "EC2 takes the instance back", decide: decideInterruption,
			want: `annotate termination-deadline=2026-11-22T12:02:00Z; delete the ProvisionedNode, because EC2 is interrupting instance i-1; count Interrupted; tell SpotInterruption "EC2 interrupts Spot Instance i-1 (m5.large, us-east-1a) of ProvisionedNode node within two minutes. Slipway is moving its pods to other nodes."`},
		{reason: "EC2 takes the instance of a node back that is drained", decide: decideInterruption, given: []edit{deleted}, want: "annotate termination-deadline=2026-11-22T12:02:00Z"},
		{reason: "the drain ends sooner in any case", decide: decideInterruption, given: []edit{deleted, annotation(provisioningv1.TerminationDeadlineAnnotation, "2026-11-22T12:01:00Z")}},
		{reason: "the Provisioner is gone", decide: decideInterruption, given: []edit{orphaned},
			want: "annotate termination-deadline=2026-11-22T12:02:00Z; delete the ProvisionedNode, because EC2 " +
				"is interrupting instance i-1; count Interrupted"},
		{reason: "EC2 may take the instance back", decide: decideRebalance,
			want: `tell RebalanceRecommended "EC2 may interrupt Spot Instance i-1 (m5.large, us-east-1a) of ProvisionedNode node soon. Slipway temporarily launches no more instances of this type in this zone."`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			in := atRest()
			for _, change := range row.given {
				change(&in)
			}
			_, plan := reconciletest.Decide(t, row.decide, in)
			if summary(plan) != row.want {
				t.Errorf("the plan is another (-want +got):\n- %s\n+ %s", row.want, summary(plan))
			}
		})
	}
}
