package scheduler

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
)

// usable is a provisioner that nodes can be launched by.
type usable struct {
	object *provisioningv1.Provisioner
	layer  constraints.Provisioner
	// places that its nodes can be in.
	places launcher.Places
}

// named are launch templates that pods name, by Provisioner.
type named map[string][]constraints.Reference

// decideRegion decides which Provisioners may launch, and which launch templates must be read. A
// Provisioner that can launch nothing, because its subnets are not found or its cluster's name is
// taken, does not keep the others from it: its pods get the reason.
func decideRegion(in Input) Plan {
	plan, region := in.plan(), &in.Seen.Region
	if err := region.Err; err != nil {
		// Throttled calls are not reported: they are answered within seconds.
		if !aws.IsThrottled(err) && !aws.IsHeldBack(err) {
			reportUnknown(in, &plan, aws.UserMessage(err))
		}
		pool.TryAgain(&plan.Plan, err)
		plan.Why = err.Error()
		return plan
	}
	provisioners := make([]usable, 0, len(region.Provisioners))
	for i := range region.Provisioners {
		seen := &region.Provisioners[i]
		one := usable{object: seen.Object, layer: constraints.FromSpec(seen.Object.Name, &seen.Object.Spec), places: seen.Places}
		if one.layer.Problem = seen.Unusable; seen.Unusable == "" {
			one.layer.SubnetZones, one.layer.SubnetProblem = seen.Places.Zones(), seen.Places.Problem(seen.Found, &one.layer)
		}
		provisioners = append(provisioners, one)
	}
	plan.Draft.Provisioners, plan.Draft.Asked = provisioners, askedTemplates(in.Seen.Cluster.Waiting(), provisioners)
	plan.Do(askTemplates{plan.Draft.Asked}, "pods wait for nodes")
	plan.Need(needTemplates)
	plan.Then = decideCatalog
	return plan
}

// mostChoices bounds the choices of the pods whose launch templates are read in one pass.
const mostChoices = 20000

// askedTemplates returns the launch templates that pods name themselves. Pods choose what is read, so
// it is bounded. Pods that name more get the reason that theirs is not read.
func askedTemplates(waiting []*corev1.Pod, provisioners []usable) named {
	asked, choices := named{}, 0
	for _, pod := range waiting {
		if !namesTemplate(&pod.Spec) || choices > mostChoices {
			continue
		}
		choices += constraints.Choices(&pod.Spec) - 1
		ways, _ := constraints.PodRequirements(&pod.Spec)
		for i := range provisioners {
			layer := &provisioners[i].layer
			for _, reference := range constraints.Named(layer, chosenBy(ways, layer.Name)) {
				if reference != layer.Template && !slices.Contains(asked[layer.Name], reference) && len(asked[layer.Name]) < provisioningv1.MaxStatusLaunchTemplates {
					asked[layer.Name] = append(asked[layer.Name], reference)
				}
			}
		}
	}
	return asked
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

// decideCatalog builds the catalog of offerings that can be launched: everything that the region
// sells where there are subnets, except offerings that AWS is short of or EC2 refuses. It states
// the problem that is packed.
func decideCatalog(in Input) Plan {
	plan, seen := in.plan(), in.Seen
	known := constraints.Templates{}
	for reference := range seen.Templates {
		template := seen.Templates[reference]
		known[reference] = template.layer()
	}
	provisioners := slices.Clone(in.Draft.Provisioners)
	layers := make([]constraints.Provisioner, 0, len(provisioners))
	for i := range provisioners {
		refuseDefaults(&provisioners[i].layer, seen.Defaults[provisioners[i].object.Name])
		layers = append(layers, provisioners[i].layer)
	}
	zones := zonesOf(provisioners, known)
	types := catalog.Build(seen.Region.Facts, zones, seen.Short.Short)
	seen.Short.Explain(types)
	problem := seen.Cluster.Problem(layers, types)
	problem.Templates, problem.NotOffered, problem.MaxPods = known, catalog.NotOffered(seen.Region.Facts, zones), seen.MostPods
	var fresh []packing.Pod
	for i := range problem.Pods {
		problem.Pods[i].Tried = !in.Memory.isNew(problem.Pods[i].Pod)
		if !problem.Pods[i].Tried {
			fresh = append(fresh, problem.Pods[i])
		}
	}
	plan.Draft.Provisioners, plan.Draft.Problem, plan.Draft.Fresh = provisioners, problem, fresh
	plan.Packs = len(problem.Pods)
	plan.Then = decideChoice
	return plan
}

// layer returns what a launch template is to pods and provisioners. A template that AWS does not
// describe now, and did not before, is one with a problem: its pods get the reason, and it is tried
// again with every pass.
func (t *NamedTemplate) layer() constraints.Template {
	known := t.Known
	if t.Err != nil {
		known.Problem = aws.UserMessage(t.Err)
	}
	if known.Problem != "" {
		return known.Layer(nil)
	}
	known.Problem = t.Refused
	return known.Layer(t.Parts)
}

// refuseDefaults excludes the offerings that EC2 refuses from nodes of default launch templates.
// The devices that a pod requests decide which default launch template it gets, so an architecture
// has a problem only if all known templates have.
func refuseDefaults(layer *constraints.Provisioner, templates []DefaultTemplate) {
	problems, sound := map[string]string{}, map[string]bool{}
	refused := constraints.Refused{}
	for i := range templates {
		architecture, _ := variants.Parts(templates[i].Variant)
		if templates[i].Refused != "" {
			problems[architecture] = templates[i].Refused
		} else {
			sound[architecture] = true
		}
		maps.Copy(refused, templates[i].Parts)
	}
	if len(refused) > 0 {
		layer.RefusedDefaults = refused
	}
	maps.DeleteFunc(problems, func(architecture, _ string) bool { return sound[architecture] })
	layer.DefaultProblems = problems
}

// zonesOf returns the zones in which nodes can be launched.
func zonesOf(provisioners []usable, known constraints.Templates) []string {
	var zones []string
	for i := range provisioners {
		zones = append(zones, provisioners[i].places.Zones()...)
	}
	for _, template := range known {
		if template.FixesSubnet {
			zones = append(zones, template.Zones...)
		}
	}
	return zones
}
