package clusterstate

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// MemberOf returns the Node of a ProvisionedNode among the Nodes whose provider IDs name its instance, nil
// if there is none. A kubelet writes its own provider ID, so that a Node may name the instance of another
// one. The Node that was found first is kept while it exists: status names it. Before that, it is the Node
// that was created first.
func MemberOf(provisioned *provisioningv1.ProvisionedNode, claiming []*corev1.Node) *corev1.Node {
	if len(claiming) == 0 {
		return nil
	}
	recorded := slices.IndexFunc(claiming, func(node *corev1.Node) bool { return node.Name == provisioned.Status.NodeName })
	if recorded >= 0 {
		return claiming[recorded]
	}
	return slices.MinFunc(claiming, func(a, b *corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// owner returns the ProvisionedNode that a Node belongs to, nil for the Nodes of others.
func (c *Cluster) owner(node *corev1.Node) *provisioningv1.ProvisionedNode {
	if c.owners == nil {
		c.owners = map[string]*provisioningv1.ProvisionedNode{}
		launched, claiming := map[string]*provisioningv1.ProvisionedNode{}, map[string][]*corev1.Node{}
		for i := range c.Provisioned {
			if id := c.Provisioned[i].Status.InstanceID; id != "" {
				launched[id] = &c.Provisioned[i]
			}
		}
		for i := range c.Nodes {
			if id := InstanceOf(c.Nodes[i].Spec.ProviderID); launched[id] != nil {
				claiming[id] = append(claiming[id], &c.Nodes[i])
			}
		}
		for id, nodes := range claiming {
			c.owners[MemberOf(launched[id], nodes).Name] = launched[id]
		}
	}
	return c.owners[node.Name]
}
