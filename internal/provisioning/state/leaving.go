package state

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/drain"
)

// Leaves is true for a node that ends, or that is to end once its pods have places elsewhere.
func Leaves(node *provisioningv1.ProvisionedNode) bool {
	return node.DeletionTimestamp != nil || IsTrue(node, provisioningv1.ReplacingCondition)
}

// Moves is true for a pod that somebody makes again when it is evicted, so that it needs a place elsewhere before its node goes.
func Moves(pod *corev1.Pod) bool { return metav1.GetControllerOf(pod) != nil && drain.Leaves(pod) }

// leaving are the names of Nodes that leave.
func (c *Cluster) leaving() map[string]bool {
	instances := map[string]bool{}
	for i := range c.Provisioned {
		if id := c.Provisioned[i].Status.InstanceID; id != "" && Leaves(&c.Provisioned[i]) {
			instances[id] = true
		}
	}
	names := map[string]bool{}
	if len(instances) == 0 {
		return names
	}
	for i := range c.Nodes {
		if instances[InstanceOf(c.Nodes[i].Spec.ProviderID)] {
			names[c.Nodes[i].Name] = true
		}
	}
	return names
}

// takes is true for the name of a node, a ProvisionedNode's or else a Node's, that pods may still come to.
func (c *Cluster) takes(name string) bool {
	for i := range c.Provisioned {
		if c.Provisioned[i].Name == name {
			return !Leaves(&c.Provisioned[i])
		}
	}
	for i := range c.Nodes {
		if node := &c.Nodes[i]; node.Name == name {
			return !node.Spec.Unschedulable && node.DeletionTimestamp == nil
		}
	}
	return false
}

// Promise is the node that the pod was found a place on, while it is one for pods to come to.
func (c *Cluster) Promise(pod types.UID) (string, bool) {
	name, promised := c.Promised[pod]
	return name, promised && c.takes(name)
}
