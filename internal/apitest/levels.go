package apitest

import (
	"context"
	"maps"
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// level holds the requirements that the schema of a part of an object, and of the whole object, have for the
// fields of the part: which are required, and the rules that read them. The schemas of the fields
// themselves are not part of it.
type level struct {
	part     string
	required []string
	// rules is true if there are rules.
	rules bool
	// ruled holds, for each field of the part, whether a rule reads it.
	ruled map[string]bool
	// aside names the other parts of the whole object that no rule reads.
	aside map[string]bool
	// above validates the rules, and nothing else; valid holds what it found valid.
	above *Resource
	valid validations
}

// level returns the level of a part, nil if there is more to it than required fields and rules.
func (r *Resource) level(part string) *level {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, built := r.levels[part]; built {
		return known
	}
	r.levels[part] = newLevel(r.definition, part)
	return r.levels[part]
}

func newLevel(root *apiextensionsv1.JSONSchemaProps, part string) *level {
	schema := root.Properties[part]
	for _, one := range []apiextensionsv1.JSONSchemaProps{*root, schema} {
		if combined(one) || one.MinProperties != nil || one.MaxProperties != nil || one.AdditionalProperties != nil {
			return nil
		}
	}
	if schema.XEmbeddedResource || len(schema.Enum) > 0 {
		return nil
	}
	made := &level{part: part, required: schema.Required, rules: len(root.XValidations)+len(schema.XValidations) > 0, aside: map[string]bool{}}
	if !made.rules {
		return made
	}
	made.ruled = ruled(root.XValidations, part, schema)
	for _, name := range []string{"apiVersion", "kind", "metadata", "spec", "status"} {
		made.aside[name] = name != part && !reads(root.XValidations, name)
	}
	stripped := root.DeepCopy()
	eachInside(stripped, func(inside *apiextensionsv1.JSONSchemaProps) { withoutRules(inside) })
	kept := stripped.Properties[part]
	kept.XValidations = schema.XValidations
	stripped.Properties[part] = kept
	var err error
	if made.above, err = newResource(stripped); err != nil {
		return nil // the object is validated as a whole
	}
	return made
}

// withoutRules removes the rules of a schema and of the schemas inside it.
func withoutRules(schema *apiextensionsv1.JSONSchemaProps) {
	schema.XValidations = nil
	eachInside(schema, withoutRules)
}

// hasRequired reports whether a part has the fields that it must have.
func (l *level) hasRequired(part map[string]any) bool {
	return !slices.ContainsFunc(l.required, func(name string) bool { _, has := part[name]; return !has })
}

// reads reports whether a rule reads a field that a part had before, and has no longer.
func (l *level) reads(before, after map[string]any) bool {
	for name := range before {
		if _, kept := after[name]; !kept && l.ruled[name] {
			return true
		}
	}
	return false
}

// ruled reports for each field of a part whether a rule of the part, or of the whole object, reads it.
func ruled(whole apiextensionsv1.ValidationRules, part string, schema apiextensionsv1.JSONSchemaProps) map[string]bool {
	named := regexp.MustCompile(`\b` + regexp.QuoteMeta(part) + `\b(\.)?`)
	every := false
	var texts []string
	for _, rule := range whole {
		text := presence.ReplaceAllString(textOf(rule), "")
		texts = append(texts, text)
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			every = every || match[1] == ""
		}
		every = every || bareSelf.MatchString(text)
	}
	for _, rule := range schema.XValidations {
		texts = append(texts, textOf(rule))
		every = every || bareSelf.MatchString(textOf(rule))
	}
	found := map[string]bool{}
	for name := range schema.Properties {
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
		found[name] = every || slices.ContainsFunc(texts, word.MatchString)
	}
	return found
}

func textOf(rule apiextensionsv1.ValidationRule) string {
	return rule.Rule + " " + rule.MessageExpression
}

// hold reports whether the rules hold in an update.
func (l *level) hold(ctx context.Context, old, stored map[string]any) bool {
	return l.valid.once(func() error {
		found, _ := l.above.cel().Validate(ctx, nil, l.above.Structural, stored, old, celconfig.RuntimeCELCostBudget)
		return found.ToAggregate()
	}, l.read(old), l.read(stored)) == nil
}

// read returns the part of an object that the rules read.
func (l *level) read(object map[string]any) map[string]any {
	seen := validated(object)
	maps.DeleteFunc(seen, func(name string, _ any) bool { return l.aside[name] })
	if part, is := object[l.part].(map[string]any); is {
		part = maps.Clone(part)
		maps.DeleteFunc(part, func(name string, _ any) bool { return !l.ruled[name] })
		seen[l.part] = part
	}
	return seen
}

// bareSelf matches a rule that reads more than single fields of its object, and presence what asks
// whether an object has a field: validChange takes that into account.
var (
	bareSelf = regexp.MustCompile(`\b(self|oldSelf)\b[^.]|\b(self|oldSelf)$`)
	presence = regexp.MustCompile(`\bhas\((self|oldSelf)\.\w+\)`)
)

// reads reports whether a rule of the whole object reads a field of it.
func reads(rules apiextensionsv1.ValidationRules, name string) bool {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	return slices.ContainsFunc(rules, func(rule apiextensionsv1.ValidationRule) bool {
		return word.MatchString(textOf(rule)) || bareSelf.MatchString(textOf(rule))
	})
}
