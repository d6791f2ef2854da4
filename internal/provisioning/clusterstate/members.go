package clusterstate

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// MemberOf returns the Node of a ProvisionedNode among the Nodes whose provider IDs name its instance, nil
// if there is none. A kubelet writes its own provider ID, so that a Node may name the instance of another
// one, but it cannot have a name other than its own. The Node with the private DNS name of the instance, ""
// if that is not known, comes first. Of Nodes with other names, the one that was found first is kept while it
// exists: status names it. Before that, it is the Node that was created first.
func MemberOf(provisioned *provisioningv1.ProvisionedNode, claiming []*corev1.Node, privateDNSName string) *corev1.Node {
	if len(claiming) == 0 {
		return nil
	}
	for _, name := range []string{privateDNSName, provisioned.Status.NodeName} {
		if named := slices.IndexFunc(claiming, func(node *corev1.Node) bool { return node.Name == name }); named >= 0 {
			return claiming[named]
		}
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
			c.owners[MemberOf(launched[id], nodes, "").Name] = launched[id] // status names the Node soon
		}
	}
	return c.owners[node.Name]
}
