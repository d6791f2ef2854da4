package provisionerstatus

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// problem says why nothing can be launched, under a reason of a condition. Both are empty if
// something can be.
type problem struct{ message, reason string }

// reportTemplates reports on launch templates: the one that the spec names, the default ones that
// some node was launched from, or that all would be, and the launch templates that pods name.
// Problems of the latter concern only their pods.
func reportTemplates(in input, plan *reconcile.Plan) bool {
	if !in.Seen.Named.Read {
		plan.Need(needNamed)
		return false
	}
	if err := in.Seen.Named.Err; err != nil {
		showFailure(in, plan, provisioningv1.LaunchTemplatesReadyCondition, provisioningv1.TemplateUnusableReason, err)
		return false
	}
	found, known := problemOfSpec(in, plan)
	if !known {
		return false
	}
	ofDefaults, ensured := ensureDefaults(in, plan)
	if !ensured {
		return false
	}
	if !in.Seen.OfPods.Read {
		plan.Need(needOfPods)
		return false
	}
	if found.message == "" {
		found = ofDefaults
	}
	// The whole status is about this spec now. A pass that cannot read the launch templates leaves the
	// generation, and the list, of the former spec.
	in.Object.Status.ObservedGeneration = in.Object.Generation
	in.Object.Status.LaunchTemplates = resolvedTemplates(in)
	if found.message == "" {
		reconciling.True(in.Object, provisioningv1.LaunchTemplatesReadyCondition, provisioningv1.ReadyReason, "")
		return true
	}
	reconciling.False(in.Object, provisioningv1.LaunchTemplatesReadyCondition, found.reason, found.message)
	if ofDefaults.message != "" || refusal(in.Seen.Named.Trial).message != "" || in.Seen.Offers.Seq == nil {
		plan.LookAgain(launcher.RetryInterval) // AWS is asked again whether it launches
	}
	return true
}

// problemOfSpec returns why nothing can be launched as the spec says. It returns false if that has to
// be observed first.
func problemOfSpec(in input, plan *reconcile.Plan) (found problem, known bool) {
	layer := layerOf(in)
	if !layer.Template.IsDefault() {
		if in.Seen.Named.Known.Problem == "" && !in.Seen.Named.Trial.Read {
			plan.Need(needNamedTrial)
			return problem{}, false
		}
		named := namedOf(in)
		if named.Problem != "" {
			return problem{fmt.Sprintf("%s: %s", layer.Template, named.Problem), named.Reason}, true
		}
		if contradiction := layer.Contradiction(&named.Template); contradiction != "" {
			return problem{fmt.Sprintf("%s: %s", layer.Template, contradiction), provisioningv1.TemplateUnusableReason}, true
		}
	}
	message := layer.Unsatisfiable()
	if message == "" {
		offers := in.Seen.Offers
		if !offers.Read {
			plan.Need(needOffers)
			return problem{}, false
		}
		message = offers.Unsuitable
		// Where nodes can be in no subnet, SubnetsReady says more.
		if message == "" && (layer.SubnetProblem == "" || in.Seen.Named.Known.FixesSubnet) {
			message = offers.Problem
		}
	}
	if message == "" {
		return problem{}, true
	}
	return problem{message, provisioningv1.TemplateUnusableReason}, true
}

// refusal returns why EC2 launches none of the instances that the Provisioner allows, if dry runs
// showed that it does not. A refusal that is over before a user reads it is left out.
func refusal(trial Trial) problem {
	switch {
	case !trial.Refused || trial.Verdict.Blame == fleet.BlameMoment:
		return problem{}
	case trial.Verdict.Blame == fleet.BlameAccount:
		return problem{trial.Verdict.Message, infrav1.AccessDeniedReason}
	}
	return problem{trial.Verdict.Message, provisioningv1.TemplateUnusableReason}
}

// namedOf returns the launch template that the spec names, with what EC2 refuses as its problem.
func namedOf(in input) templates.Known {
	known := in.Seen.Named.Known
	if refused := refusal(in.Seen.Named.Trial); known.Problem == "" {
		known.Problem = refused.message
		if refused.message != "" {
			known.Reason = refused.reason
		}
	}
	return known
}

// ensureDefaults has each default launch template that is in use, or will be, ensured and then tried.
// It returns the first refusal of one, and false if something has to be done or observed first.
func ensureDefaults(in input, plan *reconcile.Plan) (first problem, ensured bool) {
	for _, variant := range defaultVariants(in) {
		template, is := in.Seen.Defaults[variant]
		if err := failureOf(in, ensureDefault{variant}); err != nil {
			showFailure(in, plan, provisioningv1.LaunchTemplatesReadyCondition, provisioningv1.TemplateUnusableReason, err)
			return problem{}, false
		}
		if !is {
			plan.Do(ensureDefault{variant}, "nodes of Provisioner %s are launched from it", in.Object.Name)
			return problem{}, false
		}
		if !template.Trial.Read {
			plan.Need(needTrials)
			return problem{}, false
		}
		tellLost(in, plan, variant, template.ID)
		if refused := refusal(template.Trial); first.message == "" {
			first = refused
		}
	}
	return first, true
}

// tellLost reports a default launch template that was deleted outside Slipway, and the one that
// takes its place.
func tellLost(in input, plan *reconcile.Plan, variant, made string) {
	for _, known := range in.Object.Status.LaunchTemplates {
		if known.Generated && variants.Of(&known) == variant && known.ID != "" && known.ID != made {
			plan.Tell(reconcile.Warningf("LaunchTemplateLost", "Default launch template %s was deleted outside "+
				"Slipway. Launch template %s replaces it. Running nodes are kept.", known.ID, made))
		}
	}
}

// defaultVariants returns the variants whose default templates are in use, or will be: the standard
// one of the spec's architecture where it names no template, and the variants that nodes were
// launched from.
func defaultVariants(in input) []string {
	var wanted []string
	if layer := layerOf(in); layer.Template.IsDefault() {
		wanted = append(wanted, provisioningv1.ArchitectureAMD64.Label())
		if layer.Architecture != "" {
			wanted[0] = layer.Architecture
		}
	}
	for i := range in.Seen.Nodes {
		node := &in.Seen.Nodes[i]
		if variant := variants.OfNode(node); node.Spec.LaunchTemplate.Generated && !slices.Contains(wanted, variant) {
			wanted = append(wanted, variant)
		}
	}
	slices.Sort(wanted)
	return wanted
}

// podReferences returns the launch templates that pods name, and that the status has room for: the
// ones of the nodes, and the ones that waiting pods ask for.
func podReferences(in input) []constraints.Reference {
	var references []constraints.Reference
	for i := range in.Seen.Nodes {
		if reference, named := askedFor(&in.Seen.Nodes[i]); named {
			references = append(references, reference)
		}
	}
	slices.SortFunc(references, func(a, b constraints.Reference) int {
		return strings.Compare(a.Name+" "+a.Version, b.Name+" "+b.Version)
	})
	room, known := provisioningv1.MaxStatusLaunchTemplates-len(defaultVariants(in)), map[constraints.Reference]bool{}
	if layer := layerOf(in); !layer.Template.IsDefault() {
		room, known[layer.Template] = room-1, true
	}
	var chosen []constraints.Reference
	for _, reference := range slices.Concat(references, in.Seen.OfPods.Asked) {
		if !known[reference] && len(chosen) < room {
			known[reference] = true
			chosen = append(chosen, reference)
		}
	}
	return chosen
}

// askedFor returns the launch template that the pods of a node named themselves, if they did.
func askedFor(node *provisioningv1.ProvisionedNode) (constraints.Reference, bool) {
	version := node.Spec.LaunchTemplate.AskedVersion
	return constraints.Reference{Name: node.Spec.Labels[provisioningv1.LabelLaunchTemplateName], Version: version}, version != ""
}

// resolvedTemplates returns the entries of the status.
func resolvedTemplates(in input) []provisioningv1.ResolvedLaunchTemplate {
	var resolved []provisioningv1.ResolvedLaunchTemplate
	if layer := layerOf(in); !layer.Template.IsDefault() {
		known := namedOf(in)
		entry := resolvedOf(layer.Template, &known)
		if replaced := replacedType(in.Object.Spec.InstanceTypes, &known); replaced != "" {
			entry.Message = bounded(strings.TrimPrefix(entry.Message+"; "+replaced, "; "))
		}
		resolved = append(resolved, entry)
	}
	for _, variant := range defaultVariants(in) {
		template := in.Seen.Defaults[variant]
		resolved = append(resolved, resolvedDefault(variant, &template))
	}
	for i := range in.Seen.OfPods.List {
		known := in.Seen.OfPods.List[i].known()
		resolved = append(resolved, resolvedOf(in.Seen.OfPods.List[i].Reference, &known))
	}
	return resolved
}

// known returns the launch template. One that could not be read has that as its
// problem.
func (t *PodTemplate) known() templates.Known {
	known := t.Known
	if t.Err != nil {
		known.Problem = aws.UserMessage(t.Err)
	}
	return known
}

func resolvedDefault(variant string, made *DefaultTemplate) provisioningv1.ResolvedLaunchTemplate {
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
	return "launching from the last known version: " + aws.UserMessage(trouble)
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
	return fmt.Sprintf("it specifies instance type %s, which is not in spec.instanceTypes", strings.Join(known.InstanceTypes, " or "))
}

// prune has versions of default launch templates deleted that no node is launched from, or about to
// be. Failures are retried with the next read.
func prune(in input, plan *reconcile.Plan) bool {
	failure := ""
	for _, variant := range defaultVariants(in) {
		template, action := in.Seen.Defaults[variant], pruneDefault{variant}
		err := failureOf(in, action)
		switch {
		case err != nil:
			failure = aws.UserMessage(err)
		case template.PruneDue:
			plan.Do(action, "it has more versions than Slipway keeps")
			return false
		case template.Unpruned != "":
			failure = template.Unpruned
		}
	}
	if failure == "" {
		reconciling.Remove(in.Object, provisioningv1.VersionsPrunedCondition)
		return true
	}
	reconciling.False(in.Object, provisioningv1.VersionsPrunedCondition, provisioningv1.PruneFailedReason, bounded(failure))
	return true
}
