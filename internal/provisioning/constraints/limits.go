package constraints

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// limit holds the values of one label that a field of a provisioner's spec allows. Pods narrow it,
// and never widen it.
type limit struct {
	key   string
	field string
	set   Set
}

// limits returns all limits of the provisioner, in a fixed order.
func (p *Provisioner) limits() []limit {
	var all []limit
	if len(p.Zones) > 0 {
		all = append(all, limit{corev1.LabelTopologyZone, "spec.zones", In(p.Zones...)})
	}
	if len(p.InstanceTypes) > 0 {
		all = append(all, limit{corev1.LabelInstanceTypeStable, "spec.instanceTypes", In(p.InstanceTypes...)})
	}
	if p.Architecture != "" {
		all = append(all, limit{corev1.LabelArchStable, "spec.architecture", In(p.Architecture)})
	}
	for _, key := range slices.Sorted(maps.Keys(p.Requirements)) {
		all = append(all, limit{key, "spec.requirements", p.Requirements[key]})
	}
	return all
}

// bounds returns what all limits together leave, by label.
func (p *Provisioner) bounds() Requirements {
	bounds := Requirements{}
	for _, limit := range p.limits() {
		bounds.Narrow(limit.key, limit.set)
	}
	return bounds
}

// AllowedZones returns the zones that the limits of the provisioner allow, and the fields that
// limit them; "" if none does.
func (p *Provisioner) AllowedZones() (zones Set, fields string) {
	var limiting []string
	for _, limit := range p.limits() {
		if limit.key == corev1.LabelTopologyZone {
			limiting = append(limiting, limit.field)
		}
	}
	return p.bounds().Get(corev1.LabelTopologyZone), strings.Join(limiting, " with ")
}

// Unsatisfiable returns why no node can be within all limits of the provisioner at once, or "" if one can.
func (p *Provisioner) Unsatisfiable() string {
	key, empty := p.bounds().Empty()
	if !empty {
		return ""
	}
	var fields []string
	for _, limit := range p.limits() {
		if limit.key == key {
			fields = append(fields, limit.field)
		}
	}
	return fmt.Sprintf("%s allow no common value of %s", strings.Join(fields, " and "), key)
}

// beyond returns which limit keeps the provisioner from serving the pod, with the pod as the
// subject, or "" if none does. A limit that admits nothing is no matter of the pod: Unsatisfiable.
func (p *Provisioner) beyond(pod Requirements) string {
	for _, limit := range p.limits() {
		asked := pod.Get(limit.key)
		if !limit.set.Empty() && asked.Intersect(limit.set).Empty() {
			return fmt.Sprintf("requires %s: %s, but %s of Provisioner %s allows only %s", limit.key, asked.brief(), limit.field, p.Name, limit.set.brief())
		}
	}
	return ""
}

// subnetProblem returns why no subnet is where a node for the pod would be, with the pod as the
// subject, or "" if one is.
func (p *Provisioner) subnetProblem(template *Template, pod Requirements) string {
	switch {
	case template.FixesSubnet:
		return ""
	case p.SubnetProblem != "":
		return fmt.Sprintf("waits, because Provisioner %s can launch no node: %s", p.Name, p.SubnetProblem)
	case p.SubnetZones == nil:
		return ""
	}
	asked := pod.Get(corev1.LabelTopologyZone)
	within := asked.Intersect(p.bounds().Get(corev1.LabelTopologyZone))
	there := In(p.SubnetZones...)
	switch {
	case within.Empty() || !within.Intersect(there).Empty():
		return ""
	case asked.Intersect(there).Empty():
		return fmt.Sprintf("requires %s: %s, but Provisioner %s has subnets with free addresses only in %s", corev1.LabelTopologyZone, asked.brief(), p.Name, there.brief())
	}
	return fmt.Sprintf("waits, because Provisioner %s allows only zone %s, but has subnets with free addresses "+
		"only in %s", p.Name, within.brief(), there.brief())
}

// Forbids returns which limit a node with the labels is beyond, with the node as the subject, or ""
// if it is within all of them. A label that the node lacks is missing.
func (p *Provisioner) Forbids(labels map[string]string) string {
	for _, limit := range p.limits() {
		if value, has := labels[limit.key]; !limit.set.Admits(value, has) {
			if !has {
				return fmt.Sprintf("it has no %s, but %s allows only %s", limit.key, limit.field, limit.set.brief())
			}
			return fmt.Sprintf("its %s is %s, but %s now allows %s", limit.key, value, limit.field, limit.set.brief())
		}
	}
	return ""
}

// AllowsType reports whether the requirements allow an instance type whose nodes have the labels.
// Zone and capacity type are not the type's, and do not count.
func (p *Provisioner) AllowsType(labels map[string]string) bool {
	for key, set := range p.Requirements {
		value, has := labels[key]
		if key != corev1.LabelTopologyZone && key != provisioningv1.LabelCapacityType && !set.Admits(value, has) {
			return false
		}
	}
	return true
}

// mostNamed bounds how many values of a set a message lists.
const mostNamed = 5

// brief describes the set, with only the first of its values if there are many.
func (s Set) brief() string {
	if len(s.values) <= mostNamed+1 {
		return s.String()
	}
	more := len(s.values) - mostNamed
	if s.all {
		s.values = s.values[:mostNamed]
		return fmt.Sprintf("%s, and %d more", s, more)
	}
	return fmt.Sprintf("%s, or %d more", strings.Join(s.values[:mostNamed], ", "), more)
}

// Brief describes the requirements of the labels with the keys in one line, with the first of many values and
// the first of many labels: pods choose how many there are.
func (r Requirements) Brief(keys []string) string {
	var words []string
	for _, key := range keys[:min(len(keys), mostNamed)] {
		words = append(words, key+" "+r[key].brief())
	}
	if more := len(keys) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more labels", more))
	}
	return strings.Join(words, ", ")
}

// instanceLabels begin the keys of labels that the instance type decides.
const instanceLabels = provisioningv1.InstanceLabelPrefix

// choosesTypes reports whether requirements say which instance types to take. A launch template's
// own instance type gives way to them.
func choosesTypes(r Requirements) bool {
	for key, set := range r {
		if (key == corev1.LabelInstanceTypeStable || strings.HasPrefix(key, instanceLabels)) && set.Names() {
			return true
		}
	}
	return false
}
