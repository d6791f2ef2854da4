package simulation

import (
	"context"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/webhooks"
)

// compareWarning compares the admission warning about an edit of a pool with the plan of the edit. A
// warning may say that nodes may be replaced, or are replaced once the user allows it, where the plan
// replaces none, and not the other way round.
func compareWarning(ctx context.Context, w *World, o *observer, before, after client.Object, made plan.Plan) {
	said := strings.Join(webhooks.Replacements(ctx, byReference{w.user}, before, after), "\n")
	w.trace.detail("warning: %s", said)
	replaced := 0
	for _, pool := range made.Pools {
		replaced += len(pool.Replaced())
	}
	switch certain := strings.Contains(said, " will replace ") && !strings.Contains(said, " once "); {
	case made.Failed():
	case replaced > 0 && said == "":
		o.violate(PlansComeTrue, "the plan replaces %d nodes, and there is no admission warning", replaced)
	case replaced == 0 && certain:
		o.violate(PlansComeTrue, "the plan replaces no node, and the admission warning is %q", said)
	}
}

// byReference is a reader that finds a MachinePool by the pool that it refers to, as the manager's cache
// does.
type byReference struct{ client.Reader }

// List implements client.Reader.
func (r byReference) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var wanted client.ListOptions
	wanted.ApplyOptions(options)
	machinePools, is := list.(*clusterv1.MachinePoolList)
	if !is || wanted.FieldSelector == nil {
		return r.Reader.List(ctx, list, options...)
	}
	if err := r.Reader.List(ctx, list, client.InNamespace(wanted.Namespace)); err != nil {
		return err
	}
	value := wanted.FieldSelector.Requirements()[0].Value
	machinePools.Items = slices.DeleteFunc(machinePools.Items, func(item clusterv1.MachinePool) bool {
		return !slices.Contains(webhooks.Indexes()[0].Values(&item), value)
	})
	return nil
}
