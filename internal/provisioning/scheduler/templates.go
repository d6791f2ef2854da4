package scheduler

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// readTemplates reads the launch templates that provisioners and pods name. A template that AWS
// does not describe now, and did not before, is one with a problem: its pods get the reason, and it
// is tried again with every pass.
func (r *Reconciler) readTemplates(ctx context.Context, p *pass) reconciling.Outcome {
	p.templates, p.known = constraints.Templates{}, map[constraints.Reference]templates.Known{}
	read := func(one *usable, references []constraints.Reference) {
		for _, reference := range references {
			if _, done := p.known[reference]; done {
				r.recheck(ctx, p, one, reference)
				continue
			}
			known, err := r.Templates.Read(ctx, reference)
			if err != nil {
				log.FromContext(ctx).Error(err, "Reading a launch template")
				known.Problem = aws.UserMessage(err)
			}
			p.known[reference], p.templates[reference] = known, known.Layer(nil)
			r.recheck(ctx, p, one, reference)
		}
	}
	for i := range p.provisioners {
		r.Templates.Recall(p.provisioners[i].object.Status.LaunchTemplates)
		read(&p.provisioners[i], constraints.Named(&p.provisioners[i].layer, nil))
	}
	asked := map[string][]constraints.Reference{}
	for _, pod := range p.cluster.Waiting() {
		if !namesTemplate(&pod.Spec) {
			continue
		}
		ways, _ := constraints.PodRequirements(&pod.Spec)
		for i := range p.provisioners {
			layer := &p.provisioners[i].layer
			for _, reference := range constraints.Named(layer, chosenBy(ways, layer.Name)) {
				// Pods choose what is read, so it is bounded. Pods that name more get the reason
				// that theirs is not read.
				if reference != layer.Template && !slices.Contains(asked[layer.Name], reference) && len(asked[layer.Name]) < provisioningv1.MaxStatusLaunchTemplates {
					asked[layer.Name] = append(asked[layer.Name], reference)
				}
			}
		}
	}
	for provisioner, references := range asked {
		read(p.usableOf(provisioner), references)
	}
	r.Asked.Set(asked)
	for reference, known := range p.known {
		if known.Problem == "" {
			known.Problem = r.Refusals.Why(known.ID, known.Version)
			p.known[reference], p.templates[reference] = known, known.Layer(r.Refusals.Parts(known.ID, known.Version))
		}
	}
	return reconciling.Continue()
}

// recheck tries again what EC2 refused to launch from a launch template, by possible launches of a
// provisioner.
func (r *Reconciler) recheck(ctx context.Context, p *pass, one *usable, reference constraints.Reference) {
	known := p.known[reference]
	if known.Problem != "" {
		return
	}
	r.Refusals.Recheck(ctx, known.ID, known.Version)
	s := launcher.Surroundings{Template: provisioningv1.LaunchTemplateVersion{ID: known.ID, Version: known.Version}, Places: one.places}
	if known.FixesSubnet {
		s.Places = nil
	}
	r.whyRefused(ctx, p, source{provisioner: one.object.Name, template: reference}, &s)
}

// chosenBy returns the ways of a pod that let a provisioner launch for it.
func chosenBy(ways []constraints.Requirements, provisioner string) []constraints.Requirements {
	return slices.DeleteFunc(slices.Clone(ways), func(way constraints.Requirements) bool {
		return !way.Get(provisioningv1.LabelProvisionerName).Has(provisioner)
	})
}

// namesTemplate reports whether a pod may name a launch template itself. Few do.
func namesTemplate(pod *corev1.PodSpec) bool {
	if _, selects := pod.NodeSelector[provisioningv1.LabelLaunchTemplateName]; selects {
		return true
	}
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil {
		return false
	}
	names := func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return r.Key == provisioningv1.LabelLaunchTemplateName })
	}
	affinity := pod.Affinity.NodeAffinity
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil && slices.ContainsFunc(required.NodeSelectorTerms, names) {
		return true
	}
	return slices.ContainsFunc(affinity.PreferredDuringSchedulingIgnoredDuringExecution, func(p corev1.PreferredSchedulingTerm) bool { return names(p.Preference) })
}
