// Package underpolicy provides the policies that Slipway prints, and the same with one permission
// less, for journeys that hold it to them.
package underpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/internal/permissions"
)

// Documents returns the policies of features.
func Documents(scope permissions.Scope, features []permissions.Feature) ([]string, error) {
	made, err := permissions.Policies(scope, features...)
	if err != nil {
		return nil, err
	}
	documents := make([]string, len(made))
	for i, document := range made {
		documents[i] = document.String()
	}
	return documents, nil
}

// Reductions returns the policies of features, each without one action of one statement: "<Sid>
// <action>". Statements that are repeated for each cluster, whose Sids have a number at the end,
// count as one.
func Reductions(scope permissions.Scope, features []permissions.Feature) (map[string][]iampolicy.Policy, error) {
	documents, err := Documents(scope, features)
	if err != nil {
		return nil, err
	}
	whole := make([]iampolicy.Policy, len(documents))
	for i, document := range documents {
		if whole[i], err = iampolicy.Parse(document); err != nil {
			return nil, fmt.Errorf("reading a policy that was printed: %w", err)
		}
	}
	reduced := map[string][]iampolicy.Policy{}
	for _, policy := range whole {
		for _, statement := range policy.Statements {
			for _, action := range statement.Action {
				sid := unnumbered(statement.SID)
				reduced[fmt.Sprintf("%s %s", sid, action)] = without(whole, sid, action)
			}
		}
	}
	return reduced, nil
}

func unnumbered(sid string) string { return strings.TrimRight(sid, "0123456789") }

// without returns policies whose statement of a Sid lacks an action.
func without(policies []iampolicy.Policy, sid, action string) []iampolicy.Policy {
	less := slices.Clone(policies)
	for i := range less {
		less[i].Statements = slices.Clone(less[i].Statements)
		for j := range less[i].Statements {
			if statement := &less[i].Statements[j]; unnumbered(statement.SID) == sid {
				statement.Action = slices.DeleteFunc(slices.Clone(statement.Action), func(other string) bool { return other == action })
			}
		}
	}
	return less
}
