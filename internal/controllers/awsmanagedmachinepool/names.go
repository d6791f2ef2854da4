package awsmanagedmachinepool

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/noderole"
)

// The longest names (AWS: API_CreateNodegroup, API_CreateRole).
const (
	longestNodegroupName = 63
	longestRoleName      = 64
)

// successorName is what the node group is called that takes the place of one whose template is lost: another name for each template.
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

// defaultRoleName is what CAPA calls the role that it makes for a node group; a name that is too long is cut and told from others by a hash.
func defaultRoleName(eksCluster, nodegroup string) string {
	name := eksCluster + "-" + nodegroup + "_nodegroup-iam-service-role"
	if len(name) < longestRoleName {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	suffix := "-" + hex.EncodeToString(digest[:])[:16]
	return name[:longestRoleName-len(suffix)] + suffix
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
	}
	return defaultRoleName(p.eksCluster, common.NodegroupName(p.pool))
}

// annotate sets an annotation of an object, or takes it away if the value is empty.
func annotate(object client.Object, key, value string) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, key)
	if value != "" {
		annotations[key] = value
	}
	object.SetAnnotations(annotations)
}
