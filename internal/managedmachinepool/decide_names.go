package managedmachinepool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/adoption"
	"github.com/slipway-project/slipway/internal/digest"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/ownership"
)

// longestNodegroupName is the maximum length of the name of a node group (AWS:
// API_CreateNodegroup).
const longestNodegroupName = 63

// successorName returns the name of the node group that replaces one whose template is lost:
// another name for each template.
func successorName(in input, templateID string) string {
	return digest.Suffixed(ownership.NodegroupName(in.Object), ownerTag(in)+"/"+templateID, 8, longestNodegroupName)
}

// templateName returns CAPA's name for the launch template of a managed pool.
func templateName(pool *infrav1.AWSManagedMachinePool, controlPlane string) string {
	return controlPlane + "-" + pool.Name
}

// roleName returns the name of the pool's node role. A node group never gets another role.
func roleName(in input) string {
	status := in.Object.Status.NodeRole
	switch {
	case in.Seen.Group != nil && in.Seen.Group.RoleARN != "":
		return noderole.NameOf(in.Seen.Group.RoleARN)
	case in.Seen.Retiring != nil && in.Seen.Retiring.RoleARN != "":
		return noderole.NameOf(in.Seen.Retiring.RoleARN)
	case in.Object.Spec.RoleName != "":
		return in.Object.Spec.RoleName
	case status != nil && status.Managed:
		return status.Name // its node group is gone, and may have had another name
	}
	return infrav1.DefaultNodeRoleName(in.Seen.EKSCluster, ownership.NodegroupName(in.Object))
}

// roleNames returns every name that a role of the pool's own may have, the likeliest first.
func roleNames(in input) []string {
	names := []string{roleName(in)}
	if status := in.Object.Status.NodeRole; status != nil && in.Object.Spec.RoleName == "" {
		names = []string{status.Name}
	}
	if in.Seen.EKSCluster == "" {
		return names
	}
	for _, group := range ownership.NodegroupNames(in.Object, in.Seen.ClusterName) {
		if name := infrav1.DefaultNodeRoleName(in.Seen.EKSCluster, group); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// recordedARN returns the ARN of the node group in status, empty if there is none.
func recordedARN(pool *infrav1.AWSManagedMachinePool) string {
	if pool.Status.Nodegroup == nil {
		return ""
	}
	return pool.Status.Nodegroup.ARN
}

// recorded reports whether status names exactly this node group. An ARN has an identifier of its
// own for each node group, unlike a name.
func recorded(status *infrav1.NodegroupStatus, group *nodegroup.Nodegroup) bool {
	return status != nil && status.ARN != "" && status.ARN == group.ARN
}

// clusterOf returns the name of the EKS cluster in the ARN of a node group, such as
// arn:aws:eks:us-east-1:123456789012:nodegroup/cluster/name/id; empty for another text.
func clusterOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 || parts[0] != "arn" || parts[2] != "eks" {
		return ""
	}
	resource := strings.Split(parts[5], "/")
	if len(resource) != 4 || resource[0] != "nodegroup" {
		return ""
	}
	return resource[1]
}

// namesTakenError reports that node groups of other owners have all names that the pool's node
// group may have.
type namesTakenError struct{ names []string }

// Error implements error.
func (e *namesTakenError) Error() string {
	if len(e.names) == 1 {
		return fmt.Sprintf("node group %q exists in the EKS cluster, but this pool does not own it. Slipway does "+
			"not change it or create another one. Set spec.eksNodegroupName to another name, or delete the node "+
			"group", e.names[0])
	}
	return fmt.Sprintf("node groups %s exist in the EKS cluster, but this pool does not own them. Slipway does "+
		"not change them or create another one. Set spec.eksNodegroupName to another name, or delete one of the "+
		"node groups", strings.Join(e.names, " and "))
}

// WaitsForUser reports that only a user can free a name.
func (*namesTakenError) WaitsForUser() bool { return true }

// ownerTagMissingError reports that a node group that status names exists without the tag that
// marks it as the pool's.
type ownerTagMissingError struct {
	group *nodegroup.Nodegroup
	// wanted is the value of the tag that the pool's node group has.
	wanted string
}

// Error implements error.
func (e *ownerTagMissingError) Error() string {
	key, found := infrav1.TagManagedMachinePool, "has no tag "+infrav1.TagManagedMachinePool
	if e.owner() != "" { // whose it is may be another tenant's secret
		found = "has the tag of another owner, " + key
	}
	return fmt.Sprintf("node group %s, which this pool created, %s. Slipway neither changes it nor creates "+
		"another one, and its nodes keep running. Set tag %s of %s to %s", e.group.Name, found, key, e.group.ARN, e.wanted)
}

// WaitsForUser reports that only a user can put the tag back: status is no proof of ownership.
func (*ownerTagMissingError) WaitsForUser() bool { return true }

// owner returns the owner that the tag names instead, empty for none.
func (e *ownerTagMissingError) owner() string { return e.group.Tags[infrav1.TagManagedMachinePool] }

// groupReason returns the reason for an error about which node group is the pool's, and the given
// reason for any other error.
func groupReason(err error, reason string) string {
	var taken *namesTakenError
	var untagged *ownerTagMissingError
	switch {
	case errors.As(err, &taken):
		return infrav1.NameTakenReason
	case errors.As(err, &untagged):
		return infrav1.OwnerTagMissingReason
	}
	return adoption.ReasonOf(err, reason)
}
