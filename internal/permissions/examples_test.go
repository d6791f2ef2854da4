package permissions

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-project/slipway/awssim/iampolicy"
)

// allowed reports whether policies allow every action of an example.
func (e Example) allowed(policies []iampolicy.Policy) bool {
	return !slices.ContainsFunc(e.Actions, func(action string) bool {
		return iampolicy.Evaluate(policies, iampolicy.Request{Action: action, Resource: e.Resource, Context: e.Context}) != iampolicy.Allowed
	})
}

func mustExamples(t *testing.T, scope Scope, features ...Feature) []Example {
	t.Helper()
	examples, err := Examples(scope, features...)
	if err != nil {
		t.Fatal(err)
	}
	return examples
}

// TestExamplesAreAllowed holds that the policies of features allow their examples, and that nothing
// in an example is a pattern.
func TestExamplesAreAllowed(t *testing.T) {
	t.Parallel()
	china := named
	china.Partition = "aws-cn"
	for _, scope := range []Scope{named, blue, widest, shown, china} {
		for _, features := range append([][]Feature{everyFeature(), Defaults(scope)}, separately()...) {
			policies := parsed(t, mustPolicies(t, scope, features...))
			for _, example := range mustExamples(t, scope, features...) {
				if !example.allowed(policies) {
					t.Errorf("features %q do not allow %+v", features, example)
				}
				if example.Resource != "*" && strings.ContainsAny(example.Resource, "*?") {
					t.Errorf("%s has the resource %s", example.Sid, example.Resource)
				}
			}
		}
	}
}

// separately returns each feature alone.
func separately() [][]Feature {
	var alone [][]Feature
	for _, feature := range everyFeature() {
		alone = append(alone, []Feature{feature})
	}
	return alone
}

// TestExamplesNeedEveryStatement holds that examples show which statement is missing. Without a cluster,
// two statements of a provisioner allow the same.
func TestExamplesNeedEveryStatement(t *testing.T) {
	t.Parallel()
	for _, features := range append([][]Feature{Defaults(blue)}, separately()...) {
		examples := mustExamples(t, blue, features...)
		all := statements(blue, features)
		for i, statement := range all {
			rest := slices.Delete(slices.Clone(all), i, i+1)
			var policies []iampolicy.Policy
			if len(rest) > 0 {
				policies = parsed(t, []Document{{Version: version, Statement: rest}})
			}
			if !slices.ContainsFunc(examples, func(example Example) bool { return example.Sid == statement.Sid && !example.allowed(policies) }) {
				t.Errorf("features %q: no example needs statement %s", features, statement.Sid)
			}
		}
	}
}

// TestExamplesAreInTheScope holds that the names that bound a policy bound its examples.
func TestExamplesAreInTheScope(t *testing.T) {
	t.Parallel()
	scope := Scope{Partition: "aws-us-gov", Account: "444455556666", Region: "us-gov-west-1", Clusters: []string{"blue", "red"}}
	var owners []string
	for _, example := range mustExamples(t, scope, MachinePools) {
		if example.Resource != "*" && !strings.HasPrefix(example.Resource, "arn:aws-us-gov:") {
			t.Errorf("the resource of %s is %s", example.Sid, example.Resource)
		}
		if example.Sid == "MakeGroups" {
			owners = append(owners, example.Context["aws:RequestTag/slipway.infrastructure.cluster.x-k8s.io/machine-pool"]...)
		}
		for _, service := range example.Context["iam:PassedToService"] {
			if service != "ec2.amazonaws.com" {
				t.Errorf("a role is passed to %s", service)
			}
		}
	}
	if want := []string{"slipway-preflight/blue/slipway-preflight", "slipway-preflight/red/slipway-preflight"}; !slices.Equal(owners, want) {
		t.Errorf("groups are created for %q, want %q", owners, want)
	}
	if _, err := Examples(Scope{}, Events); err == nil || !strings.Contains(err.Error(), "--queue") {
		t.Errorf("without a bound: error %v", err)
	}
}
