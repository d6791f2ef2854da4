package autoscaling

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/refreshplan"
)

// Time limits of a refresh (UG instance-refresh-overview, "Limitations").
const (
	refreshLimit = 14 * 24 * time.Hour
	blockedLimit = time.Hour
)

// refresh is one instance refresh.
type refresh struct {
	id string
	// strategy says how instances are updated: by new ones, or by new root volumes.
	strategy types.RefreshStrategy
	status   types.InstanceRefreshStatus
	reason   string
	started  time.Time
	ended    time.Time
	prefs    preferences
	desired  *configuration // nil without a desired configuration
	asked    *types.DesiredConfiguration

	startSequence    int // instances up to it were there before the refresh
	rollbackSequence int // instances up to it were there before the rollback
	// matched what the group named when a refresh without desired configuration started
	skipped map[string]bool

	percent, remaining int
	warmPercent        int
	warmRemaining      int
	best               int // the highest share that was updated and ready: what is above it is progress
	checkpoint         int // index of the next one
	pausedUntil        time.Time
	bakeUntil          time.Time
	blockedSince       time.Time
	// an instance launched by the refresh turned out unhealthy since the last progress
	sickSeen bool
	rollback *types.RollbackDetails
}

// inPlace reports whether the refresh replaces root volumes.
func (r *refresh) inPlace() bool {
	return r != nil && r.strategy == types.RefreshStrategyReplaceRootVolume
}

// progress takes down how far the refresh is.
func (r *refresh) progress(state refreshplan.State, plan refreshplan.Plan) {
	tally := state.Tally()
	if r.rollback == nil {
		r.percent, r.remaining = plan.Percent, plan.Remaining
	} else if state.Desired > 0 {
		// During a rollback the percentage falls from what the refresh had reached to zero (SDK
		// InstanceRefresh.PercentageComplete).
		r.percent = min(r.percent, tally.Old*100/state.Desired)
	}
	if tally.UpdatedReady > r.best || plan.Done {
		r.best = tally.UpdatedReady
		r.blockedSince, r.sickSeen = time.Time{}, false
	}
}

// wait records what the refresh waits for, and since when it cannot continue until a user
// intervenes.
func (r *refresh) wait(plan refreshplan.Plan, launchFailed bool, now time.Time) {
	blocked := launchFailed || r.sickSeen
	switch plan.Wait {
	case refreshplan.WaitPending:
		r.reason = fmt.Sprintf("Waiting for remaining instances to be available. For example: %s has insufficient data to evaluate its health with Amazon EC2.", plan.Example)
	case refreshplan.WaitWarmup:
		r.reason = fmt.Sprintf("Waiting for instances to warm up before continuing. For example: %s is warming up.", plan.Example)
	case refreshplan.WaitTermination:
		r.reason = fmt.Sprintf("Waiting for replaced instances to terminate. For example: %s is terminating.", plan.Example)
	case refreshplan.WaitProtected:
		blocked = true
		r.reason = fmt.Sprintf("Waiting for scale-in protection to be removed from instances. For example: %s is protected from scale in.", plan.Example)
	case refreshplan.WaitStandby:
		blocked = true
		r.reason = fmt.Sprintf("Waiting for instances to leave the Standby state. For example: %s is in Standby.", plan.Example)
	default:
		r.reason = ""
	}
	if launchFailed {
		r.reason = "Waiting for instances to launch: the last launch failed. See the scaling activities of the group."
	}
	if !blocked {
		r.blockedSince = time.Time{}
	} else if r.blockedSince.IsZero() {
		r.blockedSince = now
	}
}

// limit is the share of the group that may be new before the next checkpoint has been passed.
func (r *refresh) limit() int {
	if r.rollback != nil || r.checkpoint >= len(r.prefs.checkpoints) {
		return 100
	}
	return r.prefs.checkpoints[r.checkpoint]
}

// deadlines reports when time alone moves the refresh on.
func (r *refresh) deadlines(consider func(time.Time)) {
	if r.status == types.InstanceRefreshStatusPending {
		consider(r.started.Add(reaction))
	}
	consider(r.pausedUntil)
	consider(r.bakeUntil)
	consider(r.started.Add(refreshLimit))
	if !r.blockedSince.IsZero() {
		consider(r.blockedSince.Add(blockedLimit))
	}
}

// describe returns the refresh as it is shown.
func (r *refresh) describe(group string, warmPool bool) *types.InstanceRefresh {
	d := &types.InstanceRefresh{
		AutoScalingGroupName: ptr(group), InstanceRefreshId: ptr(r.id), Status: r.status, StatusReason: optional(r.reason),
		StartTime: ptr(r.started), PercentageComplete: number(r.percent), InstancesToUpdate: number(r.remaining),
		Preferences: r.prefs.describe(), DesiredConfiguration: r.asked, RollbackDetails: r.rollback, Strategy: r.strategy,
		ProgressDetails: r.progressDetails(warmPool),
	}
	if !r.ended.IsZero() {
		d.EndTime = ptr(r.ended)
	}
	return d
}

// progressDetails returns the progress of the live group and of the warm pool separately, or nil
// for a group without a warm pool (SDK InstanceRefresh).
func (r *refresh) progressDetails(warmPool bool) *types.InstanceRefreshProgressDetails {
	if !warmPool {
		return nil
	}
	return &types.InstanceRefreshProgressDetails{
		LivePoolProgress: &types.InstanceRefreshLivePoolProgress{InstancesToUpdate: number(r.remaining), PercentageComplete: number(r.percent)},
		WarmPoolProgress: &types.InstanceRefreshWarmPoolProgress{InstancesToUpdate: number(r.warmRemaining), PercentageComplete: number(r.warmPercent)},
	}
}
