package clusterstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
)

// Leaves reports whether a node is being deleted, or will be once its pods have places elsewhere.
func Leaves(node *provisioningv1.ProvisionedNode) bool {
	return node.DeletionTimestamp != nil || IsTrue(node, provisioningv1.ReplacingCondition)
}

// Moves reports whether a pod needs a place elsewhere before its node goes: a controller creates it
// again when it is evicted, and no volume of one Node keeps the new pod from running on another.
func (c *Cluster) Moves(pod *corev1.Pod) bool {
	if metav1.GetControllerOf(pod) == nil || !drain.Leaves(pod) {
		return false
	}
	_, tied := c.tied(pod)
	return !tied
}

// leaving returns the names of Nodes that leave.
func (c *Cluster) leaving() map[string]bool {
	names := map[string]bool{}
	for i := range c.Nodes {
		if provisioned := c.owner(&c.Nodes[i]); provisioned != nil && Leaves(provisioned) {
			names[c.Nodes[i].Name] = true
		}
	}
	return names
}

// takes reports whether pods may still come to the node with a name, which is the name of a
// ProvisionedNode or else of a Node.
func (c *Cluster) takes(name string) bool {
	if c.takers == nil {
		c.takers = map[string]bool{}
		stays := map[string]bool{} // ProvisionedNodes whose Node is there, and not deleted
		for i := range c.Nodes {
			node := &c.Nodes[i]
			c.takers[node.Name] = !node.Spec.Unschedulable && node.DeletionTimestamp == nil
			if provisioned := c.owner(node); provisioned != nil {
				stays[provisioned.Name] = node.DeletionTimestamp == nil
			}
		}
		for i := range c.Provisioned {
			provisioned := &c.Provisioned[i]
			// A Node that had registered and is gone takes nothing, even though its instance runs.
			// Neither does one that failed after it had started.
			c.takers[provisioned.Name] = !Leaves(provisioned) && !failed(provisioned) && (provisioned.Status.NodeName == "" || stays[provisioned.Name])
		}
	}
	return c.takers[name]
}

// failed reports whether a node that had been initialized is not ready.
func failed(provisioned *provisioningv1.ProvisionedNode) bool {
	return provisioned.Status.ReadyTime != nil && slices.ContainsFunc(provisioned.Status.Conditions, func(condition metav1.Condition) bool {
		return condition.Type == provisioningv1.NodeReadyCondition && condition.Status == metav1.ConditionFalse
	})
}

// Promise returns the node that the pod was found a place on, while pods may still come to it.
func (c *Cluster) Promise(pod types.UID) (string, bool) {
	name, promised := c.Promised[pod]
	return name, promised && c.takes(name)
}

// Renamed returns the promises of places on Nodes that are known to be a ProvisionedNode's, under the
// name of the ProvisionedNode. When they were made, the cache did not show yet whose the Node is.
func (c *Cluster) Renamed(promised map[types.UID]string) map[types.UID]string {
	names := map[string]string{}
	for i := range c.Nodes {
		if provisioned := c.owner(&c.Nodes[i]); provisioned != nil {
			names[c.Nodes[i].Name] = provisioned.Name
		}
	}
	renamed := map[types.UID]string{}
	for uid, name := range promised {
		if now, is := names[name]; is {
			renamed[uid] = now
		}
	}
	return renamed
}
