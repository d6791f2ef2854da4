package autoscaling

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// This file moves single instances through their lifecycle (UG ec2-auto-scaling-lifecycle,
// lifecycle-hooks, warm-pool-instance-lifecycle).

// advance lets every instance of the group take the steps that are due.
func (s *service) advance(g *group) {
	for _, m := range slices.Clone(g.members) {
		for before := types.LifecycleState(""); before != m.state; {
			before = m.state
			s.step(g, m)
		}
	}
}

// due reports whether a passing state has lasted long enough.
func (s *service) due(m *member) bool { return !s.kernel.Now().Before(m.settle) }

func (s *service) step(g *group, m *member) {
	switch m.state {
	case types.LifecycleStatePending, types.LifecycleStateWarmedPending:
		s.stepPending(g, m)
	case types.LifecycleStatePendingWait, types.LifecycleStateWarmedPendingWait:
		s.stepPendingWait(g, m)
	case types.LifecycleStatePendingProceed, types.LifecycleStateWarmedPendingProceed:
		if s.due(m) {
			s.arrive(g, m)
		}
	case types.LifecycleStateTerminating, types.LifecycleStateWarmedTerminating:
		s.stepTerminating(g, m)
	case types.LifecycleStateTerminatingWait, types.LifecycleStateWarmedTerminatingWait:
		s.stepTerminatingWait(g, m)
	case types.LifecycleStateTerminatingProceed, types.LifecycleStateWarmedTerminatingProceed, types.LifecycleStateTerminatingRetained,
		types.LifecycleStateWarmedTerminatingRetained:
		s.stepTerminatingProceed(g, m)
	case types.LifecycleStateReplacingRootVolume, types.LifecycleStateReplacingRootVolumeWait, types.LifecycleStateReplacingRootVolumeProceed,
		types.LifecycleStateRootVolumeReplaced:
		s.stepReplacing(g, m)
	case types.LifecycleStateEnteringStandby:
		if s.due(m) {
			m.state = types.LifecycleStateStandby
			s.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
		}
	case types.LifecycleStateDetaching:
		if s.due(m) {
			s.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
			s.leave(g, m)
		}
	default:
		// InService, Standby, Terminated and the resting states of a warm pool do not end by themselves.
	}
}

// stepPending waits for EC2 to run the instance; then launch hooks get it, or it is in service.
func (s *service) stepPending(g *group, m *member) {
	switch s.instanceState(m.id) {
	case ec2types.InstanceStateNamePending, ec2types.InstanceStateNameStopped, ec2types.InstanceStateNameStopping:
		// A stopped instance that leaves a warm pool has been told to start.
	case ec2types.InstanceStateNameRunning:
		if s.beginActions(g, m, transitionLaunch) {
			m.state = pairOf(m, types.LifecycleStatePendingWait, types.LifecycleStateWarmedPendingWait)
			m.run = s.note(m.run, types.ScalingActivityStatusCodeMidLifecycleAction, 60, "")
			return
		}
		s.arrive(g, m)
	default:
		s.launchLost(g, m, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.UserInitiatedShutdown: User initiated shutdown")
	}
}

func (s *service) stepPendingWait(g *group, m *member) {
	if state := s.instanceState(m.id); state != ec2types.InstanceStateNameRunning && state != ec2types.InstanceStateNamePending {
		s.launchLost(g, m, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: Client.UserInitiatedShutdown: User initiated shutdown")
		return
	}
	m.settleActions(s.kernel.Now())
	switch m.outcome {
	case resultContinue:
		m.state = pairOf(m, types.LifecycleStatePendingProceed, types.LifecycleStateWarmedPendingProceed)
		m.settle = s.kernel.Now().Add(reaction)
	case resultAbandon:
		s.abandon(g, m)
	}
}

// abandon ends a launch whose lifecycle action failed: the instance is terminated, and the next
// launch waits (UG lifecycle-hooks: the rate of launches is limited if hooks keep failing).
func (s *service) abandon(g *group, m *member) {
	token, how := "", "Lifecycle Action Completed with ABANDON Result"
	for _, a := range m.actions {
		if a.result == resultAbandon {
			token = a.token
			if !s.kernel.Now().Before(a.deadline) {
				how = "Lifecycle Action Timed Out"
			}
		}
	}
	message := "Instance failed to complete user's Lifecycle Action: Lifecycle Action with token " + token + " was abandoned: " + how
	s.finish(m, types.ScalingActivityStatusCodeCancelled, message)
	s.backOff(g)
	m.forced = true
	s.startTermination(g, m, causeOutOfService(s.kernel.Now(), "a launch lifecycle action that was abandoned"))
}

// launchLost drops an instance that ended before it was in service.
func (s *service) launchLost(g *group, m *member, message string) {
	s.finish(m, types.ScalingActivityStatusCodeCancelled, message)
	s.leave(g, m)
	s.backOff(g)
}

// arrive ends a launch: the instance is in service, or rests in the warm pool.
func (s *service) arrive(g *group, m *member) {
	m.actions, m.outcome, m.rootReplaced = nil, "", false
	if m.warmed() {
		s.restInPool(g, m)
		return
	}
	m.state, m.inService = types.LifecycleStateInService, s.kernel.Now()
	s.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
	g.coolDown(s)
}

// startTermination takes an instance out of service. Terminate hooks get it before EC2 does, unless
// it is forced.
func (s *service) startTermination(g *group, m *member, cause string) {
	now := s.kernel.Now()
	if m.run != nil {
		s.finish(m, types.ScalingActivityStatusCodeCancelled, "The instance was terminated before it was in service.")
	}
	m.actions, m.outcome, m.fate = nil, "", ""
	m.state = pairOf(m, types.LifecycleStateTerminating, types.LifecycleStateWarmedTerminating)
	m.settle = now.Add(reaction)
	m.run = s.begin(g, m, "Terminating EC2 instance: "+m.id, cause)
}

func (s *service) stepTerminating(g *group, m *member) {
	if m.fate != "" {
		s.stepTerminatingProceed(g, m)
		return
	}
	if !s.due(m) {
		return
	}
	if !m.forced && s.beginActions(g, m, transitionTerminate) {
		m.state = pairOf(m, types.LifecycleStateTerminatingWait, types.LifecycleStateWarmedTerminatingWait)
		m.run = s.note(m.run, types.ScalingActivityStatusCodeMidLifecycleAction, 60, "")
		return
	}
	m.fate = types.LifecycleStateTerminated
	s.terminate(m.id)
}

// stepTerminatingWait goes on whatever the result of the hooks; only a lifecycle policy can keep an
// instance that was abandoned (UG instance-lifecycle-policy).
func (s *service) stepTerminatingWait(g *group, m *member) {
	m.settleActions(s.kernel.Now())
	if m.outcome == "" {
		return
	}
	if m.outcome == resultAbandon && g.retains() {
		m.state = pairOf(m, types.LifecycleStateTerminatingRetained, types.LifecycleStateWarmedTerminatingRetained)
		m.actions = nil
		s.finish(m, types.ScalingActivityStatusCodeCancelled, "The instance was retained: its termination lifecycle action was abandoned.")
		return
	}
	m.state = pairOf(m, types.LifecycleStateTerminatingProceed, types.LifecycleStateWarmedTerminatingProceed)
	m.actions, m.fate = nil, types.LifecycleStateTerminated
	s.terminate(m.id)
}

func (g *group) retains() bool {
	return g.lifecycle != nil && g.lifecycle.RetentionTriggers != nil &&
		g.lifecycle.RetentionTriggers.TerminateHookAbandon == types.RetentionActionRetain
}

// stepTerminatingProceed waits for EC2 to end the instance.
func (s *service) stepTerminatingProceed(g *group, m *member) {
	if s.instanceState(m.id) != ec2types.InstanceStateNameTerminated {
		return
	}
	s.finish(m, types.ScalingActivityStatusCodeSuccessful, "")
	s.leave(g, m)
	g.coolDown(s)
}

// leave takes an instance off the group's list.
func (s *service) leave(g *group, m *member) {
	m.state = types.LifecycleStateTerminated
	g.members = slices.DeleteFunc(slices.Clone(g.members), func(o *member) bool { return o == m })
	delete(s.member, m.id)
}

// pairOf returns the state of the live group, or that of the warm pool.
func pairOf(m *member, live, warm types.LifecycleState) types.LifecycleState {
	if m.warmed() {
		return warm
	}
	return live
}
