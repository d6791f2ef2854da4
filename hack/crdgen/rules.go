package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/cel"
)

// macros are functions that rules in markers may use although CEL does not have them. Each returns
// the CEL expression of a call, given the fields of the object that the rule is about.
var macros = map[string]func(fields, arguments []string) (string, error){
	// hasOther(a, b) reports whether the object has a field other than a and b.
	"hasOther": func(fields, except []string) (string, error) {
		for _, name := range except {
			if !slices.Contains(fields, name) {
				return "", fmt.Errorf("there is no field %q", name)
			}
		}
		return hasAny("self", slices.DeleteFunc(slices.Clone(fields), func(name string) bool { return slices.Contains(except, name) }))
	},
	// hasAny(self, a, b) reports whether an object has one of the fields a and b.
	"hasAny": func(_, arguments []string) (string, error) { return hasAny(arguments[0], arguments[1:]) },
	// valueOr(self.a, "") returns the value of a field, or the second value if the field is missing.
	"valueOr": func(_, arguments []string) (string, error) {
		if len(arguments) != 2 {
			return "", errors.New("its arguments must be a field, and the value if it is missing")
		}
		return fmt.Sprintf("(has(%[1]s) ? %[1]s : %[2]s)", arguments[0], arguments[1]), nil
	},
	// same(self.a, "") reports whether an edit leaves the value of a field as it is.
	"same": func(_, arguments []string) (string, error) {
		if len(arguments) != 2 || !strings.HasPrefix(arguments[0], "self.") {
			return "", errors.New("its arguments must be a field of self, and the value if it is missing")
		}
		before := "oldSelf" + strings.TrimPrefix(arguments[0], "self")
		return fmt.Sprintf("valueOr(%[1]s, %[3]s) == valueOr(%[2]s, %[3]s)", arguments[0], before, arguments[1]), nil
	},
	// specifiesImage(self) reports whether the launch template of a managed pool specifies an image.
	"specifiesImage": predicate(`(has(x.awsLaunchTemplate) && ((has(x.awsLaunchTemplate.ami) && ` +
		`(nonEmpty(x.awsLaunchTemplate.ami.id) || has(x.awsLaunchTemplate.ami.eksLookupType))) || ` +
		`nonEmpty(x.awsLaunchTemplate.imageLookupFormat) || nonEmpty(x.awsLaunchTemplate.imageLookupOrg) || nonEmpty(x.awsLaunchTemplate.imageLookupBaseOS)))`),
	// ownImage(self) reports whether the user of a managed pool chooses its image, and EKS does not.
	"ownImage": predicate(`((has(x.amiType) && x.amiType == 'CUSTOM') || specifiesImage(x))`),
	// nonEmpty(self.a) reports whether a text has characters.
	"nonEmpty": predicate(`(has(x) && x != "")`),
}

// call matches the call of a macro that has no other call in its arguments.
var call = regexp.MustCompile(`\b([a-z]\w*)\(([^()]*)\)`)

// object matches the argument of a predicate.
var object = regexp.MustCompile(`\bx\b`)

// predicate returns a macro with one argument, which stands for x in an expression.
func predicate(expression string) func(fields, arguments []string) (string, error) {
	return func(_, arguments []string) (string, error) {
		if len(arguments) != 1 {
			return "", errors.New("it has one argument")
		}
		return object.ReplaceAllLiteralString(expression, arguments[0]), nil
	}
}

// hasAny returns an expression that reports whether an object has one of several fields.
func hasAny(of string, fields []string) (string, error) {
	if len(fields) == 0 {
		return "", errors.New("it names no fields")
	}
	tests := make([]string, 0, len(fields))
	for _, field := range fields {
		name, valid := cel.Escape(field)
		if !valid {
			return "", fmt.Errorf("CEL cannot read field %q", field)
		}
		tests = append(tests, "has("+of+"."+name+")")
	}
	return "(" + strings.Join(tests, " || ") + ")", nil
}

// expandRules replaces the macros in the rules of a schema, and of all schemas in it.
func expandRules(schema *apiextensionsv1.JSONSchemaProps) error {
	fields := slices.Sorted(maps.Keys(schema.Properties))
	for i := range schema.XValidations {
		rule := &schema.XValidations[i]
		expanded, err := expand(rule.Rule, fields)
		if err != nil {
			return fmt.Errorf("rule %q: %w", rule.Message, err)
		}
		rule.Rule = expanded
	}
	for _, name := range fields {
		property := schema.Properties[name]
		if err := expandRules(&property); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		if err := expandRules(schema.Items.Schema); err != nil {
			return err
		}
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		return expandRules(schema.AdditionalProperties.Schema)
	}
	return nil
}

// expand replaces the macros in a rule about an object with these fields. Macros may use others.
func expand(rule string, fields []string) (string, error) {
	for {
		var problem error
		expanded := call.ReplaceAllStringFunc(rule, func(text string) string {
			parts := call.FindStringSubmatch(text)
			macro, is := macros[parts[1]]
			if !is || problem != nil {
				return text
			}
			arguments := strings.Split(parts[2], ",")
			for i := range arguments {
				arguments[i] = strings.TrimSpace(arguments[i])
			}
			result, err := macro(fields, arguments)
			if err != nil {
				problem = fmt.Errorf("%s: %w", text, err)
				return text
			}
			return result
		})
		if problem != nil || expanded == rule {
			return expanded, problem
		}
		rule = expanded
	}
}
