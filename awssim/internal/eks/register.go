package eks

import (
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Register adds the actions of the service to a registry.
func Register(reg *sim.Registry) {
	add(reg, "DescribeCluster", (*service).describeCluster)
	add(reg, "ListClusters", (*service).listClusters)

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
	}{map[string]*types.Cluster{}, map[string]*types.Nodegroup{}, map[string]*types.Update{}}
	for _, c := range s.clusterViews.All() {
		state.Clusters[*c.Name] = c
	}
	for _, v := range s.views.All() {
		state.Nodegroups[groupKey(*v.ClusterName, *v.NodegroupName)] = v
	}
	for _, u := range s.updates.All() {
		state.Updates[*u.Id] = u
	}
	return state
}
