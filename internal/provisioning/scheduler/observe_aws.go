package scheduler

import (
	"context"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/cause"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
)

// observeRegion reads what the region sells, and where Provisioners can launch.
func (o observer) observeRegion(ctx context.Context) {
	region := &o.seen.Region
	var objects []*provisioningv1.Provisioner
	for i := range o.seen.Cluster.Provisioners {
		object := &o.seen.Cluster.Provisioners[i]
		if object.DeletionTimestamp != nil {
			continue
		}
		one := Provisioner{Object: object}
		o.observePlaces(ctx, &one)
		if one.Unusable != "" {
			log.FromContext(ctx).Info("A Provisioner can launch nothing", "provisioner", object.Name, "reason", one.Unusable)
		}
		region.Provisioners, objects = append(region.Provisioners, one), append(objects, object)
	}
	if region.Facts, region.Err = o.Region.Facts(ctx, objects); region.Err != nil {
		return
	}
	var err error
	if region.Facts.Spot, err = o.Region.Discovery.SpotPrices(ctx); err != nil {
		log.FromContext(ctx).Error(err, "Going on without the prices of Spot")
	}
	o.Report.Progress.Priced(catalog.Prices(region.Facts))
}

// observePlaces finds the subnets that the nodes of a Provisioner can be in, or why it can launch
// nothing.
func (o observer) observePlaces(ctx context.Context, one *Provisioner) {
	var err error
	if one.Unusable, err = o.Names.Taken(ctx, one.Object.Spec.Cluster.Name); err != nil {
		one.Unusable = aws.UserMessage(err)
	}
	if one.Unusable != "" {
		return
	}
	one.Places, one.Found, err = o.Region.Places(ctx, one.Object, o.Shortages, o.seen.Cluster.Provisioned, o.Clock.Now(), time.Time{})
	if err != nil {
		one.Unusable = aws.UserMessage(err)
	}
}

// observeTemplates reads the launch templates that Provisioners and pods name, and what EC2 refuses to
// launch. It tries again what EC2 refused lately.
func (o observer) observeTemplates(ctx context.Context) {
	o.seen.Templates = map[constraints.Reference]NamedTemplate{}
	trials := trials{o, constraints.Templates{}}
	for i := range o.draft.Provisioners {
		one := &o.draft.Provisioners[i]
		o.Templates.Recall(one.object.Status.LaunchTemplates)
		trials.read(ctx, one, constraints.Named(&one.layer, nil))
	}
	for provisioner, references := range o.draft.Asked {
		trials.read(ctx, o.draft.usable(provisioner), references)
	}
	for reference, template := range o.seen.Templates {
		if id, version := template.Known.ID, template.Known.Version; template.Err == nil && template.Known.Problem == "" {
			template.Refused, template.Parts = o.Refusals.Why(id, version), o.Refusals.Parts(id, version)
			o.seen.Templates[reference] = template
			trials.templates[reference] = template.layer()
		}
	}
	o.seen.Defaults = map[string][]DefaultTemplate{}
	for i := range o.draft.Provisioners {
		one := &o.draft.Provisioners[i]
		name := one.object.Name
		for variant, template := range o.Defaults.Known(name) {
			architecture, _ := variants.Parts(variant)
			o.Refusals.Recheck(ctx, template.ID, template.Version)
			o.seen.Defaults[name] = append(o.seen.Defaults[name], DefaultTemplate{
				Variant: variant, Refused: trials.whyRefused(ctx, one, trialOf{version: template, variant: architecture, places: one.places}),
				Parts: o.Refusals.Parts(template.ID, template.Version),
			})
		}
	}
	o.seen.Short = o.Shortages.Current()
}

// observeRefusals reads what EC2 refuses to launch from the default launch templates that this pass
// ensured.
func (o observer) observeRefusals(ctx context.Context) {
	ensured := maps.Clone(o.seen.Ensured)
	for of, template := range ensured {
		if template.Err != nil || template.Tried {
			continue
		}
		one := o.draft.usable(of.Provisioner)
		template.Refused = o.trials().whyRefused(cause.For(ctx, provisionerKind, one.object), one, trialOf{version: template.Version, variant: of.Variant, places: one.places})
		template.Tried = true
		ensured[of] = template
	}
	o.seen.Ensured = ensured
}

// mostTried bounds how many launches of one version are tried in a pass, because pods choose their
// types. The others are launched without a trial: EC2 reports what it refuses.
const mostTried = 10

// observeTrials reads whether EC2 would launch what is planned. It tries a version of a launch template
// once, before the first launch from it, by possible launches of the Provisioner; and a type that is
// the only one of a launch, before the first launch of it.
func (o observer) observeTrials(ctx context.Context) {
	trials := o.trials()
	for i := range o.draft.Planned {
		planned := &o.draft.Planned[i]
		o.seen.Trials = append(o.seen.Trials, trials.of(cause.For(ctx, provisionerKind, o.draft.usable(planned.source.provisioner).object), planned))
	}
}

// of tries launches from one source.
func (t trials) of(ctx context.Context, planned *planned) Trial {
	s := &planned.surroundings
	id, version := s.Template.ID, s.Template.Version
	trial := Trial{Before: t.Refusals.Parts(id, version)}
	if !t.Refusals.Accepted(id, version) {
		of := trialOf{version: s.Template, template: planned.source.template, places: s.Places}
		if of.template.IsDefault() {
			if launched, err := planned.source.defaultOf(); err == nil {
				of.variant = launched.Variant
			}
		}
		t.check(ctx, t.samples(ctx, t.draft.usable(planned.source.provisioner), of))
	}
	if _, trial.Refused = t.Refusals.Of(id, version); trial.Refused {
		return trial
	}
	for i := range planned.launches[:min(len(planned.launches), mostTried)] {
		if request := launcher.Request(&planned.launches[i].Nodes[0].Spec); ofOneType(request.Offerings) {
			request.Offerings = request.Offerings[:1]
			t.check(ctx, []fleet.Request{request})
		}
	}
	trial.After = t.Refusals.Parts(id, version)
	return trial
}

// ofOneType reports whether all offerings are of one instance type.
func ofOneType(offerings []fleet.Offering) bool {
	return !slices.ContainsFunc(offerings, func(offering fleet.Offering) bool { return offering.InstanceType != offerings[0].InstanceType })
}

// observeRetry reads when something can be launched again that AWS does not launch now.
func (o observer) observeRetry() {
	for _, next := range []func() (time.Duration, bool){o.Refusals.Next, o.Shortages.Next} {
		if after, some := next(); some && (o.seen.Retry == 0 || after < o.seen.Retry) {
			o.seen.Retry = max(after, time.Nanosecond)
		}
	}
}

// trials try launches that a Provisioner may make for any pod.
type trials struct {
	observer
	// templates are the launch templates that were read.
	templates constraints.Templates
}

// trials returns trials after the launch templates were read.
func (o observer) trials() trials { return trials{o, o.draft.Problem.Templates} }

// trialOf identifies a launch template and what it is tried with.
type trialOf struct {
	version provisioningv1.LaunchTemplateVersion
	// template is the reference to it. It is the zero value for a default launch template, which is
	// tried by types of a variant.
	template constraints.Reference
	variant  string
	places   launcher.Places
}

// read reads launch templates that nodes of a Provisioner may be launched from, and tries again what
// EC2 refused to launch from them.
func (t trials) read(ctx context.Context, one *usable, references []constraints.Reference) {
	for _, reference := range references {
		template, done := t.seen.Templates[reference]
		if !done {
			var err error
			if template.Known, err = t.Templates.Read(ctx, reference); err != nil {
				log.FromContext(ctx).Error(err, "Reading a launch template")
			}
			template.Err = err
			t.seen.Templates[reference], t.templates[reference] = template, template.layer()
		}
		known := &template.Known
		if template.Err != nil || known.Problem != "" {
			continue
		}
		t.Refusals.Recheck(ctx, known.ID, known.Version)
		of := trialOf{version: provisioningv1.LaunchTemplateVersion{ID: known.ID, Version: known.Version}, template: reference}
		if !known.FixesSubnet {
			of.places = one.places
		}
		t.whyRefused(ctx, one, of)
	}
}

// whyRefused returns why EC2 launches nothing from a version, if it refused it lately and refuses
// it still.
func (t trials) whyRefused(ctx context.Context, one *usable, of trialOf) string {
	id, version := of.version.ID, of.version.Version
	if _, refused := t.Refusals.Of(id, version); refused {
		t.check(ctx, t.samples(ctx, one, of))
	}
	return t.Refusals.Why(id, version)
}

// check tries launches of one version, and leaves alone the subnets that EC2 does not know.
func (t trials) check(ctx context.Context, samples []fleet.Request) {
	for _, subnet := range t.Refusals.Check(ctx, samples) {
		t.Shortages.MarkSubnet(subnet)
		t.Region.Discovery.ForgetSubnets(subnet)
	}
}

// samples returns launches by which a launch template is tried that the provisioner may launch from
// for any pod.
func (t trials) samples(ctx context.Context, one *usable, of trialOf) []fleet.Request {
	var way constraints.Requirements
	if of.variant != "" {
		way = variants.Types(of.variant)
	}
	offers, _, err := t.Region.Offers(ctx, one.object, &one.layer, t.templates, of.template, way)
	if err != nil {
		log.FromContext(ctx).Info("A launch template is not tried before it is launched from", "error", err.Error())
	}
	if offers == nil {
		return nil
	}
	return launcher.Samples(one.object, t.ClusterUID, of.version, offers, of.places)
}
