package provisionerstatus

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// reportShortages says that nothing can be launched because AWS had none, or the account may have
// none, of the instances that the provisioner's limits allow.
func (r *Reconciler) reportShortages(_ context.Context, p *pass) reconciling.Outcome {
	next, some := r.Shortages.Next()
	why, reason := shortageOf(p.offers, r.Shortages.Last, r.refusedOffers(p))
	switch {
	case p.failing: // which says more
	case why != "":
		reconciling.False(p.provisioner, provisioningv1.NodesLaunchCondition, reason, bounded(why))
		return reconciling.ContinueAndComeBack(launcher.RetryInterval, "what was short may be there again")
	default:
		reconciling.True(p.provisioner, provisioningv1.NodesLaunchCondition, provisioningv1.ReadyReason, "")
	}
	if !some {
		return reconciling.Continue()
	}
	return reconciling.ContinueAndComeBack(next, "what was short may be there again")
}

// refusedOffers returns the offerings that EC2 does not launch from the provisioner's own launch
// templates.
func (r *Reconciler) refusedOffers(p *pass) constraints.Refused {
	all := constraints.Refused{}
	if known, named := p.known[p.layer.Template]; named {
		maps.Copy(all, r.Refusals.Parts(known.ID, known.Version))
	}
	if p.layer.Template.IsDefault() {
		for _, made := range p.made {
			maps.Copy(all, r.Refusals.Parts(made.ID, made.Version))
		}
	}
	return all
}

// shortageOf returns why none of the offers can be launched now, under a reason; both are empty if
// one can, or if there are none. An offer is not counted that EC2 refuses to launch whatever there
// is.
func shortageOf(offers iter.Seq[catalog.Offer], short func(catalog.Offering) (catalog.Shortage, bool), refused constraints.Refused) (why, reason string) {
	if offers == nil {
		return "", ""
	}
	causes := map[catalog.ShortageCause]string{}
	var types, markets, zones []string
	for offer := range offers {
		if refused.Why(offer.Offering) != "" {
			continue
		}
		of, is := short(offer.Offering)
		if !is {
			return "", ""
		}
		causes[of.Cause] = of.Message
		types, markets, zones = append(types, offer.InstanceType), append(markets, offer.CapacityType), append(zones, offer.Zone)
	}
	if len(types) == 0 {
		return "", ""
	}
	what := fmt.Sprintf("%s, %s, in %s", either(types), either(markets), either(zones))
	message, quota := causes[catalog.QuotaUsedUp]
	_, capacity := causes[catalog.NoCapacity]
	switch {
	case capacity:
		return fmt.Sprintf("AWS had none of the instances that may be launched when asked last: %s. AWS is asked again within minutes; to launch nodes now, allow other instance types or zones", what),
			provisioningv1.InsufficientCapacityReason
	case quota:
		return fmt.Sprintf("a quota of the AWS account allows none of the instances that may be launched: %s: %s. Nothing is launched until the quota is raised or instances end; AWS is asked again within minutes",
			what, strings.TrimSuffix(message, ".")), infrav1.QuotaExceededReason
	}
	return fmt.Sprintf("the AWS account lacks the role for Spot Instances, and nothing else may be launched: %s. Create it: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
		strings.TrimSuffix(causes[catalog.NoSpotRole], ".")), infrav1.AccessDeniedReason
}

// either returns names in a sentence, each once.
func either(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return launcher.List(slices.Compact(names), "or")
}
