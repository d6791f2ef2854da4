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

// placedNode is a node as it would be, and its pods: a plain reading of the scheduler's predicates
// checks it. It shares no code with the packer; nodes are matched and taints tolerated by
// Kubernetes's own functions.
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

// refuses says why a pod cannot be put on a node, which does not have it yet.
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
	for driver, volumes := range p.Volumes {
		if free, bounded := on.free[packing.AttachableVolumes(driver)]; bounded && free.Value() < volumes {
			return fmt.Sprintf("%d volumes beyond %s", volumes, free.String())
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
				if sameDomain(term.TopologyKey, near, on) && selected(&term, pod, other) {
					return "keeps apart from " + other.Name
				}
			}
			for _, term := range antiAffinity(other) {
				if sameDomain(term.TopologyKey, near, on) && selected(&term, other, pod) {
					return other.Name + " keeps apart from it"
				}
			}
		}
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAffinity == nil {
		return ""
	}
	return w.lonely(pod, pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, on)
}

// lonely says that no pod is there that all terms select, and why that matters: there are such pods
// elsewhere, or the pod is not one itself.
func (w *world) lonely(pod *corev1.Pod, terms []corev1.PodAffinityTerm, on *placedNode) string {
	all := func(other *corev1.Pod) bool {
		return !slices.ContainsFunc(terms, func(term corev1.PodAffinityTerm) bool { return !selected(&term, pod, other) })
	}
	anywhere, here := false, map[string]bool{}
	for _, near := range w.nodes {
		if !slices.ContainsFunc(near.pods, all) {
			continue
		}
		for _, term := range terms {
			if _, has := near.node.Labels[term.TopologyKey]; has {
				anywhere = true
				here[term.TopologyKey] = here[term.TopologyKey] || sameDomain(term.TopologyKey, near, on)
			}
		}
	}
	for _, term := range terms {
		if _, has := on.node.Labels[term.TopologyKey]; !has || !here[term.TopologyKey] && (anywhere || !all(pod)) {
			return "no pod of its affinity is there"
		}
	}
	return ""
}

func (w *world) skewed(pod *corev1.Pod, c *corev1.TopologySpreadConstraint, on *placedNode) string {
	if c.WhenUnsatisfiable != corev1.DoNotSchedule {
		return ""
	}
	if !inAllDomains(pod, on.node) {
		return "no " + c.TopologyKey
	}
	counts := map[string]int32{}
	if c.TopologyKey == corev1.LabelHostname {
		counts["a new node"] = 0
	}
	term := corev1.PodAffinityTerm{LabelSelector: c.LabelSelector, MatchLabelKeys: c.MatchLabelKeys}
	for _, near := range w.nodes {
		if !inAllDomains(pod, near.node) || !spreadOver(pod, c, near.node) {
			continue
		}
		domain := near.node.Labels[c.TopologyKey]
		counts[domain] += 0
		for _, other := range near.pods {
			if selected(&term, pod, other) {
				counts[domain]++
			}
		}
	}
	fewest := int32(0)
	if c.MinDomains == nil || len(counts) >= int(*c.MinDomains) {
		fewest = slices.Min(slices.Collect(maps.Values(counts)))
	}
	own := int32(0)
	if selected(&term, pod, pod) {
		own = 1
	}
	if skew := counts[on.node.Labels[c.TopologyKey]] + own - fewest; skew > c.MaxSkew {
		return fmt.Sprintf("skew of %d over %s", skew, c.TopologyKey)
	}
	return ""
}

// inAllDomains is true for a node that has all labels that the pod has to be spread over.
func inAllDomains(pod *corev1.Pod, node *corev1.Node) bool {
	return !slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		_, has := node.Labels[c.TopologyKey]
		return c.WhenUnsatisfiable == corev1.DoNotSchedule && !has
	})
}

// spreadOver is true for a node that a spread is over by its policies.
func spreadOver(pod *corev1.Pod, c *corev1.TopologySpreadConstraint, node *corev1.Node) bool {
	if (c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor) && !packtest.Matches(pod, node) {
		return false
	}
	return c.NodeTaintsPolicy == nil || *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyIgnore || packtest.Tolerates(pod, node)
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

// selected is true for a pod that a term of another selects.
func selected(by *corev1.PodAffinityTerm, from, to *corev1.Pod) bool {
	with := by.LabelSelector.DeepCopy()
	for _, key := range by.MatchLabelKeys {
		with.MatchLabels[key] = from.Labels[key]
	}
	selector, err := metav1.LabelSelectorAsSelector(with)
	return err == nil && selector.Matches(labels.Set(to.Labels)) && inNamespaces(by, from, to)
}

func inNamespaces(by *corev1.PodAffinityTerm, from, to *corev1.Pod) bool {
	if by.NamespaceSelector == nil && len(by.Namespaces) == 0 {
		return from.Namespace == to.Namespace
	}
	selector, err := metav1.LabelSelectorAsSelector(by.NamespaceSelector)
	return slices.Contains(by.Namespaces, to.Namespace) || err == nil && selector.Matches(labels.Set(packtest.Namespaces[to.Namespace]))
}

// settle puts pods on the node one by one, in whichever order of all nodes' pods the scheduler
// takes them, and says what is left that it never takes.
func (w *world) settle(waiting map[*placedNode][]packing.Pod) string {
	for {
		progress, left := false, ""
		for _, on := range w.nodes {
			var refused []packing.Pod
			for _, p := range waiting[on] {
				if reason := w.refuses(p, on); reason != "" {
					refused = append(refused, p)
					left = fmt.Sprintf("pod %s cannot be on node %s %v: %s", p.Name, on.node.Name, on.node.Labels, reason)
					continue
				}
				subtract(on.free, requests(p.Pod))
				attach(on.free, p.Volumes)
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

// attach takes volumes from what a node can attach, where that is bounded.
func attach(free corev1.ResourceList, volumes map[string]int64) {
	for driver, count := range volumes {
		if _, bounded := free[packing.AttachableVolumes(driver)]; bounded {
			subtract(free, corev1.ResourceList{packing.AttachableVolumes(driver): *packtest.Quantity(count)})
		}
	}
}
