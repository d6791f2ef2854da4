package v1beta2_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/slipway-project/slipway/internal/apitest"
)

var update = flag.Bool("update", false, "write the examples of the rules' reference")

// TestExamples holds that the reference of rules shows what TestRules and TestTransitions execute.
func TestExamples(t *testing.T) {
	t.Parallel()
	var examples []apitest.Example
	for _, group := range ruleGroups() {
		for _, c := range group.cases {
			examples = append(examples, apitest.Example{
				Rule: c.rule, Kind: group.kind, Accept: fmt.Sprintf(group.wrap, c.accept), Refuse: fmt.Sprintf(group.wrap, c.refuse), Says: c.says,
			})
		}
	}
	transitions := slices.Concat(transitionCases, sharingTransitions, managedTransitionCases)
	for _, c := range transitions {
		if c.says == "" {
			continue
		}
		example := apitest.Example{Rule: c.rule, Kind: c.kind, Refuse: change(c), Says: c.says}
		for _, other := range transitions {
			if other.rule == c.rule && other.kind == c.kind && other.says == "" {
				example.Accept = change(other)
				break
			}
		}
		examples = append(examples, example)
	}
	if err := apitest.CheckExamples(examples, *update); err != nil {
		t.Error(err)
	}
}

func change(c transitionCase) string {
	return "spec: " + c.from + " → spec: " + c.to
}
