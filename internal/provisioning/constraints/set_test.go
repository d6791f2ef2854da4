package constraints_test

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

var operators = []corev1.NodeSelectorOperator{
	corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
	corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
}

// labelValues are the values that expressions and nodes are drawn from; the empty string of a node
// stands for no label.
var labelValues = []string{"a", "b", "1", "2", "3", "03", "0", "9223372036854775807"}

func expression(t *rapid.T, key string) corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{Key: key, Operator: rapid.SampledFrom(operators).Draw(t, "operator")}
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		r.Values = rapid.SliceOfN(rapid.SampledFrom(labelValues), 1, 4).Draw(t, "values")
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		r.Values = []string{strconv.FormatInt(rapid.OneOf(rapid.Int64Range(0, 4), rapid.Just[int64](9223372036854775807),
			rapid.Just[int64](9223372036854775806), rapid.Just[int64](0)).Draw(t, "bound"), 10)}
	default:
	}
	return r
}

// TestSetsAreTheSchedulers holds that a set, and what several have in common, admits exactly the
// nodes that the scheduler's own code admits.
func TestSetsAreTheSchedulers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var term corev1.NodeSelectorTerm
		set := constraints.Anything()
		for range rapid.IntRange(1, 3).Draw(rt, "expressions") {
			r := expression(rt, "key")
			one, err := constraints.SetOf(r)
			if err != nil {
				rt.Fatal(err)
			}
			term.MatchExpressions = append(term.MatchExpressions, r)
			set = set.Intersect(one)
		}
		scheduler, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
		if err != nil {
			rt.Fatal(err)
		}
		admitted := false
		for _, value := range append([]string{""}, labelValues...) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{}}}
			if value != "" {
				node.Labels["key"] = value
			}
			want := scheduler.Match(node)
			admitted = admitted || want
			if got := set.Admits(value, value != ""); got != want {
				rt.Fatalf("a node with %q: %v is %s, admits it: %v, the scheduler does: %v", value, term.MatchExpressions, set, got, want)
			}
		}
		if set.Empty() && admitted {
			rt.Fatalf("%v is %s, said to be empty", term.MatchExpressions, set)
		}
	})
}

func TestEmptySets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		set    constraints.Set
		want   bool
	}{
		{"nothing", constraints.In(), true},
		{"no value in common", constraints.In("a").Intersect(constraints.In("b")), true},
		{"a value and none", constraints.In("a").Intersect(constraints.DoesNotExist()), true},
		{"all but one", constraints.Exists().Intersect(constraints.NotIn("a")), false},
		{"no integer between", constraints.GreaterThan(1).Intersect(constraints.LessThan(2)), true},
		{"one integer between", constraints.GreaterThan(1).Intersect(constraints.LessThan(3)), false},
		{"it is excluded, but 02 is one too", constraints.GreaterThan(1).Intersect(constraints.LessThan(3)).Intersect(constraints.NotIn("2")), false},
		{"above the last integer", constraints.GreaterThan(9223372036854775807), true},
		{"below the first: no label's value begins with a sign", constraints.LessThan(0), true},
		{"the first", constraints.LessThan(1), false},
		{"none at all", constraints.DoesNotExist().Intersect(constraints.NotIn("a")), false},
	} {
		if got := c.set.Empty(); got != c.want {
			t.Errorf("%s (%s): empty is %v", c.reason, c.set, got)
		}
	}
}

func TestSetsInWords(t *testing.T) {
	t.Parallel()
	for want, set := range map[string]constraints.Set{
		"a or b": constraints.In("b", "a", "b"), "nothing": constraints.In(), "not a": constraints.NotIn("a"), "anything": constraints.Exists(),
		"the label to be absent": constraints.DoesNotExist(), "any value or no label": constraints.Anything(),
		"anything above 1 below 5": constraints.GreaterThan(1).Intersect(constraints.LessThan(5)),
		"anything but a":           constraints.NotIn("a").Intersect(constraints.Exists()),
	} {
		if got := set.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSetsOfInvalidRequirements(t *testing.T) {
	t.Parallel()
	for _, r := range []corev1.NodeSelectorRequirement{
		{Key: "a", Operator: "Near", Values: []string{"1"}}, {Key: "a", Operator: corev1.NodeSelectorOpGt}, {Key: "a", Operator: corev1.NodeSelectorOpLt, Values: []string{"x"}}, {Key: "a", Operator: corev1.NodeSelectorOpGt, Values: []string{"-1"}},
	} {
		if set, err := constraints.SetOf(r); err == nil {
			t.Errorf("%v is %s", r, set)
		}
	}
}
