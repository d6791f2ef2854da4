package v1beta2_test

import (
	"strings"
	"testing"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/apitest/managedcases"
)

// managedTransitionCases hold what of a node group EKS cannot change, and what may change.
var managedTransitionCases = managedTransitions()

func managedTransitions() []transitionCase {
	var cases []transitionCase
	for _, c := range managedcases.Transitions {
		cases = append(cases, transitionCase{
			rule: c.Rule, reason: c.Reason, kind: "AWSManagedMachinePool", status: c.Status, from: c.From, to: c.To, says: c.Says,
		})
	}
	return cases
}

// TestDefaultNodegroupNamesMayBeLeftOut holds that every name that CAPA's webhook writes can be
// taken out of the spec again.
func TestDefaultNodegroupNamesMayBeLeftOut(t *testing.T) {
	t.Parallel()
	served := resource(t, "AWSManagedMachinePool", "v1beta2")
	for _, name := range []string{"pool", "workers.one", "a.b.c", strings.Repeat("a", 60), strings.Repeat("a.", 40) + "b"} {
		metadata := "metadata: {namespace: default, name: " + name + "}"
		stored, err := served.Create(t.Context(), object(t, managedPoolBase, metadata, "spec: {eksNodegroupName: "+infrav1.DefaultNodegroupName("default", name)+"}"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := served.Update(t.Context(), stored, object(t, managedPoolBase, metadata)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
