package autoscaling

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// groupView is one group as Describe actions show it. It is built anew after each change and never changed.
type groupView struct {
	group types.AutoScalingGroup
	warm  []types.Instance
	hooks []types.LifecycleHook

	scaling       []types.ScalingPolicy
	scheduled     []types.ScheduledUpdateGroupAction
	notifications []types.NotificationConfiguration
}

// groups holds the groups of one account and Region, and what Describe actions show of them.
type groups struct {
	region         *sim.Region
	kernel         *sim.Kernel
	configurations configurations
	// reconcile starts what a group lacks now. newService sets it, because the reconciler uses groups.
	reconcile func(*group)

	byName     map[string]*group
	order      []*group          // by creation
	ofInstance map[string]*group // by the id of a member

	views     *sim.Table[*groupView]
	refreshes *sim.Table[*types.InstanceRefresh]
	watchers  []func(string)
}

func newGroups(region *sim.Region, configurations configurations) *groups {
	k := region.Kernel()
	return &groups{
		region: region, kernel: k, configurations: configurations,
		byName: map[string]*group{}, ofInstance: map[string]*group{},
		views: sim.NewTable[*groupView](k), refreshes: sim.NewTable[*types.InstanceRefresh](k),
	}
}

// find returns the group, or the error that AWS answers.
func (gs *groups) find(name *string) (*group, error) {
	if val(name) == "" {
		return nil, required("autoScalingGroupName")
	}
	g := gs.byName[*name]
	if g == nil {
		return nil, groupNotFound(*name)
	}
	return g, nil
}

// change returns the group for a call that changes it: not one that is being deleted, and not one
// that belongs to an operator (SDK CreateAutoScalingGroupInput.Operator).
func (gs *groups) change(c *sim.Call, name *string) (*group, error) {
	g, err := gs.find(name)
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

// wake has the group reconciled once d has passed, or earlier if that is already due.
func (gs *groups) wake(g *group, d time.Duration) {
	g.wakeUp.In(gs.kernel, d, func() {
		if !g.gone {
			gs.reconcile(g)
		}
	})
}

// changed publishes the change that a call has made to a group, and wakes the group to act on it.
// It clears the back-off, because launches that failed before may succeed now.
func (gs *groups) changed(g *group) {
	g.failures, g.retryAt = 0, time.Time{}
	gs.publish(g)
	gs.wake(g, reaction)
}

// instanceChanged has a group reconciled when an instance of its own has changed its state.
func (gs *groups) instanceChanged(i ec2.Instance) {
	if g := gs.ofInstance[val(i.InstanceId)]; g != nil {
		gs.wake(g, 0)
	}
}

func (gs *groups) notify(g *group) {
	for _, f := range gs.watchers {
		f(g.name)
	}
}

// remove removes a group that has no instances left, with its past refreshes.
func (gs *groups) remove(g *group) {
	g.gone = true
	delete(gs.byName, g.name)
	gs.order = slices.DeleteFunc(gs.order, func(o *group) bool { return o == g })
	gs.views.Delete(g.name)
	gs.notify(g)
	for _, r := range g.past {
		gs.refreshes.Delete(r.id)
	}
}

// findPolicy finds a policy by its ARN, or by the names of its group and itself.
func (gs *groups) findPolicy(groupName, policy *string) (*group, *types.ScalingPolicy, error) {
	if val(policy) == "" {
		return nil, nil, required("policyName")
	}
	byARN := strings.HasPrefix(*policy, "arn:")
	if !byARN && val(groupName) == "" {
		// inference for the words
		return nil, nil, invalid("AutoScalingGroupName is required for a policy that is given by its name.")
	}
	for _, g := range gs.order {
		if val(groupName) != "" && g.name != *groupName {
			continue
		}
		for i := range g.scaling {
			if byARN && *g.scaling[i].PolicyARN == *policy || !byARN && *g.scaling[i].PolicyName == *policy {
				return g, &g.scaling[i], nil
			}
		}
	}
	return nil, nil, invalid("No policy found for policy name %s", *policy) // inference for the words
}
