package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

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
)

// reconciler takes the steps that are due for a group: of its creation, its deletion, an update, or
// the check of its health.
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
		if g.roll != nil {
			r.rollouts.step(g)
		} else {
			r.applyConfig(g)
		}
	default:
		r.health.check(g)
	}
	if g.gone {
		return
	}
	r.groups.publish(g)
	r.sleep(g)
}

// sleep has the group reconciled again at the next moment at which time alone changes something.
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

// failCreation fails a creation. The group stays, with the created resources, until it is deleted
// (UG troubleshooting-node-groups).
func (r *reconciler) failCreation(g *group, issue types.Issue) {
	g.issues = []types.Issue{issue}
	r.groups.setStatus(g, types.NodegroupStatusCreateFailed)
}
