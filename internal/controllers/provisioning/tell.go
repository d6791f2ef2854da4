package provisioning

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// unplacedReason is that of events on pods that no node is launched for.
const unplacedReason = "NoNodeLaunched"

// mostTold bounds how many pods one pass tells of: each event is a write to the API server, a goroutine until it is written, and remembered for six minutes (client-go: tools/events,
// finishTime). The other pods are told of by later passes, of which there is one a minute at least.
const mostTold = 200

// told is what was said last of each pod that waits, nothing if there were too many to say it of. Who is among them was looked at and found no place.
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

// next are the pods to tell of now, no more than the most, and notes that they are told: first those of which nothing was ever said, so that no pod whose reason is another each time
// keeps them from being told, then those whose reason is another than was said.
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

// tell says why pods find no place: once, and again when the reason is another.
func (r *Reconciler) tell(ctx context.Context, p *pass) reconciling.Outcome {
	r.told.keep(p.result.Unplaced, p.result.Deferred)
	r.Report.Progress.PodsPending(p.withTied(p.counts()))
	for _, unplaced := range r.told.next(p.result.Unplaced, mostTold) {
		r.Report.Warn(ctx, unplaced.Pod, unplacedReason, "The pod %s.", unplaced.Reason)
	}
	places := r.existing(p)
	maps.DeleteFunc(places, func(_ types.UID, node string) bool { return !r.ready.known(node) })
	for pod, node := range r.unkept.next(places, p.cluster.Waiting(), r.Clock.Now(), mostTold) {
		r.Report.Warn(ctx, pod, unboundReason, "Node %s is ready and has a place for the pod, and the scheduler does not put it there: "+
			"the pod's condition PodScheduled says why. No other node is launched for it.", node)
	}
	if len(p.result.Unplaced) == 0 {
		return reconciling.Continue()
	}
	wait := lookAgain
	if next, some := r.Refusals.Next(); some {
		wait = min(wait, next)
	}
	if next, some := r.Shortages.Next(); some {
		wait = min(wait, next)
	}
	return reconciling.ContinueAndComeBack(wait, "some pods find no place")
}

// tellTied reports pods that can run on one Node alone: once, and again when that Node is gone. Without it nothing in the cluster explains why such a pod gets no node.
func (r *Reconciler) tellTied(ctx context.Context, p *pass) reconciling.Outcome {
	p.tied = p.cluster.Tied()
	unplaced := make([]packing.Unplaced, 0, len(p.tied))
	for i := range p.tied {
		unplaced = append(unplaced, packing.Unplaced{Pod: p.tied[i].Pod, Reason: p.tied[i].Explain()})
	}
	r.tied.keep(unplaced, nil)
	for _, one := range r.tied.next(unplaced, mostTold) {
		r.Report.Warn(ctx, one.Pod, tiedReason, "%s", one.Reason)
	}
	if len(p.tied) == 0 {
		return reconciling.Continue()
	}
	return reconciling.ContinueAndComeBack(lookAgain, "the Nodes of local volumes may go, or come back")
}

// tiedReason is that of events on pods that wait for one Node alone.
const tiedReason = "VolumeOfOneNode"

// unboundReason is that of events on pods that the scheduler does not put where there is a place for them.
const unboundReason = "NotBound"

// unkept are pods that a ready node has a place for, and since when. To launch another node for a pod that the scheduler keeps from a good one could go on without end.
type unkept map[types.UID]unkeptPlace

type unkeptPlace struct {
	node  string
	since time.Time
	told  bool
}

// next are the pods to tell of now, no more than the most, with their nodes: those that have had the same place for longer than the scheduler may take. Each is told of once.
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
