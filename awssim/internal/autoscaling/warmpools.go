package autoscaling

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/refreshplan"
	"github.com/slipway-project/slipway/awssim/internal/list"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// warmPools keeps warm pools at their size, and their instances up to date.
type warmPools struct {
	kernel    *sim.Kernel
	sources   *sources
	lifecycle *lifecycle
	launcher  *launcher
}

// keep brings the warm pool to its size, once the live group has what it needs.
func (p *warmPools) keep(g *group) {
	if g.warm == nil {
		return
	}
	pool := list.Filter(g.members, func(m *member) bool { return m.warmed() && !m.leaving() })
	now := p.kernel.Now()
	want := g.warm.size(g.max, g.desired)
	switch {
	case len(pool) > want && !g.suspends(processTerminate):
		for _, m := range list.Filter(pool, resting)[:min(len(pool)-want, len(list.Filter(pool, resting)))] {
			p.lifecycle.startTermination(g, m, join(causeOutOfService(now, "a difference between the desired and actual size of the warm pool"), causeSelected(now, m.id)))
		}
	case len(pool) < want && g.capacity() >= g.desired && !g.suspends(processLaunch) && !now.Before(g.retryAt):
		for range want - len(pool) {
			reason := fmt.Sprintf("a difference between desired and actual capacity of the warm pool, increasing the warm pool capacity to %d", want)
			if p.launcher.launchOne(g, reason, types.LifecycleStateWarmedPending) == nil {
				break
			}
		}
	}
	if g.warm.deleting && len(list.Filter(g.members, (*member).warmed)) == 0 {
		g.warm = nil
	}
}

// replaceOutdated replaces what rests in the warm pool after the live group has been updated, and
// reports whether that is done. The minimum healthy percentage applies to the pool by itself (UG
// instance-maintenance-policy-overview-and-considerations).
func (p *warmPools) replaceOutdated(g *group, r *refresh) bool {
	if g.warm == nil {
		return true
	}
	var old, all, going int
	for _, m := range g.members {
		switch {
		case !m.warmed():
		case m.leaving():
			going++
		default:
			all++
			if !p.sources.updated(g, r, m) {
				old++
			}
		}
	}
	want := g.warm.size(g.max, g.desired)
	r.warmRemaining, r.warmPercent = old, 100
	if want > 0 {
		r.warmPercent = max(0, min(100, (all-old)*100/want))
	}
	if old == 0 {
		return going == 0 && all >= want
	}
	floor := min(refreshplan.PercentUp(want, r.prefs.minHealthy), max(want-1, 0))
	now := p.kernel.Now()
	for _, m := range slices.Clone(g.members) {
		if all-1 < floor {
			break
		}
		if resting(m) && !p.sources.updated(g, r, m) {
			p.lifecycle.startTermination(g, m, join(causeOutOfService(now, reasonRefresh), causeSelected(now, m.id)))
			all--
		}
	}
	r.reason = "Waiting for instances of the warm pool to be replaced."
	return false
}
