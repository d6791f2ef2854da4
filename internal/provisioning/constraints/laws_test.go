package constraints_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// anySet draws a set of one or two expressions.
func anySet(t *rapid.T) constraints.Set {
	one, err := constraints.SetOf(expression(t, "key"))
	other, failed := constraints.SetOf(expression(t, "key"))
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if rapid.Bool().Draw(t, "both") {
		return one.Intersect(other)
	}
	return one
}

// TestIntersectIsALattice holds the laws that let layers be merged in any order and any number of
// times. Descriptions stand for sets: equal sets have equal descriptions.
func TestIntersectIsALattice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anySet(t), anySet(t), anySet(t)
		for law, pair := range map[string][2]constraints.Set{
			"commutative": {a.Intersect(b), b.Intersect(a)},
			"associative": {a.Intersect(b).Intersect(c), a.Intersect(b.Intersect(c))},
			"idempotent":  {a.Intersect(a), a},
			"unit":        {a.Intersect(constraints.Anything()), a},
			"zero":        {a.Intersect(constraints.In()), constraints.In()},
		} {
			if pair[0].String() != pair[1].String() {
				t.Fatalf("not %s: %s and %s, of %s, %s, and %s", law, pair[0], pair[1], a, b, c)
			}
		}
		both := a.Intersect(b)
		for _, value := range labelValues {
			if both.Has(value) != (a.Has(value) && b.Has(value)) {
				t.Fatalf("%s is in %s: %v; in %s: %v, in %s: %v", value, both, both.Has(value), a, a.Has(value), b, b.Has(value))
			}
		}
		if both.HasAbsence() != (a.HasAbsence() && b.HasAbsence()) {
			t.Fatalf("%s admits a node without the label: %v", both, both.HasAbsence())
		}
		if a.Empty() && !both.Empty() {
			t.Fatalf("%s is empty, and %s, a part of it, is not", a, both)
		}
	})
}

// TestSetsNameValues holds when a set says what a label must be, and which values it names.
func TestSetsNameValues(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		set    constraints.Set
		values []string
		finite bool
		names  bool
	}{
		{"some values", constraints.In("b", "a"), []string{"a", "b"}, true, true},
		{"the label must be missing", constraints.DoesNotExist(), nil, true, true},
		{"nothing", constraints.In(), []string{}, true, false},
		{"all but one", constraints.NotIn("a"), nil, false, false},
		{"any value", constraints.Exists(), nil, false, false},
		{"a range", constraints.GreaterThan(1), nil, false, false},
		{"a range of listed values", constraints.GreaterThan(1).Intersect(constraints.In("0", "1", "2", "x")), []string{"2"}, true, true},
	} {
		values, finite := row.set.Values()
		if !slices.Equal(values, row.values) || finite != row.finite || row.set.Names() != row.names {
			t.Errorf("%s (%s): values are %q, finite: %v, and it names what the label must be: %v", row.reason, row.set, values, finite, row.set.Names())
		}
		for _, value := range values {
			if !row.set.Has(value) {
				t.Errorf("%s: %s is not in %s", row.reason, value, row.set)
			}
		}
	}
}

// anyRequirements draws requirements of up to three labels.
func anyRequirements(t *rapid.T) constraints.Requirements {
	r := constraints.Requirements{}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "keys") {
		r[key] = anySet(t)
	}
	return r
}

// TestAndAdmitsWhatBothAdmit holds that merged requirements admit exactly the nodes that both
// admit, in whichever order they are merged, and that merging changes neither.
func TestAndAdmitsWhatBothAdmit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, other := anyRequirements(t), anyRequirements(t)
		before := one.String() + other.String()
		both := one.And(other)
		if again := other.And(one); both.String() != again.String() {
			t.Fatalf("in one order %s, in the other %s", both, again)
		}
		labels := map[string]string{}
		for _, key := range []string{"a", "b", "c"} {
			if rapid.Bool().Draw(t, "labeled") {
				labels[key] = rapid.SampledFrom(labelValues).Draw(t, "value")
			}
		}
		if got, want := both.Admit(labels), one.Admit(labels) && other.Admit(labels); got != want {
			t.Fatalf("a node with %v: %v; of them %s: %v, and %s: %v", labels, got, one, one.Admit(labels), other, other.Admit(labels))
		}
		if _, empty := both.Empty(); empty && both.Admit(labels) {
			t.Fatalf("%s is said to be empty, and admits %v", both, labels)
		}
		both.Narrow("a", constraints.In())
		if after := one.String() + other.String(); after != before {
			t.Fatalf("merging changed %s to %s", before, after)
		}
	})
}

// TestNothingRequiresNothing holds that requirements that are missing admit every node.
func TestNothingRequiresNothing(t *testing.T) {
	t.Parallel()
	var none constraints.Requirements
	if _, empty := none.Empty(); empty || !none.Admit(nil) || !none.Admit(map[string]string{"a": "b"}) || none.String() != "" || !none.Get("a").HasAbsence() {
		t.Error("no requirements exclude a node")
	}
	if both := none.And(constraints.Requirements{"a": constraints.In("b")}); both.Admit(nil) || !both.Admit(map[string]string{"a": "b"}) {
		t.Errorf("together with others they are %s", both)
	}
	if both := none.And(nil); both == nil || len(both) > 0 {
		t.Errorf("together with none they are %#v", both)
	}
}

// selectorTerm draws a term of a node affinity. It may be one that no node matches.
func selectorTerm(t *rapid.T) corev1.NodeSelectorTerm {
	var term corev1.NodeSelectorTerm
	for range rapid.IntRange(0, 3).Draw(t, "expressions") {
		term.MatchExpressions = append(term.MatchExpressions, expression(t, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")))
	}
	return term
}

// podSpec draws a pod with a node selector and a node affinity.
func podSpec(t *rapid.T) *corev1.PodSpec {
	spec := &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}}
	if rapid.IntRange(0, 2).Draw(t, "selects") == 0 {
		spec.NodeSelector = map[string]string{"a": rapid.SampledFrom(labelValues).Draw(t, "selected")}
	}
	if terms := rapid.IntRange(0, 3).Draw(t, "terms"); terms > 0 {
		required := &corev1.NodeSelector{}
		for range terms {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, selectorTerm(t))
		}
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	for range rapid.IntRange(0, 3).Draw(t, "preferences") {
		spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: rapid.Int32Range(1, 3).Draw(t, "weight"), Preference: selectorTerm(t)})
	}
	return spec
}

// TestWaysAreTheSchedulers holds that a node is admitted by one of a pod's ways exactly if the
// scheduler's own code admits it, whatever the pod prefers, and that no way is there twice.
func TestWaysAreTheSchedulers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := podSpec(t)
		scheduler := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec})
		ways, reason := constraints.PodRequirements(spec)
		if (len(ways) == 0) != (reason != "") {
			t.Fatalf("%d ways, and the reason %q", len(ways), reason)
		}
		for _, a := range append([]string{""}, labelValues...) {
			for _, b := range []string{"", "a", "2"} {
				labels := map[string]string{"a": a, "b": b}
				maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
				want, err := scheduler.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
				if got := slices.ContainsFunc(ways, func(way constraints.Requirements) bool { return way.Admit(labels) }); got != want || err != nil {
					t.Fatalf("a node with %v is admitted: %v, by the scheduler: %v (%v); ways are %v", labels, got, want, err, ways)
				}
			}
		}
		seen := map[string]bool{}
		for _, way := range ways {
			if seen[way.String()] {
				t.Fatalf("the way %s is there twice", way)
			}
			seen[way.String()] = true
		}
	})
}

// TestManyPreferences holds that the heaviest of very many preferences count, and that they are
// given up from the lightest on. Building all ways of a thousand took a minute.
func TestManyPreferences(t *testing.T) {
	t.Parallel()
	affinity := &corev1.NodeAffinity{}
	for i := range 5000 {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{
			Weight: int32(i/50) + 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: fmt.Sprintf("k%04d", i), Operator: corev1.NodeSelectorOpExists}}},
		})
	}
	ways, reason := constraints.PodRequirements(&corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: affinity}})
	if len(ways) != 64 || reason != "" {
		t.Fatalf("%d ways, and the reason %q", len(ways), reason)
	}
	if got := slices.Min(slices.Collect(maps.Keys(ways[0]))); len(ways[0]) != 64 || got != "k4900" {
		t.Errorf("the first way has %d preferences, from %s on", len(ways[0]), got)
	}
	if len(ways[63]) != 0 {
		t.Errorf("the last way requires %s", ways[63])
	}
	for i := range ways[1:] {
		if len(ways[i+1]) >= len(ways[i]) {
			t.Errorf("way %d has %d preferences, and the one before has %d", i+1, len(ways[i+1]), len(ways[i]))
		}
	}
}

// TestManyNamedTemplates holds that a small node affinity cannot name so many launch templates that
// trying them takes all memory.
func TestManyNamedTemplates(t *testing.T) {
	t.Parallel()
	provisioner := constraints.Provisioner{Name: "default", Allowed: anything}
	numbers := func(from, many int) (all []string) {
		for i := range many {
			all = append(all, strconv.Itoa(from+i))
		}
		return all
	}
	for _, row := range []struct {
		reason          string
		names, versions int
		read            int
		says            string
	}{
		{"some of each", 10, 10, 100, "needs launch template 1, which Slipway has not read yet"},
		{"many names", 101, 1, 0, "specifies 101 launch templates in 1 versions, more than the limit of 100 in total"},
		{"many of both", 20_000, 20_000, 0, "specifies 20000 launch templates in 20000 versions, more than the " +
			"limit of 100 in total"},
	} {
		way := constraints.Requirements{
			provisioningv1.LabelLaunchTemplateName: constraints.In(numbers(1, row.names)...), provisioningv1.LabelLaunchTemplateVersion: constraints.In(numbers(1, row.versions)...),
		}
		if read := constraints.Named(&provisioner, []constraints.Requirements{way}); len(read) != row.read {
			t.Errorf("%s: %d launch templates are read", row.reason, len(read))
		}
		if _, says := constraints.Resolve(&provisioner, known, way); !strings.HasPrefix(says, row.says) {
			t.Errorf("%s: the reason is %q", row.reason, says)
		}
	}
}

// provisionerSpec draws limits of a provisioner, which may contradict each other.
func provisionerSpec(t *rapid.T) *provisioningv1.ProvisionerSpec {
	spec := &provisioningv1.ProvisionerSpec{Labels: map[string]string{}}
	spec.Zones = rapid.SampledFrom([][]string{nil, {"us-east-1a"}, {"us-east-1a", "us-east-1b"}}).Draw(t, "zones")
	spec.InstanceTypes = rapid.SampledFrom([][]string{nil, {"m5.large"}, {"m5.large", "c6g.large"}}).Draw(t, "types")
	spec.Architecture = rapid.SampledFrom([]provisioningv1.Architecture{"", provisioningv1.ArchitectureAMD64, provisioningv1.ArchitectureARM64}).Draw(t, "architecture")
	for key, values := range map[string][]string{
		provisioningv1.LabelLaunchTemplateName: {"", "", "web", "arm", "spot"}, provisioningv1.LabelCapacityType: {"", "spot", "on-demand"}, "team": {"", "web"},
	} {
		if value := rapid.SampledFrom(values).Draw(t, key); value != "" {
			spec.Labels[key] = value
		}
	}
	for _, required := range []provisioningv1.Requirement{
		{Key: corev1.LabelTopologyZone, Operator: "NotIn", Values: []string{"us-east-1a"}}, {Key: provisioningv1.LabelCapacityType, Operator: "In", Values: []string{"spot"}},
		{Key: corev1.LabelArchStable, Operator: "In", Values: []string{"amd64"}}, {Key: provisioningv1.InstanceLabelPrefix + "cpu", Operator: "Gt", Values: []string{"2"}},
	} {
		if rapid.IntRange(0, 3).Draw(t, "requires") == 0 {
			spec.Requirements = append(spec.Requirements, required)
		}
	}
	return spec
}

// TestPodsNeverWidenLimits holds that a node which satisfies an ask is within all limits of its
// provisioner, and is one that the scheduler puts the pod on, whatever the pod asks for.
func TestPodsNeverWidenLimits(t *testing.T) {
	t.Parallel()
	choices := map[string][]string{
		corev1.LabelTopologyZone: {"us-east-1a", "us-east-1b", "us-east-1c"}, corev1.LabelInstanceTypeStable: {"m5.large", "c6g.large", "r5.large"}, corev1.LabelArchStable: {"amd64", "arm64"},
		provisioningv1.LabelCapacityType: {"spot", "on-demand"}, provisioningv1.InstanceLabelPrefix + "cpu": {"2", "4"},
	}
	selected := map[string][]string{"team": {"web", "batch"}, provisioningv1.LabelLaunchTemplateName: {"web", "arm", "spot"}, corev1.LabelFailureDomainBetaZone: choices[corev1.LabelTopologyZone]}
	maps.Copy(selected, choices)
	rapid.Check(t, func(t *rapid.T) {
		provisioner := constraints.FromSpec("default", provisionerSpec(t))
		provisioner.Allowed = anything
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{}}}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(selected))), 0, 3, rapid.ID).Draw(t, "selects") {
			pod.Spec.NodeSelector[key] = rapid.SampledFrom(selected[key]).Draw(t, key)
		}
		ways, _ := constraints.PodRequirements(&pod.Spec)
		ask, reason := constraints.Resolve(&provisioner, known, ways[0])
		labels := map[string]string{}
		for _, key := range slices.Sorted(maps.Keys(choices)) {
			labels[key] = rapid.SampledFrom(choices[key]).Draw(t, "node's "+key)
		}
		if reason != "" || !ask.Requirements.Admit(labels) {
			return
		}
		allows := provisioner.AllowsType(labels)
		maps.Copy(labels, ask.Labels)
		constraints.AddAliases(labels)
		if why := provisioner.Forbids(labels); why != "" || !allows {
			t.Fatalf("%s admits a node that the provisioner forbids: %s", ask.Requirements, why)
		}
		if fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}); !fits || err != nil {
			t.Fatalf("a node with %v is launched for a pod that selects %v", labels, pod.Spec.NodeSelector)
		}
	})
}

// TestTolerationsAreTheSchedulers holds that a pod tolerates the taints of a node exactly if the
// scheduler's own code says so.
func TestTolerationsAreTheSchedulers(t *testing.T) {
	t.Parallel()
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}
	rapid.Check(t, func(t *rapid.T) {
		word := func(label string, words ...string) string { return rapid.SampledFrom(words).Draw(t, label) }
		var taints []corev1.Taint
		for range rapid.IntRange(0, 3).Draw(t, "taints") {
			taints = append(taints, corev1.Taint{Key: word("key", "a", "b"), Value: word("value", "", "1", "2"), Effect: rapid.SampledFrom(effects).Draw(t, "effect")})
		}
		pod := corev1.PodSpec{}
		for range rapid.IntRange(0, 3).Draw(t, "tolerations") {
			pod.Tolerations = append(pod.Tolerations, corev1.Toleration{
				Key: word("tolerated key", "", "a", "b"), Operator: corev1.TolerationOperator(word("operator", "", "Equal", "Exists", "Gt", "Lt", "nonsense")), Value: word("tolerated value", "", "1", "2"),
				Effect: rapid.SampledFrom(append(effects, "")).Draw(t, "tolerated effect"),
			})
		}
		_, untolerated := scheduling.FindMatchingUntoleratedTaint(klog.Background(), taints, pod.Tolerations, func(taint *corev1.Taint) bool {
			return taint.Effect != corev1.TaintEffectPreferNoSchedule
		}, false)
		if got, reason := constraints.Tolerates(&pod, taints); got == untolerated || got != (reason == "") {
			t.Fatalf("%v tolerate %v: %v, %q; by the scheduler: %v", pod.Tolerations, taints, got, reason, !untolerated)
		}
	})
}

// TestAliases holds that a label and its alias are one requirement, and that a node gets all
// aliases of the labels that it has, and no others.
func TestAliases(t *testing.T) {
	t.Parallel()
	way := constraints.Requirements{corev1.LabelTopologyZone: constraints.In("a", "b"), corev1.LabelFailureDomainBetaZone: constraints.In("b", "c"), "team": constraints.In("web")}
	if diff := cmp.Diff("team: web; "+corev1.LabelTopologyZone+": b", constraints.Canonical(way).String()); diff != "" {
		t.Errorf("canonical requirements (-want +got):\n%s", diff)
	}
	if len(way) != 3 {
		t.Errorf("the given requirements are changed to %s", way)
	}
	if key, empty := constraints.Canonical(constraints.Requirements{corev1.LabelArchStable: constraints.In("amd64"), "beta.kubernetes.io/arch": constraints.In("arm64")}).Empty(); !empty || key != corev1.LabelArchStable {
		t.Errorf("a label and its alias that contradict each other leave %q empty: %v", key, empty)
	}
	labels := map[string]string{corev1.LabelTopologyZone: "a", corev1.LabelArchStable: "arm64", "team": "web"}
	constraints.AddAliases(labels)
	want := map[string]string{corev1.LabelTopologyZone: "a", corev1.LabelFailureDomainBetaZone: "a", corev1.LabelArchStable: "arm64", "beta.kubernetes.io/arch": "arm64", "team": "web"}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
