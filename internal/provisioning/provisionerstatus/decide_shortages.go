package provisionerstatus

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// reportShortages reports that nothing can be launched because AWS had none, or the account may
// have none, of the instances that the Provisioner's limits allow.
func reportShortages(in input, plan *reconcile.Plan) bool {
	shortages := in.Seen.Shortages
	if !shortages.Read {
		plan.Need(needShortages)
		return false
	}
	why, reason := shortageOf(in.Seen.Offers.Seq, shortages.Last.Of, shortages.Refused)
	switch {
	case failingLaunch(in.Seen.Nodes) != "": // which says more
	case why != "":
		reconciling.False(in.Object, provisioningv1.NodesLaunchCondition, reason, bounded(why))
		plan.LookAgain(launcher.RetryInterval) // what was short may be there again
		return true
	default:
		reconciling.True(in.Object, provisioningv1.NodesLaunchCondition, provisioningv1.ReadyReason, "")
	}
	if shortages.Some {
		plan.LookAgain(shortages.Next)
	}
	return true
}

// versionsOf returns the versions of launch templates that the spec has nodes launched from.
func versionsOf(in input) []provisioningv1.LaunchTemplateVersion {
	layer := layerOf(in)
	if !layer.Template.IsDefault() {
		return []provisioningv1.LaunchTemplateVersion{{ID: in.Seen.Named.Known.ID, Version: in.Seen.Named.Known.Version}}
	}
	var versions []provisioningv1.LaunchTemplateVersion
	for _, variant := range defaultVariants(in) {
		versions = append(versions, in.Seen.Defaults[variant].LaunchTemplateVersion)
	}
	return versions
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
		return fmt.Sprintf("AWS recently had no capacity for any instance that the Provisioner allows: %s. "+
				"Slipway retries within minutes. To launch nodes now, allow other instance types or zones", what),
			provisioningv1.InsufficientCapacityReason
	case quota:
		return fmt.Sprintf("a quota of the AWS account does not allow any instance that the Provisioner allows: "+
			"%s: %s. Nothing is launched until the quota is raised or instances are terminated. Slipway "+
			"retries within minutes",
			what, strings.TrimSuffix(message, ".")), infrav1.QuotaExceededReason
	}
	return fmt.Sprintf("the AWS account does not have the service-linked role for Spot Instances, and the "+
		"Provisioner allows only Spot: %s. No node is launched. Create the role: aws iam "+
		"create-service-linked-role --aws-service-name spot.amazonaws.com",
		strings.TrimSuffix(causes[catalog.NoSpotRole], ".")), infrav1.AccessDeniedReason
}

// either returns names in a sentence, each once.
func either(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return launcher.List(slices.Compact(names), "or")
}
