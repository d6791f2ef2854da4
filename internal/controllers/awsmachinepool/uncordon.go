package awsmachinepool

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/drain"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// uncordon makes the nodes schedulable again that were drained before the root volume of their instance was replaced, once the instance is in service. It
// reports whether some are left, because the workload cluster does not answer.
func (r *Reconciler) uncordon(ctx context.Context, p *pass) (left bool, err error) {
	begun := drainingSince(p.pool)
	back := slices.DeleteFunc(slices.Clone(p.group.Instances), func(instance autoscalinggroup.Instance) bool {
		_, drained := begun[instance.ID]
		return !drained || !instance.InService()
	})
	if len(back) == 0 || !drainPossible(p) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	api, err := r.Workloads.Client(ctx, types.NamespacedName{Namespace: p.pool.Namespace, Name: p.clusterName})
	if err != nil {
		return true, nil //nolint:nilerr // a cluster that does not answer is no failure of the pass
	}
	pending := make([]*departure, len(back))
	for i, instance := range back {
		pending[i] = &departure{Instance: instance}
	}
	if err := r.findNodes(ctx, p, api, pending); err != nil {
		return true, nil //nolint:nilerr // as above
	}
	remaining := maps.Clone(begun)
	for _, d := range pending {
		if d.node != "" {
			changed, err := drain.Uncordon(ctx, api, d.node, d.ProviderID())
			if err != nil {
				left = true
				continue
			}
			if changed {
				r.Report.Done(ctx, p.pool, "NodeUncordoned", "Uncordoned node %s, whose instance %s is in service again", d.node, d.ID)
			}
		}
		delete(remaining, d.ID)
	}
	if maps.Equal(begun, remaining) {
		return left, nil
	}
	if err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) { recordDraining(pool, remaining) }); err != nil {
		return left, fmt.Errorf("recording which nodes are schedulable again: %w", err)
	}
	return left, nil
}
