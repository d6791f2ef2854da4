package apitest

import (
	"context"
	"maps"
	"reflect"
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ValidateChange does the same as ValidateUpdate, for an update of a valid object in which only the
// named part, spec or status, changed. It validates the changed fields of that part, where that is
// enough, at a tenth of the time.
func (r *Resource) ValidateChange(ctx context.Context, old, stored map[string]any, part string) error {
	before, _ := old[part].(map[string]any)
	after, is := stored[part].(map[string]any)
	if !is {
		return r.ValidateUpdate(ctx, old, stored)
	}
	if r.validFields(ctx, part, before, after) {
		return nil
	}
	before, after = r.together(part, before, after)
	return r.valid.once(func() error { return r.ValidateUpdate(ctx, old, stored) },
		part, r.relevant(part, old, before), r.relevant(part, stored, after))
}

// together returns the fields of a part, before and after a change, that have to be validated
// together: all but fields that stayed, and in whose value no other field has a say.
func (r *Resource) together(part string, before, after map[string]any) (was, is map[string]any) {
	was, is = maps.Clone(before), maps.Clone(after)
	for name, value := range after {
		if former, had := before[name]; had && reflect.DeepEqual(former, value) && r.field(part, name) != nil {
			delete(was, name)
			delete(is, name)
		}
	}
	return was, is
}

// relevant returns what the validation of a part of an object depends on: the given fields of the
// part, and what of the rest a rule of the whole object reads.
func (r *Resource) relevant(part string, object, fields map[string]any) map[string]any {
	seen := validated(object)
	maps.DeleteFunc(seen, func(name string, _ any) bool { return name != part && r.aside[name] })
	seen[part] = fields
	return seen
}

// validFields reports whether the fields of a part that changed are valid by themselves, and
// nothing else of the object has a say in it.
func (r *Resource) validFields(ctx context.Context, part string, before, after map[string]any) bool {
	for name := range before {
		if _, kept := after[name]; !kept && r.field(part, name) == nil {
			return false
		}
	}
	for name, value := range after {
		former, had := before[name]
		if had && reflect.DeepEqual(former, value) {
			continue
		}
		field, old := r.field(part, name), map[string]any{}
		if had {
			old[name] = former
		}
		if field == nil {
			return false
		}
		stored := map[string]any{name: value}
		if field.valid.once(func() error { return field.ValidateUpdate(ctx, old, stored) }, old, stored) != nil {
			return false
		}
	}
	return true
}

// field returns what validates a field of a part, nil if the field cannot be validated without the others.
func (r *Resource) field(part, name string) *Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := part + "." + name
	if known, made := r.fields[path]; made {
		return known
	}
	r.fields[path] = nil
	whole := r.definition.Properties[part]
	schema, has := whole.Properties[name]
	if !has || slices.Contains(whole.Required, name) || !independent(name, *r.definition, whole) {
		return nil
	}
	field, err := newResource(&apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{name: schema}})
	if err != nil {
		return nil // it is validated with the others
	}
	r.fields[path] = field
	return field
}

// bareSelf matches a rule that reads more than single fields of its object.
var bareSelf = regexp.MustCompile(`\b(self|oldSelf)\b[^.]|\b(self|oldSelf)$`)

// independent reports whether no rule of the schemas above a field has a say in its value. The
// outermost schema comes first. Rules further down or in other fields see none of it.
func independent(name string, above ...apiextensionsv1.JSONSchemaProps) bool {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	for _, schema := range above {
		combined := len(schema.AllOf) + len(schema.AnyOf) + len(schema.OneOf)
		if combined > 0 || schema.Not != nil || schema.MinProperties != nil || schema.MaxProperties != nil {
			return false
		}
		for _, rule := range schema.XValidations {
			text := rule.Rule + " " + rule.MessageExpression
			if word.MatchString(text) || bareSelf.MatchString(text) {
				return false
			}
		}
	}
	return true
}
