package provisionerstatus

import (
	"context"
	"fmt"
	"iter"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// observeTemplates observes what a decision asked for about launch templates and offers.
func (o observer) observeTemplates(ctx context.Context, need reconcile.Need) error {
	seen := o.Seen
	switch need {
	case needNamed:
		o.readNamed(ctx)
	case needNamedTrial:
		seen.Named.Trial = o.try(ctx, layerOf(o.input()).Template, &seen.Named.Known, nil)
	case needOffers:
		o.findOffers(ctx)
	case needTrials:
		o.tryDefaults(ctx)
	case needOfPods:
		o.readOfPods(ctx)
	case needShortages:
		o.observeShortages()
	default:
		return fmt.Errorf("%q is no observation of a Provisioner", need)
	}
	return nil
}

// readNamed reads the launch template that the spec names, if it names one.
func (o observer) readNamed(ctx context.Context) {
	layer := layerOf(o.input())
	o.Templates.Recall(o.Object.Status.LaunchTemplates)
	o.refresh(ctx, &layer)
	o.Memory.accepted, o.Memory.acceptedBefore = map[string]bool{}, o.Memory.accepted
	o.Seen.Named = NamedTemplate{Read: true}
	if !layer.Template.IsDefault() {
		o.Seen.Named.Known, o.Seen.Named.Err = o.Templates.Read(ctx, layer.Template)
	}
}

// refresh drops what is cached of the launch templates that the spec uses, while nothing can be
// launched from them: a user may have corrected them, and waits for nodes.
func (o observer) refresh(ctx context.Context, layer *constraints.Provisioner) {
	now := o.Clock.Now()
	shown := meta.FindStatusCondition(o.Object.Status.Conditions, provisioningv1.LaunchTemplatesReadyCondition)
	if shown == nil || shown.Reason != provisioningv1.TemplateUnusableReason || now.Sub(o.Memory.refreshed) < launcher.RetryInterval {
		return
	}
	o.Memory.refreshed = now
	o.Region.Discovery.ForgetSecurityGroups()
	for _, known := range o.Object.Status.LaunchTemplates {
		if known.Generated {
			o.Defaults.Forget(known.ID)
		}
	}
	for _, reference := range constraints.Named(layer, nil) {
		if known, err := o.Templates.Read(ctx, reference); err == nil && known.ID != "" {
			o.Templates.Inspection.Forget(known.ID)
		}
	}
}

// try observes whether EC2 launches any of the instances that the Provisioner allows from a version
// of a launch template. Known is its content; the way narrows what a default one is for. Dry runs
// try a version that was not launched from yet, and what EC2 refused.
func (o observer) try(ctx context.Context, reference constraints.Reference, known *templates.Known, way constraints.Requirements) Trial {
	places := o.Seen.Subnets.Places
	if known.FixesSubnet {
		places = nil
	}
	key := fmt.Sprint(o.Object.UID, o.Object.Generation, known.ID, known.Version, way, places.Zones())
	if o.Memory.acceptedBefore[key] && o.Refusals.Accepted(known.ID, known.Version) {
		o.Memory.accepted[key] = true
		return Trial{Read: true}
	}
	verdict, refused := o.dryRun(ctx, reference, known, way, places)
	o.Memory.accepted[key] = !refused
	return Trial{Read: true, Refused: refused, Verdict: verdict}
}

// dryRun tries a version of a launch template by dry runs of possible launches of the Provisioner.
func (o observer) dryRun(
	ctx context.Context, reference constraints.Reference, known *templates.Known, way constraints.Requirements, places launcher.Places,
) (verdict fleet.Verdict, refused bool) {
	var samples []fleet.Request
	if offers, _ := o.offersOf(ctx, reference, known, way); offers != nil {
		samples = launcher.Samples(o.Object, o.ClusterUID, provisioningv1.LaunchTemplateVersion{ID: known.ID, Version: known.Version}, offers, places)
	}
	for _, subnet := range o.Refusals.Check(ctx, samples) {
		o.Shortages.MarkSubnet(subnet)
		o.Region.Discovery.ForgetSubnets(subnet)
	}
	if verdict, refused = o.Refusals.Verdict(samples); refused {
		return verdict, true
	}
	whole, refused := o.Refusals.Of(known.ID, known.Version)
	return fleet.Verdict{Blame: whole.Blame, Message: o.Refusals.Why(known.ID, known.Version)}, refused
}

// tryDefaults tries the default launch templates that this pass has ensured and not tried yet.
func (o observer) tryDefaults(ctx context.Context) {
	tried := maps.Clone(o.Seen.Defaults)
	for _, variant := range defaultVariants(o.input()) {
		template, ensured := tried[variant]
		if !ensured || template.Trial.Read {
			continue
		}
		known := &templates.Known{ID: template.ID, Template: constraints.Template{Version: template.Version}}
		template.Trial = o.try(ctx, constraints.Reference{}, known, variants.Types(variant))
		tried[variant] = template
	}
	o.Seen.Defaults = tried
}

// findOffers finds the offerings by which pods that ask for nothing can have nodes. Pods without an
// architecture get one that the default launch template has types of.
func (o observer) findOffers(ctx context.Context) {
	in := o.input()
	layer, known := layerOf(in), namedOf(in)
	o.Seen.Offers = Offers{Read: true}
	architecture := layer.Architecture
	ways := []constraints.Requirements{nil}
	if !layer.Template.IsDefault() {
		architecture = known.Architecture
	} else if architecture == "" {
		ways = append(ways, constraints.Requirements{corev1.LabelArchStable: constraints.In(provisioningv1.ArchitectureARM64.Label())})
	}
	unsuitable, err := o.Region.Unsuitable(ctx, &layer, architecture)
	if err != nil {
		// The launching controller reports that.
		log.FromContext(ctx).Info("Instance types are not known", "error", err.Error())
	}
	if o.Seen.Offers.Unsuitable = unsuitable; unsuitable != "" {
		return
	}
	problem := ""
	for _, way := range ways {
		offers, why := o.offersOf(ctx, layer.Template, &known, way)
		if why == "" {
			o.Seen.Offers.Seq = offers
			return
		}
		if problem == "" {
			problem = why
		}
	}
	o.Seen.Offers.Problem = problem
}

// offersOf returns the offerings by which pods that ask for nothing else than the way can have
// nodes from a launch template, or why there are none. Both are empty while AWS does not answer:
// the launching controller reports that.
func (o observer) offersOf(ctx context.Context, reference constraints.Reference, known *templates.Known, way constraints.Requirements) (iter.Seq[catalog.Offer], string) {
	layer := layerOf(o.input())
	offers, why, err := o.Region.Offers(ctx, o.Object, &layer, constraints.Templates{reference: known.Layer(nil)}, reference, way)
	if err != nil {
		log.FromContext(ctx).Info("What AWS offers is not known", "error", err.Error())
		return nil, ""
	}
	return offers, why
}

// readOfPods reads the launch templates that pods name which have nodes, or which wait for one.
func (o observer) readOfPods(ctx context.Context) {
	o.Seen.OfPods = PodTemplates{Read: true, Asked: o.Asked.Of(o.Object.Name)}
	for _, reference := range podReferences(o.input()) {
		known, err := o.Templates.Read(ctx, reference)
		o.Seen.OfPods.List = append(o.Seen.OfPods.List, PodTemplate{Reference: reference, Known: known, Err: err})
	}
}
