package v1alpha2_test

import (
	"flag"
	"testing"

	"github.com/slipway-project/slipway/internal/apitest"
)

var update = flag.Bool("update", false, "write the examples of the rules' reference")

// TestExamples holds that the reference of rules shows what TestRules executes.
func TestExamples(t *testing.T) {
	t.Parallel()
	examples := make([]apitest.Example, 0, len(ruleCases))
	for _, c := range ruleCases {
		examples = append(examples, apitest.Example{Rule: c.rule, Kind: "Provisioner", Accept: c.accept, Refuse: c.refuse, Says: c.says})
	}
	if err := apitest.CheckExamples(examples, *update); err != nil {
		t.Error(err)
	}
}
