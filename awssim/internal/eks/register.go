package eks

import (
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Register adds the actions of the service to a registry.
func Register(reg *sim.Registry) {
	add(reg, "DescribeCluster", (*service).describeCluster)
	add(reg, "ListClusters", (*service).listClusters)

	add(reg, "CreateCluster", (*service).createCluster)
	add(reg, "DeleteCluster", (*service).deleteCluster)
	add(reg, "UpdateClusterConfig", (*service).updateClusterConfig)
	add(reg, "UpdateClusterVersion", (*service).updateClusterVersion)
	add(reg, "DescribeClusterVersions", (*service).describeClusterVersions)

	add(reg, "CreateAddon", (*service).createAddon)
	add(reg, "DescribeAddon", (*service).describeAddon)
	add(reg, "ListAddons", (*service).listAddons)
	add(reg, "UpdateAddon", (*service).updateAddon)
	add(reg, "DeleteAddon", (*service).deleteAddon)
	add(reg, "DescribeAddonVersions", (*service).describeAddonVersions)

	add(reg, "CreateAccessEntry", (*service).createAccessEntry)
	add(reg, "DescribeAccessEntry", (*service).describeAccessEntry)
	add(reg, "ListAccessEntries", (*service).listAccessEntries)
	add(reg, "UpdateAccessEntry", (*service).updateAccessEntry)
	add(reg, "DeleteAccessEntry", (*service).deleteAccessEntry)
	add(reg, "AssociateAccessPolicy", (*service).associateAccessPolicy)
	add(reg, "DisassociateAccessPolicy", (*service).disassociateAccessPolicy)
	add(reg, "ListAssociatedAccessPolicies", (*service).listAssociatedAccessPolicies)

	add(reg, "CreateNodegroup", (*service).createNodegroup)
	add(reg, "DescribeNodegroup", (*service).describeNodegroup)
	add(reg, "ListNodegroups", (*service).listNodegroups)
	add(reg, "DeleteNodegroup", (*service).deleteNodegroup)

	add(reg, "UpdateNodegroupConfig", (*service).updateNodegroupConfig)
	add(reg, "UpdateNodegroupVersion", (*service).updateNodegroupVersion)
	add(reg, "DescribeUpdate", (*service).describeUpdate)
	add(reg, "ListUpdates", (*service).listUpdates)

	add(reg, "TagResource", (*service).tagResource)
	add(reg, "UntagResource", (*service).untagResource)
	add(reg, "ListTagsForResource", (*service).listTagsForResource)

	reg.State(serviceName, dump)
	registerAuthorization(reg)
}

const serviceName = "eks"

func add[I, O any](reg *sim.Registry, action string, h func(*service, *sim.Call, *I) (*O, error)) {
	sim.Handle(reg, serviceName, action, func(c *sim.Call, in *I) (*O, error) { return h(regional(c.Region), c, in) })
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
