package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/reconcile"
)

const (
	// mostTold bounds on how many pods one pass reports, of each kind of report: each event is a
	// write to the API server, a goroutine until it is written, and remembered for six minutes
	// (client-go: tools/events, finishTime).
	mostTold = 200
	// mostEvents bounds how many events all passes of a minute write.
	mostEvents = 2400
	// tellAgain is the interval of passes while there are pods that have no event yet that explains
	// why they wait.
	tellAgain = 5 * time.Second
	// volumeTime is the time that a PersistentVolumeClaim may take to be created, and to be bound
	// where that does not wait for its pod. Only then is it worth an event.
	volumeTime = 30 * time.Second
)

// told holds the last message about each pod that waits, nothing if there were too many for a
// message. A pod in it was considered and found no place.
type told map[types.UID]string

// keep forgets all pods but those. The map that it leaves is a new one.
func (t *told) keep(unplaced []packing.Unplaced, deferred []*corev1.Pod) {
	kept := told{}
	keep := func(pod types.UID) {
		if said, known := (*t)[pod]; known {
			kept[pod] = said
		}
	}
	for _, pod := range deferred {
		keep(pod.UID)
	}
	for i := range unplaced {
		keep(unplaced[i].Pod.UID)
	}
	*t = kept
}

// next returns the pods to report now, no more than the most, and records them as reported. Pods
// that were never reported come first, so that a pod whose reason changes each time does not keep
// them from it. Then come pods whose reason has changed.
func (t *told) next(unplaced []packing.Unplaced, most int) []packing.Unplaced {
	if *t == nil {
		*t = told{}
	}
	var next []packing.Unplaced
	for _, never := range []bool{true, false} {
		for i := range unplaced {
			uid := unplaced[i].Pod.UID
			said := (*t)[uid]
			switch {
			case said == unplaced[i].Reason, (said == "") != never:
			case len(next) < most:
				next = append(next, unplaced[i])
				(*t)[uid] = unplaced[i].Reason
			default:
				(*t)[uid] = said
			}
		}
	}
	return next
}

// silent returns how many of the pods no event was written for.
func (t *told) silent(unplaced []packing.Unplaced) int {
	count := 0
	for i := range unplaced {
		if (*t)[unplaced[i].Pod.UID] == "" {
			count++
		}
	}
	return count
}

// teller decides on which pods events are written, no more than the API server bears.
type teller struct{ left launcher.Allowance }

// next returns the pods to report now, and when to go on if some are left for another pass; zero if
// none are.
func (t *teller) next(already *told, pods []packing.Unplaced) ([]packing.Unplaced, time.Duration) {
	due := already.next(pods, t.most())
	t.left.Take(len(due))
	switch {
	case already.silent(pods) == 0:
		return due, 0
	case t.left.Left == 0:
		return due, max(t.left.Next, tellAgain)
	}
	return due, tellAgain
}

// most returns on how many pods of a kind the pass may report now.
func (t *teller) most() int { return min(t.left.Left, mostTold) }

// report plans events on pods that have none for their reason yet, and forgets all other pods. It
// returns when to go on if some are left for another pass.
func (t *teller) report(plan *Plan, already *told, pods []packing.Unplaced, deferred []*corev1.Pod, event func(packing.Unplaced) reconcile.Event, why string) time.Duration {
	already.keep(pods, deferred)
	due, again := t.next(already, pods)
	events := make([]reconcile.Event, 0, len(due))
	for i := range due {
		one := event(due[i])
		one.About = due[i].Pod
		events = append(events, one)
	}
	plan.tell(events, why)
	return again
}

// tell plans events on pods.
func (p *Plan) tell(events []reconcile.Event, why string) {
	if len(events) > 0 {
		p.Do(tellPods{events}, "%s", why)
	}
}

// unplacedEvent returns the event on a pod that no node is launched for.
func unplacedEvent(one packing.Unplaced) reconcile.Event {
	// Messages of AWS may or may not have a full stop.
	return reconcile.Warningf(provisioningv1.NoNodeLaunchedEvent, "The pod %s.", strings.TrimRight(one.Reason, "."))
}

// reportTied reports pods that can run on one Node alone: once, and again when that Node is gone.
// Without it nothing in the cluster explains why such a pod gets no node.
func reportTied(in Input, plan *Plan, events *teller) {
	tied := in.Seen.Cluster.Tied()
	unplaced := make([]packing.Unplaced, 0, len(tied))
	for i := range tied {
		unplaced = append(unplaced, packing.Unplaced{Pod: tied[i].Pod, Reason: tied[i].Explain()})
	}
	plan.Draft.Waits.Tied = len(tied)
	event := func(one packing.Unplaced) reconcile.Event {
		return reconcile.Warningf(provisioningv1.VolumeOfOneNodeEvent, "%s", one.Reason)
	}
	silent := events.report(plan, &plan.Memory.Tied, unplaced, nil, event, "the volume of the pod is local to one Node")
	if len(tied) > 0 {
		plan.comeBack(cmp.Or(silent, lookAgain), "the Nodes of local volumes may go, or come back")
	}
}

// stuck are pods that wait for a volume, and since when this process knows it.
type stuck map[types.UID]time.Time

// lasting returns the pods that have waited for longer than a volume may take.
func (s *stuck) lasting(pods []packing.Unplaced, now time.Time) []packing.Unplaced {
	before := *s
	*s = stuck{}
	var lasting []packing.Unplaced
	for i := range pods {
		uid := pods[i].Pod.UID
		since, known := before[uid]
		if !known {
			since = now
		}
		(*s)[uid] = since
		if now.Sub(since) >= volumeTime {
			lasting = append(lasting, pods[i])
		}
	}
	return lasting
}

// reportStuck reports pods that no node helps, because of a volume: once, and again if the reason is
// another.
func reportStuck(in Input, plan *Plan, events *teller) {
	all := in.Seen.Cluster.Stuck()
	plan.Draft.Waits.Stuck = len(all)
	lasting := plan.Memory.WaitForVolumes.lasting(all, in.Now)
	silent := events.report(plan, &plan.Memory.Stuck, lasting, nil, unplacedEvent, "the pod waits for a volume")
	if len(lasting) < len(all) {
		silent = tellAgain
	}
	if len(all) > 0 {
		plan.comeBack(cmp.Or(silent, lookAgain), "volumes may be there")
	}
}

// coming holds the state of the nodes that waiting pods have places on.
type coming struct {
	// launched are pods of nodes whose instance runs, and that are not initialized yet; failing are
	// pods of nodes whose launch fails, and is repeated.
	launched, failing []packing.Unplaced
	// unknown is true if EC2 has not answered for some node.
	unknown bool
}

// comingOf returns what becomes of the nodes that waiting pods have places on.
func comingOf(cluster *clusterstate.Cluster) coming {
	nodes := map[string]*provisioningv1.ProvisionedNode{}
	for i := range cluster.Provisioned {
		nodes[cluster.Provisioned[i].Name] = &cluster.Provisioned[i]
	}
	var all coming
	launched, failing := map[string]string{}, map[string]string{} // the message about each node
	for _, pod := range cluster.Waiting() {
		place, promised := cluster.Promise(pod.UID)
		node := nodes[place]
		if !promised || node == nil || pod.Spec.NodeName != "" || clusterstate.Initialized(node) {
			continue
		}
		if launched[place] == "" && failing[place] == "" {
			launched[place], failing[place] = launchOf(node)
		}
		switch {
		case launched[place] != "":
			all.launched = append(all.launched, packing.Unplaced{Pod: pod, Reason: launched[place]})
		case failing[place] != "":
			all.failing = append(all.failing, packing.Unplaced{Pod: pod, Reason: failing[place]})
		}
		all.unknown = all.unknown || node.Status.InstanceID == ""
	}
	return all
}

// launchOf returns the message to pods about the launch of their node: that it was launched, or why
// not. Both are empty while that is not known.
func launchOf(node *provisioningv1.ProvisionedNode) (launched, failing string) {
	status := &node.Status
	if status.InstanceID != "" {
		return fmt.Sprintf("Instance %s (%s in %s) is starting and has room for the pod. See ProvisionedNode %s "+
			"for its progress.", status.InstanceID, status.InstanceType, status.Zone, node.Name), ""
	}
	condition := meta.FindStatusCondition(status.Conditions, provisioningv1.LaunchedCondition)
	if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != provisioningv1.LaunchFailedReason {
		return "", ""
	}
	return "", fmt.Sprintf("waits, because the launch of its node failed (%s). Slipway retries", strings.TrimRight(condition.Message, "."))
}

// reportComing reports, on pods that have a place on a node, that the node is on its way, or that its
// launch fails: once, and again if that changes. Without it the pods would wait for minutes while
// nothing in the cluster explains why.
func reportComing(in Input, plan *Plan, events *teller) {
	all := comingOf(in.Seen.Cluster)
	plan.Draft.Waits.Failing = len(all.failing)
	failed := events.report(plan, &plan.Memory.Failing, all.failing, nil, unplacedEvent, "the launch of the pod's node fails")
	event := func(one packing.Unplaced) reconcile.Event {
		return reconcile.Eventf(provisioningv1.NodeLaunchedEvent, "%s", one.Reason)
	}
	launched := events.report(plan, &plan.Memory.Launched, all.launched, nil, event, "the pod's node was launched")
	switch wait := max(failed, launched); {
	case wait > 0:
		plan.comeBack(wait, "further pods are to be told of their nodes")
	case all.unknown:
		plan.comeBack(tellAgain, "nodes are being launched")
	}
}

// reportUnknown reports why no nodes are chosen: EC2 does not list its instances.
func reportUnknown(in Input, plan *Plan, why string) {
	var unplaced []packing.Unplaced
	reason := "waits, because EC2 does not return the list of instances: " + why
	for _, pod := range in.Seen.Cluster.Waiting() {
		if _, promised := in.Seen.Cluster.Promise(pod.UID); !promised && pod.Spec.NodeName == "" {
			unplaced = append(unplaced, packing.Unplaced{Pod: pod, Reason: reason, Cause: packing.CauseLaunch})
		}
	}
	plan.Draft.Result = packing.Result{Unplaced: unplaced}
	plan.showPending(in)
	events := teller{in.Seen.Events}
	events.report(plan, &plan.Memory.Told, unplaced, nil, unplacedEvent, "EC2 does not return the list of instances")
}

// decideReports is the last decision of a pass that chose nodes. It reports why pods find no place:
// once, and again when the reason changes.
func decideReports(in Input) Plan {
	plan := in.plan()
	result, events := &plan.Draft.Result, teller{in.Seen.Events}
	decideReturn(in, &plan)
	plan.showPending(in)
	silent := events.report(&plan, &plan.Memory.Told, result.Unplaced, result.Deferred, unplacedEvent, "no node is launched for the pod")
	reportUnkept(in, &plan, &events)
	recordRejected(in, &plan)
	if len(result.Unplaced) > 0 {
		wait := cmp.Or(silent, lookAgain)
		if in.Seen.Retry > 0 {
			wait = min(wait, in.Seen.Retry)
		}
		plan.comeBack(wait, "some pods find no place")
	}
	return plan
}

// reportUnkept reports pods that the scheduler does not put on the ready node that has a place for
// them.
func reportUnkept(in Input, plan *Plan, events *teller) {
	places := maps.Clone(in.Draft.Places)
	maps.DeleteFunc(places, func(_ types.UID, node string) bool { return !plan.Memory.Ready.known(node) })
	due := plan.Memory.Unkept.next(places, in.Seen.Cluster.Waiting(), in.Now, events.most())
	var all []reconcile.Event
	for _, one := range due {
		event := reconcile.Warningf(provisioningv1.NotBoundEvent, "Node %s is ready and has room for the pod, but the scheduler "+
			"does not bind the pod to it. See the pod's condition PodScheduled for the reason. No other node "+
			"is launched for the pod.", one.node)
		event.About = one.pod
		all = append(all, event)
	}
	plan.tell(all, "the scheduler does not bind the pod to a node with room for it")
}

// unkept holds pods that a ready node has a place for, and since when. Launching another node for a
// pod that the scheduler keeps from a good one could go on forever.
type unkept map[types.UID]unkeptPlace

type unkeptPlace struct {
	node  string
	since time.Time
	told  bool
}

// unkeptPod is a pod that the scheduler keeps from the node that has a place for it.
type unkeptPod struct {
	pod  *corev1.Pod
	node string
}

// next returns the pods to report now, no more than the most, with their nodes: pods that have had
// the same place for longer than the scheduler may take. Each is reported once.
func (u *unkept) next(places map[types.UID]string, waiting []*corev1.Pod, now time.Time, most int) []unkeptPod {
	before := *u
	*u = unkept{}
	var next []unkeptPod
	for _, pod := range waiting {
		node, found := places[pod.UID]
		if !found || pod.Spec.NodeName != "" {
			continue
		}
		place := before[pod.UID]
		if place.node != node {
			place = unkeptPlace{node: node, since: now}
		}
		if !place.told && now.Sub(place.since) >= bindingTime && len(next) < most {
			next, place.told = append(next, unkeptPod{pod, node}), true
		}
		(*u)[pod.UID] = place
	}
	return next
}
