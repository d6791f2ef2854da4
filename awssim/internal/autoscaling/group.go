package autoscaling

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// reaction is the delay before Auto Scaling acts on a request or on a change that it has noticed.
// Calls return before their effect on instances begins, as they do in AWS, where the delay is a few
// seconds.
const reaction = time.Second

// group is one Auto Scaling group as it is now.
type group struct {
	name, arn string
	created   time.Time
	settings

	members   []*member // in the order in which they joined, warm pool included
	hooks     []hook
	tags      []types.TagDescription
	suspended []types.SuspendedProcess
	operator  *types.Operator
	attached  attachments
	// The following values are replaced, never modified in place.
	scaling       []types.ScalingPolicy
	scheduled     []*scheduledAction
	notifications []types.NotificationConfiguration // one for each type of a topic
	metrics       []types.EnabledMetric
	warm          *warmPool
	refresh       *refresh   // the active one
	past          []*refresh // newest last
	deleting      bool       // by DeleteAutoScalingGroup with force: removed with its last instance
	gone          bool
	launches      int // how many instances were ever launched or attached; orders them
	cause         string
	// instances taken out of service for their health, whose replacements are still to be launched
	replacing int
	failures  int        // failed launches in a row
	failure   *sim.Error // of the last launch, if it failed
	// failureMessage is what the activity of that launch says.
	failureMessage string
	retryAt        time.Time
	coolUntil      time.Time
	holdUntil      time.Time // a change of capacity that honors the cooldown waits until then
	balanceAt      time.Time // rebalancing failed and waits until then
	balancing      *member   // launched to even out the zones; what it replaces goes when it is in service

	wakeUp sim.WakeUp
}

// member is one instance of a group.
type member struct {
	id           string
	sequence     int
	zone, zoneID string
	subnet       string
	instanceType string
	// only if an override chose it or a root volume was replaced (SDK types.Instance.ImageId)
	imageID  string
	template *types.LaunchTemplateSpecification
	// configuration is the launch configuration that it was launched from; nil if it was launched
	// from a template.
	configuration *types.LaunchConfiguration
	weight        string
	units         int
	spot          bool
	reservation   string // the Capacity Reservation of the group's that it was launched into
	launched      time.Time
	inService     time.Time
	state         types.LifecycleState
	sick          string // why it is unhealthy; empty if it is healthy
	protected     bool
	replaced      bool // the active refresh took it out of service
	// nextImage is the image of the root volume that is being created, rootTask EC2's task for it,
	// and rootOf the last refresh that asked for one.
	nextImage, rootTask, rootOf string
	rootReplaced                bool // it is on its way back into service with a new root volume

	settle  time.Time // when the instance leaves a transient state without an event
	actions []*lifecycleAction
	outcome string // of the lifecycle actions: resultContinue or resultAbandon
	forced  bool   // terminates without hooks
	fate    types.LifecycleState
	run     *types.Activity // the activity that is about this instance now
}

func (m *member) warmed() bool { return len(m.state) > 7 && m.state[:7] == "Warmed:" }

// counts reports whether the instance counts toward the group's desired capacity.
func (m *member) counts() bool {
	switch m.state {
	case types.LifecycleStatePending, types.LifecycleStatePendingWait, types.LifecycleStatePendingProceed, types.LifecycleStateInService,
		types.LifecycleStateReplacingRootVolume, types.LifecycleStateReplacingRootVolumeWait,
		types.LifecycleStateReplacingRootVolumeProceed, types.LifecycleStateRootVolumeReplaced:
		return true
	default:
		return false
	}
}

func (m *member) starting() bool {
	return slices.Contains([]types.LifecycleState{types.LifecycleStatePending, types.LifecycleStatePendingWait,
		types.LifecycleStatePendingProceed}, m.state)
}

func (m *member) leaving() bool {
	return slices.Contains([]types.LifecycleState{types.LifecycleStateTerminating, types.LifecycleStateTerminatingWait,
		types.LifecycleStateTerminatingProceed, types.LifecycleStateWarmedTerminating, types.LifecycleStateWarmedTerminatingWait,
		types.LifecycleStateWarmedTerminatingProceed}, m.state)
}

// retained reports whether a lifecycle policy keeps an instance whose termination was abandoned.
func (m *member) retained() bool {
	return m.state == types.LifecycleStateTerminatingRetained || m.state == types.LifecycleStateWarmedTerminatingRetained
}

// replacing reports whether the root volume of an instance is being replaced.
func (m *member) replacing() bool {
	return slices.Contains([]types.LifecycleState{types.LifecycleStateReplacingRootVolume, types.LifecycleStateReplacingRootVolumeWait,
		types.LifecycleStateReplacingRootVolumeProceed, types.LifecycleStateRootVolumeReplaced}, m.state)
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

// allows refuses callers other than the group's operator, if it has one.
func (g *group) allows(principal string) error {
	if g.operator == nil || val(g.operator.Principal) == principal {
		return nil
	}
	return sim.Errorf(codeAccessDenied, "The Auto Scaling group %s is managed by the operator %s.", g.name, val(g.operator.Principal)).WithStatus(403)
}

// purchased returns the units that count toward the desired capacity, and how many of them are
// On-Demand.
func (g *group) purchased() (total, onDemand int) {
	for _, m := range g.members {
		if m.counts() {
			total += m.units
			if !m.spot {
				onDemand += m.units
			}
		}
	}
	return total, onDemand
}

// instance returns the member with that id, or nil.
func (g *group) instance(id string) *member {
	for _, m := range g.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

// capacity returns the units that count toward the desired capacity.
func (g *group) capacity() int {
	n := 0
	for _, m := range g.members {
		if m.counts() {
			n += m.units
		}
	}
	return n
}

// effective returns what the group launches now: during a refresh with a desired configuration, that one
// (UG instance-refresh-overview).
func (g *group) effective() configuration {
	if r := g.refresh; r != nil && r.desired != nil {
		if r.status == types.InstanceRefreshStatusInProgress || r.status == types.InstanceRefreshStatusBaking {
			return *r.desired
		}
	}
	return g.config
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

// coolDown starts the cooldown anew (UG ec2-auto-scaling-scaling-cooldowns: it begins when the last
// instance has launched or terminated).
func (g *group) coolDown(now time.Time) { g.coolUntil = now.Add(seconds(g.cooldown)) }

// Retries of failed launches wait longer each time. AWS documents that it retries, not how often;
// these bounds are an inference.
const (
	firstRetry = 30 * time.Second
	lastRetry  = 15 * time.Minute
)

// backOff puts off the next launch: twice as long with each failure in a row.
func (g *group) backOff(now time.Time) {
	wait := min(firstRetry<<min(g.failures, 10), lastRetry)
	g.failures++
	g.retryAt = now.Add(wait)
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

func (g *group) hook(name string) int {
	return slices.IndexFunc(g.hooks, func(h hook) bool { return h.name == name })
}

// settleActions completes the actions that have timed out with their default results. It sets the
// outcome once all actions have continued or one has abandoned, which stops the others (UG
// lifecycle-hooks).
func (m *member) settleActions(now time.Time) {
	if m.outcome != "" {
		return
	}
	open := false
	for _, a := range m.actions {
		if a.result == "" && !now.Before(a.deadline) {
			a.result = a.fallback
		}
		if a.result == resultAbandon {
			m.outcome = resultAbandon
			return
		}
		open = open || a.result == ""
	}
	if !open {
		m.outcome = resultContinue
	}
}

// nextDeadline returns when the first open action times out.
func (m *member) nextDeadline() (next time.Time, ok bool) {
	for _, a := range m.actions {
		if a.result == "" && (!ok || a.deadline.Before(next)) {
			next, ok = a.deadline, true
		}
	}
	return next, ok
}

// resting reports whether an instance waits in the warm pool, ready to be used.
func resting(m *member) bool {
	return slices.Contains([]types.LifecycleState{types.LifecycleStateWarmedStopped, types.LifecycleStateWarmedRunning,
		types.LifecycleStateWarmedHibernated}, m.state)
}
