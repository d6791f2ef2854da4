package packing

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// EFA is the resource of Elastic Fabric Adapters. An instance has those that its launch template attaches.
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

// AddExtra adds what a node has in addition to its instance type to the type's resources. Huge pages are taken from memory.
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

// supports reports whether instances of the type can be launched from a launch template that gives nodes the extra resources.
func (t *InstanceType) supports(extra corev1.ResourceList) bool {
	adapters := extra[EFA]
	return adapters.Value() <= t.EFAInterfaces
}

// Extended reports whether a resource is one that a device plugin, or an administrator, has a Node offer. A Provisioner may declare it among its extra resources.
func Extended(name corev1.ResourceName) bool {
	text := string(name)
	if strings.HasPrefix(text, corev1.ResourceHugePagesPrefix) {
		return true
	}
	return strings.Contains(text, "/") && !strings.HasPrefix(text, corev1.ResourceDefaultNamespacePrefix)
}
