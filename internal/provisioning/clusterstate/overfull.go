package clusterstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// Overfull returns the nodes, by the names that promises have, whose promises may not hold any
// longer: the scheduler, which knows no promises, has put other pods there. Resources are counted.
// Where pods keep others away from their node, or from their ports, every pod that comes there is a
// reason to place the promised ones anew.
func (c *Cluster) Overfull() map[string]bool {
	overfull := map[string]bool{}
	promised := c.promised()
	if len(promised) == 0 {
		return overfull
	}
	on := c.bound()
	for i := range c.Nodes {
		node := &c.Nodes[i]
		name := node.Name
		if provisioned := c.owner(node); provisioned != nil {
			name = provisioned.Name
		}
		if some := promised[name]; len(some) > 0 && crowded(on[node.Name], some, node.Status.Allocatable) {
			overfull[name] = true
		}
	}
	return overfull
}

// crowded reports whether pods that are bound to a node may leave too little for the pods that were
// promised a place there.
func crowded(bound, promised []*corev1.Pod, allocatable corev1.ResourceList) bool {
	others := slices.DeleteFunc(slices.Clone(bound), ofDaemonSet)
	if len(others) == 0 {
		return false
	}
	if slices.ContainsFunc(promised, keepsAway) || slices.ContainsFunc(others, keepsAway) {
		return true
	}
	used := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(len(bound)+len(promised)), resource.DecimalSI)}
	for _, pod := range slices.Concat(bound, promised) {
		for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			sum := used[name]
			sum.Add(quantity)
			used[name] = sum
		}
	}
	for name, quantity := range used {
		if room := allocatable[name]; quantity.Cmp(room) > 0 {
			return true
		}
	}
	return false
}

// keepsAway reports whether a pod restricts which other pods may be on its node, beyond their resources.
func keepsAway(pod *corev1.Pod) bool {
	spec := &pod.Spec
	apart := spec.Affinity != nil && spec.Affinity.PodAntiAffinity != nil && len(spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
	spread := slices.ContainsFunc(spec.TopologySpreadConstraints, func(constraint corev1.TopologySpreadConstraint) bool {
		return constraint.WhenUnsatisfiable == corev1.DoNotSchedule
	})
	return apart || spread || packing.BindsHostPort(pod)
}
