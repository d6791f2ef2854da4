package awsmanagedmachinepool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// deletion ends a pool: the node group with its nodes, which EKS drains, the launch config with its
// template, the node role, the finalizer last. It reads no bootstrap data, and needs neither status
// nor the cluster objects.
func (r *Reconciler) deletion() []reconciling.Step[*pass] {
	return []reconciling.Step[*pass]{
		{Name: "reaching AWS", Run: r.reachCloudForDeletion},
		{Name: "finding the node group", Run: r.findForDeletion},
		{Name: "deleting the node group", Run: r.deleteNodegroups},
		{Name: "deleting the launch config", Run: r.deleteLaunchConfig},
		{Name: "deleting a launch template without a launch config", Run: r.deleteOrphans},
		{Name: "deleting the node role", Run: r.deleteRole},
		{Name: "letting the object go", Run: r.release},
	}
}

// reachCloudForDeletion lets an object go for which nothing was ever made in AWS.
func (r *Reconciler) reachCloudForDeletion(ctx context.Context, p *pass) reconciling.Outcome {
	r.knowCluster(ctx, p)
	arn := ""
	if status := p.pool.Status.Nodegroup; status != nil {
		arn = status.ARN
	}
	p.eksCluster = cmp.Or(p.eksCluster, clusterOf(arn))
	var outcome reconciling.Outcome
	p.cloud, outcome = common.ReachForDeletion(ctx, r.Clouds, r.Client, p.pool, p.owner, arn)
	if p.cloud == nil && outcome == reconciling.Continue() {
		return r.release(ctx, p)
	}
	if p.cloud == nil {
		r.Clouds.ForgetManagedGroup(p.key()) // the sweeps would go on looking
	}
	return outcome
}

// knowCluster finds the name of the EKS cluster for a pool that was never held: one that CAPA made,
// deleted before Slipway saw it.
func (r *Reconciler) knowCluster(ctx context.Context, p *pass) {
	if p.eksCluster != "" || p.owner == nil || !controllerutil.ContainsFinalizer(p.pool, infrav1.ManagedMachinePoolFinalizer) {
		return
	}
	if facts, err := cluster.Load(ctx, r.Client, p.owner); err == nil && facts.EKS {
		p.facts, p.eksCluster = facts, facts.KubernetesName
	}
}

// findForDeletion looks at what there is.
func (r *Reconciler) findForDeletion(ctx context.Context, p *pass) reconciling.Outcome {
	if p.eksCluster == "" {
		return reconciling.Continue()
	}
	p.sighting, _ = r.sightings.Get(p.key())
	if p.at.IsZero() || r.Clock.Since(p.at) >= lookAgain {
		err := r.look(ctx, p)
		var untagged *ownerTagMissingError
		switch {
		case errors.As(err, &untagged) && untagged.owner() == "":
			message := untagged.Error() + ", or delete the node group in EKS"
			reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.OwnerTagMissingReason, message)
			return reconciling.ComeBack(aws.FateOf(err).After, message)
		case err != nil && reasonFor(err, "") != "":
			p.sighting = sighting{} // all of them are of other owners
		case err != nil:
			return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodegroupDeleteFailedReason, err)
		}
	}
	if p.group != nil && p.adopting {
		return r.leaveUnadopted(p)
	}
	return reconciling.Continue()
}

// leaveUnadopted keeps a pool that is being deleted while a node group that CAPA created has its
// name. Nothing is adopted in order to be deleted: the user of the namespace can write everything
// that says the node group is this pool's.
func (r *Reconciler) leaveUnadopted(p *pass) reconciling.Outcome {
	message := fmt.Sprintf("node group %s, which Cluster API Provider AWS created, does not have tag %s with value %s, so it is not deleted. If it is this pool's, set the "+
		"tag (aws eks tag-resource --resource-arn %s --tags %s=%s), and the deletion continues. To keep it, or if it is not this pool's, remove finalizer %s from "+
		"this object", p.group.Name, infrav1.TagManagedMachinePool, p.ownerTag(), p.group.ARN, infrav1.TagManagedMachinePool, p.ownerTag(), infrav1.ManagedMachinePoolFinalizer)
	r.sightings.Forget(p.key())
	reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.OwnerTagMissingReason, message)
	return reconciling.ComeBack(untaggedAgain, message)
}

// untaggedAgain is when a node group that lacks the pool's owner tag is checked again.
const untaggedAgain = 2 * time.Minute

// deleteNodegroups asks for the end of the node groups and waits for it, without holding a worker.
func (r *Reconciler) deleteNodegroups(ctx context.Context, p *pass) reconciling.Outcome {
	groups := []*nodegroup.Nodegroup{p.group, p.retiring}
	if p.group == nil && p.retiring == nil {
		if p.eksCluster == "" {
			return reconciling.Continue()
		}
		var err error
		if groups, err = r.findStrays(ctx, p); err != nil {
			return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodegroupDeleteFailedReason, err)
		}
		if len(groups) == 0 {
			return r.confirmGone(p)
		}
		p.rememberRole(groups[0])
	}
	var messages []string
	wait := r.untilDeletedAgain(p, groups...)
	for _, group := range groups {
		if group == nil || !group.OwnedBy(p.ownerTag()) {
			continue
		}
		message := fmt.Sprintf("node group %s is being deleted", group.Name)
		if group.Status == nodegroup.StatusDeleteFailed {
			message = fmt.Sprintf("EKS could not delete node group %s: %s", group.Name, issuesText(group.Issues))
		}
		if group.Status != nodegroup.StatusDeleting && (group.Status != nodegroup.StatusDeleteFailed || wait <= 0) {
			if err := p.cloud.Nodegroups.Delete(ctx, *group); err != nil {
				return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodegroupDeleteFailedReason, err)
			}
			r.stuck.Reset(p.key())
			r.Report.Done(ctx, p.pool, "NodegroupDeleting", "Deleting node group %s and its nodes", group.Name)
		}
		messages = append(messages, message)
	}
	if len(messages) == 0 {
		return reconciling.Continue()
	}
	r.sightings.Forget(p.key())
	message := strings.Join(messages, "; ")
	reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.NodegroupDeletingReason, message)
	reconciling.False(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupDeletingReason, message)
	return reconciling.ComeBack(lookBusy, message)
}

// confirmGone goes on if the node group was seen ending. One that was never seen is looked for a
// second time, because one that was made a moment before may not be visible yet.
func (r *Reconciler) confirmGone(p *pass) reconciling.Outcome {
	condition := meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.DeletingCondition)
	if condition != nil && condition.Reason == infrav1.NodegroupDeletingReason {
		return reconciling.Continue()
	}
	if waited := r.unseen.Elapsed(p.key(), r.Clock.Now()); waited < lookAgain {
		r.sightings.Forget(p.key())
		const message = "EKS lists no node group of this pool; it is asked again, since a node group that was just created may not be visible yet"
		reconciling.True(p.pool, infrav1.DeletingCondition, infrav1.DeletingReason, message)
		return reconciling.ComeBack(lookAgain-waited, message)
	}
	return reconciling.Continue()
}

// deleteLaunchConfig deletes the pool's launch config, whose own finalizer keeps it until its
// template is gone.
func (r *Reconciler) deleteLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	return common.DeleteLaunchConfig(ctx, r.Live, r.Client, p.pool, infrav1.NodegroupDeletingReason)
}

// deleteOrphans deletes the launch template of a pool whose launch config went first, as it may
// when a namespace is deleted.
func (r *Reconciler) deleteOrphans(ctx context.Context, p *pass) reconciling.Outcome {
	if p.pool.Spec.LaunchConfigRef != nil {
		return reconciling.Continue()
	}
	return common.DeleteOrphanedTemplates(ctx, r.Live, r.Report, p.cloud, p.pool, &infrav1.AWSMachinePool{}, p.clusterName)
}

func (r *Reconciler) release(ctx context.Context, p *pass) reconciling.Outcome {
	r.Clouds.ForgetManagedGroup(p.key())
	r.forget(p.key())
	if err := reconciling.RemoveFinalizer(ctx, r.Client, p.pool, infrav1.ManagedMachinePoolFinalizer); err != nil {
		return reconciling.Fail(fmt.Errorf("removing the finalizer: %w", err))
	}
	return reconciling.Stop("the node group, the launch config and the node role are gone")
}
