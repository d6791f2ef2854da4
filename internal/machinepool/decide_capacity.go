package machinepool

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// shortPatience is the time for which a group may be below its desired capacity before AWS is
	// asked why: instances come within seconds.
	shortPatience = time.Minute
	// shortNoticed is the delay before a group that was just enlarged is checked. Usually its first
	// instance, which status shows, wakes the pool earlier.
	shortNoticed = 10 * time.Second
	// askAfter is the shortest delay before AWS is asked again while the shortage lasts. The delay
	// grows with the duration of the shortage, up to askEvery.
	askAfter = 5 * time.Minute
	askEvery = 30 * time.Minute
	// shortRest is the time for which a group that stays short is watched closely. Afterwards it is
	// checked like a group at rest.
	shortRest = 10 * time.Minute
)

// explainCapacity shows why a group stays below its desired capacity. It is no reason for a pool
// not to be ready: what runs works.
func explainCapacity(in input, plan *reconcile.Plan) {
	group, status := in.Seen.Group, &in.Object.Status
	if group == nil || group.Deleting {
		status.BelowCapacitySince = nil
		return
	}
	if group.Units() >= group.Capacity {
		status.BelowCapacitySince = nil
		if !explainReplacements(in, plan) {
			reconciling.True(in.Object, infrav1.CapacityAvailableCondition, infrav1.CapacityAvailableReason, "")
		}
		return
	}
	if status.BelowCapacitySince == nil && enlarged(in) {
		plan.LookAgain(shortNoticed)
		return
	}
	if status.BelowCapacitySince == nil {
		status.BelowCapacitySince = ptr.To(metav1.NewTime(in.Now))
	}
	if launchSuspended(in) {
		reconciling.False(in.Object, infrav1.CapacityAvailableCondition, infrav1.LaunchSuspendedReason, fmt.Sprintf(
			"the group has %d of %d units of capacity, and its Launch process is suspended, so no instance is "+
				"launched. Resume the process", group.Units(), group.Capacity))
		return
	}
	lasts := shortFor(in)
	if lasts < shortPatience {
		plan.LookAgain(shortPatience - lasts)
		return
	}
	if launch, known := failedLaunch(in, plan); known {
		showShortage(in, plan, launch)
	}
}

// failedLaunch returns the newest launch that failed, nil if none did, and whether AWS has said so. If AWS
// was not asked, the plan needs that. If AWS does not answer, the pool's condition shows why.
func failedLaunch(in input, plan *reconcile.Plan) (launch *autoscalinggroup.FailedLaunch, known bool) {
	failure := in.Seen.FailedLaunch
	switch {
	case !failure.Read && failure.Err == nil:
		plan.Need(needFailedLaunch)
		return nil, false
	case failure.Err != nil:
		pool.ShowFailure(in.Object, plan, infrav1.CapacityAvailableCondition, infrav1.LaunchFailedReason, failure.Err)
		return nil, false
	}
	plan.LookAgain(failure.Again.Sub(in.Now))
	return failure.Launch, true
}

// explainReplacements shows why a refresh launches nothing that launches instances before it terminates
// others: its group has the desired capacity meanwhile. It reports whether it shows something, or is about to.
func explainReplacements(in input, plan *reconcile.Plan) bool {
	group, refresh := in.Seen.Group, latest(in.Seen.Refreshes.List)
	if !refresh.Active() || !launchesFirst(in) || group.Units() > group.Capacity {
		return false
	}
	if lasts := in.Now.Sub(refresh.Started); lasts < shortPatience {
		plan.LookAgain(shortPatience - lasts)
		return false
	}
	launch, known := failedLaunch(in, plan)
	if !known {
		return true
	}
	if launch == nil || launch.At.Before(refresh.Started) {
		return false
	}
	showShortage(in, plan, launch)
	return true
}

// launchesFirst reports whether a refresh may launch an instance before it terminates the one that it replaces
// (AWS: API_RefreshPreferences, MaxHealthyPercentage).
func launchesFirst(in input) bool {
	if preferences := in.Object.Spec.RefreshPreferences; preferences != nil && preferences.MaxHealthyPercentage != nil {
		return *preferences.MaxHealthyPercentage > 100
	}
	return in.Seen.Group.Settings.MaxHealthy > 100
}

// enlarged reports whether the group was given a larger desired capacity in this pass, and status
// shows no instance of it yet.
func enlarged(in input) bool {
	for _, done := range in.Done {
		if update, is := done.Action.(updateGroup); is && done.Err == nil && update.Desired.Capacity != nil && *update.Desired.Capacity > in.Object.Status.Replicas {
			return true
		}
	}
	return false
}

// launchSuspended reports whether the group launches nothing because its process is suspended.
func launchSuspended(in input) bool {
	return slices.Contains(in.Seen.Group.Suspended, autoscalinggroup.ProcessLaunch)
}

// shortFor returns for how long the group has been below its desired capacity.
func shortFor(in input) time.Duration {
	since := in.Object.Status.BelowCapacitySince
	if since == nil {
		return 0
	}
	return in.Now.Sub(since.Time)
}

// nextAsk returns how long after AWS was asked why a group is short it is asked again.
func nextAsk(lasts time.Duration) time.Duration { return min(max(lasts, askAfter), askEvery) }

// showShortage shows why capacity is missing. The numbers are left to status, so that the condition
// does not flap.
func showShortage(in input, plan *reconcile.Plan, launch *autoscalinggroup.FailedLaunch) {
	if launch == nil {
		reconciling.Unknown(in.Object, infrav1.CapacityAvailableCondition, infrav1.WaitingForInstancesReason,
			"the group is below its desired capacity. No launch has failed")
		return
	}
	reason := map[autoscalinggroup.Shortage]string{
		autoscalinggroup.NoCapacity: infrav1.InsufficientCapacityReason, autoscalinggroup.NoQuota: infrav1.QuotaExceededReason,
		autoscalinggroup.NoLaunch: infrav1.LaunchFailedReason,
	}[launch.Shortage]
	before := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.CapacityAvailableCondition)
	if before == nil || before.Status != metav1.ConditionFalse || before.Reason != reason {
		plan.Tell(shortageEvent(in.Seen.Group, launch))
	}
	reconciling.False(in.Object, infrav1.CapacityAvailableCondition, reason, launch.Message)
}

// shortageEvent returns the event that says which launches a group cannot make.
func shortageEvent(group *autoscalinggroup.Group, launch *autoscalinggroup.FailedLaunch) reconcile.Event {
	if group.Units() < group.Capacity {
		return reconcile.Warningf(infrav1.CapacityMissingEvent, "Auto Scaling group %s stays below its desired capacity: %s", group.Name, launch.Message)
	}
	return reconcile.Warningf(infrav1.CapacityMissingEvent, "Auto Scaling group %s cannot launch the instances that replace others: %s", group.Name, launch.Message)
}
