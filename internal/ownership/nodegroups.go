package ownership

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// EKSClusterAnnotation holds the name of the EKS cluster of an AWSManagedMachinePool. It is written
// with RegionAnnotation.
const EKSClusterAnnotation = infrav1.TagSlipwayPrefix + "eks-cluster"

// NodegroupsAnnotation holds the names of a pool's node groups, separated by commas, once a node
// group has been replaced: the one that is wanted, and the one that is on its way out. It is
// written before EKS is, so that neither is forgotten if the pass dies between.
const NodegroupsAnnotation = infrav1.TagSlipwayPrefix + "nodegroups"

// longestNodegroupName limits the length of the name of a node group, in characters (AWS:
// API_CreateNodegroup).
const longestNodegroupName = 63

// nodegroupNamePattern matches the names that EKS accepts for a node group (AWS: API_CreateNodegroup).
var nodegroupNamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// NodegroupName returns the name that the spec gives the pool's node group: its own, or CAPA's default.
func NodegroupName(pool *infrav1.AWSManagedMachinePool) string {
	return cmp.Or(pool.Spec.EKSNodegroupName, infrav1.DefaultNodegroupName(pool.Namespace, pool.Name))
}

// NodegroupNames returns every name that a node group of the pool may have, the likeliest first:
// the recorded names, and the names that Slipway derives from the spec and from the pool. A user of
// the namespace can write the records, and a move to another management cluster drops the records
// in status. So a name says where to look, and only the tags of the node group say whether it is
// the pool's.
func NodegroupNames(pool *infrav1.AWSManagedMachinePool, clusterName string) []string {
	var names []string
	add := func(candidates ...string) {
		for _, name := range candidates {
			if nodegroupNamePattern.MatchString(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	add(RecordedNodegroup(pool))
	wanted, leaving, _ := ReplacedNodegroups(pool)
	add(wanted)
	add(DerivedNodegroupNames(pool, clusterName)...)
	add(leaving)
	return names
}

// DerivedNodegroupNames returns the names that Slipway gives the pool's node group where none is
// recorded: the one in the spec or CAPA's default, and the same with a hash, for where a node group
// of another owner has the first. The default names come last for a pool whose spec has a name.
func DerivedNodegroupNames(pool *infrav1.AWSManagedMachinePool, clusterName string) []string {
	names := Names(NodegroupName(pool), clusterName, pool, 1, longestNodegroupName)
	for _, name := range Names(infrav1.DefaultNodegroupName(pool.Namespace, pool.Name), clusterName, pool, 1, longestNodegroupName) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// RecordedNodegroup returns the name in status, which was written there before EKS was first called
// with it. It is empty if there is none.
func RecordedNodegroup(pool *infrav1.AWSManagedMachinePool) string {
	if pool.Status.Nodegroup == nil {
		return ""
	}
	return pool.Status.Nodegroup.Name
}

// ReplacedNodegroups returns the names of the node group that a replacement leads to and of the one
// that it leads away from, which is empty once that is gone. Replaced is false for a pool whose
// node group was never replaced. The annotation says it, and where that was lost, status.
func ReplacedNodegroups(pool *infrav1.AWSManagedMachinePool) (wanted, leaving string, replaced bool) {
	wanted, leaving, _ = strings.Cut(pool.Annotations[NodegroupsAnnotation], ",")
	if retiring := pool.Status.Retiring; wanted == "" && retiring != nil && pool.Status.Nodegroup != nil {
		wanted, leaving = pool.Status.Nodegroup.Name, retiring.Name
	}
	if !nodegroupNamePattern.MatchString(wanted) {
		return "", "", false
	}
	if !nodegroupNamePattern.MatchString(leaving) {
		leaving = ""
	}
	return wanted, leaving, true
}
