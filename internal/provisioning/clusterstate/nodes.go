package clusterstate

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
)

// nodes returns all Nodes, and the provisioned ones that have no Node yet.
func (c *Cluster) nodes(types map[string]*packing.InstanceType, daemons []*corev1.Pod) []packing.Node {
	on, promised := c.bound(), c.promised()
	var nodes []packing.Node
	joined := map[string]bool{}
	for i := range c.Nodes {
		node := &c.Nodes[i]
		provisioned := c.owner(node)
		made := packing.Node{Name: node.Name, Labels: node.Labels, Taints: settled(node.Spec.Taints), Allocatable: node.Status.Allocatable, Pods: on[node.Name]}
		made.Closed = node.Spec.Unschedulable || node.DeletionTimestamp != nil || !Ready(node)
		here := node.Name
		if provisioned != nil {
			here = provisioned.Name
			joined[provisioned.Name] = true
			c.join(&made, node, provisioned, types, daemons)
		}
		made.Pods = slices.Concat(made.Pods, promised[here])
		nodes = append(nodes, made)
	}
	for i := range c.Provisioned {
		if provisioned := &c.Provisioned[i]; !joined[provisioned.Name] {
			node := awaited(provisioned, types, daemons)
			// its Node was there and is gone: it may or may not come back
			node.Closed = node.Closed || provisioned.Status.NodeName != ""
			node.Pods = slices.Concat(node.Pods, promised[provisioned.Name])
			nodes = append(nodes, node)
		}
	}
	return sortedByName(nodes)
}

// bound returns the pods of each Node.
func (c *Cluster) bound() map[string][]*corev1.Pod {
	on, leaving := map[string][]*corev1.Pod{}, c.leaving()
	for _, pod := range c.Pods {
		// A pod that will run elsewhere counts only there.
		if pod.Spec.NodeName != "" && !done(pod) && (!leaving[pod.Spec.NodeName] || !c.Moves(pod)) {
			on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
		}
	}
	return on
}

// promised returns the pods that each provisioned node was launched for, and that have not come
// yet.
func (c *Cluster) promised() map[string][]*corev1.Pod {
	promised := map[string][]*corev1.Pod{}
	for _, pod := range c.Waiting() {
		if name, is := c.Promise(pod.UID); is {
			promised[name] = append(promised[name], pod)
		}
	}
	return promised
}

// join presents a Node as it will be once it is initialized: without startup taints, and with the
// devices that its instance type has.
func (c *Cluster) join(made *packing.Node, node *corev1.Node, provisioned *provisioningv1.ProvisionedNode, types map[string]*packing.InstanceType, daemons []*corev1.Pod) {
	if Leaves(provisioned) {
		made.Closed = true
		return
	}
	if Initialized(provisioned) {
		return
	}
	future := awaited(provisioned, types, daemons)
	made.Labels = maps.Clone(future.Labels)
	maps.Copy(made.Labels, node.Labels)
	maps.Copy(made.Labels, provisioned.Spec.Labels)
	made.Taints, made.Closed = future.Taints, node.Spec.Unschedulable || node.DeletionTimestamp != nil
	made.Allocatable = corev1.ResourceList{}
	maps.Copy(made.Allocatable, future.Allocatable)
	for name, has := range node.Status.Allocatable {
		if !has.IsZero() {
			made.Allocatable[name] = has
		}
	}
	for _, daemon := range future.Pods {
		if !slices.ContainsFunc(made.Pods, func(pod *corev1.Pod) bool { return sameOwner(pod, daemon) }) {
			made.Pods = append(made.Pods, daemon)
		}
	}
}

// awaited returns a node that has not joined, as it will be. Until its instance is known, it has
// what all of its offerings have in common, and the room of the smallest: EC2 may choose any.
func awaited(provisioned *provisioningv1.ProvisionedNode, types map[string]*packing.InstanceType, daemons []*corev1.Pod) packing.Node {
	offerings := provisioned.Spec.Offerings
	if chosen := provisioned.Status.InstanceType; chosen != "" {
		offerings = []provisioningv1.NodeOffering{{InstanceType: chosen, Zone: provisioned.Status.Zone}}
	}
	node := packing.Node{Name: provisioned.Name, Labels: map[string]string{}, Taints: Taints(provisioned), Closed: Leaves(provisioned)}
	for i, offering := range offerings {
		t := types[offering.InstanceType]
		if t == nil {
			node.Closed = true // its capacity is unknown
			continue
		}
		labels := map[string]string{corev1.LabelArchStable: t.Architecture, corev1.LabelInstanceTypeStable: t.Name, corev1.LabelTopologyZone: offering.Zone}
		maps.Copy(labels, t.Labels)
		if i == 0 {
			node.Labels, node.Allocatable = labels, roomOf(t, provisioned)
			continue
		}
		maps.DeleteFunc(node.Labels, func(key, value string) bool { return labels[key] != value })
		room := roomOf(t, provisioned)
		for name, most := range node.Allocatable {
			if less, has := room[name]; !has {
				delete(node.Allocatable, name)
			} else if less.Cmp(most) < 0 {
				node.Allocatable[name] = less
			}
		}
	}
	node.Labels[corev1.LabelHostname] = provisioned.Name
	maps.Copy(node.Labels, provisioned.Spec.Labels)
	constraints.AddAliases(node.Labels)
	for _, daemon := range daemons {
		if runs(daemon, &node) {
			node.Pods = append(node.Pods, daemon)
		}
	}
	return node
}

// roomOf returns what pods get of a node with an instance type. A device counts only if the image
// has its driver.
func roomOf(t *packing.InstanceType, provisioned *provisioningv1.ProvisionedNode) corev1.ResourceList {
	room := t.Capacity.DeepCopy()
	maps.DeleteFunc(room, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return packing.Extended(name) && !variants.Offers(provisioned, string(name))
	})
	for name, less := range t.Overhead {
		quantity := room[name]
		quantity.Sub(less)
		room[name] = quantity
	}
	packing.AddExtra(room, corev1.ResourceList(provisioned.Spec.ExtraResources))
	return room
}

// runs reports whether a daemon will have a pod on the node.
func runs(daemon *corev1.Pod, node *packing.Node) bool {
	if tolerated, _ := constraints.Tolerates(&daemon.Spec, node.Taints); !tolerated {
		return false
	}
	ways, _ := constraints.PodRequirements(&daemon.Spec)
	return slices.ContainsFunc(ways, func(way constraints.Requirements) bool { return way.Admit(node.Labels) })
}

func sameOwner(pod, daemon *corev1.Pod) bool {
	a, b := metav1.GetControllerOf(pod), metav1.GetControllerOf(daemon)
	return a != nil && b != nil && a.UID == b.UID
}

// Taints returns the taints that the node will have.
func Taints(provisioned *provisioningv1.ProvisionedNode) []corev1.Taint {
	return taintsOf(provisioned.Spec.Taints)
}

func taintsOf(list []provisioningv1.Taint) []corev1.Taint {
	var taints []corev1.Taint
	for _, taint := range list {
		taints = append(taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: corev1.TaintEffect(taint.Effect)})
	}
	return taints
}

// settled returns the taints that stay, without the taints that a Node has while it starts.
func settled(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(taint corev1.Taint) bool {
		return ephemeral(taint.Key) && taint.Key != corev1.TaintNodeUnreachable || taint.Key == corev1.TaintNodeUnschedulable
	})
}

// Ready reports whether a Node takes pods, as far as its kubelet is concerned.
func Ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}

// IsTrue reports whether a provisioned node has a condition, and it is True.
func IsTrue(node *provisioningv1.ProvisionedNode, condition string) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(has metav1.Condition) bool {
		return has.Type == condition && has.Status == metav1.ConditionTrue
	})
}
