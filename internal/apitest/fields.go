package apitest

import (
	"context"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
)

// ValidateChange does the same as ValidateUpdate, for an update of a valid object in which only the
// named part, spec or status, changed. It validates the values that changed and the rules that read
// them, where that is enough, at a tenth of the time.
func (r *Resource) ValidateChange(ctx context.Context, old, stored map[string]any, part string) error {
	if r.validChange(ctx, part, old, stored) {
		return nil
	}
	return r.ValidateUpdate(ctx, old, stored)
}

// validChange reports whether the fields of a part that changed are valid by themselves, and the rules
// above them hold. It also returns false if that is not enough to know.
func (r *Resource) validChange(ctx context.Context, part string, old, stored map[string]any) bool {
	level := r.level(part)
	before, had := old[part].(map[string]any)
	after, is := stored[part].(map[string]any)
	if level == nil || !is || !level.hasRequired(after) {
		return false
	}
	ruled := !had && level.rules || level.reads(before, after)
	for name, value := range after {
		former, known := before[name]
		if known && reflect.DeepEqual(former, value) {
			continue
		}
		field, was := r.field(part, name), map[string]any{}
		if known {
			was[name] = former
		}
		if field == nil || !field.validField(ctx, name, was, map[string]any{name: value}) {
			return false
		}
		ruled = ruled || level.ruled[name]
	}
	return !ruled || level.hold(ctx, old, stored)
}

// validField reports whether a change of the only field of a resource is valid.
func (r *Resource) validField(ctx context.Context, name string, old, stored map[string]any) bool {
	switch schema := r.definition.Properties[name]; {
	case schema.Type == "object" && len(schema.Properties) > 0 && r.level(name) != nil:
		if _, is := stored[name].(map[string]any); is {
			return r.validChange(ctx, name, old, stored)
		}
	case r.itemwise:
		if list, is := stored[name].([]any); is {
			former, _ := old[name].([]any)
			return r.validItems(ctx, name, former, list)
		}
	}
	return r.valid.once(func() error { return r.ValidateUpdate(ctx, old, stored) }, old, stored) == nil
}

// validItems reports whether a list is valid. An item that was at the same place before is not
// validated again.
func (r *Resource) validItems(ctx context.Context, name string, before, after []any) bool {
	schema := r.definition.Properties[name]
	if schema.MaxItems != nil && int64(len(after)) > *schema.MaxItems {
		return false
	}
	if len(listtype.ValidateListSetsAndMaps(nil, r.Structural, map[string]any{name: after})) > 0 {
		return false
	}
	item := r.part(name+"[]", func() *Resource { return alone(name, *schema.Items.Schema) })
	for i, value := range after {
		if i < len(before) && reflect.DeepEqual(before[i], value) {
			continue
		}
		if item == nil || !item.validField(ctx, name, nil, map[string]any{name: value}) {
			return false
		}
	}
	return true
}

// separable reports whether the items of a list can be validated one by one: no rule and no limit but
// the number of items concerns several of them, and no rule compares an item with an earlier one.
func separable(schema apiextensionsv1.JSONSchemaProps) bool {
	return schema.Type == "array" && schema.Items != nil && schema.Items.Schema != nil && !combined(schema) && !schema.Nullable &&
		schema.MinItems == nil && !schema.UniqueItems && len(schema.Enum) == 0 && !hasRules(schema)
}

// hasRules reports whether a schema, or one inside it, has rules.
func hasRules(schema apiextensionsv1.JSONSchemaProps) bool {
	found := len(schema.XValidations) > 0
	schema = *schema.DeepCopy()
	eachInside(&schema, func(inside *apiextensionsv1.JSONSchemaProps) { found = found || hasRules(*inside) })
	return found
}

// eachInside calls change with each schema that is directly inside another one, and keeps what it changes.
func eachInside(schema *apiextensionsv1.JSONSchemaProps, change func(*apiextensionsv1.JSONSchemaProps)) {
	for name, property := range schema.Properties {
		change(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		change(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		change(schema.AdditionalProperties.Schema)
	}
}

// combined reports whether a schema has more to say about a value than its fields and rules do.
func combined(schema apiextensionsv1.JSONSchemaProps) bool {
	return len(schema.AllOf)+len(schema.AnyOf)+len(schema.OneOf) > 0 || schema.Not != nil
}

// field returns what validates a field of a part by itself, nil if the schema does not have the field.
func (r *Resource) field(part, name string) *Resource {
	return r.part(part+"."+name, func() *Resource {
		schema, has := r.definition.Properties[part].Properties[name]
		if !has {
			return nil
		}
		return alone(name, schema)
	})
}

// alone returns what validates the only field of an object, nil if its schema does not make sense by itself.
func alone(name string, schema apiextensionsv1.JSONSchemaProps) *Resource {
	field, err := newResource(&apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{name: schema}})
	if err != nil {
		return nil // it is validated with the others
	}
	field.itemwise = separable(schema)
	return field
}

// part returns what build returned for a path.
func (r *Resource) part(path string, build func() *Resource) *Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, built := r.fields[path]
	if !built {
		known = build()
		r.fields[path] = known
	}
	return known
}

// NormalizeChange does the same as Normalize, for an object that replaces one that is normal. The result
// shares with the normal object the fields of spec and status that are equal.
func (r *Resource) NormalizeChange(normal, object map[string]any) map[string]any {
	changed, kept := make(map[string]any, len(object)), map[string]map[string]any{}
	for name, value := range object {
		after, is := value.(map[string]any)
		before, was := normal[name].(map[string]any)
		if !is || !was || !slices.Contains([]string{"spec", "status"}, name) {
			changed[name] = value
			continue
		}
		different := map[string]any{}
		kept[name] = map[string]any{}
		for field, value := range after {
			if former, had := before[field]; had && reflect.DeepEqual(former, value) {
				kept[name][field] = former
			} else {
				different[field] = value
			}
		}
		changed[name] = different
	}
	next := r.Normalize(changed)
	for name, fields := range kept {
		if part, is := next[name].(map[string]any); is {
			for field, value := range fields {
				part[field] = value
			}
		}
	}
	return next
}
