package common

import (
	"cmp"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// EKSClusterAnnotation holds the name of the EKS cluster of an AWSManagedMachinePool. It is written with RegionAnnotation.
const EKSClusterAnnotation = infrav1.TagSlipwayPrefix + "eks-cluster"

// NodegroupsAnnotation holds the names of a pool's node groups, separated by commas, once a node group has been replaced: the one that is wanted, and the one that
// is on its way out. It is written before EKS is, so that neither is forgotten if the pass dies between.
const NodegroupsAnnotation = infrav1.TagSlipwayPrefix + "nodegroups"

// longestNodegroupName is that of a node group (AWS: API_CreateNodegroup).
const longestNodegroupName = 63

// NodegroupName is the name that a pool's node group bears if nobody else's does.
func NodegroupName(pool *infrav1.AWSManagedMachinePool) string {
	return cmp.Or(pool.Spec.EKSNodegroupName, infrav1.DefaultNodegroupName(pool.Namespace, pool.Name))
}

// NodegroupNames are the names that the node group of a pool may bear that was never replaced, the likeliest first.
func NodegroupNames(pool *infrav1.AWSManagedMachinePool, clusterName string) []string {
	names := Names(NodegroupName(pool), clusterName, pool, 1, longestNodegroupName)
	if status := pool.Status.Nodegroup; status != nil && status.Name == names[len(names)-1] {
		slices.Reverse(names)
	}
	return names
}

// ReplacedNodegroups are the names of the node groups of a pool of which one was replaced: the one that is wanted, and the one on its way out, empty for none.
func ReplacedNodegroups(pool *infrav1.AWSManagedMachinePool) (wanted, leaving string, replaced bool) {
	recorded := pool.Annotations[NodegroupsAnnotation]
	wanted, leaving, _ = strings.Cut(recorded, ",")
	return wanted, leaving, recorded != ""
}
