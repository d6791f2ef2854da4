package awsmanagedmachinepool

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// deletion ends a pool: the node group with its nodes, which EKS drains, the launch config with its template, the node role, the finalizer last. It reads no
// bootstrap data, and needs neither status nor the cluster objects.
func (r *Reconciler) deletion() []reconciling.Step[*pass] {
	return []reconciling.Step[*pass]{
		{Name: "reaching AWS", Run: r.reachCloudForDeletion},
		{Name: "finding the node group", Run: r.findForDeletion},
		{Name: "deleting the node group", Run: r.deleteNodegroups},
		{Name: "deleting the launch config", Run: r.deleteLaunchConfig},
		{Name: "deleting the node role", Run: r.deleteRole},
		{Name: "letting the object go", Run: r.release},
	}
}

// reachCloudForDeletion lets an object go for which nothing was ever made in AWS.
func (r *Reconciler) reachCloudForDeletion(ctx context.Context, p *pass) reconciling.Outcome {
	r.knowCluster(ctx, p)
	region := ""
	if p.facts != nil {
		region = p.facts.Region
	}
	var outcome reconciling.Outcome
	p.cloud, outcome = common.ReachForDeletion(ctx, r.Clouds, r.Client, p.pool, p.owner, region)
	if p.cloud == nil && outcome == reconciling.Continue() {
		return r.release(ctx, p)
	}
	if p.cloud == nil {
		r.Clouds.ForgetManagedGroup(p.key()) // the sweeps would go on looking
	}
	return outcome
}

// knowCluster finds the name of the EKS cluster for a pool that was never held: one that CAPA made, deleted before Slipway saw it.
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
		if err := r.look(ctx, p); err != nil && nameTakenOr(err, "") == "" {
			return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodegroupDeleteFailedReason, err)
		}
	}
	if p.group == nil {
		return reconciling.Continue()
	}
	if p.adopting {
		if err := r.tagAsOwn(ctx, p); err != nil {
			return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodegroupDeleteFailedReason, err)
		}
	}
	if p.group.LaunchTemplateID == "" || p.pool.Spec.LaunchConfigRef != nil || p.clusterName == "" {
		return reconciling.Continue()
	}
	config := &infrav1.AWSLaunchConfig{}
	if err := r.Live.Get(ctx, p.key(), config); !apierrors.IsNotFound(err) {
		return reconciling.Continue() // an error is met again where the config is deleted
	}
	return r.deleteByConfig(ctx, p)
}

// deleteNodegroups asks for the end of the node groups and waits for it, without holding a worker.
func (r *Reconciler) deleteNodegroups(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil && p.retiring == nil {
		return r.confirmGone(p)
	}
	var messages []string
	for _, group := range []*nodegroup.Nodegroup{p.group, p.retiring} {
		if group == nil || !group.OwnedBy(p.ownerTag()) {
			continue
		}
		message := fmt.Sprintf("node group %s is being deleted", group.Name)
		if group.Status == nodegroup.StatusDeleteFailed {
			message = fmt.Sprintf("EKS could not delete node group %s: %s", group.Name, issuesText(group.Issues))
		}
		if group.Status != nodegroup.StatusDeleting && (group.Status != nodegroup.StatusDeleteFailed || r.Clock.Since(group.Modified) >= endAgain) {
			if err := p.cloud.Nodegroups.Delete(ctx, *group); err != nil {
				return outcome.Of(p.pool, infrav1.DeletingCondition, infrav1.NodegroupDeleteFailedReason, err)
			}
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

// confirmGone goes on if the node group was seen ending. One that was never seen is looked for a second time, because one that was made a moment before may not
// be visible yet.
func (r *Reconciler) confirmGone(p *pass) reconciling.Outcome {
	condition := meta.FindStatusCondition(p.pool.Status.Conditions, infrav1.DeletingCondition)
	if p.eksCluster == "" || condition != nil && condition.Reason == infrav1.NodegroupDeletingReason {
		return reconciling.Continue()
	}
	if waited := r.unseen.Elapsed(p.key(), r.Clock.Now()); waited < lookAgain {
		r.sightings.Forget(p.key())
		return reconciling.ComeBack(lookAgain-waited, "no node group can be seen; looking once more")
	}
	return reconciling.Continue()
}

// deleteLaunchConfig deletes the pool's launch config, whose own finalizer keeps it until its template is gone.
func (r *Reconciler) deleteLaunchConfig(ctx context.Context, p *pass) reconciling.Outcome {
	return common.DeleteLaunchConfig(ctx, r.Live, r.Client, p.pool, infrav1.NodegroupDeletingReason)
}

// deleteByConfig has the template of a node group of CAPA's that is the pool's deleted by a launch config.
func (r *Reconciler) deleteByConfig(ctx context.Context, p *pass) reconciling.Outcome {
	return common.DeleteByLaunchConfig(ctx, r.Client, p.pool, p.cloud.Region, p.group.LaunchTemplateID,
		infrav1.AWSLaunchConfigSpec{ClusterName: p.clusterName, LaunchTemplateName: p.group.LaunchTemplateName})
}

func (r *Reconciler) release(ctx context.Context, p *pass) reconciling.Outcome {
	r.Clouds.ForgetManagedGroup(p.key())
	r.forget(p.key())
	if err := reconciling.RemoveFinalizer(ctx, r.Client, p.pool, infrav1.ManagedMachinePoolFinalizer); err != nil {
		return reconciling.Fail(fmt.Errorf("removing the finalizer: %w", err))
	}
	return reconciling.Stop("the node group, the launch config and the node role are gone")
}
