package provisionerstatus

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// lookAtTemplates reports on launch templates: the one that the spec names, the default ones that
// some node was launched from, or that all would be, and the launch templates that pods name.
// Problems of the latter concern only their pods.
func (r *Reconciler) lookAtTemplates(ctx context.Context, p *pass) reconciling.Outcome {
	r.Templates.Recall(p.provisioner.Status.LaunchTemplates)
	r.refreshTemplates(ctx, p)
	p.tried = map[string]bool{}
	defer func() { r.tried.Put(client.ObjectKeyFromObject(p.provisioner), p.tried) }()
	p.known, p.made = map[constraints.Reference]templates.Known{}, map[string]defaults.Template{}
	resolved, reason, problem, err := r.namedBySpec(ctx, p)
	if err != nil {
		return failed(p, provisioningv1.LaunchTemplatesReadyCondition, provisioningv1.TemplateUnusableReason, err)
	}
	for _, variant := range p.defaultVariants() {
		made, err := r.Defaults.Ensure(ctx, p.provisioner, variant)
		if err != nil {
			return failed(p, provisioningv1.LaunchTemplatesReadyCondition, provisioningv1.TemplateUnusableReason, err)
		}
		p.made[variant] = made
		r.tellLost(ctx, p, variant, made.ID)
		if why, because := r.refused(ctx, p, constraints.Reference{}, &templates.Known{ID: made.ID, Template: constraints.Template{Version: made.Version}}, variants.Types(variant)); problem == "" && why != "" {
			reason, problem = because, why
		}
		resolved = append(resolved, resolvedDefault(variant, &made))
	}
	// The whole status is about this spec now. A pass that did not finish before leaves the
	// generation, and the list, of the former.
	p.provisioner.Status.ObservedGeneration = p.provisioner.Generation
	p.provisioner.Status.LaunchTemplates = slices.Concat(resolved, r.namedByPods(ctx, p, provisioningv1.MaxStatusLaunchTemplates-len(resolved)))
	if problem != "" {
		reconciling.False(p.provisioner, provisioningv1.LaunchTemplatesReadyCondition, reason, problem)
		if p.refused || p.offers == nil {
			return reconciling.ContinueAndComeBack(launcher.RetryInterval, "AWS is asked again whether it launches")
		}
		return reconciling.Continue()
	}
	reconciling.True(p.provisioner, provisioningv1.LaunchTemplatesReadyCondition, provisioningv1.ReadyReason, "")
	return reconciling.Continue()
}

// refreshTemplates drops what is cached of the launch templates that the spec uses, while nothing
// can be launched from them: a user may have corrected them, and waits for nodes.
func (r *Reconciler) refreshTemplates(ctx context.Context, p *pass) {
	key, now := client.ObjectKeyFromObject(p.provisioner), r.Clock.Now()
	last, _ := r.refreshed.Get(key)
	shown := meta.FindStatusCondition(p.provisioner.Status.Conditions, provisioningv1.LaunchTemplatesReadyCondition)
	if shown == nil || shown.Reason != provisioningv1.TemplateUnusableReason || now.Sub(last) < launcher.RetryInterval {
		return
	}
	r.refreshed.Put(key, now)
	r.Region.Discovery.ForgetSecurityGroups()
	for _, known := range p.provisioner.Status.LaunchTemplates {
		if known.Generated {
			r.Defaults.Forget(known.ID)
		}
	}
	for _, reference := range constraints.Named(&p.layer, nil) {
		if known, err := r.Templates.Read(ctx, reference); err == nil && known.ID != "" {
			r.Templates.Inspection.Forget(known.ID)
		}
	}
}

// tellLost reports a default launch template that was deleted outside Slipway, and the one that
// takes its place.
func (r *Reconciler) tellLost(ctx context.Context, p *pass, variant, made string) {
	for _, known := range p.provisioner.Status.LaunchTemplates {
		if known.Generated && variants.Of(&known) == variant && known.ID != "" && known.ID != made {
			r.Report.Warn(ctx, p.provisioner, "LaunchTemplateLost", "Default launch template %s was deleted outside Slipway. Launch template %s takes its place; running nodes stay.", known.ID, made)
		}
	}
}

// namedBySpec returns the launch template that the spec names, if it names one, and why nothing can
// be launched as the spec says, under a reason; both are empty if something can.
func (r *Reconciler) namedBySpec(ctx context.Context, p *pass) (resolved []provisioningv1.ResolvedLaunchTemplate, reason, problem string, err error) {
	architecture := p.layer.Architecture
	for _, reference := range constraints.Named(&p.layer, nil) {
		known, err := r.Templates.Read(ctx, reference)
		if err != nil {
			return nil, "", "", err
		}
		if known.Problem == "" {
			known.Problem, known.Reason = r.refused(ctx, p, reference, &known, nil)
		}
		p.known[reference], architecture = known, known.Architecture
		entry := resolvedOf(reference, &known)
		if replaced := replacedType(p.provisioner.Spec.InstanceTypes, &known); replaced != "" {
			entry.Message = bounded(strings.TrimPrefix(entry.Message+"; "+replaced, "; "))
		}
		resolved = append(resolved, entry)
		if known.Problem != "" {
			return resolved, known.Reason, fmt.Sprintf("%s: %s", reference, known.Problem), nil
		}
		if contradiction := p.layer.Contradiction(&known.Template); contradiction != "" {
			return resolved, provisioningv1.TemplateUnusableReason, fmt.Sprintf("%s: %s", reference, contradiction), nil
		}
	}
	if problem = p.layer.Unsatisfiable(); problem != "" {
		return resolved, provisioningv1.TemplateUnusableReason, problem, nil
	}
	if problem, err = r.Region.Unsuitable(ctx, &p.layer, architecture); err != nil {
		// The launching controller reports that.
		log.FromContext(ctx).Info("Instance types are not known", "error", err.Error())
	}
	if problem == "" {
		problem = r.findOffers(ctx, p)
	}
	if problem != "" {
		reason = provisioningv1.TemplateUnusableReason
	}
	return resolved, reason, problem, nil
}

// namedByPods returns the launch templates that pods name which have nodes, or which wait for one;
// no more than the most.
func (r *Reconciler) namedByPods(ctx context.Context, p *pass, most int) []provisioningv1.ResolvedLaunchTemplate {
	var references []constraints.Reference
	for i := range p.nodes {
		if reference, named := askedFor(&p.nodes[i]); named {
			references = append(references, reference)
		}
	}
	slices.SortFunc(references, func(a, b constraints.Reference) int {
		return strings.Compare(a.Name+" "+a.Version, b.Name+" "+b.Version)
	})
	var resolved []provisioningv1.ResolvedLaunchTemplate
	for _, reference := range append(references, r.Asked.Of(p.provisioner.Name)...) {
		if _, done := p.known[reference]; done || len(resolved) == most {
			continue
		}
		known, err := r.Templates.Read(ctx, reference)
		if err != nil {
			known.Problem = aws.UserMessage(err)
		}
		p.known[reference] = known
		resolved = append(resolved, resolvedOf(reference, &known))
	}
	return resolved
}

// askedFor returns the launch template that the pods of a node named themselves, if they did.
func askedFor(node *provisioningv1.ProvisionedNode) (constraints.Reference, bool) {
	version := node.Spec.LaunchTemplate.AskedVersion
	return constraints.Reference{Name: node.Spec.Labels[provisioningv1.LabelLaunchTemplateName], Version: version}, version != ""
}

// defaultVariants returns the variants whose default templates are in use, or will be: the standard
// one of the spec's architecture where it names no template, and the variants that nodes were
// launched from.
func (p *pass) defaultVariants() []string {
	var wanted []string
	if p.layer.Template.IsDefault() {
		wanted = append(wanted, provisioningv1.ArchitectureAMD64.Label())
		if p.layer.Architecture != "" {
			wanted[0] = p.layer.Architecture
		}
	}
	for i := range p.nodes {
		if variant := variants.OfNode(&p.nodes[i]); p.nodes[i].Spec.LaunchTemplate.Generated && !slices.Contains(wanted, variant) {
			wanted = append(wanted, variant)
		}
	}
	slices.Sort(wanted)
	return wanted
}

func resolvedDefault(variant string, made *defaults.Template) provisioningv1.ResolvedLaunchTemplate {
	architecture, accelerator := variants.Parts(variant)
	entry := provisioningv1.ResolvedLaunchTemplate{
		Name: made.Name, ID: made.ID, Version: made.Version, ImageID: made.ImageID, Architecture: provisioningv1.Architecture(architecture), Generated: true,
		SpecDigest: made.SpecDigest, Accelerator: accelerator,
	}
	if made.Trouble != nil {
		entry.Message = bounded(asSeenLast(made.Trouble))
	}
	return entry
}

// asSeenLast returns the message for a launch template that could not be read again.
func asSeenLast(trouble error) string {
	return "launched from as it was seen last: " + aws.UserMessage(trouble)
}

func resolvedOf(reference constraints.Reference, known *templates.Known) provisioningv1.ResolvedLaunchTemplate {
	entry := known.Record(reference)
	message := known.Warnings
	if known.Problem != "" {
		message = []string{known.Problem}
	}
	if known.Trouble != nil {
		message = append([]string{asSeenLast(known.Trouble)}, message...)
	}
	entry.Message = bounded(strings.Join(message, "; "))
	return entry
}

// replacedType says that nodes do not have the instance type that their launch template names, ""
// if they may.
func replacedType(types []string, known *templates.Known) string {
	if len(types) == 0 || len(known.InstanceTypes) == 0 || slices.ContainsFunc(known.InstanceTypes, func(named string) bool { return slices.Contains(types, named) }) {
		return ""
	}
	return fmt.Sprintf("it names instance type %s, and nodes have one of spec.instanceTypes", strings.Join(known.InstanceTypes, " or "))
}

// longestMessage bounds the message of a resolved launch template.
const longestMessage = 1024

func bounded(message string) string { return message[:min(len(message), longestMessage)] }

// prune deletes versions of default launch templates that no node is launched from, or about to be.
// Failures are retried with the next read.
func (r *Reconciler) prune(ctx context.Context, p *pass) reconciling.Outcome {
	var failure string
	for variant := range p.made {
		refused, err := r.Defaults.Prune(ctx, p.provisioner, variant, r.used)
		if err != nil {
			refused = aws.UserMessage(err)
		}
		if refused != "" {
			failure = refused
		}
	}
	if failure == "" {
		reconciling.Remove(p.provisioner, provisioningv1.VersionsPrunedCondition)
		return reconciling.Continue()
	}
	reconciling.False(p.provisioner, provisioningv1.VersionsPrunedCondition, provisioningv1.PruneFailedReason, bounded(failure))
	return reconciling.Continue()
}

// used returns the versions of a launch template that any ProvisionedNode names, according to the
// API server: a node that was written just now may be launched immediately.
func (r *Reconciler) used(ctx context.Context, id string) (map[int64]bool, error) {
	var nodes provisioningv1.ProvisionedNodeList
	if err := r.Live.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	used := map[int64]bool{}
	for i := range nodes.Items {
		if template := nodes.Items[i].Spec.LaunchTemplate; template.ID == id {
			used[template.Version] = true
		}
	}
	return used, nil
}
