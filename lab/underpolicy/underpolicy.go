// Package underpolicy holds the managers of journeys to the policies that Slipway prints, and says
// which permissions their calls need.
package underpolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/labtest"
)

// Hold has the manager of a test do no more than documents allow. At the end of the test, a call that
// was denied is an error, and collect gets what the manager asked for.
func Hold(env *labtest.Env, documents []string, collect func([]awssim.Authorization)) {
	env.Helper()
	if err := env.Cloud.AWS.SetPolicies(lab.AccessKeyID(env.Account), documents...); err != nil {
		env.Fatal(err)
	}
	env.Cleanup(func() {
		questions := env.Cloud.AWS.Authorizations()
		for _, question := range questions {
			if question.Decision != iampolicy.Allowed {
				text, _ := json.Marshal(question)
				env.Errorf("the policy is not enough: %s", text)
			}
		}
		collect(questions)
	})
}

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

// Needed returns the permissions in the policies of features, "<Sid> <action>", and whether one of
// the questions is denied without it. Statements that are repeated for each cluster, whose Sids have
// a number at the end, count as one.
func Needed(scope permissions.Scope, features []permissions.Feature, questions []awssim.Authorization) (map[string]bool, error) {
	reduced, err := reductions(scope, features)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for what, policies := range reduced {
		needed[what] = slices.ContainsFunc(questions, func(question awssim.Authorization) bool {
			return iampolicy.Evaluate(policies, question.Request) != iampolicy.Allowed
		})
	}
	return needed, nil
}

// Unneeded returns an error that names the permissions that are not needed, nil if all are.
func Unneeded(needed map[string]bool) error {
	var problems []error
	for _, what := range slices.Sorted(maps.Keys(needed)) {
		if !needed[what] {
			problems = append(problems, fmt.Errorf("no journey needs %s", what))
		}
	}
	return errors.Join(problems...)
}

// reductions returns the policies of features, each without one action of one statement, by its
// name.
func reductions(scope permissions.Scope, features []permissions.Feature) (map[string][]iampolicy.Policy, error) {
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
