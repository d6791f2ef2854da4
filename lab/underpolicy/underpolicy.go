// Package underpolicy makes the policies that Slipway prints, and those with one permission less, for journeys that hold it to them.
package underpolicy

import (
	"fmt"
	"slices"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/internal/permissions"
)

// Documents are the policies of features.
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

// Reductions are the policies of features, each without one action of one statement: "<Sid> <action>".
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
	for i, policy := range whole {
		for j, statement := range policy.Statements {
			for _, action := range statement.Action {
				less := slices.Clone(policy.Statements)
				less[j].Action = slices.DeleteFunc(slices.Clone(statement.Action), func(other string) bool { return other == action })
				without := slices.Clone(whole)
				without[i].Statements = less
				reduced[fmt.Sprintf("%s %s", statement.SID, action)] = without
			}
		}
	}
	return reduced, nil
}
