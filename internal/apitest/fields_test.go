package apitest

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestValidateChange holds that an update is refused by ValidateChange exactly if it is by
// ValidateUpdate, and which fields it validates by themselves.
func TestValidateChange(t *testing.T) {
	t.Parallel()
	text := func(rules ...string) apiextensionsv1.JSONSchemaProps {
		schema := apiextensionsv1.JSONSchemaProps{Type: "string"}
		for _, rule := range rules {
			schema.XValidations = append(schema.XValidations, apiextensionsv1.ValidationRule{Rule: rule})
		}
		return schema
	}
	spec := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"needed"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"needed": text(), "ruled": text(), "other": text(), "short": text("size(self) < 3"), "fixed": text("self == oldSelf"), "free": text(),
		},
		XValidations: apiextensionsv1.ValidationRules{{Rule: "!has(self.ruled) || !has(self.other)"}},
	}
	resource, err := newResource(&apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}})
	if err != nil {
		t.Fatal(err)
	}
	old := map[string]any{"spec": map[string]any{"needed": "a", "ruled": "a", "fixed": "a", "free": "a"}}
	for _, row := range []struct {
		reason string
		field  string
		value  any
		alone  bool
		valid  bool
	}{
		{"a field without rules", "free", "b", true, true},
		{"of another type", "free", int64(1), true, false},
		{"which is removed", "free", nil, true, true},
		{"a field with a rule of its own", "short", "ab", true, true},
		{"which does not hold", "short", "abc", true, false},
		{"a field that may not change", "fixed", "b", true, false},
		{"a field that another one's presence forbids", "other", "b", false, false},
		{"a field that a rule above names", "ruled", "b", false, true},
		{"a field that must be there", "needed", nil, true, false},
		{"a field that is not in the schema", "unknown", "b", false, true},
	} {
		next := runtime.DeepCopyJSON(old)
		part := next["spec"].(map[string]any)
		if part[row.field] = row.value; row.value == nil {
			delete(part, row.field)
		}
		if err := resource.ValidateChange(t.Context(), old, next, "spec"); (err == nil) != row.valid {
			t.Errorf("%s: %v", row.reason, err)
		}
		if err := resource.ValidateUpdate(t.Context(), old, next); (err == nil) != row.valid {
			t.Errorf("%s: the whole update: %v", row.reason, err)
		}
		if alone := resource.field("spec", row.field) != nil && !resource.level("spec").ruled[row.field]; alone != row.alone {
			t.Errorf("%s: it is validated without the rules above it: %t", row.reason, alone)
		}
	}
}

// TestValidateChangeOfOther holds that a change which one object may make is refused for another
// one, if what a rule of the whole object reads differs: what was found valid is remembered.
func TestValidateChangeOfOther(t *testing.T) {
	t.Parallel()
	texts := func(names ...string) apiextensionsv1.JSONSchemaProps {
		schema := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
		for _, name := range names {
			schema.Properties[name] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
		return schema
	}
	spec := texts("ruled", "other", "free")
	spec.XValidations = apiextensionsv1.ValidationRules{{Rule: "self.ruled != self.other"}}
	resource, err := newResource(&apiextensionsv1.JSONSchemaProps{
		Type:         "object",
		Properties:   map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": texts("phase")},
		XValidations: apiextensionsv1.ValidationRules{{Rule: "self.status.phase != self.spec.ruled"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reason             string
		other, phase, free string
		valid              bool
	}{
		{"nothing is against it", "a", "a", "a", true},
		{"a field that no rule reads differs", "a", "a", "b", true},
		{"a field of the part differs", "b", "a", "a", false},
		{"a field of another part differs", "a", "b", "a", false},
	} {
		object := func(ruled string) map[string]any {
			return map[string]any{
				"spec": map[string]any{"ruled": ruled, "other": row.other, "free": row.free}, "status": map[string]any{"phase": row.phase},
			}
		}
		if err := resource.ValidateChange(t.Context(), object("c"), object("b"), "spec"); (err == nil) != row.valid {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
}
