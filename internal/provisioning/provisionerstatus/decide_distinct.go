package provisionerstatus

import (
	"fmt"
	"slices"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// compare warns of a provisioner that comes first for all pods which name neither: the first by
// weight and name launches.
func compare(in input, plan *reconcile.Plan) bool {
	others := in.Seen.Others
	if !others.Read {
		plan.Need(needOthers)
		return false
	}
	if others.Err != nil {
		plan.Fail(fmt.Errorf("listing Provisioners: %w", others.Err))
		return false
	}
	first, exists := before(in.Object, others.Items)
	if !exists {
		reconciling.Remove(in.Object, provisioningv1.DistinctCondition)
		return true
	}
	by, layer := "name", layerOf(in)
	if first.Weight != layer.Weight {
		by = "weight"
	}
	message := fmt.Sprintf("Provisioner %s matches the same pods and takes precedence by %s, and launches from "+
		"%s. Pods that should use this Provisioner must select %s: %s",
		first.Name, by, first.Template, provisioningv1.LabelProvisionerName, in.Object.Name)
	reconciling.False(in.Object, provisioningv1.DistinctCondition, provisioningv1.SamePodsReason, message)
	return true
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
