package packing

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// EFA is the resource of Elastic Fabric Adapters. An instance has as many as its launch template
// attaches.
const EFA corev1.ResourceName = "vpc.amazonaws.com/efa"

// hugePages returns how many bytes of memory are set aside as huge pages.
func hugePages(extra corev1.ResourceList) int64 {
	var sum int64
	for name, quantity := range extra {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			sum += quantity.Value()
		}
	}
	return sum
}

// AddExtra adds what a node has in addition to its instance type to the type's resources. Huge
// pages are taken from memory.
func AddExtra(to, extra corev1.ResourceList) {
	for name, quantity := range extra {
		sum := to[name]
		sum.Add(quantity)
		to[name] = sum
	}
	if pages := hugePages(extra); pages > 0 {
		left := to[corev1.ResourceMemory]
		left.Sub(*resource.NewQuantity(pages, resource.BinarySI))
		to[corev1.ResourceMemory] = left
	}
}

// Suits reports whether nodes of the type can be what is asked for, wherever and however they are
// bought.
func (t *InstanceType) Suits(ask *constraints.Ask) bool {
	return t.admitted(ask.Requirements) && t.supports(ask.Resources)
}

// admitted reports whether the labels of the type's nodes satisfy the requirements, but for zone
// and capacity type.
func (t *InstanceType) admitted(r constraints.Requirements) bool {
	for key, set := range r {
		value, present := "", true
		switch key {
		case corev1.LabelTopologyZone, provisioningv1.LabelCapacityType:
			continue
		case corev1.LabelInstanceTypeStable:
			value = t.Name
		case corev1.LabelArchStable:
			value = t.Architecture
		default:
			value, present = t.Labels[key]
		}
		if !set.Admits(value, present) {
			return false
		}
	}
	return true
}

// supports reports whether instances of the type can be launched from a launch template that gives
// nodes the extra resources.
func (t *InstanceType) supports(extra corev1.ResourceList) bool {
	adapters := extra[EFA]
	return adapters.Value() <= t.EFAInterfaces
}

// Extended reports whether a resource is one that a device plugin, or an administrator, has a Node
// offer. A Provisioner may declare it among its extra resources.
func Extended(name corev1.ResourceName) bool {
	text := string(name)
	if strings.HasPrefix(text, corev1.ResourceHugePagesPrefix) {
		return true
	}
	return strings.Contains(text, "/") && !strings.HasPrefix(text, corev1.ResourceDefaultNamespacePrefix)
}
