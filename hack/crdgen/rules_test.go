package main

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reason, rule, want, refused string }{
		{"CEL stays as it is", `!has(self.a) || self.a.matches('^(b|c)$')`, `!has(self.a) || self.a.matches('^(b|c)$')`, ""},
		{"a field that is added later is another one too", `!has(self.a) || !hasOther(a, b)`, `!has(self.a) || !(has(self.c) || has(self.d))`, ""},
		{"a field that was renamed would count as another one", `hasOther(a, z)`, "", `hasOther(a, z): there is no field "z"`},
		{"a list of all fields would be no rule", `hasOther(a, b, c, d)`, "", "it names no fields"},
		{"a list", `hasAny(self.a, b, c)`, `(has(self.a.b) || has(self.a.c))`, ""},
		{"a name that CEL reserves", `hasAny(self, in)`, `(has(self.__in__))`, ""},
		{"a field that may be missing", `same(self.a, "") && same(self.b.c, [])`,
			`(has(self.a) ? self.a : "") == (has(oldSelf.a) ? oldSelf.a : "") && (has(self.b.c) ? self.b.c : []) == (has(oldSelf.b.c) ? oldSelf.b.c : [])`, ""},
		{"a value that may be missing", `valueOr(oldSelf.a, "")`, `(has(oldSelf.a) ? oldSelf.a : "")`, ""},
		{"a value without a default", `valueOr(self.a)`, "", "valueOr(self.a): its arguments must be"},
		{"only a field of the new object can be the same as before", `same(oldSelf.a, "")`, "", "must be a field of self"},
		{"macros may use macros", `nonEmpty(self.a) && ownImage(oldSelf)`,
			`(has(self.a) && self.a != "") && ((has(oldSelf.amiType) && oldSelf.amiType == 'CUSTOM') || (has(oldSelf.awsLaunchTemplate) && ` +
				`((has(oldSelf.awsLaunchTemplate.ami) && ((has(oldSelf.awsLaunchTemplate.ami.id) && oldSelf.awsLaunchTemplate.ami.id != "") || ` +
				`has(oldSelf.awsLaunchTemplate.ami.eksLookupType))) || ` +
				`(has(oldSelf.awsLaunchTemplate.imageLookupFormat) && oldSelf.awsLaunchTemplate.imageLookupFormat != "") || ` +
				`(has(oldSelf.awsLaunchTemplate.imageLookupOrg) && oldSelf.awsLaunchTemplate.imageLookupOrg != "") || ` +
				`(has(oldSelf.awsLaunchTemplate.imageLookupBaseOS) && oldSelf.awsLaunchTemplate.imageLookupBaseOS != ""))))`, ""},
		{"a predicate is about one object", `ownImage(self, oldSelf)`, "", "it has one argument"},
	} {
		got, err := expand(c.rule, []string{"a", "b", "c", "d"})
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %q becomes %q, %v; want an error with %q", c.reason, c.rule, got, err, c.refused)
			}
		case err != nil || got != c.want:
			t.Errorf("%s: %q becomes\n%q, %v; want\n%q", c.reason, c.rule, got, err, c.want)
		}
	}
}

// TestExpandRules holds that rules are found wherever a schema may have them, and that each is about
// the fields of its own object.
func TestExpandRules(t *testing.T) {
	t.Parallel()
	object := func(fields ...string) apiextensionsv1.JSONSchemaProps {
		schema := apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
		for _, field := range fields {
			schema.Properties[field] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
		schema.XValidations = apiextensionsv1.ValidationRules{{Rule: "!hasOther(" + fields[0] + ")", Message: "set one field"}}
		return schema
	}
	items, values := object("c", "d"), object("e", "f")
	schema := object("a", "b")
	schema.Properties["b"] = apiextensionsv1.JSONSchemaProps{Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
		AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &values}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"g": items},
	}}}
	if err := expandRules(&schema); err != nil {
		t.Fatal(err)
	}
	inner := schema.Properties["b"].Items.Schema
	for want, found := range map[string]apiextensionsv1.JSONSchemaProps{
		"!(has(self.b))": schema, "!(has(self.d))": inner.Properties["g"], "!(has(self.f))": *inner.AdditionalProperties.Schema,
	} {
		if got := found.XValidations[0].Rule; got != want {
			t.Errorf("the rule is %q, want %q", got, want)
		}
	}
	schema.Properties["b"].Items.Schema.XValidations = apiextensionsv1.ValidationRules{{Rule: "hasOther(z)", Message: "set one field"}}
	if err := expandRules(&schema); err == nil || !strings.Contains(err.Error(), `b: rule "set one field": hasOther(z)`) {
		t.Errorf("the error does not say which rule is wrong: %v", err)
	}
}
