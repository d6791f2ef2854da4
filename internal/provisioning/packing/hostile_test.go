package packing_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// inTerms has a pod require one of some values of a label, in one term each.
func inTerms(key string, values ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		var terms []corev1.NodeSelectorTerm
		for _, value := range values {
			terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}})
		}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
}

// prefers has a pod prefer not to have some values of labels.
func prefers(terms, labels int, of string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		affinity := &corev1.NodeAffinity{}
		for i := range terms {
			one := corev1.PreferredSchedulingTerm{Weight: 1}
			for j := range labels {
				one.Preference.MatchExpressions = append(one.Preference.MatchExpressions, corev1.NodeSelectorRequirement{Key: fmt.Sprintf("%d-%d", i, j), Operator: corev1.NodeSelectorOpNotIn, Values: []string{of}})
			}
			affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution, one)
		}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: affinity}
	}
}

// keepsApart has a pod keep apart from pods that lack a label, in many terms.
func keepsApart(terms int, of string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		anti := &corev1.PodAntiAffinity{}
		for i := range terms {
			anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, corev1.PodAffinityTerm{
				TopologyKey: corev1.LabelHostname, NamespaceSelector: &metav1.LabelSelector{}, LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: fmt.Sprintf("%s-%d", of, i), Operator: metav1.LabelSelectorOpExists},
				}},
			})
		}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: anti}
	}
}

// devices has a pod request one of each of many devices.
func devices(number int, of string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for i := range number {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(fmt.Sprintf("example.com/%s-%04d", of, i))] = resource.MustParse("1")
		}
	}
}

// binds has a pod bind many ports of its node.
func binds(from, number int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for i := range number {
			p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{HostPort: int32(from + i)})
		}
	}
}

// numbered returns values with numbers.
func numbered(prefix string, number int) []string {
	values := make([]string, number)
	for i := range values {
		values[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return values
}

// allocated returns how many megabytes a call of Pack takes together, and its result. Work takes memory,
// and unlike time it does not depend on what else the machine does.
func allocated(problem *packing.Problem) (uint64, *packing.Result) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result := packing.Pack(problem)
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20, result
}

// byLabel returns a problem of ordinary pods, where pods choose the value of a label of their nodes.
func byLabel(ordinary int) packing.Problem {
	return packing.Problem{
		Provisioners: []packing.Provisioner{packtest.Provisioner(func(p *packing.Provisioner) {
			p.Labels, p.Taints = map[string]string{"team": "none"}, []corev1.Taint{{Key: "reserved", Effect: corev1.TaintEffectNoSchedule}}
		})}, Types: packtest.LinearTypes(400), Pods: tolerant(replicas(ordinary, "ordinary")),
	}
}

func tolerant(pods []packing.Pod) []packing.Pod {
	for i := range pods {
		pods[i].Spec.Tolerations = append(pods[i].Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
	}
	return pods
}

// TestHostilePods holds that a pod that asks for absurdly much, of whatever it may have any number of, gets
// a reason at once, and changes nothing for the pods of other tenants. It is not parallel, because it
// measures memory: without bounds the rows took up to 2.4 GB and 23 seconds.
func TestHostilePods(t *testing.T) {
	const absurd = 5000
	limit := "more than the limit of "
	for _, row := range []struct {
		reason string
		pods   []packing.Pod
		says   string
	}{
		{"terms, each of which asks for other nodes", replicas(1, "absurd", inTerms("team", numbered("t", absurd)...)), limit + "64"},
		{"terms of zones that there are not", replicas(1, "absurd", inTerms(corev1.LabelTopologyZone, numbered("z", absurd)...)), limit + "64"},
		{"a node selector", replicas(1, "absurd", func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{}
			for _, key := range numbered("k", absurd) {
				p.Spec.NodeSelector[key] = ""
			}
		}), limit + "256"},
		{"anti-affinities", replicas(1, "absurd", keepsApart(absurd, "a")), limit + "64"},
		{"tolerations", replicas(1, "absurd", func(p *corev1.Pod) { p.Spec.Tolerations = make([]corev1.Toleration, absurd) }), limit + "256"},
		{"host ports", replicas(1, "absurd", binds(1, absurd)), limit + "1000"},
		{"claims of devices", replicas(1, "absurd", func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
		}), "claims devices by dynamic resource allocation"},
		{"devices that nothing has", replicas(1, "absurd", devices(absurd, "a")), "requests 1 example.com/a-0000, which no suitable instance type provides"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			problem := byLabel(20)
			want := packtest.Outcome(packing.Pack(&problem))
			problem.Pods = append(problem.Pods, tolerant(row.pods)...)
			took, result := allocated(&problem)
			if len(result.Unplaced) != len(row.pods) || !strings.HasPrefix(result.Unplaced[0].Pod.Name, "absurd") || !strings.Contains(result.Unplaced[0].Reason, row.says) {
				t.Fatalf("left are %+v", result.Unplaced)
			}
			if took > 30 {
				t.Errorf("packing takes %d MB", took)
			}
			result.Unplaced, result.Rejected = nil, nil
			if diff := cmp.Diff(want, packtest.Outcome(result)); diff != "" {
				t.Errorf("the nodes of the others (-alone +together):\n%s", diff)
			}
		})
	}
}

// TestHostileRunningPods holds that pods on Nodes cost little, whatever their affinities are.
func TestHostileRunningPods(t *testing.T) {
	problem := byLabel(20)
	node := packing.Node{Name: "n", Allocatable: packtest.Amounts("cpu", "1", "pods", "1")}
	for i, edit := range []func(*corev1.Pod){keepsApart(5000, "a"), binds(1, 5000), devices(5000, "a"), inTerms("team", numbered("t", 5000)...)} {
		node.Pods = append(node.Pods, packtest.Pod(fmt.Sprint("running", i), edit).Pod)
	}
	problem.Nodes = append(problem.Nodes, node)
	if took, result := allocated(&problem); took > 30 || len(result.Unplaced) > 0 {
		t.Errorf("packing takes %d MB, and leaves %+v", took, result.Unplaced)
	}
}

// TestManyStrangeDevices holds that names of resources that nothing has take little room, although each
// pod names others, and that each pod has its reason.
func TestManyStrangeDevices(t *testing.T) {
	problem := byLabel(20)
	for i := range 300 {
		problem.Pods = append(problem.Pods, tolerant(replicas(1, fmt.Sprintf("absurd%03d-", i), devices(20, fmt.Sprintf("pod%03d", i))))...)
	}
	took, result := allocated(&problem)
	if took > 60 || len(result.Unplaced) != 300 {
		t.Errorf("packing takes %d MB, and leaves %d pods", took, len(result.Unplaced))
	}
	for _, one := range result.Unplaced {
		device := fmt.Sprintf("example.com/pod%s-0000, which no ", strings.TrimSuffix(strings.TrimPrefix(one.Pod.Name, "absurd"), "-0"))
		if !strings.Contains(one.Reason, device) || one.Cause != packing.CauseTooLarge {
			t.Fatalf("pod %s is left: %s, %s", one.Pod.Name, one.Cause, one.Reason)
		}
	}
}

// TestDevicesOfOthers holds that a pod that requests a device which only an existing Node has, and one
// that nothing has, is left, and that a pod with the first alone goes to that Node.
func TestDevicesOfOthers(t *testing.T) {
	t.Parallel()
	problem := byLabel(0)
	problem.Nodes = []packing.Node{{Name: "n", Allocatable: packtest.Amounts("cpu", "8", "memory", "8Gi", "pods", "9", "example.com/has", "2")}}
	asks := func(name string, pairs ...string) packing.Pod {
		return packtest.Pod(name, packtest.Asks(append(pairs, "cpu", "1")...))
	}
	problem.Pods = tolerant([]packing.Pod{
		asks("one", "example.com/has", "1"), asks("both", "example.com/has", "1", "example.com/lacks", "1"), asks("none", "example.com/has", "1", "example.com/lacks", "0"),
	})
	result := packing.Pack(&problem)
	if got := packtest.Names(result.Existing["n"]); !slices.Equal(got, []string{"none", "one"}) || len(result.New) > 0 || len(result.Unplaced) != 1 {
		t.Errorf("on the Node are %v, and left are %+v", got, result.Unplaced)
	}
}

// TestSharesOfNamespaces holds that pods with many choices in one namespace do not keep pods of another
// from being considered, that all of them are considered in the end, and that pods with few choices have no
// part in it.
func TestSharesOfNamespaces(t *testing.T) {
	problem := byLabel(20)
	in := func(namespace string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Namespace = namespace }
	}
	for i := range 300 {
		edit := []func(*corev1.Pod){inTerms("team", numbered(fmt.Sprint("t", i), 64)...), keepsApart(64, fmt.Sprint("a", i)), prefers(64, 4, fmt.Sprint(i))}[i%3]
		problem.Pods = append(problem.Pods, tolerant(replicas(1, fmt.Sprintf("mallory%03d-", i), edit, in("mallory")))...)
	}
	problem.Pods = append(problem.Pods, tolerant(replicas(50, "alice", inTerms(corev1.LabelTopologyZone, packtest.Zones...), in("alice")))...)
	problem.Pods = append(problem.Pods, tolerant(replicas(50, "zoe", inTerms(corev1.LabelTopologyZone, packtest.Zones[:2]...), in("zoe")))...)
	considered := map[string]bool{}
	for pass := 1; len(considered) < 420; pass++ {
		took, result := allocated(&problem)
		if pass == 20 || took > 200 {
			t.Fatalf("after %d passes %d pods were considered, and the last took %d MB", pass, len(considered), took)
		}
		deferred := map[*corev1.Pod]bool{}
		for _, pod := range result.Deferred {
			deferred[pod] = true
			if pod.Namespace != "mallory" {
				t.Fatalf("pod %s of %s is deferred", pod.Name, pod.Namespace)
			}
		}
		for i := range problem.Pods {
			if one := &problem.Pods[i]; !deferred[one.Pod] {
				one.Tried = true
				considered[one.Name] = true
			}
		}
	}
}

// TestReplicasShareChoices holds that pods of one kind count once, so that no large workload is deferred.
func TestReplicasShareChoices(t *testing.T) {
	t.Parallel()
	problem := byLabel(0)
	problem.Pods = tolerant(replicas(2000, "a", prefers(64, 1, "a"), packtest.Asks("cpu", "100m")))
	if result := packing.Pack(&problem); len(result.Deferred) > 0 || len(result.Unplaced) > 0 {
		t.Errorf("%d pods are deferred, and %d are left", len(result.Deferred), len(result.Unplaced))
	}
}

// TestPortsOfMany holds that host ports conflict by protocol, number and address, however many there are.
func TestPortsOfMany(t *testing.T) {
	t.Parallel()
	problem := byLabel(0)
	problem.Pods = tolerant(slices.Concat(
		replicas(2, "same", binds(1, 1000), packtest.Asks("cpu", "100m")), replicas(1, "overlapping", binds(1000, 1000), packtest.Asks("cpu", "100m")),
		replicas(1, "apart", binds(5000, 1000), packtest.Asks("cpu", "100m"))))
	result := packing.Pack(&problem)
	for i := range result.New {
		taken := map[int32]bool{}
		for _, pod := range result.New[i].Pods {
			for _, port := range pod.Spec.Containers[0].Ports {
				if taken[port.HostPort] {
					t.Fatalf("port %d is bound twice on node %d: %v", port.HostPort, i, packtest.Names(result.New[i].Pods))
				}
				taken[port.HostPort] = true
			}
		}
	}
	if len(result.Unplaced) > 0 || len(result.New) != 3 {
		t.Errorf("%d nodes, and left are %+v", len(result.New), result.Unplaced)
	}
}

// BenchmarkHostile measures what pods at the limits of a pod cost.
func BenchmarkHostile(b *testing.B) {
	for _, row := range []struct {
		name string
		edit func(i int) func(*corev1.Pod)
	}{
		{"64 terms", func(i int) func(*corev1.Pod) {
			return inTerms("team", numbered(fmt.Sprint("t", i), constraints.MaxTerms)...)
		}},
		{"64 preferences", func(i int) func(*corev1.Pod) { return prefers(64, 4, fmt.Sprint(i)) }},
		{"64 anti-affinities", func(i int) func(*corev1.Pod) { return keepsApart(constraints.MaxTerms, fmt.Sprint(i)) }},
		{"own labels", func(i int) func(*corev1.Pod) { return packtest.Selects("team", fmt.Sprint(i)) }},
	} {
		b.Run(row.name, func(b *testing.B) {
			problem := byLabel(20)
			for i := range 1000 {
				problem.Pods = append(problem.Pods, tolerant(replicas(1, fmt.Sprint("absurd", i), row.edit(i)))...)
			}
			b.ReportAllocs()
			for b.Loop() {
				packing.Pack(&problem)
			}
		})
	}
}

// TestReasonsAreShort holds that the reason of a pod is short, however much it asks for: it is kept for as
// long as the pod waits.
func TestReasonsAreShort(t *testing.T) {
	t.Parallel()
	long := numbered(strings.Repeat("v", 50), 2000)
	requires := func(operator corev1.NodeSelectorOperator, keys []string, values ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			var term corev1.NodeSelectorTerm
			for _, key := range keys {
				term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values})
			}
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}}
		}
	}
	for _, row := range []struct {
		reason string
		edit   func(*corev1.Pod)
	}{
		{"labels that no type has", requires(corev1.NodeSelectorOpExists, long[:256])},
		{"values that no type has", requires(corev1.NodeSelectorOpIn, []string{"example.com/cpus"}, long...)},
		{"types", requires(corev1.NodeSelectorOpIn, []string{corev1.LabelInstanceTypeStable}, long...)},
		{"zones", requires(corev1.NodeSelectorOpIn, []string{corev1.LabelTopologyZone}, long...)},
		{"architectures", requires(corev1.NodeSelectorOpIn, []string{corev1.LabelArchStable}, long...)},
		{"capacity types", requires(corev1.NodeSelectorOpIn, []string{"node.k8s.aws/capacity-type"}, long...)},
		{"Provisioners", requires(corev1.NodeSelectorOpIn, []string{"provisioning.karpenter.sh/name"}, long...)},
		{"hosts", requires(corev1.NodeSelectorOpIn, []string{corev1.LabelHostname}, long...)},
		{"launch templates", requires(corev1.NodeSelectorOpIn, []string{"node.k8s.aws/launch-template-name"}, long...)},
		{"all architectures but these", func(p *corev1.Pod) {
			requires(corev1.NodeSelectorOpNotIn, []string{corev1.LabelArchStable}, append(long[:1998:1998], "amd64", "arm64")...)(p)
		}},
		{"systems", requires(corev1.NodeSelectorOpIn, []string{corev1.LabelOSStable}, long...)},
		{"all but the value of the Provisioner", requires(corev1.NodeSelectorOpNotIn, []string{"team"}, append(long[:1999:1999], "none")...)},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			problem := byLabel(0)
			problem.Types = packtest.FamilyTypes()
			problem.Pods = tolerant(replicas(1, "a", row.edit))
			result := packing.Pack(&problem)
			if len(result.Unplaced) != 1 {
				t.Fatal("the pod has a place")
			}
			if reason := result.Unplaced[0].Reason; len(reason) > 1000 {
				t.Errorf("the reason has %d characters: %.400s", len(reason), reason)
			}
		})
	}
}
