package autoscaling

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// reconciler compares the current state of a group with the desired one and starts whatever is
// missing.
type reconciler struct {
	kernel    *sim.Kernel
	groups    *groups
	compute   compute
	lifecycle *lifecycle
	scaler    *scaler
	warmPools *warmPools
	refreshes *refreshes
}

// reconcile compares the current state of a group with the desired one and starts whatever is
// missing. It is called when something has happened to the group or when time has passed, and it is
// idempotent.
func (r *reconciler) reconcile(g *group) {
	r.lifecycle.advance(g)
	if g.deleting {
		r.reconcileDeletion(g)
	} else {
		r.checkHealth(g)
		r.replaceUnhealthy(g)
		if !r.refreshes.step(g) {
			r.scaler.scale(g)
		}
		r.warmPools.keep(g)
	}
	if g.gone {
		return
	}
	r.groups.publish(g)
	r.sleep(g)
}

// reconcileDeletion terminates every instance without lifecycle hooks, and removes the group after
// the last.
func (r *reconciler) reconcileDeletion(g *group) {
	now := r.kernel.Now()
	for _, m := range slices.Clone(g.members) {
		if m.fate != "" {
			continue
		}
		m.forced = true
		if !m.leaving() {
			r.lifecycle.startTermination(g, m, join("At "+stamp(now)+" a user request force deleted the AutoScalingGroup.", causeSelected(now, m.id)))
		}
		m.settle, m.actions, m.fate = now, nil, types.LifecycleStateTerminated
		r.compute.terminate(m.id)
	}
	r.lifecycle.advance(g) // EC2 reports nothing of an instance that has terminated already
	if len(g.members) == 0 {
		r.refreshes.cancel(g, "The Auto Scaling group was deleted.")
		r.groups.remove(g)
	}
}

// checkHealth marks instances that do not run, whatever the grace period: it delays other checks
// only (UG health-check-grace-period).
func (r *reconciler) checkHealth(g *group) {
	if g.suspends(processHealthCheck) {
		return
	}
	for _, m := range slices.Clone(g.members) {
		if m.state == types.LifecycleStateInService && m.sick == "" && !r.compute.runs(m) {
			m.sick = reasonHealth
		}
		if m.retained() && r.compute.state(m.id) == ec2types.InstanceStateNameTerminated {
			r.lifecycle.leave(g, m) // it was terminated in EC2 (inference)
			continue
		}
		if state := r.compute.state(m.id); resting(m) && (state == ec2types.InstanceStateNameShuttingDown || state == ec2types.InstanceStateNameTerminated) {
			m.forced = true
			r.lifecycle.startTermination(g, m, causeOutOfService(r.kernel.Now(), reasonHealth))
		}
	}
}

// replaceUnhealthy takes unhealthy instances out of service; their replacements follow. With a
// maintenance policy, instances that still run stay until the policy allows their replacement (UG
// instance-maintenance-policy-overview-and-considerations).
func (r *reconciler) replaceUnhealthy(g *group) {
	if g.suspends(processReplaceUnhealthy) || g.suspends(processTerminate) {
		return
	}
	now := r.kernel.Now()
	for _, m := range slices.Clone(g.members) {
		if m.state != types.LifecycleStateInService || m.sick == "" || g.maintenance != nil && r.compute.runs(m) && g.refresh == nil {
			continue
		}
		g.replacing++
		if g.refresh != nil && m.sequence > g.refresh.startSequence {
			g.refresh.sickSeen = true
		}
		r.lifecycle.startTermination(g, m, causeOutOfService(now, m.sick))
	}
}

// sleep has the group reconciled again at the next moment at which time alone changes something.
func (r *reconciler) sleep(g *group) {
	now := r.kernel.Now()
	var next time.Time
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	consider(g.retryAt)
	consider(g.holdUntil)
	consider(g.balanceAt)
	for _, m := range g.members {
		consider(m.settle)
		if t, ok := m.nextDeadline(); ok {
			consider(t)
		}
		if m.state != types.LifecycleStateInService {
			continue
		}
		if g.maxLifetime != nil {
			consider(m.launched.Add(seconds(*g.maxLifetime)))
		}
		if g.refresh != nil {
			consider(m.inService.Add(time.Duration(g.refresh.prefs.warmup) * time.Second))
		} else if g.maintenance != nil {
			consider(m.inService.Add(seconds(valOr(g.warmup, g.healthCheckWait))))
		}
	}
	if g.refresh != nil {
		g.refresh.deadlines(consider)
	}
	if !next.IsZero() {
		r.groups.wake(g, next.Sub(now))
	}
}
