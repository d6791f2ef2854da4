package packing_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// settled is the world after the result, with any of its options for every new node.
func settled(problem *packing.Problem, result *packing.Result, choose func(options int) int) (*world, string) {
	w := &world{}
	byPod := map[*corev1.Pod]packing.Pod{}
	for _, p := range problem.Pods {
		byPod[p.Pod] = p
	}
	waiting := map[*placedNode][]packing.Pod{}
	add := func(on *placedNode, pods []*corev1.Pod) {
		w.nodes = append(w.nodes, on)
		for _, pod := range pods {
			waiting[on] = append(waiting[on], byPod[pod])
		}
	}
	for i := range problem.Nodes {
		add(asExisting(&problem.Nodes[i]), result.Existing[problem.Nodes[i].Name])
	}
	for i := range result.New {
		n := &result.New[i]
		add(asLaunched(problem, n, fmt.Sprintf("new-%d", i), n.Options[choose(len(n.Options))]), n.Pods)
	}
	return w, w.settle(waiting)
}

// TestPlacedPodsFit holds that the scheduler can bind every pod where it was put, whichever of a
// node's options AWS has, that limits are kept, and that every pod is accounted for once.
func TestPlacedPodsFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		problem := packtest.Problems(rt)
		result := packing.Pack(problem)
		if _, refused := settled(problem, result, func(options int) int { return rapid.IntRange(0, options-1).Draw(rt, "option") }); refused != "" {
			rt.Fatal(refused)
		}
		accounted := map[string]int{}
		var cpus, nodes int64
		for _, n := range result.New {
			for _, p := range n.Pods {
				accounted[p.Name]++
			}
			if n.Ask.Provisioner == "default" {
				nodes++
				largest := int64(0)
				for _, option := range n.Options {
					largest = max(largest, packtest.TypeNamed(problem, option.Type).Capacity.Cpu().Value())
				}
				cpus += largest
			}
		}
		if limits := problem.Provisioners[0].Limits; limits.CPU != nil && (cpus > limits.CPU.Value() || nodes > *limits.Nodes) {
			rt.Fatalf("%d CPUs on %d nodes are beyond the limits of %s and %d", cpus, nodes, limits.CPU, *limits.Nodes)
		}
		for _, placed := range result.Existing {
			for _, p := range placed {
				accounted[p.Name]++
			}
		}
		for _, u := range result.Unplaced {
			accounted[u.Pod.Name]++
			if u.Reason == "" {
				rt.Fatalf("pod %s has no reason", u.Pod.Name)
			}
		}
		for _, p := range problem.Pods {
			if accounted[p.Name] != 1 {
				rt.Fatalf("pod %s is accounted for %d times", p.Name, accounted[p.Name])
			}
		}
	})
}

// TestOrderDoesNotMatter holds that the outcome is the same for every order of the input.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		problem := packtest.Problems(rt)
		problem.MaxPods = rapid.SampledFrom([]int{0, 10}).Draw(rt, "bound")
		first := packtest.Outcome(packing.Pack(problem))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 0))
		shuffle(r, problem.Pods)
		shuffle(r, problem.Types)
		shuffle(r, problem.Nodes)
		shuffle(r, problem.Provisioners)
		for i := range problem.Types {
			shuffle(r, problem.Types[i].Offerings)
		}
		if diff := cmp.Diff(first, packtest.Outcome(packing.Pack(problem))); diff != "" {
			rt.Fatalf("in another order:\n%s", diff)
		}
	})
}

func shuffle[T any](r *rand.Rand, of []T) {
	r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
}
