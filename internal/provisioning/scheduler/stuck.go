package scheduler

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// volumeTime is the time that a PersistentVolumeClaim may take to be created, and to be bound where
// that does not wait for its pod. Only then is it worth an event.
const volumeTime = 30 * time.Second

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

// tellStuck reports pods that no node helps, because of a volume: once, and again if the reason is another.
func (e *podEvents) tellStuck(ctx context.Context, p *pass) reconciling.Outcome {
	p.stuck = p.cluster.Stuck()
	lasting := e.stuck.lasting(p.stuck, e.clock.Now())
	e.toldStuck.keep(lasting, nil)
	silent := e.write(&e.toldStuck, lasting, func(one packing.Unplaced) { e.warnUnplaced(ctx, one) })
	switch {
	case len(p.stuck) == 0:
		return reconciling.Continue()
	case len(lasting) < len(p.stuck):
		silent = tellAgain
	}
	return reconciling.ContinueAndComeBack(cmp.Or(silent, lookAgain), "volumes may be there")
}
