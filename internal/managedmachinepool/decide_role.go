package managedmachinepool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"

	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// roleCheck is the interval at which Slipway reads a node role whose desired state does not change.
// IAM has no call that describes many roles.
const roleCheck = 24 * time.Hour

// desiredRole returns the node role that the pool asks for. Its permissions boundary is the
// manager's if that requires one.
func desiredRole(in input) noderole.Desired {
	asked, settings, spec := askedTags(in), in.Seen.Settings, &in.Object.Spec
	desired := noderole.Desired{
		Name: roleName(in), Owner: ownerTag(in), Boundary: cmp.Or(settings.NodeRoleBoundary, spec.RolePermissionsBoundary),
		Path:     cmp.Or(spec.RolePath, noderole.PathOf(cmp.Or(settings.NodeRolePath, noderole.DefaultPath), in.Seen.ClusterName)),
		Policies: spec.RoleAdditionalPolicies, Partition: noderole.PartitionOf(in.Seen.Access.Location.Region),
		Tags: maps.Clone(asked), RetiredTags: ownership.RetiredTags(in.Object, asked),
	}
	maps.Copy(desired.Tags, in.Seen.Access.Facts.Ownership())
	desired.Tags[infrav1.TagManagedMachinePool] = ownerTag(in)
	for _, policy := range ownership.AppliedOf(in.Object).Policies {
		if !slices.Contains(desired.Policies, policy) {
			desired.RetiredPolicies = append(desired.RetiredPolicies, policy)
		}
	}
	return desired
}

// roleDigest returns a text that is the same for the same role, and for no other.
func roleDigest(desired noderole.Desired) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(desired.Tags)) {
		lines = append(lines, key+"="+desired.Tags[key])
	}
	lines = append(lines, sorted(desired.Policies)...)
	digest := sha256.Sum256([]byte(strings.Join(append(lines, desired.Name, desired.Path, desired.Boundary), "\n")))
	return hex.EncodeToString(digest[:])[:32]
}

// ensureRole creates the node role, or finds the one that is given. A role that is as it was created
// is read once a day.
func ensureRole(in input, plan *reconcile.Plan) bool {
	desired := desiredRole(in)
	if !in.Seen.Role.Read && in.Seen.Role.Err == nil && roleConfirmed(in, desired) {
		reconciling.True(in.Object, infrav1.NodeRoleReadyCondition, infrav1.ReadyReason, "")
		return true
	}
	if refused := refusedBoundary(in); refused != "" {
		reconciling.False(in.Object, infrav1.NodeRoleReadyCondition, infrav1.InvalidSpecReason, refused)
		return exists(in) // nodes keep the role that they have
	}
	seen := in.Seen.Role
	switch {
	case seen.Err != nil:
		return showRoleFailure(in, plan, seen.Err)
	case !seen.Read, seen.Name != desired.Name:
		plan.Need(needRole)
		return true
	case seen.Role == nil:
		return createRoleOnce(in, plan, desired)
	case !ownsRole(in, seen.Role) && createdFor(in.Object.Status.NodeRole, seen.Role):
		return showRoleFailure(in, plan, &roleTagMissingError{role: seen.Role.Name, wanted: ownerTag(in)})
	case takenRole(in, seen.Role):
		return showRoleFailure(in, plan, &roleTakenError{role: seen.Role.Name})
	case reconcile.LastFailure[changeRole](in.Done) != nil:
		return showRoleFailure(in, plan, reconcile.LastFailure[changeRole](in.Done))
	case ownsRole(in, seen.Role):
		changeRoleIfDue(in, plan, desired)
	}
	if !pending(plan) {
		confirmRole(in, plan, desired)
	}
	return true
}

// roleConfirmed reports whether the role was found, or made, as it is desired, and its turn to be
// read has not come.
func roleConfirmed(in input, desired noderole.Desired) bool {
	status := in.Object.Status.NodeRole
	return status != nil && status.Name == desired.Name && status.ARN != "" && ownership.AppliedOf(in.Object).RoleDigest == roleDigest(desired) &&
		in.Seen.RoleDue.After(in.Now) && meta.IsStatusConditionTrue(in.Object.Status.Conditions, infrav1.NodeRoleReadyCondition)
}

// confirmRole records that the role is as desired.
func confirmRole(in input, plan *reconcile.Plan, desired noderole.Desired) {
	role := in.Seen.Role.Role
	in.Object.Status.NodeRole = &infrav1.NodeRoleStatus{Name: role.Name, ARN: role.ARN, Managed: ownsRole(in, role)}
	annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) {
		applied := ownership.AppliedOf(pool)
		applied.RoleDigest, applied.Policies = roleDigest(desired), ownership.Union(nil, desired.Policies)
		applied.Record(pool)
	})
	reconciling.True(in.Object, infrav1.NodeRoleReadyCondition, infrav1.ReadyReason, "")
}

// announceRole records what the role is about to be given in addition to what it was given before.
func announceRole(in input, plan *reconcile.Plan, desired noderole.Desired) {
	annotate(in, plan, func(pool *infrav1.AWSManagedMachinePool) {
		ownership.AnnounceTags(pool, askedTags(in))
		applied := ownership.AppliedOf(pool)
		applied.RoleDigest, applied.Policies = "", ownership.Union(applied.Policies, desired.Policies)
		applied.Record(pool)
	})
}

// createRoleOnce creates the role.
func createRoleOnce(in input, plan *reconcile.Plan, desired noderole.Desired) bool {
	switch tried, err := reconcile.Attempted[createRole](in.Done); {
	case aws.IsAlreadyExists(err):
		plan.LookAgain(lookAgain) // a role of this name was created just now and cannot be seen yet
		return false
	case tried:
		return showRoleFailure(in, plan, err)
	}
	announceRole(in, plan, desired)
	plan.Do(createRole{Desired: desired}, "no role with this name exists")
	return true
}

// changeRoleIfDue has a role of the pool's own changed to what is desired. It announces only what is
// not recorded yet.
func changeRoleIfDue(in input, plan *reconcile.Plan, desired noderole.Desired) {
	changes := desired.Changes(*in.Seen.Role.Role)
	if len(changes) == 0 || reconcile.Succeeded[changeRole](in.Done) {
		return
	}
	if ownership.AppliedOf(in.Object).RoleDigest != roleDigest(desired) {
		announceRole(in, plan, desired)
	}
	plan.Do(changeRole{Desired: desired}, "%s", strings.Join(changes, "; "))
}

// showRoleFailure shows why the role is not as desired. The nodes that there are go on having the
// role that they have.
func showRoleFailure(in input, plan *reconcile.Plan, err error) bool {
	reason := infrav1.NodeRoleReconcileFailedReason
	var untagged *roleTagMissingError
	var taken *roleTakenError
	switch {
	case errors.As(err, &untagged):
		reason = infrav1.OwnerTagMissingReason
	case errors.As(err, &taken):
		reason = infrav1.NameTakenReason
	}
	pool.ShowFailure(in.Object, plan, infrav1.NodeRoleReadyCondition, reason, err)
	return exists(in)
}

// roleTagMissingError reports that a role that was created for the pool exists without the tag that
// marks it as the pool's.
type roleTagMissingError struct{ role, wanted string }

// Error implements error.
func (e *roleTagMissingError) Error() string {
	return fmt.Sprintf("IAM role %s, which this pool created, does not have tag %s with value %s. Slipway does "+
		"not change it, and nodes keep it. Set the tag, or set spec.roleName to the role to manage it "+
		"yourself", e.role, infrav1.TagManagedMachinePool, e.wanted)
}

// WaitsForUser reports that only a user can put the tag back: status is no proof of ownership.
func (*roleTagMissingError) WaitsForUser() bool { return true }

// roleTakenError reports that a role of another pool or cluster has the name that the pool's role would get.
type roleTakenError struct{ role string }

// Error implements error.
func (e *roleTakenError) Error() string { // whose it is may be another tenant's secret
	return fmt.Sprintf("IAM role %s, the default name of the node role of this pool, belongs to another pool or "+
		"cluster by its tags. Slipway does not use it, so no node is launched. Set spec.roleName to a role that you "+
		"manage, or spec.eksNodegroupName to another name", e.role)
}

// WaitsForUser reports that only a user can choose another name.
func (*roleTakenError) WaitsForUser() bool { return true }

// takenRole reports whether a role belongs to another pool or cluster by its tags, and has only by chance the name
// that the pool's role would get: the EKS clusters a and a-b can have node groups with such names. Its owner
// chooses its policies, and deletes it. A node group that has the role keeps it.
func takenRole(in input, role *noderole.Role) bool {
	group, retiring := in.Seen.Group, in.Seen.Retiring
	if in.Object.Spec.RoleName != "" || group != nil && group.RoleARN != "" || retiring != nil && retiring.RoleARN != "" || ownsRole(in, role) {
		return false
	}
	for key, value := range role.Tags {
		ofCluster := strings.HasPrefix(key, infrav1.KubernetesClusterTagKey("")) || strings.HasPrefix(key, infrav1.ClusterTagKey(""))
		if key == infrav1.TagManagedMachinePool || ofCluster && value == infrav1.TagValueOwned {
			return true
		}
	}
	return false
}

// refusedBoundary returns why the role is not created for a pool that asks for another permissions
// boundary than the manager requires of every role that it creates, empty if the pool does not.
// Users of a namespace must not weaken what an operator requires.
func refusedBoundary(in input) string {
	asked, required := in.Object.Spec.RolePermissionsBoundary, in.Seen.Settings.NodeRoleBoundary
	if required == "" || asked == "" || asked == required {
		return ""
	}
	return fmt.Sprintf("spec.rolePermissionsBoundary is %s, but this manager gives every node role the permissions boundary %s. "+
		"The node role is not created or changed. Remove spec.rolePermissionsBoundary, or set it to that ARN.", asked, required)
}

// ownsRole reports whether a role was created for the pool: by Slipway, or by CAPA, under the name
// that CAPA derives from the node group's. One that the user gave, or that several pools share, was
// not.
func ownsRole(in input, role *noderole.Role) bool {
	if role.OwnedBy(ownerTag(in)) {
		return true
	}
	if _, others := role.Tags[infrav1.TagManagedMachinePool]; others {
		return false
	}
	derived := slices.ContainsFunc(ownership.DerivedNodegroupNames(in.Object, in.Seen.ClusterName), func(name string) bool {
		return role.Name == infrav1.DefaultNodeRoleName(in.Seen.EKSCluster, name)
	})
	ofCluster := role.Tags[infrav1.KubernetesClusterTagKey(in.Seen.EKSCluster)] == infrav1.TagValueOwned ||
		role.Tags[infrav1.KubernetesClusterTagKey(in.Seen.ClusterName)] == infrav1.TagValueOwned
	return derived && ofCluster
}

// createdFor reports whether status names exactly this role as one that was created for the pool.
func createdFor(status *infrav1.NodeRoleStatus, role *noderole.Role) bool {
	return status != nil && status.Managed && status.ARN != "" && status.ARN == role.ARN
}

// usersOf returns which of the pools use a role of the pool. Specs and statuses of other namespaces
// prove nothing: their users name whatever role they like.
func usersOf(object *infrav1.AWSManagedMachinePool, role string, pools []infrav1.AWSManagedMachinePool) (users RoleUsers) {
	for i := range pools {
		other := &pools[i]
		names := other.Spec.RoleName == role || other.Status.NodeRole != nil && other.Status.NodeRole.Name == role
		sameAccount := other.Annotations[ownership.AccountAnnotation] == object.Annotations[ownership.AccountAnnotation]
		switch {
		case !names || !sameAccount || other.UID == object.UID:
		case other.Namespace != object.Namespace:
			users.Foreign = true
		case users.Heir == nil || other.DeletionTimestamp.IsZero():
			users.Heir = other.DeepCopy()
		}
	}
	return users
}
