package eks

import (
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// service is EKS in one account and Region.
type service struct {
	updates       *updates
	clusters      *clusters
	groups        *groups
	nodes         *nodes
	accessEntries *accessEntries
	addons        *addons
	permissions   *permissions

	accessEntryActions   *accessEntryActions
	addonActions         *addonActions
	catalogActions       *catalogActions
	clusterActions       *clusterActions
	clusterUpdateActions *clusterUpdateActions
	groupActions         *groupActions
	tagActions           *tagActions
	updateActions        *updateActions
}

// regional returns the state of a Region, which begins with the clusters of the world.
func regional(r *sim.Region) *service {
	return sim.Store(r, func(r *sim.Region) *service {
		s := newService(r)
		for _, c := range r.World().Clusters {
			// package world has checked it.
			_ = s.clusters.set(c)
		}
		ec2.OnInstanceChange(r, s.instanceChanged)
		autoscaling.OnGroupChange(r, s.groups.autoScalingGroupChanged)
		return s
	})
}

// newService connects the parts of the service. Each part knows only parts that are created before
// it, with one exception: a change of a group runs the reconciler.
func newService(r *sim.Region) *service {
	k := r.Kernel()
	s := &service{updates: newUpdates(k), clusters: newClusters(r)}
	catalog, networks, roles := &catalog{region: r, kernel: k}, &networks{r}, &roles{r}
	s.groups = newGroups(r, s.updates, s.clusters)
	s.nodes = newNodes(r, s.groups)
	s.accessEntries = &accessEntries{region: r, kernel: k, clusters: s.clusters, groups: s.groups, views: sim.NewTable[shownEntry](k)}
	s.addons = &addons{
		region: r, kernel: k, updates: s.updates, clusters: s.clusters, groups: s.groups, nodes: s.nodes, views: sim.NewTable[*types.Addon](k),
	}

	builder := &builder{region: r, clusters: s.clusters, groups: s.groups}
	health := &health{region: r, kernel: k, groups: s.groups, roles: roles}
	rollouts := &rollouts{region: r, kernel: k, networks: networks, groups: s.groups, nodes: s.nodes, builder: builder, health: health}
	reconciler := &reconciler{
		region: r, kernel: k, updates: s.updates, groups: s.groups, nodes: s.nodes, accessEntries: s.accessEntries,
		builder: builder, health: health, rollouts: rollouts,
	}
	s.groups.reconcile = reconciler.reconcile

	s.addActions(r, catalog, networks, roles)
	return s
}

// addActions adds the parts that serve calls.
func (s *service) addActions(r *sim.Region, catalog *catalog, networks *networks, roles *roles) {
	k := r.Kernel()
	tokens := newTokens(k)
	requests := &requests{region: r, kernel: k, catalog: catalog, networks: networks, roles: roles, groups: s.groups}
	s.accessEntryActions = &accessEntryActions{tokens: tokens, accessEntries: s.accessEntries}
	s.addonActions = &addonActions{region: r, kernel: k, tokens: tokens, updates: s.updates, clusters: s.clusters, addons: s.addons}
	s.catalogActions = &catalogActions{catalog}
	s.clusterActions = &clusterActions{
		region: r, kernel: k, tokens: tokens, updates: s.updates, catalog: catalog, networks: networks, roles: roles,
		clusters: s.clusters, groups: s.groups, accessEntries: s.accessEntries, addons: s.addons,
	}
	s.clusterUpdateActions = &clusterUpdateActions{
		kernel: k, tokens: tokens, updates: s.updates, catalog: catalog, networks: networks, clusters: s.clusters, groups: s.groups,
	}
	s.groupActions = &groupActions{
		region: r, kernel: k, tokens: tokens, clusters: s.clusters, groups: s.groups, accessEntries: s.accessEntries, requests: requests,
	}
	s.tagActions = &tagActions{clusters: s.clusters, groups: s.groups, accessEntries: s.accessEntries, addons: s.addons}
	s.updateActions = &updateActions{updates: s.updates, clusters: s.clusters, groups: s.groups, addons: s.addons}
	s.permissions = &permissions{region: r, clusters: s.clusters, groups: s.groups, tagActions: s.tagActions}
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
