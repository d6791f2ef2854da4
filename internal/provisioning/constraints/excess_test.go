package constraints_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// requirements returns requirements of so many labels, with so many values each.
func requirements(number, values int) []corev1.NodeSelectorRequirement {
	all := make([]corev1.NodeSelectorRequirement, number)
	for i := range all {
		all[i] = corev1.NodeSelectorRequirement{Key: fmt.Sprint("k", i), Operator: corev1.NodeSelectorOpNotIn}
		for j := range values {
			all[i].Values = append(all[i].Values, fmt.Sprint("v", j))
		}
	}
	return all
}

// requires returns a pod with so many terms of node affinity.
func requires(number int, term corev1.NodeSelectorTerm) *corev1.PodSpec {
	all := make([]corev1.NodeSelectorTerm, number)
	for i := range all {
		all[i] = term
	}
	return &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: all}}}}
}

// avoids returns a pod with so many terms of anti-affinity, half of them preferred.
func avoids(number int, term corev1.PodAffinityTerm) *corev1.PodSpec {
	anti := &corev1.PodAntiAffinity{}
	for i := range number {
		if i%2 == 0 {
			anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, term)
		} else {
			anti.PreferredDuringSchedulingIgnoredDuringExecution = append(anti.PreferredDuringSchedulingIgnoredDuringExecution, corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: term})
		}
	}
	return &corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: anti}}
}

// TestExcess holds which pods ask for more than is considered. Each row has the largest pod that is
// within a limit, and one more of the same is beyond it.
func TestExcess(t *testing.T) {
	t.Parallel()
	one := corev1.NodeSelectorTerm{MatchExpressions: requirements(1, 1)}
	selects := func(number int) *metav1.LabelSelector {
		selector := &metav1.LabelSelector{}
		for _, r := range requirements(number, 1) {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: r.Key, Operator: metav1.LabelSelectorOpNotIn, Values: r.Values})
		}
		return selector
	}
	for _, row := range []struct {
		reason string
		most   int
		pod    func(number int) *corev1.PodSpec
		says   string
	}{
		{"alternatives of nodes", 64, func(n int) *corev1.PodSpec { return requires(n, one) }, "required node affinity terms"},
		{"labels of nodes", 256, func(n int) *corev1.PodSpec {
			return requires(1, corev1.NodeSelectorTerm{MatchExpressions: requirements(n, 0)})
		}, "label requirements in its node selector and required node affinity"},
		{"fields of nodes", 256, func(n int) *corev1.PodSpec {
			return requires(1, corev1.NodeSelectorTerm{MatchFields: requirements(n, 0)})
		}, "label requirements in its node selector and required node affinity"},
		{"a node selector", 256, func(n int) *corev1.PodSpec {
			pod := &corev1.PodSpec{NodeSelector: map[string]string{}}
			for i := range n {
				pod.NodeSelector[fmt.Sprint(i)] = ""
			}
			return pod
		}, "label requirements in its node selector and required node affinity"},
		{"values of labels of nodes", 2000, func(n int) *corev1.PodSpec {
			return requires(1, corev1.NodeSelectorTerm{MatchExpressions: requirements(1, n)})
		}, "label values in its node selector and required node affinity"},
		{"terms about other pods", 64, func(n int) *corev1.PodSpec { return avoids(n, corev1.PodAffinityTerm{}) }, "terms of affinity and anti-affinity to other pods"},
		{"labels of other pods", 256, func(n int) *corev1.PodSpec {
			return avoids(1, corev1.PodAffinityTerm{LabelSelector: selects(n)})
		}, "label requirements in its affinities"},
		{"labels of namespaces", 256, func(n int) *corev1.PodSpec {
			return avoids(1, corev1.PodAffinityTerm{NamespaceSelector: selects(n)})
		}, "label requirements in its affinities"},
		{"keys of the pod's own labels", 256, func(n int) *corev1.PodSpec {
			return avoids(1, corev1.PodAffinityTerm{MatchLabelKeys: make([]string, n/2), MismatchLabelKeys: make([]string, n-n/2)})
		}, "label requirements in its affinities"},
		{"labels of the pods to spread over", 256, func(n int) *corev1.PodSpec {
			return &corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{LabelSelector: selects(n - 1), MatchLabelKeys: []string{"a"}}}}
		}, "label requirements in its affinities"},
		{"namespaces of other pods", 2000, func(n int) *corev1.PodSpec {
			return avoids(1, corev1.PodAffinityTerm{Namespaces: make([]string, n)})
		}, "label values and namespaces"},
		{"spreads", 64, func(n int) *corev1.PodSpec {
			return &corev1.PodSpec{TopologySpreadConstraints: make([]corev1.TopologySpreadConstraint, n)}
		}, "topology spread constraints"},
		{"tolerations", 256, func(n int) *corev1.PodSpec { return &corev1.PodSpec{Tolerations: make([]corev1.Toleration, n)} }, "tolerations"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if got := constraints.Excess(row.pod(row.most)); got != "" {
				t.Errorf("%d are too many: %s", row.most, got)
			}
			want := fmt.Sprintf("has %d %s", row.most+1, row.says)
			got := constraints.Excess(row.pod(row.most + 1))
			if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, fmt.Sprintf("more than the limit of %d for pods that need a new node", row.most)) {
				t.Errorf("%d are %q, want %q", row.most+1, got, want)
			}
			if ways, reason := constraints.PodRequirements(row.pod(row.most + 1)); len(ways) > 0 || reason != got {
				t.Errorf("%d ways and the reason %q, want none and %q", len(ways), reason, got)
			}
		})
	}
}

// TestWaysAreBounded holds that the pods that are within the limits have few ways, and never more than
// Choices says.
func TestWaysAreBounded(t *testing.T) {
	t.Parallel()
	for _, required := range []int{0, 1, 2, 33, 63, 64} {
		for _, preferred := range []int{0, 1, 2, 63, 64, 5000} {
			pod := &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}}
			var terms []corev1.NodeSelectorTerm
			for i := range required {
				terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprint(i)}}}})
			}
			if required > 0 {
				pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
			}
			for i := range preferred {
				pod.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(pod.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
					corev1.PreferredSchedulingTerm{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: requirements(4, 40)[:1+i%4]}})
			}
			ways, reason := constraints.PodRequirements(pod)
			if reason != "" || len(ways) == 0 || len(ways) > constraints.Choices(pod) || len(ways) > 64 {
				t.Errorf("%d terms and %d preferences are %d ways, and at most %d choices: %s", required, preferred, len(ways), constraints.Choices(pod), reason)
			}
		}
	}
}

// TestTemplatesOfAllWays holds that the launch templates that a pod names in all its terms together are
// bounded: each is read from AWS.
func TestTemplatesOfAllWays(t *testing.T) {
	t.Parallel()
	var terms []corev1.NodeSelectorTerm
	for i := range 64 {
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: provisioningv1.LabelLaunchTemplateName, Operator: corev1.NodeSelectorOpIn}}}
		for j := range 30 {
			term.MatchExpressions[0].Values = append(term.MatchExpressions[0].Values, fmt.Sprintf("t-%d-%d", i, j))
		}
		terms = append(terms, term)
	}
	pod := &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}}
	ways, reason := constraints.PodRequirements(pod)
	if reason != "" {
		t.Fatal(reason)
	}
	if got := len(constraints.Named(&constraints.Provisioner{Name: "default", Allowed: anything}, ways)); got != 100 {
		t.Errorf("%d launch templates are read for one pod, want 100", got)
	}
}

// TestNamesThatNoNodeHas holds that a pod cannot have launch templates read, or listed in the status of a
// Provisioner, by a name or version that no Node can have as a label: status bounds both.
func TestNamesThatNoNodeHas(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason        string
		name, version []string
		want          []constraints.Reference
		says          string
	}{
		{"a name", []string{"web"}, nil, []constraints.Reference{{Name: "web", Version: "latest"}}, ""},
		{"a name that is too long", []string{strings.Repeat("w", 64)}, nil, nil, "no node can have that label"},
		{"a name with a control character", []string{"web\x1b[2J"}, nil, nil, "no node can have that label"},
		{"an empty name", []string{""}, nil, nil, "no node can have that label"},
		{"one of two names", []string{"web", "we b"}, nil, []constraints.Reference{{Name: "web", Version: "latest"}}, ""},
		{"a version", []string{"web"}, []string{"7"}, []constraints.Reference{{Name: "web", Version: "7"}}, ""},
		{"a version with a sign", []string{"web"}, []string{"+7"}, nil, "use a number"},
		{"a version with zeros", []string{"web"}, []string{strings.Repeat("0", 62) + "7"}, nil, "use a number"},
		{"version 0", []string{"web"}, []string{"0"}, nil, "use a number"},
		{"a negative version", []string{"web"}, []string{"-7"}, nil, "use a number"},
		{"a version beyond 64 bits", []string{"web"}, []string{"9223372036854775808"}, nil, "use a number"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			way := constraints.Requirements{provisioningv1.LabelLaunchTemplateName: constraints.In(row.name...)}
			if row.version != nil {
				way[provisioningv1.LabelLaunchTemplateVersion] = constraints.In(row.version...)
			}
			p := &constraints.Provisioner{Name: "default", Allowed: anything}
			if got := constraints.Named(p, []constraints.Requirements{way}); !slices.Equal(got, row.want) {
				t.Errorf("read are %+v, want %+v", got, row.want)
			}
			templates := constraints.Templates{}
			for _, reference := range row.want {
				templates[reference] = constraints.Template{Name: reference.Name, Version: 7, Architecture: "amd64"}
			}
			_, reason := constraints.Resolve(p, templates, way)
			if (reason == "") != (row.says == "") || !strings.Contains(reason, row.says) {
				t.Errorf("the reason is %q, want %q", reason, row.says)
			}
		})
	}
}
