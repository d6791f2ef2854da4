package packing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kuberesource "k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

func quantity(amount int64) *kuberesource.Quantity {
	return kuberesource.NewQuantity(amount, kuberesource.DecimalSI)
}

// problems are small, and full of what predicates are about.
func problems(t *rapid.T) *packing.Problem {
	problem := &packing.Problem{
		Types: familyTypes(),
		Templates: constraints.Templates{
			{Name: "web", Version: "latest"}: {Name: "web", Version: 3, Architecture: "amd64", EphemeralStorage: 100 << 30},
			{Name: "arm", Version: "latest"}: {Name: "arm", Version: 1, Architecture: "arm64"},
		},
	}
	for i := range problem.Types {
		for j := range problem.Types[i].Offerings {
			problem.Types[i].Offerings[j].Unavailable = rapid.IntRange(0, 5).Draw(t, "available") == 0
		}
	}
	problem.Provisioners = []packing.Provisioner{provisioner(func(p *packing.Provisioner) {
		p.Daemons = []*corev1.Pod{
			pod("agent", asks("cpu", "100m", "memory", "100Mi"), func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }).Pod,
			pod("arm-agent", asks("cpu", "200m"), selects(corev1.LabelArchStable, "arm64")).Pod,
		}
		if rapid.Bool().Draw(t, "named") {
			p.Template = constraints.Reference{Name: "web", Version: "latest"}
		}
		if rapid.Bool().Draw(t, "limited") {
			p.Limits.CPU = quantity(rapid.Int64Range(0, 40).Draw(t, "cpu limit"))
			nodes := rapid.Int64Range(0, 8).Draw(t, "node limit")
			p.Limits.Nodes = &nodes
		}
	}), provisioner(func(p *packing.Provisioner) {
		p.Name = "tainted"
		p.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
		p.Zones = zones[:2]
		p.CapacityType = "spot"
	})}
	for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
		problem.Nodes = append(problem.Nodes, existing(t, i))
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "deployments") {
		problem.Pods = append(problem.Pods, deployment(t, fmt.Sprintf("d%d", i))...)
	}
	return problem
}

func existing(t *rapid.T, i int) packing.Node {
	n := packing.Node{
		Name: fmt.Sprintf("node-%d", i), Allocatable: amounts("cpu", "4", "memory", "8Gi", "pods", "10"), Closed: rapid.IntRange(0, 3).Draw(t, "closed") == 0,
		Labels: map[string]string{
			corev1.LabelHostname: fmt.Sprintf("node-%d", i), corev1.LabelTopologyZone: rapid.SampledFrom(zones).Draw(t, "zone"),
			corev1.LabelArchStable: "amd64", provisioningv1.LabelProvisionerName: "default", provisioningv1.LabelCapacityType: "on-demand",
		},
	}
	if rapid.Bool().Draw(t, "from template") {
		n.Labels[provisioningv1.LabelLaunchTemplateName] = "web"
	}
	for j := range rapid.IntRange(0, 3).Draw(t, "running") {
		edits := []func(*corev1.Pod){labeled("app", fmt.Sprintf("d%d", rapid.IntRange(0, 5).Draw(t, "app")))}
		if rapid.IntRange(0, 4).Draw(t, "keeps apart") == 0 {
			edits = append(edits, apart(corev1.LabelTopologyZone, selector("app", "d1")))
		}
		n.Pods = append(n.Pods, pod(fmt.Sprintf("running-%d-%d", i, j), edits...).Pod)
	}
	return n
}

// deployment is pods that wish for the same. Spreads are over the deployment's own pods.
func deployment(t *rapid.T, name string) []packing.Pod {
	edits := []func(*corev1.Pod){
		labeled("app", name), func(p *corev1.Pod) { affinityOf(p) },
		asks("cpu", rapid.SampledFrom([]string{"100m", "500m", "1900m", "3", "20", "70"}).Draw(t, "cpu"), "memory", rapid.SampledFrom([]string{"0", "100Mi", "1Gi", "9Gi", "60Gi"}).Draw(t, "memory")),
	}
	topology := rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname})
	other := func() string { return fmt.Sprintf("d%d", rapid.IntRange(0, 5).Draw(t, "other")) }
	for range rapid.IntRange(0, 2).Draw(t, "wishes") {
		switch rapid.IntRange(0, 13).Draw(t, "wish") {
		case 0, 1:
			edits = append(edits, spread(topology.Draw(t, "over"), rapid.Int32Range(1, 2).Draw(t, "skew"), corev1.DoNotSchedule, selector("app", name)))
		case 2, 3:
			edits = append(edits, together(topology.Draw(t, "over"), selector("app", rapid.SampledFrom([]string{name, other()}).Draw(t, "with"))))
		case 4, 5:
			edits = append(edits, apart(topology.Draw(t, "over"), selector("app", rapid.SampledFrom([]string{name, other()}).Draw(t, "from"))))
		case 6:
			edits = append(edits, onPort(80))
		case 7:
			edits = append(edits, selects(corev1.LabelTopologyZone, rapid.SampledFrom(zones).Draw(t, "zone")))
		case 8:
			edits = append(edits, selects(corev1.LabelArchStable, "arm64"))
		case 9:
			edits = append(edits, selects(provisioningv1.LabelLaunchTemplateName, rapid.SampledFrom([]string{"web", "arm"}).Draw(t, "template")))
		case 10:
			edits = append(edits, selects(provisioningv1.LabelProvisionerName, "tainted"), func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
			})
		case 12:
			edits = append(edits, func(p *corev1.Pod) {
				affinityOf(p).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: provisioningv1.LabelCapacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{"spot", "on-demand"}}},
				}}}}
			})
		case 11:
			edits = append(edits, selects("example.com/cpus", rapid.SampledFrom([]string{"4", "8", "5"}).Draw(t, "cpus")))
		default:
			edits = append(edits, selects(provisioningv1.LabelCapacityType, "spot"))
		}
	}
	var volumes []string
	if rapid.IntRange(0, 6).Draw(t, "volumes") == 0 {
		volumes = []string{rapid.SampledFrom(zones).Draw(t, "volume zone")}
	}
	var all []packing.Pod
	for i := range rapid.IntRange(1, 12).Draw(t, "replicas") {
		p := pod(fmt.Sprintf("%s-%d", name, i), edits...)
		p.Zones = volumes
		all = append(all, p)
	}
	return all
}

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

// TestPlacedPodsFit holds that the scheduler can bind every pod where it was put, whichever of a node's options AWS has, that limits are kept, and that every pod is
// accounted for once.
func TestPlacedPodsFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		problem := problems(rt)
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
					largest = max(largest, typeNamed(problem, option.Type).Capacity.Cpu().Value())
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
		problem := problems(rt)
		problem.MaxPods = rapid.SampledFrom([]int{0, 10}).Draw(rt, "bound")
		first := outcome(packing.Pack(problem))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 0))
		shuffle(r, problem.Pods)
		shuffle(r, problem.Types)
		shuffle(r, problem.Nodes)
		shuffle(r, problem.Provisioners)
		for i := range problem.Types {
			shuffle(r, problem.Types[i].Offerings)
		}
		if diff := cmp.Diff(first, outcome(packing.Pack(problem))); diff != "" {
			rt.Fatalf("in another order:\n%s", diff)
		}
	})
}

func shuffle[T any](r *rand.Rand, of []T) {
	r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
}

// outcome is a result in lines.
func outcome(result *packing.Result) []string {
	var lines []string
	for _, n := range result.New {
		lines = append(lines, fmt.Sprintf("new %s %v: %v", n.Ask.Group(), n.Options, names(n.Pods)))
	}
	for name, placed := range result.Existing {
		lines = append(lines, fmt.Sprintf("existing %s: %v", name, names(placed)))
	}
	for _, u := range result.Unplaced {
		lines = append(lines, fmt.Sprintf("unplaced %s: %s", u.Pod.Name, u.Reason))
	}
	lines = append(lines, fmt.Sprintf("deferred %v", names(result.Deferred)))
	slices.Sort(lines)
	return lines
}

func names(pods []*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}
