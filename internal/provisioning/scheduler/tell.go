package scheduler

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/report"
)

// unplacedReason is the reason of events on pods that no node is launched for.
const unplacedReason = provisioningv1.NoNodeLaunchedEvent

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
)

// told holds the last message about each pod that waits, nothing if there were too many for a
// message. A pod in it was considered and found no place.
type told map[types.UID]string

// keep forgets all pods but those.
func (t *told) keep(unplaced []packing.Unplaced, deferred []*corev1.Pod) {
	waiting := map[types.UID]bool{}
	for _, pod := range deferred {
		waiting[pod.UID] = true
	}
	for i := range unplaced {
		waiting[unplaced[i].Pod.UID] = true
	}
	maps.DeleteFunc(*t, func(pod types.UID, _ string) bool { return !waiting[pod] })
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

// podEvents writes the events on pods that wait, no more than the API server bears.
type podEvents struct {
	report report.Reporter
	clock  clock.PassiveClock
	// budget bounds how many events are written.
	budget *launcher.Budget
	// told are the pods with an event that no node is launched for them, and tied those with one that
	// they wait for one Node alone.
	told, tied told
	// launched are pods that have an event that their node is on its way, failing the pods with an
	// event that its launch fails, toldStuck the pods with an event that they wait for a volume.
	launched, failing, toldStuck told
	// stuck are the pods that wait for a volume.
	stuck stuck
}

func newPodEvents(to report.Reporter, clk clock.PassiveClock) *podEvents {
	return &podEvents{report: to, clock: clk, budget: launcher.NewBudget(clk, mostEvents)}
}

// left returns on how many pods the pass may report now.
func (e *podEvents) left() int { return min(e.budget.Left(), mostTold) }

// write writes the events that are due on pods, and returns when to go on if some are left for
// another pass; zero if none are.
func (e *podEvents) write(already *told, pods []packing.Unplaced, write func(packing.Unplaced)) time.Duration {
	due := already.next(pods, e.left())
	for i := range due {
		write(due[i])
	}
	e.budget.Spend(len(due))
	switch {
	case already.silent(pods) == 0:
		return 0
	case e.budget.Left() == 0:
		return max(e.budget.Next(), tellAgain)
	}
	return tellAgain
}

// tell reports why pods find no place: once, and again when the reason changes.
func (r *Reconciler) tell(ctx context.Context, p *pass) reconciling.Outcome {
	r.events.told.keep(p.result.Unplaced, p.result.Deferred)
	r.Report.Progress.PodsPending(p.withTied(p.counts()))
	silent := r.events.write(&r.events.told, p.result.Unplaced, func(one packing.Unplaced) { r.events.warnUnplaced(ctx, one) })
	places := r.existing(p)
	maps.DeleteFunc(places, func(_ types.UID, node string) bool { return !r.ready.known(node) })
	for pod, node := range r.unkept.next(places, p.cluster.Waiting(), r.Clock.Now(), r.events.left()) {
		r.events.budget.Spend(1)
		r.Report.Warn(ctx, pod, unboundReason, "Node %s is ready and has room for the pod, but the scheduler "+
			"does not bind the pod to it. See the pod's condition PodScheduled for the reason. No other node "+
			"is launched for the pod.", node)
	}
	if len(p.result.Unplaced) == 0 {
		return reconciling.Continue()
	}
	wait := cmp.Or(silent, lookAgain)
	if next, some := r.Refusals.Next(); some {
		wait = min(wait, next)
	}
	if next, some := r.Shortages.Next(); some {
		wait = min(wait, next)
	}
	return reconciling.ContinueAndComeBack(wait, "some pods find no place")
}

// tellUnknown reports why no nodes are chosen: EC2 does not list its instances. Throttled calls are
// left out: they are answered within seconds.
func (e *podEvents) tellUnknown(ctx context.Context, p *pass, err error) {
	if aws.IsThrottled(err) || aws.IsHeldBack(err) {
		return
	}
	p.result = &packing.Result{}
	reason := "waits, because EC2 does not return the list of instances: " + aws.UserMessage(err)
	for _, pod := range p.cluster.Waiting() {
		if _, promised := p.cluster.Promise(pod.UID); !promised && pod.Spec.NodeName == "" {
			p.result.Unplaced = append(p.result.Unplaced, packing.Unplaced{Pod: pod, Reason: reason, Cause: packing.CauseLaunch})
		}
	}
	e.told.keep(p.result.Unplaced, nil)
	e.report.Progress.PodsPending(p.withTied(p.counts()))
	e.write(&e.told, p.result.Unplaced, func(one packing.Unplaced) { e.warnUnplaced(ctx, one) })
}

// warnUnplaced writes the event on a pod that no node is launched for.
func (e *podEvents) warnUnplaced(ctx context.Context, one packing.Unplaced) {
	// Messages of AWS may or may not have a full stop.
	e.report.Warn(ctx, one.Pod, unplacedReason, "The pod %s.", strings.TrimRight(one.Reason, "."))
}

// tellTied reports pods that can run on one Node alone: once, and again when that Node is gone.
// Without it nothing in the cluster explains why such a pod gets no node.
func (e *podEvents) tellTied(ctx context.Context, p *pass) reconciling.Outcome {
	p.tied = p.cluster.Tied()
	unplaced := make([]packing.Unplaced, 0, len(p.tied))
	for i := range p.tied {
		unplaced = append(unplaced, packing.Unplaced{Pod: p.tied[i].Pod, Reason: p.tied[i].Explain()})
	}
	e.tied.keep(unplaced, nil)
	silent := e.write(&e.tied, unplaced, func(one packing.Unplaced) { e.report.Warn(ctx, one.Pod, tiedReason, "%s", one.Reason) })
	if len(p.tied) == 0 {
		return reconciling.Continue()
	}
	return reconciling.ContinueAndComeBack(cmp.Or(silent, lookAgain), "the Nodes of local volumes may go, or come back")
}

// tiedReason is the reason of events on pods that wait for one Node alone.
const tiedReason = provisioningv1.VolumeOfOneNodeEvent

// unboundReason is the reason of events on pods that the scheduler does not put where there is a
// place for them.
const unboundReason = provisioningv1.NotBoundEvent

// unkept holds pods that a ready node has a place for, and since when. Launching another node for a
// pod that the scheduler keeps from a good one could go on forever.
type unkept map[types.UID]unkeptPlace

type unkeptPlace struct {
	node  string
	since time.Time
	told  bool
}

// next returns the pods to report now, no more than the most, with their nodes: pods that have had
// the same place for longer than the scheduler may take. Each is reported once.
func (u *unkept) next(places map[types.UID]string, waiting []*corev1.Pod, now time.Time, most int) map[*corev1.Pod]string {
	before := *u
	*u = unkept{}
	next := map[*corev1.Pod]string{}
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
			next[pod], place.told = node, true
		}
		(*u)[pod.UID] = place
	}
	return next
}
