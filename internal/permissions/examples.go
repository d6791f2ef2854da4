package permissions

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Example is a request that the policies of features allow: each action on the resource, with the
// given values of condition keys. An identity that may not do it lacks a statement of the policies.
type Example struct {
	// Sid names the statement that allows it.
	Sid     string
	Actions []string
	// Resource is an ARN, or * for actions that have no resources.
	Resource string
	// Context holds values by condition key.
	Context map[string][]string
}

// placeholder stands in examples for names that a policy does not limit.
const placeholder = "slipway-preflight"

// Examples returns requests for every resource and every condition of the statements of Policies.
func Examples(scope Scope, features ...Feature) ([]Example, error) {
	if _, err := Policies(scope, features...); err != nil {
		return nil, err
	}
	var examples []Example
	for _, statement := range statements(scope, features) {
		for _, resource := range scope.exampleResources(statement) {
			for _, context := range scope.exampleContexts(statement.Condition) {
				examples = append(examples, Example{Sid: statement.Sid, Actions: statement.Action, Resource: resource, Context: context})
			}
		}
	}
	return examples, nil
}

// exampleResources returns a resource for each pattern of a statement.
func (s Scope) exampleResources(statement Statement) []string {
	if len(statement.NotResource) > 0 {
		// Statements that exclude resources are about what instances are launched with.
		return []string{s.concrete(s.regional("ec2", "subnet/*")[0])}
	}
	resources := make([]string, len(statement.Resource))
	for i, pattern := range statement.Resource {
		resources[i] = s.concrete(pattern)
	}
	return resources
}

// concrete returns an ARN that a pattern matches.
func (s Scope) concrete(pattern string) string {
	if pattern == "*" {
		return pattern
	}
	segments := strings.SplitN(pattern, ":", 6)
	for i, value := range []string{1: "aws", 3: "us-east-1", 4: "111122223333"} {
		if segments[i] == "*" {
			segments[i] = value
		}
	}
	return fill(strings.Join(segments, ":"))
}

// fill replaces the wildcards of a pattern.
func fill(pattern string) string {
	return strings.NewReplacer("*", placeholder, "?", "x").Replace(pattern)
}

// exampleContexts returns what meets a condition: for keys that may have several values, each of
// them once.
func (s Scope) exampleContexts(condition Condition) []map[string][]string {
	contexts := []map[string][]string{{}}
	operators := slices.SortedFunc(maps.Keys(condition), func(a, b string) int {
		// A key that must be present has the value that another operator requires, if there is one.
		return cmp.Or(cmp.Compare(strings.Count(a, "Null"), strings.Count(b, "Null")), strings.Compare(a, b))
	})
	for _, operator := range operators {
		for _, key := range slices.Sorted(maps.Keys(condition[operator])) {
			values := s.exampleValues(operator, key, condition[operator][key])
			if len(values) == 0 {
				continue
			}
			var further []map[string][]string
			for _, context := range contexts {
				if _, given := context[key]; given { // another operator on the same key
					further = append(further, context)
					continue
				}
				for _, value := range values {
					with := maps.Clone(context)
					with[key] = []string{value}
					further = append(further, with)
				}
			}
			contexts = further
		}
	}
	return contexts
}

// exampleValues returns values that meet an operator, none if the key must or may be absent, or if
// another operator limits the same key.
func (s Scope) exampleValues(operator, key string, patterns Values) []string {
	var values []string
	switch operator {
	case "StringEquals", "StringLike", "ArnLike":
		for _, pattern := range patterns {
			if strings.HasSuffix(pattern, ".amazonaws.com.cn") && s.Partition != "aws-cn" {
				continue // the services of China, in another partition
			}
			if strings.HasPrefix(pattern, "arn:") {
				values = append(values, s.concrete(pattern))
			} else {
				values = append(values, fill(pattern))
			}
		}
	case "ForAllValues:StringNotEqualsIgnoreCase":
		values = []string{placeholder}
	case "Null":
		if patterns[0] == "false" && key != "aws:TagKeys" {
			values = []string{strings.Repeat(placeholder+"/", 2) + placeholder}
		}
	}
	return values
}
