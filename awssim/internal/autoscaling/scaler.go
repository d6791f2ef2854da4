package autoscaling

import (
	"cmp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling/refreshplan"
	"github.com/slipway-project/slipway/awssim/internal/autoscaling/scalein"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// scaler brings groups to their desired capacity, and replaces instances that are unhealthy, too
// old or in the wrong zone.
type scaler struct {
	kernel     *sim.Kernel
	activities *activityLog
	sources    *sources
	lifecycle  *lifecycle
	launcher   *launcher
}

// scale brings the group to its desired capacity.
func (s *scaler) scale(g *group) {
	if s.replaceByPolicy(g) {
		return
	}
	have := g.capacity()
	if b := g.balancing; b != nil {
		if b.starting() {
			have -= b.units // it may exceed the desired capacity until it is in service
		} else {
			g.balancing = nil
		}
	}
	switch {
	case have < g.desired:
		s.launcher.launchUnits(g, g.desired-have, "")
	case have > g.desired && g.outweighed(have-g.desired):
		s.rebalance(g)
	case have > g.desired:
		s.scaleIn(g, have-g.desired)
	default:
		g.cause, g.replacing = "", 0
		s.rebalance(g)
	}
}

// replaceByPolicy replaces instances that are unhealthy but run, or too old, within the bounds of
// the maintenance policy. It reports whether there are any, in which case it has also seen to the
// group's capacity.
func (s *scaler) replaceByPolicy(g *group) bool {
	p := preferences{minHealthy: defaultMinHealthy, maxHealthy: 100}
	if g.maintenance != nil {
		p = preferences{minHealthy: int(*g.maintenance.MinHealthyPercentage), maxHealthy: int(*g.maintenance.MaxHealthyPercentage), maxExplicit: true}
	}
	p.warmup = int(valOr(g.warmup, g.healthCheckWait))
	state := refreshplan.State{Desired: g.desired, MinHealthy: p.minHealthy, MaxHealthy: p.maxHealthy, MaxExplicit: p.maxExplicit, Limit: 100}
	due := false
	for _, m := range g.members {
		member, ok := refreshMemberOf(m, p.warmup, s.kernel.Now())
		if !ok {
			continue
		}
		member.Updated = !needsReplacement(g, m, s.kernel.Now())
		due = due || !member.Updated
		state.Members = append(state.Members, member)
	}
	if !due || g.suspends(processLaunch) || g.suspends(processTerminate) {
		return false
	}
	plan := state.Plan()
	s.carryOut(g, plan, func(m *member) string { return cmp.Or(m.sick, reasonLifetime) }, reasonMaintain)
	return true
}

// refreshMemberOf returns an instance of the live group as the planner of a refresh sees it, and
// false for one that is in the warm pool or gone.
func refreshMemberOf(m *member, warmup int, now time.Time) (refreshplan.Member, bool) {
	r := refreshplan.Member{ID: m.id, Units: m.units, ByRefresh: m.replaced}
	switch {
	case m.warmed():
		return r, false
	case m.leaving():
		r.Phase = refreshplan.PhaseLeaving
	case m.state == types.LifecycleStateStandby || m.state == types.LifecycleStateEnteringStandby:
		r.Phase = refreshplan.PhaseStandby
	case m.starting() || m.replacing():
		r.Phase = refreshplan.PhasePending
	case m.state == types.LifecycleStateInService:
		r.Phase = refreshplan.PhaseWarming
		if m.sick == "" && !now.Before(m.inService.Add(time.Duration(warmup)*time.Second)) {
			r.Phase = refreshplan.PhaseReady
		}
	default:
		return r, false
	}
	return r, true
}

// needsReplacement reports whether an instance is unhealthy or too old.
func needsReplacement(g *group, m *member, now time.Time) bool {
	if m.state != types.LifecycleStateInService {
		return false
	}
	if m.sick != "" {
		return !g.suspends(processReplaceUnhealthy)
	}
	return g.maxLifetime != nil && !now.Before(m.launched.Add(seconds(*g.maxLifetime)))
}

// carryOut starts what a plan says.
func (s *scaler) carryOut(g *group, plan refreshplan.Plan, why func(*member) string, launchReason string) {
	now := s.kernel.Now()
	for _, id := range plan.Terminate {
		m := g.instance(id)
		m.replaced = true
		s.lifecycle.startTermination(g, m, join(causeOutOfService(now, why(m)), causeSelected(now, id)))
	}
	for _, id := range plan.Replace {
		m := g.instance(id)
		s.lifecycle.replaceRoot(g, m, s.sources.imageFor(g, g.refresh, m))
	}
	if plan.Launch > 0 {
		s.launcher.launchUnits(g, plan.Launch, launchReason)
	}
	if plan.ScaleIn > 0 {
		s.scaleIn(g, plan.ScaleIn)
	}
}

// scaleIn takes instances out of service that make up at most the given units.
func (s *scaler) scaleIn(g *group, units int) {
	now := s.kernel.Now()
	if g.suspends(processTerminate) || now.Before(g.holdUntil) {
		return
	}
	for units > 0 {
		victim, ok := s.victim(g, units)
		if !ok {
			return
		}
		units -= victim.units
		if s.backToWarmPool(g, victim) {
			continue
		}
		have := g.capacity()
		s.lifecycle.startTermination(g, victim, join(g.cause, causeCapacity(now, have, have-victim.units), causeSelected(now, victim.id)))
	}
}

// victim returns the instance that leaves next, among the instances with at most the given units.
func (s *scaler) victim(g *group, units int) (*member, bool) {
	config := g.effective()
	current, err := s.sources.base(config)
	if err != nil {
		current = resolved{} // a template that is gone makes every instance outdated
	}
	decision := scalein.Decision{Zones: g.zones, Policies: g.policies, Mixed: config.mixed != nil, Now: s.kernel.Now()}
	decision.SurplusSpot, decision.SurplusOnDemand = surplus(g, config)
	var candidates []scalein.Candidate
	for _, m := range g.members {
		if m.state != types.LifecycleStateInService {
			continue
		}
		candidates = append(candidates, scalein.Candidate{
			ID: m.id, Zone: m.zone, Units: m.units, Spot: m.spot, Unhealthy: m.sick != "", Launched: m.launched,
			Protected:       m.protected || m.units > units,
			CurrentTemplate: m.template != nil && *m.template.LaunchTemplateId == current.id, Version: m.version(),
			Configured: val(val(m.configuration).CreatedTime), Preference: preference(config, m),
		})
	}
	chosen, ok := decision.Choose(candidates)
	if !ok {
		return nil, false
	}
	return g.instance(chosen.ID), true
}

// surplus reports which purchase options would exceed their shares of the distribution once the
// group has shrunk to the desired capacity.
func surplus(g *group, config configuration) (spot, onDemand bool) {
	if config.mixed == nil {
		return false, false
	}
	want := config.onDemandTarget(g.desired)
	total, have := g.purchased()
	return total-have > g.desired-want, have > want
}

// preference returns how far down the list of overrides an instance's type is; one that is no
// longer listed is last.
func preference(config configuration, m *member) int {
	overrides := config.overrides()
	if len(overrides) == 0 {
		return 0
	}
	i := slices.IndexFunc(overrides, func(o types.LaunchTemplateOverrides) bool { return val(o.InstanceType) == m.instanceType })
	if i < 0 {
		return len(overrides)
	}
	return i
}

// backToWarmPool returns an instance to the warm pool on scale-in, if the reuse policy says so (UG
// ec2-auto-scaling-warm-pools).
func (s *scaler) backToWarmPool(g *group, m *member) bool {
	if g.warm == nil || g.warm.reuse == nil || !val(g.warm.reuse.ReuseOnScaleIn) || m.sick != "" {
		return false
	}
	now := s.kernel.Now()
	have := g.capacity()
	m.run = s.activities.begin(g, m, "Moving EC2 instance to warm pool: "+m.id, join(g.cause, causeCapacity(now, have, have-m.units), causeSelected(now, m.id)))
	m.state, m.settle = types.LifecycleStateWarmedPendingProceed, now.Add(reaction)
	return true
}

// rebalance launches an instance in the zone that has the fewest, if another has at least two more
// or instances run in a zone that the group has left; the surplus then goes where there are most.
// One at a time keeps within the ten percent above the maximum that AWS allows (UG
// auto-scaling-benefits, "Rebalancing activities").
func (s *scaler) rebalance(g *group) {
	now := s.kernel.Now()
	if g.suspends(processAZRebalance) || g.suspends(processLaunch) || g.suspends(processTerminate) || now.Before(g.balanceAt) {
		return
	}
	for _, m := range g.members {
		if m.leaving() || m.starting() || m.replacing() {
			return
		}
	}
	if !g.unbalanced() {
		return
	}
	if g.balancing = s.launcher.launchOne(g, reasonBalance, types.LifecycleStatePending); g.balancing == nil {
		// A zone that still has no capacity must not hold up launches elsewhere.
		g.balanceAt, g.failures, g.retryAt = now.Add(lastRetry), 0, time.Time{}
	}
}

// unbalanced reports whether a zone has at least two instances more than another, or instances run
// in zones that are no longer the group's.
func (g *group) unbalanced() bool {
	count := map[string]int{}
	for _, m := range g.members {
		if m.state == types.LifecycleStateInService && !m.protected && !slices.Contains(g.zones, m.zone) {
			return true
		}
		if m.counts() && !g.outOfBalance(m) {
			count[m.zone]++
		}
	}
	most, fewest := 0, count[g.zones[0]]
	for _, z := range g.zones {
		most, fewest = max(most, count[z]), min(fewest, count[z])
	}
	return most-fewest > 1
}

// outweighed reports whether the group's surplus is less than the weight of every instance that
// should leave because the group no longer uses its zone. More replacements have to come then:
// terminating the ones that have come would start over. That AWS goes on until such an instance can
// go is inferred; its documentation does not mention weights here.
func (g *group) outweighed(surplus int) bool {
	if g.suspends(processAZRebalance) || g.suspends(processLaunch) || g.suspends(processTerminate) {
		return false
	}
	least := 0
	for _, m := range g.members {
		if m.state == types.LifecycleStateInService && !m.protected && !slices.Contains(g.zones, m.zone) && (least == 0 || m.units < least) {
			least = m.units
		}
	}
	return least > surplus
}
