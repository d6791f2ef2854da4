package constraints

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// nodeRestriction is the prefix of labels by which nodes are kept apart: no pod may have one changed.
const nodeRestriction = "node-restriction.kubernetes.io/"

// aliases are labels that every node has in addition to another one, with the same value: old ones
// of Kubernetes, and Karpenter's.
var aliases = map[string]string{
	"beta.kubernetes.io/arch": corev1.LabelArchStable, "beta.kubernetes.io/os": corev1.LabelOSStable,
	corev1.LabelInstanceType:                  corev1.LabelInstanceTypeStable,
	corev1.LabelFailureDomainBetaZone:         corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion:       corev1.LabelTopologyRegion,
	provisioningv1.KarpenterLabelCapacityType: provisioningv1.LabelCapacityType,
}

// Ask describes a node that a pod can run on: what it is launched from, and which instances suit.
type Ask struct {
	// Provisioner that launches the node.
	Provisioner string

	// Template that it is launched from.
	Template Reference

	// Version is the number that the template's version stands for; 0 for the default launch template.
	Version int64

	// Labels that the node gets, in addition to the labels of the instance.
	Labels map[string]string

	// Taints that the node gets.
	Taints []corev1.Taint

	// Requirements of the labels that are the instance's: zone, instance type, architecture,
	// capacity type, and whatever else the pod asks for.
	Requirements Requirements

	// EphemeralStorage that the launch template gives, in bytes; 0: as the instance type says.
	EphemeralStorage int64

	// Resources that the node has in addition to the resources of its instance type.
	Resources corev1.ResourceList

	// Refused are the offerings that EC2 does not launch from the template.
	Refused Refused
}

// Group returns one string for all asks whose nodes are launched alike, so that their pods may
// share one.
func (a *Ask) Group() string {
	var words strings.Builder
	fmt.Fprintf(&words, "%s\x00%s\x00%s\x00%s\x00%d", a.Provisioner, a.Template.ID, a.Template.Name, a.Template.Config, a.Version)
	for _, key := range slices.Sorted(maps.Keys(a.Labels)) {
		words.WriteString("\x00" + key + "=" + a.Labels[key])
	}
	return words.String()
}

// Resolve lays one way of a pod (an element of PodRequirements) over a provisioner and its launch
// template. Where no node could come of it, the reason says why, with the pod as its subject. It is
// the pod's business alone whether it tolerates the node: Tolerates.
func Resolve(p *Provisioner, templates Templates, pod Requirements) (Ask, string) {
	pod = Canonical(pod)
	if set := pod.Get(provisioningv1.LabelProvisionerName); !set.Has(p.Name) {
		return Ask{}, fmt.Sprintf("requires Provisioner %s", set.brief())
	}
	if p.Problem != "" {
		return Ask{}, fmt.Sprintf("waits, because Provisioner %s can launch no node: %s", p.Name, p.Problem)
	}
	for _, key := range legacyLabels {
		if set := pod.Get(key); !set.HasAbsence() {
			return Ask{}, fmt.Sprintf("uses the label %s from before 2021, which nodes do not have: use node.k8s.aws/", key)
		}
	}
	if reason := p.beyond(pod); reason != "" {
		return Ask{}, reason
	}
	named, reason := namedTemplates(pod)
	if reason != "" {
		return Ask{}, reason
	}
	if named == nil {
		return resolveWith(p, templates, pod, p.Template, false)
	}
	var first string
	for _, reference := range named {
		var ask Ask
		reference, reason := p.admit(templates, reference)
		if reason == "" {
			ask, reason = resolveWith(p, templates, pod, reference, true)
		}
		if reason == "" {
			return ask, ""
		}
		if first == "" {
			first = reason
		}
	}
	return Ask{}, first
}

// Plain returns what a node is that is launched from a launch template for pods which ask for
// nothing else than the way, or why there is none.
func Plain(p *Provisioner, templates Templates, reference Reference, way Requirements) (Ask, string) {
	return resolveWith(p, templates, Canonical(way), reference, true)
}

// CanonicalKey returns the label that a label stands for if it is an alias, and the label itself otherwise.
func CanonicalKey(label string) string {
	if stable, alias := aliases[label]; alias {
		return stable
	}
	return label
}

// Canonical returns requirements with each label that is an alias replaced by the label that it stands for.
func Canonical(pod Requirements) Requirements {
	same := Requirements{}
	for key, set := range pod {
		same.Narrow(CanonicalKey(key), set)
	}
	return same
}

// AddAliases adds the labels that a node has in addition to others, with the same values.
func AddAliases(labels map[string]string) {
	for alias, key := range aliases {
		if value, has := labels[key]; has {
			labels[alias] = value
		}
	}
}

// mostNamedTemplates bounds how many versions of launch templates one pod may name. A node affinity
// of a few kilobytes could otherwise name many millions.
const mostNamedTemplates = 100

// namedTemplates returns the launch templates that the pod itself names, in the order in which they
// are tried; nil if it leaves that to the provisioner.
func namedTemplates(pod Requirements) ([]Reference, string) {
	name, version := pod.Get(provisioningv1.LabelLaunchTemplateName), pod.Get(provisioningv1.LabelLaunchTemplateVersion)
	versions := []string{provisioningv1.VersionLatest}
	if version.Names() && !version.HasAbsence() {
		versions = numbersOf(version)
		if len(versions) == 0 {
			return nil, fmt.Sprintf("requires version %s of a launch template, but the label of nodes has the "+
				"version number: use a number", version.brief())
		}
		if !name.Names() || name.HasAbsence() {
			return nil, "requires a version of a launch template without its name: add " + provisioningv1.LabelLaunchTemplateName
		}
	}
	if !name.Names() {
		return nil, ""
	}
	if name.HasAbsence() {
		return []Reference{{}}, ""
	}
	// Preferences may name values that no label can have. No Node would have such a name.
	names := slices.DeleteFunc(slices.Clone(name.values), func(value string) bool { return value == "" || len(validation.IsValidLabelValue(value)) > 0 })
	if len(names) == 0 {
		return nil, fmt.Sprintf("requires %s: %s, but no node can have that label", provisioningv1.LabelLaunchTemplateName, name.brief())
	}
	if len(names)*len(versions) > mostNamedTemplates {
		return nil, fmt.Sprintf("specifies %d launch templates in %d versions, more than the limit of %d in total", len(names), len(versions), mostNamedTemplates)
	}
	var named []Reference
	for _, template := range names {
		for _, number := range versions {
			named = append(named, Reference{Name: template, Version: number})
		}
	}
	return named, ""
}

// numbersOf returns the version numbers in a set, as a Node has them: without a sign and leading zeros.
func numbersOf(version Set) []string {
	return slices.DeleteFunc(slices.Clone(version.values), func(said string) bool {
		number, err := strconv.ParseInt(said, 10, 64)
		return err != nil || number <= 0 || strconv.FormatInt(number, 10) != said
	})
}

// resolveWith resolves with one launch template, which the pod named itself or the provisioner has.
func resolveWith(p *Provisioner, templates Templates, pod Requirements, reference Reference, byPod bool) (Ask, string) {
	template, reference, reason := choose(p, templates, pod, reference, byPod)
	if reason != "" {
		return Ask{}, reason
	}
	ask := Ask{
		Provisioner: p.Name, Template: reference, Version: template.Version, Taints: p.Taints, EphemeralStorage: template.EphemeralStorage,
		Labels: map[string]string{provisioningv1.LabelProvisionerName: p.Name, corev1.LabelOSStable: string(corev1.Linux)},
	}
	if reference == p.Template {
		ask.Resources = p.Resources
	}
	if template.Name != "" && len(validation.IsValidLabelValue(template.Name)) == 0 {
		ask.Labels[provisioningv1.LabelLaunchTemplateName] = template.Name
		ask.Labels[provisioningv1.LabelLaunchTemplateVersion] = strconv.FormatInt(template.Version, 10)
	}
	overrideLabels(ask.Labels, p.Labels, pod)
	ask.Requirements = instances(p, &template, pod)
	if ask.Refused = template.Refused; reference.IsDefault() {
		ask.Refused = p.RefusedDefaults
	}
	if reason := p.unlaunchable(&template, &ask, pod); reason != "" {
		return Ask{}, reason
	}
	for _, key := range slices.Sorted(maps.Keys(pod)) {
		value, given := ask.Labels[key]
		_, decided := ask.Requirements[key]
		switch {
		case decided:
		case !given && !slices.Contains(launchLabels, key):
			ask.Requirements[key] = pod[key]
		case !pod[key].Admits(value, given):
			return Ask{}, fmt.Sprintf("requires %s: %s, but the node would have %s", key, pod[key].brief(), cmp.Or(value, "the label to be absent"))
		}
	}
	if key, empty := ask.Requirements.Empty(); empty {
		return Ask{}, excluded(p, reference, key, pod.Get(key))
	}
	if set := ask.Requirements.Get(corev1.LabelHostname); !set.HasAbsence() && set.Names() {
		return Ask{}, "requires a node by its hostname, which no new node has"
	}
	delete(ask.Requirements, corev1.LabelHostname)
	return ask, ""
}

// unlaunchable returns why nothing can be launched that is asked for, with the pod as the subject:
// it would be where there is no subnet, or the default launch templates of all architectures that
// suit have a problem. It returns "" if something can be launched.
func (p *Provisioner) unlaunchable(template *Template, ask *Ask, pod Requirements) string {
	if problem := p.subnetProblem(template, pod); problem != "" || !ask.Template.IsDefault() {
		return problem
	}
	problem := ""
	architectures, _ := ask.Requirements.Get(corev1.LabelArchStable).Values()
	for _, architecture := range architectures {
		if problem = p.DefaultProblems[architecture]; problem == "" {
			return ""
		}
	}
	if problem == "" {
		return ""
	}
	return "waits, because " + problem
}

// excluded returns that the provisioner and its launch template together leave none of the values
// that the pod allows.
func excluded(p *Provisioner, reference Reference, key string, asked Set) string {
	if why := p.Unsatisfiable(); why != "" {
		return fmt.Sprintf("waits, because Provisioner %s can launch no node: %s", p.Name, why)
	}
	return fmt.Sprintf("requires %s: %s, which Provisioner %s and %s exclude", key, asked.brief(), p.Name, reference)
}

// choose returns the launch template to take: the one referred to, or the default one where its
// image is of another architecture than is asked for.
func choose(p *Provisioner, templates Templates, pod Requirements, reference Reference, byPod bool) (Template, Reference, string) {
	if reference.IsDefault() {
		return Template{}, reference, ""
	}
	template, known := templates[reference]
	if !known {
		return Template{}, reference, fmt.Sprintf("needs %s, which Slipway has not read yet because pending "+
			"pods specify too many launch templates", reference)
	}
	if template.Problem != "" {
		return Template{}, reference, fmt.Sprintf("needs %s: %s", reference, template.Problem)
	}
	limit := p.bounds().Get(corev1.LabelArchStable)
	wanted := pod.Get(corev1.LabelArchStable).Intersect(limit)
	switch {
	case wanted.Has(template.Architecture):
		return template, reference, ""
	case byPod && !limit.Has(template.Architecture):
		return Template{}, reference, fmt.Sprintf("requires %s, whose image is for %s, but Provisioner %s "+
			"launches only %s", reference, template.Architecture, p.Name, limit)
	case byPod:
		return Template{}, reference, fmt.Sprintf("requires %s, whose image is for %s, and architecture %s, "+
			"which no node can satisfy", reference, template.Architecture, wanted)
	case p.IgnoreIncompatible:
		return Template{}, reference, fmt.Sprintf("requires architecture %s, but the image of %s is for %s; "+
			"Provisioner %s does not launch nodes for the pod",
			wanted, reference, template.Architecture, p.Name)
	}
	return Template{}, Reference{}, ""
}

// overrideLabels puts the provisioner's labels on the node, with the values that the pod names. Preferences
// may name values that no label can have (Kubernetes: ValidatePreferredSchedulingTerms), and a Node with such
// a label cannot be written: they override nothing.
func overrideLabels(labels, provisioner map[string]string, pod Requirements) {
	for key, value := range provisioner {
		set := pod.Get(key)
		valid := slices.IndexFunc(set.values, func(value string) bool { return len(validation.IsValidLabelValue(value)) == 0 })
		switch {
		case strings.HasPrefix(key, nodeRestriction) || !set.Names() || set.Has(value):
			labels[key] = value
		case valid >= 0:
			labels[key] = set.values[valid]
		case len(set.values) > 0:
			labels[key] = value
		}
	}
}

// instances returns the requirements on properties that the instance decides, from all three
// layers: the part of the pod's requirements that the provisioner's limits admit. A mere preference
// of the launch template, or of the provisioner's label, gives way to what the pod names.
func instances(p *Provisioner, template *Template, pod Requirements) Requirements {
	bounds := p.bounds()
	if p.SubnetZones != nil && !template.FixesSubnet {
		bounds.Narrow(corev1.LabelTopologyZone, In(p.SubnetZones...))
	}
	r := Requirements{}
	for key, set := range bounds {
		r[key] = pod.Get(key).Intersect(set)
	}
	prefer := func(key string, preferred Set) {
		set := pod.Get(key)
		if !set.Names() {
			set = set.Intersect(preferred)
		}
		r.Narrow(key, set)
	}
	if len(template.Zones) > 0 {
		r[corev1.LabelTopologyZone] = pod.Get(corev1.LabelTopologyZone).Intersect(bounds.Get(corev1.LabelTopologyZone)).Intersect(In(template.Zones...))
	}
	if len(template.InstanceTypes) > 0 && !choosesTypes(bounds) && !choosesTypes(pod) {
		prefer(corev1.LabelInstanceTypeStable, In(template.InstanceTypes...))
	}
	prefer(provisioningv1.LabelCapacityType, capacityTypes(p, template, bounds))
	if template.CapacityType != "" {
		r.Narrow(provisioningv1.LabelCapacityType, In(template.CapacityType))
	}
	prefer(corev1.LabelArchStable, In(architecture(p, template, pod.Get(corev1.LabelArchStable).Intersect(bounds.Get(corev1.LabelArchStable)))))
	if template.Architecture != "" {
		r.Narrow(corev1.LabelArchStable, In(template.Architecture))
	}
	return r
}

// capacityTypes returns the capacity types of nodes whose pods do not name one. They come from the
// provisioner's label, from the launch template, or else from the provisioner's requirements.
func capacityTypes(p *Provisioner, template *Template, bounds Requirements) Set {
	required, is := bounds[provisioningv1.LabelCapacityType]
	said := cmp.Or(p.CapacityType, template.CapacityType)
	switch {
	case said != "":
		return In(said)
	case !is:
		return In(provisioningv1.CapacityTypeOnDemand)
	}
	return required
}

// architecture returns the architecture of the layers below the pod. Pods that name none run on
// amd64, because most images are built only for it; pods that exclude amd64 run on arm64.
func architecture(p *Provisioner, template *Template, wanted Set) string {
	amd64 := provisioningv1.ArchitectureAMD64.Label()
	switch {
	case template.Architecture != "":
		return template.Architecture
	case p.Architecture != "":
		return p.Architecture
	case wanted.Has(amd64):
		return amd64
	}
	return provisioningv1.ArchitectureARM64.Label()
}

// Tolerates reports whether a pod may be put on a node with the taints. If it may not, the reason
// says which taint is in the way.
func Tolerates(pod *corev1.PodSpec, taints []corev1.Taint) (bool, string) {
	for i := range taints {
		taint := &taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(pod.Tolerations, func(toleration corev1.Toleration) bool { return tolerates(&toleration, taint) }) {
			return false, "does not tolerate the taint " + taint.ToString()
		}
	}
	return true, ""
}

// tolerates applies the scheduler's rule (component-helpers, Toleration.ToleratesTaint) without
// comparisons of numbers, which no cluster has on by default.
func tolerates(toleration *corev1.Toleration, taint *corev1.Taint) bool {
	if toleration.Effect != "" && toleration.Effect != taint.Effect || toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	switch toleration.Operator {
	case "", corev1.TolerationOpEqual:
		return toleration.Value == taint.Value
	case corev1.TolerationOpExists:
		return true
	default:
		return false
	}
}

// Named returns the launch templates that must be read for a pod on the provisioner, at most
// mostNamedTemplates for all its ways together.
func Named(p *Provisioner, pod []Requirements) []Reference {
	var all []Reference
	if !p.Template.IsDefault() {
		all = append(all, p.Template)
	}
	for _, way := range pod {
		named, _ := namedTemplates(Canonical(way))
		for _, reference := range p.readable(named) {
			if !slices.Contains(all, reference) && len(all) < mostNamedTemplates {
				all = append(all, reference)
			}
		}
	}
	return all
}
