package autoscaling

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
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

// effective is what the group launches now: during a refresh with a desired configuration, that one
// (UG instance-refresh-overview).
func (g *group) effective() configuration {
	if r := g.refresh; r != nil && r.desired != nil {
		if r.status == types.InstanceRefreshStatusInProgress || r.status == types.InstanceRefreshStatusBaking {
			return *r.desired
		}
	}
	return g.config
}

// stepRefresh takes the next step of the active refresh and reports whether it has seen to the
// group's capacity.
func (s *service) stepRefresh(g *group) bool {
	r := g.refresh
	if r == nil {
		return false
	}
	now := s.kernel.Now()
	if r.status == types.InstanceRefreshStatusPending && !now.Before(r.started.Add(reaction)) {
		r.status = types.InstanceRefreshStatusInProgress
		s.markSkipped(g, r)
	}
	if r.status != types.InstanceRefreshStatusPending && r.status != types.InstanceRefreshStatusCancelling {
		if why := s.refreshFailure(r); why != "" {
			s.failRefresh(g, why)
			return false
		}
	}
	switch r.status {
	case types.InstanceRefreshStatusInProgress, types.InstanceRefreshStatusRollbackInProgress:
		return s.replaceNext(g, r)
	case types.InstanceRefreshStatusBaking:
		if !now.Before(r.bakeUntil) {
			s.succeed(g, r)
		}
	case types.InstanceRefreshStatusCancelling:
		if !g.inTransition() {
			s.endRefresh(g, types.InstanceRefreshStatusCancelled, "Cancelled due to user request.")
		}
	default:
	}
	return false
}

// refreshFailure returns why an active refresh must fail now, or nothing.
func (s *service) refreshFailure(r *refresh) string {
	now := s.kernel.Now()
	for _, name := range r.prefs.alarms {
		if s.alarms[name] == AlarmFiring && r.status != types.InstanceRefreshStatusRollbackInProgress {
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
func (s *service) replaceNext(g *group, r *refresh) bool {
	now := s.kernel.Now()
	state := s.refreshState(g, r)
	plan := state.plan()
	r.progress(state, plan)
	suspended := g.suspends(processInstanceRefresh) || g.suspends(processLaunch) || g.suspends(processTerminate)
	if s.reachCheckpoint(g, r, state, plan) {
		return false
	}
	if suspended || now.Before(r.pausedUntil) {
		r.blockedSince = time.Time{}
		r.reason = "The instance refresh is paused at a checkpoint until " + stamp(r.pausedUntil) + "."
		if suspended {
			r.reason = "The instance refresh is paused: the InstanceRefresh, Launch or Terminate process is suspended."
		}
		total := state.tally().total
		s.carryOut(g, refreshPlan{launch: max(0, g.desired-total), scaleIn: plan.scaleIn}, nil, "")
		return true
	}
	if plan.done {
		if s.refreshWarmPool(g, r) {
			s.complete(g, r)
		}
		return true
	}
	s.carryOut(g, plan, func(*member) string { return reasonRefresh }, reasonRefresh)
	r.wait(g, plan, now)
	return true
}

// progress takes down how far the refresh is.
func (r *refresh) progress(state refreshState, plan refreshPlan) {
	tally := state.tally()
	if r.rollback == nil {
		r.percent, r.remaining = plan.percent, plan.remaining
	} else if state.desired > 0 {
		// What the refresh had deployed goes back to zero (SDK InstanceRefresh.PercentageComplete).
		r.percent = min(r.percent, tally.old*100/state.desired)
	}
	if tally.updatedReady > r.best || plan.done {
		r.best = tally.updatedReady
		r.blockedSince, r.sickSeen = time.Time{}, false
	}
}

// wait says what the refresh waits for, and since when it cannot go on without somebody's help.
func (r *refresh) wait(g *group, plan refreshPlan, now time.Time) {
	blocked := g.failures > 0 || r.sickSeen
	switch plan.wait {
	case waitPending:
		r.reason = fmt.Sprintf("Waiting for remaining instances to be available. For example: %s has insufficient data to evaluate its health with Amazon EC2.", plan.example)
	case waitWarmup:
		r.reason = fmt.Sprintf("Waiting for instances to warm up before continuing. For example: %s is warming up.", plan.example)
	case waitTermination:
		r.reason = fmt.Sprintf("Waiting for replaced instances to terminate. For example: %s is terminating.", plan.example)
	case waitProtected:
		blocked = true
		r.reason = fmt.Sprintf("Waiting for scale-in protection to be removed from instances. For example: %s is protected from scale in.", plan.example)
	case waitStandby:
		blocked = true
		r.reason = fmt.Sprintf("Waiting for instances to leave the Standby state. For example: %s is in Standby.", plan.example)
	default:
		r.reason = ""
	}
	if g.failures > 0 {
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

// reachCheckpoint passes every checkpoint whose share is new, healthy and warm, and pauses the
// refresh after it; the last ends it, even below 100 percent (UG
// asg-adding-checkpoints-instance-refresh). It reports whether the refresh has ended.
func (s *service) reachCheckpoint(g *group, r *refresh, state refreshState, plan refreshPlan) bool {
	if r.rollback != nil || len(r.prefs.checkpoints) == 0 || g.desired == 0 || plan.done {
		return false
	}
	tally := state.tally()
	share := tally.updatedReady * 100 / g.desired
	// A group that grows falls below checkpoints that it had passed, and reaches them again: the
	// same page, "Considerations".
	for r.checkpoint > 0 && tally.updated*100/g.desired < r.prefs.checkpoints[r.checkpoint-1] {
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
		if tally.going != "" {
			return false // what was replaced has to be gone first
		}
		r.checkpoint = next
		s.complete(g, r)
		return true
	}
	r.checkpoint = next
	s.publishCheckpoint(g, r)
	r.pausedUntil = s.kernel.Now().Add(time.Duration(r.prefs.checkpointDelay) * time.Second)
	return false
}

// complete begins the bake time, or ends the refresh or its rollback.
func (s *service) complete(g *group, r *refresh) {
	if r.rollback != nil {
		s.endRefresh(g, types.InstanceRefreshStatusRollbackSuccessful, "")
		return
	}
	if r.prefs.bakeTime > 0 {
		r.status, r.reason = types.InstanceRefreshStatusBaking, "Waiting for the bake time to end."
		r.bakeUntil = s.kernel.Now().Add(time.Duration(r.prefs.bakeTime) * time.Second)
		return
	}
	s.succeed(g, r)
}

// succeed makes the desired configuration the group's.
func (s *service) succeed(g *group, r *refresh) {
	if r.desired != nil {
		g.config = *r.desired
	}
	s.endRefresh(g, types.InstanceRefreshStatusSuccessful, "")
}

// failRefresh ends a refresh that cannot go on, or rolls it back if it was asked to.
func (s *service) failRefresh(g *group, why string) {
	r := g.refresh
	switch {
	case r.rollback != nil:
		s.endRefresh(g, types.InstanceRefreshStatusRollbackFailed, why)
	case r.prefs.autoRollback:
		s.beginRollback(g, "Automatic rollback: "+why)
		s.wake(g, reaction)
	default:
		s.endRefresh(g, types.InstanceRefreshStatusFailed, why)
	}
}

// beginRollback turns the refresh around: what it launched is replaced by what the group names.
func (s *service) beginRollback(g *group, why string) {
	r := g.refresh
	now := s.kernel.Now()
	r.rollback = &types.RollbackDetails{
		RollbackReason: ptr(why), RollbackStartTime: ptr(now), PercentageCompleteOnRollback: number(r.percent),
		InstancesToUpdateOnRollback: number(r.remaining), ProgressDetailsOnRollback: r.progressDetails(g),
	}
	r.status, r.reason = types.InstanceRefreshStatusRollbackInProgress, ""
	r.rollbackSequence = g.launches
	r.best, r.blockedSince, r.sickSeen, r.pausedUntil = 0, time.Time{}, false, time.Time{}
	g.failures, g.retryAt = 0, time.Time{}
}

// endRefresh ends the active refresh.
func (s *service) endRefresh(g *group, status types.InstanceRefreshStatus, reason string) {
	r := g.refresh
	r.status, r.reason, r.ended = status, reason, s.kernel.Now()
	s.publishRefresh(g, r)
	s.refreshes.Put(r.id, r.describe(g))
	g.past = append(g.past, r)
	g.refresh = nil
	for _, m := range g.members {
		m.replaced = false
	}
	s.wake(g, reaction)
}

// inTransition reports whether instances are on their way in or out.
func (g *group) inTransition() bool {
	for _, m := range g.members {
		if m.starting() || m.leaving() || m.replacing() {
			return true
		}
	}
	return false
}

// refreshState is the group as the planner sees it, oldest instances first.
func (s *service) refreshState(g *group, r *refresh) refreshState {
	state := refreshState{desired: g.desired, minHealthy: r.prefs.minHealthy, maxHealthy: r.prefs.maxHealthy,
		maxExplicit: r.prefs.maxExplicit, limit: r.limit(), inPlace: r.inPlace()}
	for _, m := range g.members {
		member, ok := s.refreshMember(m, r.prefs.warmup)
		if !ok {
			continue
		}
		member.updated = s.updated(g, r, m)
		member.newRoot = r.inPlace() && s.imageFor(g, r, m) != ""
		switch {
		case m.state == types.LifecycleStateStandby:
			member.treatment = map[types.StandbyInstances]refreshTreatment{
				types.StandbyInstancesTerminate: treatReplace, types.StandbyInstancesIgnore: treatIgnore, types.StandbyInstancesWait: treatWait,
			}[r.prefs.standby]
		case m.protected:
			member.treatment = map[types.ScaleInProtectedInstances]refreshTreatment{
				types.ScaleInProtectedInstancesRefresh: treatReplace, types.ScaleInProtectedInstancesIgnore: treatIgnore,
				types.ScaleInProtectedInstancesWait: treatWait,
			}[r.prefs.scaleInProtected]
		}
		state.members = append(state.members, member)
	}
	return state
}

// refreshMember says where an instance of the live group stands.
func (s *service) refreshMember(m *member, warmup int) (refreshMember, bool) {
	r := refreshMember{id: m.id, units: m.units, byRefresh: m.replaced}
	switch {
	case m.warmed():
		return r, false
	case m.leaving():
		r.phase = phaseLeaving
	case m.state == types.LifecycleStateStandby || m.state == types.LifecycleStateEnteringStandby:
		r.phase = phaseStandby
	case m.starting() || m.replacing():
		r.phase = phasePending
	case m.state == types.LifecycleStateInService:
		r.phase = phaseWarming
		if m.sick == "" && !s.kernel.Now().Before(m.inService.Add(time.Duration(warmup)*time.Second)) {
			r.phase = phaseReady
		}
	default:
		return r, false
	}
	return r, true
}

// updated reports whether an instance runs what the refresh, or its rollback, wants.
func (s *service) updated(g *group, r *refresh, m *member) bool {
	switch {
	case r.inPlace():
		return s.updatedInPlace(g, r, m)
	case r.rollback != nil:
		return m.sequence <= r.startSequence || m.sequence > r.rollbackSequence
	case r.desired != nil:
		// With $Latest or $Default, a version made meanwhile has instances replaced again (UG
		// asg-instance-refresh-skip-matching).
		return (m.sequence > r.startSequence || r.prefs.skipMatching) && s.matches(m, *r.desired)
	}
	return m.sequence > r.startSequence || r.skipped[m.id]
}

// markSkipped notes which instances match what the group names when a refresh without desired
// configuration starts.
func (s *service) markSkipped(g *group, r *refresh) {
	r.skipped = map[string]bool{}
	if !r.prefs.skipMatching || r.desired != nil {
		return
	}
	for _, m := range g.members {
		r.skipped[m.id] = s.matches(m, g.config)
	}
}

// matches reports whether an instance was launched from what a configuration names now: the launch
// template and its version, and one of its instance types and images (UG
// asg-instance-refresh-skip-matching). That a launch configuration matches too is an inference.
func (s *service) matches(m *member, config configuration) bool {
	if config.launchConfiguration != "" {
		return val(s.nameOf(m.configuration)) == config.launchConfiguration
	}
	if m.template == nil {
		return false
	}
	fits := func(spec *types.LaunchTemplateSpecification) bool {
		t, err := s.resolve(spec)
		return err == nil && t.id == *m.template.LaunchTemplateId && t.number == m.version()
	}
	overrides := config.overrides()
	if len(overrides) == 0 {
		return m.imageID == "" && fits(config.specification())
	}
	for _, o := range overrides {
		spec := config.specification()
		if o.LaunchTemplateSpecification != nil {
			spec = o.LaunchTemplateSpecification
		}
		if (o.InstanceType == nil || *o.InstanceType == m.instanceType) && val(o.ImageId) == m.imageID && fits(spec) {
			return true
		}
	}
	return false
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
