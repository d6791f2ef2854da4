package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	simautoscaling "github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

const (
	// reaction is the time that EKS takes to act on a request. Calls return before their effect
	// begins, as in AWS.
	reaction = time.Second
	// healthInterval is the interval at which EKS checks a group's resources (inference: AWS does
	// not document it).
	healthInterval = time.Minute
	// creationLimit bounds how long a creation waits for its nodes (inference from reports of 20 to
	// 30 minutes; the same as for an update here).
	creationLimit = 15 * time.Minute
	// drainLimit is the time that the nodes of a group that is being deleted have to drain before they
	// are terminated (UG delete-managed-node-group: EKS drains nodes before it terminates them; the
	// limit is the one for updates, an inference).
	drainLimit = 15 * time.Minute
)

// reconciler takes the steps that are due for a group: the steps of its creation, of its deletion,
// and of updates, and the health check.
type reconciler struct {
	region        *sim.Region
	kernel        *sim.Kernel
	updates       *updates
	groups        *groups
	nodes         *nodes
	accessEntries *accessEntries
	builder       *builder
	health        *health
	rollouts      *rollouts
}

// reconcile reads the current state of a group and takes the steps that are due. Repeating it
// changes nothing.
func (r *reconciler) reconcile(g *group) {
	switch g.status {
	case types.NodegroupStatusCreating:
		r.stepCreation(g)
	case types.NodegroupStatusDeleting:
		r.stepDeletion(g)
	case types.NodegroupStatusUpdating:
		r.stepUpdate(g)
	default:
		r.health.check(g)
	}
	if g.gone {
		return
	}
	r.groups.publish(g)
	r.sleep(g)
}

// stepUpdate carries on with an update, unless a fault makes it fail.
func (r *reconciler) stepUpdate(g *group) {
	now := r.kernel.Now()
	switch fault := g.change.due(now); {
	case g.roll != nil && fault != nil:
		r.rollouts.rollBack(g, types.ErrorCode(fault.Code), fault.Message, []string{g.made.asg})
	case g.roll != nil:
		r.rollouts.step(g)
	case fault != nil:
		g.config = nil
		r.groups.endUpdate(g, types.ErrorDetail{ErrorCode: types.ErrorCode(fault.Code), ErrorMessage: ptr(fault.Message), ResourceIds: []string{g.made.asg}})
	case g.change.fails == nil:
		r.applyConfig(g)
	}
}

// sleep schedules the next reconciliation of a group for the time at which a deadline passes or a
// check is due.
func (r *reconciler) sleep(g *group) {
	now := r.kernel.Now()
	var next time.Time
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	switch g.status {
	case types.NodegroupStatusCreating, types.NodegroupStatusDeleting:
		consider(g.deadline)
	case types.NodegroupStatusUpdating:
		r.rollouts.deadlines(g, consider)
		consider(g.change.at)
	case types.NodegroupStatusActive, types.NodegroupStatusDegraded:
		consider(g.checkAt)
	default: // what has failed stays as it is
	}
	if !next.IsZero() {
		r.groups.wake(g, next.Sub(now))
	}
}

// stepCreation creates the group's resources, and waits for its nodes.
func (r *reconciler) stepCreation(g *group) {
	if g.made.asg == "" {
		if err := r.builder.build(g); err != nil {
			r.failCreation(g, issueOf(err, g.made.template))
			return
		}
	}
	nodes := r.nodes.of(g)
	ready := 0
	for _, n := range nodes {
		if n.ready {
			ready++
		}
	}
	if !g.awaitsNodes() || len(nodes) >= int(val(g.scaling.DesiredSize)) && ready == len(nodes) {
		r.groups.setStatus(g, types.NodegroupStatusActive)
		return
	}
	if !r.kernel.Now().Before(g.deadline) {
		r.failCreation(g, r.health.missingNodes(g, nodes))
	}
}

// failCreation marks a creation as failed. The group and its resources stay until the group is
// deleted (UG troubleshooting-node-groups).
func (r *reconciler) failCreation(g *group, issue types.Issue) {
	g.issues = []types.Issue{issue}
	r.groups.setStatus(g, types.NodegroupStatusCreateFailed)
}

// applyConfig carries out an update of the configuration. EKS changes labels and taints of running
// nodes through Kubernetes. Later nodes get them from user data, so EKS's template gets a new
// version, which does not replace nodes (inference).
func (r *reconciler) applyConfig(g *group) {
	c := g.config
	g.config = nil
	fail := func(err error) {
		i := issueOf(err, g.made.asg)
		r.groups.endUpdate(g, types.ErrorDetail{ErrorCode: types.ErrorCode(i.Code), ErrorMessage: i.Message, ResourceIds: i.ResourceIds})
	}
	if c.labels && !g.source.custom() {
		version, err := r.builder.createTemplate(g, &c.wanted)
		if err == nil {
			err = r.builder.setTemplateVersion(g, &c.wanted, version)
		}
		if err != nil {
			fail(err)
			return
		}
		g.made.version, g.made.latest = version, version
	}
	if c.scales {
		_, err := call[autoscaling.UpdateAutoScalingGroupOutput](r.region, "autoscaling", "UpdateAutoScalingGroup", &autoscaling.UpdateAutoScalingGroupInput{
			AutoScalingGroupName: ptr(g.made.asg), MinSize: c.wanted.scaling.MinSize, MaxSize: c.wanted.scaling.MaxSize, DesiredCapacity: c.wanted.scaling.DesiredSize,
		})
		if err != nil {
			fail(err)
			return
		}
	}
	g.adopt(c.wanted)
	if c.pool {
		if !val(g.warm.Enabled) {
			r.builder.detachWarmPool(g)
		}
		// changes one that there is (SDK PutWarmPool: "creates or updates")
		if err := r.builder.attachWarmPool(g); err != nil {
			fail(err)
			return
		}
	}
	r.groups.endUpdate(g)
}

// stepDeletion drains the nodes, deletes the Auto Scaling group with them, and then deletes the
// other resources that EKS created.
func (r *reconciler) stepDeletion(g *group) {
	if g.step == 0 {
		drained := true
		for _, n := range r.nodes.of(g) {
			drained = r.nodes.drain(g, n.id) && drained
		}
		if !drained && r.kernel.Now().Before(g.deadline) {
			return
		}
		g.step = 1
		// It may have been deleted by another caller.
		_, _ = call[autoscaling.DeleteAutoScalingGroupOutput](r.region, "autoscaling", "DeleteAutoScalingGroup", &autoscaling.DeleteAutoScalingGroupInput{
			AutoScalingGroupName: ptr(g.made.asg), ForceDelete: ptr(true),
		})
	}
	if _, there := simautoscaling.LookupGroup(r.region, g.made.asg); there {
		return
	}
	r.builder.remove(g)
	r.drop(g)
}

// drop removes a group that was deleted, with its updates. Tokens of earlier requests for the group
// keep their answers.
func (r *reconciler) drop(g *group) {
	g.gone = true
	delete(r.groups.byKey, g.key())
	delete(r.groups.byASG, g.made.asg)
	r.groups.views.Delete(g.key())
	r.accessEntries.removeNodes(g.cluster, g.nodeRole)
	for _, u := range g.history {
		r.updates.views.Delete(g.updateKey(u.id))
	}
	r.kernel.Emit(sim.Event{Account: r.region.Account.ID, Region: r.region.Name, Kind: "nodegroup", ID: g.key(), State: "DELETED"})
}
