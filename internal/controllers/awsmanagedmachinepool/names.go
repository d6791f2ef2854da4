package awsmanagedmachinepool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
)

// longestNodegroupName is that of a node group (AWS: API_CreateNodegroup).
const longestNodegroupName = 63

// successorName is what the node group is called that takes the place of one whose template is
// lost: another name for each template.
func successorName(p *pass, templateID string) string {
	base := common.NodegroupName(p.pool)
	digest := sha256.Sum256([]byte(p.ownerTag() + "/" + templateID))
	suffix := "-" + hex.EncodeToString(digest[:])[:8]
	return base[:min(len(base), longestNodegroupName-len(suffix))] + suffix
}

// templateName is what CAPA calls the launch template of a managed pool.
func templateName(pool *infrav1.AWSManagedMachinePool, controlPlane string) string {
	return controlPlane + "-" + pool.Name
}

// roleName is the name of the pool's node role. That of a node group never changes.
func roleName(p *pass) string {
	switch {
	case p.group != nil && p.group.RoleARN != "":
		return noderole.NameOf(p.group.RoleARN)
	case p.retiring != nil && p.retiring.RoleARN != "":
		return noderole.NameOf(p.retiring.RoleARN)
	case p.pool.Spec.RoleName != "":
		return p.pool.Spec.RoleName
	case p.pool.Status.NodeRole != nil && p.pool.Status.NodeRole.Managed:
		return p.pool.Status.NodeRole.Name // its node group is gone, and may have had another name
	}
	return infrav1.DefaultNodeRoleName(p.eksCluster, common.NodegroupName(p.pool))
}

// roleNames returns every name that a role of the pool's own may have, the likeliest first.
func roleNames(p *pass) []string {
	names := []string{roleName(p)}
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if status := p.pool.Status.NodeRole; status != nil && p.pool.Spec.RoleName == "" {
		names = []string{status.Name}
	}
	if p.eksCluster != "" {
		for _, nodegroup := range common.NodegroupNames(p.pool, p.clusterName) {
			add(infrav1.DefaultNodeRoleName(p.eksCluster, nodegroup))
		}
	}
	return names
}

// findStrays returns the pool's node groups that no recorded and no derived name leads to: the name
// was taken out of the spec, and status was lost. The names that are known to be of other pools are
// not asked about.
func (r *Reconciler) findStrays(ctx context.Context, p *pass) ([]*nodegroup.Nodegroup, error) {
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := r.Client.List(ctx, pools, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pools whose node groups are known: %w", err)
	}
	known := map[string]bool{}
	for _, name := range common.NodegroupNames(p.pool, p.clusterName) {
		known[name] = true
	}
	for i := range pools.Items {
		known[infrav1.DefaultNodegroupName(pools.Items[i].Namespace, pools.Items[i].Name)] = true
	}
	return p.cloud.Nodegroups.OwnedBy(ctx, p.eksCluster, p.ownerTag(), func(name string) bool { return known[name] })
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
