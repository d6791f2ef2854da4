package packing_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// TestNothingPlaceableIsLeft holds that no pod is left that would fit on some node as it was decided, on such a node with another type, or on a node more.
func TestNothingPlaceableIsLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		problem := packtest.Problems(rt)
		result := packing.Pack(problem)
		w, refused := settled(problem, result, func(int) int { return 0 })
		if refused != "" {
			rt.Fatal(refused)
		}
		byPod := map[*corev1.Pod]packing.Pod{}
		for _, p := range problem.Pods {
			byPod[p.Pod] = p
		}
		tried := map[string]bool{}
		for _, u := range result.Unplaced {
			deployment := u.Pod.Labels["app"]
			if tried[deployment] {
				continue // its pods are equal
			}
			tried[deployment] = true
			if where := w.roomFor(problem, result, byPod[u.Pod]); where != "" {
				rt.Fatalf("pod %s (%s) fits %s", u.Pod.Name, u.Reason, where)
			}
		}
	})
}

// roomFor is where a pod that was left would fit.
func (w *world) roomFor(problem *packing.Problem, result *packing.Result, p packing.Pod) string {
	if len(p.Spec.TopologySpreadConstraints) > 0 {
		return "" // a spread minds zones that nodes are yet to come to, which the scheduler does not see
	}
	for i, on := range w.nodes {
		if on.result == nil {
			if on.node.Labels[templateName] == templateOf(problem, p.Pod) && w.refuses(p, on) == "" {
				return "on node " + on.node.Name
			}
			continue
		}
		others := &world{nodes: append(append([]*placedNode{}, w.nodes[:i]...), w.nodes[i+1:]...)}
		for _, option := range everyOption(problem) {
			if option.Zone != on.node.Labels[corev1.LabelTopologyZone] || !withinLimits(problem, result, on.result, option) {
				continue
			}
			again := asLaunched(problem, on.result, on.node.Name, option)
			others.nodes = append(others.nodes[:len(w.nodes)-1], again)
			if others.holdsAll(problem, again, on.result.Pods) && allowed(problem, on.result, option, append([]*corev1.Pod{p.Pod}, on.result.Pods...)...) && others.refuses(p, again) == "" {
				return fmt.Sprintf("on node %s as %v", on.node.Name, option)
			}
		}
	}
	return w.roomOnNew(problem, result, p)
}

const templateName = "node.k8s.aws/launch-template-name"

// templateOf is the launch template that the first provisioner has for a pod: the pod's own, or the provisioner's if its image suits.
func templateOf(problem *packing.Problem, p *corev1.Pod) string {
	if name := p.Spec.NodeSelector[templateName]; name != "" || p.Spec.NodeSelector[corev1.LabelArchStable] == "arm64" {
		return name
	}
	return problem.Provisioners[0].Template.Name
}

// holdsAll puts pods back on a node of another type.
func (w *world) holdsAll(problem *packing.Problem, on *placedNode, pods []*corev1.Pod) bool {
	waiting := map[*placedNode][]packing.Pod{}
	for _, pod := range pods {
		for _, p := range problem.Pods {
			if p.Pod == pod {
				waiting[on] = append(waiting[on], p)
			}
		}
	}
	return w.settle(waiting) == ""
}

// roomOnNew is a new node, of a provisioner's like those that were launched, that a pod would fit on. The nodes of other launch groups are found by the nodes that were
// launched, so that the layers are not decided a second time here.
func (w *world) roomOnNew(problem *packing.Problem, result *packing.Result, p packing.Pod) string {
	for i := range result.New {
		like := &result.New[i]
		for _, option := range everyOption(problem) {
			if !allowed(problem, like, option, p.Pod) || !withinLimits(problem, result, nil, option) && like.Ask.Provisioner == "default" {
				continue
			}
			fresh := asLaunched(problem, like, "one-more", option)
			with := &world{nodes: append(append([]*placedNode{}, w.nodes...), fresh)}
			if with.refuses(p, fresh) == "" {
				return fmt.Sprintf("on a new node like %d as %v", i, option)
			}
		}
	}
	return ""
}

// allowed is true for an offering that the layers below the pods let them have: those of the node's provisioner, which is one of the two of these problems.
func allowed(problem *packing.Problem, n *packing.NewNode, option packing.Option, pods ...*corev1.Pod) bool {
	capacityType, in := "on-demand", packtest.Zones
	if n.Ask.Provisioner == "tainted" {
		capacityType, in = "spot", packtest.Zones[:2]
	}
	for _, p := range pods {
		selector, template := p.Spec.NodeSelector, templateOf(problem, p)
		if n.Ask.Provisioner == "tainted" {
			template = selector[templateName]
		}
		if n.Ask.Template.Name != template {
			return false // pods that name a launch template and pods that name none never share a new node
		}
		architecture := selector[corev1.LabelArchStable]
		if architecture == "" {
			architecture = "amd64"
			if n.Ask.Template.Name == "arm" {
				architecture = "arm64"
			}
		}
		if packtest.TypeNamed(problem, option.Type).Architecture != architecture ||
			selector["node.k8s.aws/capacity-type"] == "" && p.Spec.Affinity.NodeAffinity == nil && option.CapacityType != capacityType ||
			selector[corev1.LabelTopologyZone] == "" && !slices.Contains(in, option.Zone) {
			return false
		}
	}
	return true
}

func everyOption(problem *packing.Problem) []packing.Option {
	var all []packing.Option
	for _, kind := range problem.Types {
		for _, offering := range kind.Offerings {
			if !offering.Unavailable {
				all = append(all, packing.Option{Type: kind.Name, Zone: offering.Zone, CapacityType: offering.CapacityType, Price: offering.Price})
			}
		}
	}
	return all
}

// withinLimits is true if the option can be launched as well, or in place of a node that was decided.
func withinLimits(problem *packing.Problem, result *packing.Result, inPlaceOf *packing.NewNode, option packing.Option) bool {
	limits := problem.Provisioners[0].Limits
	if limits.CPU == nil {
		return true
	}
	cpus, nodes := packtest.TypeNamed(problem, option.Type).Capacity.Cpu().Value(), int64(1)
	for i := range result.New {
		if n := &result.New[i]; n != inPlaceOf && n.Ask.Provisioner == "default" {
			cpus += packtest.TypeNamed(problem, n.Options[0].Type).Capacity.Cpu().Value()
			nodes++
		}
	}
	return cpus <= limits.CPU.Value() && nodes <= *limits.Nodes
}
