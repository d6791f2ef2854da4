package eks

import (
	"cmp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	simautoscaling "github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Limits of an update (UG managed-node-update-behavior).
const (
	joinLimit  = 15 * time.Minute // a new node must be Ready
	evictLimit = 15 * time.Minute // an old node must be drained
	afterDrain = time.Minute      // before the request to terminate it
	leaveLimit = 15 * time.Minute // a node must leave the Auto Scaling group (inference)
)

type phase int

const (
	setup     phase = iota // EKS's template gets a version, and the Auto Scaling group launches from it
	scaleUp                // new nodes besides the old ones
	upgrade                // old nodes drain and terminate
	scaleDown              // back to the size before
)

// rollout is an update under way that replaces nodes.
type rollout struct {
	wanted  settings
	version int64 // of EKS's template, that is being rolled out
	force   bool
	phase   phase

	before   types.NodegroupScalingConfig // what the Auto Scaling group was
	surge    int32
	expected int32     // the desired size that EKS has set last
	progress time.Time // when a node was last asked for
	victims  map[string]*victim
}

// victim is an old node that is being drained and terminated.
type victim struct {
	since, drained, terminated time.Time
}

// rollouts replaces the nodes of groups, phase by phase, and rolls a failed update back (UG
// managed-node-update-behavior).
type rollouts struct {
	region   *sim.Region
	kernel   *sim.Kernel
	networks *networks
	groups   *groups
	nodes    *nodes
	builder  *builder
	health   *health
}

func newRollout(n settings, force bool) *rollout {
	return &rollout{wanted: n, force: force, victims: map[string]*victim{}}
}

func (r *rollout) minimal() bool {
	return r.wanted.updating.UpdateStrategy == types.NodegroupUpdateStrategiesMinimal
}

// parallel returns how many nodes are replaced at a time (SDK NodegroupUpdateConfig: at most 100;
// rounding down to at least one is an inference).
func (r *rollout) parallel() int {
	n := int(val(r.wanted.updating.MaxUnavailable))
	if percent := r.wanted.updating.MaxUnavailablePercentage; percent != nil {
		n = int(val(r.before.DesiredSize)) * int(*percent) / 100
	}
	return min(max(n, 1), 100)
}

// step takes the steps of the roll-out of a group that are due.
func (rs *rollouts) step(g *group) {
	for before := phase(-1); g.roll != nil && before != g.roll.phase; {
		before = g.roll.phase
		switch g.roll.phase {
		case setup:
			rs.setUp(g)
		case scaleUp:
			rs.awaitSurge(g)
		case upgrade:
			rs.replaceNodes(g)
		case scaleDown:
			rs.shrink(g)
		}
	}
}

// deadlines calls consider with each time at which the update proceeds or fails without an event.
func (rs *rollouts) deadlines(g *group, consider func(time.Time)) {
	r := g.roll
	if r == nil {
		return
	}
	if r.phase == scaleUp || r.phase == upgrade {
		consider(r.progress.Add(joinLimit))
		for _, n := range rs.nodes.of(g) {
			if !n.ready {
				consider(n.launched.Add(joinLimit))
			}
		}
	}
	for _, v := range r.victims {
		if !v.terminated.IsZero() {
			consider(v.terminated.Add(leaveLimit))
			continue
		}
		consider(v.since.Add(evictLimit))
		if !v.drained.IsZero() {
			consider(v.drained.Add(afterDrain))
		}
	}
	if r.phase == scaleDown {
		consider(rs.kernel.Now().Add(reaction))
	}
}

// setUp creates the template version and makes the Auto Scaling group launch it. The warm pool is
// drained first (UG warm-pools-managed-node-groups). An update of a group without nodes is then
// complete (inference from UG capacity-blocks-mng, which updates at size 0).
func (rs *rollouts) setUp(g *group) {
	r := g.roll
	r.before = rs.sizes(g)
	if missing := rs.health.findMissing(g); len(missing) > 0 {
		i := missing[0]
		rs.rollBack(g, types.ErrorCode(i.Code), *i.Message, i.ResourceIds)
		return
	}
	if g.warm != nil {
		rs.builder.detachWarmPool(g)
	}
	version, err := rs.builder.createTemplate(g, &r.wanted)
	if err == nil {
		r.version, g.made.latest = version, version
		err = rs.builder.setTemplateVersion(g, &r.wanted, version)
	}
	if err != nil {
		i := issueOf(err, g.made.template, g.made.asg)
		rs.rollBack(g, types.ErrorCode(i.Code), *i.Message, i.ResourceIds)
		return
	}
	r.expected, r.progress = val(r.before.DesiredSize), rs.kernel.Now()
	if len(rs.nodes.of(g)) == 0 && val(r.before.DesiredSize) == 0 {
		rs.finish(g)
		return
	}
	if r.minimal() {
		for _, n := range rs.nodes.of(g) {
			rs.nodes.cordon(n.id)
		}
		r.phase = upgrade
		return
	}
	r.surge = max(int32(2*rs.networks.zones(g.subnets)), int32(r.parallel())) //nolint:gosec // both are small
	r.expected += r.surge
	rs.resize(g, val(r.before.MaxSize)+r.surge, r.expected)
	r.phase = scaleUp
}

// sizes returns the sizes of the Auto Scaling group.
func (rs *rollouts) sizes(g *group) types.NodegroupScalingConfig {
	found, ok := simautoscaling.LookupGroup(rs.region, g.made.asg)
	if !ok {
		return g.scaling
	}
	return types.NodegroupScalingConfig{MinSize: found.MinSize, MaxSize: found.MaxSize, DesiredSize: found.DesiredCapacity}
}

// resize sets the sizes of the Auto Scaling group. The next step notices if the group no longer
// exists.
func (rs *rollouts) resize(g *group, high, desired int32) {
	_, _ = call[autoscaling.UpdateAutoScalingGroupOutput](rs.region, "autoscaling", "UpdateAutoScalingGroup", &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: ptr(g.made.asg), MaxSize: ptr(high), DesiredCapacity: ptr(desired),
	})
}

// split returns the nodes of the version that is being rolled out, and the other nodes, oldest
// first.
func (rs *rollouts) split(g *group) (updated, old []node) {
	for _, n := range rs.nodes.of(g) {
		if n.version == itoa(g.roll.version) {
			updated = append(updated, n)
		} else {
			old = append(old, n)
		}
	}
	slices.SortStableFunc(old, func(a, b node) int { return cmp.Or(a.launched.Compare(b.launched), cmp.Compare(a.id, b.id)) })
	return updated, old
}

// awaitSurge waits until the additional nodes are Ready.
func (rs *rollouts) awaitSurge(g *group) {
	updated, old := rs.split(g)
	// Another caller may have scaled the group meanwhile: then there are as many nodes as there
	// should be.
	enough := len(updated) >= int(g.roll.surge) || len(updated)+len(old) >= int(rs.desired(g))
	if enough && !slices.ContainsFunc(updated, func(n node) bool { return !n.ready }) {
		for _, n := range old {
			rs.nodes.cordon(n.id)
		}
		g.roll.phase, g.roll.progress = upgrade, rs.kernel.Now()
		return
	}
	rs.failIfLate(g, updated)
}

// failIfLate fails an update whose new nodes do not launch or do not join in time, and reports
// whether it did. The wording is from many reports. EKS reports NodeCreationFailure for instances that EC2
// has no capacity for, or that exceed a quota, too (UG managed-node-update-behavior, "Scale up phase"). It
// has a code of its own for subnets without free addresses (API ErrorDetail).
func (rs *rollouts) failIfLate(g *group, updated []node) bool {
	now := rs.kernel.Now()
	var waiting []string
	late := len(updated) < int(rs.desired(g)) && !now.Before(g.roll.progress.Add(joinLimit)) && len(rs.nodes.of(g)) < int(rs.desired(g))
	for _, n := range updated {
		if !n.ready {
			waiting = append(waiting, n.id)
			late = late || !now.Before(n.launched.Add(joinLimit))
		}
	}
	if !late {
		return false
	}
	if i, full := rs.health.fullSubnets(g); full {
		rs.rollBack(g, types.ErrorCode(i.Code), *i.Message, i.ResourceIds)
		return true
	}
	rs.rollBack(g, types.ErrorCodeNodeCreationFailure, "Couldn't proceed with upgrade process as new nodes are not joining node group "+g.name, waiting)
	return true
}

// desired returns the desired capacity of the Auto Scaling group.
func (rs *rollouts) desired(g *group) int32 { return val(rs.sizes(g).DesiredSize) }

// replaceNodes drains and terminates old nodes, at most as many at a time as may be unavailable.
// The Auto Scaling group replaces each of them.
func (rs *rollouts) replaceNodes(g *group) {
	r := g.roll
	updated, old := rs.split(g)
	if rs.failIfLate(g, updated) {
		return
	}
	ready, busy := 0, 0
	for _, n := range updated {
		if n.ready {
			ready++
		}
	}
	for _, n := range old {
		if r.victims[n.id] != nil {
			busy++
		}
	}
	if len(old) == 0 && ready == len(updated) && ready >= int(rs.desired(g)) {
		r.phase, r.progress = scaleDown, rs.kernel.Now()
		return
	}
	// Unavailable nodes are on their way out, or not replaced yet.
	slots := r.parallel() - busy - max(0, int(rs.desired(g))-len(old)-ready)
	for _, n := range old {
		v := r.victims[n.id]
		if v == nil {
			if slots <= 0 {
				continue
			}
			slots--
			v = &victim{since: rs.kernel.Now()}
			r.victims[n.id] = v
		}
		if !rs.stepVictim(g, n, v) {
			return
		}
	}
}

// stepVictim drains a node, waits, and terminates it. It returns false if the update failed.
func (rs *rollouts) stepVictim(g *group, n node, v *victim) bool {
	now := rs.kernel.Now()
	if v.drained.IsZero() {
		switch {
		case rs.nodes.drain(g, n.id):
			v.drained = now
		case now.Before(v.since.Add(evictLimit)):
			return true
		case g.roll.force: // SDK UpdateNodegroupVersionInput.Force
			v.drained = now
		default: // message and the node's name: aws/containers-roadmap#1282
			rs.rollBack(g, types.ErrorCodePodEvictionFailure, "Reached max retries while trying to evict pods from nodes in node group "+g.name, []string{n.name})
			return false
		}
	}
	if !v.terminated.IsZero() {
		if now.Before(v.terminated.Add(leaveLimit)) {
			return true
		}
		rs.rollBack(g, types.ErrorCodeUnknown, "Nodes of node group "+g.name+" could not be terminated", []string{n.id})
		return false
	}
	if now.Before(v.drained.Add(afterDrain)) {
		return true
	}
	v.terminated, g.roll.progress = now, now
	rs.terminate(n.id, false)
	return true
}

// terminate terminates an instance through its Auto Scaling group. An instance that no longer
// exists is no failure.
func (rs *rollouts) terminate(instance string, decrement bool) {
	_, _ = call[autoscaling.TerminateInstanceInAutoScalingGroupOutput](rs.region, "autoscaling", "TerminateInstanceInAutoScalingGroup",
		&autoscaling.TerminateInstanceInAutoScalingGroupInput{InstanceId: ptr(instance), ShouldDecrementDesiredCapacity: ptr(decrement)})
}

// shrink returns the Auto Scaling group to its sizes before the update, one node at a time. If
// another caller scales the group, as the Cluster Autoscaler may, it "exits immediately without
// bringing the node group back to its original size" (UG managed-node-update-behavior).
func (rs *rollouts) shrink(g *group) {
	r := g.roll
	now := rs.sizes(g)
	if val(now.DesiredSize) != r.expected {
		rs.finish(g)
		return
	}
	if val(now.DesiredSize) <= val(r.before.DesiredSize) {
		if val(now.MaxSize) != val(r.before.MaxSize) {
			rs.resize(g, val(r.before.MaxSize), val(now.DesiredSize))
		}
		rs.finish(g)
		return
	}
	if len(rs.nodes.of(g)) > int(val(now.DesiredSize)) && rs.kernel.Now().Before(r.progress.Add(leaveLimit)) {
		return // the last one has not left yet
	}
	r.expected--
	r.progress = rs.kernel.Now()
	rs.resize(g, max(val(now.MaxSize)-1, r.expected), r.expected)
}

// finish completes a successful update.
func (rs *rollouts) finish(g *group) {
	g.adopt(g.roll.wanted)
	g.made.version = g.roll.version
	if err := rs.builder.attachWarmPool(g); err != nil {
		i := issueOf(err, g.made.asg)
		rs.groups.endUpdate(g, types.ErrorDetail{ErrorCode: types.ErrorCode(i.Code), ErrorMessage: i.Message, ResourceIds: i.ResourceIds})
		return
	}
	rs.groups.endUpdate(g)
}

// adopt sets the settings of a successful update. It keeps the current tags, which updates do not
// change.
func (g *group) adopt(n settings) {
	n.tags = g.tags
	g.settings = n
}

// rollBack completes a failed update: the group is ACTIVE with its previous version and launches
// from it, surplus nodes are terminated, and old nodes accept pods again. New nodes that replaced
// old ones stay (inference).
func (rs *rollouts) rollBack(g *group, code types.ErrorCode, message string, resources []string) {
	r := g.roll
	// The former version was good enough before; if it no longer is, the health check will show it.
	_ = rs.builder.setTemplateVersion(g, &g.settings, g.made.version)
	if r.version != 0 {
		updated, old := rs.split(g)
		for _, n := range old {
			rs.nodes.uncordon(n.id)
		}
		slices.SortStableFunc(updated, func(a, b node) int { return cmp.Compare(order(a), order(b)) })
		surplus := int(rs.desired(g) - val(r.before.DesiredSize))
		for _, n := range updated {
			if surplus--; surplus < 0 && n.ready {
				break
			}
			rs.terminate(n.id, surplus >= 0)
		}
		if desired := val(r.before.DesiredSize); r.phase != setup {
			rs.resize(g, val(r.before.MaxSize), desired)
		}
	}
	_ = rs.builder.attachWarmPool(g)
	rs.groups.endUpdate(g, types.ErrorDetail{ErrorCode: code, ErrorMessage: ptr(message), ResourceIds: resources})
}

// order puts nodes that are not Ready first.
func order(n node) int {
	if n.ready {
		return 1
	}
	return 0
}
