package provisioning

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// unplacedReason is that of events on pods that no node is launched for.
const unplacedReason = "NoNodeLaunched"

// mostTold bounds how many pods one pass tells of: each event is a write to the API server, and a goroutine until it is written. The other pods are told of by later passes.
const mostTold = 200

// told is what was said last of each pod, nothing if there were too many. Who is among them was looked at and found no place.
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

// tell says why pods find no place: once, and again when the reason is another.
func (r *Reconciler) tell(ctx context.Context, p *pass) reconciling.Outcome {
	if r.told == nil {
		r.told = told{}
	}
	r.told.keep(p.result.Unplaced, p.result.Deferred)
	said := 0
	for i := range p.result.Unplaced {
		unplaced := &p.result.Unplaced[i]
		switch {
		case r.told[unplaced.Pod.UID] == unplaced.Reason:
		case said < mostTold:
			said++
			r.told[unplaced.Pod.UID] = unplaced.Reason
			r.Report.Warn(ctx, unplaced.Pod, unplacedReason, "The pod %s.", unplaced.Reason)
		default:
			r.told[unplaced.Pod.UID] = ""
		}
	}
	if len(p.result.Unplaced) == 0 {
		return reconciling.Continue()
	}
	wait := lookAgain
	if next, some := r.Shortages.Next(); some {
		wait = min(wait, next)
	}
	return reconciling.ContinueAndComeBack(wait, "some pods find no place")
}
