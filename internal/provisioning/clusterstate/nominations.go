package clusterstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// NominationManager is the field manager with which Slipway writes status.nominatedNodeName of
// pods, and nothing else. The API server records it, so that Slipway's nominations can be
// distinguished from the scheduler's, also after a restart.
const NominationManager = "slipway-nominations"

// Nominated reports whether status.nominatedNodeName of a pod was written by Slipway. The scheduler
// nominates a Node where it preempts other pods.
func Nominated(pod *corev1.Pod) bool {
	return pod.Status.NominatedNodeName != "" && slices.ContainsFunc(pod.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		// an entry whose last field was changed by another manager is removed
		return entry.Manager == NominationManager
	})
}

// nominatedBySlipway is the part that a cache keeps of the managed fields of a pod that Slipway
// nominated a Node for. All pods share it.
var nominatedBySlipway = []metav1.ManagedFieldsEntry{{Manager: NominationManager}}

// Nominations returns the ProvisionedNodes whose Nodes Slipway nominated for pods, by the pod.
func (c *Cluster) Nominations() map[types.UID]string {
	byNode, places := map[string]string{}, map[types.UID]string{}
	for i := range c.Provisioned {
		if name := c.Provisioned[i].Status.NodeName; name != "" {
			byNode[name] = c.Provisioned[i].Name
		}
	}
	for _, pod := range c.Pods {
		if provisioned := byNode[pod.Status.NominatedNodeName]; provisioned != "" && pod.Spec.NodeName == "" && Nominated(pod) {
			places[pod.UID] = provisioned
		}
	}
	return places
}

// Nominable returns the Nodes that the scheduler can be pointed to, by the names of their
// ProvisionedNodes. They have registered and lack nothing but a ready kubelet. While a startup
// taint or a missing device keeps pods away, an attempt to schedule one would fail and remove its
// nomination. Lagging reports whether the cache shows a Node as it was before it registered.
func (c *Cluster) Nominable() (names map[string]string, lagging bool) {
	names = map[string]string{}
	for i := range c.Nodes {
		node := &c.Nodes[i]
		provisioned := c.owner(node)
		if provisioned == nil || !IsTrue(provisioned, provisioningv1.RegisteredCondition) || !c.takes(provisioned.Name) || node.Spec.Unschedulable || node.DeletionTimestamp != nil {
			continue
		}
		switch {
		case slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == UnregisteredTaint }):
			lagging = true
		case open(provisioned, node):
			names[provisioned.Name] = node.Name
		}
	}
	return names, lagging
}

// open reports whether a Node has only its own taints and taints that Kubernetes removes once its
// kubelet is ready, and has the devices that its pods request.
func open(provisioned *provisioningv1.ProvisionedNode, node *corev1.Node) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if !listed(provisioned.Spec.Taints, taint) && !ephemeral(taint.Key) && taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return !slices.ContainsFunc(provisioned.Spec.AwaitedResources, func(name string) bool {
		has := node.Status.Allocatable[corev1.ResourceName(name)]
		return has.IsZero()
	})
}
