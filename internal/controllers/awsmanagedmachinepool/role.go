package awsmanagedmachinepool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// roleCheck is how often a node role is looked at while nobody changes what it should be: IAM has
// no call for many roles.
const roleCheck = 24 * time.Hour

// desiredRole returns the node role that the pool asks for. Its permissions boundary is the
// manager's if that requires one.
func (r *Reconciler) desiredRole(p *pass) noderole.Desired {
	asked := p.facts.AskedTags(p.pool.Spec.AdditionalTags)
	desired := noderole.Desired{
		Name: roleName(p), Owner: p.ownerTag(), Boundary: cmp.Or(r.NodeRoleBoundary, p.pool.Spec.RolePermissionsBoundary),
		Path:     cmp.Or(p.pool.Spec.RolePath, noderole.PathOf(cmp.Or(r.NodeRolePath, noderole.DefaultPath), p.clusterName)),
		Policies: p.pool.Spec.RoleAdditionalPolicies, Partition: noderole.PartitionOf(p.cloud.Region),
		Tags: maps.Clone(asked), RetiredTags: common.RetiredTags(p.pool, asked),
	}
	maps.Copy(desired.Tags, p.facts.Ownership())
	desired.Tags[infrav1.TagManagedMachinePool] = p.ownerTag()
	for _, policy := range common.AppliedOf(p.pool).Policies {
		if !slices.Contains(desired.Policies, policy) {
			desired.RetiredPolicies = append(desired.RetiredPolicies, policy)
		}
	}
	return desired
}

// roleDigest is the same for the same role, and for no other.
func roleDigest(desired noderole.Desired) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(desired.Tags)) {
		lines = append(lines, key+"="+desired.Tags[key])
	}
	lines = append(lines, slices.Sorted(slices.Values(desired.Policies))...)
	digest := sha256.Sum256([]byte(strings.Join(append(lines, desired.Name, desired.Path, desired.Boundary), "\n")))
	return hex.EncodeToString(digest[:])[:32]
}

// ensureRole makes the node role, or finds the one that is given. A role that is as it was made is
// looked at once a day.
func (r *Reconciler) ensureRole(ctx context.Context, p *pass) reconciling.Outcome {
	desired := r.desiredRole(p)
	digest, applied, status := roleDigest(desired), common.AppliedOf(p.pool), p.pool.Status.NodeRole
	now := r.Clock.Now()
	next := r.roleChecks.GetOrPut(p.key(), common.NextTurn(now, roleCheck, p.key()))
	if status != nil && status.Name == desired.Name && status.ARN != "" && applied.RoleDigest == digest && next.After(now) &&
		meta.IsStatusConditionTrue(p.pool.Status.Conditions, infrav1.NodeRoleReadyCondition) {
		p.roleARN = status.ARN
		reconciling.True(p.pool, infrav1.NodeRoleReadyCondition, infrav1.ReadyReason, "")
		return reconciling.Continue()
	}
	if refused := r.refuseBoundary(p); refused != nil {
		return *refused
	}
	role, managed, stop := r.makeRole(ctx, p, desired)
	if stop != nil {
		return *stop
	}
	p.roleARN = role.ARN
	p.pool.Status.NodeRole = &infrav1.NodeRoleStatus{Name: role.Name, ARN: role.ARN, Managed: managed}
	if err := r.recordRole(ctx, p, desired, digest); err != nil {
		return reconciling.Fail(err)
	}
	r.roleChecks.Put(p.key(), common.NextTurn(now, roleCheck, p.key()))
	reconciling.True(p.pool, infrav1.NodeRoleReadyCondition, infrav1.ReadyReason, "")
	return reconciling.Continue()
}

// roleTagMissingError reports that a role that was made for the pool exists without the tag that
// marks it as the pool's.
type roleTagMissingError struct{ role, wanted string }

// Error implements error.
func (e *roleTagMissingError) Error() string {
	return fmt.Sprintf("IAM role %s, which this pool created, has no tag %s with value %s. Slipway does not change it, and nodes keep it. "+
		"Set the tag, or name the role in spec.roleName to keep it as your own", e.role, infrav1.TagManagedMachinePool, e.wanted)
}

// WaitsForUser reports that only a user can put the tag back: status is no proof of ownership.
func (*roleTagMissingError) WaitsForUser() bool { return true }

// makeRole returns the role, and whether it is the pool's own.
func (r *Reconciler) makeRole(ctx context.Context, p *pass, desired noderole.Desired) (*noderole.Role, bool, *reconciling.Outcome) {
	failed := func(err error) (*noderole.Role, bool, *reconciling.Outcome) {
		reason := infrav1.NodeRoleReconcileFailedReason
		var untagged *roleTagMissingError
		if errors.As(err, &untagged) {
			reason = infrav1.OwnerTagMissingReason
		}
		stop := outcome.Of(p.pool, infrav1.NodeRoleReadyCondition, reason, err)
		if p.group != nil {
			stop = stop.AndGoOn() // the nodes that there are go on having it
		}
		return nil, false, &stop
	}
	role, err := p.cloud.Roles.Get(ctx, desired.Name)
	if err != nil {
		return failed(err)
	}
	if role == nil {
		if err := r.recordRole(ctx, p, desired, ""); err != nil {
			return failed(err)
		}
		role, err = p.cloud.Roles.Create(ctx, desired)
		if aws.IsAlreadyExists(err) {
			stop := reconciling.ComeBack(lookAgain, "a role of this name was made a moment ago and can not be seen yet")
			return nil, false, &stop
		}
		if err != nil {
			return failed(err)
		}
		r.Report.Done(ctx, p.pool, "NodeRoleCreated", "Created IAM role %s", role.Name)
	}
	if !ownsRole(p, role) && madeFor(p.pool.Status.NodeRole, role) {
		return failed(&roleTagMissingError{role: role.Name, wanted: p.ownerTag()})
	}
	if !ownsRole(p, role) {
		return role, false, nil
	}
	// What is already recorded needs no announcement: a check at rest would write it, and the
	// confirmation, for nothing.
	if common.AppliedOf(p.pool).RoleDigest != roleDigest(desired) {
		if err := r.recordRole(ctx, p, desired, ""); err != nil {
			return failed(err)
		}
	}
	done, err := p.cloud.Roles.Ensure(ctx, desired, *role)
	if len(done) > 0 {
		r.Report.Done(ctx, p.pool, "NodeRoleChanged", "Changed IAM role %s: %s", role.Name, strings.Join(done, "; "))
	}
	if err != nil {
		return failed(err)
	}
	return role, true, nil
}

// refuseBoundary returns what to do about a pool that asks for another permissions boundary than
// the manager requires of every role that it creates, nil if the pool does not. Users of a
// namespace must not weaken what an operator requires.
func (r *Reconciler) refuseBoundary(p *pass) *reconciling.Outcome {
	asked := p.pool.Spec.RolePermissionsBoundary
	if r.NodeRoleBoundary == "" || asked == "" || asked == r.NodeRoleBoundary {
		return nil
	}
	message := fmt.Sprintf("spec.rolePermissionsBoundary is %s, but this manager gives every node role the permissions boundary %s. "+
		"The node role is not created or changed. Remove spec.rolePermissionsBoundary, or set it to that ARN.", asked, r.NodeRoleBoundary)
	reconciling.False(p.pool, infrav1.NodeRoleReadyCondition, infrav1.InvalidSpecReason, message)
	stop := reconciling.Stop(message)
	if p.group != nil {
		stop = stop.AndGoOn() // nodes keep the role that they have
	}
	return &stop
}

// ownsRole is true for a role that was made for the pool: by Slipway, or by CAPA, under the name
// that CAPA derives from the node group's. One that the user gave, or that several pools share, is
// neither.
func ownsRole(p *pass, role *noderole.Role) bool {
	if role.OwnedBy(p.ownerTag()) {
		return true
	}
	if _, others := role.Tags[infrav1.TagManagedMachinePool]; others {
		return false
	}
	derived := slices.ContainsFunc(common.DerivedNodegroupNames(p.pool, p.clusterName), func(name string) bool {
		return role.Name == infrav1.DefaultNodeRoleName(p.eksCluster, name)
	})
	ofCluster := role.Tags[infrav1.KubernetesClusterTagKey(p.eksCluster)] == infrav1.TagValueOwned ||
		role.Tags[infrav1.KubernetesClusterTagKey(p.clusterName)] == infrav1.TagValueOwned
	return derived && ofCluster
}

// recordRole records what the role was given, or, without a digest, what it is about to be given
// beside what it was given before.
func (r *Reconciler) recordRole(ctx context.Context, p *pass, desired noderole.Desired, digest string) error {
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSManagedMachinePool) {
		applied := common.AppliedOf(pool)
		applied.RoleDigest = digest
		if digest == "" {
			applied.Policies = common.Union(applied.Policies, desired.Policies)
		} else {
			applied.Policies = common.Union(nil, desired.Policies)
		}
		applied.Record(pool)
	})
	if err != nil {
		return fmt.Errorf("recording what the node role is given: %w", err)
	}
	return nil
}

// rememberRole records the role of a node group that is about to be deleted, so that the role is
// found when the node group no longer names it.
func (p *pass) rememberRole(group *nodegroup.Nodegroup) {
	if p.pool.Status.NodeRole == nil && group.RoleARN != "" {
		p.pool.Status.NodeRole = &infrav1.NodeRoleStatus{Name: noderole.NameOf(group.RoleARN), ARN: group.RoleARN}
	}
}

// deleteRole deletes the roles that were made for the pool, once no node group has them any more.
func (r *Reconciler) deleteRole(ctx context.Context, p *pass) reconciling.Outcome {
	for _, name := range roleNames(p) {
		role, err := p.cloud.Roles.Get(ctx, name)
		if err != nil {
			return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodeRoleDeleteFailedReason, err)
		}
		if role == nil {
			continue
		}
		if !ownsRole(p, role) {
			r.reportLeftRole(ctx, p, role)
			continue
		}
		if shared := r.leaveRole(ctx, p, role); shared != nil && *shared != reconciling.Continue() {
			return *shared
		} else if shared != nil {
			continue
		}
		if err := p.cloud.Roles.Delete(ctx, *role); err != nil {
			return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodeRoleDeleteFailedReason, err)
		}
		r.Report.Done(ctx, p.pool, "NodeRoleDeleted", "Deleted IAM role %s", role.Name)
	}
	return reconciling.Continue()
}

// reportLeftRole warns of a role that was made for the pool and stays, because it no longer has the
// pool's owner tag.
func (r *Reconciler) reportLeftRole(ctx context.Context, p *pass, role *noderole.Role) {
	if madeFor(p.pool.Status.NodeRole, role) {
		r.Report.Warn(ctx, p.pool, "NodeRoleLeft", "IAM role %s, which this pool created, has no tag %s with value %s, so that Slipway does not delete it. Delete it in IAM",
			role.Name, infrav1.TagManagedMachinePool, p.ownerTag())
	}
}

// madeFor reports whether status names exactly this role as one that was made for the pool.
func madeFor(status *infrav1.NodeRoleStatus, role *noderole.Role) bool {
	return status != nil && status.Managed && status.ARN != "" && status.ARN == role.ARN
}

// roleUsers are the other pools whose nodes have a role of this pool.
type roleUsers struct {
	// heir is a pool of the same namespace, nil if there is none. One that is being deleted is
	// chosen only if all are.
	heir *infrav1.AWSManagedMachinePool
	// foreign reports a pool of another namespace.
	foreign bool
}

// usersOf returns which of the pools use a role of the pool. Specs and statuses of other namespaces
// prove nothing: their users name whatever role they like.
func usersOf(pool *infrav1.AWSManagedMachinePool, role string, pools []infrav1.AWSManagedMachinePool) (users roleUsers) {
	for i := range pools {
		other := &pools[i]
		names := other.Spec.RoleName == role || other.Status.NodeRole != nil && other.Status.NodeRole.Name == role
		sameAccount := other.Annotations[ownership.AccountAnnotation] == pool.Annotations[ownership.AccountAnnotation]
		switch {
		case !names || !sameAccount || other.UID == pool.UID:
		case other.Namespace != pool.Namespace:
			users.foreign = true
		case users.heir == nil || other.DeletionTimestamp.IsZero():
			users.heir = other
		}
	}
	return users
}

// leaveRole leaves a role to other pools whose nodes have it: people may name one role in several
// pools, of which the first created it. A pool of the same namespace becomes its owner; one of
// another namespace never does, and is not waited for. It is nil if there is no such pool.
func (r *Reconciler) leaveRole(ctx context.Context, p *pass, role *noderole.Role) *reconciling.Outcome {
	end := func(outcome reconciling.Outcome) *reconciling.Outcome { return &outcome }
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := r.Client.List(ctx, pools, client.UnsafeDisableDeepCopy); err != nil {
		return end(reconciling.Fail(fmt.Errorf("listing the pools that have IAM role %q: %w", role.Name, err)))
	}
	users := usersOf(p.pool, role.Name, pools.Items)
	heir := users.heir
	switch {
	case heir == nil && users.foreign:
		r.Report.Warn(ctx, p.pool, "NodeRoleLeft", "IAM role %s is also named by a pool of another namespace, which Slipway does not make its owner. The role stays: delete it in IAM when no nodes have it",
			role.Name)
		return end(reconciling.Continue())
	case heir == nil:
		return nil
	case !heir.DeletionTimestamp.IsZero():
		message := fmt.Sprintf("nodes of AWSManagedMachinePool %s/%s, which is being deleted too, have IAM role %s", heir.Namespace, heir.Name, role.Name)
		reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.NodegroupDeletingReason, message)
		return end(reconciling.ComeBack(lookBusy, message))
	}
	owner := ownership.Owner(heir, cmp.Or(heir.Annotations[ownership.ClusterAnnotation], heir.Labels[clusterv1.ClusterNameLabel]))
	if err := p.cloud.Roles.HandOver(ctx, *role, owner); err != nil {
		return end(outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodeRoleDeleteFailedReason, err))
	}
	r.Report.Done(ctx, p.pool, "NodeRoleHandedOver", "Left IAM role %s to AWSManagedMachinePool %s/%s, whose nodes have it", role.Name, heir.Namespace, heir.Name)
	return end(reconciling.Continue())
}
