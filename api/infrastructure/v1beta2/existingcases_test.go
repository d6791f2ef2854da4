package v1beta2_test

import (
	"strings"
	"testing"
)

// existingCases are about launch templates of other owners.
var existingCases = []ruleCase{
	{
		rule: "LT3", reason: "a template is named in one way", accept: `{instanceType: null, existing: {id: lt-0123456789abcdef0}}`,
		refuse: `{instanceType: null, existing: {id: lt-0123456789abcdef0, name: theirs}}`, says: "exactly one of id and name must be set",
	},
	{
		rule: "LT3", reason: "and not in none", accept: `{instanceType: null, existing: {name: team/theirs, version: "7"}}`,
		refuse: `{instanceType: null, existing: {version: latest}}`, says: "exactly one of id and name must be set",
	},
	{
		rule: "SL71", reason: "a slash separates the parts of an owner tag: a/b would be another owner's cluster", accept: `{clusterName: one}`,
		refuse: `{clusterName: a/b}`, says: "clusterName must be the name of a Cluster",
	},
	{
		rule: "SL6", reason: "an id is no name", accept: `{instanceType: null, existing: {id: lt-01234567}}`,
		refuse: `{instanceType: null, existing: {id: theirs}}`, says: "must be the ID of a launch template (lt-...)",
	},
	{
		rule: "LT1", reason: "EC2's alphabet for template names", accept: `{instanceType: null, existing: {name: "team/(a).b_c-1"}}`,
		refuse: `{instanceType: null, existing: {name: "a*b"}}`, says: "a launch template name must have 3 to 128 characters",
	},
	{
		rule: "SL52", reason: "words as everywhere in Slipway", accept: `{instanceType: null, existing: {name: theirs, version: latest}}`,
		refuse: `{instanceType: null, existing: {name: theirs, version: $Latest}}`, says: "write latest for $Latest",
	},
	{
		rule: "SL52", reason: "numbers begin with 1", accept: `{instanceType: null, existing: {name: theirs, version: default}}`,
		refuse: `{instanceType: null, existing: {name: theirs, version: "0"}}`, says: "a version must be a number, latest, or default (write latest for $Latest, default for $Default)",
	},
	{
		rule: "SL50", reason: "a launch template of another owner is not changed", accept: `{instanceType: null, existing: {name: theirs}}`,
		refuse: `{existing: {name: theirs}}`, says: "existing names a launch template of another owner, which Slipway does not change",
	},
	{
		rule: "SL50", reason: "nor steered", accept: `{instanceType: null, existing: {name: theirs}}`,
		refuse: `{instanceType: null, existing: {name: theirs}, pinnedVersion: 3}`, says: "existing names a launch template of another owner, which Slipway does not change",
	},
}

// existingTransitions lists edits of references to existing launch templates.
var existingTransitions = []transitionCase{
	{
		rule: "SL51", reason: "the version moves", kind: "AWSLaunchConfig",
		from: `{instanceType: null, existing: {name: theirs, version: "3"}}`, to: `{instanceType: null, existing: {name: theirs, version: "4"}}`,
	},
	{
		rule: "SL51", reason: "node groups stay with their template", kind: "AWSLaunchConfig",
		from: `{instanceType: null, existing: {name: theirs}}`, to: `{instanceType: null, existing: {name: others}}`, says: "a node group cannot switch to another launch template",
	},
	{
		rule: "SL51", reason: "a template that was made is not left behind", kind: "AWSLaunchConfig",
		from: `{}`, to: `{instanceType: null, existing: {name: others}}`, says: "an AWSLaunchConfig cannot replace the launch template that it created with an existing one",
	},
	{
		rule: "SL51", reason: "nor is it adopted", kind: "AWSLaunchConfig",
		from: `{instanceType: null, existing: {name: others}}`, to: `{}`, says: "an AWSLaunchConfig cannot replace the launch template that it created with an existing one",
	},
}

// TestExistingGoesWithNothing fails for a field that the rule about existing does not name: it
// would do nothing.
func TestExistingGoesWithNothing(t *testing.T) {
	t.Parallel()
	spec := definitions(t)["AWSLaunchConfig"].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	text := ""
	for _, rule := range spec.XValidations {
		if rule.FieldPath == ".existing" {
			text = rule.Rule
		}
	}
	for field := range spec.Properties {
		beside := field == "existing" || field == "clusterName"
		if named := strings.Contains(text, "|| has(self."+field+")") || strings.Contains(text, "(has(self."+field+")"); named == beside {
			t.Errorf("spec.%s: the rule about existing names it %v", field, named)
		}
	}
}
