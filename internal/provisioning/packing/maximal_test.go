package packing_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// TestNothingPlaceableIsLeft holds that no pod is left that would fit on some node as it was
// decided, on such a node with another type, or on a node more.
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

// roomFor returns where a pod that was left would fit, or nothing.
func (w *world) roomFor(problem *packing.Problem, result *packing.Result, p packing.Pod) string {
	if slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule && c.TopologyKey != corev1.LabelHostname
	}) {
		return "" // a spread minds domains that nodes are yet to come to, which the scheduler does not see
	}
	for i, on := range w.nodes {
		if on.result == nil {
			if suitsExisting(problem, p.Pod, on.node) && w.refuses(p, on) == "" {
				return "on node " + on.node.Name
			}
			continue
		}
		others := &world{nodes: append(append([]*placedNode{}, w.nodes[:i]...), w.nodes[i+1:]...)}
		for _, option := range everyOption(problem) {
			if option.Zone != on.node.Labels[corev1.LabelTopologyZone] || !offered(on.result, option.CapacityType) || !withinLimits(problem, result, on.result, option) {
				continue
			}
			again := asLaunched(problem, on.result, on.node.Name, option)
			if !sameMindedDaemons(problem, on, again) {
				continue
			}
			others.nodes = append(others.nodes[:len(w.nodes)-1], again)
			if others.holdsAll(problem, again, on.result.Pods) && allowed(problem, on.result, option, append([]*corev1.Pod{p.Pod}, on.result.Pods...)...) && others.refuses(p, again) == "" &&
				others.daemonsFit(problem, again) {
				return fmt.Sprintf("on node %s as %v", on.node.Name, option)
			}
		}
	}
	return w.roomOnNew(problem, result, p)
}

// offered is true for a capacity type that a node may still have. One is settled as soon as some
// pod counts others by it, as a zone is.
func offered(n *packing.NewNode, capacityType string) bool {
	return slices.ContainsFunc(n.Options, func(option packing.Option) bool { return option.CapacityType == capacityType })
}

// sameMindedDaemons reports whether a node as another type would run the same daemons, considering
// only daemons that some pod minds. The first pod of a node settles which of them run, as it
// settles the zone: other pods have been placed by it since.
func sameMindedDaemons(problem *packing.Problem, a, b *placedNode) bool {
	return !slices.ContainsFunc(problem.Provisioners[0].Daemons, func(daemon *corev1.Pod) bool {
		return slices.Contains(a.pods, daemon) != slices.Contains(b.pods, daemon) && minded(problem, daemon)
	})
}

// minded reports whether some pod is placed by where a daemon runs.
func minded(problem *packing.Problem, daemon *corev1.Pod) bool {
	if len(antiAffinity(daemon)) > 0 {
		return true
	}
	return slices.ContainsFunc(problem.Pods, func(p packing.Pod) bool {
		return slices.ContainsFunc(allTerms(p.Pod), func(term corev1.PodAffinityTerm) bool { return selected(&term, p.Pod, daemon) })
	})
}

// allTerms returns the terms of a pod's affinities and anti-affinities, required or preferred.
func allTerms(pod *corev1.Pod) []corev1.PodAffinityTerm {
	terms := slices.Clone(antiAffinity(pod))
	if pod.Spec.Affinity == nil {
		return terms
	}
	var preferred []corev1.WeightedPodAffinityTerm
	if to := pod.Spec.Affinity.PodAffinity; to != nil {
		terms = append(terms, to.RequiredDuringSchedulingIgnoredDuringExecution...)
		preferred = append(preferred, to.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if from := pod.Spec.Affinity.PodAntiAffinity; from != nil {
		preferred = append(preferred, from.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for i := range preferred {
		terms = append(terms, preferred[i].PodAffinityTerm)
	}
	return terms
}

// suitsExisting is true for a node of another than a provisioner, or from the launch template that
// its provisioner has for the pod.
func suitsExisting(problem *packing.Problem, p *corev1.Pod, node *corev1.Node) bool {
	name := node.Labels[provisioningv1.LabelProvisionerName]
	if name == "" {
		return true
	}
	for _, ask := range asks(problem, name, p) {
		if ask.Labels[provisioningv1.LabelLaunchTemplateName] == node.Labels[provisioningv1.LabelLaunchTemplateName] {
			return true
		}
	}
	return false
}

// asks returns what a pod asks of new nodes of a provisioner, in all of its ways.
func asks(problem *packing.Problem, provisioner string, p *corev1.Pod) []constraints.Ask {
	ways, _ := constraints.PodRequirements(&p.Spec)
	var all []constraints.Ask
	for i := range problem.Provisioners {
		for _, way := range ways {
			if ask, reason := constraints.Resolve(&problem.Provisioners[i].Provisioner, problem.Templates, way); reason == "" && problem.Provisioners[i].Name == provisioner {
				all = append(all, ask)
			}
		}
	}
	return all
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

// daemonsFit is true for a new node that no other pod keeps its daemons from.
func (w *world) daemonsFit(problem *packing.Problem, on *placedNode) bool {
	return !slices.ContainsFunc(on.pods, func(pod *corev1.Pod) bool {
		return slices.Contains(problem.Provisioners[0].Daemons, pod) && w.neighbors(pod, on) != ""
	})
}

// roomOnNew is a new node, of any provisioner, that a pod would fit on.
func (w *world) roomOnNew(problem *packing.Problem, result *packing.Result, p packing.Pod) string {
	for i := range problem.Provisioners {
		for _, ask := range asks(problem, problem.Provisioners[i].Name, p.Pod) {
			like := &packing.NewNode{Ask: ask}
			for _, option := range everyOption(problem) {
				if !allowed(problem, like, option, p.Pod) || !withinLimits(problem, result, nil, option) && ask.Provisioner == "default" {
					continue
				}
				fresh := asLaunched(problem, like, "one-more", option)
				with := &world{nodes: append(append([]*placedNode{}, w.nodes...), fresh)}
				if with.refuses(p, fresh) == "" && with.daemonsFit(problem, fresh) {
					return fmt.Sprintf("on a new node of %s as %v", ask.Group(), option)
				}
			}
		}
	}
	return ""
}

// allowed is true for an offering that suits what all pods ask of nodes that are launched as this one is.
func allowed(problem *packing.Problem, n *packing.NewNode, option packing.Option, pods ...*corev1.Pod) bool {
	node, _ := packtest.Launched(problem, n, "any", option)
	return !slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
		return !slices.ContainsFunc(asks(problem, n.Ask.Provisioner, p), func(ask constraints.Ask) bool {
			return ask.Group() == n.Ask.Group() && ask.Requirements.Admit(node.Labels)
		})
	})
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
