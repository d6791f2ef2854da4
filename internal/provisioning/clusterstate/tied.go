package clusterstate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// Tied is a pod that the scheduler finds no node for, and that can run on one Node alone, because a
// volume that it is bound to is part of that Node: a local disk, for example. No other node helps
// it, whether that Node is there or gone.
type Tied struct {
	Pod *corev1.Pod
	// Claim and Volume are the names of the PersistentVolumeClaim and of the volume that is bound to it.
	Claim, Volume string
	// Label is how the volume names its Node, such as kubernetes.io/hostname=ip-10-0-0-1.
	Label string
	// Node is the name of the Node, empty if it is gone.
	Node string
}

// Explain returns why no node is launched for the pod, and what to do.
func (t *Tied) Explain() string {
	if t.Node != "" {
		return fmt.Sprintf("No node is launched for the pod, because volume %s of PersistentVolumeClaim %s is "+
			"local to Node %s. See the pod's condition PodScheduled for why the pod is not scheduled there. "+
			"Delete the claim and the pod to run the pod elsewhere without its data.", t.Volume, t.Claim, t.Node)
	}
	return fmt.Sprintf("No node is launched for the pod. Delete PersistentVolumeClaim %s and the pod to run the "+
		"pod elsewhere without its data: volume %s was local to a Node that no longer exists (%s).",
		t.Claim, t.Volume, t.Label)
}

// Tied returns the pods that are tied to one Node and wait for it.
func (c *Cluster) Tied() []Tied {
	c.Waiting()
	return c.tiedPods
}

// tied returns how a pod is tied to one Node, if it is.
func (c *Cluster) tied(pod *corev1.Pod) (Tied, bool) {
	for _, name := range claimsOf(pod) {
		claim := c.volumes().claims[name]
		if claim == nil || claim.Spec.VolumeName == "" {
			continue
		}
		volume := c.volumes().volumes[claim.Spec.VolumeName]
		if volume == nil {
			continue
		}
		if labels := c.ownLabels(volume); len(labels) > 0 {
			tied := Tied{Pod: pod, Claim: claim.Name, Volume: volume.Name, Label: labels[0].Key + "=" + strings.Join(labels[0].Values, ",")}
			tied.Node = labeled(c.Nodes, labels)
			return tied, true
		}
	}
	return Tied{}, false
}

// ownLabels returns the labels by which a volume names the Nodes that it is part of, one of each
// term of its node affinity; nil if some term names none.
func (c *Cluster) ownLabels(volume *corev1.PersistentVolume) []corev1.NodeSelectorRequirement {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return nil
	}
	var labels []corev1.NodeSelectorRequirement
	for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		at := slices.IndexFunc(term.MatchExpressions, func(one corev1.NodeSelectorRequirement) bool {
			return one.Operator == corev1.NodeSelectorOpIn && len(one.Values) > 0 && c.namesNodes(one.Key)
		})
		if at < 0 {
			return nil
		}
		labels = append(labels, term.MatchExpressions[at])
	}
	return labels
}

// labeled returns the name of the first Node with one of the labels, "" if there is none.
func labeled(nodes []corev1.Node, labels []corev1.NodeSelectorRequirement) string {
	name := ""
	for i := range nodes {
		node := &nodes[i]
		has := slices.ContainsFunc(labels, func(one corev1.NodeSelectorRequirement) bool {
			value, labeled := node.Labels[one.Key]
			return labeled && slices.Contains(one.Values, value)
		})
		if has && (name == "" || node.Name < name) {
			name = node.Name
		}
	}
	return name
}

// namesNodes reports whether each Node has a value of its own of a label, so that a new node never
// has one that a volume names. Drivers of local volumes have labels of their own in place of
// kubernetes.io/hostname, such as topology.topolvm.io/node and openebs.io/nodename (CSI:
// NodeGetInfo, accessible_topology). A label that two Nodes share is of a group of nodes, such as a
// zone. If no Node says otherwise, a value that is the name, the host name, or the instance of its
// Node decides, and else the key.
func (c *Cluster) namesNodes(key string) bool {
	if key == corev1.LabelHostname {
		return true
	}
	if named, known := c.keys[key]; known {
		return named
	}
	if c.keys == nil {
		c.keys = map[string]bool{}
	}
	named := slices.Contains(nodeKeys, key[strings.LastIndex(key, "/")+1:])
	switch own, shared := valuesOf(c.Nodes, key); {
	case isZone(key), shared, anyGives(c.Provisioners, key):
		named = false
	case own:
		named = true
	}
	c.keys[key] = named
	return named
}

// valuesOf reports whether some Node has a label and each that has it is named by its value, and
// whether two Nodes have the same value.
func valuesOf(nodes []corev1.Node, key string) (own, shared bool) {
	values := map[string]bool{}
	own = true
	for i := range nodes {
		node := &nodes[i]
		value, has := node.Labels[key]
		if !has {
			continue
		}
		shared = shared || values[value]
		values[value] = true
		own = own && slices.Contains([]string{node.Name, node.Labels[corev1.LabelHostname], InstanceOf(node.Spec.ProviderID)}, value)
	}
	return own && len(values) > 0, shared
}

// nodeKeys are the last parts of the keys by which drivers of local volumes name Nodes.
var nodeKeys = []string{"node", "nodename", "node-name", "nodeid", "node-id", "host", "hostname", "instance-id"}

// anyGives reports whether a Provisioner gives its nodes a label: then a new node may have the value
// that a volume names.
func anyGives(provisioners []provisioningv1.Provisioner, key string) bool {
	for i := range provisioners {
		if _, has := provisioners[i].Spec.Labels[key]; has {
			return true
		}
	}
	return false
}
