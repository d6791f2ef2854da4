package awsmanagedmachinepool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// roleCheck is how often a node role is looked at while nobody changes what it should be: IAM has no call for many roles.
const roleCheck = 24 * time.Hour

// desiredRole is the node role that the pool asks for.
func desiredRole(p *pass) noderole.Desired {
	asked := p.facts.AskedTags(p.pool.Spec.AdditionalTags)
	desired := noderole.Desired{
		Name: roleName(p), Owner: p.ownerTag(), Path: p.pool.Spec.RolePath, Boundary: p.pool.Spec.RolePermissionsBoundary,
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

// ensureRole makes the node role, or finds the one that is given. A role that is as it was made is looked at once a day.
func (r *Reconciler) ensureRole(ctx context.Context, p *pass) reconciling.Outcome {
	desired := desiredRole(p)
	digest, applied, status := roleDigest(desired), common.AppliedOf(p.pool), p.pool.Status.NodeRole
	now := r.Clock.Now()
	next := r.roleChecks.GetOrPut(p.key(), now.Add(spread(p.key(), roleCheck)))
	if status != nil && status.Name == desired.Name && status.ARN != "" && applied.RoleDigest == digest && next.After(now) &&
		meta.IsStatusConditionTrue(p.pool.Status.Conditions, infrav1.NodeRoleReadyCondition) {
		p.roleARN = status.ARN
		reconciling.True(p.pool, infrav1.NodeRoleReadyCondition, infrav1.ReadyReason, "")
		return reconciling.Continue()
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
	r.roleChecks.Put(p.key(), now.Add(roleCheck))
	reconciling.True(p.pool, infrav1.NodeRoleReadyCondition, infrav1.ReadyReason, "")
	return reconciling.Continue()
}

// makeRole returns the role, and whether it is the pool's own.
func (r *Reconciler) makeRole(ctx context.Context, p *pass, desired noderole.Desired) (*noderole.Role, bool, *reconciling.Outcome) {
	failed := func(err error) (*noderole.Role, bool, *reconciling.Outcome) {
		stop := outcome.Of(p.pool, infrav1.NodeRoleReadyCondition, infrav1.NodeRoleReconcileFailedReason, err)
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
	if !ownsRole(p, role) {
		return role, false, nil
	}
	if err := r.recordRole(ctx, p, desired, ""); err != nil {
		return failed(err)
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

// ownsRole is true for a role that was made for the pool: by Slipway, or by CAPA, under the name that CAPA derives from the node group's. One that the user gave,
// or that several pools share, is neither.
func ownsRole(p *pass, role *noderole.Role) bool {
	if role.OwnedBy(p.ownerTag()) {
		return true
	}
	if _, others := role.Tags[infrav1.TagManagedMachinePool]; others {
		return false
	}
	derived := slices.ContainsFunc(common.NodegroupNames(p.pool, p.clusterName), func(name string) bool {
		return role.Name == infrav1.DefaultNodeRoleName(p.eksCluster, name)
	})
	ofCluster := role.Tags[infrav1.KubernetesClusterTagKey(p.eksCluster)] == infrav1.TagValueOwned ||
		role.Tags[infrav1.KubernetesClusterTagKey(p.clusterName)] == infrav1.TagValueOwned
	return derived && ofCluster
}

// recordRole records what the role was given, or, without a digest, what it is about to be given beside what it was given before.
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

// deleteRole deletes the role that was made for the pool, once no node group has it any more.
func (r *Reconciler) deleteRole(ctx context.Context, p *pass) reconciling.Outcome {
	name := roleName(p)
	if status := p.pool.Status.NodeRole; status != nil && p.pool.Spec.RoleName == "" {
		name = status.Name
	}
	role, err := p.cloud.Roles.Get(ctx, name)
	if err != nil {
		return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodeRoleDeleteFailedReason, err)
	}
	if role == nil || !ownsRole(p, role) {
		return reconciling.Continue()
	}
	if shared := r.leaveRole(ctx, p, role); shared != nil {
		return *shared
	}
	if err := p.cloud.Roles.Delete(ctx, *role); err != nil {
		return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodeRoleDeleteFailedReason, err)
	}
	r.Report.Done(ctx, p.pool, "NodeRoleDeleted", "Deleted IAM role %s", role.Name)
	return reconciling.Continue()
}

// leaveRole hands a role over to another pool whose nodes have it: people may name one role in several pools, of which the first made it. It is nil if
// there is no such pool. One that is being deleted too goes first.
func (r *Reconciler) leaveRole(ctx context.Context, p *pass, role *noderole.Role) *reconciling.Outcome {
	end := func(outcome reconciling.Outcome) *reconciling.Outcome { return &outcome }
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := r.Client.List(ctx, pools, client.UnsafeDisableDeepCopy); err != nil {
		return end(reconciling.Fail(fmt.Errorf("listing the pools that have IAM role %q: %w", role.Name, err)))
	}
	var heir *infrav1.AWSManagedMachinePool
	for i := range pools.Items {
		other := &pools.Items[i]
		has := other.Spec.RoleName == role.Name || other.Status.NodeRole != nil && other.Status.NodeRole.Name == role.Name
		sameAccount := other.Annotations[common.AccountAnnotation] == p.pool.Annotations[common.AccountAnnotation]
		if has && sameAccount && other.UID != p.pool.UID && (heir == nil || other.DeletionTimestamp.IsZero()) {
			heir = other
		}
	}
	switch {
	case heir == nil:
		return nil
	case !heir.DeletionTimestamp.IsZero():
		message := fmt.Sprintf("nodes of AWSManagedMachinePool %s/%s, which is being deleted too, have IAM role %s", heir.Namespace, heir.Name, role.Name)
		reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.NodegroupDeletingReason, message)
		return end(reconciling.ComeBack(lookBusy, message))
	}
	owner := common.Owner(heir, cmp.Or(heir.Annotations[common.ClusterAnnotation], heir.Labels[clusterv1.ClusterNameLabel]))
	if err := p.cloud.Roles.HandOver(ctx, *role, owner); err != nil {
		return end(outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodeRoleDeleteFailedReason, err))
	}
	r.Report.Done(ctx, p.pool, "NodeRoleHandedOver", "Left IAM role %s to AWSManagedMachinePool %s/%s, whose nodes have it", role.Name, heir.Namespace, heir.Name)
	return end(reconciling.Continue())
}
