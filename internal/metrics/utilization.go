package metrics

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

var (
	allocatableDesc = prometheus.NewDesc("slipway_nodes_allocatable",
		"Allocatable resources of the Nodes of a Provisioner, by resource.", []string{"provisioner", "resource"}, nil)
	requestedDesc = prometheus.NewDesc("slipway_nodes_requested",
		"Resource requests of the pods on the Nodes of a Provisioner, by resource, for pods of DaemonSets and "+
			"other pods.", []string{"provisioner", "resource", "of"}, nil)
)

// mostResources bounds how many resources are exposed. Device plugins choose the names of theirs.
const mostResources = 32

// utilization sums up what Nodes have and what pods on them request, by Provisioner.
type utilization struct {
	allocatable map[[2]string]float64
	requested   map[[3]string]float64
}

// measure returns the utilization of the Nodes that nodes have. Only resources are counted that a Node has.
func measure(nodes []provisioningv1.ProvisionedNode, members []corev1.Node, pods []*corev1.Pod) utilization {
	of := map[string]string{} // the Provisioner by the name of the Node
	for i := range nodes {
		if name := nodes[i].Status.NodeName; name != "" {
			of[name] = nodes[i].Spec.Provisioner
		}
	}
	sums := utilization{allocatable: map[[2]string]float64{}, requested: map[[3]string]float64{}}
	known := resourcesOf(members, of)
	for i := range members {
		if provisioner := of[members[i].Name]; provisioner != "" {
			for name, has := range members[i].Status.Allocatable {
				if known[name] {
					sums.allocatable[[2]string{provisioner, string(name)}] += has.AsApproximateFloat64()
				}
			}
		}
	}
	for _, pod := range pods {
		provisioner := of[pod.Spec.NodeName]
		if pod.Spec.NodeName == "" || provisioner == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		owner := ownerOf(pod)
		sums.requested[[3]string{provisioner, string(corev1.ResourcePods), owner}]++
		for name, asks := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			if known[name] {
				sums.requested[[3]string{provisioner, string(name), owner}] += asks.AsApproximateFloat64()
			}
		}
	}
	return sums
}

// resourcesOf returns the resources that Nodes of Provisioners have, up to the limit. Resources
// that all Nodes have come first.
func resourcesOf(members []corev1.Node, of map[string]string) map[corev1.ResourceName]bool {
	all := map[corev1.ResourceName]bool{}
	for i := range members {
		if of[members[i].Name] == "" {
			continue
		}
		for name, has := range members[i].Status.Allocatable {
			all[name] = all[name] || !has.IsZero()
		}
	}
	maps.DeleteFunc(all, func(_ corev1.ResourceName, has bool) bool { return !has })
	sorted := slices.SortedFunc(maps.Keys(all), func(a, b corev1.ResourceName) int {
		extended := func(name corev1.ResourceName) int { return strings.Count(string(name), "/") }
		if extended(a) != extended(b) {
			return extended(a) - extended(b)
		}
		return strings.Compare(string(a), string(b))
	})
	for _, name := range sorted[min(len(sorted), mostResources):] {
		delete(all, name)
	}
	return all
}

func ownerOf(pod *corev1.Pod) string {
	if controller := metav1.GetControllerOf(pod); controller != nil && controller.Kind == "DaemonSet" {
		return "daemonsets"
	}
	return "pods"
}

func (u utilization) describe(gauge func(*prometheus.Desc, float64, ...string)) {
	for labels, sum := range u.allocatable {
		gauge(allocatableDesc, sum, labels[:]...)
	}
	for labels, sum := range u.requested {
		gauge(requestedDesc, sum, labels[:]...)
	}
}
