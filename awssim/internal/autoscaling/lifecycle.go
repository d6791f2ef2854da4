package autoscaling

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file moves single instances through their lifecycle (UG ec2-auto-scaling-lifecycle,
// lifecycle-hooks, warm-pool-instance-lifecycle).

// lifecycle moves single instances from launch to termination. It does not decide which instances a
// group needs.
type lifecycle struct {
	region     *sim.Region
	kernel     *sim.Kernel
	groups     *groups
	activities *activityLog
	compute    compute
}

// advance lets every instance of the group take the steps that are due.
func (l *lifecycle) advance(g *group) {
	for _, m := range slices.Clone(g.members) {
		for before := types.LifecycleState(""); before != m.state; {
			before = m.state
			l.step(g, m)
		}
	}
}

// due reports whether a passing state has lasted long enough.
func (l *lifecycle) due(m *member) bool { return !l.kernel.Now().Before(m.settle) }

func (l *lifecycle) step(g *group, m *member) {
	switch m.state {
	case types.LifecycleStatePending, types.LifecycleStateWarmedPending:
		l.stepPending(g, m)
	case types.LifecycleStatePendingWait, types.LifecycleStateWarmedPendingWait:
		l.stepPendingWait(g, m)
	case types.LifecycleStatePendingProceed, types.LifecycleStateWarmedPendingProceed:
		if l.due(m) {
			l.arrive(g, m)
		}
	case types.LifecycleStateTerminating, types.LifecycleStateWarmedTerminating:
		l.stepTerminating(g, m)
	case types.LifecycleStateTerminatingWait, types.LifecycleStateWarmedTerminatingWait:
		l.stepTerminatingWait(g, m)
	case types.LifecycleStateTerminatingProceed, types.LifecycleStateWarmedTerminatingProceed, types.LifecycleStateTerminatingRetained,
		types.LifecycleStateWarmedTerminatingRetained:
		l.stepTerminatingProceed(g, m)
	case types.LifecycleStateReplacingRootVolume, types.LifecycleStateReplacingRootVolumeWait, types.LifecycleStateReplacingRootVolumeProceed,
		types.LifecycleStateRootVolumeReplaced:
		l.stepReplacing(g, m)
	case types.LifecycleStateEnteringStandby:
		if l.due(m) {
			m.state = types.LifecycleStateStandby
			l.activities.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
		}
	case types.LifecycleStateDetaching:
		if l.due(m) {
			l.activities.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
			l.leave(g, m)
		}
	default:
		// InService, Standby, Terminated and the resting states of a warm pool last until something
		// else changes them.
	}
}

// stepPending waits for EC2 to run the instance; then launch hooks get it, or it is in service.
func (l *lifecycle) stepPending(g *group, m *member) {
	switch l.compute.state(m.id) {
	case ec2types.InstanceStateNamePending, ec2types.InstanceStateNameStopped, ec2types.InstanceStateNameStopping:
		// A stopped instance that leaves a warm pool has been asked to start.
	case ec2types.InstanceStateNameRunning:
		if l.beginActions(g, m, transitionLaunch) {
			m.state = pairOf(m, types.LifecycleStatePendingWait, types.LifecycleStateWarmedPendingWait)
			m.run = l.activities.note(m.run, types.ScalingActivityStatusCodeMidLifecycleAction, 60, "")
			return
		}
		l.arrive(g, m)
	default:
		l.launchLost(g, m, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.UserInitiatedShutdown: User initiated shutdown")
	}
}

func (l *lifecycle) stepPendingWait(g *group, m *member) {
	if state := l.compute.state(m.id); state != ec2types.InstanceStateNameRunning && state != ec2types.InstanceStateNamePending {
		l.launchLost(g, m, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.UserInitiatedShutdown: User initiated shutdown")
		return
	}
	m.settleActions(l.kernel.Now())
	switch m.outcome {
	case resultContinue:
		m.state = pairOf(m, types.LifecycleStatePendingProceed, types.LifecycleStateWarmedPendingProceed)
		m.settle = l.kernel.Now().Add(reaction)
	case resultAbandon:
		l.abandon(g, m)
	}
}

// abandon cancels a launch whose lifecycle action failed: the instance is terminated, and the next
// launch waits (UG lifecycle-hooks: the rate of launches is limited if hooks keep failing).
func (l *lifecycle) abandon(g *group, m *member) {
	token, how := "", "Lifecycle Action Completed with ABANDON Result"
	for _, a := range m.actions {
		if a.result == resultAbandon {
			token = a.token
			if !l.kernel.Now().Before(a.deadline) {
				how = "Lifecycle Action Timed Out"
			}
		}
	}
	message := "Instance failed to complete user's Lifecycle Action: Lifecycle Action with token " + token + " was abandoned: " + how
	l.activities.finish(m, types.ScalingActivityStatusCodeCancelled, message)
	g.backOff(l.kernel.Now())
	m.forced = true
	l.startTermination(g, m, causeOutOfService(l.kernel.Now(), "a launch lifecycle action that was abandoned"))
}

// launchLost drops an instance that was terminated before it was in service.
func (l *lifecycle) launchLost(g *group, m *member, message string) {
	l.activities.finish(m, types.ScalingActivityStatusCodeCancelled, message)
	l.leave(g, m)
	g.backOff(l.kernel.Now())
}

// arrive finishes a launch: the instance is in service, or rests in the warm pool.
func (l *lifecycle) arrive(g *group, m *member) {
	m.actions, m.outcome, m.rootReplaced = nil, "", false
	if m.warmed() {
		l.restInPool(g, m)
		return
	}
	m.state, m.inService = types.LifecycleStateInService, l.kernel.Now()
	l.activities.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
	g.coolDown(l.kernel.Now())
}

// restInPool finishes the preparation of an instance: it is stopped, unless the pool keeps its
// instances running.
func (l *lifecycle) restInPool(g *group, m *member) {
	if g.warm == nil {
		l.startTermination(g, m, causeOutOfService(l.kernel.Now(), "the warm pool having been deleted"))
		return
	}
	m.state = g.warm.restState()
	l.activities.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
	switch m.state {
	case types.LifecycleStateWarmedRunning:
	case types.LifecycleStateWarmedHibernated:
		ec2.HibernateInstances(l.region, m.id)
	default:
		ec2.StopInstances(l.region, m.id)
	}
}

// startTermination takes an instance out of service. Terminate hooks get it before EC2 does, unless
// it is forced.
func (l *lifecycle) startTermination(g *group, m *member, cause string) {
	now := l.kernel.Now()
	if m.run != nil {
		l.activities.finish(m, types.ScalingActivityStatusCodeCancelled, "The instance was terminated before it was in service.")
	}
	m.actions, m.outcome, m.fate = nil, "", ""
	m.state = pairOf(m, types.LifecycleStateTerminating, types.LifecycleStateWarmedTerminating)
	m.settle = now.Add(reaction)
	m.run = l.activities.begin(g, m, "Terminating EC2 instance: "+m.id, cause)
}

func (l *lifecycle) stepTerminating(g *group, m *member) {
	if m.fate != "" {
		l.stepTerminatingProceed(g, m)
		return
	}
	if !l.due(m) {
		return
	}
	if !m.forced && l.beginActions(g, m, transitionTerminate) {
		m.state = pairOf(m, types.LifecycleStateTerminatingWait, types.LifecycleStateWarmedTerminatingWait)
		m.run = l.activities.note(m.run, types.ScalingActivityStatusCodeMidLifecycleAction, 60, "")
		return
	}
	m.fate = types.LifecycleStateTerminated
	l.compute.terminate(m.id)
}

// stepTerminatingWait goes on whatever the result of the hooks; only a lifecycle policy can keep an
// instance that was abandoned (UG instance-lifecycle-policy).
func (l *lifecycle) stepTerminatingWait(g *group, m *member) {
	m.settleActions(l.kernel.Now())
	if m.outcome == "" {
		return
	}
	if m.outcome == resultAbandon && g.retains() {
		m.state = pairOf(m, types.LifecycleStateTerminatingRetained, types.LifecycleStateWarmedTerminatingRetained)
		m.actions = nil
		l.activities.finish(m, types.ScalingActivityStatusCodeCancelled, "The instance was retained: its termination lifecycle action was abandoned.")
		return
	}
	m.state = pairOf(m, types.LifecycleStateTerminatingProceed, types.LifecycleStateWarmedTerminatingProceed)
	m.actions, m.fate = nil, types.LifecycleStateTerminated
	l.compute.terminate(m.id)
}

func (g *group) retains() bool {
	return g.lifecycle != nil && g.lifecycle.RetentionTriggers != nil &&
		g.lifecycle.RetentionTriggers.TerminateHookAbandon == types.RetentionActionRetain
}

// stepTerminatingProceed waits for EC2 to terminate the instance.
func (l *lifecycle) stepTerminatingProceed(g *group, m *member) {
	if l.compute.state(m.id) != ec2types.InstanceStateNameTerminated {
		return
	}
	l.activities.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
	l.leave(g, m)
	g.coolDown(l.kernel.Now())
}

// leave takes an instance off the group's list.
func (l *lifecycle) leave(g *group, m *member) {
	m.state = types.LifecycleStateTerminated
	g.members = slices.DeleteFunc(slices.Clone(g.members), func(o *member) bool { return o == m })
	delete(l.groups.ofInstance, m.id)
}

// beginActions starts the actions of every hook of a transition at once and reports whether there is one.
func (l *lifecycle) beginActions(g *group, m *member, transition string) bool {
	now := l.kernel.Now()
	m.actions, m.outcome = nil, ""
	for _, h := range g.hooks {
		if h.transition != transition {
			continue
		}
		wait := time.Duration(h.heartbeat) * time.Second
		token := l.kernel.NewUUID()
		publishAction(l.region, g, m, h, token)
		m.actions = append(m.actions, &lifecycleAction{
			hook: h.name, token: token, wait: wait, fallback: h.result,
			deadline: now.Add(wait), end: now.Add(time.Duration(h.globalTimeout()) * time.Second),
		})
	}
	return len(m.actions) > 0
}

// pairOf returns the state for the live group, or the one for the warm pool.
func pairOf(m *member, live, warm types.LifecycleState) types.LifecycleState {
	if m.warmed() {
		return warm
	}
	return live
}
