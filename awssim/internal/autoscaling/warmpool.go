package autoscaling

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// warmPool keeps instances ready beside a group (UG ec2-auto-scaling-warm-pools).
type warmPool struct {
	state       types.WarmPoolState
	min         int
	maxPrepared *int32 // nil: up to the maximum size of the group
	reuse       *types.InstanceReusePolicy
	deleting    bool
}

func (w *warmPool) describe() *types.WarmPoolConfiguration {
	d := &types.WarmPoolConfiguration{
		PoolState: w.state, MinSize: number(w.min), MaxGroupPreparedCapacity: w.maxPrepared, InstanceReusePolicy: w.reuse,
	}
	if w.deleting {
		d.Status = types.WarmPoolStatusPendingDelete
	}
	return d
}

// size is how many instances the pool should hold: what is left from the desired capacity to the
// prepared one, at least the minimum.
func (w *warmPool) size(g *group) int {
	if w.deleting {
		return 0
	}
	return max(w.min, int(valOr(w.maxPrepared, *number(g.max)))-g.desired, 0)
}

// resting reports whether an instance waits in the warm pool, ready to be used.
func resting(m *member) bool {
	return slices.Contains([]types.LifecycleState{types.LifecycleStateWarmedStopped, types.LifecycleStateWarmedRunning,
		types.LifecycleStateWarmedHibernated}, m.state)
}

// restState is the state in which instances wait in the pool.
func (w *warmPool) restState() types.LifecycleState {
	switch w.state {
	case types.WarmPoolStateRunning:
		return types.LifecycleStateWarmedRunning
	case types.WarmPoolStateHibernated:
		return types.LifecycleStateWarmedHibernated
	default:
		return types.LifecycleStateWarmedStopped
	}
}

// restInPool ends the preparation of an instance: it is stopped, unless the pool keeps its instances running.
func (s *service) restInPool(g *group, m *member) {
	if g.warm == nil {
		s.startTermination(g, m, causeOutOfService(s.kernel.Now(), "the warm pool having been deleted"))
		return
	}
	m.state = g.warm.restState()
	s.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
	switch m.state {
	case types.LifecycleStateWarmedRunning:
	case types.LifecycleStateWarmedHibernated:
		ec2.HibernateInstances(s.region, m.id)
	default:
		ec2.StopInstances(s.region, m.id)
	}
}

// keepWarmPool brings the warm pool to its size, once the live group has what it needs.
func (s *service) keepWarmPool(g *group) {
	if g.warm == nil {
		return
	}
	pool := filter(g.members, func(m *member) bool { return m.warmed() && !m.leaving() })
	now := s.kernel.Now()
	want := g.warm.size(g)
	switch {
	case len(pool) > want && !g.suspends(processTerminate):
		for _, m := range filter(pool, resting)[:min(len(pool)-want, len(filter(pool, resting)))] {
			s.startTermination(g, m, join(causeOutOfService(now, "a difference between the desired and actual size of the warm pool"), causeSelected(now, m.id)))
		}
	case len(pool) < want && g.capacity() >= g.desired && !g.suspends(processLaunch) && !now.Before(g.retryAt):
		for range want - len(pool) {
			reason := fmt.Sprintf("a difference between desired and actual capacity of the warm pool, increasing the warm pool capacity to %d", want)
			if s.launchOne(g, reason, types.LifecycleStateWarmedPending) == nil {
				break
			}
		}
	}
	if g.warm.deleting && len(filter(g.members, (*member).warmed)) == 0 {
		g.warm = nil
	}
}

// fromWarmPool takes an instance out of the warm pool for a scale-out: a warm start. Replacements
// of a refresh are launched anew, for what rests in the pool is not updated.
func (s *service) fromWarmPool(g *group, reason string) *member {
	if g.warm == nil || g.refresh != nil {
		return nil
	}
	for _, p := range s.places(g) {
		for _, m := range g.members {
			if !resting(m) || m.zone != p.zone || p.subnet != "" && m.subnet != p.subnet {
				continue
			}
			if !s.warmStart(g, m) {
				continue
			}
			now := s.kernel.Now()
			before := g.capacity()
			m.state, m.actions, m.outcome = types.LifecycleStatePending, nil, ""
			s.wake(g, reaction) // it may be running already, so that no event of EC2 tells
			m.run = s.begin(g, m, "Launching a new EC2 instance from warm pool: "+m.id, g.launchCause(now, before, before+m.units, reason))
			return m
		}
	}
	return nil
}

// warmStart starts an instance that rests in the warm pool. One that EC2 cannot start is a failed
// launch and is terminated (UG ec2-auto-scaling-warm-pools, "Limitations").
func (s *service) warmStart(g *group, m *member) bool {
	switch s.instanceState(m.id) {
	case ec2types.InstanceStateNameRunning:
		return m.state == types.LifecycleStateWarmedRunning
	case ec2types.InstanceStateNameStopped:
	default:
		return false // it is still stopping: a cold start is faster
	}
	if err := ec2.StartInstances(s.region, m.id); err != nil {
		s.launchFailed(g, &place{zone: m.zone, subnet: m.subnet}, err)
		s.startTermination(g, m, causeOutOfService(s.kernel.Now(), "a failed start from the warm pool"))
		return false
	}
	return true
}

// backToWarmPool returns an instance to the warm pool on scale-in, if the reuse policy says so (UG
// ec2-auto-scaling-warm-pools).
func (s *service) backToWarmPool(g *group, m *member) bool {
	if g.warm == nil || g.warm.reuse == nil || !val(g.warm.reuse.ReuseOnScaleIn) || m.sick != "" {
		return false
	}
	now := s.kernel.Now()
	have := g.capacity()
	m.run = s.begin(g, m, "Moving EC2 instance to warm pool: "+m.id, join(g.cause, causeCapacity(now, have, have-m.units), causeSelected(now, m.id)))
	m.state, m.settle = types.LifecycleStateWarmedPendingProceed, now.Add(reaction)
	return true
}

// refreshWarmPool replaces what rests in the warm pool after the live group has been updated, and
// reports whether that is done. The minimum healthy percentage applies to the pool by itself (UG
// instance-maintenance-policy-overview-and-considerations).
func (s *service) refreshWarmPool(g *group, r *refresh) bool {
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
			if !s.updated(g, r, m) {
				old++
			}
		}
	}
	want := g.warm.size(g)
	r.warmRemaining, r.warmPercent = old, 100
	if want > 0 {
		r.warmPercent = max(0, min(100, (all-old)*100/want))
	}
	if old == 0 {
		return going == 0 && all >= want
	}
	floor := min(percentUp(want, r.prefs.minHealthy), max(want-1, 0))
	now := s.kernel.Now()
	for _, m := range slices.Clone(g.members) {
		if all-1 < floor {
			break
		}
		if resting(m) && !s.updated(g, r, m) {
			s.startTermination(g, m, join(causeOutOfService(now, reasonRefresh), causeSelected(now, m.id)))
			all--
		}
	}
	r.reason = "Waiting for instances of the warm pool to be replaced."
	return false
}

func (s *service) putWarmPool(c *sim.Call, in *autoscaling.PutWarmPoolInput) (*autoscaling.PutWarmPoolOutput, error) {
	g, err := s.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if err := g.takesWarmPool(); err != nil {
		return nil, err
	}
	w := warmPool{state: types.WarmPoolStateStopped}
	if g.warm != nil {
		w = *g.warm
	}
	if v := in.PoolState; v != "" {
		if !slices.Contains(v.Values(), v) {
			return nil, notInEnum("poolState", v, v.Values())
		}
		w.state = v
	}
	if in.MinSize != nil {
		if *in.MinSize < 0 {
			return nil, constraint(itoa(int(*in.MinSize)), "minSize", "Member must have value greater than or equal to 0")
		}
		w.min = int(*in.MinSize)
	}
	if m := in.MaxGroupPreparedCapacity; m != nil {
		switch {
		case *m < -1:
			return nil, constraint(itoa(int(*m)), "maxGroupPreparedCapacity", "Member must have value greater than or equal to -1")
		case *m == -1:
			w.maxPrepared = nil
		default:
			w.maxPrepared = m
		}
	}
	if in.InstanceReusePolicy != nil {
		w.reuse = in.InstanceReusePolicy
	}
	if err := s.checkWarmPool(g.config, w.state); err != nil {
		return nil, err
	}
	g.warm = &w
	s.changed(g)
	return &autoscaling.PutWarmPoolOutput{}, nil
}

// takesWarmPool refuses a warm pool for a group whose last one is being deleted, and a new one
// while root volumes are replaced (UG replace-root-volume, "Limitations").
func (g *group) takesWarmPool() error {
	switch {
	case g.warm != nil && g.warm.deleting:
		return sim.Errorf(codeScalingInProgress, "The warm pool of Auto Scaling group %s is being deleted.", g.name)
	case g.warm == nil && g.refresh.inPlace():
		return invalid("You can't add a warm pool to an Auto Scaling group that has an active instance refresh with the ReplaceRootVolume strategy.")
	}
	return nil
}

// checkWarmPool refuses configurations that a warm pool cannot hold (reference 2.3 and 4(b) WP1, WP2).
func (s *service) checkWarmPool(c configuration, state types.WarmPoolState) error {
	t, err := s.base(c)
	if err != nil {
		return badTemplate(err)
	}
	market := t.data.InstanceMarketOptions
	switch {
	case c.weighted():
		return invalid("You can't add a warm pool to an Auto Scaling group that has a mixed instances policy with weights.")
	case s.attributeBased(c):
		return invalid("You can't add a warm pool to an Auto Scaling group that uses attribute-based instance type selection.")
	case c.mixed != nil && valOr(c.mixed.InstancesDistribution.OnDemandPercentageAboveBaseCapacity, 100) != 100:
		return invalid("You can't add a warm pool to an Auto Scaling group that has a mixed instances policy with Spot Instances.")
	case market != nil && market.MarketType == ec2types.MarketTypeSpot:
		return invalid("You can't add a warm pool to an Auto Scaling group that launches Spot Instances.")
	case market != nil && market.MarketType == ec2types.MarketTypeCapacityBlock:
		return invalid("You can't add a warm pool to an Auto Scaling group that uses Capacity Blocks.")
	case s.usesParameterImage(c):
		return invalid("You can't add a warm pool to an Auto Scaling group whose launch template uses an AWS Systems Manager parameter instead of an AMI ID.")
	case state == types.WarmPoolStateHibernated && (t.data.HibernationOptions == nil || !val(t.data.HibernationOptions.Configured)):
		return invalid("The launch template must configure hibernation for a warm pool in Hibernated state.")
	}
	return nil
}

func (s *service) deleteWarmPool(c *sim.Call, in *autoscaling.DeleteWarmPoolInput) (*autoscaling.DeleteWarmPoolOutput, error) {
	g, err := s.change(c, in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	if g.warm == nil {
		return nil, invalid("No warm pool found for Auto Scaling group %s", g.name)
	}
	pool := filter(g.members, (*member).warmed)
	// Without force the instances are terminated with their lifecycle actions; with it, at once
	// (SDK DeleteWarmPoolInput.ForceDelete).
	g.warm.deleting = true
	if val(in.ForceDelete) {
		for _, m := range pool {
			m.forced = true
			if !m.leaving() {
				s.startTermination(g, m, "At "+stamp(c.Now)+" a user request force deleted the warm pool.")
			}
			m.actions, m.settle = nil, c.Now
			m.outcome = resultContinue
		}
	}
	s.changed(g)
	return &autoscaling.DeleteWarmPoolOutput{}, nil
}

func (s *service) describeWarmPool(_ *sim.Call, in *autoscaling.DescribeWarmPoolInput) (*autoscaling.DescribeWarmPoolOutput, error) {
	v, err := s.visible(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(v.warm, in.NextToken, in.MaxRecords, 50, 50, func(i types.Instance) string { return *i.InstanceId })
	if err != nil {
		return nil, err
	}
	return &autoscaling.DescribeWarmPoolOutput{Instances: page, NextToken: next, WarmPoolConfiguration: v.group.WarmPoolConfiguration}, nil
}
