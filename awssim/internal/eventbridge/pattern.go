package eventbridge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Event patterns (EventBridge user guide, "Creating Amazon EventBridge event patterns" and
// "Comparison operators"). The error messages are from https://github.com/aws/event-ruler,
// RuleCompiler.java, which EventBridge uses; the position in the text, which EventBridge adds, is
// left out.

const (
	// mostDepth bounds how deep a pattern may go, so that what walks one does not either.
	mostDepth = 100
	orKey     = "$or"
)

// object is a pattern for an object: all fields must match, and of each of the alternatives ($or) one.
type object struct {
	names        []string // of fields, sorted
	fields       map[string]node
	alternatives []*object
}

// node is a pattern for what an event has in a field, or does not.
type node interface {
	matches(value any, present bool) bool
}

// leaf is a list of conditions. One must be met.
type leaf []condition

func parsePattern(text string) (*object, error) {
	var raw any
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err) // AWS says what its JSON parser says
	}
	fields, isObject := raw.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf("Filter is not an object") //nolint:staticcheck // AWS's words, as below
	}
	return parseObject(fields, 1)
}

func parseObject(raw map[string]any, depth int) (*object, error) {
	if len(raw) == 0 {
		return nil, fmt.Errorf("Empty objects are not allowed") //nolint:staticcheck // AWS's words
	}
	if depth > mostDepth {
		return nil, fmt.Errorf("objects are nested more than %d deep", mostDepth)
	}
	o := &object{fields: map[string]node{}}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if list, isList := raw[name].([]any); name == orKey && isList && areObjects(list) {
			if err := o.parseAlternatives(list, depth); err != nil {
				return nil, err
			}
			continue
		}
		below, err := parseNode(name, raw[name], depth)
		if err != nil {
			return nil, err
		}
		o.names = append(o.names, name)
		o.fields[name] = below
	}
	return o, nil
}

func areObjects(list []any) bool {
	return len(list) > 1 && !slices.ContainsFunc(list, func(value any) bool { _, is := value.(map[string]any); return !is })
}

func (o *object) parseAlternatives(list []any, depth int) error {
	for _, raw := range list {
		alternative, err := parseObject(raw.(map[string]any), depth+1)
		if err != nil {
			return err
		}
		o.alternatives = append(o.alternatives, alternative)
	}
	return nil
}

func parseNode(name string, raw any, depth int) (node, error) {
	switch raw := raw.(type) {
	case map[string]any:
		return parseObject(raw, depth+1)
	case []any:
		if len(raw) == 0 {
			return nil, fmt.Errorf("Empty arrays are not allowed") //nolint:staticcheck // AWS's words
		}
		conditions := make(leaf, 0, len(raw))
		for _, value := range raw {
			c, err := parseCondition(value)
			if err != nil {
				return nil, err
			}
			conditions = append(conditions, c)
		}
		return conditions, nil
	default:
		return nil, fmt.Errorf("%q must be an object or an array", name)
	}
}

// matches: of an array of objects, one must match as a whole ("Arrays in event patterns").
func (o *object) matches(value any, present bool) bool {
	if elements, isArray := value.([]any); isArray && len(elements) > 0 {
		return slices.ContainsFunc(elements, func(element any) bool { return o.matches(element, present) })
	}
	fields, _ := value.(map[string]any)
	for _, name := range o.names {
		below, has := fields[name]
		if !o.fields[name].matches(below, has) {
			return false
		}
	}
	return len(o.alternatives) == 0 ||
		slices.ContainsFunc(o.alternatives, func(alternative *object) bool { return alternative.matches(value, present) })
}

// matches: of an array's elements, one must match. A missing value, or an object, has no values
// ("Exists matching only works on leaf nodes").
func (l leaf) matches(value any, present bool) bool {
	var values []any
	if present {
		values = scalars(nil, value)
	}
	return slices.ContainsFunc(l, func(c condition) bool {
		if c.exists != nil {
			return *c.exists == (len(values) > 0)
		}
		return slices.ContainsFunc(values, c.met)
	})
}

func scalars(found []any, value any) []any {
	switch value := value.(type) {
	case map[string]any:
		return found
	case []any:
		for _, element := range value {
			found = scalars(found, element)
		}
		return found
	default:
		return append(found, value)
	}
}
