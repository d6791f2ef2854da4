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

// longestNodegroupName is that of a node group (AWS: API_CreateNodegroup).
const longestNodegroupName = 63

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
	return infrav1.DefaultNodeRoleName(p.eksCluster, common.NodegroupName(p.pool))
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
