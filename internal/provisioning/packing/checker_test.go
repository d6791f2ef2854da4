package packing_test

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/resource"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// placedNode is a node as it would be, and its pods: a plain reading of the scheduler's predicates checks it. It shares no code with the packer; nodes are matched
// and taints tolerated by Kubernetes's own functions.
type placedNode struct {
	node   *corev1.Node
	free   corev1.ResourceList
	pods   []*corev1.Pod
	result *packing.NewNode
}

// asLaunched is a new node as one of its options has it.
func asLaunched(problem *packing.Problem, n *packing.NewNode, name string, option packing.Option) *placedNode {
	node, daemons := packtest.Launched(problem, n, name, option)
	return placedOn(node, daemons, n)
}

func asExisting(n *packing.Node) *placedNode { return placedOn(packtest.Existing(n), n.Pods, nil) }

func placedOn(node *corev1.Node, pods []*corev1.Pod, result *packing.NewNode) *placedNode {
	placed := &placedNode{node: node, free: node.Status.Allocatable.DeepCopy(), pods: slices.Clone(pods), result: result}
	for _, pod := range pods {
		subtract(placed.free, requests(pod))
	}
	return placed
}

func requests(pod *corev1.Pod) corev1.ResourceList {
	list := resource.PodRequests(pod, resource.PodResourcesOptions{})
	list[corev1.ResourcePods] = *packtest.Quantity(1)
	return list
}

func subtract(from, what corev1.ResourceList) {
	for name, amount := range what {
		left := from[name]
		left.Sub(amount)
		from[name] = left
	}
}

// world is all nodes.
type world struct{ nodes []*placedNode }

// refuses says why a pod can not be put on a node, which does not have it yet.
func (w *world) refuses(p packing.Pod, on *placedNode) string {
	switch {
	case on.node.Spec.Unschedulable:
		return "the node is closed"
	case !packtest.Matches(p.Pod, on.node):
		return "the node's labels do not match"
	case !packtest.Tolerates(p.Pod, on.node):
		return "a taint"
	case p.Zones != nil && !slices.Contains(p.Zones, on.node.Labels[corev1.LabelTopologyZone]):
		return "the zone of its volumes"
	}
	for name, amount := range requests(p.Pod) {
		if free := on.free[name]; !amount.IsZero() && free.Cmp(amount) < 0 {
			return fmt.Sprintf("%s: %s of %s", name, amount.String(), free.String())
		}
	}
	for _, other := range on.pods {
		for _, port := range p.Spec.Containers[0].Ports {
			if slices.ContainsFunc(other.Spec.Containers[0].Ports, func(taken corev1.ContainerPort) bool { return port.HostPort > 0 && taken.HostPort == port.HostPort }) {
				return "a port"
			}
		}
	}
	return w.neighbors(p.Pod, on)
}

// neighbors says which relation to other pods is in the way.
func (w *world) neighbors(pod *corev1.Pod, on *placedNode) string {
	for i := range pod.Spec.TopologySpreadConstraints {
		if reason := w.skewed(pod, &pod.Spec.TopologySpreadConstraints[i], on); reason != "" {
			return reason
		}
	}
	for _, near := range w.nodes {
		for _, other := range near.pods {
			for _, term := range antiAffinity(pod) {
				if sameDomain(term.TopologyKey, near, on) && selected(term.LabelSelector, pod, other) {
					return "keeps apart from " + other.Name
				}
			}
			for _, term := range antiAffinity(other) {
				if sameDomain(term.TopologyKey, near, on) && selected(term.LabelSelector, other, pod) {
					return other.Name + " keeps apart from it"
				}
			}
		}
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAffinity == nil {
		return ""
	}
	for _, term := range pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		anywhere, here := false, false
		for _, near := range w.nodes {
			for _, other := range near.pods {
				if selected(term.LabelSelector, pod, other) {
					anywhere = true
					here = here || sameDomain(term.TopologyKey, near, on)
				}
			}
		}
		if !here && (anywhere || !selected(term.LabelSelector, pod, pod)) {
			return "no pod of its affinity is there"
		}
	}
	return ""
}

func (w *world) skewed(pod *corev1.Pod, c *corev1.TopologySpreadConstraint, on *placedNode) string {
	if c.WhenUnsatisfiable != corev1.DoNotSchedule {
		return ""
	}
	counts := map[string]int32{}
	if c.TopologyKey == corev1.LabelTopologyZone {
		for _, near := range w.nodes {
			if packtest.Matches(pod, near.node) {
				counts[near.node.Labels[c.TopologyKey]] = 0
			}
		}
	} else {
		counts["a new node"] = 0
	}
	for _, near := range w.nodes {
		if !packtest.Matches(pod, near.node) && c.TopologyKey == corev1.LabelTopologyZone {
			continue
		}
		for _, other := range near.pods {
			if selected(c.LabelSelector, pod, other) {
				counts[near.node.Labels[c.TopologyKey]]++
			}
		}
	}
	fewest := slices.Min(slices.Collect(maps.Values(counts)))
	if skew := counts[on.node.Labels[c.TopologyKey]] + 1 - fewest; skew > c.MaxSkew {
		return fmt.Sprintf("skew of %d over %s", skew, c.TopologyKey)
	}
	return ""
}

func antiAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func sameDomain(key string, a, b *placedNode) bool {
	value, has := a.node.Labels[key]
	return has && value == b.node.Labels[key]
}

func selected(by *metav1.LabelSelector, from, to *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(by)
	return err == nil && from.Namespace == to.Namespace && selector.Matches(labels.Set(to.Labels))
}

// settle puts pods on the node one by one, in whichever order of all nodes' pods the scheduler takes them, and says what is left that it never takes.
func (w *world) settle(waiting map[*placedNode][]packing.Pod) string {
	for {
		progress, left := false, ""
		for _, on := range w.nodes {
			var refused []packing.Pod
			for _, p := range waiting[on] {
				if reason := w.refuses(p, on); reason != "" {
					refused = append(refused, p)
					left = fmt.Sprintf("pod %s can not be on node %s %v: %s", p.Name, on.node.Name, on.node.Labels, reason)
					continue
				}
				subtract(on.free, requests(p.Pod))
				on.pods = append(on.pods, p.Pod)
				progress = true
			}
			waiting[on] = refused
		}
		if left == "" || !progress {
			return left
		}
	}
}
