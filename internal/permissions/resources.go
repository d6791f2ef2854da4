package permissions

import (
	"cmp"
	"path"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/noderole"
)

func everything(Scope) []string { return []string{"*"} }

func templates(s Scope) []string { return s.regional("ec2", "launch-template/*") }

func instances(s Scope) []string { return s.regional("ec2", "instance/*") }

// launchedNodes returns what a launch of just-in-time nodes creates with the tag of their
// provisioner's cluster.
func launchedNodes(s Scope) []string { return s.regional("ec2", "fleet/*", "instance/*") }

func groups(s Scope) []string {
	return s.regional("autoscaling", "autoScalingGroup:*:autoScalingGroupName/*")
}

// nodegroups returns the node groups of the scope's EKS clusters. The last part of their ARNs is an id.
func nodegroups(s Scope) []string {
	var resources []string
	for _, cluster := range s.EKSClusters {
		resources = append(resources, "nodegroup/"+cluster+"/*")
	}
	return s.regional("eks", resources...)
}

// namedNodegroups returns the node groups of one EKS cluster whose names are Slipway's.
func namedNodegroups(s Scope) []string {
	var resources []string
	for _, name := range s.nodegroups() {
		resources = append(resources, "nodegroup/"+s.cluster+"/"+name+"/*")
	}
	return s.regional("eks", resources...)
}

func eksClusters(s Scope) []string {
	var resources []string
	for _, cluster := range s.EKSClusters {
		resources = append(resources, "cluster/"+cluster)
	}
	return s.regional("eks", resources...)
}

// instanceRoles returns the roles that instances of machine pools may have: CAPA's default, and the
// named roles.
func instanceRoles(s Scope) []string {
	return s.roles(append([]string{"nodes" + roleSuffix}, s.NodeRoles...)...)
}

// roleSuffix is the suffix of the names of the roles that clusterawsadm creates (CAPA:
// cloudformation/bootstrap, DefaultNameSuffix).
const roleSuffix = ".cluster-api-provider-aws.sigs.k8s.io"

// newRoles returns the roles that Slipway creates, which are those under its path.
func newRoles(s Scope) []string {
	var names []string
	for _, path := range s.paths() {
		names = append(names, path+"*")
	}
	return s.roles(names...)
}

// derivedRoles returns the roles that have names which CAPA, and earlier releases of Slipway,
// derive for node groups.
func derivedRoles(s Scope) []string {
	return s.roles("*"+infrav1.NodeRoleSuffix, infrav1.HashedNamePrefix+"*")
}

// ownRoles returns the roles that may have Slipway's owner tag.
func ownRoles(s Scope) []string {
	if s.adopting {
		return slices.Concat(newRoles(s), derivedRoles(s))
	}
	return newRoles(s)
}

// visibleRoles returns the roles that Slipway reads. Before a role exists, IAM knows its name without a path.
func visibleRoles(s Scope) []string {
	names := []string{"eks-nodegroup" + roleSuffix}
	for _, name := range s.NodeRoles {
		if names = append(names, name); strings.Contains(name, "/") {
			names = append(names, path.Base(name))
		}
	}
	return slices.Concat(newRoles(s), derivedRoles(s), s.roles(names...))
}

// nodegroupRoles returns the roles that nodes of managed pools may have. Tags cannot bound
// iam:PassRole (AWS: IAM user guide, "Grant a user permissions to pass a role to an AWS service"),
// so names and paths do.
func nodegroupRoles(s Scope) []string {
	return slices.Concat(newRoles(s), s.roles(append([]string{"eks-nodegroup" + roleSuffix}, s.NodeRoles...)...))
}

// nodePolicies returns the ARNs of the policies that may be attached to roles that Slipway creates.
// Anything else would give nodes, and so Slipway, more permissions than it has itself.
func nodePolicies(s Scope) []string {
	return slices.Concat(noderole.NodePolicies(cmp.Or(s.Partition, "*")), s.NodePolicies)
}

// ownPath returns the items of bootstrap data, which are at
// <prefix><namespace>/<cluster>/<name>/<hash>. An asterisk matches slashes too, so what follows the
// cluster's name must have two parts: then it is not the name of a config.
func (s Scope) ownPath(prefix string) []string {
	if len(s.Clusters) == 0 {
		return []string{prefix + "*"}
	}
	var paths []string
	for _, cluster := range s.Clusters {
		paths = append(paths, prefix+"*/"+cluster+"/*/*")
	}
	return paths
}
