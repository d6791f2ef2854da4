package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"
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

// reconcile reads the current state of a group and takes the steps that are due. Repeating it
// changes nothing.
func (s *service) reconcile(g *group) {
	switch g.status {
	case types.NodegroupStatusCreating:
		s.stepCreation(g)
	case types.NodegroupStatusDeleting:
		s.stepDeletion(g)
	case types.NodegroupStatusUpdating:
		s.stepUpdate(g)
	default:
		s.checkHealth(g)
	}
	if g.gone {
		return
	}
	s.groups.publish(g)
	s.sleep(g)
}

// sleep has the group reconciled again at the next moment at which time alone changes something.
func (s *service) sleep(g *group) {
	now := s.kernel.Now()
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
		s.updateDeadlines(g, consider)
	case types.NodegroupStatusActive, types.NodegroupStatusDegraded:
		consider(g.checkAt)
	default: // what has failed stays as it is
	}
	if !next.IsZero() {
		s.groups.wake(g, next.Sub(now))
	}
}

// stepCreation creates the group's resources, and waits for its nodes.
func (s *service) stepCreation(g *group) {
	if g.made.asg == "" {
		if err := s.build(g); err != nil {
			s.creationFailed(g, issueOf(err, g.made.template))
			return
		}
	}
	nodes := s.nodes.of(g)
	ready := 0
	for _, n := range nodes {
		if n.ready {
			ready++
		}
	}
	if !g.awaitsNodes() || len(nodes) >= int(val(g.scaling.DesiredSize)) && ready == len(nodes) {
		s.groups.setStatus(g, types.NodegroupStatusActive)
		return
	}
	if !s.kernel.Now().Before(g.deadline) {
		s.creationFailed(g, s.whyNoNodes(g, nodes))
	}
}

// build creates the resources of a group, in the order in which they need each other.
func (s *service) build(g *group) error {
	if g.made.profile == "" {
		if err := s.makeProfile(g); err != nil {
			return err
		}
	}
	if err := s.makeRemoteGroup(g); err != nil {
		return err
	}
	if g.made.version == 0 {
		version, err := s.makeTemplate(g, &g.settings)
		if err != nil {
			return err
		}
		g.made.version, g.made.latest = version, version
	}
	if err := s.makeGroup(g); err != nil {
		return err
	}
	return s.attachWarmPool(g)
}

// creationFailed fails a creation. The group stays, with the created resources, until it is deleted
// (UG troubleshooting-node-groups).
func (s *service) creationFailed(g *group, issue types.Issue) {
	g.issues = []types.Issue{issue}
	s.groups.setStatus(g, types.NodegroupStatusCreateFailed)
}
