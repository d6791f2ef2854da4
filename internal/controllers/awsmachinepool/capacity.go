package awsmachinepool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

const (
	// shortPatience is how long a group may be below its desired capacity before somebody asks why: instances come within seconds.
	shortPatience = time.Minute
	// askAfter is when it is asked again, if it lasts, and then after as long as it has lasted, up to askEvery.
	askAfter = 5 * time.Minute
	askEvery = 30 * time.Minute
	// shortRest is how long a group that stays short is watched closely. After it, it is looked at like one at rest.
	shortRest = 10 * time.Minute
)

// explainCapacity says why a group stays below its desired capacity. It is no reason for a pool not to be ready: what runs works.
func (r *Reconciler) explainCapacity(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil || p.group.Deleting {
		return reconciling.Continue()
	}
	now := r.Clock.Now()
	if p.group.Units() >= p.group.Capacity {
		r.short.Reset(p.key())
		r.asked.Forget(p.key())
		reconciling.True(p.pool, infrav1.CapacityAvailableCondition, infrav1.CapacityAvailableReason, "")
		return reconciling.Continue()
	}
	if slices.Contains(p.group.Suspended, autoscalinggroup.ProcessLaunch) {
		p.resting = true
		reconciling.False(p.pool, infrav1.CapacityAvailableCondition, infrav1.LaunchSuspendedReason, fmt.Sprintf(
			"%d of %d units of capacity are there, and the group's process Launch is suspended: resume it", p.group.Units(), p.group.Capacity))
		return reconciling.Continue()
	}
	lasts := r.short.Elapsed(p.key(), now)
	p.resting = lasts >= shortRest
	if lasts < shortPatience {
		return reconciling.ContinueAndComeBack(shortPatience-lasts, "the group is below its desired capacity")
	}
	if until, _ := r.asked.Get(p.key()); until.After(now) {
		return reconciling.ContinueAndComeBack(until.Sub(now), "the group is below its desired capacity")
	}
	again := min(max(lasts, askAfter), askEvery)
	failed, err := p.cloud.Groups.LatestFailedLaunch(ctx, p.group.Name, again)
	if err != nil {
		return outcome.Of(p.pool, infrav1.CapacityAvailableCondition, infrav1.LaunchFailedReason, err).AndGoOn()
	}
	r.asked.Put(p.key(), now.Add(again))
	r.showShortage(ctx, p, failed)
	return reconciling.ContinueAndComeBack(again, "the group is below its desired capacity")
}

// showShortage shows it. The numbers are left to status, so that the condition does not flap.
func (r *Reconciler) showShortage(ctx context.Context, p *pass, failed *autoscalinggroup.FailedLaunch) {
	if failed == nil {
		reconciling.Unknown(p.pool, infrav1.CapacityAvailableCondition, infrav1.WaitingForInstancesReason,
			"the group is below its desired capacity, and no launch failed")
		return
	}
	reason := map[autoscalinggroup.Shortage]string{
		autoscalinggroup.NoCapacity: infrav1.InsufficientCapacityReason, autoscalinggroup.NoQuota: infrav1.QuotaExceededReason,
		autoscalinggroup.NoLaunch: infrav1.LaunchFailedReason,
	}[failed.Shortage]
	before := meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.CapacityAvailableCondition)
	if before == nil || before.Status != metav1.ConditionFalse || before.Reason != reason {
		r.Report.Warn(ctx, p.pool, "CapacityMissing", "Auto Scaling group %s stays below its desired capacity: %s", p.group.Name, failed.Message)
	}
	reconciling.False(p.pool, infrav1.CapacityAvailableCondition, reason, failed.Message)
}
