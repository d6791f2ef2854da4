// Package clusterstate turns what a cluster has (pods, Nodes, DaemonSets, volumes, provisioners and the
// nodes that they launched) into the values that package packing decides from. It is a function of
// values. Nodes that are being launched are included: with what they will have once they are ready,
// and with the pods that they were launched for. Trimmer and TrimNode keep out of caches what it
// does not read of pods and Nodes.
//
// Everything that pods of one owner have in common is held once, and the reconcile reads pods where
// the cache has them: a list of copies of 20,000 pods took 24 MB. A change that reads another field
// of pods adds it to Trimmer; a test packs whole and trimmed pods and compares.
package clusterstate

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// UnregisteredTaint keeps all pods from a node until its labels and taints are complete. Nodes from
// default launch templates have it when they register.
const UnregisteredTaint = "provisioning.karpenter.sh/unregistered"

// Cluster is all that counts of a cluster. Nothing in it is changed.
type Cluster struct {
	Provisioners []provisioningv1.Provisioner
	Provisioned  []provisioningv1.ProvisionedNode
	Nodes        []corev1.Node
	Pods         []*corev1.Pod
	DaemonSets   []appsv1.DaemonSet
	Namespaces   []corev1.Namespace
	Claims       []corev1.PersistentVolumeClaim
	Volumes      []corev1.PersistentVolume
	Classes      []storagev1.StorageClass
	CSINodes     []storagev1.CSINode
	Attachments  []storagev1.VolumeAttachment

	// Promised are the nodes that pods were found a place on, by the pod: ProvisionedNodes, and
	// Nodes of others for pods whose own Node leaves.
	Promised map[types.UID]string

	// takers holds the names of nodes that pods may come to, waiting the pods that wait, tiedPods
	// the pods that wait for one particular Node, stuckPods the pods that wait for a volume, and
	// indexed the volumes by name. They are nil until they are first needed.
	takers    map[string]bool
	waiting   []*corev1.Pod
	tiedPods  []Tied
	stuckPods []packing.Unplaced
	indexed   *volumes
	// preempting reports whether the scheduler is preempting others for a pod. hosts holds whether
	// each Node takes pods; it is nil until it is first needed.
	preempting bool
	hosts      map[string]bool
	// owners are the ProvisionedNodes that Nodes belong to, by the name of the Node. It is nil until it is
	// first needed.
	owners map[string]*provisioningv1.ProvisionedNode
	// keys are labels by whether they name one Node each, as far as that was asked.
	keys map[string]bool
}

// Waiting returns the pods that wait for a node: the scheduler found none for them, and nothing but
// a further node would help, or the node that they run on leaves.
func (c *Cluster) Waiting() []*corev1.Pod {
	if c.waiting == nil {
		leaving := c.leaving()
		c.waiting = []*corev1.Pod{}
		for _, pod := range c.Pods {
			switch {
			case Waits(pod):
				c.wait(pod, leaving)
			case leaving[pod.Spec.NodeName] && c.Moves(pod):
				c.waiting = append(c.waiting, pod)
			}
		}
	}
	return c.waiting
}

// wait adds a pod that waits to those for which a further node helps, or to those for which it does not.
func (c *Cluster) wait(pod *corev1.Pod, leaving map[string]bool) {
	if c.preempts(pod, leaving) {
		c.preempting = true
		return
	}
	if tied, is := c.tied(pod); is {
		c.tiedPods = append(c.tiedPods, tied)
		return
	}
	if why := c.volumes().obstacle(pod); why != "" {
		c.stuckPods = append(c.stuckPods, packing.Unplaced{Pod: pod, Reason: why, Cause: packing.CauseVolume})
		return
	}
	c.waiting = append(c.waiting, pod)
}

// Preempting reports whether a pod waits for a Node on which the scheduler is preempting others for
// it.
func (c *Cluster) Preempting() bool {
	c.Waiting()
	return c.preempting
}

// preempts reports whether the scheduler preempts others for a pod on a Node that takes pods. A
// nomination may outlive its Node, and Slipway's own nominations preempt no pod.
func (c *Cluster) preempts(pod *corev1.Pod, leaving map[string]bool) bool {
	name := pod.Status.NominatedNodeName
	if name == "" || leaving[name] || Nominated(pod) {
		return false
	}
	if c.hosts == nil {
		c.hosts = map[string]bool{}
		for i := range c.Nodes {
			node := &c.Nodes[i]
			c.hosts[node.Name] = Ready(node) && !node.Spec.Unschedulable && node.DeletionTimestamp == nil
		}
	}
	return c.hosts[name]
}

// Waits reports whether the scheduler found no node for a pod. It may be preempting others for the
// pod on a Node: see Cluster.Waiting.
func Waits(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodPending || ofDaemonSet(pod) {
		return false
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable
	})
}

func ofDaemonSet(pod *corev1.Pod) bool {
	controller := metav1.GetControllerOf(pod)
	return controller != nil && controller.Kind == "DaemonSet"
}

// done reports whether a pod has finished, and uses nothing.
func done(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Problem returns the input of package packing. Pods that have a promised node are on it; the other
// waiting pods must be packed. The caller adds the launch templates.
func (c *Cluster) Problem(provisioners []constraints.Provisioner, types []packing.InstanceType) *packing.Problem {
	known := map[string]*packing.InstanceType{}
	for i := range types {
		known[types[i].Name] = &types[i]
	}
	daemons, volumes := c.daemons(), c.volumes()
	p := &packing.Problem{Types: types, Nodes: c.nodes(known, daemons), Namespaces: map[string]map[string]string{}}
	for i := range p.Nodes {
		volumes.leave(&p.Nodes[i], known[p.Nodes[i].Labels[corev1.LabelInstanceTypeStable]])
	}
	for i := range c.Namespaces {
		p.Namespaces[c.Namespaces[i].Name] = c.Namespaces[i].Labels
	}
	for i := range provisioners {
		p.Provisioners = append(p.Provisioners, packing.Provisioner{
			Provisioner: provisioners[i], Limits: c.limits(provisioners[i].Name), Used: c.Used(provisioners[i].Name), Daemons: daemons,
		})
	}
	for _, pod := range c.Waiting() {
		if _, promised := c.Promise(pod.UID); promised {
			continue
		}
		if c.volumes().obstacle(pod) == "" {
			p.Pods = append(p.Pods, packing.Pod{Pod: pod, Zones: volumes.zonesOf(pod), Volumes: volumes.count(pod)})
		}
	}
	return p
}

// daemons returns pods as the DaemonSets create them.
func (c *Cluster) daemons() []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range c.DaemonSets {
		set := &c.DaemonSets[i]
		if set.DeletionTimestamp != nil {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
		pod.Namespace, pod.Name = set.Namespace, set.Name
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name, UID: set.UID, Controller: ptr.To(true)}}
		// The DaemonSet controller adds these to every pod (Kubernetes: daemon/util,
		// AddOrUpdateDaemonPodTolerations).
		for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure,
			corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable} {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists})
		}
		pods = append(pods, pod)
	}
	return pods
}

func (c *Cluster) limits(provisioner string) packing.Limits {
	for i := range c.Provisioners {
		if c.Provisioners[i].Name == provisioner {
			return limitsOf(&c.Provisioners[i])
		}
	}
	return packing.Limits{}
}

func limitsOf(provisioner *provisioningv1.Provisioner) packing.Limits {
	limits := provisioner.Spec.Limits
	if limits == nil {
		return packing.Limits{}
	}
	bound := packing.Limits{CPU: limits.CPU, Memory: limits.Memory}
	if limits.Nodes != nil {
		bound.Nodes = ptr.To(int64(*limits.Nodes))
	}
	return bound
}

// BeyondLimits returns the limits of a Provisioner if its nodes have more together, and "" otherwise:
// a limit was lowered since they were chosen.
func BeyondLimits(provisioner *provisioningv1.Provisioner, nodes []provisioningv1.ProvisionedNode) string {
	limits := limitsOf(provisioner)
	used := (&Cluster{Provisioned: nodes}).Used(provisioner.Name)
	more := func(used, limit *resource.Quantity) bool { return limit != nil && used.Cmp(*limit) > 0 }
	if more(used.CPU, limits.CPU) || more(used.Memory, limits.Memory) || limits.Nodes != nil && *used.Nodes > *limits.Nodes {
		return limits.String()
	}
	return ""
}

// Used returns what all nodes of a provisioner have together, including nodes that are being
// launched or deleted.
func (c *Cluster) Used(provisioner string) packing.Limits {
	var resources provisioningv1.ProvisionedResources
	var nodes int64
	for i := range c.Provisioned {
		node := &c.Provisioned[i]
		if node.Spec.Provisioner != provisioner {
			continue
		}
		nodes++
		has := &node.Spec.Reserved
		if node.Status.Resources != nil {
			has = node.Status.Resources
		}
		resources.CPU.Add(has.CPU)
		resources.Memory.Add(has.Memory)
	}
	return packing.Limits{CPU: &resources.CPU, Memory: &resources.Memory, Nodes: &nodes}
}

// InstanceOf returns the instance in a provider ID such as aws:///us-east-1a/i-0123.
func InstanceOf(providerID string) string {
	rest, aws := strings.CutPrefix(providerID, "aws://")
	if !aws {
		return ""
	}
	return rest[strings.LastIndex(rest, "/")+1:]
}

// sortedByName has the nodes in the order of their names.
func sortedByName(nodes []packing.Node) []packing.Node {
	slices.SortFunc(nodes, func(a, b packing.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}
