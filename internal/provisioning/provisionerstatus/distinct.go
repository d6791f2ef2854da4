package provisionerstatus

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// compare warns of a provisioner that comes first for all pods which name neither: the first by
// weight and name launches.
func (r *Reconciler) compare(ctx context.Context, p *pass) reconciling.Outcome {
	var all provisioningv1.ProvisionerList
	if err := r.Client.List(ctx, &all); err != nil {
		return reconciling.Fail(fmt.Errorf("listing Provisioners: %w", err))
	}
	first, exists := before(p.provisioner, all.Items)
	if !exists {
		reconciling.Remove(p.provisioner, provisioningv1.DistinctCondition)
		return reconciling.Continue()
	}
	by := "name"
	if first.Weight != p.layer.Weight {
		by = "weight"
	}
	message := fmt.Sprintf("provisioner %s suits the same pods and comes first by %s, and launches from %s: pods that mean this one have to select %s: %s",
		first.Name, by, first.Template, provisioningv1.LabelProvisionerName, p.provisioner.Name)
	reconciling.False(p.provisioner, provisioningv1.DistinctCondition, provisioningv1.SamePodsReason, message)
	return reconciling.Continue()
}

// before returns the first provisioner, by weight and name, that pods cannot distinguish from the
// given one, if it comes before that.
func before(one *provisioningv1.Provisioner, all []provisioningv1.Provisioner) (constraints.Provisioner, bool) {
	layer := constraints.FromSpec(one.Name, &one.Spec)
	var earlier []constraints.Provisioner
	for i := range all {
		other := constraints.FromSpec(all[i].Name, &all[i].Spec)
		// One that leaves pods of another architecture alone leaves them to this one.
		apart := other.IgnoreIncompatible && architectureOf(&all[i]) != architectureOf(one)
		if constraints.Before(&other, &layer) < 0 && all[i].DeletionTimestamp == nil && layer.Alike(&other) && !apart {
			earlier = append(earlier, other)
		}
	}
	if len(earlier) > 0 {
		return slices.MinFunc(earlier, func(a, b constraints.Provisioner) int { return constraints.Before(&a, &b) }), true
	}
	return constraints.Provisioner{}, false
}

// architectureOf returns the architecture of the launch template that a provisioner names, which
// its status lists first; "" if it is not known yet.
func architectureOf(provisioner *provisioningv1.Provisioner) string {
	if len(provisioner.Status.LaunchTemplates) == 0 {
		return ""
	}
	return provisioner.Status.LaunchTemplates[0].Architecture.Label()
}

// others returns the provisioners besides one that has changed: its weight may have put it before
// or after any of them.
func (r *Reconciler) others(ctx context.Context, changed client.Object) []reconcile.Request {
	var all provisioningv1.ProvisionerList
	if err := r.Client.List(ctx, &all); err != nil {
		log.FromContext(ctx).Error(err, "Listing Provisioners, to compare them")
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if all.Items[i].Name != changed.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: all.Items[i].Name}})
		}
	}
	return requests
}
