package provisionerstatus

import (
	"context"
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
)

// refused returns why EC2 launches none of the instances that the provisioner allows from a version
// of a launch template, under a reason. Both are empty if it does, or if that cannot be found out.
// Known is the content of the launch template; the way narrows what a default one is for. Dry runs
// try a version that was not launched from yet, and what EC2 refused.
func (r *Reconciler) refused(ctx context.Context, p *pass, reference constraints.Reference, known *templates.Known, way constraints.Requirements) (why, reason string) {
	places := p.places
	if known.FixesSubnet {
		places = nil
	}
	key := fmt.Sprint(p.provisioner.UID, p.provisioner.Generation, known.ID, known.Version, way, places.Zones())
	if before, _ := r.tried.Get(client.ObjectKeyFromObject(p.provisioner)); before[key] && r.Refusals.Accepted(known.ID, known.Version) {
		p.tried[key] = true
		return "", ""
	}
	verdict, refused := r.try(ctx, p, reference, known, way, places)
	if !refused || verdict.Blame == fleet.BlameMoment { // over before a user reads it
		p.tried[key] = !refused
		return "", ""
	}
	p.refused = true
	reason = provisioningv1.TemplateUnusableReason
	if verdict.Blame == fleet.BlameAccount {
		reason = infrav1.AccessDeniedReason
	}
	return verdict.Message, reason
}

// try tries a version of a launch template by dry runs of possible launches of the provisioner.
func (r *Reconciler) try(
	ctx context.Context, p *pass, reference constraints.Reference, known *templates.Known, way constraints.Requirements, places launcher.Places,
) (verdict fleet.Verdict, refused bool) {
	var samples []fleet.Request
	if offers, _ := r.offersOf(ctx, p, reference, known, way); offers != nil {
		samples = launcher.Samples(p.provisioner, r.ClusterUID, provisioningv1.LaunchTemplateVersion{ID: known.ID, Version: known.Version}, offers, places)
	}
	for _, subnet := range r.Refusals.Check(ctx, samples) {
		r.Shortages.MarkSubnet(subnet)
		r.Region.Discovery.ForgetSubnets(subnet)
	}
	if verdict, refused = r.Refusals.Verdict(samples); refused {
		return verdict, true
	}
	whole, refused := r.Refusals.Of(known.ID, known.Version)
	return fleet.Verdict{Blame: whole.Blame, Message: r.Refusals.Why(known.ID, known.Version)}, refused
}

// findOffers finds the offerings by which pods that ask for nothing can have nodes, and returns why
// there are none. Pods without an architecture get one that the default launch template has types
// of.
func (r *Reconciler) findOffers(ctx context.Context, p *pass) (problem string) {
	ways := []constraints.Requirements{nil}
	if p.layer.Template.IsDefault() && p.layer.Architecture == "" {
		ways = append(ways, constraints.Requirements{corev1.LabelArchStable: constraints.In(provisioningv1.ArchitectureARM64.Label())})
	}
	known := p.known[p.layer.Template]
	for _, way := range ways {
		offers, why := r.offersOf(ctx, p, p.layer.Template, &known, way)
		if why == "" {
			p.offers = offers
			return ""
		}
		if problem == "" {
			problem = why
		}
	}
	if p.layer.SubnetProblem != "" && !known.FixesSubnet {
		return "" // SubnetsReady says more
	}
	return problem
}

// offersOf returns the offerings by which pods that ask for nothing else than the way can have
// nodes from a launch template, or why there are none. Both are empty while AWS does not answer:
// the launching controller reports that.
func (r *Reconciler) offersOf(ctx context.Context, p *pass, reference constraints.Reference, known *templates.Known, way constraints.Requirements) (iter.Seq[catalog.Offer], string) {
	offers, why, err := r.Region.Offers(ctx, p.provisioner, &p.layer, constraints.Templates{reference: known.Layer(nil)}, reference, way)
	if err != nil {
		log.FromContext(ctx).Info("What AWS offers is not known", "error", err.Error())
		return nil, ""
	}
	return offers, why
}
