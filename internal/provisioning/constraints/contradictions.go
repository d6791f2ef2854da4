package constraints

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// Contradiction returns why a provisioner can launch nothing from the launch template that it names
// itself, unless pods say otherwise; "" if it can.
func (p *Provisioner) Contradiction(template *Template) string {
	if template.CapacityType != "" && p.CapacityType != "" && template.CapacityType != p.CapacityType {
		return fmt.Sprintf("it is for %s instances, but spec.labels has %s: %s", template.CapacityType, provisioningv1.LabelCapacityType, p.CapacityType)
	}
	elsewhere := !slices.ContainsFunc(template.Zones, func(zone string) bool { return slices.Contains(p.Zones, zone) })
	if len(template.Zones) > 0 && len(p.Zones) > 0 && elsewhere {
		return fmt.Sprintf("it launches in %s, but spec.zones has %s", strings.Join(template.Zones, ", "), strings.Join(p.Zones, ", "))
	}
	return ""
}

// Alike reports whether pods can choose between two provisioners by nothing but their names,
// although they launch from different launch templates: nodes have the same labels, taints, zones,
// and types, and are bought alike.
func (p *Provisioner) Alike(other *Provisioner) bool {
	return p.Template != other.Template && p.withoutTemplate() == other.withoutTemplate()
}

// withoutTemplate returns one string for all provisioners that suit the same pods.
func (p *Provisioner) withoutTemplate() string {
	var taints []string
	for i := range p.Taints {
		taints = append(taints, p.Taints[i].ToString())
	}
	return fmt.Sprintf("%v %q %q %q %q %q %q %v", p.Labels, sorted(taints), sorted(p.Zones), sorted(p.InstanceTypes), p.CapacityType, p.Architecture, p.Requirements, amountsOf(p.Resources))
}

// amountsOf returns the resources as text, in a form in which equal amounts are equal.
func amountsOf(list corev1.ResourceList) map[string]string {
	amounts := map[string]string{}
	for name, quantity := range list {
		amounts[string(name)] = quantity.String()
	}
	return amounts
}

func sorted(values []string) []string {
	values = slices.Clone(values)
	slices.Sort(values)
	return values
}
