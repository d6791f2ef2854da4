package autoscaling

import (
	"cmp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Reasons of launches and terminations, as they are worded in causes of activities.
const (
	reasonHealth   = "an EC2 health check indicating it has been terminated or stopped"
	reasonUserSick = "a user health-check"
	reasonRefresh  = "an instance refresh"
	reasonLifetime = "the maximum instance lifetime being exceeded"
	reasonBalance  = "Availability Zones of the group not being balanced"
	reasonMaintain = "an instance needing to be replaced"
)

// reconcile looks at a group as it is now and starts whatever is missing. It is called when
// something has happened to the group or when time has passed, and doing it once more changes
// nothing.
func (s *service) reconcile(g *group) {
	s.advance(g)
	if g.deleting {
		s.reconcileDeletion(g)
	} else {
		s.checkHealth(g)
		s.replaceUnhealthy(g)
		if !s.stepRefresh(g) {
			s.scale(g)
		}
		s.keepWarmPool(g)
	}
	if g.gone {
		return
	}
	s.publish(g)
	s.sleep(g)
}

// reconcileDeletion ends every instance without lifecycle hooks, and the group after the last.
func (s *service) reconcileDeletion(g *group) {
	now := s.kernel.Now()
	for _, m := range slices.Clone(g.members) {
		if m.fate != "" {
			continue
		}
		m.forced = true
		if !m.leaving() {
			s.startTermination(g, m, join("At "+stamp(now)+" a user request force deleted the AutoScalingGroup.", causeSelected(now, m.id)))
		}
		m.settle, m.actions, m.fate = now, nil, types.LifecycleStateTerminated
		s.terminate(m.id)
	}
	if len(g.members) == 0 {
		s.drop(g)
	}
}

// checkHealth marks instances that do not run, whatever the grace period: it delays other checks
// only (UG health-check-grace-period).
func (s *service) checkHealth(g *group) {
	if g.suspends(processHealthCheck) {
		return
	}
	for _, m := range slices.Clone(g.members) {
		if m.state == types.LifecycleStateInService && m.sick == "" && !s.runs(m) {
			m.sick = reasonHealth
		}
		if m.retained() && s.instanceState(m.id) == ec2types.InstanceStateNameTerminated {
			s.leave(g, m) // somebody ended it in EC2 (inference)
			continue
		}
		if state := s.instanceState(m.id); resting(m) && (state == ec2types.InstanceStateNameShuttingDown || state == ec2types.InstanceStateNameTerminated) {
			m.forced = true
			s.startTermination(g, m, causeOutOfService(s.kernel.Now(), reasonHealth))
		}
	}
}

func (s *service) runs(m *member) bool {
	state := s.instanceState(m.id)
	return state == ec2types.InstanceStateNameRunning || state == ec2types.InstanceStateNamePending
}

// replaceUnhealthy takes unhealthy instances out of service; their replacements follow. With a
// maintenance policy, those that still run stay until the policy allows (UG
// instance-maintenance-policy-overview-and-considerations).
func (s *service) replaceUnhealthy(g *group) {
	if g.suspends(processReplaceUnhealthy) || g.suspends(processTerminate) {
		return
	}
	now := s.kernel.Now()
	for _, m := range slices.Clone(g.members) {
		if m.state != types.LifecycleStateInService || m.sick == "" || g.maintenance != nil && s.runs(m) && g.refresh == nil {
			continue
		}
		g.replacing++
		if g.refresh != nil && m.sequence > g.refresh.startSequence {
			g.refresh.sickSeen = true
		}
		s.startTermination(g, m, causeOutOfService(now, m.sick))
	}
}

// scale brings the group to its desired capacity.
func (s *service) scale(g *group) {
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
		s.launchUnits(g, g.desired-have, "")
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
func (s *service) replaceByPolicy(g *group) bool {
	p := preferences{minHealthy: defaultMinHealthy, maxHealthy: 100}
	if g.maintenance != nil {
		p = preferences{minHealthy: int(*g.maintenance.MinHealthyPercentage), maxHealthy: int(*g.maintenance.MaxHealthyPercentage), maxExplicit: true}
	}
	p.warmup = int(valOr(g.warmup, g.healthCheckWait))
	state := refreshState{desired: g.desired, minHealthy: p.minHealthy, maxHealthy: p.maxHealthy, maxExplicit: p.maxExplicit, limit: 100}
	due := false
	for _, m := range g.members {
		member, ok := s.refreshMember(m, p.warmup)
		if !ok {
			continue
		}
		member.updated = !s.needsReplacement(g, m)
		due = due || !member.updated
		state.members = append(state.members, member)
	}
	if !due || g.suspends(processLaunch) || g.suspends(processTerminate) {
		return false
	}
	plan := state.plan()
	s.carryOut(g, plan, func(m *member) string { return cmp.Or(m.sick, reasonLifetime) }, reasonMaintain)
	return true
}

func (s *service) needsReplacement(g *group, m *member) bool {
	if m.state != types.LifecycleStateInService {
		return false
	}
	if m.sick != "" {
		return !g.suspends(processReplaceUnhealthy)
	}
	return g.maxLifetime != nil && !s.kernel.Now().Before(m.launched.Add(seconds(*g.maxLifetime)))
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// carryOut starts what a plan says.
func (s *service) carryOut(g *group, plan refreshPlan, why func(*member) string, launchReason string) {
	now := s.kernel.Now()
	for _, id := range plan.terminate {
		m := g.instance(id)
		m.replaced = true
		s.startTermination(g, m, join(causeOutOfService(now, why(m)), causeSelected(now, id)))
	}
	for _, id := range plan.replace {
		s.replaceRoot(g, g.instance(id))
	}
	if plan.launch > 0 {
		s.launchUnits(g, plan.launch, launchReason)
	}
	if plan.scaleIn > 0 {
		s.scaleIn(g, plan.scaleIn)
	}
}

// scaleIn takes instances out of service that make up at most the given units.
func (s *service) scaleIn(g *group, units int) {
	now := s.kernel.Now()
	if g.suspends(processTerminate) || now.Before(g.holdUntil) {
		return
	}
	for units > 0 {
		victim, ok := s.scaleInVictim(g, units)
		if !ok {
			return
		}
		units -= victim.units
		if s.backToWarmPool(g, victim) {
			continue
		}
		have := g.capacity()
		s.startTermination(g, victim, join(g.cause, causeCapacity(now, have, have-victim.units), causeSelected(now, victim.id)))
	}
}

func (s *service) scaleInVictim(g *group, units int) (*member, bool) {
	config := g.effective()
	current, err := s.base(config)
	if err != nil {
		current = resolved{} // a template that is gone makes every instance outdated
	}
	decision := scaleIn{zones: g.zones, policies: g.policies, mixed: config.mixed != nil, now: s.kernel.Now()}
	decision.surplusSpot, decision.surplusOnDemand = g.surplus(config)
	var candidates []candidate
	for _, m := range g.members {
		if m.state != types.LifecycleStateInService {
			continue
		}
		candidates = append(candidates, candidate{
			id: m.id, zone: m.zone, units: m.units, spot: m.spot, unhealthy: m.sick != "", launched: m.launched,
			protected:       m.protected || m.units > units,
			currentTemplate: m.template != nil && *m.template.LaunchTemplateId == current.id, version: m.version(),
			configured: val(val(m.configuration).CreatedTime), preference: preference(config, m),
		})
	}
	chosen, ok := decision.choose(candidates)
	if !ok {
		return nil, false
	}
	return g.instance(chosen.id), true
}

// surplus says of which purchase option the group has more than its distribution wants, once it has
// shrunk to the desired capacity.
func (g *group) surplus(config configuration) (spot, onDemand bool) {
	if config.mixed == nil {
		return false, false
	}
	d := config.mixed.InstancesDistribution
	want := onDemandTarget(g.desired, int(val(d.OnDemandBaseCapacity)), int(valOr(d.OnDemandPercentageAboveBaseCapacity, 100)))
	have := 0
	for _, m := range g.members {
		if m.counts() && !m.spot {
			have += m.units
		}
	}
	return g.capacity()-have > g.desired-want, have > want
}

// preference is how far down the list of overrides an instance's type is; one that is no longer
// listed is last.
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

// rebalance launches an instance in the zone that has the fewest, if another has at least two more
// or instances run in a zone that the group has left; the surplus then goes where there are most.
// One at a time keeps within the ten percent above the maximum that AWS allows (UG
// auto-scaling-benefits, "Rebalancing activities").
func (s *service) rebalance(g *group) {
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
	if g.balancing = s.launchOne(g, reasonBalance, types.LifecycleStatePending); g.balancing == nil {
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

// outweighed reports whether what the group has too much of is less than any instance weighs that
// is to leave a zone which the group has left. More has to come in its place then: taking away what
// has come would begin all over again. That AWS goes on until such an instance can go is inferred;
// it says nothing of weights here.
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

// coolDown starts the cooldown anew (UG ec2-auto-scaling-scaling-cooldowns: it begins when the last
// instance has launched or terminated).
func (g *group) coolDown(s *service) { g.coolUntil = s.kernel.Now().Add(seconds(g.cooldown)) }

// sleep has the group reconciled again at the next moment at which time alone changes something.
func (s *service) sleep(g *group) {
	now := s.kernel.Now()
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
		s.wake(g, next.Sub(now))
	}
}

// version is the number of the launch template version that the instance was launched from.
func (m *member) version() int {
	if m.template == nil {
		return 0
	}
	n := 0
	for _, r := range val(m.template.Version) {
		n = n*10 + int(r-'0')
	}
	return n
}
