package awsmanagedmachinepool

import (
	"context"
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// A node group whose launch template somebody deleted cannot be given another (AWS:
// API_UpdateNodegroupVersion). Where spec.templateLossPolicy asks for it, it is replaced in this
// order, and a crash between any two loses nothing:
//
//  1. record the names of both node groups, the new one first (replace)
//  2. make the new one from the template that the launch config made again (createNodegroup)
//  3. once its nodes are in service, delete the old one, whose nodes EKS drains (replace)
//  4. once that is gone, forget its name (replace)
//
// The instances of both are the pool's until then.

// replace does what is next of that.
func (r *Reconciler) replace(ctx context.Context, p *pass) reconciling.Outcome {
	wanted, leaving := p.successor, p.predecessor
	lost := p.step.Obstacle == nodegroup.TemplateGone && p.pool.Spec.TemplateLossPolicy == infrav1.TemplateLossReplace && p.group != nil
	switch {
	case p.retiring != nil && p.retiring.Status == nodegroup.StatusDeleting:
		return r.replacing(p, fmt.Sprintf("node group %s is in service, and EKS is deleting %s", wanted, p.retiring.Name))
	case p.retiring != nil && p.tookOver():
		return r.retire(ctx, p)
	case p.retiring != nil:
		return r.replacing(p, fmt.Sprintf("node group %s takes the place of %s, whose launch template is gone", wanted, p.retiring.Name))
	case leaving != "" && p.fresh:
		r.Report.Done(ctx, p.pool, "NodegroupReplaced", "Node group %s took the place of %s", wanted, leaving)
		return r.recordNames(ctx, p, wanted)
	case lost && leaving == "":
		successor := successorName(p, p.desired.Template.ID)
		if successor == p.group.Name {
			return reconciling.Continue() // the group of this very template: a look from before it was seen
		}
		r.Report.Warn(ctx, p.pool, "NodegroupReplacing", "The launch template of node group %s is gone; node group %s takes its place", p.group.Name, successor)
		if stop := r.recordNames(ctx, p, successor+","+p.group.Name); stop != reconciling.Continue() {
			return stop
		}
		return reconciling.ContinueAndComeBack(lookAgain, "a node group is being replaced")
	}
	return reconciling.Continue()
}

// tookOver is true once the new node group has all the nodes that it is to have.
func (p *pass) tookOver() bool {
	return p.group != nil && p.group.Status == nodegroup.StatusActive && p.members != nil && !inMotion(p.members, false) && p.fresh
}

// replacing says in the condition how far it is.
func (r *Reconciler) replacing(p *pass, message string) reconciling.Outcome {
	reconciling.False(p.pool, infrav1.RolledOutCondition, infrav1.ReplacingNodegroupReason, message)
	return reconciling.ContinueAndComeBack(lookBusy, message)
}

// retire deletes the old node group.
func (r *Reconciler) retire(ctx context.Context, p *pass) reconciling.Outcome {
	if !p.retiring.OwnedBy(p.ownerTag()) {
		return r.recordNames(ctx, p, p.group.Name) // somebody else's by now
	}
	if err := p.cloud.Nodegroups.Delete(ctx, *p.retiring); err != nil {
		return outcome.Of(p.pool, infrav1.NodegroupReadyCondition, infrav1.NodegroupDeleteFailedReason, err).AndGoOn()
	}
	r.Report.Done(ctx, p.pool, "NodegroupRetiring", "Deleting node group %s, which %s took the place of", p.retiring.Name, p.group.Name)
	r.sightings.Forget(p.key())
	return r.replacing(p, fmt.Sprintf("node group %s is in service, and EKS is deleting %s", p.group.Name, p.retiring.Name))
}

// recordNames records which node groups the pool has from now on.
func (r *Reconciler) recordNames(ctx context.Context, p *pass, names string) reconciling.Outcome {
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSManagedMachinePool) {
		reconciling.SetAnnotation(pool, common.NodegroupsAnnotation, names)
	})
	if err != nil {
		return reconciling.Fail(fmt.Errorf("recording the names of the node groups: %w", err))
	}
	return reconciling.Continue()
}
