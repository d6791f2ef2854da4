package autoscaling

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/refreshplan"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// refreshes takes the steps of active instance refreshes.
type refreshes struct {
	region    *sim.Region
	kernel    *sim.Kernel
	alarms    map[string]AlarmState
	groups    *groups
	sources   *sources
	scaler    *scaler
	warmPools *warmPools
}

// step takes the next step of the active refresh and reports whether it has seen to the
// group's capacity.
func (rs *refreshes) step(g *group) bool {
	r := g.refresh
	if r == nil {
		return false
	}
	now := rs.kernel.Now()
	if r.status == types.InstanceRefreshStatusPending && !now.Before(r.started.Add(reaction)) {
		r.status = types.InstanceRefreshStatusInProgress
		rs.markSkipped(g, r)
	}
	if r.status != types.InstanceRefreshStatusPending && r.status != types.InstanceRefreshStatusCancelling {
		if why := rs.failure(r); why != "" {
			rs.fail(g, why)
			return false
		}
	}
	switch r.status {
	case types.InstanceRefreshStatusInProgress, types.InstanceRefreshStatusRollbackInProgress:
		return rs.replaceNext(g, r)
	case types.InstanceRefreshStatusBaking:
		if !now.Before(r.bakeUntil) {
			rs.succeed(g, r)
		}
	case types.InstanceRefreshStatusCancelling:
		if !g.inTransition() {
			rs.finish(g, types.InstanceRefreshStatusCancelled, "Cancelled due to user request.")
		}
	default:
	}
	return false
}

// failure returns why an active refresh must fail now, or nothing.
func (rs *refreshes) failure(r *refresh) string {
	now := rs.kernel.Now()
	for _, name := range r.prefs.alarms {
		if rs.alarms[name] == AlarmFiring && r.status != types.InstanceRefreshStatusRollbackInProgress {
			return fmt.Sprintf("CloudWatch alarm %s is in ALARM state.", name)
		}
	}
	switch {
	case !now.Before(r.started.Add(refreshLimit)):
		return "The instance refresh exceeded the maximum duration of 14 days."
	case !r.blockedSince.IsZero() && !now.Before(r.blockedSince.Add(blockedLimit)):
		return "The instance refresh made no progress for one hour. " + r.reason
	}
	return ""
}

// replaceNext does what the plan says. While the refresh is paused, it only keeps the group at its capacity.
func (rs *refreshes) replaceNext(g *group, r *refresh) bool {
	now := rs.kernel.Now()
	state := rs.state(g, r)
	plan := state.Plan()
	r.progress(state, plan)
	suspended := g.suspends(processInstanceRefresh) || g.suspends(processLaunch) || g.suspends(processTerminate)
	if rs.reachCheckpoint(g, r, state, plan) {
		return false
	}
	if suspended || now.Before(r.pausedUntil) {
		r.blockedSince = time.Time{}
		r.reason = "The instance refresh is paused at a checkpoint until " + stamp(r.pausedUntil) + "."
		if suspended {
			r.reason = "The instance refresh is paused: the InstanceRefresh, Launch or Terminate process is suspended."
		}
		total := state.Tally().Total
		rs.scaler.carryOut(g, refreshplan.Plan{Launch: max(0, g.desired-total), ScaleIn: plan.ScaleIn}, nil, "")
		return true
	}
	if plan.Done {
		if rs.warmPools.replaceOutdated(g, r) {
			rs.complete(g, r)
		}
		return true
	}
	rs.scaler.carryOut(g, plan, func(*member) string { return reasonRefresh }, reasonRefresh)
	r.wait(plan, g.failures > 0, now)
	return true
}

// reachCheckpoint passes every checkpoint whose share is new, healthy and warm, and pauses the
// refresh after it; the last finishes it, even below 100 percent (UG
// asg-adding-checkpoints-instance-refresh). It reports whether the refresh has finished.
func (rs *refreshes) reachCheckpoint(g *group, r *refresh, state refreshplan.State, plan refreshplan.Plan) bool {
	if r.rollback != nil || len(r.prefs.checkpoints) == 0 || g.desired == 0 || plan.Done {
		return false
	}
	tally := state.Tally()
	share := tally.UpdatedReady * 100 / g.desired
	// A group that grows falls below checkpoints that it had passed, and reaches them again: the
	// same page, "Considerations".
	for r.checkpoint > 0 && tally.Updated*100/g.desired < r.prefs.checkpoints[r.checkpoint-1] {
		r.checkpoint--
	}
	next := r.checkpoint
	for next < len(r.prefs.checkpoints) && r.prefs.checkpoints[next] <= share && r.prefs.checkpoints[next] < 100 {
		next++
	}
	switch {
	case next == r.checkpoint:
		return false
	case next == len(r.prefs.checkpoints):
		if tally.Going != "" {
			return false // what was replaced has to be gone first
		}
		r.checkpoint = next
		rs.complete(g, r)
		return true
	}
	r.checkpoint = next
	publishCheckpoint(rs.region, g, r)
	r.pausedUntil = rs.kernel.Now().Add(time.Duration(r.prefs.checkpointDelay) * time.Second)
	return false
}

// complete begins the bake time, or finishes the refresh or its rollback.
func (rs *refreshes) complete(g *group, r *refresh) {
	if r.rollback != nil {
		rs.finish(g, types.InstanceRefreshStatusRollbackSuccessful, "")
		return
	}
	if r.prefs.bakeTime > 0 {
		r.status, r.reason = types.InstanceRefreshStatusBaking, "Waiting for the bake time to end."
		r.bakeUntil = rs.kernel.Now().Add(time.Duration(r.prefs.bakeTime) * time.Second)
		return
	}
	rs.succeed(g, r)
}

// succeed makes the desired configuration the group's.
func (rs *refreshes) succeed(g *group, r *refresh) {
	if r.desired != nil {
		g.config = *r.desired
	}
	rs.finish(g, types.InstanceRefreshStatusSuccessful, "")
}

// fail records that a refresh cannot go on, or rolls it back if it was asked to.
func (rs *refreshes) fail(g *group, why string) {
	r := g.refresh
	switch {
	case r.rollback != nil:
		rs.finish(g, types.InstanceRefreshStatusRollbackFailed, why)
	case r.prefs.autoRollback:
		rs.beginRollback(g, "Automatic rollback: "+why)
		rs.groups.wake(g, reaction)
	default:
		rs.finish(g, types.InstanceRefreshStatusFailed, why)
	}
}

// beginRollback turns the refresh around: what it launched is replaced by what the group names.
func (rs *refreshes) beginRollback(g *group, why string) {
	r := g.refresh
	now := rs.kernel.Now()
	r.rollback = &types.RollbackDetails{
		RollbackReason: ptr(why), RollbackStartTime: ptr(now), PercentageCompleteOnRollback: number(r.percent),
		InstancesToUpdateOnRollback: number(r.remaining), ProgressDetailsOnRollback: r.progressDetails(g.warm != nil),
	}
	r.status, r.reason = types.InstanceRefreshStatusRollbackInProgress, ""
	r.rollbackSequence = g.launches
	r.best, r.blockedSince, r.sickSeen, r.pausedUntil = 0, time.Time{}, false, time.Time{}
	g.failures, g.retryAt = 0, time.Time{}
}

// finish records the result of the active refresh, after which the group has none.
func (rs *refreshes) finish(g *group, status types.InstanceRefreshStatus, reason string) {
	r := g.refresh
	r.status, r.reason, r.ended = status, reason, rs.kernel.Now()
	publishRefresh(rs.region, g, r)
	rs.groups.refreshes.Put(r.id, r.describe(g.name, g.warm != nil))
	g.past = append(g.past, r)
	g.refresh = nil
	for _, m := range g.members {
		m.replaced = false
	}
	rs.groups.wake(g, reaction)
}

// cancel cancels the active refresh of a group, if it has one.
func (rs *refreshes) cancel(g *group, why string) {
	if g.refresh != nil {
		rs.finish(g, types.InstanceRefreshStatusCancelled, why)
	}
}

// state returns the group as the planner sees it, oldest instances first.
func (rs *refreshes) state(g *group, r *refresh) refreshplan.State {
	state := refreshplan.State{Desired: g.desired, MinHealthy: r.prefs.minHealthy, MaxHealthy: r.prefs.maxHealthy,
		MaxExplicit: r.prefs.maxExplicit, Limit: r.limit(), InPlace: r.inPlace()}
	for _, m := range g.members {
		member, ok := refreshMemberOf(m, r.prefs.warmup, rs.kernel.Now())
		if !ok {
			continue
		}
		member.Updated = rs.sources.updated(g, r, m)
		member.NewRoot = r.inPlace() && rs.sources.imageFor(g, r, m) != ""
		switch {
		case m.state == types.LifecycleStateStandby:
			member.Treatment = map[types.StandbyInstances]refreshplan.Treatment{
				types.StandbyInstancesTerminate: refreshplan.TreatReplace, types.StandbyInstancesIgnore: refreshplan.TreatIgnore, types.StandbyInstancesWait: refreshplan.TreatWait,
			}[r.prefs.standby]
		case m.protected:
			member.Treatment = map[types.ScaleInProtectedInstances]refreshplan.Treatment{
				types.ScaleInProtectedInstancesRefresh: refreshplan.TreatReplace, types.ScaleInProtectedInstancesIgnore: refreshplan.TreatIgnore,
				types.ScaleInProtectedInstancesWait: refreshplan.TreatWait,
			}[r.prefs.scaleInProtected]
		}
		state.Members = append(state.Members, member)
	}
	return state
}

// markSkipped notes which instances match what the group names when a refresh without desired
// configuration starts.
func (rs *refreshes) markSkipped(g *group, r *refresh) {
	r.skipped = map[string]bool{}
	if !r.prefs.skipMatching || r.desired != nil {
		return
	}
	for _, m := range g.members {
		r.skipped[m.id] = rs.sources.matches(m, g.config)
	}
}
