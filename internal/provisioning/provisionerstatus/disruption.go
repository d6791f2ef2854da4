package provisionerstatus

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/disruption"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// recheckKept is the interval at which nodes that an annotation keeps are checked again.
const recheckKept = time.Minute

// allowDisruptions lets nodes be disrupted that ask for it, the oldest first and within the
// disruption budgets: all of them are counted here, one pass at a time.
func (r *Reconciler) allowDisruptions(ctx context.Context, p *pass) reconciling.Outcome {
	if problems := disruption.Problems(&p.provisioner.Spec); len(problems) > 0 {
		reconciling.False(p.provisioner, provisioningv1.DisruptionBudgetsValidCondition, provisioningv1.InvalidScheduleReason, strings.Join(problems, "; "))
	} else {
		reconciling.Remove(p.provisioner, provisioningv1.DisruptionBudgetsValidCondition)
	}
	for _, node := range disruption.Revoked(p.nodes) {
		if err := reconciling.Annotate(ctx, r.Client, node, provisioningv1.DisruptionAllowedAnnotation, ""); err != nil {
			return reconciling.Fail(err)
		}
	}
	choice := disruption.Choose(&p.provisioner.Spec, p.nodes, disruption.Waiting(p.nodes), r.Clock.Now())
	if len(choice.Now) > 0 {
		// The cache may not show what was allowed last.
		nodes, err := r.nodesNow(ctx, p)
		if err != nil {
			return reconciling.Fail(err)
		}
		choice = disruption.Choose(&p.provisioner.Spec, nodes, disruption.Waiting(nodes), r.Clock.Now())
	}
	for _, one := range choice.Now {
		if err := reconciling.Annotate(ctx, r.Client, one.Node, provisioningv1.DisruptionAllowedAnnotation, string(one.Reason)); err != nil {
			return reconciling.Fail(err)
		}
	}
	return comeBack(choice, false, r.Clock.Now())
}

// nodesNow lists the nodes of the provisioner past the cache.
func (r *Reconciler) nodesNow(ctx context.Context, p *pass) ([]provisioningv1.ProvisionedNode, error) {
	var nodes provisioningv1.ProvisionedNodeList
	if err := r.Live.List(ctx, &nodes, client.MatchingLabels{provisioningv1.LabelProvisionerName: p.provisioner.Name}); err != nil {
		return nil, fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	return nodes.Items, nil
}
