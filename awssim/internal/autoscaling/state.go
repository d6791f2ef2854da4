package autoscaling

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// reaction is how long Auto Scaling takes to act on what it was asked or has noticed. Calls return
// before their effect on instances begins, as they do in AWS, where it is a few seconds.
const reaction = time.Second

// service is the Auto Scaling state of one account and Region. What calls and events change are the
// groups; what Describe actions read are the tables of snapshots.
type service struct {
	region *sim.Region
	kernel *sim.Kernel

	groups map[string]*group
	order  []*group // by creation
	member map[string]*group
	alarms map[string]AlarmState
	// ownZoneOnly are target groups whose load balancers send no traffic to other zones.
	ownZoneOnly map[string]bool

	configurations *sim.Table[*types.LaunchConfiguration] // never changed

	views       *sim.Table[*groupView]
	refreshes   *sim.Table[*types.InstanceRefresh]
	activities  *sim.Table[*types.Activity]
	activityIDs []string // by start

	watchers []func(string)
}

// groupView is one group as Describe actions show it. It is built anew after each change and never changed.
type groupView struct {
	group types.AutoScalingGroup
	warm  []types.Instance
	hooks []types.LifecycleHook

	scaling       []types.ScalingPolicy
	scheduled     []types.ScheduledUpdateGroupAction
	notifications []types.NotificationConfiguration
}

// regional returns the state of a Region, which is empty at first: worlds hold no groups.
func regional(r *sim.Region) *service {
	return sim.Store(r, func(r *sim.Region) *service {
		k := r.Kernel()
		s := &service{
			region: r, kernel: k,
			groups: map[string]*group{}, member: map[string]*group{}, alarms: map[string]AlarmState{}, ownZoneOnly: map[string]bool{},
			configurations: sim.NewTable[*types.LaunchConfiguration](k),

			views:      sim.NewTable[*groupView](k),
			refreshes:  sim.NewTable[*types.InstanceRefresh](k),
			activities: sim.NewTable[*types.Activity](k),
		}
		s.watchInstances()
		return s
	})
}

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
	// What follows is replaced and never changed.
	scaling       []types.ScalingPolicy
	scheduled     []*scheduledAction
	notifications []types.NotificationConfiguration // one for each type of a topic
	metrics       []types.EnabledMetric
	warm          *warmPool
	refresh       *refresh   // the active one
	past          []*refresh // newest last
	deleting      bool       // by DeleteAutoScalingGroup with force: ends when the last instance is gone
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

	wakeAt time.Time
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
	// nextImage is that of the root volume that is on its way, rootTask EC2's task for it, and
	// rootOf the last refresh that asked for one.
	nextImage, rootTask, rootOf string
	rootReplaced                bool // it is on its way back into service with a new root volume

	settle  time.Time // when a passing state ends by itself
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

// find returns the group, or the error that AWS answers.
func (s *service) find(name *string) (*group, error) {
	if val(name) == "" {
		return nil, required("autoScalingGroupName")
	}
	g := s.groups[*name]
	if g == nil {
		return nil, groupNotFound(*name)
	}
	return g, nil
}

// change returns the group for a call that changes it: not one that is being deleted, and not one
// that belongs to an operator (SDK CreateAutoScalingGroupInput.Operator).
func (s *service) change(c *sim.Call, name *string) (*group, error) {
	g, err := s.find(name)
	if err != nil {
		return nil, err
	}
	if g.deleting {
		return nil, invalid("AutoScalingGroup %s is pending delete", g.name)
	}
	if err := g.allows(c.Principal); err != nil {
		return nil, err
	}
	return g, nil
}

// allows refuses callers other than the group's operator, if it has one.
func (g *group) allows(principal string) error {
	if g.operator == nil || val(g.operator.Principal) == principal {
		return nil
	}
	return sim.Errorf(codeAccessDenied, "The Auto Scaling group %s is managed by the operator %s.", g.name, val(g.operator.Principal)).WithStatus(403)
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

// wake has the group reconciled once d has passed, or earlier if that is already due.
func (s *service) wake(g *group, d time.Duration) {
	at := s.kernel.Now().Add(max(d, 0))
	if !g.wakeAt.IsZero() && !at.Before(g.wakeAt) {
		return
	}
	g.wakeAt = at
	s.kernel.After(at.Sub(s.kernel.Now()), func() {
		if g.gone || !g.wakeAt.Equal(at) {
			return
		}
		g.wakeAt = time.Time{}
		s.reconcile(g)
	})
}

// changed is called when a call has changed a group: it shows the change and has it acted upon.
// What failed before may work now.
func (s *service) changed(g *group) {
	g.failures, g.retryAt = 0, time.Time{}
	s.publish(g)
	s.wake(g, reaction)
}
