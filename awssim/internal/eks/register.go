package eks

import (
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

const serviceName = "eks"

// Register adds the actions of the service to a registry.
func Register(reg *sim.Registry) {
	registerClusters(reg)
	registerAddons(reg)
	registerAccessEntries(reg)
	registerGroups(reg)
	registerTags(reg)

	reg.State(serviceName, dump)
	registerAuthorization(reg)
}

// add registers the handler of an action, which is a method of one part of the service.
func add[P, I, O any](reg *sim.Registry, action string, part func(*service) P, handle func(P, *sim.Call, *I) (*O, error)) {
	sim.Handle(reg, serviceName, action, func(c *sim.Call, in *I) (*O, error) { return handle(part(regional(c.Region)), c, in) })
}

func registerClusters(reg *sim.Registry) {
	clusters := func(s *service) *clusterActions { return s.clusterActions }
	add(reg, "CreateCluster", clusters, (*clusterActions).create)
	add(reg, "DescribeCluster", clusters, (*clusterActions).describe)
	add(reg, "ListClusters", clusters, (*clusterActions).list)
	add(reg, "DeleteCluster", clusters, (*clusterActions).delete)

	updates := func(s *service) *clusterUpdateActions { return s.clusterUpdateActions }
	add(reg, "UpdateClusterConfig", updates, (*clusterUpdateActions).updateConfig)
	add(reg, "UpdateClusterVersion", updates, (*clusterUpdateActions).updateVersion)

	catalog := func(s *service) *catalogActions { return s.catalogActions }
	add(reg, "DescribeClusterVersions", catalog, (*catalogActions).describeClusterVersions)
	add(reg, "DescribeAddonVersions", catalog, (*catalogActions).describeAddonVersions)
}

func registerAddons(reg *sim.Registry) {
	addons := func(s *service) *addonActions { return s.addonActions }
	add(reg, "CreateAddon", addons, (*addonActions).create)
	add(reg, "DescribeAddon", addons, (*addonActions).describe)
	add(reg, "ListAddons", addons, (*addonActions).list)
	add(reg, "UpdateAddon", addons, (*addonActions).update)
	add(reg, "DeleteAddon", addons, (*addonActions).delete)
}

func registerAccessEntries(reg *sim.Registry) {
	entries := func(s *service) *accessEntryActions { return s.accessEntryActions }
	add(reg, "CreateAccessEntry", entries, (*accessEntryActions).create)
	add(reg, "DescribeAccessEntry", entries, (*accessEntryActions).describe)
	add(reg, "ListAccessEntries", entries, (*accessEntryActions).list)
	add(reg, "UpdateAccessEntry", entries, (*accessEntryActions).update)
	add(reg, "DeleteAccessEntry", entries, (*accessEntryActions).delete)
	add(reg, "AssociateAccessPolicy", entries, (*accessEntryActions).associatePolicy)
	add(reg, "DisassociateAccessPolicy", entries, (*accessEntryActions).disassociatePolicy)
	add(reg, "ListAssociatedAccessPolicies", entries, (*accessEntryActions).listPolicies)
}

func registerGroups(reg *sim.Registry) {
	groups := func(s *service) *groupActions { return s.groupActions }
	add(reg, "CreateNodegroup", groups, (*groupActions).create)
	add(reg, "DescribeNodegroup", groups, (*groupActions).describe)
	add(reg, "ListNodegroups", groups, (*groupActions).list)
	add(reg, "DeleteNodegroup", groups, (*groupActions).delete)
	add(reg, "UpdateNodegroupConfig", groups, (*groupActions).updateConfig)
	add(reg, "UpdateNodegroupVersion", groups, (*groupActions).updateVersion)

	updates := func(s *service) *updateActions { return s.updateActions }
	add(reg, "DescribeUpdate", updates, (*updateActions).describe)
	add(reg, "ListUpdates", updates, (*updateActions).list)
}

func registerTags(reg *sim.Registry) {
	tags := func(s *service) *tagActions { return s.tagActions }
	add(reg, "TagResource", tags, (*tagActions).tag)
	add(reg, "UntagResource", tags, (*tagActions).untag)
	add(reg, "ListTagsForResource", tags, (*tagActions).list)
}

// dump returns what the service holds in a Region, as it is now.
func dump(r *sim.Region) any {
	s := regional(r)
	state := struct {
		Clusters   map[string]*types.Cluster   `json:"clusters"`
		Nodegroups map[string]*types.Nodegroup `json:"nodegroups"` // by cluster/name
		Updates    map[string]*types.Update    `json:"updates"`
		Addons     map[string]*types.Addon     `json:"addons"`        // by cluster/addon:name
		Entries    map[string]accessEntryDump  `json:"accessEntries"` // by cluster and principal
	}{map[string]*types.Cluster{}, map[string]*types.Nodegroup{}, map[string]*types.Update{}, map[string]*types.Addon{}, map[string]accessEntryDump{}}
	for _, c := range s.clusters.views.All() {
		state.Clusters[*c.Name] = c
	}
	for _, v := range s.groups.views.All() {
		state.Nodegroups[groupKey(*v.ClusterName, *v.NodegroupName)] = v
	}
	for _, u := range s.updates.views.All() {
		state.Updates[*u.Id] = u
	}
	for _, a := range s.addons.views.All() {
		state.Addons[addonKey(*a.ClusterName, *a.AddonName)] = a
	}
	for _, e := range s.accessEntries.views.All() {
		state.Entries[*e.ClusterName+" "+*e.PrincipalArn] = accessEntryDump{e.AccessEntry, e.policies}
	}
	return state
}

// accessEntryDump is an access entry with its policies.
type accessEntryDump struct {
	Entry    *types.AccessEntry             `json:"entry"`
	Policies []types.AssociatedAccessPolicy `json:"policies"`
}
