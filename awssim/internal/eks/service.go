package eks

import (
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// service is EKS in one account and Region. Calls and events change the groups; Describe actions
// read the tables of snapshots.
type service struct {
	region *sim.Region
	kernel *sim.Kernel

	tokens   *tokens
	updates  *updates
	catalog  *catalog
	networks *networks
	roles    *roles

	clusters *clusters
	groups   *groups
	nodes    *nodes

	accessEntries *accessEntries
	addons        *addons

	requests   *requests
	builder    *builder
	health     *health
	rollouts   *rollouts
	reconciler *reconciler
}

// regional returns the state of a Region.
func regional(r *sim.Region) *service { return sim.Store(r, newService) }

// newService connects the parts of the service. Each part knows only parts that are created before
// it, with one exception: a change of a group ends in the reconciler.
func newService(r *sim.Region) *service {
	k := r.Kernel()
	s := &service{
		region: r, kernel: k,
		tokens: newTokens(k), updates: newUpdates(k), catalog: &catalog{region: r, kernel: k}, networks: &networks{r}, roles: &roles{r}, clusters: newClusters(r),
	}
	s.groups = newGroups(r, s.updates, s.clusters)
	s.nodes = newNodes(r, s.groups)
	s.accessEntries = &accessEntries{region: r, kernel: k, clusters: s.clusters, groups: s.groups, views: sim.NewTable[shownEntry](k)}
	s.addons = &addons{
		region: r, kernel: k, updates: s.updates, clusters: s.clusters, groups: s.groups, nodes: s.nodes, views: sim.NewTable[*types.Addon](k),
	}
	s.requests = &requests{region: r, kernel: k, catalog: s.catalog, networks: s.networks, roles: s.roles, groups: s.groups}
	s.builder = &builder{region: r, clusters: s.clusters, groups: s.groups}
	s.health = &health{region: r, kernel: k, groups: s.groups, roles: s.roles}
	s.rollouts = &rollouts{region: r, kernel: k, networks: s.networks, groups: s.groups, nodes: s.nodes, builder: s.builder}
	s.reconciler = &reconciler{
		region: r, kernel: k, updates: s.updates, groups: s.groups, nodes: s.nodes, accessEntries: s.accessEntries,
		builder: s.builder, health: s.health, rollouts: s.rollouts,
	}
	s.groups.reconcile = s.reconciler.reconcile
	for _, c := range r.World().Clusters {
		// package world has checked it.
		_ = s.clusters.set(c)
	}
	ec2.OnInstanceChange(r, s.instanceChanged)
	autoscaling.OnGroupChange(r, func(name string) {
		if g := s.groups.byASG[name]; g != nil {
			s.groups.wake(g, 0)
		}
	})
	return s
}

// instanceChanged has the node group of an instance reconciled. Add-ons may also depend on the node.
func (s *service) instanceChanged(i ec2.Instance) {
	if g := s.groups.ofInstance(i); g != nil {
		s.groups.wake(g, 0)
	}
	if i.State != nil && i.State.Name == ec2types.InstanceStateNameTerminated {
		s.nodes.forget(val(i.InstanceId))
	}
	s.addons.settleAll()
}
