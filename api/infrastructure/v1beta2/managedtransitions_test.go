package v1beta2_test

import "github.com/slipway-project/slipway/internal/apitest/managedcases"

// managedTransitionCases hold what of a node group EKS can not change, and what may change.
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
